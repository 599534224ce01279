/* The parts of the native mechanism. Private to src/fence/native.
 *
 * The parent turns the policy into a plan: an ordered list of steps and of Landlock rules, where
 * everything that can be decided is decided and everything that needs memory has it. The child only
 * walks the plan. Order of the child's work: native.c, top. */
#ifndef WATTLE_FENCE_NATIVE_PRIV_H
#define WATTLE_FENCE_NATIVE_PRIV_H

#include "base/err.h"
#include "fence/guard/rules.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum native_step_kind {
    NATIVE_FOLDER,
    NATIVE_SYMLINK,
    NATIVE_FILE,
    NATIVE_BIND,
    NATIVE_TMPFS,
    NATIVE_ISLAND, /* a tmpfs that becomes read-only: holds mount points below a writable tmpfs */
    NATIVE_DEV,
    NATIVE_PROC,
    NATIVE_COVER, /* an empty object without permissions over something that must not be seen */
    NATIVE_PIN,   /* a folder bound on itself: a mount point cannot be renamed away */
};

struct native_step {
    enum native_step_kind kind;
    bool writable;
    bool optional;
    bool early;       /* read-only, straight on the new root: restricted together with its like */
    bool closed;      /* an island that may be passed through, not listed */
    bool trusted;     /* source and parents belong to the system: nobody swaps them for symlinks */
    bool make_target; /* the target lies on a file system of ours: make it and its parents */
    const char *path; /* inside, absolute */
    const char *source;
    uint64_t bytes;
    uint64_t dev, inode;                  /* 0,0: not compared */
    const struct policy_command *command; /* not NULL: the whole identity is compared */
};

/* What Landlock lets happen below one path of the new root. */
enum native_right {
    NATIVE_MAY_LIST,    /* names of this folder and those below */
    NATIVE_MAY_READ,    /* files and folders, no execution */
    NATIVE_MAY_RUN,     /* read and execute */
    NATIVE_MAY_WRITE,   /* all but device nodes */
    NATIVE_MAY_DEVICE,  /* read, write, ioctl of device nodes */
    NATIVE_MAY_PROCESS, /* /proc: read, and write what the kernel lets a task write of itself */
};

struct native_grant {
    const char *path;
    enum native_right right;
};

struct native_plan {
    struct native_step *steps;
    size_t step_count, step_room;
    struct native_grant *grants;
    size_t grant_count, grant_room;
    char **owned; /* paths the plan made itself */
    size_t owned_count, owned_room;

    const char *staging;       /* folder of the host the new root is attached on, for a moment */
    const char *shown_pid_max; /* text for kernel.pid_max; NULL: not ours to set */
    char pid_max[24];
    unsigned proc_masks; /* bit i: entry i of native_proc_masks exists on this kernel */
    uint64_t shm_bytes;
    int landlock_abi;                /* 0: off */
    struct guard_rules *guard_rules; /* NULL: names are not guarded */
    uid_t uid;
    gid_t gid;
    struct policy_limits limits;
};

/* plan.c: parent */
int native_plan_make(const struct policy *policy, struct native_plan **ret_plan, struct err *err);
void native_plan_free(struct native_plan *plan);

/* The rest runs in the child: no malloc. `root_fd` is the new root, attached but not yet entered.
 */

/* mounts.c */
int native_mounts_build(const struct native_plan *plan, int *ret_root_fd, unsigned *ret_weak,
                        struct err *err);
int native_mounts_enter(int root_fd, struct err *err);

/* objects.c: single objects below the new root, by descriptor */
int native_open_target(int root_fd, const char *path, struct err *err);
int native_make_target(int root_fd, const char *path, bool folder, struct err *err);
int native_make_folder(int root_fd, const char *path, mode_t mode, struct err *err);
int native_make_empty(int root_fd, const char *path, mode_t mode, struct err *err);
int native_make_file(int root_fd, const char *path, const char *content, struct err *err);
int native_make_symlink(int root_fd, const char *path, const char *target, struct err *err);
/* How many names a tmpfs of that size may have: an empty file takes memory that `size` does not
 * count (about 1 KiB), so it is bounded as well. */
unsigned long long native_names_of(uint64_t bytes);
int native_new_filesystem(const char *type, const char *const options[][2], uint64_t attributes,
                          struct err *err);
/* On a target that may lie in a tree the job can change: reached without following symlinks. */
int native_attach(int mount_fd, int root_fd, const char *path, struct err *err);
/* On a target that was just made on a file system of ours. */
int native_attach_made(int mount_fd, int root_fd, const char *path, struct err *err);
int native_restrict(int mount_fd, uint64_t attributes, bool below, const char *path,
                    struct err *err);

/* special.c: /dev and /proc */
struct native_covers {
    int file_fd, folder_fd; /* objects to clone covers from */
};
int native_dev_make(const struct native_plan *plan, int root_fd, const char *path, struct err *err);
int native_proc_make(const struct native_plan *plan, const struct native_covers *covers,
                     int root_fd, const char *path, unsigned *ret_weak, struct err *err);
unsigned native_proc_masks_here(bool root); /* parent */
int native_cover(const struct native_covers *covers, int root_fd, const char *path,
                 struct err *err);

/* rights.c */
int native_maps_write(uid_t uid, gid_t gid, struct err *err);
int native_host_set(struct err *err); /* host name, loopback */
void native_oom_prefer(void);
void native_namespaces_forbid(unsigned *ret_weak);
int native_limits_set(const struct native_plan *plan, struct err *err);
/* All but CAP_SYS_PTRACE, which the guard's threads may take into use, when there is one. */
int native_capabilities_drop(bool guarded, struct err *err);
int native_capabilities_drop_last(void); /* -errno */

/* landlock.c */
int native_landlock_abi(void); /* parent: by call; 0 when there is none that serves */
int native_landlock_enter(const struct native_plan *plan, struct err *err);

#endif
