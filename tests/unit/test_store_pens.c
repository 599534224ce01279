#include "store_folder.h"

/* Texts of a list, each followed by a blank. */
struct seen {
    char text[512];
    int stop_after; /* 0: never */
};

static int see(struct seen *seen, const char *text)
{
    const size_t size = strlen(seen->text);

    (void) snprintf(seen->text + size, sizeof seen->text - size, "%s ", text);
    return seen->stop_after > 0 && --seen->stop_after == 0 ? 7 : 0;
}

static int see_pen(void *context, const struct store_pen *pen)
{
    return see(context, pen->path);
}

static int see_file(void *context, const struct store_file *file)
{
    char text[128];

    (void) snprintf(text, sizeof text, "%s:%d", file->path, (int) file->access);
    return see(context, text);
}

static int see_chat(void *context, const struct store_chat *chat)
{
    char text[128];

    (void) snprintf(text, sizeof text, "%s:%d/%d", chat->name, (int) chat->open_turns,
                    (int) chat->turns);
    return see(context, text);
}

static void saw_pens(struct world *world, const char *expected)
{
    struct seen seen = {0};

    DONE(world, store_pen_each(world->store, see_pen, &seen, &world->err));
    assert_string_equal(seen.text, expected);
}

static void saw_files(struct world *world, const char *pen, const char *expected)
{
    struct seen seen = {0};

    DONE(world, store_file_each(world->store, pen, see_file, &seen, &world->err));
    assert_string_equal(seen.text, expected);
}

static void saw_chats(struct world *world, const char *pen, const char *expected)
{
    struct seen seen = {0};

    DONE(world, store_chat_each(world->store, pen, see_chat, &seen, &world->err));
    assert_string_equal(seen.text, expected);
}

/* ---- pens --------------------------------------------------------------------------------- */

static void a_pen_is_found_by_id_and_by_path(void **state)
{
    struct world *world = *state;
    struct store_pen made = {.path = (char *) (uintptr_t) "/w/a",
                             .name = (char *) (uintptr_t) "first",
                             .dev = UINT64_MAX,
                             .inode = UINT64_MAX - 1};
    const char *keys[] = {made.id, "/w/a"};

    world->now_ms = 77;
    DONE(world, store_pen_add(world->store, &made, &world->err));
    assert_int_equal(strlen(made.id), 10);
    assert_memory_equal(made.id, "p-", 2);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        AUTO(store_pen_free) struct store_pen pen = {0};

        DONE(world, store_pen_find(world->store, keys[i], &pen, &world->err));
        assert_string_equal(pen.id, made.id);
        assert_string_equal(pen.path, "/w/a");
        assert_string_equal(pen.name, "first");
        assert_true(pen.dev == UINT64_MAX && pen.inode == UINT64_MAX - 1);
        assert_int_equal(pen.created_ms, 77);
        assert_int_equal(pen.revision, 0);
    }
}

static void a_path_of_any_bytes_comes_back(void **state)
{
    struct world *world = *state;
    AUTO(store_pen_free) struct store_pen pen = {0};

    (void) add_pen(world, "/w/\xe9 '\"\n;--");
    DONE(world, store_pen_find(world->store, "/w/\xe9 '\"\n;--", &pen, &world->err));
    assert_string_equal(pen.path, "/w/\xe9 '\"\n;--");
}

