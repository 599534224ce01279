#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int derive_list_add(struct derive_list *list, const char *text, struct err *err)
{
    if (list->count == list->room_) {
        size_t room = list->room_ == 0 ? 8 : list->room_ * 2;
        char **items = reallocarray(list->items, room, sizeof *items);

        if (items == NULL)
            return err_memory(err);
        list->items = items;
        list->room_ = room;
    }
    list->items[list->count] = strdup(text);
    if (list->items[list->count] == NULL)
        return err_memory(err);
    list->count++;
    return 0;
}

bool derive_list_has(const struct derive_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (str_equal(list->items[i], text))
            return true;
    return false;
}

void derive_list_free(struct derive_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct derive_list){0};
}
