/* Rules and the resolver. See policy.h for what the rules mean.
 *
 * One path has at most one plain rule and one that holds; the plain one stands first. They are kept
 * apart because they say different things: the plain one opens or hides, the other only takes
 * writing away, and merging must give the same answer in whatever order rules arrive. */
#include "base/path.h"
#include "policy/policy_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void policy_rule_free(struct policy_rule *rule)
{
    free(rule->path);
    free(rule->why);
    *rule = (struct policy_rule){0};
}

static bool origin_is_absolute(enum policy_origin origin)
{
    return origin == POLICY_FROM_ADMIN || origin == POLICY_FROM_OWN;
}

static int rule_check(const struct policy_rule *rule, struct err *err)
{
    int r = policy_check_path_below_root(rule->path, "rule", err);

    if (r < 0)
        return r;
    if (origin_is_absolute(rule->origin) && !rule->hold && rule->access != POLICY_HIDE)
        return err_set(err, EINVAL, "policy.absolute",
                       "a rule from '%s' can only hide or hold, but '%s' is opened",
                       policy_origin_name(rule->origin), rule->path);
    return 0;
}

static int rule_copy(const struct policy_rule *rule, struct policy_rule *ret_copy, struct err *err)
{
    struct policy_rule copy = *rule;

    copy.path = strdup(rule->path);
    copy.why = strdup(rule->why == NULL ? "" : rule->why);
    if (rule->hold)
        copy.access = POLICY_READ; /* the most it leaves; it opens nothing */
    if (copy.path == NULL || copy.why == NULL) {
        policy_rule_free(&copy);
        return err_memory(err);
    }
    *ret_copy = copy;
    return 0;
}

/* Which of two rules of one kind at one path is kept; the first comer on a draw. */
static int rule_strength(const struct policy_rule *rule)
{
    static const int by_access[] = {
        [POLICY_READ] = 0,
        [POLICY_WRITE] = 1,
        [POLICY_HIDE] = 2,
    };

    return origin_is_absolute(rule->origin) ? 3 : by_access[rule->access];
}

/* Takes `newer` over or frees it. */
static void rule_merge(struct policy_rule *rule, struct policy_rule *newer)
{
    struct policy_rule loser = *newer;

    if (rule_strength(newer) > rule_strength(rule)) {
        loser = *rule;
        *rule = *newer;
    }
    rule->optional = rule->optional && loser.optional; /* somebody insists that it is there */
    if (rule->dev == 0 && rule->inode == 0) {
        rule->dev = loser.dev;
        rule->inode = loser.inode;
    }
    policy_rule_free(&loser);
}

static int rule_compare(const void *item, const struct path_key *key)
{
    const struct policy_rule *rule = item;
    int order = path_compare(rule->path, key);

    return order != 0 ? order : (int) rule->hold - (int) key->hold;
}

int policy_add_rule(struct policy *policy, const struct policy_rule *rule, struct err *err)
{
    struct policy_rule copy = {0};
    struct path_key key = {0};
    bool found = false;
    size_t index = 0;
    int r = rule_check(rule, err);

    if (r < 0)
        return r;
    r = list_reserve(&policy->rules, "rules", err);
    if (r < 0)
        return r;
    r = rule_copy(rule, &copy, err);
    if (r < 0)
        return r;
    key = (struct path_key){rule->path, strlen(rule->path), rule->hold};
    index = list_search(&policy->rules, &key, rule_compare, &found);
    if (found)
        rule_merge(list_at(&policy->rules, index), &copy);
    else
        list_insert(&policy->rules, index, &copy);
    return 0;
}

size_t policy_rules(const struct policy *policy)
{
    return policy->rules.count;
}

const struct policy_rule *policy_rule_at(const struct policy *policy, size_t index)
{
    return list_at(&policy->rules, index);
}

/* ---- the resolver ------------------------------------------------------------------------ */

static const struct policy_rule *rule_find(const struct policy *policy, const char *path,
                                           size_t size, bool hold)
{
    const struct path_key key = {path, size, hold};
    bool found = false;
    size_t index = list_search(&policy->rules, &key, rule_compare, &found);

    return found ? list_at(&policy->rules, index) : NULL;
}

/* Length of the folder that holds the first `size` bytes of `path`; 0 for what lies in "/". */
static size_t parent_size(const char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/')
        size--;
    return size > 0 ? size - 1 : 0;
}

/* The rules that matter for one path, met on the way from it up to "/". */
struct way_up {
    const struct policy_rule *plain;  /* nearest */
    const struct policy_rule *hold;   /* at or below `plain`, or absolute */
    const struct policy_rule *hidden; /* absolute */
};

static void way_up_visit(const struct policy *policy, const char *path, size_t size,
                         struct way_up *way)
{
    const struct policy_rule *hold = rule_find(policy, path, size, true);
    const struct policy_rule *plain = rule_find(policy, path, size, false);

    if (hold != NULL && way->hold == NULL &&
        (way->plain == NULL || origin_is_absolute(hold->origin)))
        way->hold = hold;
    if (plain == NULL)
        return;
    if (origin_is_absolute(plain->origin))
        way->hidden = plain;
    if (way->plain == NULL)
        way->plain = plain;
}

enum policy_access policy_resolve(const struct policy *policy, const char *path,
                                  const struct policy_rule **ret_rule)
{
    struct way_up way = {0};
    const struct policy_rule *rule = NULL;

    if (path_is_clean(path))
        for (size_t size = strlen(path); size > 0; size = parent_size(path, size))
            way_up_visit(policy, path, size, &way);
    if (way.hidden != NULL)
        rule = way.hidden;
    else if (way.plain != NULL && way.plain->access == POLICY_WRITE && way.hold != NULL)
        rule = way.hold;
    else
        rule = way.plain;
    if (ret_rule != NULL)
        *ret_rule = rule;
    return rule == NULL ? POLICY_HIDE : rule->access;
}
