/* Other processes: memory, descriptors, signals, limits, namespaces. */
#include "attempt_priv.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static pid_t pid_of(const char *text)
{
    return (pid_t) helper_number(text);
}

static int attach(char **args)
{
    pid_t pid = pid_of(args[0]);
    int status;

    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
        return -1;
    (void) waitpid(pid, &status, __WALL);
    (void) ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return 0;
}

/* vmread PID ADDRESS */
static int vmread(char **args)
{
    char bytes[64];
    struct iovec local = {bytes, sizeof bytes};
    struct iovec remote = {(void *) (uintptr_t) helper_number(args[1]), sizeof bytes};
    ssize_t got = process_vm_readv(pid_of(args[0]), &local, 1, &remote, 1, 0);

    if (got < 0)
        return -1;
    (void) fwrite(bytes, 1, strnlen(bytes, (size_t) got), stdout);
    (void) printf("\n");
    return 0;
}

/* memory PID ADDRESS, through /proc */
static int memory(char **args)
{
    char path[64];
    char bytes[64];
    ssize_t got;
    int fd;

    (void) snprintf(path, sizeof path, "/proc/%d/mem", (int) pid_of(args[0]));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    got = pread(fd, bytes, sizeof bytes, (off_t) helper_number(args[1]));
    if (got < 0)
        return -1;
    (void) fwrite(bytes, 1, strnlen(bytes, (size_t) got), stdout);
    (void) printf("\n");
    return 0;
}

/* getfd PID FD: takes an open file of another process and reads it */
static int getfd(char **args)
{
    char bytes[256];
    int process = (int) syscall(SYS_pidfd_open, pid_of(args[0]), 0);
    int fd;
    ssize_t got;

    if (process < 0)
        return -1;
    fd = (int) syscall(SYS_pidfd_getfd, process, (int) helper_number(args[1]), 0);
    if (fd < 0)
        return -1;
    got = pread(fd, bytes, sizeof bytes, 0);
    if (got < 0)
        return -1;
    (void) fwrite(bytes, 1, (size_t) got, stdout);
    return 0;
}

static int signal_one(char **args)
{
    return kill(pid_of(args[0]), SIGURG);
}

/* Every process there is, with a signal that is ignored by default. */
static int signal_all(char **args)
{
    (void) args;
    for (pid_t pid = 2; pid < 100000; pid++)
        (void) kill(pid, SIGURG);
    return kill(-1, SIGURG);
}

static int limits(char **args)
{
    const struct rlimit limit = {7, 7};

    return prlimit(pid_of(args[0]), RLIMIT_NOFILE, &limit, NULL);
}

static int renice(char **args)
{
    return setpriority(PRIO_PROCESS, (id_t) helper_number(args[0]), 15);
}

/* enter PID FILE: joins the namespaces of another process and reads a file there */
static int enter(char **args)
{
    static const char *const kinds[] = {"user", "mnt"};
    int fds[2];

    for (int i = 0; i < 2; i++) {
        char path[64];

        (void) snprintf(path, sizeof path, "/proc/%s/ns/%s", args[0], kinds[i]);
        fds[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            return -1;
    }
    for (int i = 0; i < 2; i++) {
        if (setns(fds[i], 0) < 0)
            return -1;
    }
    return access(args[1], R_OK);
}

const struct attempt attempts_process[] = {
    {"attach", 1, attach}, {"vmread", 2, vmread},     {"memory", 2, memory},
    {"getfd", 2, getfd},   {"signal", 1, signal_one}, {"signal-all", 0, signal_all},
    {"limits", 1, limits}, {"renice", 1, renice},     {"enter", 2, enter},
    {NULL, 0, NULL},
};
