/* Sockets: by path, abstract, TCP, UDP, and families a fence has no business with. */
#include "attempt_priv.h"

#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define MESSAGE "PWNED"

union address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in inet;
    struct sockaddr_vm vm;
};

static int say(int fd, const union address *address, size_t length)
{
    const struct timeval limit = {.tv_sec = 3};

    (void) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (fd < 0 || connect(fd, &address->any, (socklen_t) length) < 0)
        return -1;
    return send(fd, MESSAGE, strlen(MESSAGE), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int say_local(const char *name, int type, bool abstract)
{
    union address address = {.local = {.sun_family = AF_UNIX}};
    size_t length = strlen(name);

    if (length + 2 > sizeof address.local.sun_path)
        errx(HELPER_FAILED, "'%s' is too long", name);
    memcpy(address.local.sun_path + (abstract ? 1 : 0), name, length);
    return say(socket(AF_UNIX, type | SOCK_CLOEXEC, 0), &address,
               offsetof(struct sockaddr_un, sun_path) + length + 1);
}

static int say_inet(const char *port, int type)
{
    union address address = {.inet = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t) helper_number(port)),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

    return say(socket(AF_INET, type | SOCK_CLOEXEC, 0), &address, sizeof address.inet);
}

static int local_stream(char **args)
{
    return say_local(args[0], SOCK_STREAM, false);
}

static int local_dgram(char **args)
{
    return say_local(args[0], SOCK_DGRAM, false);
}

static int abstract_stream(char **args)
{
    return say_local(args[0], SOCK_STREAM, true);
}

static int tcp(char **args)
{
    return say_inet(args[0], SOCK_STREAM);
}

/* A datagram to a port nobody listens on "works": the listener's log decides. */
static int udp(char **args)
{
    return say_inet(args[0], SOCK_DGRAM);
}

static int fastopen(char **args)
{
    union address address = {.inet = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t) helper_number(args[0])),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return sendto(fd, MESSAGE, strlen(MESSAGE), MSG_FASTOPEN | MSG_NOSIGNAL, &address.any,
                  sizeof address.inet) < 0
               ? -1
               : 0;
}

static int vsock(char **args)
{
    union address address = {.vm = {.svm_family = AF_VSOCK,
                                    .svm_cid = VMADDR_CID_ANY,
                                    .svm_port = (unsigned) helper_number(args[0])}};
    int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd < 0 ? -1 : bind(fd, &address.any, sizeof address.vm);
}

/* family FAMILY TYPE PROTOCOL: whether such a socket can be made at all */
static int family(char **args)
{
    return socket((int) helper_number(args[0]), (int) helper_number(args[1]),
                  (int) helper_number(args[2])) < 0
               ? -1
               : 0;
}

const struct attempt attempts_socket[] = {
    {"unix", 1, local_stream},
    {"unix-dgram", 1, local_dgram},
    {"abstract", 1, abstract_stream},
    {"tcp", 1, tcp},
    {"udp", 1, udp},
    {"fastopen", 1, fastopen},
    {"vsock", 1, vsock},
    {"family", 3, family},
    {NULL, 0, NULL},
};
