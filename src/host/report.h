/* What a record says of a run beside its end: the policy it had, the fence that kept it, the names
 * it made and changed, the calls that were refused. Private to src/host.
 *
 * A JSON object of bounded size, whatever the job does: past the bounds is counted only. Texts of
 * names and refusals are the job's: hostile bytes, made valid. */
#ifndef WATTLE_HOST_REPORT_H
#define WATTLE_HOST_REPORT_H

#include "base/err.h"
#include "job/job.h"
#include "policy/policy.h"

#include <jansson.h>
#include <stdbool.h>

struct report {
    json_t *object;
    json_t *created, *told, *denials; /* lists; `denials` is in `object` */
    size_t name_bytes, denial_bytes;
    uint64_t made, told_changed, denied;
    bool has_made, complete;
    bool dirty; /* the text that was made last says less */
};

/* Of what will be handed to wattle-job. Errors: base.memory, and policy_encode's. */
int report_begin(struct report *report, const struct policy *policy, struct err *err) MUST_CHECK;
void report_free(struct report *report); /* takes a zeroed one */

/* Where there is no memory for what is told, less is said. */
void report_started(struct report *report, const struct job_start *start);
void report_denied(struct report *report, const struct job_denial *denial);
/* Names as WIRE_NAMES has them, each with a NUL. */
void report_names(struct report *report, const char *bytes, size_t size);
void report_made(struct report *report, const struct job_made *made); /* without names */
/* Why it was not run, or could not be gone on with: for the owner, in full. */
void report_failed(struct report *report, const struct err *err);
void report_count_denied(struct report *report, uint64_t denied);

/* The object as text, for the record; the caller frees it. NULL: out of memory, or nothing is told.
 */
char *report_text(struct report *report);

#endif
