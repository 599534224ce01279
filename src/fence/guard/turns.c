/* Which of the threads takes calls.
 *
 * One takes them all. The kernel wakes every thread that waits for one, for each: with two, the
 * second would come for nothing, and push the task and the first from one processor to the other,
 * which costs the task more than the call does. The other thread watches the one that takes them,
 * while there are any: a call that takes longer than a tick (a tree to look through, a disk, a lock
 * somebody else holds) does not make others wait. Then it takes the next ones itself, and the first
 * watches when it has done. */
#include "fence/guard/guard_priv.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 5000000

static unsigned number_of(const struct guard_call *call)
{
    return (unsigned) (call - call->guard->calls);
}

bool guard_turn_is_mine(const struct guard_call *call)
{
    return atomic_load(&call->guard->taker) == number_of(call);
}

void guard_turn_begin(struct guard_call *call)
{
    struct guard *guard = call->guard;

    (void) atomic_fetch_add(&call->turn, 1);
    if (atomic_load(&guard->unwatched) != 0 && atomic_exchange(&guard->unwatched, 0) != 0)
        (void) syscall(SYS_futex, &guard->unwatched, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void guard_turn_end(struct guard_call *call)
{
    (void) atomic_fetch_add(&call->turn, 1);
}

static bool is_under_way(unsigned turn)
{
    return turn % 2 != 0;
}

/* Until the taker begins a turn that is not `seen`. No order of memory may be weaker here: either
 * this thread sees the turn, or the taker sees that nobody watches. */
static void rest(struct guard *guard, const struct guard_call *taker, unsigned seen)
{
    atomic_store(&guard->unwatched, 1);
    if (atomic_load(&taker->turn) == seen)
        (void) syscall(SYS_futex, &guard->unwatched, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    atomic_store(&guard->unwatched, 0);
}

void guard_turn_wait(struct guard_call *call)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};
    struct guard *guard = call->guard;
    unsigned seen = 0;

    for (;;) {
        unsigned number = atomic_load(&guard->taker);
        const struct guard_call *taker = &guard->calls[number];
        const unsigned turn = atomic_load(&taker->turn);

        if (taker == call)
            return;
        if (turn == seen && is_under_way(turn)) {
            if (atomic_compare_exchange_strong(&guard->taker, &number, number_of(call)))
                return;
        } else if (turn == seen) {
            rest(guard, taker, turn);
        } else {
            (void) nanosleep(&tick, NULL);
        }
        seen = turn;
    }
}
