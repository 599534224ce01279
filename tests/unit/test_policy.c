#include "base/cleanup.h"
#include "cm.h"
#include "policy/policy.h"

#include <errno.h>
#include <string.h>

static int make_policy(void **state)
{
    *state = policy_new();
    return *state == NULL ? -1 : 0;
}

static int free_policy(void **state)
{
    policy_free(*state);
    return 0;
}

static int try_add(struct policy *policy, const char *path, enum policy_access access,
                   enum policy_origin origin, struct err *err)
{
    AUTO_FREE char *copy = strdup(path);
    char why[] = "a test";
    const struct policy_rule rule = {.path = copy, .access = access, .origin = origin, .why = why};

    assert_non_null(copy);
    return policy_add_rule(policy, &rule, err);
}

static void add(struct policy *policy, const char *path, enum policy_access access,
                enum policy_origin origin)
{
    struct err err = {0};

    assert_int_equal(try_add(policy, path, access, origin, &err), 0);
    assert_int_equal(err.code, 0);
}

static void hold(struct policy *policy, const char *path, enum policy_origin origin)
{
    AUTO_FREE char *copy = strdup(path);
    char why[] = "kept";
    const struct policy_rule rule = {
        .path = copy, .access = POLICY_WRITE, .origin = origin, .why = why, .hold = true};

    assert_non_null(copy);
    assert_int_equal(policy_add_rule(policy, &rule, NULL), 0);
}

static void assert_access(const struct policy *policy, const char *path, enum policy_access access)
{
    const enum policy_access found = policy_resolve(policy, path, NULL);

    if (found != access)
        fail_msg("'%s' is %s and should be %s", path, policy_access_name(found),
                 policy_access_name(access));
}

static const char *deciding_path(const struct policy *policy, const char *path)
{
    const struct policy_rule *rule = NULL;

    (void) policy_resolve(policy, path, &rule);
    return rule == NULL ? "" : rule->path;
}

static void refuses_paths_that_are_not_plain(void **state)
{
    static const char *const bad[] = {"", "etc", "/etc/..", "/a/./b", "/a//b", "/a/", "~/x"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};

        assert_int_equal(try_add(*state, bad[i], POLICY_READ, POLICY_FROM_FLAG, &err), -EINVAL);
        assert_string_equal(err.id, "policy.path");
        assert_int_equal(policy_rules(*state), 0);
    }
}

static void refuses_the_root_as_a_rule(void **state)
{
    struct err err = {0};

    assert_int_equal(try_add(*state, "/", POLICY_READ, POLICY_FROM_FLAG, &err), -EINVAL);
    assert_string_equal(err.id, "policy.root");
    assert_int_equal(policy_rules(*state), 0);
}

static void refuses_an_absolute_rule_that_opens(void **state)
{
    struct err err = {0};

    assert_int_equal(try_add(*state, "/a", POLICY_READ, POLICY_FROM_ADMIN, &err), -EINVAL);
    assert_string_equal(err.id, "policy.absolute");
    assert_int_equal(try_add(*state, "/a", POLICY_WRITE, POLICY_FROM_OWN, NULL), -EINVAL);
    assert_int_equal(policy_rules(*state), 0);
}

static void hides_what_no_rule_opens(void **state)
{
    const struct policy_rule *rule = NULL;

    add(*state, "/usr", POLICY_READ, POLICY_FROM_BASE);
    assert_int_equal(policy_resolve(*state, "/home/u", &rule), POLICY_HIDE);
    assert_null(rule);
    assert_access(*state, "/", POLICY_HIDE);
    assert_access(*state, "/usrlocal", POLICY_HIDE);
    assert_access(*state, "usr", POLICY_HIDE);
    assert_access(*state, "/usr/../etc", POLICY_HIDE);
}

static void follows_the_most_specific_path_whoever_wrote_it(void **state)
{
    add(*state, "/home/u/p", POLICY_WRITE, POLICY_FROM_FLAG);
    add(*state, "/home/u", POLICY_HIDE, POLICY_FROM_FLAG);
    add(*state, "/home/u/p/data", POLICY_READ, POLICY_FROM_BASE);
    add(*state, "/home/u/p/data/key", POLICY_HIDE, POLICY_FROM_CREDENTIALS);
    assert_access(*state, "/home/u/x", POLICY_HIDE);
    assert_access(*state, "/home/u/p/a/b", POLICY_WRITE);
    assert_access(*state, "/home/u/p/database", POLICY_WRITE);
    assert_access(*state, "/home/u/p/data/x", POLICY_READ);
    assert_access(*state, "/home/u/p/data/key/x", POLICY_HIDE);
    assert_string_equal(deciding_path(*state, "/home/u/p/data/x/y"), "/home/u/p/data");
}