static void what_is_not_there_is_unknown(void **state)
{
    struct world *world = *state;
    struct store_pen pen = {.path = (char *) (uintptr_t) "/w"};
    struct store_file file = {.path = (char *) (uintptr_t) "/w", .id = "f-x", .pen = "p-x"};
    char id[STORE_ID_SIZE] = "kept";
    struct store *store = world->store;
    struct err *err = &world->err;

    REFUSED(world, store_pen_find(store, "p-x", &pen, err), ENOENT, "store.unknown");
    REFUSED(world, store_pen_find(store, "/x", &pen, err), ENOENT, "store.unknown");
    assert_string_equal(pen.path, "/w");
    REFUSED(world, store_pen_rebind(store, "p-x", &pen, err), ENOENT, "store.unknown");
    REFUSED(world, store_pen_remove(store, "p-x", err), ENOENT, "store.unknown");
    REFUSED(world, store_file_add(store, &file, err), ENOENT, "store.unknown");
    REFUSED(world, store_file_edit(store, &file, err), ENOENT, "store.unknown");
    REFUSED(world, store_file_remove(store, "p-x", "f-x", err), ENOENT, "store.unknown");
    REFUSED(world, store_chat_get(store, "p-x", "default", id, err), ENOENT, "store.unknown");
    REFUSED(world, store_chat_move(store, "c-x", "p-x", err), ENOENT, "store.unknown");
    REFUSED(world, store_chat_delete(store, "c-x", err), ENOENT, "store.unknown");
    REFUSED(world, store_turn_begin(store, "c-x", id, err), ENOENT, "store.unknown");
    REFUSED(world, store_turn_end(store, "t-x", "over", err), ENOENT, "store.unknown");
    assert_string_equal(id, "kept");
    assert_string_equal(file.id, "f-x");
}

static void refuses_what_is_no_path_or_too_long(void **state)
{
    struct world *world = *state;
    static char path[5000], name[400];
    const char *bad[] = {NULL, "", "w", "/w/", "/w/../x", "//w", path};
    struct store_pen pen = {.path = (char *) (uintptr_t) "/w", .name = name};

    memset(path, 'x', sizeof path - 1);
    path[0] = '/';
    memset(name, 'x', sizeof name - 1);
    REFUSED(world, store_pen_add(world->store, &pen, &world->err), EINVAL, "store.text");
    pen.name = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        pen.path = (char *) (uintptr_t) bad[i];
        REFUSED(world, store_pen_add(world->store, &pen, &world->err), EINVAL, "store.text");
        assert_null(strstr(world->err.what, "nothing was saved"));
    }
    saw_pens(world, "");
}

static void a_folder_is_one_pen(void **state)
{
    struct world *world = *state;
    struct store_pen again = {.path = (char *) (uintptr_t) "/w/a"};
    const struct store_pen other = add_pen(world, "/w/a");
    const struct store_pen pen = add_pen(world, "/w/b");

    REFUSED(world, store_pen_add(world->store, &again, &world->err), EEXIST, "store.exists");
    assert_string_equal(again.id, "");
    REFUSED(world, store_pen_rebind(world->store, pen.id, &other, &world->err), EEXIST,
            "store.exists");
    saw_pens(world, "/w/a /w/b ");
}

static void a_list_ends_where_its_callback_says(void **state)
{
    struct world *world = *state;
    struct seen seen = {.stop_after = 2};

    (void) add_pen(world, "/w/c");
    (void) add_pen(world, "/w/b");
    (void) add_pen(world, "/w/a");
    assert_int_equal(store_pen_each(world->store, see_pen, &seen, &world->err), 7);
    assert_string_equal(seen.text, "/w/c /w/b ");
}

static int list_again_and_add(void *context, const struct store_pen *pen)
{
    struct world *world = context;
    char path[64];

    saw_pens(world, world->now_ms == 0 ? "/w/a /w/b " : "/w/a /w/b /w/a-more ");
    world->now_ms++;
    (void) snprintf(path, sizeof path, "%s-more", pen->path);
    (void) add_pen(world, path);
    return world->now_ms == 2 ? 1 : 0;
}

static void a_callback_may_list_and_change(void **state)
{
    struct world *world = *state;

    (void) add_pen(world, "/w/a");
    (void) add_pen(world, "/w/b");
    world->now_ms = 0;
    assert_int_equal(store_pen_each(world->store, list_again_and_add, world, &world->err), 1);
    saw_pens(world, "/w/a /w/b /w/a-more /w/b-more ");
}

