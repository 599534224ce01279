/* One way out of a fence, tried for real. */
#ifndef WATTLE_TESTS_ATTEMPT_PRIV_H
#define WATTLE_TESTS_ATTEMPT_PRIV_H

#include "../helpers/helper.h"

/* `args`: what followed the name, as many as the table says. Returns 0 when it got what a fence
 * must not give (and prints it when it is something to print), or -1 with errno. */
struct attempt {
    const char *name;
    int args;
    int (*make)(char **args);
};

/* Each ends with an entry whose name is NULL. */
extern const struct attempt attempts_files[];
extern const struct attempt attempts_ipc[];
extern const struct attempt attempts_kernel[];
extern const struct attempt attempts_process[];
extern const struct attempt attempts_socket[];

#endif
