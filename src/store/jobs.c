#include "base/json.h"
#include "store/store_priv.h"

#include <string.h>

const char *store_job_state_name(enum store_job_state state)
{
    static const char *const names[] = {
        [STORE_JOB_AWAITING] = "awaiting_approval",
        [STORE_JOB_RUNNING] = "running",
        [STORE_JOB_EXITED] = "exited",
        [STORE_JOB_SIGNALED] = "signaled",
        [STORE_JOB_TIMED_OUT] = "timed_out",
        [STORE_JOB_STOPPED] = "stopped",
        [STORE_JOB_REFUSED] = "refused",
    };

    return (size_t) state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

/* ---- writing ------------------------------------------------------------------------------ */

static int check(const struct store_job *job, struct err *err)
{
    const struct text_bound bounds[] = {
        {"the executable's path", job->executable, BOUND_PATH, true},
        {"the notice", job->notice, BOUND_NOTICE, true},
        {"the report", job->report, BOUND_JSON, true},
    };

    if (job->state > STORE_JOB_REFUSED)
        return err_set(err, EINVAL, "store.text", "there is no state of number %d",
                       (int) job->state);
    if (job->head.size > BOUND_OUTPUT || job->tail.size > BOUND_OUTPUT)
        return err_set(err, EINVAL, "store.text", "the output is longer than %d bytes",
                       (int) BOUND_OUTPUT);
    return texts_check(bounds, ARRAY_SIZE(bounds), err);
}

/* ?1 to ?12: all that changes in the life of a job. */
static void bind_state(struct sql *sql, const struct store_job *job)
{
    sql_text(sql, job->id);
    sql_number(sql, job->state);
    sql_text(sql, job->executable);
    sql_number(sql, job->began_ms);
    sql_number(sql, job->ended_ms);
    sql_number(sql, (uint64_t) job->exit_code);
    sql_number(sql, (uint64_t) job->signal);
    sql_text(sql, job->notice);
    sql_number(sql, job->total_bytes);
    sql_bytes(sql, job->head);
    sql_bytes(sql, job->tail);
    sql_text(sql, job->report);
}

static int insert(struct store *store, const struct store_job *job, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             "INSERT INTO jobs (id, state, executable, began_ms, ended_ms, exit_code, signal,"
             " notice, total_bytes, head, tail, report, pen, chat, turn, request, asked_ms)"
             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
             " ?17)");
    bind_state(&sql, job);
    sql_text(&sql, job->pen);
    sql_text(&sql, job->chat);
    sql_text(&sql, job->turn);
    sql_text(&sql, job->request);
    sql_number(&sql, job->asked_ms);
    return sql_run(&sql, err);
}

/* What a model asks for may be long, and rows stay: of a long one its beginning. */
static json_t *request_of(const struct store_job *job)
{
    enum { WHOLE_BYTES = 32 << 10, BEGIN_BYTES = 4 << 10 };
    const size_t size = strlen(job->request);
    json_t *request = NULL;

    if (size <= WHOLE_BYTES)
        request = json_loads(job->request, JSON_REJECT_DUPLICATES, NULL);
    if (request != NULL)
        return request;
    return json_pack("{s:I, s:o}", "bytes", (json_int_t) size, "begins",
                     json_text(job->request, size < BEGIN_BYTES ? size : BEGIN_BYTES));
}

static int note_request(struct store *store, const struct store_job *job, struct err *err)
{
    const struct store_row row = {
        .kind = "job.request", .pen = job->pen, .chat = job->chat, .job = job->id};

    return log_note(store, &row,
                    json_pack("{s:s, s:o}", "turn", job->turn, "request", request_of(job)), err);
}

