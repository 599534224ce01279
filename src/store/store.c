#include "store/store.h"

#include "base/clock.h"
#include "base/path.h"
#include "store/store_priv.h"

#include <sodium.h>
#include <unistd.h>

enum { BUSY_MS = 500 }; /* how long another opener is waited for: the host does nothing meanwhile */

uint64_t store_now_ms(const struct store *store)
{
    return store->now_ms == NULL ? clock_wall_ms() : store->now_ms(store->clock_context);
}

void store_set_clock(struct store *store, uint64_t (*now_ms)(void *context), void *context)
{
    store->now_ms = now_ms;
    store->clock_context = context;
}

void store_freep(struct store **store)
{
    struct store *gone = *store;

    *store = NULL;
    if (gone == NULL)
        return;
    for (size_t i = 0; i < SQL_SLOTS; i++)
        (void) sqlite3_finalize(gone->slots[i].statement);
    (void) sqlite3_close(gone->db);
    free(gone->path);
    free(gone);
}

void store_rest(struct store *store)
{
    (void) sqlite3_db_release_memory(store->db); /* of pages that nothing uses; always 0 */
}

/* ---- opening ------------------------------------------------------------------------------ */

/* What a file that somebody prepared could do through its schema is off, and bounds that no honest
 * row comes near. The file is small and the host idles for long: 512 KiB of pages is plenty. */
static int set_up(struct store *store, struct err *err)
{
    static const struct {
        int option;
        int value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},     {SQLITE_DBCONFIG_DQS_DML, 0},
    };
    static const char settings[] = "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;"
                                   "PRAGMA cell_size_check = ON; PRAGMA cache_size = -512;"
                                   "PRAGMA journal_size_limit = 4194304";
    int result = sqlite3_busy_timeout(store->db, BUSY_MS);

    for (size_t i = 0; i < ARRAY_SIZE(options) && result == SQLITE_OK; i++)
        result = sqlite3_db_config(store->db, options[i].option, options[i].value, NULL);
    (void) sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, 4 * BOUND_JSON);
    (void) sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
    if (result == SQLITE_OK)
        result = sqlite3_exec(store->db, settings, NULL, NULL, NULL);
    return result == SQLITE_OK ? 0 : store_fail(store, result, false, err);
}

/* SQLite opens for reading what cannot be written, and says nothing. */
static int refuse_reading_only(struct store *store, struct err *err)
{
    return sqlite3_db_readonly(store->db, "main") == 0
               ? 0
               : store_fail(store, SQLITE_READONLY, false, err);
}

static int open_file(const char *state_dir, struct store *store, struct err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                      SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    int result = SQLITE_OK;
    int r = 0;

    store->path = path_join(state_dir, STORE_FILE);
    if (store->path == NULL)
        return err_memory(err);
    result = sqlite3_open_v2(store->path, &store->db, flags, NULL);
    if (result != SQLITE_OK)
        return store_fail(store, result, false, err);
    r = set_up(store, err);
    return r < 0 ? r : refuse_reading_only(store, err);
}

int store_open_schema(const char *state_dir, const struct store_schema *schema,
                      struct store **ret_store, struct err *err)
{
    AUTO(store_freep) struct store *store = calloc(1, sizeof *store);
    int r = 0;

    if (store == NULL)
        return err_memory(err);
    if (sodium_init() < 0)
        return err_set(err, EIO, "store.random", "cannot start libsodium");
    r = place_prepare(state_dir, err);
    if (r == 0)
        r = open_file(state_dir, store, err);
    if (r == 0)
        r = schema_bring_up(store, schema, err);
    if (r < 0)
        return r;
    *ret_store = TAKE_PTR(store);
    return 0;
}

int store_open(const char *state_dir, struct store **ret_store, struct err *err)
{
    return store_open_schema(state_dir, &store_schema, ret_store, err);
}

int store_check_place(const char *state_dir, struct err *err)
{
    AUTO(store_freep) struct store *store = calloc(1, sizeof *store);
    AUTO_FREE char *path = path_join(state_dir, STORE_FILE);
    int r = 0;

    if (store == NULL || path == NULL)
        return err_memory(err);
    if (sodium_init() < 0)
        return err_set(err, EIO, "store.random", "cannot start libsodium");
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return store_unknown("the store", path, err);
    r = place_prepare(state_dir, err); /* all of it is there: only judged */
    if (r == 0)
        r = open_file(state_dir, store, err);
    if (r == 0)
        r = schema_judge(store, store_schema.version, err);
    return r == 0 ? store_check(store, err) : r;
}

/* ---- what a crash left -------------------------------------------------------------------- */

/* 1: one was stopped, 0: there is none. */
static int stop_one(struct store *store, const char *notice, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    struct store_job job = {.state = STORE_JOB_STOPPED};
    int r = 0;

    sql_open(&sql, store,
             "UPDATE jobs SET state = ?1, notice = ?2, ended_ms = ?3 WHERE number ="
             " (SELECT min(number) FROM jobs WHERE state < 2)"
             " RETURNING id, pen, chat, executable, total_bytes");
    sql_number(&sql, job.state);
    sql_text(&sql, notice);
    sql_number(&sql, store_now_ms(store));
    r = sql_step(&sql, err);
    if (r <= 0)
        return r;
    sql_get_id(&sql, 0, job.id);
    sql_get_id(&sql, 1, job.pen);
    sql_get_id(&sql, 2, job.chat);
    job.executable = sql_get_text(&sql, 3);
    job.total_bytes = sql_get_number(&sql, 4);
    job.notice = notice;
    r = job_note_state(store, &job, err);
    return r < 0 ? r : 1;
}

/* 1: one was ended, 0: there is none. */
static int end_one(struct store *store, const char *why, struct err *err)
{
    char turn[STORE_ID_SIZE] = "";
    int r = 0;

    {
        AUTO(sql_end) struct sql sql = {0};

        sql_open(&sql, store,
                 "SELECT id FROM turns WHERE ended_ms IS NULL ORDER BY number LIMIT 1");
        r = sql_step(&sql, err);
        if (r <= 0)
            return r;
        sql_get_id(&sql, 0, turn);
    }
    r = turn_end(store, turn, why, err);
    return r < 0 ? r : 1;
}

int store_finish_crashed(struct store *store, const char *notice, uint64_t *ret_jobs,
                         struct err *err)
{
    const struct text_bound bound = {"the notice", notice, BOUND_NOTICE, false};
    AUTO(change_end) struct change change = {0};
    uint64_t jobs = 0;
    int r = texts_check(&bound, 1, err);

    if (r == 0)
        r = change_begin(&change, store, err);
    if (r < 0)
        return r;
    while ((r = stop_one(store, notice, err)) > 0)
        jobs++;
    if (r == 0) {
        do
            r = end_one(store, notice, err);
        while (r > 0);
    }
    if (r == 0)
        r = change_commit(&change, err);
    if (r < 0)
        return r;
    *ret_jobs = jobs;
    return 0;
}
