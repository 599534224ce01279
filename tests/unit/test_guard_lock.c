/* The guard's lock: who keeps whom out, with and without a seat on the board, and what the dead
 * leave behind. Each of the others is a process of its own. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON_MS 200   /* for what must not happen */
#define LATE_MS 20000 /* for what must */

static char path[] = "/tmp/wattle-lock-XXXXXX";

enum { SEATED = 1, SHARED = 2, EXCLUSIVE = 4 };

/* Another guard, told by its letters: it says 'l' when it has the lock, and lets go when it is told
 * to. */
struct other {
    pid_t pid;
    int said_fd, tell_fd;
};

static int open_lock(struct guard_lock *lock, bool seated)
{
    lock->fd = open(path, O_RDWR | O_CLOEXEC);
    lock->board = guard_lock_map(lock->fd);
    if (seated)
        guard_lock_sit(lock, lock->board);
    return lock->fd;
}

static void act(unsigned how, int say_fd, int told_fd)
{
    struct guard_lock lock = {0};
    char word = 'l';

    if (open_lock(&lock, (how & SEATED) != 0) < 0 ||
        ((how & EXCLUSIVE) != 0 ? guard_lock_exclusive(&lock) : guard_lock_shared(&lock)) < 0)
        _exit(1);
    if (write(say_fd, &word, 1) != 1 || read(told_fd, &word, 1) != 1)
        _exit(1);
    guard_unlock(&lock);
    _exit(write(say_fd, &word, 1) == 1 ? 0 : 1);
}

static struct other start(unsigned how)
{
    int said[2], tell[2];
    struct other other;

    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
    other.pid = fork();
    assert_true(other.pid >= 0);
    if (other.pid == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void) close(tell[1]);
        act(how, said[1], tell[0]);
    }
    (void) close(said[1]);
    (void) close(tell[0]);
    other.said_fd = said[0];
    other.tell_fd = tell[1];
    return other;
}

static bool hears(const struct other *other, int timeout_ms)
{
    struct pollfd ready = {.fd = other->said_fd, .events = POLLIN};
    char word;

    return poll(&ready, 1, timeout_ms) > 0 && read(other->said_fd, &word, 1) == 1;
}

static void tell(const struct other *other)
{
    assert_int_equal(write(other->tell_fd, "u", 1), 1);
    assert_true(hears(other, LATE_MS));
}

static void end(struct other *other, bool by_force)
{
    if (by_force)
        (void) kill(other->pid, SIGKILL);
    (void) close(other->tell_fd);
    (void) close(other->said_fd);
    assert_int_equal(waitpid(other->pid, NULL, 0), other->pid);
}

static const unsigned sharers[] = {SHARED, SHARED | SEATED};
static const unsigned owners[] = {EXCLUSIVE, EXCLUSIVE | SEATED};

static void file_has_a_board(void **state)
{
    struct guard_lock lock = {0};

    (void) state;
    assert_true(open_lock(&lock, true) >= 0);
    if (lock.board == NULL)
        skip(); /* /tmp lies on a file system without */
    assert_non_null(lock.seat);
    (void) close(lock.fd);
}

static void many_share(void **state)
{
    struct other first = start(SHARED | SEATED), second = start(SHARED),
                 third = start(SHARED | SEATED);

    (void) state;
    assert_true(hears(&first, LATE_MS) && hears(&second, LATE_MS) && hears(&third, LATE_MS));
    tell(&first);
    tell(&second);
    tell(&third);
    end(&first, false);
    end(&second, false);
    end(&third, false);
}

static void one_waits_for_those_inside(void **state)
{
    (void) state;
    for (size_t i = 0; i < 4; i++) {
        struct other inside = start(sharers[i / 2]), owner;

        assert_true(hears(&inside, LATE_MS));
        owner = start(owners[i % 2]);
        assert_false(hears(&owner, SOON_MS));
        tell(&inside);
        assert_true(hears(&owner, LATE_MS));
        tell(&owner);
        end(&inside, false);
        end(&owner, false);
    }
}

static void nobody_comes_in_to_the_one(void **state)
{
    (void) state;
    for (size_t i = 0; i < 4; i++) {
        struct other owner = start(owners[i / 2]), next;

        assert_true(hears(&owner, LATE_MS));
        next = start(sharers[i % 2]);
        assert_false(hears(&next, SOON_MS));
        tell(&owner);
        assert_true(hears(&next, LATE_MS));
        tell(&next);
        end(&owner, false);
        end(&next, false);
    }
}

static void who_comes_later_waits_behind_the_one(void **state)
{
    struct other inside = start(SHARED | SEATED), owner, later;

    (void) state;
    assert_true(hears(&inside, LATE_MS));
    owner = start(EXCLUSIVE);
    assert_false(hears(&owner, SOON_MS));
    later = start(SHARED | SEATED);
    assert_false(hears(&later, SOON_MS));
    tell(&inside);
    assert_true(hears(&owner, LATE_MS));
    assert_false(hears(&later, SOON_MS));
    tell(&owner);
    assert_true(hears(&later, LATE_MS));
    tell(&later);
    end(&inside, false);
    end(&owner, false);
    end(&later, false);
}

static void the_dead_hold_nothing(void **state)
{
    static const unsigned dead[] = {SHARED, SHARED | SEATED, EXCLUSIVE, EXCLUSIVE | SEATED};

    (void) state;
    for (size_t i = 0; i < 8; i++) {
        struct other gone = start(dead[i / 2]), next;

        assert_true(hears(&gone, LATE_MS));
        next = start(i % 2 == 0 ? EXCLUSIVE : SHARED | SEATED);
        if (dead[i / 2] & EXCLUSIVE || i % 2 == 0)
            assert_false(hears(&next, SOON_MS));
        else
            assert_true(hears(&next, LATE_MS));
        end(&gone, true);
        if (dead[i / 2] & EXCLUSIVE || i % 2 == 0)
            assert_true(hears(&next, LATE_MS));
        tell(&next);
        end(&next, false);
    }
}

/* What the dead left on the board costs one hold by bytes, and then seats are taken again. */
static void a_gate_left_closed_is_opened(void **state)
{
    struct other gone = start(EXCLUSIVE);
    struct guard_lock lock = {0};

    (void) state;
    assert_true(hears(&gone, LATE_MS));
    end(&gone, true);
    assert_true(open_lock(&lock, true) >= 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(guard_lock_shared(&lock), 0);
        if (lock.seat != NULL)
            assert_int_equal(lock.hold, i == 0 ? GUARD_HOLD_SHARED : GUARD_HOLD_SEAT);
        guard_unlock(&lock);
    }
    (void) close(lock.fd);
}

static int make_file(void **state)
{
    const int fd = mkostemp(path, O_CLOEXEC);

    (void) state;
    if (fd < 0)
        return -1;
    guard_lock_make_board(fd);
    return close(fd);
}

static int remove_file(void **state)
{
    (void) state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_has_a_board),
        cmocka_unit_test(many_share),
        cmocka_unit_test(one_waits_for_those_inside),
        cmocka_unit_test(nobody_comes_in_to_the_one),
        cmocka_unit_test(who_comes_later_waits_behind_the_one),
        cmocka_unit_test(the_dead_hold_nothing),
        cmocka_unit_test(a_gate_left_closed_is_opened),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
