/* A settled tree as bytes, and back.
 *
 *   magic, u64 guarded key, time of the walk, path of the pen, number of folders, number of notes
 *   each folder, breadth first: [name], u8 flags, device, inode, u64 time, entries, children, notes
 *       each note of it: name, u8 what, u8 type, links, device, inode
 *   u64 FNV-1a of all before, for a file that a crash left half written
 *
 * u64 are little endian; other numbers are in groups of seven bits, the least first, as short as
 * can be. A text is its length and its bytes. The pen has no name. Parents are not written: the
 * folders come in the order in which their parents list them. */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "pen/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "wattle preflight 1\n";

enum {
    NUMBER_BYTES = 10,
    LEAST_FOLDER_BYTES = 1 + 1 + 1 + 8 + 3, /* and a name of two, but for the first */
    LEAST_NOTE_BYTES = 2 + 2 + 3,
    SUM_BYTES = 8,
};

/* ---- writing ----------------------------------------------------------------------------- */

static void put_number(struct buf *buf, uint64_t number)
{
    unsigned char bytes[NUMBER_BYTES];
    size_t size = 0;

    do {
        bytes[size] = (unsigned char) ((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        number >>= 7;
        size++;
    } while (number > 0);
    (void) buf_add(buf, bytes, size);
}

static void put_text(struct buf *buf, const char *text)
{
    const size_t size = strlen(text);

    put_number(buf, size);
    (void) buf_add(buf, text, size);
}

static void put_folder(struct buf *buf, const struct pen_tree *tree,
                       const struct pen_folder *folder)
{
    bytes_put_u8(buf, folder->flags & PEN_FLAGS_KEPT);
    put_number(buf, folder->dev);
    put_number(buf, folder->inode);
    bytes_put_u64(buf, (uint64_t) folder->ctime_ns);
    put_number(buf, folder->entries);
    put_number(buf, folder->children);
    put_number(buf, folder->notes);
    for (uint32_t i = 0; i < folder->notes; i++) {
        const struct pen_note *note = &tree->notes[folder->note + i];

        put_text(buf, pen_tree_name(tree, note->name));
        bytes_put_u8(buf, note->what);
        bytes_put_u8(buf, note->type);
        put_number(buf, note->links);
        put_number(buf, note->dev);
        put_number(buf, note->inode);
    }
}

int pen_memory_encode(const struct pen_tree *tree, const char *pen, struct buf *buf)
{
    uint64_t notes = 0;

    for (size_t i = 0; i < tree->folder_count; i++)
        notes += tree->folders[i].notes;
    (void) buf_add(buf, magic, sizeof magic - 1);
    bytes_put_u64(buf, tree->guarded_key);
    put_number(buf, tree->walked_ms);
    put_text(buf, pen);
    put_number(buf, tree->folder_count);
    put_number(buf, notes);
    for (size_t i = 0; i < tree->folder_count; i++) {
        if (i > 0)
            put_text(buf, pen_tree_name(tree, tree->folders[i].name));
        put_folder(buf, tree, &tree->folders[i]);
    }
    bytes_put_u64(buf, bytes_sum(BYTES_SUM, buf->bytes, buf->size));
    return buf->failed;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* A fault in what is told breaks `in`, so that nothing more is read. */
struct reader {
    struct bytes in;
    bool no_memory;
    struct pen_tree *tree;
    uint16_t *path_sizes; /* by folder */
    size_t folders;       /* announced */
    size_t notes;
    size_t listed; /* folders that some parent has listed so far */
};

/* At most `most`. A last group of 0 could have been left out. */
static uint64_t get_number(struct reader *reader, uint64_t most)
{
    uint64_t number = 0;
    uint8_t byte = 0x80;

    for (unsigned shift = 0; (byte & 0x80) != 0 && !reader->in.broken; shift += 7) {
        byte = bytes_take_u8(&reader->in);
        reader->in.broken = reader->in.broken || shift > 63 || (shift == 63 && byte > 1) ||
                            (shift > 0 && byte == 0);
        if (!reader->in.broken)
            number |= (uint64_t) (byte & 0x7f) << shift;
    }
    reader->in.broken = reader->in.broken || number > most;
    return reader->in.broken ? 0 : number;
}

/* A name as a folder holds it. */
static const char *get_name(struct reader *reader, size_t *ret_size)
{
    const size_t size = get_number(reader, PEN_PATH_MAX);
    const char *name = bytes_take(&reader->in, size);

    if (name == NULL)
        return NULL;
    if (size == 0 || memchr(name, '/', size) != NULL || memchr(name, '\0', size) != NULL ||
        (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'))))
        reader->in.broken = true;
    *ret_size = size;
    return reader->in.broken ? NULL : name;
}

/* Adding fails for want of memory, or of room for names. */
static bool added(struct reader *reader, uint32_t index)
{
    if (index == PEN_NONE) {
        reader->in.broken = true;
        reader->no_memory = errno == ENOMEM;
    }
    return !reader->in.broken;
}

static void get_note(struct reader *reader, uint32_t before)
{
    struct pen_tree *tree = reader->tree;
    struct pen_note note = {0};
    size_t size = 0;
    const char *name = get_name(reader, &size);

    note.what = bytes_take_u8(&reader->in);
    note.type = bytes_take_u8(&reader->in);
    note.links = (uint32_t) get_number(reader, UINT32_MAX);
    note.dev = get_number(reader, UINT64_MAX);
    note.inode = get_number(reader, UINT64_MAX);
    if (note.what == 0 || (note.what & ~PEN_WHAT_ALL) != 0 || note.type > DT_WHT)
        reader->in.broken = true;
    if (reader->in.broken || !added(reader, pen_tree_add_note(tree, &note, name, size)))
        return;
    if (before != PEN_NONE && strcmp(pen_tree_name(tree, tree->notes[before].name),
                                     pen_tree_name(tree, tree->notes[before + 1].name)) >= 0)
        reader->in.broken = true;
}

static void get_notes(struct reader *reader, struct pen_folder *folder)
{
    const uint32_t first = (uint32_t) reader->tree->note_count;
    const uint64_t count = get_number(reader, reader->notes - first);

    for (uint32_t i = 0; i < count && !reader->in.broken; i++)
        get_note(reader, i == 0 ? PEN_NONE : first + i - 1);
    folder->note = first;
    folder->notes = (uint32_t) count;
}

/* Puts the name of the folder at `index` behind its parent's path, and after its elder sibling. */
static void check_place(struct reader *reader, uint32_t index, size_t size)
{
    const struct pen_folder *folders = reader->tree->folders;
    const uint32_t parent = folders[index].parent;
    const size_t path_size = reader->path_sizes[parent] + (size_t) (parent == 0 ? 0 : 1) + size;

    if (path_size > PEN_PATH_MAX ||
        (index > folders[parent].child &&
         strcmp(pen_tree_name(reader->tree, folders[index - 1].name),
                pen_tree_name(reader->tree, folders[index].name)) >= 0)) {
        reader->in.broken = true;
        return;
    }
    reader->path_sizes[index] = (uint16_t) path_size;
}

/* `parent` is the one whose children come now. */
static void get_folder(struct reader *reader, uint32_t parent)
{
    const bool is_top = reader->tree->folder_count == 0;
    size_t size = 0;
    const char *name = is_top ? "" : get_name(reader, &size);
    struct pen_folder got = {.flags = bytes_take_u8(&reader->in)};
    struct pen_folder *folder;
    uint32_t index;

    got.dev = get_number(reader, UINT64_MAX);
    got.inode = get_number(reader, UINT64_MAX);
    got.ctime_ns = (int64_t) bytes_take_u64(&reader->in);
    got.entries = (uint32_t) get_number(reader, UINT32_MAX);
    got.children = (uint32_t) get_number(reader, reader->folders - reader->listed);
    got.child = (uint32_t) reader->listed;
    get_notes(reader, &got);
    if (reader->in.broken || (got.flags & ~PEN_FLAGS_KEPT) != 0) {
        reader->in.broken = true;
        return;
    }
    index = pen_tree_add_folder(reader->tree, parent, name, size);
    if (!added(reader, index))
        return;
    folder = &reader->tree->folders[index];
    got.name = folder->name;
    got.parent = parent;
    *folder = got;
    reader->listed += got.children;
    reader->tree->entries += got.entries;
    if (!is_top)
        check_place(reader, index, size);
}

/* Each folder's parent is the first that has not got all its children yet; it came before. */
static void get_folders(struct reader *reader)
{
    uint32_t parent = 0;

    get_folder(reader, 0);
    for (uint32_t i = 1; i < reader->folders && !reader->in.broken; i++) {
        const struct pen_folder *folders = reader->tree->folders;

        while (parent < i && folders[parent].child + folders[parent].children <= i)
            parent++;
        reader->in.broken = parent == i;
        if (!reader->in.broken)
            get_folder(reader, parent);
    }
}

static void get_all(struct reader *reader, char **ret_pen)
{
    struct pen_tree *tree = reader->tree;
    size_t size = 0;
    const char *pen = NULL;

    tree->guarded_key = bytes_take_u64(&reader->in);
    tree->walked_ms = get_number(reader, INT64_MAX);
    size = get_number(reader, PATH_MAX);
    pen = bytes_take(&reader->in, size);
    reader->folders = get_number(reader, reader->in.left / LEAST_FOLDER_BYTES);
    reader->notes = get_number(reader, reader->in.left / LEAST_NOTE_BYTES);
    if (reader->in.broken || reader->folders == 0 || memchr(pen, '\0', size) != NULL) {
        reader->in.broken = true;
        return;
    }
    *ret_pen = strndup(pen, size);
    reader->path_sizes = calloc(reader->folders, sizeof *reader->path_sizes);
    reader->listed = 1;
    reader->no_memory = *ret_pen == NULL || reader->path_sizes == NULL;
    if (!reader->no_memory)
        get_folders(reader);
    reader->in.broken = reader->in.broken || reader->no_memory || reader->in.left > 0 ||
                        reader->listed != reader->folders || tree->note_count != reader->notes;
}

int pen_memory_decode(const void *bytes, size_t size, struct pen_tree **ret_tree, char **ret_pen)
{
    AUTO(pen_tree_freep) struct pen_tree *tree = pen_tree_new();
    AUTO_FREE char *pen = NULL;
    struct reader reader = {.tree = tree};
    struct bytes sum;
    const char *begin;

    if (tree == NULL)
        return -ENOMEM;
    if (size < sizeof magic - 1 + SUM_BYTES)
        return -EBADMSG;
    size -= SUM_BYTES;
    sum = bytes_of((const char *) bytes + size, SUM_BYTES);
    if (bytes_take_u64(&sum) != bytes_sum(BYTES_SUM, bytes, size))
        return -EBADMSG;
    reader.in = bytes_of(bytes, size);
    begin = bytes_take(&reader.in, sizeof magic - 1);
    if (begin == NULL || memcmp(begin, magic, sizeof magic - 1) != 0)
        return -EBADMSG;
    get_all(&reader, &pen);
    free(reader.path_sizes);
    if (reader.in.broken)
        return reader.no_memory ? -ENOMEM : -EBADMSG;
    *ret_tree = TAKE_PTR(tree);
    *ret_pen = TAKE_PTR(pen);
    return 0;
}
