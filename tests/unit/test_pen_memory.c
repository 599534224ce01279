#include "pen/memory.h"
#include "pen_folder.h"

/* A pen with enough in it to be remembered: 20 folders of 30 files, and "a/b/c". */
static void fill(void)
{
    char path[64];

    for (int i = 0; i < 20; i++) {
        (void) snprintf(path, sizeof path, "d%02d", i);
        make_folder(path);
        for (int k = 0; k < 30; k++) {
            (void) snprintf(path, sizeof path, "d%02d/f%d", i, k);
            make_file(path, "");
        }
    }
    make_folder("a");
    make_folder("a/b");
    make_folder("a/b/c");
    make_file("../out/file", "x");
}

static void look_again(struct world *world)
{
    const struct pen_request request = {
        .pen = world->pen, .state_dir = world->state, .now_ms = world->now_ms};

    if (try_look_at(world, &request) < 0)
        fail_msg("%s: %s", world->err.id, world->err.what);
}

static void reads(struct world *world, size_t folders)
{
    look_again(world);
    assert_int_equal(world->findings->folders_read, folders);
    assert_int_equal(judge(world), 0);
}

/* All folders of fill(). */
enum { ALL = 24 };

/* The only file in the state folder, opened. */
static int open_memory(const struct world *world, int flags, char name[NAME_MAX + 1])
{
    AUTO_FREE char *path = path_join(world->state, "preflight");
    AUTO_CLOSEDIR DIR *dir = opendir(path);
    const struct dirent *entry;
    int count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        (void) snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
        count++;
    }
    assert_int_equal(count, 1);
    return openat(dirfd(dir), name, flags | O_CLOEXEC);
}

/* ---- what is read again ------------------------------------------------------------------ */

static void reads_all_at_first_and_then_nothing(void **state)
{
    struct world *world = *state;

    fill();
    reads(world, ALL);
    assert_int_equal(world->findings->entries, 623);
    reads(world, 0);
    assert_int_equal(world->findings->entries, 623);
    assert_int_equal(world->findings->folders, ALL);
}

static void a_pen_of_few_files_is_not_remembered(void **state)
{
    struct world *world = *state;

    make_file("one", "");
    reads(world, 1);
    reads(world, 1);
    assert_int_equal(access(world->state, F_OK), -1);
}

static void reads_what_changed(void **state)
{
    struct world *world = *state;

    fill();
    reads(world, ALL);
    make_file("a/b/new", "");
    reads(world, 1);
    reads(world, 0);
    make_folder("a/b/more");
    make_folder("a/b/more/deep");
    make_file("a/b/more/deep/x", "");
    reads(world, 3);
    assert_int_equal(world->findings->entries, 627);
    assert_int_equal(unlink("a/b/more/deep/x"), 0);
    assert_int_equal(rmdir("a/b/more/deep"), 0);
    assert_int_equal(rmdir("a/b/more"), 0);
    reads(world, 1);
    assert_int_equal(world->findings->folders, ALL);
}

static void finds_a_link_that_came(void **state)
{
    struct world *world = *state;

    fill();
    reads(world, ALL);
    make_link("a/b/shared", "../out/file");
    look_again(world);
    assert_int_equal(what_of(world, "a/b/shared"), PEN_FOUND_SHARED);
    assert_int_equal(world->findings->folders_read,
                     ALL); /* refused by a full walk, not by memory */
    assert_int_equal(unlink("a/b/shared"), 0);
    reads(world, 1); /* and a refusal is not remembered */
}

static void finds_a_socket_that_came_and_went(void **state)
{
    struct world *world = *state;
    AUTO_CLOSE int fd = -1;

    fill();
    reads(world, ALL);
    fd = make_socket("a/b/socket", SOCK_STREAM);
    reads(world, 1);
    assert_int_equal(what_of(world, "a/b/socket"), PEN_FOUND_SOCKET);
    reads(world, 0);
    assert_int_equal(what_of(world, "a/b/socket"), PEN_FOUND_SOCKET);
    cleanup_close(&fd);
    reads(world, 0); /* no folder changed, and yet nobody is there any more */
    assert_int_equal(world->findings->count, 0);
}

static void finds_a_link_that_moved_out(void **state)
{
    struct world *world = *state;

    fill();
    make_file("d00/one", "x");
    make_link("d01/two", "d00/one");
    reads(world, ALL);
    reads(world, 0);
    assert_int_equal(rename("d01/two", "../out/two"), 0);
    look_again(world);
    assert_int_equal(what_of(world, "d00/one"), PEN_FOUND_SHARED);
}

