/* One folder of a walk: opened, looked at, listed. */
#include "base/cleanup.h"
#include "base/path.h"
#include "pen/walk_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 64 << 10,
    TICK_ENTRIES = 1024,
};

#define LOOK_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)
#define LOOK_MASK (STATX_TYPE | STATX_NLINK | STATX_INO | STATX_CTIME | STATX_UID | STATX_MNT_ID)

struct reading {
    struct pen_listing *listing;
    const struct pen_walk *walk;
    const struct pen_place *place;
    void (*tick)(void *context, uint64_t entries);
    void *tick_context;
    uint32_t untold; /* entries since the last tick */
    int fd;
};

int pen_listing_init(struct pen_listing *listing)
{
    listing->found = pen_tree_new();
    listing->buffer = malloc(BUFFER_BYTES);
    return listing->found == NULL || listing->buffer == NULL ? -ENOMEM : 0;
}

void pen_listing_free(struct pen_listing *listing)
{
    pen_tree_freep(&listing->found);
    free(listing->buffer);
    listing->buffer = NULL;
}

static void clear(struct pen_listing *listing)
{
    listing->folder = (struct pen_folder){0};
    listing->found->folder_count = 0;
    listing->found->note_count = 0;
    listing->found->names_size = 0;
    listing->has_head = false;
    listing->has_refs = false;
}

/* ---- words ------------------------------------------------------------------------------- */

int pen_refuse_too_many(const struct pen_walk *walk, struct err *err)
{
    (void) err_set(
        err, EINVAL, "pen.too-many",
        "'%s' holds more than %llu files and folders, and what is in the rest is unknown",
        walk->pen, (unsigned long long) walk->most);
    (void) err_hint(err, "use a folder of fewer, or raise wattle.preflight.entries in config.json");
    return -EINVAL;
}

static int refuse_names(const struct pen_walk *walk, int code, struct err *err)
{
    if (code == ENOMEM)
        return err_memory(err);
    (void) err_set(err, EINVAL, "pen.too-many", "the names in '%s' take more memory than 64 MiB",
                   walk->pen);
    (void) err_hint(err, "use a folder with fewer or shorter names");
    return -EINVAL;
}

static int refuse_deep(const struct reading *reading, struct err *err)
{
    (void) err_set(err, EINVAL, "pen.too-deep",
                   "'%s' holds folders too deep to look into: '%.60s...'", reading->walk->pen,
                   reading->place->path);
    (void) err_hint(err, "remove or flatten what lies deeper than a path of %d bytes",
                    PEN_PATH_MAX);
    return -EINVAL;
}

static int cannot_read(const struct reading *reading, int code, const char *name, struct err *err)
{
    const char *slash = reading->place->size > 0 && *name != '\0' ? "/" : "";

    return err_set(err, code, "pen.read", "cannot look at '%s%s%s' in '%s'", reading->place->path,
                   slash, name, reading->walk->pen);
}

/* ---- the folder itself ------------------------------------------------------------------- */

static bool is_gone(int code)
{
    return code == ENOENT || code == ENOTDIR || code == ELOOP || code == ESTALE;
}

static int64_t nanoseconds(const struct statx_timestamp *time)
{
    return time->tv_sec * 1000000000 + time->tv_nsec;
}

static uint64_t device(const struct statx *seen)
{
    return ((uint64_t) seen->stx_dev_major << 32) | seen->stx_dev_minor;
}

static void take_identity(struct pen_folder *folder, const struct statx *seen)
{
    folder->dev = device(seen);
    folder->inode = seen->stx_ino;
    folder->mount = seen->stx_mnt_id;
    folder->ctime_ns = nanoseconds(&seen->stx_ctime);
}

/* Neither read nor searched by us. A job has the same rights and one more: whoever owns a folder
 * can give them to himself. */
