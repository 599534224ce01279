/* Rules and zones that come to those of the table. */
#include "fence/guard/match_priv.h"
#include "guard_pen.h"

/* ---- what is added ------------------------------------------------------------------------- */

static void takes_patterns_of_the_owner(void **state)
{
    struct err err = {0};

    assert_int_equal(guard_rules_add_pattern(*state, "**/*.pem", "your keys", &err), 0);
    assert_int_equal(guard_rules_add_pattern(*state, "docs/plan/", "your plan", &err), 0);
    assert_int_equal(guard_rules_add_pattern(*state, PEN "/a/**/z?", "yours", &err), 0);
    assert_int_equal(guard_rules_add_pattern(*state, "./top/**", "yours", &err), 0);
    assert_int_equal(level(state, "k.pem"), GUARD_DENY);
    assert_int_equal(level(state, "a/b/K.PEM"), GUARD_DENY);
    assert_int_equal(level(state, "b/k.pem2"), GUARD_NO);
    assert_int_equal(level(state, "docs"), GUARD_PARTIAL);
    assert_int_equal(level(state, "docs/plan"), GUARD_DENY);
    assert_int_equal(level(state, "docs/plan/x/y"), GUARD_DENY);
    assert_int_equal(level(state, "x/docs/plan"), GUARD_NO);
    assert_int_equal(level(state, "a/z1"), GUARD_DENY);
    assert_int_equal(level(state, "a/b/c/z1/x"), GUARD_DENY);
    assert_int_equal(level(state, "a/b"), GUARD_PARTIAL);
    assert_int_equal(level(state, "top"), GUARD_DENY);
    assert_string_equal(guard_rule_reason(*state, classify(*state, "k.pem", no).rule), "your keys");
    assert_int_equal(level(state, ".git/hooks/x"), GUARD_DENY);
}

static void an_absolute_pattern_holds_in_its_tree_alone(void **state)
{
    struct err err = {0};

    assert_int_equal(guard_rules_add_zone(*state, "/srv/x", false, &err), 0);
    assert_int_equal(guard_rules_add_zone(*state, "/srv/x/in", false, &err), 0);
    assert_int_equal(guard_rules_add_pattern(*state, "/srv/x/**/*.pem", "yours", &err), 0);
    assert_int_equal(guard_rules_add_pattern(*state, "/srv/x/in/**/*.key", "yours", &err), 0);
    assert_int_equal(level(state, "/srv/x/a.pem"), GUARD_DENY);
    assert_int_equal(level(state, "/srv/x/in/b/a.pem"), GUARD_DENY);
    assert_int_equal(level(state, "/srv/x/b"), GUARD_NO);
    assert_int_equal(level(state, "a.pem"), GUARD_NO);
    /* Seen from the zone around, so that no folder is moved into its reach unseen. */
    assert_int_equal(level(state, "/srv/x/in/b/a.key"), GUARD_DENY);
    assert_int_equal(level(state, "/srv/x/in/b"), GUARD_PARTIAL);
    assert_int_equal(level(state, "/srv/x/a.key"), GUARD_NO);
}

static void refuses_what_is_no_pattern(void **state)
{
    static const char *const bad[] = {"",       "/",    "**",   "**/",
                                      "a/../b", "[ab]", "a\\b", "a//b",
                                      "/etc/x", PEN,    "!*",   "a/b/c/d/e/f/g/h/i"};
    const size_t before = guard_rules_count(*state);

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};

        assert_int_equal(guard_rules_add_pattern(*state, bad[i], "why", &err), -EINVAL);
        assert_string_equal(err.id, "guard.pattern");
        assert_int_equal(guard_rules_count(*state), before);
    }
}

