/* Small helpers on descriptors. Layer 0. All return 0 or a count, or -errno. */
#ifndef WATTLE_BASE_FD_H
#define WATTLE_BASE_FD_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Hands `fd` through a unix socket, with one byte, and takes one. Nothing but the stack is used. A
 * message without a descriptor is -EPROTO. Received ones are close-on-exec. */
int fd_send(int socket_fd, int fd) MUST_CHECK;
int fd_receive(int socket_fd) MUST_CHECK; /* does not wait: -EAGAIN */

#endif
