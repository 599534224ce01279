/* attempt NAME [ARGUMENT...]
 *
 * Tries one way out of a fence and says what came of it: "NAME: got" (exit 0) or "NAME: EPERM ..."
 * (exit 1). The tests run each outside first, where it must succeed, or it proves nothing inside.
 * Static, so that it runs under any policy. `attempt` alone lists the names. */
#include "attempt_priv.h"

static const struct attempt *const groups[] = {
    attempts_files, attempts_ipc, attempts_kernel, attempts_process, attempts_socket,
};
#define GROUPS (sizeof groups / sizeof groups[0])

static const struct attempt *find(const char *name)
{
    for (size_t i = 0; i < GROUPS; i++) {
        for (const struct attempt *at = groups[i]; at->name != NULL; at++) {
            if (strcmp(at->name, name) == 0)
                return at;
        }
    }
    errx(HELPER_FAILED, "unknown attempt '%s'", name);
}

static void list(void)
{
    for (size_t i = 0; i < GROUPS; i++) {
        for (const struct attempt *at = groups[i]; at->name != NULL; at++)
            (void) printf("%s (%d arguments)\n", at->name, at->args);
    }
}

int main(int argc, char **argv)
{
    const struct attempt *attempt;
    const char *why;

    if (argc < 2) {
        list();
        return 0;
    }
    attempt = find(argv[1]);
    if (argc - 2 != attempt->args)
        errx(HELPER_FAILED, "'%s' takes %d arguments", attempt->name, attempt->args);
    errno = 0;
    if (attempt->make(argv + 2) == 0) {
        (void) printf("%s: got\n", attempt->name);
        return 0;
    }
    why = strerrorname_np(errno);
    (void) printf("%s: %s (%s)\n", attempt->name, why ? why : "?", strerror(errno));
    return 1;
}