static void holds_what_was_found_at_the_start(void **state)
{
    struct err err = {0};

    assert_int_equal(guard_rules_add_held(*state, PEN "/a/b/c/d/e/f/g/h/i/j", "hooks", &err), 0);
    assert_int_equal(guard_rules_add_held(*state, "/elsewhere", "hooks", &err), 0);
    assert_int_equal(level(state, "a"), GUARD_PARTIAL);
    assert_int_equal(level(state, "a/b/c/d/e/f/g/h/i"), GUARD_PARTIAL);
    assert_int_equal(level(state, "a/b/c/d/e/f/g/h/i/j"), GUARD_DENY);
    assert_int_equal(level(state, "a/b/c/d/e/f/g/h/i/j/k/l"), GUARD_DENY);
    assert_int_equal(level(state, "A/B/C/D/E/F/G/H/I/J"), GUARD_DENY);
    assert_int_equal(level(state, "a/c"), GUARD_NO);
    assert_int_equal(level(state, "aa"), GUARD_NO);
    assert_int_equal(level(state, "x/a/b"), GUARD_NO);
}

static void knows_git_folders_of_other_names(void **state)
{
    struct err err = {0};
    struct guard_class class;

    assert_int_equal(guard_rules_add_git_folder(*state, PEN "/srv/r.git", &err), 0);
    assert_int_equal(level(state, "srv"), GUARD_PARTIAL);
    assert_int_equal(level(state, "srv/r.git"), GUARD_DENY);
    assert_int_equal(level(state, "srv/r.git/hooks/update"), GUARD_DENY);
    assert_int_equal(level(state, "srv/r.git/worktrees/w/gitdir"), GUARD_DENY);
    assert_int_equal(level(state, "srv/r.git/refs/heads/x"), GUARD_NO);
    class = classify(*state, "srv/r.git/config", no);
    assert_int_equal(class.vet, GUARD_VET_CONFIG);
    assert_true(class.in_git);
    assert_false(classify(*state, "srv/r.git/HEAD", no).bare);
    assert_true(classify(*state, "srv/HEAD", no).bare);
}

static void a_zone_may_be_a_git_folder(void **state)
{
    struct err err = {0};

    assert_int_equal(guard_rules_add_zone(*state, "/home/ann/main/.git", false, &err), 0);
    assert_int_equal(guard_rules_add_git_folder(*state, "/home/ann/main/.git", &err), 0);
    assert_int_equal(level(state, "/home/ann/main/.git/hooks/x"), GUARD_DENY);
    assert_int_equal(level(state, "/home/ann/main/.git/worktrees/w/commondir"), GUARD_DENY);
    assert_int_equal(level(state, "/home/ann/main/.git/HEAD"), GUARD_NO);
    assert_false(classify(*state, "/home/ann/main/.git/HEAD", no).bare);
    assert_true(classify(*state, "/home/ann/main/.git/HEAD", no).in_git);
    assert_true(classify(*state, "/home/ann/main/.git/logs/x", no).in_git);
    assert_int_equal(level(state, "hooks/x"), GUARD_NO);
}

static void a_zone_in_a_folder_that_counts_goes_on_with_it(void **state)
{
    static const struct {
        const char *zone, *name;
        enum guard_level level;
    } cases[] = {
        {"/z1/.git", "hooks/pre-commit", GUARD_DENY},
        {"/z2/.GIT", "config", GUARD_DENY},
        {"/z3/.git/hooks", "pre-commit", GUARD_DENY},
        {"/z4/.git/modules", "m/hooks/x", GUARD_DENY},
        {"/z5/.hg", "hgrc", GUARD_DENY},
        {"/z6/.claude", "settings.json", GUARD_DENY},
        {"/z7/.claude/worktrees/w", "settings.json", GUARD_NO},
        {"/z8/.cursor/worktrees/w", "file", GUARD_NO},
        {"/z9/.cursor/worktrees/w", ".cursor", GUARD_DENY},
        {"/z10/.git/objects", "hooks/x", GUARD_NO},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_FREE char *path = NULL;
        struct err err = {0};

        assert_int_equal(guard_rules_add_zone(*state, cases[i].zone, false, &err), 0);
        assert_true(asprintf(&path, "%s/%s", cases[i].zone, cases[i].name) > 0);
        assert_int_equal(level(state, path), cases[i].level);
    }
}

