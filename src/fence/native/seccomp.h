/* Loads the filters that were made of seccomp_table.h when wattle was built. Layer 2. */
#ifndef WATTLE_FENCE_NATIVE_SECCOMP_H
#define WATTLE_FENCE_NATIVE_SECCOMP_H

#include "base/err.h"

enum seccomp_program {
    SECCOMP_COMMAND, /* worn by the command and all it starts */
    SECCOMP_INIT,    /* worn by pid 1, all its threads: the same, but openat2 is allowed */
};

/* Puts a filter on the calling thread, SECCOMP_INIT on all threads of the process, for good; more
 * than one may be worn. PR_SET_NO_NEW_PRIVS must be set. One system call: no malloc, safe in a
 * signal handler and in a vforked child, where it may change the parent's errno. Returns 0 or
 * -errno: EACCES without NO_NEW_PRIVS, ENOSYS or EINVAL from a kernel without filters, EAGAIN where
 * a thread wears another one already. */
int seccomp_load(enum seccomp_program program) MUST_CHECK;

/* Puts the filter of a guarded command on the calling thread, which is SECCOMP_COMMAND and hands
 * calls over besides, and returns the descriptor they are taken from (close-on-exec). May be called
 * in a vforked child. EBUSY: somebody outside listens to this process already; EINVAL or ENOSYS: a
 * kernel older than 5.19. */
int seccomp_load_guarded(void) MUST_CHECK;

/* Whether this kernel takes filters of the guard's kind: 0 or -errno. Loads none. */
int seccomp_try_guard(void) MUST_CHECK;

#endif
