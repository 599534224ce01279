#include "base/path.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SYMLINKS_MAX = 40, /* as the kernel: MAXSYMLINKS */
    OPEN_TRIES = 128,  /* EAGAIN: a rename elsewhere raced with the look-up */
};

/* ---- text ---------------------------------------------------------------------------------- */

static bool is_part(const char *part, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(part, name, size) == 0;
}

bool path_is_clean(const char *path)
{
    size_t size;

    if (path[0] != '/' || strnlen(path, PATH_MAX) >= PATH_MAX)
        return false;
    if (path[1] == '\0')
        return true;

    for (const char *part = path; *part == '/'; part += size) {
        part++;
        size = strcspn(part, "/");
        if (size == 0 || is_part(part, size, ".") || is_part(part, size, ".."))
            return false;
    }
    return true;
}

bool path_is_below(const char *path, const char *top)
{
    size_t size;

    if (top[1] == '\0')
        return path[0] == '/';
    if (path[1] != top[1])
        return false; /* most pairs of a long table end here */
    size = strlen(top);
    return strncmp(path, top, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

bool path_turns_back(const char *path)
{
    bool named = false;

    for (const char *part = path + strspn(path, "/"); *part != '\0'; part += strspn(part, "/")) {
        const size_t size = strcspn(part, "/");
        const bool up = size == 2 && memcmp(part, "..", 2) == 0;

        if (up && named)
            return true;
        named = !up;
        part += size;
    }
    return false;
}

char *path_join(const char *top, const char *rest)
{
    char *joined = NULL;
    bool is_root = top[1] == '\0';

    if (rest[0] == '\0')
        return strdup(top);
    if (asprintf(&joined, "%s/%s", is_root ? "" : top, rest) < 0)
        return NULL;
    return joined;
}

/* Appends the parts of `path` to `text`, which holds a clean path without its last slash ("" is
 * "/") and has room. Returns the new length. */
static size_t push_parts(char *text, size_t length, const char *path)
{
    for (;;) {
        size_t size;

        path += strspn(path, "/");
        size = strcspn(path, "/");
        if (size == 0)
            break;
        if (is_part(path, size, "..")) {
            while (length > 0 && text[--length] != '/')
                ;
        } else if (!is_part(path, size, ".")) {
            text[length++] = '/';
            memcpy(text + length, path, size);
            length += size;
        }
        path += size;
    }
    text[length] = '\0';
    return length;
}

int path_normalize(const char *path, const char *base, const char *home, char **ret_path,
                   struct err *err)
{
    const char *start = path[0] == '/' || base == NULL ? "" : base;
    const char *rest = path;
    AUTO_FREE char *text = NULL;
    size_t length;

    if (home != NULL && path[0] == '~' && (path[1] == '\0' || path[1] == '/')) {
        start = home;
        rest = path + 1;
    }
    text = malloc(strlen(start) + strlen(rest) + 3);
    if (text == NULL)
        return err_memory(err);

    length = push_parts(text, 0, start);
    length = push_parts(text, length, rest);
    if (length >= PATH_MAX)
        return err_set(err, ENAMETOOLONG, "path.too-long", "cannot use '%s'", path);
    if (length == 0)
        memcpy(text, "/", 2);
    *ret_path = TAKE_PTR(text);
    return 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

static int open_resolved(int dir_fd, const char *path, const struct open_how *how)
{
    for (int tries = 0;; tries++) {
        long fd = syscall(SYS_openat2, dir_fd, path, how, sizeof *how);

        if (fd >= 0)
            return (int) fd;
        if (errno != EAGAIN || tries == OPEN_TRIES)
            return -errno;
    }
}

/* openat2 refuses O_NOCTTY next to O_PATH, and a mode where nothing is created. */
static struct open_how how_to_open(uint64_t flags, unsigned mode, uint64_t resolve)
{
    bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;

    return (struct open_how){
        .flags = flags | O_CLOEXEC | ((flags & O_PATH) != 0 ? 0u : O_NOCTTY),
        .mode = creates ? mode : 0,
        .resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
}

int path_open_plain(int dir_fd, const char *path, uint64_t flags)
{
    struct open_how how = how_to_open(flags, 0, 0);

    return open_resolved(dir_fd, path, &how);
}

int path_open_below(int dir_fd, const char *path, uint64_t flags, unsigned mode)
{
    struct open_how how = how_to_open(flags, mode, RESOLVE_BENEATH);

    return open_resolved(dir_fd, path, &how);
}

/* ---- look-ups ------------------------------------------------------------------------------ */

/* Most paths have no symlink, which one call tells: 0; -ENOENT: as far as it goes, and then nothing
 * is there; else it must be walked. */
static int look_straight(const char *path)
{
    const int fd = path_is_clean(path) ? path_open_plain(AT_FDCWD, path, O_PATH) : -ELOOP;

    if (fd < 0)
        return fd;
    (void) close(fd);
    return 0;
}

int path_physical(const char *path, char **ret_path, struct err *err)
{
    const bool straight = look_straight(path) == 0;
    char *physical = straight ? strdup(path) : realpath(path, NULL);

    if (physical == NULL && (straight || errno == ENOMEM))
        return err_memory(err);
    if (physical == NULL)
        return err_set(err, errno, "path.lookup", "cannot look up '%s'", path);
    *ret_path = physical;
    return 0;
}

/* A walk along a path: `done` is physical and without its last slash, `rest` is still to go. */
struct walk {
    char done[PATH_MAX];
    char rest[PATH_MAX];
};

/* Moves the first part of `rest` to `name`; false at the end. */
static bool walk_take_part(struct walk *walk, char name[NAME_MAX + 1], int *ret_failure)
{
    const char *part = walk->rest + strspn(walk->rest, "/");
    size_t size = strcspn(part, "/");

    *ret_failure = 0;
    if (size == 0)
        return false;
    if (size > NAME_MAX) {
        *ret_failure = -ENAMETOOLONG;
        return false;
    }
    memcpy(name, part, size);
    name[size] = '\0';
    memmove(walk->rest, part + size, strlen(part + size) + 1);
    return true;
}

/* Appends one part that is no symlink. */
static int walk_enter(struct walk *walk, const char *name)
{
    size_t length = strlen(walk->done);

    if (length + 1 + strlen(name) >= sizeof walk->done)
        return -ENAMETOOLONG;
    (void) push_parts(walk->done, length, name);
    return 0;
}

/* Puts the text of a symlink before what is left to go. */
static int walk_follow(struct walk *walk, const char *target)
{
    size_t size = strlen(target);
    size_t left = strlen(walk->rest);

    if (size + left + 1 > sizeof walk->rest)
        return -ENAMETOOLONG;
    memmove(walk->rest + size, walk->rest, left + 1); /* what is left begins with a slash */
    memcpy(walk->rest, target, size);
    if (target[0] == '/')
        walk->done[0] = '\0';
    return 0;
}

/* Text of the symlink at `path` by malloc. 0: it is something else. */
static int read_link(const char *path, char **ret_target)
{
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target);

    if (size < 0)
        return errno == EINVAL ? 0 : -errno;
    if ((size_t) size >= sizeof target)
        return -ENAMETOOLONG;
    *ret_target = strndup(target, (size_t) size);
    return *ret_target != NULL ? 1 : -ENOMEM;
}

/* One part. Hands out the symlink and its text when it was one (both freed by the caller, also
 * after a failure). */
static int walk_step(struct walk *walk, const char *name, int *links, char **ret_link,
                     char **ret_target)
{
    AUTO_FREE char *here = NULL;
    int r;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return walk_enter(walk, name);
    if (strlen(walk->done) + 1 + strlen(name) >= PATH_MAX)
        return -ENAMETOOLONG;
    here = path_join(walk->done[0] != '\0' ? walk->done : "/", name);
    if (here == NULL)
        return -ENOMEM;
    r = read_link(here, ret_target);
    if (r < 0)
        return r;
    if (r == 0)
        return walk_enter(walk, name);
    if (++*links > SYMLINKS_MAX)
        return -ELOOP;
    assert(*ret_target != NULL); /* read_link said 1 */
    *ret_link = TAKE_PTR(here);
    return walk_follow(walk, *ret_target);
}

/* What of the walk is still to go, with `name` before it, as text: nothing is there. */
static int walk_missing(struct walk *walk, char name[NAME_MAX + 1])
{
    int failure = 0;

    do
        failure = walk_enter(walk, name);
    while (failure == 0 && walk_take_part(walk, name, &failure));
    return failure;
}

struct following {
    struct walk walk;
    int (*each)(void *context, const char *link, const char *target);
    void *context;
    bool missing; /* may be: then the way ends there */
};

/* 0, the answer of `each`, or -errno with *ret_failed. */
static int follow(struct following *following, bool *ret_failed)
{
    struct walk *walk = &following->walk;
    char name[NAME_MAX + 1];
    int links = 0;
    int failure = 0;

    *ret_failed = true;
    while (walk_take_part(walk, name, &failure)) {
        AUTO_FREE char *link = NULL;
        AUTO_FREE char *target = NULL;
        int answer;

        failure = walk_step(walk, name, &links, &link, &target);
        if (following->missing && (failure == -ENOENT || failure == -ENOTDIR || failure == -EACCES))
            return walk_missing(walk, name);
        if (failure < 0)
            return failure;
        answer = link != NULL ? following->each(following->context, link, target) : 0;
        if (answer != 0) {
            *ret_failed = false;
            return answer;
        }
    }
    return failure;
}

static int follow_text(const char *path, struct following *following, struct err *err)
{
    bool failed = false;
    int r;

    if (strlen(path) >= sizeof following->walk.rest)
        return err_set(err, ENAMETOOLONG, "path.too-long", "cannot use '%s'", path);
    memcpy(following->walk.rest, path, strlen(path) + 1);
    r = follow(following, &failed);
    if (r >= 0 || !failed)
        return r;
    return r == -ENOMEM ? err_memory(err)
                        : err_set(err, -r, "path.lookup", "cannot look up '%s'", path);
}

int path_each_symlink(const char *path,
                      int (*each)(void *context, const char *link, const char *target),
                      void *context, struct err *err)
{
    AUTO_FREE struct following *following = NULL;

    if (look_straight(path) == 0)
        return 0;
    following = calloc(1, sizeof *following);
    if (following == NULL)
        return err_memory(err);
    following->each = each;
    following->context = context;
    return follow_text(path, following, err);
}

int path_follow(const char *path, int (*each)(void *context, const char *link, const char *target),
                void *context, char **ret_end, struct err *err)
{
    AUTO_FREE struct following *following = NULL;
    int r = look_straight(path);

    if (r == 0 || r == -ENOENT) {
        *ret_end = strdup(path);
        return *ret_end == NULL ? err_memory(err) : 0;
    }
    following = calloc(1, sizeof *following);
    if (following == NULL)
        return err_memory(err);
    following->each = each;
    following->context = context;
    following->missing = true;
    r = follow_text(path, following, err);
    if (r != 0)
        return r;
    *ret_end = strdup(following->walk.done[0] != '\0' ? following->walk.done : "/");
    return *ret_end == NULL ? err_memory(err) : 0;
}

/* ---- making -------------------------------------------------------------------------------- */

int path_make_folders(const char *path, unsigned mode)
{
    AUTO_FREE char *part = NULL;

    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT)
        return -errno;
    part = strdup(path);
    if (part == NULL)
        return -ENOMEM;
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return mkdir(part, mode) < 0 && errno != EEXIST ? -errno : 0;
}
