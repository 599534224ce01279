#include "base/tree.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* How it works. A few levels are emptied in place, with one open stream a level. A folder that lies
 * deeper is moved to a holding folder made in the top of the tree, and is emptied from there when
 * its turn comes; what lies too deep in the holding folder goes to the next one. Each folder is
 * moved once at most, so the work is linear in the number of names, and neither memory nor
 * descriptors grow with depth. Names are never checked and then used: a folder is opened without
 * following a symlink and looked at through its descriptor. */

enum {
    FOLDERS_OPEN = 4,       /* levels emptied in place */
    ROUNDS_MAX = 64,        /* over the whole tree, while each removes something */
    ENTRIES_MAX = 16 << 20, /* of one call: somebody may add as fast as we remove */
    NAME_TRIES = 16,
};

/* One folder that is being emptied. */
struct folder {
    DIR *dir;
    char name[NAME_MAX + 1]; /* in the folder above */
};

struct removal {
    int top_fd;
    struct statx mount; /* what must not be left */
    struct folder open[FOLDERS_OPEN];
    unsigned depth;   /* of `open` */
    bool in_top;      /* open[0] is the top of the tree */
    int holding_fd;   /* -1 until something had to be moved */
    char holding[32]; /* its name in the top */
    uint64_t moved;   /* names given in holding folders */
    uint64_t removed; /* in this round */
    unsigned entries; /* of all rounds */
    int failure;      /* errno of the first name that would not go in this round; 0: none */
    char failed[NAME_MAX + 1];
};

static void note_failure(struct removal *removal, int code, const char *name)
{
    if (removal->failure != 0)
        return;
    removal->failure = code == ENOTEMPTY ? EAGAIN : code; /* emptied, and not empty: it grows */
    (void) snprintf(removal->failed, sizeof removal->failed, "%s", name);
}

/* ---- opening a folder ---------------------------------------------------------------------- */

static int look(int fd, struct statx *ret_status)
{
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE | STATX_MNT_ID, ret_status) < 0)
        return -errno;
    return 0;
}

