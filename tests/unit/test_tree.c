#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree.h"
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 1, SKIPPED = 77, NOBODY = 65534 };

/* Every test works in a folder of its own, in memory where it can: making thousands of folders
 * takes a disk long. Its teardown expects it to be empty. */
struct place {
    char path[48];
    int fd;
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    if (place == NULL)
        return -1;
    (void) snprintf(place->path, sizeof place->path, "%s/wattle-test-tree-XXXXXX",
                    access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(place->path) == NULL)
        return -1;
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = place;
    return place->fd >= 0 ? 0 : -1;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    int r = rmdir(place->path);

    cleanup_close(&place->fd);
    free(place);
    return r;
}

static void make_folder(int fd, const char *name)
{
    assert_int_equal(mkdirat(fd, name, 0700), 0);
}

static void make_file(int dir_fd, const char *name)
{
    AUTO_CLOSE int fd = openat(dir_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
}

static bool is_there(int fd, const char *name)
{
    return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Makes folders named `name`, one inside the other, with a file and a full folder beside each when
 * `wide`. Returns the number made. */
static int make_chain(int dir_fd, const char *name, int depth, bool wide)
{
    AUTO_CLOSE int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);

    for (int i = 0; i < depth; i++) {
        int next;

        if (mkdirat(fd, name, 0700) < 0)
            return i;
        next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (next < 0)
            return i;
        cleanup_close(&fd);
        fd = next;
        if (wide) {
            make_file(fd, "file");
            make_folder(fd, "side");
            make_file(fd, "side/file");
        }
    }
    return depth;
}

static void assert_removed(int fd, const char *name)
{
    struct err err = {0};
    int r = tree_remove(fd, name, &err);

    if (r != 0)
        fail_msg("%s", err.what);
    assert_false(is_there(fd, name));
}

/* ---- plain ---------------------------------------------------------------------------------- */

static void what_is_missing_is_removed_already(void **state)
{
    const struct place *place = *state;

    assert_removed(place->fd, "missing");
}

static void files_and_fifos_and_symlinks_go_alone(void **state)
{
    const struct place *place = *state;

    make_folder(place->fd, "kept");
    make_file(place->fd, "kept/file");
    make_file(place->fd, "file");
    assert_int_equal(symlinkat("kept", place->fd, "link"), 0);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    assert_removed(place->fd, "file");
    assert_removed(place->fd, "link");
    assert_removed(place->fd, "fifo");
    assert_true(is_there(place->fd, "kept/file"));
    assert_removed(place->fd, "kept");
}

static void symlinks_in_a_tree_lead_nowhere(void **state)
{
    const struct place *place = *state;

    make_folder(place->fd, "kept");
    make_file(place->fd, "kept/file");
    make_folder(place->fd, "tree");
    make_folder(place->fd, "tree/a");
    assert_int_equal(symlinkat("../kept", place->fd, "tree/link"), 0);
    assert_int_equal(symlinkat("../../kept/file", place->fd, "tree/a/link"), 0);
    assert_int_equal(symlinkat("/", place->fd, "tree/root"), 0);
    assert_int_equal(symlinkat("..", place->fd, "tree/a/up"), 0);
    assert_removed(place->fd, "tree");
    assert_true(is_there(place->fd, "kept/file"));
    assert_removed(place->fd, "kept");
}

static void only_one_plain_name_is_taken(void **state)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "/tmp", "a/"};
    const struct place *place = *state;

    make_folder(place->fd, "a");
    make_folder(place->fd, "a/b");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};

        assert_int_equal(tree_remove(place->fd, bad[i], &err), -EINVAL);
        assert_string_equal(err.id, "tree.name");
    }
    assert_true(is_there(place->fd, "a/b"));
    assert_removed(place->fd, "a");
}

static void folders_without_permission_are_no_obstacle(void **state)
{
    static const char *const names[] = {"t/a/b/c/d/e/f", "t/a/b/c/d/e", "t/a/b/c/d", "t/a/b/c",
                                        "t/a/b",         "t/a",         "t"};
    const struct place *place = *state;

    for (mode_t mode = 0; mode <= 0700; mode += 0100) {
        for (size_t i = ARRAY_SIZE(names); i-- > 0;)
            make_folder(place->fd, names[i]);
        make_file(place->fd, "t/a/b/c/d/e/f/file");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            assert_int_equal(fchmodat(place->fd, names[i], mode, 0), 0);
        assert_removed(place->fd, "t");
    }
}

