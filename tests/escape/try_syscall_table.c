/* The attempts of try_syscall.c, in the order of the table the filter is made of. Numbers stand
 * here where a C library may be older than the call; they are the same on every processor then. */
#include "try_syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD_POINTER (-1)
#define HIGH_HALF ((long) 0xdeadbeef00000000)

enum {
    CALL_MOUNT_SETATTR = 442,
    CALL_QUOTACTL_FD = 443,
    CALL_SET_MEMPOLICY_HOME_NODE = 450,
    CALL_FCHMODAT2 = 452,
    CALL_LSM_SET_SELF_ATTR = 460,
    CALL_OPEN_TREE_ATTR = 467,
    CALL_LISTNS = 470, /* newer than any that the filter knows */
};

/* args: flags. The child, if there is one, ends at once. */
static long make_clone(const long *args)
{
    long pid = syscall(SYS_clone, args[0] | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        (void) waitpid((pid_t) pid, NULL, 0);
    return pid;
}

static long make_clone3(const long *args)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } how = {.flags = (uint64_t) args[0], .exit_signal = SIGCHLD};
    long pid = syscall(435, &how, sizeof how);

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        (void) waitpid((pid_t) pid, NULL, 0);
    return pid;
}

static long make_key(const long *args)
{
    (void) args; /* into the ring of this process: gone with it */
    return syscall(SYS_add_key, "user", "try", "x", (size_t) 1, -2);
}

static long make_io_uring(const long *args)
{
    char parameters[120] = {0};

    return syscall(425, args[0], parameters);
}

static long make_openat2(const long *args)
{
    const struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = O_RDONLY | O_CLOEXEC};

    (void) args;
    return syscall(437, AT_FDCWD, "/", &how, sizeof how);
}

static long make_kcmp(const long *args)
{
    return syscall(SYS_kcmp, getpid(), getpid(), args[0], 0L, 0L);
}

/* Types a letter into a terminal that belongs to this process alone, and is its own: an ordinary
 * user may do so into no other. args: added to the request. */
static long make_tiocsti(const long *args)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    int unlock = 0;
    int terminal;
    char letter = 'x';

    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
        return -1;
    terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    if (terminal < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0)
        return -1;
    return syscall(SYS_ioctl, terminal, (long) TIOCSTI | args[0], &letter);
}

/* ---- set-id bits: each on a file of its own in the folder for temporary files ------------------
 */

struct file {
    char path[4096];
    int fd;
};

static bool file_make(struct file *file)
{
    const char *folder = getenv("TMPDIR");

    (void) snprintf(file->path, sizeof file->path, "%s/try-XXXXXX", folder ? folder : "/tmp");
    file->fd = mkstemp(file->path);
    return file->fd >= 0;
}

/* The call's result, after the file is gone. */
static long file_end(struct file *file, long result)
{
    int error = errno;

    (void) unlink(file->path);
    errno = error;
    return result;
}

/* args: a mode. */
static long make_fchmod(const long *args)
{
    struct file file;

    return file_make(&file) ? file_end(&file, syscall(SYS_fchmod, file.fd, args[0])) : -1;
}

static long make_fchmodat(const long *args)
{
    struct file file;

    if (!file_make(&file))
        return -1;
    return file_end(&file, syscall(SYS_fchmodat, AT_FDCWD, file.path, args[0]));
}

static long make_fchmodat2(const long *args)
{
    struct file file;

    if (!file_make(&file))
        return -1;
    return file_end(&file, syscall(CALL_FCHMODAT2, AT_FDCWD, file.path, args[0], 0L));
}

/* args: a mode, flags added to O_WRONLY. With O_CREAT the file is made by the call. */
static long make_openat(const long *args)
{
    struct file file;

    if (!file_make(&file))
        return -1;
    if (args[1] & O_CREAT)
        (void) unlink(file.path);
    return file_end(&file, syscall(SYS_openat, AT_FDCWD, file.path, O_WRONLY | args[1], args[0]));
}

