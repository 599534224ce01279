/* From a string of the job to the folder it means and the name in it.
 *
 * The kernel walks, in one openat2 that refuses magic links. What it finds is what the task would
 * find: same root, same mounts, and the start folder is the task's own. Only procfs is different:
 * "self" is us there, and magic links (/proc/PID/fd/N, cwd, root) could lead to what is ours. Where
 * openat2 refuses or ends in procfs, the path is walked again component by component, with "self"
 * being the task, and what belongs to pid 1 refused. Otherwise open("/proc/self/mem", O_RDWR |
 * O_CREAT) would hand out the memory of the guard. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define PROC_ROOT_INODE 1

/* ---- what an object is ------------------------------------------------------------------------
 */

void guard_fd_path(int fd, char path[GUARD_FD_PATH_SIZE])
{
    (void) snprintf(path, GUARD_FD_PATH_SIZE, "/proc/self/fd/%d", fd);
}

void guard_fd_name(int fd, char name[GUARD_FD_PATH_SIZE])
{
    (void) snprintf(name, GUARD_FD_PATH_SIZE, "%d", fd);
}

int guard_location(const struct guard *guard, int fd, char *text)
{
    char name[GUARD_FD_PATH_SIZE];
    ssize_t n;

    guard_fd_name(fd, name);
    n = readlinkat(guard->fds_fd, name, text, PATH_MAX - 1);
    if (n < 0)
        return -errno;
    if (n >= PATH_MAX - 1)
        return -ENAMETOOLONG;
    text[n] = '\0';
    return 0;
}

bool guard_is_proc(int fd)
{
    struct statfs status;

    return fstatfs(fd, &status) < 0 || status.f_type == PROC_SUPER_MAGIC;
}

static bool is_own_number(const struct guard *guard, const char *digits)
{
    const size_t length = strspn(digits, "0123456789");
    char path[40];
    struct stat status;

    if (length == 0)
        return false;
    if (length > 10)
        return true; /* no thread's, and nothing to be made there */
    (void) snprintf(path, sizeof path, "/proc/self/task/%.*s", (int) length, digits);
    return strtol(digits, NULL, 10) == guard->pid || lstat(path, &status) == 0;
}

bool guard_is_own(const struct guard *guard, int fd)
{
    char text[PATH_MAX];
    static const char top[] = "/proc/";

    if (guard_location(guard, fd, text) < 0)
        return true;
    return strncmp(text, top, sizeof top - 1) == 0 && is_own_number(guard, text + sizeof top - 1);
}

/* ---- the slow walk ----------------------------------------------------------------------------
 */

struct walk {
    const struct guard_call *call;
    int fd;
    unsigned links;
    char *rest; /* within text */
    char component[NAME_MAX + 1];
    char text[2 * PATH_MAX];
};

/* Puts `link` before what is left to walk. */
static int push(struct walk *walk, const char *link)
{
    const size_t length = strlen(link);
    const size_t left = strlen(walk->rest);

    if (++walk->links > GUARD_LINKS_MAX)
        return -ELOOP;
    if (length == 0)
        return -ENOENT;
    if (length + left + 2 > PATH_MAX)
        return -ENAMETOOLONG;
    memmove(walk->text + length + 1, walk->rest, left + 1);
    memcpy(walk->text, link, length);
    walk->text[length] = '/';
    walk->rest = walk->text;
    return 0;
}

static int go_to(struct walk *walk, int fd)
{
    if (fd < 0)
        return -errno;
    cleanup_close(&walk->fd);
    walk->fd = fd;
    return 0;
}

static int follow_text(struct walk *walk, int link_fd)
{
    char target[PATH_MAX];
    const ssize_t n = readlinkat(link_fd, "", target, sizeof target - 1);

    if (n < 0)
        return -errno;
    target[n] = '\0';
    if (target[0] == '/') {
        const int r = go_to(walk, open("/", O_PATH | O_CLOEXEC));

        if (r < 0)
            return r;
    }
    return push(walk, target);
}

