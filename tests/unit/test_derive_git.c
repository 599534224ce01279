/* Git folders outside of the pen: which are followed, and what is then open. */
#include "derive_tree.h"

static const struct derive_request plain = {0};

/* ---- repositories made of files ------------------------------------------------------------- */

static void make_text(const struct world *world, const char *path, const char *text)
{
    make_file(world, path, text, 0644);
}

/* "<top>/" in front of what follows '@'. */
static void make_pointer(const struct world *world, const char *path, const char *before,
                         const char *target)
{
    AUTO_FREE char *text = NULL;
    int length = target[0] == '@' ? asprintf(&text, "%s%s/%s\n", before, world->top, target + 1)
                                  : asprintf(&text, "%s%s\n", before, target);

    assert_true(length > 0);
    make_text(world, path, text);
}

static void make_below(const struct world *world, const char *folder, const char *name,
                       const char *text)
{
    AUTO_FREE char *path = path_join(folder, name);

    assert_non_null(path);
    if (text == NULL)
        make_folder(world, path);
    else
        make_text(world, path, text);
}

static void make_git(const struct world *world, const char *folder)
{
    make_below(world, folder, "HEAD", "ref: refs/heads/main\n");
    make_below(world, folder, "objects", NULL);
    make_below(world, folder, "refs", NULL);
    make_below(world, folder, "hooks", NULL);
    make_below(world, folder, "index", "");
    make_below(world, folder, "config", "[core]\n\tbare = false\n");
}

#define MAIN "home/work/main/.git"
#define LINK MAIN "/worktrees/proj"

/* The pen as a linked worktree of home/work/main. */
static void make_worktree(const struct world *world)
{
    make_git(world, MAIN);
    make_pointer(world, LINK "/gitdir", "", "@home/work/proj/.git");
    make_text(world, LINK "/commondir", "../..\n");
    make_text(world, LINK "/HEAD", "ref: refs/heads/proj\n");
    make_text(world, LINK "/index", "");
    make_text(world, MAIN "/worktrees/other/HEAD", "ref: refs/heads/other\n");
    make_pointer(world, "home/work/proj/.git", "gitdir: ", "@" LINK);
}

#define MODULE "home/work/super/.git/modules/libs/sub"
#define SUB "home/work/super/libs/sub"

static void make_submodule(const struct world *world)
{
    make_git(world, "home/work/super/.git");
    make_git(world, MODULE);
    make_text(world, MODULE "/config", "[core]\n\tworktree = ../../../../libs/sub\n");
    make_folder(world, SUB);
    make_text(world, SUB "/.git", "gitdir: ../../.git/modules/libs/sub\n");
    enter(world, SUB);
}

/* ---- what is said and open ------------------------------------------------------------------ */

static void is_followed(struct world *world)
{
    derive(world, &plain);
    assert_int_equal(access_of(world, MAIN "/objects/x"), POLICY_WRITE);
    assert_int_equal(access_of(world, LINK "/index"), POLICY_WRITE);
    assert_true(has_note(world, "is a linked worktree"));
    assert_false(has_note(world, "is not opened"));
}

static void is_not_followed(struct world *world, const struct derive_request *request,
                            const char *reason)
{
    derive(world, request);
    if (!has_note(world, reason))
        for (size_t i = 0; i < policy_notes(world->policy); i++)
            print_message("note: %s\n", policy_note_at(world->policy, i));
    assert_true(has_note(world, "is not opened"));
    assert_true(has_note(world, reason));
    for (size_t i = 0; i < policy_rules(world->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(world->policy, i);

        assert_true(rule->origin != POLICY_FROM_GIT || rule->hold);
    }
    for (size_t i = 0; i < policy_guard_rules(world->policy); i++)
        assert_true(policy_guard_rule_at(world->policy, i)->kind != POLICY_GUARD_HELD);
}

/* ---- linked worktrees ------------------------------------------------------------------------ */

static void a_linked_worktree_can_write_objects_and_its_own_state(void **state)
{
    static const char *const open[] = {"objects/x",           "refs/heads/proj",
                                       "logs/HEAD",           "packed-refs",
                                       "worktrees/proj/HEAD", "worktrees/proj/rebase-merge/x"};
    struct world *world = *state;

    make_worktree(world);
    is_followed(world);
    for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
        AUTO_FREE char *path = path_join(MAIN, open[i]);

        assert_int_equal(access_of(world, path), POLICY_WRITE);
    }
    assert_int_equal(access_of(world, "home/work/main/file"), POLICY_HIDE);
}