static long make_temporary(const long *args)
{
    const char *folder = getenv("TMPDIR");

    return syscall(SYS_openat, AT_FDCWD, folder ? folder : "/tmp", O_WRONLY | O_TMPFILE | args[1],
                   args[0]);
}

static long make_mknodat(const long *args)
{
    struct file file;

    if (!file_make(&file))
        return -1;
    (void) unlink(file.path);
    return file_end(&file, syscall(SYS_mknodat, AT_FDCWD, file.path, S_IFREG | args[0], 0L));
}

/* mkdir may ask for the bits: the kernel takes none of them. Allowed, and without effect. */
static long make_folder(const long *args)
{
    struct file file;
    struct stat status;
    long result;

    if (!file_make(&file))
        return -1;
    (void) unlink(file.path);
    result = mkdir(file.path, (mode_t) args[0]);
    if (result == 0 && (stat(file.path, &status) < 0 || (status.st_mode & S_ISUID)))
        result = -1;
    (void) rmdir(file.path);
    return result;
}

#ifdef __x86_64__
static long make_chmod(const long *args)
{
    struct file file;

    return file_make(&file) ? file_end(&file, syscall(SYS_chmod, file.path, args[0])) : -1;
}

static long make_open(const long *args)
{
    struct file file;

    if (!file_make(&file))
        return -1;
    if (args[1] & O_CREAT)
        (void) unlink(file.path);
    return file_end(&file, syscall(SYS_open, file.path, O_WRONLY | args[1], args[0]));
}

static long make_creat(const long *args)
{
    struct file file;

    if (!file_make(&file))
        return -1;
    (void) unlink(file.path);
    return file_end(&file, syscall(SYS_creat, file.path, args[0]));
}

static long make_mknod(const long *args)
{
    struct file file;

    if (!file_make(&file))
        return -1;
    (void) unlink(file.path);
    return file_end(&file, syscall(SYS_mknod, file.path, S_IFREG | args[0], 0L));
}

/* The call table of 32-bit programs. args: its number there. */
static long make_int80(const long *args)
{
    long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(args[0]), "b"(0L), "c"(0L), "d"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    if (result < 0 && result > -4096) {
        errno = (int) -result;
        return -1;
    }
    return result;
}
#endif

/* ---- the table ------------------------------------------------------------------------------- */

#define CALL(text, call, ...) .name = text, .number = call, .args = {__VA_ARGS__}
#define MAKE(text, function, ...) .name = text, .make = function, .args = {__VA_ARGS__}
#define REFUSED .expected = EPERM
#define GONE .expected = ENOSYS
#define NO_FAMILY .expected = EAFNOSUPPORT

