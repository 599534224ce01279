/* The owner's patterns: what the guard is told of them for one pen. */
#include "derive_tree.h"

#define PROJECT "home/work/proj"

static void set_config(const struct world *world, const char *patterns)
{
    AUTO_FREE char *text = NULL;

    assert_true(asprintf(&text, "{\"filesystem\": {\"denyWrite\": [%s]}}", patterns) > 0);
    make_file(world, "home/.config/wattle/config.json", text, 0600);
}

static void run_with(struct world *world, const char *pattern, const char *also_written)
{
    const char *const patterns[] = {pattern, NULL};
    const struct derive_flag_path flag = {also_written, POLICY_WRITE};

    derive(world, &(struct derive_request){.deny_write = patterns,
                                           .paths = &flag,
                                           .path_count = also_written != NULL ? 1 : 0});
}

static const struct policy_guard_rule *the_rule(const struct world *world)
{
    assert_int_equal(policy_guard_rules(world->policy), 1);
    return policy_guard_rule_at(world->policy, 0);
}

/* Exactly what the guard is told, below the world's top. */
static void tells(struct world *world, const char *pattern, const char *const *wanted)
{
    AUTO_FREE char *full = at(world, pattern);
    size_t count = 0;

    run_with(world, full, NULL);
    for (; wanted[count] != NULL; count++)
        if (!guards(world, wanted[count]))
            fail_msg("'%s' does not become '%s'", pattern, wanted[count]);
    assert_int_equal(policy_guard_rules(world->policy), count);
    assert_int_equal(access_of(world, PROJECT), POLICY_WRITE);
}

static void relative_ones_go_to_the_guard_as_they_are(void **state)
{
    struct world *world = *state;

    run_with(world, "**/*.pem", NULL);
    assert_string_equal(the_rule(world)->text, "**/*.pem");
    assert_string_equal(the_rule(world)->why, "the rule '**/*.pem' of --deny-write");
    assert_int_equal(the_rule(world)->kind, POLICY_GUARD_PATTERN);
    assert_false(the_rule(world)->absolute);

    set_config(world, "\"docs/plan/**\"");
    derive(world, &(struct derive_request){0});
    assert_string_equal(the_rule(world)->text, "docs/plan");
    assert_string_equal(the_rule(world)->why, "the rule 'docs/plan/**' of config.json");
    assert_false(the_rule(world)->absolute);
}

static void those_of_the_administrator_are_absolute(void **state)
{
    struct world *world = *state;

    if (geteuid() != 0)
        SKIP_TEST("the file must be root's");
    make_file(world, "etc/config.json", "{\"filesystem\": {\"denyWrite\": [\"**/*.pem\"]}}", 0644);
    derive(world, &(struct derive_request){0});
    assert_true(the_rule(world)->absolute);
    assert_non_null(strstr(the_rule(world)->why, "/etc/wattle"));
}

static void of_an_absolute_one_the_pen_gets_what_is_left_there(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *pattern;
        const char *told[4];
    } cases[] = {
        {PROJECT "/*.pem", {PROJECT "/*.pem"}},
        {PROJECT "/no/such/*/x", {PROJECT "/no/such/*/x"}},
        {PROJECT "/docs/**", {PROJECT "/docs"}},
        {"home/**/*.pem", {PROJECT "/**/*.pem"}},
        {"home/*/PROJ/x?", {PROJECT "/x?"}},
        {"home/**/proj/x", {PROJECT "/**/proj/x", PROJECT "/x"}},
        {"home/**/work/**/x", {PROJECT "/**/work/**/x", PROJECT "/**/x"}},
        {"home/other*/**/x", {NULL}},
        {"other/*", {NULL}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        tells(world, cases[i].pattern, cases[i].told);
}

static void one_that_names_the_pen_or_a_folder_above_holds_it(void **state)
{
    static const char *const patterns[] = {"home/*/*", "home/w?rk", "home/work/**", PROJECT "/**"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        AUTO_FREE char *full = at(world, patterns[i]);

        run_with(world, full, NULL);
        assert_int_equal(policy_guard_rules(world->policy), 0);
        assert_int_equal(access_of(world, PROJECT "/a"), POLICY_READ);
    }
    run_with(world, "*", NULL);
    assert_int_equal(access_of(world, PROJECT "/a"), POLICY_WRITE);
}

static void a_single_file_that_is_opened_is_held_by_its_name(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *key = at(world, "home/data/key.pem");
    AUTO_FREE char *folder = at(world, "home/data");

    make_file(world, "home/data/key.pem", "", 0644);
    run_with(world, "**/*.pem", key);
    assert_int_equal(access_of(world, "home/data/key.pem"), POLICY_READ);
    run_with(world, "*.pem", key); /* that is from the top of a tree */
    assert_int_equal(access_of(world, "home/data/key.pem"), POLICY_WRITE);
    run_with(world, "**/*.key", key);
    assert_int_equal(access_of(world, "home/data/key.pem"), POLICY_WRITE);
    run_with(world, "**/data", folder);
    assert_int_equal(access_of(world, "home/data"), POLICY_WRITE);
}

static void the_place_is_meant_and_not_the_way_to_it(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *by_link = at(world, "home/link/*.pem");
    AUTO_FREE char *in_pen = at(world, PROJECT "/docs/*.pem");
    const char *const patterns[] = {in_pen, NULL};

    make_link(world, "home/link", "work/proj");
    run_with(world, by_link, NULL);
    assert_true(guards(world, PROJECT "/*.pem"));

    make_folder(world, PROJECT "/real");
    make_link(world, PROJECT "/docs", "real");
    refuse(world, &(struct derive_request){.deny_write = patterns}, "derive.path-steered");
}

static void a_path_without_a_star_is_held_as_it_is(void **state)
{
    const char *const paths[] = {"kept", NULL};
    struct world *world = *state;

    refuse(world, &(struct derive_request){.deny_write = paths}, "derive.path-hide-missing");
    assert_non_null(strstr(world->err.hint, "pattern"));
    make_folder(world, PROJECT "/kept");
    derive(world, &(struct derive_request){.deny_write = paths});
    assert_int_equal(access_of(world, PROJECT "/kept/x"), POLICY_READ);
    assert_int_equal(access_of(world, PROJECT "/x"), POLICY_WRITE);
    assert_int_equal(policy_guard_rules(world->policy), 0);
}

static void what_is_no_pattern_is_refused(void **state)
{
    static const char *const bad[] = {"~/*", "$HOME/*", "../*", "a[b]*", "/x/**/2/3/4/5/6/7/8/9"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        const char *const patterns[] = {bad[i], NULL};

        refuse(*state, &(struct derive_request){.deny_write = patterns}, "derive.pattern");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(relative_ones_go_to_the_guard_as_they_are),
        WORLD_TEST(those_of_the_administrator_are_absolute),
        WORLD_TEST(of_an_absolute_one_the_pen_gets_what_is_left_there),
        WORLD_TEST(one_that_names_the_pen_or_a_folder_above_holds_it),
        WORLD_TEST(a_single_file_that_is_opened_is_held_by_its_name),
        WORLD_TEST(the_place_is_meant_and_not_the_way_to_it),
        WORLD_TEST(a_path_without_a_star_is_held_as_it_is),
        WORLD_TEST(what_is_no_pattern_is_refused),
    };

    return RUN_WORLD_TESTS(tests);
}
