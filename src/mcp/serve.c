#include "mcp/serve.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "mcp/core.h"
#include "mcp/tools.h"
#include "rpc/client.h"
#include "rpc/message.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 64 << 10,
    SIGN_MS = 10000, /* between signs of life of a call */
    TURN_BYTES = 32, /* of a turn's id, with its end */
};

/* A call the host was asked for. */
struct waiting {
    struct mcp_call *call;
    json_int_t id; /* of the request to the host */
};

struct server {
    const struct mcp_session *session;
    struct mcp *mcp;
    struct rpc_client *client; /* NULL: not reached yet, or gone */
    json_int_t last_id;
    struct waiting waiting[MCP_CALLS_MAX];
    size_t count;
    struct buf line;
    char turn[TURN_BYTES]; /* "": none was begun */
    struct err turn_over;  /* code 0: it is not; else what is told from then on */
    bool too_long;         /* the rest of the line is thrown away */
    struct err failure;    /* of writing to the client; its code ends everything */
};

/* ---- to the client --------------------------------------------------------------------------- */

static void send_message(void *context, const json_t *message)
{
    struct server *server = context;
    AUTO(buf_free) struct buf line = {0};
    int r;

    buf_init(&line, (size_t) 2 * MCP_MESSAGE_LIMIT_BYTES);
    r = json_print(&line, message);
    if (r == 0)
        r = fd_write_all(server->session->out_fd, line.bytes, line.size);
    if (r < 0 && server->failure.code == 0)
        (void) err_set(&server->failure, -r, "mcp.output", "cannot answer the client");
}

/* ---- the host -------------------------------------------------------------------------------- */

static void answer_refusal(struct mcp_call *call, const struct err *err)
{
    mcp_call_answer(call, mcp_tools_refusal(err), true);
}

/* Nobody will answer what was asked. */
static void lose_host(struct server *server, const struct err *err)
{
    rpc_client_freep(&server->client);
    for (size_t i = 0; i < server->count; i++)
        answer_refusal(server->waiting[i].call, err);
    server->count = 0;
}

static void keep_turn(struct server *server, const json_t *object)
{
    const char *turn = json_plain_text(json_object_get(object, "turn"));

    if (turn != NULL && turn[0] != '\0')
        (void) snprintf(server->turn, sizeof server->turn, "%s", turn);
}

/* One connection of the client's, one turn: what the owner ended begins by no other host again. */
static void keep_end(struct server *server, const char *id, const struct err *err)
{
    if (str_equal(id, "host.turn-ended"))
        server->turn_over = *err;
}

/* Of a host that is gone the next one is told which turn it was. */
static int begin_turn(struct server *server, struct rpc_client *client, struct err *err)
{
    const char *after = server->turn[0] == '\0' ? NULL : server->turn;
    AUTO(json_free) json_t *turn = NULL;
    const int r = rpc_client_call(client, "turn.begin",
                                  json_pack("{s:s, s:s*, s:s*, s:s*}", "pen", server->session->pen,
                                            "leads_to", server->session->leads_to, "chat",
                                            server->session->chat, "after", after),
                                  &turn, err);

    if (r < 0)
        keep_end(server, err->id, err);
    else
        keep_turn(server, turn);
    return r;
}

static int reach_host(struct server *server, struct err *err)
{
    AUTO(rpc_client_freep) struct rpc_client *client = NULL;
    int r;

    if (server->client != NULL)
        return 0;
    r = server->session->connect(server->session->context, &client, err);
    if (r == 0)
        r = begin_turn(server, client, err);
    if (r == 0)
        server->client = TAKE_PTR(client);
    return r;
}

static struct waiting *find_waiting(struct server *server, const json_t *id)
{
    for (size_t i = 0; i < server->count; i++) {
        if (json_is_integer(id) && server->waiting[i].id == json_integer_value(id))
            return &server->waiting[i];
    }
    return NULL;
}

static void on_answer(struct server *server, const struct rpc_message *message)
{
    struct waiting *waiting = find_waiting(server, message->id);
    struct mcp_call *call;
    struct err err = {0};

    if (waiting == NULL)
        return;
    call = waiting->call;
    *waiting = server->waiting[--server->count];
    if (message->kind == RPC_RESULT) {
        mcp_call_answer(call, json_deep_copy(message->result), mcp_tools_is_error(message->result));
        return;
    }
    (void) err_set(&err, EINVAL, "mcp.refused", "%s", message->what);
    if (message->hint != NULL)
        (void) err_hint(&err, "%s", message->hint);
    answer_refusal(call, &err);
    keep_end(server, message->error_id != NULL ? message->error_id : "", &err);
}

