/* The set of rules, as rules.c makes it and classify.c reads it. Private to src/fence/guard. */
#ifndef WATTLE_FENCE_GUARD_RULES_PRIV_H
#define WATTLE_FENCE_GUARD_RULES_PRIV_H

#include "fence/guard/match_priv.h"
#include "fence/guard/rules.h"

#define GUARD_ANY_ZONE (-1)

struct guard_rule {
    struct guard_pattern pattern;
    const char *text;   /* of the pattern */
    const char *reason; /* owned by `owned`, or of the table */
    const char *base;   /* the path, from its zone, that the pattern stands below; "" for none */
    uint16_t base_size;
    int16_t zone;  /* with `anchored` */
    bool anchored; /* from the top of a zone; else from any folder */
    bool at_tops;
    bool in_bare; /* from a folder that is a git folder by what it holds */
    bool is_git;
    enum guard_vet vet;
    const struct guard_name *row; /* of the table, for a folder of git's also; NULL: held */
    char *owned;                  /* text, base and reason of a rule that was added */
};

/* Rules that begin with the same name beginning in a dot stand together: most paths have no such
 * component, and those that have are compared with each beginning once. */
struct guard_head {
    struct guard_part part;
    uint16_t first, end;
};
#define GUARD_HEADS_MAX 64
#define GUARD_BARE_HEADS_MAX 16

/* By what a rule that was added can be left aside at once. */
struct guard_start {
    unsigned char first; /* byte of the first name, in lower case; 0: any */
    bool anchored;
    bool follows; /* stands below the same path as the rule before it */
    int16_t zone;
};

struct guard_zone {
    char *path;
    size_t size;
    size_t lead; /* where, before the zone's end, a component begins that counts for names in it */
    bool aliases;
    bool is_git; /* is itself a git folder */
};

struct guard_rules {
    struct guard_rule *rules;
    size_t count;
    size_t room;        /* for rules, starts and floating; GUARD_RULES_MAX at most */
    size_t names_count; /* those of the table come first, */
    size_t table_count; /* then those of git again, for folders of other names than ".git" */
    struct guard_start *starts;
    uint16_t *floating; /* those that were added and begin in any folder */
    size_t floating_count;
    size_t tops_count; /* rules with at_tops */
    struct guard_head heads[GUARD_HEADS_MAX];
    size_t head_count;
    struct guard_head bare_heads[GUARD_BARE_HEADS_MAX]; /* of those with `in_bare` */
    size_t bare_head_count;
    struct guard_zone zones[GUARD_ZONES_MAX];
    size_t zone_count;
};

/* What of `path` comes after `zone`: "" or "/..."; NULL when it lies elsewhere. */
const char *guard_zone_rest(const struct guard_zone *zone, const char *path);

#endif
