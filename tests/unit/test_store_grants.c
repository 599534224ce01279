#include "store_folder.h"

struct grants {
    struct store_grant items[8];
    char paths[8][64];
    size_t count;
};

static int collect(void *context, const struct store_grant *grant)
{
    struct grants *grants = context;

    assert_true(grants->count < ARRAY_SIZE(grants->items));
    (void) snprintf(grants->paths[grants->count], sizeof grants->paths[0], "%s",
                    grant->executable.path);
    grants->items[grants->count] = *grant;
    grants->items[grants->count].executable.path = grants->paths[grants->count];
    grants->count++;
    return 0;
}

static struct grants list(struct world *world, const char *pen)
{
    struct grants grants = {0};

    DONE(world, store_grant_each(world->store, pen, collect, &grants, &world->err));
    return grants;
}

static size_t matches(struct world *world, const struct store_call *call)
{
    struct grants grants = {0};

    DONE(world, store_grant_match(world->store, call, collect, &grants, &world->err));
    return grants.count;
}

static int put(struct world *world, struct store_grant *grant, uint64_t revision)
{
    return store_grant_put(world->store, grant, revision, &world->err);
}

/* ---- what is kept ------------------------------------------------------------------------- */

static void a_grant_comes_back_as_it_was_put(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_grant grant = grant_of(pen.id, NULL, "/usr/bin/make");
    struct grants grants;

    grant.executable.dev = UINT64_MAX;
    grant.executable.inode = UINT64_MAX - 1;
    grant.executable.size_bytes = UINT64_C(1) << 40;
    grant.executable.mtime_ns = -5;
    grant.executable.ctime_ns = INT64_MAX;
    memset(grant.executable.content, 'c', STORE_CONTENT_SIZE - 1);
    grant.network = true;
    world->now_ms = 42;
    DONE(world, put(world, &grant, 0));
    assert_memory_equal(grant.id, "g-", 2);
    assert_int_equal(grant.created_ms, 42);

    grants = list(world, pen.id);
    assert_int_equal(grants.count, 1);
    assert_string_equal(grants.items[0].id, grant.id);
    assert_string_equal(grants.items[0].pen, pen.id);
    assert_string_equal(grants.items[0].chat, "");
    assert_string_equal(grants.items[0].executable.path, "/usr/bin/make");
    assert_true(grants.items[0].executable.dev == UINT64_MAX);
    assert_true(grants.items[0].executable.inode == UINT64_MAX - 1);
    assert_true(grants.items[0].executable.size_bytes == UINT64_C(1) << 40);
    assert_true(grants.items[0].executable.mtime_ns == -5);
    assert_true(grants.items[0].executable.ctime_ns == INT64_MAX);
    assert_string_equal(grants.items[0].executable.content, grant.executable.content);
    assert_true(grants.items[0].network);
    assert_int_equal(grants.items[0].created_ms, 42);
}

static void uses_are_counted_and_are_no_change(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_grant grant = put_grant(world, pen.id, NULL, "/bin/a");
    struct grants grants;

    world->now_ms = 9;
    use_grant(world, &grant);
    use_grant(world, &grant);
    grants = list(world, pen.id);
    assert_int_equal(grants.items[0].uses, 2);
    assert_int_equal(grants.items[0].used_ms, 9);
    assert_int_equal(revision_of(world, pen.id), 1);
}

/* What the owner took back at the last moment starts nothing, and nothing says it did. */
static void a_job_does_not_start_by_a_grant_that_is_gone(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_grant grant = put_grant(world, pen.id, NULL, "/bin/a");
    struct store_job job = add_job(world, pen.id, "", STORE_JOB_AWAITING);

    job.state = STORE_JOB_RUNNING;
    DONE(world, store_grant_remove(world->store, grant.id, STORE_ANY_REVISION, &world->err));
    REFUSED(world, store_job_start(world->store, &job, grant.id, &world->err), ENOENT,
            "store.unknown");
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE state = 1"), 0);
    assert_int_equal(number_of(world, "SELECT count(*) FROM log WHERE kind = 'job.start'"), 0);
    DONE(world, store_job_start(world->store, &job, NULL, &world->err)); /* it is not the job */
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE state = 1"), 1);
}