static void another_folder_clears_the_grants_of_the_pen(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_pen other = add_pen(world, "/w/other");
    const struct store_pen to = {.path = (char *) (uintptr_t) "/w/b", .dev = 8, .inode = 9};
    AUTO(store_pen_free) struct store_pen found = {0};
    char chat[STORE_ID_SIZE];

    get_chat(world, pen.id, "default", chat);
    (void) put_grant(world, pen.id, NULL, "/bin/a");
    (void) put_grant(world, pen.id, chat, "/bin/a");
    (void) put_grant(world, other.id, NULL, "/bin/a");
    DONE(world, store_pen_rebind(world->store, pen.id, &to, &world->err));
    DONE(world, store_pen_find(world->store, pen.id, &found, &world->err));
    assert_string_equal(found.path, "/w/b");
    assert_int_equal(found.dev, 8);
    assert_int_equal(found.inode, 9);
    assert_int_equal(found.revision, 3);
    assert_int_equal(number_of(world, "SELECT count(*) FROM grants"), 1);
    assert_int_equal(revision_of(world, other.id), 1);
    saw_chats(world, pen.id, "default:0/0 ");
}

static void removing_a_pen_leaves_records_of_jobs_only(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_file file = {.path = (char *) (uintptr_t) "/data"};
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];

    memcpy(file.pen, pen.id, sizeof file.pen);
    get_chat(world, pen.id, "default", chat);
    (void) put_grant(world, pen.id, NULL, "/bin/a");
    (void) put_grant(world, pen.id, chat, "/bin/a");
    (void) add_job(world, pen.id, chat, STORE_JOB_EXITED);
    DONE(world, store_file_add(world->store, &file, &world->err));
    DONE(world, store_turn_begin(world->store, chat, turn, &world->err));
    DONE(world, store_pen_remove(world->store, pen.id, &world->err));
    assert_int_equal(number_of(world, "SELECT (SELECT count(*) FROM pens)"
                                      " + (SELECT count(*) FROM chats)"
                                      " + (SELECT count(*) FROM turns)"
                                      " + (SELECT count(*) FROM files)"
                                      " + (SELECT count(*) FROM grants)"),
                     0);
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs"), 1);
    DONE(world, store_check(world->store, &world->err));
}

/* ---- the owner's extra files -------------------------------------------------------------- */

static void files_are_of_their_pen(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_pen other = add_pen(world, "/w/b");
    struct store_file file = {.path = (char *) (uintptr_t) "/data", .access = STORE_READ};
    struct store_file more = {.path = (char *) (uintptr_t) "/run/s", .access = STORE_UNIX};

    memcpy(file.pen, pen.id, sizeof file.pen);
    memcpy(more.pen, pen.id, sizeof more.pen);
    DONE(world, store_file_add(world->store, &file, &world->err));
    assert_memory_equal(file.id, "f-", 2);
    REFUSED(world, store_file_add(world->store, &file, &world->err), EEXIST, "store.exists");
    DONE(world, store_file_add(world->store, &more, &world->err));
    saw_files(world, pen.id, "/data:0 /run/s:3 ");
    saw_files(world, other.id, "");

    file.access = STORE_HIDE;
    DONE(world, store_file_edit(world->store, &file, &world->err));
    file.path = (char *) (uintptr_t) "/run/s";
    REFUSED(world, store_file_edit(world->store, &file, &world->err), EEXIST, "store.exists");
    file.path = (char *) (uintptr_t) "run/s";
    REFUSED(world, store_file_edit(world->store, &file, &world->err), EINVAL, "store.text");
    file.path = (char *) (uintptr_t) "/new";
    memcpy(file.pen, other.id, sizeof file.pen);
    REFUSED(world, store_file_edit(world->store, &file, &world->err), ENOENT, "store.unknown");
    REFUSED(world, store_file_remove(world->store, other.id, file.id, &world->err), ENOENT,
            "store.unknown");
    saw_files(world, pen.id, "/data:2 /run/s:3 ");
    DONE(world, store_file_remove(world->store, pen.id, file.id, &world->err));
    saw_files(world, pen.id, "/run/s:3 ");
    assert_int_equal(revision_of(world, pen.id), 0); /* no grant was changed */
}

