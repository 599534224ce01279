/* `wattle run`, one run from start to end:
 *
 *   options -> what they mean together -> policy (request.c, derive/) -> a look through the pen
 *   (preflight.c, pen/) -> job_run, which clones, builds the fence and supervises -> hints from the
 *   policy and the last words -> exit status
 *
 * Until job_run nothing is written to disk but what is remembered of a pen. Two records are kept on
 * the way: events on --status-fd and lines in the spool. Neither can make a run fail. */
#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/endcheck.h"
#include "cli/made.h"
#include "cli/option_rows.h"
#include "cli/preflight.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/status.h"
#include "cli/view.h"
#include "job/outlook.h"
#include "job/spool.h"
#include "policy/hint.h"
#include "policy/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_LIMIT_BYTES = 512 << 10,
    HELD_TOLD_MAX = 256,
    STATUS_LAST_WAIT_MS = 1000, /* for room in the pipe of --status-fd, when all is over */
};

struct run {
    const struct values *values;
    struct derive_owner *owner;
    struct policy *policy;
    struct look look;     /* what was seen of the pen, for the end also */
    struct err unguarded; /* why names cannot be guarded here; code 0: they can, or it was
                             not asked for */
    struct record_run record;
    struct endcheck endcheck;
    size_t held_told; /* events on --status-fd */
    int status_fd;
    int made_fd;
    bool started;
    char denied[512]; /* the first refusal of the guard, for the last word; "": none was told */
};

static int run_status_of(const struct err *err)
{
    const bool missing = err->code == ENOENT;

    if (str_equal(err->id, "derive.command-missing") || (str_equal(err->id, "job.exec") && missing))
        return RUN_NOT_FOUND;
    if (str_equal(err->id, "derive.command-not-executable"))
        return RUN_NOT_EXECUTABLE;
    if (str_equal(err->id, "job.exec") && (err->code == EACCES || err->code == ENOEXEC))
        return RUN_NOT_EXECUTABLE;
    return RUN_REFUSED;
}

static int check(const struct values *values, struct err *err)
{
    if (values->tty && values->no_tty)
        return err_set(err, EINVAL, "cli.option", "'--tty' and '--no-tty' exclude each other");
    if (values->quiet && values->verbose)
        return err_set(err, EINVAL, "cli.option", "'--quiet' and '--verbose' exclude each other");
    if (values->made_fd != 0 && values->made_fd == values->status_fd)
        return err_set(err, EINVAL, "cli.option",
                       "'--made-fd' and '--status-fd' cannot be the same descriptor");
    if (values->json && !values->dry_run) {
        (void) err_set(err, EINVAL, "cli.option", "'--json' goes with '--dry-run' only");
        return err_hint(err, "'--status-fd N' reports a run as JSON");
    }
    if (values->rest_count == 0) {
        (void) err_set(err, EINVAL, "cli.arguments", "no command to run");
        return err_hint(err, "as in 'wattle run -- make test'");
    }
    return 0;
}

/* ---- records: what goes wrong with them is worth a word with -v and nothing else ------------ */

static void write_status(const struct run *run, const struct buf *line, int rc, int wait_ms)
{
    if (rc == 0)
        rc = status_write(run->status_fd, line, wait_ms);
    if (rc < 0 && run->values->verbose)
        report_line("cannot write to '--status-fd': %s", strerrordesc_np(-rc));
}

static void write_spool(const struct run *run, const struct buf *line, int rc)
{
    AUTO_CLOSE int dir_fd = -1;
    struct err err = {0};

    if (rc == 0)
        rc = dir_fd = spool_open(run->owner->state_dir, &err);
    if (rc >= 0)
        rc = spool_append(dir_fd, line, SPOOL_LIMIT_BYTES, &err);
    if (rc < 0 && run->values->verbose)
        report_line("no record of this run: %s", err.what);
}

static void say_fence(const struct job_start *start)
{
    struct job_weakness weakness;

    report_line("fence: %s, Landlock ABI %d", start->mechanism, start->landlock_abi);
    for (size_t i = 0; job_weakness(start->weak, i, &weakness); i++)
        report_line("weaker: %s", weakness.what);
}

/* Names are not guarded, and what can be done without that is: those that are there are held, and
 * new ones are not prevented. */
static bool detects(const struct run *run)
{
    return policy_get_guard(run->policy) == POLICY_GUARD_DETECT;
}

/* What a job leaves may run later: said without being asked. */
static void say_unguarded(const struct run *run, const struct job_start *start)
{
    struct job_weakness weakness;

    if (detects(run)) {
        report_line("names are not guarded (%s): %zu that %s there %s held, new ones are not "
                    "prevented",
                    run->unguarded.code != 0 ? run->unguarded.what : "--guard detect",
                    run->look.held, run->look.held == 1 ? "is" : "are",
                    run->look.held == 1 ? "is" : "are");
        return;
    }
    for (size_t i = 0; job_weakness(start->weak, i, &weakness); i++) {
        if (str_equal(weakness.id, "guard"))
            report_line("%s", weakness.what);
    }
}