static void zones_may_lie_in_each_other(void **state)
{
    struct err err = {0};
    const char *rest = NULL;

    assert_int_equal(guard_rules_add_zone(*state, PEN "/in/ner", false, &err), 0);
    assert_int_equal(level(state, "in/ner/.envrc"), GUARD_DENY);
    assert_int_equal(level(state, "in/.envrc"), GUARD_NO);
    assert_int_equal(guard_rules_zone(*state, PEN "/in/ner/x/y", &rest), 1);
    assert_string_equal(rest, "x/y");
    assert_int_equal(guard_rules_zone(*state, PEN, &rest), 0);
    assert_string_equal(rest, "");
    assert_int_equal(guard_rules_zone(*state, "/home/ann", &rest), -1);
}

static void has_bounds(void **state)
{
    struct err err = {0};
    int r = 0;

    for (unsigned i = 0; r == 0 && i <= GUARD_ZONES_MAX; i++)
        r = guard_rules_add_zone(*state, "/z", false, &err);
    assert_int_equal(r, -E2BIG);
    assert_string_equal(err.id, "guard.too-many");
    r = 0;
    for (unsigned i = 0; r == 0 && i <= GUARD_RULES_MAX; i++)
        r = guard_rules_add_held(*state, PEN "/x", "why", &err);
    assert_int_equal(r, -E2BIG);
    assert_int_equal(guard_rules_add_zone(*state, "/", false, &err), -EINVAL);
    assert_int_equal(guard_rules_add_zone(*state, "relative", false, &err), -EINVAL);
}

/* ---- other spellings ----------------------------------------------------------------------- */

static void sees_through_other_spellings(void **state)
{
    static const char *const denied[] = {
        "/v/GIT~1",
        "/v/.git.",
        "/v/.git ",
        "/v/.git/config. .",
        "/v/.git::$DATA",
        "/v/.git/hooks:x",
        "/v/ENVRC~1",
        "/v/.g\xe2\x80\x8cit",
        "/v/.en\xc4\xb1vrc",
        "/v/.git/con\xef\xac\x81g",
        "/v/.mcp.js\xe2\x80\x8bon",
        "/v/.git/HOOKS~12",
        "/v/a\\b",
    };
    static const char *const free_names[] = {
        "/v/\xe6\x97\xa5\xe6\x9c\xac.txt",
        "/v/caf\xc3\xa9",
        "/v/a~b",
        "/v/notes.txt~",
        "/v/x.~1~",
        "/v/long-name-here~1",
        "/v/.gitx",
        "/v/src/config.",
    };
    struct err err = {0};

    assert_int_equal(guard_rules_add_zone(*state, "/v", true, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
        assert_int_equal(level(state, denied[i]), GUARD_DENY);
    for (size_t i = 0; i < ARRAY_SIZE(free_names); i++)
        assert_int_equal(level(state, free_names[i]), GUARD_NO);
    assert_true(classify(*state, "/v/x/head.", no).bare);
    assert_int_equal(level(state, "GIT~1"), GUARD_NO); /* the pen knows no such thing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RULES(takes_patterns_of_the_owner),
        WITH_RULES(an_absolute_pattern_holds_in_its_tree_alone),
        WITH_RULES(refuses_what_is_no_pattern),
        WITH_RULES(holds_what_was_found_at_the_start),
        WITH_RULES(knows_git_folders_of_other_names),
        WITH_RULES(a_zone_may_be_a_git_folder),
        WITH_RULES(a_zone_in_a_folder_that_counts_goes_on_with_it),
        WITH_RULES(zones_may_lie_in_each_other),
        WITH_RULES(has_bounds),
        WITH_RULES(sees_through_other_spellings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
