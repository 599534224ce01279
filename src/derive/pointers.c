/* Names of the pen that are guarded because of what leads to them: the owner's git configuration
 * (core.hooksPath and include.path, git-config(1)), and guarded names that are symlinks. The
 * guard's own table cannot know them, so they are added to the policy. */
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_LIMIT_BYTES (256u << 10)

static const struct steering {
    const char *section, *name;
    bool from_tree; /* a relative path counts from the work tree, else from the file's folder */
    char why[64];
} steerings[] = {
    {"core", "hookspath", true, "core.hooksPath names it, and git runs what is there"},
    {"include", "path", false, "a git configuration includes it"},
};

struct reading {
    const struct derivation *work;
    const char *tree;   /* where the work tree begins */
    const char *folder; /* of the file that is read */
    struct err *err;
};

static int add_rule(const struct derivation *work, const struct policy_guard_rule *rule,
                    struct err *err)
{
    if (!path_is_below(work->pen, rule->text))
        return policy_add_guard_rule(work->policy, rule, err);
    return derive_note(work, err, "'%s' holds the whole pen, so that nothing in it is held for: %s",
                       rule->text, rule->why);
}

/* ---- git's configuration --------------------------------------------------------------------- */

static int hold(const struct reading *reading, const struct steering *steering, char *path)
{
    char why[sizeof steering->why];
    const struct policy_guard_rule rule = {.kind = POLICY_GUARD_HELD, .text = path, .why = why};

    memcpy(why, steering->why, sizeof why);
    return add_rule(reading->work, &rule, reading->err);
}

/* Both the name and where it leads: each alone could be changed. */
static int take(void *context, const struct derive_gitsetting *setting)
{
    const struct reading *reading = context;
    const char *value = setting->value;

    for (size_t i = 0; i < ARRAY_SIZE(steerings); i++) {
        const char *base = steerings[i].from_tree ? reading->tree : reading->folder;
        AUTO_FREE char *path = NULL;
        AUTO_FREE char *physical = NULL;
        struct err none = {0};
        int r = 0;

        if (!str_equal(setting->section, steerings[i].section) || setting->subsection != NULL ||
            !str_equal(setting->name, steerings[i].name) || value[0] == '\0')
            continue;
        r = path_normalize(value, base, reading->work->owner->home, &path, reading->err);
        if (r == 0)
            r = hold(reading, &steerings[i], path);
        if (r == 0 && path_physical(path, &physical, &none) == 0 && !str_equal(physical, path))
            r = hold(reading, &steerings[i], physical);
        if (r < 0)
            return r;
    }
    return 0;
}

/* `fd`: taken over; less than 0 is an error number. One that is not there says nothing. */
static int read_config(struct reading *reading, const char *path, int fd)
{
    AUTO(buf_free) struct buf buf;
    AUTO_CLOSE int file = fd;
    struct stat seen;

    buf_init(&buf, CONFIG_LIMIT_BYTES);
    if (file == -ENOENT || file == -ENOTDIR)
        return 0;
    if (file < 0 || fstat(file, &seen) < 0 || !S_ISREG(seen.st_mode) || fd_read_all(file, &buf) < 0)
        return derive_note(reading->work, reading->err,
                           "'%s' could not be read; what it names in the pen is not held", path);
    return derive_gitconfig_each(buf.bytes, buf.size, take, reading, NULL);
}

/* `folder`: a git folder, of a repository that may be hostile. */
static int read_folder(struct reading *reading, const char *folder)
{
    AUTO_FREE char *path = path_join(folder, "config");

    if (path == NULL)
        return err_memory(reading->err);
    reading->folder = folder;
    return read_config(reading, path, path_open_plain(AT_FDCWD, path, O_RDONLY | O_NONBLOCK));
}

/* ".git" itself may be the owner's symlink. */
static int read_repository(struct reading *reading, const char *top)
{
    AUTO_FREE char *typed = path_join(top, ".git");
    AUTO_FREE char *folder = NULL;
    struct err none = {0};

    if (typed == NULL)
        return err_memory(reading->err);
    reading->tree = top;
    return path_physical(typed, &folder, &none) < 0 ? 0 : read_folder(reading, folder);
}

