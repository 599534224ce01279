#include "cli/preflight.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "job/holding.h"

#include <stdio.h>
#include <stdlib.h>
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

void preflight_free(struct preflight *preflight)
{
    pen_findings_freep(&preflight->findings);
    job_names_freep(&preflight->names);
}

struct recheck {
    const struct job_names *names;
    const char *pen;
};

/* Unsure, for want of memory, means yes. */
static bool is_guarded(const void *context, const char *path)
{
    const struct recheck *recheck = context;
    AUTO_FREE char *whole = path_join(recheck->pen, path);
    struct job_name name = {.guarded = true};

    if (whole != NULL)
        job_names_ask(recheck->names, whole, &name);
    return name.guarded;
}

static int walk(const struct values *values, const struct derive_owner *owner,
                const struct policy *policy, enum preflight_how how, struct preflight *preflight,
                struct err *err)
{
    struct preflight_progress progress = preflight_progress_begin(values);
    struct pen_request request = {
        .pen = policy_pen(policy),
        .state_dir = owner->state_dir,
        .fresh = how == PREFLIGHT_FRESH,
        .look_only = how == PREFLIGHT_LOOK,
        .guarded = job_names_may_guard,
        .progress = preflight_progress_show,
        .progress_context = &progress,
    };
    int rc = job_names_make(policy, &preflight->names, err);

    if (rc < 0)
        return rc;
    request.guarded_context = preflight->names;
    request.guarded_key = job_names_key(preflight->names);
    rc = pen_preflight(&request, policy, &preflight->findings, err);
    preflight_progress_end(&progress);
    return rc;
}

/* Asks the names again, of which there may be more by now. */
static int settle(struct preflight *preflight, const struct policy *policy, struct err *err)
{
    const struct recheck recheck = {.names = preflight->names, .pen = policy_pen(policy)};
    const struct pen_asking asking = {.guarded = is_guarded, .context = &recheck};

    return pen_findings_keep_guarded(preflight->findings, &asking) < 0 ? err_memory(err) : 0;
}

int preflight_look(const struct values *values, const struct derive_owner *owner,
                   const struct policy *policy, enum preflight_how how, struct preflight *preflight,
                   struct err *err)
{
    const int rc = walk(values, owner, policy, how, preflight, err);

    return rc == 0 ? settle(preflight, policy, err) : rc;
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

/* What the repositories in the pen lead to. */
static int add_pointers(const struct pen_findings *findings, const struct derive_owner *owner,
                        struct policy *policy, struct err *err)
{
    AUTO_FREE const char **dot_git = calloc(findings->repositories + 1, sizeof *dot_git);
    struct derive_repositories found = {
        .dot_git = dot_git,
        .folders = findings->git_folders,
        .folder_count = findings->git_folder_count,
    };

    if (dot_git == NULL)
        return err_memory(err);
    for (size_t i = 0; i < findings->count; i++)
        if ((findings->items[i].what & PEN_FOUND_REPOSITORY) != 0)
            dot_git[found.dot_git_count++] = findings->items[i].path;
    return derive_pointers_nested(owner, policy, &found, err);
}

/* What the names of the table alone do not tell goes into the policy: first what pointers name,
 * then other names of all of those files. */
static int guard_found(struct preflight *preflight, const struct derive_owner *owner,
                       struct policy *policy, struct err *err)
{
    const size_t rules = policy_guard_rules(policy);
    int rc = add_pointers(preflight->findings, owner, policy, err);

    if (rc == 0 && policy_guard_rules(policy) > rules) {
        job_names_freep(&preflight->names);
        rc = job_names_make(policy, &preflight->names, err);
    }
    if (rc == 0)
        rc = settle(preflight, policy, err);
    if (rc == 0 && policy_get_guard(policy) != POLICY_GUARD_OFF)
        rc = pen_guard_twins(preflight->findings, policy_pen(policy), policy, err);
    return rc;
}

int preflight_apply(const struct values *values, const struct derive_owner *owner,
                    struct policy *policy, enum preflight_how how, struct preflight *preflight,
                    struct err *err)
{
    int rc = walk(values, owner, policy, how, preflight, err);

    if (rc == 0)
        rc = pen_judge(preflight->findings, policy_pen(policy), policy, err);
    if (rc == 0)
        rc = pen_cover(preflight->findings, policy_pen(policy), policy, err);
    if (rc == 0)
        rc = guard_found(preflight, owner, policy, err);
    if (rc == 0 && policy_get_guard(policy) == POLICY_GUARD_DETECT)
        rc = job_hold_names(preflight->names, preflight->findings, policy, &preflight->held, err);
    return rc == 0 ? add_notes(preflight->findings, policy, err) : rc;
}

int preflight_hide(const struct values *values, const struct derive_owner *owner,
                   struct policy *policy, struct err *err)
{
    AUTO(preflight_free) struct preflight preflight = {0};
    int rc = walk(values, owner, policy, PREFLIGHT_LOOK, &preflight, err);

    if (rc == 0)
        rc = pen_cover(preflight.findings, policy_pen(policy), policy, err);
    return rc == 0 ? guard_found(&preflight, owner, policy, err) : rc;
}
