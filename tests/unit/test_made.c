/* From the guard's records to the names that are there: what moves, what goes, what makes no sense.
 */
#include "base/cleanup.h"
#include "cm.h"
#include "job/made.h"

#include <stdio.h>
#include <string.h>

#define PEN "/home/ann/pen"
#define MEMORY_BYTES 65536u

struct world {
    struct guard_made *memory;
    struct guard_rules *rules;
    struct guard_reported *reported;
    char text[8192]; /* what was told: "name\n" for each, then "! name: reason" */
    bool complete;
    size_t told_total;
    int (*look)(const char *path, const char *relative);
};

static void open_world(struct world *world)
{
    struct err err = {0};

    *world = (struct world){.memory = calloc(1, MEMORY_BYTES)};
    world->rules = guard_rules_new();
    world->reported = guard_reported_new();
    assert_non_null(world->memory);
    assert_non_null(world->rules);
    assert_non_null(world->reported);
    assert_int_equal(guard_rules_add_zone(world->rules, PEN, false, &err), 0);
    assert_int_equal(guard_rules_add_zone(world->rules, "/srv/other", false, &err), 0);
}

static void close_world(struct world *world)
{
    free(world->memory);
    guard_rules_freep(&world->rules);
    guard_reported_freep(&world->reported);
}
#define WORLD(name)                                                                                \
    AUTO(close_world) struct world name = {0};                                                     \
    open_world(&name)

/* ---- the guard's side: "folder", "name" ---------------------------------------------------- */

static void split(const char *path, char *folder, size_t size, struct guard_made_name *name)
{
    const char *slash = strrchr(path, '/');

    (void) snprintf(folder, size, PEN "/%.*s", slash == NULL ? 0 : (int) (slash - path), path);
    if (slash == NULL)
        folder[strlen(PEN)] = '\0';
    *name = (struct guard_made_name){.folder = folder, .name = slash == NULL ? path : slash + 1};
}

static size_t begin(struct world *world, enum guard_made_kind kind, const char *path,
                    const char *other)
{
    char folders[2][512];
    struct guard_made_event event = {.kind = kind};

    split(path, folders[0], sizeof folders[0], &event.name);
    if (other != NULL)
        split(other, folders[1], sizeof folders[1], &event.other);
    return guard_made_add(world->memory, MEMORY_BYTES, &event);
}

static void note(struct world *world, enum guard_made_kind kind, const char *path,
                 const char *other)
{
    const size_t place = begin(world, kind, path, other);

    assert_true(place > 0);
    guard_made_settle(world->memory, place, true);
}

static void made(struct world *world, const char *path)
{
    note(world, GUARD_MADE_NAME, path, NULL);
}

static void gone(struct world *world, const char *path)
{
    note(world, GUARD_MADE_GONE, path, NULL);
}

/* As the guard does it: the move, then the name that came. */
static void moved(struct world *world, const char *from, const char *to)
{
    note(world, GUARD_MADE_MOVE, from, to);
    made(world, to);
}

/* ---- the supervisor's side ------------------------------------------------------------------ */

static void on_made(void *context, const struct job_made *list)
{
    struct world *world = context;
    size_t at = 0;

    for (size_t i = 0; i < list->count && at < sizeof world->text; i++)
        at += (size_t) snprintf(world->text + at, sizeof world->text - at, "%s\n", list->names[i]);
    for (size_t i = 0; i < list->told_count && at < sizeof world->text; i++)
        at += (size_t) snprintf(world->text + at, sizeof world->text - at, "!%s%s %s\n",
                                list->told[i].deeper ? "!" : "", list->told[i].gone ? "?" : "",
                                list->told[i].name);
    world->complete = list->complete;
    world->told_total = list->told_total;
}

static void read_from(struct world *world, struct guard_made_reader reader)
{
    const struct made_question question = {
        .rules = world->rules,
        .reported = world->reported,
        .pen = PEN,
        .look = world->look,
    };
    struct err err = {0};

    world->text[0] = '\0';
    assert_int_equal(made_tell(&question, &reader, on_made, world, &err), 0);
}

static void expect(struct world *world, const char *text)
{
    read_from(world, guard_made_read(world->memory, MEMORY_BYTES));
    assert_string_equal(world->text, text);
}

static int is_there(const char *path, const char *relative)
{
    (void) path;
    (void) relative;
    return 0;
}

static int is_missing(const char *path, const char *relative)
{
    (void) path;
    (void) relative;
    return -ENOENT;
}

/* ---- names ---------------------------------------------------------------------------------- */

static void lists_what_stays_in_order(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "b");
    made(&world, "d");
    made(&world, "d/x");
    made(&world, "a\nb");
    made(&world, "b");
    made(&world, "away");
    gone(&world, "away");
    gone(&world, "never-made");
    expect(&world, "a\nb\nb\nd\nd/x\n");
    assert_true(world.complete);
}

