/* The pen: which folder it is, whether it can be one (C7), and where in it the command starts. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which ------------------------------------------------------------------------------- */

static int refuse_deleted(struct err *err)
{
    (void) err_set(err, EINVAL, "derive.pen-cwd-deleted",
                   "the current folder does not exist any more");
    return err_hint(err, "cd into a folder that exists, or name one with --pen DIR");
}

static int pen_lookup(struct derivation *work, const char *typed, struct err *err)
{
    int r = 0;

    if (typed[0] != '/' && work->cwd == NULL)
        return refuse_deleted(err);
    r = derive_resolve(typed, work->cwd != NULL ? work->cwd : "/", work->cwd_typed, &work->pen,
                       &work->pen_typed, err);
    if (r == -ENOMEM)
        return r;
    if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
        (void) err_set(err, -r, "derive.pen-missing", "cannot use '%s' as the pen", typed);
    else if (r < 0)
        (void) err_set(err, -r, "derive.pen-lookup", "cannot use '%s' as the pen", typed);
    else
        return 0;
    return err_hint(err, "name a folder that exists with --pen DIR");
}

static bool has_git(const char *folder)
{
    AUTO_FREE char *git = path_join(folder, ".git");
    struct stat seen;

    return git != NULL && lstat(git, &seen) == 0;
}

/* Notes the nearest work tree above the pen, and keeps the outermost: that is what a repository may
 * have filled. A work tree that holds the account's home is the owner's own. */
static int find_trees(struct derivation *work, struct err *err)
{
    AUTO_FREE char *folder = strdup(work->pen);
    bool said = has_git(work->pen);
    char *slash = NULL;
    int r = 0;

    if (folder == NULL)
        return err_memory(err);
    if (said) {
        work->tree = strdup(work->pen);
        r = work->tree == NULL ? err_memory(err) : 0;
    }
    while (r == 0 && (slash = strrchr(folder, '/')) != NULL && slash != folder) {
        *slash = '\0';
        if (!has_git(folder) ||
            (work->owner->account_home != NULL && path_is_below(work->owner->account_home, folder)))
            continue;
        free(work->tree);
        work->tree = strdup(folder);
        if (work->tree == NULL)
            return err_memory(err);
        if (!said) {
            r = derive_note(
                work, err,
                "the pen lies in the git work tree '%s', whose git folder is not part of "
                "it; git will not work inside unless you use --pen '%s'",
                folder, folder);
        }
        said = true;
    }
    return r;
}

int derive_pen_find(struct derivation *work, struct err *err)
{
    int r = 0;

    if (work->request->pen != NULL) {
        r = pen_lookup(work, work->request->pen, err);
    } else {
        if (work->cwd == NULL)
            return refuse_deleted(err);
        work->pen = strdup(work->cwd);
        work->pen_typed = strdup(work->cwd_typed);
        r = work->pen == NULL || work->pen_typed == NULL ? err_memory(err) : 0;
    }
    return r < 0 ? r : find_trees(work, err);
}

/* ---- whether it can be one (C7) ---------------------------------------------------------- */

static const struct {
    unsigned fact;
    const char *id;
    const char *hint;
} refusals[] = {
    {DERIVE_ROOT, "derive.pen-broad", "use the folder of one project"},
    {DERIVE_KERNEL, "derive.pen-broad", "use the folder of one project"},
    {DERIVE_INSIDE, "derive.pen-broad", "use the folder of one project"},
    {DERIVE_HOME, "derive.pen-home", "cd into a project, or name one with --pen DIR"},
    {DERIVE_HOLDS_HOME, "derive.pen-home", "use the folder of one project"},
    {DERIVE_BROAD, "derive.pen-broad", "use the folder of one project"},
    {DERIVE_OWN, "derive.pen-own", "a run must not reach wattle's own files; use another folder"},
    {DERIVE_HOLDS_OWN, "derive.pen-own", "use a folder below it that does not hold them"},
    {DERIVE_CREDENTIAL, "derive.pen-credentials", "no run gets such a folder; use another one"},
    {DERIVE_HOLDS_CREDENTIAL, "derive.pen-credentials", "use a folder below it that holds none"},
    {DERIVE_SYSTEM, "derive.pen-broad", "copy what you work on into a folder of its own"},
};

