#include "store_folder.h"

#include <inttypes.h>

/* Ids of a list, in its order. */
struct ids {
    char items[32][STORE_ID_SIZE];
    size_t count;
};

static int collect(void *context, const struct store_job *job)
{
    struct ids *ids = context;

    assert_true(ids->count < ARRAY_SIZE(ids->items));
    memcpy(ids->items[ids->count++], job->id, STORE_ID_SIZE);
    return 0;
}

static struct ids list(struct world *world, const char *pen, const char *chat, int job_state,
                       uint64_t most)
{
    const struct store_job_wish wish = {pen, chat, job_state, most};
    struct ids ids = {0};

    DONE(world, store_job_each(world->store, &wish, collect, &ids, &world->err));
    return ids;
}

/* ---- records ------------------------------------------------------------------------------ */

static const char head[] = "a\0b\xff";

static int looks_as_updated(void *context, const struct store_job *job)
{
    const struct store_job *made = context;

    assert_string_equal(job->id, made->id);
    assert_string_equal(job->pen, "p-one");
    assert_string_equal(job->chat, "c-one");
    assert_string_equal(job->turn, "t-one");
    assert_int_equal(job->state, STORE_JOB_SIGNALED);
    assert_string_equal(job->request, "{\"command\":\"make\"}"); /* not the update's */
    assert_string_equal(job->executable, "/usr/bin/make");
    assert_int_equal(job->asked_ms, 1000);
    assert_int_equal(job->began_ms, 11);
    assert_int_equal(job->ended_ms, 12);
    assert_int_equal(job->exit_code, -1);
    assert_int_equal(job->signal, 9);
    assert_string_equal(job->notice, "it was killed");
    assert_true(job->total_bytes == UINT64_C(1) << 33);
    assert_int_equal(job->head.size, sizeof head);
    assert_memory_equal(job->head.bytes, head, sizeof head);
    assert_int_equal(job->tail.size, 0);
    assert_string_equal(job->report, "{}");
    return 5;
}

static int looks_as_asked(void *context, const struct store_job *job)
{
    (void) context;
    assert_null(job->executable);
    assert_null(job->notice);
    assert_null(job->report);
    assert_int_equal(job->head.size, 0);
    return 0;
}

static void a_record_comes_back_as_it_was_put(void **state)
{
    struct world *world = *state;
    struct store_job job = {.pen = "p-one",
                            .chat = "c-one",
                            .turn = "t-one",
                            .state = STORE_JOB_AWAITING,
                            .request = "{\"command\":\"make\"}"};

    DONE(world, store_job_add(world->store, &job, &world->err));
    assert_memory_equal(job.id, "j-", 2);
    assert_int_equal(job.asked_ms, 1000);
    DONE(world, store_job_find(world->store, job.id, looks_as_asked, NULL, &world->err));
    job.state = STORE_JOB_SIGNALED;
    job.request = "{\"command\":\"other\"}";
    job.executable = "/usr/bin/make";
    job.began_ms = 11;
    job.ended_ms = 12;
    job.exit_code = -1;
    job.signal = 9;
    job.notice = "it was killed";
    job.total_bytes = UINT64_C(1) << 33;
    job.head = (struct store_bytes){head, sizeof head};
    job.report = "{}";
    DONE(world, store_job_update(world->store, &job, &world->err));
    assert_int_equal(store_job_find(world->store, job.id, looks_as_updated, &job, &world->err), 5);
}