int job_note_state(struct store *store, const struct store_job *job, struct err *err)
{
    static const char *const kinds[] = {
        [STORE_JOB_AWAITING] = "job.wait",  [STORE_JOB_RUNNING] = "job.start",
        [STORE_JOB_EXITED] = "job.end",     [STORE_JOB_SIGNALED] = "job.end",
        [STORE_JOB_TIMED_OUT] = "job.end",  [STORE_JOB_STOPPED] = "job.end",
        [STORE_JOB_REFUSED] = "job.refuse",
    };
    const struct store_row row = {
        .kind = kinds[job->state], .pen = job->pen, .chat = job->chat, .job = job->id};

    return log_note(store, &row,
                    json_pack("{s:s, s:o, s:i, s:i, s:o, s:I}", "state",
                              store_job_state_name(job->state), "executable",
                              log_text(job->executable), "exit_code", job->exit_code, "signal",
                              job->signal, "notice", log_text(job->notice), "total_bytes",
                              (json_int_t) job->total_bytes),
                    err);
}

int store_job_add(struct store *store, struct store_job *job, struct err *err)
{
    const struct text_bound request = {"the request", job->request, BOUND_JSON, false};
    AUTO(change_end) struct change change = {0};
    struct store_job made = *job;
    int r = check(job, err);

    if (r == 0)
        r = texts_check(&request, 1, err);
    if (r == 0)
        r = change_begin_relaxed(&change, store, err);
    if (r == 0)
        r = id_make(store, 'j', "SELECT 1 FROM jobs WHERE id = ?1", made.id, err);
    if (r < 0)
        return r;
    made.asked_ms = store_now_ms(store);
    r = insert(store, &made, err);
    if (r >= 0)
        r = note_request(store, &made, err);
    if (r >= 0)
        r = change_commit(&change, err);
    if (r < 0)
        return r;
    memcpy(job->id, made.id, sizeof job->id);
    job->asked_ms = made.asked_ms;
    return 0;
}

static int find_owner(struct store *store, struct store_job *job, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "SELECT pen, chat FROM jobs WHERE id = ?1");
    sql_text(&sql, job->id);
    r = sql_step(&sql, err);
    if (r <= 0)
        return r < 0 ? r : store_unknown("a job", job->id, err);
    sql_get_id(&sql, 0, job->pen);
    sql_get_id(&sql, 1, job->chat);
    return 0;
}

static int update(struct store *store, const struct store_job *job, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             "UPDATE jobs SET state = ?2, executable = ?3, began_ms = ?4, ended_ms = ?5,"
             " exit_code = ?6, signal = ?7, notice = ?8, total_bytes = ?9, head = ?10, tail = ?11,"
             " report = ?12 WHERE id = ?1");
    bind_state(&sql, job);
    return sql_run(&sql, err);
}

/* Inside a change. */
static int update_and_note(struct store *store, const struct store_job *job, struct err *err)
{
    struct store_job whole = *job;
    int r = find_owner(store, &whole, err);

    if (r == 0)
        r = update(store, &whole, err);
    return r < 0 ? r : job_note_state(store, &whole, err);
}

int store_job_start(struct store *store, const struct store_job *job, const char *grant,
                    struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = check(job, err);

    if (r == 0)
        r = change_begin(&change, store, err);
    if (r == 0 && grant != NULL)
        r = grant_use(store, grant, job->id, err);
    if (r == 0)
        r = update_and_note(store, job, err);
    return r < 0 ? r : change_commit(&change, err);
}

int store_job_update(struct store *store, const struct store_job *job, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = check(job, err);

    if (r == 0)
        r = change_begin_relaxed(&change, store, err);
    if (r == 0)
        r = update_and_note(store, job, err);
    return r < 0 ? r : change_commit(&change, err);
}

static int evict(struct store *store, const char *pen, uint64_t keep, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             "DELETE FROM jobs WHERE number IN"
             " (SELECT number FROM jobs WHERE pen = ?1 AND state > 1 ORDER BY number LIMIT"
             " max(0, (SELECT count(*) FROM jobs WHERE pen = ?1) - ?2))");
    sql_text(&sql, pen);
    sql_number(&sql, keep > INT64_MAX ? INT64_MAX : keep);
    return sql_run(&sql, err);
}

