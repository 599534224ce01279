/* The git folder that a ".git" file names, when it lies outside of the work tree: of a linked
 * worktree or of a submodule.
 *
 * The file belongs to the work tree, which may be hostile, so by itself it proves nothing. What it
 * names must name the work tree back, from a place that the work tree does not hold. Nothing is
 * reached through a symlink: what git follows is what was looked at. */
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define POINTER_LIMIT_BYTES (PATH_MAX + 64)
#define CONFIG_LIMIT_BYTES (256u << 10)
#define ID "derive.git-folder"

/* ---- looking ------------------------------------------------------------------------------- */

static int refuse_lookup(int r, const char *folder, const char *name, struct err *why)
{
    if (r == -ENOMEM)
        return err_memory(why);
    if (r == -ELOOP)
        return err_set(why, EINVAL, ID, "'%s' leads through a symlink from '%s'", name, folder);
    return err_set(why, EINVAL, ID, "'%s' in '%s' cannot be used: %s", name, folder, strerror(-r));
}

static int check_owner(const struct derivation *work, const struct stat *seen, const char *folder,
                       const char *name, struct err *why)
{
    if (seen->st_uid == work->owner->uid)
        return 0;
    return err_set(why, EINVAL, ID, "'%s' in '%s' is not yours", name, folder);
}

/* Opens a folder of the caller's. */
static int open_folder(const struct derivation *work, const char *path, struct stat *ret_seen,
                       struct err *why)
{
    AUTO_CLOSE int fd = path_open_plain(AT_FDCWD, path, O_PATH | O_DIRECTORY);
    int r = fd < 0 ? fd : 0;

    if (r == 0 && fstat(fd, ret_seen) < 0)
        r = -errno;
    if (r < 0)
        return refuse_lookup(r, "/", path, why);
    r = check_owner(work, ret_seen, "/", path, why);
    return r < 0 ? r : TAKE_FD(fd);
}

