/* open, openat and creat, when they make a file or may change one.
 *
 * A new file is made with O_EXCL, which neither follows a symlink nor waits for anything. What is
 * there already is first held by O_PATH, judged, and that very object is opened again by its
 * descriptor: no name is used twice. A symlink is read and followed here, so that a dangling one is
 * judged by the name it would make. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFILE_BIT ((unsigned) O_TMPFILE & ~(unsigned) O_DIRECTORY)
#define MEMORY_MAJOR 1 /* null, zero, full, random: never wait */
#define PTS_MAJOR 136
#define CREATE_TRIES 100u /* each lost to somebody who made or removed the name in between */

struct opening {
    struct guard_place place;
    int fd;             /* what the task gets, or the object */
    bool opened;        /* the first */
    bool link;          /* the object is a symlink to follow */
    struct stat status; /* of the object */
};

static bool creates(const struct guard_call *call)
{
    return (call->flags & O_CREAT) != 0 && (call->flags & TMPFILE_BIT) == 0;
}

static bool creates_only(const struct guard_call *call)
{
    return creates(call) && (call->flags & O_EXCL) != 0;
}

static bool writes(const struct guard_call *call)
{
    return (call->flags & (O_ACCMODE | O_TRUNC)) != 0;
}

/* ---- what is there ----------------------------------------------------------------------------
 */

static int reopen(const struct guard_call *call, int fd, unsigned flags)
{
    char name[GUARD_FD_PATH_SIZE];
    int r;

    guard_fd_name(fd, name);
    r = openat(call->guard->fds_fd, name, (int) flags | O_CLOEXEC | O_NOCTTY, call->mode);
    return r < 0 ? -errno : r;
}

