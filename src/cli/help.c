/* Everything that is printed from the tables of options: help, and the option parts of man pages.
 */
#include "base/str.h"
#include "cli/cmd.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 27 };

/* "  -C, --chdir DIR", padded to the column of the texts; on a line of its own when too long. */
static void print_option(const struct option_row *row, struct buf *text)
{
    const size_t before = text->size;
    size_t width;

    if (row->letter != 0)
        (void) buf_printf(text, "  -%c, --%s", row->letter, row->name);
    else
        (void) buf_printf(text, "      --%s", row->name);
    if (row->argument != NULL)
        (void) buf_printf(text, " %s", row->argument);
    width = text->size - before;
    if (width + 2 > HELP_COLUMN) {
        (void) buf_add_text(text, "\n");
        width = 0;
    }
    (void) buf_printf(text, "%*s%s\n", (int) (HELP_COLUMN - width), "", row->help);
}

void help_command(const struct cmd *cmd, struct buf *text)
{
    char title[64];

    (void) buf_printf(text, "usage: wattle %s [OPTION...]%s%s\n\n%c%s.\n",
                      cmd_title(cmd, title, sizeof title), cmd->args != NULL ? " " : "",
                      cmd->args != NULL ? cmd->args : "", toupper(cmd->summary[0]),
                      cmd->summary + 1);
    for (const struct option_group *const *group = cmd->groups; *group != NULL; group++) {
        (void) buf_printf(text, "\n%s\n", (*group)->title);
        for (const struct option_row *row = (*group)->rows; row->name != NULL; row++) {
            if (row->kind != OPTION_REFUSED)
                print_option(row, text);
        }
    }
}

static void print_summaries(const char *name, struct buf *text)
{
    const struct cmd *cmd;
    char title[64];

    for (size_t i = 0; (cmd = cmd_at(i)) != NULL; i++) {
        if (name == NULL || str_equal(name, cmd->name))
            (void) buf_printf(text, "  %-17s %s\n", cmd_title(cmd, title, sizeof title),
                              cmd->summary);
    }
}

void help_group(const char *name, struct buf *text)
{
    (void) buf_printf(text, "usage: wattle %s COMMAND [OPTION...] [ARGUMENT...]\n\n", name);
    print_summaries(name, text);
    (void) buf_printf(text, "\n'wattle help %s COMMAND' says more.\n", name);
}

void help_all(struct buf *text)
{
    (void) buf_add_text(text, "usage: wattle COMMAND [OPTION...] [ARGUMENT...]\n\n"
                              "Runs commands in a fence the operating system enforces.\n\n");
    print_summaries(NULL, text);
    (void) buf_add_text(text, "\n'wattle help COMMAND' says more; so does 'man wattle'.\n"
                              "Try it, in a project: wattle run -- ls -la ~\n");
}

/* Text for scdoc: what it reads as formatting is escaped. */
static void man_text(struct buf *text, const char *plain)
{
    for (; *plain != '\0'; plain++) {
        if (strchr("\\*_", *plain) != NULL)
            (void) buf_add_text(text, "\\");
        (void) buf_add(text, plain, 1);
    }
}

static void man_option(const struct option_row *row, struct buf *text)
{
    if (row->letter != 0)
        (void) buf_printf(text, "*-%c*, ", row->letter);
    (void) buf_printf(text, "*--%s*", row->name);
    if (row->argument != NULL)
        (void) buf_printf(text, " _%s_", row->argument);
    (void) buf_printf(text, "\n\t%c", toupper(row->help[0]));
    man_text(text, row->help + 1);
    (void) buf_printf(text, ".%s\n\n", row->kind == OPTION_LIST ? " May be repeated." : "");
}

void help_man(const struct cmd *cmd, struct buf *text)
{
    for (const struct option_group *const *group = cmd->groups; *group != NULL; group++) {
        (void) buf_printf(text, "## %s\n\n", (*group)->title);
        for (const struct option_row *row = (*group)->rows; row->name != NULL; row++) {
            if (row->kind != OPTION_REFUSED)
                man_option(row, text);
        }
    }
}
