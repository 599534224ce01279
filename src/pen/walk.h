/* One walk over a pen, by one or two threads, before anything is cloned. Layer 2.
 *
 * Follows no symlink. Each folder is opened from the pen's top by its path relative to it, so a
 * folder that is moved or replaced meanwhile is either read or gone, and never another one outside.
 * What a remembered tree knows of folders that did not change since is taken over unread. */
#ifndef WATTLE_PEN_WALK_H
#define WATTLE_PEN_WALK_H

#include "pen/tree.h"

struct pen_walk {
    int top_fd;                   /* the pen; O_PATH is enough; borrowed */
    const char *pen;              /* its path, for messages */
    uint64_t most;                /* entries looked at before giving up */
    const struct pen_tree *known; /* settled; NULL: all is read */
    uint64_t now_ms;              /* wall time; 0: ask the clock */

    /* Whether the entry `name` of `folder` (relative to the pen, "" is the pen) is guarded. Called
     * by several threads. NULL: none is. */
    bool (*guarded)(const void *context, const char *folder, const char *name);
    const void *guarded_context;
    uint64_t
        guarded_key; /* other predicates have other keys: what another one found is not taken */

    /* Now and then, with the number of entries so far, once the walk has taken a second; by the
     * calling thread. May be NULL. */
    void (*progress)(void *context, uint64_t entries);
    void *progress_context;
};

/* Gives a settled tree, and the number of folders that were read for it. Names that come and go
 * meanwhile are no error.
 * Errors: E2BIG pen.too-many, ENAMETOOLONG pen.too-deep, pen.mounted, pen.read, ENOMEM. */
int pen_walk_run(const struct pen_walk *walk, struct pen_tree **ret_tree, size_t *ret_read,
                 struct err *err) MUST_CHECK;

#endif
