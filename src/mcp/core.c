#include "mcp/core.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "rpc/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define META "io.modelcontextprotocol/"
#define STATELESS "2026-07-28"
#define NAME "wattle"

enum { CODE_VERSION = -32022 };

/* Those that begin with `initialize`, newest first. */
static const char *const handshake_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                 "2024-11-05"};

struct mcp {
    const struct mcp_server *server;
    const struct mcp_handlers *handlers;
    json_t *tools; /* the answer to tools/list, made once */
    bool initialized;
    struct mcp_call *calls[MCP_CALLS_MAX];
};

struct mcp_call {
    struct mcp *mcp; /* NULL: the connection is gone */
    json_t *id;
    json_t *token; /* of progress; NULL: not asked for */
    bool stateless, cancelled;
    json_int_t progress;
    void *value;
};

/* One request, as it goes through the tables below. */
struct asked {
    struct mcp *mcp;
    const struct rpc_message *message;
    const json_t *meta; /* NULL: none */
    bool stateless;
};

/* ---- answers --------------------------------------------------------------------------------- */

static void send_and_free(const struct mcp *mcp, json_t *message)
{
    if (message != NULL) /* else out of memory: the client's patience will end */
        mcp->handlers->send(mcp->handlers->context, message);
    json_decref(message);
}

static json_t *implementation(const struct mcp *mcp)
{
    return json_pack("{s:s, s:s, s:s}", "name", NAME, "title", mcp->server->title, "version",
                     WATTLE_VERSION);
}

/* What every result of the stateless revision carries. Takes `result`, and gives it back. */
static json_t *stamp(const struct mcp *mcp, bool stateless, json_t *result)
{
    if (result == NULL || !stateless)
        return result;
    if (json_object_get(result, "resultType") == NULL)
        (void) json_object_set_new(result, "resultType", json_string("complete"));
    (void) json_object_set_new(result, "_meta",
                               json_pack("{s:o}", META "serverInfo", implementation(mcp)));
    return result;
}

static void answer(const struct asked *asked, json_t *result)
{
    send_and_free(asked->mcp,
                  rpc_result(asked->message->id, stamp(asked->mcp, asked->stateless, result)));
}

static void refuse(const struct asked *asked, int code, const struct err *err)
{
    send_and_free(asked->mcp, rpc_error(asked->message->id, code, err));
}

static void refuse_params(const struct asked *asked, const char *what)
{
    struct err err = {0};

    (void) err_set(&err, EINVAL, "rpc.params", "%s", what);
    refuse(asked, RPC_PARAMS, &err);
}

static void refuse_method(const struct asked *asked)
{
    struct err err = {0};

    (void) err_set(&err, EINVAL, "rpc.method", "unknown method '%s'", asked->message->method);
    refuse(asked, RPC_NO_METHOD, &err);
}

/* ---- what the server is ---------------------------------------------------------------------- */

static json_t *capabilities(const struct mcp *mcp)
{
    AUTO(json_free) json_t *json = json_pack("{s:{}}", "tools");

    if (json != NULL && mcp->server->more_capabilities != NULL &&
        json_object_update(json, (json_t *) (uintptr_t) mcp->server->more_capabilities) < 0)
        return NULL;
    return TAKE_PTR(json);
}

static const char *agree(const char *wanted)
{
    for (size_t i = 0; i < ARRAY_SIZE(handshake_versions); i++) {
        if (str_equal(wanted, handshake_versions[i]))
            return wanted;
    }
    return handshake_versions[0];
}

static void on_initialize(const struct asked *asked)
{
    const char *wanted =
        json_plain_text(json_object_get(asked->message->params, "protocolVersion"));

    if (wanted == NULL) {
        refuse_params(asked, "'protocolVersion' is missing");
        return;
    }
    asked->mcp->initialized = true;
    answer(asked,
           json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", agree(wanted), "capabilities",
                     capabilities(asked->mcp), "serverInfo", implementation(asked->mcp),
                     "instructions", asked->mcp->server->instructions));
}

