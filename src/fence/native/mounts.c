#include "base/cleanup.h"
#include "base/kernel.h"
#include "base/path.h"
#include "base/str.h"
#include "fence/native/native_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define QUIET (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static const char cover_file[] = "/.cover-file";
static const char cover_folder[] = "/.cover-folder";

struct building {
    const struct native_plan *plan;
    struct native_covers covers;
    int root_fd;
    unsigned *ret_weak;
};

/* ---- one step ------------------------------------------------------------------------------ */

static int gone_or_changed(int r, const struct native_step *step, struct err *err)
{
    if (r == -ENOENT && step->optional)
        return 0;
    if (r == -ENOSYS) {
        (void) err_set(err, ENOSYS, "fence.native-openat2", "this kernel has no openat2");
        return err_hint(err, "Linux 5.12 or newer is needed; an outer sandbox may hide the call");
    }
    (void) err_set(err, -r, "fence.native-source", "cannot open '%s'", step->source);
    return err_hint(err,
                    "it was removed or replaced while the run was being started; run it again");
}

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t) time->tv_sec * 1000000000 + time->tv_nsec;
}

static bool is_same(const struct native_step *step, const struct stat *status)
{
    const struct policy_command *command = step->command;

    if (step->inode != 0 && (status->st_dev != step->dev || status->st_ino != step->inode))
        return false;
    return command == NULL || ((uint64_t) status->st_size == command->size_bytes &&
                               nanoseconds(&status->st_mtim) == command->mtime_ns &&
                               nanoseconds(&status->st_ctim) == command->ctime_ns);
}

static int check_identity(int tree_fd, const struct native_step *step, struct stat *ret_status,
                          struct err *err)
{
    if (fstat(tree_fd, ret_status) < 0)
        return gone_or_changed(-errno, step, err);
    if (is_same(step, ret_status))
        return 0;
    (void) err_set(err, ESTALE, "fence.native-changed",
                   "'%s' was replaced while the run was being started", step->source);
    return err_hint(err, "look at what is there now, and run it again");
}

static int copy_tree(int dir_fd, const char *path, unsigned flags)
{
    return kernel_open_tree(dir_fd, path,
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned) AT_RECURSIVE | flags);
}

/* Reached without following any symlink; what belongs to the system needs that only at its end. */
static int open_source(const struct native_step *step)
{
    AUTO_CLOSE int source = -1;

    if (step->trusted)
        return copy_tree(AT_FDCWD, step->source, AT_SYMLINK_NOFOLLOW);
    source = path_open_plain(AT_FDCWD, step->source, O_PATH);
    return source < 0 ? source : copy_tree(source, "", AT_EMPTY_PATH);
}

/* A detached copy of the tree at `source`. What is compared is the copy itself, so what was checked
 * is what gets mounted. -ENOENT for a missing optional. */
static int clone_source(const struct native_step *step, struct stat *ret_status, struct err *err)
{
    AUTO_CLOSE int tree = open_source(step);
    int r;

    if (tree < 0) {
        r = gone_or_changed(tree, step, err);
        return r < 0 ? r : -ENOENT;
    }
    r = check_identity(tree, step, ret_status, err);
    return r < 0 ? r : TAKE_FD(tree);
}

static int step_bind(struct building *building, const struct native_step *step, struct err *err)
{
    const uint64_t attributes = QUIET | (step->writable ? 0 : MOUNT_ATTR_RDONLY);
    struct stat status;
    AUTO_CLOSE int tree = clone_source(step, &status, err);
    int r;

    if (tree < 0)
        return tree == -ENOENT && step->optional ? 0 : tree;
    r = step->early ? 0 : native_restrict(tree, attributes, true, step->path, err);
    if (r == 0 && !step->make_target)
        return native_attach(tree, building->root_fd, step->path, err);
    if (r == 0)
        r = native_make_target(building->root_fd, step->path, S_ISDIR(status.st_mode), err);
    return r < 0 ? r : native_attach_made(tree, building->root_fd, step->path, err);
}

