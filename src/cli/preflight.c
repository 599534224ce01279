#include "cli/preflight.h"

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

static struct look_request request_of(const struct derive_owner *owner, enum look_how how,
                                      struct preflight_progress *progress)
{
    return (struct look_request){
        .owner = owner,
        .how = how,
        .progress = preflight_progress_show,
        .progress_context = progress,
    };
}

int preflight_look(const struct values *values, const struct derive_owner *owner,
                   const struct policy *policy, struct look *look, struct err *err)
{
    struct preflight_progress progress = preflight_progress_begin(values);
    const struct look_request request = request_of(owner, LOOK_FRESH, &progress);
    const int rc = look_through(&request, policy, look, err);

    preflight_progress_end(&progress);
    return rc;
}

int preflight_apply(const struct values *values, const struct derive_owner *owner,
                    struct policy *policy, struct look *look, struct err *err)
{
    struct preflight_progress progress = preflight_progress_begin(values);
    const struct look_request request =
        request_of(owner, values->dry_run ? LOOK_ONLY : LOOK_KEEP, &progress);
    const int rc = look_apply(&request, policy, look, err);

    preflight_progress_end(&progress);
    return rc;
}

int preflight_hide(const struct values *values, const struct derive_owner *owner,
                   struct policy *policy, struct err *err)
{
    struct preflight_progress progress = preflight_progress_begin(values);
    const struct look_request request = request_of(owner, LOOK_ONLY, &progress);
    const int rc = look_hide(&request, policy, err);

    preflight_progress_end(&progress);
    return rc;
}
