#include "cli/view.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/record.h"
#include "cli/report.h"
#include "job/outlook.h"
#include "policy/print.h"

#include <errno.h>
#include <stdio.h>

enum { VIEW_LIMIT_BYTES = 16 << 20 };

static void add_fence(struct buf *text, const struct job_start *start)
{
    struct job_weakness weakness;

    (void) buf_printf(text, "\nfence: %s, ", start->mechanism);
    if (start->landlock_abi > 0)
        (void) buf_printf(text, "Landlock ABI %d\n", start->landlock_abi);
    else
        (void) buf_add_text(text, "no Landlock\n");
    for (size_t i = 0; job_weakness(start->weak, i, &weakness); i++) {
        (void) buf_printf(text, "  weaker: %s\n", weakness.what);
        if (weakness.mend[0] != '\0')
            (void) buf_printf(text, "          %s\n", weakness.mend);
    }
}

/* `start` NULL: no fence can be built. */
static int print_text(const struct policy *policy, const struct job_start *start, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    int rc;

    buf_init(&text, VIEW_LIMIT_BYTES);
    rc = policy_print_text(policy, &text, err);
    if (rc < 0)
        return rc;
    if (start != NULL)
        add_fence(&text, start);
    return print_out(&text, err);
}

static int print_json(const struct policy *policy, const struct job_start *start, struct err *err)
{
    AUTO(json_free) json_t *json = NULL;
    AUTO(buf_free) struct buf text = {0};
    int rc;

    buf_init(&text, VIEW_LIMIT_BYTES);
    rc = policy_print_json(policy, &json, err);
    if (rc < 0)
        return rc;
    if (json_object_set_new(json, "fence", start != NULL ? record_fence(start) : json_null()) < 0)
        return err_memory(err);
    rc = json_print(&text, json);
    return rc < 0 ? err_set(err, -rc, "cli.output", "cannot print the policy")
                  : print_out(&text, err);
}

/* ---- what job_run adds ---------------------------------------------------------------------- */

/* `source`: the folder outside. */
static int add_folder(struct policy *policy, const char *inside, char *source, const char *why,
                      struct err *err)
{
    union {
        const char *in;
        char *out; /* the strings of a place are only borrowed by policy_add_place */
    } path = {.in = inside}, because = {.in = why};
    const struct policy_place place = {
        .kind = POLICY_PLACE_BIND,
        .access = POLICY_WRITE,
        .path = path.out,
        .source = source,
        .why = because.out,
    };

    return policy_add_place(policy, &place, err);
}

static int add_scratch(struct policy *policy, const struct derive_owner *owner, const char *inside,
                       const char *name, struct err *err)
{
    AUTO_FREE char *source = path_join(owner->cache_dir, name);

    if (source == NULL)
        return err_memory(err);
    return add_folder(policy, inside, source, "the run's own, on disk, gone with the run", err);
}

/* The folder has the pen's identity for a name, and something more that only the job layer knows.
 */
static int add_pen_cache(struct policy *policy, const struct derive_owner *owner, struct err *err)
{
    const struct policy_rule *pen = NULL;
    AUTO_FREE char *source = NULL;

    if (policy_pen(policy) != NULL)
        (void) policy_resolve(policy, policy_pen(policy), &pen);
    if (pen == NULL)
        return 0;
    if (asprintf(&source, "%s/caches/%llx-%llx-*", owner->state_dir, (unsigned long long) pen->dev,
                 (unsigned long long) pen->inode) < 0) {
        source = NULL; /* asprintf leaves it undefined */
        return err_memory(err);
    }
    return add_folder(policy, POLICY_INSIDE_CACHE, source,
                      "package caches, kept for the next runs in this pen", err);
}

/* Nothing is made: a name that only the start of a run decides is shown as a pattern. */
static int add_folders(struct policy *policy, const struct derive_owner *owner, struct err *err)
{
    const int rc = add_scratch(policy, owner, POLICY_INSIDE_TMP, "scratch/run-*", err);

    if (rc < 0)
        return rc;
    return policy_get_caches(policy) == POLICY_CACHES_PEN
               ? add_pen_cache(policy, owner, err)
               : add_scratch(policy, owner, POLICY_INSIDE_CACHE, "scratch/run-*-cache", err);
}

/* ---- all of it ------------------------------------------------------------------------------ */

int view_print(struct policy *policy, const struct derive_owner *owner, const char *mechanism,
               bool json, struct err *err)
{
    struct job_start start;
    struct err no_fence = {0};
    const int fence = job_outlook(policy, mechanism, &start, &no_fence);
    int rc = add_folders(policy, owner, err);

    if (rc < 0)
        return rc;
    if (json)
        rc = print_json(policy, fence < 0 ? NULL : &start, err);
    else
        rc = print_text(policy, fence < 0 ? NULL : &start, err);
    if (rc == 0 && fence < 0) {
        *err = no_fence;
        return fence;
    }
    return rc;
}
