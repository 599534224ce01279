/* The decision table, line by line. */
#include "base/cleanup.h"
#include "cm.h"
#include "fence/guard/rules.h"

#include <stdio.h>
#include <string.h>

#define PEN "/p"

enum {
    X = GUARD_NEED_EXCLUSIVE,
    BARE = GUARD_NEED_BARE,
    BARE_SOURCE = GUARD_NEED_BARE_SOURCE,
    STAYS = GUARD_NEED_BARE_STAYS,
    STAYS_SOURCE = GUARD_NEED_BARE_STAYS_SOURCE,
    BESIDE = GUARD_NEED_BESIDE,
    TREE = GUARD_NEED_TREE,
    LEAVES = GUARD_NEED_TREE_LEAVES,
    OTHER = GUARD_NEED_OTHER,
    OTHER_LEAVES = GUARD_NEED_OTHER_LEAVES,
    VET = GUARD_NEED_VET,
};
enum { NONE = 0, EXISTS = 1, HELD = 2, HARMLESS = 4, REDIRECTS = 8, OPENS = 16 };

struct line {
    enum guard_op op;
    const char *target;
    const char *source;
    enum guard_kind kind, other;
    unsigned flags;
    int error;
    unsigned needs;
};

static void classify(const struct guard_rules *rules, const char *path, struct guard_class *class)
{
    char parent[256];
    char *slash = NULL;

    (void) snprintf(parent, sizeof parent, PEN "/%s", path);
    slash = strrchr(parent, '/');
    *slash = '\0';
    guard_classify(rules, parent, slash + 1, NULL, class);
}

static void check(const struct guard_rules *rules, const struct line *line)
{
    struct guard_class target;
    struct guard_class source;
    struct guard_verdict verdict;
    struct guard_question question = {
        .op = line->op,
        .target = &target,
        .kind = line->kind,
        .other = line->other,
        .exists = (line->flags & EXISTS) != 0,
        .held = (line->flags & HELD) != 0,
        .harmless = (line->flags & HARMLESS) != 0,
        .redirects = (line->flags & REDIRECTS) != 0,
        .opens = (line->flags & OPENS) != 0,
    };

    classify(rules, line->target, &target);
    if (line->source != NULL) {
        classify(rules, line->source, &source);
        question.source = &source;
    }
    guard_decide(&question, &verdict);
    if (verdict.error != line->error || verdict.needs != line->needs)
        fail_msg("%s %s, %s: %d %#x instead of %d %#x", guard_op_name(line->op), line->target,
                 line->source != NULL ? line->source : "-", verdict.error, verdict.needs,
                 line->error, line->needs);
    assert_true(((verdict.needs & VET) != 0) == (verdict.vet != GUARD_VET_NONE));
    assert_true(verdict.error == 0 || verdict.needs == 0);
    if (verdict.error != 0 && !verdict.quiet)
        assert_true(verdict.rule >= 0 || question.source != NULL || verdict.reason != NULL);
    if (guard_is_free(line->op, &target, question.source))
        assert_true(verdict.error == 0 && verdict.needs == 0);
}

static void check_all(const struct line *lines, size_t count)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = guard_rules_new();
    struct err err = {0};

    assert_non_null(rules);
    assert_int_equal(guard_rules_add_zone(rules, PEN, false, &err), 0);
    for (size_t i = 0; i < count; i++)
        check(rules, &lines[i]);
}
#define CHECK(lines) check_all(lines, ARRAY_SIZE(lines))

/* ---- a new name ---------------------------------------------------------------------------- */

