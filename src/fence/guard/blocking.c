/* Opens that wait: a FIFO for its other side, a terminal for its line. Each has a thread of its
 * own, which holds no lock, and which a watcher wakes when the task is gone or has a signal to
 * take.
 *
 * A call that is interrupted answers ERESTARTSYS, and the kernel then restarts it or answers EINTR,
 * as the program asked with SA_RESTART. That number means something only while the signal is there
 * to be taken; elsewhere the program would see it. So where another thread of the program might
 * have taken the signal, the answer is EINTR. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INTERRUPT SIGUSR1
#define ERESTARTSYS 512
#define STACK_BYTES (64u << 10)
#define WATCH_NS 10000000 /* between two looks at the waiting tasks */
#define STATUS_SIZE 2048

struct guard_blocked {
    struct guard_blocked *next;
    struct guard *guard;
    uint64_t id;
    pid_t tid;
    int fd;
    unsigned flags;
    bool gives_cloexec;
    pthread_t thread;
    atomic_int interrupted; /* 0, or the error to answer */
    unsigned seen;          /* looks in a row that found a signal for the whole process */
};

/* ---- the thread that waits ---------------------------------------------------------------------
 */

static void ignore(int signal)
{
    (void) signal; /* it is there to interrupt */
}

void guard_catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = ignore};

    (void) sigaction(INTERRUPT, &action, NULL);
}

static void let_interrupt(int how)
{
    sigset_t set;

    (void) sigemptyset(&set);
    (void) sigaddset(&set, INTERRUPT);
    (void) pthread_sigmask(how, &set, NULL);
}

static void forget(struct guard_blocked *blocked)
{
    struct guard *guard = blocked->guard;
    struct guard_blocked **at = &guard->blocked;

    (void) pthread_mutex_lock(&guard->blocked_mutex);
    while (*at != blocked)
        at = &(*at)->next;
    *at = blocked->next;
    guard->blocked_count--;
    (void) pthread_mutex_unlock(&guard->blocked_mutex);
    free(blocked);
}

/* The job can send the signal, too: only what the watcher said counts. */
static int wait_and_open(struct guard_blocked *blocked)
{
    char path[GUARD_FD_PATH_SIZE];
    int fd;

    guard_fd_path(blocked->fd, path);
    do {
        if (atomic_load(&blocked->interrupted) != 0)
            return -atomic_load(&blocked->interrupted);
        fd = open(path, (int) blocked->flags | O_CLOEXEC | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

static void *blocked_main(void *context)
{
    struct guard_blocked *blocked = context;
    int fd;

    let_interrupt(SIG_UNBLOCK);
    fd = wait_and_open(blocked);
    let_interrupt(SIG_BLOCK); /* an answer is not to be interrupted */
    cleanup_close(&blocked->fd);
    if (fd >= 0)
        guard_answer_fd(blocked->guard, blocked->id, fd, blocked->gives_cloexec);
    else
        guard_answer(blocked->guard, blocked->id, 0, fd);
    forget(blocked);
    return NULL;
}

/* ---- the watcher -------------------------------------------------------------------------------
 */

static uint64_t mask_of(const char *status, const char *key)
{
    const char *at = strstr(status, key);

    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 16);
}

/* The error to answer when the task has a signal to take, else 0. */
static int look_for_signal(struct guard_blocked *blocked)
{
    char status[STATUS_SIZE];
    uint64_t open;

    if (guard_task_status(blocked->tid, status, sizeof status) < 0)
        return EINTR;
    open = ~(mask_of(status, "\nSigBlk:") | mask_of(status, "\nSigIgn:"));
    if (mask_of(status, "\nSigPnd:") & open)
        return ERESTARTSYS;
    if ((mask_of(status, "\nShdPnd:") & open) == 0) {
        blocked->seen = 0;
        return 0;
    }
    if (strstr(status, "\nThreads:\t1\n") != NULL)
        return ERESTARTSYS;
    return ++blocked->seen > 2 ? EINTR : 0; /* no other thread takes it: it is this one's */
}

static void look_at(struct guard_blocked *blocked)
{
    int error = atomic_load(&blocked->interrupted);

    if (error == 0)
        error = guard_is_waiting(blocked->guard, blocked->id) ? look_for_signal(blocked) : EINTR;
    if (error == 0)
        return;
    atomic_store(&blocked->interrupted, error);
    (void) pthread_kill(blocked->thread, INTERRUPT); /* again each time: it may just not wait yet */
}

static void *watch_main(void *context)
{
    struct guard *guard = context;
    const struct timespec pause = {.tv_nsec = WATCH_NS};

    for (;;) {
        (void) pthread_mutex_lock(&guard->blocked_mutex);
        while (guard->blocked == NULL)
            (void) pthread_cond_wait(&guard->blocked_some, &guard->blocked_mutex);
        for (struct guard_blocked *at = guard->blocked; at != NULL; at = at->next)
            look_at(at);
        (void) pthread_mutex_unlock(&guard->blocked_mutex);
        (void) nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- handing over ------------------------------------------------------------------------------
 */

/* Under the mutex, so that the thread is known before it can forget itself. */
static int add(struct guard *guard, struct guard_blocked *blocked)
{
    pthread_t watcher;
    int r = 0;

    if (guard->blocked_count >= GUARD_BLOCKED_MAX)
        return -EAGAIN;
    if (!guard->watching)
        r = guard_start_thread(STACK_BYTES, watch_main, guard, &watcher);
    if (r < 0)
        return r;
    guard->watching = true;
    r = guard_start_thread(STACK_BYTES, blocked_main, blocked, &blocked->thread);
    if (r < 0)
        return r;
    blocked->next = guard->blocked;
    guard->blocked = blocked;
    guard->blocked_count++;
    (void) pthread_cond_signal(&guard->blocked_some);
    return 0;
}

int guard_open_later(struct guard_call *call, int object_fd, unsigned flags)
{
    AUTO_CLOSE int fd = object_fd;
    struct guard *guard = call->guard;
    struct guard_blocked *blocked = calloc(1, sizeof *blocked);
    int r;

    if (blocked == NULL)
        return -ENOMEM;
    blocked->guard = guard;
    blocked->id = call->id;
    blocked->tid = call->tid;
    blocked->fd = TAKE_FD(fd);
    blocked->flags = flags;
    blocked->gives_cloexec = (call->flags & O_CLOEXEC) != 0;
    (void) pthread_mutex_lock(&guard->blocked_mutex);
    r = add(guard, blocked);
    (void) pthread_mutex_unlock(&guard->blocked_mutex);
    if (r == 0)
        return GUARD_LATER;
    cleanup_close(&blocked->fd);
    free(blocked);
    return r;
}
