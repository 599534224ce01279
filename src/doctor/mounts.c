/* Checks of mounts, of /proc and of path look-up, by the calls the fence is built with. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/kernel.h"
#include "base/path.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INSIDE_NAME "seen-inside-only"

static int fail(int r, const char *what, struct err *err)
{
    return err_set(err, -r, "doctor.mount", "%s", what);
}

static int new_filesystem(const char *type, unsigned attributes)
{
    AUTO_CLOSE int fd = kernel_fsopen(type);
    int r = fd;

    if (r >= 0)
        r = kernel_fsconfig(fd, FSCONFIG_CMD_CREATE, NULL, NULL);
    return r < 0 ? r : kernel_fsmount(fd, attributes);
}

static int make_file(int folder_fd, const char *name)
{
    const int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    (void) close(fd);
    return 0;
}

static int make_read_only(int mount_fd, unsigned flags)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};

    return kernel_mount_setattr(mount_fd, "", AT_EMPTY_PATH | flags, &attr);
}

/* Attaches an empty file system on the pen, as the fence does with its new root. */
static int attach_new(const struct doctor_world *world, struct err *err)
{
    AUTO_CLOSE int mount_fd = -1;
    int r = kernel_mount_propagation("/", MS_REC | MS_PRIVATE);

    if (r < 0)
        return fail(r, "cannot make the mounts private", err);
    mount_fd = new_filesystem("tmpfs", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (mount_fd < 0)
        return fail(mount_fd, "cannot make a new file system", err);
    r = kernel_move_mount(mount_fd, "", AT_FDCWD, world->pen, MOVE_MOUNT_F_EMPTY_PATH);
    return r < 0 ? fail(r, "cannot attach a file system", err) : TAKE_FD(mount_fd);
}

/* ---- making, cloning, restricting ---------------------------------------------------------------
 */

static int try_new(const struct doctor_world *world, struct err *err)
{
    AUTO_CLOSE int mount_fd = attach_new(world, err);
    int r;

    if (mount_fd < 0)
        return mount_fd;
    r = make_file(mount_fd, INSIDE_NAME);
    if (r < 0)
        return fail(r, "a new file system takes no file", err);
    r = make_read_only(mount_fd, 0);
    if (r < 0)
        return fail(r, "cannot make a mount read-only", err);
    r = make_file(mount_fd, "late");
    return r == -EROFS ? 0 : fail(r < 0 ? r : -EINVAL, "a read-only mount takes files", err);
}

static int try_clone(const struct doctor_world *world, struct err *err)
{
    AUTO_CLOSE int tree_fd =
        kernel_open_tree(AT_FDCWD, world->outside,
                         OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    int r;

    if (tree_fd < 0)
        return fail(tree_fd, "cannot clone a mount", err);
    r = make_read_only(tree_fd, AT_RECURSIVE);
    if (r < 0)
        return fail(r, "cannot make a cloned mount read-only", err);
    r = make_file(tree_fd, "late");
    return r == -EROFS ? 0 : fail(r < 0 ? r : -EINVAL, "a read-only clone takes files", err);
}

static int try_mounts(void *context, struct err *err)
{
    const struct doctor_world *world = context;
    int r = try_new(world, err);

    return r < 0 ? r : try_clone(world, err);
}

/* The context of a child's function is not const; none here changes the world. */
static int in_namespaces(const struct doctor_world *world, uint64_t flags,
                         int (*act)(void *context, struct err *err), struct err *err)
{
    union {
        const struct doctor_world *in;
        void *out;
    } context = {.in = world};

    return doctor_in_namespaces(flags, act, context.out, err);
}

/* A refusal is somebody's decision, and no matter of the kernel's age. */
static void fail_by(const struct err *err, struct doctor_finding *finding)
{
    struct doctor_settings settings;

    doctor_fail(finding, DOCTOR_MISSING, err);
    if (err->code != EPERM && err->code != EACCES)
        return;
    doctor_settings_read("/proc", &settings);
    doctor_mend(finding, "%s", doctor_settings_mend(&settings));
}

void doctor_check_mounts(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES];
    struct err err = {0};

    if (in_namespaces(world, CLONE_NEWNS, try_mounts, &err) < 0)
        fail_by(&err, finding);
    else if (doctor_file(world->pen, INSIDE_NAME, NULL, path) < 0 || access(path, F_OK) == 0)
        doctor_say(finding, DOCTOR_MISSING, "a mount made inside is seen outside");
    else
        doctor_say(finding, DOCTOR_OK, "a write to a read-only one was refused");
}

/* ---- root ----------------------------------------------------------------------------------- */

static int try_pivot(void *context, struct err *err)
{
    const struct doctor_world *world = context;
    AUTO_CLOSE int mount_fd = attach_new(world, err);
    int r;

    if (mount_fd < 0)
        return mount_fd;
    r = fchdir(mount_fd) < 0 ? -errno : kernel_pivot_root(".", ".");
    if (r == 0)
        r = kernel_umount(".", MNT_DETACH);
    if (r < 0)
        return fail(r, "cannot change to a new root", err);
    if (chdir("/") < 0 || access(world->outside, F_OK) == 0 || access("../..", F_OK) < 0)
        return err_set(err, EINVAL, "doctor.pivot", "the old root can still be seen");
    return 0;
}

void doctor_check_pivot(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct err err = {0};

    if (in_namespaces(world, CLONE_NEWNS, try_pivot, &err) < 0)
        fail_by(&err, finding);
    else
        doctor_say(finding, DOCTOR_OK, "nothing of the old one was left");
}

/* ---- /proc ---------------------------------------------------------------------------------- */

static size_t count_processes(int proc_fd)
{
    const int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    size_t count = 0;

    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        count += isdigit((unsigned char) entry->d_name[0]) ? 1 : 0;
    return count;
}

static int try_proc(void *context, struct err *err)
{
    AUTO_CLOSE int proc_fd =
        new_filesystem("proc", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);

    (void) context;
    if (proc_fd < 0)
        return fail(proc_fd, "cannot make a new /proc", err);
    if (count_processes(proc_fd) != 1)
        return err_set(err, EINVAL, "doctor.proc", "a new /proc shows other processes");
    return 0;
}

void doctor_check_proc(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct err err = {0};

    if (in_namespaces(world, CLONE_NEWNS | CLONE_NEWPID, try_proc, &err) < 0)
        doctor_fail(finding, DOCTOR_MISSING, &err);
    else
        doctor_say(finding, DOCTOR_OK, "it shows one process");
}

/* ---- openat2 -------------------------------------------------------------------------------- */

static int expect(int fd, int wanted, const char *what, struct err *err)
{
    if (fd >= 0)
        (void) close(fd);
    if (fd == wanted || (fd >= 0 && wanted == 0))
        return 0;
    return fd < 0 ? fail(fd, what, err) : err_set(err, EINVAL, "doctor.openat2", "%s", what);
}

static int try_openat2(const struct doctor_world *world, struct err *err)
{
    AUTO_CLOSE int pen_fd = open(world->pen, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (pen_fd < 0 || symlinkat(world->outside, pen_fd, "link") < 0)
        return err_set(err, errno, "doctor.openat2", "cannot use the temporary folder");
    r = expect(path_open_below(pen_fd, ".", O_PATH, 0), 0, "cannot open a file by openat2", err);
    if (r == 0)
        r = expect(path_open_below(pen_fd, "../outside", O_PATH, 0), -EXDEV,
                   "openat2 leaves the folder it is bound to", err);
    if (r == 0)
        r = expect(path_open_plain(pen_fd, "link/.", O_PATH), -ELOOP,
                   "openat2 follows a symlink it should not", err);
    (void) unlinkat(pen_fd, "link", 0);
    return r;
}

void doctor_check_openat2(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct err err = {0};

    if (try_openat2(world, &err) < 0)
        doctor_fail(finding, DOCTOR_MISSING, &err);
    else
        doctor_say(finding, DOCTOR_OK, "ways out were refused");
}
