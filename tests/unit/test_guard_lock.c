/* The guard's lock: who keeps whom out, with and without a seat on the board, and what the dead
 * leave behind. Each of the others is a process of its own. And what is held where it is. */
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON_MS 200   /* for what must not happen */
#define LATE_MS 20000 /* for what must */

static char path[] = "/tmp/wattle-lock-XXXXXX";

/* MAKES: the board first. WAITS: to be told, between opening the lock and taking it. */
enum { SEATED = 1, SHARED = 2, EXCLUSIVE = 4, MAKES = 8, WAITS = 16 };

/* Another guard, told by its letters: it says 'l' when it has the lock, and lets go when it is told
 * to. */
struct other {
    pid_t pid;
    int said_fd, tell_fd;
};

static int open_lock(struct guard_lock *lock, unsigned how)
{
    lock->fd = open(path, O_RDWR | O_CLOEXEC);
    if ((how & MAKES) != 0)
        guard_lock_make_board(lock->fd);
    assert_int_equal(guard_lock_map(lock->fd, &lock->board), 0);
    if ((how & SEATED) != 0)
        guard_lock_sit(lock, lock->board);
    return lock->fd;
}

static void act(unsigned how, int say_fd, int told_fd)
{
    struct guard_lock lock = {0};
    char word = 'l';

    if (open_lock(&lock, how) < 0)
        _exit(1);
    if ((how & WAITS) != 0 && (write(say_fd, &word, 1) != 1 || read(told_fd, &word, 1) != 1))
        _exit(1);
    if (((how & EXCLUSIVE) != 0 ? guard_lock_exclusive(&lock) : guard_lock_shared(&lock)) < 0)
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
    assert_true(open_lock(&lock, SEATED) >= 0);
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
    assert_true(open_lock(&lock, SEATED) >= 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(guard_lock_shared(&lock), 0);
        if (lock.seat != NULL)
            assert_int_equal(lock.hold, i == 0 ? GUARD_HOLD_SHARED : GUARD_HOLD_SEAT);
        guard_unlock(&lock);
    }
    (void) close(lock.fd);
}

/* ---- a board that comes later ------------------------------------------------------------------
 */

/* Of a file without one: whoever opened it before goes by the bytes. */
static void seats_of_a_later_board_are_seen(void **state)
{
    struct other inside, owner;

    (void) state;
    assert_int_equal(truncate(path, 0), 0);
    owner = start(EXCLUSIVE | WAITS);
    assert_true(hears(&owner, LATE_MS));
    inside = start(MAKES | SHARED | SEATED);
    assert_true(hears(&inside, LATE_MS));
    assert_int_equal(write(owner.tell_fd, "t", 1), 1);
    assert_false(hears(&owner, SOON_MS));
    tell(&inside);
    assert_true(hears(&owner, LATE_MS));
    tell(&owner);
    end(&inside, false);
    end(&owner, false);
}

static void a_board_is_not_made_beside_the_one(void **state)
{
    struct other owner, next;

    (void) state;
    assert_int_equal(truncate(path, 0), 0);
    owner = start(EXCLUSIVE);
    assert_true(hears(&owner, LATE_MS));
    next = start(MAKES | SHARED | SEATED);
    assert_false(hears(&next, SOON_MS));
    tell(&owner);
    assert_true(hears(&next, LATE_MS));
    tell(&next);
    end(&owner, false);
    end(&next, false);
}

/* ---- what stays where it is --------------------------------------------------------------------
 */

/* TOP/a/b/script, TOP/a/beside, and TOP/link, which leads to "a". */
struct tree {
    char top[32];
    int holder_fd, top_fd;
    struct guard *guard; /* another job's */
};

static void make_tree(struct tree *tree)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);

    memset(tree, 0, sizeof *tree);
    (void) snprintf(tree->top, sizeof tree->top, "/tmp/wattle-hold-XXXXXX");
    assert_non_null(mkdtemp(tree->top));
    tree->top_fd = open(tree->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    tree->holder_fd = open(path, O_RDWR | O_CLOEXEC);
    tree->guard = calloc(1, sizeof *tree->guard);
    assert_non_null(tree->guard);
    tree->guard->settings.lock_fds[0] = fd;
    assert_true(fd >= 0 && tree->top_fd >= 0 && tree->holder_fd >= 0);
    assert_int_equal(mkdirat(tree->top_fd, "a", 0755), 0);
    assert_int_equal(mkdirat(tree->top_fd, "a/b", 0755), 0);
    assert_int_equal(mkdirat(tree->top_fd, "a/beside", 0755), 0);
    assert_int_equal(symlinkat("a", tree->top_fd, "link"), 0);
    assert_int_equal(close(openat(tree->top_fd, "a/b/script", O_CREAT | O_CLOEXEC, 0755)), 0);
}

