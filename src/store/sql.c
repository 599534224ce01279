#include "store/store_priv.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- what an SQLite result means ---------------------------------------------------------- */

enum cause { FULL, LOCKED, READONLY, BROKEN };

static const struct {
    int code;
    const char *id;
    const char *what;
    const char *hint;
} causes[] = {
    [FULL] = {ENOSPC, "store.full", "no room for", "make room on that disk and ask again"},
    [LOCKED] = {EBUSY, "store.locked", "another program holds",
                "end what has the file open, such as a shell of sqlite3, and ask again"},
    [READONLY] = {EROFS, "store.readonly", "cannot write to",
                  "make the folder and its files writable for you, or set XDG_STATE_HOME"},
    [BROKEN] = {EIO, "store.broken", "cannot use",
                "with the host stopped, move the file away and put a copy in its place (those made "
                "before an update lie beside it), or none to start anew"},
};

static enum cause cause_of_errno(int code)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return FULL;
    case EACCES:
    case EPERM:
    case EROFS:
        return READONLY;
    default:
        return BROKEN;
    }
}

/* Which errno a write, read or sync met: kept by SQLite for each file, and the log comes first, as
 * that is where changes go. An open that failed is told of the connection. */
static int errno_of(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int code = sqlite3_system_errno(db);

    if (code == 0 && db != NULL &&
        sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK &&
        log != NULL && log->pMethods != NULL)
        (void) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &code);
    if (code == 0 && db != NULL)
        (void) sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &code);
    return code;
}

static enum cause cause_of(int result, int code)
{
    switch (result & 0xff) {
    case SQLITE_FULL:
        return FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return LOCKED;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return READONLY;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return cause_of_errno(code);
    default:
        return BROKEN;
    }
}

/* What was asked for cannot be: nothing is wrong with the store. */
static int refuse(int result, struct err *err)
{
    switch (result) {
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return err_set(err, ENOENT, "store.unknown", "it belongs to something that is not there");
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_UNIQUE:
        return err_set(err, EEXIST, "store.exists", "there is one already");
    case SQLITE_TOOBIG:
        return err_set(err, EINVAL, "store.text", "it is too long to be stored");
    default:
        return err_set(err, EINVAL, "store.text", "a value that cannot be stored");
    }
}

int store_fail(const struct store *store, int result, bool saving, struct err *err)
{
    const enum cause cause = cause_of(result, errno_of(store->db));

    if ((result & 0xff) == SQLITE_NOMEM)
        return err_memory(err);
    if ((result & 0xff) == SQLITE_CONSTRAINT || result == SQLITE_TOOBIG)
        return refuse(result, err);
    (void) err_set(err, causes[cause].code, causes[cause].id, "%s%s the store '%s' (%s)",
                   saving ? "nothing was saved: " : "", causes[cause].what, store->path,
                   sqlite3_errstr(result));
    return err_hint(err, "%s", causes[cause].hint);
}

/* ---- statements --------------------------------------------------------------------------- */

/* The text's slot, or a free one; NULL when a list that has not ended uses it: a callback may ask
 * the same again. */
static struct sql_slot *slot_of(struct store *store, const char *text)
{
    struct sql_slot *slot = store->slots;

    while (slot < store->slots + SQL_SLOTS && slot->text != NULL && slot->text != text)
        slot++;
    if (slot == store->slots + SQL_SLOTS || slot->busy)
        return NULL;
    slot->text = text;
    slot->busy = true;
    return slot;
}

void sql_open(struct sql *sql, struct store *store, const char *text)
{
    const unsigned flags = SQLITE_PREPARE_PERSISTENT | SQLITE_PREPARE_NO_VTAB;

    *sql = (struct sql){.store = store, .slot = slot_of(store, text)};
    if (sql->slot == NULL) {
        sql->failed =
            sqlite3_prepare_v3(store->db, text, -1, SQLITE_PREPARE_NO_VTAB, &sql->statement, NULL);
        return;
    }
    if (sql->slot->statement == NULL)
        sql->failed = sqlite3_prepare_v3(store->db, text, -1, flags, &sql->slot->statement, NULL);
    sql->statement = sql->slot->statement;
}

void sql_end(struct sql *sql)
{
    if (sql->slot == NULL) {
        (void) sqlite3_finalize(sql->statement);
    } else {
        (void) sqlite3_reset(sql->statement); /* its failure was told by the step */
        if (sql->statement != NULL)
            (void) sqlite3_clear_bindings(sql->statement);
        sql->slot->busy = false;
    }
    *sql = (struct sql){0};
}

static void note(struct sql *sql, int result)
{
    if (sql->failed == SQLITE_OK)
        sql->failed = result;
}

