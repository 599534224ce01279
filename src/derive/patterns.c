/* The owner's patterns, of denyWrite and --deny-write. A relative one goes to the guard as it is,
 * which keeps it from the top of each writable tree. Of an absolute one each tree gets what is left
 * of it there: in the pen /home/u/pen that is "*.pem" of "/home/u/ **" "/ *.pem", and all of the
 * pen of "/home/u/p*". */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pattern {
    const char *written;
    const char *label; /* "--deny-write", or the file's name */
    enum policy_origin origin;
    char *top;  /* physical, what comes before the first '*' or '?' */
    char *glob; /* the rest, without "**" at its end */
    const char *parts[POLICY_PATTERN_PARTS_MAX + 1];
    size_t sizes[POLICY_PATTERN_PARTS_MAX + 1];
    size_t count;
};

static void pattern_free(struct pattern *pattern)
{
    free(pattern->top);
    free(pattern->glob);
}

/* ---- what is added ----------------------------------------------------------------------- */

static int add_text(const struct derivation *work, const struct pattern *pattern, char *text,
                    struct err *err)
{
    AUTO_FREE char *why = NULL;
    struct policy_guard_rule rule = {
        .kind = POLICY_GUARD_PATTERN,
        .text = text,
        .absolute = pattern->origin == POLICY_FROM_ADMIN,
    };

    if (asprintf(&why, "the rule '%s' of %s", pattern->written, pattern->label) < 0) {
        why = NULL; /* asprintf leaves it undefined */
        return err_memory(err);
    }
    rule.why = why;
    return policy_add_guard_rule(work->policy, &rule, err);
}

/* The pattern names the tree itself, or a folder above it. */
static int hold_tree(const struct derivation *work, const struct pattern *pattern, const char *tree,
                     struct err *err)
{
    const struct derive_rule rule = {
        .path = tree,
        .access = POLICY_READ,
        .origin = pattern->origin,
        .why = pattern->label,
        .optional = true,
        .hold = true,
    };

    return derive_rule_add(work, &rule, err);
}

/* ---- what is left of a pattern in a tree --------------------------------------------------- */

static bool is_deep(const struct pattern *pattern, size_t index)
{
    return pattern->sizes[index] == 2 && memcmp(pattern->parts[index], "**", 2) == 0;
}

/* Bit i: the first i parts are matched. "**" may stand for nothing. */
static unsigned with_nothing(const struct pattern *pattern, unsigned states)
{
    for (size_t i = 0; i < pattern->count; i++)
        if ((states >> i & 1u) != 0 && is_deep(pattern, i))
            states |= 2u << i;
    return states;
}

static unsigned step(const struct pattern *pattern, unsigned states, const char *name, size_t size)
{
    unsigned next = 0;

    for (size_t i = 0; i < pattern->count; i++) {
        if ((states >> i & 1u) == 0)
            continue;
        if (is_deep(pattern, i))
            next |= 1u << i;
        else if (str_glob_fits(pattern->parts[i], pattern->sizes[i], name, size))
            next |= 2u << i;
    }
    return with_nothing(pattern, next);
}

/* After the names of `rest`, "/a/b"; only the last bit when all of it was matched on the way. */
static unsigned walk(const struct pattern *pattern, const char *rest)
{
    const unsigned full = 1u << pattern->count;
    unsigned states = with_nothing(pattern, 1u);

    for (; *rest != '\0' && (states & full) == 0; rest += strcspn(rest, "/")) {
        rest += *rest == '/';
        states = step(pattern, states, rest, strcspn(rest, "/"));
    }
    return (states & full) != 0 ? full : states;
}

static int add_rest(const struct derivation *work, const struct pattern *pattern, const char *tree,
                    size_t index, struct err *err)
{
    AUTO_FREE char *text = path_join(tree, pattern->parts[index]);

    return text == NULL ? err_memory(err) : add_text(work, pattern, text, err);
}

/* `tree` lies in `top`, or is it. */
static int add_in_tree(const struct derivation *work, const struct pattern *pattern,
                       const char *tree, struct err *err)
{
    const size_t top_size = str_equal(pattern->top, "/") ? 0 : strlen(pattern->top);
    const unsigned states = walk(pattern, tree + top_size);
    int r = 0;

    if ((states >> pattern->count & 1u) != 0)
        return hold_tree(work, pattern, tree, err);
    for (size_t i = 0; r == 0 && i < pattern->count; i++) {
        const bool said = i > 0 && (states >> (i - 1) & 1u) != 0 && is_deep(pattern, i - 1);

        if ((states >> i & 1u) != 0 && !said)
            r = add_rest(work, pattern, tree, i, err);
    }
    return r;
}

static int add_absolute(const struct derivation *work, const struct pattern *pattern,
                        const struct derive_list *trees, struct err *err)
{
    AUTO_FREE char *whole = path_join(pattern->top, pattern->glob);
    int r = whole == NULL ? err_memory(err) : 0;

    for (size_t i = 0; r == 0 && i < trees->count; i++) {
        if (path_is_below(trees->items[i], pattern->top))
            r = add_in_tree(work, pattern, trees->items[i], err);
        else if (path_is_below(pattern->top, trees->items[i]))
            r = add_text(work, pattern, whole, err);
    }
    return r;
}