static int step(struct walk *walk)
{
    AUTO_CLOSE int next = openat(walk->fd, walk->component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (next < 0 || fstat(next, &status) < 0)
        return -errno;
    if (S_ISLNK(status.st_mode))
        return follow_text(walk, next);
    if (walk->rest[0] != '\0' && !S_ISDIR(status.st_mode))
        return -ENOTDIR;
    return go_to(walk, TAKE_FD(next));
}

/* In the root of procfs: processes, and the two links that mean whoever asks. */
static int step_proc_root(struct walk *walk)
{
    const struct guard_call *call = walk->call;
    const bool thread = strcmp(walk->component, "thread-self") == 0;
    char link[48];
    int process;

    if (is_own_number(call->guard, walk->component))
        return -EACCES;
    if (!thread && strcmp(walk->component, "self") != 0)
        return step(walk);
    process = guard_task_number(call->tid, "Tgid:", 10);
    if (process < 0)
        return process;
    if (thread)
        (void) snprintf(link, sizeof link, "%d/task/%d", process, call->tid);
    else
        (void) snprintf(link, sizeof link, "%d", process);
    return push(walk, link);
}

/* Below a process. A link there is a magic one: it leads to an object, not to a text. */
static int step_proc(struct walk *walk)
{
    struct stat status;

    if (guard_is_own(walk->call->guard, walk->fd))
        return -EACCES;
    if (fstatat(walk->fd, walk->component, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISLNK(status.st_mode))
        return step(walk);
    if (++walk->links > GUARD_LINKS_MAX)
        return -ELOOP;
    return go_to(walk, openat(walk->fd, walk->component, O_PATH | O_CLOEXEC));
}

/* Takes the next component off; false: there is none. */
static int take_component(struct walk *walk, bool *ret_more)
{
    size_t length;

    walk->rest += strspn(walk->rest, "/");
    length = strcspn(walk->rest, "/");
    *ret_more = length > 0;
    if (length > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(walk->component, walk->rest, length);
    walk->component[length] = '\0';
    walk->rest += length;
    return 0;
}

static int take_step(struct walk *walk)
{
    struct stat status;

    if (!guard_is_proc(walk->fd))
        return step(walk);
    if (fstat(walk->fd, &status) < 0)
        return -errno;
    return status.st_ino == PROC_ROOT_INODE ? step_proc_root(walk) : step_proc(walk);
}

static int walk_all(struct walk *walk)
{
    for (;;) {
        bool more;
        int r = take_component(walk, &more);

        if (r < 0 || !more)
            return r;
        r = take_step(walk);
        if (r < 0)
            return r;
    }
}

int guard_walk(const struct guard_call *call, int start_fd, const char *path)
{
    struct walk walk = {.call = call, .fd = -1};
    int r;

    if (strlen(path) >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(walk.text, path, strlen(path) + 1);
    walk.rest = walk.text;
    r = go_to(&walk, path[0] == '/' ? open("/", O_PATH | O_CLOEXEC)
                                    : openat(start_fd, ".", O_PATH | O_CLOEXEC));
    if (r == 0)
        r = walk_all(&walk);
    if (r == 0 && guard_is_proc(walk.fd) && guard_is_own(call->guard, walk.fd))
        r = -EACCES;
    if (r < 0)
        cleanup_close(&walk.fd);
    return r < 0 ? r : walk.fd;
}

/* ---- folder and name --------------------------------------------------------------------------
 */

void guard_place_close(struct guard_place *place)
{
    if (!place->borrowed)
        cleanup_close(&place->fd);
    place->fd = -1;
    place->borrowed = false;
}

/* Where the last component begins; trailing slashes are part of it. "/" has no other part. */
static size_t split(const char *path, size_t *ret_length)
{
    size_t end = strlen(path), start;

    while (end > 1 && path[end - 1] == '/')
        end--;
    start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    *ret_length = end - start;
    return start;
}

static int take_name(struct guard_place *place, const char *name, size_t length)
{
    const bool slash = name[length] == '/';

    if (length == 0) { /* "/" itself */
        memcpy(place->name, "/", 2);
        memcpy(place->plain, ".", 2);
        return 0;
    }
    if (length > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(place->plain, name, length);
    place->plain[length] = '\0';
    memcpy(place->name, name, length);
    memcpy(place->name + length, "/", 2);
    place->name[length + slash] = '\0';
    return 0;
}

/* Its folder is known: what else there is to know of it. */
static void look_at_folder(const struct guard_call *call, struct guard_place *place)
{
    place->mount = guard_mount_of(call->guard, place->fd);
    place->proc = (place->mount & GUARD_MOUNT_PROC) != 0;
}

/* The folder `path` below `start_fd`, by the kernel where it is safe. */
static int open_folder(const struct guard_call *call, int start_fd, const char *path,
                       struct guard_place *place)
{
    const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_MAGICLINKS,
    };
    struct stat status;

    place->fd = kernel_result(syscall(SYS_openat2, start_fd, path, &how, sizeof how));
    if (place->fd >= 0)
        look_at_folder(call, place);
    if (place->fd >= 0 ? !place->proc : place->fd != -ELOOP)
        return place->fd;
    cleanup_close(&place->fd);
    place->slow = true;
    place->fd = guard_walk(call, start_fd, path);
    if (place->fd >= 0 && (fstat(place->fd, &status) < 0 || !S_ISDIR(status.st_mode))) {
        cleanup_close(&place->fd);
        return -ENOTDIR;
    }
    if (place->fd >= 0)
        look_at_folder(call, place);
    return place->fd;
}

static int find_below(const struct guard_call *call, int start_fd, const char *path, size_t size,
                      struct guard_place *place)
{
    char folder[PATH_MAX];
    int r;

    memcpy(folder, path, size);
    folder[size] = '\0';
    r = open_folder(call, start_fd, folder, place);
    return r < 0 ? r : 0;
}

/* The start is the folder: it is taken. */
static int find_here(const struct guard_call *call, int start_fd, struct guard_place *place)
{
    if (start_fd < 0)
        return -errno;
    place->fd = start_fd;
    look_at_folder(call, place);
    return place->proc && guard_is_own(call->guard, place->fd) ? -EACCES : 0;
}

int guard_find(const struct guard_call *call, int base_fd, int dir_fd, const char *path,
               struct guard_place *ret_place)
{
    AUTO_CLOSE int opened = -1;
    size_t length, start;
    int start_fd = base_fd;
    int r;

    guard_place_close(ret_place);
    ret_place->proc = ret_place->slow = false;
    if (path[0] == '\0')
        return -ENOENT;
    start = split(path, &length);
    r = take_name(ret_place, path + start, length);
    if (r < 0)
        return r;
    if (path[0] != '/' && base_fd < 0) {
        start_fd = opened = guard_open_start(call, dir_fd);
        if (opened < 0)
            return opened;
    }
    if (start > 0)
        return find_below(call, start_fd, path, start, ret_place);
    return find_here(call, opened >= 0 ? TAKE_FD(opened) : fcntl(base_fd, F_DUPFD_CLOEXEC, 0),
                     ret_place);
}

int guard_find_second(const struct guard_call *call, const struct guard_place *first,
                      struct guard_place *ret_place)
{
    const char *path = call->path[1], *before = call->path[0];
    size_t length, before_length;
    const size_t start = split(path, &length);
    int r;

    if (path[0] == '\0' || start != split(before, &before_length) ||
        memcmp(path, before, start) != 0 || (path[0] != '/' && call->dir_fd[0] != call->dir_fd[1]))
        return guard_find(call, -1, call->dir_fd[1], path, ret_place);
    guard_place_close(ret_place);
    r = take_name(ret_place, path + start, length);
    if (r < 0)
        return r;
    ret_place->fd = first->fd;
    ret_place->borrowed = true;
    ret_place->mount = first->mount;
    ret_place->proc = first->proc;
    ret_place->slow = first->slow;
    return 0;
}

int guard_locate(const struct guard *guard, struct guard_place *place)
{
    const int r = (place->mount & GUARD_MOUNT_FOREIGN) != 0
                      ? -EXDEV
                      : guard_location(guard, place->fd, place->location);

    if (r < 0)
        return r;
    return place->location[0] == '/' ? 0 : -EACCES; /* outside of our root: nothing is known */
}

/* ---- whole paths ------------------------------------------------------------------------------
 */

/* Reads the link into `path` and makes its folder the base. */
static int follow(struct guard_place *place, int link_fd, char *path, int *base_fd)
{
    const ssize_t n = readlinkat(link_fd, "", path, PATH_MAX - 1);

    if (n < 0)
        return -errno;
    path[n] = '\0';
    cleanup_close(base_fd);
    *base_fd = TAKE_FD(place->fd);
    return 0;
}

int guard_open_named(const struct guard_call *call, const struct guard_place *place)
{
    AUTO_CLOSE int fd = openat(place->fd, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if ((guard_mount_of(call->guard, fd) & GUARD_MOUNT_PROC) != 0 && guard_is_own(call->guard, fd))
        return -EACCES;
    return TAKE_FD(fd);
}

int guard_find_object(struct guard_call *call, int dir_fd, char *path, bool follow_last)
{
    AUTO_CLOSE int base_fd = -1;

    for (unsigned links = 0; links <= GUARD_LINKS_MAX; links++) {
        AUTO(guard_place_close) struct guard_place place = GUARD_NO_PLACE;
        AUTO_CLOSE int fd = -1;
        struct stat status;
        int r = guard_find(call, base_fd, dir_fd, path, &place);

        if (r < 0)
            return r;
        if (!follow_last)
            return guard_open_named(call, &place);
        fd = openat(place.fd, place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0)
            return -errno;
        if (!S_ISLNK(status.st_mode))
            return guard_is_proc(fd) && guard_is_own(call->guard, fd) ? -EACCES : TAKE_FD(fd);
        if (place.proc)
            return guard_walk(call, place.fd, place.name);
        r = follow(&place, fd, path, &base_fd);
        if (r < 0)
            return r;
    }
    return -ELOOP;
}
