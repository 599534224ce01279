#include "derive_tree.h"

static int try_owner(struct world *world, const char *const *tops)
{
    world->err = (struct err){0};
    derive_owner_freep(&world->owner);
    return derive_owner_find_on(&world->machine, tops, &world->owner, &world->err);
}

static void refuse_owner(struct world *world, const char *const *tops, const char *id)
{
    assert_int_equal(try_owner(world, tops), -EINVAL);
    assert_string_equal(world->err.id, id);
    assert_string_not_equal(world->err.hint, "");
    assert_null(world->owner);
}

static void finds_the_person_and_the_folders(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *config = at(world, "home/.config/wattle");
    AUTO_FREE char *scratch = at(world, "home/.cache/wattle");
    AUTO_FREE char *kept = at(world, "home/.local/state/wattle");

    assert_int_equal(try_owner(world, NULL), 0);
    assert_int_equal(world->owner->uid, geteuid());
    assert_string_equal(world->owner->login, "tester");
    assert_string_equal(world->owner->gecos, "Test Er");
    assert_string_equal(world->owner->home, world->home);
    assert_string_equal(world->owner->account_home, world->home);
    assert_string_equal(world->owner->config_dir, config);
    assert_string_equal(world->owner->cache_dir, scratch);
    assert_string_equal(world->owner->state_dir, kept);
    assert_null(world->owner->runtime_dir);
    assert_int_equal(access(scratch, F_OK), -1); /* nothing is made */
}

static void does_without_a_password_entry(void **state)
{
    struct world *world = *state;
    char name[32];

    make_file(world, "passwd", "", 0644);
    (void) snprintf(name, sizeof name, "uid%u", geteuid());
    assert_int_equal(try_owner(world, NULL), 0);
    assert_string_equal(world->owner->login, name);
    assert_null(world->owner->account_home);

    assert_int_equal(setenv("USER", "some.one", 1), 0);
    assert_int_equal(try_owner(world, NULL), 0);
    assert_string_equal(world->owner->login, "some.one");

    assert_int_equal(setenv("USER", "a:b", 1), 0); /* it goes into a password file */
    assert_int_equal(try_owner(world, NULL), 0);
    assert_string_equal(world->owner->login, name);
}

static void takes_the_account_s_home_where_the_variable_is_unfit(void **state)
{
    static const char *const unfit[] = {"", "relative", "/nonexistent", "/proc/self/exe"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(unfit); i++) {
        assert_int_equal(setenv("HOME", unfit[i], 1), 0);
        assert_int_equal(try_owner(world, NULL), 0);
        assert_string_equal(world->owner->home, world->home);
    }
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(try_owner(world, NULL), 0);
    assert_string_equal(world->owner->home, world->home);
}

static void says_when_there_is_no_home(void **state)
{
    struct world *world = *state;

    make_file(world, "passwd", "", 0644);
    assert_int_equal(unsetenv("HOME"), 0);
    refuse_owner(world, NULL, "derive.home");
}

static void refuses_relative_locations(void **state)
{
    static const char *const names[] = {"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
                                        "XDG_RUNTIME_DIR"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_int_equal(setenv(names[i], "x/y", 1), 0);
        refuse_owner(world, NULL, "derive.location");
        assert_int_equal(setenv(names[i], "", 1), 0); /* empty counts as unset */
        assert_int_equal(try_owner(world, NULL), 0);
    }
}

