/* The parts of one run. Private to src/job. job.c holds the order; each part below has its file. */
#ifndef WATTLE_JOB_RUN_PRIV_H
#define WATTLE_JOB_RUN_PRIV_H

#include "fence/fence.h"
#include "job/job.h"
#include "job/made.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

/* ---- files.c, sweep.c: scratch, the open-run mark, caches ----------------------------------- */

#define RUN_ID_SIZE 32
#define RUN_PREFIX "run-"
#define RUN_SPARE "spare"         /* an empty folder for the next run; no job has seen it */
#define RUN_ASIDE "aside-"        /* an empty one that a job has seen, to be removed */
#define RUN_CGROUP_NOTE ".cgroup" /* after the id: a file with the path of the run's cgroup */

/* <cache>/scratch/<id> is the job's TMPDIR and at the same time the mark of an open run: while a
 * process of the run lives it is locked, since the lock belongs to an open file that the supervisor
 * and pid 1 share. One that nobody holds is a crashed run's. */
struct run_files {
    char id[RUN_ID_SIZE];           /* also the name of the cgroup */
    char cache_id[RUN_ID_SIZE + 8]; /* the job's own cache, where it has one */
    int top_fd;                     /* <cache>/scratch */
    int lock_fd, cache_fd;          /* both folders, locked */
    bool noted;                     /* there is a note of a cgroup */
};

/* Makes the folders and adds the places of the run to the policy. On failure nothing stays. */
int run_files_make(struct run_files *files, const struct job_request *request,
                   struct err *err) MUST_CHECK;
/* So that a sweep finds the cgroup. */
int run_files_note_cgroup(struct run_files *files, const char *path, struct err *err) MUST_CHECK;
/* While the job starts: the folder of the next run. */
void run_files_make_spare(const struct run_files *files);
/* job_sweep at a run's start. */
int run_sweep(const char *cache_dir, struct err *err) MUST_CHECK;
/* While the job runs: removes one folder that was put aside. False: there is none. */
bool run_files_tidy(const struct run_files *files);
/* Removes what the job left. A folder that resists stays for the next sweep. */
void run_files_remove(struct run_files *files);

int run_open_folder(int dir_fd, const char *name, bool make);

/* ---- cgroup.c: version 2, where a part of the tree is ours ----------------------------------- */

struct run_cgroup {
    int fd;      /* the job's group, for clone3; -1: none */
    bool memory; /* memory.max is in force */
    bool pids;   /* pids.max is in force */
    char path[512];
};

/* No delegated tree is no error: fd stays -1. What the policy needs and cannot have is one. `weak`:
 * what the fence itself cannot bound. */
int run_cgroup_make(struct run_cgroup *cgroup, const struct policy *policy, unsigned weak,
                    const char *id, struct err *err) MUST_CHECK;
void run_cgroup_remove(struct run_cgroup *cgroup);

/* ---- stdio.c, relay.c: what the job gets as 0, 1, 2 ------------------------------------------ */

#define RELAY_BYTES 65536u

struct relay {
    int from;                  /* -1: done */
    int to;                    /* -1: nowhere, only kept */
    bool close_from, close_to; /* ours: closing tells the other side that this is the end */
    bool from_socket, to_socket;
    size_t chunk; /* most bytes a write may have without blocking; 0: any */
    size_t start, end;
    unsigned reads_left; /* not 0: no writer is left but strangers; so many reads, then the end */
    char *buffer;
    struct job_result *tail_of; /* the last bytes are kept there */
    struct job_output *output;  /* everything is kept there, bounded */
};

struct run_stdio {
    int job_fds[3]; /* descriptors for the job; -1: its own /dev/null */
    struct relay in, out, err;
    int flags[3];       /* of the caller's descriptors that pass; -1: does not pass */
    int64_t file_start; /* where the caller's stdin stood, when that is a file */
    int peek_fd;        /* the job's end of its stdin pipe, when that is fed from a file; else -1 */
};

int run_stdio_open(struct run_stdio *stdio, const struct job_request *request,
                   struct job_result *result, struct err *err) MUST_CHECK;
/* After the clone: the job's ends belong to the job. */
void run_stdio_close_job_ends(struct run_stdio *stdio);
/* Puts back what of a file the job has not read. */
void run_stdio_give_back(struct run_stdio *stdio);
void run_stdio_close(struct run_stdio *stdio);

/* Takes over `from` and `to` where close_from and close_to say so, also on failure. */
int relay_open(struct relay *relay, struct err *err) MUST_CHECK;
bool relay_busy(const struct relay *relay);                       /* not done */
size_t relay_poll(const struct relay *relay, struct pollfd *fds); /* 0 or 1 entries */
/* The job is over: takes what it left in the pipe, and waits for nobody who got hold of its end. */
void relay_finish(struct relay *relay);
void relay_step(struct relay *relay, short events); /* one read or one write */
size_t relay_left(const struct relay *relay);       /* bytes read and not yet written */
void relay_close(struct relay *relay);

/* ---- terminal.c: own pty instead of the caller's terminal ------------------------------------ */