static void a_guarded_name_is_not_made(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_CREATE, .target = ".git/hooks/pre-commit", .error = EROFS},
        {.op = GUARD_CREATE, .target = ".git/config", .error = EROFS},
        {.op = GUARD_CREATE, .target = ".git/commondir", .error = EROFS},
        {.op = GUARD_CREATE, .target = ".envrc", .error = EROFS},
        {.op = GUARD_MKDIR, .target = ".codex", .error = EROFS},
        {.op = GUARD_MKDIR, .target = ".git/config", .error = EROFS},
        {.op = GUARD_MKDIR, .target = ".git/hooks/x", .error = EROFS},
        {.op = GUARD_MKNOD, .target = ".git", .error = EROFS},
        {.op = GUARD_MKNOD, .target = ".git/hooks/x.sample", .error = EROFS},
        {.op = GUARD_MKNOD, .target = ".git/worktrees/w/gitdir", .error = EROFS},
        {.op = GUARD_BIND, .target = ".envrc", .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git", .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/hooks", .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/hooks/x.sample", .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/config", .flags = HARMLESS, .error = EROFS},
        {.op = GUARD_LINK, .target = ".envrc", .source = "x", .error = EROFS},
        {.op = GUARD_LINK, .target = ".git", .source = "x", .error = EROFS},
        {.op = GUARD_LINK, .target = ".git/hooks/a.sample", .source = "x", .error = EROFS},
    };

    (void) state;
    CHECK(lines);
}

static void what_is_there_answers_as_the_kernel_does(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_MKDIR, .target = ".git", .flags = EXISTS, .error = EEXIST},
        {.op = GUARD_MKDIR, .target = ".git/hooks", .flags = EXISTS, .error = EEXIST},
        {.op = GUARD_SYMLINK, .target = ".claude", .flags = EXISTS, .error = EEXIST},
        {.op = GUARD_LINK, .target = ".envrc", .source = "x", .flags = EXISTS, .error = EEXIST},
        {.op = GUARD_BIND, .target = ".envrc", .flags = EXISTS, .error = EADDRINUSE},
        {.op = GUARD_MKDIR, .target = "src", .flags = EXISTS},
        {.op = GUARD_MKDIR, .target = "refs", .flags = EXISTS, .needs = X | BARE},
        {.op = GUARD_MKDIR, .target = ".claude", .flags = EXISTS},
    };

    (void) state;
    CHECK(lines);
}

static void git_may_make_what_its_row_allows(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_MKDIR, .target = ".git", .needs = X | BESIDE},
        {.op = GUARD_MKDIR, .target = "a/.git", .needs = X | BESIDE},
        {.op = GUARD_CREATE, .target = "a/.git", .needs = X | BESIDE | VET},
        {.op = GUARD_MKDIR, .target = ".git/hooks"},
        {.op = GUARD_MKDIR, .target = ".git/modules/x/hooks"},
        {.op = GUARD_CREATE, .target = ".git/hooks/pre-commit.sample"},
        {.op = GUARD_CREATE, .target = ".git/worktrees/w/commondir", .needs = X | VET},
        {.op = GUARD_CREATE, .target = ".git/worktrees/w/gitdir", .needs = X | VET},
        {.op = GUARD_CREATE, .target = ".git/worktrees/w/HEAD"},
        {.op = GUARD_CREATE, .target = ".git/config.lock", .needs = X | VET},
        {.op = GUARD_MKDIR, .target = ".git/modules"},
        {.op = GUARD_MKDIR, .target = ".git/objects"},
    };

    (void) state;
    CHECK(lines);
}

static void the_beginning_of_a_name_may_be_made_but_be_no_link(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_MKDIR, .target = ".claude"},
        {.op = GUARD_CREATE, .target = ".claude"},
        {.op = GUARD_MKNOD, .target = ".vscode"},
        {.op = GUARD_SYMLINK, .target = ".claude", .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/modules", .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/modules/x/tXXXXXX", .flags = HARMLESS},
        {.op = GUARD_LINK, .target = ".claude", .source = "x", .kind = GUARD_FILE},
        {.op = GUARD_LINK,
         .target = ".claude",
         .source = "x",
         .kind = GUARD_LINK_TEXT,
         .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/tXXXXXX"},
        {.op = GUARD_SYMLINK, .target = "x"},
    };

    (void) state;
    CHECK(lines);
}

