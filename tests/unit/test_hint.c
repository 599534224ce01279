#include "base/cleanup.h"
#include "base/str.h"
#include "cm.h"
#include "policy/hint.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define HOME "/home/u"

static void add_rule(struct policy *policy, const char *path, enum policy_access access,
                     enum policy_origin origin, const char *why)
{
    char path_text[64];
    char why_text[64];
    struct policy_rule rule = {.access = access, .origin = origin};

    (void) snprintf(path_text, sizeof path_text, "%s", path);
    (void) snprintf(why_text, sizeof why_text, "%s", why);
    rule.path = path_text;
    rule.why = why_text;
    assert_int_equal(policy_add_rule(policy, &rule, NULL), 0);
}

static void add_place(struct policy *policy, enum policy_place_kind kind, enum policy_access access,
                      const char *path, const char *source)
{
    char path_text[64];
    char source_text[64];
    char why_text[] = "the run's own";
    struct policy_place place = {
        .kind = kind, .access = access, .path = path_text, .why = why_text, .bytes = 1 << 20};

    (void) snprintf(path_text, sizeof path_text, "%s", path);
    if (source != NULL) {
        (void) snprintf(source_text, sizeof source_text, "%s", source);
        place.source = source_text;
    }
    assert_int_equal(policy_add_place(policy, &place, NULL), 0);
}

static int make_policy(void **state)
{
    struct policy *policy = policy_new();

    if (policy == NULL)
        return -1;
    add_rule(policy, "/usr", POLICY_READ, POLICY_FROM_BASE, "system programs");
    add_rule(policy, HOME "/pen", POLICY_WRITE, POLICY_FROM_PEN, "the pen");
    add_rule(policy, HOME "/pen/closed", POLICY_HIDE, POLICY_FROM_FLAG, "--deny");
    add_rule(policy, HOME "/data", POLICY_READ, POLICY_FROM_FLAG, "--ro");
    add_rule(policy, HOME "/.state/wattle", POLICY_HIDE, POLICY_FROM_OWN, "wattle's own");
    add_place(policy, POLICY_PLACE_TMPFS, POLICY_WRITE, "/tmp", NULL);
    add_place(policy, POLICY_PLACE_FILE, POLICY_READ, "/etc/hosts", "x");
    add_place(policy, POLICY_PLACE_BIND, POLICY_WRITE, POLICY_INSIDE_HOME, "/scratch");
    add_place(policy, POLICY_PLACE_SYMLINK, POLICY_READ, "/link", HOME "/pen");
    policy_limits(policy)->tmp_bytes = UINT64_C(256) << 20;
    policy_limits(policy)->processes = 4096;
    policy_limits(policy)->open_files = 1024;
    policy_limits(policy)->file_bytes = UINT64_C(32) << 30;
    *state = policy;
    return 0;
}

static int free_policy(void **state)
{
    policy_free(*state);
    return 0;
}

/* What is said about `tail`, less the line end; several lines stay several. */
static char *hint_for(const struct policy *policy, const char *tail)
{
    struct buf lines;
    int count;

    buf_init(&lines, 100000);
    count = hint_find(policy, HOME, HINT_OWNER, tail, strlen(tail), &lines);
    if (count > 0)
        lines.bytes[lines.size - 1] = '\0';
    assert_int_equal(count == 0, lines.size == 0);
    return buf_take(&lines);
}

struct example {
    const char *tail, *hint;
};

static void check(const struct policy *policy, const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *hint = hint_for(policy, examples[i].tail);

        if (!str_equal(hint, examples[i].hint))
            fail_msg("for: %s\ngot: %s\nnot: %s", examples[i].tail, hint, examples[i].hint);
    }
}

#define CHECK(state, examples) check(*(state), examples, ARRAY_SIZE(examples))
#define OUTSIDE " is outside the policy"
#define RO "; allow it with --ro "
#define RW "; allow it with --rw "

/* ---- files ---------------------------------------------------------------------------------- */

