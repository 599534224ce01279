/* What the owner does with entries of the store. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree.h"
#include "held/held_priv.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_DIGITS = 4 };

static const char *const action_names[HELD_ACTIONS] = {
    [HELD_SET_ASIDE] = "set aside", [HELD_DISARMED] = "disarmed", [HELD_PUT_BACK] = "put back",
    [HELD_TAKEN] = "taken",         [HELD_RESTORED] = "restored", [HELD_GONE] = "gone",
    [HELD_FAILED] = "failed",
};

static const char *const how_names[HELD_HOWS] = {
    [HELD_MOVED] = "moved", [HELD_COPIED] = "copied", [HELD_IN_PLACE] = "in place"};

const char *held_action_name(enum held_action action)
{
    return action_names[action];
}

const char *held_how_name(enum held_how how)
{
    return how_names[how];
}

/* ---- list and find ------------------------------------------------------------------------- */

struct listing {
    struct held_entry *entries;
    size_t count, room;
};

static void listing_free(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        held_entry_free(&listing->entries[i]);
    free(listing->entries);
}

static int copy_entry(const struct held_entry *from, struct held_entry *to)
{
    *to = *from;
    to->top = strdup(from->top);
    to->path = strdup(from->path);
    to->reason = strdup(from->reason);
    if (to->top != NULL && to->path != NULL && to->reason != NULL)
        return 0;
    held_entry_free(to);
    return -ENOMEM;
}

static int add_entry(void *context, const struct held_entry *entry)
{
    struct listing *listing = context;

    if (listing->count == listing->room) {
        const size_t room = listing->room == 0 ? 64 : listing->room * 2;
        struct held_entry *entries = reallocarray(listing->entries, room, sizeof *entries);

        if (entries == NULL)
            return -ENOMEM;
        listing->entries = entries;
        listing->room = room;
    }
    if (copy_entry(entry, &listing->entries[listing->count]) < 0)
        return -ENOMEM;
    listing->count++;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct held_entry *first = a;
    const struct held_entry *second = b;

    if (first->when_ms != second->when_ms)
        return first->when_ms < second->when_ms ? -1 : 1;
    return strcmp(first->id, second->id);
}

static int load_all(const char *state_dir, struct listing *listing, struct err *err)
{
    AUTO_CLOSE int store_fd = held_store_open(state_dir, false, err);
    int r;

    if (store_fd < 0)
        return store_fd == -ENOENT ? 0 : store_fd;
    r = held_each(store_fd, add_entry, listing);
    if (r < 0)
        return r == -ENOMEM
                   ? err_memory(err)
                   : err_set(err, -r, "held.store", "cannot read '%s/held/store'", state_dir);
    if (listing->count > 0)
        qsort(listing->entries, listing->count, sizeof listing->entries[0], by_time);
    return 0;
}

int held_list(const char *state_dir,
              int (*each)(void *context, const struct held_entry *entry, struct err *err),
              void *context, struct err *err)
{
    AUTO(listing_free) struct listing listing = {0};
    struct err missing = {0};
    int r = load_all(state_dir, &listing, &missing);

    if (r < 0)
        *err = missing;
    for (size_t i = 0; r == 0 && i < listing.count; i++)
        r = each(context, &listing.entries[i], err);
    return r;
}

int held_find(const char *state_dir, const char *id, struct held_entry *ret_entry, struct err *err)
{
    AUTO(listing_free) struct listing listing = {0};
    const struct held_entry *match = NULL;
    struct err missing = {0};
    int r = load_all(state_dir, &listing, &missing);

    if (r < 0) {
        *err = missing;
        return r;
    }
    for (size_t i = 0; i < listing.count; i++) {
        if (strlen(id) < LEAST_DIGITS || !str_starts(listing.entries[i].id, id))
            continue;
        if (match != NULL)
            return err_set(err, EINVAL, "held.ambiguous", "'%s' is the beginning of several", id);
        match = &listing.entries[i];
    }
    if (match == NULL) {
        (void) err_set(err, ENOENT, "held.unknown", "nothing is held as '%s'", id);
        return err_hint(err, "'wattle held list' shows what is");
    }
    return copy_entry(match, ret_entry) < 0 ? err_memory(err) : 0;
}

/* ---- where it is, where it was ------------------------------------------------------------- */

static int fault(int r, const struct held_entry *entry, const char *what, struct err *err)
{
    return err_set(err, -r, "held.store", "cannot %s '%s' of '%s'", what, entry->path, entry->top);
}

