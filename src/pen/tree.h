/* What a walk over a pen has seen, as data: the folders, and a note for each name in them that
 * matters. Layer 2; knows nothing of how it was read (walk.h) or kept (memory.h).
 *
 * Names lie in one block, folders and notes in two arrays; they name each other by index. A tree is
 * filled in any order, a parent before its children, and then settled: breadth first, children by
 * name. Only a settled tree is remembered, compared, or looked up in. */
#ifndef WATTLE_PEN_TREE_H
#define WATTLE_PEN_TREE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_NONE UINT32_MAX
/* Of a folder's path relative to the pen: room is kept for "/." behind it. */
#define PEN_PATH_MAX (PATH_MAX - 3)

/* What a note says of its name. */
enum pen_what {
    PEN_LINKED = 1u << 0,     /* a regular file with more than one name, wherever they are */
    PEN_SOCKET = 1u << 1,     /* a socket file */
    PEN_GUARDED = 1u << 2,    /* the caller's predicate knows the name */
    PEN_REPOSITORY = 1u << 3, /* ".git", of any type and in any case */
    PEN_MOUNTED = 1u << 4,    /* a file on which another one is mounted */
    PEN_WHAT_ALL = (1u << 5) - 1,
};

struct pen_note {
    uint64_t dev, inode;
    uint32_t links;
    uint32_t name; /* in `names` */
    uint8_t what;  /* enum pen_what */
    uint8_t type;  /* DT_REG ... */
};

enum pen_folder_flag {
    PEN_YOUNG = 1u << 0,   /* changed so shortly before it was read that its time tells nothing */
    PEN_OBJECTS = 1u << 1, /* git's objects: others link to them without changing the folder */
    PEN_FOREIGN = 1u << 2, /* on another mount than the pen */
    PEN_CLOSED = 1u << 3,  /* cannot be read, and a job could not either */
    PEN_FLAGS_KEPT = (1u << 4) - 1,
    PEN_UNSURE = 1u << 4,   /* cannot be read, and a job might: its owner can change the mode */
    PEN_VANISHED = 1u << 5, /* gone before it was read */
};

struct pen_folder {
    uint64_t dev, inode;
    uint64_t mount; /* id of the mount it was seen on; of this walk, never remembered */
    int64_t ctime_ns;
    uint32_t name; /* in `names`; of the pen itself "" */
    uint32_t parent;
    uint32_t entries;
    uint32_t child, children; /* first and number; of a settled tree */
    uint32_t note, notes;     /* first and number */
    uint8_t flags;            /* enum pen_folder_flag */
};

struct pen_tree {
    struct pen_folder *folders;
    size_t folder_count, folder_room;
    struct pen_note *notes;
    size_t note_count, note_room;
    char *names;
    size_t names_size, names_room;
    uint64_t entries;     /* of all folders */
    uint64_t walked_ms;   /* wall time at which the oldest part was read */
    uint64_t guarded_key; /* which predicate made the notes */
};

struct pen_tree *pen_tree_new(void); /* NULL: out of memory */
void pen_tree_freep(struct pen_tree **tree);

/* Append one, and give its index; PEN_NONE when out of memory or beyond the bound on names, of
 * which errno tells (ENOMEM, E2BIG). `name` is copied. */
uint32_t pen_tree_add_name(struct pen_tree *tree, const char *name, size_t size);
uint32_t pen_tree_add_folder(struct pen_tree *tree, uint32_t parent, const char *name, size_t size);
uint32_t pen_tree_add_note(struct pen_tree *tree, const struct pen_note *note, const char *name,
                           size_t size);

const char *pen_tree_name(const struct pen_tree *tree, uint32_t name);

/* Path of a folder relative to the pen, "" for the pen itself; its length. Fits: longer ones are
 * never added. */
size_t pen_tree_path(const struct pen_tree *tree, uint32_t folder, char path[PATH_MAX]);

/* Drops what vanished and sorts. -ENOMEM. */
int pen_tree_settle(struct pen_tree *tree) MUST_CHECK;

/* The child of a folder of a settled tree that has this name, or PEN_NONE. */
uint32_t pen_tree_child(const struct pen_tree *tree, uint32_t folder, const char *name);

#endif
