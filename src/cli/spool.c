#include "cli/spool.h"

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

static const char folder_name[] = "spool";
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
        return err_set(err, -state_fd, "cli.spool", "cannot open '%s'", state_dir);
    fd = path_open_below(state_fd, folder_name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_set(err, -fd, "cli.spool", "cannot open '%s/%s'", state_dir, folder_name);
    if (fstat(fd, &status) < 0)
        return err_set(err, errno, "cli.spool", "cannot look at '%s/%s'", state_dir, folder_name);
    if (!is_private(&status))
        return err_set(err, EPERM, "cli.spool", "others can write to '%s/%s'", state_dir,
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
        return err_set(err, -fd, "cli.spool", "cannot open '%s/%s'", folder_name, file_name);
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !is_private(&status))
        return err_set(err, EPERM, "cli.spool", "'%s/%s' is no private file", folder_name,
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
            return err_set(err, errno, "cli.spool", "cannot rename '%s/%s'", folder_name, from);
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
        return rc < 0 ? err_set(err, -rc, "cli.spool", "cannot write the spool") : 1;
    }
    /* flock gives the shared lock up before it takes the other one: look again. */
    if (rc == 0)
        rc = lock(fd, LOCK_EX);
    if (rc < 0)
        return err_set(err, -rc, "cli.spool", "cannot lock '%s/%s'", folder_name, file_name);
    return is_current(dir_fd, fd, &size) ? rotate(dir_fd, err) : 0;
}

int spool_append(int dir_fd, const struct buf *line, uint64_t limit_bytes, struct err *err)
{
    for (int i = 0; i < APPEND_TRIES; i++) {
        const int rc = try_append(dir_fd, line, limit_bytes, err);

        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
    return err_set(err, EAGAIN, "cli.spool", "the spool kept changing");
}