static void what_runs_and_what_is_another_checkout_s_is_held(void **state)
{
    static const char *const held[] = {"config",
                                       "hooks/pre-commit",
                                       "HEAD",
                                       "index",
                                       "modules/x/config",
                                       "config.worktree",
                                       "info/attributes",
                                       "rebase-merge/git-rebase-todo",
                                       "worktrees/other/HEAD",
                                       "worktrees/new/HEAD",
                                       "worktrees/proj/gitdir",
                                       "worktrees/proj/commondir",
                                       "worktrees/proj/config.worktree"};
    struct world *world = *state;

    make_worktree(world);
    make_folder(world, MAIN "/modules");
    make_folder(world, MAIN "/rebase-merge");
    make_text(world, MAIN "/info/attributes", "");
    make_text(world, MAIN "/config.worktree", "");
    make_text(world, LINK "/config.worktree", "");
    is_followed(world);
    for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
        AUTO_FREE char *path = path_join(MAIN, held[i]);

        assert_int_equal(access_of(world, path), POLICY_READ);
    }
}

static void what_the_main_checkout_does_not_have_yet_is_guarded(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    is_followed(world);
    assert_true(guards(world, MAIN "/rebase-merge"));
    assert_true(guards(world, MAIN "/modules"));
    assert_true(guards(world, MAIN "/HEAD"));
    assert_false(guards(world, LINK "/HEAD"));
}

static void the_pointer_itself_is_held_whatever_it_says(void **state)
{
    struct world *world = *state;

    make_text(world, "home/work/proj/.git", "gitdir: /nowhere\n");
    is_not_followed(world, &plain, "/nowhere");
    assert_int_equal(access_of(world, "home/work/proj/.git"), POLICY_READ);
    assert_int_equal(access_of(world, "home/work/proj/x"), POLICY_WRITE);
}

static void a_socket_in_there_is_hidden(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *path = at(world, MAIN "/fsmonitor--daemon.ipc");

    make_worktree(world);
    assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
    is_followed(world);
    assert_int_equal(access_of(world, MAIN "/fsmonitor--daemon.ipc"), POLICY_HIDE);
}

static void relative_pointers_are_followed_as_well(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    make_text(world, "home/work/proj/.git", "gitdir: ../main/.git/worktrees/proj\n");
    make_text(world, LINK "/gitdir", "../../../../proj/.git\n");
    is_followed(world);
    make_text(world, "home/work/proj/.git", "gitdir: ../main/.git/worktrees/proj\r\n");
    is_followed(world);
}

static void a_bare_repository_is_followed(void **state)
{
    struct world *world = *state;

    make_git(world, "home/work/main.git");
    make_pointer(world, "home/work/main.git/worktrees/proj/gitdir", "", "@home/work/proj/.git");
    make_text(world, "home/work/main.git/worktrees/proj/commondir", "../..\n");
    make_text(world, "home/work/main.git/worktrees/proj/HEAD", "ref: refs/heads/proj\n");
    make_pointer(world, "home/work/proj/.git", "gitdir: ", "@home/work/main.git/worktrees/proj");
    derive(world, &plain);
    assert_int_equal(access_of(world, "home/work/main.git/objects/x"), POLICY_WRITE);
    assert_int_equal(access_of(world, "home/work/main.git/config"), POLICY_READ);
}

static void a_worktree_in_the_main_checkout_is_followed(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    make_folder(world, "home/work/main/wt");
    make_pointer(world, "home/work/main/wt/.git", "gitdir: ", "@" LINK);
    make_pointer(world, LINK "/gitdir", "", "@home/work/main/wt/.git");
    enter(world, "home/work/main/wt");
    is_followed(world);
    assert_int_equal(access_of(world, "home/work/main/file"), POLICY_HIDE);
}

/* ---- forged ---------------------------------------------------------------------------------- */

