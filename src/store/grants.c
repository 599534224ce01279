#include "store/store_priv.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS                                                                                    \
    "SELECT id, pen, chat, path, dev, inode, size_bytes, mtime_ns, ctime_ns, network, created_ms," \
    " used_ms, uses, content FROM grants"

/* Named, since SQLite would rather read all of the pen in their order than sort the two it finds.
 */
#define BY_SCOPE " INDEXED BY grants_scope WHERE pen = ?1 AND path = ?2 AND path <> ''"

/* ---- reading ------------------------------------------------------------------------------ */

/* All but the path, which is the caller's to copy. */
static void read_row(const struct sql *sql, struct store_grant *ret_grant)
{
    *ret_grant = (struct store_grant){
        .executable = {.dev = sql_get_number(sql, 4),
                       .inode = sql_get_number(sql, 5),
                       .size_bytes = sql_get_number(sql, 6),
                       .mtime_ns = (int64_t) sql_get_number(sql, 7),
                       .ctime_ns = (int64_t) sql_get_number(sql, 8)},
        .network = sql_get_number(sql, 9) != 0,
        .created_ms = sql_get_number(sql, 10),
        .used_ms = sql_get_number(sql, 11),
        .uses = sql_get_number(sql, 12),
    };
    sql_get_id(sql, 0, ret_grant->id);
    sql_get_id(sql, 1, ret_grant->pen);
    sql_get_id(sql, 2, ret_grant->chat);
    (void) snprintf(ret_grant->executable.content, sizeof ret_grant->executable.content, "%s",
                    sql_get_text(sql, 13));
}

static int pass_rows(struct sql *sql, int (*each)(void *context, const struct store_grant *grant),
                     void *context, struct err *err)
{
    int r = 0;

    while ((r = sql_step(sql, err)) > 0) {
        AUTO_FREE char *path = sql_copy_text(sql, 3);
        struct store_grant grant;

        if (path == NULL)
            return err_memory(err);
        read_row(sql, &grant);
        grant.executable.path = path;
        r = each(context, &grant);
        if (r != 0)
            return r;
    }
    return r;
}

int store_grant_each(struct store *store, const char *pen,
                     int (*each)(void *context, const struct store_grant *grant), void *context,
                     struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store, COLUMNS " WHERE pen = ?1 ORDER BY number");
    sql_text(&sql, pen);
    return pass_rows(&sql, each, context, err);
}

int store_grant_match(struct store *store, const struct store_call *call,
                      int (*each)(void *context, const struct store_grant *grant), void *context,
                      struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             COLUMNS BY_SCOPE " AND ifnull(chat, '') IN ('', ?3)"
                              " AND network >= ?4 ORDER BY number");
    sql_text(&sql, call->pen);
    sql_text(&sql, call->path);
    sql_text(&sql, call->chat);
    sql_number(&sql, call->network);
    return pass_rows(&sql, each, context, err);
}

/* ---- putting ------------------------------------------------------------------------------ */

static int check(const struct store_grant *grant, struct err *err)
{
    if (grant->executable.path != NULL && *grant->executable.path == '\0')
        return err_set(err, EINVAL, "store.text", "a permission needs the path of its executable");
    return texts_check_path(grant->executable.path, err);
}

static int check_chat(struct store *store, const struct store_grant *grant, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    if (*grant->chat == '\0')
        return 0;
    sql_open(&sql, store, "SELECT 1 FROM chats WHERE id = ?1 AND pen = ?2");
    sql_text(&sql, grant->chat);
    sql_text(&sql, grant->pen);
    r = sql_step(&sql, err);
    return r == 0 ? store_unknown("a chat of that pen,", grant->chat, err) : r < 0 ? r : 0;
}

/* The entry that is edited gives its age, and its uses while it stays with the executable. */
static int take_edited(struct store *store, struct store_grant *merged, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    if (*merged->id == '\0')
        return 0;
    sql_open(&sql, store,
             "SELECT created_ms, used_ms, uses, path FROM grants WHERE id = ?1 AND pen = ?2");
    sql_text(&sql, merged->id);
    sql_text(&sql, merged->pen);
    r = sql_step(&sql, err);
    if (r <= 0)
        return r < 0 ? r : store_unknown("a permission", merged->id, err);
    merged->created_ms = sql_get_number(&sql, 0);
    if (str_equal(sql_get_text(&sql, 3), merged->executable.path)) {
        merged->used_ms = sql_get_number(&sql, 1);
        merged->uses = sql_get_number(&sql, 2);
    }
    return 0;
}

static int delete_row(struct store *store, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store, "DELETE FROM grants WHERE id = ?1");
    sql_text(&sql, id);
    return sql_run(&sql, err);
}

/* Another entry of the same executable and scope goes into this one (G8). The index of the table
 * lets there be one at most. 1: there is one, and `ret_other` is it. */
static int find_equal(struct store *store, const struct store_grant *grant,
                      struct store_grant *ret_other, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, COLUMNS BY_SCOPE " AND ifnull(chat, '') = ?3 AND id <> ?4");
    sql_text(&sql, grant->pen);
    sql_text(&sql, grant->executable.path);
    sql_text(&sql, grant->chat);
    sql_text(&sql, grant->id);
    r = sql_step(&sql, err);
    if (r > 0)
        read_row(&sql, ret_other);
    return r;
}

