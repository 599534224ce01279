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
 * for those inside: they cannot keep him out by taking turns. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define GATE 0
#define INSIDE 1

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
