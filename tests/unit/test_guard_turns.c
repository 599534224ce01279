/* One thread takes all calls; another takes over from one whose call does not end. */
#include "cm.h"
#include "fence/guard/guard_priv.h"

#include <sched.h>

static struct guard guard;

static void *wait_for_turn(void *context)
{
    guard_turn_wait(context);
    return NULL;
}

static void set_up(void)
{
    for (size_t i = 0; i < GUARD_LOCKS; i++)
        guard.calls[i].guard = &guard;
    atomic_store(&guard.taker, 0);
    atomic_store(&guard.unwatched, 0);
}

static void wait_until_resting(void)
{
    while (atomic_load(&guard.unwatched) == 0)
        (void) sched_yield();
}

static void a_call_that_does_not_end_is_the_last_its_thread_takes(void **state)
{
    struct guard_call *first = &guard.calls[0], *second = &guard.calls[1];
    pthread_t thread;

    (void) state;
    set_up();
    assert_true(guard_turn_is_mine(first));
    assert_false(guard_turn_is_mine(second));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_turn, second), 0);
    wait_until_resting(); /* nothing is under way, so nothing is taken over */
    assert_true(guard_turn_is_mine(first));

    guard_turn_begin(first); /* wakes it */
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(guard_turn_is_mine(second));
    assert_false(guard_turn_is_mine(first));

    /* And back, when the first has done. */
    guard_turn_end(first);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_turn, first), 0);
    guard_turn_begin(second);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(guard_turn_is_mine(first));
    guard_turn_end(second);
}

static void whose_turn_it_is_does_not_wait(void **state)
{
    (void) state;
    set_up();
    guard_turn_wait(&guard.calls[0]);
    assert_true(guard_turn_is_mine(&guard.calls[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_does_not_end_is_the_last_its_thread_takes),
        cmocka_unit_test(whose_turn_it_is_does_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
