/* bind: a socket file is a name like any other.
 *
 * The socket is the task's own, taken by pidfd_getfd. It is bound by the string the task gave,
 * since getsockname() shows that, from the task's current folder; under the exclusive lock no
 * folder and no symlink on the way can change its place. A string that passes through procfs means
 * something else here: then it is bound by the folder that was found and the last component. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATH_AT offsetof(struct sockaddr_un, sun_path)

union address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_storage all;
    char bytes[sizeof(struct sockaddr_storage) + 1];
};

struct binding {
    int socket_fd;
    int start_fd; /* where a relative string begins: the same for the look and for the call */
    union address address;
    socklen_t size;
    struct guard_place place;
};

static int bind_there(const struct binding *binding)
{
    const struct guard_place *place = &binding->place;
    union address address = binding->address;
    const size_t length = strlen(place->name);
    socklen_t size = binding->size;
    int r;

    if (place->slow && length >= sizeof address.local.sun_path)
        return -EINVAL;
    if (place->slow) {
        memcpy(address.local.sun_path, place->name, length + 1);
        size = (socklen_t) (PATH_AT + length + 1);
    }
    if (fchdir(place->slow ? place->fd : binding->start_fd) < 0)
        return -EACCES;
    r = bind(binding->socket_fd, &address.any, size) < 0 ? -errno : 0;
    (void) !chdir("/"); /* keeps nothing busy */
    return r;
}

/* Found under the lock: the string must mean now what it will mean to the kernel. */
static int bind_step(struct guard_call *call, void *context, bool exclusive)
{
    struct binding *binding = context;
    struct guard_judged judged = {
        .op = GUARD_BIND,
        .target = &binding->place,
        .source_fd = -1,
        .object_fd = -1,
        .exclusive = exclusive,
    };
    int r;

    if (!exclusive)
        return GUARD_AGAIN;
    r = guard_find(call, binding->start_fd, AT_FDCWD, call->path[0], &binding->place);
    if (r == 0 && binding->place.proc)
        r = -EACCES;
    if (r == 0)
        r = guard_judge(call, &judged);
    if (r < 0)
        return r;
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    r = bind_there(binding);
    if (r == 0)
        guard_record_made(call, &binding->place);
    return r;
}

static bool has_name(const struct binding *binding)
{
    return binding->address.any.sa_family == AF_UNIX && binding->size > PATH_AT &&
           binding->size <= sizeof binding->address.local &&
           binding->address.local.sun_path[0] != '\0';
}

static int bind_name(struct guard_call *call, struct binding *binding)
{
    binding->address.bytes[binding->size] = '\0'; /* the kernel puts one there, too */
    memcpy(call->path[0], binding->address.local.sun_path, binding->size - PATH_AT + 1);
    binding->start_fd = guard_open_start(call, AT_FDCWD);
    if (binding->start_fd < 0)
        return binding->start_fd;
    guard_wear_umask(call);
    return guard_locked(call, bind_step, binding);
}

int guard_perform_bind(struct guard_call *call)
{
    struct binding binding = {.socket_fd = -1, .start_fd = -1, .place = GUARD_NO_PLACE};
    const int size = (int) call->args[2];
    int r;

    if (size < 0 || (size_t) size > sizeof binding.address.all)
        return -EINVAL;
    binding.size = (socklen_t) size;
    r = guard_read_bytes(call->tid, call->args[1], binding.address.bytes, binding.size);
    if (r < 0)
        return r;
    binding.socket_fd = guard_take_fd(call, (int) call->args[0]);
    if (binding.socket_fd < 0)
        return binding.socket_fd;
    if (has_name(&binding))
        r = bind_name(call, &binding);
    else
        r = bind(binding.socket_fd, &binding.address.any, binding.size) < 0 ? -errno : 0;
    cleanup_close(&binding.socket_fd);
    cleanup_close(&binding.start_fd);
    guard_place_close(&binding.place);
    return r;
}
