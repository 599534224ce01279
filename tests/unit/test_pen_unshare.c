#include "pen/unshare.h"
#include "pen_folder.h"

#include <sys/xattr.h>

struct telling {
    size_t done;
    size_t failed;
    char last[512];    /* of those that failed */
    const char *spoil; /* a file to replace once the first name is done */
};

static void tell(void *context, const char *path, uint64_t bytes, const struct err *failure)
{
    struct telling *telling = context;

    (void) bytes;
    if (failure != NULL) {
        telling->failed++;
        (void) snprintf(telling->last, sizeof telling->last, "%.200s: %s", path, failure->what);
        return;
    }
    telling->done++;
    if (telling->spoil == NULL)
        return;
    make_file("saved", "by an editor");
    assert_int_equal(rename("saved", telling->spoil), 0);
    telling->spoil = NULL;
}

static struct pen_unshared unshare_all(const struct world *world, struct telling *telling,
                                       bool dry_run)
{
    const struct pen_unshare unshare = {
        .folder = world->pen, .most = 1000, .dry_run = dry_run, .each = tell, .context = telling};
    struct pen_unshared done = {0};
    struct err err = {0};

    if (pen_unshare_run(&unshare, &done, &err) < 0)
        fail_msg("%s: %s", err.id, err.what);
    assert_int_equal(done.names, telling->done);
    assert_int_equal(done.failures, telling->failed);
    return done;
}

static struct stat status_of(const char *path)
{
    struct stat seen;

    assert_int_equal(lstat(path, &seen), 0);
    return seen;
}

static void holds(const char *path, const char *text)
{
    char bytes[64] = "";
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof bytes - 1), (ssize_t) strlen(text));
    assert_string_equal(bytes, text);
}

/* Number of names in a folder. */
static size_t names_in(const char *path)
{
    AUTO_CLOSEDIR DIR *dir = opendir(path);
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    return count - 2;
}

static void gives_each_shared_file_a_copy(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    struct pen_unshared done;

    make_folder("a");
    make_file("../out/file", "text");
    make_link("a/file", "../out/file");
    make_file("own", "text");
    done = unshare_all(world, &telling, false);
    assert_int_equal(done.names, 1);
    assert_int_equal(done.files, 1);
    assert_int_equal(done.bytes, 4);
    assert_int_equal(status_of("a/file").st_nlink, 1);
    assert_int_equal(status_of("../out/file").st_nlink, 1);
    holds("a/file", "text");
    make_file("a/file", "else");
    holds("../out/file", "text");
    assert_int_equal(names_in("a"), 1);
    look(world);
    assert_int_equal(judge(world), 0);
    telling = (struct telling){0};
    assert_int_equal(unshare_all(world, &telling, false).names, 0);
}

static void names_inside_stay_one_file(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    struct pen_unshared done;

    make_folder("a");
    make_file("../out/file", "text");
    make_link("a/one", "../out/file");
    make_link("two", "../out/file");
    make_link("a/three", "../out/file");
    done = unshare_all(world, &telling, false);
    assert_int_equal(done.names, 3);
    assert_int_equal(done.files, 1);
    assert_int_equal(status_of("two").st_nlink, 3);
    assert_int_equal(status_of("a/one").st_ino, status_of("two").st_ino);
    assert_int_equal(status_of("a/three").st_ino, status_of("two").st_ino);
    assert_int_equal(status_of("../out/file").st_nlink, 1);
    assert_int_equal(names_in("."), 2);
    assert_int_equal(names_in("a"), 2);
}

static void a_dry_run_changes_nothing(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    struct pen_unshared done;
    struct stat before;

    make_file("../out/file", "text");
    make_link("one", "../out/file");
    make_link("two", "../out/file");
    before = status_of("one");
    done = unshare_all(world, &telling, true);
    assert_int_equal(done.names, 2);
    assert_int_equal(done.files, 1);
    assert_int_equal(done.bytes, 4);
    assert_int_equal(status_of("one").st_ino, before.st_ino);
    assert_int_equal(status_of("one").st_nlink, 3);
    assert_int_equal(names_in("."), 2);
}

static void keeps_mode_times_owner_and_attributes(void **state)
{
    struct world *world = *state;
    const struct timespec times[] = {{.tv_sec = 1000, .tv_nsec = 5},
                                     {.tv_sec = 2000, .tv_nsec = 7}};
    struct telling telling = {0};
    bool attributes;
    char value[8];
    struct stat seen;

    make_file("../out/file", "text");
    attributes = setxattr("../out/file", "user.colour", "red", 3, 0) == 0;
    if (geteuid() == 0)
        assert_int_equal(chown("../out/file", 12345, 54321), 0);
    assert_int_equal(chmod("../out/file", 04751), 0);
    assert_int_equal(utimensat(AT_FDCWD, "../out/file", times, 0), 0);
    make_link("file", "../out/file");
    (void) unshare_all(world, &telling, false);
    seen = status_of("file");
    assert_int_equal(seen.st_nlink, 1);
    assert_int_equal(seen.st_mode & 07777, 04751);
    assert_int_equal(seen.st_mtim.tv_sec, 2000);
    assert_int_equal(seen.st_mtim.tv_nsec, 7);
    assert_int_equal(seen.st_uid, geteuid() == 0 ? 12345 : geteuid());
    assert_int_equal(seen.st_gid, geteuid() == 0 ? 54321 : getegid());
    if (!attributes)
        SKIP_TEST("no extended attributes here");
    assert_int_equal(getxattr("file", "user.colour", value, sizeof value), 3);
    assert_memory_equal(value, "red", 3);
}