static void folders_that_moved_are_read_where_they_are(void **state)
{
    struct world *world = *state;

    fill();
    reads(world, ALL);
    assert_int_equal(rename("d03", "a/b/c/d"), 0);
    look_again(world);
    assert_int_equal(world->findings->folders, ALL);
    assert_int_equal(world->findings->entries, 623);
    reads(world, 0);
    assert_int_equal(rename("a/b", "../out/b"), 0);
    look_again(world);
    assert_int_equal(world->findings->folders, ALL - 3);
}

static void a_symlink_in_the_place_of_a_folder_is_not_followed(void **state)
{
    struct world *world = *state;

    fill();
    reads(world, ALL);
    assert_int_equal(rename("a", "../out/a"), 0);
    assert_int_equal(symlink("../out/a", "a"), 0);
    make_link("../out/a/b/shared", "../out/file");
    look_again(world);
    assert_int_equal(world->findings->folders, ALL - 3);
    assert_int_equal(world->findings->count, 0);
}

static void young_folders_are_read_again(void **state)
{
    struct world *world = *state;

    fill();
    world->now_ms = clock_wall_ms();
    reads(world, ALL);
    reads(world, ALL);
    world->now_ms += LATER_MS;
    reads(world, ALL);
    reads(world, 0);
}

static void objects_of_git_are_always_read(void **state)
{
    struct world *world = *state;

    fill();
    make_folder("a/.git");
    make_folder("a/.git/refs");
    make_folder("a/.git/objects");
    make_folder("a/.git/objects/ab");
    make_file("a/.git/objects/ab/cdef", "x");
    make_file("a/.git/HEAD", "ref: refs/heads/main\n");
    reads(world, ALL + 4);
    reads(world, 2);
    make_link("../out/cdef", "a/.git/objects/ab/cdef"); /* what `git clone` of a path does */
    look_again(world);
    assert_int_equal(what_of(world, "a/.git/objects/ab/cdef"), PEN_FOUND_SHARED);
}

static void lapses(void **state)
{
    struct world *world = *state;
    const uint64_t day_ms = policy_default_preflight.remember_ms;

    fill();
    reads(world, ALL);
    make_file("a/b/new", "");
    world->now_ms += day_ms - LATER_MS;
    reads(world, 1); /* what was read later does not make the rest younger */
    world->now_ms += LATER_MS;
    reads(world, ALL);
    reads(world, 0);
    world->now_ms -= 1; /* a clock that was set back */
    reads(world, ALL);
    policy_preflight(world->policy)->remember_ms = 1;
    world->now_ms += 1;
    reads(world, ALL);
}

static bool nothing(const void *context, const char *folder, const char *name)
{
    (void) context;
    (void) folder;
    (void) name;
    return false;
}

static bool everything(const void *context, const char *folder, const char *name)
{
    return !nothing(context, folder, name);
}

static void another_predicate_reads_all(void **state)
{
    struct world *world = *state;
    struct pen_request request = {
        .pen = world->pen, .state_dir = world->state, .guarded = nothing, .now_ms = world->now_ms};

    fill();
    assert_int_equal(try_look_at(world, &request), 0);
    request.guarded = everything;
    request.guarded_key = 7;
    assert_int_equal(try_look_at(world, &request), 0);
    assert_int_equal(world->findings->guarded, 623);
    assert_int_equal(try_look_at(world, &request), 0);
    assert_int_equal(world->findings->folders_read, 0);
    assert_int_equal(world->findings->guarded, 623);
}

static void looking_only_writes_nothing(void **state)
{
    struct world *world = *state;
    const struct pen_request request = {
        .pen = world->pen, .state_dir = world->state, .look_only = true, .now_ms = world->now_ms};

    fill();
    assert_int_equal(try_look_at(world, &request), 0);
    assert_int_equal(access(world->state, F_OK), -1);
}

static void a_folder_that_cannot_be_written_costs_time_only(void **state)
{
    struct world *world = *state;

    fill();
    make_file("../state", "no folder");
    reads(world, ALL);
    reads(world, ALL);
}

/* ---- the file ---------------------------------------------------------------------------- */

