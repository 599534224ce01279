/* One attempt of try_syscall.c, and the table of them. */
#ifndef WATTLE_TESTS_TRY_SYSCALL_H
#define WATTLE_TESTS_TRY_SYSCALL_H

#include <stddef.h>

struct attempt {
    const char *name;
    long number; /* of the call to make with `args`, when there is no `make` */
    long args[6];
    long (*make)(const long *args); /* -1 and errno, or anything else */
    int expected;                   /* errno inside the fence; 0: allowed */
    int or_signal;                  /* a signal that is as good as the errno */
};

extern const struct attempt attempts[];
extern const size_t attempts_count;

#endif
