/* What the job gets as descriptors 0, 1 and 2.
 *
 * Pipes pass. A regular file, a socket or a device would give the job more than bytes: through
 * /proc/self/fd/1 it could open the caller's log again and truncate it, and a socket is a channel
 * to whoever is at its other end. Those are relayed by pipes; a folder is refused. */
#include "base/cleanup.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum stdio_way { WAY_NULL, WAY_PASS, WAY_RELAY, WAY_REFUSE };

static enum stdio_way way_of(int fd, const struct stat *status)
{
    switch (status->st_mode & S_IFMT) {
    case S_IFIFO:
        return WAY_PASS;
    case S_IFREG:
    case S_IFSOCK:
        return WAY_RELAY;
    case S_IFCHR:
        return status->st_rdev == makedev(1, 3) ? WAY_NULL : WAY_RELAY;
    default:
        (void) fd;
        return WAY_REFUSE;
    }
}

static const char *const names[] = {"stdin", "stdout", "stderr"};

static int look(int fd, struct stat *status, enum stdio_way *ret_way, struct err *err)
{
    if (fstat(fd, status) < 0) {
        memset(status, 0, sizeof *status);
        *ret_way = WAY_NULL; /* closed by the caller */
        return 0;
    }
    *ret_way = way_of(fd, status);
    if (fd == STDIN_FILENO && run_terminal_in_background())
        *ret_way = WAY_NULL; /* reading it would stop us, and a job that may read nothing as well */
    if (*ret_way != WAY_REFUSE)
        return 0;
    (void) err_set(err, EINVAL, "job.stdio", "%s is a folder or a block device", names[fd]);
    return err_hint(err, "give the command a pipe, a file, a terminal or /dev/null as %s",
                    names[fd]);
}

/* A pipe whose end `job_end` goes to the job; ours is non-blocking. */
static int make_pipe(int *ret_ours, int *ret_theirs, int job_end, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, errno, "job.pipe", "cannot make a pipe");
    *ret_theirs = ends[job_end];
    *ret_ours = ends[1 - job_end];
    if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
        return err_set(err, errno, "job.pipe", "cannot set up a pipe");
    return 0;
}

static int relay_input(struct run_stdio *stdio, struct err *err)
{
    int ours = -1;
    const int r = make_pipe(&ours, &stdio->job_fds[0], 0, err);

    stdio->in = (struct relay){.from = STDIN_FILENO, .to = ours, .close_to = true};
    return r < 0 ? r : relay_open(&stdio->in, err);
}

static int relay_output(struct relay *relay, int *ret_job_fd, int to, struct err *err)
{
    int ours = -1;
    const int r = make_pipe(&ours, ret_job_fd, 1, err);

    *relay = (struct relay){.from = ours, .to = to, .close_from = true};
    return r < 0 ? r : relay_open(relay, err);
}

static int open_kept(struct run_stdio *stdio, struct job_output *output, struct err *err)
{
    const int r = relay_output(&stdio->out, &stdio->job_fds[1], -1, err);

    if (r < 0)
        return r;
    stdio->out.output = output;
    stdio->job_fds[2] = stdio->job_fds[1];
    return 0;
}

