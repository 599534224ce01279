/* The guarded names in a tree: a walk that somebody hostile cannot stop. Layer 3.
 *
 * Unlike the walk of pen/, which refuses what it cannot look into, this one goes on: it gives
 * folders that are closed their owner's rights for as long as it takes, keeps nothing in memory but
 * the names of folders still to look into, and hands over what lies too deep. No bound on entries.
 * Follows no symlink: each folder is opened from the tree's top, beneath it. */
#ifndef WATTLE_HELD_LOOK_H
#define WATTLE_HELD_LOOK_H

#include "fence/guard/rules.h"
#include "policy/policy.h"

#include <sys/stat.h>

/* One guarded name. All is borrowed for the call. */
struct held_found {
    const char *path;   /* in the tree */
    int folder_fd;      /* the folder it is in, open for reading */
    const char *name;   /* in that folder */
    const char *place;  /* absolute path of the folder */
    struct stat status; /* not followed */
    enum guard_vet vet; /* NONE: nothing at this name is harmless */
    bool is_folder;     /* the hooks folder itself */
    bool is_sample;     /* NAME.sample in it */
    bool too_deep;      /* a folder that no path reaches: never looked into */
    const char *reason;
};

enum held_next {
    HELD_LEAVE,
    HELD_ENTER, /* if it is a folder */
};

struct held_look {
    int top_fd;
    const char *top;
    const struct guard_rules *rules;
    const struct policy *policy; /* what is hidden from the job is not looked into */
    /* -errno ends the walk. The name may be moved away meanwhile. */
    int (*each)(void *context, const struct held_found *found, struct err *err);
    /* A folder that cannot be looked into, for `code`. */
    int (*closed)(void *context, const char *path, int code, struct err *err);
    void *context;
};

/* Breadth and depth are bounded by the disk. A folder comes before what is in it. Errors: those of
 * `each`, held.look, ENOMEM. */
int held_look_run(const struct held_look *look, struct err *err) MUST_CHECK;

/* Lets the owner of the folder behind `fd` (O_PATH is enough) do everything in it. False: it is
 * another's, or nothing had to be done. `ret_mode`: the mode before. */
bool held_unlock(int fd, mode_t *ret_mode);

#endif