static void what_lies_outside_is_named_with_its_flag(void **state)
{
    static const struct example examples[] = {
        {"touch: cannot touch '/home/u/notes': Read-only file system\n",
         "blocked: write to ~/notes" OUTSIDE RW "~/notes"},
        {"cat: /srv/data/x: No such file or directory",
         "blocked: read of /srv/data/x" OUTSIDE RO "/srv/data/x"},
        {"bash: line 1: /home/u/notes: Permission denied\n",
         "blocked: use of ~/notes" OUTSIDE RO "~/notes, or --rw ~/notes to change it"},
        {"PermissionError: [Errno 13] Permission denied: '/srv/my data'\n",
         "blocked: use of '/srv/my data'" OUTSIDE RO "'/srv/my data', or --rw '/srv/my data' to "
         "change it"},
        {"Error: ENOENT: no such file or directory, scandir '/srv/x'\n",
         "blocked: read of /srv/x" OUTSIDE RO "/srv/x"},
        {"java.nio.file.AccessDeniedException: /srv/x\n\tat java.base/sun.nio.fs\n",
         "blocked: use of /srv/x" OUTSIDE RO "/srv/x, or --rw /srv/x to change it"},
        {"open /srv/x: permission denied",
         "blocked: use of /srv/x" OUTSIDE RO "/srv/x, or --rw /srv/x to change it"},
        {"/usr/bin/ld: cannot open output file /srv/out/a.out: No such file or directory",
         "blocked: write to /srv/out/a.out" OUTSIDE RW "/srv/out/a.out"},
        {"ls: cannot access \xe2\x80\x98/srv/x\xe2\x80\x99: No such file or directory",
         "blocked: use of /srv/x" OUTSIDE RO "/srv/x, or --rw /srv/x to change it"},
    };

    CHECK(state, examples);
}

static void a_new_name_needs_its_folder(void **state)
{
    static const struct example examples[] = {
        {"touch: cannot touch '/home/u/notes/x': No such file or directory",
         "blocked: write to ~/notes/x" OUTSIDE RW "~/notes"},
        {"mkdir: cannot create directory '/home/u/notes': Permission denied",
         "blocked: write to ~/notes" OUTSIDE RW "~/notes"}, /* not the whole home */
        {"mkdir: cannot create directory '/data': Read-only file system",
         "blocked: write to /data" OUTSIDE RW "/data"},
    };

    CHECK(state, examples);
}

static void the_reason_may_stand_after_the_file(void **state)
{
    static const struct example examples[] = {
        {"error: failed to write `/srv/x/y`\n\nCaused by:\n  Permission denied (os error 13)\n",
         "blocked: use of /srv/x/y" OUTSIDE RO "/srv/x/y, or --rw /srv/x/y to change it"},
    };

    CHECK(state, examples);
}

static void of_several_paths_the_blocked_one_counts(void **state)
{
    static const struct example examples[] = {
        {"/usr/bin/cp: cannot create regular file '/home/u/x': Permission denied",
         "blocked: write to ~/x" OUTSIDE RW "~/x"},
        {"mv: cannot move '/home/u/pen/a' to '/srv/b/c': Permission denied",
         "blocked: write to /srv/b/c" OUTSIDE RW "/srv/b"},
    };

    CHECK(state, examples);
}

static void what_is_read_only_says_why(void **state)
{
    static const struct example examples[] = {
        {"cp: cannot create regular file '/usr/lib/x': Read-only file system",
         "blocked: write to /usr/lib/x: read-only by system programs"},
        {"rm: cannot remove '/home/u/data/x': Read-only file system",
         "blocked: write to ~/data/x: read-only by --ro" RW "~/data/x"},
        {"tee: /etc/hosts: Read-only file system",
         "blocked: write to /etc/hosts: it is made for the run and stays as it is"},
        {"cat: /home/u/pen/closed/x: Permission denied",
         "blocked: read of ~/pen/closed/x: hidden by --deny"},
        {"mv: cannot move '/home/u/pen' to '/home/u/pen2': Device or resource busy",
         "blocked: ~/pen is held in its place: a run cannot rename or remove it"},
        {"OSError: [Errno 18] Invalid cross-device link: '/home/u/data/a' -> '/home/u/pen/a'",
         "blocked: a rename or link of ~/data/a across the parts that were opened one by one; "
         "copy instead"},
    };

    CHECK(state, examples);
}

static void what_would_not_help_is_not_proposed(void **state)
{
    static const struct example examples[] = {
        {"touch: cannot touch '/home/u/data': Read-only file system",
         "blocked: write to ~/data: read-only by --ro" RW "~/data"},
        {"touch: cannot touch '/home/u/pen/held': Read-only file system",
         "blocked: write to ~/pen/held: read-only by --ro"}, /* --rw ~/pen would not win */
        {"tee: /home/u/pen/held: Read-only file system\ncp: error writing",
         "blocked: write to ~/pen/held: read-only by --ro" RW "~/pen/held"},
    };

    add_rule(*state, HOME "/pen/held", POLICY_READ, POLICY_FROM_FLAG, "--ro");
    CHECK(state, examples);
}

