/* spawn_bench OPTION... -- NAME WORD... [::: NAME WORD...]...
 *
 * How long whole processes take, side by side. In every round each command runs once, in an order
 * that turns, so that what one leaves behind does not always fall on the same other. A process
 * counts from fork to its end as its caller sees it; whatever it leaves running is waited for
 * before the next one starts, outside of the count. Ratios are taken within a round, and their
 * median is printed: load that comes and goes falls on both sides.
 *
 *   -n ROUNDS   rounds (100)
 *   -j COUNT    run each command COUNT times at once; the time is that of the slowest (1)
 *   -g NAME=R   goal: the first command's time is at most R times that of NAME; may be repeated
 *   -p SCRIPT   run by sh before each command, outside of the count
 *   -l LABEL    print one line for each ratio instead of tables, with the ratio of processor time
 *               beside it, which other load disturbs less
 *
 * A word "@N=PATH" is no argument: the command gets descriptor N open on PATH. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 8
#define WORDS_MAX 1024

struct command {
    const char *name;
    char *words[WORDS_MAX];
    size_t count;
    double goal; /* 0: none */
    size_t failures;
    double *us;     /* of each round */
    double *cpu_us; /* of the processes and all they waited for */
};

struct bench {
    struct command commands[COMMANDS_MAX];
    size_t count;
    size_t rounds;
    size_t at_once;
    const char *prepare; /* NULL: nothing */
    const char *label;   /* NULL: tables */
};

