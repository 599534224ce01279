/* A process the host starts and hears the end of. Private to src/host.
 *
 * Not uv_spawn: that forks, which copies the host's page tables for every job, and each page the
 * host then writes. posix_spawn copies nothing; the end is told by a pidfd. */
#ifndef WATTLE_HOST_CHILD_H
#define WATTLE_HOST_CHILD_H

#include "base/err.h"

#include <sys/types.h>
#include <uv.h>

struct child {
    uv_poll_t poll; /* of `pidfd`; `data` is the caller's */
    int pidfd;
    pid_t pid;
    void (*on_exited)(struct child *child);
};

struct child_start {
    uv_loop_t *loop;
    const char *program; /* a path */
    char **argv;
    int fd; /* becomes CHILD_FD; what else it has is /dev/null, three times */
    void (*on_exited)(struct child *child);
};
enum { CHILD_FD = 3 };

/* In a session of its own, in '/', with an empty environment and no signal blocked or ignored.
 * Errors: host.worker; then nothing is left to be closed. */
int child_begin(struct child *child, const struct child_start *start, struct err *err) MUST_CHECK;
/* After on_exited; `on_closed` as for uv_close, with `poll`. */
void child_close(struct child *child, uv_close_cb on_closed);

#endif
