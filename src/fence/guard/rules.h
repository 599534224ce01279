/* Which names are guarded, and what a call that touches one may do. Part of src/fence/guard.
 *
 * No system call. The set is put together outside, before the clone (may allocate); asking it
 * (guard_classify, guard_class_step, guard_decide, guard_refusal) allocates nothing, has no state,
 * recurses on nothing and may be done by several threads at once.
 *
 * How the performing side uses it, per call, with the lock held (shared at first):
 *   1. parent = the true location of the opened parent folder, read under the lock
 *   2. guard_classify(rules, parent, last component, ask, &class), for each path of the call
 *   3. guard_decide(&question, &verdict); REFUSE: `error`, and guard_refusal() for the text
 *   4. verdict.needs says what has to be looked at before the call may be performed. With
 *      GUARD_NEED_EXCLUSIVE and only the shared lock held: take the exclusive one, and begin again
 *      at 1 (what was seen before may have changed).
 * Unsure means no: a location that is not absolute, too long or too deep is DENY. */
#ifndef WATTLE_FENCE_GUARD_RULES_H
#define WATTLE_FENCE_GUARD_RULES_H

#include "base/err.h"
#include "fence/guard/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_COMPONENTS_MAX 8 /* of a pattern */
#define GUARD_RULES_MAX 1024
#define GUARD_ZONES_MAX 16
#define GUARD_TOPS_MAX 80 /* rules of GUARD_AT_TOPS, those of the table among them */
#define GUARD_HITS_MAX 96 /* rules one path is under way in; more is DENY */

/* ---- the set: made outside, then constant -------------------------------------------------- */

struct guard_rules; /* opaque; one owner */

/* With the rows of guard_names, and no zone yet. NULL: out of memory. */
struct guard_rules *guard_rules_new(void);
void guard_rules_freep(struct guard_rules **rules); /* for AUTO(guard_rules_freep) */

/* A writable tree in which names are guarded: a pen, a git folder that belongs to it. `path` is
 * clean and physical. `aliases`: its file system knows other spellings of a name (vfat, ntfs,
 * exfat, cifs, casefold); then names that could be another spelling of a guarded one count as it.
 * Zones may lie in each other. EINVAL guard.path, E2BIG guard.too-many. */
int guard_rules_add_zone(struct guard_rules *rules, const char *path, bool aliases,
                         struct err *err) MUST_CHECK;

/* A write rule of the owner: "**" "/" "*.pem" for anywhere, "docs/x" from each zone's top, or an
 * absolute path in a zone (add zones first). Existing and new names are held. "secret/" and
 * "secret/ **" mean "secret" and all below. EINVAL guard.pattern. */
int guard_rules_add_pattern(struct guard_rules *rules, const char *pattern, const char *reason,
                            struct err *err) MUST_CHECK;

/* A name found at the start that has to be held with all below it: what core.hooksPath, an include
 * or a symlink names. Physical, of any depth; one that lies in no zone adds nothing. A folder above
 * it cannot be renamed away. */
int guard_rules_add_held(struct guard_rules *rules, const char *path, const char *reason,
                         struct err *err) MUST_CHECK;

/* `path` is a git folder under another name than ".git": a bare repository in the pen, or a zone
 * that is itself a git folder. All git rows hold in it. */
int guard_rules_add_git_folder(struct guard_rules *rules, const char *path,
                               struct err *err) MUST_CHECK;

/* A relative name, held like those of GUARD_AT_TOPS: what a setting of all the owner's repositories
 * names, also of those that a job makes. EINVAL guard.pattern, E2BIG guard.too-many. */
int guard_rules_add_at_tops(struct guard_rules *rules, const char *pattern, const char *reason,
                            struct err *err) MUST_CHECK;

size_t guard_rules_count(const struct guard_rules *rules);

/* Whether a name may be guarded that has no dot at its beginning and lies in a folder whose path
 * from the zone's top has none either: rules were added, or other spellings count. */
bool guard_rules_beyond_dots(const struct guard_rules *rules);

/* Tells sets apart that answer differently for a name in `top`: a hash of the table, of the zones
 * that hold `top` or lie in it, and of what was added. */
uint64_t guard_rules_key(const struct guard_rules *rules, const char *top);

/* The index of the innermost zone that `path` is or lies in, -1 if none; *ret_relative (may be
 * NULL) is the rest of `path`, "" for the zone itself. */
