/* The guarded names a policy adds to the table of fence/guard/names.c. */
#include "base/cleanup.h"
#include "policy/policy_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void policy_set_guard(struct policy *policy, enum policy_guard guard)
{
    policy->guard = guard;
}

enum policy_guard policy_get_guard(const struct policy *policy)
{
    return policy->guard;
}

void policy_guard_rule_free(struct policy_guard_rule *rule)
{
    free(rule->text);
    free(rule->why);
}

int policy_add_guard_rule(struct policy *policy, const struct policy_guard_rule *rule,
                          struct err *err)
{
    struct policy_guard_rule copy = {.kind = rule->kind, .absolute = rule->absolute};
    const bool is_path = rule->kind == POLICY_GUARD_HELD || rule->kind == POLICY_GUARD_GIT_FOLDER;
    int r = is_path ? policy_check_path_below_root(rule->text, "guarded name", err) : 0;

    if (r == 0 && rule->text[0] == '\0')
        return err_set(err, EINVAL, "policy.guard", "an empty pattern guards nothing");
    if (r == 0)
        r = list_reserve(&policy->guard_rules, "guarded names", err);
    if (r < 0)
        return r;
    copy.text = strdup(rule->text);
    copy.why = strdup(rule->why);
    if (copy.text == NULL || copy.why == NULL) {
        policy_guard_rule_free(&copy);
        return err_memory(err);
    }
    list_insert(&policy->guard_rules, policy->guard_rules.count, &copy);
    return 0;
}

size_t policy_guard_rules(const struct policy *policy)
{
    return policy->guard_rules.count;
}

const struct policy_guard_rule *policy_guard_rule_at(const struct policy *policy, size_t index)
{
    return list_at(&policy->guard_rules, index);
}
