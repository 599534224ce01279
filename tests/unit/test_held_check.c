/* What the check after a run does with each kind of name. */
#include "held_folder.h"

#define CONFIG "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
#define EVIL "[core]\n\tbare = false\n\tfsmonitor = ./evil\n[user]\n\tname = me\n"

static void make_repository(const char *path)
{
    char name[256];
    static const char *const folders[] = {"", "/hooks", "/objects", "/refs"};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        (void) snprintf(name, sizeof name, "%s%s", path, folders[i]);
        make_folder(name);
    }
    (void) snprintf(name, sizeof name, "%s/HEAD", path);
    make_file(name, "ref: refs/heads/main\n");
    (void) snprintf(name, sizeof name, "%s/config", path);
    make_file(name, CONFIG);
}

static void says_nothing_when_nothing_came(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_repository(".git");
    make_file(".envrc", "mine");
    make_file(".git/hooks/pre-commit", "mine");
    struct held *held = begin(world, &telling);

    make_file("main.c", "int main");
    make_folder("src");
    make_file("src/.envrc", "it counts at tops only");
    end(held);
    assert_int_equal(telling.count, 0);
    holds(".envrc", "mine");
    assert_true(is_there("src/.envrc"));
}

static void sets_new_names_aside(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_repository(".git");
    struct held *held = begin(world, &telling);

    make_file(".envrc", "evil");
    make_folder(".codex");
    make_file(".codex/config.toml", "evil");
    make_file(".git/hooks/pre-commit", "evil");
    make_file(".git/hooks/pre-push.sample", "a sample");
    assert_int_equal(symlink("elsewhere", ".claude"), 0);
    end(held);
    assert_int_equal(telling.count, 4);
    store_holds(world, was(&telling, ".envrc", HELD_SET_ASIDE)->id, "evil");
    store_holds(world, was(&telling, ".codex", HELD_SET_ASIDE)->id, "config.toml\n");
    store_holds(world, was(&telling, ".claude", HELD_SET_ASIDE)->id, "elsewhere");
    store_holds(world, was(&telling, ".git/hooks/pre-commit", HELD_SET_ASIDE)->id, "evil");
    assert_false(is_there(".envrc") || is_there(".codex") || is_there(".claude"));
    assert_false(is_there(".git/hooks/pre-commit"));
    assert_true(is_there(".git/hooks/pre-push.sample"));
}

static void disarms_a_new_repository(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    struct held *held = begin(world, &telling);

    make_folder("sub");
    make_repository("sub/.git");
    make_file("sub/.git/config", EVIL);
    make_file("sub/.git/hooks/post-checkout", "evil");
    make_file("sub/.git/commondir", "/elsewhere\n");
    make_repository("fine.git");
    make_repository("bare.git");
    make_file("bare.git/config", EVIL);
    make_file("bare.git/hooks/post-checkout", "evil");
    end(held);
    assert_int_equal(telling.count, 5);
    store_holds(world, was(&telling, "sub/.git/config", HELD_DISARMED)->id, EVIL);
    assert_non_null(strstr(was(&telling, "sub/.git/config", HELD_DISARMED)->reason, "fsmonitor"));
    holds("sub/.git/config", "[core]\n\tbare = \"false\"\n[user]\n\tname = \"me\"\n");
    (void) was(&telling, "sub/.git/hooks/post-checkout", HELD_DISARMED);
    (void) was(&telling, "sub/.git/commondir", HELD_SET_ASIDE);
    (void) was(&telling, "bare.git/config", HELD_DISARMED);
    (void) was(&telling, "bare.git/hooks/post-checkout", HELD_DISARMED);
    holds("fine.git/config", CONFIG);
    assert_false(is_there("sub/.git/hooks/post-checkout") || is_there("sub/.git/commondir"));
    assert_true(is_there("sub/.git/HEAD"));
}

static void puts_back_what_was_changed(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_repository(".git");
    make_file(".envrc", "mine");
    make_file(".git/hooks/pre-commit", "mine");
    assert_int_equal(symlink("right", ".autoenv"), 0);
    make_file(".nvimrc", "mine");
    struct held *held = begin(world, &telling);

    make_file(".envrc", "evil");
    make_file(".git/config", EVIL);
    assert_int_equal(chmod(".git/hooks/pre-commit", 0777), 0);
    assert_int_equal(unlink(".autoenv"), 0);
    assert_int_equal(symlink("wrong", ".autoenv"), 0);
    assert_int_equal(unlink(".nvimrc"), 0);
    end(held);
    assert_int_equal(telling.count, 5);
    store_holds(world, was(&telling, ".envrc", HELD_PUT_BACK)->id, "evil");
    store_holds(world, was(&telling, ".git/config", HELD_PUT_BACK)->id, EVIL);
    store_holds(world, was(&telling, ".autoenv", HELD_PUT_BACK)->id, "wrong");
    (void) was(&telling, ".git/hooks/pre-commit", HELD_RESTORED);
    (void) was(&telling, ".nvimrc", HELD_RESTORED);
    holds(".envrc", "mine");
    holds(".git/config", "[core]\n\tbare = \"false\"\n[user]\n\tname = \"me\"\n");
    holds(".nvimrc", "mine");
    struct stat seen;

    assert_int_equal(stat(".git/hooks/pre-commit", &seen), 0);
    assert_int_equal(seen.st_mode & 07777, 0644);
}

