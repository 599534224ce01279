/* What a client sends, line by line: whatever it is, the server goes on, what it answers is a
 * message, and every call can be answered, also after the connection. */
#include "base/cleanup.h"
#include "base/json.h"
#include "fuzz.h"
#include "mcp/core.h"
#include "mcp/tools.h"
#include "rpc/message.h"

#include <stdlib.h>
#include <string.h>

struct world {
    struct mcp_call *open[MCP_CALLS_MAX];
    size_t count;
};

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static void on_send(void *context, const json_t *message)
{
    AUTO(rpc_message_free) struct rpc_message read = {.json = NULL};
    AUTO_FREE char *text = json_dumps(message, JSON_COMPACT);

    (void) context;
    expect(text != NULL && strchr(text, '\n') == NULL);
    expect(rpc_message_parse(text, strlen(text), &read, NULL) == 0);
}

static void on_call(void *context, struct mcp_call *call, const struct mcp_tool *tool,
                    const json_t *arguments)
{
    struct world *world = context;
    const char *method = NULL;
    json_t *params = NULL;
    struct err err = {0};
    const int r = mcp_tools_request(tool, arguments, &method, &params, &err);

    expect(r == 0 || (r == -err.code && err.what[0] != '\0'));
    if (r < 0)
        mcp_call_answer(call, mcp_tools_refusal(&err), true);
    else
        world->open[world->count++] = call;
    expect(world->count <= MCP_CALLS_MAX);
    json_decref(params);
}

static void on_cancel(void *context, const struct mcp_call *call)
{
    struct world *world = context;
    bool known = false;

    for (size_t i = 0; i < world->count; i++)
        known = known || world->open[i] == call;
    expect(known);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct world world = {.count = 0};
    const struct mcp_handlers handlers = {
        .send = on_send, .call = on_call, .cancel = on_cancel, .context = &world};
    const char *at = (const char *) bytes;
    struct mcp *mcp = NULL;

    if (mcp_new(&mcp_tools_server, &handlers, &mcp, NULL) < 0)
        return 0;
    while (size > 0) {
        const char *end = memchr(at, '\n', size);
        const size_t length = end == NULL ? size : (size_t) (end - at);

        mcp_take(mcp, at, length);
        if (world.count > 0 && length % 2 == 0)
            mcp_call_progress(world.open[0], "under way");
        at += length + (end != NULL);
        size -= length + (end != NULL);
    }
    mcp_freep(&mcp);
    while (world.count > 0)
        mcp_call_answer(world.open[--world.count], json_object(), false);
    return 0;
}
