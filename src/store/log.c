/* Rows that hold each the hash of themselves and of the row before. */
#include "base/json.h"
#include "store/store_priv.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

enum { HASH_BYTES = 32 };

/* The first row follows this. */
static const unsigned char origin[HASH_BYTES] = "wattle log 1";

/* ---- the chain ---------------------------------------------------------------------------- */

static void add_number(crypto_generichash_state *state, uint64_t number)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char) (number >> (8 * i));
    (void) crypto_generichash_update(state, bytes, sizeof bytes);
}

/* With its length before it, so that no two rows are the same bytes. No text is one of no length
 * there is. */
static void add_text(crypto_generichash_state *state, const char *text)
{
    const size_t size = text == NULL ? 0 : strlen(text);

    add_number(state, text == NULL ? UINT64_MAX : size);
    if (size > 0)
        (void) crypto_generichash_update(state, (const unsigned char *) text, size);
}

/* `hash`: of the row before on entry, of this one afterwards. */
static void chain(const struct store_row *row, unsigned char hash[HASH_BYTES])
{
    const char *const texts[] = {row->kind, row->pen, row->chat, row->job, row->body};
    crypto_generichash_state state;

    /* These fail for a length that is out of bounds only. */
    (void) crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    (void) crypto_generichash_update(&state, hash, HASH_BYTES);
    add_number(&state, row->number);
    add_number(&state, row->at_ms);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        add_text(&state, texts[i]);
    (void) crypto_generichash_final(&state, hash, HASH_BYTES);
}

/* ---- adding ------------------------------------------------------------------------------- */

static int read_last(struct store *store, uint64_t *ret_number, unsigned char ret_hash[HASH_BYTES],
                     struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    struct store_bytes hash;
    int r = 0;

    *ret_number = 0;
    memcpy(ret_hash, origin, HASH_BYTES);
    sql_open(&sql, store, "SELECT number, hash FROM log ORDER BY number DESC LIMIT 1");
    r = sql_step(&sql, err);
    if (r <= 0)
        return r;
    *ret_number = sql_get_number(&sql, 0);
    hash = sql_get_bytes(&sql, 1);
    if (hash.size != HASH_BYTES) /* somebody's edit: the chain does not go on as if nothing were */
        memset(ret_hash, 0, HASH_BYTES);
    else
        memcpy(ret_hash, hash.bytes, HASH_BYTES);
    return 0;
}

static int insert(struct store *store, const struct store_row *row, const unsigned char *hash,
                  struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             "INSERT INTO log (number, at_ms, kind, pen, chat, job, body, hash)"
             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    sql_number(&sql, row->number);
    sql_number(&sql, row->at_ms);
    sql_text(&sql, row->kind);
    sql_text(&sql, row->pen);
    sql_text(&sql, row->chat);
    sql_text(&sql, row->job);
    sql_text(&sql, row->body);
    sql_bytes(&sql, (struct store_bytes){hash, HASH_BYTES});
    return sql_run(&sql, err);
}

int log_add(struct store *store, const struct store_row *row, struct err *err)
{
    const struct text_bound bounds[] = {
        {"the kind of the row", row->kind, BOUND_KIND, false},
        {"the pen's id", row->pen, STORE_ID_SIZE - 1, true},
        {"the chat's id", row->chat, STORE_ID_SIZE - 1, true},
        {"the job's id", row->job, STORE_ID_SIZE - 1, true},
        {"the body of the row", row->body, BOUND_JSON, false},
    };
    unsigned char hash[HASH_BYTES];
    struct store_row made = *row;
    int r = texts_check(bounds, ARRAY_SIZE(bounds), err);

    assert(store->changing);
    if (r == 0)
        r = read_last(store, &made.number, hash, err);
    if (r < 0)
        return r;
    made.number++;
    if (made.at_ms == 0)
        made.at_ms = store_now_ms(store);
    chain(&made, hash);
    r = insert(store, &made, hash, err);
    return r < 0 ? r : 0;
}

int store_log_add(struct store *store, const struct store_row *row, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = log_add(store, row, err);
    return r < 0 ? r : change_commit(&change, err);
}

int log_note(struct store *store, const struct store_row *row, json_t *body_, struct err *err)
{
    AUTO(json_free) json_t *body = body_;
    AUTO_FREE char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    struct store_row whole = *row;

    whole.body = text;
    return text == NULL ? err_memory(err) : log_add(store, &whole, err);
}

json_t *log_text(const char *text)
{
    return text == NULL ? json_null() : json_text(text, strlen(text));
}

/* ---- reading ------------------------------------------------------------------------------ */

static void read_row(const struct sql *sql, struct store_row *ret_row)
{
    *ret_row = (struct store_row){
        .number = sql_get_number(sql, 0),
        .at_ms = sql_get_number(sql, 1),
        .kind = sql_get_text(sql, 2),
        .pen = sql_get_text(sql, 3),
        .chat = sql_get_text(sql, 4),
        .job = sql_get_text(sql, 5),
        .body = sql_get_text(sql, 6),
    };
}

int store_log_each(struct store *store, uint64_t after, uint64_t most,
                   int (*each)(void *context, const struct store_row *row), void *context,
                   struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store,
             "SELECT number, at_ms, kind, pen, chat, job, body FROM log"
             " WHERE number > ?1 ORDER BY number LIMIT ?2");
    sql_number(&sql, after > INT64_MAX ? INT64_MAX : after);
    sql_limit(&sql, most);
    while ((r = sql_step(&sql, err)) > 0) {
        struct store_row row;

        read_row(&sql, &row);
        r = each(context, &row);
        if (r != 0)
            return r;
    }
    return r;
}

/* ---- checking ----------------------------------------------------------------------------- */

static int refuse(const struct store *store, const char *what, struct err *err)
{
    (void) err_set(err, EIO, "store.broken", "'%s' is damaged: %s", store->path, what);
    return err_hint(err, "with the host stopped, put a copy in its place; what was changed by hand "
                         "cannot be told from what a disk lost");
}

static int check_chain(struct store *store, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    unsigned char hash[HASH_BYTES];
    uint64_t last = 0;
    char what[80];
    int r = 0;

    memcpy(hash, origin, HASH_BYTES);
    sql_open(&sql, store,
             "SELECT number, at_ms, kind, pen, chat, job, body, hash FROM log ORDER BY number");
    while ((r = sql_step(&sql, err)) > 0) {
        const struct store_bytes kept = sql_get_bytes(&sql, 7);
        struct store_row row;

        read_row(&sql, &row);
        chain(&row, hash);
        last++;
        if (row.number == last && kept.size == HASH_BYTES &&
            memcmp(kept.bytes, hash, HASH_BYTES) == 0)
            continue;
        (void) snprintf(what, sizeof what, "row %llu of the log does not follow the one before",
                        (unsigned long long) row.number);
        return refuse(store, what, err);
    }
    return r;
}

static int check_file(struct store *store, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "PRAGMA integrity_check (1)");
    r = sql_step(&sql, err);
    if (r <= 0)
        return r;
    return str_equal(sql_get_text(&sql, 0), "ok") ? 0 : refuse(store, sql_get_text(&sql, 0), err);
}

static int check_references(struct store *store, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "PRAGMA foreign_key_check");
    r = sql_step(&sql, err);
    return r > 0 ? refuse(store, "a row belongs to one that is not there", err) : r;
}

int store_check(struct store *store, struct err *err)
{
    int r = check_file(store, err);

    if (r == 0)
        r = check_references(store, err);
    return r == 0 ? check_chain(store, err) : r;
}
