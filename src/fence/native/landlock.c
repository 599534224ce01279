/* The second layer on files: the same policy again, on objects instead of mounts. landlock(7). */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "fence/fence.h"
#include "fence/native/native_priv.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

#define READ_FILES (KERNEL_LANDLOCK_READ_FILE | KERNEL_LANDLOCK_READ_DIR)
#define WRITE_FILES (KERNEL_LANDLOCK_WRITE_FILE | KERNEL_LANDLOCK_TRUNCATE)
#define MAKE_NODES (KERNEL_LANDLOCK_MAKE_CHAR | KERNEL_LANDLOCK_MAKE_BLOCK)
#define ALL_FILES 0xffffu
#define OF_A_FILE                                                                                  \
    (KERNEL_LANDLOCK_EXECUTE | KERNEL_LANDLOCK_READ_FILE | WRITE_FILES | KERNEL_LANDLOCK_IOCTL_DEV)

static const uint64_t right_access[] = {
    [NATIVE_MAY_LIST] = KERNEL_LANDLOCK_READ_DIR,
    [NATIVE_MAY_READ] = READ_FILES,
    [NATIVE_MAY_RUN] = READ_FILES | KERNEL_LANDLOCK_EXECUTE,
    [NATIVE_MAY_WRITE] = ALL_FILES & ~(MAKE_NODES | KERNEL_LANDLOCK_IOCTL_DEV),
    [NATIVE_MAY_DEVICE] = READ_FILES | WRITE_FILES | KERNEL_LANDLOCK_IOCTL_DEV,
    /* A shell's '>' truncates, so writing to /proc/self/oom_score_adj needs TRUNCATE as well. */
    [NATIVE_MAY_PROCESS] = READ_FILES | WRITE_FILES,
};

/* Rights known from each ABI on. ABI 1 cannot say REFER and then refuses every rename and link
 * between folders, which breaks git and most else: it does not serve, and counts as none. */
static const struct {
    int abi;
    uint64_t fs, scoped;
} abis[] = {
    {6, ALL_FILES, KERNEL_LANDLOCK_SCOPE_ABSTRACT | KERNEL_LANDLOCK_SCOPE_SIGNAL},
    {5, ALL_FILES, 0},
    {3, ALL_FILES & ~(uint64_t) KERNEL_LANDLOCK_IOCTL_DEV, 0},
    {2, ALL_FILES & ~(uint64_t) (KERNEL_LANDLOCK_IOCTL_DEV | KERNEL_LANDLOCK_TRUNCATE), 0},
};
#define LEAST_ABI 2
#define BEST_ABI 6

static size_t ruleset_size(int abi)
{
    if (abi >= 6)
        return sizeof(struct kernel_landlock_ruleset);
    return abi >= 4 ? offsetof(struct kernel_landlock_ruleset, scoped)
                    : offsetof(struct kernel_landlock_ruleset, net);
}

static int create_ruleset(int abi, uint64_t *ret_handled)
{
    for (size_t i = 0; i < ARRAY_SIZE(abis); i++) {
        struct kernel_landlock_ruleset attr = {.fs = abis[i].fs, .scoped = abis[i].scoped};

        if (abi < abis[i].abi)
            continue;
        *ret_handled = attr.fs;
        return kernel_result(
            syscall(SYS_landlock_create_ruleset, &attr, ruleset_size(abis[i].abi), 0));
    }
    return -ENOSYS;
}

/* By call, not by number alone: a kernel was seen that claims an ABI and refuses its newest right.
 * Then one ABI less is tried. */
int native_landlock_abi(void)
{
    int abi = kernel_result(syscall(SYS_landlock_create_ruleset, NULL, 0, KERNEL_LANDLOCK_VERSION));

    for (; abi >= LEAST_ABI; abi--) {
        uint64_t handled;
        AUTO_CLOSE int fd = create_ruleset(abi, &handled);

        if (fd >= 0)
            return abi;
        if (abi > BEST_ABI)
            abi = BEST_ABI; /* newer ones ask for nothing more here */
    }
    return 0;
}

static int add_grant(int ruleset_fd, const struct native_grant *grant, uint64_t handled,
                     struct err *err)
{
    AUTO_CLOSE int fd = open(grant->path, O_PATH | O_CLOEXEC);
    struct kernel_landlock_path rule = {.access = right_access[grant->right] & handled, .fd = fd};
    struct stat status;

    if (fd < 0)
        return errno == ENOENT
                   ? 0 /* an optional rule whose object is not there */
                   : err_set(err, errno, "fence.landlock", "cannot open '%s' inside", grant->path);
    if (fstat(fd, &status) < 0)
        return err_set(err, errno, "fence.landlock", "cannot look at '%s' inside", grant->path);
    if (!S_ISDIR(status.st_mode))
        rule.access &= OF_A_FILE;
    if (syscall(SYS_landlock_add_rule, ruleset_fd, KERNEL_LANDLOCK_RULE_PATH, &rule, 0) < 0)
        return err_set(err, errno, "fence.landlock", "cannot add a Landlock rule for '%s'",
                       grant->path);
    return 0;
}

int native_landlock_enter(const struct native_plan *plan, struct err *err)
{
    uint64_t handled = 0;
    AUTO_CLOSE int ruleset_fd = -1;

    if (plan->landlock_abi == 0)
        return 0;
    ruleset_fd = create_ruleset(plan->landlock_abi, &handled);
    if (ruleset_fd < 0)
        return err_set(err, -ruleset_fd, "fence.landlock", "cannot make a Landlock ruleset");
    for (size_t i = 0; i < plan->grant_count; i++) {
        const int r = add_grant(ruleset_fd, &plan->grants[i], handled, err);

        if (r < 0)
            return r;
    }
    if (syscall(SYS_landlock_restrict_self, ruleset_fd, 0) < 0)
        return err_set(err, errno, "fence.landlock", "cannot enter the Landlock domain");
    return 0;
}