static void on_denied(void *context, const struct job_denial *denial)
{
    struct run *run = context;
    AUTO(buf_free) struct buf line = {0};
    int rc;

    buf_init(&line, LINE_LIMIT_BYTES);
    rc = record_denied(&run->record, denial, &line);
    if (run->status_fd >= 0)
        write_status(run, &line, rc, 0);
    write_spool(run, &line, rc);
    if (run->denied[0] == '\0')
        (void) snprintf(run->denied, sizeof run->denied, "%.10s '%.300s' by '%.15s': %.128s",
                        denial->call, denial->path, denial->program, denial->reason);
    if (run->values->verbose)
        report_line("refused %s '%s' by '%s' (pid %d): %s", denial->call, denial->path,
                    denial->program, (int) denial->pid, denial->reason);
}

/* After the run, or before it for what a crashed one left. */
static void on_held(void *context, const struct held_event *event)
{
    struct run *run = context;
    AUTO(buf_free) struct buf line = {0};
    int rc;

    buf_init(&line, LINE_LIMIT_BYTES);
    rc = record_held(&run->record, event, &line);
    if (run->status_fd >= 0 && run->held_told++ < HELD_TOLD_MAX)
        write_status(run, &line, rc, STATUS_LAST_WAIT_MS);
    write_spool(run, &line, rc);
    if (run->values->verbose)
        report_line("%s '%s/%s': %s", held_action_name(event->action), event->top, event->path,
                    event->reason);
}

static void on_start(void *context, const struct job_start *start)
{
    struct run *run = context;
    AUTO(buf_free) struct buf status = {0};
    AUTO(buf_free) struct buf spool = {0};

    run->started = true;
    buf_init(&status, LINE_LIMIT_BYTES);
    buf_init(&spool, LINE_LIMIT_BYTES);
    if (run->status_fd >= 0)
        write_status(run, &status, record_status_start(&run->record, start, &status), 0);
    write_spool(run, &spool, record_spool_start(&run->record, start, &spool));
    if (run->values->verbose)
        say_fence(start);
    if (!run->values->quiet && (!run->values->verbose || detects(run)))
        say_unguarded(run, start);
}

static void on_made(void *context, const struct job_made *made)
{
    struct run *run = context;
    const int rc = run->made_fd >= 0 ? made_write(run->made_fd, made) : 0;

    if (rc < 0 && !run->values->quiet)
        report_line("cannot write all names to '--made-fd': %s", strerrordesc_np(-rc));
    run->record.made = record_made(made); /* out of memory: the line goes without */
    if (!run->values->quiet)
        made_say(made, run->values->verbose);
}

/* `result` or `refusal` is NULL. What never started is no line of the spool. */
static void record_the_end(const struct run *run, int exit_code, const struct job_result *result,
                           const struct err *refusal)
{
    AUTO(buf_free) struct buf line = {0};
    int rc;

    if (run->status_fd < 0 && !run->started)
        return;
    buf_init(&line, LINE_LIMIT_BYTES);
    rc = record_end(&run->record, exit_code, result, refusal, &line);
    if (run->status_fd >= 0)
        write_status(run, &line, rc, STATUS_LAST_WAIT_MS);
    if (run->started)
        write_spool(run, &line, rc);
}

/* ---- the run ------------------------------------------------------------------------------ */

static void say_notes(const struct run *run)
{
    for (size_t i = 0; i < policy_notes(run->policy); i++)
        report_line("note: %s", policy_note_at(run->policy, i));
}

static void say_denied(const struct run *run, const struct job_result *result)
{
    if (result->denied == 0 || run->values->quiet)
        return;
    report_line("refused %llu call%s on guarded names%s%s", (unsigned long long) result->denied,
                result->denied == 1 ? "" : "s",
                run->denied[0] == '\0' ? ""
                : result->denied == 1  ? ": "
                                       : ", first ",
                run->denied);
}

static void say_held(const struct run *run)
{
    if (!run->values->quiet)
        endcheck_say(&run->endcheck);
}

static void say_timeout(const struct run *run)
{
    const uint64_t time_ms = policy_get_limits(run->policy)->deadline_ms;
    const bool asked = run->values->timeout_ms == time_ms; /* else a configuration's */
    char text[32];

    policy_print_time(time_ms, text, sizeof text);
    report_line("ended: its time of %s was over%s", text, asked ? " (--timeout)" : "");
}