static double now_us(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static double to_us(struct timeval time)
{
    return (double) time.tv_sec * 1e6 + (double) time.tv_usec;
}

static void open_at(const char *word)
{
    char *path = NULL;
    const int wanted = (int) strtol(word + 1, &path, 10);
    const int fd = open(path + 1, O_RDONLY);

    if (*path != '=' || fd < 0 || (fd != wanted && dup2(fd, wanted) < 0))
        err(99, "%s", word);
    if (fd != wanted)
        (void) close(fd);
}

static _Noreturn void become(const struct command *command)
{
    char *argv[WORDS_MAX + 1];
    size_t count = 0;
    const int null_fd = open("/dev/null", O_RDWR);

    for (int fd = 0; fd < 2; fd++)
        (void) dup2(null_fd, fd);
    for (size_t i = 0; i < command->count; i++) {
        if (command->words[i][0] == '@')
            open_at(command->words[i]);
        else
            argv[count++] = command->words[i];
    }
    argv[count] = NULL;
    execvp(argv[0], argv);
    err(99, "%s", argv[0]);
}

/* Waits for `count` processes that were started for the command; others are waited for as well. */
static double wait_for(struct command *command, const pid_t *pids, size_t count)
{
    size_t left = count;
    double cpu_us = 0;

    while (left > 0) {
        struct rusage used;
        int status;
        const pid_t pid = wait4(-1, &status, 0, &used);

        if (pid < 0)
            err(1, "waitpid");
        for (size_t i = 0; i < count; i++) {
            if (pids[i] != pid)
                continue;
            left--;
            cpu_us += to_us(used.ru_utime) + to_us(used.ru_stime);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                command->failures++;
        }
    }
    return cpu_us;
}

static void wait_for_leftovers(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void prepare(const struct bench *bench)
{
    int status = 0;
    const pid_t pid = bench->prepare != NULL ? fork() : 0;

    if (bench->prepare == NULL)
        return;
    if (pid == 0) {
        (void) execl("/bin/sh", "sh", "-ec", bench->prepare, (char *) NULL);
        err(99, "sh");
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        errx(1, "'%s' failed", bench->prepare);
}

static void run_once(const struct bench *bench, struct command *command, size_t round)
{
    pid_t pids[256];
    double start;

    prepare(bench);
    start = now_us();
    for (size_t i = 0; i < bench->at_once; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            err(1, "fork");
        if (pids[i] == 0)
            become(command);
    }
    command->cpu_us[round] = wait_for(command, pids, bench->at_once);
    command->us[round] = now_us() - start;
    wait_for_leftovers();
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *) a;
    const double right = *(const double *) b;

    return (left > right) - (left < right);
}

static double quantile(const double *values, size_t count, double part)
{
    double *sorted = malloc(count * sizeof *sorted);
    double found;

    if (sorted == NULL)
        err(1, "malloc");
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    found = sorted[(size_t) ((double) (count - 1) * part + 0.5)];
    free(sorted);
    return found;
}

static void print_times(const struct bench *bench)
{
    (void) printf("  %-34s %9s %9s %9s\n", "", "min ms", "median", "p95");
    for (size_t i = 0; i < bench->count; i++) {
        const struct command *command = &bench->commands[i];

        (void) printf("  %-34s %9.2f %9.2f %9.2f\n", command->name,
                      quantile(command->us, bench->rounds, 0) / 1e3,
                      quantile(command->us, bench->rounds, 0.5) / 1e3,
                      quantile(command->us, bench->rounds, 0.95) / 1e3);
    }
}

/* Of the first command's to the other's, within each round. */
static void take_ratios(const struct bench *bench, const double *first, const double *other,
                        double *ratios)
{
    for (size_t round = 0; round < bench->rounds; round++)
        ratios[round] = first[round] / (other[round] > 0 ? other[round] : 1);
}

static void print_lines(const struct bench *bench)
{
    const struct command *first = &bench->commands[0];
    double *ratios = malloc(bench->rounds * sizeof *ratios);

    if (ratios == NULL)
        err(1, "malloc");
    for (size_t i = 1; i < bench->count; i++) {
        const struct command *other = &bench->commands[i];
        double ratio;

        take_ratios(bench, first->us, other->us, ratios);
        ratio = quantile(ratios, bench->rounds, 0.5);
        (void) printf("  %-34s %6.2f  (%.2f to %.2f)", bench->label, ratio,
                      quantile(ratios, bench->rounds, 0), quantile(ratios, bench->rounds, 1));
        take_ratios(bench, first->cpu_us, other->cpu_us, ratios);
        (void) printf("  %6.2f", quantile(ratios, bench->rounds, 0.5));
        if (other->goal > 0)
            (void) printf("   %4.2f  %s", other->goal, ratio <= other->goal ? "reached" : "MISSED");
        (void) printf("\n");
    }
    free(ratios);
}

static void print_ratios(const struct bench *bench)
{
    double *ratios = malloc(bench->rounds * sizeof *ratios);

    if (ratios == NULL)
        err(1, "malloc");
    for (size_t i = 1; i < bench->count; i++) {
        const struct command *other = &bench->commands[i];
        double ratio;

        take_ratios(bench, bench->commands[0].us, other->us, ratios);
        ratio = quantile(ratios, bench->rounds, 0.5);
        (void) printf("  %s / %s: %.3f", bench->commands[0].name, other->name, ratio);
        if (other->goal > 0)
            (void) printf("   goal <= %.2f: %s", other->goal,
                          ratio <= other->goal ? "reached" : "MISSED");
        (void) printf("\n");
    }
    free(ratios);
}

static size_t print_failures(const struct bench *bench)
{
    size_t failures = 0;

    for (size_t i = 0; i < bench->count; i++) {
        const struct command *command = &bench->commands[i];

        failures += command->failures;
        if (command->failures > 0)
            (void) printf("  FAILED %zu times: %s\n", command->failures, command->name);
    }
    return failures;
}

static void print_load(void)
{
    double load[3];

    if (getloadavg(load, 3) == 3)
        (void) printf("  load %.2f %.2f %.2f\n", load[0], load[1], load[2]);
}

static void add_word(struct bench *bench, char *word)
{
    struct command *command = &bench->commands[bench->count - 1];

    if (command->name == NULL)
        command->name = word;
    else if (command->count < WORDS_MAX)
        command->words[command->count++] = word;
    else
        errx(2, "too many words for '%s'", command->name);
}

static void read_commands(struct bench *bench, char **words)
{
    bench->count = 1;
    for (; *words != NULL; words++) {
        if (strcmp(*words, ":::") != 0) {
            add_word(bench, *words);
            continue;
        }
        if (bench->count == COMMANDS_MAX)
            errx(2, "too many commands");
        bench->count++;
    }
}

static void set_goal(struct bench *bench, const char *goal)
{
    const char *mark = strrchr(goal, '=');

    for (size_t i = 0; mark != NULL && i < bench->count; i++) {
        if (strlen(bench->commands[i].name) == (size_t) (mark - goal) &&
            strncmp(bench->commands[i].name, goal, (size_t) (mark - goal)) == 0) {
            bench->commands[i].goal = strtod(mark + 1, NULL);
            return;
        }
    }
    errx(2, "no command for the goal '%s'", goal);
}

static void measure(struct bench *bench)
{
    for (size_t i = 0; i < bench->count; i++) {
        struct command *command = &bench->commands[i];

        command->us = calloc(bench->rounds, sizeof(double));
        command->cpu_us = calloc(bench->rounds, sizeof(double));
        if (command->us == NULL || command->cpu_us == NULL)
            err(1, "calloc");
        run_once(bench, command, 0); /* warms the caches */
    }
    for (size_t round = 0; round < bench->rounds; round++) {
        for (size_t i = 0; i < bench->count; i++)
            run_once(bench, &bench->commands[(round + i) % bench->count], round);
    }
}

int main(int argc, char **argv)
{
    static struct bench bench = {.rounds = 100, .at_once = 1};
    const char *goals[COMMANDS_MAX];
    size_t goal_count = 0;
    int option;

    while ((option = getopt(argc, argv, "+n:j:g:p:l:")) != -1) {
        if (option == 'n')
            bench.rounds = strtoul(optarg, NULL, 10);
        else if (option == 'j')
            bench.at_once = strtoul(optarg, NULL, 10);
        else if (option == 'p')
            bench.prepare = optarg;
        else if (option == 'l')
            bench.label = optarg;
        else if (option == 'g' && goal_count < COMMANDS_MAX)
            goals[goal_count++] = optarg;
        else
            errx(2, "usage: spawn_bench [-n ROUNDS] [-j COUNT] [-g NAME=R]... [-p SCRIPT] "
                    "[-l LABEL] -- NAME WORD... [::: NAME WORD...]...");
    }
    if (bench.rounds == 0 || bench.at_once == 0 || bench.at_once > 256 || optind == argc)
        errx(2, "nothing to measure");
    read_commands(&bench, argv + optind);
    for (size_t i = 0; i < goal_count; i++)
        set_goal(&bench, goals[i]);
    (void) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (bench.label != NULL) {
        measure(&bench);
        print_lines(&bench);
        return print_failures(&bench) > 0;
    }
    print_load();
    measure(&bench);
    print_times(&bench);
    print_ratios(&bench);
    print_load();
    return print_failures(&bench) > 0;
}