static void a_folder_takes_along_what_lies_in_it(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "d");
    made(&world, "d/s");
    made(&world, "d/s/x");
    moved(&world, "d", "e");
    made(&world, "e/y");
    moved(&world, "e/s", "t");
    made(&world, "d");
    expect(&world, "d\ne\ne/y\nt\nt/x\n");
}

static void a_folder_that_was_there_is_one_name(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "old/in/new");
    moved(&world, "old", "renamed");
    gone(&world, "renamed/in/new");
    expect(&world, "renamed\n");
}

static void a_file_replaces_another(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "x");
    made(&world, "x.tmp");
    moved(&world, "x.tmp", "x");
    moved(&world, "x", "x");
    expect(&world, "x\n");
}

static void an_exchange_takes_both_along(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "a");
    made(&world, "a/1");
    made(&world, "b");
    made(&world, "b/2");
    note(&world, GUARD_MADE_SWAP, "a", "b");
    made(&world, "b");
    made(&world, "a");
    gone(&world, "b/1");
    expect(&world, "a\na/2\nb\n");
}

static void names_outside_of_the_pen_are_absolute(void **state)
{
    const struct guard_made_event events[] = {
        {.kind = GUARD_MADE_NAME, .name = {"/srv/other/sub", "x"}},
        {.kind = GUARD_MADE_NAME, .name = {"/srv", "elsewhere"}},
        {.kind = GUARD_MADE_NAME, .name = {"/", "root"}},
    };

    WORLD(world);
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        guard_made_settle(world.memory, guard_made_add(world.memory, MEMORY_BYTES, &events[i]),
                          true);
    expect(&world, "/srv/other/sub/x\n");
}

/* ---- order and what was not finished -------------------------------------------------------- */

static void what_failed_never_was(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "x");
    guard_made_settle(world.memory, begin(&world, GUARD_MADE_GONE, "x", NULL), false);
    guard_made_settle(world.memory, begin(&world, GUARD_MADE_MOVE, "x", "y"), false);
    expect(&world, "x\n");
}

/* The guard was killed between the call and its record. */
static void what_is_not_known_is_listed(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "x");
    made(&world, "z");
    (void) begin(&world, GUARD_MADE_MOVE, "x", "y");
    (void) begin(&world, GUARD_MADE_GONE, "z", NULL);
    expect(&world, "x\ny\nz\n");
}

/* One thread takes away what another makes anew: the record of the first stands before its call. */
static void a_name_that_came_after_it_went_is_not_lost(void **state)
{
    size_t going, leaving;

    WORLD(world);
    (void) state;
    made(&world, "Makefile");
    going = begin(&world, GUARD_MADE_GONE, "Makefile", NULL);
    made(&world, "Makefile");
    guard_made_settle(world.memory, going, true);
    leaving = begin(&world, GUARD_MADE_MOVE, "Makefile", "m");
    gone(&world, "m");
    made(&world, "Makefile");
    guard_made_settle(world.memory, leaving, true);
    made(&world, "m");
    expect(&world, "Makefile\nm\n! Makefile\n");
}

static void what_came_late_into_a_moved_folder_is_told_as_not_found(void **state)
{
    WORLD(world);
    (void) state;
    world.look = is_missing;
    made(&world, "d");
    moved(&world, "d", "e");
    made(&world, "d/Makefile"); /* the call came before the move */
    expect(&world, "d/Makefile\ne\n!? d/Makefile\n");
}

/* rename(2) says 0 and does nothing when both are the same file. */
static void a_move_that_was_none_is_looked_at(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "Makefile");
    made(&world, "m");
    moved(&world, "Makefile", "m");
    world.look = is_there;
    expect(&world, "m\n! Makefile\n");
    world.look = is_missing;
    expect(&world, "m\n");
}

/* ---- what is told --------------------------------------------------------------------------- */

static void tells_guarded_names_of_deeper_folders_first(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "Makefile");
    made(&world, "a/Makefile");
    made(&world, "a/b/.envrc");
    made(&world, "sub/.git");
    made(&world, "plain");
    note(&world, GUARD_MADE_WRITE, "package.json", NULL);
    expect(&world, "Makefile\na/Makefile\na/b/.envrc\nplain\nsub/.git\n"
                   "!! a/b/.envrc\n! Makefile\n! package.json\n! a/Makefile\n! sub/.git\n");
}

static void tells_of_so_many_and_counts_the_rest(void **state)
{
    WORLD(world);
    (void) state;
    for (unsigned i = 0; i < JOB_TOLD_MAX + 10; i++) {
        char path[32];

        (void) snprintf(path, sizeof path, "%04u/Makefile", i);
        made(&world, path);
    }
    read_from(&world, guard_made_read(world.memory, MEMORY_BYTES));
    assert_int_equal(world.told_total, JOB_TOLD_MAX + 10);
    assert_non_null(strstr(world.text, "! 0255/Makefile"));
    assert_null(strstr(world.text, "! 0256/Makefile"));
}

/* ---- hostile, cut, full --------------------------------------------------------------------- */

