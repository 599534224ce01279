/* From a policy to one that fits the pen as it lies there now: the look through the pen before a
 * run, and what is made of it. Layer 4; the same for whoever starts a run. */
#ifndef WATTLE_LOOK_LOOK_H
#define WATTLE_LOOK_LOOK_H

#include "derive/derive.h"
#include "job/names.h"
#include "pen/pen.h"

enum look_how {
    LOOK_KEEP,  /* with what is remembered, and to be remembered */
    LOOK_ONLY,  /* with what is remembered; nothing is written */
    LOOK_FRESH, /* all is read, and to be remembered */
};

struct look_request {
    const struct derive_owner *owner;
    enum look_how how;
    /* As in struct pen_request. */
    void (*progress)(void *context, uint64_t entries);
    void *progress_context;
};

/* What was seen of a pen; kept for what is compared with it after the run. */
struct look {
    struct pen_findings *findings;
    struct job_names *names; /* which names are guarded in it */
    size_t held;             /* guarded names that are held since there is no guard */
};
void look_free(struct look *look); /* for AUTO(look_free) */

/* Only looks: pen_preflight for the pen of `policy`, guarded names included. The caller frees, also
 * after an error. */
int look_through(const struct look_request *request, const struct policy *policy, struct look *look,
                 struct err *err) MUST_CHECK;

/* For a run: refuses what cannot be used, hides sockets, guards what pointers and other names lead
 * to, holds guarded names where the policy's guard is one that detects, leaves notes in the policy.
 */
int look_apply(const struct look_request *request, struct policy *policy, struct look *look,
               struct err *err) MUST_CHECK;

/* For who asks what a run may reach: hides sockets and guards, and refuses nothing that can be
 * looked at. */
int look_hide(const struct look_request *request, struct policy *policy,
              struct err *err) MUST_CHECK;

#endif