static void is_private_and_alone(void **state)
{
    struct world *world = *state;
    char name[NAME_MAX + 1];
    AUTO_CLOSE int fd = -1;
    struct stat seen;

    fill();
    (void) umask(0777);
    reads(world, ALL);
    assert_int_equal(umask(022), 0777);
    fd = open_memory(world, O_RDONLY, name);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &seen), 0);
    assert_int_equal(seen.st_mode & 07777, 0600);
    assert_int_equal(stat(world->state, &seen), 0);
    assert_int_equal(seen.st_mode & 07777, 0700);
}

static void what_is_not_exactly_ours_is_no_memory(void **state)
{
    struct world *world = *state;
    char name[NAME_MAX + 1];
    AUTO_CLOSE int fd = -1;

    fill();
    reads(world, ALL);
    fd = open_memory(world, O_RDWR, name);
    assert_int_equal(pwrite(fd, "x", 1, 60), 1);
    reads(world, ALL);
    reads(world, 0);
    cleanup_close(&fd);
    fd = open_memory(world, O_RDWR, name);
    assert_int_equal(ftruncate(fd, 100), 0);
    reads(world, ALL);
    cleanup_close(&fd);
    fd = open_memory(world, O_RDWR, name);
    assert_int_equal(ftruncate(fd, 0), 0);
    reads(world, ALL);
    cleanup_close(&fd);
    fd = open_memory(world, O_RDWR, name);
    assert_int_equal(fchmod(fd, 0666), 0); /* somebody else may have written it */
    reads(world, ALL);
    reads(world, 0);
}

static void another_pen_in_its_place_is_another_pen(void **state)
{
    struct world *world = *state;

    fill();
    reads(world, ALL);
    assert_int_equal(rename(world->pen, "../old"), 0);
    make_folder(world->pen);
    assert_int_equal(chdir(world->pen), 0);
    for (int i = 0; i < 600; i++) {
        char path[16];

        (void) snprintf(path, sizeof path, "f%d", i);
        make_file(path, "");
    }
    reads(world, 1);
    assert_int_equal(world->findings->entries, 600);
    reads(world, 0);
}

/* ---- the codec --------------------------------------------------------------------------- */

static struct pen_tree *make_tree(void)
{
    const struct pen_note note = {
        .dev = 2049, .inode = 77, .links = 3, .what = PEN_LINKED, .type = DT_REG};
    struct pen_tree *tree = pen_tree_new();

    assert_int_equal(pen_tree_add_folder(tree, 0, "", 0), 0);
    assert_int_equal(pen_tree_add_folder(tree, 0, "b", 1), 1);
    assert_int_equal(pen_tree_add_folder(tree, 0, "a", 1), 2);
    assert_int_equal(pen_tree_add_folder(tree, 1, "z", 1), 3);
    assert_int_equal(pen_tree_add_folder(tree, 1, "y", 1), 4);
    assert_int_equal(pen_tree_add_folder(tree, 2, "gone", 4), 5);
    tree->folders[5].flags = PEN_VANISHED;
    assert_int_equal(pen_tree_add_note(tree, &note, "n2", 2), 0);
    assert_int_equal(pen_tree_add_note(tree, &note, "n1", 2), 1);
    tree->folders[4].note = 0;
    tree->folders[4].notes = 2;
    for (size_t i = 0; i < 5; i++) {
        tree->folders[i].entries = 2;
        tree->folders[i].inode = UINT64_MAX - i;
        tree->folders[i].ctime_ns = -(int64_t) i;
    }
    tree->walked_ms = 1234567890123;
    tree->guarded_key = 42;
    assert_int_equal(pen_tree_settle(tree), 0);
    return tree;
}

static void settles_breadth_first_by_name(void **state)
{
    AUTO(pen_tree_freep) struct pen_tree *tree = make_tree();
    static const char *const paths[] = {"", "a", "b", "b/y", "b/z"};
    char path[PATH_MAX];

    (void) state;
    assert_int_equal(tree->folder_count, ARRAY_SIZE(paths));
    for (uint32_t i = 0; i < ARRAY_SIZE(paths); i++) {
        assert_int_equal(pen_tree_path(tree, i, path), strlen(paths[i]));
        assert_string_equal(path, paths[i]);
    }
    assert_int_equal(pen_tree_child(tree, 0, "b"), 2);
    assert_int_equal(pen_tree_child(tree, 2, "z"), 4);
    assert_int_equal(pen_tree_child(tree, 1, "gone"), PEN_NONE);
    assert_string_equal(pen_tree_name(tree, tree->notes[tree->folders[3].note].name), "n1");
}

