/* Settings of this machine that forbid user namespaces or change what works inside. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_THERE (-1)

/* The number in a file, or NOT_THERE. */
static long number_of(const char *proc, const char *name)
{
    AUTO(buf_free) struct buf text = {0};
    char path[256];
    char *end = NULL;
    long value;

    buf_init(&text, 4096);
    (void) snprintf(path, sizeof path, "%s/%s", proc, name);
    if (fd_read_file(AT_FDCWD, path, &text) < 0)
        return NOT_THERE;
    value = strtol(text.bytes, &end, 10);
    return end == text.bytes || value < 0 ? NOT_THERE : value;
}

static bool wears_filter(const char *proc)
{
    AUTO(buf_free) struct buf text = {0};
    char path[256];

    buf_init(&text, 65536);
    (void) snprintf(path, sizeof path, "%s/self/status", proc);
    if (fd_read_file(AT_FDCWD, path, &text) < 0)
        return false;
    return strstr(text.bytes, "\nSeccomp:\t2") != NULL;
}

void doctor_settings_read(const char *proc, struct doctor_settings *settings)
{
    const long scope = number_of(proc, "sys/kernel/yama/ptrace_scope");

    *settings = (struct doctor_settings){
        .root = geteuid() == 0,
        .filtered = wears_filter(proc),
        .apparmor_restricts =
            number_of(proc, "sys/kernel/apparmor_restrict_unprivileged_userns") > 0,
        .userns_clone_off = number_of(proc, "sys/kernel/unprivileged_userns_clone") == 0,
        .userns_max_zero = number_of(proc, "sys/user/max_user_namespaces") == 0,
        .ptrace_scope = scope > 0 ? (int) scope : 0,
    };
}

const char *doctor_settings_mend(const struct doctor_settings *settings)
{
    if (settings->userns_max_zero && !settings->filtered) /* else it is the outer sandbox's */
        return "sudo sysctl -w user.max_user_namespaces=15000";
    if (!settings->root && settings->userns_clone_off)
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1";
    if (!settings->root && settings->apparmor_restricts)
        return "sudo install -m 0644 contrib/apparmor/wattle /etc/apparmor.d/wattle && "
               "sudo apparmor_parser -r /etc/apparmor.d/wattle "
               "(the profile comes with wattle's source; a wattle outside of /usr is named in it)";
    if (settings->filtered)
        return "an outer sandbox refuses it: run wattle outside of it, or allow it there "
               "(docker run --security-opt seccomp=unconfined)";
    if (settings->root)
        return "run wattle as an ordinary user, or give the container CAP_SETFCAP and "
               "CAP_SYS_ADMIN";
    return "use a kernel with CONFIG_USER_NS; a security module or a chroot may refuse it as well";
}