static void a_guarded_file_gets_no_second_name(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_LINK, .target = "x", .source = ".git/config", .error = EROFS},
        {.op = GUARD_LINK, .target = "x", .source = ".envrc", .error = EROFS},
        {.op = GUARD_LINK, .target = "x", .source = ".git/objects/ab/cd"},
        {.op = GUARD_LINK, .target = "x", .source = ".claude/x"},
    };

    (void) state;
    CHECK(lines);
}

static void a_bare_repository_is_not_completed(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_CREATE, .target = "x/HEAD", .needs = X | BARE},
        {.op = GUARD_MKDIR, .target = "x/objects", .needs = X | BARE},
        {.op = GUARD_SYMLINK, .target = "x/refs", .needs = X | BARE},
        {.op = GUARD_LINK, .target = "x/commondir", .source = "y", .needs = X | BARE},
        {.op = GUARD_RENAME, .target = "x/config", .source = "y", .needs = X | BARE},
        {.op = GUARD_EXCHANGE, .target = "x", .source = "y/HEAD", .needs = X | BARE_SOURCE},
        {.op = GUARD_EXCHANGE,
         .target = "x/refs",
         .source = "y/refs",
         .needs = X | BARE | BARE_SOURCE},
        {.op = GUARD_WRITE, .target = "x/config", .needs = BARE},
        {.op = GUARD_UNLINK, .target = "x/HEAD", .needs = STAYS},
        {.op = GUARD_RENAME, .target = "x/y", .source = "x/objects", .needs = STAYS_SOURCE},
        {.op = GUARD_UNLINK, .target = ".git/HEAD"},
        {.op = GUARD_MKDIR, .target = ".git/refs"},
    };

    (void) state;
    CHECK(lines);
}

/* ---- what is there ------------------------------------------------------------------------- */

static void a_guarded_file_is_not_written(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_WRITE, .target = ".git/config", .error = EROFS},
        {.op = GUARD_WRITE, .target = ".git/hooks/pre-commit", .error = EROFS},
        {.op = GUARD_WRITE, .target = ".git/hooks/pre-commit.sample"},
        {.op = GUARD_WRITE, .target = "sub/.git", .needs = X | VET},
        {.op = GUARD_WRITE, .target = ".git/worktrees/w/gitdir", .needs = X | VET},
        {.op = GUARD_WRITE, .target = ".envrc", .error = EROFS},
        {.op = GUARD_WRITE, .target = ".claude"},
        {.op = GUARD_WRITE, .target = ".git/index"},
        {.op = GUARD_TRUNCATE, .target = "sub/.git", .error = EROFS},
        {.op = GUARD_TRUNCATE, .target = ".git/config", .error = EROFS},
        {.op = GUARD_TRUNCATE, .target = "x"},
    };

    (void) state;
    CHECK(lines);
}

static void what_the_owner_has_is_not_removed(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_UNLINK, .target = ".envrc", .flags = EXISTS | HELD, .error = EBUSY},
        {.op = GUARD_UNLINK, .target = ".git/hooks/x", .flags = EXISTS | HELD, .error = EBUSY},
        {.op = GUARD_UNLINK, .target = ".git/config", .flags = EXISTS | HELD, .error = EBUSY},
        {.op = GUARD_UNLINK, .target = "new/.git/config", .flags = EXISTS},
        /* nothing is there; what comes there meanwhile is the owner's */
        {.op = GUARD_UNLINK, .target = ".envrc", .error = ENOENT},
        {.op = GUARD_UNLINK, .target = ".git/config.lock", .error = ENOENT},
        {.op = GUARD_UNLINK, .target = ".claude", .flags = EXISTS | HELD},
        {.op = GUARD_CHMOD, .target = ".git/hooks/pre-commit", .error = EROFS},
        {.op = GUARD_CHMOD, .target = ".git/hooks/pre-commit.sample"},
        {.op = GUARD_CHMOD, .target = ".git/hooks"},
        {.op = GUARD_CHMOD, .target = ".git/config"},
        {.op = GUARD_CHMOD, .target = ".git/config", .flags = EXISTS | HELD},
        {.op = GUARD_CHMOD, .target = ".git/config", .flags = EXISTS | OPENS},
        {.op = GUARD_CHMOD,
         .target = ".git/config",
         .flags = EXISTS | HELD | OPENS,
         .error = EROFS},
        {.op = GUARD_CHMOD, .target = ".envrc", .error = EROFS},
        {.op = GUARD_CHMOD, .target = "x"},
    };

    (void) state;
    CHECK(lines);
}

