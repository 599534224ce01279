/* Making files in a tree, whose folders may be closed for now. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "held/held_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A crash leaves this one at most, and the check that is done again takes it. */
static const char new_name[] = HELD_NEIGHBOUR_PREFIX "new";

static int fill(int fd, const char *bytes, size_t size, mode_t mode)
{
    const int r = fd_write_all(fd, bytes, size);

    if (r < 0)
        return r;
    return fchmod(fd, mode & 07777) < 0 ? -errno : 0;
}

/* Without a name until it is whole, where the file system can. */
static int make_file(int folder_fd, const char *name, const char *bytes, size_t size, mode_t mode)
{
    AUTO_CLOSE int fd = openat(folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    char path[32];
    int r;

    if (fd < 0) {
        fd = openat(folder_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : fill(fd, bytes, size, mode);
    }
    r = fill(fd, bytes, size, mode);
    if (r < 0)
        return r;
    (void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, folder_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int held_put_file(int folder_fd, const char *name, const char *bytes, size_t size, mode_t mode)
{
    mode_t before;
    const bool unlocked = held_unlock(folder_fd, &before);
    const int r = make_file(folder_fd, name, bytes, size, mode);

    if (unlocked)
        (void) fchmod(folder_fd, before);
    return r;
}

static int replace(int folder_fd, const char *name, const char *bytes, size_t size, mode_t mode)
{
    AUTO_CLOSE int fd = -1;
    int r;

    (void) unlinkat(folder_fd, new_name, 0);
    fd = openat(folder_fd, new_name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = fill(fd, bytes, size, mode);
    if (r == 0 && renameat(folder_fd, new_name, folder_fd, name) < 0)
        r = -errno;
    if (r < 0)
        (void) unlinkat(folder_fd, new_name, 0);
    return r;
}

int held_replace_file(int folder_fd, const char *name, const char *bytes, size_t size, mode_t mode)
{
    mode_t before;
    const bool unlocked = held_unlock(folder_fd, &before);
    const int r = replace(folder_fd, name, bytes, size, mode);

    if (unlocked)
        (void) fchmod(folder_fd, before);
    return r;
}

static int make_other(int folder_fd, const char *name, const struct held_item *item)
{
    mode_t before;
    const bool unlocked = held_unlock(folder_fd, &before);
    int r;

    if (S_ISLNK(item->mode))
        r = symlinkat(item->content, folder_fd, name);
    else
        r = mkdirat(folder_fd, name, item->mode & 07777);
    r = r < 0 ? -errno : 0;
    if (unlocked)
        (void) fchmod(folder_fd, before);
    return r;
}

int held_put_item(int folder_fd, const char *name, const struct held_item *item)
{
    if (S_ISDIR(item->mode) || (S_ISLNK(item->mode) && item->has_content))
        return make_other(folder_fd, name, item);
    if (!S_ISREG(item->mode) || !item->has_content)
        return -EINVAL;
    return held_put_file(folder_fd, name, item->content, item->content_size, item->mode);
}
