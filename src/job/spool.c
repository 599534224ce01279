#include "job/spool.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char folder_name[] = SPOOL_FOLDER;
static const char file_name[] = "run.jsonl";

enum {
    LOCK_TRIES = 50, /* of LOCK_PAUSE_MS: a stopped writer must not stop everybody */
    LOCK_PAUSE_MS = 2,
    APPEND_TRIES = 16, /* each lost to a rotation by somebody else */
};

/* Whether only the caller can write to it. */
static bool is_private(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int spool_open(const char *state_dir, struct err *err)
{
    AUTO_CLOSE int state_fd = path_open_plain(AT_FDCWD, state_dir, O_PATH | O_DIRECTORY);
    AUTO_CLOSE int fd = -1;
    const mode_t before = umask(0); /* the caller's may be 0777 */
    struct stat status;

    if (state_fd >= 0)
        (void) mkdirat(state_fd, folder_name, 0700); /* what it could not do, the open shows */
    (void) umask(before);
    if (state_fd < 0)
        return err_set(err, -state_fd, "job.spool", "cannot open '%s'", state_dir);
    fd = path_open_below(state_fd, folder_name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_set(err, -fd, "job.spool", "cannot open '%s/%s'", state_dir, folder_name);
    if (fstat(fd, &status) < 0)
        return err_set(err, errno, "job.spool", "cannot look at '%s/%s'", state_dir, folder_name);
    if (!is_private(&status))
        return err_set(err, EPERM, "job.spool", "others can write to '%s/%s'", state_dir,
                       folder_name);
    return TAKE_FD(fd);
}

static int open_file(int dir_fd, struct err *err)
{
    const mode_t before = umask(0);
    /* NONBLOCK: a fifo of that name answers at once. */
    AUTO_CLOSE int fd =
        path_open_below(dir_fd, file_name, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0600);
    struct stat status;

    (void) umask(before);
    if (fd < 0)
        return err_set(err, -fd, "job.spool", "cannot open '%s/%s'", folder_name, file_name);
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !is_private(&status))
        return err_set(err, EPERM, "job.spool", "'%s/%s' is no private file", folder_name,
                       file_name);
    return TAKE_FD(fd);
}

static int lock(int fd, int how)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, how | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        (void) poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return -EAGAIN;
}

/* Whether the file was renamed away since it was opened. */
static bool is_current(int dir_fd, int fd, uint64_t *ret_size)
{
    struct stat named;
    struct stat opened;

    if (fstatat(dir_fd, file_name, &named, AT_SYMLINK_NOFOLLOW) < 0 || fstat(fd, &opened) < 0)
        return false;
    *ret_size = (uint64_t) opened.st_size;
    return named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

static int rotate(int dir_fd, struct err *err)
{
    char from[sizeof file_name + 16];
    char to[sizeof file_name + 16];

    for (int i = SPOOL_KEPT - 1; i >= 0; i--) {
        (void) snprintf(to, sizeof to, "%s.%d", file_name, i + 1);
        if (i > 0)
            (void) snprintf(from, sizeof from, "%s.%d", file_name, i);
        else
            (void) snprintf(from, sizeof from, "%s", file_name);
        if (renameat(dir_fd, from, dir_fd, to) < 0 && errno != ENOENT)
            return err_set(err, errno, "job.spool", "cannot rename '%s/%s'", folder_name, from);
    }
    return 0;
}

/* Returns 1 when the line was written, 0 when another try is needed. */
static int try_append(int dir_fd, const struct buf *line, uint64_t limit_bytes, struct err *err)
{
    AUTO_CLOSE int fd = open_file(dir_fd, err);
    uint64_t size;
    int rc;

    if (fd < 0)
        return fd;
    rc = lock(fd, LOCK_SH);
    if (rc == 0 && !is_current(dir_fd, fd, &size))
        return 0;
    if (rc == 0 && (size == 0 || size + line->size <= limit_bytes)) {
        rc = fd_write_all(fd, line->bytes, line->size);
        return rc < 0 ? err_set(err, -rc, "job.spool", "cannot write the spool") : 1;
    }
    /* flock gives the shared lock up before it takes the other one: look again. */
    if (rc == 0)
        rc = lock(fd, LOCK_EX);
    if (rc < 0)
        return err_set(err, -rc, "job.spool", "cannot lock '%s/%s'", folder_name, file_name);
    return is_current(dir_fd, fd, &size) ? rotate(dir_fd, err) : 0;
}

int spool_append(int dir_fd, const struct buf *line, uint64_t limit_bytes, struct err *err)
{
    for (int i = 0; i < APPEND_TRIES; i++) {
        const int rc = try_append(dir_fd, line, limit_bytes, err);

        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
    return err_set(err, EAGAIN, "job.spool", "the spool kept changing");
}

/* ---- taking over ----------------------------------------------------------------------------- */

/* A file a writer of ours has made; -ENOENT for anything else of that name. */
static int open_to_take(int dir_fd, const char *name, struct stat *ret_status)
{
    AUTO_CLOSE int fd = path_open_below(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

    if (fd == -ELOOP || fd == -ENXIO || fd == -EACCES)
        return -ENOENT;
    if (fd < 0)
        return fd;
    if (fstat(fd, ret_status) < 0)
        return -errno;
    return S_ISREG(ret_status->st_mode) && is_private(ret_status) ? TAKE_FD(fd) : -ENOENT;
}

int spool_open_taking(int dir_fd, struct err *err)
{
    struct stat status;
    const int fd = open_to_take(dir_fd, SPOOL_TAKING, &status);

    if (fd >= 0 || fd == -ENOENT)
        return fd;
    return err_set(err, -fd, "job.spool", "cannot open '%s/%s'", folder_name, SPOOL_TAKING);
}

/* With the lock that no writer has then: whoever waits for it finds that the file has gone. */
static int rename_current(int dir_fd)
{
    struct stat status;
    AUTO_CLOSE int fd = open_to_take(dir_fd, file_name, &status);
    uint64_t size;

    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    if (!is_current(dir_fd, fd, &size) || size == 0)
        return -ENOENT;
    return renameat(dir_fd, file_name, dir_fd, SPOOL_TAKING) < 0 ? -errno : 0;
}

/* It never grows again. A rotation may move another one to its name meanwhile: as good. */
static int rename_rotated(int dir_fd, int number)
{
    char name[sizeof file_name + 16];
    struct stat status;
    int fd;

    (void) snprintf(name, sizeof name, "%s.%d", file_name, number);
    fd = open_to_take(dir_fd, name, &status);
    if (fd < 0)
        return fd;
    (void) close(fd);
    return renameat(dir_fd, name, dir_fd, SPOOL_TAKING) < 0 ? -errno : 0;
}

int spool_begin_taking(int dir_fd, struct err *err)
{
    int r = -ENOENT;

    for (int i = SPOOL_KEPT; r == -ENOENT && i > 0; i--)
        r = rename_rotated(dir_fd, i);
    if (r == -ENOENT)
        r = rename_current(dir_fd);
    if (r == -ENOENT)
        return 0;
    if (r == 0 && fsync(dir_fd) < 0)
        r = -errno;
    return r < 0 ? err_set(err, -r, "job.spool", "cannot take over '%s/%s'", folder_name, file_name)
                 : 1;
}

int spool_end_taking(int dir_fd, struct err *err)
{
    if ((unlinkat(dir_fd, SPOOL_TAKING, 0) < 0 && errno != ENOENT) || fsync(dir_fd) < 0)
        return err_set(err, errno, "job.spool", "cannot remove '%s/%s'", folder_name, SPOOL_TAKING);
    return 0;
}