/* The folder it was in, and the name there. */
static int open_place(const struct held_entry *entry, const char **ret_name, struct err *err)
{
    AUTO_CLOSE int top_fd = path_open_plain(AT_FDCWD, entry->top, O_PATH | O_DIRECTORY);
    struct stat seen;
    int fd;

    if (top_fd < 0 || fstat(top_fd, &seen) < 0)
        return err_set(err, top_fd < 0 ? -top_fd : errno, "held.place", "cannot open '%s'",
                       entry->top);
    if (seen.st_ino != entry->top_inode) {
        (void) err_set(err, EINVAL, "held.place", "'%s' is another folder now", entry->top);
        return err_hint(err, "'wattle held show --raw %s' prints what is held", entry->id);
    }
    fd = held_folder_open(top_fd, entry->path, ret_name);
    return fd < 0 ? err_set(err, -fd, "held.place", "the folder of '%s' in '%s' is not there",
                            entry->path, entry->top)
                  : fd;
}

/* Where the object is: in the store, or beside its place. */
static int open_object(int store_fd, const struct held_entry *entry, char name[HELD_NEIGHBOUR_SIZE],
                       struct err *err)
{
    const char *ignored;

    if (entry->how == HELD_IN_PLACE) {
        held_neighbour(entry->id, name);
        return open_place(entry, &ignored, err);
    }
    (void) snprintf(name, HELD_NEIGHBOUR_SIZE, "%s", HELD_OBJECT);
    return held_entry_open(store_fd, entry->id);
}

/* ---- content ------------------------------------------------------------------------------- */

static int read_file(int folder_fd, const char *name, struct buf *buf)
{
    AUTO_CLOSE int fd = path_open_below(folder_fd, name, O_RDONLY | O_NONBLOCK, 0);
    AUTO_FREE char *block = malloc(buf->limit);
    size_t got = 0;

    if (fd < 0)
        return fd;
    if (block == NULL)
        return -ENOMEM;
    while (got < buf->limit) {
        const ssize_t n = read(fd, block + got, buf->limit - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t) n;
    }
    return buf_add(buf, block, got);
}

