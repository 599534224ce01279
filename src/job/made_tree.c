#include "job/made_tree.h"

#include "base/cleanup.h"

#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_NODES 1024u

struct node {
    struct node *parent; /* NULL: "/"; of a node that is free, the next one */
    const char *name;    /* in a record */
    uint32_t children;
    uint16_t size;
    uint8_t marks; /* enum made_mark; 0: only on the way to others */
    bool used;
};

struct chunk {
    struct chunk *next;
    struct node nodes[CHUNK_NODES];
};

struct made_tree {
    struct chunk *chunks;
    size_t in_chunk; /* nodes given out of the first */
    size_t count;    /* of all that were */
    struct node *free;
    void *root;
    bool incomplete;
    bool (*is_told)(void *context, const char *path);
    void *context;

    /* The folder of the record before; mostly the next one is for the same. */
    struct node *folder;
    const char *folder_path;
    size_t folder_size;
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static int compare(const void *a_, const void *b_)
{
    const struct node *a = a_, *b = b_;

    if (a->parent != b->parent)
        return (uintptr_t) a->parent < (uintptr_t) b->parent ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return memcmp(a->name, b->name, a->size);
}

static struct node *take_node(struct made_tree *tree)
{
    struct node *node = tree->free;

    if (node != NULL) {
        tree->free = node->parent;
        return node;
    }
    if (tree->chunks == NULL || tree->in_chunk == CHUNK_NODES) {
        struct chunk *chunk = tree->count < MADE_NODES_MAX ? calloc(1, sizeof *chunk) : NULL;

        if (chunk == NULL)
            return NULL;
        chunk->next = tree->chunks;
        tree->chunks = chunk;
        tree->in_chunk = 0;
    }
    tree->count++;
    return &tree->chunks->nodes[tree->in_chunk++];
}

static void give_node(struct made_tree *tree, struct node *node)
{
    *node = (struct node){.parent = tree->free};
    tree->free = node;
}

static struct node *find_child(const struct made_tree *tree, struct node *parent, const char *name,
                               size_t size)
{
    const struct node key = {.parent = parent, .name = name, .size = (uint16_t) size};
    struct node *const *found = tfind(&key, &tree->root, compare);

    return found == NULL ? NULL : *found;
}

static bool insert(struct made_tree *tree, struct node *node)
{
    if (node->parent != NULL)
        node->parent->children++; /* also for one that is lost: it still points there */
    return tsearch(node, &tree->root, compare) != NULL;
}

static void detach(struct made_tree *tree, struct node *node)
{
    (void) tdelete(node, &tree->root, compare);
    if (node->parent != NULL)
        node->parent->children--;
}

static struct node *add_child(struct made_tree *tree, struct node *parent, const char *name,
                              size_t size)
{
    struct node *node = take_node(tree);

    if (node == NULL)
        return NULL;
    *node = (struct node){.parent = parent, .name = name, .size = (uint16_t) size, .used = true};
    if (insert(tree, node))
        return node;
    give_node(tree, node);
    return NULL;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool is_name(const char *name, size_t size)
{
    return size > 0 && size <= NAME_MAX && !(size == 1 && name[0] == '.') &&
           !(size == 2 && name[0] == '.' && name[1] == '.');
}

/* Goes `path` down from `at`, making what is missing if `make`. NULL: it is not there, or cannot
 * be made (then the tree is not complete), or is no clean path. */
static struct node *go_down(struct made_tree *tree, const char *path, size_t size, bool make)
{
    struct node *at = NULL;

    for (size_t i = 0; i < size;) {
        const char *name = path + i + 1, *end = memchr(name, '/', size - i - 1);
        const size_t length = end != NULL ? (size_t) (end - name) : size - i - 1;
        struct node *child = NULL;

        if (!is_name(name, length)) {
            tree->incomplete = true;
            return NULL;
        }
        child = find_child(tree, at, name, length);
        if (child == NULL && make) {
            child = add_child(tree, at, name, length);
            tree->incomplete = tree->incomplete || child == NULL;
        }
        if (child == NULL)
            return NULL;
        at = child;
        i += length + 1;
    }
    return at;
}

static struct node *find_folder(struct made_tree *tree, const char *path, size_t size, bool make)
{
    if (tree->folder != NULL && tree->folder_size == size &&
        memcmp(tree->folder_path, path, size) == 0)
        return tree->folder;
    tree->folder = go_down(tree, path, size, make);
    tree->folder_path = path;
    tree->folder_size = size;
    return tree->folder;
}

static struct node *find(struct made_tree *tree, const char *path, size_t size, bool make)
{
    const char *name = (const char *) memrchr(path, '/', size) + 1; /* the reader saw to one */
    const size_t folder_size = (size_t) (name - path) - 1, length = size - folder_size - 1;
    struct node *folder = find_folder(tree, path, folder_size, make), *node = NULL;

    if (folder == NULL && folder_size > 0)
        return NULL;
    if (!is_name(name, length)) {
        tree->incomplete = true;
        return NULL;
    }
    node = find_child(tree, folder, name, length);
    if (node != NULL || !make)
        return node;
    node = add_child(tree, folder, name, length);
    tree->incomplete = tree->incomplete || node == NULL;
    return node;
}

static void forget_folder(struct made_tree *tree)
{
    tree->folder = NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static void mark(struct made_tree *tree, const char *path, size_t size, enum made_mark how)
{
    struct node *node = find(tree, path, size, true);

    if (node != NULL)
        node->marks |= (uint8_t) how;
}

static void drop(struct made_tree *tree, struct node *node)
{
    node->marks = 0;
    if (node->children > 0)
        return; /* they were recorded too late, or it was no folder by then: they stay listed */
    forget_folder(tree);
    detach(tree, node);
    give_node(tree, node);
}

static bool is_below(const char *path, size_t size, const char *top, size_t top_size)
{
    return size >= top_size && memcmp(path, top, top_size) == 0 &&
           (size == top_size || path[top_size] == '/');
}

/* Neither may lie in the other, or the tree would become a ring. */
static bool are_apart(const struct guard_made_record *record)
{
    return !is_below(record->path, record->path_size, record->other, record->other_size) &&
           !is_below(record->other, record->other_size, record->path, record->path_size);
}

static void keep_doubt(struct made_tree *tree, const struct guard_made_record *record)
{
    char path[MADE_PATH_SIZE];

    if (tree->is_told == NULL || record->path_size >= sizeof path)
        return;
    memcpy(path, record->path, record->path_size);
    path[record->path_size] = '\0';
    if (tree->is_told(tree->context, path))
        mark(tree, record->path, record->path_size, MADE_DOUBT);
}

/* Where something stood at the target it is gone now; a folder must have been empty. */
static void move(struct made_tree *tree, const struct guard_made_record *record)
{
    struct node *from = find(tree, record->path, record->path_size, true);
    struct node *to = find(tree, record->other, record->other_size, true);
    struct node *parent = to != NULL ? to->parent : NULL;

    if (from == NULL || to == NULL)
        return;
    forget_folder(tree);
    detach(tree, from);
    from->parent = parent;
    from->name = to->name;
    from->size = to->size;
    from->marks = MADE_NEW;
    if (to->children == 0) {
        detach(tree, to);
        give_node(tree, to);
    } else { /* keeps its parent, so that what lies in it still has a path */
        (void) tdelete(to, &tree->root, compare);
    }
    if (!insert(tree, from))
        tree->incomplete = true;
    keep_doubt(tree, record);
}

static void swap(struct made_tree *tree, const struct guard_made_record *record)
{
    struct node *a = find(tree, record->path, record->path_size, true);
    struct node *b = find(tree, record->other, record->other_size, true);
    struct node before;

    if (a == NULL || b == NULL)
        return;
    forget_folder(tree);
    detach(tree, a);
    detach(tree, b);
    before = *a;
    a->parent = b->parent;
    a->name = b->name;
    a->size = b->size;
    b->parent = before.parent;
    b->name = before.name;
    b->size = before.size;
    a->marks = b->marks = MADE_NEW;
    if (!insert(tree, a) || !insert(tree, b))
        tree->incomplete = true;
}

/* A rename of a name onto itself changes nothing. */
static void apply_pair(struct made_tree *tree, const struct guard_made_record *record)
{
    if (record->path_size == record->other_size &&
        memcmp(record->path, record->other, record->path_size) == 0)
        return;
    if (!are_apart(record))
        tree->incomplete = true;
    else if (record->kind == GUARD_MADE_SWAP)
        swap(tree, record);
    else
        move(tree, record);
}

void made_tree_apply(struct made_tree *tree, const struct guard_made_record *record)
{
    struct node *node = NULL;

    switch (record->kind) {
    case GUARD_MADE_NAME:
        mark(tree, record->path, record->path_size, MADE_NEW);
        return;
    case GUARD_MADE_WRITE:
        mark(tree, record->path, record->path_size, MADE_WRITTEN);
        return;
    case GUARD_MADE_GONE:
        if (!record->unsure)
            node = find(tree, record->path, record->path_size, false);
        if (node != NULL)
            drop(tree, node);
        return;
    case GUARD_MADE_MOVE:
    case GUARD_MADE_SWAP:
        if (record->unsure) /* it may have come there, and may still stand where it was */
            mark(tree, record->other, record->other_size, MADE_NEW);
        else
            apply_pair(tree, record);
        return;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct made_tree *made_tree_new(bool (*is_told)(void *context, const char *path), void *context)
{
    struct made_tree *tree = calloc(1, sizeof *tree);

    if (tree != NULL) {
        tree->is_told = is_told;
        tree->context = context;
    }
    return tree;
}

static void leave(void *node)
{
    (void) node; /* lives in a chunk */
}

void made_tree_freep(struct made_tree **tree_)
{
    struct made_tree *tree = *tree_;

    *tree_ = NULL;
    if (tree == NULL)
        return;
    tdestroy(tree->root, leave);
    while (tree->chunks != NULL) {
        struct chunk *gone = tree->chunks;

        tree->chunks = gone->next;
        free(gone);
    }
    free(tree);
}

bool made_tree_is_complete(const struct made_tree *tree)
{
    return !tree->incomplete;
}

/* Written from the end of `text`; NULL: too long. The way up is as long as the text at most. */
static const char *path_of(const struct node *node, char text[MADE_PATH_SIZE])
{
    size_t at = MADE_PATH_SIZE - 1;

    text[at] = '\0';
    for (; node != NULL; node = node->parent) {
        if (at < (size_t) node->size + 1)
            return NULL;
        at -= node->size;
        memcpy(text + at, node->name, node->size);
        text[--at] = '/';
    }
    return text + at;
}

void made_tree_each(struct made_tree *tree,
                    void (*each)(void *context, const char *path, unsigned marks), void *context)
{
    for (const struct chunk *chunk = tree->chunks; chunk != NULL; chunk = chunk->next) {
        const size_t count = chunk == tree->chunks ? tree->in_chunk : CHUNK_NODES;

        for (size_t i = 0; i < count; i++) {
            const struct node *node = &chunk->nodes[i];
            char text[MADE_PATH_SIZE];
            const char *path;

            if (!node->used || node->marks == 0)
                continue;
            path = path_of(node, text);
            if (path != NULL)
                each(context, path, node->marks);
            else
                tree->incomplete = true;
        }
    }
}
