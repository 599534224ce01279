/* Symlinks that a job could change. What the owner names is looked up anew by every run, so a
 * symlink on the way to it must not lie where a job may write, or in a repository: whoever changes
 * it would choose what the next run opens, hides or obeys. Judged when all rules are known. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <string.h>

/* ---- which symlinks ---------------------------------------------------------------------- */

static bool is_in_project(const struct derivation *work, const char *link)
{
    return path_is_below(link, work->pen) ||
           (work->tree != NULL && path_is_below(link, work->tree));
}

/* A symlink is replaced in the folder it lies in. No rule can stand for the link itself. */
static bool is_writable(const struct derivation *work, const char *link)
{
    const size_t size = (size_t) (path_base(link) - link);
    AUTO_FREE char *folder = strndup(link, size > 1 ? size - 1 : 1);

    return folder == NULL || policy_resolve(work->policy, folder, NULL) == POLICY_WRITE;
}

bool derive_link_is_steered(const struct derivation *work, const char *link)
{
    return is_in_project(work, link) || is_writable(work, link);
}

/* What leads from the project to the pen stays in the project. */
static bool is_steered_elsewhere(const struct derivation *work, const char *link)
{
    return !is_in_project(work, link) && is_writable(work, link);
}

typedef bool link_test(const struct derivation *work, const char *link);

struct look {
    const struct derivation *work;
    link_test *is_steered;
    char *link;
};

static int look_at(void *context, const char *link, const char *target)
{
    struct look *look = context;

    (void) target;
    if (!look->is_steered(look->work, link))
        return 0;
    look->link = strdup(link);
    return 1;
}

/* The first such symlink on the way to `path`; NULL in *ret_link: there is none. A way that ends
 * early, at what is missing or closed to the caller, was looked at as far as it goes. */
static int find_link(const struct derivation *work, const char *path, link_test *is_steered,
                     char **ret_link, struct err *err)
{
    struct look look = {.work = work, .is_steered = is_steered};
    struct err failure = {0};
    int r = path_each_symlink(path, look_at, &look, &failure);

    if (r == -ENOMEM || (r > 0 && look.link == NULL))
        return err_memory(err);
    *ret_link = look.link;
    return 0;
}

/* ---- what was named ---------------------------------------------------------------------- */

int derive_way_add(struct derivation *work, const char *label, const char *path, struct err *err)
{
    int r = derive_list_add(&work->way_labels, label, err);

    return r < 0 ? r : derive_list_add(&work->ways, path, err);
}

static int check_way(const struct derivation *work, const char *label, const char *path,
                     link_test *is_steered, struct err *err)
{
    AUTO_FREE char *link = NULL;
    AUTO_FREE char *physical = NULL;
    int r = find_link(work, path, is_steered, &link, err);

    if (r < 0 || link == NULL)
        return r;
    (void) err_set(err, EINVAL, "derive.path-steered",
                   "%s: jobs or a repository can change the symlink '%s', so it cannot say what is "
                   "meant",
                   label, link);
    if (path_physical(path, &physical, NULL) < 0)
        return err_hint(err, "name the file or folder itself");
    return err_hint(err, "name what it leads to: '%s'", physical);
}

/* A flag that may be relative to the caller's folder, whose name matters no more: it is open. */
static int check_flag(const struct derivation *work, const char *label, const char *typed,
                      link_test *is_steered, struct err *err)
{
    AUTO_FREE char *full = derive_full(work, typed);

    return full == NULL ? err_memory(err) : check_way(work, label, full, is_steered, err);
}

static int check_ways(const struct derivation *work, struct err *err)
{
    const struct derive_request *request = work->request;
    int r = 0;

    for (size_t i = 0; r == 0 && i < work->ways.count; i++)
        r = check_way(work, work->way_labels.items[i], work->ways.items[i], derive_link_is_steered,
                      err);
    if (r == 0 && request->pen != NULL)
        r = check_flag(work, "--pen", request->pen, is_steered_elsewhere, err);
    if (r == 0 && request->chdir != NULL && !path_is_below(work->start, work->pen))
        r = check_flag(work, "-C", request->chdir, derive_link_is_steered, err);
    return r;
}

/* ---- what is obeyed ---------------------------------------------------------------------- */

static int check_own(const struct derivation *work, const char *typed, struct err *err)
{
    AUTO_FREE char *link = NULL;
    int r = find_link(work, typed, derive_link_is_steered, &link, err);

    if (r < 0 || link == NULL)
        return r;
    (void) err_set(err, EINVAL, "derive.own-link",
                   "jobs or a repository could change the symlink '%s', through which wattle finds "
                   "its own '%s'",
                   link, typed);
    return err_hint(err, "open less, or make the location a real folder");
}

static int check_settings(const struct derivation *work, const char *physical, struct err *err)
{
    if (policy_resolve(work->policy, physical, NULL) != POLICY_WRITE)
        return 0;
    (void) err_set(err, EINVAL, "derive.settings-writable",
                   "the run could change the settings file '%s', which the next one obeys",
                   physical);
    return err_hint(err, "open less, or keep the file where no run may write");
}

int derive_steered_check(const struct derivation *work, struct err *err)
{
    const struct derive_list *typed = work->owner->typed;
    int r = 0;

    for (size_t i = 0; r == 0 && typed != NULL && i < typed->count; i++)
        r = check_own(work, typed->items[i], err);
    for (size_t i = 0; r == 0 && i < work->settings_files.count; i++)
        r = check_settings(work, work->settings_files.items[i], err);
    return r < 0 ? r : check_ways(work, err);
}