static int step_pin(struct building *building, const struct native_step *step, struct err *err)
{
    AUTO_CLOSE int target = native_open_target(building->root_fd, step->path, err);
    AUTO_CLOSE int tree = -1;
    int r;

    if (target < 0)
        return target;
    tree = copy_tree(target, "", AT_EMPTY_PATH);
    if (tree < 0)
        return err_set(err, -tree, "fence.native-mount", "cannot copy the mount of '%s'",
                       step->path);
    r = native_restrict(tree, QUIET, true, step->path, err);
    return r < 0 ? r : native_attach(tree, building->root_fd, step->path, err);
}

static const char *mode_of(const struct native_step *step)
{
    if (step->kind == NATIVE_ISLAND)
        return step->closed ? "0111" : "0755";
    return str_equal(step->path, POLICY_INSIDE_HOME) ? "0700" : "1777";
}

static int step_tmpfs(struct building *building, const struct native_step *step, struct err *err)
{
    char size[32], names[32];
    const char *const options[][2] = {
        {"size", size}, {"nr_inodes", names}, {"mode", mode_of(step)}, {NULL, NULL}};
    AUTO_CLOSE int mount = -1;
    int r;

    (void) snprintf(size, sizeof size, "%llu", (unsigned long long) step->bytes);
    (void) snprintf(names, sizeof names, "%llu", native_names_of(step->bytes));
    mount = native_new_filesystem("tmpfs", options, QUIET, err);
    if (mount < 0)
        return mount;
    if (!step->make_target)
        return native_attach(mount, building->root_fd, step->path, err);
    r = native_make_folder(building->root_fd, step->path, 0755, err);
    return r < 0 ? r : native_attach_made(mount, building->root_fd, step->path, err);
}

/* Something optional may be gone; the plan has made sure that the job cannot make it again. */
static int step_cover(struct building *building, const struct native_step *step, struct err *err)
{
    struct err missing = {0};
    const int r = native_cover(&building->covers, building->root_fd, step->path, &missing);

    if (r == 0 || (r == -ENOENT && step->optional))
        return 0;
    *err = missing;
    return r;
}

static int take_step(struct building *building, const struct native_step *step, struct err *err)
{
    switch (step->kind) {
    case NATIVE_FOLDER:
        return native_make_folder(building->root_fd, step->path, 0755, err);
    case NATIVE_SYMLINK:
        return native_make_symlink(building->root_fd, step->path, step->source, err);
    case NATIVE_FILE:
        return native_make_file(building->root_fd, step->path, step->source, err);
    case NATIVE_BIND:
        return step_bind(building, step, err);
    case NATIVE_TMPFS:
    case NATIVE_ISLAND:
        return step_tmpfs(building, step, err);
    case NATIVE_DEV:
        return native_dev_make(building->plan, building->root_fd, step->path, err);
    case NATIVE_PROC:
        return native_proc_make(building->plan, &building->covers, building->root_fd, step->path,
                                building->ret_weak, err);
    case NATIVE_COVER:
        return step_cover(building, step, err);
    case NATIVE_PIN:
        return step_pin(building, step, err);
    }
    return err_set(err, EINVAL, "fence.native-step", "unknown step in the plan");
}

/* ---- the new root -------------------------------------------------------------------------- */

static int attach_root(const struct native_plan *plan, struct err *err)
{
    static const char *const options[][2] = {
        {"size", "16m"}, {"nr_inodes", "16k"}, {"mode", "0755"}, {NULL, NULL}};
    AUTO_CLOSE int root = native_new_filesystem("tmpfs", options, QUIET, err);
    int r;

    if (root < 0)
        return root;
    r = kernel_move_mount(root, "", AT_FDCWD, plan->staging, MOVE_MOUNT_F_EMPTY_PATH);
    if (r < 0)
        return err_set(err, -r, "fence.native-mount", "cannot attach the new root on '%s'",
                       plan->staging);
    return TAKE_FD(root);
}

/* Covers are copies of an empty file and an empty folder that nobody may open. The names go once
 * everything is built; the copies stay. */