static void merges_rules_at_one_path_in_any_order(void **state)
{
    static const enum policy_access orders[][3] = {
        {POLICY_READ, POLICY_WRITE, POLICY_HIDE}, {POLICY_READ, POLICY_HIDE, POLICY_WRITE},
        {POLICY_WRITE, POLICY_READ, POLICY_HIDE}, {POLICY_WRITE, POLICY_HIDE, POLICY_READ},
        {POLICY_HIDE, POLICY_READ, POLICY_WRITE}, {POLICY_HIDE, POLICY_WRITE, POLICY_READ},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        AUTO(policy_freep) struct policy *policy = policy_new();

        for (size_t k = 0; k < 3; k++)
            add(policy, "/a", orders[i][k], POLICY_FROM_FLAG);
        assert_int_equal(policy_rules(policy), 1);
        assert_access(policy, "/a/b", POLICY_HIDE);
    }
}

static void write_wins_over_read_at_one_path(void **state)
{
    add(*state, "/a", POLICY_WRITE, POLICY_FROM_FLAG);
    add(*state, "/a", POLICY_READ, POLICY_FROM_OWNER);
    assert_access(*state, "/a", POLICY_WRITE);
    assert_int_equal(policy_rule_at(*state, 0)->origin, POLICY_FROM_FLAG);
}

static void keeps_who_came_first_on_a_draw(void **state)
{
    add(*state, "/usr", POLICY_READ, POLICY_FROM_BASE);
    add(*state, "/usr", POLICY_READ, POLICY_FROM_TOOLCHAIN);
    assert_int_equal(policy_rule_at(*state, 0)->origin, POLICY_FROM_BASE);
}

static void insists_when_one_of_the_merged_does(void **state)
{
    char path[] = "/a";
    struct policy_rule rule = {.path = path, .access = POLICY_WRITE, .optional = true};

    assert_int_equal(policy_add_rule(*state, &rule, NULL), 0);
    rule.access = POLICY_READ;
    rule.optional = false;
    rule.dev = 7;
    rule.inode = 9;
    assert_int_equal(policy_add_rule(*state, &rule, NULL), 0);
    assert_int_equal(policy_rule_at(*state, 0)->access, POLICY_WRITE);
    assert_false(policy_rule_at(*state, 0)->optional);
    assert_int_equal(policy_rule_at(*state, 0)->dev, 7);
    assert_int_equal(policy_rule_at(*state, 0)->inode, 9);
}

static void hold_lowers_write_to_read(void **state)
{
    add(*state, "/p", POLICY_WRITE, POLICY_FROM_PEN);
    hold(*state, "/p/.git/hooks", POLICY_FROM_GIT);
    assert_access(*state, "/p/.git", POLICY_WRITE);
    assert_access(*state, "/p/.git/hooks/pre-commit", POLICY_READ);
    assert_string_equal(deciding_path(*state, "/p/.git/hooks/x"), "/p/.git/hooks");
}

static void hold_opens_nothing_by_itself(void **state)
{
    const struct policy_rule *rule = NULL;

    hold(*state, "/p", POLICY_FROM_OWNER);
    add(*state, "/q", POLICY_READ, POLICY_FROM_OWNER);
    hold(*state, "/q", POLICY_FROM_OWNER);
    add(*state, "/s", POLICY_HIDE, POLICY_FROM_OWNER);
    hold(*state, "/s/t", POLICY_FROM_OWNER);
    assert_int_equal(policy_resolve(*state, "/p/x", &rule), POLICY_HIDE);
    assert_null(rule);
    assert_access(*state, "/q/x", POLICY_READ);
    assert_access(*state, "/s/t/x", POLICY_HIDE);
}

