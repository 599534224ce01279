/* Checks of what a process puts on itself for good: Landlock and the filter. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "doctor/doctor_priv.h"
#include "fence/fence.h"
#include "fence/native/seccomp.h"
#include "job/outlook.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* ---- seccomp -------------------------------------------------------------------------------- */

/* The bit stays off where the file system or the caller's groups do not take it: no control then.
 */
static bool set_id_works(int fd)
{
    struct stat seen;

    return fchmod(fd, S_ISUID | S_IRWXU) == 0 && fstat(fd, &seen) == 0 &&
           (seen.st_mode & S_ISUID) != 0;
}

static int open_below_again(int folder_fd)
{
    AUTO_CLOSE int fd = kernel_result(
        syscall(SYS_openat2, folder_fd, ".", &(uint64_t[3]){O_PATH, 0, 0}, sizeof(uint64_t[3])));

    return fd < 0 ? fd : 0;
}

void doctor_check_seccomp(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES];
    AUTO_CLOSE int folder_fd = open(world->outside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int fd = -1;
    int r = doctor_file(world->outside, "filtered", "", path);

    if (r == 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !set_id_works(fd) || fchmod(fd, S_IRWXU) < 0 || open_below_again(folder_fd) < 0) {
        doctor_say(finding, DOCTOR_UNSEEN, "what the filter refuses does not work without it");
        return;
    }
    r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_load(SECCOMP_COMMAND);
    if (r < 0)
        doctor_say(finding, DOCTOR_MISSING, "the filter does not load: %s", strerrordesc_np(-r));
    else if (fchmod(fd, S_ISUID | S_IRWXU) == 0 || errno != EPERM)
        doctor_say(finding, DOCTOR_MISSING, "the filter does not refuse a set-id bit");
    else if (open_below_again(folder_fd) != -ENOSYS)
        doctor_say(finding, DOCTOR_MISSING, "the filter does not refuse openat2");
    else if (fchmod(fd, S_IRUSR) < 0)
        doctor_say(finding, DOCTOR_MISSING, "the filter refuses what it should allow");
    else
        doctor_say(finding, DOCTOR_OK, "a set-id bit and openat2 were refused");
}

/* ---- Landlock ------------------------------------------------------------------------------- */

#define HANDLED (KERNEL_LANDLOCK_WRITE_FILE | KERNEL_LANDLOCK_MAKE_REG)

static int enter_domain(const char *open_path)
{
    const struct kernel_landlock_ruleset attr = {.fs = HANDLED};
    struct kernel_landlock_path rule = {.access = HANDLED, .fd = -1};
    AUTO_CLOSE int path_fd = open(open_path, O_PATH | O_CLOEXEC);
    AUTO_CLOSE int ruleset_fd = kernel_result(syscall(
        SYS_landlock_create_ruleset, &attr, offsetof(struct kernel_landlock_ruleset, net), 0));
    int r = ruleset_fd;

    rule.fd = path_fd;
    if (r >= 0)
        r = kernel_result(
            syscall(SYS_landlock_add_rule, ruleset_fd, KERNEL_LANDLOCK_RULE_PATH, &rule, 0));
    if (r >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        r = -errno;
    return r < 0 ? r : kernel_result(syscall(SYS_landlock_restrict_self, ruleset_fd, 0));
}

static bool takes_file(const char *folder, const char *name)
{
    char path[DOCTOR_PATH_BYTES];

    return doctor_file(folder, name, "x", path) == 0;
}

static void lacks(struct doctor_finding *finding, unsigned bit)
{
    struct job_weakness weakness;

    if (!job_weakness(bit, 0, &weakness))
        return;
    doctor_say(finding, DOCTOR_WEAKER, "%s", weakness.what);
    doctor_mend(finding, "%s", weakness.mend);
}

static void try_domain(const struct doctor_world *world, struct doctor_finding *finding)
{
    int r;

    if (!takes_file(world->outside, "before")) {
        doctor_say(finding, DOCTOR_UNSEEN, "what Landlock refuses does not work without it");
        return;
    }
    r = enter_domain(world->pen);
    if (r < 0)
        doctor_say(finding, DOCTOR_WEAKER, "it does not take a rule: %s", strerrordesc_np(-r));
    else if (takes_file(world->outside, "after"))
        doctor_say(finding, DOCTOR_WEAKER, "it does not refuse a write outside of its rules");
    else if (!takes_file(world->pen, "after"))
        doctor_say(finding, DOCTOR_WEAKER, "it refuses what its rules allow");
    else
        doctor_say(finding, DOCTOR_OK, "ABI %d", finding->landlock_abi);
}

/* The number of the ABI that serves comes from where a run gets it: by trying its rights. */
void doctor_check_landlock(const struct doctor_world *world, struct doctor_finding *finding)
{
    const struct derive_request request = {.pen = world->pen};
    AUTO(policy_freep) struct policy *policy = NULL;
    struct job_start outlook = {0};
    struct err err = {0};
    int r;

    if (world->staged == NULL) {
        doctor_fail(finding, DOCTOR_UNSEEN, &world->owner_err);
        return;
    }
    r = derive_policy(world->staged, &request, &policy, &err);
    if (r == 0)
        r = job_outlook(policy, NULL, &outlook, &err);
    if (r < 0) {
        doctor_fail(finding, DOCTOR_UNSEEN, &err);
        return;
    }
    finding->landlock_abi = outlook.landlock_abi;
    if ((outlook.weak & FENCE_WEAK_NO_LANDLOCK) != 0)
        lacks(finding, FENCE_WEAK_NO_LANDLOCK);
    else
        try_domain(world, finding);
}

/* ---- guarded names -------------------------------------------------------------------------- */

void doctor_check_guard(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct err err = {0};

    (void) world;
    if (guard_probe(&err) < 0) {
        doctor_say(finding, DOCTOR_WEAKER,
                   "%s; names that are there are held instead, new ones are not prevented",
                   err.what);
        doctor_mend(finding, "%s", err.hint);
    } else {
        doctor_say(finding, DOCTOR_OK, "a call was handed over, read and refused");
    }
}
