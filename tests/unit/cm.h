/* cmocka in the include order it needs, and what several tests need. */
#ifndef WATTLE_TESTS_CM_H
#define WATTLE_TESTS_CM_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* cmocka's own skip() says "not ok" in TAP, so that a skipped test would count as a failed one. */
#undef skip

/* Leaves the test, for what is not this caller's to test. tools/count-tests.py knows the words. */
#define SKIP_TEST(why)                                                                             \
    do {                                                                                           \
        print_message("# skipped: %s\n", why);                                                     \
        return;                                                                                    \
    } while (0)

/* The same for what this machine cannot do; a failure where every test must run. */
#define CANNOT_RUN(why)                                                                            \
    do {                                                                                           \
        if (getenv("WATTLE_MUST_RUN") != NULL)                                                     \
            fail_msg("cannot run here: %s", why);                                                  \
        SKIP_TEST(why);                                                                            \
    } while (0)

/* Inside a fence there is none, and `make demo` runs the unit tests in one. */
static inline bool has_openat2(void)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC};
    const long fd = syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);

    if (fd >= 0)
        (void) close((int) fd);
    return fd >= 0 || errno != ENOSYS;
}

#define NEEDS_OPENAT2()                                                                            \
    do {                                                                                           \
        if (!has_openat2())                                                                        \
            CANNOT_RUN("no openat2");                                                              \
    } while (0)

#endif