/* The same for everybody, and for as long as this build is installed. */
static json_t *cacheable(json_t *result)
{
    if (result != NULL) {
        (void) json_object_set_new(result, "ttlMs", json_integer(3600000));
        (void) json_object_set_new(result, "cacheScope", json_string("public"));
    }
    return result;
}

static void on_discover(const struct asked *asked)
{
    answer(asked, cacheable(json_pack("{s:[s], s:o, s:s}", "supportedVersions", STATELESS,
                                      "capabilities", capabilities(asked->mcp), "instructions",
                                      asked->mcp->server->instructions)));
}

static void on_ping(const struct asked *asked)
{
    answer(asked, json_object());
}

/* ---- tools ----------------------------------------------------------------------------------- */

static json_t *describe(const struct mcp_tool *tool)
{
    json_t *input = json_loads(tool->input_schema, JSON_REJECT_DUPLICATES, NULL);
    json_t *output = json_loads(tool->output_schema, JSON_REJECT_DUPLICATES, NULL);

    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:{s:s, s:b, s:b, s:b, s:b}}", "name", tool->name,
                     "title", tool->title, "description", tool->description, "inputSchema", input,
                     "outputSchema", output, "annotations", "title", tool->title, "readOnlyHint",
                     (int) tool->reads_only, "destructiveHint", (int) tool->destroys,
                     "idempotentHint", (int) tool->idempotent, "openWorldHint",
                     (int) tool->open_world);
}

static json_t *describe_all(const struct mcp_server *server)
{
    AUTO(json_free) json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < server->tool_count; i++) {
        if (json_array_append_new(list, describe(&server->tools[i])) < 0)
            return NULL;
    }
    return TAKE_PTR(list);
}

static void on_list(const struct asked *asked)
{
    json_t *result = json_pack("{s:O}", "tools", asked->mcp->tools);

    answer(asked, asked->stateless ? cacheable(result) : result);
}

static const struct mcp_tool *find_tool(const struct mcp *mcp, const char *name)
{
    for (size_t i = 0; name != NULL && i < mcp->server->tool_count; i++) {
        if (str_equal(mcp->server->tools[i].name, name))
            return &mcp->server->tools[i];
    }
    return NULL;
}

static struct mcp_call *find_call(const struct mcp *mcp, const json_t *id)
{
    for (size_t i = 0; id != NULL && i < MCP_CALLS_MAX; i++) {
        if (mcp->calls[i] != NULL && json_equal(mcp->calls[i]->id, id))
            return mcp->calls[i];
    }
    return NULL;
}

static void free_call(struct mcp_call *call)
{
    json_decref(call->id);
    json_decref(call->token);
    free(call);
}

static struct mcp_call *new_call(const struct asked *asked)
{
    const json_t *token = json_object_get(asked->meta, "progressToken");
    struct mcp *mcp = asked->mcp;

    for (size_t i = 0; i < MCP_CALLS_MAX; i++) {
        struct mcp_call *call = mcp->calls[i] == NULL ? calloc(1, sizeof *call) : NULL;

        if (call == NULL)
            continue;
        mcp->calls[i] = call;
        call->mcp = mcp;
        call->id = json_deep_copy(asked->message->id);
        call->stateless = asked->stateless;
        if (json_is_string(token) || json_is_integer(token))
            call->token = json_deep_copy(token);
        return call;
    }
    return NULL;
}

static void refuse_tool(const struct asked *asked, const char *name)
{
    struct err err = {0};

    if (name == NULL)
        (void) err_set(&err, EINVAL, "rpc.params", "'name' has to be that of a tool");
    else
        (void) err_set(&err, EINVAL, "rpc.params", "unknown tool '%s'", name);
    refuse(asked, RPC_PARAMS, &err);
}