static void a_wide_folder_is_emptied(void **state)
{
    const struct place *place = *state;
    AUTO_CLOSE int fd = -1;

    make_folder(place->fd, "t");
    fd = openat(place->fd, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 5000; i++) {
        char name[32];

        (void) snprintf(name, sizeof name, "%d", i);
        if (i % 5 == 0)
            make_folder(fd, name);
        else
            make_file(fd, name);
    }
    assert_removed(place->fd, "t");
}

/* ---- hostile -------------------------------------------------------------------------------- */

static int count_open(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void depth_needs_few_descriptors(void **state)
{
    const struct place *place = *state;
    int open_before = count_open();
    struct rlimit limit;
    struct rlimit few;
    char name[NAME_MAX + 1];
    int made;

    memset(name, 'n', sizeof name - 1);
    name[NAME_MAX] = '\0';
    made = make_chain(place->fd, name, 10000, false);
    if (made < 10000 && errno == ENAMETOOLONG) { /* no file system says so of one name this long */
        assert_removed(place->fd, name);
        SKIP_TEST("names are guarded here, and none is made below a path of 4096 bytes");
    }
    assert_int_equal(made, 10000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){.rlim_cur = (rlim_t) place->fd + 12, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_removed(place->fd, name);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(count_open(), open_before);
}

static void a_tree_both_deep_and_wide_goes(void **state)
{
    const struct place *place = *state;
    mode_t mask = umask(0);

    assert_int_equal(make_chain(place->fd, "d", 1000, true), 1000);
    (void) umask(0777);
    assert_removed(place->fd, "d");
    (void) umask(mask);
}

/* Adds names at every depth until the tree has gone. */
static void grow(int dir_fd)
{
    for (unsigned i = 0; is_there(dir_fd, "t"); i++) {
        char name[64];

        (void) snprintf(name, sizeof name, "t/%u", i % 64);
        (void) mkdirat(dir_fd, name, 0700);
        (void) snprintf(name, sizeof name, "t/%u/a", i % 64);
        (void) mkdirat(dir_fd, name, 0700);
        (void) snprintf(name, sizeof name, "t/%u/a/b", i % 64);
        (void) mkdirat(dir_fd, name, 0700);
        (void) snprintf(name, sizeof name, "t/%u/a/b/c", i % 64);
        (void) mkdirat(dir_fd, name, 0700);
    }
}

static void a_growing_tree_does_not_hold_us(void **state)
{
    const struct place *place = *state;
    struct err err = {0};
    pid_t child;
    int r;

    make_folder(place->fd, "t");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        grow(place->fd);
        _exit(0);
    }
    r = tree_remove(place->fd, "t", &err);
    (void) kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(r == 0 || r == -EAGAIN);
    if (r == -EAGAIN)
        assert_string_equal(err.id, "tree.grows");
    assert_removed(place->fd, "t");
}

/* Root needs no right to write, so it becomes somebody else for a while. */
static bool become(const struct place *place, uid_t user)
{
    if (fchown(place->fd, NOBODY, NOBODY) < 0)
        return false;
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0); /* else /proc/self is root's */
    return true;
}

static void where_the_folder_must_stay_its_content_still_goes(void **state)
{
    const struct place *place = *state;
    bool is_root = geteuid() == 0;
    struct err err = {0};

    if (is_root && !become(place, NOBODY))
        CANNOT_RUN("root may not give a file away here");
    make_folder(place->fd, "t");
    make_folder(place->fd, "t/a");
    make_file(place->fd, "t/a/file");
    assert_int_equal(fchmod(place->fd, 0500), 0);
    assert_int_equal(tree_remove(place->fd, "t", &err), -EACCES);
    assert_string_equal(err.id, "tree.remove");
    assert_string_equal(err.what, "cannot remove 't': Permission denied");
    assert_false(is_there(place->fd, "t/a"));
    assert_int_equal(fchmod(place->fd, 0700), 0);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_removed(place->fd, "t");
}

/* ---- with mounts of our own, in a child that may make some ------------------------------------
 */