static int refuse(const char *pen, const struct derive_verdict *verdict, size_t index,
                  struct err *err)
{
    const char *text = derive_verdict_text(refusals[index].fact);
    bool names_object = verdict->object != NULL && !str_equal(verdict->object, pen);

    if (names_object)
        (void) err_set(err, EINVAL, refusals[index].id, "'%s' cannot be a pen: it %s ('%s')", pen,
                       text, verdict->object);
    else
        (void) err_set(err, EINVAL, refusals[index].id, "'%s' cannot be a pen: it %s", pen, text);
    return err_hint(err, "%s", refusals[index].hint);
}

static int check_folder(const char *pen, struct stat *ret_seen, struct err *err)
{
    if (stat(pen, ret_seen) < 0)
        return err_set(err, errno, "derive.pen-missing", "cannot look at the pen '%s'", pen);
    if (!S_ISDIR(ret_seen->st_mode)) {
        (void) err_set(err, EINVAL, "derive.pen-not-folder",
                       "'%s' cannot be a pen: it is no folder", pen);
        return err_hint(err, "name the folder it lies in with --pen DIR");
    }
    if (access(pen, R_OK | X_OK) < 0) {
        (void) err_set(err, errno, "derive.pen-denied", "cannot use '%s' as the pen", pen);
        return err_hint(err, "a pen must be a folder you can read and enter");
    }
    return 0;
}

int derive_pen_check(const struct derivation *work, struct err *err)
{
    struct derive_verdict verdict = derive_judge(work, work->pen);
    struct derive_rule rule = {
        .path = work->pen,
        .access = POLICY_WRITE,
        .origin = POLICY_FROM_PEN,
        .why = "the pen",
    };
    struct stat seen;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
        if ((verdict.facts & refusals[i].fact) != 0)
            return refuse(work->pen, &verdict, i, err);
    r = check_folder(work->pen, &seen, err);
    if (r < 0)
        return r;
    rule.seen = &seen;
    r = policy_set_pen(work->policy, work->pen, err);
    return r < 0 ? r : derive_rule_add(work, &rule, err);
}

/* ---- where the command starts ------------------------------------------------------------ */

static int start_at(struct derivation *work, const char *physical, const char *typed,
                    struct err *err)
{
    work->start = strdup(physical);
    work->start_typed = strdup(typed);
    return work->start == NULL || work->start_typed == NULL ? err_memory(err) : 0;
}

static int start_at_flag(struct derivation *work, const char *typed, struct err *err)
{
    struct stat seen;
    int r = 0;

    if (typed[0] != '/' && work->cwd == NULL)
        return refuse_deleted(err);
    r = derive_resolve(typed, work->cwd != NULL ? work->cwd : "/", work->cwd_typed, &work->start,
                       &work->start_typed, err);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        (void) err_context(err, "cannot start there");
        return err_hint(err, "name a folder that exists with -C DIR");
    }
    if (stat(work->start, &seen) == 0 && !S_ISDIR(seen.st_mode)) {
        (void) err_set(err, EINVAL, "derive.chdir", "cannot start in '%s': it is no folder", typed);
        return err_hint(err, "name a folder with -C DIR");
    }
    if (derive_shown(work, work->start))
        return 0;
    (void) err_set(err, EINVAL, "derive.chdir", "cannot start in '%s': it is outside the pen '%s'",
                   typed, work->pen);
    /* What no rule should open is not proposed. */
    if ((derive_judge(work, work->start).facts & DERIVE_UNFIT) != 0)
        return err_hint(err, "name a folder in the pen");
    return err_hint(err, "name a folder in the pen, or open this one with --rw '%s'", work->start);
}

int derive_pen_start(struct derivation *work, struct err *err)
{
    int r = 0;

    if (work->request->chdir != NULL)
        r = start_at_flag(work, work->request->chdir, err);
    else if (work->cwd != NULL && path_is_below(work->cwd, work->pen))
        r = start_at(work, work->cwd, work->cwd_typed, err);
    else
        r = start_at(work, work->pen, work->pen_typed, err);
    if (r == 0 && !str_equal(work->start, work->start_typed))
        r = derive_list_add(&work->typed, work->start_typed, err);
    if (r == 0 && !str_equal(work->pen, work->pen_typed))
        r = derive_list_add(&work->typed, work->pen_typed, err);
    return r;
}
