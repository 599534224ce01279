/* What a run would be enforced with, without starting one; and the names of what is weak. Layer 3.
 * For `policy show`, --dry-run and reports: they have no business with fence/ itself. */
#ifndef WATTLE_JOB_OUTLOOK_H
#define WATTLE_JOB_OUTLOOK_H

#include "job/job.h"

/* Chooses a mechanism as job_run would (init_pid is 0). Fails as job_run would where that is known
 * before the start. */
int job_outlook(const struct policy *policy, const char *mechanism, struct job_start *ret_start,
                struct err *err) MUST_CHECK;

/* Decides, before anything is cloned, whether names can be guarded here. Where they cannot, a
 * policy with its guard on is set to POLICY_GUARD_DETECT: 1, with the cause in *ret_why. 0: it
 * stays as it is. ENOTSUP fence.required. To be called before job_run, which takes the policy at
 * its word. */
int job_guard_settle(struct policy *policy, struct err *ret_why, struct err *err) MUST_CHECK;

struct job_weakness {
    const char *id;   /* "no-landlock" */
    const char *what; /* for people */
    const char *mend; /* what mends it; may be empty */
};

/* Number `index` of those whose bits are set in `weak`; false past the last. */
bool job_weakness(unsigned weak, size_t index, struct job_weakness *ret_weakness);

#endif
