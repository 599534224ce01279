#include "host/child.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- start ----------------------------------------------------------------------------------- */

/* Each of these fails for want of memory only, or never. */
static int set_descriptors(posix_spawn_file_actions_t *actions, int fd)
{
    int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_RDWR, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, fd, CHILD_FD);
    return r == 0 ? posix_spawn_file_actions_addchdir_np(actions, "/") : r;
}

static int set_rest(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    int r;

    (void) sigfillset(&all);
    (void) sigemptyset(&none);
    r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                 POSIX_SPAWN_SETSIGMASK);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &all);
    return r == 0 ? posix_spawnattr_setsigmask(attributes, &none) : r;
}

/* An errno. */
static int spawn(const struct child_start *start, pid_t *ret_pid)
{
    char *env[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = set_descriptors(&actions, start->fd);
        if (r == 0)
            r = set_rest(&attributes);
        if (r == 0)
            r = posix_spawn(ret_pid, start->program, &actions, &attributes, start->argv, env);
        (void) posix_spawnattr_destroy(&attributes);
    }
    (void) posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct child *child = (struct child *) poll;

    (void) status;
    (void) events;
    if (waitpid(child->pid, NULL, WNOHANG) == 0)
        return;
    (void) uv_poll_stop(poll);
    child->on_exited(child);
}

/* Whose end could not be told is ended. */
static int watch(struct child *child, const struct child_start *start)
{
    int r;

    child->pidfd = (int) syscall(SYS_pidfd_open, child->pid, 0);
    if (child->pidfd < 0)
        return errno;
    r = uv_poll_init(start->loop, &child->poll, child->pidfd);
    if (r < 0) {
        cleanup_close(&child->pidfd);
        return -r;
    }
    child->on_exited = start->on_exited;
    (void) uv_poll_start(&child->poll, UV_READABLE, on_readable); /* fails for a closed one only */
    return 0;
}

int child_begin(struct child *child, const struct child_start *start, struct err *err)
{
    int r = spawn(start, &child->pid);

    if (r != 0)
        return err_set(err, r, "host.worker", "cannot start '%s'", start->program);
    r = watch(child, start);
    if (r == 0)
        return 0;
    (void) kill(child->pid, SIGKILL);
    (void) waitpid(child->pid, NULL, 0);
    return err_set(err, r, "host.worker", "cannot watch '%s'", start->program);
}

void child_close(struct child *child, uv_close_cb on_closed)
{
    uv_close((uv_handle_t *) &child->poll, on_closed);
    cleanup_close(&child->pidfd); /* it is out of the loop by now */
}
