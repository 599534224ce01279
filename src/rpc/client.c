#include "rpc/client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "rpc/frame.h"
#include "rpc/message.h"
#include "rpc/rpc_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    START_WAIT_MS = 10000,
    RETRY_MS = 20, /* between looks at a socket that another client's host is about to make */
    CHUNK_BYTES = 64 << 10,
};

struct rpc_client {
    int fd;
    json_int_t last_id;
    struct rpc_reader reader;
    char *chunk; /* what was read and not yet fed */
    size_t chunk_start, chunk_end;
};

/* ---- connecting ------------------------------------------------------------------------------ */

static int connect_to(const char *folder, const char *name)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (fd < 0)
        return -errno;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name) >=
        (int) sizeof address.sun_path)
        return -ENAMETOOLONG;
    if (connect(fd, (const struct sockaddr *) &address, sizeof address) < 0)
        return -errno;
    return TAKE_FD(fd);
}

/* Nobody listens, and a host could. */
static bool is_absent(int code)
{
    return code == -ENOENT || code == -ECONNREFUSED;
}

static int connect_or_start(const struct rpc_connect *wish, struct err *err)
{
    const char *name = wish->door == RPC_OWNER ? RPC_OWNER_SOCKET : RPC_MODEL_SOCKET;
    const uint64_t end_ms = clock_ms() + START_WAIT_MS;
    int fd = connect_to(wish->folder, name);

    while (is_absent(fd) && clock_ms() < end_ms) {
        const int r = rpc_host_start(wish, START_WAIT_MS, err);

        if (r < 0)
            return r;
        if (r > 0) /* another one is about to listen, or about to end */
            (void) poll(NULL, 0, RETRY_MS);
        fd = connect_to(wish->folder, name);
    }
    if (fd < 0)
        return err_set(err, -fd, "rpc.host-missing", "cannot reach the host at '%s/%s'",
                       wish->folder, name);
    return fd;
}

static int check_peer(int fd, struct err *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return err_set(err, errno, "rpc.peer", "cannot tell who the host is");
    if (peer.uid != geteuid())
        return err_set(err, EPERM, "rpc.peer", "the host is another user's");
    return 0;
}

static int say_hello(struct rpc_client *client, const char *program, struct err *err)
{
    AUTO(json_free) json_t *answer = NULL;
    json_t *params = json_pack("{s:i, s:s}", "api", RPC_API_VERSION, "program", program);
    const int r =
        params == NULL ? err_memory(err) : rpc_client_call(client, "hello", params, &answer, err);

    if (r < 0)
        return r;
    if (json_integer_value(json_object_get(answer, "api")) == RPC_API_VERSION)
        return 0;
    (void) err_set(err, EPROTO, "rpc.version", "the host that runs speaks another version");
    return err_hint(err, "end it with 'wattle host stop'; the next command starts the right one");
}

int rpc_client_open(const struct rpc_connect *wish, struct rpc_client **ret_client, struct err *err)
{
    AUTO(rpc_client_freep) struct rpc_client *client = calloc(1, sizeof *client);
    int r;

    if (client == NULL)
        return err_memory(err);
    rpc_reader_init(&client->reader);
    client->fd = -1;
    client->chunk = malloc(CHUNK_BYTES);
    if (client->chunk == NULL)
        return err_memory(err);
    r = client->fd = connect_or_start(wish, err);
    if (r >= 0)
        r = check_peer(client->fd, err);
    if (r == 0)
        r = say_hello(client, wish->program, err);
    if (r == 0)
        *ret_client = TAKE_PTR(client);
    return r;
}

void rpc_client_freep(struct rpc_client **client)
{
    struct rpc_client *gone = TAKE_PTR(*client);

    if (gone == NULL)
        return;
    cleanup_close(&gone->fd);
    rpc_reader_free(&gone->reader);
    free(gone->chunk);
    free(gone);
}

/* ---- messages -------------------------------------------------------------------------------- */