/* By mount where the kernel tells it (5.8), else by device. */
static bool same_mount(const struct statx *a, const struct statx *b)
{
    if ((a->stx_mask & b->stx_mask & STATX_MNT_ID) != 0)
        return a->stx_mnt_id == b->stx_mnt_id;
    return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* O_PATH descriptor of a folder on the same mount, with all rights for its owner. */
static int unlock_folder(int dir_fd, const char *name, const struct statx *mount)
{
    AUTO_CLOSE int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct statx status;
    char path[32];
    int r;

    if (fd < 0)
        return -errno;
    r = look(fd, &status);
    if (r < 0)
        return r;
    if (!same_mount(&status, mount))
        return -EBUSY;
    if ((status.stx_mode & S_IRWXU) != S_IRWXU) {
        /* fchmod refuses an O_PATH descriptor. Failure shows when the folder is used: root needs no
         * rights, and another's folder may grant them by its group. */
        (void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        (void) chmod(path, S_IRWXU);
    }
    return TAKE_FD(fd);
}

static int open_folder(int dir_fd, const char *name, const struct statx *mount)
{
    AUTO_CLOSE int path_fd = unlock_folder(dir_fd, name, mount);
    int fd;

    if (path_fd < 0)
        return path_fd;
    fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

static const struct dirent *next_entry(DIR *dir)
{
    const struct dirent *entry;

    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry != NULL &&
             (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry;
}

/* ---- one name ------------------------------------------------------------------------------ */

/* 0 when it is gone, -ENOTEMPTY for a folder with something in it, or -errno. */
static int remove_plain(int dir_fd, const char *name, bool is_folder)
{
    if (!is_folder) {
        if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
            return 0;
        if (errno != EISDIR)
            return -errno;
    }
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errno == EEXIST ? -ENOTEMPTY : -errno;
}

/* ---- the holding folder -------------------------------------------------------------------- */

static int make_holding(struct removal *removal)
{
    for (int tries = 0; tries < NAME_TRIES; tries++) {
        uint64_t number = 0;
        int fd;

        if (getrandom(&number, sizeof number, 0) < 0)
            return -errno;
        (void) snprintf(removal->holding, sizeof removal->holding, ".removal-%" PRIx64, number);
        if (mkdirat(removal->top_fd, removal->holding, S_IRWXU) == 0) {
            fd = open_folder(removal->top_fd, removal->holding, &removal->mount);
            if (fd >= 0)
                removal->holding_fd = fd;
            return fd < 0 ? fd : 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* Removes the first thing in the folder that goes. Else `deeper` is the name of a subfolder, or
 * empty. */
static bool remove_first(DIR *dir, char deeper[NAME_MAX + 1])
{
    const struct dirent *entry;

    deeper[0] = '\0';
    while ((entry = next_entry(dir)) != NULL) {
        int r = remove_plain(dirfd(dir), entry->d_name, entry->d_type == DT_DIR);

        if (r == 0)
            return true;
        if (r == -ENOTEMPTY)
            (void) snprintf(deeper, NAME_MAX + 1, "%s", entry->d_name);
    }
    return false;
}

/* Removes one thing somewhere deep: on a full disk this makes the place a holding folder needs. */
static bool remove_leaf(struct removal *removal)
{
    int fd = openat(removal->top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    while (fd >= 0) {
        AUTO_CLOSEDIR DIR *dir = fdopendir(fd);
        char deeper[NAME_MAX + 1];

        if (dir == NULL) {
            cleanup_close(&fd);
            return false;
        }
        if (remove_first(dir, deeper)) {
            removal->removed++;
            return true;
        }
        fd = deeper[0] != '\0' ? open_folder(dirfd(dir), deeper, &removal->mount) : -1;
    }
    return false;
}

static int need_holding(struct removal *removal)
{
    int r;

    if (removal->holding_fd >= 0)
        return 0;
    r = make_holding(removal);
    if ((r == -ENOSPC || r == -EDQUOT) && remove_leaf(removal))
        r = make_holding(removal);
    return r;
}

/* Moves a folder to the holding folder. There it meets no other name: they are counted. */
static int move_away(struct removal *removal, int dir_fd, const char *name)
{
    AUTO_CLOSE int path_fd = unlock_folder(dir_fd, name, &removal->mount);
    char number[24];
    int r;

    if (path_fd < 0)
        return path_fd;
    r = need_holding(removal);
    if (r < 0)
        return r;
    (void) snprintf(number, sizeof number, "%" PRIu64, removal->moved++);
    if (renameat(dir_fd, name, removal->holding_fd, number) < 0)
        return -errno;
    return 0;
}

/* ---- emptying ------------------------------------------------------------------------------ */

/* Takes over `fd`. */
static int enter_folder(struct removal *removal, int fd, const char *name)
{
    struct folder *folder = &removal->open[removal->depth];
    DIR *dir = fdopendir(fd);

    if (dir == NULL) {
        cleanup_close(&fd);
        return -ENOMEM;
    }
    *folder = (struct folder){.dir = dir};
    (void) snprintf(folder->name, sizeof folder->name, "%s", name);
    removal->depth++;
    return 0;
}

static void leave_folder(struct removal *removal)
{
    cleanup_closedir(&removal->open[--removal->depth].dir);
}

/* The last name of a folder was seen. New names may have come: they are for the next round. */
static void finish_folder(struct removal *removal)
{
    struct folder *folder = &removal->open[removal->depth - 1];
    int r = 0;

    if (removal->depth > 1) /* the first one is for the caller */
        r = remove_plain(dirfd((folder - 1)->dir), folder->name, true);
    if (r < 0)
        note_failure(removal, -r, folder->name);
    else if (removal->depth > 1)
        removal->removed++;
    leave_folder(removal);
}

/* A folder that is not empty: goes into it, or moves it away when it lies too deep. */
static int handle_folder(struct removal *removal, int dir_fd, const char *name)
{
    int r;

    if (removal->depth < FOLDERS_OPEN) {
        r = open_folder(dir_fd, name, &removal->mount);
        return r < 0 ? r : enter_folder(removal, r, name);
    }
    return move_away(removal, dir_fd, name);
}

static void remove_entry(struct removal *removal, const struct dirent *entry)
{
    int dir_fd = dirfd(removal->open[removal->depth - 1].dir);
    bool is_holding = removal->in_top && removal->depth == 1 && removal->holding_fd >= 0 &&
                      strcmp(entry->d_name, removal->holding) == 0;
    int r;

    if (is_holding)
        return;
    removal->entries++;
    r = remove_plain(dir_fd, entry->d_name, entry->d_type == DT_DIR);
    if (r == 0)
        removal->removed++;
    else if (r == -ENOTEMPTY)
        r = handle_folder(removal, dir_fd, entry->d_name);
    if (r < 0)
        note_failure(removal, -r, entry->d_name);
}

/* Takes over `fd`. */
static void empty_folder(struct removal *removal, int fd, const char *name)
{
    int r = enter_folder(removal, fd, name);

    if (r < 0)
        note_failure(removal, -r, name);
    while (removal->depth > 0) {
        const struct dirent *entry = next_entry(removal->open[removal->depth - 1].dir);

        if (entry == NULL && errno != 0)
            note_failure(removal, errno, removal->open[removal->depth - 1].name);
        if (removal->entries >= ENTRIES_MAX)
            leave_folder(removal);
        else if (entry == NULL)
            finish_folder(removal);
        else
            remove_entry(removal, entry);
    }
}

/* Empties the top and then one holding folder after the other, each of which may fill the next. */
static void empty_tree(struct removal *removal, const char *name)
{
    int fd = openat(removal->top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        note_failure(removal, errno, name);
        return;
    }
    removal->in_top = true;
    empty_folder(removal, fd, name);
    removal->in_top = false;

    while (removal->holding_fd >= 0) {
        char holding[sizeof removal->holding];
        int r;

        memcpy(holding, removal->holding, sizeof holding);
        empty_folder(removal, TAKE_FD(removal->holding_fd), holding);
        r = remove_plain(removal->top_fd, holding, true);
        if (r < 0)
            note_failure(removal, -r, holding);
    }
}

static int remove_folder(struct removal *removal, int dir_fd, const char *name)
{
    for (int round = 0; round < ROUNDS_MAX && removal->entries < ENTRIES_MAX; round++) {
        int r;

        removal->removed = 0;
        removal->failure = 0;
        empty_tree(removal, name);
        r = remove_plain(dir_fd, name, true);
        if (r == 0)
            return 0;
        if (r != -ENOTEMPTY)
            note_failure(removal, -r, name);
        if (removal->removed == 0 && removal->failure != 0)
            break;
    }
    note_failure(removal, EAGAIN, name);
    return -removal->failure;
}

static int open_and_remove(struct removal *removal, int dir_fd, const char *name)
{
    AUTO_CLOSE int top_fd = -1;
    int r = look(dir_fd, &removal->mount);

    if (r < 0)
        return r;
    top_fd = open_folder(dir_fd, name, &removal->mount);
    if (top_fd < 0)
        return top_fd == -ENOENT ? 0 : top_fd;
    removal->top_fd = top_fd;
    return remove_folder(removal, dir_fd, name);
}

int tree_remove(int dir_fd, const char *name, struct err *err)
{
    struct removal removal = {.top_fd = -1, .holding_fd = -1};
    int r;

    if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return err_set(err, EINVAL, "tree.name", "cannot remove '%s': it is not a plain name",
                       name);

    r = remove_plain(dir_fd, name, false);
    if (r < 0) { /* where a folder itself cannot go, all in it still can */
        int folder_r = open_and_remove(&removal, dir_fd, name);

        if (folder_r != -ENOTDIR)
            r = folder_r;
    }
    if (r == 0)
        return 0;
    if (r == -EAGAIN)
        return err_set(err, EAGAIN, "tree.grows", "cannot remove '%s': it keeps growing", name);
    if (removal.failure != 0 && strcmp(removal.failed, name) != 0)
        return err_set(err, -r, "tree.remove", "cannot remove '%s', below '%s'", removal.failed,
                       name);
    return err_set(err, -r, "tree.remove", "cannot remove '%s'", name);
}
