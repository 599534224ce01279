/* Pid 1 of the job: builds the fence around itself, starts the command, reaps, passes signals on.
 *
 * It dies when the supervisor dies (PDEATHSIG, and the end of the control socket; its own copy of
 * the supervisor's end is closed first, or that end would never come), and with it, by the kernel,
 * everything in its pid namespace. It ends itself when the command has ended.
 *
 * The command is started by vfork: a copied address space costs more than the exec. The child
 * shares memory with pid 1 until then, so it writes nothing but `failure`. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/kernel.h"
#include "base/pages.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_BROKEN 125

/* ---- to the supervisor ------------------------------------------------------------------------
 */

static void tell(const struct init_args *args, const struct init_message *message)
{
    ssize_t n;

    do
        n = send(args->control_fd, message, sizeof *message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t) sizeof *message)
        _exit(EXIT_BROKEN); /* nobody is there to listen: end, and everything with us */
}

static _Noreturn void fail(const struct init_args *args, const struct err *err)
{
    const struct init_message message = {.kind = INIT_FAILED, .err = *err};

    tell(args, &message);
    _exit(EXIT_BROKEN);
}

static void tell_with_fd(const struct init_args *args, const struct init_message *message, int fd)
{
    if (fd_send_with(args->control_fd, message, sizeof *message, fd) < 0)
        _exit(EXIT_BROKEN);
}

/* ---- before the command ------------------------------------------------------------------------
 */

static void tie_to_supervisor(const struct init_args *args)
{
    struct pollfd control = {.fd = args->control_fd, .events = POLLIN};

    (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void) close(args->other_fd);
    /* getppid() is 0 from the start in a new pid namespace; the socket knows. */
    if (poll(&control, 1, 0) > 0 && (control.revents & (POLLHUP | POLLERR)))
        _exit(EXIT_BROKEN);
}

/* /proc/1/cmdline stays readable to the job, and the caller's words may hold secrets. */
static void blank_name(const struct init_args *args)
{
    static const char name[] = "wattle-init";

    (void) prctl(PR_SET_NAME, name);
    if (args->own_argv == NULL || args->own_argv_size < sizeof name)
        return;
    memset(args->own_argv, 0, args->own_argv_size);
    memcpy(args->own_argv, name, sizeof name);
}

static int compare_fds(const void *a, const void *b)
{
    return *(const int *) a - *(const int *) b;
}

static void enter_fence(const struct init_args *args, const int *guard_fds, unsigned *ret_weak)
{
    int keep[5 + GUARD_LOCKS] = {args->control_fd, args->lock_fd};
    size_t count = 2;
    struct err err = {0};

    for (size_t i = 0; i < GUARD_LOCKS; i++) {
        if (guard_fds[i] >= 0)
            keep[count++] = guard_fds[i];
    }

    for (size_t i = 0; i < 3; i++) {
        bool known = args->job_fds[i] < 0;

        for (size_t k = 0; k < count; k++)
            known = known || keep[k] == args->job_fds[i];
        if (!known)
            keep[count++] = args->job_fds[i];
    }
    qsort(keep, count, sizeof keep[0], compare_fds);
    if (fence_enter(args->fence, keep, count, ret_weak, &err) < 0)
        fail(args, &err);
}

static _Noreturn void fail_with(const struct init_args *args, const char *id, const char *what)
{
    struct err err = {0};

    (void) err_set(&err, errno, id, "%s", what);
    fail(args, &err);
}

/* A pty of the job's own /dev/pts. The job gets the slave; the master goes to the supervisor. */
static void make_terminal(const struct init_args *args, int *fds)
{
    const struct init_message message = {.kind = INIT_PTY};
    AUTO_CLOSE int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    const int unlock = 0;
    int slave;

    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
        fail_with(args, "job.tty", "cannot make a terminal inside");
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        fail_with(args, "job.tty", "cannot open the terminal inside");
    (void) tcsetattr(slave, TCSANOW, &args->tty_modes); /* as comfortable as the caller's */
    (void) ioctl(slave, TIOCSWINSZ, &args->tty_size);
    tell_with_fd(args, &message, master);
    for (size_t i = 0; i < 3; i++)
        fds[i] = slave;
}

/* Numbers 0 to 2 are filled in the child by dup2, so the sources must lie above. */
static void lift(const struct init_args *args, const int *given, int *fds)
{
    for (size_t i = 0; i < 3; i++) {
        const int fd = given[i] >= 0
                           ? given[i]
                           : open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);

        fds[i] = given[i] < 0 && fd >= 3 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (fds[i] < 0)
            fail_with(args, "job.stdio", "cannot hand descriptors to the command");
    }
}

/* ---- the command -------------------------------------------------------------------------------
 */

