#include "pen/tree.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bounds memory whatever the names are: 200,000 long ones do not fit. */
#define NAMES_MAX ((size_t) 64 << 20)

struct pen_tree *pen_tree_new(void)
{
    return calloc(1, sizeof(struct pen_tree));
}

void pen_tree_freep(struct pen_tree **tree)
{
    struct pen_tree *old = TAKE_PTR(*tree);

    if (old == NULL)
        return;
    free(old->folders);
    free(old->notes);
    free(old->names);
    free(old);
}

/* ---- adding ------------------------------------------------------------------------------ */

/* Makes room for `more` further items. NULL: out of memory, and `items` is as it was. */
static void *reserve(void *items, size_t *room, size_t count, size_t more, size_t size)
{
    size_t wanted = *room;
    void *grown;

    if (count + more <= *room && items != NULL)
        return items;
    while (wanted < count + more)
        wanted = wanted == 0 ? 64 : wanted * 2;
    grown = reallocarray(items, wanted, size);
    if (grown != NULL)
        *room = wanted;
    return grown;
}

uint32_t pen_tree_add_name(struct pen_tree *tree, const char *name, size_t size)
{
    char *names;

    if (tree->names_size + size + 1 > NAMES_MAX) {
        errno = E2BIG;
        return PEN_NONE;
    }
    names = reserve(tree->names, &tree->names_room, tree->names_size, size + 1, 1);
    if (names == NULL)
        return PEN_NONE;
    tree->names = names;
    names += tree->names_size;
    memcpy(names, name, size);
    names[size] = '\0';
    tree->names_size += size + 1;
    return (uint32_t) (tree->names_size - size - 1);
}

uint32_t pen_tree_add_folder(struct pen_tree *tree, uint32_t parent, const char *name, size_t size)
{
    struct pen_folder *folders =
        reserve(tree->folders, &tree->folder_room, tree->folder_count, 1, sizeof *folders);
    uint32_t at;

    if (folders == NULL || tree->folder_count >= PEN_NONE)
        return PEN_NONE;
    tree->folders = folders;
    at = pen_tree_add_name(tree, name, size);
    if (at == PEN_NONE)
        return PEN_NONE;
    folders[tree->folder_count] = (struct pen_folder){.name = at, .parent = parent};
    return (uint32_t) tree->folder_count++;
}

uint32_t pen_tree_add_note(struct pen_tree *tree, const struct pen_note *note, const char *name,
                           size_t size)
{
    struct pen_note *notes =
        reserve(tree->notes, &tree->note_room, tree->note_count, 1, sizeof *notes);
    uint32_t at;

    if (notes == NULL || tree->note_count >= PEN_NONE)
        return PEN_NONE;
    tree->notes = notes;
    at = pen_tree_add_name(tree, name, size);
    if (at == PEN_NONE)
        return PEN_NONE;
    notes[tree->note_count] = *note;
    notes[tree->note_count].name = at;
    return (uint32_t) tree->note_count++;
}

/* ---- reading ----------------------------------------------------------------------------- */

const char *pen_tree_name(const struct pen_tree *tree, uint32_t name)
{
    assert(name < tree->names_size);
    return tree->names + name;
}

/* From the end of the buffer to its front, as the way goes up. */
size_t pen_tree_path(const struct pen_tree *tree, uint32_t folder, char path[PATH_MAX])
{
    size_t at = PATH_MAX - 1;

    for (; folder != 0; folder = tree->folders[folder].parent) {
        const char *name = pen_tree_name(tree, tree->folders[folder].name);
        const size_t size = strlen(name);

        assert(at > size);
        at -= size;
        memcpy(path + at, name, size);
        path[--at] = '/';
    }
    if (at < PATH_MAX - 1)
        at++; /* no slash before the first */
    memmove(path, path + at, PATH_MAX - 1 - at);
    path[PATH_MAX - 1 - at] = '\0';
    return PATH_MAX - 1 - at;
}

