/* What the helpers of the tests share: small programs, each one table or one loop. */
#ifndef WATTLE_TESTS_HELPER_H
#define WATTLE_TESTS_HELPER_H

#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HELPER_FAILED 99 /* the helper itself broke: no test expects this status */

/* A whole non-negative number, also 0x..; anything else ends the helper. */
static inline unsigned long helper_number(const char *text)
{
    char *end = NULL;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0')
        errx(HELPER_FAILED, "'%s' is not a number", text);
    return value;
}

static inline int64_t helper_now_us(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t) 1000000 + now.tv_nsec / 1000;
}

/* Index of the word after "--", or the helper ends with how it is used. */
static inline int helper_command(int argc, char **argv, const char *usage)
{
    for (int i = 1; i < argc - 1; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
    }
    errx(HELPER_FAILED, "usage: %s", usage);
}

static inline _Noreturn void helper_exec(char **argv)
{
    execvp(argv[0], argv);
    err(errno == ENOENT ? 127 : 126, "%s", argv[0]);
}

#endif
