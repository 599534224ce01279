/* JSON-RPC 2.0, one object a message. Layer 1. */
#ifndef WATTLE_RPC_MESSAGE_H
#define WATTLE_RPC_MESSAGE_H

#include "base/err.h"

#include <jansson.h>

enum rpc_code {
    RPC_PARSE = -32700,
    RPC_INVALID = -32600,
    RPC_NO_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_REFUSED = -32000,
    RPC_STALE = -32001,
    RPC_ENDING = -32002,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

/* All borrowed from `json`, which is owned. */
struct rpc_message {
    json_t *json;
    enum rpc_kind kind;
    const json_t
        *id; /* a string or an integer; NULL for a notification; may be null for an error */
    const char *method;   /* REQUEST, NOTIFICATION */
    const json_t *params; /* an object, or NULL */
    const json_t *result; /* RESULT */
    int code;             /* ERROR, and what it says */
    const char *what, *error_id, *hint;
};
void rpc_message_free(struct rpc_message *message);

/* Strict: exactly one object, UTF-8, "jsonrpc":"2.0", nothing beside the known keys, a batch is
 * none. `*ret_id` (borrowed from ret_message->json, which is set also on failure when it could be
 * parsed) is what an error answer has to name. */
int rpc_message_parse(const char *text, size_t size, struct rpc_message *ret_message,
                      struct err *err) MUST_CHECK;

/* Each gives a new object, or NULL: out of memory. `params` and `result` are taken over. */
/* `id` is taken over; NULL: a notification. */
json_t *rpc_request(json_t *id, const char *method, json_t *params);
json_t *rpc_result(const json_t *id, json_t *result);
json_t *rpc_error(const json_t *id, int code, const struct err *err);
int rpc_code_of(
    const struct err *err); /* ESTALE: RPC_STALE; EINVAL rpc.params: RPC_PARAMS; else RPC_REFUSED */

#endif