static void refuses_what_is_unknown_or_too_long(void **state)
{
    struct world *world = *state;
    struct store_job job = {.id = "j-x", .request = "{}"};
    const size_t size = BOUND_JSON + 2u;
    AUTO_FREE char *text = malloc(size);

    assert_non_null(text);
    memset(text, 'x', size - 1);
    text[size - 1] = '\0';
    REFUSED(world, store_job_find(world->store, "j-x", collect, NULL, &world->err), ENOENT,
            "store.unknown");
    REFUSED(world, store_job_update(world->store, &job, &world->err), ENOENT, "store.unknown");
    job.request = text;
    REFUSED(world, store_job_add(world->store, &job, &world->err), EINVAL, "store.text");
    job.request = NULL;
    REFUSED(world, store_job_add(world->store, &job, &world->err), EINVAL, "store.text");
    job.request = text + 1; /* just fits */
    job.head = (struct store_bytes){text, BOUND_OUTPUT + 1};
    REFUSED(world, store_job_add(world->store, &job, &world->err), EINVAL, "store.text");
    job.head.size = BOUND_OUTPUT;
    job.tail = job.head;
    job.report = job.request;
    DONE(world, store_job_add(world->store, &job, &world->err));
    job.state = (enum store_job_state) 7;
    REFUSED(world, store_job_update(world->store, &job, &world->err), EINVAL, "store.text");
}

static void states_have_the_names_of_the_tools(void **state)
{
    (void) state;
    assert_string_equal(store_job_state_name(STORE_JOB_AWAITING), "awaiting_approval");
    assert_string_equal(store_job_state_name(STORE_JOB_RUNNING), "running");
    assert_string_equal(store_job_state_name(STORE_JOB_EXITED), "exited");
    assert_string_equal(store_job_state_name(STORE_JOB_SIGNALED), "signaled");
    assert_string_equal(store_job_state_name(STORE_JOB_TIMED_OUT), "timed_out");
    assert_string_equal(store_job_state_name(STORE_JOB_STOPPED), "stopped");
    assert_string_equal(store_job_state_name(STORE_JOB_REFUSED), "refused");
}

