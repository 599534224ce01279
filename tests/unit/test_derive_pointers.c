/* Names of the pen that are held because a git configuration or a symlink leads to them. */
#include "base/fd.h"
#include "base/str.h"
#include "derive_tree.h"

#include <ctype.h>
#include <sys/wait.h>

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
    assert_true(guards(world, PROJECT "/nothing")); /* it must not come to exist */
    assert_true(guards(world, PROJECT "/.vscode"));
}

/* Chains, and a symlink above. */
static void so_is_each_symlink_on_the_way(void **state)
{
    struct world *world = *state;

    make_link(world, PROJECT "/.envrc", "one");
    make_link(world, PROJECT "/one", "deep/two");
    make_folder(world, PROJECT "/real");
    make_link(world, PROJECT "/deep", "real");
    make_link(world, PROJECT "/real/two", "../../proj/three");
    make_link(world, PROJECT "/.mcp.json", world->home);
    make_link(world, PROJECT "/.nvimrc", ".nvimrc");
    derive(world, &plain);
    assert_true(guards(world, PROJECT "/one"));
    assert_true(guards(world, PROJECT "/deep"));
    assert_true(guards(world, PROJECT "/real/two"));
    assert_true(guards(world, PROJECT "/three"));
    assert_false(guards(world, "home"));
}

static bool guards_everywhere(const struct world *world, const char *name)
{
    for (size_t i = 0; i < policy_guard_rules(world->policy); i++) {
        const struct policy_guard_rule *rule = policy_guard_rule_at(world->policy, i);

        if (rule->kind == POLICY_GUARD_AT_TOPS && strcmp(rule->text, name) == 0)
            return true;
    }
    return false;
}

static void what_the_owner_names_counts_in_every_repository(void **state)
{
    struct world *world = *state;

    make_file(world, "home/.gitconfig",
              "[core]\n\thooksPath = ./.githooks/\n\teditor = vim\n\texcludesFile = ~/.ignore\n"
              "[alias]\n\tx = !./tools/x \"$(git y)/z\"\n\tst = status tools/no\n",
              0644);
    make_file(world, "etc/gitconfig", "[core]\n\tfsmonitor = mon/itor\n\tsshCommand = ../up/x\n",
              0644);
    derive(world, &plain);
    assert_true(guards_everywhere(world, ".githooks"));
    assert_true(guards_everywhere(world, "tools/x"));
    assert_true(guards_everywhere(world, "z"));
    assert_true(guards_everywhere(world, "mon/itor"));
    assert_true(guards(world, PROJECT "/.githooks"));
    assert_false(guards(world, PROJECT "/tools/no"));
    assert_false(guards(world, PROJECT "/vim"));
    assert_false(guards(world, "home/.ignore"));
}

static void includes_are_followed_whatever_their_condition(void **state)
{
    struct world *world = *state;

    make_git(world, PROJECT "/.git",
             "[includeIf \"onbranch:no\"]\n\tpath = ../cfg/a\n[include]\n\tpath = config\n");
    make_file(world, PROJECT "/cfg/a", "[include]\n\tpath = b\n[include]\n\tpath = missing\n",
              0644);
    make_file(world, PROJECT "/cfg/b",
              "[core]\n\thooksPath = hooks\\\n-too\n[include]\n\tpath = a\n", 0644);
    derive(world, &plain);
    assert_true(guards(world, PROJECT "/cfg/a"));
    assert_true(guards(world, PROJECT "/cfg/b"));
    assert_true(guards(world, PROJECT "/cfg/missing"));
    assert_true(guards(world, PROJECT "/hooks-too"));
}

static void programs_and_files_that_settings_name_are_held(void **state)
{
    struct world *world = *state;

    make_file(world, PROJECT "/bare.sh", "", 0755);
    make_folder(world, PROJECT "/src/app");
    make_folder(world, PROJECT "/test");
    make_git(
        world, PROJECT "/.git",
        "[filter \"f\"]\n\tclean = sh bare.sh %f\n\tsmudge = sh -c 'exec \\\"my tools/s\\\" %f'\n"
        "[alias]\n\tt = !cd src/app && make test\n"
        "[diff \"d\"]\n\ttextconv = conv/new\n[core]\n\tpager = less -F\n");
    derive(world, &plain);
    assert_true(guards(world, PROJECT "/bare.sh"));
    assert_true(guards(world, PROJECT "/tools/s"));
    assert_true(guards(world, PROJECT "/conv/new"));
    assert_false(guards(world, PROJECT "/src/app")); /* a folder: what runs in it is not seen */
    assert_false(guards(world, PROJECT "/test"));
    assert_false(guards(world, PROJECT "/less"));
}

