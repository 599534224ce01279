/* Kernel interfaces that the C library of Debian 12 or Ubuntu 22.04 does not wrap, with the numbers
 * and structs they need. Layer 0. Sources: include/uapi/linux/{mount,sched,landlock}.h of 6.18 and
 * the man pages clone(2), mount_setattr(2), move_mount(2), open_tree(2), fsopen(2), landlock(7).
 * <sys/mount.h> is not included: in some versions it clashes with <linux/mount.h>. */
#ifndef WATTLE_BASE_KERNEL_H
#define WATTLE_BASE_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* All return >= 0, or -errno. */
static inline int kernel_result(long result)
{
    return result < 0 ? -errno : (int) result;
}

static inline int kernel_open_tree(int dir_fd, const char *path, unsigned flags)
{
    return kernel_result(syscall(SYS_open_tree, dir_fd, path, flags));
}

static inline int kernel_move_mount(int from_fd, const char *from, int to_fd, const char *to,
                                    unsigned flags)
{
    return kernel_result(syscall(SYS_move_mount, from_fd, from, to_fd, to, flags));
}

static inline int kernel_mount_setattr(int dir_fd, const char *path, unsigned flags,
                                       struct mount_attr *attr)
{
    return kernel_result(syscall(SYS_mount_setattr, dir_fd, path, flags, attr, sizeof *attr));
}

static inline int kernel_fsopen(const char *type)
{
    return kernel_result(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}

static inline int kernel_fsconfig(int fd, unsigned command, const char *key, const char *value)
{
    return kernel_result(syscall(SYS_fsconfig, fd, command, key, value, 0));
}

static inline int kernel_fsmount(int fd, unsigned attributes)
{
    return kernel_result(syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes));
}

static inline int kernel_umount(const char *path, int flags)
{
    return kernel_result(syscall(SYS_umount2, path, flags));
}

static inline int kernel_mount_propagation(const char *path, unsigned long flags)
{
    return kernel_result(syscall(SYS_mount, NULL, path, NULL, flags, NULL));
}

static inline int kernel_pivot_root(const char *new_root, const char *put_old)
{
    return kernel_result(syscall(SYS_pivot_root, new_root, put_old));
}

static inline int kernel_close_range(unsigned first, unsigned last, unsigned flags)
{
    return kernel_result(syscall(SYS_close_range, first, last, flags));
}

/* ---- seccomp user notification (include/uapi/linux/seccomp.h) ------------------------------ */

#define KERNEL_SECCOMP_WAIT_KILLABLE (1ul << 5)               /* filter flag, Linux 5.19 */
#define KERNEL_SECCOMP_SYNC_WAKE_UP 1ul                       /* flag of the listener, Linux 6.6 */
#define KERNEL_SECCOMP_IOCTL_SET_FLAGS _IOW('!', 4, uint64_t) /* the same */
#define KERNEL_PIDFD_THREAD O_EXCL                            /* flag of pidfd_open, Linux 6.9 */

/* ---- Landlock ---------------------------------------------------------------------------- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

struct kernel_landlock_ruleset {
    uint64_t fs;
    uint64_t net;    /* from ABI 4 */
    uint64_t scoped; /* from ABI 6 */
};
struct kernel_landlock_path {
    uint64_t access;
    int32_t fd;
} __attribute__((packed));

#define KERNEL_LANDLOCK_VERSION 1u /* flag of create_ruleset */
#define KERNEL_LANDLOCK_RULE_PATH 1

enum {
    KERNEL_LANDLOCK_EXECUTE = 1u << 0,
    KERNEL_LANDLOCK_WRITE_FILE = 1u << 1,
    KERNEL_LANDLOCK_READ_FILE = 1u << 2,
    KERNEL_LANDLOCK_READ_DIR = 1u << 3,
    KERNEL_LANDLOCK_REMOVE_DIR = 1u << 4,
    KERNEL_LANDLOCK_REMOVE_FILE = 1u << 5,
    KERNEL_LANDLOCK_MAKE_CHAR = 1u << 6,
    KERNEL_LANDLOCK_MAKE_DIR = 1u << 7,
    KERNEL_LANDLOCK_MAKE_REG = 1u << 8,
    KERNEL_LANDLOCK_MAKE_SOCK = 1u << 9,
    KERNEL_LANDLOCK_MAKE_FIFO = 1u << 10,
    KERNEL_LANDLOCK_MAKE_BLOCK = 1u << 11,
    KERNEL_LANDLOCK_MAKE_SYM = 1u << 12,
    KERNEL_LANDLOCK_REFER = 1u << 13,     /* ABI 2 */
    KERNEL_LANDLOCK_TRUNCATE = 1u << 14,  /* ABI 3 */
    KERNEL_LANDLOCK_IOCTL_DEV = 1u << 15, /* ABI 5 */
};
#define KERNEL_LANDLOCK_SCOPE_ABSTRACT 1u /* ABI 6 */
#define KERNEL_LANDLOCK_SCOPE_SIGNAL 2u   /* ABI 6 */

#endif