static void validation_is_told_apart_from_failing_to_save(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_pen other = add_pen(world, "/w/b");
    const char *bad[] = {NULL, "", "make", "/usr/../bin/make"};
    struct store_grant grant;
    char chat[STORE_ID_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        grant = grant_of(pen.id, NULL, bad[i]);
        REFUSED(world, put(world, &grant, 0), EINVAL, "store.text");
        assert_null(strstr(world->err.what, "nothing was saved"));
        assert_string_equal(grant.id, "");
    }
    get_chat(world, other.id, "default", chat);
    grant = grant_of(pen.id, chat, "/bin/a"); /* a chat of another pen */
    REFUSED(world, put(world, &grant, 0), ENOENT, "store.unknown");
    grant = grant_of("p-x", NULL, "/bin/a");
    REFUSED(world, put(world, &grant, STORE_ANY_REVISION), ENOENT, "store.unknown");
    assert_int_equal(revision_of(world, pen.id), 0);

    grant = grant_of(pen.id, NULL, "/bin/a");
    execute(world, "PRAGMA query_only = ON");
    REFUSED(world, put(world, &grant, 0), EROFS, "store.readonly");
    assert_memory_equal(world->err.what, "nothing was saved", 17);
    assert_string_not_equal(world->err.hint, "");
    assert_string_equal(grant.id, "");
}

/* ---- revisions (G7) ----------------------------------------------------------------------- */

static void an_older_review_is_refused(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_grant first = grant_of(pen.id, NULL, "/bin/a");
    struct store_grant late = grant_of(pen.id, NULL, "/bin/a");

    DONE(world, put(world, &first, 0));
    late.network = true;
    REFUSED(world, put(world, &late, 0), ESTALE, "store.stale");
    REFUSED(world, put(world, &late, 2), ESTALE, "store.stale");
    REFUSED(world, store_grant_remove(world->store, first.id, 0, &world->err), ESTALE,
            "store.stale");
    assert_false(list(world, pen.id).items[0].network);
    assert_int_equal(revision_of(world, pen.id), 1);
    DONE(world, put(world, &late, 1));
    assert_int_equal(revision_of(world, pen.id), 2);
}

static void a_removed_entry_is_not_brought_back_by_an_edit(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_grant grant = put_grant(world, pen.id, NULL, "/bin/a");

    DONE(world, store_grant_remove(world->store, grant.id, 1, &world->err));
    assert_int_equal(revision_of(world, pen.id), 2);
    REFUSED(world, put(world, &grant, 1), ESTALE, "store.stale");
    REFUSED(world, put(world, &grant, STORE_ANY_REVISION), ENOENT, "store.unknown");
    REFUSED(world, store_grant_remove(world->store, grant.id, STORE_ANY_REVISION, &world->err),
            ENOENT, "store.unknown");
    assert_int_equal(list(world, pen.id).count, 0);
    assert_int_equal(revision_of(world, pen.id), 2);
}

static void a_rebound_pen_refuses_what_was_reviewed_before(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_pen to = {.path = (char *) (uintptr_t) "/w/b"};
    struct store_grant grant = grant_of(pen.id, NULL, "/bin/a");

    DONE(world, store_pen_rebind(world->store, pen.id, &to, &world->err));
    REFUSED(world, put(world, &grant, 0), ESTALE, "store.stale");
    assert_int_equal(list(world, pen.id).count, 0);
}

/* ---- merging (G8) ------------------------------------------------------------------------- */

static void equal_executable_and_scope_is_one_row(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_grant wide = grant_of(pen.id, NULL, "/bin/a");
    struct store_grant later = grant_of(pen.id, NULL, "/bin/a");
    struct grants grants;
    char chat[STORE_ID_SIZE];

    wide.network = true;
    DONE(world, put(world, &wide, 0));
    use_grant(world, &wide);
    world->now_ms = 2000;
    later.executable.inode = 99;
    DONE(world, put(world, &later, 1));
    assert_string_equal(later.id, wide.id); /* and the caller is told what is stored */
    assert_true(later.network);
    grants = list(world, pen.id);
    assert_int_equal(grants.count, 1);
    assert_true(grants.items[0].network);
    assert_int_equal(grants.items[0].executable.inode, 99);
    assert_int_equal(grants.items[0].created_ms, 1000);
    assert_int_equal(grants.items[0].uses, 1);

    get_chat(world, pen.id, "default", chat); /* another scope, another executable: others */
    (void) put_grant(world, pen.id, chat, "/bin/a");
    (void) put_grant(world, pen.id, NULL, "/bin/b");
    assert_int_equal(list(world, pen.id).count, 3);
}

