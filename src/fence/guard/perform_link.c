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

static int make_link(const struct linking *linking)
{
    char path[GUARD_FD_PATH_SIZE];
    int r;

    if (linking->object_fd < 0) {
        r = linkat(linking->from.fd, linking->from.name, linking->to.fd, linking->to.name, 0);
    } else {
        guard_fd_path(linking->object_fd, path);
        r = linkat(AT_FDCWD, path, linking->to.fd, linking->to.name, AT_SYMLINK_FOLLOW);
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
    r = make_link(linking);
    if (r == 0)
        guard_record_made(call, &linking->to);
    return r;
}

/* A symlink that is not followed has to be linked by name; all else by descriptor. */
static int find_source(struct guard_call *call, struct linking *linking)
{
    const bool follow = (call->flags & AT_SYMLINK_FOLLOW) != 0;
    struct stat status;
    int fd;

    if (call->path[0][0] == '\0' && (call->flags & AT_EMPTY_PATH)) {
        fd = call->dir_fd[0] == AT_FDCWD ? guard_open_start(call, AT_FDCWD)
                                         : guard_open_object(call, call->dir_fd[0]);
    } else {
        int r = follow ? 0 : guard_find(call, -1, call->dir_fd[0], call->path[0], &linking->from);

        if (r < 0)
            return r;
        if (!follow && guard_exists(&linking->from, &status) && S_ISLNK(status.st_mode))
            return linking->from.proc ? -EXDEV : 0;
        fd = guard_find_object(call, call->dir_fd[0], call->path[0], follow);
    }
    if (fd < 0)
        return fd;
    linking->object_fd = fd;
    return 0;
}

int guard_perform_link(struct guard_call *call)
{
    struct linking linking = {.from = GUARD_NO_PLACE, .to = GUARD_NO_PLACE, .object_fd = -1};
    int r;

    if ((call->flags & ~(unsigned) (AT_EMPTY_PATH | AT_SYMLINK_FOLLOW)) != 0)
        return -EINVAL;
    r = find_source(call, &linking);
    if (r == 0)
        r = guard_find(call, -1, call->dir_fd[1], call->path[1], &linking.to);
    if (r == 0)
        r = guard_locked(call, link_step, &linking);
    cleanup_close(&linking.object_fd);
    guard_place_close(&linking.from);
    guard_place_close(&linking.to);
    return r;
}
