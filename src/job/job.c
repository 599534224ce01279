#include "job/job.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "job/run_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_DEADLINE 124
#define EXIT_SIGNAL 128

static void run_close(struct run *run)
{
    if (run->init_pid > 0 && !run->reaped) {
        (void) kill(run->init_pid, SIGKILL);
        (void) waitpid(run->init_pid, NULL, 0);
    }
    run_stdio_close(&run->stdio);
    run_terminal_leave(&run->terminal);
    cleanup_close(&run->control_fd);
    cleanup_close(&run->pidfd);
    cleanup_close(&run->signal_fd);
    cleanup_close(&run->guard_fd);
    made_close(&run->made);
    run_hold_close(&run->hold);
    run_cgroup_remove(&run->cgroup);
    run_files_remove(&run->files);
    fence_freep(&run->fence);
}

/* Signals the caller may have blocked or ignored come to the loop, whatever it left behind. */
static int take_over_signals(struct run *run, sigset_t *ret_before, struct err *err)
{
    static const int signals[] = {SIGTERM, SIGHUP,  SIGINT,   SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP, SIGCHLD};
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t set;

    (void) sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        (void) sigaction(signals[i], &usual, NULL);
        (void) sigaddset(&set, signals[i]);
    }
    (void) sigaddset(&set, SIGPIPE);
    (void) sigprocmask(SIG_BLOCK, &set, ret_before);
    (void) sigdelset(&set, SIGPIPE); /* blocked for the writes, but nothing to pass on */
    run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return run->signal_fd < 0 ? err_set(err, errno, "job.signals", "cannot watch for signals") : 0;
}

static char **make_environment(const struct policy *policy)
{
    const size_t count = policy_envs(policy);
    const char **list = calloc(count + 1, sizeof *list);
    union {
        const char **in;
        char **out; /* the strings stay the policy's */
    } environment = {.in = list};

    for (size_t i = 0; list != NULL && i < count; i++)
        list[i] = policy_env_at(policy, i);
    return environment.out;
}

static void fill_args(const struct run *run, struct init_args *args)
{
    const struct policy_command *command = policy_command(run->request->policy);

    args->fence = run->fence;
    args->policy = run->request->policy;
    args->argv = run->request->argv;
    args->path = command->found != NULL && !command->pinned ? command->found : command->path;
    args->lock_fd = run->files.lock_fd;
    memcpy(args->job_fds, run->stdio.job_fds, sizeof args->job_fds);
    args->guard_fd = run->guard_fd;
    args->made = run->made;
    args->tell_namespaces = run->hold.policy != NULL;
    args->umask = run->umask;
    args->tty = run->terminal.used;
    args->tty_modes = run->terminal.before;
    args->tty_size = run->terminal.size;
    args->own_argv = run->request->own_argv;
    args->own_argv_size = run->request->own_argv_size;
}

static int spawn(struct run *run, struct err *err)
{
    AUTO_FREE char **environment = make_environment(run->request->policy);
    union {
        char **in;
        const char *const *out;
    } envp = {.in = environment};
    struct init_args args = {0};
    int ends[2];
    pid_t pid;

    if (environment == NULL)
        return err_memory(err);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, errno, "job.socket", "cannot make the control socket");
    run->control_fd = ends[0];
    fill_args(run, &args);
    args.envp = envp.out;
    args.control_fd = ends[1];
    args.other_fd = ends[0];
    pid = run_spawn(&args, run->cgroup.fd, &run->pidfd, err);
    (void) close(ends[1]);
    cleanup_close(&run->guard_fd);
    run_stdio_close_job_ends(&run->stdio);
    if (pid < 0)
        return pid;
    run->init_pid = pid;
    return 0;
}

