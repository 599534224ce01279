#include "store_folder.h"

#include <signal.h>
#include <sys/resource.h>

static void make_state(const struct world *world)
{
    assert_int_equal(mkdir(world->state, 0700), 0);
}

static void write_file(const char *path, const void *bytes, size_t size, unsigned at)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, at), (ssize_t) size);
}

/* A file made by SQL, as another wattle would have left it. */
static void make_database(const struct world *world, const char *text)
{
    sqlite3 *db = NULL;
    char *message = NULL;

    make_state(world);
    assert_int_equal(sqlite3_open(world->file, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(chmod(world->file, 0600), 0);
}

static int try_open(struct world *world)
{
    return store_open(world->state, &world->store, &world->err);
}

static bool exists(const struct world *world, const char *name)
{
    AUTO_FREE char *path = path_join(world->state, name);

    return access(path, F_OK) == 0;
}

/* ---- a new one ---------------------------------------------------------------------------- */

static void a_new_store_is_the_owners_alone(void **state)
{
    static const char *const names[] = {"", STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};
    struct world *world = *state;
    const mode_t mask = umask(0);

    open_store(world);
    (void) add_pen(world, "/w/a");
    (void) umask(mask);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTO_FREE char *path = path_join(world->state, names[i]);
        struct stat seen;

        assert_int_equal(stat(path, &seen), 0);
        assert_int_equal(seen.st_mode & 077, 0);
    }
    assert_false(exists(world, STORE_FILE ".v0")); /* nothing to keep of a new one */
}

static void the_settings_are_in_force(void **state)
{
    struct world *world = *state;
    char *message = NULL;

    open_store(world);
    assert_int_equal(number_of(world, "PRAGMA user_version"), store_schema.version);
    assert_int_equal(number_of(world, "PRAGMA synchronous"), 2);
    assert_int_equal(number_of(world, "PRAGMA foreign_keys"), 1);
    assert_int_equal(number_of(world, "PRAGMA trusted_schema"), 0);
    assert_int_equal(
        number_of(world, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
    execute(world, "PRAGMA writable_schema = ON"); /* is nothing in defensive mode */
    assert_int_not_equal(
        sqlite3_exec(world->store->db, "DELETE FROM sqlite_schema", NULL, NULL, &message),
        SQLITE_OK);
    sqlite3_free(message);
    assert_int_equal(sqlite3_exec(world->store->db, "ATTACH ':memory:' AS other", NULL, NULL, NULL),
                     SQLITE_ERROR);
}

static void what_was_saved_is_there_at_the_next_open(void **state)
{
    struct world *world = *state;
    AUTO(store_pen_free) struct store_pen found = {0};
    struct store_pen pen;

    open_store(world);
    pen = add_pen(world, "/w/a");
    store_freep(&world->store);
    open_store(world);
    DONE(world, store_pen_find(world->store, pen.id, &found, &world->err));
    DONE(world, store_check(world->store, &world->err));
}

static void an_empty_file_is_a_new_store(void **state)
{
    struct world *world = *state;

    make_state(world);
    write_file(world->file, "", 0, 0);
    open_store(world);
    (void) add_pen(world, "/w/a");
}

/* ---- older and newer ones ----------------------------------------------------------------- */

static char *read_text(const char *path)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = calloc(1, 65536);

    assert_true(fd >= 0);
    assert_true(read(fd, text, 65535) > 0);
    return text;
}

static int count_grant(void *context, const struct store_grant *grant)
{
    *(int *) context += *grant->executable.path == '\0' ? 100 : 1;
    return 0;
}

static int count_job(void *context, const struct store_job *job)
{
    *(int *) context += job->state == STORE_JOB_TIMED_OUT && job->head.size == 3 ? 1 : 100;
    return 0;
}

/* Rows, and the tables as released: an edit of a step that exists fails here. */
static void read_file_of(struct world *world, const char *path)
{
    AUTO_FREE char *text = read_text(path);
    AUTO(store_pen_free) struct store_pen pen = {0};
    int grants = 0, jobs = 0;
    const struct store_job_wish all = {.state = -1};

    make_database(world, text);
    open_store(world);
    assert_int_equal(number_of(world, "PRAGMA user_version"), store_schema.version);
    DONE(world, store_check(world->store, &world->err));
    DONE(world, store_pen_find(world->store, "/home/me/thing", &pen, &world->err));
    assert_int_equal(pen.revision, 3);
    DONE(world, store_grant_each(world->store, pen.id, count_grant, &grants, &world->err));
    assert_int_equal(grants, 101);
    DONE(world, store_job_each(world->store, &all, count_job, &jobs, &world->err));
    assert_int_equal(jobs, 1);
}

static const char *const released[] = {STORE_DATA "/store_v1.sql", STORE_DATA "/store_v2.sql",
                                       STORE_DATA "/store_v3.sql", STORE_DATA "/store_v4.sql"};

/* For the next one. */
static void forget_store(struct world *world)
{
    AUTO_CLOSE int fd = open(world->top, O_PATH | O_DIRECTORY | O_CLOEXEC);

    store_freep(&world->store);
    assert_int_equal(tree_remove(fd, path_base(world->state), NULL), 0);
}

static void files_of_all_versions_are_read(void **state)
{
    assert_int_equal(ARRAY_SIZE(released), store_schema.version);
    for (size_t i = 0; i < ARRAY_SIZE(released); i++) {
        read_file_of(*state, released[i]);
        forget_store(*state);
    }
}

/* Joined, so that one number tells whether two files have the same tables. */
static const char *const schema_text = "SELECT group_concat(sql, ';') FROM"
                                       " (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
                                       " ORDER BY name)";

static char *schema_of(struct world *world)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;

    assert_int_equal(sqlite3_prepare_v2(world->store->db, schema_text, -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    text = strdup((const char *) sqlite3_column_text(statement, 0));
    (void) sqlite3_finalize(statement);
    return text;
}

static void an_older_file_gets_the_tables_of_a_new_one(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *new = NULL;

    open_store(world);
    new = schema_of(world);
    for (size_t i = 0; i < ARRAY_SIZE(released); i++) {
        AUTO_FREE char *text = read_text(released[i]);
        AUTO_FREE char *old = NULL;

        forget_store(world);
        make_database(world, text);
        open_store(world);
        old = schema_of(world);
        assert_string_equal(old, new);
    }
}

static int open_as(struct world *world, const char *step)
{
    const char *steps[16] = {NULL};
    const struct store_schema next = {steps, store_schema.version + 1};

    assert_true((size_t) next.version < ARRAY_SIZE(steps));
    for (int i = 0; i < store_schema.version; i++)
        steps[i] = store_schema.steps[i];
    steps[store_schema.version] = step;

    return store_open_schema(world->state, &next, &world->store, &world->err);
}

static void an_update_leaves_a_copy_beside(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *copy = NULL;
    char name[32];
    struct stat seen;

    (void) snprintf(name, sizeof name, STORE_FILE ".v%d", store_schema.version);
    copy = path_join(world->state, name);

    open_store(world);
    (void) add_pen(world, "/w/a");
    store_freep(&world->store);
    DONE(world, open_as(world, "ALTER TABLE pens ADD COLUMN colour TEXT"));
    assert_int_equal(number_of(world, "PRAGMA user_version"), store_schema.version + 1);
    assert_int_equal(number_of(world, "SELECT count(*) FROM pens WHERE colour IS NULL"), 1);
    store_freep(&world->store);

    assert_int_equal(stat(copy, &seen), 0);
    assert_int_equal(seen.st_mode & 0777, 0600);
    REFUSED(world, try_open(world), ENOTSUP, "store.newer");
    assert_non_null(strstr(world->err.hint, name));
    assert_null(world->store);
    assert_int_equal(rename(copy, world->file), 0); /* the way back that the hint tells */
    open_store(world);
    DONE(world, store_check(world->store, &world->err));
    assert_int_equal(number_of(world, "SELECT count(*) FROM pens"), 1);
}

static void an_update_that_fails_changes_nothing(void **state)
{
    struct world *world = *state;

    open_store(world);
    (void) add_pen(world, "/w/a");
    store_freep(&world->store);
    REFUSED(world, open_as(world, "DELETE FROM pens; INSERT INTO nowhere VALUES (1)"), EIO,
            "store.broken");
    assert_memory_equal(world->err.what, "nothing was saved", 17);
    assert_false(exists(world, STORE_FILE ".copy"));
    open_store(world);
    assert_int_equal(number_of(world, "PRAGMA user_version"), store_schema.version);
    assert_int_equal(number_of(world, "SELECT count(*) FROM pens"), 1);
}

static void a_newer_file_is_refused_and_left_alone(void **state)
{
    struct world *world = *state;
    struct stat before, after;

    make_database(world, "PRAGMA application_id = 0x77746c65; PRAGMA user_version = 9000;"
                         "CREATE TABLE future (x)");
    assert_int_equal(stat(world->file, &before), 0);
    REFUSED(world, try_open(world), ENOTSUP, "store.newer");
    assert_int_equal(stat(world->file, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    assert_false(exists(world, STORE_FILE "-wal"));
}

static void a_database_of_something_else_is_refused(void **state)
{
    struct world *world = *state;

    make_database(world, "CREATE TABLE bookmarks (url TEXT)");
    REFUSED(world, try_open(world), EIO, "store.broken");
    assert_non_null(strstr(world->err.what, "something else"));
}

/* ---- where it may lie --------------------------------------------------------------------- */

static void network_file_systems_are_known(void **state)
{
    (void) state;
    assert_string_equal(place_network_name(0x6969), "NFS");
    assert_string_equal(place_network_name(0xff534d42), "CIFS");
    assert_string_equal(place_network_name(0xfe534d42), "SMB");
    assert_string_equal(place_network_name(0x01021997), "9p");
    assert_string_equal(place_network_name(0x65735546), "FUSE");
    assert_null(place_network_name(0xef53));     /* ext4 */
    assert_null(place_network_name(0x9123683e)); /* btrfs */
    assert_null(place_network_name(0x01021994)); /* tmpfs */
}

static void what_others_can_write_is_refused(void **state)
{
    static const char *const names[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};
    struct world *world = *state;

    open_store(world);
    store_freep(&world->store);
    assert_int_equal(chmod(world->state, 0770), 0);
    REFUSED(world, try_open(world), EPERM, "store.foreign");
    assert_int_equal(chmod(world->state, 0755), 0);
    open_store(world);
    store_freep(&world->store);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTO_FREE char *path = path_join(world->state, names[i]);

        write_file(path, "", 0, 0);
        assert_int_equal(chmod(path, 0602), 0);
        REFUSED(world, try_open(world), EPERM, "store.foreign");
        assert_int_equal(chmod(path, 0600), 0);
    }
    open_store(world);
}

static void another_owner_is_refused(void **state)
{
    struct world *world = *state;

    if (geteuid() != 0)
        SKIP_TEST("for root");
    make_state(world);
    assert_int_equal(chown(world->state, 65534, 65534), 0);
    REFUSED(world, try_open(world), EPERM, "store.foreign");
    assert_int_equal(chown(world->state, 0, 0), 0);
    write_file(world->file, "", 0, 0);
    assert_int_equal(chown(world->file, 65534, 65534), 0);
    REFUSED(world, try_open(world), EPERM, "store.foreign");
}

static void links_in_its_place_are_refused(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *elsewhere = path_join(world->top, "elsewhere");
    AUTO_FREE char *folder = path_join(world->top, "folder");

    make_state(world);
    write_file(elsewhere, "", 0, 0);
    assert_int_equal(symlink(elsewhere, world->file), 0);
    REFUSED(world, try_open(world), EPERM, "store.foreign");
    assert_int_equal(unlink(world->file), 0);
    assert_int_equal(link(elsewhere, world->file), 0);
    REFUSED(world, try_open(world), EPERM, "store.foreign");
    assert_int_equal(unlink(world->file), 0);
    assert_int_equal(rename(world->state, folder), 0);
    assert_int_equal(symlink(folder, world->state), 0);
    REFUSED(world, try_open(world), ELOOP, "store.place");
    assert_int_equal(unlink(world->state), 0);
    write_file(world->state, "", 0, 0);
    REFUSED(world, try_open(world), ENOTDIR, "store.place");
    REFUSED(world, store_open("state", &world->store, &world->err), EINVAL, "store.text");
    assert_null(world->store);
}

/* ---- what cannot be saved ----------------------------------------------------------------- */

static void saves_nothing(struct world *world, int code, const char *id)
{
    static const char path[] = "/w/refused";
    struct store_pen pen = {.path = (char *) (uintptr_t) path};

    REFUSED(world, store_pen_add(world->store, &pen, &world->err), code, id);
    if (strncmp(world->err.what, "nothing was saved", 17) != 0)
        fail_msg("%s", world->err.what);
    assert_string_not_equal(world->err.hint, "");
    assert_string_equal(pen.id, "");
    assert_int_equal(number_of(world, "SELECT count(*) FROM pens WHERE path = '/w/refused'"), 0);
}

static void a_read_only_folder_is_told(void **state)
{
    struct world *world = *state;
    const bool is_root = geteuid() == 0;

    make_state(world);
    assert_int_equal(chmod(world->top, 0755), 0);
    if (is_root) { /* who can write everywhere */
        assert_int_equal(chown(world->state, 65534, 65534), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    open_store(world);
    (void) add_pen(world, "/w/a");
    store_freep(&world->store);
    assert_int_equal(chmod(world->state, 0500), 0);
    REFUSED(world, try_open(world), EROFS, "store.readonly"); /* no room for the log beside it */
    assert_non_null(strstr(world->err.hint, "XDG_STATE_HOME"));
    assert_int_equal(chmod(world->state, 0700), 0);
    assert_int_equal(chmod(world->file, 0400), 0);
    REFUSED(world, try_open(world), EROFS, "store.readonly");
    assert_int_equal(unlink(world->file), 0);
    assert_int_equal(chmod(world->state, 0500), 0);
    REFUSED(world, try_open(world), EACCES, "store.readonly"); /* and a new one */
    assert_int_equal(chmod(world->state, 0700), 0);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
}

static void a_locked_file_is_told_and_still_read(void **state)
{
    struct world *world = *state;
    AUTO(store_pen_free) struct store_pen found = {0};
    sqlite3 *other = NULL;
    struct store_pen pen;

    open_store(world);
    pen = add_pen(world, "/w/a");
    assert_int_equal(sqlite3_open(world->file, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    saves_nothing(world, EBUSY, "store.locked");
    DONE(world, store_pen_find(world->store, pen.id, &found, &world->err));
    assert_int_equal(sqlite3_close(other), SQLITE_OK); /* which gives it up */
    (void) add_pen(world, "/w/b");
}

static void fill(struct world *world, int code, const char *id)
{
    static char body[64 * 1024];
    const struct store_row row = {.kind = "filler", .body = body};
    uint64_t rows = 0;
    int r = 0;

    memset(body, 'x', sizeof body - 1);
    for (int i = 0; i < 1000 && r == 0; i++) {
        rows = number_of(world, "SELECT count(*) FROM log");
        world->err = (struct err){0};
        r = store_log_add(world->store, &row, &world->err);
    }
    assert_int_equal(r, -code);
    assert_string_equal(world->err.id, id);
    assert_memory_equal(world->err.what, "nothing was saved", 17);
    assert_int_equal(number_of(world, "SELECT count(*) FROM log"), rows);
    DONE(world, store_check(world->store, &world->err));
}

static void a_full_file_is_told_and_goes_on_later(void **state)
{
    struct world *world = *state;

    open_store(world);
    execute(world, "PRAGMA max_page_count = 200");
    fill(world, ENOSPC, "store.full");
    execute(world, "PRAGMA max_page_count = 4000");
    (void) add_pen(world, "/w/a");
    DONE(world, store_check(world->store, &world->err));
}

/* The write itself fails, as it does on a full disk or beyond a quota. */
static void a_full_disk_is_told_and_goes_on_later(void **state)
{
    struct world *world = *state;
    struct rlimit before, small;

    open_store(world);
    (void) signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1024ul * 1024;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill(world, ENOSPC, "store.full");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void) signal(SIGXFSZ, SIG_DFL);
    (void) add_pen(world, "/w/a");
    store_freep(&world->store);
    open_store(world);
    DONE(world, store_check(world->store, &world->err));
    assert_int_equal(number_of(world, "SELECT count(*) FROM pens"), 1);
}

/* ---- damage ------------------------------------------------------------------------------- */

static void a_file_that_is_no_database_is_refused(void **state)
{
    static const char junk[] = "this is a text and not what was expected here";
    struct world *world = *state;

    make_state(world);
    for (unsigned i = 0; i < 40; i++)
        write_file(world->file, junk, sizeof junk, i * (unsigned) sizeof junk);
    REFUSED(world, try_open(world), EIO, "store.broken");
    assert_null(world->store);
    assert_non_null(strstr(world->err.hint, "copy"));
}

static void a_damaged_page_is_found(void **state)
{
    struct world *world = *state;
    char junk[512];

    memset(junk, 0x5a, sizeof junk);
    open_store(world);
    (void) add_pen(world, "/w/a");
    store_freep(&world->store);
    write_file(world->file, junk, sizeof junk, 4096); /* the second page: a table's root */
    open_store(world);
    REFUSED(world, store_check(world->store, &world->err), EIO, "store.broken");
}

/* ---- read whole, from outside -----------------------------------------------------------------
 */

static void a_store_that_is_open_can_be_checked(void **state)
{
    struct world *world = *state;

    REFUSED(world, store_check_place(world->state, &world->err), ENOENT, "store.unknown");
    assert_int_equal(access(world->state, F_OK), -1); /* and nothing is made */
    open_store(world);
    (void) add_pen(world, "/w/a");
    DONE(world, store_check_place(world->state, &world->err));
    execute(world, "UPDATE log SET body = '[]'");
    REFUSED(world, store_check_place(world->state, &world->err), EIO, "store.broken");
    assert_non_null(strstr(world->err.what, "of the log"));
    (void) add_pen(world, "/w/b"); /* it goes on */
}

static void an_older_store_is_checked_and_stays_as_it_is(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *text = read_text(STORE_DATA "/store_v1.sql");
    AUTO_FREE char *copy = path_join(world->state, STORE_FILE ".v1");

    make_database(world, text);
    DONE(world, store_check_place(world->state, &world->err));
    assert_int_equal(access(copy, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITHOUT_STORE(a_new_store_is_the_owners_alone),
        WITHOUT_STORE(the_settings_are_in_force),
        WITHOUT_STORE(what_was_saved_is_there_at_the_next_open),
        WITHOUT_STORE(an_empty_file_is_a_new_store),
        WITHOUT_STORE(a_store_that_is_open_can_be_checked),
        WITHOUT_STORE(an_older_store_is_checked_and_stays_as_it_is),
        WITHOUT_STORE(files_of_all_versions_are_read),
        WITHOUT_STORE(an_older_file_gets_the_tables_of_a_new_one),
        WITHOUT_STORE(an_update_leaves_a_copy_beside),
        WITHOUT_STORE(an_update_that_fails_changes_nothing),
        WITHOUT_STORE(a_newer_file_is_refused_and_left_alone),
        WITHOUT_STORE(a_database_of_something_else_is_refused),
        WITHOUT_STORE(network_file_systems_are_known),
        WITHOUT_STORE(what_others_can_write_is_refused),
        WITHOUT_STORE(another_owner_is_refused),
        WITHOUT_STORE(links_in_its_place_are_refused),
        WITHOUT_STORE(a_read_only_folder_is_told),
        WITHOUT_STORE(a_locked_file_is_told_and_still_read),
        WITHOUT_STORE(a_full_file_is_told_and_goes_on_later),
        WITHOUT_STORE(a_full_disk_is_told_and_goes_on_later),
        WITHOUT_STORE(a_file_that_is_no_database_is_refused),
        WITHOUT_STORE(a_damaged_page_is_found),
    };

    return RUN_STORE_TESTS(tests);
}
