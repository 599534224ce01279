/* Growing lists, the order of paths, and the checks every path goes through. */
#include "base/path.h"
#include "base/str.h"
#include "policy/policy_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Far above what a real policy holds; keeps hostile bytes given to the decoder from being slow. */
#define LIST_LIMIT 16384

/* ---- lists ------------------------------------------------------------------------------- */

void *list_at(const struct list *list, size_t index)
{
    assert(index < list->count);
    return (char *) list->items + index * list->item_size;
}

int list_reserve(struct list *list, const char *what, struct err *err)
{
    size_t room = list->room == 0 ? 16 : list->room * 2;
    void *items = NULL;

    if (list->count < list->room)
        return 0;
    if (list->count >= LIST_LIMIT)
        return err_set(err, EINVAL, "policy.too-many", "a policy holds at most %d %s", LIST_LIMIT,
                       what);
    items = reallocarray(list->items, room, list->item_size);
    if (items == NULL)
        return err_memory(err);
    list->items = items;
    list->room = room;
    return 0;
}

void list_insert(struct list *list, size_t index, const void *item)
{
    char *at = (char *) list->items + index * list->item_size;

    assert(list->count < list->room && index <= list->count);
    memmove(at + list->item_size, at, (list->count - index) * list->item_size);
    memcpy(at, item, list->item_size);
    list->count++;
}

/* ---- order of paths ---------------------------------------------------------------------- */

/* "/" sorts before any other byte: "/a-b" does not come between "/a" and "/a/b". */
static int path_byte_rank(unsigned char byte)
{
    if (byte == '\0')
        return 0;
    return byte == '/' ? 1 : byte + 2;
}

int path_compare(const char *path, const struct path_key *key)
{
    size_t i = 0;

    while (i < key->size && path[i] != '\0' && path[i] == key->path[i])
        i++;
    return path_byte_rank((unsigned char) path[i]) -
           (i < key->size ? path_byte_rank((unsigned char) key->path[i]) : 0);
}

size_t list_search(const struct list *list, const struct path_key *key,
                   int (*compare)(const void *item, const struct path_key *key), bool *ret_found)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(list_at(list, middle), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = low < list->count && compare(list_at(list, low), key) == 0;
    return low;
}

/* ---- paths that are taken ------------------------------------------------------------------ */

int policy_check_path(const char *path, const char *what, struct err *err)
{
    if (path != NULL && path_is_clean(path))
        return 0;
    (void) err_set(err, EINVAL, "policy.path", "the path of a %s is not plain: '%s'", what,
                   path == NULL ? "" : path);
    return err_hint(err, "write it from '/' on, without '.', '..', '//' or a '/' at its end");
}

int policy_check_path_below_root(const char *path, const char *what, struct err *err)
{
    int r = policy_check_path(path, what, err);

    if (r < 0)
        return r;
    if (!str_equal(path, "/"))
        return 0;
    (void) err_set(err, EINVAL, "policy.root", "a %s cannot be for '/', the whole system", what);
    return err_hint(err, "name the folders that are meant");
}
