#include "base/cleanup.h"
#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "fence/native/native_priv.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Paths inside are absolute; below a descriptor they are used without the slash. */
static const char *relative(const char *path)
{
    return path[1] == '\0' ? "." : path + 1;
}

static int fail(int r, const char *path, const char *what, struct err *err)
{
    return err_set(err, -r, "fence.native-mount", "cannot %s '%s' inside", what, path);
}

int native_open_target(int root_fd, const char *path, struct err *err)
{
    const int fd = path_open_below(root_fd, relative(path), O_PATH, 0);

    return fd < 0 ? fail(fd, path, "find", err) : fd;
}

/* Parents are made one by one; only file systems of ours are ever walked here. */
static int make_parents(int root_fd, const char *path, struct err *err)
{
    char part[PATH_MAX];
    const size_t length = strlen(path);

    if (length >= sizeof part)
        return fail(-ENAMETOOLONG, path, "make", err);
    memcpy(part, path, length + 1);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(root_fd, relative(part), 0755) < 0 && errno != EEXIST)
            return fail(-errno, part, "make the folder", err);
        *slash = '/';
    }
    return 0;
}

/* Runs `make` and, only when a parent is missing, makes the parents and runs it again. */
static int with_parents(int root_fd, const char *path, const char *what,
                        int (*make)(int root_fd, const char *name, const void *extra),
                        const void *extra, struct err *err)
{
    int r = make(root_fd, relative(path), extra);

    if (r == -ENOENT) {
        r = make_parents(root_fd, path, err);
        if (r < 0)
            return r;
        r = make(root_fd, relative(path), extra);
    }
    return r < 0 && r != -EEXIST ? fail(r, path, what, err) : 0;
}

static int make_folder(int root_fd, const char *name, const void *mode)
{
    return mkdirat(root_fd, name, *(const mode_t *) mode) < 0 ? -errno : 0;
}

static int make_empty_file(int root_fd, const char *name, const void *mode)
{
    return mknodat(root_fd, name, S_IFREG | *(const mode_t *) mode, 0) < 0 ? -errno : 0;
}

static int make_link(int root_fd, const char *name, const void *target)
{
    return symlinkat(target, root_fd, name) < 0 ? -errno : 0;
}

int native_make_folder(int root_fd, const char *path, mode_t mode, struct err *err)
{
    return with_parents(root_fd, path, "make the folder", make_folder, &mode, err);
}

int native_make_empty(int root_fd, const char *path, mode_t mode, struct err *err)
{
    return with_parents(root_fd, path, "make the file", make_empty_file, &mode, err);
}

int native_make_symlink(int root_fd, const char *path, const char *target, struct err *err)
{
    return with_parents(root_fd, path, "make the symlink", make_link, target, err);
}

int native_make_file(int root_fd, const char *path, const char *content, struct err *err)
{
    AUTO_CLOSE int fd = -1;
    int r = native_make_empty(root_fd, path, 0644, err);

    if (r < 0)
        return r;
    fd = openat(root_fd, relative(path), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return fail(-errno, path, "open the file", err);
    r = fd_write_all(fd, content, strlen(content));
    return r < 0 ? fail(r, path, "write the file", err) : 0;
}

int native_make_target(int root_fd, const char *path, bool folder, struct err *err)
{
    return folder ? native_make_folder(root_fd, path, 0755, err)
                  : native_make_empty(root_fd, path, 0644, err);
}

unsigned long long native_names_of(uint64_t bytes)
{
    return bytes / 2048 < 1024 ? 1024 : bytes / 2048;
}

static int configure(int fd, const char *const options[][2])
{
    int r = 0;

    for (size_t i = 0; r >= 0 && options[i][0] != NULL; i++)
        r = kernel_fsconfig(fd, options[i][1] != NULL ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
                            options[i][0], options[i][1]);
    return r < 0 ? r : kernel_fsconfig(fd, FSCONFIG_CMD_CREATE, NULL, NULL);
}

int native_new_filesystem(const char *type, const char *const options[][2], uint64_t attributes,
                          struct err *err)
{
    AUTO_CLOSE int fd = kernel_fsopen(type);
    int r = fd;

    if (r >= 0)
        r = configure(fd, options);
    if (r >= 0)
        r = kernel_fsmount(fd, (unsigned) attributes);
    if (r >= 0)
        return r;
    (void) err_set(err, -r, "fence.native-mount", "cannot make a new '%s' file system", type);
    if (r == -ENOSYS)
        return err_hint(err, "the mount calls of Linux 5.12 are needed; this kernel or an outer "
                             "sandbox does not have them");
    if (r == -EPERM)
        return err_hint(err, "something around wattle (a container's masked /proc, AppArmor) "
                             "forbids it; run 'wattle doctor'");
    return r;
}

int native_attach(int mount_fd, int root_fd, const char *path, struct err *err)
{
    AUTO_CLOSE int target = native_open_target(root_fd, path, err);
    int r;

    if (target < 0)
        return target;
    r = kernel_move_mount(mount_fd, "", target, "",
                          MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
    return r < 0 ? fail(r, path, "mount on", err) : 0;
}

int native_attach_made(int mount_fd, int root_fd, const char *path, struct err *err)
{
    const int r = kernel_move_mount(mount_fd, "", root_fd, relative(path), MOVE_MOUNT_F_EMPTY_PATH);

    return r < 0 ? fail(r, path, "mount on", err) : 0;
}

int native_restrict(int mount_fd, uint64_t attributes, bool below, const char *path,
                    struct err *err)
{
    struct mount_attr attr = {.attr_set = attributes, .propagation = 1u << 18 /* MS_PRIVATE */};
    const int r = kernel_mount_setattr(
        mount_fd, "", AT_EMPTY_PATH | (below ? (unsigned) AT_RECURSIVE : 0u), &attr);

    return r < 0 ? fail(r, path, "restrict the mount", err) : 0;
}