static void a_configuration_that_cannot_be_read_whole_is_refused(void **state)
{
    static const char head[] = "[core]\n\thooksPath = ";
    const struct derive_request unguarded = {.guard_off = true};
    struct world *world = *state;
    AUTO_FREE char *text = calloc(1, 20001);

    assert_non_null(text);
    memset(text, 'x', 20000);
    memcpy(text, head, sizeof head - 1);
    make_git(world, PROJECT "/.git", text);
    refuse(world, &plain, "derive.git-config");
    derive(world, &unguarded);
    assert_int_equal(policy_guard_rules(world->policy), 0);
}

/* ---- below the pen's top --------------------------------------------------------------------- */

static int nested(struct world *world, const char **dot_git, char *const *folders)
{
    struct derive_repositories found = {.dot_git = dot_git, .folders = folders};

    while (dot_git[found.dot_git_count] != NULL)
        found.dot_git_count++;
    while (folders[found.folder_count] != NULL)
        found.folder_count++;
    derive(world, &plain);
    return derive_pointers_nested(world->owner, world->policy, &found, &world->err);
}

static void nested_repositories_have_pointers_too(void **state)
{
    const char *dot_git[] = {"a/.git", "b/.git", "c/.git", NULL};
    char module[] = ".git/modules/m";
    char bare[] = "bare";
    char *const folders[] = {module, bare, NULL};
    struct world *world = *state;

    make_git(world, PROJECT "/a/.git", "[core]\n\thooksPath = .husky/_\n");
    make_link(world, PROJECT "/a/.envrc", "env");
    make_git(world, PROJECT "/real", "[core]\n\tfsmonitor = ./mon\n");
    make_file(world, PROJECT "/b/.git", "gitdir: ../real\n", 0644);
    make_git(world, MAIN, "[core]\n\thooksPath = h\n");
    make_worktree(world);
    assert_int_equal(chdir(world->proj), 0);
    assert_int_equal(unlink(".git"), 0);
    make_folder(world, PROJECT "/c");
    make_link(world, PROJECT "/c/.git", "../../main/.git/worktrees/proj");
    make_git(world, PROJECT "/.git/modules/m",
             "[core]\n\tworktree = ../../../m\n\thooksPath = h\n");
    make_folder(world, PROJECT "/m");
    make_git(world, PROJECT "/bare", "[core]\n\thooksPath = h\n");

    assert_int_equal(nested(world, dot_git, folders), 0);
    assert_true(guards(world, PROJECT "/a/.husky/_"));
    assert_true(guards(world, PROJECT "/a/env"));
    assert_true(guards(world, PROJECT "/b/mon"));
    assert_true(guards(world, PROJECT "/real"));
    assert_true(guards(world, PROJECT "/c/h"));
    assert_true(guards(world, PROJECT "/m/h"));
    assert_true(guards(world, PROJECT "/bare/h"));
    assert_true(guards(world, PROJECT "/bare/hooks"));
}

static void too_many_are_refused_by_name(void **state)
{
    static const char text[] = "{\"wattle\": {\"preflight\": {\"repositories\": 1}}}";
    const char *dot_git[] = {"a/.git", "b/.git", NULL};
    const char *one[] = {"a/.git", NULL};
    char folder[] = "a/.git";
    char *const known[] = {folder, NULL};
    char *const none[] = {NULL};
    struct world *world = *state;
    AUTO(buf_free) struct buf config;

    assert_int_equal(nested(world, dot_git, none), 0);
    make_file(world, "home/.config/wattle/config.json", text, 0600);
    assert_int_equal(nested(world, one, known), 0); /* counted once */
    assert_int_equal(nested(world, dot_git, none), -EINVAL);
    assert_string_equal(world->err.id, "derive.repositories");

    buf_init(&config, 1u << 20);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(buf_printf(&config, "[filter \"%u\"]\n\tclean = t/%u\n", i, i), 0);
    make_git(world, PROJECT "/.git", config.bytes);
    refuse(world, &plain, "derive.pointers");
}

