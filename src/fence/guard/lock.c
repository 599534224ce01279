/* The lock that makes a decision and the call that follows it one step for all jobs of the owner.
 *
 * Nearly every call holds it shared. Exclusive is for the few that could turn a name somebody else
 * is just making into a guarded one: a folder that becomes '.claude', the last part of a bare
 * repository, a rename onto git's config.
 *
 * It lies in a file of the owner's state that no job sees, because two jobs may work in one folder,
 * or one in a folder of the other's. The kernel gives it back when a holder dies. The lock belongs
 * to the open file description, so each thread has one of its own.
 *
 * Byte 0 is the gate, byte 1 the lock. Whoever wants it exclusively closes the gate and then waits
 * for those inside: they cannot keep him out by taking turns.
 *
 * The bytes after these stand for folders jobs work in, one for each. A job in 'pen/sub' sees
 * 'pen/sub' whatever another job in 'pen' renames it to, '.claude' for one: so that is refused. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define GATE 0
#define INSIDE 1
#define PLACES 2

static int set(int lock_fd, short type, off_t start, off_t length)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    int r;

    do
        r = fcntl(lock_fd, F_OFD_SETLKW, &range);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

int guard_lock_shared(int lock_fd)
{
    const int r = set(lock_fd, F_RDLCK, GATE, 2);

    return r < 0 ? r : set(lock_fd, F_UNLCK, GATE, 1);
}

int guard_lock_exclusive(int lock_fd)
{
    int r = set(lock_fd, F_WRLCK, GATE, 1);

    if (r == 0)
        r = set(lock_fd, F_WRLCK, INSIDE, 1);
    if (r < 0)
        guard_unlock(lock_fd);
    return r;
}

void guard_unlock(int lock_fd)
{
    if (set(lock_fd, F_UNLCK, GATE, 2) < 0)
        _exit(125); /* it would be held for ever, by a process that does not know it */
}

/* ---- folders jobs work in ----------------------------------------------------------------------
 */

/* Two folders that share a byte make one more rename be refused, and nothing else. */
static off_t byte_of(const struct stat *status)
{
    const uint64_t mixed = ((uint64_t) status->st_ino + 1) * 0x9e3779b97f4a7c15u ^
                           ((uint64_t) status->st_dev + 1) * 0xc2b2ae3d27d4eb4fu;

    return PLACES + (off_t) (mixed >> 2);
}

/* Looked at again when the lock is held: from then on it is not moved to where it must not be. */
int guard_hold_place(int lock_fd, const char *path, struct err *err)
{
    struct stat before, after;
    int r = 0;

    if (stat(path, &before) < 0)
        return err_set(err, errno, "fence.guard-place", "cannot look at '%s'", path);
    r = set(lock_fd, F_RDLCK, byte_of(&before), 1);
    if (r < 0)
        return err_set(err, -r, "fence.guard-place", "cannot lock the place of '%s'", path);
    if (stat(path, &after) < 0 || after.st_dev != before.st_dev || after.st_ino != before.st_ino)
        return err_set(err, EBUSY, "fence.guard-place", "'%s' is being moved", path);
    return 0;
}

bool guard_is_held_place(const struct guard *guard, const struct stat *status)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte_of(status), .l_len = 1};

    return fcntl(guard->settings.lock_fds[0], F_OFD_GETLK, &range) < 0 || range.l_type != F_UNLCK;
}