static void read_host(struct server *server)
{
    struct err err = {0};
    int r;

    for (;;) {
        AUTO(rpc_message_free) struct rpc_message message = {.json = NULL};

        r = rpc_client_next(server->client, &message, &err);
        if (r <= 0)
            break;
        if (message.kind == RPC_RESULT || message.kind == RPC_ERROR)
            on_answer(server, &message);
        else if (str_equal(message.method, "turn.began")) /* its folder has become a pen */
            keep_turn(server, message.params);
    }
    if (r < 0)
        lose_host(server, &err);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int ask_host(struct server *server, struct mcp_call *call, const char *method,
                    json_t *params_, struct err *err)
{
    AUTO(json_free) json_t *params = params_;
    const json_int_t id = ++server->last_id;
    int r = 0;

    if (server->turn_over.code != 0) {
        *err = server->turn_over;
        return -server->turn_over.code;
    }
    r = reach_host(server, err);
    if (r == 0)
        r = rpc_client_send(server->client, rpc_request(json_integer(id), method, TAKE_PTR(params)),
                            err);
    if (r == 0)
        server->waiting[server->count++] = (struct waiting){.call = call, .id = id};
    return r;
}

static void on_call(void *context, struct mcp_call *call, const struct mcp_tool *tool,
                    const json_t *arguments)
{
    struct server *server = context;
    const char *method = NULL;
    json_t *params = NULL;
    struct err err = {0};
    int r = mcp_tools_request(tool, arguments, &method, &params, &err);

    if (r == 0)
        r = ask_host(server, call, method, params, &err);
    if (r < 0)
        answer_refusal(call, &err);
}

static void on_cancel(void *context, const struct mcp_call *call)
{
    struct server *server = context;

    for (size_t i = 0; i < server->count; i++) {
        struct err err = {0};

        if (server->waiting[i].call != call)
            continue;
        if (rpc_client_send(
                server->client,
                rpc_request(NULL, "cancel", json_pack("{s:I}", "request", server->waiting[i].id)),
                &err) < 0)
            lose_host(server, &err);
        return;
    }
}

static void give_signs(const struct server *server)
{
    for (size_t i = 0; i < server->count; i++)
        mcp_call_progress(server->waiting[i].call, "under way");
}

/* ---- from the client ------------------------------------------------------------------------- */

static void end_line(struct server *server)
{
    if (server->too_long)
        mcp_refuse_long(server->mcp);
    else if (server->line.size > 0)
        mcp_take(server->mcp, server->line.bytes, server->line.size);
    server->too_long = false;
    buf_free(&server->line);
    buf_init(&server->line, MCP_MESSAGE_LIMIT_BYTES);
}

static void take_bytes(struct server *server, const char *bytes, size_t size)
{
    while (size > 0 && server->failure.code == 0) {
        const char *end = memchr(bytes, '\n', size);
        const size_t length = end == NULL ? size : (size_t) (end - bytes);

        if (buf_add(&server->line, bytes, length) < 0)
            server->too_long = true;
        if (end == NULL)
            return;
        end_line(server);
        bytes += length + 1;
        size -= length + 1;
    }
}

/* 0: the end. */
static ssize_t read_client(struct server *server, char *chunk)
{
    const ssize_t n = read(server->session->in_fd, chunk, CHUNK_BYTES);

    if (n > 0)
        take_bytes(server, chunk, (size_t) n);
    return n < 0 && (errno == EINTR || errno == EAGAIN) ? 1 : n;
}

static int loop(struct server *server, char *chunk, struct err *err)
{
    uint64_t sign_ms = clock_ms() + SIGN_MS;

    for (;;) {
        struct pollfd fds[2] = {
            {.fd = server->session->in_fd, .events = POLLIN},
            {.fd = server->client == NULL ? -1 : rpc_client_fd(server->client), .events = POLLIN}};
        const uint64_t now_ms = clock_ms();
        ssize_t n = 1;

        if (now_ms >= sign_ms) {
            give_signs(server);
            sign_ms = now_ms + SIGN_MS;
        }
        if (poll(fds, 2, server->count > 0 ? (int) (sign_ms - now_ms) + 1 : -1) < 0 &&
            errno != EINTR)
            return err_set(err, errno, "mcp.input", "cannot wait for the client");
        if (fds[1].revents != 0 && server->client != NULL)
            read_host(server);
        if (fds[0].revents != 0)
            n = read_client(server, chunk);
        if (server->failure.code != 0) {
            *err = server->failure;
            return -err->code;
        }
        if (n == 0)
            return 0;
        if (n < 0)
            return err_set(err, errno, "mcp.input", "cannot read from the client");
    }
}

int mcp_serve(const struct mcp_session *session, struct err *err)
{
    AUTO_FREE struct server *server = calloc(1, sizeof *server);
    AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
    struct mcp_handlers handlers = {
        .send = send_message, .call = on_call, .cancel = on_cancel, .context = server};
    const struct err over = {.what = "the turn is over"};
    int r;

    if (server == NULL || chunk == NULL)
        return err_memory(err);
    server->session = session;
    buf_init(&server->line, MCP_MESSAGE_LIMIT_BYTES);
    r = mcp_new(&mcp_tools_server, &handlers, &server->mcp, err);
    if (r == 0)
        r = loop(server, chunk, err);
    lose_host(server, &over);
    mcp_freep(&server->mcp);
    buf_free(&server->line);
    return r;
}