static bool is_there(int folder_fd, const char *name)
{
    struct stat seen;

    return fstatat(folder_fd, name, &seen, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static bool is_kind(int folder_fd, const char *name, mode_t kind)
{
    struct stat seen;

    return fstatat(folder_fd, name, &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
           (seen.st_mode & S_IFMT) == kind;
}

static bool is_repository(int folder_fd)
{
    return is_kind(folder_fd, "HEAD", S_IFREG) && is_kind(folder_fd, "objects", S_IFDIR) &&
           is_kind(folder_fd, "refs", S_IFDIR);
}

static int check_repository(int folder_fd, const char *folder, struct err *why)
{
    if (!is_repository(folder_fd))
        return err_set(why, EINVAL, ID, "'%s' does not hold HEAD, objects and refs", folder);
    if (is_there(folder_fd, "commondir"))
        return err_set(why, EINVAL, ID, "'%s' belongs to yet another git folder", folder);
    return 0;
}

/* A file of the caller's, at most `buf->limit` bytes. */
static int read_file(const struct derivation *work, int folder_fd, const char *folder,
                     const char *name, struct buf *buf, struct err *why)
{
    AUTO_CLOSE int fd = path_open_below(folder_fd, name, O_RDONLY | O_NONBLOCK, 0);
    struct stat seen;
    int r = fd < 0 ? fd : 0;

    if (r == 0 && fstat(fd, &seen) < 0)
        r = -errno;
    if (r == 0 && !S_ISREG(seen.st_mode))
        r = -EINVAL;
    if (r == 0)
        r = fd_read_all(fd, buf);
    if (r < 0)
        return refuse_lookup(r, folder, name, why);
    return check_owner(work, &seen, folder, name, why);
}

/* ---- pointers: one line that names a path -------------------------------------------------- */

static int refuse_pointer(const char *folder, const char *name, struct err *why)
{
    return err_set(why, EINVAL, ID, "'%s' in '%s' is not one line that names a path", name, folder);
}

/* The line of `buf` after `prefix`; NULL: it is something else. */
static const char *pointer_text(struct buf *buf, const char *prefix)
{
    size_t size = buf->size;

    if (size > 0 && buf->bytes[size - 1] == '\n')
        size--;
    if (size > 0 && size < buf->size && buf->bytes[size - 1] == '\r')
        size--;
    if (size <= strlen(prefix) || !str_starts(buf->bytes, prefix))
        return NULL;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char) buf->bytes[i] < 0x20 || buf->bytes[i] == 0x7f)
            return NULL;
    buf->bytes[size] = '\0';
    return buf->bytes + strlen(prefix);
}

/* Opens what `text` names from `folder`, and hands out where that is. As no symlink is on the way,
 * the physical path is what is left of the text without its "..". */
static int follow(int folder_fd, const char *folder, const char *text, char **ret_path,
                  struct err *why)
{
    AUTO_CLOSE int fd = path_open_plain(folder_fd, text, O_PATH);
    int r = 0;

    if (fd < 0)
        return refuse_lookup(fd, folder, text, why);
    r = path_normalize(text, folder, NULL, ret_path, why);
    return r < 0 ? r : TAKE_FD(fd);
}

static int follow_pointer(const struct derivation *work, int folder_fd, const char *folder,
                          const char *const name_and_prefix[2], char **ret_path, struct err *why)
{
    AUTO(buf_free) struct buf buf;
    const char *text = NULL;
    int r = 0;

    buf_init(&buf, POINTER_LIMIT_BYTES);
    r = read_file(work, folder_fd, folder, name_and_prefix[0], &buf, why);
    if (r < 0)
        return r;
    text = pointer_text(&buf, name_and_prefix[1]);
    return text == NULL ? refuse_pointer(folder, name_and_prefix[0], why)
                        : follow(folder_fd, folder, text, ret_path, why);
}

/* Whether the file `name` of `folder` names exactly `wanted`. */
static int check_pointer(const struct derivation *work, int folder_fd, const char *folder,
                         const char *name, const char *wanted, struct err *why)
{
    const char *const name_and_prefix[2] = {name, ""};
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int fd = follow_pointer(work, folder_fd, folder, name_and_prefix, &path, why);

    if (fd < 0)
        return fd;
    if (str_equal(path, wanted))
        return 0;
    return err_set(why, EINVAL, ID, "'%s' in '%s' names '%s', not '%s'", name, folder, path,
                   wanted);
}

/* ---- where no git folder is taken from ----------------------------------------------------- */

/* "~/.git", "~/.dotfiles", "~/.config/x": what the owner keeps the files of the home itself in. */
static bool is_home_s_own(const char *path, const char *home)
{
    const char *rest = NULL;

    if (!path_is_below(path, home) || str_equal(path, home))
        return false;
    rest = path + strlen(home) + 1;
    return path_is_below(rest, ".config") || (rest[0] == '.' && strchr(rest, '/') == NULL);
}

static int check_place(const struct derivation *work, const char *path, struct err *why)
{
    const unsigned facts = derive_judge(work, path).facts & (DERIVE_UNFIT | DERIVE_SYSTEM);

    if (facts != 0)
        return err_set(why, EINVAL, ID, "'%s' %s", path, derive_verdict_text(facts));
    for (size_t i = 0; i < work->homes.count; i++)
        if (is_home_s_own(path, work->homes.items[i]))
            return err_set(why, EINVAL, ID, "'%s' belongs to the home '%s' itself", path,
                           work->homes.items[i]);
    if (path_is_below(work->pen, path))
        return err_set(why, EINVAL, ID, "'%s' holds the pen", path);
    return 0;
}

/* ---- linked worktrees ---------------------------------------------------------------------- */

static char *parent_of(const char *path)
{
    const char *slash = NULL;

    assert(path != NULL && path[0] == '/');
    slash = strrchr(path, '/');
    return strndup(path, slash == path ? 1 : (size_t) (slash - path));
}

static int check_common(const struct derivation *work, struct derive_gitfolder *found,
                        const char *worktrees, struct err *why)
{
    struct stat seen;
    AUTO_CLOSE int worktrees_fd = open_folder(work, worktrees, &seen, why);
    AUTO_CLOSE int fd = -1;
    int r = worktrees_fd < 0 ? worktrees_fd : check_place(work, found->common, why);

    if (r < 0)
        return r;
    fd = open_folder(work, found->common, &found->common_seen, why);
    return fd < 0 ? fd : check_repository(fd, found->common, why);
}

/* `found->folder` is to be COMMON/worktrees/NAME. */
static int check_worktree(const struct derivation *work, const char *tree, int fd,
                          struct derive_gitfolder *found, struct err *why)
{
    AUTO_FREE char *worktrees = parent_of(found->folder);
    AUTO_FREE char *pointer = path_join(tree, ".git");
    int r = 0;

    if (worktrees == NULL || pointer == NULL)
        return err_memory(why);
    if (!str_equal(path_base(worktrees), "worktrees") || worktrees[1] == '\0')
        return err_set(why, EINVAL, ID, "'%s' does not lie in a folder 'worktrees'", found->folder);
    found->common = parent_of(worktrees);
    if (found->common == NULL)
        return err_memory(why);
    if (!is_kind(fd, "HEAD", S_IFREG))
        return err_set(why, EINVAL, ID, "'%s' does not hold HEAD", found->folder);
    r = check_pointer(work, fd, found->folder, "commondir", found->common, why);
    if (r == 0)
        r = check_pointer(work, fd, found->folder, "gitdir", pointer, why);
    return r < 0 ? r : check_common(work, found, worktrees, why);
}

/* ---- submodules ---------------------------------------------------------------------------- */

static int keep_worktree(void *context, const struct derive_gitsetting *setting)
{
    char **text = context;

    if (!str_equal(setting->section, "core") || setting->subsection != NULL ||
        !str_equal(setting->name, "worktree"))
        return 0;
    free(*text);
    *text = strdup(setting->value);
    return *text == NULL ? -ENOMEM : 0;
}

/* core.worktree is the way back from a submodule's git folder. */
static int check_named_back(const struct derivation *work, const char *tree, int fd,
                            const char *folder, struct err *why)
{
    AUTO(buf_free) struct buf buf;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int tree_fd = -1;
    int r = 0;

    buf_init(&buf, CONFIG_LIMIT_BYTES);
    r = read_file(work, fd, folder, "config", &buf, why);
    if (r < 0)
        return r;
    if (derive_gitconfig_each(buf.bytes, buf.size, keep_worktree, &text, NULL) < 0)
        return err_memory(why);
    if (text == NULL)
        return err_set(why, EINVAL, ID, "'%s' does not name the folder it belongs to", folder);
    tree_fd = follow(fd, folder, text, &path, why);
    if (tree_fd < 0)
        return tree_fd;
    if (str_equal(path, tree))
        return 0;
    return err_set(why, EINVAL, ID, "'%s' belongs to '%s', not to '%s'", folder, path, tree);
}

/* Opens what the ".git" file of `tree` names. */
static int find_pointed(const struct derivation *work, const char *tree,
                        struct derive_gitfolder *found, struct err *why)
{
    static const char *const name_and_prefix[2] = {".git", "gitdir: "};
    struct stat seen;
    AUTO_CLOSE int tree_fd = open_folder(work, tree, &seen, why);
    AUTO_CLOSE int fd = -1;

    if (tree_fd < 0)
        return tree_fd;
    fd = follow_pointer(work, tree_fd, tree, name_and_prefix, &found->folder, why);
    return fd < 0 ? fd : open_folder(work, found->folder, &found->seen, why);
}

/* The git folder of the checkout at `top`: a ".git" of its own, or a linked worktree's. NULL
 * without a word when there is none that can be trusted. */
static char *git_folder_of(const struct derivation *work, const char *top)
{
    AUTO(derive_gitfolder_free) struct derive_gitfolder found = {0};
    AUTO_FREE char *own = path_join(top, ".git");
    struct stat seen;
    AUTO_CLOSE int own_fd = own == NULL ? -1 : open_folder(work, own, &seen, NULL);
    AUTO_CLOSE int fd = -1;

    if (own_fd >= 0)
        return check_repository(own_fd, own, NULL) == 0 ? TAKE_PTR(own) : NULL;
    fd = find_pointed(work, top, &found, NULL);
    if (fd < 0 || check_worktree(work, top, fd, &found, NULL) < 0)
        return NULL;
    return TAKE_PTR(found.folder);
}

/* `folder` must lie in the "modules" of a checkout around the work tree. */
static int check_superproject(const struct derivation *work, const char *tree, const char *folder,
                              struct err *why)
{
    AUTO_FREE char *top = strdup(tree);
    char *slash = NULL;

    if (top == NULL)
        return err_memory(why);
    while ((slash = strrchr(top, '/')) != NULL && slash != top) {
        AUTO_FREE char *git = NULL;
        AUTO_FREE char *modules = NULL;

        *slash = '\0';
        git = git_folder_of(work, top);
        modules = git == NULL ? NULL : path_join(git, "modules");
        if (modules != NULL && path_is_below(folder, modules) && !str_equal(folder, modules))
            return 0;
    }
    return err_set(why, EINVAL, ID, "'%s' is not among the modules of a repository around '%s'",
                   folder, tree);
}

static int check_submodule(const struct derivation *work, const char *tree, int fd,
                           const struct derive_gitfolder *found, struct err *why)
{
    int r = check_repository(fd, found->folder, why);

    if (r == 0)
        r = check_named_back(work, tree, fd, found->folder, why);
    if (r == 0)
        r = check_superproject(work, tree, found->folder, why);
    return r == 0 ? check_place(work, found->folder, why) : r;
}

/* ---- the public side ----------------------------------------------------------------------- */

void derive_gitfolder_free(struct derive_gitfolder *found)
{
    free(found->folder);
    free(found->common);
    *found = (struct derive_gitfolder){0};
}

int derive_gitfolder_find(const struct derivation *work, struct derive_gitfolder *ret_found,
                          struct err *why)
{
    AUTO(derive_gitfolder_free) struct derive_gitfolder found = {0};
    AUTO_CLOSE int fd = find_pointed(work, work->pen, &found, why);
    int r = 0;

    if (fd < 0)
        return fd;
    if (path_is_below(found.folder, work->pen))
        found.in_pen = true;
    else if (is_there(fd, "commondir"))
        r = check_worktree(work, work->pen, fd, &found, why);
    else
        r = check_submodule(work, work->pen, fd, &found, why);
    if (r < 0)
        return r;
    *ret_found = found;
    found = (struct derive_gitfolder){0};
    return 0;
}

bool derive_gitfolder_is(const char *path)
{
    AUTO_CLOSE int fd = path_open_plain(AT_FDCWD, path, O_PATH | O_DIRECTORY);

    return fd >= 0 && is_repository(fd);
}
