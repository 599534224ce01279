/* PATH, toolchains, the executable. */
#include "derive_tree.h"

static const char *const no_args[] = {"tool", NULL};
static const struct derive_request tool = {.argv = no_args};

static void set_path(const struct world *world, const char *first, const char *second)
{
    AUTO_FREE char *a = first[0] == '/' ? strdup(first) : at(world, first);
    AUTO_FREE char *b = second[0] == '/' ? strdup(second) : at(world, second);
    AUTO_FREE char *path = NULL;

    assert_true(asprintf(&path, "%s:%s:/usr/bin:/bin", a, b) > 0);
    assert_int_equal(setenv("PATH", path, 1), 0);
}

static void assert_command(const struct world *world, const char *path)
{
    AUTO_FREE char *full = path[0] == '/' ? strdup(path) : at(world, path);

    assert_non_null(policy_command(world->policy));
    assert_string_equal(policy_command(world->policy)->path, full);
}

/* ---- the executable ---------------------------------------------------------------------- */

static void finds_a_system_command_by_its_name(void **state)
{
    struct world *world = *state;
    const char *const argv[] = {"env", NULL};
    const struct derive_request request = {.argv = argv, .pin_command = true};
    AUTO_FREE char *physical = realpath("/usr/bin/env", NULL);
    struct stat seen;

    derive(world, &request);
    assert_command(world, physical);
    assert_int_equal(stat(physical, &seen), 0);
    assert_int_equal(policy_command(world->policy)->inode, seen.st_ino);
    assert_int_equal(policy_command(world->policy)->size_bytes, seen.st_size);
    assert_int_equal(policy_command(world->policy)->mtime_ns / 1000000000, seen.st_mtime);
    assert_true(policy_command(world->policy)->pinned);
}

static void a_missing_command_is_said(void **state)
{
    static const char *const names[] = {"tool", "", "./tool", "/nonexistent/tool", "tool/"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *const argv[] = {names[i], NULL};

        refuse(world, &(struct derive_request){.argv = argv}, "derive.command-missing");
        assert_int_equal(world->err.code, ENOENT);
    }
}

static void a_command_that_cannot_be_executed_is_said(void **state)
{
    struct world *world = *state;
    const char *const file[] = {"./file", NULL};
    const char *const folder[] = {"./folder", NULL};

    make_file(world, "home/work/proj/file", "", 0644);
    make_folder(world, "home/work/proj/folder");
    refuse(world, &(struct derive_request){.argv = file}, "derive.command-not-executable");
    assert_int_equal(world->err.code, EACCES);
    refuse(world, &(struct derive_request){.argv = folder}, "derive.command-not-executable");
}

static void a_later_executable_beats_an_earlier_file(void **state)
{
    struct world *world = *state;

    make_file(world, "home/one/tool", "", 0644);
    make_program(world, "home/two/tool");
    set_path(world, "home/one", "home/two");
    derive(world, &tool);
    assert_command(world, "home/two/tool");
    set_path(world, "home/one", "home/missing");
    refuse(world, &tool, "derive.command-not-executable");
}

static void a_command_of_the_owner_s_is_opened_alone(void **state)
{
    struct world *world = *state;

    make_program(world, "home/bin/tool");
    make_program(world, "home/bin/secret");
    set_path(world, "home/bin", "/usr/local/bin");
    derive(world, &tool);
    assert_command(world, "home/bin/tool");
    assert_int_equal(access_of(world, "home/bin/tool"), POLICY_READ);
    assert_int_equal(access_of(world, "home/bin/secret"), POLICY_HIDE);
    assert_int_equal(on_path(world, "home/bin"), -1);
}

static void a_command_by_its_path_is_looked_up_from_the_start(void **state)
{
    struct world *world = *state;
    const char *const argv[] = {"./run", NULL};

    make_program(world, "home/work/proj/sub/run");
    derive(world, &(struct derive_request){.argv = argv, .chdir = "sub"});
    assert_command(world, "home/work/proj/sub/run");
    refuse(world, &(struct derive_request){.argv = argv}, "derive.command-missing");
}