/* A right its owner may give to himself, for as long as it takes. */
static int read_closed(int folder_fd, const char *name, struct buf *buf)
{
    struct stat seen;
    int r;

    if (fstatat(folder_fd, name, &seen, AT_SYMLINK_NOFOLLOW) < 0 ||
        fchmodat(folder_fd, name, S_IRUSR, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    r = read_file(folder_fd, name, buf);
    (void) !fchmodat(folder_fd, name, seen.st_mode & 07777, AT_SYMLINK_NOFOLLOW);
    return r;
}

static int read_link(int folder_fd, const char *name, struct buf *buf)
{
    char text[PATH_MAX];
    const ssize_t size = readlinkat(folder_fd, name, text, sizeof text);

    return size < 0 ? -errno : buf_add(buf, text, (size_t) size);
}

/* Its names only; those below them are for who restores it. */
static int read_folder(int folder_fd, const char *name, struct buf *buf)
{
    AUTO_CLOSE int path_fd = path_open_below(folder_fd, name, O_PATH | O_DIRECTORY, 0);
    mode_t before;
    const bool unlocked = path_fd >= 0 && held_unlock(path_fd, &before);
    AUTO_CLOSE int fd = path_fd < 0 ? path_fd : openat(path_fd, ".", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (dir == NULL)
        return -errno;
    fd = -1; /* the stream's now */
    while ((entry = readdir(dir)) != NULL)
        if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
            (void) buf_printf(buf, "%s\n", entry->d_name);
    if (unlocked)
        (void) fchmod(dirfd(dir), before);
    return 0; /* what did not fit is left out */
}

int held_content(const char *state_dir, const struct held_entry *entry, struct buf *buf,
                 struct err *err)
{
    AUTO_CLOSE int store_fd = held_store_open(state_dir, false, err);
    AUTO_CLOSE int fd = -1;
    char name[HELD_NEIGHBOUR_SIZE];
    int r = 0;

    if (store_fd < 0)
        return store_fd;
    fd = open_object(store_fd, entry, name, err);
    if (fd < 0)
        return fd;
    if (S_ISREG(entry->mode))
        r = read_file(fd, name, buf);
    if (r == -EACCES)
        r = read_closed(fd, name, buf);
    if (S_ISLNK(entry->mode))
        r = read_link(fd, name, buf);
    if (S_ISDIR(entry->mode))
        r = read_folder(fd, name, buf);
    return r < 0 ? fault(r, entry, "read", err) : 0;
}

/* ---- restore and drop ---------------------------------------------------------------------- */

static int rename_over_nothing(int from_fd, const char *from, int to_fd, const char *to)
{
    return renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* By a copy under a name nobody reads, which then takes the place. */
static int copy_back(int from_fd, const char *from, int to_fd, const struct held_entry *entry,
                     const char *to)
{
    char name[HELD_NEIGHBOUR_SIZE];
    int r = 0;

    held_neighbour(entry->id, name);
    (void) !tree_remove(to_fd, name, NULL); /* of a restore that was killed */
    r = held_copy(from_fd, from, to_fd, name);
    if (r == 0)
        r = rename_over_nothing(to_fd, name, to_fd, to);
    if (r < 0)
        (void) !tree_remove(to_fd, name, NULL);
    return r;
}

/* A symlink has none; what else was closed or opened for the move has its own mode again. */
static void give_mode(int fd, const char *name, const struct held_entry *entry)
{
    if (!S_ISLNK(entry->mode))
        (void) !fchmodat(fd, name, entry->mode & 07777, AT_SYMLINK_NOFOLLOW);
}

static int move_back(int store_fd, const struct held_entry *entry, struct err *err)
{
    char from[HELD_NEIGHBOUR_SIZE];
    AUTO_CLOSE int from_fd = open_object(store_fd, entry, from, err);
    const char *name = NULL;
    AUTO_CLOSE int fd = from_fd < 0 ? from_fd : open_place(entry, &name, err);
    struct stat seen;
    mode_t before;
    bool unlocked;
    int r;

    if (fd < 0)
        return fd;
    assert(name != NULL);
    if (fstatat(fd, name, &seen, AT_SYMLINK_NOFOLLOW) == 0) {
        (void) err_set(err, EEXIST, "held.in-the-way", "'%s' is there in '%s'", entry->path,
                       entry->top);
        return err_hint(err, "move it away first, or take 'wattle held show --raw %s'", entry->id);
    }
    unlocked = held_unlock(fd, &before);
    r = rename_over_nothing(from_fd, from, fd, name);
    if (r == -EXDEV)
        r = copy_back(from_fd, from, fd, entry, name);
    if (r == 0)
        give_mode(fd, name, entry);
    if (unlocked)
        (void) fchmod(fd, before);
    return r < 0 ? fault(r, entry, "restore", err) : 0;
}

/* While a run goes on, it would be new to its check. */
static int lock_tree(const char *state_dir, const struct held_entry *entry, int *ret_trees_fd,
                     char key[HELD_KEY_SIZE], struct err *err)
{
    AUTO_CLOSE int trees_fd = held_trees_open(state_dir, true, err);
    int fd;

    if (trees_fd < 0)
        return trees_fd;
    held_key(entry->top_dev, entry->top_inode, key);
    fd = held_lock(trees_fd, key, HELD_ALONE_NOW);
    if (fd < 0) {
        (void) err_set(err, -fd, "held.busy", "a run goes on in '%s'", entry->top);
        return err_hint(err, "restore it when the run is over: it would be set aside again");
    }
    *ret_trees_fd = TAKE_FD(trees_fd);
    return fd;
}

int held_restore(const char *state_dir, const struct held_entry *entry, struct err *err)
{
    AUTO_CLOSE int store_fd = held_store_open(state_dir, false, err);
    AUTO_CLOSE int trees_fd = -1;
    AUTO_CLOSE int lock_fd = -1;
    char key[HELD_KEY_SIZE];
    int r = store_fd;

    if (store_fd >= 0)
        r = lock_fd = lock_tree(state_dir, entry, &trees_fd, key, err);
    if (r < 0)
        return r;
    r = held_store_lock(store_fd);
    if (r < 0)
        return fault(r, entry, "restore", err);
    r = move_back(store_fd, entry, err);
    if (r == 0)
        r = tree_remove(store_fd, entry->id, err);
    held_store_unlock(store_fd);
    if (!held_baseline_is_there(trees_fd, key))
        held_baseline_remove(trees_fd, key);
    return r;
}

static int drop_neighbour(const struct held_entry *entry, struct err *err)
{
    char name[HELD_NEIGHBOUR_SIZE];
    const char *ignored;
    AUTO_CLOSE int fd = open_place(entry, &ignored, err);

    held_neighbour(entry->id, name);
    return fd < 0 ? fd : tree_remove(fd, name, err);
}

int held_drop(const char *state_dir, const struct held_entry *entry, struct err *err)
{
    AUTO_CLOSE int store_fd = held_store_open(state_dir, false, err);
    int r;

    if (store_fd < 0)
        return store_fd;
    r = held_store_lock(store_fd);
    if (r < 0)
        return fault(r, entry, "drop", err);
    if (entry->how == HELD_IN_PLACE)
        r = drop_neighbour(entry, err);
    if (r == 0)
        r = tree_remove(store_fd, entry->id, err);
    held_store_unlock(store_fd);
    return r;
}
