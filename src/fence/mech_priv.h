/* What a mechanism implements. Private to src/fence. One const struct a mechanism; see fence.c for
 * the table and fence.h for who calls what, where. */
#ifndef WATTLE_FENCE_MECH_PRIV_H
#define WATTLE_FENCE_MECH_PRIV_H

#include "fence/fence.h"

enum fence_enforces {
    FENCE_HIDES_FILES = 1u << 0,
    FENCE_GUARDS_NET = 1u << 1,
    FENCE_OWN_PIDS = 1u << 2, /* the tree dies with pid 1 */
    FENCE_BOUNDS = 1u << 3,
    FENCE_MOVES_PATHS = 1u << 4, /* places: something shown at another path than outside */
};

struct fence_mech {
    const char *name;
    unsigned enforces;
    uint64_t clone_flags;
    /* Parent; may allocate. `ret_weak` starts as 0. */
    int (*prepare)(const struct policy *policy, void **ret_plan, unsigned *ret_weak,
                   struct err *err);
    /* Child, pid 1: no malloc, no log, cannot be undone. */
    int (*enter)(const void *plan, const int *keep, size_t keep_count, unsigned *ret_weak,
                 struct err *err);
    int (*enter_init)(const void *plan, struct err *err);
    /* Vforked child: FENCE_UNGUARDED, or 0 and the listener is in `channel_fd`, or -errno. */
    int (*enter_guard)(const void *plan, int channel_fd);
    int (*enter_command)(const void *plan, bool guarded);       /* vforked child; -errno */
    const struct guard_rules *(*guard_rules)(const void *plan); /* NULL: names are not guarded */
    int (*landlock_abi)(const void *plan);
    void (*release)(void *plan); /* parent; takes NULL */
};

extern const struct fence_mech fence_native;

#endif