static void lets_a_configuration_change_that_runs_nothing(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_repository(".git");
    struct held *held = begin(world, &telling);

    make_file(".git/config", CONFIG "[user]\n\tname = me\n");
    end(held);
    assert_int_equal(telling.count, 0);
    holds(".git/config", CONFIG "[user]\n\tname = me\n");
}

/* What the owner has set meanwhile, by git or by hand, stays; what a job has set does not. */
static void puts_back_each_setting_for_itself(void **state)
{
    static const char before[] = "[core]\n\tbare = false\n\teditor = mine\n\tworktree = /w\n"
                                 "[alias]\n\tone = !mine\n\ttwo = !mine\n";
    struct world *world = *state;
    struct telling telling = {0};

    make_repository(".git");
    make_file(".git/config", before);
    make_folder("other");
    make_repository("other/.git");
    struct held *held = begin(world, &telling);

    make_file(".git/config",
              "[core]\n\tbare = false\n\tworktree = /elsewhere\n\tfsmonitor = ./evil\n"
              "[user]\n\tname = me\n[alias]\n\ttwo = !mine\n\tone = !evil\n"
              "[remote \"o\"]\n\turl = ext::evil\n\tfetch = a:b\n");
    make_file("other/.git/config", "[user]\n\tname = me\n[core\n\tfsmonitor = evil\n");
    end(held);
    (void) was(&telling, ".git/config", HELD_PUT_BACK);
    holds(".git/config", "[core]\n\tbare = \"false\"\n[user]\n\tname = \"me\"\n"
                         "[core]\n\teditor = \"mine\"\n\tworktree = \"/w\"\n"
                         "[alias]\n\tone = \"!mine\"\n\ttwo = \"!mine\"\n"
                         "[remote \"o\"]\n\tfetch = \"a:b\"\n");
    holds("other/.git/config", CONFIG); /* nobody can tell what the rest of it says */
}

static void leaves_no_other_name_of_what_it_keeps(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_repository(".git");
    struct held *held = begin(world, &telling);

    make_link("mine", ".git/config");
    make_folder("sub");
    make_repository("sub/.git");
    make_link("theirs", "sub/.git/config");
    end(held);
    make_file("mine", EVIL);
    make_file("theirs", EVIL);
    holds(".git/config", CONFIG);
    holds("sub/.git/config", CONFIG);
}

static void follows_nothing_that_was_swapped_in(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_repository(".git");
    make_file(".git/hooks/pre-commit", "mine");
    make_folder("../out/hooks");
    make_file("../out/hooks/pre-commit", "the owner's");
    make_file("../out/.envrc", "the owner's");
    struct held *held = begin(world, &telling);

    assert_int_equal(rename(".git/hooks", "moved"), 0);
    assert_int_equal(symlink("../../out/hooks", ".git/hooks"), 0);
    assert_int_equal(symlink("../out", "sub"), 0);
    assert_int_equal(symlink("../out", ".vscode"), 0);
    end(held);
    (void) was(&telling, ".git/hooks", HELD_PUT_BACK);
    (void) was(&telling, ".git/hooks/pre-commit", HELD_RESTORED);
    holds(".git/hooks/pre-commit", "mine");
    holds("../out/hooks/pre-commit", "the owner's");
    holds("../out/.envrc", "the owner's");
    (void) was(&telling, ".vscode", HELD_SET_ASIDE);
}

static void says_what_is_gone_once(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_folder("sub");
    make_repository("sub/.git");
    make_file("sub/.git/hooks/pre-commit", "mine");
    struct held *held = begin(world, &telling);

    assert_int_equal(rename("sub", "renamed"), 0);
    end(held);
    (void) was(&telling, "sub/.git", HELD_GONE);
    assert_null(told_of(&telling, "sub/.git/config"));
    (void) was(&telling, "renamed/.git/hooks/pre-commit", HELD_DISARMED);
    assert_int_equal(telling.count, 2);
}

