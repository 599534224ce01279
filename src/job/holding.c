#include "job/holding.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct holding {
    const struct job_names *names;
    struct policy *policy;
    size_t count;
    struct err *err;
};

static int refuse_many(const struct holding *holding)
{
    (void) err_set(
        holding->err, E2BIG, "job.too-many-held",
        "'%s' has more than %d guarded names, which cannot all be held without the guard",
        policy_pen(holding->policy), JOB_HELD_MAX);
    return err_hint(holding->err, "use a smaller folder as the pen; '--guard off' holds none");
}

/* `path` is physical. What cannot be written as it is needs no rule. */
static int hold(struct holding *holding, char *path)
{
    char why[] = "a guarded name, held since there is no guard";
    const struct policy_rule rule = {
        .path = path,
        .access = POLICY_READ,
        .origin = POLICY_FROM_PEN,
        .why = why,
        .optional = true,
        .hold = true,
    };

    if (policy_resolve(holding->policy, path, NULL) != POLICY_WRITE ||
        path_is_below(policy_pen(holding->policy), path))
        return 0;
    if (holding->count == JOB_HELD_MAX)
        return refuse_many(holding);
    holding->count++;
    return policy_add_rule(holding->policy, &rule, holding->err);
}

/* A name that is there. */
static int hold_name(struct holding *holding, char *path)
{
    AUTO_FREE char *physical = NULL;
    struct stat seen;

    if (lstat(path, &seen) < 0)
        return 0;
    if (!S_ISLNK(seen.st_mode))
        return hold(holding, path);
    /* A dangling one leads to a name that is not there yet. */
    return path_physical(path, &physical, NULL) < 0 ? 0 : hold(holding, physical);
}

/* ---- the pen -----------------------------------------------------------------------------------
 */

static int hold_found(struct holding *holding, const struct pen_findings *findings)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < findings->count; i++) {
        const struct pen_found *found = &findings->items[i];
        AUTO_FREE char *path = NULL;

        if ((found->what & PEN_FOUND_GUARDED) == 0 ||
            ((found->what & PEN_FOUND_REPOSITORY) != 0 && found->type == DT_DIR))
            continue;
        path = path_join(policy_pen(holding->policy), found->path);
        r = path == NULL ? err_memory(holding->err) : hold_name(holding, path);
    }
    return r;
}

/* ---- what else can be written ------------------------------------------------------------------
 */

/* Folders to look into, the first of which is a top. */
struct folders {
    char **items;
    size_t count;
};

static void free_folders(struct folders *folders)
{
    for (size_t i = 0; i < folders->count; i++)
        free(folders->items[i]);
    free(folders->items);
}

static int add_folder(struct folders *folders, char **path, struct err *err)
{
    char **items = reallocarray(folders->items, folders->count + 1, sizeof *items);

    if (items == NULL)
        return err_memory(err);
    folders->items = items;
    items[folders->count++] = TAKE_PTR(*path);
    return 0;
}

static int hold_entry(struct holding *holding, struct folders *folders, size_t in,
                      const struct dirent *entry)
{
    AUTO_FREE char *path = path_join(folders->items[in], entry->d_name);
    const bool is_folder = entry->d_type == DT_DIR;
    struct job_name name;

    if (path == NULL)
        return err_memory(holding->err);
    job_names_ask(holding->names, path, &name);
    if (name.guarded && !(is_folder && str_equal(entry->d_name, ".git")))
        return hold_name(holding, path);
    if (in > 0 || !is_folder || entry->d_name[0] != '.')
        return 0;
    return add_folder(folders, &path, holding->err);
}

/* What cannot be listed cannot be written by a job either. */
static int hold_entries(struct holding *holding, struct folders *folders, size_t in)
{
    DIR *listing = opendir(folders->items[in]);
    const struct dirent *entry;
    int r = 0;

    while (listing != NULL && r == 0 && (entry = readdir(listing)) != NULL)
        if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
            r = hold_entry(holding, folders, in, entry);
    if (listing != NULL)
        (void) closedir(listing);
    return r;
}

/* Names in a folder, and in those in it whose name begins with a dot. */
static int hold_in(struct holding *holding, const char *top)
{
    struct folders folders = {0};
    AUTO_FREE char *first = strdup(top);
    int r = first == NULL ? err_memory(holding->err) : 0;

    if (r == 0)
        r = add_folder(&folders, &first, holding->err);
    for (size_t i = 0; r == 0 && i < folders.count; i++)
        r = hold_entries(holding, &folders, i);
    free_folders(&folders);
    return r;
}

static int hold_elsewhere(struct holding *holding)
{
    struct folders tops = {0};
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy_rules(holding->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(holding->policy, i);
        AUTO_FREE char *top = NULL;

        if (rule->access != POLICY_WRITE || path_is_below(rule->path, policy_pen(holding->policy)))
            continue;
        top = strdup(rule->path);
        r = top == NULL ? err_memory(holding->err) : add_folder(&tops, &top, holding->err);
    }
    for (size_t i = 0; r == 0 && i < tops.count; i++) /* rules are added meanwhile */
        r = hold_in(holding, tops.items[i]);
    free_folders(&tops);
    return r;
}

/* ---- what the policy names ---------------------------------------------------------------------
 */

/* In the pen's top, and beside each ".git" of it. */
static int hold_at_tops(struct holding *holding, const struct pen_findings *findings,
                        const char *name)
{
    AUTO_FREE char *first = path_join(policy_pen(holding->policy), name);
    int r = first == NULL ? err_memory(holding->err) : hold_name(holding, first);

    for (size_t i = 0; r == 0 && i < findings->count; i++) {
        const struct pen_found *found = &findings->items[i];
        const int folder_size = (int) (path_base(found->path) - found->path);
        AUTO_FREE char *path = NULL;

        if ((found->what & PEN_FOUND_REPOSITORY) == 0)
            continue;
        if (asprintf(&path, "%s/%.*s%s", policy_pen(holding->policy), folder_size, found->path,
                     name) < 0)
            return err_memory(holding->err);
        r = hold_name(holding, path);
    }
    return r;
}

static int hold_named(struct holding *holding, const struct pen_findings *findings)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy_guard_rules(holding->policy); i++) {
        const struct policy_guard_rule *rule = policy_guard_rule_at(holding->policy, i);

        if (rule->kind == POLICY_GUARD_HELD)
            r = hold_name(holding, rule->text);
        else if (rule->kind == POLICY_GUARD_AT_TOPS)
            r = hold_at_tops(holding, findings, rule->text);
        else if (rule->kind == POLICY_GUARD_GIT_FOLDER)
            r = hold_in(holding, rule->text);
    }
    return r;
}

int job_hold_names(const struct job_names *names, const struct pen_findings *findings,
                   struct policy *policy, size_t *ret_count, struct err *err)
{
    struct holding holding = {.names = names, .policy = policy, .err = err};
    int r = hold_found(&holding, findings);

    if (r == 0)
        r = hold_elsewhere(&holding);
    if (r == 0)
        r = hold_named(&holding, findings);
    if (r == 0)
        *ret_count = holding.count;
    return r;
}
