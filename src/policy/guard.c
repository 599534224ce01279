/* The guarded names a policy adds to the table of fence/guard/names.c. */
#include "base/cleanup.h"
#include "policy/policy_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- the owner's patterns ------------------------------------------------------------------ */

const char policy_pattern_hint[] =
    "write names and '/', with '*', '?', and '**' for any number of folders, at most 8 parts; no "
    "'.', '..', '[' or '\\', and no variable";

bool policy_is_pattern(const char *text)
{
    return strpbrk(text, "*?") != NULL;
}

static const char *part_fault(const char *part, size_t size)
{
    if (size == 0)
        return "has an empty part";
    if (size > NAME_MAX)
        return "has a part that is too long for a name";
    if (part[0] == '.' && (size == 1 || (size == 2 && part[1] == '.')))
        return "has a '.' or '..' in it";
    if (part[0] == '!')
        return "has a part that begins with '!'";
    if (memchr(part, '[', size) != NULL || memchr(part, '\\', size) != NULL)
        return "has a '[' or '\\' in it";
    return NULL;
}

const char *policy_pattern_fault(const char *pattern)
{
    const bool absolute = pattern[0] == '/';
    bool names = false;
    size_t parts = 0; /* what leads to an absolute one's first '*' or '?' is a path, and free */

    if (pattern[0] == '\0')
        return "is empty";
    if (pattern[0] == '~' || pattern[0] == '$')
        return "begins with what only a shell expands";
    if (strlen(pattern) >= PATH_MAX)
        return "is too long";
    for (const char *at = pattern + absolute;; at++) {
        const size_t size = strcspn(at, "/");
        const bool deep = size == 2 && memcmp(at, "**", 2) == 0;
        const char *fault = part_fault(at, size);

        if (fault != NULL)
            return fault;
        names = names || !deep;
        parts += parts > 0 || (absolute ? strcspn(at, "*?") < size : !deep);
        at += size;
        if (*at == '\0')
            break;
    }
    if (!names)
        return "names everything";
    return parts > POLICY_PATTERN_PARTS_MAX ? "has more than 8 parts" : NULL;
}

/* ---- what a policy has --------------------------------------------------------------------- */

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