static void a_worktree_that_is_not_named_back_is_not_followed(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    make_pointer(world, LINK "/gitdir", "", "@home/work/main/.git");
    is_not_followed(world, &plain, "'gitdir' in");
    make_text(world, LINK "/gitdir", "");
    is_not_followed(world, &plain, "is not one line");
}

static void a_commondir_that_leads_elsewhere_is_not_followed(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    make_git(world, "home/work/evil");
    make_text(world, LINK "/commondir", "../../../../evil\n");
    is_not_followed(world, &plain, "'commondir' in");
    make_text(world, LINK "/commondir", "../..\n");
    make_text(world, MAIN "/commondir", "../../evil\n");
    is_not_followed(world, &plain, "yet another git folder");
}

static void a_pointer_that_is_no_pointer_is_not_followed(void **state)
{
    static const char *const bad[] = {"",
                                      "gitdir:",
                                      "gitdir: ",
                                      "gitdir: \n",
                                      "GITDIR: ../main\n",
                                      "../main/.git/worktrees/proj",
                                      "gitdir: ../main/.git/worktrees/proj\nmore\n",
                                      "gitdir: ../main/.git\x1b[m\n"};
    struct world *world = *state;

    make_worktree(world);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        make_text(world, "home/work/proj/.git", bad[i]);
        is_not_followed(world, &plain, "is not one line");
    }
}

static void a_main_checkout_s_git_folder_cannot_be_claimed(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    make_text(world, "home/work/proj/.git", "gitdir: ../main/.git\n");
    is_not_followed(world, &plain, "does not name the folder it belongs to");
}

static void symlinks_on_the_way_are_not_followed(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *head = at(world, MAIN "/HEAD");
    AUTO_FREE char *gitdir = at(world, LINK "/gitdir");

    make_worktree(world);
    make_link(world, "home/work/alias", "main");
    make_text(world, "home/work/proj/.git", "gitdir: ../alias/.git/worktrees/proj\n");
    is_not_followed(world, &plain, "leads through a symlink");
    make_worktree(world);
    assert_int_equal(unlink(head), 0);
    make_link(world, MAIN "/HEAD", "refs/heads/main");
    is_not_followed(world, &plain, "does not hold HEAD");
    assert_int_equal(unlink(head), 0);
    make_worktree(world);
    assert_int_equal(unlink(gitdir), 0);
    make_pointer(world, LINK "/real", "", "@home/work/proj/.git");
    make_link(world, LINK "/gitdir", "real");
    is_not_followed(world, &plain, "leads through a symlink");
}

static void a_held_name_that_is_a_symlink_is_not_followed(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *hooks = at(world, MAIN "/hooks");

    make_worktree(world);
    assert_int_equal(rmdir(hooks), 0);
    make_link(world, MAIN "/hooks", "../hooks");
    is_not_followed(world, &plain, "is a symlink");
}

static void a_symlinked_git_is_not_followed(void **state)
{
    struct world *world = *state;

    make_git(world, MAIN);
    make_link(world, "home/work/proj/.git", "../main/.git");
    is_not_followed(world, &plain, "through a symlink");
}

static void what_lacks_head_objects_or_refs_is_not_followed(void **state)
{
    static const char *const names[] = {MAIN "/HEAD", MAIN "/objects", MAIN "/refs"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTO_FREE char *path = at(world, names[i]);

        make_worktree(world);
        assert_int_equal(remove(path), 0);
        is_not_followed(world, &plain, "does not hold HEAD, objects and refs");
    }
}

static void places_that_no_git_folder_is_taken_from(void **state)
{
    static const struct {
        const char *common, *reason;
    } places[] = {
        {"home/.git", "home"},
        {"home/.config/dots", "belongs to the home"},
        {"home/.dotfiles", "belongs to the home"},
        {"home/.ssh/git", "credentials"},
        {"home/.config/wattle/git", "wattle itself"},
        {"home/work", "holds the pen"},
    };
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        AUTO_FREE char *link = path_join(places[i].common, "worktrees/proj");
        AUTO_FREE char *pointed = NULL;

        assert_true(link != NULL && asprintf(&pointed, "@%s", link) > 0);
        make_git(world, places[i].common);
        make_below(world, link, "HEAD", "x\n");
        make_below(world, link, "commondir", "../..\n");
        {
            AUTO_FREE char *gitdir = path_join(link, "gitdir");

            make_pointer(world, gitdir, "", "@home/work/proj/.git");
        }
        make_pointer(world, "home/work/proj/.git", "gitdir: ", pointed);
        is_not_followed(world, &plain, places[i].reason);
    }
}

