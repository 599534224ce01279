/* The spool: what `wattle run` did, one JSON line per start and end, in
 * $XDG_STATE_HOME/wattle/spool/run.jsonl. No daemon is needed; wattle-host takes the lines into its
 * log. At SPOOL_LIMIT_BYTES the file is renamed to run.jsonl.1, and so on up to SPOOL_KEPT.
 *
 * Every writer holds a shared lock on the file while it appends, and a rotation an exclusive one: a
 * file that was renamed never grows again. */
#ifndef WATTLE_CLI_SPOOL_H
#define WATTLE_CLI_SPOOL_H

#include "base/buf.h"

#include <stdint.h>

#define SPOOL_LIMIT_BYTES (8u << 20)
#define SPOOL_KEPT 8

/* Opens the spool folder below `state_dir`, made 0700 when missing. Follows no symlink, and refuses
 * a folder that is not the caller's alone. Errors: cli.spool. */
int spool_open(const char *state_dir, struct err *err) MUST_CHECK;

/* Appends one line, rotating first when the file would pass `limit_bytes`. Errors: cli.spool. */
int spool_append(int dir_fd, const struct buf *line, uint64_t limit_bytes,
                 struct err *err) MUST_CHECK;

#endif
