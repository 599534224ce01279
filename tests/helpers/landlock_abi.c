/* landlock_abi N [--reject-top] -- COMMAND [ARGUMENT...]
 *
 * Runs a command on a kernel whose Landlock is of ABI N, whatever this one has (0: none at all).
 * A supervisor answers landlock_create_ruleset(VERSION) with N, and a ruleset that asks for more
 * than ABI N knows gets what such a kernel answers: EINVAL for an unknown right, E2BIG for a field
 * it does not have. What passes goes to the real kernel. --reject-top: the kernel claims N but
 * refuses the newest right of N, as one distribution's kernel did.
 *
 * The rest an old kernel would refuse needs no supervisor: flags of landlock_restrict_self are
 * unknown before ABI 7. */
#include "helper.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define USAGE "landlock_abi N [--reject-top] -- COMMAND [ARGUMENT...]"

#define ASK_VERSION 1u
#define ASK_ERRATA 2u
#define PAGE_BYTES 4096u

/* struct landlock_ruleset_attr of the newest ABI known here. */
struct ruleset_attr {
    uint64_t fs, net, scoped;
};

struct abi {
    uint64_t fs, net, scoped;
    size_t bytes; /* of struct landlock_ruleset_attr in that kernel */
    struct ruleset_attr top;
};

static const struct abi abis[] = {
    [1] = {0x1fff, 0, 0, 8, {1u << 12, 0, 0}},  [2] = {0x3fff, 0, 0, 8, {1u << 13, 0, 0}},
    [3] = {0x7fff, 0, 0, 8, {1u << 14, 0, 0}},  [4] = {0x7fff, 3, 0, 16, {0, 2, 0}},
    [5] = {0xffff, 3, 0, 16, {1u << 15, 0, 0}}, [6] = {0xffff, 3, 3, 24, {0, 0, 2}},
    [7] = {0xffff, 3, 3, 24, {0, 0, 2}},
};
#define ABI_NEWEST (sizeof abis / sizeof abis[0] - 1)

struct kernel {
    unsigned long abi;
    bool reject_top;
};

/* The errno such a kernel gives for this ruleset; 0: it takes it. */
static int judge(const struct kernel *kernel, const struct ruleset_attr *attr, size_t size)
{
    const struct abi *abi = &abis[kernel->abi];
    const uint64_t fields[3] = {attr->fs, attr->net, attr->scoped};

    if (size < 8)
        return EINVAL;
    if (size > PAGE_BYTES)
        return E2BIG;
    for (size_t i = abi->bytes / 8; i < 3; i++) {
        if (fields[i] != 0) /* a field beyond what that kernel has must be zero */
            return E2BIG;
    }
    if ((attr->fs & ~abi->fs) || (attr->net & ~abi->net) || (attr->scoped & ~abi->scoped))
        return EINVAL;
    if (kernel->reject_top && ((attr->fs & abi->top.fs) || (attr->net & abi->top.net) ||
                               (attr->scoped & abi->top.scoped)))
        return EINVAL;
    return 0;
}

static int read_attr(pid_t pid, uint64_t address, size_t size, struct ruleset_attr *ret_attr)
{
    char path[64];
    int fd;
    ssize_t got;

    memset(ret_attr, 0, sizeof *ret_attr);
    (void) snprintf(path, sizeof path, "/proc/%d/mem", (int) pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        err(HELPER_FAILED, "cannot read the caller's memory: %s", path);
    got = pread(fd, ret_attr, size < sizeof *ret_attr ? size : sizeof *ret_attr, (off_t) address);
    (void) close(fd);
    return got < 0 ? EFAULT : 0;
}

static void answer_version(const struct kernel *kernel, struct seccomp_notif_resp *response)
{
    if (kernel->abi == 0)
        response->error = -EOPNOTSUPP;
    else
        response->val = (int64_t) kernel->abi;
}

static void answer(const struct kernel *kernel, const struct seccomp_notif *request,
                   struct seccomp_notif_resp *response)
{
    const __u64 *args = request->data.args;
    struct ruleset_attr attr;
    int error;

    if (args[2] == ASK_VERSION) {
        answer_version(kernel, response);
        return;
    }
    if (kernel->abi == 0 || (args[2] == ASK_ERRATA && kernel->abi < 7)) {
        response->error = kernel->abi == 0 ? -EOPNOTSUPP : -EINVAL;
        return;
    }
    error = args[2] == 0 ? read_attr((pid_t) request->pid, args[0], args[1], &attr) : 0;
    if (error == 0 && args[2] == 0)
        error = judge(kernel, &attr, args[1]);
    response->error = -error;
    if (error == 0)
        response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

static void serve_one(const struct kernel *kernel, int notify_fd)
{
    struct seccomp_notif request;
    struct seccomp_notif_resp response;

    memset(&request, 0, sizeof request);
    memset(&response, 0, sizeof response);
    if (ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return; /* the caller was killed meanwhile */
    response.id = request.id;
    answer(kernel, &request, &response);
    (void) ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void send_fd(int socket_fd, int fd)
{
    char byte = 'f';
    struct iovec part = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (sendmsg(socket_fd, &message, 0) != 1)
        err(HELPER_FAILED, "sendmsg");
}

static int receive_fd(int socket_fd)
{
    char byte;
    int fd;
    struct iovec part = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header;

    if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) != 1)
        errx(HELPER_FAILED, "the child could not load its filter");
    header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS)
        errx(HELPER_FAILED, "no descriptor came");
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

static void check(int failed, const char *what)
{
    if (failed != 0)
        errx(HELPER_FAILED, "%s: %s", what, strerror(-failed));
}

static _Noreturn void run_child(const struct kernel *kernel, int socket_fd, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    if (filter == NULL)
        errx(HELPER_FAILED, "seccomp_init");
    check(seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(landlock_create_ruleset), 0),
          "notify rule");
    if (kernel->abi < 7)
        check(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(landlock_restrict_self), 1,
                               SCMP_A1(SCMP_CMP_NE, 0, 0)),
              "flags rule");
    check(seccomp_load(filter), "seccomp_load");
    send_fd(socket_fd, seccomp_notify_fd(filter));
    (void) close(seccomp_notify_fd(filter));
    (void) close(socket_fd);
    helper_exec(argv);
}

/* Serves until nobody wears the filter any more; returns the command's wait status. */
static int serve(const struct kernel *kernel, int notify_fd, pid_t child)
{
    struct pollfd watched = {.fd = notify_fd, .events = POLLIN};
    int status = 0;

    for (;;) {
        if (poll(&watched, 1, -1) < 0 && errno != EINTR)
            err(HELPER_FAILED, "poll");
        if (watched.revents & POLLIN)
            serve_one(kernel, notify_fd);
        else if (watched.revents & (POLLHUP | POLLERR))
            break;
    }
    if (waitpid(child, &status, 0) != child)
        err(HELPER_FAILED, "waitpid");
    return status;
}

int main(int argc, char **argv)
{
    int command = helper_command(argc, argv, USAGE);
    struct kernel kernel = {.abi = helper_number(argv[1]),
                            .reject_top = strcmp(argv[2], "--reject-top") == 0};
    int pair[2];
    int status;
    pid_t child;

    if (kernel.abi > ABI_NEWEST)
        errx(HELPER_FAILED, "ABI %lu is not known here", kernel.abi);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        err(HELPER_FAILED, "socketpair");
    child = fork();
    if (child < 0)
        err(HELPER_FAILED, "fork");
    if (child == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_child(&kernel, pair[1], argv + command);
    }
    (void) close(pair[1]);
    status = serve(&kernel, receive_fd(pair[0]), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
