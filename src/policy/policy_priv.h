/* How a policy is kept, for this folder. */
#ifndef WATTLE_POLICY_POLICY_PRIV_H
#define WATTLE_POLICY_POLICY_PRIV_H

#include "policy/policy.h"

/* Items of one size in one block. */
struct list {
    void *items;
    size_t count;
    size_t room;
    size_t item_size;
};

struct policy {
    struct list rules;       /* struct policy_rule, by path */
    struct list places;      /* struct policy_place, by path */
    struct list env;         /* char *, "NAME=value", as added */
    struct list notes;       /* char *, as added */
    struct list guard_rules; /* struct policy_guard_rule, as added */
    char *pen;
    char *cwd;
    struct policy_command command; /* path NULL: not set */
    struct policy_limits limits;
    struct policy_preflight preflight;
    enum policy_net net;
    enum policy_caches caches;
    unsigned required;
    enum policy_guard guard;
};

void *list_at(const struct list *list, size_t index);

/* Makes room for one more `what` ("rules"). Errors: EINVAL policy.too-many, ENOMEM. */
int list_reserve(struct list *list, const char *what, struct err *err) MUST_CHECK;

/* Copies `item` in at `index`; room was reserved. */
void list_insert(struct list *list, size_t index, const void *item);

/* What is looked for: the first `size` bytes of `path`. */
struct path_key {
    const char *path;
    size_t size;
    bool hold;
};

/* Orders paths by whole components, so that a folder is followed by all that lies below it. */
int path_compare(const char *path, const struct path_key *key);

/* Index of the first item that is not before `key`; *ret_found when that one is equal. */
size_t list_search(const struct list *list, const struct path_key *key,
                   int (*compare)(const void *item, const struct path_key *key), bool *ret_found);

/* Clean, and the second: not "/". `what` it is, for the sentence: "rule". */
int policy_check_path(const char *path, const char *what, struct err *err) MUST_CHECK;
int policy_check_path_below_root(const char *path, const char *what, struct err *err) MUST_CHECK;

void policy_rule_free(struct policy_rule *rule); /* what it holds, not itself */
void policy_guard_rule_free(struct policy_guard_rule *rule);

#endif