static void lists_are_newest_first_and_as_wished(void **state)
{
    struct world *world = *state;
    const struct store_job a = add_job(world, "p-one", "c-one", STORE_JOB_EXITED);
    const struct store_job b = add_job(world, "p-one", "c-two", STORE_JOB_RUNNING);
    const struct store_job c = add_job(world, "p-two", "c-three", STORE_JOB_AWAITING);
    const struct {
        const char *pen, *chat;
        int state;
        uint64_t most;
        const char *expected[4];
    } wishes[] = {
        {NULL, NULL, -1, 0, {c.id, b.id, a.id}},
        {NULL, NULL, -1, 2, {c.id, b.id}},
        {NULL, NULL, STORE_JOB_RUNNING, 0, {b.id}},
        {NULL, NULL, STORE_JOB_AWAITING, 0, {c.id}},
        {NULL, NULL, STORE_JOB_EXITED, UINT64_MAX, {a.id}},
        {"p-one", NULL, -1, 0, {b.id, a.id}},
        {"p-one", NULL, STORE_JOB_EXITED, 0, {a.id}},
        {"p-one", "c-one", -1, 0, {a.id}},
        {"p-two", "c-one", -1, 0, {NULL}},
        {NULL, "c-two", -1, 1, {b.id}},
        {NULL, "c-two", STORE_JOB_EXITED, 1, {NULL}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(wishes); i++) {
        const struct ids ids =
            list(world, wishes[i].pen, wishes[i].chat, wishes[i].state, wishes[i].most);
        size_t count = 0;

        for (; wishes[i].expected[count] != NULL; count++)
            assert_string_equal(ids.items[count], wishes[i].expected[count]);
        assert_int_equal(ids.count, count);
    }
}

/* ---- eviction ----------------------------------------------------------------------------- */

static void eviction_keeps_what_runs(void **state)
{
    struct world *world = *state;
    struct ids ids;

    const struct store_job old = add_job(world, "p-one", "c-one", STORE_JOB_RUNNING);
    const struct store_job waiting = add_job(world, "p-one", "c-one", STORE_JOB_AWAITING);
    for (int i = 0; i < 4; i++)
        (void) add_job(world, "p-one", "c-one", STORE_JOB_EXITED);
    const struct store_job newest = add_job(world, "p-one", "c-one", STORE_JOB_REFUSED);
    const struct store_job elsewhere = add_job(world, "p-two", "c-two", STORE_JOB_EXITED);

    DONE(world, store_job_end(world->store, &newest, 7, &world->err));
    DONE(world, store_job_end(world->store, &newest, UINT64_MAX, &world->err));
    assert_int_equal(list(world, "p-one", NULL, -1, 0).count, 7);
    DONE(world, store_job_end(world->store, &newest, 3, &world->err));
    ids = list(world, "p-one", NULL, -1, 0);
    assert_int_equal(ids.count, 3);
    assert_string_equal(ids.items[0], newest.id);
    assert_string_equal(ids.items[1], waiting.id);
    assert_string_equal(ids.items[2], old.id);
    DONE(world, store_job_end(world->store, &newest, 0, &world->err));
    assert_int_equal(list(world, "p-one", NULL, -1, 0).count, 2);
    assert_string_equal(list(world, "p-two", NULL, -1, 0).items[0], elsewhere.id);
}

/* ---- what a crash left -------------------------------------------------------------------- */

static int looks_as_stopped(void *context, const struct store_job *job)
{
    (void) context;
    assert_int_equal(job->state, STORE_JOB_STOPPED);
    assert_string_equal(job->notice, "the host crashed");
    assert_int_equal(job->ended_ms, 5000);
    return 0;
}

static void nothing_runs_for_ever(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_job waiting = add_job(world, pen.id, "c-one", STORE_JOB_AWAITING);
    const struct store_job running = add_job(world, pen.id, "c-one", STORE_JOB_RUNNING);
    const struct store_job exited = add_job(world, pen.id, "c-one", STORE_JOB_EXITED);
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];
    struct store *store = world->store;
    uint64_t jobs = 99;

    get_chat(world, pen.id, "default", chat);
    DONE(world, store_turn_begin(store, chat, turn, &world->err));
    store_freep(&world->store);
    open_store(world);
    store = world->store;
    assert_int_equal(list(world, NULL, NULL, STORE_JOB_RUNNING, 0).count, 1); /* not by opening */

    world->now_ms = 5000;
    REFUSED(world, store_finish_crashed(store, NULL, &jobs, &world->err), EINVAL, "store.text");
    assert_int_equal(jobs, 99);
    DONE(world, store_finish_crashed(store, "the host crashed", &jobs, &world->err));
    assert_int_equal(jobs, 2);
    DONE(world, store_job_find(store, waiting.id, looks_as_stopped, NULL, &world->err));
    DONE(world, store_job_find(store, running.id, looks_as_stopped, NULL, &world->err));
    assert_string_equal(list(world, NULL, NULL, STORE_JOB_EXITED, 0).items[0], exited.id);
    assert_int_equal(number_of(world, "SELECT count(*) FROM turns WHERE ended_ms IS NULL"), 0);
    DONE(world, store_finish_crashed(store, "again", &jobs, &world->err));
    assert_int_equal(jobs, 0);
    DONE(world, store_job_find(store, running.id, looks_as_stopped, NULL, &world->err));
}

/* ---- the log ------------------------------------------------------------------------------ */

static void add_row(struct world *world, const char *kind, const char *pen, const char *body)
{
    const struct store_row row = {.kind = kind, .pen = pen, .body = body};

    DONE(world, store_log_add(world->store, &row, &world->err));
}

static int see_row(void *context, const struct store_row *row)
{
    char *text = context;
    const size_t size = strlen(text);

    (void) snprintf(text + size, 256 - size, "%" PRIu64 "@%" PRIu64 ":%s:%s:%s ", row->number,
                    row->at_ms, row->kind, row->pen == NULL ? "-" : row->pen, row->body);
    return 0;
}

static void rows_are_numbered_in_their_order(void **state)
{
    struct world *world = *state;
    const struct store_row dated = {.at_ms = 7, .kind = "spool", .job = "j-x", .body = "[]"};
    char text[256] = "";

    add_row(world, "job.run", "p-x", "{}");
    DONE(world, store_log_add(world->store, &dated, &world->err));
    add_row(world, "grant.put", NULL, "{\"a\":1}");
    DONE(world, store_log_each(world->store, 0, 0, see_row, text, &world->err));
    assert_string_equal(text, "1@1000:job.run:p-x:{} 2@7:spool:-:[] 3@1000:grant.put:-:{\"a\":1} ");
    text[0] = '\0';
    DONE(world, store_log_each(world->store, 1, 1, see_row, text, &world->err));
    assert_string_equal(text, "2@7:spool:-:[] ");
    text[0] = '\0';
    DONE(world, store_log_each(world->store, UINT64_MAX, 1, see_row, text, &world->err));
    assert_string_equal(text, "");
}