void sql_text(struct sql *sql, const char *text)
{
    sql->bound++;
    if (sql->failed == SQLITE_OK)
        note(sql, sqlite3_bind_text(sql->statement, sql->bound, text, -1, SQLITE_STATIC));
}

void sql_number(struct sql *sql, uint64_t number)
{
    sql->bound++;
    if (sql->failed == SQLITE_OK)
        note(sql, sqlite3_bind_int64(sql->statement, sql->bound, (sqlite3_int64) number));
}

void sql_bytes(struct sql *sql, struct store_bytes bytes)
{
    sql->bound++;
    if (sql->failed == SQLITE_OK)
        note(sql,
             sqlite3_bind_blob64(sql->statement, sql->bound, bytes.size == 0 ? "" : bytes.bytes,
                                 bytes.size, SQLITE_STATIC));
}

void sql_limit(struct sql *sql, uint64_t most)
{
    /* A negative LIMIT is none. */
    sql_number(sql, most == 0 || most > INT64_MAX ? (uint64_t) -1 : most);
}

int sql_run(struct sql *sql, struct err *err)
{
    int result = sql->failed;

    if (result == SQLITE_OK)
        result = sqlite3_step(sql->statement);
    if (result != SQLITE_DONE)
        return store_fail(sql->store, result, true, err);
    return sqlite3_changes(sql->store->db);
}

int sql_step(struct sql *sql, struct err *err)
{
    int result = sql->failed;

    if (result == SQLITE_OK)
        result = sqlite3_step(sql->statement);
    if (result == SQLITE_ROW)
        return 1;
    return result == SQLITE_DONE ? 0 : store_fail(sql->store, result, sql->store->changing, err);
}

/* ---- columns ------------------------------------------------------------------------------ */

const char *sql_get_text(const struct sql *sql, int column)
{
    return (const char *) sqlite3_column_text(sql->statement, column);
}

uint64_t sql_get_number(const struct sql *sql, int column)
{
    return (uint64_t) sqlite3_column_int64(sql->statement, column);
}

struct store_bytes sql_get_bytes(const struct sql *sql, int column)
{
    struct store_bytes bytes = {.bytes = sqlite3_column_blob(sql->statement, column)};

    bytes.size = (size_t) sqlite3_column_bytes(sql->statement, column);
    return bytes;
}

void sql_get_id(const struct sql *sql, int column, char ret_id[STORE_ID_SIZE])
{
    const char *text = sql_get_text(sql, column);

    (void) snprintf(ret_id, STORE_ID_SIZE, "%s", text == NULL ? "" : text);
}

char *sql_copy_text(const struct sql *sql, int column)
{
    const char *text = sql_get_text(sql, column);

    return text == NULL ? NULL : strdup(text);
}

/* ---- transactions ------------------------------------------------------------------------- */

static int run_alone(struct store *store, const char *text, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, text);
    r = sql_run(&sql, err);
    return r < 0 ? r : 0;
}

/* SQLite does this while it reads the statement, not when it runs: it is no prepared one. */
static int set_relaxed(struct store *store, bool relaxed, struct err *err)
{
    int result = SQLITE_OK;

    if (store->relaxed == relaxed)
        return 0;
    result = sqlite3_exec(store->db,
                          relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL",
                          NULL, NULL, NULL);
    if (result != SQLITE_OK)
        return store_fail(store, result, true, err);
    store->relaxed = relaxed;
    return 0;
}

static int begin(struct change *change, struct store *store, bool relaxed, struct err *err)
{
    int r = 0;

    assert(!store->changing);
    r = set_relaxed(store, relaxed, err);
    if (r == 0)
        r = run_alone(store, "BEGIN IMMEDIATE", err);
    if (r < 0)
        return r;
    store->changing = true;
    change->store = store;
    return 0;
}

int change_begin(struct change *change, struct store *store, struct err *err)
{
    return begin(change, store, false, err);
}

int change_begin_relaxed(struct change *change, struct store *store, struct err *err)
{
    return begin(change, store, true, err);
}

int change_commit(struct change *change, struct err *err)
{
    int r = run_alone(change->store, "COMMIT", err);

    if (r < 0)
        return r;
    change->store->changing = false;
    change->store = NULL;
    return 0;
}

void change_end(struct change *change)
{
    struct err ignored = {0};

    if (change->store == NULL)
        return;
    /* A full disk may have undone it already. When this fails too, the next begin does, and says
     * so. */
    if (sqlite3_get_autocommit(change->store->db) == 0)
        (void) run_alone(change->store, "ROLLBACK", &ignored);
    change->store->changing = false;
    change->store = NULL;
}
