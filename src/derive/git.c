/* Rules for a git folder outside of the pen: what work in one worktree needs may be written, and
 * nothing that runs, nor what belongs to other checkouts. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 256 /* folders looked through below "modules" */
#define ID "derive.git-folder"

/* ---- what is held -------------------------------------------------------------------------- */

/* Whose folder it is. */
enum kind {
    COMMON = 1u << 0,    /* shared by the worktrees of a repository */
    LINKED = 1u << 1,    /* one worktree's own */
    SUBMODULE = 1u << 2, /* all of a submodule's */
};

/* What is held when it is there. Names that are not yet are the guard's business, which knows a git
 * folder when it sees one. */
static const struct held {
    const char *name;
    unsigned kinds;
    bool also_new; /* the guard must be told: it belongs to the main checkout */
} held[] = {
    {"hooks", COMMON | SUBMODULE, false},
    {"config", COMMON | SUBMODULE, false},
    {"config.worktree", COMMON | LINKED | SUBMODULE, false},
    {"commondir", LINKED, false},
    {"gitdir", LINKED, false},
    {"worktrees", COMMON | SUBMODULE, false},
    {"remotes", COMMON | SUBMODULE, false},
    {"branches", COMMON | SUBMODULE, false},
    {"info/attributes", COMMON | SUBMODULE, false},
    {"modules", COMMON, true},
    {"HEAD", COMMON, true},
    {"index", COMMON, true},
    {"MERGE_HEAD", COMMON, true},
    {"rebase-merge", COMMON, true},
    {"rebase-apply", COMMON, true},
    {"sequencer", COMMON, true},
};

/* All that is going to be held, so that nothing is opened before it is known. */
struct holding {
    struct derive_list existing;
    struct derive_list coming;
    struct derive_list sockets; /* hidden */
};

static void holding_free(struct holding *holding)
{
    derive_list_free(&holding->existing);
    derive_list_free(&holding->coming);
    derive_list_free(&holding->sockets);
}

/* Adds `name` when it is there. A mount cannot hold a symlink, and where one leads may be anywhere.
 */
static int hold_existing(struct holding *holding, const char *folder, const char *name,
                         struct err *why)
{
    AUTO_FREE char *path = path_join(folder, name);
    struct stat seen;

    if (path == NULL)
        return err_memory(why);
    if (lstat(path, &seen) < 0)
        return errno == ENOENT ? 0 : err_set(why, EINVAL, ID, "'%s' cannot be looked at", path);
    if (!S_ISREG(seen.st_mode) && !S_ISDIR(seen.st_mode))
        return err_set(why, EINVAL, ID, "'%s' is a symlink or no file", path);
    return derive_list_add(&holding->existing, path, why);
}

static int hold_coming(struct holding *holding, const char *folder, const char *name,
                       struct err *why)
{
    AUTO_FREE char *path = path_join(folder, name);

    return path == NULL ? err_memory(why) : derive_list_add(&holding->coming, path, why);
}

static int hold_names(struct holding *holding, const char *folder, enum kind kind, struct err *why)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(held); i++) {
        if ((held[i].kinds & kind) == 0)
            continue;
        r = hold_existing(holding, folder, held[i].name, why);
        if (r == 0 && held[i].also_new)
            r = hold_coming(holding, folder, held[i].name, why);
    }
    return r;
}

/* ---- what else is in there ------------------------------------------------------------------ */

/* Adds the paths of the entries of `folder` that are of one kind. */
static int add_entries(struct derive_list *list, const char *folder, mode_t kind, struct err *why)
{
    int fd = path_open_plain(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry = NULL;
    int r = 0;

    if (dir == NULL) {
        cleanup_close(&fd);
        return err_set(why, EINVAL, ID, "'%s' cannot be looked through", folder);
    }
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        AUTO_FREE char *path = NULL;
        struct stat seen;

        if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
            continue;
        if (fstatat(dirfd(dir), entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) < 0 ||
            (seen.st_mode & S_IFMT) != kind)
            continue;
        path = path_join(folder, entry->d_name);
        r = path == NULL ? err_memory(why) : derive_list_add(list, path, why);
    }
    return r;
}