/* /dev/tty is the terminal of whoever opens it. */
static int open_terminal(const struct guard_call *call, unsigned flags)
{
    const int device = guard_task_terminal(call->tid);
    char path[32];
    int fd;

    if (device < 0)
        return device;
    if (major((dev_t) device) != PTS_MAJOR)
        return -ENXIO;
    (void) snprintf(path, sizeof path, "/dev/pts/%u", minor((dev_t) device));
    fd = open(path, (int) flags | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool is_pipe_without_name(int fd)
{
    struct statfs status;

    return fstatfs(fd, &status) == 0 && status.f_type == PIPEFS_MAGIC;
}

/* A FIFO waits for its other side, a terminal may wait for its line. */
static bool may_wait(int fd, const struct stat *status, unsigned flags)
{
    if (flags & O_NONBLOCK)
        return false;
    if (S_ISFIFO(status->st_mode))
        return !is_pipe_without_name(fd);
    return S_ISCHR(status->st_mode) && major(status->st_rdev) != MEMORY_MAJOR;
}

/* Takes the object. */
static int open_object(struct guard_call *call, struct opening *opening)
{
    AUTO_CLOSE int fd = TAKE_FD(opening->fd);
    const struct stat *status = &opening->status;
    const unsigned flags = call->flags & ~(unsigned) (O_CREAT | O_EXCL | O_NOFOLLOW);

    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    if (creates(call) && S_ISDIR(status->st_mode))
        return -EISDIR;
    if ((flags & O_DIRECTORY) && !S_ISDIR(status->st_mode))
        return -ENOTDIR;
    if (S_ISCHR(status->st_mode) && status->st_rdev == makedev(5, 0))
        return open_terminal(call, flags);
    if (may_wait(fd, status, flags))
        return guard_open_later(call, TAKE_FD(fd), flags);
    if (call->flags & TMPFILE_BIT)
        guard_wear_umask(call);
    return reopen(call, fd, flags);
}

/* ---- by a name --------------------------------------------------------------------------------
 */

static int take_pointer(struct guard_call *call, const struct guard_judged *judged,
                        struct opening *opening)
{
    opening->fd = judged->verdict.vet == GUARD_VET_LOCK ? guard_open_draft(call, judged)
                                                        : guard_create_pointer(call, judged);
    opening->opened = true;
    return opening->fd < 0 ? opening->fd : 0;
}

static int create_new(struct guard_call *call, struct guard_judged *judged, struct opening *opening)
{
    const struct guard_place *place = &opening->place;
    int r;

    judged->op = GUARD_CREATE;
    r = guard_judge(call, judged);
    if (r < 0)
        return r;
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    if (judged->verdict.needs & GUARD_NEED_VET)
        return take_pointer(call, judged, opening);
    guard_wear_umask(call);
    opening->fd = openat(place->fd, place->name,
                         (int) (call->flags | O_EXCL | O_CLOEXEC | O_NOCTTY), call->mode);
    opening->opened = true;
    if (opening->fd < 0)
        return -errno;
    guard_record_made(call, place);
    return 0;
}

/* `fd` (taken) is what has the name. */
static int take_existing(struct guard_call *call, struct guard_judged *judged,
                         struct opening *opening, int existing_fd)
{
    AUTO_CLOSE int fd = existing_fd;
    const struct stat *status = &opening->status;
    int r = 0;

    if (fstat(fd, &opening->status) < 0)
        return -errno;
    opening->link = S_ISLNK(status->st_mode);
    if (opening->link && (call->flags & O_NOFOLLOW))
        return -ELOOP;
    judged->op = GUARD_WRITE;
    if (writes(call) && !opening->link && !S_ISDIR(status->st_mode))
        r = guard_judge(call, judged);
    if (r == 0 && (judged->verdict.needs & GUARD_NEED_VET))
        return take_pointer(call, judged, opening);
    if (r < 0)
        return r;
    if (writes(call) && S_ISREG(status->st_mode))
        guard_record_written(call, &opening->place);
    opening->fd = TAKE_FD(fd);
    return 0;
}

static int open_step(struct guard_call *call, void *context, bool exclusive)
{
    struct opening *opening = context;
    const struct guard_place *place = &opening->place;
    struct guard_judged judged = {
        .target = &opening->place,
        .source_fd = -1,
        .object_fd = -1,
        .exclusive = exclusive,
    };

    if (creates_only(call)) /* what is there is not looked at */
        return create_new(call, &judged, opening);
    for (unsigned tries = 0; tries < CREATE_TRIES; tries++) {
        const int fd = openat(place->fd, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        int r;

        if (fd >= 0)
            return take_existing(call, &judged, opening, fd);
        if (errno != ENOENT || !creates(call))
            return -errno;
        r = create_new(call, &judged, opening);
        if (r != -EEXIST)
            return r;
    }
    return -EBUSY;
}

/* ---- in procfs --------------------------------------------------------------------------------
 */

static int object_step(struct guard_call *call, void *context, bool exclusive)
{
    struct opening *opening = context;
    struct guard_judged judged = {
        .op = GUARD_WRITE,
        .target = &opening->place,
        .source_fd = -1,
        .object_fd = opening->fd,
        .exclusive = exclusive,
    };
    const int r = guard_judge(call, &judged);

    if (r == 0 && (judged.verdict.needs & GUARD_NEED_VET)) {
        guard_report(call, &judged, NULL); /* vetting goes by the name: this is the file itself */
        return -GUARD_REFUSED;
    }
    if (r == 0)
        guard_record_written(call, &opening->place);
    return r;
}

/* Nothing is made there; a link leads to an object that has no place in the path. */
static int open_in_proc(struct guard_call *call, struct opening *opening)
{
    const struct guard_place *place = &opening->place;
    struct stat *status = &opening->status;
    int r = 0;

    if (fstatat(place->fd, place->name, status, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (creates_only(call))
        return -EEXIST;
    if (S_ISLNK(status->st_mode) && (call->flags & O_NOFOLLOW))
        return -ELOOP;
    opening->fd = guard_walk(call, place->fd, place->name);
    if (opening->fd < 0)
        return opening->fd;
    if (fstat(opening->fd, status) < 0)
        return -errno;
    if (writes(call) && !S_ISDIR(status->st_mode))
        r = guard_locked(call, object_step, opening);
    return r < 0 ? r : open_object(call, opening);
}

/* ---- devices ----------------------------------------------------------------------------------
 */

/* Whether a character device has the name, as nearly always below /dev: then it is `opening->fd`.
 * Whatever its name, opening it changes nothing of a file, so that nothing is judged or locked. */
static bool find_device(const struct guard_call *call, struct opening *opening)
{
    const struct guard_place *place = &opening->place;
    AUTO_CLOSE int fd = -1;

    if (strncmp(call->path[0], "/dev/", 5) != 0 || creates_only(call))
        return false;
    fd = openat(place->fd, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &opening->status) < 0 || !S_ISCHR(opening->status.st_mode))
        return false;
    opening->fd = TAKE_FD(fd);
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

/* One path without following its last component. *ret_again: `call->path` is now what a symlink
 * said, and *base_fd the folder it stands in. */
static int open_once(struct guard_call *call, struct opening *opening, int *base_fd,
                     bool *ret_again)
{
    int r = guard_find(call, *base_fd, call->dir_fd[0], call->path[0], &opening->place);
    ssize_t n;

    *ret_again = false;
    if (r < 0)
        return r;
    if (creates(call) && opening->place.name[strlen(opening->place.name) - 1] == '/')
        return -EISDIR; /* the kernel does not even look */
    if (opening->place.proc)
        return open_in_proc(call, opening);
    if (find_device(call, opening))
        return open_object(call, opening);
    r = guard_locked(call, open_step, opening);
    if (r < 0)
        return r;
    if (opening->opened)
        return TAKE_FD(opening->fd);
    if (!opening->link)
        return open_object(call, opening);
    n = readlinkat(opening->fd, "", call->path[0], PATH_MAX - 1);
    if (n < 0)
        return -errno;
    call->path[0][n] = '\0';
    cleanup_close(base_fd);
    *base_fd = TAKE_FD(opening->place.fd);
    *ret_again = true;
    return 0;
}

/* As the kernel does: bits that mean nothing are dropped, combinations that mean nothing refused.
 */
static int check_flags(const struct guard_call *call)
{
    if ((call->flags & O_CREAT) && (call->flags & O_DIRECTORY))
        return -EINVAL;
    if ((call->flags & TMPFILE_BIT) == 0)
        return 0;
    if ((call->flags & O_DIRECTORY) == 0 || (call->flags & O_ACCMODE) == O_RDONLY)
        return -EINVAL;
    return 0;
}

int guard_perform_open(struct guard_call *call)
{
    AUTO_CLOSE int base_fd = -1;
    int r = check_flags(call);

    for (unsigned links = 0; r == 0 && links <= GUARD_LINKS_MAX; links++) {
        struct opening opening = {.place = GUARD_NO_PLACE, .fd = -1};
        bool again;

        r = open_once(call, &opening, &base_fd, &again);
        cleanup_close(&opening.fd);
        guard_place_close(&opening.place);
        if (!again)
            return r;
    }
    return r < 0 ? r : -ELOOP;
}

int guard_perform_creat(struct guard_call *call)
{
    call->flags = O_CREAT | O_WRONLY | O_TRUNC;
    return guard_perform_open(call);
}
