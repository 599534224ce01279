/* Gives a folder copies of its own of files that have other names outside of it. Layer 2.
 *
 * Each copy is made beside the file under a new name, keeps mode, owner, times and extended
 * attributes, shares the blocks where the file system can, and takes the file's place in one step.
 * Names inside the folder that are one file stay one file. The other names outside keep what they
 * have. A file that somebody changes or replaces meanwhile is left as it is, and reported. */
#ifndef WATTLE_PEN_UNSHARE_H
#define WATTLE_PEN_UNSHARE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pen_unshare {
    const char *folder; /* physical path */
    uint64_t most;      /* entries looked at before giving up */
    bool dry_run;
    /* Each name, relative to `folder`, once it is done; `failure` NULL: it went well. */
    void (*each)(void *context, const char *path, uint64_t bytes, const struct err *failure);
    void (*progress)(void *context, uint64_t entries); /* while looking; may be NULL */
    void *context;
};

struct pen_unshared {
    uint64_t names;    /* that are not shared any more */
    uint64_t files;    /* copies made for them */
    uint64_t bytes;    /* of those */
    uint64_t cloned;   /* files of them that share their blocks */
    uint64_t failures; /* names that are as they were */
};

/* Errors: those of the walk. What one file fails with is told to `each` and counted, and ends
 * nothing. */
int pen_unshare_run(const struct pen_unshare *unshare, struct pen_unshared *ret_done,
                    struct err *err) MUST_CHECK;

#endif
