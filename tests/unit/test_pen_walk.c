#include "pen_folder.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* ---- hard links -------------------------------------------------------------------------- */

static void finds_nothing_in_a_plain_tree(void **state)
{
    struct world *world = *state;

    make_folder("a");
    make_folder("a/b");
    make_file("a/b/c", "x");
    make_file("d", "x");
    look(world);
    assert_int_equal(world->findings->count, 0);
    assert_int_equal(world->findings->entries, 4);
    assert_int_equal(world->findings->folders, 3);
    assert_int_equal(judge(world), 0);
}

static void links_inside_the_pen_are_fine(void **state)
{
    struct world *world = *state;

    make_folder("a");
    make_file("a/one", "x");
    make_link("two", "a/one");
    make_link("a/three", "a/one");
    look(world);
    assert_int_equal(world->findings->count, 0);
}

static void links_outside_are_shared(void **state)
{
    struct world *world = *state;
    const struct pen_found *found;

    make_folder("a");
    make_file("../out/file", "x");
    make_link("a/one", "../out/file");
    make_link("two", "../out/file");
    make_file("own", "x");
    look(world);
    assert_int_equal(world->findings->shared, 2);
    found = found_at(world, "a/one");
    assert_int_equal(found->what, PEN_FOUND_SHARED);
    assert_int_equal(found->links, 3);
    assert_int_equal(found->links_here, 2);
    assert_int_equal(what_of(world, "two"), PEN_FOUND_SHARED);
    assert_int_equal(what_of(world, "own"), 0);
    refuses(world, "pen.shared-links", "2 files");
    refuses(world, "pen.shared-links", "wattle pens unshare");
}

static void the_refusal_names_the_switch_of_the_tool(void **state)
{
    static const char *const cases[][2] = {
        {"node_modules", "package-import-method=copy"},
        {"site-packages", "UV_LINK_MODE=copy"},
        {"objects", "git clone --no-hardlinks"},
    };
    struct world *world = *state;

    make_file("../out/file", "x");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[64];

        (void) snprintf(path, sizeof path, "%s/x", cases[i][0]);
        make_folder(cases[i][0]);
        make_link(path, "../out/file");
        look(world);
        refuses(world, "pen.shared-links", cases[i][1]);
        refuses(world, "pen.shared-links", path);
        assert_int_equal(unlink(path), 0);
    }
}

static void the_owner_may_accept_shared_files(void **state)
{
    struct world *world = *state;

    make_file("../out/file", "x");
    make_link("one", "../out/file");
    policy_preflight(world->policy)->accept_shared_links = true;
    look(world);
    assert_int_equal(world->findings->shared, 1);
    assert_int_equal(judge(world), 0);
}

/* ---- symlinks and odd things ------------------------------------------------------------- */