static void refuses_locations_in_the_folder_at_hand(void **state)
{
    struct world *world = *state;
    const char *const tops[] = {world->proj, NULL};
    AUTO_FREE char *inside = at(world, "home/work/proj/conf");
    AUTO_FREE char *link = at(world, "home/link");

    assert_int_equal(try_owner(world, tops), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", inside, 1), 0);
    refuse_owner(world, tops, "derive.location");

    make_folder(world, "home/work/proj/conf/wattle");
    make_link(world, "home/link", inside);
    assert_int_equal(setenv("XDG_CONFIG_HOME", link, 1), 0); /* also through a symlink */
    refuse_owner(world, tops, "derive.location");
    assert_int_equal(try_owner(world, NULL), 0);
}

static void refuses_locations_others_can_change(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *config = at(world, "home/.config/wattle");
    AUTO_FREE char *above = at(world, "home/.config");

    assert_int_equal(chmod(config, 0777), 0);
    refuse_owner(world, NULL, "derive.location");
    assert_int_equal(chmod(config, 0755), 0);
    assert_int_equal(chmod(above, 0777), 0); /* could be replaced there */
    refuse_owner(world, NULL, "derive.location");
    assert_int_equal(chmod(above, 01777), 0); /* not with the sticky bit */
    assert_int_equal(try_owner(world, NULL), 0);
    assert_int_equal(chmod(world->home, 0777), 0);
    refuse_owner(world, NULL, "derive.location");
}

static void refuses_locations_of_another_user(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *config = at(world, "home/.config/wattle");

    if (chown(config, 54321, 54321) < 0)
        SKIP_TEST("only root gives files away");
    refuse_owner(world, NULL, "derive.location");
}

static void refuses_folders_above_that_others_own_or_their_group_may_write(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *above = at(world, "home/.config");
    char line[64];

    assert_int_equal(chmod(above, 0775), 0);
    refuse_owner(world, NULL, "derive.location");
    assert_int_equal(chmod(above, 01775), 0); /* nobody replaces another's there */
    assert_int_equal(try_owner(world, NULL), 0);
    assert_int_equal(chmod(above, 0775), 0);
    (void) snprintf(line, sizeof line, "tester:x:%u:\n", getegid());
    make_file(world, "group", line, 0644);
    assert_int_equal(try_owner(world, NULL), 0);

    assert_int_equal(chmod(above, 0755), 0);
    if (chown(above, 54321, 54321) < 0)
        SKIP_TEST("only root gives files away");
    refuse_owner(world, NULL, "derive.location");
    assert_int_equal(chown(above, 65534, 65534), 0); /* here a user like others */
    refuse_owner(world, NULL, "derive.location");
}

static void remembers_names_that_run_through_symlinks(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *link = at(world, "me");
    AUTO_FREE char *config = at(world, "home/.config/wattle");

    assert_int_equal(try_owner(world, NULL), 0);
    assert_int_equal(world->owner->typed->count, 0);
    assert_int_equal(world->owner->defaults->count, 0);

    make_link(world, "me", "home");
    assert_int_equal(setenv("HOME", link, 1), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", link, 1), 0);
    assert_int_equal(try_owner(world, NULL), 0);
    assert_true(derive_list_has(world->owner->typed, link));
    assert_int_equal(world->owner->typed->count, 2);
    assert_true(derive_list_has(world->owner->defaults, config));
}

static void lets_a_private_group_write(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *config = at(world, "home/.config/wattle");
    char line[64];

    assert_int_equal(chmod(config, 0775), 0);
    refuse_owner(world, NULL, "derive.location");
    (void) snprintf(line, sizeof line, "tester:x:%u:\n", getegid());
    make_file(world, "group", line, 0644);
    assert_int_equal(try_owner(world, NULL), 0);
}

static void judges_what_is_not_there_by_what_is(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *wide = at(world, "wide");
    AUTO_FREE char *below = at(world, "wide/a/b");
    AUTO_FREE char *expected = at(world, "wide/a/b/wattle");

    make_folder(world, "wide");
    assert_int_equal(setenv("XDG_STATE_HOME", below, 1), 0);
    assert_int_equal(try_owner(world, NULL), 0);
    assert_string_equal(world->owner->state_dir, expected);
    assert_int_equal(chmod(wide, 0777), 0);
    refuse_owner(world, NULL, "derive.location");
}

static void refuses_a_location_that_is_a_dangling_symlink(void **state)
{
    struct world *world = *state;

    make_link(world, "home/.cache", "nowhere");
    refuse_owner(world, NULL, "derive.dangling");
}

static void follows_symlinked_configuration(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *expected = at(world, "home/dotfiles/local/state/wattle");

    make_folder(world, "home/dotfiles/local");
    make_link(world, "home/.local", "dotfiles/local");
    assert_int_equal(try_owner(world, NULL), 0);
    assert_string_equal(world->owner->state_dir, expected);
}

static void a_runtime_folder_that_is_unfit_is_none(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *runtime = at(world, "run");

    assert_int_equal(setenv("XDG_RUNTIME_DIR", "/nonexistent", 1), 0);
    assert_int_equal(try_owner(world, NULL), 0);
    assert_null(world->owner->runtime_dir);

    make_folder(world, "run");
    assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
    assert_int_equal(try_owner(world, NULL), 0);
    assert_non_null(world->owner->runtime_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(finds_the_person_and_the_folders),
        WORLD_TEST(does_without_a_password_entry),
        WORLD_TEST(takes_the_account_s_home_where_the_variable_is_unfit),
        WORLD_TEST(says_when_there_is_no_home),
        WORLD_TEST(refuses_relative_locations),
        WORLD_TEST(refuses_locations_in_the_folder_at_hand),
        WORLD_TEST(refuses_locations_others_can_change),
        WORLD_TEST(refuses_locations_of_another_user),
        WORLD_TEST(refuses_folders_above_that_others_own_or_their_group_may_write),
        WORLD_TEST(remembers_names_that_run_through_symlinks),
        WORLD_TEST(lets_a_private_group_write),
        WORLD_TEST(judges_what_is_not_there_by_what_is),
        WORLD_TEST(refuses_a_location_that_is_a_dangling_symlink),
        WORLD_TEST(follows_symlinked_configuration),
        WORLD_TEST(a_runtime_folder_that_is_unfit_is_none),
    };

    return RUN_WORLD_TESTS(tests);
}
