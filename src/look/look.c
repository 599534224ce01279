#include "look/look.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "job/holding.h"

#include <stdio.h>
#include <stdlib.h>

void look_free(struct look *look)
{
    pen_findings_freep(&look->findings);
    job_names_freep(&look->names);
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

static int walk(const struct look_request *request, const struct policy *policy, struct look *look,
                struct err *err)
{
    struct pen_request wish = {
        .pen = policy_pen(policy),
        .state_dir = request->owner->state_dir,
        .fresh = request->how == LOOK_FRESH,
        .look_only = request->how == LOOK_ONLY,
        .guarded = job_names_may_guard,
        .progress = request->progress,
        .progress_context = request->progress_context,
    };
    int rc = job_names_make(policy, &look->names, err);

    if (rc < 0)
        return rc;
    wish.guarded_context = look->names;
    wish.guarded_key = job_names_key(look->names);
    return pen_preflight(&wish, policy, &look->findings, err);
}

/* Asks the names again, of which there may be more by now. */
static int settle(struct look *look, const struct policy *policy, struct err *err)
{
    const struct recheck recheck = {.names = look->names, .pen = policy_pen(policy)};
    const struct pen_asking asking = {.guarded = is_guarded, .context = &recheck};

    return pen_findings_keep_guarded(look->findings, &asking) < 0 ? err_memory(err) : 0;
}

int look_through(const struct look_request *request, const struct policy *policy, struct look *look,
                 struct err *err)
{
    const int rc = walk(request, policy, look, err);

    return rc == 0 ? settle(look, policy, err) : rc;
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
    AUTO_FREE const char **guarded = calloc(findings->count + 1, sizeof *guarded);
    struct derive_repositories found = {
        .dot_git = dot_git,
        .folders = findings->git_folders,
        .folder_count = findings->git_folder_count,
        .guarded = guarded,
    };

    if (dot_git == NULL || guarded == NULL)
        return err_memory(err);
    for (size_t i = 0; i < findings->count; i++) {
        const struct pen_found *item = &findings->items[i];

        if ((item->what & PEN_FOUND_REPOSITORY) != 0)
            dot_git[found.dot_git_count++] = item->path;
        else if ((item->what & PEN_FOUND_GUARDED) != 0)
            guarded[found.guarded_count++] = item->path;
    }
    return derive_pointers_nested(owner, policy, &found, err);
}

/* What the names of the table alone do not tell goes into the policy: first what pointers name,
 * then other names of all of those files. */
static int guard_found(struct look *look, const struct derive_owner *owner, struct policy *policy,
                       struct err *err)
{
    const size_t rules = policy_guard_rules(policy);
    int rc = add_pointers(look->findings, owner, policy, err);

    if (rc == 0 && policy_guard_rules(policy) > rules) {
        job_names_freep(&look->names);
        rc = job_names_make(policy, &look->names, err);
    }
    if (rc == 0)
        rc = settle(look, policy, err);
    if (rc == 0 && policy_get_guard(policy) != POLICY_GUARD_OFF)
        rc = pen_guard_twins(look->findings, policy_pen(policy), policy, err);
    return rc;
}

int look_apply(const struct look_request *request, struct policy *policy, struct look *look,
               struct err *err)
{
    int rc = walk(request, policy, look, err);

    if (rc == 0)
        rc = pen_judge(look->findings, policy_pen(policy), policy, err);
    if (rc == 0)
        rc = pen_cover(look->findings, policy_pen(policy), policy, err);
    if (rc == 0)
        rc = guard_found(look, request->owner, policy, err);
    if (rc == 0 && policy_get_guard(policy) == POLICY_GUARD_DETECT)
        rc = job_hold_names(look->names, look->findings, policy, &look->held, err);
    return rc == 0 ? add_notes(look->findings, policy, err) : rc;
}

int look_hide(const struct look_request *request, struct policy *policy, struct err *err)
{
    AUTO(look_free) struct look look = {0};
    int rc = walk(request, policy, &look, err);

    if (rc == 0)
        rc = pen_cover(look.findings, policy_pen(policy), policy, err);
    return rc == 0 ? guard_found(&look, request->owner, policy, err) : rc;
}
