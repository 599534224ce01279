#include "store/store_priv.h"

#include <string.h>

/* ---- making and listing ------------------------------------------------------------------- */

/* 1: found, 0: there is none. */
static int find(struct store *store, const char *pen, const char *name, char ret_id[STORE_ID_SIZE],
                struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "SELECT id FROM chats WHERE pen = ?1 AND name = ?2");
    sql_text(&sql, pen);
    sql_text(&sql, name);
    r = sql_step(&sql, err);
    if (r > 0)
        sql_get_id(&sql, 0, ret_id);
    return r;
}

static int insert(struct store *store, const char *pen, const char *name, const char *id,
                  struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "INSERT INTO chats (id, pen, name, created_ms) VALUES (?1, ?2, ?3, ?4)");
    sql_text(&sql, id);
    sql_text(&sql, pen);
    sql_text(&sql, name);
    sql_number(&sql, store_now_ms(store));
    r = sql_run(&sql, err);
    return r == -ENOENT ? store_unknown("a pen", pen, err) : r;
}

int store_chat_get(struct store *store, const char *pen, const char *name,
                   char ret_id[STORE_ID_SIZE], struct err *err)
{
    const struct text_bound bound = {"the name of the chat", name, BOUND_NAME, false};
    AUTO(change_end) struct change change = {0};
    char id[STORE_ID_SIZE] = "";
    const struct store_row row = {.kind = "chat.add", .pen = pen, .chat = id};
    int r = texts_check(&bound, 1, err);

    if (r == 0)
        r = find(store, pen, name, ret_id, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = change_begin(&change, store, err);
    if (r == 0)
        r = id_make(store, 'c', "SELECT 1 FROM chats WHERE id = ?1", id, err);
    if (r == 0)
        r = insert(store, pen, name, id, err);
    if (r >= 0)
        r = log_note(store, &row, json_pack("{s:o}", "name", log_text(name)), err);
    if (r >= 0)
        r = change_commit(&change, err);
    if (r == 0)
        memcpy(ret_id, id, STORE_ID_SIZE);
    return r;
}

int store_chat_each(struct store *store, const char *pen,
                    int (*each)(void *context, const struct store_chat *chat), void *context,
                    struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store,
             "SELECT id, pen, name, created_ms,"
             " (SELECT count(*) FROM turns WHERE chat = chats.id),"
             " (SELECT count(*) FROM turns WHERE chat = chats.id AND ended_ms IS NULL)"
             " FROM chats WHERE ?1 IS NULL OR pen = ?1 ORDER BY number");
    sql_text(&sql, pen);
    while ((r = sql_step(&sql, err)) > 0) {
        AUTO_FREE char *name = sql_copy_text(&sql, 2);
        struct store_chat chat = {.name = name,
                                  .created_ms = sql_get_number(&sql, 3),
                                  .turns = sql_get_number(&sql, 4),
                                  .open_turns = sql_get_number(&sql, 5)};

        if (name == NULL)
            return err_memory(err);
        sql_get_id(&sql, 0, chat.id);
        sql_get_id(&sql, 1, chat.pen);
        r = each(context, &chat);
        if (r != 0)
            return r;
    }
    return r;
}

/* ---- moving and deleting ------------------------------------------------------------------ */

/* The pen of a chat. 1: a turn of it is open. */
static int find_pen(struct store *store, const char *id, char ret_pen[STORE_ID_SIZE],
                    struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store,
             "SELECT pen, EXISTS (SELECT 1 FROM turns WHERE chat = ?1 AND ended_ms IS NULL)"
             " FROM chats WHERE id = ?1");
    sql_text(&sql, id);
    r = sql_step(&sql, err);
    if (r <= 0)
        return r < 0 ? r : store_unknown("a chat", id, err);
    sql_get_id(&sql, 0, ret_pen);
    return sql_get_number(&sql, 1) != 0;
}

/* Of one that has no open turn. */
static int find_resting(struct store *store, const char *id, char ret_pen[STORE_ID_SIZE],
                        struct err *err)
{
    const int r = find_pen(store, id, ret_pen, err);

    if (r <= 0)
        return r;
    (void) err_set(err, EBUSY, "store.turn-open", "a turn of '%s' is open", id);
    return err_hint(err, "'wattle chats end-turn %s' ends it, and stops its jobs", id);
}

static int clear_grants(struct store *store, const char *chat, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store, "DELETE FROM grants WHERE chat = ?1");
    sql_text(&sql, chat);
    return sql_run(&sql, err);
}

static int set_pen(struct store *store, const char *id, const char *pen, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "UPDATE chats SET pen = ?2 WHERE id = ?1");
    sql_text(&sql, id);
    sql_text(&sql, pen);
    r = sql_run(&sql, err);
    if (r == -EEXIST)
        return err_set(err, EEXIST, "store.exists", "'%s' has a chat of that name already", pen);
    return r == -ENOENT ? store_unknown("a pen", pen, err) : r;
}

/* A chat that stays where it is keeps its grants. */
int store_chat_move(struct store *store, const char *id, const char *pen, struct err *err)
{
    const struct store_row row = {.kind = "chat.move", .pen = pen, .chat = id};
    AUTO(change_end) struct change change = {0};
    char from[STORE_ID_SIZE] = "";
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = find_resting(store, id, from, err);
    if (r < 0 || str_equal(from, pen))
        return r;
    r = clear_grants(store, id, err);
    if (r >= 0)
        r = turns_close(store, id, NULL, err);
    if (r >= 0)
        r = set_pen(store, id, pen, err);
    if (r >= 0)
        r = pen_touch(store, from, err);
    if (r == 0)
        r = log_note(store, &row, json_pack("{s:s}", "from", from), err);
    return r < 0 ? r : change_commit(&change, err);
}

