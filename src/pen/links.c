#include "pen/links.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* A file is its device and inode, as seen through one mount: the same file at two mounts has one
 * name that is seen twice. */
static int compare_identity(const struct pen_tree *tree, const struct pen_link *a,
                            const struct pen_link *b)
{
    const struct pen_note *left = &tree->notes[a->note];
    const struct pen_note *right = &tree->notes[b->note];
    const uint64_t pairs[][2] = {
        {left->inode, right->inode},
        {left->dev, right->dev},
        {left->what & PEN_MOUNTED, right->what & PEN_MOUNTED},
        {tree->folders[a->folder].mount, tree->folders[b->folder].mount},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return 0;
}

static int compare(const void *a, const void *b, void *context)
{
    const struct pen_link *left = a;
    const struct pen_link *right = b;
    const int order = compare_identity(context, left, right);

    if (order != 0)
        return order;
    return left->note < right->note ? -1 : left->note > right->note;
}

static size_t collect(const struct pen_tree *tree, struct pen_link *links)
{
    size_t count = 0;

    for (size_t i = 0; i < tree->folder_count; i++) {
        const struct pen_folder *folder = &tree->folders[i];

        for (uint32_t k = folder->note; k < folder->note + folder->notes; k++)
            if ((tree->notes[k].what & PEN_LINKED) != 0)
                links[count++] = (struct pen_link){.folder = (uint32_t) i, .note = k};
    }
    return count;
}

/* Number of names of the file at `first`, and how many it should have: the most that was seen, for
 * links come and go. A file mounted over another has no name here at all. */
static size_t measure(const struct pen_tree *tree, const struct pen_link *links, size_t count,
                      size_t first, uint32_t *ret_links)
{
    size_t size = 0;

    *ret_links = 0;
    while (first + size < count &&
           compare_identity(tree, &links[first], &links[first + size]) == 0) {
        const struct pen_note *note = &tree->notes[links[first + size].note];

        if (note->links > *ret_links)
            *ret_links = note->links;
        size++;
    }
    return size;
}

/* Whether one of the `size` names may be a guarded one. */
static bool may_be_guarded(const struct pen_tree *tree, const uint8_t *places,
                           const struct pen_link *links, size_t size)
{
    for (size_t i = 0; i < size && size > 1; i++)
        if (places[links[i].folder] != 0 || (tree->notes[links[i].note].what & PEN_GUARDED) != 0)
            return true;
    return false;
}

int pen_links_find(const struct pen_tree *tree, const uint8_t *places, struct pen_link **ret_links,
                   size_t *ret_count)
{
    AUTO_FREE struct pen_link *links = calloc(tree->note_count + 1, sizeof *links);
    size_t count;
    size_t kept = 0;
    size_t size;
    union {
        const struct pen_tree *in;
        void *out; /* qsort_r wants it so; compare() does not write */
    } context = {.in = tree};

    if (links == NULL)
        return -ENOMEM;
    count = collect(tree, links);
    qsort_r(links, count, sizeof *links, compare, context.out);
    for (size_t i = 0; i < count; i += size) {
        uint32_t names = 0;
        bool mounted = (tree->notes[links[i].note].what & PEN_MOUNTED) != 0;
        bool shared, twin;

        size = measure(tree, links, count, i, &names);
        shared = mounted || names > size;
        twin = places != NULL && may_be_guarded(tree, places, &links[i], size);
        for (size_t k = 0; k < size && (shared || twin); k++) {
            links[kept] = links[i + k];
            links[kept].links = names;
            links[kept].shared = shared;
            links[kept].twin = twin;
            links[kept++].here = mounted ? 0 : (uint32_t) size;
        }
    }
    *ret_links = TAKE_PTR(links);
    *ret_count = kept;
    return 0;
}

/* Of any order, since a settled tree and a remembered one need not have the same. */
int pen_links_sum(const struct pen_tree *tree, uint64_t *ret_sum)
{
    AUTO_FREE struct pen_link *links = NULL;
    uint64_t sum = 0;
    size_t count;

    if (pen_links_find(tree, NULL, &links, &count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct pen_note *note = &tree->notes[links[i].note];
        uint64_t mixed = note->inode * UINT64_C(0x9e3779b97f4a7c15);

        mixed = (mixed ^ mixed >> 32 ^ note->dev) * UINT64_C(0xd6e8feb86659fd93);
        sum += mixed ^ mixed >> 32;
    }
    *ret_sum = sum;
    return 0;
}
