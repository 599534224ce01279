/* Checks of the machine: folders, configuration, settings. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"
#include "job/outlook.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

void doctor_check_scratch(const struct doctor_world *world, struct doctor_finding *finding)
{
    if (world->err.code != 0)
        doctor_fail(finding, DOCTOR_MISSING, &world->err);
    else
        doctor_say(finding, DOCTOR_OK, "'%s'", world->top);
}

/* ---- wattle's own folders -------------------------------------------------------------------- */

/* Opens the folder, or its nearest parent that exists: that is where a run would make it. */
static int open_nearest(const char *path)
{
    AUTO_FREE char *nearest = strdup(path);
    char *slash;
    int fd = -1;

    while (nearest != NULL) {
        fd = open(nearest, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 || errno != ENOENT)
            return fd < 0 ? -errno : fd;
        slash = strrchr(nearest, '/');
        if (slash == NULL || nearest[1] == '\0')
            return -ENOENT;
        slash[slash == nearest ? 1 : 0] = '\0';
    }
    return -ENOMEM;
}

/* By trying: modes and mount flags do not tell all. Nothing stays. */
static int try_write(int folder_fd)
{
    char name[64];
    int r = openat(folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (r >= 0) {
        (void) close(r);
        return 0;
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        return -errno;
    (void) snprintf(name, sizeof name, ".wattle-doctor-%d", (int) getpid());
    if (mkdirat(folder_fd, name, 0700) < 0)
        return -errno;
    return unlinkat(folder_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int try_folder(const char *path, struct doctor_finding *finding)
{
    AUTO_CLOSE int fd = open_nearest(path);
    const int r = fd < 0 ? fd : try_write(fd);

    if (r == 0)
        return 0;
    doctor_say(finding, DOCTOR_MISSING, "'%s' cannot be written: %s", path, strerrordesc_np(-r));
    doctor_mend(finding, "make it a folder of yours that can be written, or set XDG_STATE_HOME and "
                         "XDG_CACHE_HOME to such folders");
    return r;
}

void doctor_check_folders(const struct doctor_world *world, struct doctor_finding *finding)
{
    if (world->owner == NULL)
        doctor_fail(finding, DOCTOR_MISSING, &world->owner_err);
    else if (try_folder(world->owner->state_dir, finding) == 0 &&
             try_folder(world->owner->cache_dir, finding) == 0)
        doctor_say(finding, DOCTOR_OK, "'%s', '%s'", world->owner->state_dir,
                   world->owner->cache_dir);
}

static const struct {
    long type;
    const char *name;
} networks[] = {
    {NFS_SUPER_MAGIC, "nfs"}, {SMB_SUPER_MAGIC, "smb"}, {0xff534d42, "cifs"},
    {0xfe534d42, "smb2"},     {AFS_SUPER_MAGIC, "afs"}, {CODA_SUPER_MAGIC, "coda"},
    {V9FS_MAGIC, "9p"},       {0x00c36400, "ceph"},     {0x0bd00bd0, "lustre"},
    {0x47504653, "gpfs"},     {0x19830326, "fhgfs"},
};

static const char *network_of(const char *path)
{
    AUTO_CLOSE int fd = open_nearest(path);
    struct statfs seen;

    if (fd < 0 || fstatfs(fd, &seen) < 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
        if ((unsigned long) seen.f_type == (unsigned long) networks[i].type)
            return networks[i].name;
    }
    return NULL;
}

void doctor_check_local(const struct doctor_world *world, struct doctor_finding *finding)
{
    const struct derive_owner *owner = world->owner;
    const char *state, *cache;

    if (owner == NULL) {
        doctor_say(finding, DOCTOR_UNSEEN, "wattle's folders are not known");
        return;
    }
    state = network_of(owner->state_dir);
    cache = network_of(owner->cache_dir);
    if (state == NULL && cache == NULL) {
        doctor_say(finding, DOCTOR_OK, "both are on this machine");
        return;
    }
    doctor_say(finding, DOCTOR_WEAKER,
               "'%s' is on a network file system (%s): what a crashed run left may stay there",
               state != NULL ? owner->state_dir : owner->cache_dir, state != NULL ? state : cache);
    doctor_mend(finding, "set %s to a folder on a local disk",
                state != NULL ? "XDG_STATE_HOME" : "XDG_CACHE_HOME");
}

/* ---- configuration ----------------------------------------------------------------------------
 */

void doctor_check_configuration(const struct doctor_world *world, struct doctor_finding *finding)
{
    const struct derive_request request = {.pen = world->pen};
    AUTO(policy_freep) struct policy *policy = NULL;
    struct job_start outlook;
    struct err err = {0};
    int r;

    if (world->owner == NULL) {
        doctor_fail(finding, DOCTOR_MISSING, &world->owner_err);
        return;
    }
    r = derive_policy(world->owner, &request, &policy, &err);
    if (r == 0)
        r = job_outlook(policy, NULL, &outlook, &err);
    if (r < 0)
        doctor_fail(finding, DOCTOR_MISSING, &err);
    else
        doctor_say(finding, DOCTOR_OK, "'%s'", world->owner->config_dir);
}

/* ---- settings ---------------------------------------------------------------------------------
 */

static int use_rights(void *context, struct err *err)
{
    (void) context;
    return sethostname("doctor", 6) < 0
               ? err_set(err, errno, "doctor.userns", "a user namespace gives no rights")
               : 0;
}

void doctor_check_settings(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct doctor_settings settings;
    struct err err = {0};
    const char *which = NULL;

    (void) world;
    doctor_settings_read("/proc", &settings);
    if (settings.userns_max_zero)
        which = "user.max_user_namespaces is 0";
    else if (!settings.root && settings.userns_clone_off)
        which = "kernel.unprivileged_userns_clone is 0";
    else if (!settings.root && settings.apparmor_restricts)
        which = "kernel.apparmor_restrict_unprivileged_userns is 1";
    if (which == NULL) {
        doctor_say(finding, DOCTOR_OK, "none found");
    } else if (doctor_in_namespaces(CLONE_NEWUTS, use_rights, NULL, &err) == 0) {
        doctor_say(finding, DOCTOR_OK, "%s, and wattle may make them all the same", which);
    } else {
        doctor_say(finding, DOCTOR_MISSING, "%s, which forbids user namespaces", which);
        doctor_mend(finding, "%s", doctor_settings_mend(&settings));
    }
}

void doctor_check_debuggers(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct doctor_settings settings;

    (void) world;
    doctor_settings_read("/proc", &settings);
    if (settings.ptrace_scope < 2) {
        doctor_say(finding, DOCTOR_OK, "on what they start themselves");
        return;
    }
    doctor_say(finding, DOCTOR_REMARK,
               "kernel.yama.ptrace_scope is %d: gdb and strace do not work inside",
               settings.ptrace_scope);
    doctor_mend(finding,
                settings.ptrace_scope == 2
                    ? "sudo sysctl -w kernel.yama.ptrace_scope=1, if you want them"
                    : "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and restart, if you "
                      "want them");
}