static void say_hints(const struct run *run, const struct job_result *result)
{
    AUTO(buf_free) struct buf lines = {0};
    char *line;
    char *next;

    if (result->exit_code == 0 || run->values->quiet)
        return;
    if (result->timed_out)
        say_timeout(run);
    buf_init(&lines, LINE_LIMIT_BYTES);
    if (hint_find(run->policy, run->owner->home, HINT_OWNER, result->tail, result->tail_size,
                  &lines) < HINT_MAX)
        (void) hint_find_end(run->policy, HINT_OWNER, result->exit_code, &lines);
    for (line = lines.bytes; *line != '\0'; line = next) {
        const size_t length = strcspn(line, "\n");

        next = line + length + (line[length] == '\n');
        report_line("%.*s", (int) length, line);
    }
}

/* A copy, because job_run wipes the memory of our own argv in pid 1. The texts stand behind the
 * pointers in one block. */
static char **copy_argv(const char *const *argv, size_t count)
{
    size_t bytes = (count + 1) * sizeof(char *);
    char **copy;
    char *text;

    for (size_t i = 0; i < count; i++)
        bytes += strlen(argv[i]) + 1;
    copy = calloc(1, bytes);
    if (copy == NULL)
        return NULL;
    text = (char *) (copy + count + 1);
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(argv[i]) + 1;

        copy[i] = memcpy(text, argv[i], size);
        text += size;
    }
    return copy;
}

static enum job_tty tty_of(const struct values *values)
{
    if (values->tty)
        return JOB_TTY_YES;
    return values->no_tty ? JOB_TTY_NO : JOB_TTY_AUTO;
}

static int execute(struct run *run, struct err *err)
{
    const struct values *values = run->values;
    AUTO_FREE char **argv = copy_argv(values->rest, values->rest_count);
    const struct job_request request = {
        .policy = run->policy,
        .argv = (const char *const *) argv,
        .mechanism = values->mechanism,
        .cache_dir = run->owner->cache_dir,
        .state_dir = run->owner->state_dir,
        .tty = tty_of(values),
        .keep_tail = !values->quiet,
        .on_start = on_start,
        .on_denied = on_denied,
        .on_made = on_made,
        .control_fd = -1,
        .context = run,
        .own_argv = values->own_argv,
        .own_argv_size = values->own_argv_size,
    };
    struct job_result result = {0};
    int rc;

    if (argv == NULL)
        return err_memory(err);
    if (values->verbose)
        say_notes(run);
    rc = job_run(&request, &result, err);
    endcheck_end(&run->endcheck);
    if (rc < 0)
        return rc;
    record_the_end(run, result.exit_code, &result, NULL);
    say_denied(run, &result);
    say_held(run);
    say_hints(run, &result);
    return result.exit_code;
}

/* Before the job, in the order of time: what earlier runs left, then what is there now. */
static int begin_check(struct run *run, struct err *err)
{
    run->endcheck.on_event = on_held;
    run->endcheck.context = run;
    endcheck_sweep(&run->endcheck, run->owner, run->record.id);
    return detects(run)
               ? endcheck_begin(&run->endcheck, run->owner, run->record.id, run->policy, err)
               : 0;
}

static int derive_and_execute(struct run *run, struct err *err)
{
    const struct values *values = run->values;
    int rc = request_derive(values, values->rest, &run->owner, &run->policy, err);

    if (rc == 0)
        rc = job_guard_settle(run->policy, &run->unguarded, err);
    if (rc >= 0)
        rc = preflight_apply(values, run->owner, run->policy, &run->look, err);
    if (rc < 0)
        return rc;
    run->record.policy = run->policy;
    run->record.argv = values->rest;
    if (values->dry_run)
        return view_print(run->policy, run->owner, values->mechanism, values->json, err);
    rc = begin_check(run, err);
    return rc < 0 ? rc : execute(run, err);
}

static int run_command(const struct values *values, struct err *err)
{
    struct run run = {.values = values, .status_fd = -1, .made_fd = -1};
    int rc = check(values, err);

    if (rc == 0 && values->status_fd != 0)
        rc = run.status_fd = status_open(values->status_fd, "status-fd", err);
    if (rc >= 0 && values->made_fd != 0)
        rc = run.made_fd = status_open(values->made_fd, "made-fd", err);
    if (rc < 0)
        return rc;
    record_new_id(run.record.id);
    rc = derive_and_execute(&run, err);
    if (rc < 0)
        record_the_end(&run, run_status_of(err), NULL, err);
    json_decref(run.record.made);
    look_free(&run.look);
    policy_freep(&run.policy);
    derive_owner_freep(&run.owner);
    return rc;
}

static const struct option_group *const groups[] = {
    &options_reach,     &options_start,   &options_bounds,
    &options_mechanism, &options_dry_run, &options_report,
    &options_talk,      &options_help,    NULL,
};

const struct cmd cmd_run = {
    .name = "run",
    .args = "[--] COMMAND [ARGUMENT...]",
    .summary = "run one command inside a fence",
    .groups = groups,
    .takes_command = true,
    .run = run_command,
    .status_of = run_status_of,
};