static void hold_at_the_path_itself_works_in_any_order(void **state)
{
    hold(*state, "/p", POLICY_FROM_OWNER);
    add(*state, "/p", POLICY_READ, POLICY_FROM_FLAG);
    add(*state, "/p", POLICY_WRITE, POLICY_FROM_FLAG);
    assert_int_equal(policy_rules(*state), 2);
    assert_false(policy_rule_at(*state, 0)->hold);
    assert_true(policy_rule_at(*state, 1)->hold);
    assert_access(*state, "/p/x", POLICY_READ);
}

static void hold_of_the_owner_ends_at_a_more_specific_rule(void **state)
{
    hold(*state, "/p", POLICY_FROM_OWNER);
    add(*state, "/p/build", POLICY_WRITE, POLICY_FROM_FLAG);
    assert_access(*state, "/p/build/x", POLICY_WRITE);
}

static void hold_of_the_administrator_reaches_everything_below(void **state)
{
    hold(*state, "/p", POLICY_FROM_ADMIN);
    add(*state, "/p/build", POLICY_WRITE, POLICY_FROM_FLAG);
    add(*state, "/p/build/key", POLICY_HIDE, POLICY_FROM_FLAG);
    assert_access(*state, "/p/build/x", POLICY_READ);
    assert_string_equal(deciding_path(*state, "/p/build/x"), "/p");
    assert_access(*state, "/p/build/key", POLICY_HIDE);
}

static void what_the_administrator_hides_stays_hidden(void **state)
{
    add(*state, "/p/q/r", POLICY_WRITE, POLICY_FROM_FLAG);
    add(*state, "/p/q", POLICY_READ, POLICY_FROM_OWNER);
    add(*state, "/p", POLICY_HIDE, POLICY_FROM_ADMIN);
    assert_access(*state, "/p/q/r/s", POLICY_HIDE);
    assert_string_equal(deciding_path(*state, "/p/q/r/s"), "/p");
}

static void absolute_origins_win_at_their_own_path(void **state)
{
    add(*state, "/p", POLICY_HIDE, POLICY_FROM_FLAG);
    add(*state, "/p", POLICY_HIDE, POLICY_FROM_OWN);
    add(*state, "/p/q", POLICY_WRITE, POLICY_FROM_FLAG);
    assert_int_equal(policy_rule_at(*state, 0)->origin, POLICY_FROM_OWN);
    assert_access(*state, "/p/q", POLICY_HIDE);
}

static void sorts_a_folder_before_what_lies_below_it(void **state)
{
    static const char *const sorted[] = {"/a", "/a/b", "/a/b/c", "/a/b-c", "/a b", "/a-b", "/b"};
    static const size_t order[] = {4, 2, 6, 0, 5, 3, 1};

    for (size_t i = 0; i < ARRAY_SIZE(order); i++)
        add(*state, sorted[order[i]], POLICY_READ, POLICY_FROM_FLAG);
    assert_int_equal(policy_rules(*state), ARRAY_SIZE(sorted));
    for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
        assert_string_equal(policy_rule_at(*state, i)->path, sorted[i]);
}

static void takes_a_bounded_number_of_rules(void **state)
{
    struct err err = {0};
    char path[32];
    int r = 0;
    size_t count = 0;

    while (r == 0 && count < 100000) {
        (void) snprintf(path, sizeof path, "/a/%zu", count);
        r = try_add(*state, path, POLICY_READ, POLICY_FROM_FLAG, &err);
        count += r == 0;
    }
    assert_int_equal(r, -EINVAL);
    assert_string_equal(err.id, "policy.too-many");
    assert_int_equal(policy_rules(*state), count);
}

static int add_place(struct policy *policy, enum policy_place_kind kind, const char *path,
                     const char *source, struct err *err)
{
    AUTO_FREE char *path_copy = strdup(path);
    AUTO_FREE char *source_copy = source == NULL ? NULL : strdup(source);
    const struct policy_place place = {
        .kind = kind, .access = POLICY_READ, .path = path_copy, .source = source_copy};

    return policy_add_place(policy, &place, err);
}