static void an_edit_replaces_its_entry(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_grant grant = grant_of(pen.id, NULL, "/bin/a");
    struct grants grants;
    char chat[STORE_ID_SIZE];

    grant.network = true;
    DONE(world, put(world, &grant, 0));
    use_grant(world, &grant);
    get_chat(world, pen.id, "default", chat);
    memcpy(grant.chat, chat, sizeof chat);
    grant.network = false; /* narrower: what the owner took away is not merged back */
    DONE(world, put(world, &grant, 1));
    grants = list(world, pen.id);
    assert_int_equal(grants.count, 1);
    assert_false(grants.items[0].network);
    assert_string_equal(grants.items[0].chat, chat);
    assert_int_equal(grants.items[0].uses, 1);

    grant.executable.path = (char *) (uintptr_t) "/bin/other"; /* uses were not of this one */
    DONE(world, put(world, &grant, 2));
    grants = list(world, pen.id);
    assert_int_equal(grants.count, 1);
    assert_string_equal(grants.items[0].executable.path, "/bin/other");
    assert_int_equal(grants.items[0].uses, 0);
    assert_int_equal(grants.items[0].created_ms, 1000);
}

static void an_edit_takes_in_the_equal_entry(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_grant other = grant_of(pen.id, NULL, "/bin/b");
    struct store_grant edited = put_grant(world, pen.id, NULL, "/bin/a");
    struct grants grants;

    other.network = true;
    DONE(world, put(world, &other, 1));
    edited.executable.path = (char *) (uintptr_t) "/bin/b";
    edited.executable.inode = 77;
    DONE(world, put(world, &edited, 2));
    grants = list(world, pen.id);
    assert_int_equal(grants.count, 1);
    assert_string_equal(grants.items[0].id, edited.id);
    assert_true(grants.items[0].network);
    assert_int_equal(grants.items[0].executable.inode, 77);
}

/* ---- what covers a call (G4, G5, G10) ----------------------------------------------------- */

static void a_call_is_covered_by_scope_executable_and_network(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_pen elsewhere = add_pen(world, "/w/b");
    char chat[STORE_ID_SIZE], other[STORE_ID_SIZE];
    struct store_call call = {pen.id, chat, "/bin/a", false};
    struct store_grant wide;

    get_chat(world, pen.id, "default", chat);
    get_chat(world, pen.id, "other", other);
    assert_int_equal(matches(world, &call), 0);
    (void) put_grant(world, pen.id, other, "/bin/a");
    (void) put_grant(world, elsewhere.id, NULL, "/bin/a");
    (void) put_grant(world, pen.id, NULL, "/bin/b");
    assert_int_equal(matches(world, &call), 0);
    (void) put_grant(world, pen.id, chat, "/bin/a");
    assert_int_equal(matches(world, &call), 1);
    (void) put_grant(world, pen.id, NULL, "/bin/a");
    assert_int_equal(matches(world, &call), 2);

    call.network = true;
    assert_int_equal(matches(world, &call), 0);
    wide = grant_of(pen.id, NULL, "/bin/a");
    wide.network = true;
    DONE(world, put(world, &wide, STORE_ANY_REVISION));
    assert_int_equal(matches(world, &call), 1);
    call.network = false;
    assert_int_equal(matches(world, &call), 2);
}