static void judge_closed(const struct reading *reading, struct pen_folder *folder)
{
    const char *path = reading->place->path;
    struct statx seen;

    folder->flags |= PEN_UNSURE;
    if (statx(reading->walk->top_fd, path, LOOK_FLAGS, LOOK_MASK, &seen) < 0) {
        if (is_gone(errno))
            folder->flags = PEN_VANISHED;
        return;
    }
    take_identity(folder, &seen);
    if (seen.stx_uid == geteuid() ||
        faccessat(reading->walk->top_fd, path, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0)
        return;
    folder->flags = PEN_CLOSED;
}

/* "path/." fails where the folder cannot be searched: one place for both rights. 0: opened. */
static int open_folder(struct reading *reading, struct err *err)
{
    char path[PATH_MAX];

    (void) snprintf(path, sizeof path, "%s%s", reading->place->path,
                    reading->place->size > 0 ? "/." : ".");
    reading->fd =
        path_open_below(reading->walk->top_fd, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
    if (reading->fd >= 0)
        return 0;
    if (is_gone(-reading->fd))
        reading->listing->folder.flags |= PEN_VANISHED;
    else if (reading->fd == -EACCES || reading->fd == -EPERM)
        judge_closed(reading, &reading->listing->folder);
    else
        return cannot_read(reading, -reading->fd, "", err);
    return 0;
}

/* The kernel's own file systems: they show the machine, not files of a project. */
static int refuse_kernel_mount(const struct reading *reading, struct err *err)
{
    static const unsigned kinds[] = {
        PROC_SUPER_MAGIC,   SYSFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
        DEBUGFS_MAGIC,      TRACEFS_MAGIC,  SECURITYFS_MAGIC,   BPF_FS_MAGIC,
        DEVPTS_SUPER_MAGIC, BINFMTFS_MAGIC, SELINUX_MAGIC,      PSTOREFS_MAGIC,
    };
    struct statfs seen;

    if (fstatfs(reading->fd, &seen) < 0)
        return cannot_read(reading, errno, "", err);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if ((unsigned) seen.f_type != kinds[i])
            continue;
        (void) err_set(err, EINVAL, "pen.mounted",
                       "a file system of the kernel is mounted at '%s' in '%s'",
                       reading->place->path, reading->walk->pen);
        (void) err_hint(err,
                        "unmount it: a job would see this machine's processes or devices there");
        return -EINVAL;
    }
    return 0;
}

/* Its time is taken before its names: what changes in between leaves a later time behind. */
static int look_at_folder(const struct reading *reading, struct err *err)
{
    struct pen_folder *folder = &reading->listing->folder;
    struct statx seen;

    if (statx(reading->fd, "", AT_EMPTY_PATH, LOOK_MASK, &seen) < 0)
        return cannot_read(reading, errno, "", err);
    take_identity(folder, &seen);
    if (folder->ctime_ns >= reading->place->young_ns)
        folder->flags |= PEN_YOUNG;
    if (reading->place->in_objects)
        folder->flags |= PEN_OBJECTS;
    if (reading->place->mount == 0 || folder->mount == reading->place->mount)
        return 0;
    folder->flags |= PEN_FOREIGN;
    return refuse_kernel_mount(reading, err);
}

/* ---- its names --------------------------------------------------------------------------- */

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int add_child(const struct reading *reading, const char *name, struct err *err)
{
    const size_t size = strlen(name);

    if (reading->place->size + 1 + size > PEN_PATH_MAX)
        return refuse_deep(reading, err);
    if (pen_tree_add_folder(reading->listing->found, 0, name, size) == PEN_NONE)
        return refuse_names(reading->walk, errno, err);
    return 0;
}

/* What is said of a name by its status. */
static unsigned what_of(const struct reading *reading, const struct statx *seen)
{
    unsigned what = 0;

    if (S_ISSOCK(seen->stx_mode))
        what |= PEN_SOCKET;
    if (S_ISREG(seen->stx_mode) && seen->stx_nlink > 1)
        what |= PEN_LINKED;
    if (!S_ISDIR(seen->stx_mode) && seen->stx_mnt_id != reading->listing->folder.mount)
        what |= PEN_MOUNTED;
    return what;
}

static int add_note(const struct reading *reading, const char *name, unsigned what,
                    const struct statx *seen, struct err *err)
{
    const struct pen_note note = {
        .dev = device(seen),
        .inode = seen->stx_ino,
        .links = seen->stx_nlink,
        .what = (uint8_t) what,
        .type = (uint8_t) IFTODT(seen->stx_mode),
    };

    if (pen_tree_add_note(reading->listing->found, &note, name, strlen(name)) == PEN_NONE)
        return refuse_names(reading->walk, errno, err);
    return 0;
}

static int look_at_name(const struct reading *reading, const char *name, unsigned what,
                        struct err *err)
{
    struct statx seen;
    int r = 0;

    if (statx(reading->fd, name, LOOK_FLAGS, LOOK_MASK, &seen) < 0)
        return is_gone(errno) ? 0 : cannot_read(reading, errno, name, err);
    what |= what_of(reading, &seen);
    if (what != 0)
        r = add_note(reading, name, what, &seen, err);
    return r == 0 && S_ISDIR(seen.stx_mode) ? add_child(reading, name, err) : r;
}

static int take_name(const struct reading *reading, const struct dirent64 *entry, struct err *err)
{
    const struct pen_walk *walk = reading->walk;
    const char *name = entry->d_name;
    unsigned what = 0;

    if (walk->guarded != NULL && walk->guarded(walk->guarded_context, reading->place->path, name))
        what |= PEN_GUARDED;
    if (name[0] == '.' && strcasecmp(name, ".git") == 0)
        what |= PEN_REPOSITORY;
    reading->listing->has_head = reading->listing->has_head || strcmp(name, "HEAD") == 0;
    reading->listing->has_refs = reading->listing->has_refs || strcmp(name, "refs") == 0;
    /* Nothing can be mounted on a symlink, and a folder is looked at when it is opened. */
    if (what == 0 && entry->d_type == DT_LNK)
        return 0;
    if (what == 0 && entry->d_type == DT_DIR)
        return add_child(reading, name, err);
    return look_at_name(reading, name, what, err);
}

static int take_names(struct reading *reading, size_t size, struct err *err)
{
    struct pen_listing *listing = reading->listing;
    int r = 0;

    for (size_t at = 0; r == 0 && at < size;) {
        const struct dirent64 *entry = (const struct dirent64 *) (void *) (listing->buffer + at);

        at += entry->d_reclen;
        if (is_dots(entry->d_name))
            continue;
        if (++listing->folder.entries > reading->place->room)
            return pen_refuse_too_many(reading->walk, err);
        if (++reading->untold == TICK_ENTRIES) {
            reading->tick(reading->tick_context, reading->untold);
            reading->untold = 0;
        }
        r = take_name(reading, entry, err);
    }
    return r;
}

static int list_names(struct reading *reading, struct err *err)
{
    int r = 0;

    while (r == 0) {
        const ssize_t size = getdents64(reading->fd, reading->listing->buffer, BUFFER_BYTES);

        if (size < 0 && errno != ENOENT) /* removed while it is read */
            return cannot_read(reading, errno, "", err);
        if (size <= 0)
            break;
        r = take_names(reading, (size_t) size, err);
    }
    reading->tick(reading->tick_context, reading->untold);
    return r;
}

int pen_listing_read(struct pen_listing *listing, const struct pen_walk *walk,
                     const struct pen_place *place, void (*tick)(void *context, uint64_t entries),
                     void *tick_context, struct err *err)
{
    struct reading reading = {
        .listing = listing,
        .walk = walk,
        .place = place,
        .tick = tick,
        .tick_context = tick_context,
        .fd = -1,
    };
    int r;

    clear(listing);
    r = open_folder(&reading, err);
    if (r == 0 && reading.fd >= 0)
        r = look_at_folder(&reading, err);
    if (r == 0 && reading.fd >= 0)
        r = list_names(&reading, err);
    cleanup_close(&reading.fd);
    return r;
}