static void gives_back_what_it_was_given(void **state)
{
    AUTO(pen_tree_freep) struct pen_tree *tree = make_tree();
    AUTO(pen_tree_freep) struct pen_tree *again = NULL;
    AUTO(buf_free) struct buf one;
    AUTO(buf_free) struct buf two;
    AUTO_FREE char *pen = NULL;

    (void) state;
    buf_init(&one, 4096);
    buf_init(&two, 4096);
    assert_int_equal(pen_memory_encode(tree, "/pen", &one), 0);
    assert_int_equal(pen_memory_decode(one.bytes, one.size, &again, &pen), 0);
    assert_string_equal(pen, "/pen");
    assert_int_equal(again->walked_ms, tree->walked_ms);
    assert_int_equal(again->guarded_key, 42);
    assert_int_equal(again->folders[1].inode, tree->folders[1].inode);
    assert_int_equal(again->folders[4].ctime_ns, tree->folders[4].ctime_ns);
    assert_int_equal(pen_memory_encode(again, pen, &two), 0);
    assert_int_equal(two.size, one.size);
    assert_memory_equal(two.bytes, one.bytes, one.size);
}

static void takes_nothing_that_was_cut_or_changed(void **state)
{
    AUTO(pen_tree_freep) struct pen_tree *tree = make_tree();
    AUTO(pen_tree_freep) struct pen_tree *again = NULL;
    AUTO(buf_free) struct buf bytes;
    AUTO_FREE char *pen = NULL;

    (void) state;
    buf_init(&bytes, 4096);
    assert_int_equal(pen_memory_encode(tree, "/pen", &bytes), 0);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(pen_memory_decode(bytes.bytes, size, &again, &pen), -EBADMSG);
    for (size_t i = 0; i < bytes.size * 8; i++) {
        bytes.bytes[i / 8] ^= (char) (1 << i % 8);
        assert_int_equal(pen_memory_decode(bytes.bytes, bytes.size, &again, &pen), -EBADMSG);
        bytes.bytes[i / 8] ^= (char) (1 << i % 8);
    }
    assert_null(again);
    assert_null(pen);
}

/* What was seen in another folder would be taken for what the run finds. */
static void a_pen_that_was_replaced(void **state)
{
    struct world *world = *state;
    struct policy_rule rule = {
        .path = world->pen, .access = POLICY_WRITE, .origin = POLICY_FROM_PEN, .why = world->pen};
    struct stat seen;

    assert_int_equal(stat(".", &seen), 0);
    rule.dev = seen.st_dev;
    rule.inode = seen.st_ino;
    assert_int_equal(policy_add_rule(world->policy, &rule, &world->err), 0);
    look(world); /* control */
    assert_int_equal(rename(world->pen, "../was"), 0);
    assert_int_equal(mkdir(world->pen, 0755), 0);
    assert_int_equal(try_look(world), -EINVAL);
    assert_string_equal(world->err.id, "pen.replaced");
    assert_int_equal(rmdir(world->pen), 0);
    assert_int_equal(rename("../was", world->pen), 0);
    look(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PEN_TEST(reads_all_at_first_and_then_nothing),
        PEN_TEST(a_pen_of_few_files_is_not_remembered),
        PEN_TEST(reads_what_changed),
        PEN_TEST(finds_a_link_that_came),
        PEN_TEST(finds_a_socket_that_came_and_went),
        PEN_TEST(finds_a_link_that_moved_out),
        PEN_TEST(folders_that_moved_are_read_where_they_are),
        PEN_TEST(a_symlink_in_the_place_of_a_folder_is_not_followed),
        PEN_TEST(young_folders_are_read_again),
        PEN_TEST(objects_of_git_are_always_read),
        PEN_TEST(lapses),
        PEN_TEST(another_predicate_reads_all),
        PEN_TEST(looking_only_writes_nothing),
        PEN_TEST(a_folder_that_cannot_be_written_costs_time_only),
        PEN_TEST(is_private_and_alone),
        PEN_TEST(what_is_not_exactly_ours_is_no_memory),
        PEN_TEST(another_pen_in_its_place_is_another_pen),
        PEN_TEST(a_pen_that_was_replaced),
        cmocka_unit_test(settles_breadth_first_by_name),
        cmocka_unit_test(gives_back_what_it_was_given),
        cmocka_unit_test(takes_nothing_that_was_cut_or_changed),
    };

    return RUN_PEN_TESTS(tests);
}
