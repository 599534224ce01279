/* `wattle host`: the process behind the models' commands. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"

static const struct option_group *const groups[] = {&options_json, &options_help, NULL};

static const struct ask_column lines[] = {
    {.title = "version", .key = "version"},
    {.title = "pid", .key = "pid"},
    {.title = "since", .key = "since_ms", .show = ASK_SHOW_TIME},
    {.title = "clients", .key = "clients"},
    {.title = "running", .key = "running"},
    {.title = "store", .key = "store"},
    {.title = "unwritten ends", .key = "unwritten"},
    {.title = "problem with it", .key = "store_problem"},
    {.title = "lines of runs", .key = "spool_lines"},
    {.title = "unreadable lines", .key = "spool_unread"},
    {.title = "problem with them", .key = "spool_problem"},
    {.title = NULL},
};
static const struct ask ask_show = {
    .method = "host.status",
    .only_running = true,
    .columns = lines,
};
const struct cmd cmd_host_status = {
    .name = "host",
    .verb = "status",
    .summary = "show the host, if one runs",
    .groups = groups,
    .ask = &ask_show,
};

static const struct ask ask_stop = {
    .method = "host.stop", .only_running = true, .fine_without = true};
const struct cmd cmd_host_stop = {
    .name = "host",
    .verb = "stop",
    .summary = "end the host, and with it every command of a model",
    .groups = groups,
    .ask = &ask_stop,
};