static void on_call(const struct asked *asked)
{
    const json_t *params = asked->message->params;
    const char *name = json_plain_text(json_object_get(params, "name"));
    const struct mcp_tool *tool = find_tool(asked->mcp, name);
    const json_t *given = json_object_get(params, "arguments");
    AUTO(json_free) json_t *none = json_object();
    struct mcp_call *call;

    if (tool == NULL) {
        refuse_tool(asked, name);
    } else if (given != NULL && !json_is_object(given)) {
        refuse_params(asked, "'arguments' is no object");
    } else if (find_call(asked->mcp, asked->message->id) != NULL) {
        refuse_params(asked, "the id is one of a call that is under way");
    } else if ((call = new_call(asked)) == NULL) {
        refuse_params(asked, "too many calls at a time");
    } else {
        const struct mcp_handlers *handlers = asked->mcp->handlers;

        handlers->call(handlers->context, call, tool, given != NULL ? given : none);
    }
}

static void finish(struct mcp_call *call, json_t *result)
{
    struct mcp *mcp = call->mcp;

    if (mcp != NULL) {
        for (size_t i = 0; i < MCP_CALLS_MAX; i++) {
            if (mcp->calls[i] == call)
                mcp->calls[i] = NULL;
        }
    }
    if (mcp != NULL && !call->cancelled)
        send_and_free(mcp, rpc_result(call->id, stamp(mcp, call->stateless, result)));
    else
        json_decref(result);
    free_call(call);
}

void mcp_call_answer(struct mcp_call *call, json_t *structured, bool is_error)
{
    AUTO_FREE char *text = json_dumps(structured, JSON_COMPACT);

    finish(call, json_pack("{s:[{s:s, s:s}], s:o, s:b}", "content", "type", "text", "text",
                           text == NULL ? "" : text, "structuredContent", structured, "isError",
                           (int) is_error));
}

void mcp_call_answer_result(struct mcp_call *call, json_t *result)
{
    finish(call, result);
}

void mcp_call_progress(struct mcp_call *call, const char *message)
{
    if (call->mcp == NULL || call->token == NULL || call->cancelled)
        return;
    send_and_free(call->mcp,
                  rpc_request(NULL, "notifications/progress",
                              json_pack("{s:O, s:I, s:s}", "progressToken", call->token, "progress",
                                        ++call->progress, "message", message)));
}

void mcp_call_set(struct mcp_call *call, void *value)
{
    call->value = value;
}

void *mcp_call_get(const struct mcp_call *call)
{
    return call->value;
}

/* ---- which method, of which era -------------------------------------------------------------- */

enum era { HANDSHAKE = 1u << 0, BEFORE = 1u << 1, ALONE = 1u << 2 };

static const struct {
    const char *method;
    unsigned eras;
    void (*serve)(const struct asked *asked);
} methods[] = {
    {"initialize", HANDSHAKE | BEFORE, on_initialize}, {"ping", HANDSHAKE | BEFORE, on_ping},
    {"server/discover", ALONE, on_discover},           {"tools/list", HANDSHAKE | ALONE, on_list},
    {"tools/call", HANDSHAKE | ALONE, on_call},
};

/* Of the stateless revision a request says the version and what the client can, each time. */
static bool check_meta(const struct asked *asked)
{
    const json_t *version = json_object_get(asked->meta, META "protocolVersion");
    struct err err = {0};

    if (json_plain_text(version) == NULL ||
        !json_is_object(json_object_get(asked->meta, META "clientCapabilities"))) {
        refuse_params(asked, "'_meta' lacks the protocol version or the client's capabilities");
        return false;
    }
    if (str_equal(json_string_value(version), STATELESS))
        return true;
    (void) err_set(&err, EINVAL, "mcp.version", "unsupported protocol version");
    send_and_free(asked->mcp, json_pack("{s:s, s:O, s:{s:i, s:s, s:{s:s, s:[s]}}}", "jsonrpc",
                                        "2.0", "id", asked->message->id, "error", "code",
                                        CODE_VERSION, "message", err.what, "data", "requested",
                                        json_string_value(version), "supported", STATELESS));
    return false;
}