/* Of a linked worktree or submodule. */
static int read_elsewhere(struct reading *reading)
{
    AUTO(derive_gitfolder_free) struct derive_gitfolder found = {0};
    struct err none = {0};
    const int r = derive_gitfolder_find(reading->work, &found, &none);

    reading->tree = reading->work->pen;
    if (r < 0)
        return r == -ENOMEM ? r : 0; /* then git finds none either */
    return read_folder(reading, found.common != NULL ? found.common : found.folder);
}

static int read_owner(struct reading *reading, enum derive_gitconfig_file which)
{
    AUTO_FREE char *path = derive_gitconfig_path(reading->work->owner, which);
    char *slash = path == NULL ? NULL : strrchr(path, '/');
    AUTO_FREE char *above = slash == NULL ? NULL : strndup(path, (size_t) (slash - path));
    int fd;

    if (above == NULL)
        return err_memory(reading->err);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    reading->folder = above;
    return read_config(reading, path, fd < 0 ? -errno : fd);
}

static int read_all(const struct derivation *work, struct err *err)
{
    const char *tree = work->tree != NULL ? work->tree : work->pen;
    struct reading reading = {.work = work, .tree = tree, .err = err};
    int r = 0;

    for (unsigned which = 0; r == 0 && which < DERIVE_GITCONFIG_FILES; which++)
        r = read_owner(&reading, which);
    if (r == 0)
        r = read_repository(&reading, tree);
    if (r == 0 && !str_equal(tree, work->pen))
        r = read_repository(&reading, work->pen);
    if (r == 0)
        r = read_elsewhere(&reading);
    return r == -ENOMEM ? err_memory(err) : r;
}

/* ---- symlinks -------------------------------------------------------------------------------- */

/* Of the table in fence/guard/names.c, those that people keep elsewhere and link to. */
static const struct linked {
    const char *name;
    enum policy_guard_kind kind;
} linked[] = {
    {".git", POLICY_GUARD_GIT_FOLDER},
    {".git/hooks", POLICY_GUARD_HELD},
    {".git/config", POLICY_GUARD_HELD},
    {".envrc", POLICY_GUARD_HELD},
    {".mcp.json", POLICY_GUARD_HELD},
    {".claude", POLICY_GUARD_HELD},
    {".claude/settings.json", POLICY_GUARD_HELD},
    {".codex", POLICY_GUARD_HELD},
    {".gemini", POLICY_GUARD_HELD},
    {".cursor", POLICY_GUARD_HELD},
    {".vscode", POLICY_GUARD_HELD},
    {".vscode/tasks.json", POLICY_GUARD_HELD},
    {".vscode/launch.json", POLICY_GUARD_HELD},
    {".vscode/settings.json", POLICY_GUARD_HELD},
    {".idea", POLICY_GUARD_HELD},
    {".husky", POLICY_GUARD_HELD},
    {".devcontainer", POLICY_GUARD_HELD},
};

static int hold_target(const struct derivation *work, const char *top, const struct linked *row,
                       struct err *err)
{
    AUTO_FREE char *path = path_join(top, row->name);
    AUTO_FREE char *physical = NULL;
    char why[] = "a guarded name is a symlink to it";
    struct policy_guard_rule rule = {.kind = row->kind, .why = why};
    struct err none = {0};
    struct stat seen;

    if (path == NULL)
        return err_memory(err);
    if (lstat(path, &seen) < 0 || !S_ISLNK(seen.st_mode) ||
        path_physical(path, &physical, &none) < 0)
        return 0; /* a dangling one is completed by a new name, which nobody could know */
    rule.text = physical;
    return add_rule(work, &rule, err);
}

static int hold_targets(const struct derivation *work, const char *top, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(linked); i++)
        r = hold_target(work, top, &linked[i], err);
    return r;
}

int derive_pointers_add(struct derivation *work, struct err *err)
{
    const int r = read_all(work, err);

    return r < 0 ? r : hold_targets(work, work->pen, err);
}
