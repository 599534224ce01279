/* Whether a guard would work here, tried for real: a child that wears the filter makes a folder;
 * its parent gets the call, reads the name and answers. Nothing is made. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "fence/guard/guard_priv.h"
#include "fence/native/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 5000
#define ANSWER ENOTUNIQ /* no mkdir answers this by itself */
#define BROKEN 127      /* exit status of the child; others are an errno, or 0 */

static const char folder[] = "/proc/wattle-probe"; /* where nothing can be made anyway */

static _Noreturn void child(int channel_fd)
{
    int fd = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_load_guarded();

    if (fd < 0)
        _exit(-fd < BROKEN ? -fd : BROKEN);
    if (fd_send(channel_fd, fd) < 0)
        _exit(BROKEN);
    (void) close(fd); /* the parent's copy is the last: without it the call fails at once */
    _exit(syscall(SYS_mkdirat, AT_FDCWD, folder, 0700) < 0 && errno == ANSWER ? 0 : BROKEN);
}

static bool wait_for(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return poll(&ready, 1, WAIT_MS) > 0 && (ready.revents & POLLIN);
}

/* Takes one call and answers it; -errno of the reading. */
static int take_call(int listener_fd)
{
    union {
        struct seccomp_notif notice;
        char room[512];
    } call = {.room = {0}};
    struct seccomp_notif_resp answer = {.error = -ANSWER};
    char name[sizeof folder];
    int r;

    if (!wait_for(listener_fd) || ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
        return -ETIMEDOUT;
    r = guard_read_string((pid_t) call.notice.pid, call.notice.data.args[1], name, sizeof name);
    if (r == 0 && strcmp(name, folder) != 0)
        r = -EBADMSG;
    answer.id = call.notice.id;
    if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0)
        return -errno;
    return r;
}

static int refuse(int error, struct err *err)
{
    if (error == EBUSY) {
        (void) err_set(err, EBUSY, "fence.guard-nested",
                       "somebody outside takes our calls already");
        return err_hint(err, "start it outside of the sandbox that does");
    }
    if (error == EPERM || error == EACCES) {
        (void) err_set(err, error, "fence.guard-memory", "the memory of a child cannot be read");
        return err_hint(err, "kernel.yama.ptrace_scope is 3, or a security module forbids it");
    }
    (void) err_set(err, error, "fence.guard-kernel", "this kernel does not hand over system calls");
    return err_hint(err, "use Linux 5.19 or newer");
}

int guard_probe(struct err *err)
{
    AUTO_CLOSE int ours = -1;
    AUTO_CLOSE int listener_fd = -1;
    int ends[2], status = 0, r = 0;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, errno, "fence.guard-probe", "cannot make a socket pair");
    ours = ends[0];
    pid = fork();
    if (pid == 0)
        child(ends[1]);
    (void) close(ends[1]);
    if (pid < 0)
        return err_set(err, errno, "fence.guard-probe", "cannot start a process");
    if (wait_for(ours))
        listener_fd = fd_receive(ours);
    if (listener_fd >= 0)
        r = take_call(listener_fd);
    if (r == -ETIMEDOUT)
        (void) kill(pid, SIGKILL);
    cleanup_close(&listener_fd);
    if (waitpid(pid, &status, 0) < 0)
        return err_set(err, errno, "fence.guard-probe", "cannot wait for a process");
    if (r < 0)
        return refuse(-r, err);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return refuse(WIFEXITED(status) && WEXITSTATUS(status) != BROKEN ? WEXITSTATUS(status) : ENOSYS,
                  err);
}

/* At 3 no process may read another's memory, whatever its rights:
 * Documentation/admin-guide/LSM/Yama.rst. */
static bool yama_forbids(void)
{
    AUTO_CLOSE int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    char level = '0';

    return fd >= 0 && read(fd, &level, 1) == 1 && level == '3';
}

int guard_possible(struct err *err)
{
    const int r = seccomp_try_guard();

    if (r < 0)
        return refuse(-r, err);
    if (yama_forbids())
        return refuse(EPERM, err);
    /* Whose filter this process wears may have a listener, or another answer for the child. */
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0 ? 0 : guard_probe(err);
}
