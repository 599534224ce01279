/* The job gets a pty of its own; the caller's terminal is never handed in, only its bytes.
 *
 * While the job runs the caller's terminal is in raw mode. A supervisor that is killed cannot put
 * it back, so a small process waits at the end of a pipe and does. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool run_terminal_in_background(void)
{
    const pid_t foreground = tcgetpgrp(STDIN_FILENO);

    return foreground >= 0 && foreground != getpgrp();
}

bool run_terminal_wanted(const struct job_request *request)
{
    if (request->output != NULL || request->tty == JOB_TTY_NO)
        return false;
    if (request->tty == JOB_TTY_YES)
        return true;
    if (run_terminal_in_background())
        return false;
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

int run_terminal_prepare(struct run_terminal *terminal, struct err *err)
{
    *terminal = (struct run_terminal){.watch_fd = -1, .master_fd = -1, .watch_pid = -1};
    terminal->used = true;
    if (tcgetattr(STDIN_FILENO, &terminal->before) < 0) {
        (void) err_set(err, errno, "job.tty", "stdin is not a terminal");
        return err_hint(err, "leave out -t");
    }
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &terminal->size) < 0)
        memset(&terminal->size, 0, sizeof terminal->size); /* unknown size is a size of 0 */
    return 0;
}

static void make_raw(const struct run_terminal *terminal, struct termios *ret_raw)
{
    *ret_raw = terminal->before;
    cfmakeraw(ret_raw);
}

/* Only where the terminal is still as we left it: a shell may have taken it over by now. */
static void restore_if_ours(const struct run_terminal *terminal)
{
    struct termios raw, now;

    make_raw(terminal, &raw);
    if (tcgetattr(STDIN_FILENO, &now) == 0 && now.c_lflag == raw.c_lflag &&
        now.c_iflag == raw.c_iflag && now.c_oflag == raw.c_oflag)
        (void) tcsetattr(STDIN_FILENO, TCSANOW, &terminal->before);
}

static _Noreturn void watch(const struct run_terminal *terminal, int pipe_fd)
{
    sigset_t all;
    char byte;
    ssize_t n;

    (void) sigfillset(&all);
    (void) sigprocmask(SIG_SETMASK, &all, NULL); /* SIGTTOU too: we are in the background by then */
    (void) prctl(PR_SET_NAME, "wattle-tty");
    (void) kernel_close_range(3, (unsigned) pipe_fd - 1, 0);
    (void) kernel_close_range((unsigned) pipe_fd + 1, ~0u, 0);
    do
        n = read(pipe_fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        restore_if_ours(terminal);
    _exit(0);
}

static int start_watch(struct run_terminal *terminal, struct err *err)
{
    AUTO_CLOSE int read_fd = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, errno, "job.tty", "cannot make a pipe");
    read_fd = ends[0];
    terminal->watch_fd = ends[1];
    terminal->watch_pid = fork();
    if (terminal->watch_pid < 0)
        return err_set(err, errno, "job.tty",
                       "cannot start the process that restores the terminal");
    if (terminal->watch_pid == 0) {
        (void) close(ends[1]);
        watch(terminal, read_fd);
    }
    return 0;
}

int run_terminal_enter(struct run_terminal *terminal, struct err *err)
{
    struct termios raw;
    int r;

    if (!terminal->used)
        return 0;
    r = start_watch(terminal, err);
    if (r < 0)
        return r;
    make_raw(terminal, &raw);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return err_set(err, errno, "job.tty", "cannot set the terminal to raw mode");
    terminal->raw = true;
    return 0;
}

void run_terminal_resize(struct run_terminal *terminal)
{
    struct winsize size;

    if (terminal->master_fd >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        (void) ioctl(terminal->master_fd, TIOCSWINSZ, &size); /* the kernel signals the job */
}

void run_terminal_leave(struct run_terminal *terminal)
{
    if (!terminal->used)
        return;
    /* What is still unread was typed for the job, or is the terminal's answer to what it printed.
     */
    if (terminal->raw)
        (void) tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
    terminal->raw = false;
    if (terminal->watch_fd >= 0)
        (void) !write(terminal->watch_fd, "", 1); /* "all is well"; a dead watch is no loss now */
    cleanup_close(&terminal->watch_fd);
    if (terminal->watch_pid > 0)
        (void) waitpid(terminal->watch_pid, NULL, 0);
    terminal->watch_pid = -1;
    cleanup_close(&terminal->master_fd);
}
