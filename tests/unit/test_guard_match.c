/* The guard's rules against a matcher that is slow, recursive and obvious. */
#include "base/cleanup.h"
#include "cm.h"
#include "fence/guard/rules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PEN "/home/ann/pen"

static int make(void **state)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = guard_rules_new();
    struct err err = {0};

    if (rules == NULL || guard_rules_add_zone(rules, PEN, false, &err) < 0)
        return -1;
    *state = TAKE_PTR(rules);
    return 0;
}

static int unmake(void **state)
{
    struct guard_rules *rules = *state;

    guard_rules_freep(&rules);
    return 0;
}

/* ---- a slow and obvious matcher ------------------------------------------------------------ */

#define DEPTH_MAX 9

struct words {
    const char *words[DEPTH_MAX];
    size_t count;
};

static bool word_fits(const char *pattern, const char *word)
{
    if (strcmp(pattern, "*") == 0)
        return true;
    if (pattern[0] == '!')
        return strcasecmp(pattern + 1, word) != 0;
    if (pattern[0] == '*') /* "*.pem" */
        return strlen(word) >= strlen(pattern) - 1 &&
               strcasecmp(word + strlen(word) - strlen(pattern) + 1, pattern + 1) == 0;
    return strcasecmp(pattern, word) == 0;
}

/* `whole`: the pattern to its end, with whatever may be below it; else any beginning of it. */
static bool slow_fits(struct words pattern, struct words path, bool whole, bool below)
{
    struct words rest = {.count = 0};
    struct words shorter = {.count = 0};

    if (pattern.count == 0)
        return whole && (below || path.count == 0);
    if (path.count == 0)
        return !whole;
    rest.count = pattern.count - 1;
    memcpy(rest.words, pattern.words + 1, sizeof rest.words - sizeof rest.words[0]);
    shorter.count = path.count - 1;
    memcpy(shorter.words, path.words + 1, sizeof shorter.words - sizeof shorter.words[0]);
    if (strcmp(pattern.words[0], "**") == 0)
        return slow_fits(rest, path, whole, below) || slow_fits(pattern, shorter, whole, below);
    return word_fits(pattern.words[0], path.words[0]) && slow_fits(rest, shorter, whole, below);
}

struct slow_rule {
    const char *pattern;
    bool anchored, at_tops;
};

static struct words split(const char *text, char *copy, size_t size)
{
    struct words words = {.count = 0};

    assert_true(strlen(text) < size);
    memcpy(copy, text, strlen(text) + 1);
    for (char *at = copy; *at != '\0';) {
        char *end = at + strcspn(at, "/");

        words.words[words.count++] = at;
        at = end + (*end == '/');
        *end = '\0';
    }
    return words;
}

/* A folder holds a repository if this says so: by depth. */
static bool slow_holds(size_t depth)
{
    return depth % 3 == 0;
}

static bool ask_slowly(void *context, unsigned up)
{
    return slow_holds(*(const size_t *) context - up);
}

static enum guard_level slow_level(const struct slow_rule *rule, struct words path)
{
    char copy[128];
    const struct words pattern = split(rule->pattern, copy, sizeof copy);
    const bool below = strcmp(rule->pattern, ".git") != 0 && strcmp(rule->pattern, "a/r.git") != 0;
    enum guard_level found = GUARD_NO;

    for (size_t start = 0; start < path.count; start++) {
        struct words rest = {.count = path.count - start};

        memcpy(rest.words, path.words + start, rest.count * sizeof rest.words[0]);
        if ((rule->anchored && start > 0) || (rule->at_tops && start > 0 && !slow_holds(start)))
            continue;
        if (slow_fits(pattern, rest, true, below))
            return GUARD_DENY;
        if (slow_fits(pattern, rest, false, below))
            found = GUARD_PARTIAL;
    }
    return found;
}

static enum guard_level slowest(const struct slow_rule *rules, size_t count, struct words path)
{
    enum guard_level found = GUARD_NO;

    for (size_t i = 0; i < count; i++) {
        const enum guard_level one = slow_level(&rules[i], path);

        found = one > found ? one : found;
    }
    return found;
}

