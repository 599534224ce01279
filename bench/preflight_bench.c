/* Times the look through a pen against `find TREE -type f -links +1`, in turn, and prints the
 * medians of the ratios within a round.
 *
 * usage: preflight_bench ROUNDS TREE STATE_FOLDER
 * first: nothing is remembered, and what was found is written down. again: nothing has changed.
 * The goals are those of the look: 0.6 for the first, and for the next the share of folders, plus
 * the share of git's objects, plus 0.05. */
#include "base/cleanup.h"
#include "job/names.h"
#include "pen/pen.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000, FOLDERS_OPEN = 64 };

static double now_ms(void)
{
    struct timespec time;

    (void) clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e3 + (double) time.tv_nsec / 1e6;
}

static double time_find(const char *tree)
{
    const double began_ms = now_ms();
    const pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void) dup2(fd, STDOUT_FILENO);
        (void) execlp("find", "find", tree, "-type", "f", "-links", "+1", (char *) NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        (void) fputs("find failed\n", stderr);
        exit(1);
    }
    return now_ms() - began_ms;
}

static double time_look(const char *tree, const char *state, bool fresh,
                        struct pen_findings **ret_findings)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    AUTO(job_names_freep) struct job_names *names = NULL;
    AUTO_FREE char *pen = strdup(tree);
    char why[] = "the pen";
    const struct policy_rule rule = {.path = pen, .access = POLICY_WRITE, .why = why};
    struct pen_request request = {
        .pen = tree, .state_dir = state, .fresh = fresh, .guarded = job_names_may_guard};
    struct err err = {0};
    double began_ms;

    /* Guarded names are asked for, as in a run. */
    if (policy == NULL || pen == NULL || policy_set_pen(policy, tree, &err) < 0 ||
        policy_add_rule(policy, &rule, &err) < 0 || job_names_make(policy, &names, &err) < 0) {
        (void) fprintf(stderr, "%s\n", err.what);
        exit(1);
    }
    request.guarded_context = names;
    request.guarded_key = job_names_key(names);
    policy_preflight(policy)->accept_shared_links = true;
    policy_preflight(policy)->entries = UINT64_C(1) << 24;
    began_ms = now_ms();
    if (pen_preflight(&request, policy, ret_findings, &err) < 0) {
        (void) fprintf(stderr, "%s\n", err.what);
        exit(1);
    }
    return now_ms() - began_ms;
}

static size_t objects; /* nftw has no context */

static int count_objects(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void) status;
    (void) type;
    (void) at;
    objects += strstr(path, "/.git/objects") != NULL;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return *left < *right ? -1 : *left > *right;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static void print(const char *name, double *ratios, size_t rounds, double goal)
{
    const double ratio = median(ratios, rounds);

    (void) printf("  %-6s %5.2f of find (%4.2f to %4.2f)   goal <= %4.2f: %s\n", name, ratio,
                  ratios[0], ratios[rounds - 1], goal, ratio <= goal ? "reached" : "MISSED");
}

int main(int argc, char **argv)
{
    static double first[ROUNDS_MAX], again[ROUNDS_MAX], finds[ROUNDS_MAX];
    const size_t rounds = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    AUTO(pen_findings_freep) struct pen_findings *findings = NULL;
    double folders, share;

    if (rounds == 0 || rounds > ROUNDS_MAX) {
        (void) fputs("usage: preflight_bench ROUNDS TREE STATE_FOLDER\n", stderr);
        return 2;
    }
    (void) time_find(argv[2]);
    (void) nftw(argv[2], count_objects, FOLDERS_OPEN, FTW_PHYS);
    for (size_t i = 0; i < rounds; i++) {
        finds[i] = time_find(argv[2]);
        pen_findings_freep(&findings);
        first[i] = time_look(argv[2], argv[3], true, &findings) / finds[i];
        pen_findings_freep(&findings);
        again[i] = time_look(argv[2], argv[3], false, &findings) / finds[i];
    }
    folders = (double) findings->folders / (double) findings->entries;
    share = (double) objects / (double) findings->entries;
    (void) printf("  %llu entries, %.0f %% folders, %.0f %% git objects; find takes %.1f ms; "
                  "%zu folders were read again\n",
                  (unsigned long long) findings->entries, folders * 100, share * 100,
                  median(finds, rounds), findings->folders_read);
    print("first", first, rounds, 0.6);
    print("again", again, rounds, folders + share + 0.05);
    return 0;
}
