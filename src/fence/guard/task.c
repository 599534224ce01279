/* What belongs to the task whose call is performed: its strings, its folders and descriptors, its
 * umask. All of it is reached by the number of the thread, which is right also for one that shares
 * neither descriptors nor current folder with the others. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#define PAGE_SIZE 4096u /* the least there is: a read that ends at its end faults never halfway */
#define FIRST_READ 256u /* most paths are shorter, and a page costs more to copy */
#define STATUS_SIZE 2048
#define BEGINNING_SIZE 160 /* of a status: the name, each byte escaped, and the umask */

/* ---- memory ------------------------------------------------------------------------------------
 */

/* A task that is not dumpable (ssh-agent, gpg-agent) shows its memory and its folders only to
 * CAP_SYS_PTRACE. The right is never in effect while a path of the job is opened. */
void guard_trace_right(bool on)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {{0}};

    sets[0].permitted = 1u << CAP_SYS_PTRACE;
    sets[0].effective = on ? sets[0].permitted : 0;
    if (syscall(SYS_capset, &header, sets) < 0 && !on)
        _exit(125); /* cannot be; a guard that keeps the right must not go on */
}

static ssize_t read_memory(pid_t tid, uint64_t address, void *bytes, size_t size)
{
    const struct iovec here = {.iov_base = bytes, .iov_len = size};
    const struct iovec there = {.iov_base = (void *) (uintptr_t) address, .iov_len = size};
    ssize_t n = process_vm_readv(tid, &here, 1, &there, 1, 0);

    if (n >= 0 || errno != EPERM)
        return n < 0 ? -errno : n;
    guard_trace_right(true);
    n = process_vm_readv(tid, &here, 1, &there, 1, 0);
    if (n < 0)
        n = -errno;
    guard_trace_right(false);
    return n == -EPERM ? -EACCES : n;
}

int guard_read_bytes(pid_t tid, uint64_t address, void *bytes, size_t size)
{
    const ssize_t n = read_memory(tid, address, bytes, size);

    if (n < 0)
        return (int) n;
    return (size_t) n == size ? 0 : -EFAULT;
}

/* What of a string is read at first: no further than its page, since most are short. */
static size_t first_size(uint64_t address)
{
    const size_t left = PAGE_SIZE - (size_t) (address % PAGE_SIZE);

    return left < FIRST_READ ? left : FIRST_READ;
}

int guard_read_string(pid_t tid, uint64_t address, char *text, size_t size)
{
    size_t got = 0;

    while (got < size) {
        const uint64_t at = address + got;
        size_t want = got == 0 ? first_size(at) : PAGE_SIZE - (size_t) (at % PAGE_SIZE);
        ssize_t n;

        if (want > size - got)
            want = size - got;
        n = read_memory(tid, at, text + got, want);
        if (n <= 0)
            return n == -EACCES || n == -ESRCH ? (int) n : -EFAULT;
        if (memchr(text + got, '\0', (size_t) n) != NULL)
            return 0;
        got += (size_t) n;
    }
    return -ENAMETOOLONG;
}

bool guard_read_two(pid_t tid, const uint64_t addresses[2], char texts[2][PATH_MAX])
{
    struct iovec here[2], there[2];
    size_t sizes[2];

    for (size_t i = 0; i < 2; i++) {
        sizes[i] = first_size(addresses[i]);
        here[i] = (struct iovec){.iov_base = texts[i], .iov_len = sizes[i]};
        there[i] =
            (struct iovec){.iov_base = (void *) (uintptr_t) addresses[i], .iov_len = sizes[i]};
    }
    return process_vm_readv(tid, here, 2, there, 2, 0) == (ssize_t) (sizes[0] + sizes[1]) &&
           memchr(texts[0], '\0', sizes[0]) != NULL && memchr(texts[1], '\0', sizes[1]) != NULL;
}

/* ---- /proc/TID ---------------------------------------------------------------------------------
 */

static int open_of_task(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    if (fd >= 0 || errno != EACCES)
        return fd < 0 ? -errno : fd;
    guard_trace_right(true);
    fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        fd = -errno;
    guard_trace_right(false);
    return fd;
}

int guard_open_object(const struct guard_call *call, int fd)
{
    char path[48];
    int r;

    if (fd < 0)
        return -EBADF;
    (void) snprintf(path, sizeof path, "/proc/%d/fd/%d", call->tid, fd);
    r = open_of_task(path, O_PATH);
    return r == -ENOENT ? -EBADF : r;
}

int guard_open_start(const struct guard_call *call, int dir_fd)
{
    char path[48];
    int r;

    if (dir_fd == AT_FDCWD)
        (void) snprintf(path, sizeof path, "/proc/%d/cwd", call->tid);
    else if (dir_fd < 0)
        return -EBADF;
    else
        (void) snprintf(path, sizeof path, "/proc/%d/fd/%d", call->tid, dir_fd);
    r = open_of_task(path, O_PATH | O_DIRECTORY);
    return r == -ENOENT && dir_fd != AT_FDCWD ? -EBADF : r;
}

