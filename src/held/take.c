/* One object out of its tree and into the store. It is always in one of the two: a rename moves it,
 * or a copy is whole before the original goes; what is too much for a copy gets another name where
 * it is. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree.h"
#include "held/held_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char part_name[] = "part"; /* of a copy that is not whole */

static int describe(const struct held_take *take, const struct stat *seen, struct held_entry *entry)
{
    entry->top = strdup(take->tree->top);
    entry->path = strdup(take->path);
    entry->reason = strdup(take->reason);
    entry->action = take->action;
    entry->how = HELD_MOVED;
    entry->when_ms = clock_wall_ms();
    entry->top_dev = take->tree->dev;
    entry->top_inode = take->tree->inode;
    entry->dev = seen->st_dev;
    entry->inode = seen->st_ino;
    entry->size = (uint64_t) seen->st_size;
    entry->ctime_ns = held_nanoseconds(&seen->st_ctim);
    entry->mode = seen->st_mode;
    memcpy(entry->run, take->tree->run, sizeof entry->run);
    return entry->top != NULL && entry->path != NULL && entry->reason != NULL ? 0 : -ENOMEM;
}

/* ---- on the same file system --------------------------------------------------------------- */

static int rename_to(const struct held_take *take, int to_fd, const char *to)
{
    return renameat2(take->folder_fd, take->name, to_fd, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* A folder that changes its parent is written to as well. */
static int rename_closed(const struct held_take *take, int to_fd, const char *to)
{
    AUTO_CLOSE int fd = path_open_below(take->folder_fd, take->name, O_PATH, 0);
    mode_t mode;

    if (fd >= 0)
        (void) held_unlock(fd, &mode);
    return rename_to(take, to_fd, to);
}

static int move(const struct held_take *take, int to_fd, const char *to)
{
    mode_t before;
    const bool unlocked = held_unlock(take->folder_fd, &before);
    int r = rename_to(take, to_fd, to);

    if (r == -EACCES || r == -EPERM)
        r = rename_closed(take, to_fd, to);
    if (unlocked)
        (void) fchmod(take->folder_fd, before);
    return r;
}

/* ---- to another one ------------------------------------------------------------------------ */

struct search {
    const struct held_entry *wanted;
    bool found;
};

static int is_same(void *context, const struct held_entry *entry)
{
    struct search *search = context;
    const struct held_entry *wanted = search->wanted;

    search->found = entry->how == HELD_COPIED && entry->dev == wanted->dev &&
                    entry->inode == wanted->inode && entry->ctime_ns == wanted->ctime_ns &&
                    str_equal(entry->top, wanted->top) && str_equal(entry->path, wanted->path);
    return search->found;
}

/* Whether an earlier check came as far as the copy. */
static bool is_copied(const struct held_take *take, const struct held_entry *entry)
{
    struct search search = {.wanted = entry};

    return held_each(take->store_fd, is_same, &search) > 0;
}

static bool is_unchanged(const struct held_take *take, const struct held_entry *entry)
{
    struct stat seen;

    return fstatat(take->folder_fd, take->name, &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
           seen.st_dev == entry->dev && seen.st_ino == entry->inode &&
           (uint64_t) seen.st_size == entry->size;
}

static int copy_whole(const struct held_take *take, int entry_fd, struct held_entry *entry)
{
    int r;

    entry->how = HELD_COPIED;
    r = held_entry_save(entry_fd, entry);
    if (r == 0)
        r = held_copy(take->folder_fd, take->name, entry_fd, part_name);
    if (r == 0 && !is_unchanged(take, entry))
        r = -EAGAIN;
    if (r == 0 && renameat(entry_fd, part_name, entry_fd, HELD_OBJECT) < 0)
        r = -errno;
    if (r < 0)
        (void) !tree_remove(entry_fd, part_name, NULL);
    return r;
}

static int close_in_place(const struct held_take *take, const char *name)
{
    AUTO_CLOSE int fd = path_open_below(take->folder_fd, name, O_PATH, 0);
    char path[32];

    if (fd < 0)
        return fd;
    (void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return chmod(path, 0) < 0 ? -errno : 0;
}

static int rename_in_place(const struct held_take *take, int entry_fd, struct held_entry *entry)
{
    char name[HELD_NEIGHBOUR_SIZE];
    int r;

    entry->how = HELD_IN_PLACE;
    held_neighbour(entry->id, name);
    r = held_entry_save(entry_fd, entry);
    if (r == 0)
        r = move(take, take->folder_fd, name);
    return r < 0 ? r : close_in_place(take, name);
}

static int move_across(const struct held_take *take, int entry_fd, struct held_entry *entry)
{
    int r = copy_whole(take, entry_fd, entry);

    if (r == -EFBIG)
        return rename_in_place(take, entry_fd, entry);
    return r < 0 ? r : tree_remove(take->folder_fd, take->name, NULL);
}

/* ---- both ---------------------------------------------------------------------------------- */

static int move_into(const struct held_take *take, struct held_entry *entry)
{
    AUTO_CLOSE int entry_fd = -1;
    int r = held_entry_make(take->store_fd, entry, &entry_fd);

    if (r == 0)
        r = held_entry_save(entry_fd, entry);
    if (r == 0)
        r = move(take, entry_fd, HELD_OBJECT);
    if (r == -EXDEV && is_copied(take, entry))
        r = tree_remove(take->folder_fd, take->name, NULL);
    else if (r == -EXDEV)
        r = move_across(take, entry_fd, entry);
    if (entry_fd < 0 || held_entry_has_object(entry_fd, entry))
        return r;
    cleanup_close(&entry_fd);
    (void) !tree_remove(take->store_fd, entry->id, NULL);
    entry->id[0] = '\0';
    return r;
}

int held_take_object(const struct held_take *take, struct held_entry *ret_entry, struct err *err)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    struct stat seen;
    int r;

    if (fstatat(take->folder_fd, take->name, &seen, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT
                   ? -ENOENT
                   : err_set(err, errno, "held.move", "cannot look at '%s'", take->path);
    r = describe(take, &seen, &entry);
    if (r == 0)
        r = held_store_lock(take->store_fd);
    if (r == 0) {
        r = move_into(take, &entry);
        held_store_unlock(take->store_fd);
    }
    if (r == -ENOENT)
        return r;
    if (r < 0)
        return err_set(err, -r, "held.move", "cannot set '%s' aside", take->path);
    *ret_entry = entry;
    entry = (struct held_entry){0};
    return 0;
}