static void finds_places_and_keeps_them_sorted(void **state)
{
    assert_int_equal(add_place(*state, POLICY_PLACE_TMPFS, "/tmp", NULL, NULL), 0);
    assert_int_equal(add_place(*state, POLICY_PLACE_FILE, "/etc/hosts", "", NULL), 0);
    assert_int_equal(add_place(*state, POLICY_PLACE_SYMLINK, "/bin", "usr/bin", NULL), 0);
    assert_int_equal(policy_places(*state), 3);
    assert_string_equal(policy_place_at(*state, 0)->path, "/bin");
    assert_string_equal(policy_place_at(*state, 2)->path, "/tmp");
    assert_string_equal(policy_place_find(*state, "/bin")->source, "usr/bin");
    assert_null(policy_place_find(*state, "/etc"));
}

static void refuses_places_that_make_no_sense(void **state)
{
    static const struct {
        enum policy_place_kind kind;
        const char *path;
        const char *source;
        const char *id;
    } bad[] = {
        {POLICY_PLACE_TMPFS, "/dev", NULL, "policy.place-twice"},
        {POLICY_PLACE_TMPFS, "/", NULL, "policy.root"},
        {POLICY_PLACE_TMPFS, "tmp", NULL, "policy.path"},
        {POLICY_PLACE_BIND, "/a", NULL, "policy.path"},
        {POLICY_PLACE_BIND, "/a", "b", "policy.path"},
        {POLICY_PLACE_BIND, "/a", "/", "policy.root"},
        {POLICY_PLACE_SYMLINK, "/a", "", "policy.place"},
        {POLICY_PLACE_FILE, "/a", NULL, "policy.place"},
    };

    assert_int_equal(add_place(*state, POLICY_PLACE_DEV, "/dev", NULL, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};

        assert_int_equal(add_place(*state, bad[i].kind, bad[i].path, bad[i].source, &err), -EINVAL);
        assert_string_equal(err.id, bad[i].id);
        assert_int_equal(policy_places(*state), 1);
    }
}

static void replaces_a_variable_in_place(void **state)
{
    assert_int_equal(policy_set_env(*state, "A", "1", NULL), 0);
    assert_int_equal(policy_set_env(*state, "AB", "2=3", NULL), 0);
    assert_int_equal(policy_set_env(*state, "A", "", NULL), 0);
    assert_int_equal(policy_envs(*state), 2);
    assert_string_equal(policy_env_at(*state, 0), "A=");
    assert_string_equal(policy_env(*state, "AB"), "2=3");
    assert_null(policy_env(*state, "B"));
}

static void refuses_names_that_are_no_variables(void **state)
{
    static const char *const bad[] = {"", "1A", "A B", "A=B", "A-B", "\xc3\xa4"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};

        assert_int_equal(policy_set_env(*state, bad[i], "x", &err), -EINVAL);
        assert_string_equal(err.id, "policy.env");
    }
    assert_int_equal(policy_set_env(*state, "A", NULL, &(struct err){0}), -EINVAL);
    assert_int_equal(policy_envs(*state), 0);
}

static void starts_in_the_pen_unless_told_otherwise(void **state)
{
    struct err err = {0};

    assert_null(policy_cwd(*state));
    assert_int_equal(policy_set_pen(*state, "/p", NULL), 0);
    assert_string_equal(policy_cwd(*state), "/p");
    assert_int_equal(policy_set_cwd(*state, "/p/q", NULL), 0);
    assert_string_equal(policy_cwd(*state), "/p/q");
    assert_int_equal(policy_set_pen(*state, "/", &err), -EINVAL);
    assert_int_equal(policy_set_cwd(*state, "q", &err), -EINVAL);
    assert_string_equal(policy_pen(*state), "/p");
    assert_string_equal(policy_cwd(*state), "/p/q");
}

static void copies_the_command(void **state)
{
    char path[] = "/usr/bin/make";
    char found[] = "/bin/make";
    char bad[] = "make";
    struct policy_command command = {.path = path, .found = found, .pinned = true, .inode = 5};
    struct err err = {0};

    assert_null(policy_command(*state));
    assert_int_equal(policy_set_command(*state, &command, NULL), 0);
    path[1] = 'x';
    assert_string_equal(policy_command(*state)->path, "/usr/bin/make");
    assert_string_equal(policy_command(*state)->found, "/bin/make");
    assert_int_equal(policy_command(*state)->inode, 5);
    command.path = bad;
    assert_int_equal(policy_set_command(*state, &command, &err), -EINVAL);
    assert_string_equal(policy_command(*state)->path, "/usr/bin/make");
}