static void a_symlinked_command_keeps_the_name_it_was_found_by(void **state)
{
    struct world *world = *state;
    const char *const argv[] = {"../../bin/nick", NULL};
    AUTO_FREE char *nick = at(world, "home/bin/nick");

    make_program(world, "home/lib/tool");
    make_folder(world, "home/bin");
    make_link(world, "home/bin/nick", "../lib/tool");
    set_path(world, "home/bin", "/usr/local/bin");
    {
        const char *const name[] = {"nick", NULL};

        derive(world, &(struct derive_request){.argv = name});
    }
    assert_command(world, "home/lib/tool");
    assert_string_equal(policy_command(world->policy)->found, nick);
    assert_non_null(policy_place_find(world->policy, nick));
    derive(world, &(struct derive_request){.argv = argv});
    assert_command(world, "home/lib/tool");
}

static void a_link_in_the_pen_does_not_choose_what_is_opened(void **state)
{
    struct world *world = *state;
    const char *const argv[] = {"./tool", NULL};

    make_program(world, "home/lib/tool");
    make_link(world, "home/work/proj/tool", "../../lib/tool");
    refuse(world, &(struct derive_request){.argv = argv}, "derive.command-leads-out");
    make_link(world, "home/work/proj/env", "/usr/bin/env"); /* what shows anyway is fine */
    {
        const char *const env[] = {"./env", NULL};

        derive(world, &(struct derive_request){.argv = env});
    }
}

static void nothing_runs_from_a_credential_place(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *path = at(world, "home/.ssh/tool");
    const char *const argv[] = {path, NULL};

    make_program(world, "home/.ssh/tool");
    refuse(world, &(struct derive_request){.argv = argv}, "derive.command-place");
}

/* /proc/self is another process here than inside. */
static void nothing_runs_from_what_the_kernel_makes(void **state)
{
    static const char *const paths[] = {"/proc/self/exe", "/proc/self/../self/exe",
                                        "/proc/thread-self/root/usr/bin/env", "./there"};
    static const char *const control[] = {"/usr/bin/env", NULL};
    struct world *world = *state;

    make_link(world, "home/work/proj/there", "/proc/self/exe");
    derive(world, &(struct derive_request){.argv = control});
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        const char *const argv[] = {paths[i], NULL};

        refuse(world, &(struct derive_request){.argv = argv}, "derive.command-place");
    }
}

static void a_hidden_command_is_refused(void **state)
{
    struct world *world = *state;
    const char *const argv[] = {"./tool", NULL};
    const struct derive_flag_path hide = {"tool", POLICY_HIDE};

    make_program(world, "home/work/proj/tool");
    refuse(world, &(struct derive_request){.argv = argv, .paths = &hide, .path_count = 1},
           "derive.command-hidden");
}

/* ---- PATH -------------------------------------------------------------------------------- */

static void path_keeps_the_caller_s_order(void **state)
{
    struct world *world = *state;

    assert_int_equal(setenv("PATH", "/bin:/usr/local/bin/:/usr/bin", 1), 0);
    derive(world, &(struct derive_request){0});
    assert_int_equal(on_path(world, "/bin"), 0);
    assert_int_equal(on_path(world, "/usr/local/bin"), 1);
    assert_int_equal(on_path(world, "/usr/bin"), 2);
}

static void an_empty_environment_has_the_system_s_path(void **state)
{
    struct world *world = *state;

    clear_environment();
    derive(world, &(struct derive_request){0});
    assert_true(on_path(world, "/usr/bin") >= 0);
    assert_true(on_path(world, "/bin") >= 0);
}

