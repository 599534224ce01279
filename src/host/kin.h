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

#define KIN_NAME_BYTES 64

struct kin_process {
    pid_t parent;
    uint64_t born;
    char name[KIN_NAME_BYTES]; /* its own word, cut */
};

/* The text of /proc/PID/stat, or the beginning of it: "PID (NAME) STATE PARENT ...". false: it is
 * not one, and *ret_process is as before. */
bool kin_read(const char *text, struct kin_process *ret_process);

/* The parent of `pid`; nobody when it is the system's or a session's manager, which is everybody's,
 * or cannot be told. */
struct kin kin_parent(pid_t pid);
/* Whether `pid` is `top` or descends from it. */
bool kin_descends(pid_t pid, const struct kin *top);

#endif