/* A user and mount namespace in which this user is root. */
static bool enter_namespaces(void)
{
    char users[32];
    char groups[32];

    (void) snprintf(users, sizeof users, "0 %u 1", geteuid());
    (void) snprintf(groups, sizeof groups, "0 %u 1", getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           fd_put(AT_FDCWD, "/proc/self/uid_map", users) == 0 &&
           fd_put(AT_FDCWD, "/proc/self/setgroups", "deny") == 0 &&
           fd_put(AT_FDCWD, "/proc/self/gid_map", groups) == 0 &&
           mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Where the system lets nobody make mounts, the test says so, and fails if it must run. */
static void with_mounts(const struct place *place, int (*test)(void))
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(enter_namespaces() && chdir(place->path) == 0 ? test() : SKIPPED);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status == SKIPPED << 8 && getenv("WATTLE_MUST_RUN") == NULL)
        print_message("# skipped: no user namespaces here\n");
    else
        assert_int_equal(status, 0);
}

/* In a child, whose only word is its exit status. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return FAILED;                                                                         \
    } while (0)

static bool mount_tmpfs(const char *path, const char *options)
{
    return mount("tmpfs", path, "tmpfs", 0, options) == 0;
}

static int leaves_mounts_alone(void)
{
    AUTO_CLOSE int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};

    make_folder(fd, "top");
    if (!mount_tmpfs("top", ""))
        return SKIPPED;
    make_folder(fd, "top/kept");
    make_file(fd, "top/kept/file");
    NEED(tree_remove(fd, "top", &err) == -EBUSY && is_there(fd, "top/kept/file"));

    /* A bind mount has the device of what surrounds it. */
    make_folder(fd, "t");
    make_folder(fd, "kept");
    make_file(fd, "kept/file");
    NEED(make_chain(fd, "t/d", 1, true) == 1);
    make_folder(fd, "t/d/m");
    NEED(mount("kept", "t/d/m", NULL, MS_BIND, NULL) == 0);
    NEED(tree_remove(fd, "t", &err) == -EBUSY);
    NEED(strcmp(err.what, "cannot remove 'm', below 't': Device or resource busy") == 0);
    NEED(is_there(fd, "kept/file") && is_there(fd, "t/d/m/file") && !is_there(fd, "t/d/side"));

    NEED(umount2("t/d/m", MNT_DETACH) == 0 && umount2("top", MNT_DETACH) == 0);
    NEED(tree_remove(fd, "t", &err) == 0 && tree_remove(fd, "kept", &err) == 0);
    return rmdir("top") == 0 ? 0 : 1;
}

static void mounts_are_left_alone(void **state)
{
    with_mounts(*state, leaves_mounts_alone);
}

/* A chain that has taken the last inode leaves none for a holding folder. */
static int removes_from_a_full_disk(void)
{
    AUTO_CLOSE int fd = -1;
    struct err err = {0};

    if (mkdir("full", 0700) < 0 || !mount_tmpfs("full", "nr_inodes=300"))
        return SKIPPED;
    fd = open("full", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    NEED(make_chain(fd, "d", 1000, false) < 300);
    NEED(mkdirat(fd, "more", 0700) < 0 && errno == ENOSPC);
    NEED(tree_remove(fd, "d", &err) == 0 && !is_there(fd, "d"));
    NEED(umount2("full", MNT_DETACH) == 0);
    return rmdir("full") == 0 ? 0 : 1;
}

static void a_full_disk_is_no_obstacle(void **state)
{
    with_mounts(*state, removes_from_a_full_disk);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(what_is_missing_is_removed_already),
        IN_PLACE(files_and_fifos_and_symlinks_go_alone),
        IN_PLACE(symlinks_in_a_tree_lead_nowhere),
        IN_PLACE(only_one_plain_name_is_taken),
        IN_PLACE(folders_without_permission_are_no_obstacle),
        IN_PLACE(a_wide_folder_is_emptied),
        IN_PLACE(depth_needs_few_descriptors),
        IN_PLACE(a_tree_both_deep_and_wide_goes),
        IN_PLACE(a_growing_tree_does_not_hold_us),
        IN_PLACE(where_the_folder_must_stay_its_content_still_goes),
        IN_PLACE(mounts_are_left_alone),
        IN_PLACE(a_full_disk_is_no_obstacle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
