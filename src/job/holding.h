/* The start of a run without a guard: guarded names that are there are held, as rules of the
 * policy. Layer 3. New names are not prevented by it, nor are symlinks kept from being replaced. */
#ifndef WATTLE_JOB_HOLDING_H
#define WATTLE_JOB_HOLDING_H

#include "job/names.h"
#include "pen/pen.h"

/* Each is a mount of its own. */
#define JOB_HELD_MAX 512

/* Adds a rule that holds for each guarded name among `findings` (of the pen), for those at the top
 * of whatever else may be written, and for what the policy's own guard rules name. A symlink's
 * target is held in its place; a folder ".git" is not, only what is guarded in it.
 * E2BIG job.too-many-held, ENOMEM. */
int job_hold_names(const struct job_names *names, const struct pen_findings *findings,
                   struct policy *policy, size_t *ret_count, struct err *err) MUST_CHECK;

#endif
