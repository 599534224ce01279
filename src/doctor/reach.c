/* The boundary on what is no file: sockets, processes, namespaces, time. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- sockets -------------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_un local;
};

static int listen_at(int family, union address *address, socklen_t length)
{
    AUTO_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, &address->any, length) < 0 || listen(fd, 8) < 0 ||
        (family == AF_INET && getsockname(fd, &address->any, &length) < 0))
        return -errno;
    return TAKE_FD(fd);
}

/* A connection that was made waits to be taken, also when the one who made it is gone. */
static bool was_reached(void *context, const struct doctor_outcome *outcome)
{
    const int *listener_fd = context;
    AUTO_CLOSE int peer_fd = accept4(*listener_fd, NULL, NULL, SOCK_CLOEXEC);

    (void) outcome;
    return peer_fd >= 0;
}

static void no_listener(struct doctor_finding *finding, int r)
{
    doctor_say(finding, DOCTOR_UNSEEN, "cannot listen outside: %s", strerrordesc_np(-r));
}

void doctor_check_tcp(const struct doctor_world *world, struct doctor_finding *finding)
{
    union address address = {
        .in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    AUTO_CLOSE int listener_fd = listen_at(AF_INET, &address, sizeof address.in);
    char port[16];
    const char *const words[] = {"tcp", port, NULL};
    const struct doctor_breakout breakout = {{.words = words}, was_reached, &listener_fd, NULL};

    (void) snprintf(port, sizeof port, "%u", (unsigned) ntohs(address.in.sin_port));
    if (listener_fd < 0)
        no_listener(finding, listener_fd);
    else
        doctor_breakout_try(world, &breakout, finding);
}

void doctor_check_abstract(const struct doctor_world *world, struct doctor_finding *finding)
{
    union address address = {.local = {.sun_family = AF_UNIX}};
    AUTO_CLOSE int listener_fd = -1;
    char name[64];
    const char *const words[] = {"abstract", name, NULL};
    const struct doctor_breakout breakout = {{.words = words}, was_reached, &listener_fd, NULL};
    const int length = snprintf(name, sizeof name, "wattle-doctor-%s", world->token);

    memcpy(address.local.sun_path + 1, name, (size_t) length);
    listener_fd =
        listen_at(AF_UNIX, &address,
                  (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t) length);
    if (listener_fd < 0)
        no_listener(finding, listener_fd);
    else
        doctor_breakout_try(world, &breakout, finding);
}

void doctor_check_unix(const struct doctor_world *world, struct doctor_finding *finding)
{
    union address address = {.local = {.sun_family = AF_UNIX, .sun_path = "socket"}};
    AUTO_CLOSE int listener_fd = -1;
    char path[DOCTOR_PATH_BYTES];
    const char *const words[] = {"unix", path, NULL};
    const struct doctor_trial opened = {.words = words, .unix_socket = path};
    const struct doctor_breakout breakout = {{.words = words}, was_reached, &listener_fd, &opened};

    if (doctor_file(world->outside, "socket", NULL, path) < 0 || chdir(world->outside) < 0) {
        doctor_say(finding, DOCTOR_UNSEEN, "cannot use the temporary folder");
        return;
    }
    listener_fd = listen_at(AF_UNIX, &address, sizeof address.local);
    if (listener_fd < 0)
        no_listener(finding, listener_fd);
    else
        doctor_breakout_try(world, &breakout, finding);
}

/* ---- processes ------------------------------------------------------------------------------ */

struct victim {
    pid_t pid;
    char number[16]; /* of it, as a word of the attempt */
};

/* It blocks the signal, so that one that was sent stays to be seen. */
static bool start_victim(struct victim *victim)
{
    sigset_t set, before;

    (void) sigemptyset(&set);
    (void) sigaddset(&set, SIGTERM);
    (void) sigprocmask(SIG_BLOCK, &set, &before);
    victim->pid = fork();
    if (victim->pid == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            (void) pause();
    }
    (void) sigprocmask(SIG_SETMASK, &before, NULL);
    (void) snprintf(victim->number, sizeof victim->number, "%d", (int) victim->pid);
    return victim->pid > 0;
}

static void end_victim(struct victim *victim)
{
    if (victim->pid <= 0)
        return;
    (void) kill(victim->pid, SIGKILL);
    (void) waitpid(victim->pid, NULL, 0);
    victim->pid = -1;
}

static bool has_pending(pid_t pid, int signal)
{
    AUTO(buf_free) struct buf text = {0};
    char path[64];
    const char *line;

    buf_init(&text, 65536);
    (void) snprintf(path, sizeof path, "/proc/%d/status", (int) pid);
    if (fd_read_file(AT_FDCWD, path, &text) < 0)
        return true; /* it is gone */
    line = strstr(text.bytes, "\nShdPnd:");
    return line == NULL ||
           (strtoull(line + strlen("\nShdPnd:"), NULL, 16) >> (signal - 1) & 1) != 0;
}

/* And takes another one for the next time. */
static bool was_signalled(void *context, const struct doctor_outcome *outcome)
{
    struct victim *victim = context;
    const bool was = has_pending(victim->pid, SIGTERM);

    (void) outcome;
    if (!was)
        return false;
    end_victim(victim);
    (void) !start_victim(victim);
    return true;
}

void doctor_check_signal(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct victim victim;
    const char *const words[] = {"signal", victim.number, NULL};
    const struct doctor_breakout breakout = {{.words = words}, was_signalled, &victim, NULL};

    if (!start_victim(&victim))
        doctor_say(finding, DOCTOR_UNSEEN, "cannot start a process");
    else
        doctor_breakout_try(world, &breakout, finding);
    end_victim(&victim);
}

/* Starts `wattle doctor attempt stay TOKEN` and waits until it is there. */
static pid_t start_staying(const struct doctor_world *world, char *token)
{
    char doctor[] = "doctor", attempt[] = "attempt", stay[] = "stay";
    char *const argv[] = {world->program, doctor, attempt, stay, token, NULL};
    int ends[2];
    char byte;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (dup2(ends[1], STDOUT_FILENO) >= 0)
            (void) execv(world->program, argv);
        _exit(127);
    }
    (void) close(ends[1]);
    if (pid > 0 && read(ends[0], &byte, 1) != 1) {
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
        pid = -1;
    }
    (void) close(ends[0]);
    return pid;
}

