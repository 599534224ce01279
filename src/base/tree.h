/* Removal of a tree that somebody hostile may have filled. Layer 0.
 * By descriptors only, follows no symlink, crosses no mount point, needs no recursion: depth is
 * bounded by disk, not by stack or descriptors. Makes folders without permission removable first.
 */
#ifndef WATTLE_BASE_TREE_H
#define WATTLE_BASE_TREE_H

#include "base/err.h"

/* Removes everything below `dir_fd`/`name` and then `name` itself (a file, a symlink or a folder);
 * `name` is one plain component, `dir_fd` may be AT_FDCWD. A missing one is success. Gives up with
 * -EAGAIN when the tree keeps growing, and with the errno of what could not be removed after
 * removing all else; what is left may then lie elsewhere in the tree.
 * Errors: EINVAL tree.name, EAGAIN tree.grows, else tree.remove. */
int tree_remove(int dir_fd, const char *name, struct err *err) MUST_CHECK;

#endif