static void failures_of_the_jobs_own_get_no_hint(void **state)
{
    static const struct example examples[] = {
        {"", ""},
        {"\n\n\n", ""},
        {"make: *** [Makefile:3: all] Error 1\n", ""},
        {"cat: /home/u/pen/missing: No such file or directory", ""},
        {"cat: missing: No such file or directory", ""},
        {"bash: /home/u/pen/script: Permission denied", ""},
        {"cat: /usr/missing: No such file or directory", ""},
        {"cat: /tmp/missing: No such file or directory", ""},
        {"rm: cannot remove '/tmp/x': Permission denied", ""},
        {"cat: /link/missing: No such file or directory", ""},
        {"fetching https://example.com/x: Permission denied", ""},
        {"a/srv/x and ./srv/x: Permission denied", ""},
        {"cat: /: Permission denied", ""},
    };

    CHECK(state, examples);
}

static void the_own_home_is_told_from_the_owners(void **state)
{
    static const struct example examples[] = {
        {"cat: /wattle/home/notes/x: No such file or directory",
         "blocked: /wattle/home/notes/x is in the run's own home; for yours, allow --ro "
         "~/notes/x and give the command the whole path"},
        {"cat: /wattle/home/.ssh/id_rsa: No such file or directory", ""},
        {"cat: /wattle/home/.vimrc: No such file or directory", ""},
    };

    CHECK(state, examples);
}

/* ---- what no hint opens --------------------------------------------------------------------- */

static void credentials_and_own_folders_are_never_proposed(void **state)
{
    static const char *const paths[] = {
        HOME,
        "/home",
        "/root",
        HOME "/.ssh",
        HOME "/.ssh/id_rsa",
        HOME "/.config/gh/hosts.yml",
        HOME "/.config",
        HOME "/x/../.ssh/id_rsa",
        "/root/.ssh/id_rsa",
        "/home/other/.aws/credentials",
        HOME "/.config/wattle/config.json",
        HOME "/.local/state/wattle",
        HOME "/.state/wattle/x",
        HOME "/.state",
        "/etc/wattle/x",
        "/etc/shadow",
        "/etc/shadow-",
        "/etc",
        "/proc/1/mem",
        "/run/docker.sock",
        "/dev/sda",
    };
    static const char *const shapes[] = {
        "cat: %s: Permission denied",
        "touch: cannot touch '%s': Read-only file system",
        "x: %s: No such file or directory",
    };

    for (size_t i = 0; i < ARRAY_SIZE(paths) * ARRAY_SIZE(shapes); i++) {
        AUTO(buf_free) struct buf tail;
        const char *shape = shapes[i % ARRAY_SIZE(shapes)];
        const char *rest = strstr(shape, "%s") + 2;
        AUTO_FREE char *hint = NULL;

        buf_init(&tail, 1000);
        (void) buf_add(&tail, shape, (size_t) (rest - 2 - shape));
        (void) buf_add_text(&tail, paths[i / ARRAY_SIZE(shapes)]);
        (void) buf_add_text(&tail, rest);
        hint = hint_for(*state, tail.bytes);
        if (strstr(hint, "--r") != NULL)
            fail_msg("for: %s\ngot: %s", tail.bytes, hint);
    }
}