struct start {
    const struct init_args *args;
    const int *fds;
    int guard_fd;           /* where the listener goes; -1: names are not guarded */
    volatile bool guarded;  /* the fence has a guard */
    volatile bool in_guard; /* it was the guard that failed */
    volatile int failure;   /* errno of what failed in the child */
    const char *volatile where;
};

/* Past the C library, which keeps two signals for itself and would leave them ignored where the
 * caller ignores them. All zero is SIG_DFL, no flags, an empty mask: sigaction(2), "C
 * library/kernel differences". */
static void reset_signals(void)
{
    static const uint64_t usual[4];
    sigset_t none;

    for (int signal = 1; signal < _NSIG; signal++)
        (void) syscall(SYS_rt_sigaction, signal, usual, NULL, _NSIG / 8); /* KILL, STOP: refused */
    (void) sigemptyset(&none);
    (void) sigprocmask(SIG_SETMASK, &none, NULL);
}

static int set_descriptors(const struct start *start)
{
    for (int i = 0; i < 3; i++) {
        if (dup2(start->fds[i], i) < 0)
            return -errno;
    }
    if (start->args->tty && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
        return -errno;
    return kernel_close_range(3, ~0u, 0);
}

/* `where` names the step that failed. */
static int prepare_command(struct start *start)
{
    const struct init_args *args = start->args;
    int r = setsid() < 0 ? -errno : 0;

    (void) umask(args->umask);
    reset_signals();
    start->where = "load the guard of";
    start->in_guard = true;
    if (r == 0)
        r = start->guard_fd < 0 ? FENCE_UNGUARDED : fence_enter_guard(args->fence, start->guard_fd);
    if (r < 0)
        return r;
    start->guarded = r != FENCE_UNGUARDED;
    start->in_guard = false;
    start->where = "set up the descriptors of";
    r = set_descriptors(start);
    if (r < 0)
        return r;
    start->where = "load the filter of";
    return fence_enter_command(args->fence, start->guarded);
}

static void run_command(struct start *start)
{
    const struct init_args *args = start->args;
    int r = prepare_command(start);

    if (r >= 0) {
        union {
            const char *const *in;
            char *const *out; /* execve takes what it does not change without const */
        } argv = {.in = args->argv}, envp = {.in = args->envp};

        start->where = "execute";
        (void) execve(args->path, argv.out, envp.out);
        r = -errno;
    }
    start->failure = -r;
}

static pid_t start_command(const struct init_args *args, const int *fds, int guard_fd,
                           bool *ret_guarded)
{
    struct start start = {.args = args, .fds = fds, .guard_fd = guard_fd};
    const pid_t pid = vfork();

    if (pid == 0) {
        run_command(&start);
        _exit(127);
    }
    if (pid < 0)
        fail_with(args, "job.fork", "cannot start a process for the command");
    if (start.failure != 0) {
        struct err err = {0};

        (void) err_set(&err, start.failure, "job.exec", "cannot %s '%s'", start.where, args->path);
        if (start.in_guard)
            (void) err_hint(&err, "run 'wattle doctor'; '--guard detect' goes without");
        fail(args, &err);
    }
    *ret_guarded = start.guarded;
    return pid;
}

/* Of itself pid 1 may open these; whoever is outside may not, since it is not dumpable. */
static void tell_namespaces(const struct init_args *args)
{
    static const char *const names[] = {"/proc/self/ns/user", "/proc/self/ns/mnt"};
    const struct init_message message = {.kind = INIT_NAMESPACE};

    for (size_t i = 0; args->tell_namespaces && i < ARRAY_SIZE(names); i++) {
        AUTO_CLOSE int fd = open(names[i], O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            fail_with(args, "job.hold", "cannot open the job's namespaces");
        tell_with_fd(args, &message, fd);
    }
}

/* ---- the guard ----------------------------------------------------------------------------------
 */

/* The ends of a socket pair for the listener; -1, -1 when names are not guarded. */
static void make_guard_channel(const struct init_args *args, int *ends)
{
    ends[0] = ends[1] = -1;
    if (args->guard_fd < 0)
        return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        fail_with(args, "job.guard", "cannot make a socket pair");
    for (size_t i = 0; i < 2; i++) { /* 0 to 2 are filled in the child */
        const int fd = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);

        if (fd < 0)
            fail_with(args, "job.guard", "cannot make a socket pair");
        (void) close(ends[i]);
        ends[i] = fd;
    }
}

static struct guard *start_guard(const struct init_args *args, struct run_denials *denials,
                                 const int *guard_fds, int channel_fd)
{
    struct guard_settings settings = {
        .umask = args->umask,
        .made = args->made.memory,
        .made_size = args->made.size,
        .reported = args->made.reported,
        .on_denied = run_guard_tell,
        .context = denials,
    };
    struct guard *guard = NULL;
    struct err err = {0};

    memcpy(settings.lock_fds, guard_fds, sizeof settings.lock_fds);
    if (fence_start_guard(args->fence, channel_fd, &settings, &guard, &err) < 0)
        fail(args, &err);
    return guard;
}

/* ---- after it has started -----------------------------------------------------------------------
 */

static void reap(const struct init_args *args, pid_t command, struct guard *guard)
{
    struct init_message message = {.kind = INIT_EXITED};
    pid_t pid;

    while ((pid = waitpid(-1, &message.status, WNOHANG)) > 0) {
        if (pid != command)
            continue;
        message.guard = guard_finish(guard);
        tell(args, &message);
        _exit(0); /* the kernel ends what is left of the job */
    }
}

static void take_order(const struct init_args *args, pid_t command)
{
    struct init_order order;
    const ssize_t n = recv(args->control_fd, &order, sizeof order, MSG_DONTWAIT);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n != (ssize_t) sizeof order)
        _exit(EXIT_BROKEN); /* the supervisor is gone */
    (void) kill(-command, order.signal);
    if (order.signal == SIGTERM || order.signal == SIGHUP)
        (void) kill(-command, SIGCONT); /* a stopped job would not notice */
}

