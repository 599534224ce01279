/* Holding a name again, from outside. A program of the owner's that replaces a held file (git
 * config, an editor's save) makes the kernel drop the read-only mount on it, in every mount
 * namespace. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "base/path.h"
#include "fence/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/statvfs.h>

/* Inside, every folder above the name may be the job's: the name is reached without a symlink, and
 * what is mounted is what was reached. */
static int hold(const char *path)
{
    struct mount_attr attributes = {.attr_set =
                                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    AUTO_CLOSE int target = path_open_plain(AT_FDCWD, path, O_PATH);
    AUTO_CLOSE int tree = -1;
    struct statvfs status;
    int r;

    if (target < 0)
        return target;
    if (fstatvfs(target, &status) == 0 && (status.f_flag & ST_RDONLY) != 0)
        return 0; /* it is held still */
    tree = kernel_open_tree(target, "",
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned) AT_EMPTY_PATH);
    if (tree < 0)
        return tree;
    r = kernel_mount_setattr(tree, "", AT_EMPTY_PATH, &attributes);
    if (r < 0)
        return r;
    return kernel_move_mount(tree, "", target, "",
                             MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int fence_hold_again(const struct fence_namespaces *namespaces, const char *path)
{
    if (setns(namespaces->user_fd, CLONE_NEWUSER) < 0 ||
        setns(namespaces->mount_fd, CLONE_NEWNS) < 0)
        return -errno;
    return hold(path);
}
