/* A check runs in a child, because it may hang, crash, or shut itself in. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/kernel.h"
#include "doctor/doctor_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* ---- one check ------------------------------------------------------------------------------ */

static _Noreturn void be_the_check(const struct doctor_check *check,
                                   const struct doctor_world *world, int answer_fd)
{
    struct doctor_finding finding = {.status = DOCTOR_UNSEEN};
    sigset_t none;

    (void) setpgid(0, 0);
    (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void) sigemptyset(&none);
    (void) sigprocmask(SIG_SETMASK, &none, NULL);
    check->run(world, &finding);
    (void) !fd_write_all(answer_fd, &finding, sizeof finding);
    _exit(0);
}

/* What a check left behind became our child when its parent ended. Returns how many were found. */
static size_t end_orphans(void)
{
    AUTO(buf_free) struct buf text = {0};
    size_t count = 0;

    buf_init(&text, 65536);
    if (fd_read_file(AT_FDCWD, "/proc/thread-self/children", &text) < 0)
        return 0; /* a kernel without that list; what could be is ended by its group */
    for (char *at = text.bytes, *next; count < 4096; at = next, count++) {
        const long pid = strtol(at, &next, 10);

        if (next == at || pid <= 1)
            break;
        (void) kill((pid_t) pid, SIGKILL);
        (void) waitpid((pid_t) pid, NULL, 0);
    }
    return count;
}

static void end_check(pid_t pid)
{
    size_t rounds = 16;
    size_t found;

    (void) kill(-pid, SIGKILL);
    (void) kill(pid, SIGKILL); /* it may not have a group yet */
    (void) waitpid(pid, NULL, 0);
    do {
        found = end_orphans(); /* children of children come up as their parents end */
    } while (found > 0 && --rounds > 0);
}

enum { HEARD, NOTHING_HEARD, INTERRUPTED };

static int wait_for(int answer_fd, int interrupt_fd, unsigned limit_ms)
{
    const uint64_t end_ms = clock_ms() + limit_ms;
    struct pollfd fds[2] = {{.fd = answer_fd, .events = POLLIN},
                            {.fd = interrupt_fd, .events = POLLIN}};

    for (;;) {
        const uint64_t now_ms = clock_ms();
        int ready;

        if (now_ms >= end_ms)
            return NOTHING_HEARD;
        ready = poll(fds, 2, (int) (end_ms - now_ms));
        if (ready < 0 && errno != EINTR)
            return NOTHING_HEARD;
        if (ready > 0 && fds[1].revents != 0)
            return INTERRUPTED;
        if (ready > 0)
            return HEARD;
    }
}

bool doctor_check_run(const struct doctor_check *check, const struct doctor_world *world,
                      unsigned limit_ms, int interrupt_fd, struct doctor_finding *finding)
{
    AUTO_CLOSE int answer_fd = -1;
    struct doctor_finding answer;
    int ends[2];
    int heard;
    pid_t pid;

    doctor_say(finding, DOCTOR_UNSEEN, "the check ended without an answer");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return true;
    answer_fd = ends[0];
    pid = fork();
    if (pid == 0) {
        (void) close(ends[0]);
        (void) close(interrupt_fd);
        be_the_check(check, world, ends[1]);
    }
    (void) close(ends[1]);
    if (pid < 0) {
        doctor_say(finding, DOCTOR_UNSEEN, "cannot start a process: %s", strerrordesc_np(errno));
        return true;
    }
    (void) setpgid(pid, pid);
    heard = wait_for(answer_fd, interrupt_fd, limit_ms);
    if (heard == NOTHING_HEARD)
        doctor_say(finding, DOCTOR_UNSEEN, "it hung, and was ended after %u ms", limit_ms);
    else if (heard == HEARD && read(answer_fd, &answer, sizeof answer) == (ssize_t) sizeof answer)
        *finding = answer;
    end_check(pid);
    return heard != INTERRUPTED;
}

/* ---- namespaces -------------------------------------------------------------------------------
 */

static pid_t clone_into(uint64_t flags)
{
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    pid_t pid = kernel_result(syscall(SYS_clone3, &args, sizeof args));

    /* Outer sandboxes hide clone3, whose flags they cannot see; runs fall back likewise. */
    if (pid == -ENOSYS)
        pid = kernel_result(syscall(SYS_clone, (unsigned long) (flags | SIGCHLD), 0, 0, 0, 0));
    return pid;
}

static int write_maps(uid_t uid, gid_t gid, struct err *err)
{
    char line[64];
    int r;

    (void) fd_put(AT_FDCWD, "/proc/self/setgroups", "deny");
    (void) snprintf(line, sizeof line, "%u %u 1\n", uid, uid);
    r = fd_put(AT_FDCWD, "/proc/self/uid_map", line);
    (void) snprintf(line, sizeof line, "%u %u 1\n", gid, gid);
    if (r == 0)
        r = fd_put(AT_FDCWD, "/proc/self/gid_map", line);
    return r < 0 ? err_set(err, -r, "doctor.userns", "a new user namespace does not take our ids")
                 : 0;
}

int doctor_in_namespaces(uint64_t flags, int (*act)(void *context, struct err *err), void *context,
                         struct err *err)
{
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    struct err answer = {0};
    AUTO_CLOSE int answer_fd = -1;
    int ends[2];
    ssize_t got;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, errno, "doctor.pipe", "cannot make a pipe");
    answer_fd = ends[0];
    pid = clone_into(flags | CLONE_NEWUSER);
    if (pid == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (write_maps(uid, gid, &answer) == 0 && act(context, &answer) < 0 && answer.code == 0)
            (void) err_set(&answer, EIO, "doctor.act", "the attempt failed");
        (void) !fd_write_all(ends[1], &answer, sizeof answer);
        _exit(0);
    }
    (void) close(ends[1]);
    if (pid < 0)
        return err_set(err, -pid, "doctor.userns", "cannot make new namespaces");
    got = read(answer_fd, &answer, sizeof answer);
    (void) waitpid(pid, NULL, 0);
    if (got != (ssize_t) sizeof answer)
        return err_set(err, ECHILD, "doctor.died", "the process in new namespaces was ended");
    if (answer.code == 0)
        return 0;
    *err = answer;
    return -answer.code;
}