/* What begins with "**" fits any path, also that of a single file that was opened. */
static int hold_files(const struct derivation *work, const struct pattern *pattern,
                      const struct derive_list *trees, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < trees->count; i++) {
        struct stat seen;

        if (lstat(trees->items[i], &seen) == 0 && !S_ISDIR(seen.st_mode) &&
            walk(pattern, trees->items[i]) == 1u << pattern->count)
            r = hold_tree(work, pattern, trees->items[i], err);
    }
    return r;
}

/* ---- a pattern as it is written ------------------------------------------------------------ */

static void split(struct pattern *pattern)
{
    size_t size = strlen(pattern->glob);

    while (str_ends(pattern->glob, "/**") || str_equal(pattern->glob, "**")) {
        size = size > 3 ? size - 3 : 0;
        pattern->glob[size] = '\0';
    }
    for (const char *at = pattern->glob; *at != '\0'; at += *at == '/') {
        const size_t part = strcspn(at, "/");

        if (pattern->count > 0 && is_deep(pattern, pattern->count - 1) && part == 2 &&
            memcmp(at, "**", 2) == 0)
            pattern->count--; /* once is enough */
        pattern->parts[pattern->count] = at;
        pattern->sizes[pattern->count++] = part;
        at += part;
    }
}

/* The path `text` begins with, up to the first part with a '*' or '?'. */
static char *top_of(const char *text, const char **ret_glob)
{
    size_t size = strcspn(text, "*?");

    while (text[size - 1] != '/')
        size--;
    *ret_glob = text + size;
    return strndup(text, size > 1 ? size - 1 : 1);
}

/* Where the caller may not look no run of theirs can. */
static int find_top(struct derivation *work, struct pattern *pattern, const char *typed,
                    bool *ret_closed, struct err *err)
{
    struct err failure = {0};
    struct stat seen;
    bool exists;
    int r = derive_resolve_missing(typed, &pattern->top, &exists, &seen, &failure);

    *ret_closed = r == -EACCES;
    if (*ret_closed)
        return 0;
    if (r < 0) {
        *err = failure;
        return r;
    }
    if (str_equal(typed, pattern->top))
        return 0;
    return derive_way_add(work, pattern->label, typed, err);
}

static int add_pattern(struct derivation *work, struct pattern *pattern, const char *text,
                       const struct derive_list *trees, struct err *err)
{
    const bool absolute = text[0] == '/';
    const char *glob = text;
    AUTO_FREE char *typed = absolute ? top_of(text, &glob) : strdup("");
    bool closed = false;
    int r = typed == NULL ? err_memory(err) : 0;

    pattern->written = text;
    if (r == 0 && absolute)
        r = find_top(work, pattern, typed, &closed, err);
    if (r < 0 || closed)
        return r;
    pattern->glob = strdup(glob);
    if (pattern->glob == NULL)
        return err_memory(err);
    split(pattern);
    if (absolute)
        return add_absolute(work, pattern, trees, err);
    r = add_text(work, pattern, pattern->glob, err);
    return r == 0 && str_starts(text, "**/") ? hold_files(work, pattern, trees, err) : r;
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool lies_in_one(const struct derive_list *trees, const char *path)
{
    for (size_t i = 0; i < trees->count; i++)
        if (path_is_below(path, trees->items[i]))
            return true;
    return false;
}

/* Rules are sorted: what is around comes before what lies in it, and speaks for it. */
static int list_trees(const struct derivation *work, struct derive_list *trees, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy_rules(work->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(work->policy, i);

        if (!rule->hold && policy_resolve(work->policy, rule->path, NULL) == POLICY_WRITE &&
            !lies_in_one(trees, rule->path))
            r = derive_list_add(trees, rule->path, err);
    }
    return r;
}

static int refuse_pattern(const char *text, const char *fault, struct err *err)
{
    (void) err_set(err, EINVAL, "derive.pattern", "%s: the pattern '%s' %s", derive_deny_write,
                   text, fault);
    return err_hint(err, "%s", policy_pattern_hint);
}

static int add_flags(struct derivation *work, const struct derive_list *trees, struct err *err)
{
    const char *const *typed = work->request->deny_write;
    int r = 0;

    for (size_t i = 0; r == 0 && typed != NULL && typed[i] != NULL; i++) {
        const char *fault = policy_pattern_fault(typed[i]);
        AUTO(pattern_free)
        struct pattern pattern = {.label = derive_deny_write, .origin = POLICY_FROM_FLAG};

        if (!policy_is_pattern(typed[i]))
            continue;
        r = fault != NULL ? refuse_pattern(typed[i], fault, err)
                          : add_pattern(work, &pattern, typed[i], trees, err);
    }
    return r;
}

static int add_settings(struct derivation *work, const struct settings *settings, const char *name,
                        const struct derive_list *trees, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && settings != NULL && i < settings->pattern_count; i++) {
        AUTO(pattern_free)
        struct pattern pattern = {
            .label = name,
            .origin = settings == work->admin ? POLICY_FROM_ADMIN : POLICY_FROM_OWNER,
        };

        r = add_pattern(work, &pattern, settings->patterns[i], trees, err);
    }
    return r;
}

int derive_patterns_add(struct derivation *work, struct err *err)
{
    AUTO(derive_list_free) struct derive_list trees = {0};
    int r = list_trees(work, &trees, err);

    if (r == 0)
        r = add_flags(work, &trees, err);
    for (size_t i = 0; r == 0 && i < work->settings_count; i++)
        r = add_settings(work, work->settings[i], work->settings_names.items[i], &trees, err);
    return r < 0 ? r : add_settings(work, work->admin, derive_admin, &trees, err);
}
