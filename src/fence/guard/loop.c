/* The guard's threads: take a call, read it, have it performed, answer. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_BROKEN 125
#define NO (-1)
#define STACK_BYTES (192u << 10)
#define NOTICE_ROOM 512 /* for the kernel's struct, which may grow */

/* ---- the calls --------------------------------------------------------------------------------
 */

#define OPEN guard_perform_open
#define MAKE guard_perform_make
#define RENAME guard_perform_rename
#define LINK guard_perform_link
#define UNLINK guard_perform_unlink
#define CHMOD guard_perform_chmod
#define ATTRIBUTE guard_perform_attribute

/* number, name, folders, strings, flags, mode, gives a descriptor, who. For mknod the device stands
 * for flags. The name is also what a report says. */
static const struct guard_row rows[] = {
    {SYS_openat, "open", {0, NO}, {1, NO}, 2, 3, true, OPEN},
    {SYS_mkdirat, "mkdir", {0, NO}, {1, NO}, NO, 2, false, MAKE},
    {SYS_mknodat, "mknod", {0, NO}, {1, NO}, 3, 2, false, MAKE},
    {SYS_symlinkat, "symlink", {NO, 1}, {0, 2}, NO, NO, false, MAKE},
    {SYS_linkat, "link", {0, 2}, {1, 3}, 4, NO, false, LINK},
    {SYS_renameat2, "rename", {0, 2}, {1, 3}, 4, NO, false, RENAME},
    {SYS_unlinkat, "unlink", {0, NO}, {1, NO}, 2, NO, false, UNLINK},
    {SYS_fchmodat, "chmod", {0, NO}, {1, NO}, NO, 2, false, CHMOD},
    {452 /* fchmodat2 */, "chmod", {0, NO}, {1, NO}, 3, 2, false, CHMOD},
    {SYS_fchmod, "chmod", {NO, NO}, {NO, NO}, NO, 1, false, guard_perform_fchmod},
    {SYS_setxattr, "setxattr", {NO, NO}, {0, NO}, NO, NO, false, ATTRIBUTE},
    {SYS_lsetxattr, "setxattr", {NO, NO}, {0, NO}, NO, NO, false, ATTRIBUTE},
    {SYS_fsetxattr, "setxattr", {NO, NO}, {NO, NO}, NO, NO, false, ATTRIBUTE},
    {463 /* setxattrat */, "setxattr", {0, NO}, {1, NO}, 2, NO, false, ATTRIBUTE},
    {SYS_removexattr, "removexattr", {NO, NO}, {0, NO}, NO, NO, false, ATTRIBUTE},
    {SYS_lremovexattr, "removexattr", {NO, NO}, {0, NO}, NO, NO, false, ATTRIBUTE},
    {SYS_fremovexattr, "removexattr", {NO, NO}, {NO, NO}, NO, NO, false, ATTRIBUTE},
    {466 /* removexattrat */, "removexattr", {0, NO}, {1, NO}, 2, NO, false, ATTRIBUTE},
    {SYS_truncate, "truncate", {NO, NO}, {0, NO}, NO, NO, false, guard_perform_truncate},
    {SYS_bind, "bind", {NO, NO}, {NO, NO}, NO, NO, false, guard_perform_bind},
#ifdef SYS_renameat
    {SYS_renameat, "rename", {0, 2}, {1, 3}, NO, NO, false, RENAME},
#endif
#ifdef SYS_open
    {SYS_open, "open", {NO, NO}, {0, NO}, 1, 2, true, OPEN},
    {SYS_creat, "open", {NO, NO}, {0, NO}, NO, 1, true, guard_perform_creat},
    {SYS_mkdir, "mkdir", {NO, NO}, {0, NO}, NO, 1, false, MAKE},
    {SYS_mknod, "mknod", {NO, NO}, {0, NO}, 2, 1, false, MAKE},
    {SYS_symlink, "symlink", {NO, NO}, {0, 1}, NO, NO, false, MAKE},
    {SYS_link, "link", {NO, NO}, {0, 1}, NO, NO, false, LINK},
    {SYS_rename, "rename", {NO, NO}, {0, 1}, NO, NO, false, RENAME},
    {SYS_unlink, "unlink", {NO, NO}, {0, NO}, NO, NO, false, UNLINK},
    {SYS_rmdir, "rmdir", {NO, NO}, {0, NO}, NO, NO, false, UNLINK},
    {SYS_chmod, "chmod", {NO, NO}, {0, NO}, NO, 1, false, CHMOD},
#endif
};