/* ---- chats and turns ---------------------------------------------------------------------- */

static void a_chat_is_made_once_a_name_and_pen(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_pen other = add_pen(world, "/w/b");
    char chat[STORE_ID_SIZE], same[STORE_ID_SIZE], elsewhere[STORE_ID_SIZE];

    get_chat(world, pen.id, "default", chat);
    get_chat(world, pen.id, "default", same);
    get_chat(world, other.id, "default", elsewhere);
    assert_string_equal(chat, same);
    assert_string_not_equal(chat, elsewhere);
    saw_chats(world, pen.id, "default:0/0 ");
    saw_chats(world, NULL, "default:0/0 default:0/0 ");
}

static void turns_are_counted_and_the_first_end_is_kept(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];

    get_chat(world, pen.id, "default", chat);
    DONE(world, store_turn_begin(world->store, chat, turn, &world->err));
    DONE(world, store_turn_begin(world->store, chat, turn, &world->err));
    saw_chats(world, pen.id, "default:2/2 ");
    world->now_ms = 5;
    DONE(world, store_turn_end(world->store, turn, "left", &world->err));
    world->now_ms = 6;
    DONE(world, store_turn_end(world->store, turn, "again", &world->err));
    saw_chats(world, pen.id, "default:1/2 ");
    assert_int_equal(
        number_of(world, "SELECT count(*) FROM turns WHERE why = 'left' AND ended_ms = 5"), 1);
}

static void begin_and_end(struct world *world, const char *chat, char ret_turn[STORE_ID_SIZE])
{
    DONE(world, store_turn_begin(world->store, chat, ret_turn, &world->err));
    DONE(world, store_turn_end(world->store, ret_turn, "the host was ended", &world->err));
}

static bool is_closed(struct world *world, const char *turn)
{
    const int r = store_turn_is_closed(world->store, turn, &world->err);

    assert_in_range(r, 0, 1);
    return r == 1;
}

static void what_the_owner_ends_is_closed(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a"), other = add_pen(world, "/w/b");
    const struct store_pen to = {.path = (char *) (uintptr_t) "/w/c", .dev = 1, .inode = 9};
    char chat[STORE_ID_SIZE], beside[STORE_ID_SIZE], away[STORE_ID_SIZE];
    char first[STORE_ID_SIZE], second[STORE_ID_SIZE], third[STORE_ID_SIZE], last[STORE_ID_SIZE];

    get_chat(world, pen.id, "mine", chat);
    get_chat(world, pen.id, "beside", beside);
    get_chat(world, other.id, "away", away);
    begin_and_end(world, chat, first);
    begin_and_end(world, beside, second);
    begin_and_end(world, away, third);
    assert_false(is_closed(world, first)); /* an end alone closes nothing */

    DONE(world, store_turns_close(world->store, chat, &world->err));
    DONE(world, store_turns_close(world->store, chat, &world->err)); /* and no second row */
    REFUSED(world, store_turns_close(world->store, "c-x", &world->err), ENOENT, "store.unknown");
    assert_int_equal(number_of(world, "SELECT count(*) FROM log WHERE kind = 'turn.close'"), 1);
    assert_true(is_closed(world, first));
    assert_false(is_closed(world, second));
    begin_and_end(world, chat, last);
    assert_false(is_closed(world, last)); /* a new one */

    DONE(world, store_pen_rebind(world->store, pen.id, &to, &world->err));
    assert_true(is_closed(world, second) && is_closed(world, last));
    assert_false(is_closed(world, third));
    DONE(world, store_chat_move(world->store, away, pen.id, &world->err));
    assert_true(is_closed(world, third));
    begin_and_end(world, beside, last);
    assert_false(is_closed(world, last));
    DONE(world, store_chat_delete(world->store, beside, &world->err));
    assert_true(is_closed(world, last));
}