struct run_terminal {
    bool used;
    bool raw;
    int watch_fd; /* pipe to the process that restores after a crash of the supervisor */
    pid_t watch_pid;
    int master_fd; /* of the job's pty, once pid 1 has sent it */
    struct termios before;
    struct winsize size;
};

/* The terminal on stdin belongs to another process group now: reading or setting it would stop us.
 */
bool run_terminal_in_background(void);
bool run_terminal_wanted(const struct job_request *request);
int run_terminal_prepare(struct run_terminal *terminal, struct err *err) MUST_CHECK;
int run_terminal_enter(struct run_terminal *terminal, struct err *err) MUST_CHECK; /* raw mode */
void run_terminal_resize(struct run_terminal *terminal);
void run_terminal_leave(struct run_terminal *terminal);

/* ---- guarding.c: what the guard in pid 1 needs, and what it says ------------------------------
 */

/* The lock that all jobs of the owner share, in <state>/run. Returns its descriptor. */
int run_guard_open(const struct job_request *request, struct err *err) MUST_CHECK;
/* In pid 1, while the host's /proc is there: the same file for each of the guard's threads. */
int run_guard_open_again(int lock_fd, int fds[GUARD_LOCKS], struct err *err) MUST_CHECK;

/* How many refusals pid 1 tells of: a burst, then some each second; the rest is counted. */
struct run_denials {
    int control_fd;
    pthread_mutex_t started; /* held until STARTED is told */
    uint64_t left, filled_at_ms;
};
void run_guard_tell(void *denials, const struct guard_denial *denial); /* of settings.on_denied */

/* ---- spawn.c, init.c: pid 1 ------------------------------------------------------------------ */

/* From pid 1 to the supervisor, one packet each, in this order: PTY (only with a terminal), then
 * STARTED, then EXITED; FAILED ends at any point before STARTED. DENIED comes any time between
 * STARTED and EXITED. */
enum init_kind {
    INIT_FAILED,
    INIT_PTY,
    INIT_NAMESPACE, /* with a descriptor: the user namespace, then that of mounts */
    INIT_STARTED,
    INIT_EXITED,
    INIT_DENIED,
};
struct init_message {
    enum init_kind kind;
    int status;             /* EXITED: wait status */
    unsigned weak;          /* STARTED */
    struct guard_end guard; /* EXITED */
    union {
        struct err err;             /* FAILED */
        struct guard_denial denial; /* DENIED */
    };
};
/* From the supervisor to pid 1: pass this signal on to the command's process group. */
struct init_order {
    int signal;
};

struct init_args {
    const struct fence *fence;
    const struct policy *policy;
    const char *const *argv;
    const char *const *envp;
    const char *path; /* what is executed */
    int control_fd;   /* our end */
    int other_fd;     /* the supervisor's end, to be closed */
    int lock_fd;      /* kept open, so that the mark stays locked while we live */
    int guard_fd;     /* the guard's lock; -1: names are not guarded */
    bool tell_namespaces;
    struct made made; /* where the guard says what was made */
    int job_fds[3];
    mode_t umask; /* the caller's, for the command */
    bool tty;
    struct termios tty_modes;
    struct winsize tty_size;
    char *own_argv;
    size_t own_argv_size;
};

_Noreturn void init_main(const struct init_args *args);

/* Clones pid 1 into the fence's namespaces, there to run init_main. Returns its pid. */
pid_t run_spawn(const struct init_args *args, int cgroup_fd, int *ret_pidfd,
                struct err *err) MUST_CHECK;

/* ---- rehold.c: held names that somebody replaces while the job runs ----------------------------
 */

struct run_hold {
    const struct policy *policy; /* NULL: nothing is watched */
    int notify_fd;
    struct fence_namespaces namespaces;
};
/* Watches where the policy holds names, if it only detects. Errors: job.hold. */
int run_hold_open(struct run_hold *hold, const struct policy *policy, struct err *err) MUST_CHECK;
void run_hold_step(struct run_hold *hold); /* notify_fd is readable */
void run_hold_close(struct run_hold *hold);

/* ---- supervise.c: the loop ------------------------------------------------------------------- */

struct run {
    const struct job_request *request;
    struct job_result *result;
    struct fence *fence;
    struct run_files files;
    struct run_cgroup cgroup;
    struct run_stdio stdio;
    struct run_terminal terminal;
    mode_t umask;
    pid_t init_pid;
    int control_fd; /* to pid 1 */
    int guard_fd;   /* the guard's lock, until the clone */
    struct made made;
    struct run_hold hold;
    int pidfd;
    int signal_fd;

    bool started, exited, reaped, gave_up;
    bool guarded;            /* the guard runs */
    bool made_nothing;       /* its guard said so in the end */
    bool tidy;               /* nothing is put aside any more */
    bool killing;            /* TERM was sent; KILL follows at kill_at_ms */
    uint64_t deadline_at_ms; /* 0: none */
    uint64_t kill_at_ms;     /* 0: none */
    struct err failure;      /* what pid 1 said; code 0: nothing */
};

int run_supervise(struct run *run, struct err *err) MUST_CHECK;

#endif
