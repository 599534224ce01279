/* What a guard guards, whatever the mechanism: the table's names in every tree of the host that the
 * job may write, and what the policy adds. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "fence/fence.h"
#include "fence/guard/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

/* File systems where a name has other spellings than those that differ in ASCII case. */
static bool has_aliases(const char *path)
{
    static const uint32_t types[] = {
        MSDOS_SUPER_MAGIC, 0x2011bab0, /* exfat */
        0x5346544e,                    /* ntfs */
        0x7366746e,                    /* ntfs3 */
        0xff534d42,                    /* cifs */
        0xfe534d42,                    /* smb2 */
    };
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    struct statfs status;
    unsigned flags = 0;

    if (fd < 0 || fstatfs(fd, &status) < 0)
        return false; /* nothing is made in it by name; the fence says what is wrong with it */
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if ((uint32_t) status.f_type == types[i])
            return true;
    }
    return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0;
}

static int add_zones(const struct policy *policy, struct guard_rules *rules, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy_rules(policy); i++) {
        const struct policy_rule *rule = policy_rule_at(policy, i);

        if (rule->hold || policy_resolve(policy, rule->path, NULL) != POLICY_WRITE)
            continue;
        r = guard_rules_add_zone(rules, rule->path, has_aliases(rule->path), err);
        if (r == 0 && rule->origin == POLICY_FROM_GIT)
            r = guard_rules_add_git_folder(rules, rule->path, err);
    }
    return r;
}

static int add_rule(const struct policy_guard_rule *rule, struct guard_rules *rules,
                    struct err *err)
{
    switch (rule->kind) {
    case POLICY_GUARD_PATTERN:
        return guard_rules_add_pattern(rules, rule->text, rule->why, err);
    case POLICY_GUARD_HELD:
        return guard_rules_add_held(rules, rule->text, rule->why, err);
    case POLICY_GUARD_GIT_FOLDER:
        return guard_rules_add_git_folder(rules, rule->text, err);
    case POLICY_GUARD_AT_TOPS:
        return guard_rules_add_at_tops(rules, rule->text, rule->why, err);
    }
    return err_set(err, EINVAL, "fence.guard-rule", "an unknown kind of guarded name");
}

int fence_guard_rules(const struct policy *policy, struct guard_rules **ret_rules, struct err *err)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = guard_rules_new();
    int r;

    if (rules == NULL)
        return err_memory(err);
    r = add_zones(policy, rules, err);
    for (size_t i = 0; r == 0 && i < policy_guard_rules(policy); i++)
        r = add_rule(policy_guard_rule_at(policy, i), rules, err);
    if (r == 0)
        *ret_rules = TAKE_PTR(rules);
    return r;
}
