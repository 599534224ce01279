#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "pen/copy_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 256 << 10,
    XATTR_BYTES = 64 << 10, /* the kernel's own bound: XATTR_SIZE_MAX, XATTR_LIST_MAX */
};

/* ---- content ----------------------------------------------------------------------------- */

static int copy_by_hand(int from_fd, int to_fd, loff_t at, loff_t end)
{
    AUTO_FREE char *buffer = malloc(BUFFER_BYTES);

    if (buffer == NULL)
        return -ENOMEM;
    if (lseek(to_fd, at, SEEK_SET) < 0)
        return -errno;
    while (at < end) {
        const size_t wanted = end - at < BUFFER_BYTES ? (size_t) (end - at) : BUFFER_BYTES;
        const ssize_t size = pread(from_fd, buffer, wanted, at);
        int r;

        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return size < 0 ? -errno : 0; /* cut meanwhile: who calls compares */
        r = fd_write_all(to_fd, buffer, (size_t) size);
        if (r < 0)
            return r;
        at += size;
    }
    return 0;
}

static bool is_not_for_this(int code)
{
    return code == EXDEV || code == EINVAL || code == ENOSYS || code == EOPNOTSUPP;
}

static int copy_range(int from_fd, int to_fd, loff_t at, loff_t end)
{
    loff_t to = at;

    while (at < end) {
        const ssize_t size = copy_file_range(from_fd, &at, to_fd, &to, (size_t) (end - at), 0);

        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return is_not_for_this(errno) ? copy_by_hand(from_fd, to_fd, at, end) : -errno;
        if (size == 0)
            break;
    }
    return 0;
}

/* From hole to hole. A file system that knows no holes says that all is data. */
static int copy_data(int from_fd, int to_fd, loff_t size)
{
    loff_t at = 0;

    while (at < size) {
        loff_t begin = lseek(from_fd, at, SEEK_DATA);
        loff_t end = begin < 0 ? -1 : lseek(from_fd, begin, SEEK_HOLE);
        int r;

        if (begin < 0 && errno == ENXIO) /* nothing but a hole to the end */
            return 0;
        if (begin < 0 || end < 0) {
            begin = at;
            end = size;
        }
        r = copy_range(from_fd, to_fd, begin, end);
        if (r < 0)
            return r;
        at = end;
    }
    return 0;
}

static int copy_content(int from_fd, const struct stat *from, int to_fd, bool *ret_cloned)
{
    *ret_cloned = from->st_size > 0 && ioctl(to_fd, FICLONE, from_fd) == 0;
    if (*ret_cloned)
        return 0;
    if (ftruncate(to_fd, from->st_size) < 0)
        return -errno;
    return copy_data(from_fd, to_fd, from->st_size);
}

/* ---- attributes -------------------------------------------------------------------------- */

/* Labels of the system are set by the system, and the right to set them may not be ours. */
static bool must_keep(const char *name)
{
    return str_starts(name, "user.") || str_starts(name, "system.posix_acl_");
}

static int copy_xattr(int from_fd, int to_fd, const char *name, char *value)
{
    const ssize_t size = fgetxattr(from_fd, name, value, XATTR_BYTES);

    if (size >= 0 && fsetxattr(to_fd, name, value, (size_t) size, 0) == 0)
        return 0;
    return must_keep(name) && errno != ENODATA ? -errno : 0;
}

static int copy_xattrs(int from_fd, int to_fd)
{
    AUTO_FREE char *names = malloc(XATTR_BYTES);
    AUTO_FREE char *value = malloc(XATTR_BYTES);
    ssize_t size;
    int r = 0;

    if (names == NULL || value == NULL)
        return -ENOMEM;
    size = flistxattr(from_fd, names, XATTR_BYTES);
    if (size < 0)
        return errno == EOPNOTSUPP ? 0 : -errno;
    for (const char *name = names; r == 0 && name < names + size; name += strlen(name) + 1)
        r = copy_xattr(from_fd, to_fd, name, value);
    return r;
}

/* The owner first: changing it takes set-id bits away. */
static int copy_owner(const struct stat *from, int to_fd)
{
    struct stat made;

    if (fstat(to_fd, &made) < 0)
        return -errno;
    if (made.st_uid == from->st_uid && made.st_gid == from->st_gid)
        return 0;
    return fchown(to_fd, from->st_uid, from->st_gid) < 0 ? -errno : 0;
}

static int copy_mode_and_times(const struct stat *from, int to_fd)
{
    const struct timespec times[] = {from->st_atim, from->st_mtim};

    if (fchmod(to_fd, from->st_mode & 07777) < 0 || futimens(to_fd, times) < 0)
        return -errno;
    return 0;
}

int pen_copy_file(int from_fd, const struct stat *from, int to_fd, bool *ret_cloned,
                  struct err *err)
{
    const char *what = "copy its content";
    int r = copy_content(from_fd, from, to_fd, ret_cloned);

    if (r == 0) {
        what = "keep its owner and group";
        r = copy_owner(from, to_fd);
    }
    if (r == 0) {
        what = "keep its extended attributes";
        r = copy_xattrs(from_fd, to_fd);
    }
    if (r == 0) {
        what = "keep its mode and times";
        r = copy_mode_and_times(from, to_fd);
    }
    return r < 0 ? err_set(err, -r, "pen.copy", "cannot %s", what) : 0;
}