static void path_entries_in_the_pen_are_not_searched(void **state)
{
    struct world *world = *state;

    make_program(world, "home/work/proj/bin/tool");
    set_path(world, "home/work/proj/bin", "/usr/local/bin");
    refuse(world, &tool, "derive.command-missing");
    assert_non_null(strstr(world->err.hint, "proj/bin/tool"));
    derive(world, &(struct derive_request){0});
    assert_int_equal(on_path(world, "home/work/proj/bin"), -1);
    assert_true(has_note(world, "adds nothing"));

    make_link(world, "home/sly", "work/proj/bin"); /* nor through a symlink */
    set_path(world, "home/sly", "/usr/local/bin");
    refuse(world, &tool, "derive.command-missing");
}

static void path_entries_in_the_work_tree_are_not_searched(void **state)
{
    struct world *world = *state;

    make_folder(world, "home/work/.git");
    make_program(world, "home/work/bin/tool");
    set_path(world, "home/work/bin", "/usr/local/bin");
    refuse(world, &tool, "derive.command-missing");
}

static void unfit_path_entries_add_nothing(void **state)
{
    static const char *const unfit[] = {"home", "/", "home/.ssh", "home/.config/wattle", "other"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(unfit); i++) {
        make_folder(world, "home/.ssh");
        if (unfit[i][0] != '/') {
            AUTO_FREE char *program = path_join(unfit[i], "tool");

            make_program(world, program);
        }
        set_path(world, unfit[i], "/usr/local/bin");
        refuse(world, &tool, "derive.command-missing");
    }
    assert_int_equal(setenv("PATH", ".::bin:/usr/bin", 1), 0);
    make_program(world, "home/work/proj/tool");
    refuse(world, &tool, "derive.command-missing");
}

/* ---- toolchains -------------------------------------------------------------------------- */

