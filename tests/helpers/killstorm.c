/* killstorm ROUNDS SPREAD_US [--term-first] -- COMMAND [ARGUMENT...]
 *
 * Starts COMMAND, waits a random time of at most SPREAD_US, kills it with SIGKILL and waits until
 * every descendant is gone: this process is their subreaper, so that no double fork hides one.
 * --term-first: SIGTERM at the random time and SIGKILL a random time later, to hit the tear-down.
 *
 * Prints one line of figures; exit 1 when something lived on for longer than two seconds (what is
 * left is listed and killed). The same seed gives the same times: KILLSTORM_SEED. */
#include "helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define USAGE "killstorm ROUNDS SPREAD_US [--term-first] -- COMMAND [ARGUMENT...]"
#define ALL_DEAD_WITHIN_US 2000000

struct storm {
    unsigned long rounds;
    unsigned long spread_us;
    bool term_first;
    char **command;
    unsigned random; /* state of the generator */
    unsigned killed_running, killed_late, survivors;
    int64_t *dead_after_us;
};

static unsigned long random_below(struct storm *storm, unsigned long limit)
{
    storm->random = storm->random * 1103515245u + 12345u;
    return limit == 0 ? 0 : (storm->random >> 8) % limit;
}

static void wait_us(unsigned long us)
{
    const struct timespec time = {.tv_sec = (time_t) (us / 1000000),
                                  .tv_nsec = (long) (us % 1000000) * 1000};

    (void) nanosleep(&time, NULL);
}

static pid_t start(const struct storm *storm)
{
    pid_t pid = fork();

    if (pid < 0)
        err(HELPER_FAILED, "fork");
    if (pid == 0) {
        int null_fd = open("/dev/null", O_RDWR);

        for (int fd = 0; fd < 3; fd++)
            (void) dup2(null_fd, fd);
        (void) close(null_fd);
        helper_exec(storm->command);
    }
    return pid;
}

/* Kills every child there still is: this process's own descendants, nobody else's. */
static void kill_children(void)
{
    char path[64];
    char line[4096];
    FILE *list;

    (void) snprintf(path, sizeof path, "/proc/self/task/%d/children", (int) getpid());
    list = fopen(path, "re");
    if (list == NULL)
        return;
    if (fgets(line, sizeof line, list) != NULL) {
        char *at = line;
        char *end = NULL;

        for (long pid = strtol(at, &end, 10); end != at; pid = strtol(at, &end, 10)) {
            warnx("survivor: pid %ld", pid);
            if (pid > 1)
                (void) kill((pid_t) pid, SIGKILL);
            at = end;
        }
    }
    (void) fclose(list);
}

/* Waits till there is no child left; false: something lives on. */
static bool all_dead(struct storm *storm, pid_t pid)
{
    int64_t since = helper_now_us();

    for (;;) {
        int status;
        pid_t got = waitpid(-1, &status, WNOHANG);

        if (got < 0)
            return true;
        if (got == pid) {
            bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

            storm->killed_running += killed;
            storm->killed_late += !killed;
        }
        if (got == 0 && helper_now_us() - since > ALL_DEAD_WITHIN_US)
            return false;
        if (got == 0)
            wait_us(50);
    }
}

static void one_round(struct storm *storm, unsigned long round)
{
    pid_t pid = start(storm);
    int64_t killed_at;

    wait_us(random_below(storm, storm->spread_us));
    if (storm->term_first) {
        (void) kill(pid, SIGTERM);
        wait_us(random_below(storm, storm->spread_us / 4));
    }
    (void) kill(pid, SIGKILL);
    killed_at = helper_now_us();
    if (!all_dead(storm, pid)) {
        storm->survivors++;
        for (int i = 0; i < 100 && !all_dead(storm, pid); i++)
            kill_children();
    }
    storm->dead_after_us[round] = helper_now_us() - killed_at;
}

static int compare(const void *a, const void *b)
{
    const int64_t *left = a;
    const int64_t *right = b;

    return (*left > *right) - (*left < *right);
}

static void print(const struct storm *storm)
{
    size_t count = storm->rounds;
    const int64_t *us = storm->dead_after_us;

    qsort(storm->dead_after_us, count, sizeof *us, compare);
    (void) printf("rounds %lu, killed while running %u, too late %u, with survivors %u; "
                  "kill to all dead: p50 %.1f ms, p99 %.1f ms, max %.1f ms\n",
                  storm->rounds, storm->killed_running, storm->killed_late, storm->survivors,
                  (double) us[count / 2] / 1e3, (double) us[count * 99 / 100] / 1e3,
                  (double) us[count - 1] / 1e3);
}

int main(int argc, char **argv)
{
    int command = helper_command(argc, argv, USAGE);
    const char *seed = getenv("KILLSTORM_SEED");
    struct storm storm = {.command = argv + command};

    if (command < 4)
        errx(HELPER_FAILED, "usage: %s", USAGE);
    storm.rounds = helper_number(argv[1]);
    storm.spread_us = helper_number(argv[2]);
    storm.term_first = strcmp(argv[3], "--term-first") == 0;
    storm.random = seed ? (unsigned) helper_number(seed) : (unsigned) helper_now_us();
    if (storm.rounds == 0)
        errx(HELPER_FAILED, "no rounds");
    storm.dead_after_us = calloc(storm.rounds, sizeof *storm.dead_after_us);
    if (storm.dead_after_us == NULL)
        err(HELPER_FAILED, "calloc");
    (void) printf("seed %u\n", storm.random);
    (void) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (unsigned long i = 0; i < storm.rounds; i++)
        one_round(&storm, i);
    print(&storm);
    free(storm.dead_after_us);
    return storm.survivors > 0;
}