static void follows_no_symlink(void **state)
{
    struct world *world = *state;

    make_file("../out/file", "x");
    make_link("../out/other", "../out/file");
    make_folder("a");
    assert_int_equal(symlink("..", "a/up"), 0);
    assert_int_equal(symlink(".", "a/here"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(symlink("../out", "out"), 0);
    assert_int_equal(symlink("../out/file", "file"), 0);
    look(world);
    assert_int_equal(world->findings->count, 0);
    assert_int_equal(world->findings->entries, 6);
}

static void takes_names_of_every_kind(void **state)
{
    struct world *world = *state;
    char longest[NAME_MAX + 1];
    const char *const names[] = {"a\nb",         "\033[2J", "-rf",   " ",     "\xff\xfe",
                                 "\xe2\x80\xae", "...",     "a'b\"", longest, "*"};

    memset(longest, 'x', NAME_MAX);
    longest[NAME_MAX] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char path[NAME_MAX + 8];

        make_folder(names[i]);
        make_file("../out/file", "x");
        (void) snprintf(path, sizeof path, "%s/f", names[i]);
        make_link(path, "../out/file");
        assert_int_equal(unlink("../out/file"), 0);
        make_link("../out/kept", path);
        look(world);
        assert_int_equal(what_of(world, path), PEN_FOUND_SHARED);
        assert_int_equal(unlink("../out/kept"), 0);
    }
    look(world);
    assert_int_equal(world->findings->count, 0);
    assert_int_equal(world->findings->folders, ARRAY_SIZE(names) + 1);
}

/* A fifo that is opened would stop the test. */
static void opens_nothing_but_folders(void **state)
{
    struct world *world = *state;

    assert_int_equal(mkfifo("fifo", 0600), 0);
    if (geteuid() == 0)
        (void) !mknod("null", S_IFCHR | 0600, makedev(1, 3));
    look(world);
    assert_int_equal(world->findings->count, 0);
}

static bool is_guarded(const void *context, const char *folder, const char *name)
{
    (void) context;
    return strcmp(name, ".envrc") == 0 ||
           (strcmp(folder, "a/.git") == 0 && strcmp(name, "hooks") == 0);
}

static void tells_guarded_names_and_repositories(void **state)
{
    struct world *world = *state;
    const struct pen_request request = {
        .pen = world->pen, .guarded = is_guarded, .now_ms = world->now_ms};

    make_folder("a");
    make_folder("a/.git");
    make_folder("a/.git/hooks");
    make_file("a/.git/HEAD", "");
    make_folder("a/.git/refs");
    make_folder("a/.git/objects");
    make_folder("a/.git/objects/objects");
    make_file("a/hooks", "no");
    make_folder("objects");
    make_folder("b");
    make_file("b/.git", "gitdir: ../a/.git");
    assert_int_equal(symlink("a/.git", ".GIT"), 0);
    assert_int_equal(symlink("nowhere", ".envrc"), 0);
    assert_int_equal(try_look_at(world, &request), 0);
    assert_int_equal(world->findings->repositories, 3);
    assert_int_equal(world->findings->guarded, 2);
    assert_int_equal(world->findings->git_folder_count, 1);
    assert_string_equal(world->findings->git_folders[0], "a/.git");
    assert_int_equal(found_at(world, "a/.git")->type, DT_DIR);
    assert_int_equal(found_at(world, "b/.git")->type, DT_REG);
    assert_int_equal(found_at(world, ".GIT")->type, DT_LNK);
    assert_int_equal(found_at(world, "a/.git/hooks")->what, PEN_FOUND_GUARDED);
    assert_int_equal(found_at(world, ".envrc")->type, DT_LNK);
    assert_int_equal(what_of(world, "a/hooks"), 0);
    assert_int_equal(judge(world), 0);
}

/* As one who knows that hooks are guarded with all below them. */
static bool is_guarded_path(const void *context, const char *path)
{
    (void) context;
    return strstr(path, ".envrc") != NULL || strncmp(path, "a/.git/hooks", 12) == 0;
}

static void tells_twins_of_guarded_files(void **state)
{
    static const struct pen_asking asking = {.guarded = is_guarded_path};
    struct world *world = *state;
    const struct pen_request request = {
        .pen = world->pen, .guarded = is_guarded, .now_ms = world->now_ms};

    make_folder("a");
    make_folder("a/.git");
    make_folder("a/.git/hooks");
    make_folder("a/.git/refs");
    make_folder("a/.git/objects");
    make_file("a/.git/HEAD", "");
    make_file("a/.git/hooks/x", "");
    make_link("b", "a/.git/hooks/x");
    make_link("a/.git/objects/c", "a/.git/hooks/x");
    make_file(".envrc", "");
    make_link("a/d", ".envrc");
    make_link("e", "a/.git/HEAD"); /* asked about, and not guarded */
    make_file("f", "");
    make_link("g", "f");
    assert_int_equal(try_look_at(world, &request), 0);
    assert_int_equal(world->findings->twins, 7);
    assert_int_equal(what_of(world, "f"), 0);
    assert_int_equal(pen_findings_keep_guarded(world->findings, &asking), 0);
    assert_int_equal(world->findings->twins, 3);
    assert_string_equal(found_at(world, "b")->twin, "a/.git/hooks/x");
    assert_string_equal(found_at(world, "a/.git/objects/c")->twin, "a/.git/hooks/x");
    assert_string_equal(found_at(world, "a/d")->twin, ".envrc");
    assert_int_equal(found_at(world, "a/.git/hooks/x")->what, PEN_FOUND_GUARDED);
    assert_null(found_at(world, ".envrc")->twin);
    assert_int_equal(what_of(world, "e"), 0);
}

/* ---- sockets ----------------------------------------------------------------------------- */

static void finds_sockets_with_somebody_behind(void **state)
{
    struct world *world = *state;
    int fds[] = {
        make_socket("dead", SOCK_STREAM),       make_socket("stream", SOCK_STREAM),
        make_socket("datagrams", SOCK_DGRAM),   make_socket("moved", SOCK_STREAM),
        make_socket("packets", SOCK_SEQPACKET),
    };
    char byte;

    make_folder("deep");
    assert_int_equal(rename("moved", "deep/moved"), 0);
    cleanup_close(&fds[0]);
    look(world);
    assert_int_equal(world->findings->sockets, 4);
    assert_int_equal(what_of(world, "stream"), PEN_FOUND_SOCKET);
    assert_int_equal(what_of(world, "packets"), PEN_FOUND_SOCKET);
    assert_int_equal(what_of(world, "datagrams"), PEN_FOUND_SOCKET);
    assert_int_equal(what_of(world, "deep/moved"), PEN_FOUND_SOCKET);
    assert_int_equal(what_of(world, "dead"), 0);
    /* Nobody noticed. */
    assert_int_equal(accept(fds[1], NULL, NULL), -1);
    assert_int_equal(recv(fds[2], &byte, 1, 0), -1);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        cleanup_close(&fds[i]);
}

static void hides_sockets_but_those_the_owner_opened(void **state)
{
    struct world *world = *state;
    int fds[] = {make_socket("one", SOCK_STREAM), make_socket("two", SOCK_STREAM)};
    AUTO_FREE char *first = path_join(world->pen, "one");
    AUTO_FREE char *second = path_join(world->pen, "two");
    char why[] = "test";
    const struct policy_rule pen = {
        .path = world->pen, .access = POLICY_WRITE, .origin = POLICY_FROM_PEN, .why = why};
    const struct policy_rule flag = {
        .path = second, .access = POLICY_READ, .origin = POLICY_FROM_FLAG, .why = why};

    assert_int_equal(policy_add_rule(world->policy, &pen, NULL), 0);
    assert_int_equal(policy_add_rule(world->policy, &flag, NULL), 0);
    look(world);
    assert_int_equal(world->findings->sockets, 2);
    assert_int_equal(pen_cover(world->findings, world->pen, world->policy, NULL), 0);
    assert_int_equal(policy_resolve(world->policy, first, NULL), POLICY_HIDE);
    assert_int_equal(policy_resolve(world->policy, second, NULL), POLICY_READ);
    cleanup_close(&fds[0]);
    cleanup_close(&fds[1]);
}

/* ---- bounds ------------------------------------------------------------------------------ */

static void stops_at_the_bound_and_says_so(void **state)
{
    struct world *world = *state;

    make_folder("a");
    make_file("a/x", "");
    make_file("a/y", "");
    policy_preflight(world->policy)->entries = 3;
    look(world);
    make_file("a/z", "");
    assert_int_equal(try_look(world), -EINVAL);
    assert_string_equal(world->err.id, "pen.too-many");
    assert_non_null(strstr(world->err.what, "more than 3 "));
    assert_non_null(strstr(world->err.hint, "wattle.preflight.entries"));
}

/* Makes a chain of folders below the current one. */
static void make_chain(size_t depth, size_t name_size)
{
    char name[NAME_MAX + 1];
    AUTO_CLOSE int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    memset(name, 'd', name_size);
    name[name_size] = '\0';
    for (size_t i = 0; i < depth; i++) {
        int below;

        assert_int_equal(mkdirat(at, name, 0755), 0);
        below = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cleanup_close(&at);
        at = below;
        assert_true(at >= 0);
    }
}

static void goes_as_deep_as_paths_go(void **state)
{
    struct world *world = *state;

    make_chain(1000, 3);
    look(world);
    assert_int_equal(world->findings->folders, 1001);
}

static void refuses_what_is_deeper(void **state)
{
    struct world *world = *state;

    make_chain(20, 250);
    assert_int_equal(try_look(world), -EINVAL);
    assert_string_equal(world->err.id, "pen.too-deep");
}

static void a_pen_that_is_not_there(void **state)
{
    struct world *world = *state;
    const struct pen_request request = {.pen = "/var/tmp/wattle/no/such/pen"};

    assert_int_equal(try_look_at(world, &request), -ENOENT);
    assert_string_equal(world->err.id, "pen.read");
}

/* Two threads, and more folders than one takes. */
static void finds_the_one_among_thousands(void **state)
{
    struct world *world = *state;

    make_file("../out/file", "x");
    for (int i = 0; i < 300; i++) {
        char path[32];

        (void) snprintf(path, sizeof path, "d%d", i);
        make_folder(path);
        for (int k = 0; k < 5; k++) {
            (void) snprintf(path, sizeof path, "d%d/f%d", i, k);
            make_file(path, "");
        }
    }
    make_link("d222/shared", "../out/file");
    for (int i = 0; i < 20; i++) {
        look(world);
        assert_int_equal(world->findings->entries, 1801);
        assert_int_equal(world->findings->count, 1);
        assert_int_equal(what_of(world, "d222/shared"), PEN_FOUND_SHARED);
    }
}

/* ---- rights ------------------------------------------------------------------------------ */

/* As an ordinary user, who root becomes for it. */
static void judges_folders_that_cannot_be_read(void **state)
{
    struct world *world = *state;
    const uid_t nobody = 65534;
    const bool root = geteuid() == 0;

    make_folder("mine");
    make_folder("half");
    make_folder("other");
    if (root) {
        assert_int_equal(chown("mine", nobody, nobody), 0);
        assert_int_equal(chown("half", nobody, nobody), 0);
        assert_int_equal(chmod("other", 0700), 0);
        assert_int_equal(seteuid(nobody), 0);
    }
    assert_int_equal(chmod("mine", 0), 0);
    look(world);
    assert_int_equal(what_of(world, "mine"), PEN_FOUND_CLOSED);
    assert_int_equal(what_of(world, "other"), 0);
    refuses(world, "pen.closed", "'mine'");
    assert_int_equal(chmod("mine", 0700), 0);
    assert_int_equal(chmod("half", 0400), 0); /* could list it, and not look at what is in it */
    look(world);
    refuses(world, "pen.closed", "'half'");
    assert_int_equal(chmod("half", 0700), 0);
    look(world);
    assert_int_equal(judge(world), 0);
    if (!root)
        return;
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod("other", 0711), 0); /* names in it can be guessed */
    assert_int_equal(seteuid(nobody), 0);
    look(world);
    assert_int_equal(what_of(world, "other"), PEN_FOUND_CLOSED);
    assert_int_equal(seteuid(0), 0);
    look(world);
    assert_int_equal(world->findings->count, 0);
}

