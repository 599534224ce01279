#include "base/fd.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STEP_BYTES = 8192 };

int fd_write_all(int fd, const void *bytes, size_t size)
{
    const char *rest = bytes;

    while (size > 0) {
        ssize_t written = write(fd, rest, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        rest += written;
        size -= (size_t) written;
    }
    return 0;
}

int fd_read_all(int fd, struct buf *buf)
{
    char bytes[STEP_BYTES];

    for (;;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        int r;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return buf->failed;
        r = buf_add(buf, bytes, (size_t) got);
        if (r < 0)
            return r;
    }
}

int fd_read_file(int dir_fd, const char *path, struct buf *buf)
{
    AUTO_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return -errno;
    return fd_read_all(fd, buf);
}

int fd_put(int dir_fd, const char *path, const char *text)
{
    AUTO_CLOSE int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    size_t size = strlen(text);
    ssize_t written;

    if (fd < 0)
        return -errno;
    written = write(fd, text, size);
    if (written < 0)
        return -errno;
    return (size_t) written == size ? 0 : -EIO;
}

int fd_fill_standard(void)
{
    int closed = 0;

    for (int number = 0; number <= 2; number++) {
        int fd;

        if (fcntl(number, F_GETFD) >= 0)
            continue;
        if (errno != EBADF)
            return -errno;
        /* Not close-on-exec: children expect the standard three as well. */
        fd = open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY);
        if (fd < 0)
            return -errno;
        if (fd != number) { /* cannot be: open takes the lowest free number */
            (void) close(fd);
            return -EBADF;
        }
        closed |= 1 << number;
    }
    return closed;
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int fd_send_with(int socket_fd, const void *bytes, size_t size, int fd)
{
    union control control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *) (uintptr_t) bytes, .iov_len = size};
    struct msghdr packet = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&packet);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return sendmsg(socket_fd, &packet, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t fd_receive_with(int socket_fd, void *bytes, size_t size, int *ret_fd)
{
    union control control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr packet = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    const ssize_t n = recvmsg(socket_fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header;

    *ret_fd = -1;
    if (n < 0)
        return -errno;
    header = CMSG_FIRSTHDR(&packet);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof *ret_fd))
        memcpy(ret_fd, CMSG_DATA(header), sizeof *ret_fd);
    return n;
}

int fd_send(int socket_fd, int fd)
{
    return fd_send_with(socket_fd, "", 1, fd);
}

int fd_receive(int socket_fd)
{
    char byte;
    int fd;
    const ssize_t n = fd_receive_with(socket_fd, &byte, sizeof byte, &fd);

    if (n < 0)
        return (int) n;
    return fd < 0 ? -EPROTO : fd;
}
