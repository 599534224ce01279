/* How it works. One path grows and shrinks; `pending` is a stack of the folders still to look into,
 * each with the length of its parent's path, so that the path of the one on top is always the first
 * bytes of the current one and its name. A folder is opened, its names are classified, its folders
 * go on the stack, and it is closed: neither depth nor breadth costs descriptors. */
#include "held/look.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "fence/guard/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_ROOM = PATH_MAX - 3,      /* of a folder's path in the tree: "/." is put behind it */
    DEPTH_MAX = PATH_ROOM / 2 + 1, /* of names of one byte */
    PLACE_ROOM = 2 * PATH_MAX,     /* of the top and a path in it */
};

/* Where the rows of git's table hold: a bare repository is looked at as if it were called so. */
#define BARE_AS "/.git"

struct pending {
    size_t name;   /* in `names` */
    size_t parent; /* length of its folder's path */
    size_t bare;   /* length of the path of the bare repository it lies in; 0: in none */
    unsigned depth;
    bool is_bare_top; /* the tree itself is one */
};

/* A folder whose mode was changed to look into it. */
struct unlocked {
    char *path;
    mode_t mode;
    dev_t dev;
    ino_t inode;
};

struct walk {
    const struct held_look *look;
    struct pending *pending;
    size_t count, room;
    char *names; /* of the pending ones, one after the other */
    size_t names_size, names_room;
    struct unlocked *unlocked;
    size_t unlocked_count, unlocked_room;
    bool holds_git[DEPTH_MAX + 2]; /* by depth: the folders above the current one, and it */

    /* The current folder. */
    struct pending at;
    int fd;
    char path[PATH_MAX];        /* in the tree */
    char place[PLACE_ROOM];     /* absolute */
    char taken_for[PLACE_ROOM]; /* the same, but as the rules see it */
};

/* ---- what is still to be looked into ------------------------------------------------------- */

static int grow(void **array, size_t *room, size_t needed, size_t each)
{
    size_t more = *room == 0 ? 64 : *room * 2;
    void *grown;

    if (needed <= *room)
        return 0;
    while (more < needed)
        more *= 2;
    grown = reallocarray(*array, more, each);
    if (grown == NULL)
        return -ENOMEM;
    *array = grown;
    *room = more;
    return 0;
}

static int push(struct walk *walk, const char *name, const struct pending *pending)
{
    const size_t size = strlen(name) + 1;

    if (grow((void **) &walk->pending, &walk->room, walk->count + 1, sizeof *walk->pending) < 0 ||
        grow((void **) &walk->names, &walk->names_room, walk->names_size + size, 1) < 0)
        return -ENOMEM;
    memcpy(walk->names + walk->names_size, name, size);
    walk->pending[walk->count] = *pending;
    walk->pending[walk->count].name = walk->names_size;
    walk->names_size += size;
    walk->count++;
    return 0;
}

/* Writes the path of the folder on top, and takes it off. */
static void pop(struct walk *walk)
{
    size_t at;

    walk->at = walk->pending[--walk->count];
    at = walk->at.parent;
    (void) snprintf(walk->path + at, sizeof walk->path - at, "%s%s", at > 0 ? "/" : "",
                    walk->names + walk->at.name);
    walk->names_size = walk->at.name;
}

/* ---- closed folders ------------------------------------------------------------------------ */

bool held_unlock(int fd, mode_t *ret_mode)
{
    char link[32];
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & S_IRWXU) == S_IRWXU)
        return false;
    (void) snprintf(link, sizeof link, "/proc/self/fd/%d", fd); /* fchmod refuses O_PATH */
    *ret_mode = status.st_mode & 07777;
    return chmod(link, *ret_mode | S_IRWXU) == 0;
}

static int note_unlocked(struct walk *walk, int fd, mode_t mode)
{
    struct unlocked *unlocked;
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (grow((void **) &walk->unlocked, &walk->unlocked_room, walk->unlocked_count + 1,
             sizeof *walk->unlocked) < 0)
        return -ENOMEM;
    unlocked = &walk->unlocked[walk->unlocked_count];
    *unlocked = (struct unlocked){
        .path = strdup(walk->path), .mode = mode, .dev = status.st_dev, .inode = status.st_ino};
    if (unlocked->path == NULL)
        return -ENOMEM;
    walk->unlocked_count++;
    return 0;
}

