#include "store/store_priv.h"

#include <string.h>

void store_pen_free(struct store_pen *pen)
{
    free(pen->path);
    free(pen->name);
    *pen = (struct store_pen){0};
}

/* ---- reading ------------------------------------------------------------------------------ */

#define COLUMNS "SELECT id, path, name, dev, inode, created_ms, revision FROM pens"

static int read_row(const struct sql *sql, struct store_pen *ret_pen, struct err *err)
{
    struct store_pen pen = {
        .path = sql_copy_text(sql, 1),
        .name = sql_copy_text(sql, 2),
        .dev = sql_get_number(sql, 3),
        .inode = sql_get_number(sql, 4),
        .created_ms = sql_get_number(sql, 5),
        .revision = sql_get_number(sql, 6),
    };

    sql_get_id(sql, 0, pen.id);
    if (pen.path == NULL || pen.name == NULL) {
        store_pen_free(&pen);
        return err_memory(err);
    }
    *ret_pen = pen;
    return 0;
}

int store_pen_find(struct store *store, const char *key, struct store_pen *ret_pen, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, *key == '/' ? COLUMNS " WHERE path = ?1" : COLUMNS " WHERE id = ?1");
    sql_text(&sql, key);
    r = sql_step(&sql, err);
    if (r == 0)
        return store_unknown("a pen", key, err);
    return r < 0 ? r : read_row(&sql, ret_pen, err);
}

int store_pen_each(struct store *store, int (*each)(void *context, const struct store_pen *pen),
                   void *context, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, COLUMNS " ORDER BY number");
    while ((r = sql_step(&sql, err)) > 0) {
        AUTO(store_pen_free) struct store_pen pen = {0};

        r = read_row(&sql, &pen, err);
        if (r == 0)
            r = each(context, &pen);
        if (r != 0)
            return r;
    }
    return r;
}

/* ---- revisions ---------------------------------------------------------------------------- */

int pen_check_revision(struct store *store, const char *pen, uint64_t revision, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "SELECT revision FROM pens WHERE id = ?1");
    sql_text(&sql, pen);
    r = sql_step(&sql, err);
    if (r == 0)
        return store_unknown("a pen", pen, err);
    if (r < 0 || revision == STORE_ANY_REVISION || sql_get_number(&sql, 0) == revision)
        return r < 0 ? r : 0;
    (void) err_set(err, ESTALE, "store.stale", "the permissions of '%s' were changed meanwhile",
                   pen);
    return err_hint(err, "look at them as they are now, then decide again");
}

int pen_touch(struct store *store, const char *pen, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "UPDATE pens SET revision = revision + 1 WHERE id = ?1");
    sql_text(&sql, pen);
    r = sql_run(&sql, err);
    return r == 0 ? store_unknown("a pen", pen, err) : r < 0 ? r : 0;
}

/* ---- changes ------------------------------------------------------------------------------ */

static int check(const struct store_pen *pen, struct err *err)
{
    const struct text_bound name = {"the name of the pen", pen->name, BOUND_NAME, true};
    int r = texts_check_path(pen->path, err);

    return r < 0 ? r : texts_check(&name, 1, err);
}

/* Says which pen the folder is already. */
static int refuse_path(const char *path, struct err *err)
{
    (void) err_set(err, EEXIST, "store.exists", "'%s' is a pen already", path);
    return err_hint(err, "'wattle pens show' with that path tells its id");
}

/* `pen`: the folder it has from now on; NULL: none. */
static int note(struct store *store, const char *kind, const char *id, const struct store_pen *pen,
                struct err *err)
{
    const struct store_row row = {.kind = kind, .pen = id};

    if (pen == NULL)
        return log_note(store, &row, json_object(), err);
    return log_note(store, &row,
                    json_pack("{s:o, s:o, s:I, s:I}", "path", log_text(pen->path), "name",
                              log_text(pen->name), "dev", (json_int_t) pen->dev, "inode",
                              (json_int_t) pen->inode),
                    err);
}

static int insert(struct store *store, const struct store_pen *pen, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store,
             "INSERT INTO pens (id, path, name, dev, inode, created_ms, revision)"
             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)");
    sql_text(&sql, pen->id);
    sql_text(&sql, pen->path);
    sql_text(&sql, pen->name == NULL ? "" : pen->name);
    sql_number(&sql, pen->dev);
    sql_number(&sql, pen->inode);
    sql_number(&sql, pen->created_ms);
    r = sql_run(&sql, err);
    return r == -EEXIST ? refuse_path(pen->path, err) : r;
}

int store_pen_add(struct store *store, struct store_pen *pen, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    struct store_pen made = *pen;
    int r = check(pen, err);

    if (r == 0)
        r = change_begin(&change, store, err);
    if (r == 0)
        r = id_make(store, 'p', "SELECT 1 FROM pens WHERE id = ?1", made.id, err);
    if (r < 0)
        return r;
    made.created_ms = store_now_ms(store);
    r = insert(store, &made, err);
    if (r >= 0)
        r = note(store, "pen.add", made.id, &made, err);
    if (r >= 0)
        r = change_commit(&change, err);
    if (r < 0)
        return r;
    memcpy(pen->id, made.id, sizeof pen->id);
    pen->created_ms = made.created_ms;
    pen->revision = 0;
    return 0;
}

static int move(struct store *store, const char *id, const struct store_pen *to, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store,
             "UPDATE pens SET path = ?2, dev = ?3, inode = ?4,"
             " revision = revision + 1 WHERE id = ?1");
    sql_text(&sql, id);
    sql_text(&sql, to->path);
    sql_number(&sql, to->dev);
    sql_number(&sql, to->inode);
    r = sql_run(&sql, err);
    if (r == 0)
        return store_unknown("a pen", id, err);
    return r == -EEXIST ? refuse_path(to->path, err) : r;
}

static int clear_grants(struct store *store, const char *pen, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store, "DELETE FROM grants WHERE pen = ?1");
    sql_text(&sql, pen);
    return sql_run(&sql, err);
}

int store_pen_rebind(struct store *store, const char *id, const struct store_pen *to,
                     struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = check(to, err);

    if (r == 0)
        r = change_begin(&change, store, err);
    if (r == 0)
        r = move(store, id, to, err);
    if (r >= 0)
        r = clear_grants(store, id, err);
    if (r >= 0)
        r = turns_close(store, NULL, id, err);
    if (r >= 0)
        r = note(store, "pen.rebind", id, to, err);
    return r < 0 ? r : change_commit(&change, err);
}

static int delete_row(struct store *store, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "DELETE FROM pens WHERE id = ?1");
    sql_text(&sql, id);
    r = sql_run(&sql, err);
    return r == 0 ? store_unknown("a pen", id, err) : r;
}

int store_pen_remove(struct store *store, const char *id, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = delete_row(store, id, err);
    if (r >= 0)
        r = note(store, "pen.remove", id, NULL, err);
    return r < 0 ? r : change_commit(&change, err);
}
