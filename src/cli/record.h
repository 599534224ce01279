/* The JSON lines wattle writes about a run and about an error: --status-fd, the spool, --json.
 * Every line has "v", which changes when the meaning of a key does. Keys: wattle-run(1). */
#ifndef WATTLE_CLI_RECORD_H
#define WATTLE_CLI_RECORD_H

#include "base/buf.h"
#include "held/held.h"
#include "job/job.h"

#include <jansson.h>

enum { RECORD_ID_SIZE = 17 };

struct record_run {
    char id[RECORD_ID_SIZE]; /* random; the same in the status events and the spool */
    const struct policy *policy;
    const char *const *argv;
    json_t *made; /* of record_made, owned; NULL: not known */
};

void record_new_id(char id[RECORD_ID_SIZE]);

/* Lines of --status-fd: bounded in size, so that one fits into a pipe at once. Of `result` and
 * `refusal` one is NULL: the command ran, or why it did not. All return 0 or -ENOMEM. */
int record_status_start(const struct record_run *run, const struct job_start *start,
                        struct buf *line) MUST_CHECK;
int record_end(const struct record_run *run, int exit_code, const struct job_result *result,
               const struct err *refusal, struct buf *line) MUST_CHECK;

/* {"count":...,"complete":...,"told":[...],"told_count":...} of the line of record_end, in which of
 * what is told there is so much as fits. NULL: out of memory. */
json_t *record_made(const struct job_made *made);

/* A call on a guarded name that was refused; the same line for both. */
int record_denied(const struct record_run *run, const struct job_denial *denial,
                  struct buf *line) MUST_CHECK;

/* A name that was set aside, put back or the like after the run; the same line for both. */
int record_held(const struct record_run *run, const struct held_event *event,
                struct buf *line) MUST_CHECK;

/* Line of the spool: also what was run, where. */
int record_spool_start(const struct record_run *run, const struct job_start *start,
                       struct buf *line) MUST_CHECK;

/* {"id":...,"what":...,"hint":...}; NULL: out of memory. */
json_t *record_error(const struct err *err);
/* {"error":{...}} */
int record_error_line(const struct err *err, struct buf *line) MUST_CHECK;

/* {"mechanism":...,"landlock_abi":...,"weak":[...]}; NULL: out of memory. */
json_t *record_fence(const struct job_start *start);

#endif
