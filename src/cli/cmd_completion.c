#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/report.h"

#include <errno.h>

enum { SCRIPT_LIMIT_BYTES = 1 << 20 };

static int run(const struct values *values, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    const char *near;
    int rc;

    if (values->rest_count != 1) {
        (void) err_set(err, EINVAL, "cli.arguments", "'completion' wants one word, the shell");
        return err_hint(err, "there are: bash, zsh, fish");
    }
    buf_init(&text, SCRIPT_LIMIT_BYTES);
    rc = completion_script(values->rest[0], &text);
    if (rc == 0)
        return print_out(&text, err);
    if (rc != -EINVAL)
        return buf_check(&text, "the completion script", err);
    (void) err_set(err, EINVAL, "cli.arguments", "no completion for the shell '%s'",
                   values->rest[0]);
    near = str_nearest(values->rest[0], completion_shells);
    if (near != NULL)
        return err_hint(err, "did you mean '%s'? there are: bash, zsh, fish", near);
    return err_hint(err, "there are: bash, zsh, fish");
}

static const struct option_group *const groups[] = {&options_help, NULL};

const struct cmd cmd_completion = {
    .name = "completion",
    .args = "SHELL",
    .summary = "print a completion script for bash, zsh or fish",
    .groups = groups,
    .words = completion_shells,
    .run = run,
};
