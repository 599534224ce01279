/* Bytes that are taken for what is remembered of a pen have one form: they encode to themselves
 * again. The sum at the end is put there, or nothing would get past it. */
#include "base/cleanup.h"
#include "fuzz.h"
#include "pen/memory.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static void add_sum(const uint8_t *bytes, size_t size, uint8_t *with)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    if (size > 0)
        memcpy(with, bytes, size);
    for (size_t i = 0; i < 8; i++)
        with[size + i] = (uint8_t) (sum >> (8 * i));
}

/* Every path can be made, and every child is found by its name. */
static void check(const struct pen_tree *tree)
{
    char path[PATH_MAX];

    for (uint32_t i = 0; i < tree->folder_count; i++) {
        const char *name = pen_tree_name(tree, tree->folders[i].name);

        expect(pen_tree_path(tree, i, path) <= PEN_PATH_MAX);
        if (i > 0)
            expect(pen_tree_child(tree, tree->folders[i].parent, name) == i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(pen_tree_freep) struct pen_tree *tree = NULL;
    AUTO(buf_free) struct buf buf;
    AUTO_FREE uint8_t *with = malloc(size + 8);
    AUTO_FREE char *pen = NULL;
    int r;

    expect(with != NULL);
    add_sum(bytes, size, with);
    buf_init(&buf, PEN_MEMORY_LIMIT_BYTES);
    r = pen_memory_decode(with, size + 8, &tree, &pen);
    expect((r == 0) == (tree != NULL && pen != NULL));
    if (r < 0)
        return 0;
    check(tree);
    expect(pen_memory_encode(tree, pen, &buf) == 0);
    expect(buf.size == size + 8 && memcmp(buf.bytes, with, size) == 0);
    return 0;
}
