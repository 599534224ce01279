/* mkdir, mknod, symlink; unlink and rmdir. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct making {
    enum guard_op op;
    struct guard_place place;
};

static int call_result(int result)
{
    return result < 0 ? -errno : 0;
}

/* Folders are asked for that are there, and files to be removed that are not, more often than not:
 * whoever is told so has done nothing, and nothing is judged. What cannot be told is judged. */
static int look_for(const struct guard_place *place)
{
    struct stat status;

    if (place->proc)
        return -ENOTSUP;
    return call_result(fstatat(place->fd, place->plain, &status, AT_SYMLINK_NOFOLLOW));
}

/* A file system that cannot be written to says that first. */
static bool is_missing(const struct guard_place *place)
{
    return (place->mount & GUARD_MOUNT_READS) == 0 && look_for(place) == -ENOENT;
}

static int make(struct guard_call *call, const struct making *making)
{
    const struct guard_place *place = &making->place;

    if (making->op == GUARD_MKDIR)
        return call_result(mkdirat(place->fd, place->name, call->mode));
    if (making->op == GUARD_SYMLINK)
        return call_result(symlinkat(call->path[0], place->fd, place->name));
    return call_result(mknodat(place->fd, place->name, call->mode, (dev_t) call->flags));
}

static int make_step(struct guard_call *call, void *context, bool exclusive)
{
    struct making *making = context;
    struct guard_judged judged = {
        .op = making->op,
        .target = &making->place,
        .source_fd = -1,
        .object_fd = -1,
        .text = making->op == GUARD_SYMLINK ? call->path[0] : NULL,
        .exclusive = exclusive,
    };
    int r = guard_judge(call, &judged);

    if (r < 0)
        return r;
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    r = make(call, making);
    if (r == 0)
        guard_record_made(call, &making->place);
    if (r == 0 && making->op == GUARD_MKDIR)
        guard_note_made(call, &judged);
    return r;
}

/* What the kernel says before it looks for the folder. */
static int check_arguments(const struct guard_call *call, enum guard_op op)
{
    const mode_t kind = call->mode & S_IFMT;

    if (op == GUARD_SYMLINK)
        return call->path[0][0] == '\0' ? -ENOENT : 0;
    if (op == GUARD_MKDIR || kind == 0 || S_ISREG(kind) || S_ISCHR(kind) || S_ISBLK(kind) ||
        S_ISFIFO(kind) || S_ISSOCK(kind))
        return 0;
    return S_ISDIR(kind) ? -EPERM : -EINVAL;
}

int guard_perform_make(struct guard_call *call)
{
    static const struct {
        const char *name;
        enum guard_op op;
    } ops[] = {{"mkdir", GUARD_MKDIR}, {"mknod", GUARD_MKNOD}, {"symlink", GUARD_SYMLINK}};
    struct making making = {.place = GUARD_NO_PLACE};
    int which, r;

    for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
        if (strcmp(call->row->name, ops[i].name) == 0)
            making.op = ops[i].op;
    }
    which = making.op == GUARD_SYMLINK ? 1 : 0;
    r = check_arguments(call, making.op);
    if (r < 0)
        return r;
    r = guard_find(call, -1, call->dir_fd[which], call->path[which], &making.place);
    if (r == 0 && making.op == GUARD_MKDIR && look_for(&making.place) == 0)
        r = -EEXIST;
    if (r == 0 && making.op != GUARD_SYMLINK)
        guard_wear_umask(call);
    if (r == 0)
        r = guard_locked(call, make_step, &making);
    guard_place_close(&making.place);
    return r;
}

/* ---- taking away ------------------------------------------------------------------------------
 */

static int unlink_step(struct guard_call *call, void *context, bool exclusive)
{
    struct guard_place *place = context;
    struct guard_judged judged = {
        .op = GUARD_UNLINK,
        .target = place,
        .source_fd = -1,
        .object_fd = -1,
        .exclusive = exclusive,
    };
    int r = guard_judge(call, &judged);
    struct guard_object object;
    bool made;
    size_t left;

    if (r < 0)
        return r;
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    made = guard_leaves_made(&judged, &object);
    left = guard_record_leaving(call, &judged);
    r = call_result(unlinkat(place->fd, place->name, (int) call->flags));
    if (r == 0 && made)
        guard_forget_made(call->guard, &object);
    guard_record_left(call, &judged, left, r == 0);
    return r;
}

int guard_perform_unlink(struct guard_call *call)
{
    AUTO(guard_place_close) struct guard_place place = GUARD_NO_PLACE;
    int r;

    if (strcmp(call->row->name, "rmdir") == 0)
        call->flags = AT_REMOVEDIR;
    if ((call->flags & ~(unsigned) AT_REMOVEDIR) != 0)
        return -EINVAL;
    r = guard_find(call, -1, call->dir_fd[0], call->path[0], &place);
    if (r < 0)
        return r;
    return is_missing(&place) ? -ENOENT : guard_locked(call, unlink_step, &place);
}
