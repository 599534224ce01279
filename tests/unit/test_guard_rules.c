/* What the rules say of a name. */
#include "fence/guard/match_priv.h"
#include "guard_pen.h"

/* ---- the table ----------------------------------------------------------------------------- */

static void every_row_is_a_pattern_with_a_reason(void **state)
{
    (void) state;
    for (size_t i = 0; i < guard_names_count(); i++) {
        struct guard_pattern pattern;

        assert_int_equal(guard_pattern_parse(guard_names[i].pattern, &pattern), 0);
        assert_true(strlen(guard_names[i].reason) > 0);
        assert_true(strlen(guard_names[i].reason) < 120);
        assert_true((guard_names[i].vet != GUARD_VET_NONE) ==
                    (guard_names[i].newcomer == GUARD_DISARM));
        if (guard_names[i].is_git)
            assert_memory_equal(guard_names[i].pattern, ".git", 4);
    }
    for (size_t i = 0; i < guard_names_reported_count(); i++) {
        struct guard_pattern pattern;

        assert_int_equal(guard_pattern_parse(guard_names_reported[i].pattern, &pattern), 0);
        assert_int_equal(guard_names_reported[i].newcomer, GUARD_REPORT);
    }
}

static void lists_what_is_only_reported(void **state)
{
    static const char *const told[] = {
        "Makefile",
        "makefile",
        "src/deep/package.json",
        ".github/workflows/ci.yml",
        ".github/actions/a/b/action.yml",
        "node_modules/x/.vscode/tasks.json",
        "lib/rules.mk",
        "sub/.git",
        "a/b/c/.GIT",
        ".gitattributes",
        "deep/.gitattributes",
        ".git/info/attributes",
        ".git/modules/a/b/info/attributes",
        ".git/rebase-merge/git-rebase-todo",
        ".git/worktrees/w/rebase-merge/done",
    };
    static const char *const plain[] = {
        "",
        "src/main.c",
        "Makefiles",
        "mk",
        ".git",
        ".git/HEAD",
        "sub/.git/HEAD",
        ".github/CODEOWNERS",
        "workflows/ci.yml",
        "a/.gitx",
    };
    AUTO(guard_reported_freep) struct guard_reported *reported = guard_reported_new();

    (void) state;
    assert_non_null(reported);
    for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
        const struct guard_name *name = guard_reported_find(reported, told[i]);

        if (name == NULL)
            fail_msg("'%s' is not told", told[i]);
        assert_true(strlen(name->reason) > 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
        if (guard_reported_find(reported, plain[i]) != NULL)
            fail_msg("'%s' is told", plain[i]);
    }
    assert_string_equal(guard_action_name(GUARD_SET_ASIDE), "set aside");
}

/* ---- levels -------------------------------------------------------------------------------- */

static void guards_git_in_every_form(void **state)
{
    static const char *const denied[] = {
        ".git",
        "a/b/.git",
        ".git/hooks",
        ".git/hooks/pre-commit",
        ".git/hooks/a/b",
        "sub/.git/config",
        ".git/config.worktree",
        ".git/commondir",
        ".git/modules/x/hooks/post-checkout",
        ".git/modules/a/b/c/config",
        ".git/modules/x/commondir",
        ".git/worktrees/w/gitdir",
        ".git/worktrees/w/commondir",
        ".git/worktrees/w/config",
        ".git/worktrees/w/modules/x/config",
        ".git/modules/x/worktrees/w/gitdir",
        ".git/remotes/origin",
        ".git/branches/main",
        ".GIT/HOOKS/pre-commit",
        "sub/.Git/Config",
        ".hg/hgrc",
        ".jj/repo/config.toml",
        "sub/.jj/repo/config-id",
        ".jj/workspace-config.toml",
        "sub/.jj/workspace-config-id",
    };
    static const char *const partial[] = {".git/modules",
                                          ".git/modules/x",
                                          ".git/worktrees",
                                          ".git/worktrees/w",
                                          ".git/branches",
                                          ".hg",
                                          ".jj",
                                          ".jj/repo"};
    static const char *const free_names[] = {
        ".git/HEAD",      ".git/tXa5Zi",           ".git/index.lock", ".git/objects/ab/cd",
        ".git/info",      ".git/refs/heads/hooks", "hooks",           "config",
        "git/hooks",      ".gitx/hooks",           ".github",         ".gitignore",
        ".git/foo/hooks", ".jj/repo/store/type",   ".jj/working_copy"};

    for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
        assert_int_equal(level(state, denied[i]), GUARD_DENY);
    for (size_t i = 0; i < ARRAY_SIZE(partial); i++)
        assert_int_equal(level(state, partial[i]), GUARD_PARTIAL);
    for (size_t i = 0; i < ARRAY_SIZE(free_names); i++)
        assert_int_equal(level(state, free_names[i]), GUARD_NO);
}