static size_t add_slow_rules(struct slow_rule *rules, char (*texts)[64])
{
    size_t count = 0;

    for (size_t i = 0; i < guard_names_count(); i++) {
        rules[count++] = (struct slow_rule){
            .pattern = guard_names[i].pattern,
            .at_tops = guard_names[i].scope == GUARD_AT_TOPS,
        };
    }
    rules[count++] = (struct slow_rule){.pattern = "*.pem"};
    rules[count++] = (struct slow_rule){.pattern = "a/**/docs", .anchored = true};
    rules[count++] = (struct slow_rule){.pattern = "x/hooks", .anchored = true};
    for (size_t i = 0; i < guard_names_count(); i++) {
        if (!guard_names[i].is_git)
            continue;
        (void) snprintf(texts[i], sizeof texts[i], "a/r.git%s", guard_names[i].pattern + 4);
        rules[count++] = (struct slow_rule){.pattern = texts[i], .anchored = true};
    }
    return count;
}

static void add_same_rules(struct guard_rules *rules)
{
    struct err err = {0};

    assert_int_equal(guard_rules_add_pattern(rules, "**/*.pem", "why", &err), 0);
    assert_int_equal(guard_rules_add_pattern(rules, "a/**/docs", "why", &err), 0);
    assert_int_equal(guard_rules_add_held(rules, PEN "/x/hooks", "why", &err), 0);
    assert_int_equal(guard_rules_add_git_folder(rules, PEN "/a/r.git", &err), 0);
}

static struct words random_path(uint64_t *seed, char *parent, size_t size)
{
    static const char *const words[] = {
        ".git",  "hooks",      "config",        "modules",   "worktrees",  "x",
        "a",     ".claude",    "settings.json", ".vscode",   "tasks.json", ".husky",
        "_",     "pre-commit", ".GIT",          "Hooks",     "docs",       "k.pem",
        "r.git", ".codex",     "gitdir",        "commondir", "branches"};
    struct words path = {.count = 0};
    size_t at = (size_t) snprintf(parent, size, "%s", PEN);

    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    path.count = 1 + (*seed >> 60) % (DEPTH_MAX - 1);
    for (size_t i = 0; i < path.count; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        path.words[i] = words[(*seed >> 33) % ARRAY_SIZE(words)];
        if (i + 1 < path.count)
            at += (size_t) snprintf(parent + at, size - at, "/%s", path.words[i]);
    }
    return path;
}

static void agrees_with_a_slow_matcher(void **state)
{
    struct slow_rule slow[256];
    char texts[128][64];
    size_t count = add_slow_rules(slow, texts);
    uint64_t seed = 7;
    unsigned seen[3] = {0};

    add_same_rules(*state);
    for (unsigned i = 0; i < 20000; i++) {
        char parent[512];
        const struct words path = random_path(&seed, parent, sizeof parent);
        size_t depth = path.count - 1;
        const struct guard_ask ask = {.holds_git = ask_slowly, .context = &depth};
        struct guard_class class;

        guard_classify(*state, parent, path.words[depth], &ask, &class);
        if (class.level != slowest(slow, count, path))
            fail_msg("%s/%s is %u", parent, path.words[depth], (unsigned) class.level);
        seen[class.level]++;
    }
    assert_true(seen[GUARD_NO] > 1000 && seen[GUARD_PARTIAL] > 1000 && seen[GUARD_DENY] > 1000);
}

/* What a tree holds where it goes is guarded there once it has gone. */
static void a_step_finds_no_more_than_the_whole_path(void **state)
{
    uint64_t seed = 11;

    add_same_rules(*state);
    for (unsigned i = 0; i < 20000; i++) {
        char parent[512];
        const struct words path = random_path(&seed, parent, sizeof parent);
        const char *name = path.words[path.count - 1];
        struct guard_class folder;
        struct guard_class step;
        struct guard_class whole;
        char *slash = strrchr(parent, '/');

        guard_classify(*state, parent, name, NULL, &whole);
        if (path.count == 1)
            continue;
        *slash = '\0';
        guard_classify(*state, parent, slash + 1, NULL, &folder);
        guard_class_step(*state, &folder, name, &step);
        assert_true(step.level <= whole.level);
        if (name[0] != '.' && strstr(name, ".pem") == NULL)
            assert_int_equal(step.level, whole.level);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agrees_with_a_slow_matcher, make, unmake),
        cmocka_unit_test_setup_teardown(a_step_finds_no_more_than_the_whole_path, make, unmake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