int guard_rules_zone(const struct guard_rules *rules, const char *path, const char **ret_relative);

/* ---- what a name is ------------------------------------------------------------------------ */

enum guard_level {
    GUARD_NO,
    GUARD_PARTIAL, /* the beginning of a guarded name: ".claude" of ".claude/settings.json" */
    GUARD_DENY,    /* guarded, or below what is */
};

/* One rule the path is under way in. Private to rules.c, and copied with its class. */
struct guard_hit {
    uint16_t rule;
    uint16_t states; /* bit i: the first i components of the pattern are matched */
    uint16_t base;   /* bytes matched of what stands before the pattern */
    uint16_t start;  /* component of the path it began with */
    uint16_t below;  /* components below the full match */
};

struct guard_class {
    enum guard_level level;
    enum guard_vet vet; /* with DENY: of all that deny, else NONE */
    bool bare;          /* HEAD, objects, refs, config or commondir outside a known git folder */
    bool in_git;        /* lies in a git folder (and is not the folder itself) */
    bool sample;        /* NAME.sample directly in a hooks folder */
    bool is_folder;     /* with HOOKS: the hooks folder itself */
    bool inside;        /* with DENY: only because it lies below a guarded name */
    bool overflow;      /* more than can be followed: DENY */
    bool aliases;
    int rule;   /* the rule that denies, or is begun; -1: none */
    int report; /* a rule that does not hold here but is worth a report; -1: none */
    uint16_t count;
    struct guard_hit hits[GUARD_HITS_MAX];
};

/* Does the folder `up` levels above the parent hold a ".git"? Asked only for names of
 * GUARD_AT_TOPS, at most GUARD_HITS_MAX times. Must go by the descriptor of the parent
 * ("../../.git"), not by text: another thread may rename an ordinary folder under the shared lock.
 * NULL: everything counts as one that holds it. */
struct guard_ask {
    bool (*holds_git)(void *context, unsigned up);
    /* Whether that folder is a git folder by what it holds: HEAD with objects and refs, or HEAD
     * with commondir. Asked for names like "hooks" and "config" that lie in it. Nobody to ask, or
     * NULL: none is. */
    bool (*is_bare)(void *context, unsigned up);
    void *context;
};

/* `parent` is absolute and true (readlink of /proc/self/fd/N), `name` the last component; slashes
 * at its end do not count. A name with another slash in it is DENY. */
void guard_classify(const struct guard_rules *rules, const char *parent, const char *name,
                    const struct guard_ask *ask, struct guard_class *ret_class);

/* The class of `name` in a folder that is, or is about to be, of class `folder`: for the walk of a
 * moved tree. Goes on with the rules under way and begins none (those that hold anywhere moved
 * along unchanged). DENY: the tree has a guarded name; PARTIAL: look into it (a symlink counts as
 * found); NO: leave it out. */
void guard_class_step(const struct guard_rules *rules, const struct guard_class *folder,
                      const char *name, struct guard_class *ret_class);

/* The class to begin the walk for GUARD_NEED_BESIDE with, at the folder that gets a ".git". */
void guard_class_beside(const struct guard_rules *rules, struct guard_class *ret_class);

/* A symlink at a PARTIAL name is harmless when it names a neighbour for which the very same rules
 * go on: git's probe ".git/modules/sub/tXXXXXX -> testing". */
bool guard_link_is_harmless(const struct guard_rules *rules, const char *parent,
                            const struct guard_class *class, const char *text);

/* Whether a symlink of this text, in a git folder, lets git write elsewhere than it means to: into
 * whatever it leads to, git's own configuration and hooks too, go lines with names and messages of
 * the job's choice. Only the one that `git init` tries the file system with does not. */
bool guard_link_redirects(const char *text);
extern const char guard_link_reason[];

/* ---- what a call may do --------------------------------------------------------------------- */

enum guard_op {
    GUARD_CREATE,   /* open that makes the name (it is not there, O_CREAT) */
    GUARD_WRITE,    /* open for writing, of something that is there */
    GUARD_TRUNCATE, /* by path */
    GUARD_MKDIR,
    GUARD_MKNOD,
    GUARD_BIND,
    GUARD_SYMLINK,
    GUARD_LINK,     /* target: the new name; source: the true place of what is linked */
    GUARD_RENAME,   /* target and source */
    GUARD_EXCHANGE, /* target and source */
    GUARD_WHITEOUT, /* rename that leaves one */
    GUARD_UNLINK,   /* also rmdir */
    GUARD_CHMOD,
};
#define GUARD_OPS 13