static void guards_agents_and_editors_at_the_top(void **state)
{
    static const char *const denied[] = {
        ".envrc",          ".mcp.json",
        ".codex",          ".cursor/mcp.json",
        ".gemini/x/y",     ".claude/settings.json",
        ".claude/hooks/x", ".vscode/tasks.json",
        ".devcontainer/x", ".idea/runConfigurations/x.xml",
        ".husky/pre-push", ".helix/languages.toml",
        ".vimrc",          ".clinerules/hooks/PreToolUse",
        ".crush.json",     "deep/.sl/config",
    };
    static const char *const free_names[] = {".vscode/extensions.json", ".claude/worktrees/x",
                                             ".clinerules/style.md",    ".husky/_",
                                             ".husky/_/husky.sh",       "envrc"};

    for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
        assert_int_equal(level(state, denied[i]), GUARD_DENY);
    for (size_t i = 0; i < ARRAY_SIZE(free_names); i++)
        assert_int_equal(level(state, free_names[i]), GUARD_NO);
    assert_int_equal(level(state, ".claude"), GUARD_PARTIAL);
    assert_int_equal(level(state, ".husky"), GUARD_PARTIAL);
}

static void asks_whether_a_deeper_folder_holds_a_repository(void **state)
{
    const struct guard_class with = classify(*state, "a/b/.vscode/tasks.json", yes);
    const struct guard_class without = classify(*state, "a/b/.vscode/tasks.json", no);

    assert_int_equal(with.level, GUARD_DENY);
    assert_int_equal(without.level, GUARD_NO);
    assert_true(without.report >= 0);
    assert_string_equal(guard_rule_pattern(*state, without.report), ".vscode/tasks.json");
    assert_int_equal(with.report, -1);
    assert_int_equal(classify(*state, "a/.vscode", no).report, -1);
    assert_int_equal(classify(*state, "a/.vscode", yes).level, GUARD_PARTIAL);
    assert_int_equal(classify(*state, "a/.envrc", NULL).level, GUARD_DENY);
}

static bool note_up(void *context, unsigned up)
{
    *(unsigned *) context = up;
    return true;
}

static void says_how_far_up_the_folder_is(void **state)
{
    unsigned up = 99;
    const struct guard_ask ask = {.holds_git = note_up, .context = &up};
    struct guard_class class;

    guard_classify(*state, PEN "/a/b", ".envrc", &ask, &class);
    assert_int_equal(up, 0);
    guard_classify(*state, PEN "/a/b/.vscode", "tasks.json", &ask, &class);
    assert_int_equal(up, 1);
    guard_classify(*state, PEN "/a/b/.claude/hooks/x", "y", &ask, &class);
    assert_int_equal(up, 3);
    up = 99;
    guard_classify(*state, PEN "/.claude/hooks/x", "y", &ask, &class);
    assert_int_equal(up, 99); /* the top is one */
}

/* Context: how far up the git folder is. */
static bool is_that_far(void *context, unsigned up)
{
    return up == *(const unsigned *) context;
}

