#include "pen/memory.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char folder_name[] = "preflight";

enum {
    KEY_BYTES = 16,
    NAME_SIZE = KEY_BYTES + 8,
    KEPT_DAYS = 14, /* a memory nobody used */
};

#define DAY_MS (INT64_C(24) * 3600 * 1000)

/* ---- which file -------------------------------------------------------------------------- */

/* FNV-1a. Two pens with the same name would only lose their memory to each other: the file says
 * which one it is of. */
static void name_of(const struct pen_memory *memory, char name[NAME_SIZE])
{
    uint64_t sum = BYTES_SUM;

    sum = bytes_sum(sum, &memory->dev, sizeof memory->dev);
    sum = bytes_sum(sum, &memory->inode, sizeof memory->inode);
    sum = bytes_sum(sum, memory->pen, strlen(memory->pen));
    (void) snprintf(name, NAME_SIZE, "%016llx", (unsigned long long) sum);
}

/* Whether nobody but the caller could have written it. */
static bool is_private(const struct stat *seen)
{
    return seen->st_uid == geteuid() && (seen->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* ---- reading ----------------------------------------------------------------------------- */

static int read_file(const struct pen_memory *memory, struct buf *buf)
{
    AUTO_CLOSE int state_fd = path_open_plain(AT_FDCWD, memory->state_dir, O_PATH | O_DIRECTORY);
    AUTO_CLOSE int fd = -1;
    char path[sizeof folder_name + 1 + NAME_SIZE];
    char name[NAME_SIZE];
    struct stat seen;

    if (state_fd < 0)
        return state_fd;
    name_of(memory, name);
    (void) snprintf(path, sizeof path, "%s/%s", folder_name, name);
    fd = path_open_below(state_fd, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return fd;
    if (fstat(fd, &seen) < 0 || !S_ISREG(seen.st_mode) || !is_private(&seen))
        return -EPERM;
    return fd_read_all(fd, buf);
}

/* A clock that was set back makes it lapse too. */
static bool is_fresh(const struct pen_memory *memory, const struct pen_tree *tree)
{
    return tree->walked_ms <= memory->now_ms &&
           memory->now_ms - tree->walked_ms < memory->lapses_ms;
}

int pen_memory_load(const struct pen_memory *memory, struct buf *buf, struct pen_tree **ret_tree)
{
    AUTO(pen_tree_freep) struct pen_tree *tree = NULL;
    AUTO_FREE char *pen = NULL;

    if (read_file(memory, buf) < 0 || pen_memory_decode(buf->bytes, buf->size, &tree, &pen) < 0)
        return -ENOENT;
    if (!str_equal(pen, memory->pen) || tree->folders[0].dev != memory->dev ||
        tree->folders[0].inode != memory->inode || tree->guarded_key != memory->guarded_key ||
        !is_fresh(memory, tree))
        return -ENOENT;
    *ret_tree = TAKE_PTR(tree);
    return 0;
}

/* ---- writing ----------------------------------------------------------------------------- */

static int open_folder(const struct pen_memory *memory)
{
    AUTO_CLOSE int state_fd = -1;
    int r = path_make_folders(memory->state_dir, 0700);

    if (r < 0)
        return r;
    state_fd = path_open_plain(AT_FDCWD, memory->state_dir, O_PATH | O_DIRECTORY);
    if (state_fd < 0)
        return state_fd;
    if (mkdirat(state_fd, folder_name, 0700) < 0 && errno != EEXIST)
        return -errno;
    return path_open_below(state_fd, folder_name, O_RDONLY | O_DIRECTORY, 0);
}

/* Whether the file behind the descriptor still has this name. */
static bool has_name(int dir_fd, const char *name, int fd)
{
    struct stat named;
    struct stat opened;

    return fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
           S_ISREG(opened.st_mode) && is_private(&opened) && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

/* The new name is a fixed one, so that a crash leaves one file at most, which the next run takes.
 * Whoever holds its lock is the one who writes; nobody waits. Not synchronized to the disk: what a
 * crash leaves half written has a wrong sum, and then the pen is walked. */
static int write_file(int dir_fd, const char *name, const struct buf *bytes)
{
    AUTO_CLOSE int fd = -1;
    char new_name[NAME_SIZE + 4];
    int r;

    (void) snprintf(new_name, sizeof new_name, "%s.new", name);
    fd = path_open_below(dir_fd, new_name, O_WRONLY | O_CREAT | O_NONBLOCK, 0600);
    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !has_name(dir_fd, new_name, fd))
        return 0;
    r = ftruncate(fd, 0) < 0 ? -errno : fd_write_all(fd, bytes->bytes, bytes->size);
    if (r == 0 && renameat(dir_fd, new_name, dir_fd, name) < 0)
        r = -errno;
    if (r < 0)
        (void) unlinkat(dir_fd, new_name, 0);
    return r;
}

/* Others' memories that nobody has renewed for long: their pens are gone, most likely. */
static void remove_old(int dir_fd, uint64_t now_ms)
{
    const int64_t oldest_s = ((int64_t) now_ms - KEPT_DAYS * DAY_MS) / 1000;
    AUTO_CLOSE int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    struct stat seen;

    if (dir == NULL)
        return;
    fd = -1; /* the stream's now */
    while ((entry = readdir(dir)) != NULL) {
        if (strlen(entry->d_name) < KEY_BYTES ||
            fstatat(dir_fd, entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG(seen.st_mode) && seen.st_mtim.tv_sec < oldest_s)
            (void) unlinkat(dir_fd, entry->d_name, 0);
    }
}

int pen_memory_save(const struct pen_memory *memory, const struct buf *bytes, struct err *err)
{
    const mode_t before = umask(0); /* the caller's may be 0777 */
    AUTO_CLOSE int dir_fd = open_folder(memory);
    char name[NAME_SIZE];
    int r = dir_fd < 0 ? dir_fd : 0;

    name_of(memory, name);
    if (r == 0)
        r = write_file(dir_fd, name, bytes);
    if (r == 0)
        remove_old(dir_fd, memory->now_ms);
    (void) umask(before);
    return r < 0 ? err_set(err, -r, "pen.memory", "cannot write to '%s/%s'", memory->state_dir,
                           folder_name)
                 : 0;
}
