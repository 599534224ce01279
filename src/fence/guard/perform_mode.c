/* chmod, fchmod, fchmodat, fchmodat2; truncate. All are calls on an object that is there. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct changing {
    enum guard_op op;
    int fd; /* the object */
    struct guard_place where;
};

/* An access list may; what else an attribute means to whom is not known. */
static bool lets_others_write(const struct guard_call *call, const struct changing *changing)
{
    struct stat status;

    return changing->op == GUARD_CHMOD &&
           (call->row->perform == guard_perform_attribute || fstat(changing->fd, &status) < 0 ||
            (call->mode & ~status.st_mode & (S_IWGRP | S_IWOTH)) != 0);
}

static int judge_step(struct guard_call *call, void *context, bool exclusive)
{
    struct changing *changing = context;
    struct guard_judged judged = {
        .op = changing->op,
        .target = &changing->where,
        .source_fd = -1,
        .object_fd = changing->fd,
        .opens = lets_others_write(call, changing),
        .exclusive = exclusive,
    };
    const int r = guard_judge(call, &judged);

    if (r == 0 && changing->op == GUARD_TRUNCATE)
        guard_record_written(call, &changing->where);
    return r;
}

/* The object stays the same whatever becomes of its name, and a name that would make it guarded is
 * not given to it. So it is changed without the lock: a truncation may wait for somebody's lease.
 * For the same reason a mode needs no lock for the look either where nothing is guarded, which is
 * nearly everywhere: no call of a job takes an object from there to a guarded name, not by a rename
 * of it, not by one of a folder above it (that is looked through first), not by a link. What the
 * guard itself installs at one is a file no job has a descriptor of. */
int guard_change_object(struct guard_call *call, enum guard_op op, int fd,
                        int (*change)(struct guard_call *call, int fd))
{
    AUTO_CLOSE int owned = fd;
    struct changing changing = {.op = op, .fd = owned, .where = GUARD_NO_PLACE};
    int r;

    if (owned < 0)
        return owned;
    r = op == GUARD_CHMOD && guard_object_is_free(call, owned)
            ? 0
            : guard_locked(call, judge_step, &changing);
    guard_place_close(&changing.where);
    if (r < 0)
        return r;
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    return change(call, owned) < 0 ? -errno : 0;
}

static int change_size(struct guard_call *call, int fd)
{
    char path[GUARD_FD_PATH_SIZE];

    guard_fd_path(fd, path);
    return truncate(path, (off_t) call->args[1]);
}

static int change_mode(struct guard_call *call, int fd)
{
    char name[GUARD_FD_PATH_SIZE];

    guard_fd_name(fd, name);
    return fchmodat(call->guard->fds_fd, name, call->mode, 0);
}

static int change_mode_of_descriptor(struct guard_call *call, int fd)
{
    return fchmod(fd, call->mode);
}

int guard_perform_truncate(struct guard_call *call)
{
    if ((int64_t) call->args[1] < 0)
        return -EINVAL;
    return guard_change_object(call, GUARD_TRUNCATE,
                               guard_find_object(call, AT_FDCWD, call->path[0], true), change_size);
}

int guard_perform_fchmod(struct guard_call *call)
{
    return guard_change_object(call, GUARD_CHMOD, guard_take_fd(call, (int) call->args[0]),
                               change_mode_of_descriptor);
}

int guard_find_flagged(struct guard_call *call, bool follow)
{
    if (call->path[0][0] == '\0' && (call->flags & AT_EMPTY_PATH) != 0)
        return call->dir_fd[0] == AT_FDCWD ? guard_open_start(call, AT_FDCWD)
                                           : guard_open_object(call, call->dir_fd[0]);
    return guard_find_object(call, call->dir_fd[0], call->path[0],
                             follow && (call->flags & AT_SYMLINK_NOFOLLOW) == 0);
}

/* Of these only fchmodat2 has flags. */
int guard_perform_chmod(struct guard_call *call)
{
    AUTO_CLOSE int fd = -1;
    struct stat status;

    if ((call->flags & ~(unsigned) (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
        return -EINVAL;
    fd = guard_find_flagged(call, true);
    if (fd < 0)
        return fd;
    if (call->flags != 0 && (fstat(fd, &status) < 0 || S_ISLNK(status.st_mode)))
        return -EOPNOTSUPP; /* without a flag a symlink was followed */
    return guard_change_object(call, GUARD_CHMOD, TAKE_FD(fd), change_mode);
}
