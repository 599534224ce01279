#include "base/cleanup.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/report.h"

#include <errno.h>

enum { HELP_LIMIT_BYTES = 64 << 10 };

static int run(const struct values *values, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    const struct cmd *cmd;
    char title[64];
    size_t used;

    buf_init(&text, HELP_LIMIT_BYTES);
    if (values->rest_count == 0) {
        help_all(&text);
        return print_out(&text, err);
    }
    if (values->rest_count == 1 && cmd_has_verbs(values->rest[0])) {
        help_group(values->rest[0], &text);
        return print_out(&text, err);
    }
    cmd = cmd_find(values->rest, &used, err);
    if (cmd == NULL)
        return -err->code;
    if (values->rest_count > used)
        return err_set(err, EINVAL, "cli.arguments", "'help' knows no '%s' of '%s'",
                       values->rest[used], cmd_title(cmd, title, sizeof title));
    help_command(cmd, &text);
    return print_out(&text, err);
}

static const struct option_group *const groups[] = {&options_help, NULL};
static const char *const names[] = {
    "run",  "policy", "mcp",    "setup",      "pens",    "chats", "jobs", "grants",
    "host", "held",   "doctor", "completion", "version", "help",  NULL,
};

const struct cmd cmd_help = {
    .name = "help",
    .args = "[COMMAND [VERB]]",
    .summary = "say what a command does and its options",
    .groups = groups,
    .words = names,
    .run = run,
};