int store_job_end(struct store *store, const struct store_job *job, uint64_t keep, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = check(job, err);

    if (r == 0)
        r = change_begin_relaxed(&change, store, err);
    if (r == 0)
        r = update_and_note(store, job, err);
    if (r == 0)
        r = evict(store, job->pen, keep, err);
    return r < 0 ? r : change_commit(&change, err);
}

/* ---- reading ------------------------------------------------------------------------------ */

#define COLUMNS                                                                                    \
    "SELECT id, pen, chat, turn, state, request, executable, asked_ms, began_ms, ended_ms,"        \
    " exit_code, signal, notice, total_bytes, head, tail, report FROM jobs"

/* The texts are the statement's. */
static void read_row(const struct sql *sql, struct store_job *ret_job)
{
    *ret_job = (struct store_job){
        .state = (enum store_job_state) sql_get_number(sql, 4),
        .request = sql_get_text(sql, 5),
        .executable = sql_get_text(sql, 6),
        .asked_ms = sql_get_number(sql, 7),
        .began_ms = sql_get_number(sql, 8),
        .ended_ms = sql_get_number(sql, 9),
        .exit_code = (int) sql_get_number(sql, 10),
        .signal = (int) sql_get_number(sql, 11),
        .notice = sql_get_text(sql, 12),
        .total_bytes = sql_get_number(sql, 13),
        .head = sql_get_bytes(sql, 14),
        .tail = sql_get_bytes(sql, 15),
        .report = sql_get_text(sql, 16),
    };
    sql_get_id(sql, 0, ret_job->id);
    sql_get_id(sql, 1, ret_job->pen);
    sql_get_id(sql, 2, ret_job->chat);
    sql_get_id(sql, 3, ret_job->turn);
}

int store_job_find(struct store *store, const char *id,
                   int (*found)(void *context, const struct store_job *job), void *context,
                   struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    struct store_job job;
    int r = 0;

    sql_open(&sql, store, COLUMNS " WHERE id = ?1");
    sql_text(&sql, id);
    r = sql_step(&sql, err);
    if (r == 0)
        return store_unknown("a job", id, err);
    if (r < 0)
        return r;
    read_row(&sql, &job);
    return found(context, &job);
}

/* One a set of wishes, so that each finds its index. ?1 pen, ?2 chat, ?3 state, ?4 most. */
static const char *list_for(const struct store_job_wish *wish)
{
    if (wish->chat != NULL)
        return COLUMNS " WHERE chat = ?2 AND (?1 IS NULL OR pen = ?1) AND (?3 < 0 OR state = ?3)"
                       " ORDER BY number DESC LIMIT ?4";
    if (wish->pen != NULL)
        return COLUMNS " WHERE pen = ?1 AND ?2 IS NULL AND (?3 < 0 OR state = ?3)"
                       " ORDER BY number DESC LIMIT ?4";
    if (wish->state == STORE_JOB_AWAITING || wish->state == STORE_JOB_RUNNING)
        return COLUMNS " WHERE state < 2 AND ?1 IS NULL AND ?2 IS NULL AND state = ?3"
                       " ORDER BY number DESC LIMIT ?4";
    return COLUMNS " WHERE ?1 IS NULL AND ?2 IS NULL AND (?3 < 0 OR state = ?3)"
                   " ORDER BY number DESC LIMIT ?4";
}

int store_job_each(struct store *store, const struct store_job_wish *wish,
                   int (*each)(void *context, const struct store_job *job), void *context,
                   struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, list_for(wish));
    sql_text(&sql, wish->pen);
    sql_text(&sql, wish->chat);
    sql_number(&sql, (uint64_t) wish->state);
    sql_limit(&sql, wish->most);
    while ((r = sql_step(&sql, err)) > 0) {
        struct store_job job;

        read_row(&sql, &job);
        r = each(context, &job);
        if (r != 0)
            return r;
    }
    return r;
}
