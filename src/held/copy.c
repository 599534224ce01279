/* A copy on another file system: by descriptors, of any kind of object, within bounds. Owner, mode
 * and time of files are kept; folders are given all rights for their owner, so that they can be
 * filled and removed. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "held/held_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10 };

struct copying {
    int from_fd; /* the tops of both sides, of folders */
    int to_fd;
    char **paths; /* folders below them still to be copied */
    size_t count, room;
    uint64_t bytes;
    size_t entries;
};

static int count_in(struct copying *copying, uint64_t bytes)
{
    copying->entries++;
    copying->bytes += bytes;
    return copying->entries > HELD_MOVE_ENTRIES || copying->bytes > HELD_MOVE_BYTES ? -EFBIG : 0;
}

static int push(struct copying *copying, const char *folder, const char *name)
{
    const char *slash = folder[0] != '\0' ? "/" : "";
    char *path;

    if (strlen(folder) + strlen(name) + 4 > PATH_MAX)
        return -EFBIG;
    if (copying->count == copying->room) {
        const size_t room = copying->room == 0 ? 16 : copying->room * 2;
        char **paths = reallocarray(copying->paths, room, sizeof *paths);

        if (paths == NULL)
            return -ENOMEM;
        copying->paths = paths;
        copying->room = room;
    }
    if (asprintf(&path, "%s%s%s", folder, slash, name) < 0)
        return -ENOMEM;
    copying->paths[copying->count++] = path;
    return 0;
}

/* ---- one object -------------------------------------------------------------------------- */

/* Who cannot give files away keeps them. */
static void keep_owner(int fd, const struct stat *seen)
{
    if (fchown(fd, seen->st_uid, seen->st_gid) < 0)
        errno = 0;
}

static int copy_bytes(int from_fd, int to_fd, uint64_t size)
{
    AUTO_FREE char *block = malloc(BLOCK_BYTES);
    uint64_t copied = 0;

    if (block == NULL)
        return -ENOMEM;
    for (;;) {
        const ssize_t n = read(from_fd, block, BLOCK_BYTES);
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        copied += (uint64_t) n;
        if (copied > size) /* it grows */
            return -EAGAIN;
        r = fd_write_all(to_fd, block, (size_t) n);
        if (r < 0)
            return r;
    }
}

/* Reading needs a right that its owner can give to himself. */
static int open_regular(int from_fd, const char *from, const struct stat *seen)
{
    const int fd = path_open_below(from_fd, from, O_RDONLY | O_NONBLOCK, 0);

    if (fd != -EACCES || seen->st_uid != geteuid() ||
        fchmodat(from_fd, from, (seen->st_mode & 07777) | S_IRUSR, AT_SYMLINK_NOFOLLOW) < 0)
        return fd;
    return path_open_below(from_fd, from, O_RDONLY | O_NONBLOCK, 0);
}

static int copy_regular(int from_fd, const char *from, int to_fd, const char *to,
                        const struct stat *seen)
{
    const struct timespec times[2] = {seen->st_atim, seen->st_mtim};
    AUTO_CLOSE int in = open_regular(from_fd, from, seen);
    AUTO_CLOSE int out = -1;
    struct stat now;
    int r;

    if (in < 0)
        return in;
    if (fstat(in, &now) < 0)
        return -errno;
    if (!S_ISREG(now.st_mode) || now.st_ino != seen->st_ino || now.st_dev != seen->st_dev)
        return -EAGAIN;
    out = openat(to_fd, to, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        return -errno;
    r = copy_bytes(in, out, (uint64_t) seen->st_size);
    if (r < 0)
        return r;
    keep_owner(out, seen);
    (void) futimens(out, times);
    return fchmod(out, seen->st_mode & 07777) < 0 || fsync(out) < 0 ? -errno : 0;
}

static int copy_link(int from_fd, const char *from, int to_fd, const char *to)
{
    char text[PATH_MAX];
    const ssize_t size = readlinkat(from_fd, from, text, sizeof text - 1);

    if (size < 0)
        return -errno;
    text[size] = '\0';
    return symlinkat(text, to_fd, to) < 0 ? -errno : 0;
}

/* 1: it is a folder, made empty. */
static int copy_one(struct copying *copying, int from_fd, const char *from, int to_fd,
                    const char *to)
{
    struct stat seen;
    int r;

    if (fstatat(from_fd, from, &seen, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    r = count_in(copying, S_ISREG(seen.st_mode) ? (uint64_t) seen.st_size : 0);
    if (r < 0)
        return r;
    switch (seen.st_mode & S_IFMT) {
    case S_IFDIR:
        r = mkdirat(to_fd, to, (seen.st_mode & 0777) | S_IRWXU);
        return r < 0 ? -errno : 1;
    case S_IFREG:
        return copy_regular(from_fd, from, to_fd, to, &seen);
    case S_IFLNK:
        return copy_link(from_fd, from, to_fd, to);
    case S_IFIFO:
    case S_IFSOCK:
        return mknodat(to_fd, to, seen.st_mode & (S_IFMT | 0777), 0) < 0 ? -errno : 0;
    default:
        return -EFBIG; /* a device: not to be made anew */
    }
}

/* ---- folders ----------------------------------------------------------------------------- */

static int open_folder(int top_fd, const char *path)
{
    AUTO_CLOSE int path_fd = path_open_below(top_fd, path, O_PATH | O_DIRECTORY, 0);
    mode_t before;
    int fd;

    if (path_fd < 0)
        return path_fd;
    (void) held_unlock(path_fd, &before);
    fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int copy_names(struct copying *copying, const char *path, DIR *dir, int to_fd)
{
    for (;;) {
        const struct dirent *entry;
        int r;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL)
            return -errno;
        if (is_dots(entry->d_name))
            continue;
        r = copy_one(copying, dirfd(dir), entry->d_name, to_fd, entry->d_name);
        if (r == 1)
            r = push(copying, path, entry->d_name);
        if (r < 0)
            return r;
    }
}

static int copy_folder(struct copying *copying, const char *path)
{
    const char *below = path[0] != '\0' ? path : ".";
    AUTO_CLOSE int to_fd = open_folder(copying->to_fd, below);
    const int from_fd = to_fd < 0 ? to_fd : open_folder(copying->from_fd, below);
    AUTO_CLOSEDIR DIR *dir = from_fd < 0 ? NULL : fdopendir(from_fd);

    if (from_fd < 0)
        return from_fd;
    if (dir == NULL) {
        (void) close(from_fd);
        return -ENOMEM;
    }
    return copy_names(copying, path, dir, to_fd);
}

static int copy_tree(struct copying *copying)
{
    int r = push(copying, "", "");

    while (r == 0 && copying->count > 0) {
        AUTO_FREE char *path = copying->paths[--copying->count];

        r = copy_folder(copying, path);
    }
    while (copying->count > 0)
        free(copying->paths[--copying->count]);
    free(copying->paths);
    return r;
}

int held_copy(int from_fd, const char *from, int to_fd, const char *to)
{
    struct copying copying = {.from_fd = -1, .to_fd = -1};
    int r = copy_one(&copying, from_fd, from, to_fd, to);

    if (r != 1)
        return r;
    copying.from_fd = path_open_below(from_fd, from, O_PATH | O_DIRECTORY, 0);
    copying.to_fd = path_open_below(to_fd, to, O_PATH | O_DIRECTORY, 0);
    r = copying.from_fd < 0 ? copying.from_fd : copying.to_fd;
    if (r >= 0)
        r = copy_tree(&copying);
    cleanup_close(&copying.from_fd);
    cleanup_close(&copying.to_fd);
    return r;
}
