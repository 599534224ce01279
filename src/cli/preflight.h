/* The look through the pen before a run, as the commands do it: with its progress on a terminal. */
#ifndef WATTLE_CLI_PREFLIGHT_H
#define WATTLE_CLI_PREFLIGHT_H

#include "cli/options.h"
#include "look/look.h"

/* The progress of a walk: one line on a terminal, which is gone when the walk is. */
struct preflight_progress {
    bool wanted;
    size_t width; /* of what is shown */
};
struct preflight_progress preflight_progress_begin(const struct values *values);
void preflight_progress_show(void *progress, uint64_t entries); /* takes a preflight_progress */
void preflight_progress_end(struct preflight_progress *progress);

/* look_through for `pens check`: everything is read again. The caller frees, also after an error.
 */
int preflight_look(const struct values *values, const struct derive_owner *owner,
                   const struct policy *policy, struct look *look, struct err *err) MUST_CHECK;
/* look_apply for a run; nothing is remembered of one that is dry. */
int preflight_apply(const struct values *values, const struct derive_owner *owner,
                    struct policy *policy, struct look *look, struct err *err) MUST_CHECK;
/* look_hide. */
int preflight_hide(const struct values *values, const struct derive_owner *owner,
                   struct policy *policy, struct err *err) MUST_CHECK;

#endif