int rpc_client_fd(const struct rpc_client *client)
{
    return client->fd;
}

static int is_closed(int code, struct err *err)
{
    (void) err_set(err, -code, "rpc.closed", "the host ended the connection");
    return err_hint(err, "try again: it is started anew when it is gone");
}

int rpc_client_send(struct rpc_client *client, json_t *message, struct err *err)
{
    AUTO(buf_free) struct buf bytes = {0};
    int r = message == NULL ? -ENOMEM : 0;

    buf_init(&bytes, RPC_MESSAGE_LIMIT_BYTES + sizeof(uint32_t));
    if (r == 0)
        r = rpc_frame_put(&bytes, message);
    json_decref(message);
    if (r == -EMSGSIZE)
        return err_set(err, EMSGSIZE, "rpc.large", "the request is larger than 4 MiB");
    if (r < 0)
        return err_memory(err);
    r = fd_write_all(client->fd, bytes.bytes, bytes.size);
    return r < 0 ? is_closed(r, err) : 0;
}

static int feed(struct rpc_client *client, struct rpc_message *ret_message, struct err *err)
{
    size_t taken = 0;
    int r = rpc_reader_feed(&client->reader, client->chunk + client->chunk_start,
                            client->chunk_end - client->chunk_start, &taken);

    client->chunk_start += taken;
    if (r < 0)
        return is_closed(r, err);
    if (r == 0)
        return 0;
    r = rpc_message_parse(client->reader.body.bytes, client->reader.body.size, ret_message, err);
    rpc_reader_next(&client->reader);
    if (r == 0)
        return 1;
    rpc_message_free(ret_message);
    return r;
}

int rpc_client_next(struct rpc_client *client, struct rpc_message *ret_message, struct err *err)
{
    ssize_t n;

    if (client->chunk_start < client->chunk_end) {
        const int r = feed(client, ret_message, err);

        if (r != 0)
            return r;
    }
    n = recv(client->fd, client->chunk, CHUNK_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return is_closed(n == 0 ? -EPIPE : -errno, err);
    client->chunk_start = 0;
    client->chunk_end = (size_t) n;
    return feed(client, ret_message, err);
}

/* ---- asking and waiting ---------------------------------------------------------------------- */

/* An error answer as the error it was in the host, as far as a message can say. */
static int take_error(const struct rpc_message *message, struct err *err)
{
    const char *id = message->error_id != NULL ? message->error_id : "rpc.refused";
    const bool unknown = message->code == RPC_NO_METHOD;
    const int code = message->code == RPC_STALE ? ESTALE : unknown ? ENOSYS : EINVAL;

    (void) err_set(err, EINVAL, id, "%s", message->what);
    if (err != NULL)
        err->code = code; /* its words are in the sentence already */
    return message->hint == NULL ? -code : err_hint(err, "%s", message->hint);
}

static bool answers(const struct rpc_message *message, json_int_t id)
{
    return (message->kind == RPC_RESULT || message->kind == RPC_ERROR) &&
           json_is_integer(message->id) && json_integer_value(message->id) == id;
}

int rpc_client_call(struct rpc_client *client, const char *method, json_t *params,
                    json_t **ret_result, struct err *err)
{
    AUTO(rpc_message_free) struct rpc_message message = {.json = NULL};
    const json_int_t id = ++client->last_id;
    int r = rpc_client_send(client, rpc_request(json_integer(id), method, params), err);

    while (r == 0) {
        struct pollfd answer = {.fd = client->fd, .events = POLLIN};

        r = rpc_client_next(client, &message, err);
        if (r == 0)
            (void) poll(&answer, 1, -1);
        if (r == 1 && !answers(&message, id)) { /* a notification: nobody here waits for it */
            rpc_message_free(&message);
            r = 0;
        }
    }
    if (r < 0)
        return r;
    if (message.kind == RPC_ERROR)
        return take_error(&message, err);
    *ret_result = json_incref((json_t *) (uintptr_t) message.result);
    return 0;
}