const struct attempt attempts[] = {
    {CALL("mount", SYS_mount, 0), REFUSED},
    {CALL("umount2", SYS_umount2, 0), REFUSED},
    {CALL("pivot_root", SYS_pivot_root, 0), REFUSED},
    {CALL("chroot", SYS_chroot, BAD_POINTER), REFUSED},
    {CALL("open_tree", 428, -1, BAD_POINTER), REFUSED},
    {CALL("move_mount", 429, -1, BAD_POINTER, -1, BAD_POINTER), REFUSED},
    {CALL("fsopen", 430, BAD_POINTER), REFUSED},
    {CALL("fsconfig", 431, -1), REFUSED},
    {CALL("fsmount", 432, -1), REFUSED},
    {CALL("fspick", 433, -1, BAD_POINTER), REFUSED},
    {CALL("mount_setattr", CALL_MOUNT_SETATTR, -1, BAD_POINTER), REFUSED},
    {CALL("open_tree_attr", CALL_OPEN_TREE_ATTR, -1, BAD_POINTER), REFUSED},

    {CALL("unshare-user", SYS_unshare, CLONE_NEWUSER), REFUSED},
    {CALL("unshare-user-mount", SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS), REFUSED},
    {CALL("unshare-folder", SYS_unshare, CLONE_FS), REFUSED},
    {CALL("setns", SYS_setns, -1), REFUSED},
    {MAKE("clone-user", make_clone, CLONE_NEWUSER), REFUSED},
    {MAKE("clone-user-high", make_clone, HIGH_HALF | CLONE_NEWUSER), REFUSED},
    {MAKE("clone-user-net", make_clone, CLONE_NEWUSER | CLONE_NEWNET), REFUSED},
    {MAKE("clone-plain", make_clone, 0)},
    {MAKE("clone3-user", make_clone3, CLONE_NEWUSER), GONE},
    {MAKE("clone3-plain", make_clone3, 0), GONE},

    {MAKE("openat2", make_openat2, 0), GONE},
    {MAKE("io_uring_setup", make_io_uring, 1), GONE},
    {CALL("io_uring_enter", 426, -1), GONE},
    {CALL("io_uring_register", 427, -1), GONE},

    {MAKE("add_key", make_key, 0), REFUSED},
    {CALL("request_key", SYS_request_key, BAD_POINTER), REFUSED},
    {CALL("keyctl-session-ring", SYS_keyctl, 0, -3, 0), REFUSED},
    {CALL("keyctl-user-ring", SYS_keyctl, 0, -4, 0), REFUSED},

    {CALL("open_by_handle_at", SYS_open_by_handle_at, -1, BAD_POINTER), REFUSED},
    {CALL("name_to_handle_at", SYS_name_to_handle_at, -1, BAD_POINTER), .expected = EFAULT},
    {CALL("fanotify_init", SYS_fanotify_init, 0x200, 0), REFUSED},
    {CALL("fanotify_mark", SYS_fanotify_mark, -1), REFUSED},
    {CALL("bpf", SYS_bpf, 9999, 0, 0), REFUSED},
    {CALL("perf_event_open", SYS_perf_event_open, BAD_POINTER), REFUSED},
    {CALL("userfaultfd", SYS_userfaultfd, 1), REFUSED},
    {MAKE("kcmp", make_kcmp, 0), REFUSED},
    {CALL("move_pages", SYS_move_pages, 0, 0, 0, 0, 0, 0), REFUSED},
    {CALL("migrate_pages", SYS_migrate_pages, 0, 0, 0, 0), REFUSED},
    {CALL("mbind", SYS_mbind, 0, 0, 0, 0, 0, 0), REFUSED},
    {CALL("set_mempolicy", SYS_set_mempolicy, 0, 0, 0), REFUSED},
    {CALL("set_mempolicy_home_node", CALL_SET_MEMPOLICY_HOME_NODE, 0, 0, 0, 0), REFUSED},
    {CALL("lsm_set_self_attr", CALL_LSM_SET_SELF_ATTR, 0, 0, 0, 0), REFUSED},

    {CALL("kexec_load", SYS_kexec_load, 0, 17, BAD_POINTER, 0), REFUSED},
    {CALL("kexec_file_load", SYS_kexec_file_load, -1, -1), REFUSED},
    {CALL("init_module", SYS_init_module, BAD_POINTER, 0, BAD_POINTER), REFUSED},
    {CALL("finit_module", SYS_finit_module, -1, BAD_POINTER), REFUSED},
    {CALL("delete_module", SYS_delete_module, BAD_POINTER), REFUSED},
    {CALL("swapon", SYS_swapon, BAD_POINTER), REFUSED},
    {CALL("swapoff", SYS_swapoff, BAD_POINTER), REFUSED},
    {CALL("reboot", SYS_reboot, 0, 0, 0), REFUSED},
    {CALL("acct", SYS_acct, BAD_POINTER), REFUSED},
    {CALL("quotactl-sync", SYS_quotactl, 0x80000100, 0, 0, 0), REFUSED},
    {CALL("quotactl_fd", CALL_QUOTACTL_FD, -1), REFUSED},
    {CALL("settimeofday", SYS_settimeofday, BAD_POINTER, 0), REFUSED},
    {CALL("clock_settime", SYS_clock_settime, 0, BAD_POINTER), REFUSED},
    {CALL("sethostname", SYS_sethostname, BAD_POINTER, -1), REFUSED},
    {CALL("setdomainname", SYS_setdomainname, BAD_POINTER, -1), REFUSED},
    {CALL("syslog", SYS_syslog, 10, 0, 0), REFUSED},
    {CALL("vhangup", SYS_vhangup, 0), REFUSED},

    {MAKE("ioctl-tiocsti", make_tiocsti, 0), REFUSED},
    {MAKE("ioctl-tiocsti-high", make_tiocsti, HIGH_HALF), REFUSED},
    {CALL("ioctl-tioclinux", SYS_ioctl, -1, 0x541c, 0), REFUSED},
    {CALL("ioctl-tioccons", SYS_ioctl, -1, TIOCCONS, 0), REFUSED},
    {CALL("ioctl-other", SYS_ioctl, -1, TIOCGWINSZ, 0), .expected = EBADF},

    {CALL("socket-unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0)},
    {CALL("socket-inet", SYS_socket, AF_INET, SOCK_STREAM, 0)},
    {CALL("socket-inet-high", SYS_socket, HIGH_HALF | AF_INET, SOCK_STREAM, 0)},
    {CALL("socket-netlink-route", SYS_socket, AF_NETLINK, SOCK_RAW, 0)},
    {CALL("socket-netlink-diag", SYS_socket, AF_NETLINK, SOCK_RAW, 4), NO_FAMILY},
    {CALL("socket-netlink-xfrm", SYS_socket, AF_NETLINK, SOCK_RAW, 6), NO_FAMILY},
    {CALL("socket-netlink-audit", SYS_socket, AF_NETLINK, SOCK_RAW, 9), NO_FAMILY},
    {CALL("socket-netlink-netfilter", SYS_socket, AF_NETLINK, SOCK_RAW, 12), NO_FAMILY},
    {CALL("socket-netlink-uevent", SYS_socket, AF_NETLINK, SOCK_RAW, 15), NO_FAMILY},
    {CALL("socket-netlink-generic", SYS_socket, AF_NETLINK, SOCK_RAW, 16), NO_FAMILY},
    {CALL("socket-packet", SYS_socket, AF_PACKET, SOCK_RAW, 0), NO_FAMILY},
    {CALL("socket-packet-old", SYS_socket, AF_INET, SOCK_PACKET, 0), NO_FAMILY},
    {CALL("socket-vsock", SYS_socket, 40, SOCK_STREAM, 0), NO_FAMILY},
    {CALL("socket-vsock-high", SYS_socket, HIGH_HALF | 40, SOCK_STREAM, 0), NO_FAMILY},
    {CALL("socket-alg", SYS_socket, 38, SOCK_SEQPACKET, 0), NO_FAMILY},
    {CALL("socket-bluetooth", SYS_socket, 31, SOCK_RAW, 1), NO_FAMILY},
    {CALL("socket-can", SYS_socket, 29, SOCK_RAW, 1), NO_FAMILY},
    {CALL("socket-tipc", SYS_socket, 30, SOCK_SEQPACKET, 0), NO_FAMILY},
    {CALL("socket-xdp", SYS_socket, 44, SOCK_RAW, 0), NO_FAMILY},
    {CALL("socket-rds", SYS_socket, 21, SOCK_SEQPACKET, 0), NO_FAMILY},
    {CALL("socketpair-tipc", SYS_socketpair, 30, SOCK_SEQPACKET, 0, BAD_POINTER), NO_FAMILY},
    {CALL("socketpair-unix", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, BAD_POINTER),
     .expected = EFAULT},

    {CALL("personality-query", SYS_personality, 0xffffffff)},
    {CALL("personality-no-random", SYS_personality, ADDR_NO_RANDOMIZE)},
    {CALL("personality-exec", SYS_personality, READ_IMPLIES_EXEC), REFUSED},
    {CALL("personality-exec-high", SYS_personality, HIGH_HALF | READ_IMPLIES_EXEC), REFUSED},

    {MAKE("fchmod-plain", make_fchmod, 01755)},
    {MAKE("fchmod-set-uid", make_fchmod, 04755), REFUSED},
    {MAKE("fchmod-set-gid", make_fchmod, 02755), REFUSED},
    {MAKE("fchmod-set-uid-high", make_fchmod, HIGH_HALF | 04755), REFUSED},
    {MAKE("fchmodat-plain", make_fchmodat, 0755)},
    {MAKE("fchmodat-set-uid", make_fchmodat, 04755), REFUSED},
    {MAKE("fchmodat2-set-uid", make_fchmodat2, 04755), REFUSED},
    {MAKE("openat-plain", make_openat, 0755, O_CREAT | O_EXCL)},
    {MAKE("openat-old-file", make_openat, 04755, 0)},
    {MAKE("openat-set-uid", make_openat, 04755, O_CREAT | O_EXCL), REFUSED},
    {MAKE("openat-set-gid", make_openat, 02755, O_CREAT | O_EXCL), REFUSED},
    {MAKE("openat-set-uid-high", make_openat, HIGH_HALF | 04755, O_CREAT), REFUSED},
    {MAKE("openat-tmpfile-plain", make_temporary, 0755, 0)},
    {MAKE("openat-tmpfile-set-uid", make_temporary, 04755, 0), REFUSED},
    {MAKE("openat-tmpfile-set-gid", make_temporary, 02755, O_EXCL), REFUSED},
    {MAKE("mknodat-plain", make_mknodat, 0644)},
    {MAKE("mknodat-set-uid", make_mknodat, 04755), REFUSED},
    {MAKE("mkdir-set-uid-ignored", make_folder, 04755)},

    {CALL("nfsservctl", SYS_nfsservctl, 0), GONE},
    {CALL("lookup_dcookie", SYS_lookup_dcookie, 0, BAD_POINTER, 0), GONE},
    {CALL("listns", CALL_LISTNS, BAD_POINTER), GONE},
    {CALL("number-100000", 100000, 0), GONE},

#ifdef __x86_64__
    {MAKE("chmod-set-uid", make_chmod, 04755), REFUSED},
    {MAKE("chmod-set-gid", make_chmod, 02755), REFUSED},
    {MAKE("open-set-uid", make_open, 04755, O_CREAT | O_EXCL), REFUSED},
    {MAKE("open-old-file", make_open, 04755, 0)},
    {MAKE("creat-set-uid", make_creat, 04755), REFUSED},
    {MAKE("mknod-set-uid", make_mknod, 04755), REFUSED},
    {CALL("modify_ldt", SYS_modify_ldt, 0, 0, 0), REFUSED},
    {CALL("iopl", SYS_iopl, 0), REFUSED},
    {CALL("ioperm", SYS_ioperm, 0, 1, 0), REFUSED},
    {CALL("uselib", SYS_uselib, BAD_POINTER), GONE},
    {CALL("ustat", SYS_ustat, 0, BAD_POINTER), GONE},
    {CALL("sysfs", SYS_sysfs, 3), GONE},
    {CALL("_sysctl", SYS__sysctl, BAD_POINTER), GONE},
    {CALL("number-337", 337, 0), GONE},
    {CALL("number-512", 512, 0), GONE},
    {CALL("x32-getpid", 0x40000000 | SYS_getpid, 0), GONE},
    {CALL("x32-ioctl", 0x40000000 | 514, -1, TIOCSTI, 0), GONE},
    {MAKE("int80-getpid", make_int80, 20), GONE, .or_signal = SIGSEGV},
    {MAKE("int80-mount", make_int80, 21), GONE, .or_signal = SIGSEGV},
#endif
};
const size_t attempts_count = sizeof attempts / sizeof attempts[0];
