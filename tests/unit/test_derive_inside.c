/* What a run finds inside: /etc, places, environment. */
#include "derive_tree.h"

static const struct derive_request plain = {0};

static const struct policy_place *place_at(const struct world *world, const char *path)
{
    const struct policy_place *place = policy_place_find(world->policy, path);

    if (place == NULL)
        fail_msg("nothing is at '%s'", path);
    return place;
}

static void the_table_of_etc_is_sorted(void **state)
{
    size_t count = 0;
    const char *const *entries = derive_etc_entries(&count);

    (void) state;
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(entries[i - 1], entries[i]) < 0);
}

static void secrets_of_etc_stay_outside(void **state)
{
    static const char *const closed[] = {"/etc/shadow", "/etc/gshadow",    "/etc/sudoers",
                                         "/etc/ssh",    "/etc/machine-id", "/etc/ssl/private",
                                         "/etc/passwd", "/etc/wattle",     "/etc/npmrc",
                                         "/etc",        "/etc/crypttab"};
    struct world *world = *state;

    derive(world, &plain);
    for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
        assert_int_equal(access_of(world, closed[i]), POLICY_HIDE);
    assert_int_equal(access_of(world, "/usr/bin"), POLICY_READ);
    if (access("/etc/ld.so.cache", F_OK) == 0)
        assert_int_equal(access_of(world, "/etc/ld.so.cache"), POLICY_READ);
}

static void all_of_etc_can_be_read_but_for_its_secrets(void **state)
{
    struct world *world = *state;
    const struct derive_flag_path etc = {"/etc", POLICY_READ};

    derive(world, &(struct derive_request){.paths = &etc, .path_count = 1});
    assert_int_equal(access_of(world, "/etc/fstab"), POLICY_READ);
    if (access("/etc/shadow", F_OK) == 0)
        assert_int_equal(access_of(world, "/etc/shadow"), POLICY_HIDE);
}

static void password_and_group_files_name_the_caller(void **state)
{
    struct world *world = *state;
    const struct policy_place *place = NULL;
    char line[128];

    derive(world, &plain);
    place = place_at(world, "/etc/passwd");
    (void) snprintf(line, sizeof line, "tester:x:%u:%u:Test Er:/wattle/home:", geteuid(),
                    getegid());
    assert_int_equal(place->kind, POLICY_PLACE_FILE);
    assert_non_null(strstr(place->source, line));
    assert_null(strstr(place->source, "other"));
    (void) snprintf(line, sizeof line, "gid%u:x:%u:\n", getegid(), getegid());
    assert_non_null(strstr(place_at(world, "/etc/group")->source, line));
    assert_string_equal(place_at(world, "/etc/resolv.conf")->source, "");
    assert_non_null(strstr(place_at(world, "/etc/hosts")->source, "127.0.0.1 localhost\n"));
}

static void a_run_has_places_of_its_own(void **state)
{
    struct world *world = *state;

    derive(world, &(struct derive_request){.limits = {.tmp_bytes = 4096}});
    assert_int_equal(place_at(world, "/tmp")->kind, POLICY_PLACE_TMPFS);
    assert_int_equal(place_at(world, "/tmp")->bytes, 4096);
    assert_int_equal(place_at(world, "/dev")->kind, POLICY_PLACE_DEV);
    assert_int_equal(place_at(world, "/proc")->kind, POLICY_PLACE_PROC);
    assert_int_equal(place_at(world, "/wattle")->kind, POLICY_PLACE_FOLDER);
    assert_int_equal(place_at(world, "/run")->kind, POLICY_PLACE_FOLDER);
    assert_int_equal(place_at(world, POLICY_INSIDE_HOME)->kind, POLICY_PLACE_TMPFS);
    assert_null(policy_place_find(world->policy, POLICY_INSIDE_TMP)); /* the job adds this */
}

static void the_environment_is_clean(void **state)
{
    static const char *const callers[] = {
        "LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH",     "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY",
        "BASH_ENV",   "GIT_DIR",      "PROMPT_COMMAND", "XDG_DATA_DIRS", "DISPLAY",
        "MAIL",
    };
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
        assert_int_equal(setenv(callers[i], "x", 1), 0);
    derive(world, &plain);
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
        assert_null(policy_env(world->policy, callers[i]));
    assert_string_equal(policy_env(world->policy, "HOME"), "/wattle/home");
    assert_string_equal(policy_env(world->policy, "TMPDIR"), "/wattle/tmp");
    assert_string_equal(policy_env(world->policy, "XDG_CACHE_HOME"), "/wattle/cache");
    assert_string_equal(policy_env(world->policy, "USER"), "tester");
    assert_string_equal(policy_env(world->policy, "LANG"), "C.UTF-8");
    assert_string_equal(policy_env(world->policy, "CI"), "1");
    assert_string_equal(policy_env(world->policy, "PWD"), world->proj);
    assert_string_equal(policy_env(world->policy, "GIT_CONFIG_VALUE_0"), "false");
}