/* ---- moves --------------------------------------------------------------------------------- */

static void nothing_is_moved_onto_a_guarded_name(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_RENAME, .target = ".envrc", .source = "x", .error = EROFS},
        {.op = GUARD_RENAME, .target = ".git/hooks/pre-push", .source = "x", .error = EROFS},
        {.op = GUARD_RENAME,
         .target = ".git/hooks",
         .source = "x",
         .kind = GUARD_FOLDER,
         .error = EROFS},
        {.op = GUARD_RENAME, .target = ".git/hooks/a.sample", .source = "x", .error = EROFS},
        {.op = GUARD_RENAME, .target = ".git/commondir", .source = "x", .error = EROFS},
        {.op = GUARD_RENAME,
         .target = ".codex",
         .source = "x",
         .kind = GUARD_FOLDER,
         .error = EROFS},
        {.op = GUARD_EXCHANGE, .target = ".envrc", .source = "x", .error = EROFS},
        {.op = GUARD_EXCHANGE, .target = "x", .source = ".envrc", .error = EBUSY},
        {.op = GUARD_EXCHANGE, .target = ".git/config", .source = "x", .error = EROFS},
    };

    (void) state;
    CHECK(lines);
}

static void a_vetted_file_may_be_moved_into_place(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_RENAME,
         .target = ".git/config",
         .source = ".git/config.lock",
         .needs = X | VET},
        {.op = GUARD_RENAME,
         .target = ".git/modules/x/config",
         .source = ".git/modules/x/config.lock",
         .needs = X | VET},
        {.op = GUARD_RENAME,
         .target = ".git/config.worktree",
         .source = ".git/config.worktree.lock",
         .needs = X | VET},
        {.op = GUARD_RENAME, .target = ".git/config", .source = "x", .error = EROFS},
        {.op = GUARD_RENAME, .target = "a/.git", .source = "a/x", .needs = X | BESIDE | VET},
        {.op = GUARD_RENAME,
         .target = ".git/config",
         .source = "x",
         .kind = GUARD_FOLDER,
         .error = EROFS},
        {.op = GUARD_RENAME,
         .target = ".git/config",
         .source = "x",
         .kind = GUARD_LINK_TEXT,
         .error = EROFS},
        {.op = GUARD_RENAME,
         .target = ".git/config",
         .source = "x",
         .kind = GUARD_SPECIAL,
         .error = EROFS},
        {.op = GUARD_RENAME, .target = ".git/config", .source = "a/.git/config", .error = EROFS},
    };

    (void) state;
    CHECK(lines);
}