static int see_kind(void *context, const struct store_row *row)
{
    char *text = context;
    const size_t size = strlen(text);

    (void) snprintf(text + size, 1024 - size, "%s%s%s%s ", row->kind, row->pen != NULL ? "+p" : "",
                    row->chat != NULL ? "+c" : "", row->job != NULL ? "+j" : "");
    return 0;
}

static void change_all(struct world *world)
{
    struct store *store = world->store;
    const struct store_pen pen = add_pen(world, "/w/a"), other = add_pen(world, "/w/b");
    struct store_pen to = {.path = (char *) (uintptr_t) "/w/c"};
    struct store_file file = {.path = (char *) (uintptr_t) "/x", .access = STORE_READ};
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];
    struct store_grant grant;
    struct store_job job;

    memcpy(file.pen, pen.id, sizeof file.pen);
    DONE(world, store_file_add(store, &file, &world->err));
    DONE(world, store_file_edit(store, &file, &world->err));
    DONE(world, store_file_remove(store, pen.id, file.id, &world->err));
    get_chat(world, pen.id, "default", chat);
    get_chat(world, pen.id, "default", chat); /* is there: no row */
    grant = put_grant(world, pen.id, chat, "/bin/sh");
    DONE(world, store_turn_begin(store, chat, turn, &world->err));
    job = add_job(world, pen.id, chat, STORE_JOB_AWAITING);
    DONE(world, store_job_update(store, &job, &world->err));
    job.state = STORE_JOB_RUNNING;
    DONE(world, store_job_start(store, &job, grant.id, &world->err));
    job.state = STORE_JOB_EXITED;
    DONE(world, store_job_end(store, &job, 100, &world->err));
    job.state = STORE_JOB_REFUSED;
    DONE(world, store_job_update(store, &job, &world->err));
    DONE(world, store_turn_end(store, turn, "over", &world->err));
    DONE(world, store_turn_end(store, turn, "again", &world->err)); /* was over: no row */
    DONE(world, store_grant_remove(store, grant.id, STORE_ANY_REVISION, &world->err));
    DONE(world, store_chat_move(store, chat, other.id, &world->err));
    DONE(world, store_chat_delete(store, chat, &world->err));
    DONE(world, store_pen_rebind(store, pen.id, &to, &world->err));
    DONE(world, store_pen_remove(store, pen.id, &world->err));
}

static void what_is_decided_is_in_the_log(void **state)
{
    struct world *world = *state;
    char text[1024] = "";

    change_all(world);
    DONE(world, store_log_each(world->store, 0, 0, see_kind, text, &world->err));
    assert_string_equal(text,
                        "pen.add+p pen.add+p file.add+p file.edit+p file.remove+p chat.add+p+c "
                        "grant.put+p+c turn.begin+p+c job.request+p+c+j job.wait+p+c+j "
                        "grant.use+p+j job.start+p+c+j job.end+p+c+j job.refuse+p+c+j "
                        "turn.end+p+c grant.remove+p chat.move+p+c chat.delete+p+c "
                        "pen.rebind+p pen.remove+p ");
    DONE(world, store_check(world->store, &world->err));
}

static void what_was_not_changed_is_not_in_the_log(void **state)
{
    struct world *world = *state;
    struct store_job job = {.id = "j-x"};
    struct store_pen pen = add_pen(world, "/w/a");

    REFUSED(world, store_pen_add(world->store, &pen, &world->err), EEXIST, "store.exists");
    REFUSED(world, store_pen_remove(world->store, "p-x", &world->err), ENOENT, "store.unknown");
    REFUSED(world, store_turn_begin(world->store, "c-x", job.turn, &world->err), ENOENT,
            "store.unknown");
    REFUSED(world, store_job_update(world->store, &job, &world->err), ENOENT, "store.unknown");
    REFUSED(world, store_job_start(world->store, &job, "g-x", &world->err), ENOENT,
            "store.unknown");
    REFUSED(world, store_job_end(world->store, &job, 1, &world->err), ENOENT, "store.unknown");
    assert_int_equal(number_of(world, "SELECT count(*) FROM log"), 1);
}

