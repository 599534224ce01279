#include "store/store_priv.h"

#include <string.h>

static int refuse_path(const struct store_file *file, struct err *err)
{
    (void) err_set(err, EEXIST, "store.exists", "'%s' has a rule in '%s' already", file->path,
                   file->pen);
    return err_hint(err, "edit that one");
}

static int check(const struct store_file *file, struct err *err)
{
    if (file->access > STORE_UNIX)
        return err_set(err, EINVAL, "store.text", "there is no access of number %d",
                       (int) file->access);
    return texts_check_path(file->path, err);
}

static int insert(struct store *store, const struct store_file *file, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "INSERT INTO files (id, pen, path, access) VALUES (?1, ?2, ?3, ?4)");
    sql_text(&sql, file->id);
    sql_text(&sql, file->pen);
    sql_text(&sql, file->path);
    sql_number(&sql, file->access);
    r = sql_run(&sql, err);
    if (r == -ENOENT)
        return store_unknown("a pen", file->pen, err);
    return r == -EEXIST ? refuse_path(file, err) : r;
}

static int note(struct store *store, const char *kind, const struct store_file *file,
                struct err *err)
{
    static const char *const accesses[] = {
        [STORE_READ] = "read",
        [STORE_WRITE] = "write",
        [STORE_HIDE] = "hide",
        [STORE_UNIX] = "unix",
    };
    const struct store_row row = {.kind = kind, .pen = file->pen};

    return log_note(store, &row,
                    json_pack("{s:s, s:o, s:s}", "file", file->id, "path", log_text(file->path),
                              "access", accesses[file->access]),
                    err);
}

int store_file_add(struct store *store, struct store_file *file, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    struct store_file made = *file;
    int r = check(file, err);

    if (r == 0)
        r = change_begin(&change, store, err);
    if (r == 0)
        r = id_make(store, 'f', "SELECT 1 FROM files WHERE id = ?1", made.id, err);
    if (r == 0)
        r = insert(store, &made, err);
    if (r >= 0)
        r = note(store, "file.add", &made, err);
    if (r >= 0)
        r = change_commit(&change, err);
    if (r == 0)
        memcpy(file->id, made.id, sizeof file->id);
    return r;
}

static int update(struct store *store, const struct store_file *file, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "UPDATE files SET path = ?3, access = ?4 WHERE id = ?1 AND pen = ?2");
    sql_text(&sql, file->id);
    sql_text(&sql, file->pen);
    sql_text(&sql, file->path);
    sql_number(&sql, file->access);
    r = sql_run(&sql, err);
    if (r == 0)
        return store_unknown("a file rule", file->id, err);
    return r == -EEXIST ? refuse_path(file, err) : r;
}

int store_file_edit(struct store *store, const struct store_file *file, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = check(file, err);

    if (r == 0)
        r = change_begin(&change, store, err);
    if (r == 0)
        r = update(store, file, err);
    if (r >= 0)
        r = note(store, "file.edit", file, err);
    return r < 0 ? r : change_commit(&change, err);
}

static int delete_row(struct store *store, const char *pen, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "DELETE FROM files WHERE id = ?1 AND pen = ?2");
    sql_text(&sql, id);
    sql_text(&sql, pen);
    r = sql_run(&sql, err);
    return r == 0 ? store_unknown("a file rule", id, err) : r;
}

int store_file_remove(struct store *store, const char *pen, const char *id, struct err *err)
{
    const struct store_row row = {.kind = "file.remove", .pen = pen};
    AUTO(change_end) struct change change = {0};
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = delete_row(store, pen, id, err);
    if (r >= 0)
        r = log_note(store, &row, json_pack("{s:s}", "file", id), err);
    return r < 0 ? r : change_commit(&change, err);
}

int store_file_each(struct store *store, const char *pen,
                    int (*each)(void *context, const struct store_file *file), void *context,
                    struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "SELECT id, pen, path, access FROM files WHERE pen = ?1 ORDER BY number");
    sql_text(&sql, pen);
    while ((r = sql_step(&sql, err)) > 0) {
        AUTO_FREE char *path = sql_copy_text(&sql, 2);
        struct store_file file = {.path = path,
                                  .access = (enum store_access) sql_get_number(&sql, 3)};

        if (path == NULL)
            return err_memory(err);
        sql_get_id(&sql, 0, file.id);
        sql_get_id(&sql, 1, file.pen);
        r = each(context, &file);
        if (r != 0)
            return r;
    }
    return r;
}
