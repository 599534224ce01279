/* wattle: finds the command, reads its options, runs it, turns what it returns into an exit status.
 * The only place that reports errors. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/report.h"

#include <string.h>
#include <unistd.h>

enum { HELP_LIMIT_BYTES = 64 << 10 };

static int status_of(const struct cmd *cmd, const struct err *err)
{
    if (cmd != NULL && cmd->status_of != NULL)
        return cmd->status_of(err);
    if (cmd != NULL && cmd->ask != NULL)
        return ask_status(err);
    return str_starts(err->id, "cli.") ? CMD_USAGE : CMD_FAILED;
}

static int print_help(const struct cmd *cmd, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, HELP_LIMIT_BYTES);
    help_command(cmd, &text);
    return print_out(&text, err);
}

static int run(const struct cmd *cmd, int argc, char **argv, struct values *values, struct err *err)
{
    char title[64];
    int rc =
        options_parse(cmd->groups, cmd_title(cmd, title, sizeof title), argc, argv, values, err);

    if (rc < 0)
        return rc;
    if (values->help)
        return print_help(cmd, err);
    return cmd->ask != NULL ? ask_run(cmd, values, err) : cmd->run(values, err);
}

/* The command's words, with "--help" and "--version" read as the commands they stand for. */
static const char *word_of(const char *typed)
{
    if (typed == NULL)
        return NULL;
    if (str_equal(typed, "--help") || str_equal(typed, "-h"))
        return "help";
    if (str_equal(typed, "--version") || str_equal(typed, "-V"))
        return "version";
    return typed;
}

/* The kernel puts the arguments one behind the other; anybody else may have put them elsewhere. */
static void find_own_argv(int argc, char **argv, struct values *values)
{
    char *end = argv[0];

    for (int i = 0; i < argc; i++) {
        if (argv[i] != end)
            return;
        end += strlen(end) + 1;
    }
    values->own_argv = argv[0];
    values->own_argv_size = (size_t) (end - argv[0]);
}

/* `wattle`: help, but nothing was done, which a script should notice. */
static int print_usage(void)
{
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, HELP_LIMIT_BYTES);
    help_all(&text);
    (void) !fd_write_all(STDERR_FILENO, text.bytes, text.size);
    return CMD_USAGE;
}

static int print_group(const char *name, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, HELP_LIMIT_BYTES);
    help_group(name, &text);
    return print_out(&text, err);
}

int main(int argc, char **argv)
{
    AUTO(values_free) struct values values = {0};
    const char *words[3] = {NULL};
    const struct cmd *cmd = NULL;
    struct err err = {0};
    size_t used;
    int rc;

    /* Before anything is opened: a caller may have closed 0, 1 or 2. */
    if (fd_fill_standard() < 0)
        return RUN_REFUSED;
    if (argc < 2)
        return print_usage();
    words[0] = word_of(argv[1]);
    words[1] = argc > 2 ? word_of(argv[2]) : NULL;
    find_own_argv(argc, argv, &values);
    if (cmd_has_verbs(words[0]) && words[1] != NULL && str_equal(words[1], "help")) {
        rc = print_group(words[0], &err);
    } else {
        cmd = cmd_find(words, &used, &err);
        rc = cmd == NULL ? -err.code : run(cmd, argc - (int) used, argv + used, &values, &err);
    }
    if (rc >= 0)
        return rc;
    report_error(&err, values.json);
    return status_of(cmd, &err);
}
