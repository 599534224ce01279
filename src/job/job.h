/* One run: clone, fence, supervise, report. Layer 3; the only user of fence/ besides doctor.
 *
 * The caller's process becomes the supervisor until the job is over: single-threaded, plain poll,
 * no library. Everything that runs dies with it (liveness socket and PDEATHSIG). */
#ifndef WATTLE_JOB_JOB_H
#define WATTLE_JOB_JOB_H

#include "policy/policy.h"

enum job_tty { JOB_TTY_AUTO, JOB_TTY_YES, JOB_TTY_NO };

struct job_result {
    int status;     /* wait status of the command */
    int exit_code;  /* what wattle exits with: the command's own code, 124, 128+N */
    int signal;     /* 0 or the signal that ended the command */
    bool timed_out; /* the deadline passed */
    bool stopped;   /* a signal to the supervisor, or the control, ended it */
    uint64_t wall_ms;
    uint64_t denied;  /* calls that would have touched a guarded name; more than were told of */
    size_t tail_size; /* the last bytes of stderr (or of the terminal), for hints; hostile bytes */
    char tail[8192];
};

struct job_start {
    pid_t init_pid;        /* the job's pid 1 as the host sees it */
    const char *mechanism; /* borrowed */
    int landlock_abi;
    unsigned weak; /* enum fence_weak */
};

/* A call the guard refused. All texts may hold what the job chose, and are cut where they are long.
 */
struct job_denial {
    pid_t pid; /* as the job sees it */
    const char *program, *call, *path, *reason;
};

/* A name that was made, or a file that was written, which something on the owner's side may run or
 * trust. */
struct job_told {
    const char *name;   /* as in job_made */
    const char *reason; /* "it runs when you build" */
    bool deeper;        /* a guarded name in a deeper folder than those in which it is held */
    bool gone;          /* was made as far as is known, and was not found in the end */
    bool written;       /* was there before */
};

/* What the guard saw come into existence in the writable trees and stay, in the end. A folder that
 * was renamed is one name. All texts are the job's: hostile bytes. */
#define JOB_TOLD_MAX 256u
struct job_made {
    const char *const *names; /* relative to the pen, absolute outside of it; in order */
    size_t count;
    const struct job_told *told; /* `deeper` first, then by depth and bytes */
    size_t told_count;           /* at most JOB_TOLD_MAX */
    size_t told_total;           /* those past it were not looked for */
    bool complete;               /* false: there is more than the guard could keep */
};

/* Output that is kept instead of passed on: constant memory, whatever the job writes. */
#define JOB_KEEP_BYTES 16384u
struct job_output {
    uint64_t total_bytes;
    size_t head_size;
    size_t tail_start; /* ring: oldest byte */
    size_t tail_size;
    char head[JOB_KEEP_BYTES];
    char tail[JOB_KEEP_BYTES];
};

struct job_request {
    struct policy *policy; /* the run's own places are added to it */
    const char *const *argv;
    const char *mechanism; /* NULL: choose */
    const char *cache_dir; /* scratch and open-run mark below it; made 0700 when missing */
    const char *state_dir; /* pen caches below it; made 0700 when missing */
    enum job_tty tty;
    bool keep_tail;            /* pass stderr through the supervisor, for hints */
    struct job_output *output; /* not NULL: stdin is empty, stdout and stderr are kept here */

    /* Called in the supervisor once the command runs. May be NULL. */
    void (*on_start)(void *context, const struct job_start *start);
    /* Called in the supervisor for the refusals of the guard, at a bounded rate. May be NULL, and
     * may come before on_start. */
    void (*on_denied)(void *context, const struct job_denial *denial);
    /* Called in the supervisor when the job is over, if its names were guarded: valid during the
     * call. May be NULL. */
    void (*on_made)(void *context, const struct job_made *made);
    /* Polled beside the job; when readable or hung up `on_control` is called. It returns 0, a
     * signal number to pass on, or -1: kill everything now. -1: none. */
    int control_fd;
    int (*on_control)(void *context);
    void *context;

    /* The memory of the program's own argv, overwritten in pid 1, whose /proc/1/cmdline the job can
     * read. May be NULL. */
    char *own_argv;
    size_t own_argv_size;
};

/* Runs to the end. Fills *ret_result and returns 0 when the command ran; else -errno with why
 * nothing (more) was run: job.exec with ENOENT, EACCES, ENOEXEC ... for an exec that failed inside.
 * Signals: TERM and HUP are passed on and followed by KILL after limits.kill_after_ms; INT, QUIT,
 * USR1, USR2, WINCH, CONT are passed on; a second TERM kills at once. */
int job_run(const struct job_request *request, struct job_result *ret_result,
            struct err *err) MUST_CHECK;

/* Removes what crashed runs left below the folder: scratch nobody holds, empty folders that were
 * put aside, and cgroups. Returns how many runs were finished, or -errno. job_run does this at its
 * start, but for the empty folders, for which it has no time. */
int job_sweep(const char *cache_dir, struct err *err) MUST_CHECK;

#endif