uint32_t pen_tree_child(const struct pen_tree *tree, uint32_t folder, const char *name)
{
    uint32_t low = tree->folders[folder].child;
    uint32_t high = low + tree->folders[folder].children;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = strcmp(pen_tree_name(tree, tree->folders[middle].name), name);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return PEN_NONE;
}

/* ---- settling ---------------------------------------------------------------------------- */

static int compare_folders(const void *a, const void *b, void *context)
{
    const struct pen_tree *tree = context;
    const uint32_t *left = a;
    const uint32_t *right = b;

    return strcmp(pen_tree_name(tree, tree->folders[*left].name),
                  pen_tree_name(tree, tree->folders[*right].name));
}

static int compare_notes(const void *a, const void *b, void *context)
{
    const struct pen_tree *tree = context;
    const struct pen_note *left = a;
    const struct pen_note *right = b;

    return strcmp(pen_tree_name(tree, left->name), pen_tree_name(tree, right->name));
}

/* What comes from a settled tree is in order already. */
static void sort(void *items, size_t count, size_t size,
                 int (*compare)(const void *, const void *, void *), struct pen_tree *tree)
{
    const char *at = items;

    for (size_t i = 1; i < count; i++) {
        if (compare(at + (i - 1) * size, at + i * size, tree) > 0) {
            qsort_r(items, count, size, compare, tree);
            return;
        }
    }
}

/* Lists the children of every folder, one parent's behind the other's: `child` and `children` of
 * the folders tell where in `list`. */
static void group_children(struct pen_tree *tree, uint32_t *list)
{
    uint32_t at = 0;

    for (size_t i = 1; i < tree->folder_count; i++)
        if ((tree->folders[i].flags & PEN_VANISHED) == 0)
            tree->folders[tree->folders[i].parent].children++;
    for (size_t i = 0; i < tree->folder_count; i++) {
        tree->folders[i].child = at;
        at += tree->folders[i].children;
        tree->folders[i].children = 0;
    }
    for (size_t i = 1; i < tree->folder_count; i++) {
        struct pen_folder *parent = &tree->folders[tree->folders[i].parent];

        if ((tree->folders[i].flags & PEN_VANISHED) == 0)
            list[parent->child + parent->children++] = (uint32_t) i;
    }
}

/* Fills `settled` from the top down; gives how many there are. A folder's children are appended
 * when its turn comes, which is what "breadth first" means. */
static size_t put_in_order(struct pen_tree *tree, uint32_t *list, struct pen_folder *settled)
{
    size_t count = 1;

    settled[0] = tree->folders[0];
    for (size_t i = 0; i < count; i++) {
        uint32_t *children = list + settled[i].child;

        sort(children, settled[i].children, sizeof *children, compare_folders, tree);
        settled[i].child = (uint32_t) count;
        for (uint32_t k = 0; k < settled[i].children; k++) {
            settled[count] = tree->folders[children[k]];
            settled[count++].parent = (uint32_t) i;
        }
    }
    return count;
}

int pen_tree_settle(struct pen_tree *tree)
{
    AUTO_FREE uint32_t *list = NULL;
    AUTO_FREE struct pen_folder *settled = NULL;

    for (size_t i = 0; i < tree->folder_count; i++) {
        tree->folders[i].children = 0;
        if (tree->folders[i].notes > 0)
            sort(tree->notes + tree->folders[i].note, tree->folders[i].notes, sizeof *tree->notes,
                 compare_notes, tree);
    }
    list = calloc(tree->folder_count + 1, sizeof *list);
    settled = calloc(tree->folder_count + 1, sizeof *settled);
    if (list == NULL || settled == NULL)
        return -ENOMEM;
    group_children(tree, list);
    tree->folder_room = tree->folder_count + 1;
    tree->folder_count = put_in_order(tree, list, settled);
    free(tree->folders);
    tree->folders = TAKE_PTR(settled);
    return 0;
}