static void copies_what_is_large_and_has_holes(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    AUTO_FREE char *block = calloc(1, 1 << 20);
    AUTO_FREE char *copy = calloc(1, 1 << 20);
    AUTO_CLOSE int fd = open("../out/file", O_RDWR | O_CREAT | O_CLOEXEC, 0444);
    AUTO_CLOSE int copy_fd = -1;
    struct stat seen;

    assert_true(fd >= 0 && block != NULL && copy != NULL);
    for (size_t i = 0; i < 1 << 20; i++)
        block[i] = (char) (i * 7 + i / 256);
    assert_int_equal(pwrite(fd, block, 1 << 20, 0), 1 << 20);
    assert_int_equal(pwrite(fd, block, 1 << 20, 64 << 20), 1 << 20);
    assert_int_equal(ftruncate(fd, 100 << 20), 0);
    make_link("file", "../out/file");
    make_file("../out/empty", "");
    make_link("empty", "../out/empty");
    (void) unshare_all(world, &telling, false);
    assert_int_equal(telling.done, 2);
    assert_int_equal(status_of("empty").st_size, 0);
    seen = status_of("file");
    assert_int_equal(seen.st_nlink, 1);
    assert_int_equal(seen.st_size, 100 << 20);
    assert_true(seen.st_blocks * 512 < 16 << 20);
    copy_fd = open("file", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(copy_fd, copy, 1 << 20, 64 << 20), 1 << 20);
    assert_memory_equal(copy, block, 1 << 20);
    assert_int_equal(pread(copy_fd, copy, 1 << 20, 32 << 20), 1 << 20);
    assert_int_equal(copy[12345], 0);
}

static void leaves_a_file_that_was_replaced(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    const char *other;

    make_file("../out/1", "text");
    make_file("../out/2", "text");
    make_link("1", "../out/1");
    make_link("2", "../out/2");
    /* The order is that of the inodes. */
    other = status_of("1").st_ino < status_of("2").st_ino ? "2" : "1";
    telling.spoil = other;
    (void) unshare_all(world, &telling, false);
    assert_int_equal(telling.done, 1);
    assert_int_equal(telling.failed, 1);
    assert_non_null(strstr(telling.last, "changed meanwhile"));
    holds(other, "by an editor");
    assert_int_equal(names_in("."), 2);
}

static void says_what_could_not_be_done(void **state)
{
    struct world *world = *state;
    const bool root = geteuid() == 0;
    struct telling telling = {0};

    make_folder("closed");
    make_file("../out/1", "text");
    make_file("../out/2", "text");
    make_link("closed/1", "../out/1");
    make_link("2", "../out/2");
    if (root) {
        assert_int_equal(chown("../out/2", 65534, getegid()), 0);
        assert_int_equal(chown(".", 65534, 65534), 0);
        assert_int_equal(seteuid(65534), 0);
    } else {
        assert_int_equal(chmod("closed", 0555), 0);
    }
    (void) unshare_all(world, &telling, false);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(telling.done, 1);
    assert_int_equal(telling.failed, 1);
    assert_non_null(strstr(telling.last, "closed/1: cannot make a file beside it"));
    assert_int_equal(status_of("closed/1").st_nlink, 2);
    assert_int_equal(status_of("2").st_nlink, 1);
    assert_int_equal(chmod("closed", 0755), 0);
}

static void follows_no_symlink_out(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};

    make_file("../out/1", "text");
    make_link("../out/2", "../out/1");
    assert_int_equal(symlink("../out", "out"), 0);
    assert_int_equal(unshare_all(world, &telling, false).names, 0);
    assert_int_equal(status_of("../out/1").st_nlink, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PEN_TEST(gives_each_shared_file_a_copy),
        PEN_TEST(names_inside_stay_one_file),
        PEN_TEST(a_dry_run_changes_nothing),
        PEN_TEST(keeps_mode_times_owner_and_attributes),
        PEN_TEST(copies_what_is_large_and_has_holes),
        PEN_TEST(leaves_a_file_that_was_replaced),
        PEN_TEST(says_what_could_not_be_done),
        PEN_TEST(follows_no_symlink_out),
    };

    return RUN_PEN_TESTS(tests);
}