static void serve_other(const struct asked *asked)
{
    const struct mcp_handlers *handlers = asked->mcp->handlers;
    struct err err = {.code = ENOSYS};
    json_t *result = handlers->other == NULL
                         ? NULL
                         : handlers->other(handlers->context, asked->message->method,
                                           asked->message->params, &err);

    if (result != NULL)
        answer(asked, result);
    else if (err.code == ENOSYS)
        refuse_method(asked);
    else
        refuse(asked, rpc_code_of(&err), &err);
}

static void serve(const struct asked *asked)
{
    const unsigned era = asked->stateless ? ALONE : asked->mcp->initialized ? HANDSHAKE : BEFORE;

    if (asked->stateless && !check_meta(asked))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        if (!str_equal(methods[i].method, asked->message->method))
            continue;
        if ((methods[i].eras & era) != 0)
            methods[i].serve(asked);
        else if (asked->stateless)
            refuse_method(asked);
        else
            refuse_params(asked, "neither has '_meta' a protocol version nor was there an "
                                 "'initialize'");
        return;
    }
    serve_other(asked);
}

static void on_notification(const struct mcp *mcp, const struct rpc_message *message)
{
    struct mcp_call *call;

    if (!str_equal(message->method, "notifications/cancelled"))
        return;
    call = find_call(mcp, json_object_get(message->params, "requestId"));
    if (call == NULL || call->cancelled)
        return;
    call->cancelled = true;
    mcp->handlers->cancel(mcp->handlers->context, call);
}

/* ---- the connection -------------------------------------------------------------------------- */

/* What is no message is answered, but for a notification, which nobody waits for. */
static void refuse_line(const struct mcp *mcp, const struct rpc_message *message,
                        const struct err *err)
{
    const bool is_notification = message->id == NULL && json_is_object(message->json) &&
                                 json_object_get(message->json, "method") != NULL;
    const bool has_id = json_is_string(message->id) || json_is_integer(message->id);

    if (!is_notification)
        send_and_free(mcp, rpc_error(has_id ? message->id : NULL, rpc_code_of(err), err));
}

void mcp_take(struct mcp *mcp, const char *line, size_t size)
{
    AUTO(rpc_message_free) struct rpc_message message = {.json = NULL};
    struct asked asked = {.mcp = mcp, .message = &message};
    struct err err = {0};

    if (rpc_message_parse(line, size, &message, &err) < 0) {
        refuse_line(mcp, &message, &err);
        return;
    }
    asked.meta = json_object_get(message.params, "_meta");
    asked.stateless = json_object_get(asked.meta, META "protocolVersion") != NULL ||
                      json_object_get(asked.meta, META "clientCapabilities") != NULL;
    if (message.kind == RPC_REQUEST)
        serve(&asked);
    else if (message.kind == RPC_NOTIFICATION)
        on_notification(mcp, &message);
}

void mcp_refuse_long(const struct mcp *mcp)
{
    struct err err = {0};

    (void) err_set(&err, EINVAL, "rpc.invalid", "a message has more than %u bytes (4 MiB)",
                   MCP_MESSAGE_LIMIT_BYTES);
    (void) err_hint(&err, "write what is long into a file of the pen, in parts");
    send_and_free(mcp, rpc_error(NULL, rpc_code_of(&err), &err));
}

int mcp_new(const struct mcp_server *server, const struct mcp_handlers *handlers,
            struct mcp **ret_mcp, struct err *err)
{
    AUTO(mcp_freep) struct mcp *mcp = calloc(1, sizeof *mcp);

    if (mcp == NULL)
        return err_memory(err);
    mcp->server = server;
    mcp->handlers = handlers;
    mcp->tools = describe_all(server);
    if (mcp->tools == NULL)
        return err_memory(err);
    *ret_mcp = TAKE_PTR(mcp);
    return 0;
}

void mcp_freep(struct mcp **mcp)
{
    struct mcp *gone = TAKE_PTR(*mcp);

    if (gone == NULL)
        return;
    for (size_t i = 0; i < MCP_CALLS_MAX; i++) {
        if (gone->calls[i] != NULL)
            gone->calls[i]->mcp = NULL; /* who has it answers it into nothing */
    }
    json_decref(gone->tools);
    free(gone);
}
