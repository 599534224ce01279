#include "base/cleanup.h"
#include "cm.h"
#include "fence/guard/vet.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "/home/ann/pen/.git"

static char copy[2 * GUARD_VET_LIMIT];

/* `old` NULL: a new one. The copy is in `copy`. */
static int vet(const char *old, const char *text, struct guard_vetted *vetted, struct err *err)
{
    const struct guard_config config = {
        .folder = FOLDER,
        .text = text,
        .size = strlen(text),
        .old = old,
        .old_size = old != NULL ? strlen(old) : 0,
    };
    const int r = guard_vet_config(&config, copy, sizeof copy - 1, vetted, err);

    copy[r == 0 ? vetted->size : 0] = '\0';
    return r;
}

static void assert_copied(const char *old, const char *text, const char *expected)
{
    struct guard_vetted vetted;
    struct err err = {0};

    if (vet(old, text, &vetted, &err) < 0)
        fail_msg("%s: %s", text, err.what);
    assert_string_equal(copy, expected);
    assert_int_equal(vetted.size, strlen(expected));
}

static void assert_refused(const char *old, const char *text, const char *id, const char *word)
{
    struct guard_vetted vetted;
    struct err err = {0};
    const int r = vet(old, text, &vetted, &err);

    if (r == 0)
        fail_msg("taken: %s", text);
    assert_int_equal(r, -err.code);
    assert_string_equal(err.id, id);
    if (strstr(err.what, word) == NULL)
        fail_msg("'%s' does not name '%s'", err.what, word);
}

/* ---- what git writes ----------------------------------------------------------------------- */

static const char by_clone[] = "[core]\n"
                               "\trepositoryformatversion = 0\n"
                               "\tfilemode = true\n"
                               "\tbare = false\n"
                               "\tlogallrefupdates = true\n"
                               "[remote \"origin\"]\n"
                               "\turl = https://example.org/a b/c.git\n"
                               "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
                               "[branch \"main\"]\n"
                               "\tremote = origin\n"
                               "\tmerge = refs/heads/main\n"
                               "[submodule \"lib/x\"]\n"
                               "\turl = ../x\n"
                               "\tactive = true\n"
                               "[user]\n"
                               "\tname = Ann \\\"A\\\" Other\n"
                               "\temail = a@b.c\n";

static void copies_what_git_writes_byte_for_byte(void **state)
{
    (void) state;
    assert_copied(NULL, by_clone, by_clone);
    assert_copied(by_clone, by_clone, by_clone);
    assert_copied(NULL, "", "");
}

static void keeps_comments_and_blank_lines(void **state)
{
    static const char text[] = "# first\n\n[core]\n  ; in it\n\tbare = false # why\n\n\t# last\n";

    (void) state;
    assert_copied(NULL, text, text);
    assert_copied(NULL, "[core] ; x\nbare=true;y", "[core]\n; x\n\tbare = true ;y\n");
    assert_copied(NULL, "[core]\n#\\\nbare", "[core]\n#\\\n\tbare\n"); /* does not go on */
}

static void writes_in_one_way_what_git_reads_in_many(void **state)
{
    (void) state;
    assert_copied(NULL, "[core]bare=true", "[core]\n\tbare = true\n");
    assert_copied(NULL, "\xef\xbb\xbf[CORE]\r\n  Bare  =  yes \r\n", "[CORE]\n\tBare = yes\n");
    assert_copied(NULL, "[user]\nname = a\\\n b \"c  d\" \n", "[user]\n\tname = a b c  d\n");
    assert_copied(NULL, "[user]\nname = \" a;\"\n", "[user]\n\tname = \" a;\"\n");
    assert_copied(NULL, "[user]\nname = a\"\" ;c\n", "[user]\n\tname = a ;c\n");
    assert_copied(NULL, "[branch \"a\\\"\"]\n[core]\nbare\n",
                  "[branch \"a\\\"\"]\n[core]\n\tbare\n");
    assert_copied(NULL, "[user]\nname =\n", "[user]\n\tname = \n");
}