static bool same_object(const struct stat *a, const struct stat *b)
{
    return a->st_mode != 0 && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Through one pipe when both are the same object: the order of lines stays. */
static int open_outputs(struct run_stdio *stdio, const struct stat *status,
                        const enum stdio_way *ways, struct err *err)
{
    int r = 0;

    if (ways[2] == WAY_PASS)
        stdio->job_fds[2] = STDERR_FILENO;
    else if (ways[2] == WAY_RELAY)
        r = relay_output(&stdio->err, &stdio->job_fds[2], STDERR_FILENO, err);
    if (r < 0)
        return r;
    if (ways[2] != WAY_NULL && same_object(&status[1], &status[2]))
        stdio->job_fds[1] = stdio->job_fds[2];
    else if (ways[1] == WAY_PASS)
        stdio->job_fds[1] = STDOUT_FILENO;
    else if (ways[1] == WAY_RELAY)
        r = relay_output(&stdio->out, &stdio->job_fds[1], STDOUT_FILENO, err);
    return r;
}

int run_stdio_open(struct run_stdio *stdio, const struct job_request *request,
                   struct job_result *result, struct err *err)
{
    struct stat status[3];
    enum stdio_way ways[3];
    int r = 0;

    *stdio = (struct run_stdio){.job_fds = {-1, -1, -1},
                                .in = {.from = -1, .to = -1},
                                .out = {.from = -1, .to = -1},
                                .err = {.from = -1, .to = -1},
                                .flags = {-1, -1, -1},
                                .peek_fd = -1};
    if (request->output != NULL)
        return open_kept(stdio, request->output, err);
    for (int fd = 0; r == 0 && fd < 3; fd++)
        r = look(fd, &status[fd], &ways[fd], err);
    if (r < 0)
        return r;
    if (request->keep_tail && ways[2] == WAY_PASS)
        ways[2] = WAY_RELAY;
    if (ways[0] == WAY_PASS)
        stdio->job_fds[0] = STDIN_FILENO;
    else if (ways[0] == WAY_RELAY)
        r = relay_input(stdio, err);
    for (int fd = 0; fd < 3; fd++) {
        if (ways[fd] == WAY_PASS)
            stdio->flags[fd] = fcntl(fd, F_GETFL);
    }
    if (ways[0] == WAY_RELAY && S_ISREG(status[0].st_mode)) {
        stdio->file_start = lseek(STDIN_FILENO, 0, SEEK_CUR);
        stdio->peek_fd = fcntl(stdio->job_fds[0], F_DUPFD_CLOEXEC, 3);
    }
    if (r == 0)
        r = open_outputs(stdio, status, ways, err);
    if (request->keep_tail)
        stdio->err.tail_of = result;
    return r;
}

static void close_job_end(struct run_stdio *stdio, int index)
{
    const int fd = stdio->job_fds[index];

    for (int other = 0; other < 3; other++) {
        if (stdio->job_fds[other] == fd)
            stdio->job_fds[other] = -1;
    }
    if (fd > STDERR_FILENO)
        (void) close(fd); /* the caller's own 0, 1 and 2 stay open */
}

void run_stdio_close_job_ends(struct run_stdio *stdio)
{
    for (int i = 0; i < 3; i++) {
        if (stdio->job_fds[i] >= 0)
            close_job_end(stdio, i);
    }
}

/* A file that several commands read in turn ("while read line; do wattle run ...; done <list") then
 * goes on where the job stopped reading, not where we did. */
void run_stdio_give_back(struct run_stdio *stdio)
{
    int unread = 0;
    int64_t at;

    if (stdio->peek_fd < 0 || ioctl(stdio->peek_fd, FIONREAD, &unread) < 0)
        return;
    at = lseek(STDIN_FILENO, 0, SEEK_CUR) - unread - (int64_t) relay_left(&stdio->in);
    if (at < stdio->file_start)
        at = stdio->file_start; /* the job may have put bytes of its own into the pipe */
    (void) lseek(STDIN_FILENO, at, SEEK_SET);
}

/* Flags of an open file are shared with whoever else has it: a job's O_NONBLOCK ends with the job.
 */
static void restore_flags(const struct run_stdio *stdio)
{
    for (int fd = 0; fd < 3; fd++) {
        if (stdio->flags[fd] >= 0 && fcntl(fd, F_GETFL) != stdio->flags[fd])
            (void) fcntl(fd, F_SETFL, stdio->flags[fd]);
    }
}

void run_stdio_close(struct run_stdio *stdio)
{
    restore_flags(stdio);
    cleanup_close(&stdio->peek_fd);
    run_stdio_close_job_ends(stdio);
    relay_close(&stdio->in);
    relay_close(&stdio->out);
    relay_close(&stdio->err);
}
