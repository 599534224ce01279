#include "base/cleanup.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/report.h"

#include <errno.h>

static int run(const struct values *values, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};

    if (values->rest_count > 0)
        return err_set(err, EINVAL, "cli.arguments", "'version' takes no arguments, not '%s'",
                       values->rest[0]);
    buf_init(&text, 256);
    (void) buf_add_text(&text, "wattle " WATTLE_VERSION "\n");
    return print_out(&text, err);
}

static const struct option_group *const groups[] = {&options_help, NULL};

const struct cmd cmd_version = {
    .name = "version",
    .summary = "print the version",
    .groups = groups,
    .run = run,
};
