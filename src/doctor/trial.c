/* One attempt, made twice or three times: outside, where it must succeed; inside a real run, where
 * it must not; and inside where the policy opens what it wants. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"
#include "job/job.h"
#include "job/outlook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WORDS_MAX = 4,
    RUN_LIMIT_MS = 8000, /* less than a check has, so that a run ends in order */
    KILL_AFTER_MS = 500,
};

#define REFUSED "refused "

/* "wattle doctor attempt WORD..." with a NULL at the end. */
struct command {
    const char *argv[3 + WORDS_MAX + 1];
};

static void make_command(const struct doctor_world *world, const struct doctor_trial *trial,
                         struct command *command)
{
    *command = (struct command){.argv = {world->program, "doctor", "attempt"}};
    for (size_t i = 0; i < WORDS_MAX && trial->words[i] != NULL; i++)
        command->argv[3 + i] = trial->words[i];
}

void doctor_outcome_freep(struct doctor_outcome **outcome)
{
    if (*outcome == NULL)
        return;
    policy_free((*outcome)->policy);
    free(*outcome);
    *outcome = NULL;
}

/* Finds the last line, which says what came of it. */
static void read_outcome(struct doctor_outcome *outcome)
{
    const size_t size = strlen(outcome->output);
    char *line;

    if (size == 0 || outcome->output[size - 1] != '\n')
        return;
    outcome->output[size - 1] = '\0';
    line = strrchr(outcome->output, '\n');
    line = line != NULL ? line + 1 : outcome->output;
    outcome->got = str_equal(line, "got");
    outcome->ran = outcome->got || str_starts(line, REFUSED);
    if (outcome->ran && !outcome->got)
        (void) snprintf(outcome->why, sizeof outcome->why, "%.40s", line + strlen(REFUSED));
}

/* ---- outside -------------------------------------------------------------------------------- */

/* The kernel takes argv without const and does not write to it. */
static char *const *for_exec(const struct command *command)
{
    const union {
        const char *const *in;
        char *const *out;
    } argv = {.in = command->argv};

    return argv.out;
}

static _Noreturn void be_the_attempt(const struct command *command, int output_fd)
{
    if (dup2(output_fd, STDOUT_FILENO) >= 0)
        (void) execv(command->argv[0], for_exec(command));
    _exit(127);
}

static void collect(int fd, struct doctor_outcome *outcome)
{
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, sizeof outcome->output - 1);
    if (fd_read_all(fd, &text) == 0)
        memcpy(outcome->output, text.bytes, strlen(text.bytes) + 1);
}

struct doctor_outcome *doctor_trial_outside(const struct doctor_world *world,
                                            const struct doctor_trial *trial)
{
    struct doctor_outcome *outcome = calloc(1, sizeof *outcome);
    struct command command;
    int ends[2];
    pid_t pid;

    if (outcome == NULL || pipe2(ends, O_CLOEXEC) < 0)
        return outcome;
    make_command(world, trial, &command);
    pid = fork();
    if (pid == 0)
        be_the_attempt(&command, ends[1]);
    (void) close(ends[1]);
    if (pid > 0) {
        collect(ends[0], outcome);
        (void) waitpid(pid, NULL, 0);
        read_outcome(outcome);
    }
    (void) close(ends[0]);
    return outcome;
}

/* ---- inside --------------------------------------------------------------------------------- */

static void on_start(void *context, const struct job_start *start)
{
    struct doctor_outcome *outcome = context;

    outcome->started = true;
    outcome->weak = start->weak;
    outcome->landlock_abi = start->landlock_abi;
}

static int derive(const struct doctor_world *world, const struct doctor_trial *trial,
                  const struct command *command, struct policy **ret_policy, struct err *err)
{
    const char *const env[] = {trial->env, NULL};
    const char *const sockets[] = {trial->unix_socket, NULL};
    const struct derive_request request = {
        .pen = world->pen,
        .chdir = world->pen,
        .argv = command->argv,
        .paths = &trial->opened,
        .path_count = trial->opened.path != NULL ? 1 : 0,
        .env = env,
        .unix_sockets = sockets,
        .limits =
            {
                .deadline_ms = RUN_LIMIT_MS,
                .kill_after_ms = KILL_AFTER_MS,
                .memory_bytes = trial->memory_bytes,
                .processes = trial->processes,
            },
        .caches_given = true,
        .caches = POLICY_CACHES_JOB,
    };

    if (world->staged == NULL) {
        *err = world->owner_err;
        return -err->code;
    }
    return derive_policy(world->staged, &request, ret_policy, err);
}

static void keep_output(const struct job_output *kept, struct doctor_outcome *outcome)
{
    const size_t size =
        kept->head_size < sizeof outcome->output ? kept->head_size : sizeof outcome->output - 1;

    memcpy(outcome->output, kept->head, size);
    outcome->output[size] = '\0';
    read_outcome(outcome);
}

