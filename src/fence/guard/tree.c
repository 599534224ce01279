/* A look into a tree that is about to get another name. By descriptors, without following symlinks;
 * what is too large, too deep or closed to us counts as holding a guarded name. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct walked {
    struct guard *guard;
    unsigned depth;  /* levels in use */
    unsigned budget; /* entries left */
};

/* What the kernel writes; the C library's struct has other sizes in places. */
struct entry {
    uint64_t inode, offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

enum { OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };

/* Somebody makes names in it, by another path than it is about to have. "." stays where it is. */
static bool is_elsewhere(const struct guard *guard, int fd, const char *name)
{
    struct stat status;

    return strcmp(name, ".") != 0 &&
           (fstat(fd, &status) < 0 || guard_is_held_place(guard, &status));
}

/* The class of the new level was put there by the caller. */
static bool enter(struct walked *walked, int dir_fd, const char *name)
{
    struct guard_depth *level = &walked->guard->levels[walked->depth];

    level->fd = openat(dir_fd, name, OPEN_FOLDER);
    if (level->fd >= 0 && is_elsewhere(walked->guard, level->fd, name))
        cleanup_close(&level->fd);
    if (level->fd < 0)
        return false;
    level->at = level->end = 0;
    walked->depth++;
    return true;
}

static void leave(struct walked *walked)
{
    cleanup_close(&walked->guard->levels[--walked->depth].fd);
}

static uint8_t type_of(const struct guard_depth *level, const struct entry *entry)
{
    struct stat status;

    if (entry->type != DT_UNKNOWN)
        return entry->type;
    if (fstatat(level->fd, entry->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_LNK; /* counts as found */
    return (uint8_t) IFTODT(status.st_mode);
}

bool guard_entry_redirects(int dir_fd, const char *name)
{
    char text[PATH_MAX];
    const ssize_t size = readlinkat(dir_fd, name, text, sizeof text - 1);

    if (size < 0)
        return errno != EINVAL; /* which says that it is none */
    text[size] = '\0';
    return guard_link_redirects(text);
}

/* Whether the entry, or something that cannot be told below it, is guarded there, or a symlink that
 * lets git write elsewhere. */
static bool look_at(struct walked *walked, const struct entry *entry)
{
    struct guard_depth *level = &walked->guard->levels[walked->depth - 1];
    struct guard_depth *next = level + 1;
    uint8_t type;

    if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
        return false;
    if (walked->budget-- == 0 || walked->depth == GUARD_TREE_DEPTH)
        return true;
    guard_class_step(walked->guard->settings.rules, &level->class, entry->name, &next->class);
    if (next->class.level == GUARD_DENY || (next->class.level == GUARD_NO && !next->class.in_git))
        return next->class.level == GUARD_DENY;
    type = type_of(level, entry);
    if (type == DT_LNK)
        return next->class.level == GUARD_PARTIAL || guard_entry_redirects(level->fd, entry->name);
    return type == DT_DIR && !enter(walked, level->fd, entry->name);
}

static void note_found(struct walked *walked, const struct entry *entry)
{
    struct guard_depth *next = &walked->guard->levels[walked->depth];
    struct guard_found *found = &walked->guard->found;

    if (walked->budget == UINT_MAX || walked->depth == GUARD_TREE_DEPTH)
        return; /* it was not even looked at */
    (void) snprintf(found->name, sizeof found->name, "%s", entry->name);
    found->rule = next->class.rule;
}

/* One entry, or one more block of them. */
static bool go_on(struct walked *walked)
{
    struct guard_depth *level = &walked->guard->levels[walked->depth - 1];
    const struct entry *entry;

    if (level->at >= level->end) {
        const long n = syscall(SYS_getdents64, level->fd, level->entries, sizeof level->entries);

        if (n == 0)
            leave(walked);
        level->at = 0;
        level->end = n > 0 ? (size_t) n : 0;
        return n < 0;
    }
    entry = (const struct entry *) (const void *) (level->entries + level->at);
    level->at += entry->size;
    if (!look_at(walked, entry))
        return false;
    note_found(walked, entry);
    return true;
}

bool guard_tree_holds(struct guard *guard, int dir_fd, const char *name,
                      const struct guard_class *class)
{
    struct walked walked = {.guard = guard, .budget = GUARD_WALK_MAX};
    struct stat status;
    bool found = false;

    guard->found.name[0] = '\0';
    guard->levels[0].class = *class;
    if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno != ENOENT;
    if (!S_ISDIR(status.st_mode))
        return false;
    if (!enter(&walked, dir_fd, name))
        return true;
    while (!found && walked.depth > 0)
        found = go_on(&walked);
    while (walked.depth > 0)
        leave(&walked);
    return found;
}