static const struct guard_row *find_row(int number)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].number == number)
            return &rows[i];
    }
    return NULL;
}

/* ---- answers ----------------------------------------------------------------------------------
 */

bool guard_is_waiting(const struct guard *guard, uint64_t id)
{
    return ioctl(guard->settings.listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Fails for a task that is gone: nobody is there to be told. */
static void send_answer(const struct guard *guard, const struct seccomp_notif_resp *answer)
{
    if (ioctl(guard->settings.listener_fd, SECCOMP_IOCTL_NOTIF_SEND, answer) < 0 &&
        errno != ENOENT && errno != EINPROGRESS)
        _exit(EXIT_BROKEN);
}

void guard_answer(const struct guard *guard, uint64_t id, int64_t value, int error)
{
    const struct seccomp_notif_resp answer = {.id = id, .val = value, .error = error};

    send_answer(guard, &answer);
}

void guard_answer_fd(const struct guard *guard, uint64_t id, int fd, bool cloexec)
{
    const struct seccomp_notif_addfd add = {
        .id = id,
        .srcfd = (uint32_t) fd,
        .newfd_flags = cloexec ? O_CLOEXEC : 0,
    };
    int number = ioctl(guard->settings.listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

    if (number < 0)
        number = -errno;
    (void) close(fd);
    if (number >= 0)
        guard_answer(guard, id, number, 0);
    else
        guard_answer(guard, id, 0, number);
}

/* ---- one call ---------------------------------------------------------------------------------
 */

static int read_arguments(struct guard_call *call)
{
    const struct guard_row *row = call->row;
    const bool both =
        row->path[1] != NO &&
        guard_read_two(call->tid, (uint64_t[2]){call->args[row->path[0]], call->args[row->path[1]]},
                       call->path);

    for (size_t i = 0; i < 2; i++) {
        int r;

        call->dir_fd[i] = row->dir[i] == NO ? AT_FDCWD : (int) call->args[row->dir[i]];
        if (row->path[i] == NO || both)
            continue;
        r = guard_read_string(call->tid, call->args[row->path[i]], call->path[i], PATH_MAX);
        if (r < 0)
            return r;
    }
    call->flags = row->flags == NO ? 0 : (unsigned) call->args[row->flags];
    call->mode = row->mode == NO ? 0 : (mode_t) call->args[row->mode] & 07777;
    if (row->perform == guard_perform_make && row->mode != NO)
        call->mode = (mode_t) call->args[row->mode] & 0177777; /* the kind of node is in it */
    return 0;
}

static void serve(struct guard_call *call, const struct seccomp_notif *notice)
{
    int r;

    guard_settle(call, false);
    call->id = notice->id;
    call->tid = (pid_t) notice->pid;
    call->row = find_row(notice->data.nr);
    memcpy(call->args, notice->data.args, sizeof call->args);
    r = call->row == NULL ? -ENOSYS : read_arguments(call);
    if (r == 0)
        r = call->row->perform(call);
    if (r == GUARD_LATER)
        return;
    if (r >= 0 && call->row->gives_fd)
        guard_answer_fd(call->guard, call->id, r, (call->flags & O_CLOEXEC) != 0);
    else
        guard_answer(call->guard, call->id, r < 0 ? 0 : r, r < 0 ? r : 0);
}

/* ---- the threads ------------------------------------------------------------------------------
 */

union notice {
    struct seccomp_notif notice;
    char room[NOTICE_ROOM];
};

/* Each thread has an umask and a current folder of its own, and the filter pid 1 puts on all.
 * Whatever fails here fails before the thread has done anything, and ends the job. */
static void *guard_main(void *context)
{
    struct guard_call *call = context;
    union notice notice;

    if (unshare(CLONE_FS) < 0)
        _exit(EXIT_BROKEN);
    (void) umask(call->umask_now);
    (void) pthread_mutex_lock(&call->guard->gate);
    (void) pthread_mutex_unlock(&call->guard->gate);
    for (;;) {
        if (!guard_turn_is_mine(call))
            guard_turn_wait(call);
        memset(&notice, 0, sizeof notice);
        if (ioctl(call->guard->settings.listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &notice) == 0) {
            guard_turn_begin(call);
            serve(call, &notice.notice);
            guard_turn_end(call);
            continue;
        }
        /* ENOENT: it was killed before it was taken, or the last that wears the filter is gone. */
        if (errno != EINTR && errno != ENOENT)
            _exit(EXIT_BROKEN);
        if (errno == ENOENT) {
            struct pollfd listener = {.fd = call->guard->settings.listener_fd, .events = POLLIN};

            if (poll(&listener, 1, -1) > 0 && (listener.revents & POLLHUP))
                (void) syscall(SYS_exit, 0); /* the whole process is about to end */
        }
    }
}

static int check_kernel(struct err *err)
{
    struct seccomp_notif_sizes sizes = {0};

    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
        sizes.seccomp_notif > NOTICE_ROOM ||
        sizes.seccomp_notif_resp != sizeof(struct seccomp_notif_resp))
        return err_set(err, ENOTSUP, "fence.guard-kernel",
                       "this kernel speaks of calls in a way that is not known");
    return 0;
}

int guard_start_thread(size_t stack_bytes, void *(*run)(void *context), void *context,
                       pthread_t *ret_thread)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return -error;
    (void) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void) pthread_attr_setstacksize(&attributes, stack_bytes);
    error = pthread_create(ret_thread, &attributes, run, context);
    (void) pthread_attr_destroy(&attributes);
    return -error;
}

