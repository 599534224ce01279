/* The folders and files in the owner's state:
 *
 *   held/trees/<key>        the baseline of one tree, while runs go on there or after a crash
 *   held/trees/<key>.lock   shared by these runs
 *   held/store/<id>/        entry and object
 *
 * The lock file is removed with the baseline, by whoever has it alone. Whoever waits for the lock
 * of a file that has no name any more takes the next one. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "held/held_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOCK_WAIT_MS = 60000, /* a check of a large tree */
    LOCK_PAUSE_MS = 20,
};

/* ---- folders ----------------------------------------------------------------------------- */

static bool is_private(const struct stat *seen)
{
    return seen->st_uid == geteuid() && (seen->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int make_below(const char *state_dir, const char *name)
{
    AUTO_CLOSE int state_fd = -1;
    AUTO_CLOSE int held_fd = -1;
    int r = path_make_folders(state_dir, 0700);

    if (r < 0)
        return r;
    state_fd = path_open_plain(AT_FDCWD, state_dir, O_PATH | O_DIRECTORY);
    if (state_fd < 0)
        return state_fd;
    if (mkdirat(state_fd, "held", 0700) < 0 && errno != EEXIST)
        return -errno;
    held_fd = path_open_below(state_fd, "held", O_PATH | O_DIRECTORY, 0);
    if (held_fd < 0)
        return held_fd;
    return mkdirat(held_fd, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int open_below(const char *state_dir, const char *name)
{
    AUTO_CLOSE int state_fd = path_open_plain(AT_FDCWD, state_dir, O_PATH | O_DIRECTORY);
    AUTO_CLOSE int fd = -1;
    char path[32];
    struct stat seen;

    if (state_fd < 0)
        return state_fd;
    (void) snprintf(path, sizeof path, "held/%s", name);
    fd = path_open_below(state_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    if (fstat(fd, &seen) < 0)
        return -errno;
    return is_private(&seen) ? TAKE_FD(fd) : -EPERM;
}

static int open_folder(const char *state_dir, const char *name, bool make, struct err *err)
{
    const mode_t before = umask(0); /* the caller's may be 0777 */
    int r = make ? make_below(state_dir, name) : 0;

    (void) umask(before);
    if (r == 0)
        r = open_below(state_dir, name);
    return r < 0 ? err_set(err, -r, "held.state", "cannot use '%s/held/%s'", state_dir, name) : r;
}

int held_trees_open(const char *state_dir, bool make, struct err *err)
{
    return open_folder(state_dir, "trees", make, err);
}

int held_store_open(const char *state_dir, bool make, struct err *err)
{
    return open_folder(state_dir, "store", make, err);
}

void held_key(uint64_t dev, uint64_t inode, char key[HELD_KEY_SIZE])
{
    (void) snprintf(key, HELD_KEY_SIZE, "%llx-%llx", (unsigned long long) dev,
                    (unsigned long long) inode);
}

int64_t held_nanoseconds(const struct timespec *time)
{
    return time->tv_sec * 1000000000 + time->tv_nsec;
}

/* ---- the lock ---------------------------------------------------------------------------- */

static void lock_name(const char *key, char name[HELD_KEY_SIZE + 8])
{
    (void) snprintf(name, HELD_KEY_SIZE + 8, "%s.lock", key);
}

static bool has_name(int dir_fd, const char *name, int fd)
{
    struct stat named;
    struct stat opened;

    return fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

static int try_lock(int fd, enum held_lock how)
{
    const int operation = how == HELD_SHARED ? LOCK_SH : LOCK_EX;

    while (flock(fd, operation | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return -EBUSY;
        if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int held_lock(int trees_fd, const char *key, enum held_lock how)
{
    const uint64_t until_ms = how == HELD_ALONE_NOW ? 0 : clock_ms() + LOCK_WAIT_MS;
    char name[HELD_KEY_SIZE + 8];

    lock_name(key, name);
    for (;;) {
        AUTO_CLOSE int fd = path_open_below(trees_fd, name, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
        const int r = fd < 0 ? fd : try_lock(fd, how);

        if (r == 0 && has_name(trees_fd, name, fd))
            return TAKE_FD(fd);
        if (r < 0 && (r != -EBUSY || clock_ms() >= until_ms))
            return r;
        if (r < 0)
            (void) poll(NULL, 0, LOCK_PAUSE_MS);
    }
}

int held_relock(int lock_fd, enum held_lock how)
{
    return try_lock(lock_fd, how);
}

bool held_lock_is_current(int trees_fd, const char *key, int lock_fd)
{
    char name[HELD_KEY_SIZE + 8];

    lock_name(key, name);
    return has_name(trees_fd, name, lock_fd);
}

int held_store_lock(int store_fd)
{
    const uint64_t until_ms = clock_ms() + LOCK_WAIT_MS;
    int r = try_lock(store_fd, HELD_ALONE);

    while (r == -EBUSY && clock_ms() < until_ms) {
        (void) poll(NULL, 0, LOCK_PAUSE_MS);
        r = try_lock(store_fd, HELD_ALONE);
    }
    return r;
}

void held_store_unlock(int store_fd)
{
    (void) flock(store_fd, LOCK_UN);
}

/* ---- files ------------------------------------------------------------------------------- */

int held_write_file(int dir_fd, const char *name, const struct buf *bytes, bool sync)
{
    AUTO_CLOSE int fd = -1;
    char new_name[HELD_KEY_SIZE + 8];
    int r;

    (void) snprintf(new_name, sizeof new_name, "%s.new", name);
    fd = path_open_below(dir_fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0600);
    if (fd < 0)
        return fd;
    r = fd_write_all(fd, bytes->bytes, bytes->size);
    if (r == 0 && sync && fsync(fd) < 0)
        r = -errno;
    if (r == 0 && renameat(dir_fd, new_name, dir_fd, name) < 0)
        r = -errno;
    if (r < 0)
        (void) unlinkat(dir_fd, new_name, 0);
    return r;
}

bool held_baseline_is_there(int trees_fd, const char *key)
{
    return faccessat(trees_fd, key, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int held_baseline_load(int trees_fd, const char *key, struct held_baseline *ret_baseline)
{
    AUTO(buf_free) struct buf bytes = {0};
    AUTO_CLOSE int fd = path_open_below(trees_fd, key, O_RDONLY | O_NONBLOCK, 0);
    int r;

    if (fd < 0)
        return fd;
    buf_init(&bytes, HELD_BASELINE_LIMIT_BYTES);
    r = fd_read_all(fd, &bytes);
    return r < 0 ? r : held_baseline_decode(bytes.bytes, bytes.size, ret_baseline);
}

int held_baseline_save(int trees_fd, const char *key, const struct held_baseline *baseline,
                       struct err *err)
{
    AUTO(buf_free) struct buf bytes = {0};
    int r;

    buf_init(&bytes, HELD_BASELINE_LIMIT_BYTES);
    r = held_baseline_encode(baseline, &bytes);
    if (r == 0)
        r = held_write_file(trees_fd, key, &bytes, true);
    return r < 0 ? err_set(err, -r, "held.state",
                           "cannot keep what stands at guarded names of '%s'", baseline->top)
                 : 0;
}

void held_baseline_remove(int trees_fd, const char *key)
{
    char name[HELD_KEY_SIZE + 8];

    (void) unlinkat(trees_fd, key, 0); /* what stays is checked once more at the next start */
    lock_name(key, name);
    (void) unlinkat(trees_fd, name, 0);
}
