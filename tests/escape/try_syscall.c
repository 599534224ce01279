/* try_syscall [--check] [NAME...]: makes, for real, each attempt the seccomp filter is there to
 * stop.
 *
 * To be run inside the fence; outside it is the control. Each attempt is made by a child of its own
 * and is so chosen that the kernel without the filter gives another answer wherever it can (bad
 * pointers are looked at before rights), and that success changes nothing on the machine, also for
 * root. Prints one line an attempt:
 *
 *   mount errno 1           open-plain allowed           int80-getpid signal 11
 *
 * With --check prints only what is not as the fence should have it, "NAME errno N, expected M", and
 * exits 1 if there is any such line. With names makes these attempts only. Exits 2 on wrong usage.
 *
 * Built static: it runs under any policy. */
#include "try_syscall.h"

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What came of an attempt. */
struct outcome {
    int error;  /* errno; 0: allowed */
    int signal; /* that ended it */
};

static struct outcome outcome_of(const struct attempt *attempt)
{
    long result;

    errno = 0;
    if (attempt->make != NULL)
        result = attempt->make(attempt->args);
    else
        result = syscall(attempt->number, attempt->args[0], attempt->args[1], attempt->args[2],
                         attempt->args[3], attempt->args[4], attempt->args[5]);
    return (struct outcome){.error = result == -1 ? errno : 0};
}

/* A session of its own: no terminal that an attempt could reach. */
static struct outcome attempt_in_child(const struct attempt *attempt)
{
    struct outcome outcome = {0};
    int status = 0;
    int ends[2];
    pid_t pid;

    if (pipe(ends) < 0)
        err(2, "pipe");
    pid = fork();
    if (pid < 0)
        err(2, "fork");
    if (pid == 0) {
        (void) setsid();
        outcome = outcome_of(attempt);
        _exit(write(ends[1], &outcome, sizeof outcome) != sizeof outcome);
    }
    (void) close(ends[1]);
    if (read(ends[0], &outcome, sizeof outcome) != sizeof outcome)
        outcome = (struct outcome){.error = EIO};
    (void) close(ends[0]);
    if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
        outcome.signal = WTERMSIG(status);
    return outcome;
}

static bool as_expected(const struct attempt *attempt, struct outcome outcome)
{
    if (outcome.signal != 0)
        return outcome.signal == attempt->or_signal;
    return outcome.error == attempt->expected;
}

static void print_outcome(const struct attempt *attempt, struct outcome outcome)
{
    if (outcome.signal != 0)
        printf("%s signal %d", attempt->name, outcome.signal);
    else if (outcome.error != 0)
        printf("%s errno %d", attempt->name, outcome.error);
    else
        printf("%s allowed", attempt->name);
}

static bool is_wanted(const char *name, char **names)
{
    if (*names == NULL)
        return true;
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

static void check_names(char **names)
{
    for (; *names != NULL; names++) {
        size_t i = 0;

        while (i < attempts_count && strcmp(attempts[i].name, *names) != 0)
            i++;
        if (i == attempts_count)
            errx(2, "no attempt '%s'", *names);
    }
}

int main(int argc, char **argv)
{
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    char **names = argv + (check ? 2 : 1);
    int bad = 0;

    if (argc < 1)
        return 2;
    check_names(names);
    for (size_t i = 0; i < attempts_count; i++) {
        struct outcome outcome;

        if (!is_wanted(attempts[i].name, names))
            continue;
        (void) fflush(stdout);
        outcome = attempt_in_child(&attempts[i]);
        if (check && as_expected(&attempts[i], outcome))
            continue;
        print_outcome(&attempts[i], outcome);
        if (check)
            printf(", expected %d", attempts[i].expected);
        printf("\n");
        bad++;
    }
    return check && bad > 0 ? 1 : 0;
}
