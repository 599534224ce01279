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
 * A shared hold by bytes is three system calls, for each call of a job. So the file is also a board
 * in memory: a thread has a seat on it, its own for as long as it holds the seat's byte, and is
 * inside while the seat says so. First it takes its seat, then it looks whether the gate is closed
 * and, if so, leaves again and goes by the bytes. Whoever wants the lock exclusively first takes
 * the gate's byte and says on the board that it is closed, then waits for byte 1 and for every
 * seat: whichever comes second sees the other. Of a seat whose byte is free the owner is dead, and
 * inside nothing any more. A gate that says closed while its byte is free was left so by a dead
 * one; who holds that byte shared opens it. Without a board, all goes by the bytes.
 *
 * The file may have no board (a full disk) and get one later. That is done with the gate's byte,
 * and who wants the lock exclusively looks for a board after he has that byte: so nobody takes a
 * seat that he does not see.
 *
 * The bytes after these stand for files and folders that stay where they are: hold.c. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define GATE 0
#define INSIDE 1
#define SEATS 2
#define SEATS_MAX 1000
_Static_assert(SEATS + SEATS_MAX <= GUARD_LOCK_BYTES, "others begin there");
#define LOOK_AGAIN_NS 5000000 /* at a seat that is not left: its owner may have died */
#define XFS_MAGIC 0x58465342

/* At the beginning of the file. Only threads of guards have it in memory. */
struct guard_board {
    _Atomic uint32_t closed;
    _Atomic uint32_t seats[SEATS_MAX]; /* 1: inside */
};

static int set(int lock_fd, short type, off_t start, off_t length)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    int r;

    do
        r = fcntl(lock_fd, F_OFD_SETLKW, &range);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

/* From the gate's on. */
static void free_bytes(int lock_fd, off_t count)
{
    if (set(lock_fd, F_UNLCK, GATE, count) < 0)
        _exit(125); /* it would be held for ever, by a process that does not know it */
}

/* ---- the board ---------------------------------------------------------------------------------
 */

/* Memory of a file is safe to write to only where its blocks are its own for good: elsewhere a full
 * disk would be a signal. And the locks of a network are not those of one memory. */
static bool keeps_blocks(int lock_fd)
{
    struct statfs status;

    return fstatfs(lock_fd, &status) == 0 &&
           (status.f_type == EXT4_SUPER_MAGIC || status.f_type == TMPFS_MAGIC ||
            status.f_type == XFS_MAGIC);
}

void guard_lock_make_board(int lock_fd)
{
    struct stat status;

    if (fstat(lock_fd, &status) < 0 || status.st_size >= (off_t) sizeof(struct guard_board) ||
        !keeps_blocks(lock_fd) || set(lock_fd, F_WRLCK, GATE, 1) < 0)
        return;
    (void) fallocate(lock_fd, 0, 0, sizeof(struct guard_board)); /* else all goes by bytes */
    free_bytes(lock_fd, 1);
}

int guard_lock_map(int lock_fd, struct guard_board **ret_board)
{
    struct stat status;
    void *board = NULL;

    if (fstat(lock_fd, &status) < 0)
        return -errno;
    if (status.st_size >= (off_t) sizeof(struct guard_board) && keeps_blocks(lock_fd))
        board =
            mmap(NULL, sizeof(struct guard_board), PROT_READ | PROT_WRITE, MAP_SHARED, lock_fd, 0);
    if (board == MAP_FAILED)
        return -errno; /* without it one would not see those inside by a seat */
    *ret_board = board;
    return 0;
}

void guard_lock_unmap(struct guard_board *board)
{
    if (board != NULL)
        (void) munmap(board, sizeof *board);
}

void guard_lock_sit(struct guard_lock *lock, struct guard_board *board)
{
    lock->board = board;
    for (int i = 0; board != NULL && i < SEATS_MAX; i++) {
        struct flock range = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEATS + i, .l_len = 1};

        if (fcntl(lock->fd, F_OFD_SETLK, &range) < 0)
            continue;
        atomic_store(&board->seats[i], 0); /* of one that died inside */
        lock->seat = &board->seats[i];
        return;
    }
}

