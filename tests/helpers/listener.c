/* listener KIND ADDRESS LOG
 *
 * A service outside a fence that must not be reached. KIND: unix, dgram, abstract, tcp, udp.
 * Binds, prints "PID ADDRESS" (the port for tcp and udp, which take ADDRESS -) and goes on in the
 * background, so that whoever waited for it to end knows that it listens. Every connection or
 * datagram adds what it sent as one line to LOG and is answered "served". Ends after two minutes
 * at the latest. */
#include "helper.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define USAGE "listener unix|dgram|abstract|tcp|udp ADDRESS LOG"
#define LIFE_SECONDS 120

union address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in inet;
};

static int bind_local(const char *name, int type, bool abstract)
{
    union address address = {.local = {.sun_family = AF_UNIX}};
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    if (length + 2 > sizeof address.local.sun_path)
        errx(HELPER_FAILED, "'%s' is too long", name);
    memcpy(address.local.sun_path + (abstract ? 1 : 0), name, length);
    length += offsetof(struct sockaddr_un, sun_path) + 1;
    if (fd < 0 || bind(fd, &address.any, (socklen_t) length) < 0)
        err(HELPER_FAILED, "%s", name);
    return fd;
}

static int bind_inet(int type, unsigned *ret_port)
{
    union address address = {
        .inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address.inet;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, &address.any, length) < 0 || getsockname(fd, &address.any, &length) < 0)
        err(HELPER_FAILED, "loopback");
    *ret_port = ntohs(address.inet.sin_port);
    return fd;
}

static void note(const char *log, const char *bytes, size_t size)
{
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0)
        err(HELPER_FAILED, "%s", log);
    if (write(fd, bytes, size) < 0 || write(fd, "\n", 1) < 0)
        err(HELPER_FAILED, "%s", log);
    (void) close(fd);
}

static _Noreturn void serve_streams(int fd, const char *log)
{
    for (;;) {
        char bytes[256];
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        ssize_t got;

        if (peer < 0)
            continue;
        got = read(peer, bytes, sizeof bytes);
        note(log, bytes, got < 0 ? 0 : (size_t) got);
        (void) send(peer, "served\n", 7, MSG_NOSIGNAL);
        (void) close(peer);
    }
}

static _Noreturn void serve_datagrams(int fd, const char *log)
{
    for (;;) {
        char bytes[256];
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);

        if (got >= 0)
            note(log, bytes, (size_t) got);
    }
}

/* The parent tells who listens where and ends; the child stays, holding nothing of the test's. */
static void go_on_in_background(const char *address, unsigned port)
{
    pid_t pid = fork();
    int null_fd;

    if (pid < 0)
        err(HELPER_FAILED, "fork");
    if (pid > 0) {
        if (port != 0)
            (void) printf("%d %u\n", (int) pid, port);
        else
            (void) printf("%d %s\n", (int) pid, address);
        exit(0);
    }
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        (void) dup2(null_fd, fd);
    (void) close_range(3, 9, 0); /* bats keeps some open */
    (void) setsid();
}

int main(int argc, char **argv)
{
    bool datagrams;
    unsigned port = 0;
    int fd;

    if (argc != 4)
        errx(HELPER_FAILED, "usage: %s", USAGE);
    datagrams = strcmp(argv[1], "dgram") == 0 || strcmp(argv[1], "udp") == 0;
    if (strcmp(argv[1], "tcp") == 0 || strcmp(argv[1], "udp") == 0)
        fd = bind_inet(datagrams ? SOCK_DGRAM : SOCK_STREAM, &port);
    else
        fd = bind_local(argv[2], datagrams ? SOCK_DGRAM : SOCK_STREAM,
                        strcmp(argv[1], "abstract") == 0);
    if (!datagrams && listen(fd, 64) < 0)
        err(HELPER_FAILED, "listen");
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 20);
    (void) signal(SIGHUP, SIG_IGN);
    go_on_in_background(argv[2], port);
    (void) alarm(LIFE_SECONDS);
    if (datagrams)
        serve_datagrams(fd, argv[3]);
    serve_streams(fd, argv[3]);
}
