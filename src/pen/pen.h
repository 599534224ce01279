/* What is looked for in a pen before a run starts (C7, C16): files that have other names outside,
 * sockets of the host, guarded names, repositories. Layer 2: does not know what is done about it,
 * nor which names are guarded.
 *
 * The walk is one of several moments, not a lock: a link, a socket or a name that another program
 * of the owner makes after its folder was read is not seen. The threat model says so. */
#ifndef WATTLE_PEN_PEN_H
#define WATTLE_PEN_PEN_H

#include "policy/policy.h"

enum pen_found_what {
    PEN_FOUND_SHARED = 1u << 0,     /* a file with other names that are not in the pen */
    PEN_FOUND_SOCKET = 1u << 1,     /* a socket file behind which a process may be */
    PEN_FOUND_GUARDED = 1u << 2,    /* the predicate knows the name */
    PEN_FOUND_REPOSITORY = 1u << 3, /* ".git" */
    PEN_FOUND_MOUNT = 1u << 4,      /* another file or file system is mounted there */
    PEN_FOUND_CLOSED = 1u << 5,     /* a folder that could be read by nobody but a job */
    PEN_FOUND_TWIN = 1u << 6,       /* one of several names of a file, of which one may be guarded;
                                       after pen_findings_keep_guarded: see `twin` */
};

struct pen_found {
    char *path;         /* relative to the pen */
    unsigned what;      /* enum pen_found_what */
    unsigned char type; /* DT_REG, DT_DIR, DT_LNK ...: a guarded name may be a symlink */
    uint64_t links;     /* names the file has, and how many of them are in the pen */
    uint64_t links_here;
    uint64_t dev; /* st_dev, st_ino */
    uint64_t inode;
    char *twin; /* the guarded name, relative to the pen, that the same file has; NULL: none */
};

struct pen_findings {
    struct pen_found *items; /* in the order of the walk: breadth first, by name */
    size_t count;
    char **git_folders; /* relative to the pen, "" is the pen: what holds HEAD, objects and refs */
    size_t git_folder_count;
    size_t shared, sockets, guarded, repositories, mounts, closed, twins; /* how many of them are */
    uint64_t entries;
    size_t folders;
    size_t folders_read; /* of those; the others did not change since they were read */
};
void pen_findings_freep(struct pen_findings **findings);

struct pen_request {
    const char *pen;       /* physical path */
    const char *state_dir; /* the owner's, checked; NULL: nothing is remembered */
    bool fresh;            /* read everything, whatever is remembered */
    bool look_only;        /* write nothing */
    uint64_t now_ms;       /* wall time; 0: ask the clock */

    /* Whether the entry `name` of `folder` (relative to the pen, "" is the pen itself) is guarded.
     * Called by two threads at once. NULL: none is. `guarded_key` tells predicates apart that give
     * other answers; what is remembered is of one of them. */
    bool (*guarded)(const void *context, const char *folder, const char *name);
    const void *guarded_context;
    uint64_t guarded_key;

    /* Called by this thread, once it takes longer than a second. May be NULL. */
    void (*progress)(void *context, uint64_t entries);
    void *progress_context;
};

/* Looks. `policy` gives the bounds (struct policy_preflight). Bad things found are no error here.
 * Errors: EINVAL pen.too-many, pen.too-deep, pen.mounted, pen.replaced (it is not the folder that
 * the rule of `policy` for this path was made of); pen.read; ENOMEM. Caller frees with
 * pen_findings_freep. A memory that cannot be written is no error. */
int pen_preflight(const struct pen_request *request, const struct policy *policy,
                  struct pen_findings **ret_findings, struct err *err) MUST_CHECK;

/* Answers for a path relative to the pen: whether it is a guarded name, or lies below one. */
struct pen_asking {
    bool (*guarded)(const void *context, const char *path);
    const void *context;
};

/* Asks again about the guarded names among the findings: what a predicate of names alone took for
 * guarded may not be. A file of several names, one of which is guarded, is then told as a twin by
 * the others. -ENOMEM. */
int pen_findings_keep_guarded(struct pen_findings *findings,
                              const struct pen_asking *asking) MUST_CHECK;

/* Adds the twins to the policy's guarded names: writing to one is writing to the guarded file. More
 * than these are E2BIG pen.too-many-twins, since each costs the guard a rule. ENOMEM. */
#define PEN_TWINS_MAX 128
int pen_guard_twins(const struct pen_findings *findings, const char *pen, struct policy *policy,
                    struct err *err) MUST_CHECK;

/* Whether such a pen can be used: EINVAL pen.shared-links, pen.closed. `pen`: for the sentence. */
int pen_judge(const struct pen_findings *findings, const char *pen, const struct policy *policy,
              struct err *err) MUST_CHECK;

/* Hides the sockets that no rule of the owner opens by name. */
int pen_cover(const struct pen_findings *findings, const char *pen, struct policy *policy,
              struct err *err) MUST_CHECK;

#endif
