/* Whose child a process is, as /proc tells it. Private to src/host.
 *
 * A filter for mistakes: an agent's host that types `wattle grants add` in a shell of its own. Who
 * means to pass gets past it: a process that was left by its parents descends from nobody here. */
#ifndef WATTLE_HOST_KIN_H
#define WATTLE_HOST_KIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kin {
    pid_t pid;     /* 0: nobody */
    uint64_t born; /* in ticks since the system's start, so that a pid that is used again is told */
};

/* The parent of `pid`; nobody when it is the system's or a session's manager, which is everybody's,
 * or cannot be told. */
struct kin kin_parent(pid_t pid);
/* Whether `pid` is `top` or descends from it. */
bool kin_descends(pid_t pid, const struct kin *top);

#endif