enum guard_kind { GUARD_FILE, GUARD_FOLDER, GUARD_LINK_TEXT, GUARD_SPECIAL };

struct guard_question {
    enum guard_op op;
    const struct guard_class *target;
    const struct guard_class *source; /* LINK, RENAME, EXCHANGE, WHITEOUT; else NULL */
    enum guard_kind kind;             /* of what is linked or renamed, read under the lock held */
    enum guard_kind other;            /* EXCHANGE: of what is at the target */
    bool exists;                      /* something is at the target */
    bool held;                        /* the target was there when the run began */
    bool harmless;                    /* SYMLINK: guard_link_is_harmless() */
    bool opens;                       /* CHMOD: it lets others write */
    bool redirects; /* a symlink comes into a git folder: guard_link_redirects() */
};

/* What has to be looked at first, in this order. */
enum guard_need {
    GUARD_NEED_EXCLUSIVE = 1u << 0,
    GUARD_NEED_BARE = 1u << 1,        /* refused if the target's folder is, or with the new name
                                         would be, a bare repository: HEAD with objects and refs,
                                         or HEAD with commondir */
    GUARD_NEED_BARE_SOURCE = 1u << 2, /* EXCHANGE: the same for the source's folder */
    GUARD_NEED_BESIDE = 1u << 3,      /* refused if the target's folder has a name that a .git
                                         beside it makes count: walk from guard_class_beside() */
    GUARD_NEED_TREE = 1u << 4,        /* refused if what moves to the target has a guarded name
                                         there: walk it from the target's class */
    GUARD_NEED_TREE_LEAVES = 1u << 5, /* EBUSY if what moves has one where it is: walk it from the
                                         source's class */
    GUARD_NEED_OTHER = 1u << 6,       /* EXCHANGE: TREE for what moves to the source */
    GUARD_NEED_OTHER_LEAVES = 1u << 7,
    GUARD_NEED_VET = 1u << 8,        /* perform by `vet`: the guard installs a copy of its own */
    GUARD_NEED_BARE_STAYS = 1u << 9, /* EBUSY if the target's folder is a bare repository: it would
                                        not be told for one any more */
    GUARD_NEED_BARE_STAYS_SOURCE = 1u << 10, /* the same for the source's folder */
};

#define GUARD_REFUSED EROFS  /* for what `needs` finds, but LEAVES (EBUSY) */
#define GUARD_WALK_MAX 20000 /* entries of a walk; more is "found" */

struct guard_verdict {
    int error;          /* 0: go on with `needs`; else the positive errno of the answer */
    bool quiet;         /* the answer is what the kernel would say too (EEXIST): no report */
    unsigned needs;     /* enum guard_need */
    enum guard_vet vet; /* with GUARD_NEED_VET */
    int rule;           /* for guard_refusal(), also when `needs` refuses; -1: none */
    bool of_source;     /* it is the source that speaks against it */
    const char *reason; /* instead of the rule's; NULL: the rule's */
};

void guard_decide(const struct guard_question *question, struct guard_verdict *ret_verdict);

/* Whether guard_decide() has nothing to say, whatever else the question holds: nearly every call.
 * `source` may be NULL. */
bool guard_is_free(enum guard_op op, const struct guard_class *target,
                   const struct guard_class *source);

/* ---- words ----------------------------------------------------------------------------------- */

const char *guard_op_name(enum guard_op op); /* "create" "write to" "rename onto" ... */
const char *guard_rule_reason(const struct guard_rules *rules, int rule);
const char *guard_rule_pattern(const struct guard_rules *rules, int rule);
/* The row of the table it has its properties from; NULL: one that was added, which holds. */
const struct guard_name *guard_rule_row(const struct guard_rules *rules, int rule);

struct guard_refused {
    enum guard_op op;
    const char *parent;
    const char *name;
    int rule; /* -1: a bare repository */
};

/* "guard: refused create .git/commondir: it would run on your side at the next git command".
 * The path is relative to the pen; control characters are shown as \xHH. Cut to `size`. Returns the
 * length. */
size_t guard_refusal(const struct guard_rules *rules, const struct guard_refused *refused,
                     char *text, size_t size);

#endif
