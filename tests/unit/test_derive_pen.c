#include "derive_tree.h"

static const struct derive_request plain = {0};

static void the_current_folder_is_the_pen(void **state)
{
    struct world *world = *state;

    derive(world, &plain);
    assert_string_equal(policy_pen(world->policy), world->proj);
    assert_string_equal(policy_cwd(world->policy), world->proj);
    assert_int_equal(access_of(world, "home/work/proj/x"), POLICY_WRITE);
    assert_int_equal(access_of(world, "home/work/other"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/.config/wattle"), POLICY_HIDE);
}

static void a_deleted_folder_is_refused_unless_a_pen_is_named(void **state)
{
    struct world *world = *state;
    const struct derive_request named = {.pen = world->proj};
    AUTO_FREE char *gone = at(world, "home/gone");

    make_folder(world, "home/gone");
    enter(world, "home/gone");
    assert_int_equal(rmdir(gone), 0);
    refuse(world, &plain, "derive.pen-cwd-deleted");
    refuse(world, &(struct derive_request){.pen = "x"}, "derive.pen-cwd-deleted");
    derive(world, &named);
    assert_string_equal(policy_cwd(world->policy), world->proj);
}

static void refuses_what_is_no_folder(void **state)
{
    struct world *world = *state;

    make_file(world, "home/work/proj/file", "", 0644);
    refuse(world, &(struct derive_request){.pen = "missing"}, "derive.pen-missing");
    refuse(world, &(struct derive_request){.pen = ""}, "derive.pen-missing");
    refuse(world, &(struct derive_request){.pen = "file"}, "derive.pen-not-folder");
    refuse(world, &(struct derive_request){.pen = "file/below"}, "derive.pen-missing");
}

static void refuses_broad_roots(void **state)
{
    static const char *const broad[] = {"/",          "/usr",     "/etc",  "/var",
                                        "/tmp",       "/proc",    "/dev",  "/usr/bin",
                                        "/proc/self", "/var/tmp", "/home", "/usr/lib/gcc"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(broad); i++) {
        if (access(broad[i], F_OK) < 0)
            continue;
        assert_int_equal(try_derive(world, &(struct derive_request){.pen = broad[i]}), -EINVAL);
        assert_true(strncmp(world->err.id, "derive.pen-", 11) == 0);
        assert_string_not_equal(world->err.hint, "");
    }
}

static void refuses_homes_and_what_holds_them(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *other = at(world, "other");

    refuse(world, &(struct derive_request){.pen = world->home}, "derive.pen-home");
    refuse(world, &(struct derive_request){.pen = other}, "derive.pen-home");
    refuse(world, &(struct derive_request){.pen = world->top}, "derive.pen-home");
    enter(world, "home");
    refuse(world, &plain, "derive.pen-home");
}

static void refuses_credential_places(void **state)
{
    static const char *const pens[] = {"home/.ssh", "home/.ssh/keys", "home/.config/gh",
                                       "home/.local/share", "other/.aws"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(pens); i++) {
        AUTO_FREE char *pen = at(world, pens[i]);

        make_folder(world, pens[i]);
        refuse(world, &(struct derive_request){.pen = pen}, "derive.pen-credentials");
    }
}

static void refuses_credential_places_by_where_they_really_are(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *around = at(world, "home/dotfiles");
    AUTO_FREE char *inside = at(world, "home/dotfiles/keys");

    make_folder(world, "home/dotfiles/keys");
    derive(world, &(struct derive_request){.pen = around});
    make_link(world, "home/.ssh", "dotfiles/keys");
    refuse(world, &(struct derive_request){.pen = around}, "derive.pen-credentials");
    refuse(world, &(struct derive_request){.pen = inside}, "derive.pen-credentials");
}

static void refuses_a_symlinked_parent_of_credential_places(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *config = at(world, "home/.config");
    AUTO_FREE char *inside = at(world, "home/dotfiles/config/gh");

    make_folder(world, "home/dotfiles/config/gh");
    make_folder(world, "home/dotfiles/config/wattle");
    remove_tree(config);
    make_link(world, "home/.config", "dotfiles/config");
    refuse(world, &(struct derive_request){.pen = inside}, "derive.pen-credentials");
}

static void refuses_wattle_s_own_folders(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *own = at(world, "home/.config/wattle");
    AUTO_FREE char *config = at(world, "home/.config");
    AUTO_FREE char *around = at(world, "around");
    AUTO_FREE char *inside = at(world, "around/state");

    refuse(world, &(struct derive_request){.pen = own}, "derive.pen-own");
    /* It holds places for credentials too; what is named is what the sentence is about. */
    refuse(world, &(struct derive_request){.pen = config}, "derive.pen-own");
    assert_non_null(strstr(world->err.what, "/.config/wattle')"));
    make_folder(world, "around");
    assert_int_equal(setenv("XDG_STATE_HOME", inside, 1), 0); /* does not exist yet */
    refuse(world, &(struct derive_request){.pen = around}, "derive.pen-own");
}

static void a_pen_through_a_symlink_is_physical_and_keeps_its_name(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *link = at(world, "home/link");
    AUTO_FREE char *through = at(world, "home/link/sub");
    const struct policy_place *place = NULL;

    make_folder(world, "home/work/proj/sub");
    make_link(world, "home/link", "work/proj");
    assert_int_equal(chdir(through), 0);
    assert_int_equal(setenv("PWD", through, 1), 0);
    derive(world, &(struct derive_request){.pen = link});
    assert_string_equal(policy_pen(world->policy), world->proj);
    assert_string_equal(policy_cwd(world->policy), through);
    assert_string_equal(policy_env(world->policy, "PWD"), through);
    place = policy_place_find(world->policy, link);
    assert_non_null(place);
    assert_int_equal(place->kind, POLICY_PLACE_SYMLINK);
    assert_string_equal(place->source, "work/proj");
}

static void a_wrong_pwd_is_not_believed(void **state)
{
    struct world *world = *state;

    assert_int_equal(setenv("PWD", "/usr", 1), 0);
    derive(world, &plain);
    assert_string_equal(policy_cwd(world->policy), world->proj);
    assert_int_equal(setenv("PWD", "..", 1), 0);
    derive(world, &plain);
    assert_string_equal(policy_cwd(world->policy), world->proj);
}

static void links_in_places_of_the_kernel_are_not_made_again(void **state)
{
    struct world *world = *state;

    derive(world, &(struct derive_request){.pen = "/proc/self/cwd"});
    assert_string_equal(policy_pen(world->policy), world->proj);
    assert_string_equal(policy_cwd(world->policy), world->proj);
    assert_null(policy_place_find(world->policy, "/proc/self"));
}

static void the_start_is_the_caller_s_folder_when_it_is_in_the_pen(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *sub = at(world, "home/work/proj/sub");

    make_folder(world, "home/work/proj/sub");
    enter(world, "home/work/proj/sub");
    derive(world, &(struct derive_request){.pen = ".."});
    assert_string_equal(policy_pen(world->policy), world->proj);
    assert_string_equal(policy_cwd(world->policy), sub);
    enter(world, "home");
    derive(world, &(struct derive_request){.pen = "work/proj"});
    assert_string_equal(policy_cwd(world->policy), world->proj);
}

static void the_start_can_be_chosen_among_what_shows(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *sub = at(world, "home/work/proj/sub");

    make_folder(world, "home/work/proj/sub");
    make_file(world, "home/work/proj/file", "", 0644);
    derive(world, &(struct derive_request){.chdir = "sub"});
    assert_string_equal(policy_cwd(world->policy), sub);
    derive(world, &(struct derive_request){.chdir = "/usr"});
    refuse(world, &(struct derive_request){.chdir = ".."}, "derive.chdir");
    refuse(world, &(struct derive_request){.chdir = "file"}, "derive.chdir");
    make_folder(world, "home/other");
    make_folder(world, "home/.ssh");
    refuse(world, &(struct derive_request){.chdir = "../../other"}, "derive.chdir");
    assert_non_null(strstr(world->err.hint, "--rw"));
    refuse(world, &(struct derive_request){.chdir = "../../.ssh"}, "derive.chdir");
    assert_null(strstr(world->err.hint, "--")); /* no rule for credentials is proposed */
    assert_int_equal(try_derive(world, &(struct derive_request){.chdir = "missing"}), -ENOENT);
}

static void a_work_tree_above_the_pen_is_noted(void **state)
{
    struct world *world = *state;

    make_folder(world, "home/work/.git");
    derive(world, &plain);
    assert_true(has_note(world, "git work tree"));
    make_folder(world, "home/work/proj/.git");
    derive(world, &plain);
    assert_false(has_note(world, "git work tree"));
}

static void the_work_tree_may_not_hold_the_configuration(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *config = at(world, "repo/conf");
    AUTO_FREE char *pen = at(world, "repo/sub");

    make_folder(world, "repo/.git");
    make_folder(world, "repo/sub");
    make_folder(world, "repo/conf/wattle");
    assert_int_equal(setenv("XDG_CONFIG_HOME", config, 1), 0);
    refuse(world, &(struct derive_request){.pen = pen}, "derive.location");
}

static void a_home_that_is_a_work_tree_is_the_owner_s(void **state)
{
    struct world *world = *state;

    make_folder(world, "home/.git");
    derive(world, &plain);
}

static void a_repository_cannot_pose_as_the_home(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *repo = at(world, "repo");
    AUTO_FREE char *pen = at(world, "repo/sub");

    make_folder(world, "repo/.git");
    make_folder(world, "repo/sub");
    make_folder(world, "repo/.config/wattle");
    assert_int_equal(setenv("HOME", repo, 1), 0);
    refuse(world, &(struct derive_request){.pen = pen}, "derive.location");
}

static void a_pen_in_var_tmp_gets_a_real_folder_around_it(void **state)
{
    struct world *world = *state;
    char name[] = "/var/tmp/wattle-derive-XXXXXX";
    AUTO_FREE char *pen = NULL;
    int r = 0;

    derive(world, &plain);
    assert_int_equal(policy_place_find(world->policy, "/var/tmp")->kind, POLICY_PLACE_SYMLINK);
    if (mkdtemp(name) == NULL)
        SKIP_TEST("/var/tmp is not writable here");
    pen = realpath(name, NULL);
    r = try_derive(world, &(struct derive_request){.pen = pen});
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(r, 0);
    if (path_is_below(pen, "/var/tmp"))
        assert_int_equal(policy_place_find(world->policy, "/var/tmp")->kind, POLICY_PLACE_TMPFS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_current_folder_is_the_pen),
        WORLD_TEST(a_deleted_folder_is_refused_unless_a_pen_is_named),
        WORLD_TEST(refuses_what_is_no_folder),
        WORLD_TEST(refuses_broad_roots),
        WORLD_TEST(refuses_homes_and_what_holds_them),
        WORLD_TEST(refuses_credential_places),
        WORLD_TEST(refuses_credential_places_by_where_they_really_are),
        WORLD_TEST(refuses_a_symlinked_parent_of_credential_places),
        WORLD_TEST(refuses_wattle_s_own_folders),
        WORLD_TEST(a_pen_through_a_symlink_is_physical_and_keeps_its_name),
        WORLD_TEST(a_wrong_pwd_is_not_believed),
        WORLD_TEST(links_in_places_of_the_kernel_are_not_made_again),
        WORLD_TEST(the_start_is_the_caller_s_folder_when_it_is_in_the_pen),
        WORLD_TEST(the_start_can_be_chosen_among_what_shows),
        WORLD_TEST(a_work_tree_above_the_pen_is_noted),
        WORLD_TEST(the_work_tree_may_not_hold_the_configuration),
        WORLD_TEST(a_home_that_is_a_work_tree_is_the_owner_s),
        WORLD_TEST(a_repository_cannot_pose_as_the_home),
        WORLD_TEST(a_pen_in_var_tmp_gets_a_real_folder_around_it),
    };

    return RUN_WORLD_TESTS(tests);
}