/* A model may ask for much, and rows are for ever. */
static void a_long_request_is_cut_in_the_log(void **state)
{
    struct world *world = *state;
    static char request[1 << 20];
    struct store_job job = {.pen = "p-x", .request = request};

    memset(request, 'x', sizeof request - 1);
    DONE(world, store_job_add(world->store, &job, &world->err));
    assert_true(number_of(world, "SELECT length(body) FROM log") < 5000);
    assert_int_equal(number_of(world, "SELECT length(request) FROM jobs"), sizeof request - 1);
}

static void refuses_rows_without_a_kind_or_a_body(void **state)
{
    struct world *world = *state;
    const struct store_row rows[] = {
        {.kind = NULL, .body = "{}"},
        {.kind = "x", .body = NULL},
        {.kind = "x", .body = "{}", .pen = "p-longer-than-any-id"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        REFUSED(world, store_log_add(world->store, &rows[i], &world->err), EINVAL, "store.text");
}

static void an_edit_of_the_log_is_found(void **state)
{
    static const char *const edits[] = {
        "UPDATE log SET body = '{\"a\":2}' WHERE number = 2",
        "UPDATE log SET at_ms = at_ms + 1 WHERE number = 1",
        "UPDATE log SET pen = '' WHERE number = 2",
        "UPDATE log SET chat = pen, pen = NULL WHERE number = 1",
        "UPDATE log SET hash = x'00' WHERE number = 3",
        "DELETE FROM log WHERE number = 1",
        "DELETE FROM log WHERE number = 2",
        "DELETE FROM log WHERE number = 2; UPDATE log SET number = 2 WHERE number = 3",
        "UPDATE log SET number = 9 WHERE number = 3",
    };
    struct world *world = *state;

    add_row(world, "job.run", "p-x", "{}");
    add_row(world, "job.run", NULL, "{\"a\":1}");
    add_row(world, "job.run", "p-x", "{}");
    for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
        DONE(world, store_check(world->store, &world->err));
        execute(world, "SAVEPOINT here");
        execute(world, edits[i]);
        REFUSED(world, store_check(world->store, &world->err), EIO, "store.broken");
        assert_non_null(strstr(world->err.what, "of the log"));
        execute(world, "ROLLBACK TO here; RELEASE here");
    }
    DONE(world, store_check(world->store, &world->err));
}

static void rows_after_a_broken_hash_do_not_mend_it(void **state)
{
    struct world *world = *state;

    add_row(world, "job.run", NULL, "{}");
    execute(world, "UPDATE log SET hash = x''");
    add_row(world, "job.run", NULL, "{}");
    REFUSED(world, store_check(world->store, &world->err), EIO, "store.broken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_record_comes_back_as_it_was_put),
        WITH_STORE(refuses_what_is_unknown_or_too_long),
        WITH_STORE(states_have_the_names_of_the_tools),
        WITH_STORE(lists_are_newest_first_and_as_wished),
        WITH_STORE(eviction_keeps_what_runs),
        WITH_STORE(nothing_runs_for_ever),
        WITH_STORE(rows_are_numbered_in_their_order),
        WITH_STORE(what_is_decided_is_in_the_log),
        WITH_STORE(what_was_not_changed_is_not_in_the_log),
        WITH_STORE(a_long_request_is_cut_in_the_log),
        WITH_STORE(refuses_rows_without_a_kind_or_a_body),
        WITH_STORE(an_edit_of_the_log_is_found),
        WITH_STORE(rows_after_a_broken_hash_do_not_mend_it),
    };

    return RUN_STORE_TESTS(tests);
}