static _Noreturn void serve(const struct init_args *args, pid_t command, struct guard *guard,
                            int signal_fd)
{
    struct pollfd fds[2] = {{.fd = args->control_fd, .events = POLLIN},
                            {.fd = signal_fd, .events = POLLIN}};

    for (;;) {
        struct signalfd_siginfo info;

        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents != 0 && read(signal_fd, &info, sizeof info) > 0)
            reap(args, command, guard);
        if (fds[0].revents != 0)
            take_order(args, command);
    }
}

static int block_signals(const struct init_args *args)
{
    sigset_t all, children;
    int fd;

    (void) sigfillset(&all);
    (void) sigprocmask(SIG_SETMASK, &all, NULL);
    (void) sigemptyset(&children);
    (void) sigaddset(&children, SIGCHLD);
    fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd >= 0 && fd < 3) { /* 0 to 2 are closed again once the command runs */
        const int low = fd;

        fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
        (void) close(low);
    }
    if (fd < 0)
        fail_with(args, "job.signals", "cannot watch the job's processes");
    return fd;
}

/* A reader must see the end of a pipe when the command, not pid 1, closes it. */
static void close_command_ends(const int *given, const int *lifted)
{
    for (size_t i = 0; i < 3; i++) {
        if (given[i] >= 3)
            (void) close(given[i]); /* twice for a shared one: the second finds nothing */
        (void) close(lifted[i]);
    }
    (void) kernel_close_range(0, 2, 0);
}

void init_main(const struct init_args *args)
{
    struct init_message started = {.kind = INIT_STARTED};
    int given[3] = {args->job_fds[0], args->job_fds[1], args->job_fds[2]};
    int fds[3];
    struct run_denials denials = {
        .control_fd = args->control_fd,
        .started = PTHREAD_MUTEX_INITIALIZER,
    };
    struct guard *guard = NULL;
    struct err err = {0};
    int guard_fds[GUARD_LOCKS] = {-1, -1, -1};
    int signal_fd, channel[2];
    bool guarded = false;
    pid_t command;

    tie_to_supervisor(args);
    blank_name(args);
    if (args->guard_fd >= 0 && run_guard_open_again(args->guard_fd, guard_fds, &err) < 0)
        fail(args, &err);
    enter_fence(args, guard_fds, &started.weak);
    tell_namespaces(args);
    signal_fd = block_signals(args);
    if (args->tty)
        make_terminal(args, given);
    lift(args, given, fds);
    if (chdir(policy_cwd(args->policy)) < 0)
        fail_with(args, "job.cwd", "cannot enter the folder to start in");
    make_guard_channel(args, channel);
    (void) pthread_mutex_lock(&denials.started);
    command = start_command(args, fds, channel[1], &guarded);
    close_command_ends(given, fds);
    if (guarded)
        guard = start_guard(args, &denials, guard_fds, channel[0]);
    else
        started.weak |= FENCE_WEAK_GUARD;
    cleanup_close(&channel[0]);
    cleanup_close(&channel[1]);
    if (fence_enter_init(args->fence, &err) < 0)
        fail(args, &err);
    guard_go(guard);
    tell(args, &started);
    (void) pthread_mutex_unlock(&denials.started);
    pages_give_back();
    reap(args, command, guard); /* it may be over already */
    serve(args, command, guard, signal_fd);
}
