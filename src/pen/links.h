/* Which files of a pen have several names: outside of it, or one that is guarded. Layer 2. */
#ifndef WATTLE_PEN_LINKS_H
#define WATTLE_PEN_LINKS_H

#include "pen/tree.h"

/* One name of a file that is worth telling of. */
struct pen_link {
    uint32_t folder;
    uint32_t note;
    uint32_t links; /* names it has */
    uint32_t here;  /* of those, how many were seen */
    bool shared;    /* it has more than were seen */
    bool twin;      /* one of those that were seen may be guarded */
};

/* All such names; those of one file stand together. `places` (pen_twins_places; NULL: no twins)
 * has an item for each folder. The caller frees *ret_links. -ENOMEM. */
int pen_links_find(const struct pen_tree *tree, const uint8_t *places, struct pen_link **ret_links,
                   size_t *ret_count) MUST_CHECK;

/* Tells sets of shared files apart. -ENOMEM. */
int pen_links_sum(const struct pen_tree *tree, uint64_t *ret_sum) MUST_CHECK;

/* twins.c: the folders whose files may be guarded for where they lie, whatever their names are:
 * those below a guarded folder, and a git folder but for its objects. The caller frees. NULL: out
 * of memory. */
uint8_t *pen_twins_places(const struct pen_tree *tree) MUST_CHECK;

/* Whether this folder is the objects of a git folder, which is its parent. */
bool pen_tree_is_objects(const struct pen_tree *tree, size_t folder);

#endif
