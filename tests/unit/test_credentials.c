#include "base/cleanup.h"
#include "base/path.h"
#include "cm.h"
#include "policy/credentials.h"

#include <string.h>

static void names_the_place_a_path_lies_in(void **state)
{
    static const struct {
        const char *path;
        const char *place;
    } cases[] = {
        {"/home/u/.ssh", ".ssh"},
        {"/home/u/.ssh/id_ed25519", ".ssh"},
        {"/home/u/.config/gh/hosts.yml", ".config/gh"},
        {"/home/u/.cargo/credentials.toml", ".cargo/credentials.toml"},
        {"/home/u/.npmrc", ".npmrc"},
        {"/home/u/.mozilla/firefox/x", ".mozilla"},
        {"/home/u/.claude/.credentials.json", ".claude/.credentials.json"},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(credential_place_of(cases[i].path, "/home/u"), cases[i].place);
}

static void leaves_alone_what_is_none(void **state)
{
    static const char *const fine[] = {
        "/home/u",
        "/home/u/.sshd",
        "/home/u/.config",
        "/home/u/.cargo",
        "/home/u/.cargo/bin",
        "/home/u/.config/git",
        "/home/u/p/.npmrc",
        "/home/u/p/.ssh",
        "/home/v/.ssh",
        "/home/uu/.ssh",
        "/.ssh",
        "/home/u/.claude/skills",
        "/home/u/.rustup",
        "/home/u/.nvm/versions",
        "/home/u/.gitconfig",
        "/home/u/.codex/worktrees/a/p",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
        if (credential_place_of(fine[i], "/home/u") != NULL)
            fail_msg("'%s' is taken for a credential place", fine[i]);
}

static void knows_what_opening_a_folder_would_open_too(void **state)
{
    static const char *const opens[] = {
        "/home/u", "/home", "/", "/home/u/.config", "/home/u/.cargo", "/home/u/.local/share"};
    static const char *const closed[] = {"/home/u/.ssh", "/home/u/p",          "/home/v",
                                         "/hom",         "/home/u/.cargo/bin", "/home/u/.config/g"};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(opens); i++)
        assert_true(credential_place_below(opens[i], "/home/u"));
    for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
        assert_false(credential_place_below(closed[i], "/home/u"));
}

static void every_place_is_plain_and_stands_once(void **state)
{
    (void) state;
    for (size_t i = 0; credential_places[i] != NULL; i++) {
        AUTO_FREE char *path = path_join("/home/u", credential_places[i]);

        assert_true(path_is_clean(path));
        for (size_t k = 0; credential_places[k] != NULL; k++) {
            AUTO_FREE char *other = path_join("/home/u", credential_places[k]);

            if (i != k && path_is_below(path, other))
                fail_msg("'%s' is covered by '%s'", path, other);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_place_a_path_lies_in),
        cmocka_unit_test(leaves_alone_what_is_none),
        cmocka_unit_test(knows_what_opening_a_folder_would_open_too),
        cmocka_unit_test(every_place_is_plain_and_stands_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
