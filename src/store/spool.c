#include "store/store_priv.h"

int store_spool_get(struct store *store, struct store_spool *ret_spool, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "SELECT dev, inode, offset, file_unread, lines, unread FROM spool");
    r = sql_step(&sql, err);
    if (r <= 0)
        return r < 0 ? r : store_unknown("the row", "spool", err);
    *ret_spool = (struct store_spool){
        .dev = sql_get_number(&sql, 0),
        .inode = sql_get_number(&sql, 1),
        .offset = sql_get_number(&sql, 2),
        .file_unread = sql_get_number(&sql, 3),
        .lines = sql_get_number(&sql, 4),
        .unread = sql_get_number(&sql, 5),
    };
    return 0;
}

static int save(struct store *store, const struct store_spool *spool, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             "UPDATE spool SET dev = ?1, inode = ?2, offset = ?3, file_unread = ?4, lines = ?5,"
             " unread = ?6");
    sql_number(&sql, spool->dev);
    sql_number(&sql, spool->inode);
    sql_number(&sql, spool->offset);
    sql_number(&sql, spool->file_unread);
    sql_number(&sql, spool->lines);
    sql_number(&sql, spool->unread);
    return sql_run(&sql, err);
}

int store_spool_put(struct store *store, const struct store_spool *spool,
                    const struct store_row *rows, size_t count, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    int r = change_begin(&change, store, err);

    for (size_t i = 0; r == 0 && i < count; i++)
        r = log_add(store, &rows[i], err);
    if (r == 0)
        r = save(store, spool, err);
    return r < 0 ? r : change_commit(&change, err);
}