/* The last first: what lies in a closed folder cannot be reached after it. */
static void lock_again(struct walk *walk)
{
    for (size_t i = walk->unlocked_count; i > 0; i--) {
        const struct unlocked *unlocked = &walk->unlocked[i - 1];
        AUTO_CLOSE int fd =
            path_open_below(walk->look->top_fd, unlocked->path, O_RDONLY | O_DIRECTORY, 0);
        struct stat status;

        if (fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == unlocked->dev &&
            status.st_ino == unlocked->inode)
            (void) fchmod(fd, unlocked->mode);
        free(unlocked->path);
    }
    free(walk->unlocked);
}

/* "path/." fails where the folder cannot be searched: one place for both rights. */
static int open_searchable(const struct walk *walk)
{
    char path[PATH_MAX + 2];

    (void) snprintf(path, sizeof path, "%s%s", walk->path, walk->path[0] != '\0' ? "/." : ".");
    return path_open_below(walk->look->top_fd, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
}

static int open_closed(struct walk *walk)
{
    AUTO_CLOSE int path_fd = path_open_below(
        walk->look->top_fd, walk->path[0] != '\0' ? walk->path : ".", O_PATH | O_DIRECTORY, 0);
    mode_t mode;
    int r;

    if (path_fd < 0)
        return path_fd;
    if (!held_unlock(path_fd, &mode))
        return -EACCES;
    r = note_unlocked(walk, path_fd, mode);
    return r < 0 ? r : open_searchable(walk);
}

static bool is_gone(int code)
{
    return code == ENOENT || code == ENOTDIR || code == ELOOP || code == ESTALE;
}

/* 1: it is open; 0: there is nothing to look into. */
static int open_current(struct walk *walk, struct err *err)
{
    walk->fd = open_searchable(walk);
    if (walk->fd == -EACCES)
        walk->fd = open_closed(walk);
    if (walk->fd >= 0)
        return 1;
    if (walk->path[0] != '\0' && is_gone(-walk->fd))
        return 0;
    if (walk->fd == -ENOMEM)
        return err_memory(err);
    if (walk->fd == -EACCES || walk->fd == -EPERM)
        return walk->look->closed(walk->look->context, walk->path, EACCES, err);
    return err_set(err, -walk->fd, "held.look", "cannot look into '%s/%s'", walk->look->top,
                   walk->path);
}

/* ---- one folder ---------------------------------------------------------------------------- */

static bool has(const struct walk *walk, const char *name, struct stat *status)
{
    return fstatat(walk->fd, name, status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A repository by git's own look: HEAD with objects and refs, or HEAD with commondir. */
static bool is_bare(const struct walk *walk)
{
    struct guard_class class;
    struct stat status;

    if (!has(walk, "HEAD", &status))
        return false;
    if (!has(walk, "commondir", &status) &&
        !(has(walk, "objects", &status) && has(walk, "refs", &status)))
        return false;
    guard_classify(walk->look->rules, walk->place, "HEAD", NULL, &class);
    return class.bare; /* outside of a known git folder */
}

/* Where the current folder is, and how the rules see it. */
static void place_current(struct walk *walk)
{
    const char *slash = walk->path[0] != '\0' ? "/" : "";
    struct stat status;

    (void) snprintf(walk->place, sizeof walk->place, "%s%s%s", walk->look->top, slash, walk->path);
    walk->holds_git[walk->at.depth] = has(walk, ".git", &status);
    if (walk->at.bare == 0 && !walk->at.is_bare_top && is_bare(walk)) {
        walk->at.bare = strlen(walk->path);
        walk->at.is_bare_top = walk->at.bare == 0;
    }
    if (walk->at.bare == 0 && !walk->at.is_bare_top)
        memcpy(walk->taken_for, walk->place, strlen(walk->place) + 1);
    else
        (void) snprintf(walk->taken_for, sizeof walk->taken_for, "%s%s%s%s", walk->look->top,
                        BARE_AS, walk->at.is_bare_top ? slash : "", walk->path + walk->at.bare);
}

/* For the names that count only beside a ".git". In a bare repository none does. */
static bool holds_git(void *context, unsigned up)
{
    const struct walk *walk = context;

    return up <= walk->at.depth && walk->holds_git[walk->at.depth - up];
}

/* A folder of the job, or one that is hidden from it. */
static bool is_hidden(const struct walk *walk, const char *name)
{
    char path[PLACE_ROOM + NAME_MAX + 2];
    const struct policy_rule *rule;

    (void) snprintf(path, sizeof path, "%s/%s", walk->place, name);
    return policy_resolve(walk->look->policy, path, &rule) == POLICY_HIDE && rule != NULL;
}

static int enter(struct walk *walk, const char *name)
{
    struct pending below = walk->at;

    below.parent = strlen(walk->path);
    below.depth++;
    return is_hidden(walk, name) ? 0 : push(walk, name, &below);
}

static int tell(struct walk *walk, const char *name, const struct stat *status,
                const struct guard_class *class, struct err *err)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct held_found found = {
        .path = path,
        .folder_fd = walk->fd,
        .name = name,
        .place = walk->place,
        .status = *status,
        .too_deep = class == NULL,
        .reason = "it lies too deep to be looked into",
    };

    (void) snprintf(path, sizeof path, "%s%s%s", walk->path, walk->path[0] != '\0' ? "/" : "",
                    name);
    if (class != NULL) {
        found.vet = class->level == GUARD_DENY ? class->vet : GUARD_VET_NONE;
        found.is_folder = class->is_folder;
        found.is_sample = class->sample;
        found.reason = class->level == GUARD_NO ? guard_link_reason
                                                : guard_rule_reason(walk->look->rules, class->rule);
    }
    return walk->look->each(walk->look->context, &found, err);
}

/* Git would write through it. */
static bool redirects_git(const struct walk *walk, const char *name,
                          const struct guard_class *class, const struct stat *status)
{
    return class->level == GUARD_NO && class->in_git && S_ISLNK(status->st_mode) &&
           guard_entry_redirects(walk->fd, name);
}

/* A symlink at the beginning of a guarded name leads to what can be filled later. Git's locks come
 * and go with the owner's git, and nobody reads them. */
static bool is_guarded(const struct walk *walk, const char *name, const struct guard_class *class,
                       const struct stat *status)
{
    if (redirects_git(walk, name, class, status))
        return true;
    if (class->level == GUARD_DENY && class->vet == GUARD_VET_LOCK)
        return false;
    return class->level == GUARD_DENY ||
           (class->level == GUARD_PARTIAL && S_ISLNK(status->st_mode));
}

static int look_at(struct walk *walk, const struct dirent *entry, struct err *err)
{
    const struct guard_ask ask = {.holds_git = holds_git, .context = walk};
    const char *name = entry->d_name;
    struct guard_class class;
    struct stat status;
    int r = HELD_ENTER;

    guard_classify(walk->look->rules, walk->taken_for, name, &ask, &class);
    if (class.level == GUARD_NO && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN &&
        (entry->d_type != DT_LNK || !class.in_git))
        return 0;
    if (!has(walk, name, &status))
        return 0; /* gone meanwhile */
    if (is_guarded(walk, name, &class, &status))
        r = tell(walk, name, &status, &class, err);
    if (r != HELD_ENTER || !S_ISDIR(status.st_mode))
        return r < 0 ? r : 0;
    if (strlen(walk->path) + 1 + strlen(name) > PATH_ROOM)
        return tell(walk, name, &status, NULL, err);
    return enter(walk, name) < 0 ? err_memory(err) : 0;
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int read_names(struct walk *walk, struct err *err)
{
    const int fd = fcntl(walk->fd, F_DUPFD_CLOEXEC, 3);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int r = 0;

    if (dir == NULL) {
        const int code = errno;

        if (fd >= 0)
            (void) close(fd);
        return err_set(err, code, "held.look", "cannot read '%s'", walk->place);
    }
    while (r >= 0) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL && errno != 0)
            return err_set(err, errno, "held.look", "cannot read '%s'", walk->place);
        if (entry == NULL)
            return 0;
        if (!is_dots(entry->d_name))
            r = look_at(walk, entry, err);
    }
    return r;
}

static int look_into(struct walk *walk, struct err *err)
{
    int r = open_current(walk, err);

    if (r <= 0)
        return r;
    place_current(walk);
    r = read_names(walk, err);
    cleanup_close(&walk->fd);
    return r;
}

int held_look_run(const struct held_look *look, struct err *err)
{
    AUTO_FREE struct walk *walk = calloc(1, sizeof *walk);
    const struct pending top = {0};
    int r = walk == NULL ? -ENOMEM : 0;

    if (r == 0) {
        walk->look = look;
        walk->fd = -1;
        r = push(walk, "", &top);
    }
    if (r < 0)
        return err_memory(err);
    while (r >= 0 && walk->count > 0) {
        pop(walk);
        r = look_into(walk, err);
    }
    cleanup_close(&walk->fd);
    lock_again(walk);
    free(walk->pending);
    free(walk->names);
    return r < 0 ? r : 0;
}
