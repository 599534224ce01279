#include "base/path.h"
#include "store/store_priv.h"

#include <string.h>
#include <sys/random.h>

int texts_check(const struct text_bound *bounds, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct text_bound *bound = &bounds[i];

        if (bound->text == NULL && bound->optional)
            continue;
        if (bound->text == NULL)
            return err_set(err, EINVAL, "store.text", "%s is missing", bound->what);
        if (strlen(bound->text) > (size_t) bound->most)
            return err_set(err, EINVAL, "store.text", "%s is longer than %d bytes", bound->what,
                           (int) bound->most);
    }
    return 0;
}

int texts_check_path(const char *path, struct err *err)
{
    const struct text_bound bound = {"the path", path, BOUND_PATH, false};
    int r = texts_check(&bound, 1, err);

    if (r < 0 || path_is_clean(path))
        return r;
    return err_set(err, EINVAL, "store.text", "'%s' is not an absolute path without detours", path);
}

int store_unknown(const char *what, const char *id, struct err *err)
{
    return err_set(err, ENOENT, "store.unknown", "cannot find %s '%s'", what, id);
}

/* ---- ids ---------------------------------------------------------------------------------- */

enum { ID_LETTERS = 8, ID_TRIES = 16 };

/* 32 that are not taken for each other, so that each is as likely; 40 bits in all. */
static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
_Static_assert(sizeof alphabet == 32 + 1, "five bits each");

static int draw(char letter, char id[STORE_ID_SIZE], struct err *err)
{
    unsigned char bytes[ID_LETTERS];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
        return err_set(err, errno, "store.random", "cannot get random bytes");
    id[0] = letter;
    id[1] = '-';
    for (size_t i = 0; i < sizeof bytes; i++)
        id[2 + i] = alphabet[bytes[i] & 31u];
    id[2 + sizeof bytes] = '\0';
    return 0;
}

static int is_taken(struct store *store, const char *taken, const char *id, struct err *err)
{
    AUTO(sql_end) struct sql sql = {0};

    sql_open(&sql, store, taken);
    sql_text(&sql, id);
    return sql_step(&sql, err);
}

int id_make(struct store *store, char letter, const char *taken, char ret_id[STORE_ID_SIZE],
            struct err *err)
{
    char id[STORE_ID_SIZE] = "";

    for (int i = 0; i < ID_TRIES; i++) {
        int r = draw(letter, id, err);

        if (r == 0)
            r = is_taken(store, taken, id, err);
        if (r < 0)
            return r;
        if (r == 0) {
            memcpy(ret_id, id, STORE_ID_SIZE);
            return 0;
        }
    }
    return err_set(err, EEXIST, "store.random", "cannot find a free id");
}
