/* rename, renameat, renameat2. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct renaming {
    struct guard_place from, to;
};

static enum guard_op op_of(unsigned flags)
{
    if (flags & RENAME_WHITEOUT)
        return GUARD_WHITEOUT;
    return (flags & RENAME_EXCHANGE) != 0 ? GUARD_EXCHANGE : GUARD_RENAME;
}

static int move(struct guard_call *call, const struct guard_judged *judged)
{
    const struct guard_place *from = judged->source, *to = judged->target;

    if (judged->verdict.needs & GUARD_NEED_VET)
        return guard_install(call, judged);
    if (syscall(SYS_renameat2, from->fd, from->name, to->fd, to->name, call->flags) < 0)
        return -errno;
    if (judged->op == GUARD_RENAME)
        guard_note_made(call, judged);
    return 0;
}

static int rename_step(struct guard_call *call, void *context, bool exclusive)
{
    struct renaming *renaming = context;
    struct guard_judged judged = {
        .op = op_of(call->flags),
        .target = &renaming->to,
        .source = &renaming->from,
        .source_fd = -1,
        .object_fd = -1,
        .exclusive = exclusive,
    };
    int r = guard_judge(call, &judged);
    size_t left;

    if (r < 0)
        return r;
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    left = guard_record_leaving(call, &judged);
    r = move(call, &judged);
    guard_record_left(call, &judged, left, r == 0);
    return r;
}

int guard_perform_rename(struct guard_call *call)
{
    struct renaming renaming = {.from = GUARD_NO_PLACE, .to = GUARD_NO_PLACE};
    int r;

    if ((call->flags & ~(unsigned) (RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT)) != 0)
        return -EINVAL;
    r = guard_find(call, -1, call->dir_fd[0], call->path[0], &renaming.from);
    if (r == 0)
        r = guard_find_second(call, &renaming.from, &renaming.to);
    if (r == 0)
        r = guard_locked(call, rename_step, &renaming);
    guard_place_close(&renaming.to);
    guard_place_close(&renaming.from);
    return r;
}