static int merge_equal(struct store *store, struct store_grant *merged, struct err *err)
{
    struct store_grant other = {0};
    int r = find_equal(store, merged, &other, err);

    if (r <= 0)
        return r;
    merged->network = merged->network || other.network;
    merged->uses += other.uses;
    if (other.used_ms > merged->used_ms)
        merged->used_ms = other.used_ms;
    if (*merged->id != '\0')
        return delete_row(store, other.id, err);
    memcpy(merged->id, other.id, sizeof merged->id);
    merged->created_ms = other.created_ms;
    return 0;
}

static int save(struct store *store, const struct store_grant *grant, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             "INSERT INTO grants (id, pen, chat, path, dev, inode, size_bytes, mtime_ns, ctime_ns,"
             " network, created_ms, used_ms, uses, content)"
             " VALUES (?1, ?2, nullif(?3, ''), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
             " ON CONFLICT (id) DO UPDATE SET chat = excluded.chat, path = excluded.path,"
             " dev = excluded.dev, inode = excluded.inode, size_bytes = excluded.size_bytes,"
             " mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,"
             " network = excluded.network, used_ms = excluded.used_ms, uses = excluded.uses,"
             " content = excluded.content");
    sql_text(&sql, grant->id);
    sql_text(&sql, grant->pen);
    sql_text(&sql, grant->chat);
    sql_text(&sql, grant->executable.path);
    sql_number(&sql, grant->executable.dev);
    sql_number(&sql, grant->executable.inode);
    sql_number(&sql, grant->executable.size_bytes);
    sql_number(&sql, (uint64_t) grant->executable.mtime_ns);
    sql_number(&sql, (uint64_t) grant->executable.ctime_ns);
    sql_number(&sql, grant->network);
    sql_number(&sql, grant->created_ms);
    sql_number(&sql, grant->used_ms);
    sql_number(&sql, grant->uses);
    sql_text(&sql, grant->executable.content);
    return sql_run(&sql, err);
}

static int note_put(struct store *store, const struct store_grant *grant, struct err *err)
{
    const struct store_row row = {
        .kind = "grant.put", .pen = grant->pen, .chat = *grant->chat == '\0' ? NULL : grant->chat};
    const struct store_identity *file = &grant->executable;

    return log_note(store, &row,
                    json_pack("{s:s, s:o, s:b, s:I, s:I, s:I, s:I, s:I}", "grant", grant->id,
                              "executable", log_text(file->path), "network", (int) grant->network,
                              "dev", (json_int_t) file->dev, "inode", (json_int_t) file->inode,
                              "size_bytes", (json_int_t) file->size_bytes, "mtime_ns",
                              (json_int_t) file->mtime_ns, "ctime_ns", (json_int_t) file->ctime_ns),
                    err);
}

static int put(struct store *store, struct store_grant *merged, struct err *err)
{
    int r = check_chat(store, merged, err);

    if (r == 0)
        r = take_edited(store, merged, err);
    if (r == 0)
        r = merge_equal(store, merged, err);
    if (r >= 0 && *merged->id == '\0')
        r = id_make(store, 'g', "SELECT 1 FROM grants WHERE id = ?1", merged->id, err);
    if (r >= 0)
        r = save(store, merged, err);
    if (r >= 0)
        r = note_put(store, merged, err);
    return r < 0 ? r : pen_touch(store, merged->pen, err);
}

int store_grant_put(struct store *store, struct store_grant *grant, uint64_t revision,
                    struct err *err)
{
    AUTO(change_end) struct change change = {0};
    struct store_grant merged = *grant;
    int r = check(grant, err);

    if (r == 0)
        r = change_begin(&change, store, err);
    if (r == 0)
        r = pen_check_revision(store, grant->pen, revision, err);
    if (r < 0)
        return r;
    merged.created_ms = store_now_ms(store);
    merged.used_ms = 0;
    merged.uses = 0;
    r = put(store, &merged, err);
    if (r == 0)
        r = change_commit(&change, err);
    if (r == 0)
        *grant = merged;
    return r;
}

/* ---- removing, using ---------------------------------------------------------------------- */

static int find_pen(struct store *store, const char *id, char ret_pen[STORE_ID_SIZE],
                    struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "SELECT pen FROM grants WHERE id = ?1");
    sql_text(&sql, id);
    r = sql_step(&sql, err);
    if (r <= 0)
        return r < 0 ? r : store_unknown("a permission", id, err);
    sql_get_id(&sql, 0, ret_pen);
    return 0;
}

int store_grant_remove(struct store *store, const char *id, uint64_t revision, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    char pen[STORE_ID_SIZE] = "";
    const struct store_row row = {.kind = "grant.remove", .pen = pen};
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = find_pen(store, id, pen, err);
    if (r == 0)
        r = pen_check_revision(store, pen, revision, err);
    if (r == 0)
        r = delete_row(store, id, err);
    if (r >= 0)
        r = pen_touch(store, pen, err);
    if (r == 0)
        r = log_note(store, &row, json_pack("{s:s}", "grant", id), err);
    return r < 0 ? r : change_commit(&change, err);
}

static int count_use(struct store *store, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "UPDATE grants SET uses = uses + 1, used_ms = ?2 WHERE id = ?1");
    sql_text(&sql, id);
    sql_number(&sql, store_now_ms(store));
    r = sql_run(&sql, err);
    return r == 0 ? store_unknown("a permission", id, err) : r;
}

int grant_use(struct store *store, const char *id, const char *job, struct err *err)
{
    char pen[STORE_ID_SIZE] = "";
    const struct store_row row = {.kind = "grant.use", .pen = pen, .job = job};
    int r = find_pen(store, id, pen, err);

    if (r == 0)
        r = count_use(store, id, err);
    return r < 0 ? r : log_note(store, &row, json_pack("{s:s}", "grant", id), err);
}
