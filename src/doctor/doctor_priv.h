/* The parts of the doctor. Private to src/doctor.
 *
 *   doctor.c     one visit from start to end: world, checks, verdict, report
 *   checks.c     the table of checks
 *   world.c      temporary folders, and who the owner is
 *   child.c      one check in a child that cannot hang, and the child in namespaces of its own
 *   settings.c   what the owner of the machine has set, and what mends it
 *   machine.c kernel.c mounts.c guards.c   checks of single layers
 *   store.c      what the host keeps
 *   trial.c boundary.c bounds.c            checks of the whole, by real runs
 *   attempt.c    what is tried inside such a run
 *   report.c     verdict, table, JSON */
#ifndef WATTLE_DOCTOR_DOCTOR_PRIV_H
#define WATTLE_DOCTOR_DOCTOR_PRIV_H

#include "base/buf.h"
#include "base/err.h"
#include "derive/derive.h"
#include "doctor/doctor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- checks --------------------------------------------------------------------------------- */

enum doctor_status {
    DOCTOR_OK,
    DOCTOR_REMARK,  /* worth knowing, weakens nothing */
    DOCTOR_WEAKER,  /* there, with something less than the best */
    DOCTOR_MISSING, /* tried: it is not there, or did not hold */
    DOCTOR_UNSEEN,  /* could not be tried, so nothing was shown; counts as missing */
    DOCTOR_SKIPPED, /* pointless after what is missing; counts as missing */
};

enum doctor_kind {
    DOCTOR_MUST,   /* without it nothing is confined */
    DOCTOR_BETTER, /* without it the fence is weaker */
};

enum doctor_stops { DOCTOR_STOPS_NOTHING, DOCTOR_STOPS_RUNS, DOCTOR_STOPS_ALL };

enum doctor_group {
    DOCTOR_MACHINE,
    DOCTOR_KERNEL,
    DOCTOR_BOUNDARY,
    DOCTOR_BOUNDS,
    DOCTOR_GROUPS,
};

/* What a check found. Fixed size and free of pointers: a child sends it with one write. */
struct doctor_finding {
    enum doctor_status status;
    bool started;     /* a run started: `weak` is what it was enforced with */
    unsigned weak;    /* enum fence_weak */
    int landlock_abi; /* of the kernel, or of the run that started */
    char detail[320];
    char mend[512]; /* empty: the check's own */
};

struct doctor_world;