static void a_toolchain_is_opened_and_searched(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *rustup = at(world, "home/.rustup");

    make_program(world, "home/.cargo/bin/tool");
    make_file(world, "home/.cargo/credentials.toml", "", 0600);
    make_folder(world, "home/.rustup/toolchains");
    derive(world, &tool);
    assert_command(world, "home/.cargo/bin/tool");
    assert_int_equal(access_of(world, "home/.cargo/bin"), POLICY_READ);
    assert_int_equal(access_of(world, "home/.cargo/credentials.toml"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/.rustup/toolchains"), POLICY_READ);
    assert_int_equal(access_of(world, "home/x"), POLICY_HIDE);
    assert_string_equal(policy_env(world->policy, "RUSTUP_HOME"), rustup);
    assert_string_equal(policy_env(world->policy, "CARGO_HOME"), "/wattle/cache/cargo");
    assert_true(on_path(world, "home/.cargo/bin") > on_path(world, "/usr/bin"));
}

static void a_toolchain_on_path_keeps_its_place(void **state)
{
    struct world *world = *state;

    make_program(world, "home/.cargo/bin/tool");
    set_path(world, "home/.cargo/bin", "/usr/local/bin");
    derive(world, &tool);
    assert_int_equal(on_path(world, "home/.cargo/bin"), 0);
}

static void node_versions_come_newest_first(void **state)
{
    struct world *world = *state;

    make_program(world, "home/.nvm/versions/node/v9.11.2/bin/node");
    make_program(world, "home/.nvm/versions/node/v18.20.1/bin/node");
    make_program(world, "home/.nvm/versions/node/v18.3.0/bin/node");
    make_program(world, "home/.nvm/versions/node/v9.11.2/bin/tool");
    derive(world, &tool);
    assert_command(world, "home/.nvm/versions/node/v9.11.2/bin/tool");
    assert_true(on_path(world, "home/.nvm/versions/node/v18.20.1/bin") <
                on_path(world, "home/.nvm/versions/node/v18.3.0/bin"));
    assert_true(on_path(world, "home/.nvm/versions/node/v18.3.0/bin") <
                on_path(world, "home/.nvm/versions/node/v9.11.2/bin"));
    assert_int_equal(access_of(world, "home/.nvm/alias"), POLICY_HIDE);
}

static void a_layout_known_from_path_only_is_opened_by_it(void **state)
{
    struct world *world = *state;

    make_program(world, "home/.virtualenvs/web/bin/tool");
    refuse(world, &tool, "derive.command-missing");
    set_path(world, "home/.virtualenvs/web/bin", "/usr/local/bin");
    derive(world, &tool);
    assert_int_equal(access_of(world, "home/.virtualenvs/web/lib"), POLICY_READ);
    assert_int_equal(on_path(world, "home/.virtualenvs/web/bin"), 0);
}

static void a_path_entry_through_a_symlink_becomes_physical(void **state)
{
    struct world *world = *state;

    make_program(world, "home/.local/share/fnm/node-versions/v20.1.0/installation/bin/tool");
    make_folder(world, "home/.local/state/fnm_multishells");
    make_link(world, "home/.local/state/fnm_multishells/1",
              "../../share/fnm/node-versions/v20.1.0/installation");
    set_path(world, "home/.local/state/fnm_multishells/1/bin", "/usr/local/bin");
    derive(world, &tool);
    assert_int_equal(on_path(world, "home/.local/share/fnm/node-versions/v20.1.0/installation/bin"),
                     0);
}

static void a_layout_that_is_really_a_home_adds_nothing(void **state)
{
    static const char *const targets[] = {".",        "/", "../other", ".ssh", ".config/wattle",
                                          "work/proj"};
    struct world *world = *state;

    make_folder(world, "home/.ssh");
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        AUTO_FREE char *link = at(world, "home/.pyenv");
        AUTO_FREE char *inside = NULL;

        make_link(world, "home/.pyenv", targets[i]);
        inside = realpath(link, NULL);
        derive(world, &(struct derive_request){0});
        assert_int_not_equal(access_of(world, inside), POLICY_READ);
        assert_true(has_note(world, "adds nothing"));
        assert_int_equal(unlink(link), 0);
    }
}

static void a_layout_behind_a_symlink_works_by_its_name(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *link = at(world, "home/.pyenv");

    make_program(world, "data/pyenv/shims/tool");
    make_link(world, "home/.pyenv", "../data/pyenv");
    derive(world, &tool);
    assert_command(world, "data/pyenv/shims/tool");
    assert_int_equal(access_of(world, "data/pyenv/shims"), POLICY_READ);
    assert_non_null(policy_place_find(world->policy, link));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(finds_a_system_command_by_its_name),
        WORLD_TEST(a_missing_command_is_said),
        WORLD_TEST(a_command_that_cannot_be_executed_is_said),
        WORLD_TEST(a_later_executable_beats_an_earlier_file),
        WORLD_TEST(a_command_of_the_owner_s_is_opened_alone),
        WORLD_TEST(a_command_by_its_path_is_looked_up_from_the_start),
        WORLD_TEST(a_symlinked_command_keeps_the_name_it_was_found_by),
        WORLD_TEST(a_link_in_the_pen_does_not_choose_what_is_opened),
        WORLD_TEST(nothing_runs_from_a_credential_place),
        WORLD_TEST(nothing_runs_from_what_the_kernel_makes),
        WORLD_TEST(a_hidden_command_is_refused),
        WORLD_TEST(path_keeps_the_caller_s_order),
        WORLD_TEST(an_empty_environment_has_the_system_s_path),
        WORLD_TEST(path_entries_in_the_pen_are_not_searched),
        WORLD_TEST(path_entries_in_the_work_tree_are_not_searched),
        WORLD_TEST(unfit_path_entries_add_nothing),
        WORLD_TEST(a_toolchain_is_opened_and_searched),
        WORLD_TEST(a_toolchain_on_path_keeps_its_place),
        WORLD_TEST(node_versions_come_newest_first),
        WORLD_TEST(a_layout_known_from_path_only_is_opened_by_it),
        WORLD_TEST(a_path_entry_through_a_symlink_becomes_physical),
        WORLD_TEST(a_layout_that_is_really_a_home_adds_nothing),
        WORLD_TEST(a_layout_behind_a_symlink_works_by_its_name),
    };

    return RUN_WORLD_TESTS(tests);
}
