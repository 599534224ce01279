/* The repositories in and around the pen, as git finds them: a ".git" folder, file or symlink, and
 * git folders of other names. Nothing of what they say is trusted, since all that it does is to
 * guard more names.
 *
 * Which there are below the pen's top is found by the look through the pen (pen/), and comes here
 * as two lists. */
#include "base/path.h"
#include "base/str.h"
#include "derive/pointers_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
    POINTER_LIMIT_BYTES = PATH_MAX + 64,
    WORKTREES_MAX = 1024,
};

/* ---- symlinks -------------------------------------------------------------------------------- */

/* Of the table in fence/guard/names.c: each name, and each folder above one; but ".git" itself,
 * whose target is a git folder and has names that are written. */
static const char *const linkable[] = {
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/modules",
    ".git/worktrees",
    ".envrc",
    ".autoenv",
    ".autoenv.zsh",
    ".mcp.json",
    ".claude",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/commands",
    ".claude/agents",
    ".claude/skills",
    ".claude/plugins",
    ".claude-plugin",
    ".codex",
    ".agents",
    ".agents/skills",
    ".gemini",
    ".cursor",
    ".windsurf",
    ".kiro",
    ".opencode",
    ".roo",
    ".aider.conf.yml",
    ".qwen",
    ".amazonq",
    ".crush.json",
    ".clinerules",
    ".clinerules/hooks",
    ".vscode",
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".vscode/settings.json",
    ".vscode/mcp.json",
    ".idea",
    ".idea/workspace.xml",
    ".idea/runConfigurations",
    ".run",
    ".zed",
    ".zed/tasks.json",
    ".zed/debug.json",
    ".zed/settings.json",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".helix",
    ".devcontainer",
    ".devcontainer.json",
    ".husky",
    ".hg",
    ".hg/hgrc",
    ".jj",
    ".jj/repo",
    ".sl",
    ".pijul",
};

static bool is_known_git_folder(const char *path)
{
    const char *part = strstr(path, "/.git");

    return part != NULL && (part[5] == '/' || part[5] == '\0');
}

/* Below a ".git" the guard's own table holds. */
static int guard_git_folder(const struct derivation *work, const char *folder, struct err *err)
{
    if (is_known_git_folder(folder) || !path_is_below(folder, work->pen) ||
        str_equal(folder, work->pen))
        return 0;
    return derive_pointers_hold(work, POLICY_GUARD_GIT_FOLDER, folder, "it is a git folder", err);
}

/* Of a larger folder each name is asked for: that is less than to read it. */
#define ENTRIES_READ_MAX 1000

/* Whether `entry` may be the first part of `name`, also where case does not count. What is not
 * ASCII may be anything there. */
static bool may_begin(const char *name, const char *entry)
{
    const size_t size = strlen(entry);

    for (const char *at = entry; *at != '\0'; at++)
        if ((*at & 0x80) != 0)
            return true;
    return strncasecmp(name, entry, size) == 0 && (name[size] == '/' || name[size] == '\0');
}

/* By one reading of the folder, of which names it has the first part: looking for each would be
 * most of what a start asks of the file system. */
static void find_beginnings(const char *top, bool may_have[ARRAY_SIZE(linkable)])
{
    AUTO_CLOSEDIR DIR *dir = opendir(top);
    const struct dirent *entry = NULL;
    size_t seen = 0;

    memset(may_have, false, ARRAY_SIZE(linkable) * sizeof *may_have);
    while (dir != NULL && seen++ < ENTRIES_READ_MAX && (entry = readdir(dir)) != NULL) {
        for (size_t i = 0; entry->d_name[0] == '.' && i < ARRAY_SIZE(linkable); i++)
            may_have[i] = may_have[i] || may_begin(linkable[i], entry->d_name);
    }
    if (dir == NULL || entry != NULL)
        memset(may_have, true, ARRAY_SIZE(linkable) * sizeof *may_have);
}

static int hold_links(const struct derivation *work, const char *top, struct err *err)
{
    static const char why[] = "a guarded name is a symlink to it";
    AUTO_CLOSE int fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool may_have[ARRAY_SIZE(linkable)];
    int r = 0;

    if (fd < 0)
        return 0;
    find_beginnings(top, may_have);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(linkable); i++) {
        AUTO_FREE char *path = NULL;
        struct stat seen;

        if (!may_have[i] || fstatat(fd, linkable[i], &seen, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISLNK(seen.st_mode))
            continue;
        path = path_join(top, linkable[i]);
        r = path == NULL ? err_memory(err)
                         : derive_pointers_hold(work, POLICY_GUARD_HELD, path, why, err);
    }
    return r;
}

/* ---- one git folder -------------------------------------------------------------------------- */

