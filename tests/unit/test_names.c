/* Guarded names, asked from outside of a run. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/tree.h"
#include "cm.h"
#include "job/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char top[32]; /* the pen */
    struct policy *policy;
    struct job_names *names;
};

static void open_to_write(struct policy *policy, char *path)
{
    char why[] = "a test";
    const struct policy_rule rule = {.path = path, .access = POLICY_WRITE, .why = why};
    struct err err = {0};

    assert_int_equal(policy_add_rule(policy, &rule, &err), 0);
}

static void make_names(struct world *world)
{
    struct err err = {0};

    job_names_freep(&world->names);
    assert_int_equal(job_names_make(world->policy, &world->names, &err), 0);
}

static int make(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    struct err err = {0};

    assert_non_null(world);
    (void) snprintf(world->top, sizeof world->top, "/var/tmp/wattle-names-XXXXXX");
    assert_non_null(mkdtemp(world->top));
    world->policy = policy_new();
    assert_int_equal(policy_set_pen(world->policy, world->top, &err), 0);
    open_to_write(world->policy, world->top);
    make_names(world);
    *state = world;
    return 0;
}

static int unmake(void **state)
{
    struct world *world = *state;
    AUTO_CLOSE int fd = open("/var/tmp", O_PATH | O_CLOEXEC);

    assert_int_equal(tree_remove(fd, path_base(world->top), NULL), 0);
    job_names_freep(&world->names);
    policy_freep(&world->policy);
    free(world);
    return 0;
}

static struct job_name ask(const struct world *world, const char *path)
{
    AUTO_FREE char *whole = path_join(world->top, path);
    struct job_name name;

    job_names_ask(world->names, whole, &name);
    return name;
}

static void make_folder(const struct world *world, const char *path)
{
    AUTO_FREE char *whole = path_join(world->top, path);

    assert_int_equal(mkdir(whole, 0755), 0);
}

/* ---------------------------------------------------------------------------------------------- */

static void tells_what_is_held_and_what_is_vetted(void **state)
{
    static const struct {
        const char *path, *existing, *newcomer;
        bool vetted, inside;
    } cases[] = {
        {".git", "hold", "disarm", true, false},
        {".git/config", "hold", "disarm", true, false},
        {"a/b/.git/hooks", "hold", "disarm", true, false},
        {".git/hooks/pre-commit", "hold", "hold", false, true},
        {".git/hooks/pre-commit.sample", "hold", "disarm", true, true},
        {".git/commondir", "hold", "hold", false, false},
        {".envrc", "hold", "set aside", false, false},
        {".Claude/Settings.json", "hold", "hold", false, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct job_name name = ask(*state, cases[i].path);

        if (!name.guarded || name.inside != cases[i].inside ||
            (name.vetted != NULL) != cases[i].vetted)
            fail_msg("%s", cases[i].path);
        assert_string_equal(name.existing, cases[i].existing);
        assert_string_equal(name.newcomer, cases[i].newcomer);
        assert_true(strlen(name.reason) > 0 && strlen(name.pattern) > 0);
    }
}

static void leaves_other_names_alone(void **state)
{
    static const char *const free_names[] = {"a",        "git",  ".git/index",      ".claude",
                                             "Makefile", "HEAD", "hooks/pre-commit"};

    for (size_t i = 0; i < ARRAY_SIZE(free_names); i++)
        assert_false(ask(*state, free_names[i]).guarded);
}

static void knows_nothing_outside_of_what_can_be_written(void **state)
{
    struct world *world = *state;
    struct job_name name;

    job_names_ask(world->names, "/etc/.git/config", &name);
    assert_false(name.guarded);
    job_names_ask(world->names, "/.envrc", &name);
    assert_false(name.guarded);
    job_names_ask(world->names, "/", &name);
    assert_false(name.guarded);
}

static void looks_for_a_git_folder_where_it_matters(void **state)
{
    make_folder(*state, "a");
    assert_false(ask(*state, "a/.envrc").guarded);
    assert_false(ask(*state, "a/.claude/settings.json").guarded);
    make_folder(*state, "a/.git");
    assert_true(ask(*state, "a/.envrc").guarded);
    assert_true(ask(*state, "a/.claude/settings.json").guarded);
    assert_false(ask(*state, "b/.envrc").guarded);
}

static void a_walk_is_told_by_the_names_alone(void **state)
{
    const struct world *world = *state;

    assert_true(job_names_may_guard(world->names, "", ".git"));
    assert_true(job_names_may_guard(world->names, "a/.git", "hooks"));
    assert_false(job_names_may_guard(world->names, "a/.git/hooks", "pre-commit"));
    assert_true(job_names_may_guard(world->names, "no/git/here", ".envrc"));
    assert_false(job_names_may_guard(world->names, "", "a"));
    assert_false(job_names_may_guard(world->names, ".git", "index"));
}

static void a_rule_of_the_owner_counts_and_has_a_key_of_its_own(void **state)
{
    struct world *world = *state;
    const uint64_t before = job_names_key(world->names);
    char text[] = "**/*.pem", why[] = "config.json";
    const struct policy_guard_rule rule = {.kind = POLICY_GUARD_PATTERN, .text = text, .why = why};
    struct err err = {0};
    struct job_name name;

    make_names(world);
    assert_true(job_names_key(world->names) == before);
    assert_false(job_names_may_guard(world->names, "a/b", "key.pem"));
    assert_int_equal(policy_add_guard_rule(world->policy, &rule, &err), 0);
    make_names(world);
    assert_true(job_names_key(world->names) != before);
    assert_true(job_names_may_guard(world->names, "a/b", "key.pem"));
    name = ask(world, "a/b/key.pem");
    assert_true(name.guarded && !name.is_git && name.vetted == NULL);
    assert_string_equal(name.newcomer, "hold");
    assert_string_equal(name.reason, "config.json");
}

/* What is remembered of a pen is not lost when something else is opened. */
static void the_key_does_not_depend_on_other_places(void **state)
{
    struct world *world = *state;
    const uint64_t before = job_names_key(world->names);
    char other[] = "/srv", inner[64];

    open_to_write(world->policy, other);
    make_names(world);
    assert_true(job_names_key(world->names) == before);
    (void) snprintf(inner, sizeof inner, "%s/in", world->top);
    make_folder(world, "in");
    open_to_write(world->policy, inner);
    make_names(world);
    assert_true(job_names_key(world->names) != before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tells_what_is_held_and_what_is_vetted, make, unmake),
        cmocka_unit_test_setup_teardown(leaves_other_names_alone, make, unmake),
        cmocka_unit_test_setup_teardown(knows_nothing_outside_of_what_can_be_written, make, unmake),
        cmocka_unit_test_setup_teardown(looks_for_a_git_folder_where_it_matters, make, unmake),
        cmocka_unit_test_setup_teardown(a_walk_is_told_by_the_names_alone, make, unmake),
        cmocka_unit_test_setup_teardown(a_rule_of_the_owner_counts_and_has_a_key_of_its_own, make,
                                        unmake),
        cmocka_unit_test_setup_teardown(the_key_does_not_depend_on_other_places, make, unmake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
