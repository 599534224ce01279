/* How it works. A walk finds the names (links.c), those of one file behind each other. For the
 * first name of a file a copy is made; the further names become links to that copy. Either stands
 * ready beside the name it is for, under a name of its own, and then the two are exchanged, which
 * is one step for everybody who looks. What then stands under the new name should be the file that
 * was copied, unchanged; if it is not, the two are exchanged back. */
#include "pen/unshare.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "pen/copy_priv.h"
#include "pen/links.h"
#include "pen/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { NEW_NAME_SIZE = 40 };

struct unsharing {
    const struct pen_unshare *unshare;
    struct pen_unshared *done;
    const struct pen_tree *tree;
    int top_fd;

    /* The file at hand, which several names may have. */
    uint64_t dev, inode, mount;
    int copy_fd;        /* -1: not made yet */
    struct stat before; /* of the file that was copied */
};

/* One name of it. */
struct name {
    int folder_fd;
    const char *name;
    const struct pen_link *link;
    char path[PATH_MAX + NAME_MAX + 2];
    char made[NEW_NAME_SIZE]; /* what will take its place */
};

static int changed(struct err *err)
{
    return err_set(err, EBUSY, "pen.changed", "it was changed meanwhile");
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* ---- making what takes its place --------------------------------------------------------- */

static int new_name(struct name *name, struct err *err)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof number, 0) != (ssize_t) sizeof number)
        return err_set(err, errno, "pen.copy", "cannot get random bytes");
    (void) snprintf(name->made, sizeof name->made, ".wattle-unshare-%016llx",
                    (unsigned long long) number);
    return 0;
}

/* Opens the file and makes sure that it is the one that was found. */
static int open_source(struct unsharing *unsharing, const struct name *name, struct err *err)
{
    AUTO_CLOSE int fd = path_open_below(name->folder_fd, name->name, O_RDONLY | O_NONBLOCK, 0);

    if (fd < 0)
        return err_set(err, -fd, "pen.copy", "cannot open it");
    if (fstat(fd, &unsharing->before) < 0)
        return err_set(err, errno, "pen.copy", "cannot look at it");
    if (!S_ISREG(unsharing->before.st_mode) || unsharing->before.st_ino != unsharing->inode ||
        unsharing->before.st_dev !=
            makedev((unsigned) (unsharing->dev >> 32), (unsigned) unsharing->dev))
        return changed(err);
    return TAKE_FD(fd);
}