static void only_sane_terminals_and_zones_come_in(void **state)
{
    static const char *const bad_zones[] = {":/etc/passwd", "/etc/passwd", "a/../../b", "a b", ""};
    struct world *world = *state;

    assert_int_equal(setenv("TERM", "xterm-256color", 1), 0);
    assert_int_equal(setenv("TZ", "Europe/Berlin", 1), 0);
    derive(world, &plain);
    assert_string_equal(policy_env(world->policy, "TERM"), "xterm-256color");
    assert_string_equal(policy_env(world->policy, "TZ"), "Europe/Berlin");
    assert_int_equal(setenv("TERM", "../x", 1), 0);
    derive(world, &plain);
    assert_null(policy_env(world->policy, "TERM"));
    for (size_t i = 0; i < ARRAY_SIZE(bad_zones); i++) {
        assert_int_equal(setenv("TZ", bad_zones[i], 1), 0);
        derive(world, &plain);
        assert_null(policy_env(world->policy, "TZ"));
    }
}

static void the_owner_s_words_come_in(void **state)
{
    struct world *world = *state;
    const char *const words[] = {
        "A=1=2", "B", "MISSING", "EMPTY=", "LD_PRELOAD=x", "HOME=/x", NULL};

    assert_int_equal(setenv("B", "of the caller", 1), 0);
    derive(world, &(struct derive_request){.env = words});
    assert_string_equal(policy_env(world->policy, "A"), "1=2");
    assert_string_equal(policy_env(world->policy, "B"), "of the caller");
    assert_null(policy_env(world->policy, "MISSING"));
    assert_string_equal(policy_env(world->policy, "EMPTY"), "");
    assert_string_equal(policy_env(world->policy, "LD_PRELOAD"), "x");
    assert_string_equal(policy_env(world->policy, "HOME"), "/x");
    assert_true(has_note(world, "'LD_PRELOAD' makes programs"));
    assert_true(has_note(world, "'HOME' replaces"));
    assert_true(has_note(world, "'MISSING' is not set"));
}

static void names_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {"=x", "", "A-B=1", "1A=2", "A B"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        const char *const words[] = {bad[i], NULL};

        assert_int_equal(setenv("A B", "x", 1), 0);
        refuse(world, &(struct derive_request){.env = words}, "policy.env");
    }
}

static void a_variable_keeps_a_system_toolchain_only(void **state)
{
    struct world *world = *state;

    make_folder(world, "home/evil");
    assert_int_equal(setenv("JAVA_HOME", "/usr/lib", 1), 0);
    derive(world, &plain);
    assert_string_equal(policy_env(world->policy, "JAVA_HOME"), "/usr/lib");
    assert_int_equal(setenv("JAVA_HOME", world->proj, 1), 0);
    derive(world, &plain);
    assert_null(policy_env(world->policy, "JAVA_HOME"));
}

static void the_git_configuration_is_the_owner_s_without_signing(void **state)
{
    struct world *world = *state;
    const char *text = NULL;

    make_file(world, "home/dotfiles/gitconfig",
              "[user]\n name = A \"B\\\\ C\"\n signingkey = X\n[commit]\n gpgsign = true\n", 0644);
    make_link(world, "home/.gitconfig", "dotfiles/gitconfig");
    make_file(world, "home/.config/git/config", "[user]\nname = x\nemail = e@x\n", 0644);
    derive(world, &plain);
    text = place_at(world, "/wattle/home/.gitconfig")->source;
    assert_non_null(strstr(text, "name = \"A B\\\\ C\"\n"));
    assert_non_null(strstr(text, "email = \"e@x\"\n"));
    assert_non_null(strstr(text, "[commit]\n\tgpgsign = false\n"));
    assert_null(strstr(text, "signingkey"));
    assert_null(strstr(text, "true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_etc_is_sorted),
        WORLD_TEST(secrets_of_etc_stay_outside),
        WORLD_TEST(all_of_etc_can_be_read_but_for_its_secrets),
        WORLD_TEST(password_and_group_files_name_the_caller),
        WORLD_TEST(a_run_has_places_of_its_own),
        WORLD_TEST(the_environment_is_clean),
        WORLD_TEST(only_sane_terminals_and_zones_come_in),
        WORLD_TEST(the_owner_s_words_come_in),
        WORLD_TEST(names_that_are_none_are_refused),
        WORLD_TEST(a_variable_keeps_a_system_toolchain_only),
        WORLD_TEST(the_git_configuration_is_the_owner_s_without_signing),
    };

    return RUN_WORLD_TESTS(tests);
}