/* ---- mounts ------------------------------------------------------------------------------ */

static void put_text(const char *path, const char *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0)
        (void) !write(fd, text, strlen(text));
}

/* A mount namespace of its own; false: not here. */
static bool enter_namespace(void)
{
    char map[64];
    const uid_t uid = geteuid();
    const gid_t gid = getegid();

    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
        return false;
    if (uid != 0) {
        (void) snprintf(map, sizeof map, "%u %u 1", uid, uid);
        put_text("/proc/self/uid_map", map);
        put_text("/proc/self/setgroups", "deny");
        (void) snprintf(map, sizeof map, "%u %u 1", gid, gid);
        put_text("/proc/self/gid_map", map);
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool bind_mount(const char *from, const char *to)
{
    return mount(from, to, NULL, MS_BIND, NULL) == 0;
}

enum { RIGHT, WRONG, NOT_HERE };

/* In a process of its own, where a failed assertion would not end the test. */
static int look_at_mounts(struct world *world)
{
    if (!enter_namespace() || mount("tmpfs", "tmp", "tmpfs", 0, NULL) < 0 ||
        !bind_mount("../out", "bound") || !bind_mount("../out/lone", "file") ||
        !bind_mount("a", "alias") || mknod("tmp/x", S_IFREG | 0644, 0) < 0 ||
        link("tmp/x", "tmp/y") < 0)
        return NOT_HERE;
    if (try_look(world) < 0)
        return WRONG;
    if (what_of(world, "tmp") != PEN_FOUND_MOUNT || what_of(world, "tmp/x") != 0 ||
        what_of(world, "bound") != PEN_FOUND_MOUNT || what_of(world, "file") != PEN_FOUND_MOUNT ||
        what_of(world, "bound/linked") != PEN_FOUND_SHARED)
        return WRONG;
    /* One name that is seen twice is one name. */
    if (what_of(world, "a/once") != PEN_FOUND_SHARED ||
        what_of(world, "alias/once") != PEN_FOUND_SHARED)
        return WRONG;
    if (mount("proc", "proc", "proc", 0, NULL) < 0 && !bind_mount("/proc", "proc"))
        return RIGHT; /* not everybody may */
    return try_look(world) == -EINVAL && strcmp(world->err.id, "pen.mounted") == 0 ? RIGHT : WRONG;
}

static void looks_through_mounts_as_through_worlds_of_their_own(void **state)
{
    struct world *world = *state;
    int status = 0;
    pid_t pid;

    make_folder("tmp");
    make_folder("bound");
    make_folder("a");
    make_folder("alias");
    make_folder("proc");
    make_file("file", "");
    make_file("../out/lone", "x");
    make_file("../out/linked", "x");
    make_link("../out-linked", "../out/linked");
    make_file("a/once", "x");
    make_link("../out-once", "a/once");
    pid = fork();
    if (pid == 0)
        _exit(look_at_mounts(world));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
        CANNOT_RUN("no mounts of one's own here");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == RIGHT);
}

/* ---- trees that change ------------------------------------------------------------------- */

/* Until it is killed: folders and files come, move and go. */
static void stir(void)
{
    (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        (void) mkdir("a/new", 0755);
        (void) !close(open("a/new/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        (void) rename("a/new", "b/moved");
        (void) !symlink("../../out", "a/new");
        (void) unlink("b/moved/file");
        (void) rmdir("b/moved");
        (void) unlink("a/new");
    }
}

static void never_leaves_a_tree_that_changes(void **state)
{
    struct world *world = *state;
    pid_t pid;

    make_folder("a");
    make_folder("b");
    make_file("../out/file", "x");
    make_link("../out/other", "../out/file");
    pid = fork();
    if (pid == 0)
        stir();
    for (int i = 0; i < 2000; i++) {
        look(world);
        assert_int_equal(world->findings->count, 0);
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- progress ---------------------------------------------------------------------------- */

static void note_progress(void *context, uint64_t entries)
{
    uint64_t *last = context;

    assert_true(entries >= *last);
    *last = entries;
}

static void is_silent_while_it_is_fast(void **state)
{
    struct world *world = *state;
    uint64_t last = 0;
    const struct pen_request request = {
        .pen = world->pen, .progress = note_progress, .progress_context = &last};

    make_file("a", "");
    assert_int_equal(try_look_at(world, &request), 0);
    assert_int_equal(last, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PEN_TEST(finds_nothing_in_a_plain_tree),
        PEN_TEST(links_inside_the_pen_are_fine),
        PEN_TEST(links_outside_are_shared),
        PEN_TEST(the_refusal_names_the_switch_of_the_tool),
        PEN_TEST(the_owner_may_accept_shared_files),
        PEN_TEST(follows_no_symlink),
        PEN_TEST(takes_names_of_every_kind),
        PEN_TEST(opens_nothing_but_folders),
        PEN_TEST(tells_guarded_names_and_repositories),
        PEN_TEST(tells_twins_of_guarded_files),
        PEN_TEST(finds_sockets_with_somebody_behind),
        PEN_TEST(hides_sockets_but_those_the_owner_opened),
        PEN_TEST(stops_at_the_bound_and_says_so),
        PEN_TEST(goes_as_deep_as_paths_go),
        PEN_TEST(refuses_what_is_deeper),
        PEN_TEST(a_pen_that_is_not_there),
        PEN_TEST(finds_the_one_among_thousands),
        PEN_TEST(judges_folders_that_cannot_be_read),
        PEN_TEST(looks_through_mounts_as_through_worlds_of_their_own),
        PEN_TEST(never_leaves_a_tree_that_changes),
        PEN_TEST(is_silent_while_it_is_fast),
    };

    return RUN_PEN_TESTS(tests);
}