static int make_copy(struct unsharing *unsharing, struct name *name, struct err *err)
{
    AUTO_CLOSE int from_fd = open_source(unsharing, name, err);
    AUTO_CLOSE int to_fd = -1;
    struct stat after;
    bool cloned = false;
    int r;

    if (from_fd < 0)
        return from_fd;
    to_fd = path_open_below(name->folder_fd, name->made, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (to_fd < 0)
        return err_set(err, -to_fd, "pen.copy", "cannot make a file beside it");
    r = pen_copy_file(from_fd, &unsharing->before, to_fd, &cloned, err);
    if (r == 0 && (fstat(from_fd, &after) < 0 || !is_same(&after, &unsharing->before)))
        r = changed(err);
    if (r < 0) {
        (void) unlinkat(name->folder_fd, name->made, 0);
        return r;
    }
    unsharing->copy_fd = TAKE_FD(to_fd);
    unsharing->done->files++;
    unsharing->done->bytes += (uint64_t) unsharing->before.st_size;
    unsharing->done->cloned += cloned;
    return 0;
}

static int make_link(const struct unsharing *unsharing, const struct name *name, struct err *err)
{
    char path[32];

    (void) snprintf(path, sizeof path, "/proc/self/fd/%d", unsharing->copy_fd);
    if (linkat(AT_FDCWD, path, name->folder_fd, name->made, AT_SYMLINK_FOLLOW) < 0)
        return err_set(err, errno, "pen.copy", "cannot link it to the copy");
    return 0;
}

/* ---- taking its place -------------------------------------------------------------------- */

static bool stands(const struct name *name, const char *at, const struct stat *wanted)
{
    struct stat seen;

    return fstatat(name->folder_fd, at, &seen, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&seen, wanted);
}

/* Where nothing can be exchanged, somebody who replaces the file between the two calls loses. */
static int replace_plainly(const struct unsharing *unsharing, const struct name *name,
                           struct err *err)
{
    if (!stands(name, name->name, &unsharing->before))
        return changed(err);
    if (renameat(name->folder_fd, name->made, name->folder_fd, name->name) < 0)
        return err_set(err, errno, "pen.copy", "cannot replace it");
    return 0;
}

static int exchange(const struct name *name)
{
    return renameat2(name->folder_fd, name->made, name->folder_fd, name->name, RENAME_EXCHANGE) < 0
               ? -errno
               : 0;
}

/* On failure the new file is still there under its own name. */
static int take_place(const struct unsharing *unsharing, const struct name *name, struct err *err)
{
    int r = exchange(name);

    if (r == -EINVAL || r == -ENOSYS || r == -EOPNOTSUPP)
        return replace_plainly(unsharing, name, err);
    if (r < 0)
        return err_set(err, -r, "pen.copy", "cannot replace it");
    if (stands(name, name->made, &unsharing->before)) {
        (void) unlinkat(name->folder_fd, name->made, 0);
        return 0;
    }
    r = exchange(name);
    return r < 0 ? err_set(err, -r, "pen.changed", "it was changed, and is now '%s' beside it",
                           name->made)
                 : changed(err);
}

/* Removes what we made, and never what somebody else put there. */
static void drop_made(const struct unsharing *unsharing, const struct name *name)
{
    struct stat made;
    struct stat there;

    if (unsharing->copy_fd >= 0 && fstat(unsharing->copy_fd, &made) == 0 &&
        fstatat(name->folder_fd, name->made, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        made.st_ino == there.st_ino && made.st_dev == there.st_dev)
        (void) unlinkat(name->folder_fd, name->made, 0);
}

static int unshare_name(struct unsharing *unsharing, struct name *name, struct err *err)
{
    const bool first = unsharing->copy_fd < 0;
    int r = new_name(name, err);

    if (r == 0)
        r = first ? make_copy(unsharing, name, err) : make_link(unsharing, name, err);
    if (r < 0)
        return r;
    r = take_place(unsharing, name, err);
    if (r < 0) {
        drop_made(unsharing, name);
        if (first)
            cleanup_close(&unsharing->copy_fd); /* has no name now */
    }
    return r;
}

/* ---- all names --------------------------------------------------------------------------- */

static int do_name(struct unsharing *unsharing, struct name *name, struct err *err)
{
    const struct pen_note *note = &unsharing->tree->notes[name->link->note];
    AUTO_CLOSE int folder_fd = -1;
    const size_t size = pen_tree_path(unsharing->tree, name->link->folder, name->path);

    name->name = pen_tree_name(unsharing->tree, note->name);
    folder_fd =
        path_open_below(unsharing->top_fd, size == 0 ? "." : name->path, O_RDONLY | O_DIRECTORY, 0);
    name->folder_fd = folder_fd;
    (void) snprintf(name->path + size, sizeof name->path - size, "%s%s", size > 0 ? "/" : "",
                    name->name);
    if (folder_fd < 0)
        return err_set(err, -folder_fd, "pen.copy", "cannot open its folder");
    if ((note->what & PEN_MOUNTED) != 0)
        return err_set(err, EBUSY, "pen.copy", "another file is mounted on it");
    if (unsharing->unshare->dry_run)
        return fstatat(folder_fd, name->name, &unsharing->before, AT_SYMLINK_NOFOLLOW) < 0
                   ? changed(err)
                   : 0;
    return unshare_name(unsharing, name, err);
}

/* Whether this name is the first of another file. Seen through another mount it is another one, as
 * no link leads from mount to mount. */
static bool begin_file(struct unsharing *unsharing, const struct pen_link *link)
{
    const struct pen_note *note = &unsharing->tree->notes[link->note];
    const uint64_t mount = unsharing->tree->folders[link->folder].mount;

    if (note->dev == unsharing->dev && note->inode == unsharing->inode && mount == unsharing->mount)
        return false;
    cleanup_close(&unsharing->copy_fd);
    unsharing->dev = note->dev;
    unsharing->inode = note->inode;
    unsharing->mount = mount;
    return true;
}

static void do_link(struct unsharing *unsharing, const struct pen_link *link)
{
    const struct pen_unshare *unshare = unsharing->unshare;
    const bool other = begin_file(unsharing, link);
    struct name name = {.link = link};
    struct err failure = {0};
    int r;

    if (other)
        unsharing->before = (struct stat){0};
    r = do_name(unsharing, &name, &failure);
    unsharing->done->failures += r < 0;
    unsharing->done->names += r == 0;
    if (unshare->dry_run && other && r == 0) {
        unsharing->done->files++;
        unsharing->done->bytes += (uint64_t) unsharing->before.st_size;
    }
    unshare->each(unshare->context, name.path, (uint64_t) unsharing->before.st_size,
                  r < 0 ? &failure : NULL);
}

/* One wait for all: until then the other names still have the content. */
static void do_all(struct unsharing *unsharing, const struct pen_link *links, size_t count)
{
    AUTO_CLOSE int fd = openat(unsharing->top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < count; i++)
        do_link(unsharing, &links[i]);
    cleanup_close(&unsharing->copy_fd);
    if (unsharing->done->files > 0 && !unsharing->unshare->dry_run && fd >= 0)
        (void) syncfs(fd);
}

static int find_and_do(struct unsharing *unsharing, const struct pen_walk *walk, struct err *err)
{
    AUTO(pen_tree_freep) struct pen_tree *tree = NULL;
    AUTO_FREE struct pen_link *links = NULL;
    size_t count = 0;
    size_t read = 0;
    int r = pen_walk_run(walk, &tree, &read, err);

    if (r < 0)
        return r;
    if (pen_links_find(tree, NULL, &links, &count) < 0)
        return err_memory(err);
    unsharing->tree = tree;
    do_all(unsharing, links, count);
    return 0;
}

int pen_unshare_run(const struct pen_unshare *unshare, struct pen_unshared *ret_done,
                    struct err *err)
{
    struct pen_unshared done = {0};
    struct unsharing unsharing = {
        .unshare = unshare,
        .done = &done,
        .top_fd = path_open_plain(AT_FDCWD, unshare->folder, O_PATH | O_DIRECTORY),
        .copy_fd = -1,
    };
    const struct pen_walk walk = {
        .top_fd = unsharing.top_fd,
        .pen = unshare->folder,
        .most = unshare->most,
        .progress = unshare->progress,
        .progress_context = unshare->context,
    };
    int r;

    if (unsharing.top_fd < 0)
        return err_set(err, -unsharing.top_fd, "pen.read", "cannot look at '%s'", unshare->folder);
    r = find_and_do(&unsharing, &walk, err);
    cleanup_close(&unsharing.top_fd);
    if (r == 0)
        *ret_done = done;
    return r;
}
