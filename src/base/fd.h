/* Small helpers on descriptors. Layer 0. All return 0 or a count, or -errno. */
#ifndef WATTLE_BASE_FD_H
#define WATTLE_BASE_FD_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes everything, over EINTR and short writes. */
int fd_write_all(int fd, const void *bytes, size_t size) MUST_CHECK;

/* Reads to the end into `buf` (whose limit bounds it: -EMSGSIZE beyond). */
int fd_read_all(int fd, struct buf *buf) MUST_CHECK;

/* Reads a small file below or at `path` into `buf`. `dir_fd` may be AT_FDCWD. Follows symlinks. */
int fd_read_file(int dir_fd, const char *path, struct buf *buf) MUST_CHECK;

/* Writes `text` to an existing file by one write; for /proc and cgroups. Some callers only try. */
int fd_put(int dir_fd, const char *path, const char *text);

/* Makes sure descriptors 0, 1 and 2 are open (on /dev/null, opened so that a read from 1 or 2 and
 * a write to 0 fail) so that no later open lands there. Returns a bit mask of those that were
 * closed, or -errno. */
int fd_fill_standard(void) MUST_CHECK;

/* Hands `fd` through a unix socket beside `size` bytes, and takes such a message without waiting
 * (-EAGAIN): the number of bytes, and -1 where no descriptor came. Nothing but the stack is used.
 * Received descriptors are close-on-exec. unix(7). */
int fd_send_with(int socket_fd, const void *bytes, size_t size, int fd) MUST_CHECK;
ssize_t fd_receive_with(int socket_fd, void *bytes, size_t size, int *ret_fd) MUST_CHECK;

/* The same with one byte that says nothing. A message without a descriptor is -EPROTO. */
int fd_send(int socket_fd, int fd) MUST_CHECK;
int fd_receive(int socket_fd) MUST_CHECK; /* does not wait: -EAGAIN */

#endif
