/* What of a remembered tree still holds: one look at each folder, by path, and no folder opened.
 *
 * A path may lead through a symlink that somebody put in the place of a folder above. That does no
 * harm: the folder above has then changed and is read again, and what it does not hold any more is
 * dropped with all below it. */
#include "base/cleanup.h"
#include "pen/walk_priv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARE_FOLDERS = 128 }; /* taken at once by one thread */

struct verifying {
    const struct pen_walk *walk;
    uint64_t mount;
    uint8_t *same;
    atomic_size_t next;
};

/* The path of the folder looked at before, whose parent is mostly that of the next one too. */
struct at {
    uint32_t parent;
    size_t parent_size;
    char path[PATH_MAX];
};

static const char *path_of(const struct pen_tree *tree, uint32_t folder, struct at *at)
{
    const char *name = pen_tree_name(tree, tree->folders[folder].name);

    if (tree->folders[folder].parent != at->parent) {
        at->parent = tree->folders[folder].parent;
        at->parent_size = pen_tree_path(tree, at->parent, at->path);
        if (at->parent_size > 0)
            at->path[at->parent_size++] = '/';
    }
    memcpy(at->path + at->parent_size, name, strlen(name) + 1);
    return at->path;
}

static bool is_same(const struct verifying *verifying, const struct pen_folder *folder,
                    const char *path)
{
    struct statx seen;

    if (statx(verifying->walk->top_fd, path,
              AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*path == '\0' ? AT_EMPTY_PATH : 0),
              STATX_TYPE | STATX_INO | STATX_CTIME | STATX_MNT_ID, &seen) < 0)
        return false;
    return S_ISDIR(seen.stx_mode) && seen.stx_ino == folder->inode &&
           seen.stx_mnt_id == verifying->mount &&
           (((uint64_t) seen.stx_dev_major << 32) | seen.stx_dev_minor) == folder->dev &&
           seen.stx_ctime.tv_sec * 1000000000 + seen.stx_ctime.tv_nsec == folder->ctime_ns;
}

static void *work(void *context)
{
    struct verifying *verifying = context;
    const struct pen_tree *tree = verifying->walk->known;
    struct at at = {.parent = PEN_NONE};
    size_t from;

    while ((from = atomic_fetch_add(&verifying->next, SHARE_FOLDERS)) < tree->folder_count) {
        for (size_t i = from; i < from + SHARE_FOLDERS && i < tree->folder_count; i++) {
            const struct pen_folder *folder = &tree->folders[i];

            if ((folder->flags & (PEN_YOUNG | PEN_OBJECTS | PEN_FOREIGN)) != 0)
                continue;
            verifying->same[i] =
                is_same(verifying, folder, i == 0 ? "" : path_of(tree, (uint32_t) i, &at));
        }
    }
    return NULL;
}

void pen_verify(const struct pen_walk *walk, uint64_t mount, uint8_t *same)
{
    struct verifying verifying = {.walk = walk, .mount = mount, .same = same};
    struct pen_crew crew = {.there = false};

    if (walk->known->folder_count > (size_t) 2 * SHARE_FOLDERS)
        pen_crew_start(&crew, work, &verifying);
    (void) work(&verifying);
    pen_crew_end(&crew);
}
