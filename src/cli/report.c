#include "cli/report.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { LINE_LIMIT_BYTES = 8 << 10 };

int print_out(const struct buf *text, struct err *err)
{
    int rc = buf_check(text, "the output", err);

    if (rc < 0)
        return rc;
    rc = fd_write_all(STDOUT_FILENO, text->bytes, text->size);
    if (rc < 0)
        return err_set(err, -rc, "cli.output", "cannot write to the standard output");
    return 0;
}

/* Nobody is left to tell when stderr does not take it. */
static void write_error(const struct buf *line)
{
    (void) !fd_write_all(STDERR_FILENO, line->bytes, line->size);
}

/* A terminal that job_run has made raw does not go back to the first column by itself. */
static const char *line_end(void)
{
    struct termios modes;
    const bool raw = tcgetattr(STDERR_FILENO, &modes) == 0 && (modes.c_oflag & OPOST) == 0;

    return raw ? "\r\n" : "\n";
}

static void report_text(const char *before, const char *text)
{
    AUTO(buf_free) struct buf line = {0};

    buf_init(&line, LINE_LIMIT_BYTES);
    (void) buf_add_text(&line, before);
    (void) str_add_inert(&line, text, strlen(text));
    (void) buf_add_text(&line, line_end());
    if (line.failed == 0)
        write_error(&line);
}

void report_line(const char *format, ...)
{
    AUTO_FREE char *text = NULL;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        text = NULL; /* vasprintf leaves it undefined */
    else
        report_text("wattle: ", text);
}

void report_error(const struct err *err, bool json)
{
    AUTO(buf_free) struct buf line = {0};

    if (!json) {
        report_text("wattle: ", err->what);
        if (err->hint[0] != '\0')
            report_text("wattle: hint: ", err->hint);
        return;
    }
    buf_init(&line, LINE_LIMIT_BYTES);
    if (record_error_line(err, &line) == 0)
        write_error(&line);
    else
        report_text("wattle: ", err->what);
}
