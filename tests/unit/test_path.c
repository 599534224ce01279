#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree.h"
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A folder for one test, its physical path, and an O_PATH descriptor of it. */
struct place {
    char *path;
    char *name;
    int fd;
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    char template[] = "/tmp/wattle-test-path-XXXXXX";
    struct err err;

    if (place == NULL || mkdtemp(template) == NULL)
        return -1;
    place->name = strdup(path_base(template));
    if (path_physical(template, &place->path, &err) < 0)
        return -1;
    place->fd = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    AUTO_CLOSE int tmp_fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = tree_remove(tmp_fd, place->name, NULL);

    cleanup_close(&place->fd);
    free(place->path);
    free(place->name);
    free(place);
    return r;
}

static void make_file(const struct place *place, const char *name)
{
    AUTO_CLOSE int fd = openat(place->fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void clean_paths_are_told_from_others(void **state)
{
    static const char *const good[] = {"/", "/a", "/a/b", "/a/...", "/a/.b", "/a/b..", "/ \n"};
    static const char *const bad[] = {"",      "a",      "./a",   "//",  "/a/", "//a",
                                      "/a//b", "/a/./b", "/a/..", "/..", "/.",  "/../a"};
    char longest[PATH_MAX + 1];

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(path_is_clean(good[i]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(path_is_clean(bad[i]));
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[PATH_MAX] = '\0';
    assert_false(path_is_clean(longest));
    longest[PATH_MAX - 1] = '\0';
    assert_true(path_is_clean(longest));
}

static void below_means_whole_components(void **state)
{
    (void) state;
    assert_true(path_is_below("/a/b", "/a"));
    assert_true(path_is_below("/a", "/a"));
    assert_true(path_is_below("/a", "/"));
    assert_true(path_is_below("/", "/"));
    assert_false(path_is_below("/ab", "/a"));
    assert_false(path_is_below("/a", "/a/b"));
    assert_false(path_is_below("/", "/a"));
}

static void parts_are_taken_and_joined(void **state)
{
    AUTO_FREE char *below_root = path_join("/", "a/b");
    AUTO_FREE char *below = path_join("/a", "b");
    AUTO_FREE char *same = path_join("/a", "");

    (void) state;
    assert_string_equal(path_base("/a/b"), "b");
    assert_string_equal(path_base("b"), "b");
    assert_string_equal(path_base("/"), "");
    assert_string_equal(below_root, "/a/b");
    assert_string_equal(below, "/a/b");
    assert_string_equal(same, "/a");
}

static void paths_are_normalized_as_text(void **state)
{
    static const struct {
        const char *path, *clean;
    } cases[] = {
        {"/", "/"},
        {"", "/base/dir"},
        {".", "/base/dir"},
        {"..", "/base"},
        {"../../../..", "/"},
        {"../../../../x", "/x"},
        {"a", "/base/dir/a"},
        {"a/./b//c/../d/", "/base/dir/a/b/d"},
        {"/a/../../b", "/b"},
        {"//a//", "/a"},
        {"~", "/home/u"},
        {"~/", "/home/u"},
        {"~/x/../y", "/home/u/y"},
        {"~/..", "/home"},
        {"~x", "/base/dir/~x"},
        {"a/~", "/base/dir/a/~"},
        {"/~", "/~"},
        {"...", "/base/dir/..."},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTO_FREE char *clean = NULL;

        assert_int_equal(path_normalize(cases[i].path, "/base/dir", "/home/u", &clean, NULL), 0);
        assert_string_equal(clean, cases[i].clean);
        assert_true(path_is_clean(clean));
    }
}

static void a_tilde_without_a_home_is_a_name(void **state)
{
    AUTO_FREE char *clean = NULL;

    (void) state;
    assert_int_equal(path_normalize("~/x", "/", NULL, &clean, NULL), 0);
    assert_string_equal(clean, "/~/x");
}

static void only_the_result_counts_for_the_limit(void **state)
{
    AUTO_FREE char *clean = NULL;
    AUTO_FREE char *path = calloc(1, 3 * PATH_MAX + 1);
    struct err err = {0};

    (void) state;
    assert_non_null(path);
    for (size_t i = 0; i < PATH_MAX; i++)
        memcpy(path + 2 * i, "a/", 2);
    assert_int_equal(path_normalize(path, "/", NULL, &clean, &err), -ENAMETOOLONG);
    assert_string_equal(err.id, "path.too-long");
    assert_null(clean);
    for (size_t i = 0; i < PATH_MAX; i++)
        memcpy(path + 2 * i, "./", 2);
    assert_int_equal(path_normalize(path, "/", NULL, &clean, &err), 0);
    assert_string_equal(clean, "/");
}

/* ---- look-ups ------------------------------------------------------------------------------- */

static void the_physical_path_has_no_symlink(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *link = path_join(place->path, "link/file");
    AUTO_FREE char *file = path_join(place->path, "real/file");
    AUTO_FREE char *physical = NULL;
    struct err err = {0};

    assert_int_equal(mkdirat(place->fd, "real", 0700), 0);
    make_file(place, "real/file");
    assert_int_equal(symlinkat("real", place->fd, "link"), 0);
    assert_int_equal(path_physical(link, &physical, &err), 0);
    assert_string_equal(physical, file);
    assert_int_equal(path_physical("/nowhere/at", &physical, &err), -ENOENT);
    assert_string_equal(err.id, "path.lookup");
    assert_non_null(strstr(err.what, "'/nowhere/at'"));
    assert_string_equal(physical, file);
}

struct seen {
    char text[4096];
    int stop_after;
};

static int note_link(void *context, const char *link, const char *target)
{
    struct seen *seen = context;
    size_t used = strlen(seen->text);

    (void) snprintf(seen->text + used, sizeof seen->text - used, "%s>%s;", link, target);
    return --seen->stop_after == 0 ? 42 : 0;
}

static void every_symlink_on_the_way_is_met(void **state)
{
    const struct place *place = *state;
    const char *top = place->path;
    AUTO_FREE char *path = path_join(top, "a/in/b/end");
    AUTO_FREE char *expected = NULL;
    struct seen seen = {0};
    struct err err = {0};

    assert_int_equal(mkdirat(place->fd, "real", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "real/in", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "other", 0700), 0);
    make_file(place, "other/file");
    assert_int_equal(symlinkat("./x/../real", place->fd, "a"), 0);
    assert_int_equal(mkdirat(place->fd, "x", 0700), 0);
    assert_int_equal(symlinkat("../../other", place->fd, "real/in/b"), 0);
    assert_int_equal(symlinkat("file", place->fd, "other/end"), 0);

    assert_true(asprintf(&expected, "%s/a>./x/../real;%s/real/in/b>../../other;%s/other/end>file;",
                         top, top, top) > 0);
    assert_int_equal(path_each_symlink(path, note_link, &seen, &err), 0);
    assert_string_equal(seen.text, expected);

    seen = (struct seen){.stop_after = 1};
    assert_int_equal(path_each_symlink(path, note_link, &seen, &err), 42);
}

static void absolute_symlinks_start_again_at_the_root(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *target = path_join(place->path, "real");
    AUTO_FREE char *path = path_join(place->path, "a/sub");
    AUTO_FREE char *expected = NULL;
    struct seen seen = {0};

    assert_int_equal(mkdirat(place->fd, "real", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "real/sub", 0700), 0);
    assert_int_equal(symlinkat(target, place->fd, "a"), 0);
    assert_true(asprintf(&expected, "%s/a>%s;", place->path, target) > 0);
    assert_int_equal(path_each_symlink(path, note_link, &seen, NULL), 0);
    assert_string_equal(seen.text, expected);
}

static void loops_and_missing_parts_end_the_walk(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *loop = path_join(place->path, "loop");
    AUTO_FREE char *missing = path_join(place->path, "missing/x");
    struct seen seen = {0};
    struct err err = {0};

    assert_int_equal(symlinkat("loop", place->fd, "loop"), 0);
    assert_int_equal(path_each_symlink(loop, note_link, &seen, &err), -ELOOP);
    assert_string_equal(err.id, "path.lookup");
    assert_int_equal(path_each_symlink(missing, note_link, &seen, &err), -ENOENT);
    assert_int_equal(path_each_symlink("/", note_link, &seen, &err), 0);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void symlinks_are_refused_when_opening(void **state)
{
    const struct place *place = *state;
    AUTO_CLOSE int plain = -1;
    AUTO_CLOSE int absolute = -1;
    AUTO_FREE char *path = path_join(place->path, "real/file");

    NEEDS_OPENAT2();
    assert_int_equal(mkdirat(place->fd, "real", 0700), 0);
    make_file(place, "real/file");
    assert_int_equal(symlinkat("real", place->fd, "link"), 0);
    assert_int_equal(symlinkat("real/file", place->fd, "last"), 0);

    plain = path_open_plain(place->fd, "real/file", O_PATH);
    assert_true(plain >= 0);
    assert_int_equal(fcntl(plain, F_GETFD), FD_CLOEXEC);
    absolute = path_open_plain(AT_FDCWD, path, O_RDONLY);
    assert_true(absolute >= 0);
    assert_int_equal(path_open_plain(place->fd, "link/file", O_RDONLY), -ELOOP);
    assert_int_equal(path_open_plain(place->fd, "last", O_PATH), -ELOOP);
    assert_int_equal(path_open_plain(AT_FDCWD, "/proc/self/cwd", O_PATH), -ELOOP);
    assert_int_equal(path_open_plain(place->fd, "missing", O_PATH), -ENOENT);
}

static void nothing_above_is_opened(void **state)
{
    const struct place *place = *state;
    AUTO_CLOSE int made = -1;
    AUTO_CLOSE int inside = -1;
    AUTO_CLOSE int nameless = -1;
    struct stat status;

    NEEDS_OPENAT2();
    assert_int_equal(path_open_below(place->fd, "..", O_PATH, 0), -EXDEV);
    assert_int_equal(path_open_below(place->fd, "/etc", O_PATH, 0), -EXDEV);
    assert_int_equal(mkdirat(place->fd, "real", 0700), 0);
    assert_int_equal(path_open_below(place->fd, "real/../../x", O_PATH, 0), -EXDEV);
    inside = path_open_below(place->fd, "real/../real", O_RDONLY | O_DIRECTORY, 0777);
    assert_true(inside >= 0); /* a mode counts only where something is made */
    made = path_open_below(place->fd, "real/new", O_CREAT | O_EXCL | O_WRONLY, 0640);
    assert_true(made >= 0);
    assert_int_equal(fstat(made, &status), 0);
    assert_int_equal(status.st_mode & 0700u, 0600);
    nameless = path_open_below(place->fd, "real", O_TMPFILE | O_RDWR, 0600);
    assert_true(nameless >= 0 || nameless == -EOPNOTSUPP);
}

static void folders_are_made_with_those_above(void **state)
{
    struct stat status;
    char top[] = "/tmp/wattle-made-XXXXXX";
    AUTO_FREE char *path = NULL;

    (void) state;
    assert_non_null(mkdtemp(top));
    path = path_join(top, "a/b/c");
    assert_int_equal(path_make_folders(path, 0700), 0);
    assert_int_equal(path_make_folders(path, 0700), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(path_make_folders("/dev/null/a", 0700), -ENOTDIR);
    assert_int_equal(chdir("/tmp"), 0);
    assert_int_equal(tree_remove(AT_FDCWD, path_base(top), NULL), 0);
}

static void what_turns_back_is_told(void **state)
{
    static const char *const yes[] = {"a/..", "/a/../b", "../a/..", "a/b/../c", "./.."};
    static const char *const no[] = {"", "/", "a/b", "../a", "/../a", "../../a", "a/..b", "a../b"};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
        assert_true(path_turns_back(yes[i]));
    for (size_t i = 0; i < ARRAY_SIZE(no); i++)
        assert_false(path_turns_back(no[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_paths_are_told_from_others),
        cmocka_unit_test(below_means_whole_components),
        cmocka_unit_test(what_turns_back_is_told),
        cmocka_unit_test(parts_are_taken_and_joined),
        cmocka_unit_test(paths_are_normalized_as_text),
        cmocka_unit_test(a_tilde_without_a_home_is_a_name),
        cmocka_unit_test(only_the_result_counts_for_the_limit),
        cmocka_unit_test_setup_teardown(the_physical_path_has_no_symlink, make_place, remove_place),
        cmocka_unit_test_setup_teardown(every_symlink_on_the_way_is_met, make_place, remove_place),
        cmocka_unit_test_setup_teardown(absolute_symlinks_start_again_at_the_root, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(loops_and_missing_parts_end_the_walk, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(symlinks_are_refused_when_opening, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(nothing_above_is_opened, make_place, remove_place),
        cmocka_unit_test(folders_are_made_with_those_above),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
