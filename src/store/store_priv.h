/* What the files of store/ share: the open file, statements, transactions, bounds of texts. */
#ifndef WATTLE_STORE_PRIV_H
#define WATTLE_STORE_PRIV_H

#include "base/cleanup.h"
#include "base/str.h"
#include "store/store.h"

#include <errno.h>
#include <jansson.h>
#include <sqlite3.h>

#define STORE_FILE "wattle.db"

/* A statement that was prepared before, found by the address of its text. */
struct sql_slot {
    const char *text;
    sqlite3_stmt *statement;
    bool busy; /* a list that has not ended uses it */
};
enum { SQL_SLOTS = 64 };

struct store {
    sqlite3 *db;
    char *path;    /* of the file, for messages */
    bool changing; /* inside change_begin and change_end */
    bool relaxed;  /* SQLite does not sync a commit now */
    struct sql_slot slots[SQL_SLOTS];
    uint64_t (*now_ms)(void *context);
    void *clock_context;
};

uint64_t store_now_ms(const struct store *store);

/* The error of an SQLite result. Everything but what the caller asked wrongly says "nothing was
 * saved" when `saving`. */
int store_fail(const struct store *store, int result, bool saving, struct err *err);

/* ---- the schema: schema.c ----------------------------------------------------------------- */

/* steps[n] brings version n to n + 1; a new file has version 0. A step that was released is never
 * edited: files that were made with it exist. */
struct store_schema {
    const char *const *steps;
    int version;
};
extern const struct store_schema store_schema;

/* Whether it is one of ours: EIO store.broken, ENOTSUP store.newer. */
int schema_judge(struct store *store, int ours, struct err *err) MUST_CHECK;
int schema_bring_up(struct store *store, const struct store_schema *schema,
                    struct err *err) MUST_CHECK;
/* store_open with another schema: for tests of what only a later version will do. */
int store_open_schema(const char *state_dir, const struct store_schema *schema,
                      struct store **ret_store, struct err *err) MUST_CHECK;

/* ---- where it lies: place.c --------------------------------------------------------------- */

/* Makes the folder and the file when they are missing, and refuses a place where others could
 * write or where SQLite's locks do not hold. */
int place_prepare(const char *state_dir, struct err *err) MUST_CHECK;
/* The name of a file system whose locks or shared memory are not to be relied on, by statfs(2)'s
 * f_type; NULL: it is none of these. */
const char *place_network_name(uint64_t type);

/* ---- one use of a statement: sql.c -------------------------------------------------------- */

/* Opened, given its parameters in their order, run or stepped through, ended. The first failure
 * sticks and is told by sql_run or sql_step. Texts are borrowed until sql_end. */
struct sql {
    struct store *store;
    struct sql_slot *slot; /* NULL: its own */
    sqlite3_stmt *statement;
    int bound;
    int failed; /* an SQLite result */
};

void sql_open(struct sql *sql, struct store *store, const char *text); /* a constant */
void sql_end(struct sql *sql);                    /* takes a zeroed one; usable as AUTO(sql_end) */
void sql_text(struct sql *sql, const char *text); /* NULL is NULL */
void sql_number(struct sql *sql, uint64_t number);
void sql_bytes(struct sql *sql, struct store_bytes bytes);
/* At most `most` rows, 0: all. */
void sql_limit(struct sql *sql, uint64_t most);

/* Changes something: the number of rows that were. EEXIST store.exists, ENOENT store.unknown (what
 * a row refers to), for callers to say in better words. */
int sql_run(struct sql *sql, struct err *err) MUST_CHECK;
int sql_step(struct sql *sql, struct err *err) MUST_CHECK; /* 1: a row, 0: no more */

/* Columns of the row; texts live until the next step. */
const char *sql_get_text(const struct sql *sql, int column); /* NULL is NULL */
uint64_t sql_get_number(const struct sql *sql, int column);
struct store_bytes sql_get_bytes(const struct sql *sql, int column);
void sql_get_id(const struct sql *sql, int column, char ret_id[STORE_ID_SIZE]);
char *sql_copy_text(const struct sql *sql, int column); /* NULL: out of memory */

/* ---- one transaction ---------------------------------------------------------------------- */

/* Undone at the end of its scope unless it was committed: AUTO(change_end). */
struct change {
    struct store *store;
};

/* Once committed it outlasts a power cut, and so does every change before it: they are in one
 * file, and it is synced. */
int change_begin(struct change *change, struct store *store, struct err *err) MUST_CHECK;
/* Once committed it outlasts a crash of the host. A power cut may lose it, with what was committed
 * after it, until the next of the other kind. For what the next start of the host closes by itself
 * (store_finish_crashed), and what comes before something else that is synced. */
int change_begin_relaxed(struct change *change, struct store *store, struct err *err) MUST_CHECK;
int change_commit(struct change *change, struct err *err) MUST_CHECK;
void change_end(struct change *change);

/* ---- what was done goes into the log with it: log.c ----------------------------------------- */

/* Inside the change it tells of: both are there afterwards, or neither. `row` without its body;
 * `body` is taken over, NULL: out of memory. */
int log_note(struct store *store, const struct store_row *row, json_t *body,
             struct err *err) MUST_CHECK;
int log_add(struct store *store, const struct store_row *row, struct err *err) MUST_CHECK;
json_t *log_text(const char *text); /* any bytes; NULL is null */

/* What a job has come to, with the ids of whose it is. */
int job_note_state(struct store *store, const struct store_job *job, struct err *err) MUST_CHECK;
/* Inside a change. `job`: what the grant is used for. */
int grant_use(struct store *store, const char *id, const char *job, struct err *err) MUST_CHECK;
/* Inside a change. Of a turn that was ended before nothing is changed. */
int turn_end(struct store *store, const char *id, const char *why, struct err *err) MUST_CHECK;
/* Inside a change. Of a chat or of a pen, the other is NULL. How many were not closed before. */
int turns_close(struct store *store, const char *chat, const char *pen, struct err *err) MUST_CHECK;

/* ---- what may be stored: texts.c ---------------------------------------------------------- */

/* In bytes. A request holds a whole argv, and messages of the host are at most 4 MiB. */
enum store_bound {
    BOUND_KIND = 63,
    BOUND_NAME = 255,
    BOUND_PATH = 4095,
    BOUND_NOTICE = 64 * 1024,
    BOUND_OUTPUT = 1024 * 1024,
    BOUND_JSON = 4 * 1024 * 1024,
};

struct text_bound {
    const char *what; /* "the name of the chat" */
    const char *text;
    enum store_bound most;
    bool optional; /* NULL is fine */
};

/* EINVAL store.text. */
int texts_check(const struct text_bound *bounds, size_t count, struct err *err) MUST_CHECK;
/* A path that is kept must be clean, so that one folder has one name: EINVAL store.text. */
int texts_check_path(const char *path, struct err *err) MUST_CHECK;

/* A new id; `taken` selects a row of the id given to it. */
int id_make(struct store *store, char letter, const char *taken, char ret_id[STORE_ID_SIZE],
            struct err *err) MUST_CHECK;

int store_unknown(const char *what, const char *id, struct err *err);

/* ---- between pens, chats and grants ------------------------------------------------------- */

/* ENOENT store.unknown, ESTALE store.stale. */
int pen_check_revision(struct store *store, const char *pen, uint64_t revision,
                       struct err *err) MUST_CHECK;
/* One more change of the pen's grants. */
int pen_touch(struct store *store, const char *pen, struct err *err) MUST_CHECK;

#endif
