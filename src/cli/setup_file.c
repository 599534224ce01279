#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY };

static int failed(const struct setup_file *file, int code, const char *what, struct err *err)
{
    return err_set(err, code, "setup.file", "cannot %s '%s'", what, file->path);
}

static int not_ours(const struct setup_file *file, const char *why, struct err *err)
{
    (void) err_set(err, EINVAL, "setup.file", "'%s' is left alone: it %s", file->path, why);
    return err_hint(err, "without --write the entry is printed, to be put there by hand");
}

void setup_file_free(struct setup_file *file)
{
    free(file->path);
    file->path = NULL;
    cleanup_close(&file->top_fd);
    cleanup_close(&file->folder_fd);
    buf_free(&file->text);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static char *folder_of(const char *path)
{
    const char *base = path_base(path);

    return base - path > 1 ? strndup(path, (size_t) (base - path) - 1) : strdup("/");
}

/* Of a project: one folder deep at most, and no symlink of it counts. */
static int open_below(struct setup_file *file, const char *project, bool make)
{
    AUTO_FREE char *folder = folder_of(file->path);
    const char *below;

    if (folder == NULL)
        return -ENOMEM;
    below = strlen(folder) > strlen(project) ? folder + strlen(project) + 1 : ".";
    if (make && mkdirat(file->top_fd, below, 0755) < 0 && errno != EEXIST)
        return -errno;
    return path_open_below(file->top_fd, below, FOLDER_FLAGS, 0);
}

static int open_folder(const struct setup_file *file, bool make)
{
    AUTO_FREE char *folder = folder_of(file->path);
    const int r = folder == NULL ? -ENOMEM : make ? path_make_folders(folder, 0700) : 0;

    return r < 0 ? r : path_open_plain(AT_FDCWD, folder, FOLDER_FLAGS);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int judge(const struct setup_file *file, struct err *err)
{
    if (!S_ISREG(file->was.st_mode))
        return not_ours(file, "is no regular file", err);
    if (file->was.st_uid != geteuid())
        return not_ours(file, "belongs to another user", err);
    if (file->was.st_nlink > 1)
        return not_ours(file, "has other names (hard links), which would keep what was", err);
    return 0;
}

static int read_text(struct setup_file *file, struct err *err)
{
    AUTO_CLOSE int fd =
        path_open_below(file->folder_fd, path_base(file->path), O_RDONLY | O_NONBLOCK, 0);
    int r;

    if (fd == -ENOENT)
        return 0;
    if (fd == -ELOOP)
        return not_ours(file, "is a symlink", err);
    if (fd < 0)
        return failed(file, -fd, "open", err);
    if (fstat(fd, &file->was) < 0)
        return failed(file, errno, "look at", err);
    r = judge(file, err);
    if (r < 0)
        return r;
    r = fd_read_all(fd, &file->text);
    if (r < 0)
        return failed(file, -r, "read", err);
    file->exists = true;
    return 0;
}

/* A symlink's end, where there is one: what is opened later is that path, and no other symlink. */
static int find_real(const char *path, struct setup_file *file, struct err *err)
{
    AUTO_FREE char *folder = folder_of(path);
    struct stat link;
    int r;

    if (folder == NULL)
        return err_memory(err);
    if (lstat(path, &link) == 0) {
        file->linked = S_ISLNK(link.st_mode);
        return path_physical(path, &file->path, err);
    }
    if (access(folder, F_OK) < 0) {
        file->path = strdup(path);
        return file->path == NULL ? err_memory(err) : 0;
    }
    {
        AUTO_FREE char *real = NULL;

        r = path_physical(folder, &real, err);
        if (r < 0)
            return r;
        file->path = path_join(real, path_base(path));
    }
    return file->path == NULL ? err_memory(err) : 0;
}

static int find_below(const char *path, const char *project, struct setup_file *file,
                      struct err *err)
{
    file->in_project = true;
    file->path = strdup(path);
    if (file->path == NULL)
        return err_memory(err);
    file->top_fd = path_open_plain(AT_FDCWD, project, FOLDER_FLAGS);
    return file->top_fd < 0 ? failed(file, -file->top_fd, "reach", err) : 0;
}

int setup_file_read(const char *path, const char *project, struct setup_file *file, struct err *err)
{
    int r;

    *file = (struct setup_file){.top_fd = -1, .folder_fd = -1};
    buf_init(&file->text, SETUP_FILE_LIMIT_BYTES);
    r = project != NULL ? find_below(path, project, file, err) : find_real(path, file, err);
    if (r < 0)
        return r;
    file->folder_fd = project != NULL ? open_below(file, project, false) : open_folder(file, false);
    if (file->folder_fd == -ELOOP)
        return not_ours(file, "lies behind a symlink", err);
    if (file->folder_fd == -ENOENT)
        return 0;
    return file->folder_fd < 0 ? failed(file, -file->folder_fd, "reach", err)
                               : read_text(file, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* -errno. */
static int fill(const struct setup_file *file, int fd, const struct buf *text)
{
    const mode_t mode = file->exists ? file->was.st_mode & 07777 : file->in_project ? 0644 : 0600;
    const int r = fd_write_all(fd, text->bytes, text->size);

    if (r < 0)
        return r;
    if (file->exists && file->was.st_gid != getegid() &&
        fchown(fd, (uid_t) -1, file->was.st_gid) < 0)
        return -errno;
    return fchmod(fd, mode) < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Between the look and the rename another writer of the owner's can still lose: a rename that
 * compares does not exist. */
static int put_in_place(const struct setup_file *file, const char *fresh)
{
    const char *name = path_base(file->path);
    struct stat now;

    if (!file->exists)
        return renameat2(file->folder_fd, fresh, file->folder_fd, name, RENAME_NOREPLACE) < 0
                   ? -errno
                   : 0;
    if (fstatat(file->folder_fd, name, &now, AT_SYMLINK_NOFOLLOW) < 0 || !is_same(&now, &file->was))
        return -ESTALE;
    return renameat(file->folder_fd, fresh, file->folder_fd, name) < 0 ? -errno : 0;
}

static int replace(const struct setup_file *file, const struct buf *text)
{
    char fresh[64];
    uint64_t number;
    int r;

    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return -EIO;
    (void) snprintf(fresh, sizeof fresh, ".wattle-setup-%016" PRIx64, number);
    {
        AUTO_CLOSE int fd =
            path_open_below(file->folder_fd, fresh, O_WRONLY | O_CREAT | O_EXCL, 0600);

        if (fd < 0)
            return fd;
        r = fill(file, fd, text);
    }
    if (r == 0)
        r = put_in_place(file, fresh);
    if (r < 0)
        (void) unlinkat(file->folder_fd, fresh, 0); /* what is said is why there is no new file */
    else
        (void) fsync(file->folder_fd); /* a crash now brings the old file back, whole */
    return r;
}

int setup_file_write(struct setup_file *file, const struct buf *text, struct err *err)
{
    int r = 0;

    if (file->folder_fd < 0 && file->in_project) {
        AUTO_FREE char *folder = folder_of(file->path);
        AUTO_FREE char *project = folder == NULL ? NULL : folder_of(folder);

        file->folder_fd = project == NULL ? -ENOMEM : open_below(file, project, true);
    } else if (file->folder_fd < 0) {
        file->folder_fd = open_folder(file, true);
    }
    r = file->folder_fd < 0 ? file->folder_fd : replace(file, text);
    if (r == -ESTALE || r == -EEXIST) {
        (void) err_set(err, EINVAL, "setup.changed",
                       "'%s' was changed meanwhile: nothing is written", file->path);
        return err_hint(err, "try again");
    }
    return r < 0 ? err_set(err, -r, "setup.write", "cannot write '%s'", file->path) : 0;
}