static void guards_git_folders_of_any_name(void **state)
{
    static const struct {
        const char *parent, *name;
        unsigned up;
        enum guard_level level;
        enum guard_vet vet;
    } names[] = {
        {PEN, "hooks", 0, GUARD_DENY, GUARD_VET_HOOKS},
        {PEN "/a/b.git", "config", 0, GUARD_DENY, GUARD_VET_CONFIG},
        {PEN "/a/b.git/hooks", "post-update", 1, GUARD_DENY, GUARD_VET_HOOKS},
        {PEN "/b/hooks/x/hooks", "y", 3, GUARD_DENY, GUARD_VET_HOOKS},
        {PEN "/b/hooks/x/hooks", "y", 2, GUARD_NO, GUARD_VET_NONE},
        {PEN "/b", "config.lock", 0, GUARD_DENY, GUARD_VET_LOCK},
        {PEN "/b", "CONFIG.worktree", 0, GUARD_DENY, GUARD_VET_CONFIG},
        {PEN "/b/worktrees/w", "gitdir", 2, GUARD_DENY, GUARD_VET_BACK},
        {PEN "/b/worktrees/w", "commondir", 2, GUARD_DENY, GUARD_VET_COMMONDIR},
        {PEN "/b/modules/m/hooks", "x", 3, GUARD_DENY, GUARD_VET_HOOKS},
        {PEN "/b/modules", "m", 1, GUARD_PARTIAL, GUARD_VET_NONE},
        {PEN "/.git/foo/hooks", "x", 1, GUARD_DENY, GUARD_VET_HOOKS},
        {PEN "/.git/modules/m", "commondir", 0, GUARD_DENY, GUARD_VET_COMMONDIR},
        {PEN "/b", "index", 0, GUARD_NO, GUARD_VET_NONE},
        {"/elsewhere", "hooks", 0, GUARD_NO, GUARD_VET_NONE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        unsigned up = names[i].up;
        const struct guard_ask ask = {.holds_git = no, .is_bare = is_that_far, .context = &up};
        const struct guard_ask nobody = {.holds_git = no};
        struct guard_class class;

        guard_classify(*state, names[i].parent, names[i].name, &ask, &class);
        if (class.level != names[i].level || class.vet != names[i].vet)
            fail_msg("%s/%s is %d, %d", names[i].parent, names[i].name, class.level, class.vet);
        assert_true(class.level == GUARD_NO || class.in_git);
        up = 99;
        guard_classify(*state, names[i].parent, names[i].name, &ask, &class);
        assert_true(class.level == GUARD_NO || strstr(names[i].parent, "/.git/modules") != NULL);
        guard_classify(*state, names[i].parent, names[i].name, &nobody, &class);
        assert_true(class.level == GUARD_NO || strstr(names[i].parent, "/.git/modules") != NULL);
    }
}

static void knows_nothing_outside_of_its_zones(void **state)
{
    assert_int_equal(level(state, "/home/ann/.git"), GUARD_NO);
    assert_int_equal(level(state, "/home/ann/pen2/.git"), GUARD_NO);
    assert_int_equal(level(state, "/home/ann/pen"), GUARD_NO);
    assert_int_equal(level(state, "/.envrc"), GUARD_NO);
    assert_false(classify(*state, "/tmp/HEAD", no).bare);
}

static void denies_what_it_cannot_place(void **state)
{
    struct guard_class class;
    char deep[4096];

    guard_classify(*state, "(unreachable)/x", "y", NULL, &class);
    assert_int_equal(class.level, GUARD_DENY);
    guard_classify(*state, "", "y", NULL, &class);
    assert_int_equal(class.level, GUARD_DENY);
    guard_classify(*state, PEN, "a/b", NULL, &class);
    assert_int_equal(class.level, GUARD_DENY);

    (void) snprintf(deep, sizeof deep, "%s", PEN);
    while (strlen(deep) + 16 < sizeof deep)
        memcpy(deep + strlen(deep), "/.codex", sizeof "/.codex");
    guard_classify(*state, deep, "x", NULL, &class);
    assert_int_equal(class.level, GUARD_DENY);
    assert_true(class.overflow);
}

static void ignores_slashes_at_the_end_and_dots(void **state)
{
    struct guard_class class;

    guard_classify(*state, PEN "/.git", "hooks//", NULL, &class);
    assert_int_equal(class.level, GUARD_DENY);
    assert_true(class.is_folder);
    guard_classify(*state, PEN "/.git/hooks", "..", NULL, &class);
    assert_int_equal(class.level, GUARD_NO);
    guard_classify(*state, PEN "/.git/hooks", ".", NULL, &class);
    assert_int_equal(class.level, GUARD_NO);
    guard_classify(*state, PEN, "", NULL, &class);
    assert_int_equal(class.level, GUARD_NO);
}

static void says_what_may_be_done_with_a_name(void **state)
{
    assert_int_equal(classify(*state, ".git", no).vet, GUARD_VET_GIT);
    assert_int_equal(classify(*state, ".git/config", no).vet, GUARD_VET_CONFIG);
    assert_int_equal(classify(*state, ".git/commondir", no).vet, GUARD_VET_NONE);
    assert_int_equal(classify(*state, ".git/worktrees/w/commondir", no).vet, GUARD_VET_COMMONDIR);
    assert_int_equal(classify(*state, ".git/worktrees/w/gitdir", no).vet, GUARD_VET_BACK);
    assert_int_equal(classify(*state, ".envrc", no).vet, GUARD_VET_NONE);
    assert_true(classify(*state, ".git/hooks", no).is_folder);
    assert_true(classify(*state, ".git/hooks/a.sample", no).sample);
    assert_false(classify(*state, ".git/hooks/a", no).sample);
    assert_false(classify(*state, ".git/hooks/.sample", no).sample);
    assert_false(classify(*state, ".git/hooks/a/b.sample", no).sample);
    assert_false(classify(*state, ".git/modules/hooks/hooks/a.sample", no).sample);
}

static void tells_bare_names_and_git_folders(void **state)
{
    assert_true(classify(*state, "x/HEAD", no).bare);
    assert_true(classify(*state, "x/objects", no).bare);
    assert_true(classify(*state, "config", no).bare);
    assert_true(classify(*state, ".git/foo/HEAD", no).bare);
    assert_false(classify(*state, ".git/HEAD", no).bare);
    assert_false(classify(*state, ".git/modules/x/refs", no).bare);
    assert_false(classify(*state, ".git/worktrees/w/HEAD", no).bare);
    assert_false(classify(*state, "x/HEADS", no).bare);
    assert_true(classify(*state, ".git/foo", no).in_git);
    assert_true(classify(*state, "a/.git/foo/bar", no).in_git);
    assert_false(classify(*state, "a/.git", no).in_git);
    assert_false(classify(*state, "a/b", no).in_git);
}

/* ---- trees and links ----------------------------------------------------------------------- */

static enum guard_level step_to(const struct guard_rules *rules, struct guard_class class,
                                const char *const *names)
{
    for (; *names != NULL; names++) {
        const struct guard_class folder = class;

        guard_class_step(rules, &folder, *names, &class);
    }
    return class.level;
}

static void a_moved_tree_is_judged_by_where_it_goes(void **state)
{
    const struct guard_class git = classify(*state, "x/.git", no);
    const struct guard_class claude = classify(*state, ".claude", no);
    const struct guard_class modules = classify(*state, ".git/modules", no);

    assert_int_equal(step_to(*state, claude, (const char *const[]){"settings.json", NULL}),
                     GUARD_DENY);
    assert_int_equal(step_to(*state, claude, (const char *const[]){"Hooks", "x", NULL}),
                     GUARD_DENY);
    assert_int_equal(step_to(*state, claude, (const char *const[]){"x", NULL}), GUARD_NO);
    assert_int_equal(step_to(*state, git, (const char *const[]){"hooks", NULL}), GUARD_DENY);
    assert_int_equal(step_to(*state, git, (const char *const[]){"HEAD", NULL}), GUARD_NO);
    assert_int_equal(step_to(*state, git, (const char *const[]){"modules", NULL}), GUARD_PARTIAL);
    assert_int_equal(step_to(*state, git, (const char *const[]){"modules", "a", "config", NULL}),
                     GUARD_DENY);
    assert_int_equal(step_to(*state, modules, (const char *const[]){"a", "b", "hooks", NULL}),
                     GUARD_DENY);
    assert_int_equal(step_to(*state, modules, (const char *const[]){".git", NULL}),
                     GUARD_PARTIAL); /* moved along */
}

static void holds_names_beside_every_git_folder(void **state)
{
    struct guard_class class;
    struct err err = {0};
    int r = 0;

    assert_int_equal(guard_rules_add_at_tops(*state, ".githooks/x", "yours", &err), 0);
    assert_int_equal(classify(*state, ".githooks/x/y", no).level, GUARD_DENY);
    assert_int_equal(classify(*state, "sub/.githooks/x", yes).level, GUARD_DENY);
    assert_int_equal(classify(*state, "sub/.githooks/x", no).level, GUARD_NO);
    assert_int_equal(classify(*state, "sub/.githooks", yes).level, GUARD_PARTIAL);
    guard_class_beside(*state, &class);
    assert_int_equal(step_to(*state, class, (const char *const[]){".githooks", "x", NULL}),
                     GUARD_DENY);

    while (r == 0)
        r = guard_rules_add_at_tops(*state, "x", "yours", &err);
    assert_int_equal(r, -E2BIG);
    assert_string_equal(err.id, "guard.too-many");
    guard_class_beside(*state, &class);
    assert_false(class.overflow);
}

/* More names are held in one folder than a path can be followed by. */
static void many_names_in_one_folder_leave_the_rest_of_it_alone(void **state)
{
    struct err err = {0};

    for (unsigned i = 0; i < 2 * GUARD_HITS_MAX; i++) {
        AUTO_FREE char *path = NULL;

        assert_true(asprintf(&path, PEN "/vendor/r%u/.husky", i) > 0);
        assert_int_equal(guard_rules_add_held(*state, path, "a pointer", &err), 0);
    }
    assert_int_equal(classify(*state, "vendor/r7/.husky/x", no).level, GUARD_DENY);
    assert_int_equal(classify(*state, "vendor/R100/.HUSKY", no).level, GUARD_DENY);
    assert_int_equal(classify(*state, "vendor/r7", no).level, GUARD_PARTIAL);
    assert_int_equal(classify(*state, "vendor/r7/.huskyx", no).level, GUARD_NO);
    assert_int_equal(classify(*state, "vendor/r7/src", no).level, GUARD_NO);
    assert_int_equal(classify(*state, "vendor/r", no).level, GUARD_NO);
    assert_int_equal(classify(*state, "vendor/r7x/.husky", no).level, GUARD_NO);
    assert_int_equal(classify(*state, "vendor/new", no).level, GUARD_NO);
    assert_int_equal(classify(*state, "vendor", no).level, GUARD_DENY); /* it cannot be told */
}

static void knows_what_a_new_repository_makes_count(void **state)
{
    struct guard_class class;

    guard_class_beside(*state, &class);
    assert_false(class.overflow);
    assert_int_equal(class.level, GUARD_PARTIAL);
    assert_int_equal(step_to(*state, class, (const char *const[]){".envrc", NULL}), GUARD_DENY);
    assert_int_equal(step_to(*state, class, (const char *const[]){".vscode", NULL}), GUARD_PARTIAL);
    assert_int_equal(step_to(*state, class, (const char *const[]){".vscode", "x", NULL}), GUARD_NO);
    assert_int_equal(step_to(*state, class, (const char *const[]){"src", NULL}), GUARD_NO);
}

static void takes_the_probe_link_of_git_and_no_other(void **state)
{
    const struct guard_class probe = classify(*state, ".git/modules/sub/tXa5Zi", no);
    const struct guard_class claude = classify(*state, ".claude", no);
    const char *module = PEN "/.git/modules/sub";

    assert_int_equal(probe.level, GUARD_PARTIAL);
    assert_true(guard_link_is_harmless(*state, module, &probe, "testing"));
    assert_false(guard_link_is_harmless(*state, module, &probe, "../x"));
    assert_false(guard_link_is_harmless(*state, module, &probe, "/tmp/x"));
    assert_false(guard_link_is_harmless(*state, module, &probe, ".."));
    assert_false(guard_link_is_harmless(*state, module, &probe, "."));
    assert_false(guard_link_is_harmless(*state, module, &probe, ""));
    assert_false(guard_link_is_harmless(*state, PEN, &claude, "cl"));
    assert_false(guard_link_is_harmless(*state, PEN, &claude, ".codex"));
    assert_true(guard_link_is_harmless(*state, PEN, &claude, ".CLAUDE"));
}

static void says_what_was_refused_and_why(void **state)
{
    char text[256];
    struct guard_refused refused = {
        .op = GUARD_CREATE,
        .parent = PEN "/.git",
        .name = "commondir",
        .rule = classify(*state, ".git/commondir", no).rule,
    };

    (void) guard_refusal(*state, &refused, text, sizeof text);
    assert_string_equal(text, "guard: refused create .git/commondir: it would run on your side at "
                              "the next git command");
    refused = (struct guard_refused){GUARD_MKDIR, PEN, "a\nb\x1b[m", -1};
    (void) guard_refusal(*state, &refused, text, sizeof text);
    assert_string_equal(text, "guard: refused mkdir a\\x0ab\\x1b[m: it would make the folder a git "
                              "repository of its own");
    refused.name = "abc";
    assert_int_equal(guard_refusal(*state, &refused, text, 20), 19);
    assert_string_equal(text, "guard: refused mkdi");
    assert_int_equal(guard_refusal(*state, &refused, text, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_a_pattern_with_a_reason),
        cmocka_unit_test(lists_what_is_only_reported),
        WITH_RULES(guards_git_in_every_form),
        WITH_RULES(guards_agents_and_editors_at_the_top),
        WITH_RULES(asks_whether_a_deeper_folder_holds_a_repository),
        WITH_RULES(says_how_far_up_the_folder_is),
        WITH_RULES(guards_git_folders_of_any_name),
        WITH_RULES(knows_nothing_outside_of_its_zones),
        WITH_RULES(denies_what_it_cannot_place),
        WITH_RULES(ignores_slashes_at_the_end_and_dots),
        WITH_RULES(says_what_may_be_done_with_a_name),
        WITH_RULES(tells_bare_names_and_git_folders),
        WITH_RULES(a_moved_tree_is_judged_by_where_it_goes),
        WITH_RULES(holds_names_beside_every_git_folder),
        WITH_RULES(many_names_in_one_folder_leave_the_rest_of_it_alone),
        WITH_RULES(knows_what_a_new_repository_makes_count),
        WITH_RULES(takes_the_probe_link_of_git_and_no_other),
        WITH_RULES(says_what_was_refused_and_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
