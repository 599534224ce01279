#include "cli/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int status_open(uint64_t number, const char *option, struct err *err)
{
    char id[sizeof err->id];
    const int fd = number <= INT_MAX ? (int) number : -1;
    int flags;

    (void) snprintf(id, sizeof id, "cli.%s", option);
    if (fd <= STDERR_FILENO) {
        (void) err_set(err, EINVAL, id, "'--%s' cannot be %llu", option,
                       (unsigned long long) number);
        return err_hint(err, "the command gets 0, 1 and 2: open another, as in '3>status.jsonl'");
    }
    flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return err_set(err, EINVAL, id, "'--%s' %d is not open", option, fd);
    if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0)
        return err_set(err, EINVAL, id, "'--%s' %d is not open for writing", option, fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_set(err, errno, id, "cannot use descriptor %d", fd);
    return fd;
}

/* write() with SIGPIPE taken back, whatever the caller's mask and handlers are. */
static int write_quietly(int fd, const char *bytes, size_t size)
{
    const struct timespec now = {0};
    sigset_t pipe_only;
    sigset_t before;
    ssize_t written;
    int rc = 0;

    (void) sigemptyset(&pipe_only);
    (void) sigaddset(&pipe_only, SIGPIPE);
    if (sigprocmask(SIG_BLOCK, &pipe_only, &before) < 0)
        return -errno;
    do {
        written = write(fd, bytes, size);
    } while (written < 0 && errno == EINTR);
    if (written < 0)
        rc = -errno;
    else if ((size_t) written < size)
        rc = -EIO;
    if (rc == -EPIPE)
        (void) sigtimedwait(&pipe_only, NULL, &now);
    (void) sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* At most PIPE_BUF bytes, for which a pipe that is ready has room at once. */
static int write_part(int fd, const char *bytes, size_t size, int wait_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int count;

    do {
        count = poll(&ready, 1, wait_ms);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    if (count == 0)
        return -EAGAIN;
    return write_quietly(fd, bytes, size);
}

int status_write(int fd, const struct buf *line, int wait_ms)
{
    return write_part(fd, line->bytes, line->size, wait_ms);
}

int status_write_long(int fd, const char *bytes, size_t size, int wait_ms)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < size; at += PIPE_BUF)
        rc = write_part(fd, bytes + at, size - at < PIPE_BUF ? size - at : PIPE_BUF, wait_ms);
    return rc;
}
