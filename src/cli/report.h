/* What wattle itself says: data on stdout, all else on stderr after "wattle: ". Texts may hold
 * names that others chose, so control characters never reach the terminal. */
#ifndef WATTLE_CLI_REPORT_H
#define WATTLE_CLI_REPORT_H

#include "base/buf.h"

#include <stdbool.h>

/* Writes `text` to stdout; also reports a failure of filling it. EIO-like errors: cli.output. */
int print_out(const struct buf *text, struct err *err) MUST_CHECK;

/* One line on stderr. Whole or not at all: a command in it that was cut could mean another path. */
void report_line(const char *format, ...) PRINTF_LIKE(1, 2);

/* "wattle: what" and "wattle: hint: ..." on stderr, or with `json` one line
 * {"error":{"id":...,"what":...,"hint":...}}. */
void report_error(const struct err *err, bool json);

#endif