/* Looks at one folder at or below "modules", and adds those in it that are to be looked at. */
static int visit_modules(struct holding *holding, struct derive_list *folders, const char *folder,
                         struct err *why)
{
    AUTO_FREE char *modules = NULL;
    struct stat seen;
    int r = 0;

    if (!derive_gitfolder_is(folder))
        return add_entries(folders, folder, S_IFDIR, why);
    r = hold_names(holding, folder, SUBMODULE, why);
    if (r < 0)
        return r;
    modules = path_join(folder, "modules");
    if (modules == NULL)
        return err_memory(why);
    return lstat(modules, &seen) < 0 ? 0 : derive_list_add(folders, modules, why);
}

/* A submodule's name may have slashes in it, and a submodule may have submodules. */
static int hold_modules(struct holding *holding, const char *folder, struct err *why)
{
    AUTO(derive_list_free) struct derive_list folders = {0};
    AUTO_FREE char *modules = path_join(folder, "modules");
    struct stat seen;
    int r = 0;

    if (modules == NULL)
        return err_memory(why);
    if (lstat(modules, &seen) == 0)
        r = derive_list_add(&folders, modules, why);
    for (size_t i = 0; r == 0 && i < folders.count; i++) {
        if (i == MODULES_MAX)
            return err_set(why, EINVAL, ID, "'%s' holds more than %d folders", modules,
                           MODULES_MAX);
        r = visit_modules(holding, &folders, folders.items[i], why);
    }
    return r;
}

/* ---- may it be opened? --------------------------------------------------------------------- */

static bool is_owners(enum policy_origin origin)
{
    return origin == POLICY_FROM_OWNER || origin == POLICY_FROM_FLAG || origin == POLICY_FROM_ADMIN;
}

/* What the owner said of the folder itself, or closed around it, is not overruled by what was
 * found.
 */
