/* link, linkat. What is linked is an object that was opened before; its name may be anything by the
 * time the new one is made, so it is judged by where it lies under the lock. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct linking {
    struct guard_place from; /* a symlink that is linked itself: only its name can be */
    struct guard_place to;
    int object_fd; /* -1: `from` */
};

static int make_link(const struct guard_call *call, const struct linking *linking)
{
    char name[GUARD_FD_PATH_SIZE];
    int r;

    if (linking->object_fd < 0) {
        r = linkat(linking->from.fd, linking->from.name, linking->to.fd, linking->to.name, 0);
    } else {
        guard_fd_name(linking->object_fd, name);
        r = linkat(call->guard->fds_fd, name, linking->to.fd, linking->to.name, AT_SYMLINK_FOLLOW);
    }
    return r < 0 ? -errno : 0;
}

static int link_step(struct guard_call *call, void *context, bool exclusive)
{
    struct linking *linking = context;
    struct guard_judged judged = {
        .op = GUARD_LINK,
        .target = &linking->to,
        .source = linking->object_fd < 0 ? &linking->from : NULL,
        .source_fd = linking->object_fd,
        .object_fd = -1,
        .exclusive = exclusive,
    };
    int r = guard_judge(call, &judged);

    if (r < 0)
        return r;
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    r = make_link(call, linking);
    if (r == 0)
        guard_record_made(call, &linking->to);
    return r;
}

/* A symlink that is not followed has to be linked by name; all else by descriptor. */
static int find_named(struct guard_call *call, struct linking *linking)
{
    AUTO_CLOSE int fd = -1;
    struct stat status;
    int r = guard_find(call, -1, call->dir_fd[0], call->path[0], &linking->from);

    if (r < 0)
        return r;
    fd = guard_open_named(call, &linking->from);
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISLNK(status.st_mode))
        linking->object_fd = TAKE_FD(fd);
    else if (linking->from.proc)
        return -EXDEV;
    return 0;
}

static int find_source(struct guard_call *call, struct linking *linking)
{
    int fd;

    if (call->path[0][0] == '\0' && (call->flags & AT_EMPTY_PATH))
        fd = call->dir_fd[0] == AT_FDCWD ? guard_open_start(call, AT_FDCWD)
                                         : guard_open_object(call, call->dir_fd[0]);
    else if (call->flags & AT_SYMLINK_FOLLOW)
        fd = guard_find_object(call, call->dir_fd[0], call->path[0], true);
    else
        return find_named(call, linking);
    if (fd < 0)
        return fd;
    linking->object_fd = fd;
    return 0;
}

/* What was found by name has told its folder. */
static int find_target(struct guard_call *call, struct linking *linking)
{
    if (linking->from.fd >= 0)
        return guard_find_second(call, &linking->from, &linking->to);
    return guard_find(call, -1, call->dir_fd[1], call->path[1], &linking->to);
}

int guard_perform_link(struct guard_call *call)
{
    struct linking linking = {.from = GUARD_NO_PLACE, .to = GUARD_NO_PLACE, .object_fd = -1};
    int r;

    if ((call->flags & ~(unsigned) (AT_EMPTY_PATH | AT_SYMLINK_FOLLOW)) != 0)
        return -EINVAL;
    r = find_source(call, &linking);
    if (r == 0)
        r = find_target(call, &linking);
    if (r == 0)
        r = guard_locked(call, link_step, &linking);
    cleanup_close(&linking.object_fd);
    guard_place_close(&linking.to);
    guard_place_close(&linking.from);
    return r;
}
