/* The store: a folder for each object, with a note of what it is. The note is written before the
 * object comes, so that an object without a note never is; a note without an object is one of a
 * move that did not happen, and goes. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree.h"
#include "held/held_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char note_name[] = "entry";

enum { ID_TRIES = 64 };

void held_neighbour(const char *id, char name[HELD_NEIGHBOUR_SIZE])
{
    (void) snprintf(name, HELD_NEIGHBOUR_SIZE, "%s%s", HELD_NEIGHBOUR_PREFIX, id);
}

int held_entry_make(int store_fd, struct held_entry *entry, int *ret_fd)
{
    for (int i = 0; i < ID_TRIES; i++) {
        uint32_t number = 0;

        if (getrandom(&number, sizeof number, 0) != (ssize_t) sizeof number)
            return -errno;
        (void) snprintf(entry->id, sizeof entry->id, "%08x", number);
        if (mkdirat(store_fd, entry->id, 0700) == 0) {
            *ret_fd = held_entry_open(store_fd, entry->id);
            return *ret_fd < 0 ? *ret_fd : 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

int held_entry_save(int entry_fd, const struct held_entry *entry)
{
    AUTO(buf_free) struct buf bytes = {0};
    int r;

    buf_init(&bytes, HELD_ENTRY_LIMIT_BYTES);
    r = held_entry_encode(entry, &bytes);
    return r < 0 ? r : held_write_file(entry_fd, note_name, &bytes, true);
}

int held_entry_open(int store_fd, const char *id)
{
    return path_open_below(store_fd, id, O_RDONLY | O_DIRECTORY, 0);
}

int held_entry_load(int store_fd, const char *id, struct held_entry *ret_entry)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    AUTO_CLOSE int entry_fd = held_entry_open(store_fd, id);
    AUTO_CLOSE int fd = -1;
    AUTO(buf_free) struct buf bytes = {0};
    int r;

    buf_init(&bytes, HELD_ENTRY_LIMIT_BYTES);
    if (entry_fd < 0)
        return entry_fd;
    fd = path_open_below(entry_fd, note_name, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return fd;
    r = fd_read_all(fd, &bytes);
    if (r == 0)
        r = held_entry_decode(bytes.bytes, bytes.size, &entry);
    if (r == 0 && strcmp(entry.id, id) != 0)
        r = -EBADMSG;
    if (r < 0)
        return r;
    *ret_entry = entry;
    entry = (struct held_entry){0};
    return 0;
}

int held_folder_open(int top_fd, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";

    *ret_name = slash == NULL ? path : slash + 1;
    if (slash != NULL)
        (void) snprintf(folder, sizeof folder, "%.*s", (int) (slash - path), path);
    return path_open_below(top_fd, folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
}

/* A tree that is away for now may have it. */
static bool is_in_place(const struct held_entry *entry)
{
    AUTO_CLOSE int top_fd = path_open_plain(AT_FDCWD, entry->top, O_PATH | O_DIRECTORY);
    AUTO_CLOSE int fd = -1;
    char neighbour[HELD_NEIGHBOUR_SIZE];
    const char *name;
    struct stat seen;

    if (top_fd < 0)
        return true;
    fd = held_folder_open(top_fd, entry->path, &name);
    if (fd < 0)
        return fd != -ENOENT;
    held_neighbour(entry->id, neighbour);
    return fstatat(fd, neighbour, &seen, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

bool held_entry_has_object(int entry_fd, const struct held_entry *entry)
{
    struct stat seen;

    if (entry->how == HELD_IN_PLACE)
        return is_in_place(entry);
    return fstatat(entry_fd, HELD_OBJECT, &seen, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- all of them ------------------------------------------------------------------------- */

static DIR *open_dir(int store_fd)
{
    const int fd = openat(store_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0)
        (void) close(fd);
    return dir;
}

static bool is_id(const char *name)
{
    return strlen(name) == HELD_ID_SIZE - 1 && strspn(name, "0123456789abcdef") == HELD_ID_SIZE - 1;
}

/* 0: whole, -ENOENT: not (yet, or any more). */
static int load_whole(int store_fd, const char *id, struct held_entry *ret_entry)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    AUTO_CLOSE int fd = held_entry_open(store_fd, id);

    if (fd < 0 || held_entry_load(store_fd, id, &entry) < 0 || !held_entry_has_object(fd, &entry))
        return -ENOENT;
    *ret_entry = entry;
    entry = (struct held_entry){0};
    return 0;
}

int held_each(int store_fd, int (*each)(void *context, const struct held_entry *entry),
              void *context)
{
    AUTO_CLOSEDIR DIR *dir = open_dir(store_fd);
    const struct dirent *name;
    int r = 0;

    if (dir == NULL)
        return -errno;
    while (r == 0 && (name = readdir(dir)) != NULL) {
        AUTO(held_entry_free) struct held_entry entry = {0};

        if (is_id(name->d_name) && load_whole(store_fd, name->d_name, &entry) == 0)
            r = each(context, &entry);
    }
    return r;
}

/* A note that cannot be read keeps its object. */
static bool is_left_over(int store_fd, const char *id)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    AUTO_CLOSE int fd = held_entry_open(store_fd, id);
    struct stat seen;

    if (fd < 0 || fstatat(fd, HELD_OBJECT, &seen, AT_SYMLINK_NOFOLLOW) == 0)
        return false;
    return held_entry_load(store_fd, id, &entry) < 0 || !held_entry_has_object(fd, &entry);
}

void held_store_sweep(int store_fd)
{
    AUTO_CLOSEDIR DIR *dir = open_dir(store_fd);
    const struct dirent *name;

    if (dir == NULL)
        return;
    while ((name = readdir(dir)) != NULL)
        if (is_id(name->d_name) && is_left_over(store_fd, name->d_name))
            (void) !tree_remove(store_fd, name->d_name, NULL); /* once more at the next start */
}
