/* /dev and /proc of the new root. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/kernel.h"
#include "fence/fence.h"
#include "fence/native/native_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define QUIET (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define LOCKED (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define PATH_ROOM 256

static void below(char *path, const char *top, const char *name)
{
    (void) snprintf(path, PATH_ROOM, "%s/%s", top, name);
}

static int copy_cover(int cover_fd, const char *path, struct err *err)
{
    AUTO_CLOSE int tree =
        kernel_open_tree(cover_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    int r;

    if (tree < 0)
        return err_set(err, -tree, "fence.native-mount", "cannot copy the cover");
    r = native_restrict(tree, LOCKED, false, path, err);
    return r < 0 ? r : TAKE_FD(tree);
}

int native_cover(const struct native_covers *covers, int root_fd, const char *path, struct err *err)
{
    AUTO_CLOSE int target = native_open_target(root_fd, path, err);
    AUTO_CLOSE int tree = -1;
    struct stat status;
    int r;

    if (target < 0)
        return target;
    if (fstat(target, &status) < 0)
        return err_set(err, errno, "fence.native-mount", "cannot look at '%s'", path);
    tree = copy_cover(S_ISDIR(status.st_mode) ? covers->folder_fd : covers->file_fd, path, err);
    if (tree < 0)
        return tree;
    r = kernel_move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
    return r < 0 ? err_set(err, -r, "fence.native-mount", "cannot cover '%s'", path) : 0;
}

/* ---- /dev ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned major, minor;
} devices[] = {
    {"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
    {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
};

static const struct {
    const char *name, *target;
} device_links[] = {
    {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
};

/* The host's node may have been replaced by something else (CVE-2025-31133 was of this kind): the
 * copy is looked at before it is shown. */
static int bind_device(int root_fd, const char *top, size_t index, struct err *err)
{
    char source[PATH_ROOM], path[PATH_ROOM];
    AUTO_CLOSE int tree = -1;
    struct stat status;
    int r;

    below(source, "/dev", devices[index].name);
    below(path, top, devices[index].name);
    tree = kernel_open_tree(AT_FDCWD, source,
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
    if (tree < 0)
        return err_set(err, -tree, "fence.native-device", "cannot open '%s'", source);
    if (fstat(tree, &status) < 0 || !S_ISCHR(status.st_mode) ||
        status.st_rdev != makedev(devices[index].major, devices[index].minor))
        return err_set(err, ENODEV, "fence.native-device", "'%s' is not the device of that name",
                       source);
    /* Read-only: a device still takes bytes, but root inside cannot change the node's mode. */
    r = native_restrict(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false,
                        path, err);
    if (r == 0)
        r = native_make_empty(root_fd, path, 0644, err);
    return r == 0 ? native_attach_made(tree, root_fd, path, err) : r;
}

static int attach_new(int mount_fd, int root_fd, const char *top, const char *name, struct err *err)
{
    char path[PATH_ROOM];
    AUTO_CLOSE int mount = mount_fd; /* taken over */
    int r;

    if (mount < 0)
        return mount;
    below(path, top, name);
    r = native_make_folder(root_fd, path, 0755, err);
    return r == 0 ? native_attach_made(mount, root_fd, path, err) : r;
}

int native_dev_make(const struct native_plan *plan, int root_fd, const char *path, struct err *err)
{
    /* No gid=5 as on hosts: that group is not mapped inside. `max` bounds what one job takes of the
     * machine's terminals. */
    static const char *const terminals[][2] = {{"newinstance", NULL},
                                               {"ptmxmode", "0666"},
                                               {"mode", "0620"},
                                               {"max", "256"},
                                               {NULL, NULL}};
    char size[32], names[32];
    const char *const memory[][2] = {
        {"size", size}, {"nr_inodes", names}, {"mode", "1777"}, {NULL, NULL}};
    int r = native_make_folder(root_fd, path, 0755, err);

    (void) snprintf(size, sizeof size, "%llu", (unsigned long long) plan->shm_bytes);
    (void) snprintf(names, sizeof names, "%llu", native_names_of(plan->shm_bytes));
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(devices); i++)
        r = bind_device(root_fd, path, i, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(device_links); i++) {
        char link[PATH_ROOM];

        below(link, path, device_links[i].name);
        r = native_make_symlink(root_fd, link, device_links[i].target, err);
    }
    if (r == 0)
        r = attach_new(
            native_new_filesystem("devpts", terminals, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err),
            root_fd, path, "pts", err);
    if (r < 0)
        return r;
    return attach_new(native_new_filesystem("tmpfs", memory, QUIET, err), root_fd, path, "shm",
                      err);
}