static int run(const struct doctor_world *world, const struct command *command,
               struct doctor_outcome *outcome)
{
    AUTO_FREE struct job_output *kept = calloc(1, sizeof *kept);
    AUTO_FREE struct job_result *result = calloc(1, sizeof *result);
    const struct job_request request = {
        .policy = outcome->policy,
        .argv = command->argv,
        .cache_dir = world->staged->cache_dir,
        .state_dir = world->staged->state_dir,
        .tty = JOB_TTY_NO,
        .output = kept,
        .on_start = on_start,
        .control_fd = -1,
        .context = outcome,
    };
    struct err unguarded;
    int r;

    if (kept == NULL || result == NULL)
        return err_memory(&outcome->err);
    r = job_guard_settle(outcome->policy, &unguarded, &outcome->err);
    if (r >= 0)
        r = job_run(&request, result, &outcome->err);
    if (r == 0)
        keep_output(kept, outcome);
    if (r == 0 && result->timed_out)
        r = err_set(&outcome->err, ETIMEDOUT, "doctor.run", "the run was ended");
    return r;
}

struct doctor_outcome *doctor_trial_inside(const struct doctor_world *world,
                                           const struct doctor_trial *trial)
{
    AUTO(doctor_outcome_freep) struct doctor_outcome *outcome = calloc(1, sizeof *outcome);
    struct command command;
    int r;

    if (outcome == NULL)
        return NULL;
    make_command(world, trial, &command);
    r = derive(world, trial, &command, &outcome->policy, &outcome->err);
    if (r == 0)
        (void) !run(world, &command, outcome); /* why not is in the outcome */
    return TAKE_PTR(outcome);
}

bool doctor_shows_text(void *context, const struct doctor_outcome *outcome)
{
    return strstr(outcome->output, context) != NULL;
}

/* ---- both ----------------------------------------------------------------------------------- */

static bool works_outside(const struct doctor_world *world, const struct doctor_breakout *breakout,
                          struct doctor_finding *finding)
{
    AUTO(doctor_outcome_freep)
    struct doctor_outcome *outcome = doctor_trial_outside(world, &breakout->trial);

    if (outcome != NULL && breakout->effect(breakout->context, outcome))
        return true;
    doctor_say(finding, DOCTOR_UNSEEN, "nothing was shown: it does not work outside either (%s)",
               outcome == NULL || !outcome->ran ? "the attempt could not be made" : outcome->why);
    return false;
}

static void judge_inside(const struct doctor_breakout *breakout,
                         const struct doctor_outcome *outcome, struct doctor_finding *finding)
{
    finding->started = outcome->started;
    finding->weak = outcome->weak;
    finding->landlock_abi = outcome->landlock_abi;
    if (breakout->effect(breakout->context, outcome))
        doctor_say(finding, DOCTOR_MISSING, "it works inside: the boundary does not hold");
    else if (outcome->err.code != 0)
        doctor_fail(finding, DOCTOR_UNSEEN, &outcome->err);
    else if (!outcome->ran)
        doctor_say(finding, DOCTOR_UNSEEN, "nothing was shown: the attempt was not made");
    else
        doctor_say(finding, DOCTOR_OK, "works outside; inside: %s",
                   outcome->got ? "no effect" : outcome->why);
}

static void judge_opened(const struct doctor_world *world, const struct doctor_breakout *breakout,
                         struct doctor_finding *finding)
{
    AUTO(doctor_outcome_freep)
    struct doctor_outcome *outcome = doctor_trial_inside(world, breakout->opened);
    char detail[160];

    if (outcome != NULL && breakout->effect(breakout->context, outcome)) {
        (void) snprintf(detail, sizeof detail, "%.120s", finding->detail);
        doctor_say(finding, DOCTOR_OK, "%s; works where the policy opens it", detail);
        return;
    }
    doctor_say(finding, DOCTOR_UNSEEN,
               "nothing was shown: it does not work inside even where the policy opens it (%s)",
               outcome == NULL           ? "no memory"
               : outcome->err.code != 0  ? outcome->err.what
               : outcome->why[0] != '\0' ? outcome->why
                                         : "no effect");
}

void doctor_breakout_try(const struct doctor_world *world, const struct doctor_breakout *breakout,
                         struct doctor_finding *finding)
{
    AUTO(doctor_outcome_freep) struct doctor_outcome *outcome = NULL;

    if (!works_outside(world, breakout, finding))
        return;
    outcome = doctor_trial_inside(world, &breakout->trial);
    if (outcome == NULL)
        return;
    judge_inside(breakout, outcome, finding);
    if (finding->status == DOCTOR_OK && breakout->opened != NULL)
        judge_opened(world, breakout, finding);
}