/* Names of every kind and length, in folders that are closed or deep. */
static void is_not_stopped_by_a_hostile_tree(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    char name[256];
    struct held *held = begin(world, &telling);

    assert_int_equal(mkfifo(".envrc", 0600), 0);
    make_folder(".codex");
    assert_int_equal(mkfifo(".codex/fifo", 0600), 0);
    assert_int_equal(chmod(".codex", 0), 0);
    (void) memset(name, 'n', 255);
    name[255] = '\0';
    make_folder("line\nbreak");
    make_folder("line\nbreak/.git");
    make_folder("line\nbreak/.git/hooks");
    assert_int_equal(chdir("line\nbreak/.git/hooks"), 0);
    make_file(name, "evil");
    assert_int_equal(chdir(world->pen), 0);
    make_folder("closed");
    make_folder("closed/.git");
    make_file("closed/.git/config", EVIL);
    assert_int_equal(chmod("closed/.git", 0500), 0);
    assert_int_equal(chmod("closed", 0), 0);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(mkdir(name, 0755), 0);
        assert_int_equal(chdir(name), 0);
    }
    make_file(".envrc", "too deep for a path");
    assert_int_equal(chdir(world->pen), 0);
    end(held);
    assert_int_equal(telling.count, 5);
    (void) was(&telling, ".envrc", HELD_SET_ASIDE);
    (void) was(&telling, ".codex", HELD_SET_ASIDE);
    (void) was(&telling, "closed/.git/config", HELD_DISARMED);
    struct stat seen;

    assert_int_equal(stat("closed", &seen), 0);
    assert_int_equal(seen.st_mode & 07777, 0);
    assert_int_equal(chmod("closed", 0700), 0);
    assert_int_equal(stat("closed/.git", &seen), 0);
    assert_int_equal(seen.st_mode & 07777, 0500);
    assert_int_equal(chdir("line\nbreak/.git/hooks"), 0);
    assert_false(is_there(name));
    assert_int_equal(chdir(world->pen), 0);
}

static void counts_as_new_what_a_run_beside_made(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    struct held *first = begin(world, &telling);

    make_file(".envrc", "evil");
    struct held *second = begin(world, &telling);

    end(first);
    assert_int_equal(telling.count, 0);
    holds(".envrc", "evil");
    end(second);
    (void) was(&telling, ".envrc", HELD_SET_ASIDE);
    assert_false(is_there(".envrc"));
}

static void finishes_what_a_crash_left(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    struct held *held = begin(world, &telling);
    const struct held_request request = request_of(world, &telling);
    struct err err = {0};

    make_file(".envrc", "evil");
    assert_int_equal(held_sweep(&request, &err), 0); /* the run goes on */
    assert_int_equal(telling.count, 0);
    held_freep(&held); /* as the kernel does */
    assert_int_equal(held_sweep(&request, &err), 0);
    (void) was(&telling, ".envrc", HELD_SET_ASIDE);

    telling.count = 0;
    make_file(".envrc", "the owner's");
    held = begin(world, &telling);
    end(held);
    assert_int_equal(telling.count, 0);

    held = begin(world, &telling);
    make_file(".nvimrc", "evil");
    held_freep(&held);
    held = begin(world, &telling);
    (void) was(&telling, ".nvimrc", HELD_SET_ASIDE);
    end(held);
    assert_int_equal(telling.count, 1);
    holds(".envrc", "the owner's");
}

/* A tree in a tree: what the outer check takes was there when the inner one began. */
static void two_trees_do_not_undo_each_other(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_folder("sub");
    struct held *outer = begin(world, &telling);

    make_folder("sub/.git");
    make_file("sub/.envrc", "evil");
    AUTO_FREE char *sub = path_join(world->pen, "sub");
    struct world inner_world = *world;
    struct err err = {0};

    inner_world.policy = policy_new();
    assert_int_equal(policy_set_pen(inner_world.policy, sub, &err), 0);
    open_tree_of(&inner_world, sub);
    struct held *inner = begin(&inner_world, &telling);

    end(outer);
    (void) was(&telling, "sub/.envrc", HELD_SET_ASIDE);
    assert_int_equal(telling.count, 1);
    end(inner);
    assert_int_equal(telling.count, 1);
    assert_false(is_there("sub/.envrc"));
    policy_freep(&inner_world.policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HELD_TEST(says_nothing_when_nothing_came),
        HELD_TEST(sets_new_names_aside),
        HELD_TEST(disarms_a_new_repository),
        HELD_TEST(puts_back_what_was_changed),
        HELD_TEST(lets_a_configuration_change_that_runs_nothing),
        HELD_TEST(puts_back_each_setting_for_itself),
        HELD_TEST(leaves_no_other_name_of_what_it_keeps),
        HELD_TEST(follows_nothing_that_was_swapped_in),
        HELD_TEST(says_what_is_gone_once),
        HELD_TEST(is_not_stopped_by_a_hostile_tree),
        HELD_TEST(counts_as_new_what_a_run_beside_made),
        HELD_TEST(finishes_what_a_crash_left),
        HELD_TEST(two_trees_do_not_undo_each_other),
    };

    return RUN_PEN_TESTS(tests);
}
