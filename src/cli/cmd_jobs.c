/* `wattle jobs`: what models have run, and what runs. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/report.h"
#include "rpc/client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>

static const struct option_group *const list_groups[] = {&options_jobs_list, &options_json,
                                                         &options_help, NULL};
static const struct option_group *const logs_groups[] = {&options_jobs_logs, &options_json,
                                                         &options_help, NULL};
static const struct option_group *const groups[] = {&options_json, &options_help, NULL};

static const struct ask_param job_word[] = {{.key = "job"}, {.key = NULL}};

static const struct ask_column columns[] = {
    {.title = "ID", .key = "job_id"},
    {.title = "STATE", .key = "state"},
    {.title = "EXIT", .key = "exit_code"},
    {.title = "ASKED", .key = "asked_ms", .show = ASK_SHOW_TIME},
    {.title = "PEN", .key = "pen"},
    {.title = "COMMAND", .key = "request", .show = ASK_SHOW_COMMAND},
    {.title = NULL},
};
static const struct ask_column name_columns[] = {
    {.title = "HOW", .key = "how"},
    {.title = "PATH", .key = "path"},
    {.title = "WHY IT MATTERS", .key = "reason"},
    {.title = NULL},
};
static const struct ask_column denial_columns[] = {
    {.title = "CALL", .key = "call"},
    {.title = "PATH", .key = "path"},
    {.title = "BY", .key = "program"},
    {.title = "WHY", .key = "reason"},
    {.title = NULL},
};
static const struct ask_column lines[] = {
    {.title = "id", .key = "job_id"},
    {.title = "state", .key = "state"},
    {.title = "exit code", .key = "exit_code"},
    {.title = "signal", .key = "signal"},
    {.title = "command", .key = "request", .show = ASK_SHOW_COMMAND},
    {.title = "program", .key = "executable"},
    {.title = "pen", .key = "pen"},
    {.title = "chat", .key = "chat"},
    {.title = "asked", .key = "asked_ms", .show = ASK_SHOW_TIME},
    {.title = "began", .key = "began_ms", .show = ASK_SHOW_TIME},
    {.title = "ended", .key = "ended_ms", .show = ASK_SHOW_TIME},
    {.title = "output bytes", .key = "total_bytes"},
    {.title = "refused calls", .key = "denied"},
    {.title = "policy", .key = "policy_digest"},
    {.title = "notice", .key = "notice"},
    {.title = "cause", .key = "cause"},
    {.title = "created and changed",
     .key = "names",
     .show = ASK_SHOW_TABLE,
     .of = name_columns,
     .total = "names_total"},
    {.title = "refused",
     .key = "denials",
     .show = ASK_SHOW_TABLE,
     .of = denial_columns,
     .total = "denied"},
    {.title = "output", .key = "output", .show = ASK_SHOW_OUTPUT},
    {.title = NULL},
};

static const struct ask ask_list = {
    .method = "jobs.list",
    .options =
        (const struct ask_param[]){
            {"pen", ASK_PEN, offsetof(struct values, pen), false, NULL},
            {"chat", ASK_TEXT, offsetof(struct values, chat), false, NULL},
            {"state", ASK_TEXT, offsetof(struct values, state), false, NULL},
            {"limit", ASK_COUNT, offsetof(struct values, limit), false, NULL},
            {.key = NULL}},
    .list = "jobs",
    .columns = columns,
};
const struct cmd cmd_jobs_list = {
    .name = "jobs",
    .verb = "list",
    .summary = "list the commands of models, newest first",
    .groups = list_groups,
    .ask = &ask_list,
};

static const struct ask ask_show = {.method = "jobs.show", .words = job_word, .columns = lines};
const struct cmd cmd_jobs_show = {
    .name = "jobs",
    .verb = "show",
    .args = "JOB",
    .summary = "show one of them, what it was asked for and what came of it",
    .groups = groups,
    .ask = &ask_show,
};

static const struct ask ask_stop = {.method = "jobs.stop", .words = job_word, .columns = lines};
const struct cmd cmd_jobs_stop = {
    .name = "jobs",
    .verb = "stop",
    .args = "JOB",
    .summary = "end a command and everything it started",
    .groups = groups,
    .ask = &ask_stop,
};

/* ---- logs ------------------------------------------------------------------------------------ */

enum { LOOK_MS = 250, LOGS_LIMIT_BYTES = 16 << 20 };

/* What was kept of the output: its beginning and its end. */
struct kept {
    struct buf head, tail;
    uint64_t total;
    bool done;
};

static void kept_free(struct kept *kept)
{
    buf_free(&kept->head);
    buf_free(&kept->tail);
}

static int take_kept(const json_t *answer, struct kept *kept, struct err *err)
{
    const char *head = json_string_value(json_object_get(answer, "head"));
    const char *tail = json_string_value(json_object_get(answer, "tail"));

    buf_init(&kept->head, LOGS_LIMIT_BYTES);
    buf_init(&kept->tail, LOGS_LIMIT_BYTES);
    if (head == NULL || tail == NULL || base64_decode(head, &kept->head) < 0 ||
        base64_decode(tail, &kept->tail) < 0)
        return err_set(err, EBADMSG, "cli.logs", "the host's answer cannot be read");
    kept->total = (uint64_t) json_integer_value(json_object_get(answer, "total_bytes"));
    kept->done = json_is_true(json_object_get(answer, "done"));
    return 0;
}

/* Adds what of `part`, which begins at `from` in the whole, lies at or after `*shown`. */
static void add_part(const struct buf *part, uint64_t from, uint64_t *shown, struct buf *text)
{
    const uint64_t end = from + part->size;

    if (*shown < from) {
        (void) buf_printf(text, "[%" PRIu64 " bytes left out]\n", from - *shown);
        *shown = from;
    }
    if (*shown >= end)
        return;
    ask_print_output(part->bytes + (*shown - from), (size_t) (end - *shown), text);
    *shown = end;
}

static int print_new(const struct kept *kept, uint64_t *shown, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, LOGS_LIMIT_BYTES);
    add_part(&kept->head, 0, shown, &text);
    if (kept->total >= kept->tail.size)
        add_part(&kept->tail, kept->total - kept->tail.size, shown, &text);
    return print_out(&text, err);
}

static int print_answer(const json_t *answer, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, LOGS_LIMIT_BYTES);
    return json_print(&text, answer) < 0 ? err_memory(err) : print_out(&text, err);
}

/* With -f until the job is over, as often as a reader can follow. */
static int logs(struct rpc_client *client, const json_t *params, const struct values *values,
                struct err *err)
{
    uint64_t shown = 0;

    for (;;) {
        AUTO(json_free) json_t *answer = NULL;
        AUTO(kept_free) struct kept kept = {.total = 0};
        int r = rpc_client_call(client, "jobs.logs", json_deep_copy(params), &answer, err);

        if (r < 0)
            return r;
        if (values->json)
            return print_answer(answer, err);
        r = take_kept(answer, &kept, err);
        if (r == 0)
            r = print_new(&kept, &shown, err);
        if (r < 0 || kept.done || !values->follow)
            return r;
        (void) poll(NULL, 0, LOOK_MS);
    }
}

static const struct ask ask_logs = {.words = job_word, .run = logs};
const struct cmd cmd_jobs_logs = {
    .name = "jobs",
    .verb = "logs",
    .args = "JOB",
    .summary = "print what a command has printed, so that no terminal obeys it",
    .groups = logs_groups,
    .ask = &ask_logs,
};
