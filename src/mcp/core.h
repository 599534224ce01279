/* The Model Context Protocol, server's side, without input and output: messages in, messages out.
 * Layer 2.
 *
 * Two eras, told apart message by message. A request whose `_meta` names a protocol version is of
 * the stateless revision (2026-07-28) and stands alone. `initialize` begins the older protocol for
 * this process. Both may come mixed. The list of tools never varies. After the
 * published specification of the protocol, revisions below. */
#ifndef WATTLE_MCP_CORE_H
#define WATTLE_MCP_CORE_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define MCP_MESSAGE_LIMIT_BYTES (4u << 20)
#define MCP_CALLS_MAX 64 /* open at a time */

struct mcp_tool {
    const char *name, *title, *description;
    const char *input_schema, *output_schema; /* JSON Schema 2020-12, as text */
    bool reads_only, destroys, idempotent, open_world;
};

struct mcp;      /* one connection; opaque */
struct mcp_call; /* one tools/call under way; opaque, lives until it is answered */

struct mcp_handlers {
    /* A message to the client; borrowed. */
    void (*send)(void *context, const json_t *message);
    /* A call of a known tool; `arguments` is an object, borrowed, not checked. Now or later it has
     * to be answered once. */
    void (*call)(void *context, struct mcp_call *call, const struct mcp_tool *tool,
                 const json_t *arguments);
    /* The client does not want the answer any more. It still has to be given, and goes nowhere. */
    void (*cancel)(void *context, const struct mcp_call *call);
    /* Requests the core does not know (a test's); a result, or NULL with `err` (ENOSYS: unknown).
     * May be NULL. */
    json_t *(*other)(void *context, const char *method, const json_t *params, struct err *err);
    void *context;
};

struct mcp_server {
    const char *title, *instructions;
    const struct mcp_tool *tools;
    size_t tool_count;
    const json_t *more_capabilities; /* merged into {"tools":{}}; NULL: none */
};

/* `server` and `handlers` are borrowed and must live as long. */
int mcp_new(const struct mcp_server *server, const struct mcp_handlers *handlers,
            struct mcp **ret_mcp, struct err *err) MUST_CHECK;
void mcp_freep(struct mcp **mcp); /* open calls are forgotten */

/* One line without its end. Whatever is wrong with it is answered, or dropped where no answer is
 * due. */
void mcp_take(struct mcp *mcp, const char *line, size_t size);
/* Instead, for a line of more than MCP_MESSAGE_LIMIT_BYTES: its id is not known. */
void mcp_refuse_long(const struct mcp *mcp);

/* The answer: `structured` (taken over) as it is and as text; is_error: the model can mend it. */
void mcp_call_answer(struct mcp_call *call, json_t *structured, bool is_error);
/* The same with a whole result of the caller's. Taken over. */
void mcp_call_answer_result(struct mcp_call *call, json_t *result);
/* A sign of life; sent only where the client asked for it. */
void mcp_call_progress(struct mcp_call *call, const char *message);
/* What the caller keeps with the call; NULL at first. */
void mcp_call_set(struct mcp_call *call, void *value);
void *mcp_call_get(const struct mcp_call *call);

#endif
