/* The spool: what `wattle run` did, one JSON line per start, refusal and end, in
 * $XDG_STATE_HOME/wattle/spool/run.jsonl. No daemon is needed; wattle-host takes the lines into its
 * log. At SPOOL_LIMIT_BYTES the file is renamed to run.jsonl.1, and so on up to SPOOL_KEPT.
 * Layer 3.
 *
 * Every writer holds a shared lock on the file while it appends, and a rotation an exclusive one: a
 * file that was renamed never grows again. */
#ifndef WATTLE_JOB_SPOOL_H
#define WATTLE_JOB_SPOOL_H

#include "base/buf.h"

#include <stdint.h>

#define SPOOL_FOLDER "spool"
#define SPOOL_LIMIT_BYTES (8u << 20)
#define SPOOL_KEPT 8

/* Opens the spool folder below `state_dir`, made 0700 when missing. Follows no symlink, and refuses
 * a folder that is not the caller's alone. Errors: job.spool. */
int spool_open(const char *state_dir, struct err *err) MUST_CHECK;

/* Appends one line, rotating first when the file would pass `limit_bytes`. Errors: job.spool. */
int spool_append(int dir_fd, const struct buf *line, uint64_t limit_bytes,
                 struct err *err) MUST_CHECK;

/* ---- for who takes the lines over: one process at a time --------------------------------------
 */

/* One file after the other gets the name SPOOL_TAKING, where no writer looks for it, and is removed
 * when all of it was taken. Each of these is on disk when it returns. */
#define SPOOL_TAKING "taking.jsonl"

/* The file that is being taken, for reading. -ENOENT: none is. */
int spool_open_taking(int dir_fd, struct err *err) MUST_CHECK;
/* Gives the oldest file that name, when none has it. 1: done; 0: there is no line; -EAGAIN: a
 * writer is at it. */
int spool_begin_taking(int dir_fd, struct err *err) MUST_CHECK;
int spool_end_taking(int dir_fd, struct err *err) MUST_CHECK;

#endif