/* ---- /proc --------------------------------------------------------------------------------- */

enum mask_kind { MASK_READ_ONLY, MASK_FILE, MASK_FOLDER };

/* What /proc shows of the machine rather than of the job. `root_only`: an ordinary user is refused
 * by the file's mode already. */
static const struct {
    const char *name;
    enum mask_kind kind;
    bool root_only;
} masks[] = {
    {"sys", MASK_READ_ONLY, false},
    {"irq", MASK_READ_ONLY, false},
    {"bus", MASK_READ_ONLY, false},
    {"fs", MASK_READ_ONLY, false},
    {"sysrq-trigger", MASK_READ_ONLY, true},
    {"acpi", MASK_FOLDER, false},
    {"scsi", MASK_FOLDER, false},
    {"driver", MASK_FOLDER, false},
    {"kcore", MASK_FILE, true},
    {"keys", MASK_FILE, false},
    {"key-users", MASK_FILE, false},
    {"timer_list", MASK_FILE, true},
    {"sched_debug", MASK_FILE, false},
    {"kallsyms", MASK_FILE, false},
    {"kmsg", MASK_FILE, true},
    {"config.gz", MASK_FILE, false},
    {"slabinfo", MASK_FILE, true},
    {"vmallocinfo", MASK_FILE, true},
    {"iomem", MASK_FILE, true},
    {"ioports", MASK_FILE, true},
    {"pagetypeinfo", MASK_FILE, true},
    {"kpagecount", MASK_FILE, true},
    {"kpageflags", MASK_FILE, true},
    {"kpagecgroup", MASK_FILE, true},
    {"mtrr", MASK_FILE, true},
};
_Static_assert(ARRAY_SIZE(masks) <= 32, "one bit each in native_plan.proc_masks");

unsigned native_proc_masks_here(bool root)
{
    unsigned here = 0;

    for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
        char path[PATH_ROOM];

        below(path, "/proc", masks[i].name);
        if ((root || !masks[i].root_only) && faccessat(AT_FDCWD, path, F_OK, 0) == 0)
            here |= 1u << i;
    }
    return here;
}

static int mask_one(const struct native_covers *covers, int proc_fd, int root_fd, size_t index,
                    const char *path, struct err *err)
{
    AUTO_CLOSE int tree = -1;
    int r;

    if (masks[index].kind == MASK_READ_ONLY) {
        tree = kernel_open_tree(proc_fd, masks[index].name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (tree < 0)
            return err_set(err, -tree, "fence.native-proc", "cannot copy '%s'", path);
        r = native_restrict(tree, LOCKED, false, path, err);
    } else {
        r = tree = copy_cover(
            masks[index].kind == MASK_FOLDER ? covers->folder_fd : covers->file_fd, path, err);
    }
    /* /proc is the kernel's own: nobody swaps its names for symlinks. */
    return r < 0 ? r : native_attach_made(tree, root_fd, path, err);
}

static void set_pid_max(const struct native_plan *plan, int proc_fd, unsigned *ret_weak)
{
    if (plan->shown_pid_max != NULL &&
        fd_put(proc_fd, "sys/kernel/pid_max", plan->shown_pid_max) == 0)
        return;
    *ret_weak |= plan->uid == 0 ? FENCE_WEAK_PROCESSES_NONE : FENCE_WEAK_PROCESSES_RLIMIT;
}

int native_proc_make(const struct native_plan *plan, const struct native_covers *covers,
                     int root_fd, const char *path, unsigned *ret_weak, struct err *err)
{
    static const char *const none[][2] = {{NULL, NULL}};
    AUTO_CLOSE int proc_fd = native_new_filesystem(
        "proc", none, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
    int r;

    if (proc_fd < 0)
        return proc_fd;
    set_pid_max(plan, proc_fd, ret_weak);
    r = native_make_folder(root_fd, path, 0555, err);
    /* The entries of /proc are one for the whole machine and belong to root, who could change their
     * modes through ours. An ordinary user cannot, and keeps what may be written of itself. */
    if (r == 0 && plan->uid == 0)
        r = native_restrict(proc_fd, LOCKED, false, path, err);
    if (r == 0)
        r = native_attach_made(proc_fd, root_fd, path, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(masks); i++) {
        char mask[PATH_ROOM];

        if (!(plan->proc_masks & (1u << i)))
            continue;
        below(mask, path, masks[i].name);
        r = mask_one(covers, proc_fd, root_fd, i, mask, err);
    }
    return r;
}
