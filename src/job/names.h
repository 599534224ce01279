/* Which names are guarded, asked from outside and without a run: for the look through a pen, for
 * 'policy explain', for what is compared after a run. Layer 3: for whoever has no business with
 * fence/ itself. The answers are those of the guard, from the same rules. */
#ifndef WATTLE_JOB_NAMES_H
#define WATTLE_JOB_NAMES_H

#include "base/err.h"
#include "policy/policy.h"

struct job_names; /* opaque; constant once it is made; one owner */

/* For what `policy` lets a run write, whether it has its guard on or not. A copy: the policy may
 * change or go. Errors: guard.*, ENOMEM. */
int job_names_make(const struct policy *policy, struct job_names **ret_names,
                   struct err *err) MUST_CHECK;
void job_names_freep(struct job_names **names);

/* For struct pen_request: whether the entry `name` of the pen's folder `folder` ("" is the pen) may
 * be a guarded one; not whether it lies below one. Goes by the names alone, so that the answer can
 * be remembered: names that count only beside a ".git" count everywhere, and job_names_ask() tells
 * them apart. May be called by several threads at once. `names`: a struct job_names. */
bool job_names_may_guard(const void *names, const char *folder, const char *name);
/* Other keys, other answers: struct pen_request.guarded_key. */
uint64_t job_names_key(const struct job_names *names);

/* The texts live as long as the names. */
struct job_name {
    bool guarded;         /* by itself, or since it lies below such a name */
    bool inside;          /* only the latter */
    bool is_git;          /* a part of a git folder */
    const char *existing; /* what happens to one that is there: "hold" "disarm" "set aside" */
    const char *newcomer; /* ... to a new one */
    const char *pattern;  /* "" when the reason is that it cannot be told */
    const char *reason;
    const char *vetted; /* what may be done with it all the same; NULL: nothing */
};

/* For an absolute path of the host, whose folder is physical. Looks for a ".git" where that
 * matters. */
void job_names_ask(const struct job_names *names, const char *path, struct job_name *ret_name);

#endif