/* ---- the table of settings against the git that is installed ------------------------------------
 */

/* Parts of names that speak of a program or of a file. */
static const char *const speaking[] = {
    "cmd",         "command",   "program",     "prog",      "helper",     "tool",     "path",
    "file",        "hook",      "editor",      "pager",     "browser",    "driver",   "clean",
    "smudge",      "process",   "templatedir", "socketdir", "textconv",   "external", "askpass",
    "proxy",       "tunnel",    "template",    "monitor",   "script",     "exec",     "url",
    "httpd",       "server",    "cert",        "sslkey",    "signingkey", "vcs",      "uploadpack",
    "receivepack", "insteadof", "viewer",      "shell",     "difffilter",
};

/* Found to run and to read nothing of the pen, or nothing that does anything: numbers, words, names
 * of tools that have settings of their own, texts for a person, and addresses of the network. */
static const char *const harmless[] = {
    "advice.",
    "color.",
    "column.",
    "fsck.",
    "gitcvs.",
    "gitweb.",
    "receive.",
    "mergetool.hide",
    "guitool.<name>.argprompt",
    "guitool.<name>.confirm",
    "guitool.<name>.needsfile",
    "guitool.<name>.no",
    "guitool.<name>.prompt",
    "guitool.<name>.rev",
    "guitool.<name>.title",
    "status.",
    "trace2.",
    "notes.rewrite.",
    "uploadpack.allow",
    "uploadpack.hiderefs",
    "uploadpack.keepalive",
    "uploadpackfilter.",
    "repack.",
    "sparse.",
    "rebase.",
    "fsmonitor.",
    "blame.ignorerevsfile",
    "branch.<name>.description",
    "clean.requireforce",
    "commit.cleanup",
    "commit.template",
    "commitgraph.",
    "completion.commands",
    "core.bigfilethreshold",
    "core.filemode",
    "core.filesreflocktimeout",
    "core.fsmonitorhookversion",
    "core.fsyncobjectfiles",
    "core.hidedotfiles",
    "core.quotepath",
    "credential.usehttppath",
    "diff.<driver>.binary",
    "diff.<driver>.cachetextconv",
    "diff.<driver>.wordregex",
    "diff.<driver>.xfuncname",
    "diff.guitool",
    "diff.tool",
    "diff.orderfile",
    "difftool.prompt",
    "difftool.trustexitcode",
    "feature.manyfiles",
    "format.",
    "gui.newbranchtemplate",
    "http.curloptresolve",
    "http.proxy",
    "http.schannelusesslcainfo",
    "http.sslcert",
    "http.sslkey",
    "mailmap.file",
    "man.viewer",
    "merge.<driver>.name",
    "merge.<driver>.recursive",
    "merge.guitool",
    "merge.tool",
    "mergetool.<tool>.hideresolved",
    "mergetool.<tool>.trustexitcode",
    "mergetool.meld.",
    "mergetool.vimdiff.",
    "mergetool.keep",
    "mergetool.prompt",
    "mergetool.writetotemp",
    "remote.<name>.proxy",
    "sendemail.aliasfiletype",
    "sendemail.smtpserverport",
    "transfer.credentialsinurl",
    "user.signingkey",
};

static bool speaks(const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(speaking); i++)
        if (strstr(key, speaking[i]) != NULL)
            return true;
    return false;
}

static bool is_harmless(const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
        if (str_starts(key, harmless[i]))
            return true;
    return false;
}

static bool is_in_table(char *key)
{
    char *first = strchr(key, '.');
    char *last = strrchr(key, '.');
    struct derive_gitsetting setting = {.section = key, .value = "x"};
    bool found;

    *first = *last = '\0';
    setting.name = last + 1;
    found = derive_gitkey_find(&setting) != NULL;
    *first = *last = '.';
    return found;
}

/* One line for each setting, or nothing. */
static int ask_git(struct buf *buf)
{
    int ends[2];
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void) dup2(ends[1], STDOUT_FILENO);
        (void) execl("/usr/bin/git", "git", "help", "--config", NULL);
        _exit(127);
    }
    (void) close(ends[1]);
    assert_int_equal(fd_read_all(ends[0], buf), 0);
    (void) close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return (int) buf->size;
}

