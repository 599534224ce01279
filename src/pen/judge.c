/* What was found, held against what the owner allows. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "pen/pen.h"

#include <errno.h>
#include <string.h>

/* ---- shared files ------------------------------------------------------------------------ */

/* Tools that share files by hard links on purpose, known by where they put them, and the switch
 * that makes them copy. */
static const struct {
    const char *part; /* of the path */
    const char *advice;
} sharers[] = {
    {"node_modules/", "pnpm copies with package-import-method=copy"},
    {"site-packages/", "uv copies with UV_LINK_MODE=copy"},
    {"objects/", "git copies with git clone --no-hardlinks"},
};

static const char *advice_for(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(sharers); i++)
        if (strstr(path, sharers[i].part) != NULL)
            return sharers[i].advice;
    return NULL;
}

static int refuse_shared(const struct pen_findings *findings, const struct pen_found *found,
                         const char *pen, struct err *err)
{
    const char *advice = advice_for(found->path);
    const unsigned long long outside = found->links - found->links_here;

    if (findings->shared == 1) {
        (void) err_set(err, EINVAL, "pen.shared-links",
                       "'%s' in the pen is shared: the file has %llu other name%s outside",
                       found->path, outside, outside == 1 ? "" : "s");
    } else {
        (void) err_set(err, EINVAL, "pen.shared-links",
                       "%zu files of the pen are shared with names outside, '%s' among them",
                       findings->shared, found->path);
    }
    (void) err_hint(err,
                    "'wattle pens unshare %s' makes copies%s%s; or accept them with "
                    "wattle.acceptSharedLinks in config.json",
                    pen, advice == NULL ? "" : "; ", advice == NULL ? "" : advice);
    return -EINVAL;
}

/* ---- closed folders ---------------------------------------------------------------------- */

static int refuse_closed(const struct pen_found *found, struct err *err)
{
    (void) err_set(err, EINVAL, "pen.closed",
                   "'%s' in the pen cannot be looked into, and a job could open it", found->path);
    (void) err_hint(err, "give yourself the right with 'chmod u+rx', or remove it");
    return -EINVAL;
}

static const struct pen_found *first(const struct pen_findings *findings, unsigned what)
{
    for (size_t i = 0; i < findings->count; i++)
        if ((findings->items[i].what & what) != 0)
            return &findings->items[i];
    return NULL;
}

int pen_judge(const struct pen_findings *findings, const char *pen, const struct policy *policy,
              struct err *err)
{
    const struct pen_found *closed = first(findings, PEN_FOUND_CLOSED);
    const struct pen_found *shared = first(findings, PEN_FOUND_SHARED);

    if (closed != NULL)
        return refuse_closed(closed, err);
    if (shared != NULL && !policy_get_preflight(policy)->accept_shared_links)
        return refuse_shared(findings, shared, pen, err);
    return 0;
}

/* ---- sockets ----------------------------------------------------------------------------- */

/* --unix and wattle.unix open one socket by its name: that is the owner's wish. */
static bool is_to_hide(const struct policy *policy, const char *path)
{
    const struct policy_rule *rule = NULL;

    if (policy_resolve(policy, path, &rule) == POLICY_HIDE || rule == NULL)
        return false;
    return (rule->origin != POLICY_FROM_FLAG && rule->origin != POLICY_FROM_OWNER) ||
           !str_equal(rule->path, path);
}

int pen_cover(const struct pen_findings *findings, const char *pen, struct policy *policy,
              struct err *err)
{
    char why[] = "a socket of the host";
    int r = 0;

    for (size_t i = 0; r == 0 && i < findings->count; i++) {
        const struct pen_found *found = &findings->items[i];
        AUTO_FREE char *path = NULL;
        struct policy_rule rule = {
            .access = POLICY_HIDE, .origin = POLICY_FROM_PEN, .why = why, .optional = true};

        if ((found->what & PEN_FOUND_SOCKET) == 0)
            continue;
        path = path_join(pen, found->path);
        if (path == NULL)
            return err_memory(err);
        rule.path = path;
        if (is_to_hide(policy, path))
            r = policy_add_rule(policy, &rule, err);
    }
    return r;
}