static int make_covers(struct building *building, struct err *err)
{
    int r = native_make_empty(building->root_fd, cover_file, 0000, err);

    if (r == 0)
        r = native_make_folder(building->root_fd, cover_folder, 0000, err);
    if (r < 0)
        return r;
    building->covers.file_fd = native_open_target(building->root_fd, cover_file, err);
    if (building->covers.file_fd < 0)
        return building->covers.file_fd;
    building->covers.folder_fd = native_open_target(building->root_fd, cover_folder, err);
    return building->covers.folder_fd < 0 ? building->covers.folder_fd : 0;
}

static int remove_covers(struct building *building, struct err *err)
{
    cleanup_close(&building->covers.file_fd);
    cleanup_close(&building->covers.folder_fd);
    if (unlinkat(building->root_fd, cover_file + 1, 0) < 0 ||
        unlinkat(building->root_fd, cover_folder + 1, AT_REMOVEDIR) < 0)
        return err_set(err, errno, "fence.native-mount", "cannot remove the covers");
    return 0;
}

static int close_islands(const struct building *building, struct err *err)
{
    for (size_t i = 0; i < building->plan->step_count; i++) {
        const struct native_step *step = &building->plan->steps[i];
        AUTO_CLOSE int fd = -1;
        int r;

        if (step->kind != NATIVE_ISLAND)
            continue;
        fd = native_open_target(building->root_fd, step->path, err);
        if (fd < 0)
            return fd;
        r = native_restrict(fd, MOUNT_ATTR_RDONLY, false, step->path, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Most mounts are read-only and lie straight on the new root: one call restricts them all, before
 * anything writable is there, and then gives the root itself back to the building. */
static int restrict_early(int root_fd, struct err *err)
{
    struct mount_attr open_again = {.attr_clr = MOUNT_ATTR_RDONLY};
    int r = native_restrict(root_fd, QUIET | MOUNT_ATTR_RDONLY, true, "/", err);

    if (r < 0)
        return r;
    r = kernel_mount_setattr(root_fd, "", AT_EMPTY_PATH, &open_again);
    return r < 0 ? err_set(err, -r, "fence.native-mount", "cannot go on building the new root") : 0;
}

static int take_steps(struct building *building, bool early, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < building->plan->step_count; i++) {
        if (building->plan->steps[i].early == early)
            r = take_step(building, &building->plan->steps[i], err);
    }
    return r;
}

int native_mounts_build(const struct native_plan *plan, int *ret_root_fd, unsigned *ret_weak,
                        struct err *err)
{
    AUTO_CLOSE int root_fd = -1;
    struct building building = {.plan = plan, .covers = {-1, -1}, .ret_weak = ret_weak};
    int r = kernel_mount_propagation("/", MS_REC | MS_PRIVATE);

    if (r < 0)
        return err_set(err, -r, "fence.native-mount", "cannot make the mounts private");
    root_fd = attach_root(plan, err);
    if (root_fd < 0)
        return root_fd;
    building.root_fd = root_fd;
    r = take_steps(&building, true, err);
    if (r == 0)
        r = restrict_early(root_fd, err);
    if (r == 0)
        r = make_covers(&building, err);
    if (r == 0)
        r = take_steps(&building, false, err);
    if (r == 0)
        r = close_islands(&building, err);
    if (r == 0)
        r = remove_covers(&building, err);
    if (r < 0)
        return r;
    *ret_root_fd = TAKE_FD(root_fd);
    return 0;
}

int native_mounts_enter(int root_fd, struct err *err)
{
    int r = fchdir(root_fd) < 0 ? -errno : 0;

    if (r == 0)
        r = kernel_pivot_root(".", ".");
    if (r == 0)
        r = kernel_umount(".", MNT_DETACH);
    if (r < 0)
        return err_set(err, -r, "fence.native-pivot", "cannot change to the new root");
    r = native_restrict(root_fd, MOUNT_ATTR_RDONLY | QUIET, false, "/", err);
    if (r == 0 && chdir("/") < 0)
        return err_set(err, errno, "fence.native-pivot", "cannot change to the new root");
    return r;
}