static int prepare(struct run *run, struct err *err)
{
    const struct job_request *request = run->request;
    int r = 0;

    if (run_terminal_wanted(request))
        r = run_terminal_prepare(&run->terminal, err);
    else
        r = run_stdio_open(&run->stdio, request, run->result, err);
    if (r == 0)
        r = run_files_make(&run->files, request, err);
    if (r == 0)
        r = fence_prepare(request->policy, request->mechanism, &run->fence, err);
    if (r == 0 && fence_guards(run->fence))
        r = run->guard_fd = run_guard_open(request, err);
    if (r >= 0 && fence_guards(run->fence) && request->on_made != NULL)
        r = made_open(&run->made, err);
    if (r >= 0)
        r = run_hold_open(&run->hold, request->policy, err);
    if (r >= 0)
        r = run_cgroup_make(&run->cgroup, request->policy, fence_weak(run->fence), run->files.id,
                            err);
    if (r == 0 && run->cgroup.fd >= 0)
        r = run_files_note_cgroup(&run->files, run->cgroup.path, err);
    return r == 0 ? run_terminal_enter(&run->terminal, err) : r;
}

/* How the run ended, in the numbers a shell uses. */
static void conclude(struct job_result *result)
{
    const int status = result->status;

    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->exit_code = result->signal != 0 ? EXIT_SIGNAL + result->signal : WEXITSTATUS(status);
    if (result->timed_out)
        result->exit_code = EXIT_DEADLINE;
}

/* Nobody writes the records any more. */
static int tell_made(const struct run *run, struct err *err)
{
    const struct job_request *request = run->request;
    /* To read the memory is to have a page of it. */
    struct guard_made_reader reader = run->made_nothing
                                          ? (struct guard_made_reader){.complete = true}
                                          : guard_made_read(run->made.memory, run->made.size);
    const struct made_question question = {
        .rules = fence_guards_by(run->fence),
        .reported = run->made.reported,
        .pen = policy_pen(request->policy),
        .look = made_look,
    };

    return made_tell(&question, &reader, request->on_made, request->context, err);
}

static int run_it(struct run *run, struct err *err)
{
    int r = prepare(run, err);

    if (r == 0)
        r = spawn(run, err);
    if (r == 0)
        r = run_supervise(run, err);
    if (r == 0 && run->failure.code != 0) {
        *err = run->failure;
        r = -err->code;
    }
    if (r == 0 && !run->started)
        r = err_set(err, ECANCELED, "job.init-died", "the job was ended before its command ran");
    if (r == 0 && run->guarded && run->made.memory != NULL)
        r = tell_made(run, err);
    return r;
}

int job_run(const struct job_request *request, struct job_result *ret_result, struct err *err)
{
    const uint64_t began_ms = clock_ms();
    struct run run = {
        .request = request,
        .result = ret_result,
        .files = {.lock_fd = -1, .cache_fd = -1, .top_fd = -1},
        .cgroup = {.fd = -1},
        .stdio = {.job_fds = {-1, -1, -1},
                  .in = {.from = -1, .to = -1},
                  .out = {.from = -1, .to = -1},
                  .err = {.from = -1, .to = -1},
                  .flags = {-1, -1, -1},
                  .peek_fd = -1},
        .terminal = {.watch_fd = -1, .master_fd = -1, .watch_pid = -1},
        .umask = umask(077), /* nothing of ours is for others */
        .hold = {.notify_fd = -1, .namespaces = {-1, -1}},
        .control_fd = -1,
        .guard_fd = -1,
        .pidfd = -1,
        .signal_fd = -1,
    };
    struct err ignored = {0};
    sigset_t before;
    int r;

    *ret_result = (struct job_result){0};
    (void) !run_sweep(request->cache_dir, &ignored); /* a later start's matter */
    r = take_over_signals(&run, &before, err);
    if (r == 0)
        r = run_it(&run, err);
    run_close(&run);
    (void) umask(run.umask);
    (void) sigprocmask(SIG_SETMASK, &before, NULL);
    if (r < 0)
        return r;
    conclude(ret_result);
    ret_result->wall_ms = clock_ms() - began_ms;
    return 0;
}
