/* The tables, one step a version, and how a file gets from its version to ours. */
#include "base/path.h"
#include "store/store_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `number` is the order of making. Times are of the wall, in milliseconds. What is 64 bits without
 * a sign (device, inode) is stored as the same bits with one. Records of jobs refer to nothing, so
 * that they outlive their pen; a grant of the whole pen has no chat; one without a path is of a
 * time before paths were kept. */
static const char step_1[] =
    "PRAGMA application_id = 0x77746c65;"
    "CREATE TABLE pens (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, dev INTEGER NOT NULL, inode INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL, revision INTEGER NOT NULL) STRICT;"
    "CREATE TABLE files (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " pen TEXT NOT NULL REFERENCES pens (id) ON DELETE CASCADE,"
    " path TEXT NOT NULL, access INTEGER NOT NULL CHECK (access BETWEEN 0 AND 3),"
    " UNIQUE (pen, path)) STRICT;"
    "CREATE TABLE chats (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " pen TEXT NOT NULL REFERENCES pens (id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, created_ms INTEGER NOT NULL, UNIQUE (pen, name)) STRICT;"
    "CREATE TABLE turns (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,"
    " began_ms INTEGER NOT NULL, ended_ms INTEGER, why TEXT) STRICT;"
    "CREATE INDEX turns_chat ON turns (chat, ended_ms);"
    "CREATE INDEX turns_open ON turns (number) WHERE ended_ms IS NULL;"
    "CREATE TABLE jobs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " pen TEXT NOT NULL, chat TEXT NOT NULL, turn TEXT NOT NULL,"
    " state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6), request TEXT NOT NULL,"
    " executable TEXT, asked_ms INTEGER NOT NULL, began_ms INTEGER NOT NULL,"
    " ended_ms INTEGER NOT NULL, exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, notice TEXT,"
    " total_bytes INTEGER NOT NULL, head BLOB NOT NULL, tail BLOB NOT NULL, report TEXT) STRICT;"
    "CREATE INDEX jobs_pen ON jobs (pen, number);"
    "CREATE INDEX jobs_chat ON jobs (chat, number);"
    "CREATE INDEX jobs_open ON jobs (number) WHERE state < 2;"
    "CREATE TABLE grants (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " pen TEXT NOT NULL REFERENCES pens (id) ON DELETE CASCADE,"
    " chat TEXT REFERENCES chats (id) ON DELETE CASCADE,"
    " path TEXT NOT NULL, dev INTEGER NOT NULL, inode INTEGER NOT NULL,"
    " size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,"
    " network INTEGER NOT NULL CHECK (network BETWEEN 0 AND 1),"
    " created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL, uses INTEGER NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX grants_scope ON grants (pen, path, ifnull(chat, '')) WHERE path <> '';"
    "CREATE INDEX grants_pen ON grants (pen, number);"
    "CREATE INDEX grants_chat ON grants (chat);"
    "CREATE TABLE log (number INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,"
    " pen TEXT, chat TEXT, job TEXT, body TEXT NOT NULL, hash BLOB NOT NULL) STRICT;";

/* How far the spool was taken into the log (spool.c): one row. */
static const char step_2[] =
    "CREATE TABLE spool (one INTEGER PRIMARY KEY CHECK (one = 1), dev INTEGER NOT NULL,"
    " inode INTEGER NOT NULL, offset INTEGER NOT NULL, file_unread INTEGER NOT NULL,"
    " lines INTEGER NOT NULL, unread INTEGER NOT NULL) STRICT;"
    "INSERT INTO spool VALUES (1, 0, 0, 0, 0, 0, 0);";

/* Grants of what jobs could change: known by its bytes, not by its times. */
static const char step_3[] = "ALTER TABLE grants ADD COLUMN content TEXT NOT NULL DEFAULT '';";

/* A turn that the owner ended is over for good; one that ended with its host goes on by the next.
 */
static const char step_4[] = "ALTER TABLE turns ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;";

static const char *const steps[] = {step_1, step_2, step_3, step_4};
const struct store_schema store_schema = {steps, ARRAY_SIZE(steps)};

/* ---- what a file says of itself ----------------------------------------------------------- */

#define APPLICATION 0x77746c65u /* "wtle" */

struct about {
    uint64_t version;
    uint64_t application;
    uint64_t objects; /* tables and indexes */
};

static int ask(struct store *store, const char *text, uint64_t *ret_number, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, text);
    r = sql_step(&sql, err);
    if (r > 0)
        *ret_number = sql_get_number(&sql, 0);
    return r < 0 ? r : 0;
}

static int read_about(struct store *store, struct about *ret_about, struct err *err)
{
    int r = ask(store, "PRAGMA user_version", &ret_about->version, err);

    if (r == 0)
        r = ask(store, "PRAGMA application_id", &ret_about->application, err);
    if (r == 0)
        r = ask(store, "SELECT count(*) FROM sqlite_schema", &ret_about->objects, err);
    return r;
}