/* Whether the setting, in lower case, is one of the table. */
static bool look_at_setting(char *key)
{
    for (char *at = key; *at != '\0'; at++)
        *at = (char) tolower((unsigned char) *at);
    if (strchr(key, '.') == NULL || strpbrk(key, " *") != NULL || !speaks(key))
        return false;
    if (is_in_table(key))
        return true;
    if (!is_harmless(key))
        fail_msg("git's setting '%s' is in neither table: src/derive/gitkeys.c", key);
    return false;
}

static void every_setting_that_speaks_of_a_program_was_looked_at(void **state)
{
    AUTO(buf_free) struct buf buf;
    unsigned in_table = 0;

    (void) state;
    buf_init(&buf, 1u << 20);
    if (ask_git(&buf) == 0)
        return; /* no git here */
    for (char *key = buf.bytes; *key != '\0';) {
        char *end = strchrnul(key, '\n');
        const bool more = *end != '\0';

        *end = '\0';
        in_table += look_at_setting(key);
        key = end + more;
    }
    assert_true(in_table > 50);
}

static void settings_of_other_programs_and_addresses_that_run_are_held(void **state)
{
    struct world *world = *state;

    make_git(world, PROJECT "/.git",
             "[svn]\n\tauthorsProg = t/authors\n"
             "[annex]\n\tsecure-erase-command = t/erase %file\n\tx-store-hook = t/store\n"
             "[remote \"o\"]\n\tannex-start-command = t/start\n\turl = ext::t/connect %S\n"
             "[remote \"p\"]\n\turl = ../t/plain\n"
             "[url \"ext::sh -c t/base\"]\n\tinsteadOf = x:\n"
             "[instaweb]\n\tmodulePath = t/modules\n[jump]\n\tgrepCmd = t/grep -n\n");
    derive(world, &plain);
    for (const char *const *name =
             (const char *const[]){"authors", "erase", "store", "start", "connect", "base",
                                   "modules", "grep", NULL};
         *name != NULL; name++) {
        AUTO_FREE char *path = path_join(PROJECT "/t", *name);

        if (!guards(world, path))
            fail_msg("'%s' is not held", path);
    }
    assert_false(guards(world, "home/work/t/plain"));
}

static void what_is_opened_for_writing_has_pointers_too(void **state)
{
    struct world *world = *state;
    const struct derive_flag_path opened[] = {{.path = "../lib", .access = POLICY_WRITE},
                                              {.path = "../bare", .access = POLICY_WRITE}};
    const struct derive_flag_path shown = {.path = "../lib", .access = POLICY_READ};

    make_git(world, "home/work/lib/.git", "[core]\n\thooksPath = h\n");
    make_git(world, "home/work/bare", "[core]\n\tfsmonitor = ./mon\n");
    make_file(world, "home/work/lib/env", "", 0644);
    make_link(world, "home/work/lib/.envrc", "env");
    derive(world, &(struct derive_request){.paths = opened, .path_count = ARRAY_SIZE(opened)});
    assert_true(guards(world, "home/work/lib/h"));
    assert_true(guards(world, "home/work/lib/env"));
    assert_true(guards(world, "home/work/bare/mon"));
    assert_true(guards(world, "home/work/bare/hooks"));
    derive(world, &(struct derive_request){.paths = &shown, .path_count = 1});
    assert_false(guards(world, "home/work/lib/h")); /* no job writes there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(what_a_configuration_runs_out_of_the_pen_is_held),
        WORLD_TEST(so_is_what_a_linked_worktree_s_repository_names),
        WORLD_TEST(where_a_guarded_name_leads_is_held),
        WORLD_TEST(so_is_each_symlink_on_the_way),
        WORLD_TEST(what_the_owner_names_counts_in_every_repository),
        WORLD_TEST(includes_are_followed_whatever_their_condition),
        WORLD_TEST(programs_and_files_that_settings_name_are_held),
        WORLD_TEST(a_configuration_that_cannot_be_read_whole_is_refused),
        WORLD_TEST(nested_repositories_have_pointers_too),
        WORLD_TEST(what_is_opened_for_writing_has_pointers_too),
        WORLD_TEST(too_many_are_refused_by_name),
        WORLD_TEST(settings_of_other_programs_and_addresses_that_run_are_held),
        cmocka_unit_test(every_setting_that_speaks_of_a_program_was_looked_at),
    };

    return RUN_WORLD_TESTS(tests);
}