void doctor_check_see(const struct doctor_world *world, struct doctor_finding *finding)
{
    char token[sizeof world->token];
    const char *const words[] = {"see", "stay", NULL};
    const struct doctor_breakout breakout = {{.words = words}, doctor_shows_text, token, NULL};
    struct victim staying = {0};

    memcpy(token, world->token, sizeof token);
    staying.pid = start_staying(world, token);
    if (staying.pid < 0)
        doctor_say(finding, DOCTOR_UNSEEN, "cannot start a process");
    else
        doctor_breakout_try(world, &breakout, finding);
    end_victim(&staying);
}

/* ---- namespaces ----------------------------------------------------------------------------- */

static bool got_it(void *context, const struct doctor_outcome *outcome)
{
    (void) context;
    return outcome->got;
}

void doctor_check_nesting(const struct doctor_world *world, struct doctor_finding *finding)
{
    static const char *const words[] = {"user-namespace", NULL};
    const struct doctor_breakout breakout = {{.words = words}, got_it, NULL, NULL};

    doctor_breakout_try(world, &breakout, finding);
}

/* ---- time ----------------------------------------------------------------------------------- */

/* The daemon holds a lock while it lives. The kernel names its holder in our own numbers. */
static bool lives_on(void *context, const struct doctor_outcome *outcome)
{
    const char *path = context;
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    (void) outcome;
    if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return false;
    if (lock.l_pid > 1)
        (void) kill(lock.l_pid, SIGKILL);
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void) fcntl(fd, F_SETLKW, &lock); /* it is gone when we have it */
    return true;
}

void doctor_check_daemon(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES];
    const char *const words[] = {"daemon", path, NULL};
    const struct doctor_breakout breakout = {{.words = words}, lives_on, path, NULL};

    if (doctor_file(world->pen, "lock", NULL, path) < 0)
        doctor_say(finding, DOCTOR_UNSEEN, "cannot use the temporary folder");
    else
        doctor_breakout_try(world, &breakout, finding);
}