static void refuses_syntax_it_does_not_know(void **state)
{
    static const char *const bad[] = {
        "bare = true\n",
        "[core\nbare = true\n",
        "[core] bare : true\n",
        "[co re]\nbare = true\n",
        "[core.x]\nbare = true\n",
        "[]\n",
        "[core \"x]\n",
        "[core \"x\ny\"]\n",
        "[core \"x\" ]\n",
        "[core \"x\"y]\n",
        "[core]\n1bare = true\n",
        "[core]\n=x\n",
        "[core]\nbare = \"true\n",
        "[core]\nbare = a\\x\n",
        "[core]\nbare = a\\",
        "[core]\nbare = true\\\n",
        "[core]\nba_re = true\n",
        "[core]\nbare true\n",
        "[user]\nname = a\tb\n",
        "[user]\nname = a\rb\n",
        "\x01[core]\n",
        "[core]\n\xef\xbb\xbf",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_refused(NULL, bad[i], "guard.vet-syntax", "line ");
}

static void has_bounds(void **state)
{
    AUTO_FREE char *text = calloc(1, GUARD_VET_LIMIT + 2);
    struct guard_config config = {.folder = FOLDER, .text = "[core]\n\0", .size = 8};
    struct guard_vetted vetted;
    struct err err = {0};

    (void) state;
    assert_non_null(text);
    assert_int_equal(guard_vet_config(&config, copy, sizeof copy, &vetted, &err), -EINVAL);
    assert_string_equal(err.id, "guard.vet-syntax");

    memset(text, '\n', GUARD_VET_LIMIT + 1);
    assert_refused(NULL, text, "guard.vet-size", "65536");
    config = (struct guard_config){.folder = FOLDER, .text = by_clone, .size = strlen(by_clone)};
    for (size_t room = 0; room < config.size; room++)
        assert_int_equal(guard_vet_config(&config, copy, room, &vetted, &err), -EFBIG);
    assert_int_equal(guard_vet_config(&config, copy, config.size, &vetted, NULL), 0);

    memset(text, 'a', GUARD_CONFIG_VALUE_MAX + 100);
    memcpy(text, "[user]\nname=", 12);
    text[GUARD_CONFIG_VALUE_MAX + 100] = '\0';
    assert_refused(NULL, text, "guard.vet-syntax", "line 2");
    memcpy(text, "[user \"aaaa", 11);
    assert_refused(NULL, text, "guard.vet-syntax", "line 1");
    memcpy(text, "[useraaaaaa", 11);
    assert_refused(NULL, text, "guard.vet-syntax", "line 1");
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void refuses_every_key_that_runs_something_and_names_it(void **state)
{
    static const char *const bad[][2] = {
        {"[core]\nfsmonitor = /x\n", "core.fsmonitor"},
        {"[CORE]\nFsMonitor = true\n", "core.fsmonitor"},
        {"[core]\nhooksPath = x\n", "core.hookspath"},
        {"[core]\nsshCommand = x\n", "core.sshcommand"},
        {"[core]\npager = x\n", "core.pager"},
        {"[core]\neditor = x\n", "core.editor"},
        {"[core]\naskPass = x\n", "core.askpass"},
        {"[core]\ngitProxy = x\n", "core.gitproxy"},
        {"[core]\nattributesFile = x\n", "core.attributesfile"},
        {"[core]\nalternateRefsCommand = x\n", "core.alternaterefscommand"},
        {"[core]\nprotectNTFS = false\n", "core.protectntfs"},
        {"[alias]\nst = !x\n", "alias.st"},
        {"[include]\npath = x\n", "include.path"},
        {"[includeIf \"gitdir:/\"]\npath = x\n", "includeif.gitdir:/.path"},
        {"[filter \"x\"]\nclean = x\n", "filter.x.clean"},
        {"[diff]\nexternal = x\n", "diff.external"},
        {"[diff \"x\"]\ntextconv = x\n", "diff.x.textconv"},
        {"[merge \"x\"]\ndriver = x\n", "merge.x.driver"},
        {"[mergetool \"x\"]\ncmd = x\n", "mergetool.x.cmd"},
        {"[credential]\nhelper = x\n", "credential.helper"},
        {"[gpg]\nprogram = x\n", "gpg.program"},
        {"[commit]\ngpgsign = false\n", "commit.gpgsign"},
        {"[url \"ext::x\"]\ninsteadOf = y\n", "url.ext::x.insteadof"},
        {"[remote \"o\"]\nuploadpack = x\n", "remote.o.uploadpack"},
        {"[remote \"o\"]\nreceivepack = x\n", "remote.o.receivepack"},
        {"[remote \"o\"]\nvcs = x\n", "remote.o.vcs"},
        {"[remote \"o\"]\npromisor = true\n", "remote.o.promisor"},
        {"[branch \"o\"]\nmergeOptions = x\n", "branch.o.mergeoptions"},
        {"[sequence]\neditor = x\n", "sequence.editor"},
        {"[uploadpack]\npackObjectsHook = x\n", "uploadpack.packobjectshook"},
        {"[extensions]\npartialClone = origin\n", "extensions.partialclone"},
        {"[pager]\nlog = x\n", "pager.log"},
        {"[man \"x\"]\ncmd = x\n", "man.x.cmd"},
        {"[safe]\ndirectory = *\n", "safe.directory"},
        {"[protocol \"ext\"]\nallow = always\n", "protocol.ext.allow"},
        {"[http]\nproxy = x\n", "http.proxy"},
        {"[user \"x\"]\nname = x\n", "user.x.name"},
        {"[url]\nurl = x\n", "url.url"},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_refused(NULL, bad[i][0], "guard.vet-key", bad[i][1]);
}

static void takes_addresses_git_itself_understands(void **state)
{
    static const char *const good[] = {
        "https://example.org/x.git",
        "http://example.org:80/x",
        "ssh://git@h/x",
        "git@h:x/y.git",
        "ssh://[::1]:22/x",
        "[::1]:x",
        "../x",
        "/home/ann/x y",
        "file:///x",
        "git://h/x",
        "x",
        ".",
        "git+ssh://h/x",
    };
    static const char *const bad[] = {
        "ext::sh -c x",
        "fd::3",
        "-oProxyCommand=x",
        "ssh://-oProxyCommand=x/y",
        "ssh://u@-x/y",
        "u@-x:y",
        "foo://h/x",
        "SSH://h/x",
        "--upload-pack=x",
        "h:-x",
        "a\\\\b",
        "\" ext::x\"",
        "persistent-https::x",
        "x::",
        "::x",
        "a\\nb",
        "\"\"",
        "transport-helper::a",
        "[x]::y",
    };
    char text[256];

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        (void) snprintf(text, sizeof text, "[remote \"o\"]\n\turl = %s\n", good[i]);
        assert_copied(NULL, text, text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        (void) snprintf(text, sizeof text, "[remote \"o\"]\nurl = %s\n", bad[i]);
        assert_refused(NULL, text, "guard.vet-value", "remote.o.url");
        (void) snprintf(text, sizeof text, "[submodule \"o\"]\nurl = %s\n", bad[i]);
        assert_refused(NULL, text, "guard.vet-value", "submodule.o.url");
    }
}

static void refuses_values_that_say_more(void **state)
{
    static const char *const bad[] = {
        "[submodule \"x\"]\nupdate = !touch x\n",
        "[core]\nbare = maybe\n",
        "[core]\nrepositoryformatversion = 2\n",
        "[core]\nworktree\n",
        "[remote \"-x\"]\nurl = y\n",
        "[remote \"\"]\nurl = y\n",
        "[remote \"a::b\"]\nurl = y\n",
        "[remote \"o\"]\nfetch = --upload-pack=x\n",
        "[remote \"o\"]\ntagopt = --exec=x\n",
        "[user]\nname = a\\nb\n",
        "[user]\nname\n",
        "[branch \"x\"]\nremote = ext::x\n",
        "[remote]\npushDefault = hg::./evil\n",
        "[remote]\npushDefault = ext::./evil\n",
        "[branch \"x\"]\nrebase = x\n",
        "[gc]\nauto = x\n",
        "[diff]\nalgorithm = a b\n",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_refused(NULL, bad[i], "guard.vet-value", "");
    assert_copied(NULL, "[submodule \"x\"]\n\tupdate = none\n",
                  "[submodule \"x\"]\n\tupdate = none\n");
    assert_copied(NULL, "[gc]\n\tauto = -1\n", "[gc]\n\tauto = -1\n");
}

/* ---- beside what stands there -------------------------------------------------------------- */

#define OWNERS "[core]\n\thooksPath = .githooks\n[alias]\n\tst = status\n[include]\n\tpath = ../x\n"

static void keeps_what_the_owner_has(void **state)
{
    (void) state;
    assert_copied(OWNERS, OWNERS "[user]\n\tname = x\n", OWNERS "[user]\n\tname = x\n");
    assert_copied("[alias]\n\ta = \"x \\\"y\\\"\"\n", "[ALIAS]\n\tA = x \\\"y\\\"\n",
                  "[ALIAS]\n\tA = x \\\"y\\\"\n");
    assert_copied("[user]\n\tname = x\n", "", "");
}

static void lets_nothing_of_the_owners_be_changed_or_lost(void **state)
{
    (void) state;
    assert_refused(OWNERS, "[core]\nhooksPath = x\n", "guard.vet-key", "core.hookspath");
    assert_refused(OWNERS, "", "guard.vet-lost", "core.hookspath");
    assert_refused(OWNERS, "[core]\nhooksPath = .githooks\n[alias]\nst = status\n",
                   "guard.vet-lost", "include.path");
    assert_refused(OWNERS, OWNERS OWNERS, "guard.vet-key", "core.hookspath");
    assert_refused(OWNERS, OWNERS "[alias]\nx = y\n", "guard.vet-key", "alias.x");
    assert_refused(OWNERS, "[include]\npath = ../x\n" OWNERS, "guard.vet-key", "include.path");
    assert_refused("[alias]\n\ta = x\n", "[alias \"\"]\na = x\n", "guard.vet-key", "alias..a");
    assert_refused("[alias]\n\ta\n", "[alias]\na =\n", "guard.vet-key", "alias.a");
    assert_refused("[alias\n", "[user]\nname = x\n", "guard.vet-syntax", "line 1");
}

static void notes_where_remotes_lead(void **state)
{
    static const char old[] = "[remote \"a\"]\n\turl = x\n[remote \"b\"]\n\turl = y\n";
    struct guard_vetted vetted;
    struct err err = {0};

    (void) state;
    assert_int_equal(vet(old, old, &vetted, &err), 0);
    assert_int_equal(vetted.notes, 0);
    assert_int_equal(vet(old,
                         "[remote \"a\"]\nurl = x\n[remote \"c\"]\nurl = z\n"
                         "[remote \"b\"]\nurl = y\n",
                         &vetted, &err),
                     0);
    assert_int_equal(vetted.notes, 0);
    assert_int_equal(vet(old, "[remote \"a\"]\nurl = z\n[remote \"b\"]\nurl = y\n", &vetted, &err),
                     0);
    assert_int_equal(vetted.notes, GUARD_NOTE_URL);
    assert_int_equal(vet(old, "", &vetted, &err), 0);
    assert_int_equal(vetted.notes, GUARD_NOTE_URL);
}

static void hands_out_the_work_tree_to_be_looked_at(void **state)
{
    static const char text[] = "[core]\n\tworktree = ../../x/./y\n";
    struct guard_vetted vetted;
    struct err err = {0};

    (void) state;
    assert_int_equal(vet(NULL, text, &vetted, &err), 0);
    assert_string_equal(vetted.worktree, "/home/ann/x/y");
    assert_int_equal(vet(text, text, &vetted, &err), 0);
    assert_string_equal(vetted.worktree, "");
    assert_int_equal(vet(NULL, "[core]\nworktree = /x/y/\n", &vetted, &err), 0);
    assert_string_equal(vetted.worktree, "/x/y");
    assert_refused(NULL, "[core]\nworktree = a\nworktree = b\n", "guard.vet-value",
                   "core.worktree");
    assert_refused(NULL, "[core]\nworktree = a/../b\n", "guard.vet-value", "core.worktree");
    assert_refused(NULL, "[core]\nworktree = ../../../../..\n", "guard.vet-value", "core.worktree");
}

static int count(void *context, const struct guard_setting *setting)
{
    unsigned *seen = context;

    (*seen)++;
    return strcmp(setting->key, "stop") == 0 ? 7 : 0;
}

static void each_setting_is_shown_to_who_wants_it(void **state)
{
    unsigned seen = 0;
    struct err err = {0};

    (void) state;
    assert_int_equal(guard_config_each(OWNERS, strlen(OWNERS), count, &seen, &err), 0);
    assert_int_equal(seen, 3);
    assert_int_equal(guard_config_each("[a]\nstop\nb", 10, count, &seen, &err), 7);
    assert_int_equal(guard_config_each("[a]\n?", 5, count, &seen, &err), -EINVAL);
}

/* ---- pointers ------------------------------------------------------------------------------ */

static int pointer(const char *text, char *path, enum guard_pointer *kind)
{
    struct err err = {0};
    const int r = guard_vet_pointer(text, strlen(text), "/p/sub", path, kind, &err);

    assert_true(r == 0 || strlen(err.what) > 0);
    return r;
}

static void a_git_file_leads_to_modules_and_worktrees_only(void **state)
{
    static const char *const bad[] = {
        "",
        "gitdir: ",
        "gitdir: \n",
        "gitdir:../.git/modules/x\n",
        "Gitdir: ../.git/modules/x\n",
        "gitdir: ../.git\n",
        "gitdir: ../evil\n",
        "gitdir: /p/.git/modules\n",
        "gitdir: /p/.git/modules/\n",
        "gitdir: /p/.git/worktrees\n",
        "gitdir: /p/.git/modules/x/../../../evil\n",
        "gitdir: /p/x/../.git/modules/x\n",
        "gitdir: ../link/../.git/modules/x\n",
        "gitdir: /p/.git/modules/x\n\n",
        "gitdir: /p/.git/modules/x\nmore\n",
        "gitdir: /p/.git/modules/x \n",
        "gitdir:  /p/.git/modules/x\n",
        "gitdir: /p/.git/modules/x\r\n",
        "gitdir: /p/.GIT/modules/x\n",
        "gitdir: /p/a.git/modules/x\n",
    };
    char path[PATH_MAX];
    enum guard_pointer kind = GUARD_POINTER_WORKTREE;

    (void) state;
    assert_int_equal(pointer("gitdir: ../.git/modules/sub\n", path, &kind), 0);
    assert_string_equal(path, "/p/.git/modules/sub");
    assert_int_equal(kind, GUARD_POINTER_MODULE);
    assert_int_equal(pointer("gitdir: /p/.git/worktrees/w", path, &kind), 0);
    assert_int_equal(kind, GUARD_POINTER_WORKTREE);
    assert_int_equal(pointer("gitdir: /p/.git/modules/a/worktrees/w\n", path, &kind), 0);
    assert_int_equal(kind, GUARD_POINTER_WORKTREE);
    assert_int_equal(pointer("gitdir: /p/.git/worktrees/w/modules/a/b\n", path, &kind), 0);
    assert_int_equal(kind, GUARD_POINTER_MODULE);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (pointer(bad[i], path, &kind) == 0)
            fail_msg("taken: %s", bad[i]);
}

static int back(const char *text, char *path)
{
    struct err err = {0};

    return guard_vet_back(text, strlen(text), "/p/.git/worktrees/w", path, &err);
}

static void a_gitdir_names_a_git_file(void **state)
{
    char path[PATH_MAX];

    (void) state;
    assert_int_equal(back("/p/wt/.git\n", path), 0);
    assert_string_equal(path, "/p/wt/.git");
    assert_int_equal(back("../../../wt/.git\n", path), 0);
    assert_string_equal(path, "/p/wt/.git");
    assert_int_equal(back("/p/wt\n", path), -EINVAL);
    assert_int_equal(back("/.git\n", path), -EINVAL);
    assert_int_equal(back("/p/a.git\n", path), -EINVAL);
    assert_int_equal(back("/p/../x/.git\n", path), -EINVAL);
    assert_int_equal(back("", path), -EINVAL);
}

static int commondir(const char *text)
{
    struct err err = {0};

    return guard_vet_commondir(text, strlen(text), "/p/.git/worktrees/w", &err);
}

static void a_commondir_leads_two_up(void **state)
{
    (void) state;
    assert_int_equal(commondir("../..\n"), 0);
    assert_int_equal(commondir("../.."), 0);
    assert_int_equal(commondir("/p/.git\n"), 0);
    assert_int_equal(commondir("../../\n"), -EINVAL);
    assert_int_equal(commondir("../../..\n"), -EINVAL);
    assert_int_equal(commondir("/p/.git/\n"), -EINVAL);
    assert_int_equal(commondir("/p\n"), -EINVAL);
    assert_int_equal(commondir("../evil\n"), -EINVAL);
    assert_int_equal(commondir("../..\n\n"), -EINVAL);
    assert_int_equal(commondir(""), -EINVAL);
}

static int head(const char *text)
{
    struct err err = {0};

    return guard_vet_head(text, strlen(text), &err);
}

static void a_head_names_a_branch_or_an_object(void **state)
{
    (void) state;
    assert_int_equal(head("ref: refs/heads/main\n"), 0);
    assert_int_equal(head("0123456789abcdef0123456789abcdef01234567\n"), 0);
    assert_int_equal(head("0123456789abcdef0123456789abcdef0123456\n"), -EINVAL);
    assert_int_equal(head("ref: refs/\n"), -EINVAL);
    assert_int_equal(head("ref: refs/../x\n"), -EINVAL);
    assert_int_equal(head("ref: x\n"), -EINVAL);
    assert_int_equal(head("x\n"), -EINVAL);
}

static void knows_when_a_pointer_is_whole(void **state)
{
    (void) state;
    assert_true(guard_pointer_is_whole("x\n", 2));
    assert_false(guard_pointer_is_whole("x", 1));
    assert_false(guard_pointer_is_whole("x\ny\n", 4));
    assert_false(guard_pointer_is_whole("", 0));
    assert_true(guard_hook_is_sample("pre-commit.sample"));
    assert_false(guard_hook_is_sample("pre-commit"));
    assert_false(guard_hook_is_sample(".sample"));
    assert_false(guard_hook_is_sample("x.sample.sample"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_what_git_writes_byte_for_byte),
        cmocka_unit_test(keeps_comments_and_blank_lines),
        cmocka_unit_test(writes_in_one_way_what_git_reads_in_many),
        cmocka_unit_test(refuses_syntax_it_does_not_know),
        cmocka_unit_test(has_bounds),
        cmocka_unit_test(refuses_every_key_that_runs_something_and_names_it),
        cmocka_unit_test(takes_addresses_git_itself_understands),
        cmocka_unit_test(refuses_values_that_say_more),
        cmocka_unit_test(keeps_what_the_owner_has),
        cmocka_unit_test(lets_nothing_of_the_owners_be_changed_or_lost),
        cmocka_unit_test(notes_where_remotes_lead),
        cmocka_unit_test(hands_out_the_work_tree_to_be_looked_at),
        cmocka_unit_test(each_setting_is_shown_to_who_wants_it),
        cmocka_unit_test(a_git_file_leads_to_modules_and_worktrees_only),
        cmocka_unit_test(a_gitdir_names_a_git_file),
        cmocka_unit_test(a_commondir_leads_two_up),
        cmocka_unit_test(a_head_names_a_branch_or_an_object),
        cmocka_unit_test(knows_when_a_pointer_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