static int check_owners_rules(const struct derivation *work, const char *path, struct err *why)
{
    for (size_t i = 0; i < policy_rules(work->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(work->policy, i);
        const bool closes = rule->hold || rule->access == POLICY_HIDE;

        if (!is_owners(rule->origin) || !path_is_below(path, rule->path))
            continue;
        if (closes || str_equal(path, rule->path))
            return err_set(why, EINVAL, ID, "'%s' has a rule of yours (%s)", rule->path, rule->why);
    }
    return 0;
}

static int check_settings(const struct derivation *work, struct err *why)
{
    const char *forbids = NULL;

    for (size_t i = 0; i < work->settings_count; i++)
        if (work->settings[i]->follow_git_given)
            forbids = work->settings[i]->follow_git ? NULL : work->settings_names.items[i];
    return forbids == NULL ? 0 : err_set(why, EINVAL, ID, "%s forbids it", forbids);
}

/* Whoever listens on a socket in there, such as git's file system monitor, is outside. */
static int hold_folder(struct holding *holding, const char *folder, enum kind kind, struct err *why)
{
    int r = hold_names(holding, folder, kind, why);

    return r < 0 ? r : add_entries(&holding->sockets, folder, S_IFSOCK, why);
}

/* Everything is looked at before anything is opened. */
static int collect(const struct derivation *work, struct derive_gitfolder *found,
                   struct holding *holding, struct err *why)
{
    int r = check_settings(work, why);

    if (r == 0)
        r = derive_gitfolder_find(work, found, why);
    if (r < 0 || found->in_pen)
        return r;
    r = check_owners_rules(work, found->folder, why);
    if (r == 0 && found->common != NULL)
        r = check_owners_rules(work, found->common, why);
    if (r == 0 && found->common != NULL)
        r = hold_folder(holding, found->common, COMMON, why);
    if (r == 0)
        r = hold_folder(holding, found->folder, found->common != NULL ? LINKED : SUBMODULE, why);
    return r == 0 ? hold_modules(holding, found->folder, why) : r;
}

/* ---- rules --------------------------------------------------------------------------------- */

static int add_hold(const struct derivation *work, const char *path, const char *why,
                    struct err *err)
{
    const struct derive_rule rule = {
        .path = path,
        .access = POLICY_READ,
        .origin = POLICY_FROM_GIT,
        .why = why,
        .hold = true,
    };

    return derive_rule_add(work, &rule, err);
}

static int add_hidden(const struct derivation *work, const char *path, struct err *err)
{
    const struct derive_rule rule = {
        .path = path,
        .access = POLICY_HIDE,
        .origin = POLICY_FROM_GIT,
        .why = "a socket of a program outside",
        .optional = true,
    };

    return derive_rule_add(work, &rule, err);
}

static int add_opened(const struct derivation *work, const char *path, const struct stat *seen,
                      const char *why, struct err *err)
{
    const struct derive_rule rule = {
        .path = path,
        .access = POLICY_WRITE,
        .origin = POLICY_FROM_GIT,
        .why = why,
        .seen = seen,
    };

    return derive_rule_add(work, &rule, err);
}

static int add_guarded(const struct derivation *work, enum policy_guard_kind kind, char *path,
                       struct err *err)
{
    char why[] = "it belongs to another checkout of the repository";
    const struct policy_guard_rule rule = {.kind = kind, .text = path, .why = why};

    return policy_add_guard_rule(work->policy, &rule, err);
}

static int add_folders(const struct derivation *work, const struct derive_gitfolder *found,
                       struct err *err)
{
    int r = 0;

    if (found->common == NULL)
        return add_opened(work, found->folder, &found->seen, "git folder of the submodule", err);
    r = add_opened(work, found->common, &found->common_seen,
                   "the repository of the linked worktree", err);
    return r < 0 ? r
                 : add_opened(work, found->folder, &found->seen,
                              "git folder of the linked worktree", err);
}

static int add_all(const struct derivation *work, const struct derive_gitfolder *found,
                   const struct holding *holding, struct err *err)
{
    int r = add_folders(work, found, err);

    for (size_t i = 0; r == 0 && i < holding->existing.count; i++)
        r = add_hold(work, holding->existing.items[i],
                     "git on your side runs or trusts it, or another checkout needs it", err);
    for (size_t i = 0; r == 0 && i < holding->sockets.count; i++)
        r = add_hidden(work, holding->sockets.items[i], err);
    for (size_t i = 0; r == 0 && i < holding->coming.count; i++)
        r = add_guarded(work, POLICY_GUARD_HELD, holding->coming.items[i], err);
    return r;
}

static int tell(const struct derivation *work, const struct derive_gitfolder *found,
                struct err *err)
{
    static const char linked[] =
        "the pen is a linked worktree, and the repository '%s' is open to the run: objects and "
        "branches can be written; hooks, configuration and other worktrees cannot";
    static const char submodule[] =
        "the pen is a submodule, and its git folder '%s' is open to the "
        "run: all but its hooks and configuration can be written";

    return found->common != NULL ? derive_note(work, err, linked, found->common)
                                 : derive_note(work, err, submodule, found->folder);
}

static int add_found(struct derivation *work, const struct derive_gitfolder *found,
                     const struct holding *holding, struct err *err)
{
    int r = 0;

    if (found->in_pen)
        return str_equal(found->folder, work->pen)
                   ? 0
                   : add_guarded(work, POLICY_GUARD_GIT_FOLDER, found->folder, err);
    r = add_all(work, found, holding, err);
    work->shares_git = found->common != NULL;
    return r < 0 ? r : tell(work, found, err);
}

int derive_git_add(struct derivation *work, struct err *err)
{
    AUTO(derive_gitfolder_free) struct derive_gitfolder found = {0};
    AUTO(holding_free) struct holding holding = {.existing = {0}};
    AUTO_FREE char *pointer = path_join(work->pen, ".git");
    struct err why = {0};
    struct stat seen;
    int r = 0;

    if (pointer == NULL)
        return err_memory(err);
    if (lstat(pointer, &seen) < 0 || S_ISDIR(seen.st_mode))
        return 0;
    if (S_ISREG(seen.st_mode))
        r = add_hold(work, pointer, "it says where git finds its hooks", err);
    if (r < 0)
        return r;
    r = collect(work, &found, &holding, &why);
    if (r == 0)
        return add_found(work, &found, &holding, err);
    return r == -ENOMEM
               ? err_memory(err)
               : derive_note(work, err,
                             "the git folder that '%s' names is not opened, so git will not work "
                             "inside: %s",
                             pointer, why.what);
}
