/* The store: what is taken, what comes back, what a crash leaves. */
#include "held/held_priv.h"
#include "held_folder.h"

/* Sets `.envrc` aside, as a run would; its ID. */
static void set_aside(struct world *world, const char *content, char id[HELD_ID_SIZE])
{
    struct telling telling = {0};
    struct held *held = begin(world, &telling);

    make_file(".envrc", content);
    end(held);
    memcpy(id, was(&telling, ".envrc", HELD_SET_ASIDE)->id, HELD_ID_SIZE);
}

static void find(const struct world *world, const char *id, struct held_entry *ret_entry)
{
    struct err err = {0};

    if (held_find(world->state, id, ret_entry, &err) < 0)
        fail_msg("%s: %s", err.id, err.what);
}

static int count(void *context, const struct held_entry *entry, struct err *err)
{
    (void) entry, (void) err;
    ++*(size_t *) context;
    return 0;
}

static size_t entries(const struct world *world)
{
    struct err err = {0};
    size_t found = 0;

    assert_int_equal(held_list(world->state, count, &found, &err), 0);
    return found;
}

static void fails_with(const struct err *err, int r, const char *id)
{
    assert_true(r < 0);
    assert_int_equal(r, -err->code);
    assert_string_equal(err->id, id);
}

static void nothing_is_held_at_first(void **state)
{
    struct world *world = *state;
    struct held_entry entry;
    struct err err = {0};

    assert_int_equal(entries(world), 0);
    fails_with(&err, held_find(world->state, "0000", &entry, &err), "held.unknown");
}

static void restores_where_nothing_is(void **state)
{
    struct world *world = *state;
    AUTO(held_entry_free) struct held_entry entry = {0};
    char id[HELD_ID_SIZE];
    struct err err = {0};

    set_aside(world, "evil", id);
    find(world, id, &entry);
    make_file(".envrc", "mine");
    fails_with(&err, held_restore(world->state, &entry, &err), "held.in-the-way");
    holds(".envrc", "mine");
    assert_int_equal(unlink(".envrc"), 0);
    assert_int_equal(symlink("nowhere", ".envrc"), 0);
    fails_with(&err, held_restore(world->state, &entry, &err), "held.in-the-way");
    assert_int_equal(unlink(".envrc"), 0);
    assert_int_equal(held_restore(world->state, &entry, &err), 0);
    holds(".envrc", "evil");
    assert_int_equal(entries(world), 0);
}

static void restores_only_to_the_same_folder(void **state)
{
    struct world *world = *state;
    AUTO(held_entry_free) struct held_entry entry = {0};
    char id[HELD_ID_SIZE];
    struct err err = {0};

    set_aside(world, "evil", id);
    find(world, id, &entry);
    assert_int_equal(rename("../pen", "../was-pen"), 0);
    assert_int_equal(mkdir("../pen", 0755), 0);
    fails_with(&err, held_restore(world->state, &entry, &err), "held.place");
    assert_int_equal(symlink("out", "../link"), 0);
    assert_int_equal(rename("../link", "../was-pen/x"), 0);
    assert_int_equal(rmdir("../pen"), 0);
    assert_int_equal(rename("../was-pen", "../pen"), 0);
    assert_int_equal(held_restore(world->state, &entry, &err), 0);
}

static void restores_nothing_while_a_run_goes_on(void **state)
{
    struct world *world = *state;
    AUTO(held_entry_free) struct held_entry entry = {0};
    struct telling telling = {0};
    char id[HELD_ID_SIZE];
    struct err err = {0};

    set_aside(world, "evil", id);
    find(world, id, &entry);
    struct held *held = begin(world, &telling);

    fails_with(&err, held_restore(world->state, &entry, &err), "held.busy");
    end(held);
    assert_int_equal(held_restore(world->state, &entry, &err), 0);
}

static void an_id_may_be_shortened_while_it_is_one(void **state)
{
    struct world *world = *state;
    AUTO(held_entry_free) struct held_entry entry = {0};
    struct held_entry none;
    char id[HELD_ID_SIZE];
    struct err err = {0};

    set_aside(world, "evil", id);
    fails_with(&err, held_find(world->state, "", &none, &err), "held.unknown");
    id[3] = '\0';
    fails_with(&err, held_find(world->state, id, &none, &err), "held.unknown");
    set_aside(world, "evil too", id);
    id[4] = '\0';
    find(world, id, &entry);
    assert_int_equal(entries(world), 2);
    assert_int_equal(held_drop(world->state, &entry, &err), 0);
    assert_int_equal(entries(world), 1);
}

/* A note without its object is of a move that did not come to it. */
static void a_move_that_did_not_happen_is_no_entry(void **state)
{
    struct world *world = *state;
    struct telling telling = {0};
    const struct held_request request = request_of(world, &telling);
    char id[HELD_ID_SIZE];
    char path[PATH_MAX];
    struct err err = {0};

    set_aside(world, "evil", id);
    (void) snprintf(path, sizeof path, "%s/held/store/%s/object", world->state, id);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(entries(world), 0);
    *strrchr(path, '/') = '\0';
    assert_true(is_there(path));
    held_freep(&(struct held *){begin(world, &telling)});
    assert_int_equal(held_sweep(&request, &err), 0);
    assert_false(is_there(path));
}

static int copies(const char *from, const char *to)
{
    return held_copy(AT_FDCWD, from, AT_FDCWD, to);
}

static void copies_what_there_is_and_no_more(void **state)
{
    (void) state;
    make_folder("a");
    make_folder("a/closed");
    make_file("a/closed/file", "text");
    assert_int_equal(chmod("a/closed/file", 0), 0);
    assert_int_equal(chmod("a/closed", 0), 0);
    assert_int_equal(symlink("/etc", "a/link"), 0);
    assert_int_equal(mkfifo("a/fifo", 0600), 0);
    assert_int_equal(copies("a", "b"), 0);
    assert_int_equal(chmod("b/closed/file", 0600), 0);
    holds("b/closed/file", "text");
    struct stat seen;

    assert_int_equal(lstat("b/link", &seen), 0);
    assert_true(S_ISLNK(seen.st_mode));
    assert_int_equal(lstat("b/fifo", &seen), 0);
    assert_true(S_ISFIFO(seen.st_mode));

    make_file("large", "");
    assert_int_equal(truncate("large", (off_t) HELD_MOVE_BYTES + 1), 0);
    assert_int_equal(copies("large", "copy"), -EFBIG);
    assert_int_equal(copies("/dev/null", "copy"), -EFBIG);
    make_folder("many");
    for (unsigned i = 0; i <= HELD_MOVE_ENTRIES; i++) {
        char name[32];

        (void) snprintf(name, sizeof name, "many/%u", i);
        assert_int_equal(symlink("x", name), 0);
    }
    assert_int_equal(copies("many", "copies"), -EFBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HELD_TEST(nothing_is_held_at_first),
        HELD_TEST(restores_where_nothing_is),
        HELD_TEST(restores_only_to_the_same_folder),
        HELD_TEST(restores_nothing_while_a_run_goes_on),
        HELD_TEST(an_id_may_be_shortened_while_it_is_one),
        HELD_TEST(a_move_that_did_not_happen_is_no_entry),
        HELD_TEST(copies_what_there_is_and_no_more),
    };

    return RUN_PEN_TESTS(tests);
}