/* The owner's git makes one too, and installs what it finds there. */
static void a_lock_of_somebody_else_is_held_and_the_jobs_own_is_not(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_MKDIR, .target = ".git/config.lock", .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/config.lock", .error = EROFS},
        {.op = GUARD_LINK, .target = ".git/config.lock", .source = "x", .error = EROFS},
        {.op = GUARD_LINK, .target = "x", .source = ".git/config.lock", .error = EROFS},
        {.op = GUARD_WRITE, .target = ".git/config.lock", .needs = X | VET},
        {.op = GUARD_TRUNCATE, .target = ".git/config.lock", .error = EROFS},
        {.op = GUARD_UNLINK, .target = ".git/config.lock", .flags = EXISTS | HELD, .error = EBUSY},
        {.op = GUARD_UNLINK, .target = ".git/config.lock", .flags = EXISTS, .needs = X},
        {.op = GUARD_CHMOD, .target = ".git/config.lock", .flags = HELD, .error = EROFS},
        {.op = GUARD_CHMOD, .target = ".git/config.lock"},
        {.op = GUARD_RENAME, .target = ".git/config.lock", .source = "x", .error = EROFS},
        {.op = GUARD_RENAME, .target = "x", .source = ".git/config.lock", .error = EBUSY},
        {.op = GUARD_EXCHANGE, .target = ".git/config.lock", .source = "x", .error = EROFS},
        {.op = GUARD_EXCHANGE, .target = "x", .source = ".git/config.lock", .error = EBUSY},
        {.op = GUARD_EXCHANGE,
         .target = ".git/config",
         .source = ".git/config.lock",
         .error = EROFS},
        {.op = GUARD_CREATE, .target = ".git/modules/m/config.lock", .needs = X | VET},
        {.op = GUARD_CREATE, .target = ".git/worktrees/w/config.worktree.lock", .needs = X | VET},
        {.op = GUARD_CREATE, .target = ".git/index.lock"},
    };

    (void) state;
    CHECK(lines);
}

static void a_folder_is_looked_into_before_it_gets_a_name(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_RENAME,
         .target = ".claude",
         .source = "x",
         .kind = GUARD_FOLDER,
         .needs = X | TREE},
        {.op = GUARD_RENAME, .target = ".claude", .source = "x", .kind = GUARD_FILE, .needs = X},
        {.op = GUARD_RENAME,
         .target = ".claude",
         .source = "x",
         .kind = GUARD_LINK_TEXT,
         .error = EROFS},
        {.op = GUARD_RENAME,
         .target = "x",
         .source = ".claude",
         .kind = GUARD_FOLDER,
         .needs = X | LEAVES},
        {.op = GUARD_RENAME,
         .target = "x",
         .source = ".claude",
         .kind = GUARD_LINK_TEXT,
         .error = EBUSY},
        {.op = GUARD_RENAME,
         .target = ".vscode",
         .source = ".claude",
         .kind = GUARD_FOLDER,
         .needs = X | TREE | LEAVES},
        {.op = GUARD_RENAME,
         .target = "b/.git",
         .source = "x",
         .kind = GUARD_FOLDER,
         .needs = X | BESIDE | TREE},
        {.op = GUARD_RENAME, .target = "x", .source = ".git", .kind = GUARD_FOLDER, .error = EBUSY},
        {.op = GUARD_RENAME, .target = "x", .source = "y", .kind = GUARD_FOLDER},
        {.op = GUARD_RENAME, .target = "x", .source = "y", .kind = GUARD_LINK_TEXT},
    };

    (void) state;
    CHECK(lines);
}

static void an_exchange_goes_both_ways(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_EXCHANGE,
         .target = ".claude",
         .source = "x",
         .kind = GUARD_FOLDER,
         .other = GUARD_FOLDER,
         .needs = X | TREE | OTHER_LEAVES},
        {.op = GUARD_EXCHANGE,
         .target = "x",
         .source = ".claude",
         .kind = GUARD_FOLDER,
         .other = GUARD_FOLDER,
         .needs = X | LEAVES | OTHER},
        {.op = GUARD_EXCHANGE,
         .target = "x",
         .source = ".claude",
         .kind = GUARD_FOLDER,
         .other = GUARD_LINK_TEXT,
         .error = EROFS},
        {.op = GUARD_EXCHANGE,
         .target = ".claude",
         .source = "x",
         .kind = GUARD_FOLDER,
         .other = GUARD_LINK_TEXT,
         .error = EBUSY},
        {.op = GUARD_EXCHANGE, .target = "a", .source = "b"},
    };

    (void) state;
    CHECK(lines);
}

