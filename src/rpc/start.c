/* Starting the host. It is nobody's child and has nothing of the one who starts it: whose first
 * client it was must make no difference to anybody. */
#include "base/cleanup.h"
#include "base/kernel.h"
#include "rpc/rpc_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_BYTES = 512, EXEC_FAILED = 127 };

/* In the second child. Nothing of the caller stays but the pipe. */
static _Noreturn void become_host(const struct rpc_connect *wish, int ready_fd)
{
    union {
        const char *const *in;
        char *const *out; /* execve takes what it does not change without const */
    } argv = {.in = (const char *const[]){wish->host, wish->folder, NULL}},
      envp = {.in = wish->environment};
    const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    (void) sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        (void) signal(number, SIG_DFL);
    (void) sigprocmask(SIG_SETMASK, &none, NULL);
    (void) umask(077);
    if (null_fd < 0 || chdir("/") < 0)
        _exit(EXEC_FAILED);
    for (int fd = 0; fd < RPC_READY_FD; fd++)
        if (dup2(null_fd, fd) < 0)
            _exit(EXEC_FAILED);
    if (ready_fd == RPC_READY_FD ? fcntl(ready_fd, F_SETFD, 0) < 0
                                 : dup2(ready_fd, RPC_READY_FD) < 0)
        _exit(EXEC_FAILED);
    if (kernel_close_range(RPC_READY_FD + 1, ~0u, 0) == 0)
        (void) execve(wish->host, argv.out, envp.out);
    dprintf(RPC_READY_FD, "%s", strerrordesc_np(errno));
    _exit(EXEC_FAILED);
}

/* Twice, so that the host is the system's child and none of ours stays as a zombie. */
static int spawn(const struct rpc_connect *wish, int ready_fd, struct err *err)
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        const pid_t second = setsid() < 0 ? -1 : fork();

        if (second == 0)
            become_host(wish, ready_fd);
        _exit(second < 0 ? EXEC_FAILED : 0);
    }
    if (pid < 0)
        return err_set(err, errno, "rpc.host-start", "cannot start a process for the host");
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(err, errno, "rpc.host-start", "cannot start the host");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(err, EAGAIN, "rpc.host-start", "cannot start a process for the host");
    return 0;
}

/* The host's one word; an end without one is a failure too. */
static int wait_for_word(int fd, int wait_ms, char *words, size_t size, struct err *err)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t n = -1;
    int r;

    do
        r = poll(&ready, 1, wait_ms);
    while (r < 0 && errno == EINTR);
    if (r > 0)
        n = read(fd, words, size - 1);
    words[n > 0 ? n : 0] = '\0';
    if (n > 0)
        return 0;
    return err_set(err, r == 0 ? ETIMEDOUT : EPIPE, "rpc.host-start", "the host did not start");
}

int rpc_host_start(const struct rpc_connect *wish, int wait_ms, struct err *err)
{
    char words[WORDS_BYTES] = "";
    int ends[2];
    int r;

    if (wish->host == NULL)
        return err_set(err, EINVAL, "rpc.host-missing", "no host is running");
    if (access(wish->host, X_OK) < 0) {
        (void) err_set(err, ENOENT, "rpc.host-missing", "no host is running, and '%s' is not there",
                       wish->host);
        return err_hint(err, "install wattle-host beside wattle ('make install')");
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, errno, "rpc.host-start", "cannot make a pipe");
    r = spawn(wish, ends[1], err);
    (void) close(ends[1]);
    if (r == 0)
        r = wait_for_word(ends[0], wait_ms, words, sizeof words, err);
    (void) close(ends[0]);
    if (r < 0 || strcmp(words, RPC_READY) == 0)
        return r;
    if (strcmp(words, RPC_BUSY) == 0)
        return 1;
    return err_set(err, EINVAL, "rpc.host-start", "the host did not start: %s", words);
}
