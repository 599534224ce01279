/* Which files of a pen have other names outside of it. Layer 2. */
#ifndef WATTLE_PEN_LINKS_H
#define WATTLE_PEN_LINKS_H

#include "pen/tree.h"

/* One name of a file that has more names than were seen. */
struct pen_link {
    uint32_t folder;
    uint32_t note;
    uint32_t links; /* names it has */
    uint32_t here;  /* of those, how many were seen */
};

/* All such names; those of one file stand together. The caller frees *ret_links. -ENOMEM. */
int pen_links_find(const struct pen_tree *tree, struct pen_link **ret_links,
                   size_t *ret_count) MUST_CHECK;

#endif
