/* The loop of the supervisor: one poll over signals, pid 1, its control socket, the caller's
 * control and the bytes in between. Ends when pid 1 is reaped and everything the job wrote is
 * passed on. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/pages.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SLOT_SIGNALS,
    SLOT_CONTROL,
    SLOT_INIT,
    SLOT_CALLER,
    SLOT_HOLD,
    SLOT_RELAYS,
    SLOTS = SLOT_RELAYS + 3
};

/* ---- ending it ----------------------------------------------------------------------------------
 */

static void kill_all(struct run *run)
{
    (void) syscall(SYS_pidfd_send_signal, run->pidfd, SIGKILL, NULL, 0); /* gone already: fine */
}

static void pass_on(struct run *run, int signal)
{
    const struct init_order order = {.signal = signal};

    if (run->exited)
        return;
    if (send(run->control_fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        kill_all(run); /* pid 1 does not listen: nothing gentle is left */
}

static void end_gently(struct run *run, int signal)
{
    if (run->killing || !run->started) {
        run->gave_up = run->killing;
        kill_all(run);
    }
    run->killing = true;
    run->kill_at_ms = clock_ms() + policy_get_limits(run->request->policy)->kill_after_ms;
    pass_on(run, signal);
}

/* ---- signals to the supervisor
 * -------------------------------------------------------------------- */

/* From a terminal that is not the job's: the job stops with us, and goes on with us. */
static void stop_with_job(struct run *run)
{
    pass_on(run, SIGSTOP);
    (void) raise(SIGSTOP);
    pass_on(run, SIGCONT);
}

static void take_signal(struct run *run)
{
    struct signalfd_siginfo info;

    if (read(run->signal_fd, &info, sizeof info) != (ssize_t) sizeof info)
        return;
    switch (info.ssi_signo) {
    case SIGTERM:
    case SIGHUP:
        run->result->stopped = true;
        end_gently(run, (int) info.ssi_signo);
        break;
    case SIGWINCH:
        run_terminal_resize(&run->terminal);
        break;
    case SIGTSTP:
        stop_with_job(run);
        break;
    case SIGCHLD: /* the watch of the terminal, or a child from before our exec */
        break;
    default:
        pass_on(run, (int) info.ssi_signo);
        break;
    }
}

/* ---- pid 1
 * ------------------------------------------------------------------------------------------ */

static int receive(struct run *run, struct init_message *message, int *ret_fd)
{
    const ssize_t n = fd_receive_with(run->control_fd, message, sizeof *message, ret_fd);

    if (n < 0)
        return (int) n;
    return n == (ssize_t) sizeof *message ? 0 : -EPIPE;
}

/* The master is ours alone, so it may be non-blocking; opening it again would make a new pty. */
static int open_terminal(struct run *run, int fd, struct err *err)
{
    int r;

    run->terminal.master_fd = fd;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return err_set(err, errno, "job.tty", "cannot set up the terminal");
    run->stdio.out = (struct relay){.from = fd, .to = STDOUT_FILENO, .tail_of = run->result};
    r = relay_open(&run->stdio.out, err);
    if (r < 0)
        return r;
    run->stdio.in =
        (struct relay){.from = STDIN_FILENO, .to = fcntl(fd, F_DUPFD_CLOEXEC, 3), .close_to = true};
    return relay_open(&run->stdio.in, err);
}

static void start(struct run *run, const struct init_message *message)
{
    const struct job_request *request = run->request;
    unsigned weak = fence_weak(run->fence) | message->weak;

    run->started = true;
    run->guarded = (message->weak & FENCE_WEAK_GUARD) == 0;
    if (!run->cgroup.memory)
        weak |= FENCE_WEAK_MEMORY;
    if (run->cgroup.pids)
        weak &= ~((unsigned) FENCE_WEAK_PROCESSES_NONE | FENCE_WEAK_PROCESSES_RLIMIT);
    if (request->on_start != NULL) {
        const struct job_start job_start = {
            .init_pid = run->init_pid,
            .mechanism = fence_mechanism(run->fence),
            .landlock_abi = fence_landlock_abi(run->fence),
            .weak = weak,
        };

        request->on_start(request->context, &job_start);
    }
    if (run->killing)
        kill_all(run);
    pages_give_back(); /* from here on it mostly sleeps */
}

/* The bytes were pid 1's to write: nothing is believed to end. */
static void pass_denial_on(const struct run *run, struct guard_denial *denial)
{
    const struct job_denial told = {
        .pid = denial->pid,
        .program = denial->program,
        .call = denial->call,
        .path = denial->path,
        .reason = denial->reason,
    };

    denial->program[sizeof denial->program - 1] = '\0';
    denial->call[sizeof denial->call - 1] = '\0';
    denial->path[sizeof denial->path - 1] = '\0';
    denial->reason[sizeof denial->reason - 1] = '\0';
    if (run->request->on_denied != NULL)
        run->request->on_denied(run->request->context, &told);
}

static int take_namespace(struct run *run, int fd, struct err *err)
{
    struct fence_namespaces *namespaces = &run->hold.namespaces;
    int *next = namespaces->user_fd < 0 ? &namespaces->user_fd : &namespaces->mount_fd;

    if (run->hold.policy == NULL || *next >= 0) {
        (void) close(fd);
        return err_set(err, EPROTO, "job.protocol", "pid 1 of the job said something out of turn");
    }
    *next = fd;
    return 0;
}

/* Which message may come in which state; anything else ends the run. */
static int take_message(struct run *run, struct err *err)
{
    struct init_message message;
    AUTO_CLOSE int fd = -1;
    const int r = receive(run, &message, &fd);

    if (r == -EAGAIN || r == -EINTR)
        return 0;
    if (r < 0) { /* the end of pid 1; its status tells the rest */
        cleanup_close(&run->control_fd);
        return 0;
    }
    if (message.kind == INIT_FAILED && !run->started) {
        run->failure = message.err;
        return 0;
    }
    if (message.kind == INIT_PTY && !run->started && run->terminal.used && fd >= 0)
        return open_terminal(run, TAKE_FD(fd), err);
    if (message.kind == INIT_NAMESPACE && !run->started && fd >= 0)
        return take_namespace(run, TAKE_FD(fd), err);
    if (message.kind == INIT_STARTED && !run->started) {
        start(run, &message);
        return 0;
    }
    if (message.kind == INIT_EXITED && run->started && !run->exited) {
        run->exited = true;
        run->result->status = message.status;
        run->result->denied = message.guard.denied;
        run->made_nothing = !message.guard.made;
        return 0;
    }
    if (message.kind == INIT_DENIED && run->started && !run->exited) {
        pass_denial_on(run, &message.denial);
        return 0;
    }
    return err_set(err, EPROTO, "job.protocol", "pid 1 of the job said something out of turn");
}

static int drain_messages(struct run *run, struct err *err)
{
    while (run->control_fd >= 0) {
        struct pollfd fd = {.fd = run->control_fd, .events = POLLIN};
        int r;

        if (poll(&fd, 1, 0) <= 0)
            return 0;
        r = take_message(run, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int reap_init(struct run *run, struct err *err)
{
    int status = 0;
    const int r = drain_messages(run, err);

    if (r < 0)
        return r;
    if (waitpid(run->init_pid, &status, 0) < 0 && errno != ECHILD)
        return err_set(err, errno, "job.wait", "cannot wait for the job");
    run->reaped = true;
    run_stdio_give_back(&run->stdio);
    relay_close(&run->stdio.in);
    if (!run->exited) /* killed before it could report */
        run->result->status = WIFSIGNALED(status) ? status : SIGKILL;
    return 0;
}

/* ---- time to spare ------------------------------------------------------------------------- */

#define IDLE_MS 50

/* A job that lets us wait gives time for what short runs left. */
static void use_the_time(struct run *run)
{
    run->tidy = run->tidy || !run_files_tidy(&run->files);
}

/* ---- the loop
 * ----------------------------------------------------------------------------------------- */

static void ask_caller(struct run *run)
{
    const int answer = run->request->on_control(run->request->context);

    if (answer < 0) {
        run->result->stopped = true;
        kill_all(run);
    } else if (answer == SIGTERM) {
        run->result->stopped = true;
        end_gently(run, SIGTERM);
    } else if (answer > 0) {
        pass_on(run, answer);
    }
}

static int wait_ms(const struct run *run)
{
    const uint64_t now = clock_ms();
    uint64_t at = run->kill_at_ms;

    if (at == 0 || (run->deadline_at_ms != 0 && run->deadline_at_ms < at))
        at = run->deadline_at_ms != 0 ? run->deadline_at_ms : at;
    if (run->started && !run->tidy && !run->reaped && (at == 0 || at > now + IDLE_MS))
        return IDLE_MS;
    if (at == 0)
        return -1;
    if (at <= now)
        return 0;
    return at - now > INT_MAX ? INT_MAX : (int) (at - now);
}

static void check_clock(struct run *run)
{
    const uint64_t now = clock_ms();

    if (run->deadline_at_ms != 0 && now >= run->deadline_at_ms) {
        run->deadline_at_ms = 0;
        run->result->timed_out = !run->exited; /* what is left then is for the reader to take */
        if (!run->exited && !run->killing)
            end_gently(run, SIGTERM);
    }
    if (run->kill_at_ms != 0 && now >= run->kill_at_ms) {
        run->kill_at_ms = 0;
        run->gave_up = true;
        kill_all(run);
    }
}

static size_t fill_slots(const struct run *run, struct pollfd *fds, struct relay **relays,
                         struct relay *const *all)
{
    size_t count = SLOT_RELAYS;

    fds[SLOT_SIGNALS] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
    fds[SLOT_CONTROL] = (struct pollfd){.fd = run->control_fd, .events = POLLIN};
    fds[SLOT_INIT] = (struct pollfd){.fd = run->reaped ? -1 : run->pidfd, .events = POLLIN};
    fds[SLOT_CALLER] = (struct pollfd){.fd = run->request->control_fd, .events = POLLIN};
    fds[SLOT_HOLD] = (struct pollfd){.fd = run->hold.notify_fd, .events = POLLIN};
    for (size_t i = 0; i < 3; i++) {
        if (relay_poll(all[i], &fds[count]) == 0)
            continue;
        relays[count - SLOT_RELAYS] = all[i];
        count++;
    }
    return count;
}

static int turn(struct run *run, struct err *err)
{
    struct relay *const all[3] = {&run->stdio.in, &run->stdio.out, &run->stdio.err};
    struct relay *relays[3];
    struct pollfd fds[SLOTS];
    const size_t count = fill_slots(run, fds, relays, all);
    const int ready = poll(fds, count, wait_ms(run));
    int r = 0;

    if (ready < 0)
        return errno == EINTR ? 0 : err_set(err, errno, "job.poll", "cannot wait for the job");
    if (ready == 0)
        use_the_time(run);
    check_clock(run);
    for (size_t i = SLOT_RELAYS; i < count; i++)
        relay_step(relays[i - SLOT_RELAYS], fds[i].revents);
    if (fds[SLOT_SIGNALS].revents != 0)
        take_signal(run);
    if (fds[SLOT_CALLER].revents != 0)
        ask_caller(run);
    if (fds[SLOT_HOLD].revents != 0)
        run_hold_step(&run->hold);
    if (fds[SLOT_CONTROL].revents != 0)
        r = take_message(run, err);
    if (r == 0 && fds[SLOT_INIT].revents != 0)
        r = reap_init(run, err);
    if (run->reaped) {
        relay_finish(&run->stdio.out);
        relay_finish(&run->stdio.err);
    }
    return r;
}

static bool over(const struct run *run)
{
    if (!run->reaped)
        return false;
    return run->gave_up || (!relay_busy(&run->stdio.out) && !relay_busy(&run->stdio.err));
}

int run_supervise(struct run *run, struct err *err)
{
    const uint64_t deadline_ms = policy_get_limits(run->request->policy)->deadline_ms;
    int r = 0;

    run_files_make_spare(&run->files);
    run->deadline_at_ms = deadline_ms == 0 ? 0 : clock_ms() + deadline_ms;
    while (r == 0 && !over(run))
        r = turn(run, err);
    if (r < 0)
        kill_all(run);
    return r;
}
