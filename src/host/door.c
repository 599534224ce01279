/* The two sockets. A client is hostile: what it sends is bounded and timed, what it does not read
 * is bounded, and whatever goes wrong with it ends its connection and nothing else. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "host/chunk.h"
#include "host/host_priv.h"
#include "host/told.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 64 };

static const char *const names[] = {
    [RPC_MODEL] = RPC_MODEL_SOCKET,
    [RPC_OWNER] = RPC_OWNER_SOCKET,
};

/* ---- writing --------------------------------------------------------------------------------- */

struct writing {
    uv_write_t write;
    struct host_client *client;
    struct buf bytes;
};

static void on_written(uv_write_t *write, int status)
{
    struct writing *writing = (struct writing *) write;

    writing->client->pending -= writing->bytes.size;
    if (status < 0)
        host_client_close(writing->client);
    buf_free(&writing->bytes);
    free(writing);
}

/* Takes `message`. A client that does not read its answers is closed. */
static void send_message(struct host_client *client, json_t *message_)
{
    AUTO(json_free) json_t *message = message_;
    struct writing *writing = client->closing ? NULL : calloc(1, sizeof *writing);
    uv_buf_t bytes;

    if (writing == NULL || message == NULL)
        return;
    writing->client = client;
    buf_init(&writing->bytes, RPC_MESSAGE_LIMIT_BYTES + sizeof(uint32_t));
    if (rpc_frame_put(&writing->bytes, message) == 0 &&
        client->pending + writing->bytes.size <= client->host->limits.pending_bytes) {
        bytes = uv_buf_init(writing->bytes.bytes, (unsigned) writing->bytes.size);
        client->pending += writing->bytes.size;
        if (uv_write(&writing->write, (uv_stream_t *) &client->pipe, &bytes, 1, on_written) == 0)
            return;
        client->pending -= writing->bytes.size;
    }
    buf_free(&writing->bytes);
    free(writing);
    host_client_close(client);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void free_request(struct host_request *request)
{
    request->client->request_count--;
    *request->back = request->next;
    if (request->next != NULL)
        request->next->back = request->back;
    json_decref(request->id);
    free(request);
}

void host_answer(struct host_request *request, json_t *result)
{
    struct err err = {0};

    if (result == NULL) {
        (void) err_memory(&err);
        host_refuse(request, &err);
        return;
    }
    send_message(request->client, rpc_result(request->id, result));
    free_request(request);
}

void host_refuse(struct host_request *request, const struct err *err)
{
    struct err told = *err;

    if (request->client->door == RPC_MODEL)
        told_of(err, &told);
    send_message(request->client, rpc_error(request->id, rpc_code_of(err), &told));
    free_request(request);
}

void host_tell(struct host_client *client, const char *what, json_t *params)
{
    send_message(client, rpc_request(NULL, what, params));
}

/* ---- reading --------------------------------------------------------------------------------- */

static void out_of_patience(uv_timer_t *timer)
{
    host_client_close(timer->data);
}

/* A clock runs while something is owed: the greeting, the rest of a message. */
static void watch(struct host_client *client)
{
    const struct host_limits *limits = &client->host->limits;
    const bool half = rpc_reader_is_half(&client->reader);

    if (client->closing)
        return;
    if (client->greeted && !half)
        (void) uv_timer_stop(&client->patience);
    else if (!uv_is_active((uv_handle_t *) &client->patience))
        (void) uv_timer_start(&client->patience, out_of_patience,
                              client->greeted ? limits->half_ms : limits->hello_ms, 0);
}

static void take_message(struct host_client *client)
{
    AUTO(rpc_message_free) struct rpc_message message = {.json = NULL};
    struct err err = {0};

    (void) uv_timer_stop(&client->patience);
    if (rpc_message_parse(client->reader.body.bytes, client->reader.body.size, &message, &err) ==
        0) {
        host_dispatch(client, &message);
        return;
    }
    send_message(client, rpc_error(NULL, rpc_code_of(&err), &err));
    host_client_close(client); /* what comes after it cannot be trusted to be a message */
}

static void take_bytes(struct host_client *client, const char *bytes, size_t size)
{
    while (size > 0 && !client->closing) {
        size_t taken = 0;
        const int r = rpc_reader_feed(&client->reader, bytes, size, &taken);

        if (r < 0) {
            host_client_close(client);
            return;
        }
        if (r == 1) {
            take_message(client);
            rpc_reader_next(&client->reader);
        }
        bytes += taken;
        size -= taken;
    }
    watch(client);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct host_client *client = stream->data;

    if (n > 0)
        take_bytes(client, bytes->base, (size_t) n);
    else if (n < 0)
        host_client_close(client);
    free(bytes->base);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void free_client(struct host_client *client)
{
    struct host *host = client->host;

    while (client->requests != NULL)
        free_request(client->requests);
    *client->back = client->next;
    if (client->next != NULL)
        client->next->back = client->back;
    host->client_count--;
    rpc_reader_free(&client->reader);
    free(client->program);
    free(client);
    host_watch_idle(host);
}

static void on_timer_closed(uv_handle_t *timer)
{
    free_client(timer->data);
}

static void on_quiet_closed(uv_handle_t *timer)
{
    struct host_client *client = timer->data;

    uv_close((uv_handle_t *) &client->patience, on_timer_closed);
}

/* Of the writes under way each has had its callback by now. */
static void on_pipe_closed(uv_handle_t *pipe)
{
    struct host_client *client = pipe->data;

    uv_close((uv_handle_t *) &client->quiet, on_quiet_closed);
}

void host_client_close(struct host_client *client)
{
    if (client->closing)
        return;
    client->closing = true;
    for (struct host_request *request = client->requests; request != NULL;
         request = request->next) {
        if (request->cancel != NULL)
            request->cancel(request, true);
    }
    host_turn_end(client, "the client is gone");
    uv_close((uv_handle_t *) &client->pipe, on_pipe_closed);
}

/* Another user's connection is no client. */
static bool is_owner(struct host_client *client)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    uv_os_fd_t fd;

    if (uv_fileno((const uv_handle_t *) &client->pipe, &fd) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    client->pid = peer.pid;
    if (client->door == RPC_MODEL)
        client->parent = kin_parent(peer.pid);
    return peer.uid == geteuid();
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct host *host = listener->data;
    struct host_client *client = status < 0 ? NULL : calloc(1, sizeof *client);

    if (client == NULL)
        return;
    client->host = host;
    client->door = listener == (uv_stream_t *) &host->doors[RPC_OWNER] ? RPC_OWNER : RPC_MODEL;
    client->back = &host->clients;
    client->next = host->clients;
    if (client->next != NULL)
        client->next->back = &client->next;
    host->clients = client;
    host->client_count++;
    rpc_reader_init(&client->reader);
    (void) uv_pipe_init(&host->loop, &client->pipe, 0);
    (void) uv_timer_init(&host->loop, &client->patience);
    (void) uv_timer_init(&host->loop, &client->quiet);
    client->pipe.data = client->patience.data = client->quiet.data = client;
    if (host->ending || uv_accept(listener, (uv_stream_t *) &client->pipe) < 0 ||
        !is_owner(client) ||
        uv_read_start((uv_stream_t *) &client->pipe, chunk_make, on_read) < 0) {
        host_client_close(client);
        return;
    }
    watch(client);
    host_watch_idle(host);
}

/* ---- the sockets ----------------------------------------------------------------------------- */

/* What lies there is a dead host's: we hold the lock. */
static int open_door(struct host *host, enum rpc_door door, struct err *err)
{
    AUTO_FREE char *path = path_join(host->folder, names[door]);
    uv_pipe_t *pipe = &host->doors[door];
    int r;

    if (path == NULL)
        return err_memory(err);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_set(err, errno, "host.socket", "cannot remove '%s'", path);
    r = uv_pipe_init(&host->loop, pipe, 0);
    pipe->data = host;
    if (r == 0)
        r = uv_pipe_bind(pipe, path);
    if (r == 0 && chmod(path, 0600) < 0)
        r = -errno;
    if (r == 0)
        r = uv_listen((uv_stream_t *) pipe, BACKLOG, on_connection);
    return r < 0 ? err_set(err, -r, "host.socket", "cannot listen at '%s'", path) : 0;
}

int host_doors_open(struct host *host, struct err *err)
{
    const int r = open_door(host, RPC_MODEL, err);

    return r < 0 ? r : open_door(host, RPC_OWNER, err);
}

/* The files stay: to remove them would be a race with the next host. */
void host_doors_close(struct host *host)
{
    for (size_t i = 0; i < ARRAY_SIZE(host->doors); i++) {
        if (!uv_is_closing((uv_handle_t *) &host->doors[i]))
            uv_close((uv_handle_t *) &host->doors[i], NULL);
    }
    for (struct host_client *client = host->clients, *next; client != NULL; client = next) {
        next = client->next; /* freed by the loop, later */
        host_client_close(client);
    }
}