struct doctor_check {
    const char *name;
    enum doctor_group group;
    enum doctor_kind kind;
    const char *shows; /* what holds when it is ok */
    void (*run)(const struct doctor_world *world, struct doctor_finding *finding);
    const char *mend;        /* NULL: the finding says it, or nothing does */
    const char *needs;       /* a check before it, without which it is not tried; NULL: none */
    unsigned weak;           /* bits of a run's start that make it WEAKER */
    enum doctor_stops stops; /* what is not tried when it fails */
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;

void doctor_say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
    PRINTF_LIKE(3, 4);
void doctor_mend(struct doctor_finding *finding, const char *format, ...) PRINTF_LIKE(2, 3);
/* MISSING (or `status`) with the sentence and the hint of `err`. */
void doctor_fail(struct doctor_finding *finding, enum doctor_status status, const struct err *err);

/* ---- world.c: where the checks happen ---------------------------------------------------------
 */

struct doctor_world {
    struct err err;             /* code 0: all below is there */
    struct derive_owner *owner; /* as a run would find it; NULL: owner_err says why not */
    struct err owner_err;
    struct derive_owner *staged; /* the same person with wattle's folders below `own` */
    char *program;               /* our own executable */
    char *host;                  /* wattle-host, borrowed; NULL: not known where */
    char *top;                   /* temporary, removed with the world */
    int top_fd;                  /* ... locked, so that others can tell it from a left one */
    char *pen;                   /* ... a pen */
    char *outside;               /* ... a folder no policy opens */
    char *own;                   /* ... stands in for wattle's own folders */
    char token[24];              /* found inside, it came from outside */
};

/* Never fails: world->err then says why there is none. */
void doctor_world_make(struct doctor_world *world);
void doctor_world_remove(struct doctor_world *world);

/* Puts "TOP/NAME" into `path`, and for the second writes `text` into it. -errno. */
#define DOCTOR_PATH_BYTES 4096
int doctor_file(const char *top, const char *name, const char *text, char *path) MUST_CHECK;

/* ---- child.c ------------------------------------------------------------------------------- */

#define DOCTOR_LIMIT_MS 10000u

/* Runs one check in a child, for at most `limit_ms`; nothing it started lives on. `interrupt_fd`
 * (-1: none) ends it early when readable: false then. */
bool doctor_check_run(const struct doctor_check *check, const struct doctor_world *world,
                      unsigned limit_ms, int interrupt_fd, struct doctor_finding *finding);

/* Calls `act` in a child in new namespaces (CLONE_NEW*, user among them) whose ids are mapped. With
 * a pid namespace it is pid 1 there. Passes on what it returns. */
int doctor_in_namespaces(uint64_t flags, int (*act)(void *context, struct err *err), void *context,
                         struct err *err) MUST_CHECK;

/* ---- settings.c: what the machine's owner has set
 * ------------------------------------------------ */

struct doctor_settings {
    bool root;
    bool filtered;           /* a seccomp filter is on us: an outer sandbox */
    bool apparmor_restricts; /* kernel.apparmor_restrict_unprivileged_userns */
    bool userns_clone_off;   /* kernel.unprivileged_userns_clone, of Debian */
    bool userns_max_zero;    /* user.max_user_namespaces */
    int ptrace_scope;        /* kernel.yama.ptrace_scope; 0: none */
};

/* `proc` is "/proc". What cannot be read counts as not restricting. */
void doctor_settings_read(const char *proc, struct doctor_settings *settings);
/* The one thing that mends user namespaces that do not work; never NULL. */
const char *doctor_settings_mend(const struct doctor_settings *settings);

/* ---- trial.c: one attempt, outside and in real runs --------------------------------------------
 */

struct doctor_trial {
    const char *const *words;       /* of `wattle doctor attempt`; ends with NULL */
    struct derive_flag_path opened; /* path NULL: none */
    const char *unix_socket;
    const char *env;
    uint64_t memory_bytes, processes;
};

struct doctor_outcome {
    bool ran; /* the attempt came to its end and said what came of it */
    bool got; /* ... that it got what it tried for */
    bool started;
    unsigned weak;
    int landlock_abi;
    struct err err;        /* code 0, or why nothing ran */
    struct policy *policy; /* of the run inside; NULL outside */
    char why[64];          /* "EACCES" */
    char output[16384];
};

/* Both return NULL when out of memory. */
struct doctor_outcome *doctor_trial_outside(const struct doctor_world *world,
                                            const struct doctor_trial *trial);
struct doctor_outcome *doctor_trial_inside(const struct doctor_world *world,
                                           const struct doctor_trial *trial);
void doctor_outcome_freep(struct doctor_outcome **outcome);

/* A way out. `effect` looks from outside whether it was one, and undoes it. */
struct doctor_breakout {
    struct doctor_trial trial;
    bool (*effect)(void *context, const struct doctor_outcome *outcome);
    void *context;
    const struct doctor_trial *opened; /* the same where the policy allows it; NULL: none does */
};
/* An effect: the output holds the text. */
bool doctor_shows_text(void *context, const struct doctor_outcome *outcome);

/* It must work outside, not inside, and inside where the policy opens it: else nothing was shown.
 */
void doctor_breakout_try(const struct doctor_world *world, const struct doctor_breakout *breakout,
                         struct doctor_finding *finding);

/* ---- report.c ------------------------------------------------------------------------------- */

struct doctor_verdict {
    bool confines;
    bool leaks; /* runs start here, and the boundary was not seen to hold */
    const char
        *why; /* of the first check that says no; borrowed from its finding; NULL: confines */
    bool weaker;
    unsigned weak;
    int landlock_abi;
};

/* Turns findings OK or WEAKER as the bits of the runs say, and sums up. One finding a check. */
void doctor_conclude(const struct doctor_check *checks, size_t count,
                     struct doctor_finding *findings, struct doctor_verdict *ret_verdict);
int doctor_exit_status(const struct doctor_verdict *verdict);
const char *doctor_status_name(enum doctor_status status);

/* Sticky failure in the buffer. */
void doctor_print_table(const struct doctor_check *checks, size_t count,
                        const struct doctor_finding *findings, const struct doctor_verdict *verdict,
                        const struct doctor_options *options, struct buf *text);
int doctor_print_json(const struct doctor_check *checks, size_t count,
                      const struct doctor_finding *findings, const struct doctor_verdict *verdict,
                      struct buf *text) MUST_CHECK;

/* ---- the checks themselves ------------------------------------------------------------------- */

/* machine.c */
void doctor_check_scratch(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_folders(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_local(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_configuration(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_settings(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_debuggers(const struct doctor_world *world, struct doctor_finding *finding);

/* store.c */
void doctor_check_store(const struct doctor_world *world, struct doctor_finding *finding);

/* kernel.c */
void doctor_check_user(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_pids(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_network(const struct doctor_world *world, struct doctor_finding *finding);

/* mounts.c */
void doctor_check_mounts(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_openat2(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_proc(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_pivot(const struct doctor_world *world, struct doctor_finding *finding);

/* guards.c */
void doctor_check_seccomp(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_landlock(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_guard(const struct doctor_world *world, struct doctor_finding *finding);

/* boundary.c */
void doctor_check_run_one(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_read(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_write(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_home(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_own(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_descriptor(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_environment(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_set_id(const struct doctor_world *world, struct doctor_finding *finding);

/* reach.c */
void doctor_check_tcp(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_abstract(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_unix(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_signal(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_see(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_nesting(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_daemon(const struct doctor_world *world, struct doctor_finding *finding);

/* bounds.c */
void doctor_check_processes(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_memory(const struct doctor_world *world, struct doctor_finding *finding);
void doctor_check_namespace_limit(const struct doctor_world *world, struct doctor_finding *finding);

#endif