/* The physical place that the text of the file `folder`/`name` leads to after `prefix`, counted
 * from `folder`. *ret_path NULL: there is none. */
static int follow(const char *folder, const char *name, const char *prefix, char **ret_path,
                  struct err *err)
{
    AUTO(buf_free) struct buf buf;
    AUTO_FREE char *file = path_join(folder, name);
    AUTO_FREE char *path = NULL;
    struct err none = {0};
    const char *text = NULL;

    buf_init(&buf, POINTER_LIMIT_BYTES);
    if (file == NULL)
        return err_memory(err);
    text = derive_pointers_text(file, &buf);
    if (text == NULL || !str_starts(text, prefix))
        return 0;
    text += strlen(prefix);
    path = text[0] == '/' ? strdup(text) : path_join(folder, text);
    if (path == NULL)
        return err_memory(err);
    return path_physical(path, ret_path, &none) == -ENOMEM ? err_memory(err) : 0;
}

static int add_top(struct derive_pointers *pointers, const char *top)
{
    return derive_list_has(&pointers->tops, top)
               ? 0
               : derive_list_add(&pointers->tops, top, pointers->err);
}

static int add_worktree(struct derive_pointers *pointers, const char *worktrees, const char *name)
{
    AUTO_FREE char *folder = path_join(worktrees, name);
    AUTO_FREE char *back = NULL;
    int r = folder == NULL ? err_memory(pointers->err)
                           : follow(folder, "gitdir", "", &back, pointers->err);

    if (r < 0 || back == NULL || strrchr(back, '/') == back)
        return r;
    *strrchr(back, '/') = '\0';
    return add_top(pointers, back);
}

/* The linked worktrees of a repository share its configuration. */
static int add_worktrees(struct derive_pointers *pointers, const char *common)
{
    AUTO_FREE char *worktrees = path_join(common, "worktrees");
    AUTO_CLOSEDIR DIR *dir = worktrees == NULL ? NULL : opendir(worktrees);
    const struct dirent *entry = NULL;
    int r = worktrees == NULL ? err_memory(pointers->err) : 0;

    while (r == 0 && dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (pointers->tops.count > WORKTREES_MAX)
            return err_set(pointers->err, EINVAL, "derive.pointers",
                           "the repository '%s' has more than %d worktrees", common, WORKTREES_MAX);
        r = add_worktree(pointers, worktrees, entry->d_name);
    }
    return r;
}

static int add_config(struct derive_pointers *pointers, const char *folder, const char *name)
{
    AUTO_FREE char *path = path_join(folder, name);

    return path == NULL ? err_memory(pointers->err)
                        : derive_list_add(&pointers->files, path, pointers->err);
}

/* `folder`: physical. `top`: a work tree of it. */
static int read_folder(const struct derivation *work, const char *folder, const char *top,
                       struct err *err)
{
    AUTO(derive_pointers_free) struct derive_pointers pointers = {.work = work, .err = err};
    AUTO_FREE char *common = NULL;
    int r = follow(folder, "commondir", "", &common, err);

    if (r == 0)
        r = add_top(&pointers, top);
    if (r == 0)
        r = add_config(&pointers, common != NULL ? common : folder, "config");
    if (r == 0 && common != NULL)
        r = add_config(&pointers, common, "config.worktree");
    if (r == 0)
        r = add_config(&pointers, folder, "config.worktree");
    if (r == 0)
        r = add_worktrees(&pointers, common != NULL ? common : folder);
    return r == 0 ? derive_pointers_read(&pointers) : r;
}

/* ---- one work tree --------------------------------------------------------------------------- */

static int find_folder(const char *top, char **ret_folder, struct err *err)
{
    AUTO_FREE char *path = path_join(top, ".git");
    struct err none = {0};
    struct stat seen;

    if (path == NULL)
        return err_memory(err);
    if (lstat(path, &seen) < 0)
        return 0;
    if (S_ISDIR(seen.st_mode)) {
        *ret_folder = TAKE_PTR(path);
        return 0;
    }
    if (stat(path, &seen) == 0 && S_ISREG(seen.st_mode))
        return follow(top, ".git", "gitdir: ", ret_folder, err);
    return path_physical(path, ret_folder, &none) == -ENOMEM ? err_memory(err) : 0;
}

/* Each symlink that ".git" leads through; its end is what find_folder() found, or nothing yet. */
static int hold_git_link(const struct derivation *work, const char *top, struct err *err)
{
    AUTO_FREE char *path = path_join(top, ".git");
    struct stat seen;

    if (path == NULL)
        return err_memory(err);
    if (lstat(path, &seen) < 0 || !S_ISLNK(seen.st_mode))
        return 0;
    return derive_pointers_hold(work, POLICY_GUARD_GIT_FOLDER, path, "'.git' is a symlink to it",
                                err);
}