static void remove_tree(struct tree *tree)
{
    static const struct {
        const char *name;
        int flags;
    } names[] = {{"a/b/script", 0},
                 {"a/b", AT_REMOVEDIR},
                 {"a/beside", AT_REMOVEDIR},
                 {"a", AT_REMOVEDIR},
                 {"link", 0}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(unlinkat(tree->top_fd, names[i].name, names[i].flags), 0);
    assert_int_equal(rmdir(tree->top), 0);
    (void) close(tree->top_fd);
    (void) close(tree->guard->settings.lock_fds[0]);
    free(tree->guard);
    if (tree->holder_fd >= 0)
        (void) close(tree->holder_fd);
}

static int hold_as(const struct tree *tree, enum policy_place_kind kind, const char *name,
                   const char *from, struct err *err)
{
    char shown[4200], source[32], why[] = "a test";
    const struct policy_place place = {
        .kind = kind, .access = POLICY_READ, .path = shown, .source = source, .why = why};
    struct policy *policy = policy_new();
    int r;

    assert_non_null(policy);
    (void) snprintf(source, sizeof source, "%s", from);
    (void) snprintf(shown, sizeof shown, "%s/%s", tree->top, name);
    r = policy_add_place(policy, &place, err);
    if (r == 0)
        r = guard_hold_places(tree->holder_fd, policy, err);
    policy_freep(&policy);
    return r;
}

static int hold_over(const struct tree *tree, const char *name, struct err *err)
{
    return hold_as(tree, POLICY_PLACE_OVER, name, "/etc/passwd", err);
}

/* A name of TOP; `name` of the kind "a/b" too, for which only the last part counts. */
static bool is_run(const struct tree *tree, const char *name)
{
    struct guard_place place = {.fd = tree->top_fd};

    (void) snprintf(place.plain, sizeof place.plain, "%s", name);
    return guard_is_run(tree->guard, &place);
}

static void the_way_to_what_runs_is_held(void **state)
{
    static const char *const held[] = {".", "a", "a/b", "a/b/script"};
    static const char *const others[] = {"a/beside", "link", "missing"};
    struct err err = {0};
    struct tree tree;

    (void) state;
    make_tree(&tree);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        assert_false(is_run(&tree, held[i]));
    assert_int_equal(hold_over(&tree, "a/b/script", &err), 0);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        assert_true(is_run(&tree, held[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(is_run(&tree, others[i]));
    (void) close(tree.holder_fd); /* the job ends */
    tree.holder_fd = -1;
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        assert_false(is_run(&tree, held[i]));
    remove_tree(&tree);
}

static void what_was_replaced_is_not_held(void **state)
{
    static const char *const bad[] = {"link", "link/b/script", "a/b/script/x", "a/missing"};
    struct tree tree;

    (void) state;
    make_tree(&tree);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};

        assert_true(hold_over(&tree, bad[i], &err) < 0);
        assert_string_equal(err.id, "fence.guard-place");
    }
    remove_tree(&tree);
}

static void a_symlink_stays_with_its_text(void **state)
{
    static const struct {
        const char *name, *text;
    } bad[] = {{"link", "b"}, {"link", "a/"}, {"a/b/script", "a"}, {"a", "a"}, {"missing", "a"}};
    struct err err = {0};
    struct tree tree;

    (void) state;
    make_tree(&tree);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err refused = {0};

        assert_true(hold_as(&tree, POLICY_PLACE_STAYS, bad[i].name, bad[i].text, &refused) < 0);
        assert_string_equal(refused.id, "fence.guard-place");
    }
    (void) close(tree.holder_fd); /* with what they held */
    tree.holder_fd = open(path, O_RDWR | O_CLOEXEC);
    assert_false(is_run(&tree, "link"));
    assert_int_equal(hold_as(&tree, POLICY_PLACE_STAYS, "link", "a", &err), 0);
    assert_true(is_run(&tree, "link"));
    assert_true(is_run(&tree, "."));
    assert_false(is_run(&tree, "a")); /* what it leads to has a place of its own, or stays free */
    remove_tree(&tree);
}

static void a_way_has_bounds(void **state)
{
    char deep[2 * 300 + 1] = "a";
    struct err err = {0};
    struct tree tree;
    int at_fd;

    (void) state;
    make_tree(&tree);
    at_fd = openat(tree.top_fd, "a/beside", O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void) snprintf(deep, sizeof deep, "a/beside");
    for (size_t i = 0; i < 260; i++) {
        const int below_fd = mkdirat(at_fd, "d", 0755) < 0
                                 ? -1
                                 : openat(at_fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);

        assert_true(below_fd >= 0);
        (void) close(at_fd);
        at_fd = below_fd;
        (void) snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "/d");
    }
    (void) close(at_fd);
    assert_int_equal(hold_over(&tree, deep, &err), -E2BIG);
    for (size_t i = 0; i < 260; i++) {
        assert_int_equal(unlinkat(tree.top_fd, deep, AT_REMOVEDIR), 0);
        deep[strlen(deep) - 2] = '\0';
    }
    remove_tree(&tree);
}

/* A call that was asked about before is done before it is held. */
static void holding_waits_for_calls(void **state)
{
    struct other inside = start(SHARED | SEATED);
    struct err err = {0};
    struct tree tree;
    int said[2];
    char word = 'h';
    pid_t pid;

    (void) state;
    make_tree(&tree);
    assert_true(hears(&inside, LATE_MS));
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (hold_over(&tree, "a/b/script", &err) < 0)
            _exit(1);
        _exit(write(said[1], &word, 1) == 1 ? 0 : 1);
    }
    (void) close(said[1]);
    {
        const struct other holder = {.said_fd = said[0]};

        assert_false(hears(&holder, SOON_MS));
        tell(&inside);
        assert_true(hears(&holder, LATE_MS));
    }
    (void) close(said[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    end(&inside, false);
    remove_tree(&tree);
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
        cmocka_unit_test(seats_of_a_later_board_are_seen),
        cmocka_unit_test(a_board_is_not_made_beside_the_one),
        cmocka_unit_test(the_way_to_what_runs_is_held),
        cmocka_unit_test(what_was_replaced_is_not_held),
        cmocka_unit_test(a_symlink_stays_with_its_text),
        cmocka_unit_test(a_way_has_bounds),
        cmocka_unit_test(holding_waits_for_calls),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
