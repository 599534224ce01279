/* Names of the pen that are held because a git configuration or a symlink leads to them. */
#include "derive_tree.h"

static const struct derive_request plain = {0};

#define PROJECT "home/work/proj"
#define MAIN "home/work/main/.git"
#define LINK MAIN "/worktrees/proj"

static void make_git(const struct world *world, const char *folder, const char *config)
{
    static const char *const folders[] = {"objects", "refs", "hooks"};
    AUTO_FREE char *head = path_join(folder, "HEAD");
    AUTO_FREE char *settings = path_join(folder, "config");

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        AUTO_FREE char *path = path_join(folder, folders[i]);

        make_folder(world, path);
    }
    make_file(world, head, "ref: refs/heads/main\n", 0644);
    make_file(world, settings, config, 0644);
}

/* PROJECT as a linked worktree. */
static void make_worktree(const struct world *world)
{
    AUTO_FREE char *back = at(world, PROJECT "/.git");
    AUTO_FREE char *link = at(world, LINK);
    AUTO_FREE char *pointer = NULL;

    assert_true(asprintf(&pointer, "gitdir: %s\n", link) > 0);
    make_file(world, PROJECT "/.git", pointer, 0644);
    make_file(world, LINK "/gitdir", back, 0644);
    make_file(world, LINK "/commondir", "../..\n", 0644);
    make_file(world, LINK "/HEAD", "ref: refs/heads/proj\n", 0644);
}

static void what_a_configuration_runs_out_of_the_pen_is_held(void **state)
{
    struct world *world = *state;

    make_git(world, PROJECT "/.git",
             "[core]\n\thooksPath = .husky/_\n[include]\n\tpath = ../shared.cfg\n");
    make_file(world, "home/.gitconfig", "[core]\n\thooksPath = .githooks\n", 0644);
    derive(world, &plain);
    assert_true(guards(world, PROJECT "/.husky/_"));
    assert_true(guards(world, PROJECT "/shared.cfg"));
    assert_true(guards(world, PROJECT "/.githooks"));

    make_file(world, PROJECT "/.git/config", "[core]\n\thooksPath = ..\n\tbare = false\n", 0644);
    derive(world, &plain);
    assert_false(guards(world, PROJECT "/.husky/_"));
    assert_true(has_note(world, "nothing in it is held"));
}

static void so_is_what_a_linked_worktree_s_repository_names(void **state)
{
    struct world *world = *state;

    make_git(world, MAIN, "[core]\n\thooksPath = .githooks\n");
    make_worktree(world);
    derive(world, &plain);
    assert_true(guards(world, PROJECT "/.githooks"));
}

static void where_a_guarded_name_leads_is_held(void **state)
{
    struct world *world = *state;

    make_git(world, PROJECT "/gitreal", "");
    make_link(world, PROJECT "/.git", "gitreal");
    make_file(world, PROJECT "/env", "", 0644);
    make_link(world, PROJECT "/.envrc", "env");
    make_link(world, PROJECT "/.vscode", "nothing");
    derive(world, &plain);
    assert_true(guards(world, PROJECT "/gitreal"));
    assert_true(guards(world, PROJECT "/env"));
    assert_int_equal(policy_guard_rules(world->policy), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(what_a_configuration_runs_out_of_the_pen_is_held),
        WORLD_TEST(so_is_what_a_linked_worktree_s_repository_names),
        WORLD_TEST(where_a_guarded_name_leads_is_held),
    };

    return RUN_WORLD_TESTS(tests);
}
