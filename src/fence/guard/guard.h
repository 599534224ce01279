/* The performing guard: names that other programs of the owner trust cannot come into existence,
 * change or go away in a run, at the moment of the call and without a race. Layer 2.
 *
 * A filter hands every call of the job that makes, moves or removes a name, opens a file for
 * writing or changes a mode to threads of pid 1 (seccomp user notification, seccomp_unotify(2)).
 * They read the arguments once, find the folder, decide by its true place and the name, and then
 * make the call themselves, with the job's rights, on the folder they looked at. No call is ever
 * let go on after a look at its arguments, so there is nothing to change in between.
 *
 * Pid 1 is the right place: the job can neither kill nor trace it nor see its memory, it wears the
 * same mounts, ids and Landlock domain, and the job ends with it. Whatever goes wrong in it ends
 * the job or refuses the call. Proofs and figures: docs/mechanisms.md. */
#ifndef WATTLE_FENCE_GUARD_GUARD_H
#define WATTLE_FENCE_GUARD_GUARD_H

#include "base/err.h"
#include "fence/guard/made.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <sys/types.h>

#define GUARD_THREADS 2
#define GUARD_LOCKS (GUARD_THREADS + 1) /* and one for the end */

struct guard_rules;    /* rules.h */
struct guard_reported; /* names.h */

/* One refusal. Texts come from the job: hostile bytes, cut to fit. */
struct guard_denial {
    pid_t pid; /* of the thread that asked, as the job sees it */
    char program[16];
    char call[16];    /* "rename" */
    char reason[128]; /* "hooks run by themselves" */
    char path[448];   /* the end of it */
};

struct guard_settings {
    const struct guard_rules *rules; /* must stay as it is while the process lives */
    int listener_fd;                 /* of seccomp_load_guarded; taken over */
    int lock_fds[GUARD_LOCKS];       /* lock.c: one open file description each; taken over */
    mode_t umask;                    /* the one the command starts with */
    struct guard_made *made;         /* where names that were made are told; NULL: nowhere */
    size_t made_size;
    const struct guard_reported *reported; /* with `made` */
    /* Called from any guard thread, one at a time; must not block. May be NULL. */
    void (*on_denied)(void *context, const struct guard_denial *denial);
    void *context;
};

/* Starts the threads, in pid 1, after the command has begun and before pid 1 and with it they wear
 * their filter. Needs CAP_SYS_PTRACE in the permitted set, /proc, and a process that never forks
 * again. `settings` is copied. Errors: fence.guard-*; the caller must then end. */
struct guard;
int guard_start(const struct guard_settings *settings, struct guard **ret_guard,
                struct err *err) MUST_CHECK;

/* With the filter on: from now on calls are taken. NULL: no guard. */
void guard_go(struct guard *guard);

struct guard_end {
    uint64_t denied; /* calls that were refused */
    bool made;       /* something was told where names that were made are */
};
/* At the end of the command: what is still to be given its name gets it. NULL: no guard. */
struct guard_end guard_finish(struct guard *guard);

/* For as long as the open file description of `lock_fd` (the lock's file) lives, no guard of the
 * owner's jobs
 * - gives a folder that `policy` lets a job write a name, or a place in a folder, where names in it
 *   would be guarded: who works in it goes by the path it had at first;
 * - moves, replaces or removes what a copy is shown over (POLICY_PLACE_OVER), or a folder on the
 *   way to it: the kernel would take that mount away, or leave it behind;
 * - does so with a symlink that leads to what was looked at (POLICY_PLACE_STAYS).
 * Waits for calls that are being performed. fence.guard-place: something is not there, or moving;
 * fence.guard-lock. */
int guard_hold_places(int lock_fd, const struct policy *policy, struct err *err) MUST_CHECK;

/* Gives the lock's file room for what makes the lock cheaper (lock.c), where that can be: before
 * guard_start, by whoever opens it. */
void guard_lock_make_board(int lock_fd);

/* Whether `name` in the folder is a symlink through which git would write elsewhere (see
 * guard_link_redirects() of rules.h), or what it is cannot be told. */
bool guard_entry_redirects(int dir_fd, const char *name);

/* Whether this kernel lets a guard work, by doing it: a child with the filter makes one folder,
 * which never comes into existence. 0, or fence.guard-* with what is missing. Forks; takes about 1
 * ms. */
int guard_probe(struct err *err) MUST_CHECK;

/* The same for the start of every run: asks the kernel, and tries only where something could come
 * in between. Microseconds; forks where this process wears a filter. */
int guard_possible(struct err *err) MUST_CHECK;

#endif
