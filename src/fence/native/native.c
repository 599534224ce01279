/* The native mechanism: namespaces, mounts, Landlock and seccomp, without privilege.
 *
 * The job layer clones pid 1 into new user, mount, pid, ipc, uts, net and cgroup namespaces. Then,
 * in this order, each step made possible by the one before:
 *
 *   1. descriptors  all but those passed on purpose are closed; an inherited folder would lead out
 *   2. ids          the caller's uid and gid, mapped to themselves; needs /proc/self of the host
 *   3. mounts       private propagation; a tmpfs becomes the new root; every source is cloned by
 *                   descriptor, restricted, attached; /proc is made while the host's is still there
 *                   (the kernel refuses it later) and takes the bounds that are written to it
 *   4. pivot        the old root is gone, the new one read-only
 *   5. host name, loopback, resource limits
 *   6. capabilities none, no bounding set, no_new_privs; where names are guarded pid 1 may still
 * take CAP_SYS_PTRACE of its own user namespace into use (guard/task.c)
 *   7. Landlock     rules opened inside the new root
 *   8. dumpable 0   /proc/1 is closed to the job from here on
 *   9. seccomp      the guard's and the command's filter in the vforked child, pid 1's own once
 * that has exec'd
 *
 * Nothing hostile runs before 9. Figures: docs/mechanisms.md. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/kernel.h"
#include "fence/mech_priv.h"
#include "fence/native/native_priv.h"
#include "fence/native/seccomp.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static int prepare(const struct policy *policy, void **ret_plan, unsigned *ret_weak,
                   struct err *err)
{
    struct native_plan *plan = NULL;
    const int r = native_plan_make(policy, &plan, err);

    if (r < 0)
        return r;
    if (plan->landlock_abi == 0)
        *ret_weak |= FENCE_WEAK_NO_LANDLOCK;
    else if (plan->landlock_abi < 6)
        *ret_weak |= FENCE_WEAK_OLD_LANDLOCK;
    if (plan->shown_pid_max == NULL)
        *ret_weak |= FENCE_WEAK_PROCESSES_NONE;
    if (plan->guard_rules == NULL)
        *ret_weak |= FENCE_WEAK_GUARD;
    *ret_plan = plan;
    return 0;
}

/* Closes every gap between the sorted descriptors to keep. */
static int close_others(const int *keep, size_t keep_count, struct err *err)
{
    unsigned next = 0;

    for (size_t i = 0; i <= keep_count; i++) {
        const unsigned last = i < keep_count ? (unsigned) keep[i] - 1 : ~0u;
        int r = 0;

        if (i == keep_count || (unsigned) keep[i] > next)
            r = kernel_close_range(next, last, 0);
        if (r < 0)
            return err_set(err, -r, "fence.native-descriptors", "cannot close descriptors");
        if (i < keep_count)
            next = (unsigned) keep[i] + 1;
    }
    return 0;
}

static int build(const struct native_plan *plan, unsigned *ret_weak, struct err *err)
{
    AUTO_CLOSE int root_fd = -1;
    int r = native_maps_write(plan->uid, plan->gid, err);

    if (r == 0)
        r = native_mounts_build(plan, &root_fd, ret_weak, err);
    if (r < 0)
        return r;
    native_oom_prefer();
    native_namespaces_forbid(ret_weak);
    return native_mounts_enter(root_fd, err);
}

static int enter(const void *plan_, const int *keep, size_t keep_count, unsigned *ret_weak,
                 struct err *err)
{
    const struct native_plan *plan = plan_;
    const mode_t umask_before = umask(0);
    int r = close_others(keep, keep_count, err);

    if (r == 0)
        r = build(plan, ret_weak, err);
    if (r == 0)
        r = native_host_set(err);
    if (r == 0)
        r = native_limits_set(plan, err);
    if (r == 0)
        r = native_capabilities_drop(plan->guard_rules != NULL, err);
    if (r == 0)
        r = native_landlock_enter(plan, err);
    if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        r = err_set(err, errno, "fence.native-dumpable", "cannot close /proc/1");
    (void) umask(umask_before);
    return r;
}

static int enter_init(const void *plan, struct err *err)
{
    int r = native_capabilities_drop_last(); /* the guard's threads have their own */

    (void) plan; /* the filter is the same for every policy */
    if (r == 0)
        r = seccomp_load(SECCOMP_INIT);
    return r < 0 ? err_set(err, -r, "fence.native-seccomp", "cannot load the filter of pid 1") : 0;
}

/* Descriptors are not shared with pid 1, which waits until this process has become another program,
 * and whose memory it cannot reach into then. But a message may be under way. */
static int enter_guard(const void *plan_, int channel_fd)
{
    const struct native_plan *plan = plan_;
    AUTO_CLOSE int listener_fd = -1;

    if (plan->guard_rules == NULL)
        return FENCE_UNGUARDED;
    listener_fd = seccomp_load_guarded();
    return listener_fd < 0 ? listener_fd : fd_send(channel_fd, listener_fd);
}

static int enter_command(const void *plan, bool guarded)
{
    const int r = native_capabilities_drop_last();

    (void) plan; /* the filter is the same for every policy */
    return r < 0 || guarded ? r : seccomp_load(SECCOMP_COMMAND);
}

static const struct guard_rules *guard_rules(const void *plan)
{
    return ((const struct native_plan *) plan)->guard_rules;
}

static int landlock_abi(const void *plan)
{
    return ((const struct native_plan *) plan)->landlock_abi;
}

static void release(void *plan)
{
    native_plan_free(plan);
}

const struct fence_mech fence_native = {
    .name = "native",
    .enforces =
        FENCE_HIDES_FILES | FENCE_GUARDS_NET | FENCE_OWN_PIDS | FENCE_BOUNDS | FENCE_MOVES_PATHS,
    .clone_flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                   CLONE_NEWNET | CLONE_NEWCGROUP,
    .prepare = prepare,
    .enter = enter,
    .enter_init = enter_init,
    .enter_guard = enter_guard,
    .enter_command = enter_command,
    .guard_rules = guard_rules,
    .landlock_abi = landlock_abi,
    .release = release,
};