/* By thread where the kernel can (6.9); before, by process: the two differ only for a program that
 * makes threads with descriptors of their own. That of a process is not to be kept, since it
 * outlives the thread. */
static int open_pidfd(struct guard_call *call)
{
    int fd = kernel_result(syscall(SYS_pidfd_open, call->tid, KERNEL_PIDFD_THREAD));
    int process;

    if (fd >= 0)
        call->pidfd_tid = call->tid;
    if (fd != -EINVAL)
        return fd;
    process = guard_task_number(call->tid, "Tgid:", 10);
    return process < 0 ? process : kernel_result(syscall(SYS_pidfd_open, process, 0));
}

static int take_fd(int pidfd, int fd)
{
    int r = kernel_result(syscall(SYS_pidfd_getfd, pidfd, fd, 0));

    if (r != -EPERM)
        return r;
    guard_trace_right(true);
    r = kernel_result(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
    guard_trace_right(false);
    return r;
}

/* The last one is kept: programs that set modes do it for one file after the other. It stands for
 * the task, not for its number: when that has been given to another one, the answer is ESRCH. */
int guard_take_fd(struct guard_call *call, int fd)
{
    int r = call->pidfd_tid == call->tid ? take_fd(call->pidfd, fd) : -ESRCH;

    if (r != -ESRCH)
        return r;
    cleanup_close(&call->pidfd);
    call->pidfd_tid = 0;
    r = open_pidfd(call);
    if (r < 0)
        return r;
    call->pidfd = r;
    return take_fd(call->pidfd, fd);
}

static int read_of_task(pid_t tid, const char *file, char *text, size_t size)
{
    char path[48];
    AUTO_CLOSE int fd = -1;
    ssize_t n;

    (void) snprintf(path, sizeof path, "/proc/%d/%s", tid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -ESRCH;
    n = read(fd, text, size - 1);
    if (n <= 0)
        return -ESRCH;
    text[n] = '\0';
    return 0;
}

int guard_task_status(pid_t tid, char *text, size_t size)
{
    return read_of_task(tid, "status", text, size);
}

/* The first line of /proc/TID/status is the program's name, where the kernel shows a newline as
 * "\n": no name can pass for a line of its own. */
int guard_task_number(pid_t tid, const char *key, int base)
{
    char text[STATUS_SIZE];
    const char *at;
    long value;

    if (guard_task_status(tid, text, sizeof text) < 0)
        return -ESRCH;
    for (at = text; at != NULL; at = strchr(at, '\n')) {
        at += at != text;
        if (strncmp(at, key, strlen(key)) != 0)
            continue;
        value = strtol(at + strlen(key), NULL, base);
        return value < 0 || value > INT_MAX ? -ESRCH : (int) value;
    }
    return -ESRCH;
}

/* tty_nr is the fifth field after the name, which is in parentheses and may hold some. */
int guard_task_terminal(pid_t tid)
{
    char text[STATUS_SIZE];
    const char *at;
    long number;

    if (read_of_task(tid, "stat", text, sizeof text) < 0)
        return -ENXIO;
    at = strrchr(text, ')');
    for (int field = 0; at != NULL && field < 5; field++)
        at = strchr(at + 1, ' ');
    number = at != NULL ? strtol(at, NULL, 10) : 0;
    return number <= 0 || number > INT_MAX ? -ENXIO : (int) number;
}

void guard_task_program(pid_t tid, char *name, size_t size)
{
    char text[64];

    name[0] = '\0';
    if (read_of_task(tid, "comm", text, sizeof text) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    (void) snprintf(name, size, "%s", text);
}

/* From the beginning of the task's status, which is kept open for the next call of the same one:
 * one that is gone fails, also when another has its number. */
static ssize_t read_status(struct guard_call *call, char *text, size_t size)
{
    char path[40];

    if (call->known.tid != call->tid) {
        cleanup_close(&call->known.status_fd);
        (void) snprintf(path, sizeof path, "/proc/%d/status", (int) call->tid);
        call->known.status_fd = open(path, O_RDONLY | O_CLOEXEC);
        call->known.tid = call->tid;
    }
    return pread(call->known.status_fd, text, size, 0);
}

/* Read anew for each call. To be told of each umask() instead would be cheaper, but a signal that
 * comes before the call is taken makes it fail, which umask() never does, and nobody looks. */
static mode_t umask_of_task(struct guard_call *call)
{
    static const char key[] = "\nUmask:\t";
    char text[BEGINNING_SIZE];
    const char *at = NULL;
    ssize_t n = 0;

    for (int tries = 0; n <= 0 && tries < 2; tries++) {
        n = read_status(call, text, sizeof text - 1);
        if (n <= 0)
            call->known.tid = 0;
    }
    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, key);
    if (at == NULL)
        return 0777; /* gone: nobody will see */
    return (mode_t) strtol(at + strlen(key), NULL, 8) & 0777;
}

/* Not by masking the mode here: a folder's default ACL takes the place of the umask. */
void guard_wear_umask(struct guard_call *call)
{
    const mode_t mask = umask_of_task(call);

    if (mask == call->umask_now)
        return;
    (void) umask(mask);
    call->umask_now = mask;
}