static void dot_files_are_not_proposed_for_writing(void **state)
{
    static const struct example examples[] = {
        {"bash: cannot create /home/u/.bashrc: Read-only file system",
         "blocked: write to ~/.bashrc" OUTSIDE},
        {"x: /home/u/.vimrc: Permission denied", "blocked: use of ~/.vimrc" OUTSIDE RO "~/.vimrc"},
        {"cat: /home/u/.ssh/config: Permission denied",
         "blocked: read of ~/.ssh/config: it holds credentials and stays closed"},
    };

    CHECK(state, examples);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void a_missing_network_is_named(void **state)
{
    static const struct example without[] = {
        {"curl: (6) Could not resolve host: example.com",
         "blocked: the network: this run has none"},
        {"npm ERR! getaddrinfo EAI_AGAIN example.com", "blocked: the network: this run has none"},
        {"connect: Network is unreachable", "blocked: the network: this run has none"},
        {"Error: connect ECONNREFUSED 127.0.0.1:5432",
         "blocked: the host's servers: 127.0.0.1 is the run's own, and nothing of the run "
         "listens there"},
    };
    static const struct example with[] = {
        {"curl: (6) Could not resolve host: example.com", ""},
        {"curl: (7) Failed to connect to example.com: Connection refused", ""},
    };

    CHECK(state, without);
    policy_set_net(*state, POLICY_NET_OPEN);
    CHECK(state, with);
}

static void rights_a_run_has_not_are_named(void **state)
{
    static const struct {
        const char *tail, *about;
    } cases[] = {
        {"unshare: unshare failed: Operation not permitted", "blocked: namespaces"},
        {"bwrap: No permissions to create new namespace, likely", "blocked: namespaces"},
        {"[1:1] FATAL:zygote_host_impl_linux.cc(127) No usable sandbox!", "--no-sandbox"},
        {"mount: /mnt: permission denied.", "blocked: mounts"},
        {"sudo: The \"no new privileges\" flag is set", "blocked: more rights"},
        {"chmod: changing permissions of 'x': Operation not permitted", "set-user-ID"},
        {"chown: changing ownership of 'x': Operation not permitted", "blocked: a change of owner"},
        {"git@example.com: Permission denied (publickey).", "blocked: keys"},
        {"Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "container"},
        {"the input device is not a TTY", "-t"},
        {"stty: standard input: Inappropriate ioctl for device", "-t"},
        {"sh: 1: cannot open /dev/tty: No such device or address", "-t"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTO_FREE char *hint = hint_for(*state, cases[i].tail);

        if (strstr(hint, cases[i].about) == NULL)
            fail_msg("for: %s\ngot: %s", cases[i].tail, hint);
    }
}

static void bounds_are_named_with_their_flag(void **state)
{
    static const struct example examples[] = {
        {"bash: fork: retry: Resource temporarily unavailable",
         "blocked: more than 4096 processes and threads at once; raise the bound with --pids N"},
        {"RuntimeError: can't start new thread",
         "blocked: more than 4096 processes and threads at once; raise the bound with --pids N"},
        {"OSError: [Errno 24] Too many open files: 'x'",
         "blocked: more than 1024 open files in one process; raise the bound with --open-files N"},
        {"dd: writing to 'x': File too large",
         "blocked: a file larger than 32 GiB; raise the bound with --file-size SIZE"},
        {"cp: error writing '/tmp/x': No space left on device",
         "blocked: more than 256 MiB in /tmp; use $TMPDIR, which is on disk, or raise the bound "
         "with --tmp-size SIZE"},
        {"tar: x: Cannot write: No space left on device",
         "blocked: perhaps more than 256 MiB in /tmp; use $TMPDIR, which is on disk, or raise "
         "the bound with --tmp-size SIZE"},
        {"cp: error writing '/home/u/pen/x': No space left on device", ""},
        {"cp: error writing '/wattle/tmp/x': No space left on device", ""},
        {"cp: error writing '/wattle/home/x': No space left on device",
         "blocked: more than 256 MiB in the run's home; use $TMPDIR, which is on disk, or raise "
         "the bound with --tmp-size SIZE"},
        {"MemoryError", ""}, /* no bound in force */
    };

    CHECK(state, examples);
    policy_limits(*state)->memory_bytes = UINT64_C(1) << 30;
    {
        AUTO_FREE char *hint = hint_for(*state, "MemoryError\n");

        assert_string_equal(hint, "blocked: more than 1 GiB of memory; raise the bound with "
                                  "--memory SIZE");
    }
}

static void a_file_over_its_bound_is_told_from_the_status(void **state)
{
    AUTO(buf_free) struct buf lines;
    static const char said[] = "blocked: a file larger than 32 GiB; raise the bound with "
                               "--file-size SIZE\n";

    buf_init(&lines, 1000);
    assert_int_equal(hint_find_end(*state, HINT_OWNER, 0, &lines), 0);
    assert_int_equal(hint_find_end(*state, HINT_OWNER, 128 + SIGKILL, &lines), 0);
    assert_int_equal(hint_find_end(*state, HINT_OWNER, 128 + SIGXFSZ, &lines), 1);
    assert_string_equal(lines.bytes, said);
    assert_int_equal(hint_find_end(*state, HINT_OWNER, 128 + SIGXFSZ, &lines),
                     0); /* once is enough */
    assert_string_equal(lines.bytes, said);
}

static void git_above_the_pen_is_told_by_the_note(void **state)
{
    static const char tail[] = "fatal: not a git repository (or any of the parent directories)\n";
    static const struct example without[] = {{tail, ""}};
    static const struct example with[] = {
        {tail, "blocked: git: the pen lies in the git work tree '/home/u/p\\x1b'; use --pen"}};

    CHECK(state, without);
    assert_int_equal(policy_add_note(*state, "another note", NULL), 0);
    assert_int_equal(policy_add_note(*state,
                                     "the pen lies in the git work tree '/home/u/p\x1b'; use --pen",
                                     NULL),
                     0);
    CHECK(state, with);
}

static void three_different_hints_at_most_the_last_first(void **state)
{
    static const struct example examples[] = {
        {"cat: /srv/1: Permission denied\ncat: /srv/2: Permission denied\n"
         "cat: /srv/3: Permission denied\ncat: /srv/3: Permission denied\n"
         "cat: /srv/4: Permission denied\nmake: *** Error 1\n",
         "blocked: read of /srv/4" OUTSIDE RO "/srv/4\n"
         "blocked: read of /srv/3" OUTSIDE RO "/srv/3\n"
         "blocked: read of /srv/2" OUTSIDE RO "/srv/2"},
    };

    CHECK(state, examples);
}

static void what_was_in_the_buffer_stays(void **state)
{
    static const char tail[] = "cat: /srv/4: Permission denied";
    AUTO(buf_free) struct buf lines;
    AUTO(buf_free) struct buf full;

    buf_init(&lines, 1000);
    (void) buf_add_text(&lines, "before\n");
    assert_int_equal(hint_find(*state, NULL, HINT_OWNER, tail, sizeof tail - 1, &lines), 1);
    assert_true(str_starts(lines.bytes, "before\nblocked: read of /srv/4"));
    buf_init(&full, 5);
    assert_int_equal(hint_find(*state, HOME, HINT_OWNER, tail, sizeof tail - 1, &full), 0);
    assert_int_equal(full.size, 0);
}

/* ---- hostile bytes -------------------------------------------------------------------------- */

static void paths_that_cannot_be_typed_back_are_passed_over(void **state)
{
    static const struct example examples[] = {
        {"cat: '/srv/\x1b[2J': Permission denied", ""},
        {"cat: '/srv/\xff': Permission denied", ""},
        {"cat: '/srv/\xe2\x80\xae': Permission denied", ""},
        {"cat: '/srv/x; rm -rf ~': Permission denied",
         "blocked: read of '/srv/x; rm -rf ~'" OUTSIDE RO "'/srv/x; rm -rf ~'"},
        {"cat: \"/srv/$(id)\": Permission denied",
         "blocked: read of '/srv/$(id)'" OUTSIDE RO "'/srv/$(id)'"},
        {"cat: \"/srv/it's\": Permission denied",
         "blocked: read of '/srv/it'\\''s'" OUTSIDE RO "'/srv/it'\\''s'"},
        {"cat: \"/home/u/a b\": Permission denied",
         "blocked: read of '/home/u/a b'" OUTSIDE RO "'/home/u/a b'"},
    };

    CHECK(state, examples);
}

/* Pieces of messages and odd bytes in every order: each answer has whole, harmless lines. */
static void any_bytes_give_harmless_lines(void **state)
{
    static const char pieces[] = "Permission denied\n: /srv/x '\"`\0\xe2\x80\x98\x1b[2J\xff/../~"
                                 "No such file or directory(os error 2)\r//home/u/.ssh unshare";
    unsigned seed = 1;

    for (int round = 0; round < 3000; round++) {
        AUTO(buf_free) struct buf tail;
        AUTO(buf_free) struct buf lines;
        int count;

        buf_init(&tail, 100000);
        buf_init(&lines, 100000);
        for (int i = 0; i < 40; i++) {
            size_t at;
            size_t size;

            seed = seed * 1103515245u + 12345u;
            at = (seed >> 16) % (sizeof pieces - 1);
            size = (seed >> 8) % 24;
            if (size > sizeof pieces - 1 - at)
                size = sizeof pieces - 1 - at;
            (void) buf_add(&tail, pieces + at, size);
        }
        count = hint_find(*state, HOME, HINT_OWNER, tail.bytes, tail.size, &lines);
        assert_true(count >= 0 && count <= HINT_MAX);
        for (size_t i = 0; i < lines.size; i++) {
            count -= lines.bytes[i] == '\n';
            assert_true(lines.bytes[i] == '\n' || (unsigned char) lines.bytes[i] >= 0x20);
        }
        assert_int_equal(count, 0);
        assert_null(strstr(lines.bytes, "--ro ~/.ssh"));
        assert_null(strstr(lines.bytes, "--rw ~/.ssh"));
    }
}

static void long_tails_are_read(void **state)
{
    const size_t size = 4u << 20;
    AUTO_FREE char *tail = malloc(size);
    AUTO(buf_free) struct buf lines;

    assert_non_null(tail);
    buf_init(&lines, 1000);
    memset(tail, '/', size);
    assert_int_equal(hint_find(*state, HOME, HINT_OWNER, tail, size, &lines), 0);
    memset(tail, '\n', size);
    assert_int_equal(hint_find(*state, HOME, HINT_OWNER, tail, size, &lines), 0);
    memset(tail, 'x', size);
    memcpy(tail, "cat: '/srv/", 11);
    memcpy(tail + 900, "': Permission denied", 20);
    assert_int_equal(hint_find(*state, HOME, HINT_OWNER, tail, size, &lines),
                     0); /* one name is too long */
}

#define WITH_POLICY(test) cmocka_unit_test_setup_teardown(test, make_policy, free_policy)

/* A model has no options of wattle: it is told what it can do, or to ask. The controls are above.
 */
static void a_model_is_told_of_no_option(void **state)
{
    static const struct example examples[] = {
        {"cat: " HOME "/.ssh/id_ed25519: No such file or directory",
         "blocked: read of ~/.ssh/id_ed25519: it holds credentials and stays closed"},
        {"cat: " HOME "/notes: No such file or directory",
         "blocked: read of ~/notes is outside the policy; ask the owner if it is needed"},
        {"touch: cannot touch '" HOME "/notes/x': No such file or directory",
         "blocked: write to ~/notes/x is outside the policy; ask the owner if it is needed"},
        {"cat: " HOME "/pen/closed/x: No such file or directory",
         "blocked: read of ~/pen/closed/x: hidden by the owner"},
        {"touch: cannot touch '" HOME "/data/x': Read-only file system",
         "blocked: write to ~/data/x: read-only by the owner; ask the owner if it is needed"},
        {"stty: standard input: Inappropriate ioctl for device",
         "blocked: the program asks for a terminal; there is none: tell it to ask nothing"},
        {"curl: (6) Could not resolve host: example.org",
         "blocked: the network: this run has none"},
        {"bash: fork: retry: Resource temporarily unavailable",
         "blocked: more than 4096 processes and threads at once; use fewer at a time"},
        {"dd: writing '/tmp/x': No space left on device",
         "blocked: more than 256 MiB in /tmp; use $TMPDIR, which is on disk"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
        AUTO(buf_free) struct buf lines = {0};
        const char *tail = examples[i].tail;

        buf_init(&lines, 4096);
        assert_int_equal(hint_find(*state, HOME, HINT_MODEL, tail, strlen(tail), &lines), 1);
        lines.bytes[lines.size - 1] = '\0';
        assert_string_equal(lines.bytes, examples[i].hint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_is_told_of_no_option, make_policy, free_policy),
        WITH_POLICY(what_lies_outside_is_named_with_its_flag),
        WITH_POLICY(a_new_name_needs_its_folder),
        WITH_POLICY(the_reason_may_stand_after_the_file),
        WITH_POLICY(of_several_paths_the_blocked_one_counts),
        WITH_POLICY(what_is_read_only_says_why),
        WITH_POLICY(what_would_not_help_is_not_proposed),
        WITH_POLICY(failures_of_the_jobs_own_get_no_hint),
        WITH_POLICY(the_own_home_is_told_from_the_owners),
        WITH_POLICY(credentials_and_own_folders_are_never_proposed),
        WITH_POLICY(dot_files_are_not_proposed_for_writing),
        WITH_POLICY(a_missing_network_is_named),
        WITH_POLICY(rights_a_run_has_not_are_named),
        WITH_POLICY(bounds_are_named_with_their_flag),
        WITH_POLICY(a_file_over_its_bound_is_told_from_the_status),
        WITH_POLICY(git_above_the_pen_is_told_by_the_note),
        WITH_POLICY(three_different_hints_at_most_the_last_first),
        WITH_POLICY(what_was_in_the_buffer_stays),
        WITH_POLICY(paths_that_cannot_be_typed_back_are_passed_over),
        WITH_POLICY(any_bytes_give_harmless_lines),
        WITH_POLICY(long_tails_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
