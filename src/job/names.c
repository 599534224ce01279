#include "job/names.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "fence/fence.h"
#include "fence/guard/rules.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct job_names {
    struct guard_rules *rules;
    char *pen;
    size_t pen_size;
    bool beyond_dots;
};

void job_names_freep(struct job_names **names)
{
    struct job_names *gone = TAKE_PTR(*names);

    if (gone == NULL)
        return;
    guard_rules_freep(&gone->rules);
    free(gone->pen);
    free(gone);
}

int job_names_make(const struct policy *policy, struct job_names **ret_names, struct err *err)
{
    AUTO(job_names_freep) struct job_names *names = calloc(1, sizeof *names);
    int r = 0;

    if (names == NULL)
        return err_memory(err);
    names->pen = strdup(policy_pen(policy));
    if (names->pen == NULL)
        return err_memory(err);
    names->pen_size = strlen(names->pen);
    r = fence_guard_rules(policy, &names->rules, err);
    if (r < 0)
        return r;
    names->beyond_dots = guard_rules_beyond_dots(names->rules) || strstr(names->pen, "/.") != NULL;
    *ret_names = TAKE_PTR(names);
    return 0;
}

uint64_t job_names_key(const struct job_names *names)
{
    return guard_rules_key(names->rules, names->pen);
}

/* ---- for a walk ------------------------------------------------------------------------------ */

static bool may_guard(const struct job_names *names, const char *folder, const char *name)
{
    struct guard_class class;
    char parent[2 * PATH_MAX];

    /* Unsure means yes: what is too long for a path is told apart later. */
    if (names->pen_size + 1 + strlen(folder) >= sizeof parent)
        return true;
    (void) stpcpy(stpcpy(stpcpy(parent, names->pen), folder[0] == '\0' ? "" : "/"), folder);
    guard_classify(names->rules, parent, name, NULL, &class);
    return class.level == GUARD_DENY && !class.inside;
}

bool job_names_may_guard(const void *names_, const char *folder, const char *name)
{
    const struct job_names *names = names_;

    /* Nearly every name of a walk. */
    if (name[0] != '.' && !names->beyond_dots && folder[0] != '.' && strstr(folder, "/.") == NULL)
        return false;
    return may_guard(names, folder, name);
}

/* ---- for one path ---------------------------------------------------------------------------- */

/* Whether the folder `up` levels above `folder` has the name. */
static bool has(const char *folder, unsigned up, const char *name)
{
    size_t size = strlen(folder);
    char path[PATH_MAX + sizeof "/commondir"];
    struct stat seen;

    for (; up > 0; up--)
        while (size > 0 && folder[--size] != '/')
            ;
    if (size >= PATH_MAX)
        return true;
    (void) snprintf(path, sizeof path, "%.*s/%s", (int) size, folder, name);
    return lstat(path, &seen) == 0 || errno != ENOENT;
}

/* Context: the folder's path. */
static bool holds_git(void *context, unsigned up)
{
    return has(context, up, ".git");
}

static bool is_bare(void *context, unsigned up)
{
    return has(context, up, "HEAD") && ((has(context, up, "objects") && has(context, up, "refs")) ||
                                        has(context, up, "commondir"));
}

static void fill(const struct job_names *names, const struct guard_class *class,
                 struct job_name *name)
{
    const struct guard_name *row = guard_rule_row(names->rules, class->rule);
    const bool held = class->vet == GUARD_VET_NONE ||
                      (class->vet == GUARD_VET_HOOKS && !class->sample && !class->is_folder);
    enum guard_action newcomer = row == NULL ? GUARD_HOLD : row->newcomer;

    if (held && newcomer == GUARD_DISARM)
        newcomer = GUARD_HOLD;
    *name = (struct job_name){
        .guarded = true,
        .inside = class->inside,
        .is_git = row != NULL && row->is_git,
        .existing = guard_action_name(row == NULL ? GUARD_HOLD : row->existing),
        .newcomer = guard_action_name(newcomer),
        .pattern = guard_rule_pattern(names->rules, class->rule),
        .reason = guard_rule_reason(names->rules, class->rule),
        .vetted = held ? NULL : guard_vet_words(class->vet),
    };
}

void job_names_ask(const struct job_names *names, const char *path, struct job_name *ret_name)
{
    const char *base = path_base(path);
    AUTO_FREE char *folder = strndup(path, base - path > 1 ? (size_t) (base - path) - 1 : 1);
    const struct guard_ask ask = {.holds_git = holds_git, .is_bare = is_bare, .context = folder};
    struct guard_class class;

    *ret_name = (struct job_name){0};
    /* Without memory for the folder the text says it cannot be told. */
    guard_classify(names->rules, folder == NULL ? "" : folder, base, &ask, &class);
    if (class.level == GUARD_DENY)
        fill(names, &class, ret_name);
}
