/* Checks of namespaces: users, processes, network. */
#include "base/cleanup.h"
#include "doctor/doctor_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { END_LIMIT_MS = 5000 };

/* ---- users ---------------------------------------------------------------------------------- */

struct ids {
    uid_t uid;
    gid_t gid;
};

static int be_oneself(void *context, struct err *err)
{
    const struct ids *ids = context;

    if (geteuid() != ids->uid || getegid() != ids->gid)
        return err_set(err, EINVAL, "doctor.userns", "ids are not the same inside");
    if (sethostname("doctor", 6) < 0)
        return err_set(err, errno, "doctor.userns",
                       "a user namespace can be made, but gives no rights inside");
    return 0;
}

void doctor_check_user(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct ids ids = {geteuid(), getegid()};
    struct doctor_settings settings;
    struct err err = {0};

    (void) world;
    if (doctor_in_namespaces(CLONE_NEWUTS, be_oneself, &ids, &err) == 0) {
        doctor_say(finding, DOCTOR_OK, "made, with uid %u inside as outside", ids.uid);
        return;
    }
    doctor_settings_read("/proc", &settings);
    doctor_say(finding, DOCTOR_MISSING, "%s", err.what);
    doctor_mend(finding, "%s", doctor_settings_mend(&settings));
}

/* ---- processes ------------------------------------------------------------------------------ */

struct daemon {
    int life[2]; /* the write end is open while something lives */
};

static _Noreturn void live_on(int ready_fd)
{
    (void) setsid();
    if (fork() > 0)
        _exit(0);
    (void) signal(SIGTERM, SIG_IGN);
    (void) signal(SIGHUP, SIG_IGN);
    (void) !write(ready_fd, "r", 1);
    (void) alarm(END_LIMIT_MS * 4 / 1000); /* should it really live on */
    for (;;)
        (void) pause();
}

/* pid 1: leaves a daemon behind and ends. */
static int leave_daemon(void *context, struct err *err)
{
    struct daemon *daemon = context;
    int ready[2];
    char byte;
    pid_t pid;

    (void) close(daemon->life[0]);
    if (pipe2(ready, O_CLOEXEC) < 0)
        return err_set(err, errno, "doctor.pipe", "cannot make a pipe");
    pid = fork();
    if (pid == 0)
        live_on(ready[1]);
    (void) close(ready[1]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1)
        return err_set(err, ECHILD, "doctor.fork", "cannot start a process in a pid namespace");
    return getpid() == 1 ? 0 : err_set(err, EINVAL, "doctor.pid", "the first process is not pid 1");
}

void doctor_check_pids(const struct doctor_world *world, struct doctor_finding *finding)
{
    struct daemon daemon;
    struct err err = {0};
    struct pollfd fd = {.events = POLLIN};
    int r;

    (void) world;
    if (pipe2(daemon.life, O_CLOEXEC) < 0)
        return;
    r = doctor_in_namespaces(CLONE_NEWPID, leave_daemon, &daemon, &err);
    (void) close(daemon.life[1]);
    fd.fd = daemon.life[0];
    if (r < 0)
        doctor_fail(finding, DOCTOR_MISSING, &err);
    else if (poll(&fd, 1, END_LIMIT_MS) != 1 || (fd.revents & POLLHUP) == 0)
        doctor_say(finding, DOCTOR_MISSING, "a process outlived pid 1 of its namespace");
    else
        doctor_say(finding, DOCTOR_OK, "a daemon ended with pid 1");
    (void) close(daemon.life[0]);
}

/* ---- network -------------------------------------------------------------------------------- */

union inet {
    struct sockaddr any;
    struct sockaddr_in in;
};

static int listen_here(union inet *ret_address)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = sizeof *ret_address;

    *ret_address =
        (union inet){.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    if (fd < 0 || bind(fd, &ret_address->any, length) < 0 || listen(fd, 4) < 0 ||
        getsockname(fd, &ret_address->any, &length) < 0)
        return -errno;
    return TAKE_FD(fd);
}

static int reach(const union inet *address)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, &address->any, sizeof *address) < 0)
        return -errno;
    return 0;
}

static int try_network(void *context, struct err *err)
{
    const union inet *outside = context;
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    AUTO_CLOSE int listener_fd = -1;
    union inet inside;

    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
        return err_set(err, errno, "doctor.net", "cannot raise the loopback interface");
    if (reach(outside) == 0)
        return err_set(err, EINVAL, "doctor.net",
                       "a server outside was reached from a network namespace");
    listener_fd = listen_here(&inside);
    if (listener_fd < 0 || reach(&inside) < 0)
        return err_set(err, ENETUNREACH, "doctor.net", "127.0.0.1 does not work inside");
    return 0;
}

void doctor_check_network(const struct doctor_world *world, struct doctor_finding *finding)
{
    union inet outside;
    AUTO_CLOSE int listener_fd = listen_here(&outside);
    struct err err = {0};

    (void) world;
    if (listener_fd < 0 || reach(&outside) < 0)
        doctor_say(finding, DOCTOR_UNSEEN, "127.0.0.1 of this machine does not work");
    else if (doctor_in_namespaces(CLONE_NEWNET, try_network, &outside, &err) < 0)
        doctor_fail(finding, DOCTOR_MISSING, &err);
    else
        doctor_say(finding, DOCTOR_OK, "127.0.0.1 works inside, and is not this machine's");
}
