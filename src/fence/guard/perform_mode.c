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
    int fd;      /* the object */
    bool opened; /* `fd` is a descriptor of the task, not only a handle on the object */
    struct guard_place where;
};

static int change(struct guard_call *call, const struct changing *changing)
{
    char path[GUARD_FD_PATH_SIZE];
    int r;

    guard_fd_path(changing->fd, path);
    if (changing->op == GUARD_TRUNCATE)
        r = truncate(path, (off_t) call->args[1]);
    else
        r = changing->opened ? fchmod(changing->fd, call->mode) : chmod(path, call->mode);
    return r < 0 ? -errno : 0;
}

static int judge_step(struct guard_call *call, void *context, bool exclusive)
{
    struct changing *changing = context;
    struct guard_judged judged = {
        .op = changing->op,
        .target = &changing->where,
        .source_fd = -1,
        .object_fd = changing->fd,
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
static int change_object(struct guard_call *call, enum guard_op op, int fd, bool opened)
{
    AUTO_CLOSE int owned = fd;
    struct changing changing = {.op = op, .fd = owned, .opened = opened, .where = GUARD_NO_PLACE};
    int r;

    if (owned < 0)
        return owned;
    r = op == GUARD_CHMOD && guard_object_is_free(call, owned)
            ? 0
            : guard_locked(call, judge_step, &changing);
    guard_place_close(&changing.where);
    if (r < 0)
        return r;
    return guard_is_waiting(call->guard, call->id) ? change(call, &changing) : -EINTR;
}

int guard_perform_truncate(struct guard_call *call)
{
    if ((int64_t) call->args[1] < 0)
        return -EINVAL;
    return change_object(call, GUARD_TRUNCATE,
                         guard_find_object(call, AT_FDCWD, call->path[0], true), false);
}

int guard_perform_fchmod(struct guard_call *call)
{
    return change_object(call, GUARD_CHMOD, guard_take_fd(call, (int) call->args[0]), true);
}

/* Of these only fchmodat2 has flags. */
int guard_perform_chmod(struct guard_call *call)
{
    const bool follow = (call->flags & AT_SYMLINK_NOFOLLOW) == 0;
    AUTO_CLOSE int fd = -1;
    struct stat status;

    if ((call->flags & ~(unsigned) (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
        return -EINVAL;
    if (call->path[0][0] == '\0' && (call->flags & AT_EMPTY_PATH))
        fd = call->dir_fd[0] == AT_FDCWD ? guard_open_start(call, AT_FDCWD)
                                         : guard_open_object(call, call->dir_fd[0]);
    else
        fd = guard_find_object(call, call->dir_fd[0], call->path[0], follow);
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0 || S_ISLNK(status.st_mode))
        return -EOPNOTSUPP;
    return change_object(call, GUARD_CHMOD, TAKE_FD(fd), false);
}