static int judge_about(const struct store *store, const struct about *about, int ours,
                       struct err *err)
{
    const bool empty = about->version == 0 && about->application == 0 && about->objects == 0;

    if (!empty && (about->application != APPLICATION || about->version == 0)) {
        (void) err_set(err, EIO, "store.broken", "'%s' is a database of something else",
                       store->path);
        return err_hint(err, "move it away; a new one is made");
    }
    if (about->version <= (uint64_t) ours)
        return 0;
    (void) err_set(err, ENOTSUP, "store.newer",
                   "'%s' was made by a later wattle (version %llu, this one knows %d)", store->path,
                   (unsigned long long) about->version, ours);
    return err_hint(err,
                    "install that wattle again; or, to go back, put the copy of that time, "
                    "'" STORE_FILE ".v%d', in its place",
                    ours);
}

/* ---- how it is used ----------------------------------------------------------------------- */

static int execute(struct store *store, const char *text, struct err *err)
{
    const int result = sqlite3_exec(store->db, text, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : store_fail(store, result, true, err);
}

/* The mode stays in the file; a file system that cannot have it answers with another one. */
static int use_wal(struct store *store, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "PRAGMA journal_mode = WAL");
    r = sql_step(&sql, err);
    if (r < 0 || (r > 0 && str_equal(sql_get_text(&sql, 0), "wal")))
        return r < 0 ? r : 0;
    (void) err_set(err, ENOTSUP, "store.network-fs", "the file system of '%s' cannot share memory",
                   store->path);
    return err_hint(err, "set XDG_STATE_HOME to a folder on a disk of this machine");
}

/* ---- a copy before it is changed ---------------------------------------------------------- */

static int fill_copy(const struct store *store, const char *path, struct err *err)
{
    sqlite3 *to = NULL;
    sqlite3_backup *backup = NULL;
    int result = sqlite3_open_v2(
        path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);

    if (result == SQLITE_OK) {
        backup = sqlite3_backup_init(to, "main", store->db, "main");
        (void) sqlite3_backup_step(backup, -1);
        result = backup == NULL ? sqlite3_errcode(to) : sqlite3_backup_finish(backup);
    }
    (void) sqlite3_close(to);
    return result == SQLITE_OK ? 0 : store_fail(store, result, true, err);
}

static int name_copy(const char *folder, const char *from, const char *to)
{
    AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || renameat(fd, from, fd, to) < 0 || fsync(fd) < 0)
        return -errno;
    return 0;
}

static int make_copy(const struct store *store, uint64_t version, struct err *err)
{
    static const char new_name[] = STORE_FILE ".copy";
    AUTO_FREE char *folder = strdup(store->path);
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int fd = -1;
    char name[48];
    int r = 0;

    if (folder == NULL)
        return err_memory(err);
    folder[strlen(folder) - strlen("/" STORE_FILE)] = '\0';
    path = path_join(folder, new_name);
    if (path == NULL)
        return err_memory(err);
    (void) unlink(path); /* of an update that did not end */
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, errno, "store.readonly", "nothing was saved: cannot make '%s'", path);
    r = fill_copy(store, path, err);
    if (r < 0) {
        (void) unlink(path);
        return r;
    }
    (void) snprintf(name, sizeof name, STORE_FILE ".v%llu", (unsigned long long) version);
    r = name_copy(folder, new_name, name);
    return r == 0 ? 0
                  : err_set(err, -r, "store.readonly", "nothing was saved: cannot make '%s/%s'",
                            folder, name);
}

/* ---- from one version to the next --------------------------------------------------------- */

static int set_version(struct store *store, int version, struct err *err)
{
    char text[48];

    (void) snprintf(text, sizeof text, "PRAGMA user_version = %d", version);
    return execute(store, text, err);
}

/* The version is read again, now that nobody else can change it. */
static int bring_up(struct store *store, const struct store_schema *schema, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    uint64_t version = 0;
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = ask(store, "PRAGMA user_version", &version, err);
    for (; r == 0 && version < (uint64_t) schema->version; version++)
        r = execute(store, schema->steps[version], err);
    if (r == 0)
        r = set_version(store, (int) version, err);
    return r == 0 ? change_commit(&change, err) : r;
}

int schema_judge(struct store *store, int ours, struct err *err)
{
    struct about about = {0};
    const int r = read_about(store, &about, err);

    return r == 0 ? judge_about(store, &about, ours, err) : r;
}

int schema_bring_up(struct store *store, const struct store_schema *schema, struct err *err)
{
    struct about about = {0};
    int r = read_about(store, &about, err);

    if (r == 0)
        r = judge_about(store, &about, schema->version, err);
    if (r == 0)
        r = use_wal(store, err);
    if (r < 0 || about.version == (uint64_t) schema->version)
        return r;
    if (about.version > 0)
        r = make_copy(store, about.version, err);
    return r == 0 ? bring_up(store, schema, err) : r;
}
