#include "base/kernel.h"
#include "job/run_priv.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>

struct refusal {
    int code;
    const char *hint;
};

static const struct refusal refusals[] = {
    {EPERM, "this system forbids user namespaces; 'wattle doctor' names the setting that does"},
    {EACCES, "a security module forbids user namespaces; 'wattle doctor' names it"},
    {ENOSPC,
     "user.max_user_namespaces is used up or 0; 'sysctl user.max_user_namespaces' shows it"},
    {EUSERS, "user namespaces are nested too deep; run wattle outside of other sandboxes"},
    {EINVAL,
     "this kernel was built without one of the namespaces (user, mount, pid, ipc, uts, net, "
     "cgroup)"},
    {ENOSYS, "an outer sandbox hides clone(2)"},
    {EAGAIN, "your limit of processes is reached; 'ulimit -u' shows it"},
};

static int refuse(int code, struct err *err)
{
    (void) err_set(err, code, "fence.userns-denied", "cannot make the namespaces of the job");
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (refusals[i].code == code)
            return err_hint(err, "%s", refusals[i].hint);
    }
    return -code;
}

static pid_t clone_new(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
    struct clone_args args = {
        .flags = flags | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uint64_t) (uintptr_t) ret_pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = cgroup_fd >= 0 ? (uint64_t) cgroup_fd : 0,
    };

    return kernel_result(syscall(SYS_clone3, &args, sizeof args));
}

/* Where an outer sandbox answers clone3 with ENOSYS, as ours does inside. clone(2) has no cgroup.
 */
static pid_t clone_old(uint64_t flags, int *ret_pidfd)
{
    return kernel_result(
        syscall(SYS_clone, (unsigned long) (flags | CLONE_PIDFD | SIGCHLD), 0, ret_pidfd, 0, 0));
}

pid_t run_spawn(const struct init_args *args, int cgroup_fd, int *ret_pidfd, struct err *err)
{
    const uint64_t flags = fence_clone_flags(args->fence);
    int pidfd = -1;
    pid_t pid;

    /* Root's other groups would stay with the job, which can no longer give them up. Nobody else
     * may do this, and root without the right for it has nothing to lose by going on. */
    if (geteuid() == 0)
        (void) setgroups(0, NULL);
    pid = clone_new(flags, cgroup_fd, &pidfd);
    if (pid == -ENOSYS && cgroup_fd < 0)
        pid = clone_old(flags, &pidfd);
    if (pid < 0)
        return refuse(-pid, err);
    if (pid == 0)
        init_main(args);
    *ret_pidfd = pidfd;
    return pid;
}