static void what_does_not_fit_is_said_to_be_missing(void **state)
{
    struct guard_made_event event = {.kind = GUARD_MADE_NAME, .name = {PEN, "x"}};
    size_t count = 0;

    WORLD(world);
    (void) state;
    while (guard_made_add(world.memory, MEMORY_BYTES, &event) > 0)
        count++;
    assert_true(count > 1000);
    assert_int_equal(guard_made_add(world.memory, MEMORY_BYTES, &event), 0);
    expect(&world, "x\n");
    assert_false(world.complete);
}

static void records_that_are_cut_end_the_list(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "first");
    made(&world, "second");
    for (size_t size = 0;; size++) {
        struct guard_made_reader whole = guard_made_read(world.memory, MEMORY_BYTES);
        struct guard_made_reader cut = whole;
        bool is_edge = size == 0 || size == whole.size / 2 || size == whole.size;

        if (size > whole.size)
            break;
        cut.size = size;
        read_from(&world, cut);
        assert_int_equal(world.complete, is_edge);
        assert_string_equal(world.text, size < whole.size / 2 ? ""
                                        : size < whole.size   ? "first\n"
                                                              : "first\nsecond\n");
    }
}

static void bytes_that_make_no_sense_end_the_list(void **state)
{
    static const struct {
        size_t at;
        unsigned char byte;
    } wrong[] = {{0, 1}, {3, 0x7f}, {4, 0}, {5, 0x80}, {6, 9}, {8, 0},
                 {8, 9}, {9, 0},    {9, 7}, {16, 'x'}, {18, 0}};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        unsigned char copy[4096];
        struct guard_made_reader reader;

        WORLD(world);
        made(&world, "first");
        made(&world, "second");
        reader = guard_made_read(world.memory, MEMORY_BYTES);
        assert_true(reader.size < sizeof copy);
        memcpy(copy, reader.bytes, reader.size);
        copy[reader.size / 2 + wrong[i].at] = wrong[i].byte;
        reader.bytes = copy;
        read_from(&world, reader);
        assert_string_equal(world.text, "first\n");
        assert_false(world.complete);
    }
}

static void paths_that_are_not_clean_are_left_out(void **state)
{
    static const char *const names[] = {"..", ".", "a//b", "a/../b"};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct guard_made_event event = {.kind = GUARD_MADE_NAME, .name = {PEN, names[i]}};

        WORLD(world);
        made(&world, "good");
        guard_made_settle(world.memory, guard_made_add(world.memory, MEMORY_BYTES, &event), true);
        expect(&world, "good\n");
        assert_false(world.complete);
    }
}

static void a_folder_does_not_move_into_itself(void **state)
{
    WORLD(world);
    (void) state;
    made(&world, "a/b");
    note(&world, GUARD_MADE_MOVE, "a", "a/b/c");
    note(&world, GUARD_MADE_SWAP, "a/b", "a");
    expect(&world, "a/b\n");
    assert_false(world.complete);
}

/* Moved one into the other until no path of the system holds it. */
static void what_is_too_deep_is_said_to_be_missing(void **state)
{
    char name[201];

    WORLD(world);
    (void) state;
    memset(name, 'n', 200);
    name[200] = '\0';
    made(&world, name);
    for (unsigned i = 0; i < 40; i++) {
        char to[512];

        (void) snprintf(to, sizeof to, "t/%s", name);
        note(&world, GUARD_MADE_MOVE, name, to);
        note(&world, GUARD_MADE_MOVE, "t", name);
    }
    read_from(&world, guard_made_read(world.memory, MEMORY_BYTES));
    assert_false(world.complete);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_what_stays_in_order),
        cmocka_unit_test(a_folder_takes_along_what_lies_in_it),
        cmocka_unit_test(a_folder_that_was_there_is_one_name),
        cmocka_unit_test(a_file_replaces_another),
        cmocka_unit_test(an_exchange_takes_both_along),
        cmocka_unit_test(names_outside_of_the_pen_are_absolute),
        cmocka_unit_test(what_failed_never_was),
        cmocka_unit_test(what_is_not_known_is_listed),
        cmocka_unit_test(a_name_that_came_after_it_went_is_not_lost),
        cmocka_unit_test(what_came_late_into_a_moved_folder_is_told_as_not_found),
        cmocka_unit_test(a_move_that_was_none_is_looked_at),
        cmocka_unit_test(tells_guarded_names_of_deeper_folders_first),
        cmocka_unit_test(tells_of_so_many_and_counts_the_rest),
        cmocka_unit_test(what_does_not_fit_is_said_to_be_missing),
        cmocka_unit_test(records_that_are_cut_end_the_list),
        cmocka_unit_test(bytes_that_make_no_sense_end_the_list),
        cmocka_unit_test(paths_that_are_not_clean_are_left_out),
        cmocka_unit_test(a_folder_does_not_move_into_itself),
        cmocka_unit_test(what_is_too_deep_is_said_to_be_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
