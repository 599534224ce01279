/* From the guard's records to the names that are there in the end. Layer 3; no system call.
 *
 * A node for each (folder, name), so that a folder that moves takes along what lies in it by a
 * change of one node. The records come from a process that hostile programs talk to: bounded,
 * checked, never believed to be in order. Names are borrowed from the records. */
#ifndef WATTLE_JOB_MADE_TREE_H
#define WATTLE_JOB_MADE_TREE_H

#include "fence/guard/made.h"

#include <stdbool.h>
#include <stddef.h>

#define MADE_NODES_MAX (512u << 10)
#define MADE_PATH_SIZE 4608u

struct made_tree; /* opaque; one owner */

/* How a name came to stand in the tree; one or more. */
enum made_mark {
    MADE_NEW = 1u << 0,     /* came into existence */
    MADE_WRITTEN = 1u << 1, /* was there, and may have been written */
    MADE_DOUBT = 1u << 2,   /* moved away, if that was more than a word: two hard links of one file
                               are not moved onto each other, and rename says they were */
};

/* `is_told` says of which paths a doubt is worth keeping; NULL: of none. NULL: out of memory. */
struct made_tree *made_tree_new(bool (*is_told)(void *context, const char *path), void *context);
void made_tree_freep(struct made_tree **tree); /* for AUTO(made_tree_freep) */

void made_tree_apply(struct made_tree *tree, const struct guard_made_record *record);

/* Something is missing: out of room, or a record that makes no sense. */
bool made_tree_is_complete(const struct made_tree *tree);

/* Calls `each` for all that stands in the tree with a mark, in no order; a path may come twice.
 * Paths that are too long are left out, and the tree is then not complete. */
void made_tree_each(struct made_tree *tree,
                    void (*each)(void *context, const char *path, unsigned marks), void *context);

#endif
