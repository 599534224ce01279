/* Kernel surface: namespaces, mounts, rings, terminals, calls by other numbers. */
#include "attempt_priv.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define X32_BIT 0x40000000L

static int user_namespace(char **args)
{
    (void) args;
    return unshare(CLONE_NEWUSER);
}

static int clone_namespace(char **args)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

    (void) args;
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return -1;
    (void) waitpid((pid_t) pid, NULL, 0);
    return 0;
}

static int clone3_namespace(char **args)
{
    const struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } how = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &how, sizeof how);

    (void) args;
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return -1;
    (void) waitpid((pid_t) pid, NULL, 0);
    return 0;
}

static int mount_tmpfs(char **args)
{
    return mount("none", args[0], "tmpfs", 0, NULL);
}

static int unmount(char **args)
{
    return umount2(args[0], MNT_DETACH);
}

static int remount_writable(char **args)
{
    return mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND, NULL);
}

static int new_mount_api(char **args)
{
    (void) args;
    return syscall(SYS_fsopen, "tmpfs", 0) < 0 ? -1 : 0;
}

static int tree_copy(char **args)
{
    return syscall(SYS_open_tree, AT_FDCWD, args[0], 1 /* OPEN_TREE_CLONE */) < 0 ? -1 : 0;
}

static int change_root(char **args)
{
    return chroot(args[0]);
}

static int ring(char **args)
{
    struct io_uring_params parameters;

    (void) args;
    memset(&parameters, 0, sizeof parameters);
    return syscall(SYS_io_uring_setup, 4, &parameters) < 0 ? -1 : 0;
}

static int perf(char **args)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};

    (void) args;
    return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 ? -1 : 0;
}

static int bpf(char **args)
{
    union bpf_attr attr = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};

    (void) args;
    return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr) < 0 ? -1 : 0;
}

static int faults(char **args)
{
    (void) args;
    return syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY) < 0 ? -1 : 0;
}

static int fanotify(char **args)
{
    (void) args;
    return syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, O_RDONLY) < 0 ? -1 : 0;
}

/* Types one character into the terminal that is the controlling one. `high`: bits the kernel does
 * not look at, which a careless filter compares. */
static int type_ahead(unsigned long high)
{
    const char key = 'x';
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    return syscall(SYS_ioctl, fd, high | TIOCSTI, &key) < 0 ? -1 : 0;
}

static int tiocsti(char **args)
{
    (void) args;
    return type_ahead(0);
}

static int tiocsti_high(char **args)
{
    (void) args;
    return type_ahead(0x100000000ul);
}

static int personality_exec(char **args)
{
    (void) args;
    return personality(READ_IMPLIES_EXEC) < 0 ? -1 : 0;
}

/* call NUMBER: any call by its number, all arguments zero. A kernel that gets as far as looking at
 * the arguments has let it through: "got" is any answer but ENOSYS and EPERM. */
static int call(char **args)
{
    long got = syscall((long) helper_number(args[0]), 0, 0, 0, 0, 0, 0);

    return got < 0 && (errno == ENOSYS || errno == EPERM) ? -1 : 0;
}

#ifdef __x86_64__
static int x32(char **args)
{
    (void) args;
    return syscall(X32_BIT | SYS_getpid) < 0 ? -1 : 0;
}

static int interrupt80(char **args)
{
    long got;

    (void) args;
    __asm__ volatile("int $0x80"
                     : "=a"(got)
                     : "a"(20L) /* getpid of the 32-bit table */
                     : "memory", "r8", "r9", "r10", "r11");
    if (got > 0)
        return 0;
    errno = (int) -got;
    return -1;
}
#endif

const struct attempt attempts_kernel[] = {
    {"user-namespace", 0, user_namespace},
    {"clone-namespace", 0, clone_namespace},
    {"clone3-namespace", 0, clone3_namespace},
    {"mount", 1, mount_tmpfs},
    {"unmount", 1, unmount},
    {"remount", 1, remount_writable},
    {"fsopen", 0, new_mount_api},
    {"open-tree", 1, tree_copy},
    {"chroot", 1, change_root},
    {"io-uring", 0, ring},
    {"perf", 0, perf},
    {"bpf", 0, bpf},
    {"userfaultfd", 0, faults},
    {"fanotify", 0, fanotify},
    {"tiocsti", 0, tiocsti},
    {"tiocsti-high", 0, tiocsti_high},
    {"personality", 0, personality_exec},
    {"call", 1, call},
#ifdef __x86_64__
    {"x32", 0, x32},
    {"int80", 0, interrupt80},
#endif
    {NULL, 0, NULL},
};