static void a_row_without_a_path_is_read_and_covers_nothing(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct store_call call = {pen.id, "", "", false};
    struct store_grant reviewed;
    struct grants grants;
    char text[256];

    for (int i = 0; i < 2; i++) {
        (void) snprintf(text, sizeof text,
                        "INSERT INTO grants VALUES (NULL, 'g-old%d', '%s', NULL, '', 0, 0, 0, 0, 0,"
                        " 1, 5, 0, 3, '')",
                        i, pen.id);
        execute(world, text);
    }
    grants = list(world, pen.id);
    assert_int_equal(grants.count, 2);
    assert_string_equal(grants.items[0].executable.path, "");
    assert_true(grants.items[0].network);
    assert_int_equal(matches(world, &call), 0);

    reviewed = grants.items[0];
    reviewed.executable.path = (char *) (uintptr_t) "/bin/a";
    DONE(world, put(world, &reviewed, 0));
    call.path = "/bin/a";
    assert_int_equal(matches(world, &call), 1);
    assert_int_equal(list(world, pen.id).count, 2);
}

/* The plans, not the times: of what may have many rows no table is read from end to end. */
static void what_is_asked_often_has_an_index(void **state)
{
    static const struct {
        const char *query;
        const char *plan; /* is in it */
    } rows[] = {
        {"SELECT id FROM grants WHERE pen = ?1 ORDER BY number", "INDEX grants_pen (pen=?)"},
        {"SELECT id FROM jobs WHERE pen = ?1 ORDER BY number DESC", "INDEX jobs_pen (pen=?)"},
        {"SELECT id FROM jobs WHERE chat = ?1 ORDER BY number DESC", "INDEX jobs_chat (chat=?)"},
        {"UPDATE jobs SET notice = ?1 WHERE state < 2", "INDEX jobs_open"},
        {"UPDATE turns SET why = ?1 WHERE ended_ms IS NULL", "INDEX turns_open"},
        {"SELECT body FROM log WHERE number > ?1 ORDER BY number LIMIT 1", "(rowid>?)"},
    };
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        sqlite3_stmt *statement = NULL;
        const char *plan = NULL;
        char text[512];

        (void) snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", rows[i].query);
        assert_int_equal(sqlite3_prepare_v2(world->store->db, text, -1, &statement, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        plan = (const char *) sqlite3_column_text(statement, 3);
        if (strstr(plan, rows[i].plan) == NULL)
            fail_msg("%s: %s", rows[i].query, plan);
        (void) sqlite3_finalize(statement);
    }
}

/* A step is some work of SQLite's; to read 2,000 rows takes tens of thousands. */
static void one_call_does_not_read_all_grants(void **state)
{
    enum { GRANTS = 2000, FEW_STEPS = 2000 };
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_call call = {pen.id, "", "/bin/1000", false};
    sqlite3_stmt *statement = NULL;
    char path[32];
    int steps = 0;

    execute(world, "PRAGMA synchronous = OFF");
    for (int i = 0; i < GRANTS; i++) {
        (void) snprintf(path, sizeof path, "/bin/%d", i);
        (void) put_grant(world, pen.id, NULL, path);
    }
    while ((statement = sqlite3_next_stmt(world->store->db, statement)) != NULL)
        (void) sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    assert_int_equal(matches(world, &call), 1);
    (void) put_grant(world, pen.id, NULL, "/bin/1000");
    while ((statement = sqlite3_next_stmt(world->store->db, statement)) != NULL)
        steps += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    assert_true(steps > 0 && steps < FEW_STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_grant_comes_back_as_it_was_put),
        WITH_STORE(uses_are_counted_and_are_no_change),
        WITH_STORE(a_job_does_not_start_by_a_grant_that_is_gone),
        WITH_STORE(validation_is_told_apart_from_failing_to_save),
        WITH_STORE(an_older_review_is_refused),
        WITH_STORE(a_removed_entry_is_not_brought_back_by_an_edit),
        WITH_STORE(a_rebound_pen_refuses_what_was_reviewed_before),
        WITH_STORE(equal_executable_and_scope_is_one_row),
        WITH_STORE(an_edit_replaces_its_entry),
        WITH_STORE(an_edit_takes_in_the_equal_entry),
        WITH_STORE(a_call_is_covered_by_scope_executable_and_network),
        WITH_STORE(a_row_without_a_path_is_read_and_covers_nothing),
        WITH_STORE(what_is_asked_often_has_an_index),
        WITH_STORE(one_call_does_not_read_all_grants),
    };

    return RUN_STORE_TESTS(tests);
}