static void begins_with_the_documented_bounds(void **state)
{
    const struct policy_limits *limits = policy_get_limits(*state);

    assert_int_equal(limits->deadline_ms, 0);
    assert_int_equal(limits->kill_after_ms, 2000);
    assert_int_equal(limits->memory_bytes, 0);
    assert_int_equal(limits->processes, 4096);
    assert_int_equal(limits->open_files, 4096);
    assert_int_equal(limits->file_bytes, 34359738368);
    assert_int_equal(limits->tmp_bytes, 268435456);
    assert_int_equal(limits->shm_bytes, 268435456);
}

static void adds_up_what_is_required(void **state)
{
    policy_require(*state, POLICY_REQUIRE_MEMORY);
    policy_require(*state, POLICY_REQUIRE_LANDLOCK);
    assert_int_equal(policy_required(*state), POLICY_REQUIRE_MEMORY | POLICY_REQUIRE_LANDLOCK);
    assert_int_equal(policy_add_note(*state, "a note", NULL), 0);
    assert_string_equal(policy_note_at(*state, 0), "a note");
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_policy, free_policy)

static void knows_a_pattern_and_what_is_wrong_with_one(void **state)
{
    static const char *const good[] = {
        "*",
        "a",
        "docs/plan",
        "**/*.pem",
        "**/**/1/2/3/4/5/6/7/8",
        "/*",
        ".env?",
        "/a/b/c/d/e/f/g/h/i/*",
        "/x/**",
        "...",
        "**/a/**",
        "a!b*",
    };
    static const struct {
        const char *pattern, *fault;
    } bad[] = {
        {"", "is empty"},
        {"~/x*", "begins with what only a shell expands"},
        {"$X/*", "begins with what only a shell expands"},
        {"/", "has an empty part"},
        {"a//b", "has an empty part"},
        {"docs/", "has an empty part"},
        {"./a", "has a '.' or '..' in it"},
        {"/a/../*", "has a '.' or '..' in it"},
        {"**/!x", "has a part that begins with '!'"},
        {"[ab]*", "has a '[' or '\\' in it"},
        {"a\\*", "has a '[' or '\\' in it"},
        {"**", "names everything"},
        {"/**/**", "names everything"},
        {"1/2/3/4/5/6/7/8/9", "has more than 8 parts"},
        {"/a/**/2/3/4/5/6/7/8/9", "has more than 8 parts"},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        if (policy_pattern_fault(good[i]) != NULL)
            fail_msg("'%s' %s", good[i], policy_pattern_fault(good[i]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_non_null(policy_pattern_fault(bad[i].pattern));
        assert_string_equal(policy_pattern_fault(bad[i].pattern), bad[i].fault);
    }
    assert_true(policy_is_pattern("/a/b?"));
    assert_false(policy_is_pattern("/a/b[c]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(refuses_paths_that_are_not_plain),
        T(refuses_the_root_as_a_rule),
        T(refuses_an_absolute_rule_that_opens),
        T(hides_what_no_rule_opens),
        T(follows_the_most_specific_path_whoever_wrote_it),
        T(merges_rules_at_one_path_in_any_order),
        T(write_wins_over_read_at_one_path),
        T(keeps_who_came_first_on_a_draw),
        T(insists_when_one_of_the_merged_does),
        T(hold_lowers_write_to_read),
        T(hold_opens_nothing_by_itself),
        T(hold_at_the_path_itself_works_in_any_order),
        T(hold_of_the_owner_ends_at_a_more_specific_rule),
        T(hold_of_the_administrator_reaches_everything_below),
        T(what_the_administrator_hides_stays_hidden),
        T(absolute_origins_win_at_their_own_path),
        T(sorts_a_folder_before_what_lies_below_it),
        T(takes_a_bounded_number_of_rules),
        T(finds_places_and_keeps_them_sorted),
        T(refuses_places_that_make_no_sense),
        T(replaces_a_variable_in_place),
        T(refuses_names_that_are_no_variables),
        T(starts_in_the_pen_unless_told_otherwise),
        T(copies_the_command),
        T(begins_with_the_documented_bounds),
        T(adds_up_what_is_required),
        cmocka_unit_test(knows_a_pattern_and_what_is_wrong_with_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
