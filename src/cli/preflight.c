#include "cli/preflight.h"

#include "base/cleanup.h"
#include "base/fd.h"

#include <stdio.h>
#include <unistd.h>

/* ---- progress ---------------------------------------------------------------------------- */

struct preflight_progress preflight_progress_begin(const struct values *values)
{
    return (struct preflight_progress){
        .wanted = !values->quiet && !values->json && isatty(STDERR_FILENO) == 1,
    };
}

void preflight_progress_show(void *progress, uint64_t entries)
{
    struct preflight_progress *self = progress;
    char line[96];
    int size;

    if (!self->wanted)
        return;
    size = snprintf(line, sizeof line, "\rwattle: looking through the pen: %llu files and folders",
                    (unsigned long long) entries);
    (void) !fd_write_all(STDERR_FILENO, line, (size_t) size);
    self->width = (size_t) size - 1;
}

void preflight_progress_end(struct preflight_progress *progress)
{
    char line[96];
    int size;

    if (progress->width == 0)
        return;
    size = snprintf(line, sizeof line, "\r%*s\r", (int) progress->width, "");
    (void) !fd_write_all(STDERR_FILENO, line, (size_t) size);
    progress->width = 0;
}

/* ---- the look ---------------------------------------------------------------------------- */

int preflight_look(const struct values *values, const struct derive_owner *owner,
                   const struct policy *policy, enum preflight_how how,
                   struct pen_findings **ret_findings, struct err *err)
{
    struct preflight_progress progress = preflight_progress_begin(values);
    const struct pen_request request = {
        .pen = policy_pen(policy),
        .state_dir = owner->state_dir,
        .fresh = how == PREFLIGHT_FRESH,
        .look_only = how == PREFLIGHT_LOOK,
        .progress = preflight_progress_show,
        .progress_context = &progress,
    };
    const int rc = pen_preflight(&request, policy, ret_findings, err);

    preflight_progress_end(&progress);
    return rc;
}

static int add_notes(const struct pen_findings *findings, struct policy *policy, struct err *err)
{
    char note[160];
    int rc = 0;

    if (findings->shared > 0) {
        (void) snprintf(note, sizeof note,
                        "%zu files of the pen are shared with names outside of it "
                        "(wattle.acceptSharedLinks): a run can change those too",
                        findings->shared);
        rc = policy_add_note(policy, note, err);
    }
    if (rc == 0 && findings->mounts > 0) {
        (void) snprintf(note, sizeof note,
                        "%zu other file systems or files are mounted in the pen, and are a part "
                        "of it: 'wattle pens check' lists them",
                        findings->mounts);
        rc = policy_add_note(policy, note, err);
    }
    return rc;
}

int preflight_apply(const struct values *values, const struct derive_owner *owner,
                    struct policy *policy, enum preflight_how how, struct err *err)
{
    AUTO(pen_findings_freep) struct pen_findings *findings = NULL;
    int rc = preflight_look(values, owner, policy, how, &findings, err);

    if (rc == 0)
        rc = pen_judge(findings, policy_pen(policy), policy, err);
    if (rc == 0)
        rc = pen_cover(findings, policy_pen(policy), policy, err);
    return rc == 0 ? add_notes(findings, policy, err) : rc;
}

int preflight_hide(const struct values *values, const struct derive_owner *owner,
                   struct policy *policy, struct err *err)
{
    AUTO(pen_findings_freep) struct pen_findings *findings = NULL;
    const int rc = preflight_look(values, owner, policy, PREFLIGHT_LOOK, &findings, err);

    return rc == 0 ? pen_cover(findings, policy_pen(policy), policy, err) : rc;
}
