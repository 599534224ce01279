/* --status-fd and --made-fd: channels that cannot be mistaken for the command's own output. */
#ifndef WATTLE_CLI_STATUS_H
#define WATTLE_CLI_STATUS_H

#include "base/buf.h"

#include <stdint.h>

/* Checks that descriptor `number`, which `option` ("status-fd") names, is open for writing and not
 * one the command gets, and makes it close-on-exec. Returns it. Errors: EINVAL "cli." and option.
 */
int status_open(uint64_t number, const char *option, struct err *err) MUST_CHECK;

/* Writes one line of at most PIPE_BUF bytes. Waits at most `wait_ms` for room: a reader that does
 * not read must not stop a supervisor. A reader that is gone is no reason for a signal.
 * -errno; -EAGAIN: no room in time. */
int status_write(int fd, const struct buf *line, int wait_ms) MUST_CHECK;

/* The same for any number of bytes, in parts; waits so long for room for each. */
int status_write_long(int fd, const char *bytes, size_t size, int wait_ms) MUST_CHECK;

#endif
