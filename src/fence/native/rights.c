/* Who the job is and what is left to it: ids, host name, loopback, limits, capabilities. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/kernel.h"
#include "fence/fence.h"
#include "fence/native/native_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int map_one(const char *file, unsigned id, struct err *err)
{
    char line[64];
    int r;

    (void) snprintf(line, sizeof line, "%u %u 1\n", id, id);
    r = fd_put(AT_FDCWD, file, line);
    if (r == 0)
        return 0;
    (void) err_set(err, -r, "fence.userns-denied", "cannot write '%s'", file);
    if (id == 0)
        return err_hint(err, "root without CAP_SETFCAP (a container with dropped capabilities) "
                             "cannot map itself; run wattle as an ordinary user");
    return err_hint(err, "this system restricts user namespaces (AppArmor?); 'wattle doctor' names "
                         "the setting");
}

/* The caller keeps his id. The child writes its own maps: no handshake with the parent. */
int native_maps_write(uid_t uid, gid_t gid, struct err *err)
{
    int r = fd_put(AT_FDCWD, "/proc/self/setgroups", "deny");

    if (r < 0 && r != -ENOENT)
        return err_set(err, -r, "fence.userns-denied", "cannot write '/proc/self/setgroups'");
    r = map_one("/proc/self/uid_map", uid, err);
    return r == 0 ? map_one("/proc/self/gid_map", gid, err) : r;
}

int native_host_set(struct err *err)
{
    AUTO_CLOSE int fd = -1;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};

    if (sethostname("wattle", 6) < 0)
        return err_set(err, errno, "fence.native-host", "cannot set the host name");
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT ? 0 /* a kernel without IPv4 has no loopback to raise */
                                     : err_set(err, errno, "fence.native-net", "no socket");
    if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return err_set(err, errno, "fence.native-net", "cannot raise the loopback interface");
    return 0;
}

#define OOM_SCORE 500 /* of 1000 */

/* When memory runs out the job goes before the owner's own programs. Before the job's /proc is
 * there and before pid 1 closes itself: the host's /proc/self is still ours. */
void native_oom_prefer(void)
{
    AUTO(buf_free) struct buf now = {0};
    char text[16];

    buf_init(&now, 32);
    if (fd_read_file(AT_FDCWD, "/proc/self/oom_score_adj", &now) < 0 ||
        strtol(now.bytes, NULL, 10) >= OOM_SCORE)
        return;
    (void) snprintf(text, sizeof text, "%d", OOM_SCORE);
    (void) fd_put(AT_FDCWD, "/proc/self/oom_score_adj", text); /* raising needs no right */
}

/* Half of what Linux gives a user by default: a job cannot use up the owner's. */
#define INOTIFY_INSTANCES "64"
#define INOTIFY_WATCHES "65536" /* kernels since 5.11 give a user up to a million, by memory */

/* The counters of our user namespace: no further user namespaces, and with them none of the other
 * kinds, which need a capability that only a new user namespace could give back. Through the host's
 * /proc, which shows everybody his own. Where it fails seccomp alone refuses namespaces. */
void native_namespaces_forbid(unsigned *ret_weak)
{
    if (fd_put(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0") < 0)
        *ret_weak |= FENCE_WEAK_NAMESPACE_LIMITS;
    (void) fd_put(AT_FDCWD, "/proc/sys/user/max_inotify_instances", INOTIFY_INSTANCES);
    (void) fd_put(AT_FDCWD, "/proc/sys/user/max_inotify_watches", INOTIFY_WATCHES);
}

/* Lowers soft and hard limit; what the caller's own hard limit forbids stays as it is. */
static int limit(unsigned resource, uint64_t value, struct err *err)
{
    struct rlimit now;

    if (getrlimit((__rlimit_resource_t) resource, &now) < 0)
        return err_set(err, errno, "fence.native-limits", "cannot read a resource limit");
    if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max)
        value = now.rlim_max;
    now.rlim_cur = now.rlim_max = value;
    if (setrlimit((__rlimit_resource_t) resource, &now) < 0)
        return err_set(err, errno, "fence.native-limits", "cannot set a resource limit");
    return 0;
}

/* Core files: 1, not 0. A core_pattern that pipes to a program of the host ignores 0 (core(5)). */
int native_limits_set(const struct native_plan *plan, struct err *err)
{
    const struct policy_limits *limits = &plan->limits;
    int r = limit(RLIMIT_CORE, 1, err);

    if (r == 0 && limits->processes != 0)
        r = limit(RLIMIT_NPROC, limits->processes, err);
    if (r == 0 && limits->open_files != 0)
        r = limit(RLIMIT_NOFILE, limits->open_files, err);
    if (r == 0 && limits->file_bytes != 0)
        r = limit(RLIMIT_FSIZE, limits->file_bytes, err);
    return r;
}

static int set_capabilities(uint32_t permitted)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {{.permitted = permitted}, {0, 0, 0}};

    return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* The bounding set too: root inside would get everything back at the next exec. */
int native_capabilities_drop(bool guarded, struct err *err)
{
    int r;

    for (unsigned long capability = 0; capability < 64; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL)
            break; /* past the last one of this kernel */
        return err_set(err, errno, "fence.native-capabilities", "cannot drop a capability");
    }
    (void) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* empty sets follow anyway */
    r = set_capabilities(guarded ? 1u << CAP_SYS_PTRACE : 0);
    if (r < 0)
        return err_set(err, -r, "fence.native-capabilities", "cannot drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set(err, errno, "fence.native-capabilities", "cannot set no_new_privs");
    return 0;
}

int native_capabilities_drop_last(void)
{
    return set_capabilities(0);
}