static void moving_a_chat_clears_its_grants(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_pen other = add_pen(world, "/w/b");
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE], same[STORE_ID_SIZE];
    struct store *store = world->store;

    get_chat(world, pen.id, "mine", chat);
    (void) put_grant(world, pen.id, chat, "/bin/a");
    (void) put_grant(world, pen.id, NULL, "/bin/b");
    DONE(world, store_chat_move(store, chat, pen.id, &world->err)); /* it is there: nothing */
    assert_int_equal(revision_of(world, pen.id), 2);
    REFUSED(world, store_chat_move(store, chat, "p-x", &world->err), ENOENT, "store.unknown");
    DONE(world, store_turn_begin(store, chat, turn, &world->err));
    REFUSED(world, store_chat_move(store, chat, other.id, &world->err), EBUSY, "store.turn-open");
    DONE(world, store_turn_end(store, turn, "over", &world->err));
    assert_int_equal(number_of(world, "SELECT count(*) FROM grants"), 2);

    DONE(world, store_chat_move(store, chat, other.id, &world->err));
    saw_chats(world, other.id, "mine:0/1 ");
    assert_int_equal(number_of(world, "SELECT count(*) FROM grants"), 1);
    assert_int_equal(revision_of(world, pen.id), 3);
    get_chat(world, pen.id, "mine", same);
    REFUSED(world, store_chat_move(store, same, other.id, &world->err), EEXIST, "store.exists");
}

static void deleting_a_chat_clears_its_grants(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];

    get_chat(world, pen.id, "mine", chat);
    (void) put_grant(world, pen.id, chat, "/bin/a");
    (void) put_grant(world, pen.id, NULL, "/bin/b");
    DONE(world, store_turn_begin(world->store, chat, turn, &world->err));
    REFUSED(world, store_chat_delete(world->store, chat, &world->err), EBUSY, "store.turn-open");
    DONE(world, store_turn_end(world->store, turn, "over", &world->err));
    DONE(world, store_chat_delete(world->store, chat, &world->err));
    assert_int_equal(number_of(world, "SELECT count(*) FROM grants"), 1);
    assert_int_equal(number_of(world, "SELECT count(*) FROM turns"), 0);
    assert_int_equal(revision_of(world, pen.id), 3);
}

static void ids_are_unlike(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];

    get_chat(world, pen.id, "default", chat);
    execute(world, "PRAGMA synchronous = OFF");
    for (int i = 0; i < 2000; i++)
        DONE(world, store_turn_begin(world->store, chat, turn, &world->err));
    assert_int_equal(number_of(world, "SELECT count(DISTINCT id) FROM turns"), 2000);
    assert_int_equal(number_of(world, "SELECT count(*) FROM turns WHERE id GLOB"
                                      " 't-[a-z2-9][a-z2-9][a-z2-9][a-z2-9]*'"
                                      " AND length(id) = 10"),
                     2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_pen_is_found_by_id_and_by_path),
        WITH_STORE(a_path_of_any_bytes_comes_back),
        WITH_STORE(what_is_not_there_is_unknown),
        WITH_STORE(refuses_what_is_no_path_or_too_long),
        WITH_STORE(a_folder_is_one_pen),
        WITH_STORE(a_list_ends_where_its_callback_says),
        WITH_STORE(a_callback_may_list_and_change),
        WITH_STORE(another_folder_clears_the_grants_of_the_pen),
        WITH_STORE(removing_a_pen_leaves_records_of_jobs_only),
        WITH_STORE(files_are_of_their_pen),
        WITH_STORE(a_chat_is_made_once_a_name_and_pen),
        WITH_STORE(turns_are_counted_and_the_first_end_is_kept),
        WITH_STORE(what_the_owner_ends_is_closed),
        WITH_STORE(moving_a_chat_clears_its_grants),
        WITH_STORE(deleting_a_chat_clears_its_grants),
        WITH_STORE(ids_are_unlike),
    };

    return RUN_STORE_TESTS(tests);
}