static void another_user_s_files_are_not_followed(void **state)
{
    static const char *const names[] = {
        "home/work/proj/.git", MAIN, MAIN "/worktrees", LINK, LINK "/gitdir", LINK "/commondir"};
    struct world *world = *state;

    if (geteuid() != 0)
        SKIP_TEST("only root can give files away");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTO_FREE char *path = at(world, names[i]);

        make_worktree(world);
        assert_int_equal(chown(path, 54321, (gid_t) -1), 0);
        is_not_followed(world, &plain, "is not yours");
        assert_int_equal(chown(path, 0, (gid_t) -1), 0);
    }
}

static void a_git_folder_in_the_pen_needs_no_rule_but_is_guarded(void **state)
{
    struct world *world = *state;

    make_git(world, "home/work/proj/.bare");
    make_text(world, "home/work/proj/.git", "gitdir: ./.bare\n");
    derive(world, &plain);
    assert_true(guards(world, "home/work/proj/.bare"));
    assert_int_equal(access_of(world, "home/work/proj/.git"), POLICY_READ);
    assert_int_equal(access_of(world, "home/work/proj/.bare/objects"), POLICY_WRITE);
}

/* ---- submodules ------------------------------------------------------------------------------ */

static void a_submodule_is_followed_to_the_superproject_s_modules(void **state)
{
    struct world *world = *state;

    make_submodule(world);
    make_git(world, MODULE "/modules/deep/er");
    derive(world, &plain);
    assert_true(has_note(world, "is a submodule"));
    assert_int_equal(access_of(world, MODULE "/index"), POLICY_WRITE);
    assert_int_equal(access_of(world, MODULE "/HEAD"), POLICY_WRITE);
    assert_int_equal(access_of(world, MODULE "/config"), POLICY_READ);
    assert_int_equal(access_of(world, MODULE "/hooks/x"), POLICY_READ);
    assert_int_equal(access_of(world, MODULE "/modules/deep/er/index"), POLICY_WRITE);
    assert_int_equal(access_of(world, MODULE "/modules/deep/er/config"), POLICY_READ);
    assert_int_equal(access_of(world, MODULE "/modules/deep/er/hooks/x"), POLICY_READ);
    assert_int_equal(access_of(world, "home/work/super/.git/config"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/work/super/file"), POLICY_HIDE);
}

static void a_submodule_that_is_not_named_back_is_not_followed(void **state)
{
    struct world *world = *state;

    make_submodule(world);
    make_text(world, MODULE "/config", "[core]\n\tworktree = ../../../..\n");
    is_not_followed(world, &plain, "belongs to");
    make_text(world, MODULE "/config", "[core \"x\"]\n\tworktree = ../../../../libs/sub\n");
    is_not_followed(world, &plain, "does not name the folder");
}

static void a_submodule_of_nothing_around_it_is_not_followed(void **state)
{
    struct world *world = *state;

    make_git(world, "home/work/elsewhere/modules/sub");
    make_text(world, "home/work/elsewhere/modules/sub/config",
              "[core]\n\tworktree = ../../../proj\n");
    make_text(world, "home/work/proj/.git", "gitdir: ../elsewhere/modules/sub\n");
    is_not_followed(world, &plain, "is not among the modules");
}

static void a_submodule_of_a_linked_worktree_is_followed(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    make_git(world, LINK "/modules/sub");
    make_text(world, LINK "/modules/sub/config",
              "[core]\n\tworktree = ../../../../../../proj/sub\n");
    make_folder(world, "home/work/proj/sub");
    make_pointer(world, "home/work/proj/sub/.git", "gitdir: ", "@" LINK "/modules/sub");
    enter(world, "home/work/proj/sub");
    derive(world, &plain);
    assert_int_equal(access_of(world, LINK "/modules/sub/index"), POLICY_WRITE);
    assert_int_equal(access_of(world, LINK "/index"), POLICY_HIDE);
    enter(world, "home/work/proj");
    is_followed(world);
    assert_int_equal(access_of(world, LINK "/modules/sub/index"), POLICY_WRITE);
    assert_int_equal(access_of(world, LINK "/modules/sub/config"), POLICY_READ);
}

/* ---- the owner's word -------------------------------------------------------------------------
 */

static void the_owner_can_forbid_it(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    make_text(world, "home/.config/wattle/config.json", "{\"wattle\": {\"followGit\": false}}");
    is_not_followed(world, &plain, "config.json forbids it");
    make_text(world, "home/.config/wattle/config.json", "{\"wattle\": {\"followGit\": true}}");
    is_followed(world);
}

static void the_owner_s_own_rules_are_not_overruled(void **state)
{
    static const struct {
        const char *path;
        enum policy_access access;
    } rules[] = {
        {MAIN, POLICY_READ},
        {MAIN, POLICY_HIDE},
        {"home/work/main", POLICY_HIDE},
        {LINK, POLICY_READ},
    };
    struct world *world = *state;

    make_worktree(world);
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        AUTO_FREE char *path = at(world, rules[i].path);
        const struct derive_flag_path flag = {path, rules[i].access};

        is_not_followed(world, &(struct derive_request){.paths = &flag, .path_count = 1},
                        "a rule of yours");
        assert_true(access_of(world, MAIN "/objects/x") != POLICY_WRITE);
    }
}

static void gc_leaves_other_worktrees_alone(void **state)
{
    struct world *world = *state;
    const struct policy_place *place = NULL;

    derive(world, &plain);
    place = policy_place_find(world->policy, POLICY_INSIDE_HOME "/.gitconfig");
    assert_null(strstr(place->source, "[gc]"));
    make_worktree(world);
    is_followed(world);
    place = policy_place_find(world->policy, POLICY_INSIDE_HOME "/.gitconfig");
    assert_non_null(strstr(place->source, "worktreepruneexpire = never"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_linked_worktree_can_write_objects_and_its_own_state),
        WORLD_TEST(what_runs_and_what_is_another_checkout_s_is_held),
        WORLD_TEST(what_the_main_checkout_does_not_have_yet_is_guarded),
        WORLD_TEST(the_pointer_itself_is_held_whatever_it_says),
        WORLD_TEST(a_socket_in_there_is_hidden),
        WORLD_TEST(relative_pointers_are_followed_as_well),
        WORLD_TEST(a_bare_repository_is_followed),
        WORLD_TEST(a_worktree_in_the_main_checkout_is_followed),
        WORLD_TEST(a_worktree_that_is_not_named_back_is_not_followed),
        WORLD_TEST(a_commondir_that_leads_elsewhere_is_not_followed),
        WORLD_TEST(a_pointer_that_is_no_pointer_is_not_followed),
        WORLD_TEST(a_main_checkout_s_git_folder_cannot_be_claimed),
        WORLD_TEST(symlinks_on_the_way_are_not_followed),
        WORLD_TEST(a_held_name_that_is_a_symlink_is_not_followed),
        WORLD_TEST(a_symlinked_git_is_not_followed),
        WORLD_TEST(what_lacks_head_objects_or_refs_is_not_followed),
        WORLD_TEST(places_that_no_git_folder_is_taken_from),
        WORLD_TEST(another_user_s_files_are_not_followed),
        WORLD_TEST(a_git_folder_in_the_pen_needs_no_rule_but_is_guarded),
        WORLD_TEST(a_submodule_is_followed_to_the_superproject_s_modules),
        WORLD_TEST(a_submodule_that_is_not_named_back_is_not_followed),
        WORLD_TEST(a_submodule_of_nothing_around_it_is_not_followed),
        WORLD_TEST(a_submodule_of_a_linked_worktree_is_followed),
        WORLD_TEST(the_owner_can_forbid_it),
        WORLD_TEST(the_owner_s_own_rules_are_not_overruled),
        WORLD_TEST(gc_leaves_other_worktrees_alone),
    };

    return RUN_WORLD_TESTS(tests);
}