/* Objects and refs without a configuration could be completed where no rule looks. */
static void no_folder_leaves_a_git_folder(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_RENAME,
         .target = "x",
         .source = ".git/foo",
         .kind = GUARD_FOLDER,
         .error = EBUSY},
        {.op = GUARD_RENAME,
         .target = "x",
         .source = ".git/modules/a",
         .kind = GUARD_FOLDER,
         .error = EBUSY},
        {.op = GUARD_RENAME, .target = "x", .source = ".git/foo", .kind = GUARD_FILE, .needs = X},
        {.op = GUARD_RENAME,
         .target = ".git/foo",
         .source = "x",
         .kind = GUARD_FOLDER,
         .needs = X | TREE},
        {.op = GUARD_RENAME, .target = ".git/foo", .source = ".git/bar", .kind = GUARD_FOLDER},
        {.op = GUARD_EXCHANGE,
         .target = ".git/foo",
         .source = "x",
         .kind = GUARD_FILE,
         .other = GUARD_FOLDER,
         .error = EBUSY},
    };

    (void) state;
    CHECK(lines);
}

static void no_link_comes_into_a_git_folder_that_git_would_write_through(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_SYMLINK, .target = ".git/foo", .flags = REDIRECTS, .error = EROFS},
        {.op = GUARD_SYMLINK, .target = ".git/foo", .flags = REDIRECTS | EXISTS, .error = EEXIST},
        {.op = GUARD_SYMLINK, .target = ".git/foo"},
        {.op = GUARD_LINK,
         .target = ".git/foo",
         .source = "x",
         .kind = GUARD_LINK_TEXT,
         .flags = REDIRECTS,
         .error = EROFS},
        {.op = GUARD_RENAME,
         .target = ".git/foo",
         .source = "x",
         .kind = GUARD_LINK_TEXT,
         .flags = REDIRECTS,
         .error = EROFS},
        {.op = GUARD_RENAME,
         .target = ".git/foo",
         .source = "x",
         .kind = GUARD_LINK_TEXT,
         .needs = X},
        {.op = GUARD_EXCHANGE,
         .target = "x",
         .source = ".git/foo",
         .kind = GUARD_FILE,
         .other = GUARD_LINK_TEXT,
         .flags = REDIRECTS,
         .error = EROFS},
    };
    static const char *const through[] = {"/x", "", "..", "../x", "config", ".", "testing/x", "a"};

    (void) state;
    CHECK(lines);
    for (size_t i = 0; i < ARRAY_SIZE(through); i++)
        assert_true(guard_link_redirects(through[i]));
    assert_false(guard_link_redirects("testing"));
}

static void there_is_no_whiteout(void **state)
{
    static const struct line lines[] = {
        {.op = GUARD_WHITEOUT, .target = "x", .source = "y", .error = EINVAL},
        {.op = GUARD_WHITEOUT, .target = ".envrc", .source = "y", .error = EINVAL},
    };

    (void) state;
    CHECK(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guarded_name_is_not_made),
        cmocka_unit_test(what_is_there_answers_as_the_kernel_does),
        cmocka_unit_test(git_may_make_what_its_row_allows),
        cmocka_unit_test(the_beginning_of_a_name_may_be_made_but_be_no_link),
        cmocka_unit_test(a_guarded_file_gets_no_second_name),
        cmocka_unit_test(a_bare_repository_is_not_completed),
        cmocka_unit_test(a_guarded_file_is_not_written),
        cmocka_unit_test(what_the_owner_has_is_not_removed),
        cmocka_unit_test(nothing_is_moved_onto_a_guarded_name),
        cmocka_unit_test(a_vetted_file_may_be_moved_into_place),
        cmocka_unit_test(a_lock_of_somebody_else_is_held_and_the_jobs_own_is_not),
        cmocka_unit_test(a_folder_is_looked_into_before_it_gets_a_name),
        cmocka_unit_test(an_exchange_goes_both_ways),
        cmocka_unit_test(no_folder_leaves_a_git_folder),
        cmocka_unit_test(no_link_comes_into_a_git_folder_that_git_would_write_through),
        cmocka_unit_test(there_is_no_whiteout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
