/* The look through the pen before a run, as the commands do it: with its progress on a terminal. */
#ifndef WATTLE_CLI_PREFLIGHT_H
#define WATTLE_CLI_PREFLIGHT_H

#include "cli/options.h"
#include "derive/derive.h"
#include "job/names.h"
#include "pen/pen.h"

/* The progress of a walk: one line on a terminal, which is gone when the walk is. */
struct preflight_progress {
    bool wanted;
    size_t width; /* of what is shown */
};
struct preflight_progress preflight_progress_begin(const struct values *values);
void preflight_progress_show(void *progress, uint64_t entries); /* takes a preflight_progress */
void preflight_progress_end(struct preflight_progress *progress);

enum preflight_how {
    PREFLIGHT_KEEP,  /* with what is remembered, and to be remembered */
    PREFLIGHT_LOOK,  /* with what is remembered; nothing is written */
    PREFLIGHT_FRESH, /* all is read, and to be remembered */
};

/* What was seen of a pen; kept for what is compared with it after the run. */
struct preflight {
    struct pen_findings *findings;
    struct job_names *names; /* which names are guarded in it */
    size_t held;             /* guarded names that are held since there is no guard */
};
void preflight_free(struct preflight *preflight); /* for AUTO(preflight_free) */

/* pen_preflight for the pen of `policy`, guarded names included. The caller frees, also after an
 * error. */
int preflight_look(const struct values *values, const struct derive_owner *owner,
                   const struct policy *policy, enum preflight_how how, struct preflight *preflight,
                   struct err *err) MUST_CHECK;

/* The same for a run: refuses what cannot be used, hides sockets, holds guarded names where the
 * policy's guard is one that detects, leaves notes in the policy. */
int preflight_apply(const struct values *values, const struct derive_owner *owner,
                    struct policy *policy, enum preflight_how how, struct preflight *preflight,
                    struct err *err) MUST_CHECK;

/* Only hides sockets, for who asks what a run may reach: refuses nothing that can be looked at. */
int preflight_hide(const struct values *values, const struct derive_owner *owner,
                   struct policy *policy, struct err *err) MUST_CHECK;

#endif