static void leave_seat(struct guard_lock *lock)
{
    atomic_store(lock->seat, 0);
    if (atomic_load(&lock->board->closed) != 0)
        (void) syscall(SYS_futex, lock->seat, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Nearly every hold. No order of memory may be weaker here: see above. */
static bool take_seat(struct guard_lock *lock)
{
    if (lock->seat == NULL)
        return false;
    atomic_store(lock->seat, 1);
    if (atomic_load(&lock->board->closed) == 0)
        return true;
    leave_seat(lock);
    return false;
}

/* 1: somebody lives who has the seat. */
static int has_owner(int lock_fd, int seat)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEATS + seat, .l_len = 1};

    if (fcntl(lock_fd, F_OFD_GETLK, &range) < 0)
        return -errno;
    return range.l_type != F_UNLCK;
}

/* With the gate closed: until nobody is inside by a seat. */
static int wait_for_seats(const struct guard_lock *lock)
{
    const struct timespec again = {.tv_nsec = LOOK_AGAIN_NS};

    for (int i = 0; i < SEATS_MAX; i++) {
        _Atomic uint32_t *seat = &lock->board->seats[i];

        while (atomic_load(seat) != 0) {
            const int r = has_owner(lock->fd, i);

            if (r < 0)
                return r;
            if (r == 0)
                break;
            (void) syscall(SYS_futex, seat, FUTEX_WAIT, 1, &again, NULL, 0);
        }
    }
    return 0;
}

/* ---- the lock ----------------------------------------------------------------------------------
 */

int guard_lock_shared(struct guard_lock *lock)
{
    int r;

    lock->hold = GUARD_HOLD_SEAT;
    if (take_seat(lock))
        return 0;
    lock->hold = GUARD_HOLD_SHARED;
    r = set(lock->fd, F_RDLCK, GATE, 2);
    if (r < 0)
        return r;
    if (lock->board != NULL && atomic_load(&lock->board->closed) != 0)
        atomic_store(&lock->board->closed, 0); /* by a dead one: a living one has the byte */
    return set(lock->fd, F_UNLCK, GATE, 1);
}

int guard_lock_exclusive(struct guard_lock *lock)
{
    int r = set(lock->fd, F_WRLCK, GATE, 1);

    if (r < 0)
        return r;
    lock->hold = GUARD_HOLD_EXCLUSIVE;
    if (lock->board == NULL)
        r = guard_lock_map(lock->fd, &lock->board);
    /* Exchanged, not stored: to read what the one before has left makes what he did in this process
     * come before, which a lock of the kernel's does not say to a compiler. */
    if (lock->board != NULL)
        (void) atomic_exchange(&lock->board->closed, 1);
    if (r == 0)
        r = set(lock->fd, F_WRLCK, INSIDE, 1);
    if (r == 0 && lock->board != NULL)
        r = wait_for_seats(lock);
    if (r < 0)
        guard_unlock(lock);
    return r;
}

void guard_unlock(struct guard_lock *lock)
{
    if (lock->hold == GUARD_HOLD_SEAT) {
        leave_seat(lock);
        return;
    }
    if (lock->hold == GUARD_HOLD_EXCLUSIVE && lock->board != NULL)
        atomic_store(&lock->board->closed, 0);
    free_bytes(lock->fd, 2);
}

int guard_locked(struct guard_call *call,
                 int (*step)(struct guard_call *call, void *context, bool exclusive), void *context)
{
    int r = guard_lock_shared(&call->lock);

    if (r < 0)
        return r;
    r = step(call, context, false);
    guard_unlock(&call->lock);
    if (r != GUARD_AGAIN)
        return r;
    r = guard_lock_exclusive(&call->lock);
    if (r < 0)
        return r;
    r = step(call, context, true);
    guard_unlock(&call->lock);
    return r == GUARD_AGAIN ? -EAGAIN : r; /* there is nothing stronger to take */
}
