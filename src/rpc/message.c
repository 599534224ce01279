#include "rpc/message.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

void rpc_message_free(struct rpc_message *message)
{
    json_free(&message->json);
    *message = (struct rpc_message){.json = NULL};
}

/* ---- reading --------------------------------------------------------------------------------- */

static int invalid(struct err *err, const char *why)
{
    return err_set(err, EINVAL, "rpc.invalid", "not a JSON-RPC 2.0 message: %s", why);
}

static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_integer(id);
}

static bool knows_keys(const json_t *json)
{
    static const char *const known[] = {"jsonrpc", "id", "method", "params", "result", "error"};
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        count += json_object_get(json, known[i]) != NULL;
    return count == json_object_size(json);
}

static int read_call(struct rpc_message *message, const json_t *method, struct err *err)
{
    const json_t *id = message->id;

    message->kind = id == NULL ? RPC_NOTIFICATION : RPC_REQUEST;
    message->method = json_plain_text(method);
    message->params = json_object_get(message->json, "params");
    if (message->method == NULL)
        return invalid(err, "'method' is no text");
    if (id != NULL && !is_id(id))
        return invalid(err, "'id' is neither a text nor a number");
    if (message->params != NULL && !json_is_object(message->params))
        return invalid(err, "'params' is no object");
    if (json_object_get(message->json, "result") != NULL ||
        json_object_get(message->json, "error") != NULL)
        return invalid(err, "it is a request and an answer");
    return 0;
}

static int read_error(struct rpc_message *message, const json_t *error, struct err *err)
{
    const json_t *code = json_object_get(error, "code");
    const json_t *data = json_object_get(error, "data");
    const json_int_t number = json_integer_value(code);

    message->kind = RPC_ERROR;
    message->what = json_string_value(json_object_get(error, "message"));
    message->error_id = json_string_value(json_object_get(data, "id"));
    message->hint = json_string_value(json_object_get(data, "hint"));
    if (!json_is_integer(code) || number < INT_MIN || number > INT_MAX || message->what == NULL)
        return invalid(err, "'error' lacks its code or message");
    message->code = (int) number;
    return 0;
}

static int read_answer(struct rpc_message *message, struct err *err)
{
    const json_t *error = json_object_get(message->json, "error");

    message->kind = RPC_RESULT;
    message->result = json_object_get(message->json, "result");
    if ((message->result != NULL) == (error != NULL))
        return invalid(err, "neither a request nor an answer");
    if (message->id == NULL || (!is_id(message->id) && !(error && json_is_null(message->id))))
        return invalid(err, "an answer without an 'id'");
    return error != NULL ? read_error(message, error, err) : 0;
}

int rpc_message_parse(const char *text, size_t size, struct rpc_message *ret_message,
                      struct err *err)
{
    const json_t *method;
    const char *version;
    int r;

    *ret_message = (struct rpc_message){.json = NULL};
    r = json_parse_any_text(text, size, "message", &ret_message->json, err);
    if (r < 0)
        return r;
    if (!json_is_object(ret_message->json))
        return invalid(err, "it is no object");
    ret_message->id = json_object_get(ret_message->json, "id");
    method = json_object_get(ret_message->json, "method");
    if (!knows_keys(ret_message->json))
        return invalid(err, "it has unknown keys");
    version = json_string_value(json_object_get(ret_message->json, "jsonrpc"));
    if (version == NULL || !str_equal(version, "2.0"))
        return invalid(err, "'jsonrpc' is not \"2.0\"");
    return method != NULL ? read_call(ret_message, method, err) : read_answer(ret_message, err);
}

/* ---- making ---------------------------------------------------------------------------------- */

static json_t *envelope(const json_t *id)
{
    AUTO(json_free) json_t *json = json_pack("{s:s}", "jsonrpc", "2.0");

    if (json == NULL || (id != NULL && json_object_set_new(json, "id", json_deep_copy(id)) < 0))
        return NULL;
    return TAKE_PTR(json);
}

/* Takes `value`. */
static json_t *with(json_t *json_, const char *key, json_t *value)
{
    AUTO(json_free) json_t *json = json_;

    if (json == NULL || value == NULL) {
        json_decref(value);
        return NULL;
    }
    return json_object_set_new(json, key, value) < 0 ? NULL : TAKE_PTR(json);
}

json_t *rpc_request(json_t *id, const char *method, json_t *params)
{
    json_t *json = with(envelope(id), "method", json_string(method));

    json_decref(id);
    return params == NULL ? json : with(json, "params", params);
}

json_t *rpc_result(const json_t *id, json_t *result)
{
    return with(envelope(id), "result", result);
}

json_t *rpc_error(const json_t *id, int code, const struct err *err)
{
    json_t *data = json_pack("{s:s, s:o*}", "id", err->id, "hint",
                             err->hint[0] == '\0' ? NULL : json_text(err->hint, strlen(err->hint)));
    json_t *error = json_pack("{s:i, s:o, s:o}", "code", code, "message",
                              json_text(err->what, strlen(err->what)), "data", data);
    json_t *null = json_null();

    return with(envelope(id == NULL ? null : id), "error", error);
}

int rpc_code_of(const struct err *err)
{
    static const struct {
        const char *id;
        int code;
    } codes[] = {
        {"json.syntax", RPC_PARSE}, {"rpc.invalid", RPC_INVALID}, {"rpc.method", RPC_NO_METHOD},
        {"rpc.params", RPC_PARAMS}, {"rpc.ending", RPC_ENDING},
    };

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        if (str_equal(err->id, codes[i].id))
            return codes[i].code;
    }
    return err->code == ESTALE ? RPC_STALE : RPC_REFUSED;
}