int derive_repository_add(const struct derivation *work, const char *top, struct err *err)
{
    AUTO_FREE char *folder = NULL;
    int r = find_folder(top, &folder, err);

    if (r == 0)
        r = hold_git_link(work, top, err);
    if (r == 0 && folder != NULL)
        r = guard_git_folder(work, folder, err);
    if (r == 0 && folder != NULL)
        r = read_folder(work, folder, top, err);
    return r == 0 ? hold_links(work, top, err) : r;
}

/* ---- those of the pen ------------------------------------------------------------------------ */

/* Such a folder is in the other list. */
static bool is_dot_git(const char *folder)
{
    return str_equal(folder, ".git") || str_ends(folder, "/.git");
}

static int check_count(const struct policy *policy, const struct derive_repositories *found,
                       struct err *err)
{
    const uint64_t most = policy_get_preflight(policy)->repositories;
    uint64_t count = found->dot_git_count;

    for (size_t i = 0; i < found->folder_count; i++)
        count += !is_dot_git(found->folders[i]);
    if (count <= most)
        return 0;
    (void) err_set(err, EINVAL, "derive.repositories",
                   "the pen holds more than %llu git repositories, and what the settings of the "
                   "rest lead to is not known",
                   (unsigned long long) most);
    return err_hint(err,
                    "use a smaller pen, or raise wattle.preflight.repositories in config.json");
}

static int add_dot_git(const struct derivation *work, const char *dot_git, struct err *err)
{
    AUTO_FREE char *top = path_join(work->pen, dot_git);

    if (top == NULL)
        return err_memory(err);
    *strrchr(top, '/') = '\0';
    return str_equal(top, work->pen) ? 0 : derive_repository_add(work, top, err);
}

/* Of a bare repository. Not as a git folder of the guard's, which would cost a rule for each row of
 * its table, so that a few dozen of them would be a refusal. */
static int hold_bare(const struct derivation *work, const char *folder, struct err *err)
{
    static const struct {
        const char *name, *why;
    } names[] = {
        {"HEAD", "without it the folder is no repository, and its hooks are not guarded"},
        {"hooks", "git runs it for whoever pushes there"},
        {"config", "git takes programs to run from it"},
        {"config.worktree", "git takes programs to run from it"},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
        AUTO_FREE char *path = path_join(folder, names[i].name);

        r = path == NULL ? err_memory(err)
                         : derive_pointers_hold(work, POLICY_GUARD_HELD, path, names[i].why, err);
    }
    return r;
}

/* Bare repositories, and the git folders of submodules, which the guard's table knows. */
static int add_git_folder(const struct derivation *work, const char *folder, struct err *err)
{
    const int r = is_known_git_folder(folder) ? 0 : hold_bare(work, folder, err);

    return r == 0 ? read_folder(work, folder, folder, err) : r;
}

static int add_folder(const struct derivation *work, const char *relative, struct err *err)
{
    AUTO_FREE char *folder =
        relative[0] == '\0' ? strdup(work->pen) : path_join(work->pen, relative);

    if (folder == NULL)
        return err_memory(err);
    return is_dot_git(relative) ? 0 : add_git_folder(work, folder, err);
}

/* As the guard tells one by what it holds. */
static bool is_git_folder(const char *folder)
{
    AUTO_CLOSE int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat seen;

    return fd >= 0 && fstatat(fd, "HEAD", &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
           ((fstatat(fd, "objects", &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
             fstatat(fd, "refs", &seen, AT_SYMLINK_NOFOLLOW) == 0) ||
            fstatat(fd, "commondir", &seen, AT_SYMLINK_NOFOLLOW) == 0);
}

int derive_repository_beside(const struct derivation *work, const char *top, struct err *err)
{
    const int r = derive_repository_add(work, top, err);

    return r == 0 && is_git_folder(top) ? add_git_folder(work, top, err) : r;
}

int derive_pointers_nested(const struct derive_owner *owner, struct policy *policy,
                           const struct derive_repositories *found, struct err *err)
{
    AUTO_FREE char *pen = strdup(policy_pen(policy));
    const struct derivation work = {.owner = owner, .policy = policy, .pen = pen};
    int r = 0;

    if (pen == NULL)
        return err_memory(err);
    if (policy_get_guard(policy) == POLICY_GUARD_OFF)
        return 0;
    r = check_count(policy, found, err);
    for (size_t i = 0; r == 0 && i < found->dot_git_count; i++)
        r = add_dot_git(&work, found->dot_git[i], err);
    for (size_t i = 0; r == 0 && i < found->folder_count; i++)
        r = add_folder(&work, found->folders[i], err);
    return r == 0 ? derive_pointers_below(&work, found->guarded, found->guarded_count, err) : r;
}