static int delete_row(struct store *store, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store, "DELETE FROM chats WHERE id = ?1");
    sql_text(&sql, id);
    return sql_run(&sql, err);
}

int store_chat_delete(struct store *store, const char *id, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    char pen[STORE_ID_SIZE] = "";
    const struct store_row row = {.kind = "chat.delete", .pen = pen, .chat = id};
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = find_resting(store, id, pen, err);
    if (r == 0)
        r = delete_row(store, id, err); /* and its turns and grants */
    if (r >= 0)
        r = pen_touch(store, pen, err);
    if (r == 0)
        r = log_note(store, &row, json_object(), err);
    return r < 0 ? r : change_commit(&change, err);
}

/* ---- turns -------------------------------------------------------------------------------- */

/* Whose turn it is. 0: it was ended before. */
static int find_open(struct store *store, const char *turn, char ret_chat[STORE_ID_SIZE],
                     char ret_pen[STORE_ID_SIZE], struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store,
             "SELECT chats.id, chats.pen, turns.ended_ms IS NULL FROM turns JOIN chats"
             " ON chats.id = turns.chat WHERE turns.id = ?1");
    sql_text(&sql, turn);
    r = sql_step(&sql, err);
    if (r <= 0)
        return r < 0 ? r : store_unknown("a turn", turn, err);
    sql_get_id(&sql, 0, ret_chat);
    sql_get_id(&sql, 1, ret_pen);
    return sql_get_number(&sql, 2) != 0;
}

static int note_begin(struct store *store, const char *turn, struct err *err)
{
    char chat[STORE_ID_SIZE] = "", pen[STORE_ID_SIZE] = "";
    const struct store_row row = {.kind = "turn.begin", .pen = pen, .chat = chat};
    const int r = find_open(store, turn, chat, pen, err);

    return r < 0 ? r : log_note(store, &row, json_pack("{s:s}", "turn", turn), err);
}

static int insert_turn(struct store *store, const char *chat, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "INSERT INTO turns (id, chat, began_ms) VALUES (?1, ?2, ?3)");
    sql_text(&sql, id);
    sql_text(&sql, chat);
    sql_number(&sql, store_now_ms(store));
    r = sql_run(&sql, err);
    return r == -ENOENT ? store_unknown("a chat", chat, err) : r;
}

int store_turn_begin(struct store *store, const char *chat, char ret_id[STORE_ID_SIZE],
                     struct err *err)
{
    AUTO(change_end) struct change change = {0};
    char id[STORE_ID_SIZE] = "";
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = id_make(store, 't', "SELECT 1 FROM turns WHERE id = ?1", id, err);
    if (r == 0)
        r = insert_turn(store, chat, id, err);
    if (r >= 0)
        r = note_begin(store, id, err);
    if (r >= 0)
        r = change_commit(&change, err);
    if (r == 0)
        memcpy(ret_id, id, STORE_ID_SIZE);
    return r;
}

static int end_turn(struct store *store, const char *id, const char *why, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store, "UPDATE turns SET why = ?2, ended_ms = ?3 WHERE id = ?1");
    sql_text(&sql, id);
    sql_text(&sql, why);
    sql_number(&sql, store_now_ms(store));
    return sql_run(&sql, err);
}

int turn_end(struct store *store, const char *id, const char *why, struct err *err)
{
    char chat[STORE_ID_SIZE] = "", pen[STORE_ID_SIZE] = "";
    const struct store_row row = {.kind = "turn.end", .pen = pen, .chat = chat};
    int r = find_open(store, id, chat, pen, err);

    if (r <= 0)
        return r; /* the first end is the one that is kept */
    r = log_note(store, &row, json_pack("{s:s, s:o}", "turn", id, "why", log_text(why)), err);
    return r < 0 ? r : end_turn(store, id, why, err);
}

int store_turn_end(struct store *store, const char *id, const char *why, struct err *err)
{
    const struct text_bound bound = {"the reason", why, BOUND_NOTICE, false};
    AUTO(change_end) struct change change = {0};
    int r = texts_check(&bound, 1, err);

    if (r == 0)
        r = change_begin_relaxed(&change, store, err);
    if (r == 0)
        r = turn_end(store, id, why, err);
    return r < 0 ? r : change_commit(&change, err);
}

int turns_close(struct store *store, const char *chat, const char *pen, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store,
             "UPDATE turns SET closed = 1 WHERE closed = 0 AND chat IN"
             " (SELECT id FROM chats WHERE id = ?1 OR pen = ?2)");
    sql_text(&sql, chat);
    sql_text(&sql, pen);
    return sql_run(&sql, err);
}

int store_turns_close(struct store *store, const char *chat, struct err *err)
{
    AUTO(change_end) struct change change = {0};
    char pen[STORE_ID_SIZE] = "";
    const struct store_row row = {.kind = "turn.close", .pen = pen, .chat = chat};
    int r = change_begin(&change, store, err);

    if (r == 0)
        r = find_pen(store, chat, pen, err);
    if (r >= 0)
        r = turns_close(store, chat, NULL, err);
    if (r > 0)
        r = log_note(store, &row, json_pack("{s:i}", "turns", r), err);
    return r < 0 ? r : change_commit(&change, err);
}

int store_turn_is_closed(struct store *store, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};
    int r = 0;

    sql_open(&sql, store, "SELECT closed FROM turns WHERE id = ?1");
    sql_text(&sql, id);
    r = sql_step(&sql, err);
    return r <= 0 ? r == 0 ? 1 : r : sql_get_number(&sql, 0) != 0;
}