static int start_thread(struct guard_call *call, struct err *err)
{
    pthread_t thread;
    const int r = guard_start_thread(STACK_BYTES, guard_main, call, &thread);

    return r == 0 ? 0 : err_set(err, -r, "fence.guard-thread", "cannot start the guard");
}

/* The last is used by nobody's thread: guard_finish. */
static void set_up_calls(struct guard *guard)
{
    for (size_t i = 0; i < GUARD_LOCKS; i++) {
        struct guard_call *call = &guard->calls[i];

        call->guard = guard;
        call->lock.fd = guard->settings.lock_fds[i];
        call->lock.board = guard->board;
        call->umask_now = guard->settings.umask;
        call->pidfd = call->known.status_fd = -1;
        if (i < GUARD_THREADS)
            guard_lock_sit(&call->lock, guard->board);
    }
}

/* Makes a waiting task run on the processor of the one that answers: saves a third of the time. */
static void wake_in_step(int listener_fd)
{
    (void) ioctl(listener_fd, KERNEL_SECCOMP_IOCTL_SET_FLAGS, KERNEL_SECCOMP_SYNC_WAKE_UP);
}

int guard_start(const struct guard_settings *settings, struct guard **ret_guard, struct err *err)
{
    struct guard *guard = calloc(1, sizeof *guard);
    int r;

    if (guard == NULL)
        return err_memory(err);
    guard->settings = *settings;
    guard->pid = getpid();
    (void) pthread_mutex_init(&guard->gate, NULL);
    (void) pthread_mutex_lock(&guard->gate);
    (void) pthread_mutex_init(&guard->denied_mutex, NULL);
    (void) pthread_mutex_init(&guard->made_mutex, NULL);
    (void) pthread_mutex_init(&guard->blocked_mutex, NULL);
    (void) pthread_cond_init(&guard->blocked_some, NULL);
    guard_catch_interrupts();
    wake_in_step(settings->listener_fd);
    guard->fds_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    r = guard->fds_fd < 0 ? err_set(err, errno, "fence.guard-proc", "cannot open '/proc/self/fd'")
                          : check_kernel(err);
    if (r == 0)
        r = guard_lock_map(settings->lock_fds[0], &guard->board);
    if (r < 0 && err->code == 0)
        (void) err_set(err, -r, "fence.guard-lock", "cannot have the guard's lock in memory");
    if (r == 0)
        set_up_calls(guard);
    for (unsigned i = 0; r == 0 && i < GUARD_THREADS; i++)
        r = start_thread(&guard->calls[i], err);
    if (r < 0)
        return r; /* what is left of it ends with the process */
    *ret_guard = guard;
    return 0;
}

void guard_go(struct guard *guard)
{
    if (guard != NULL)
        (void) pthread_mutex_unlock(&guard->gate);
}

struct guard_end guard_finish(struct guard *guard)
{
    struct guard_end end = {.denied = 0};

    if (guard == NULL)
        return end;
    guard_settle(&guard->calls[GUARD_THREADS], true);
    (void) pthread_mutex_lock(&guard->denied_mutex);
    end.denied = guard->denied_count;
    (void) pthread_mutex_unlock(&guard->denied_mutex);
    end.made = atomic_load(&guard->has_recorded);
    return end;
}
