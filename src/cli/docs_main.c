/* Build-time helper: copies a man page template to stdout and puts the option tables into it. A
 * line
 * "@options run@" or "@options policy show@" becomes the options of that command, in scdoc. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_LIMIT_BYTES = 1 << 20 };

static const char marker[] = "@options ";

static int add_options(const char *line, struct buf *page, struct err *err)
{
    char name[32] = "";
    char verb[32] = "";
    const char *words[] = {name, verb, NULL};
    const struct cmd *cmd;
    size_t used;

    if (sscanf(line + strlen(marker), "%31[a-z]%*[ ]%31[a-z-]", name, verb) < 1)
        return err_set(err, EINVAL, "docs.marker", "no command in '%s'", line);
    if (verb[0] == '\0')
        words[1] = NULL;
    cmd = cmd_find(words, &used, err);
    if (cmd == NULL)
        return -err->code;
    help_man(cmd, page);
    return 0;
}

static int fill(char *text, struct buf *page, struct err *err)
{
    int rc = 0;

    while (*text != '\0' && rc == 0) {
        const size_t length = strcspn(text, "\n");
        char *next = text + length + (text[length] == '\n');

        text[length] = '\0';
        if (str_starts(text, marker)) {
            rc = add_options(text, page, err);
        } else {
            (void) buf_add_text(page, text);
            (void) buf_add_text(page, "\n");
        }
        text = next;
    }
    return rc;
}

int main(int argc, char **argv)
{
    AUTO(buf_free) struct buf text = {0};
    AUTO(buf_free) struct buf page = {0};
    struct err err = {0};
    int rc;

    if (argc != 2) {
        report_line("usage: wattle-docs TEMPLATE");
        return CMD_USAGE;
    }
    buf_init(&text, PAGE_LIMIT_BYTES);
    buf_init(&page, PAGE_LIMIT_BYTES);
    rc = fd_read_file(AT_FDCWD, argv[1], &text);
    if (rc < 0)
        rc = err_set(&err, -rc, "docs.read", "cannot read '%s'", argv[1]);
    if (rc == 0)
        rc = fill(text.bytes, &page, &err);
    if (rc == 0)
        rc = print_out(&page, &err);
    if (rc == 0)
        return CMD_OK;
    report_error(&err, false);
    return CMD_FAILED;
}
