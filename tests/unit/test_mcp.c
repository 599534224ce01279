/* The protocol as a table: lines in, lines out. "!..." is what the server's owner does meanwhile.
 */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "cm.h"
#include "mcp/core.h"

#include <stdio.h>
#include <string.h>

enum { OUT_LIMIT_BYTES = 1 << 20, OPEN_MAX_ = MCP_CALLS_MAX + 1 };

/* ---- a server ------------------------------------------------------------------------------- */

static const struct mcp_tool tool = {
    .name = "tool",
    .title = "T",
    .description = "D",
    .input_schema = "{\"type\":\"object\"}",
    .output_schema = "{\"type\":\"object\"}",
    .reads_only = true,
};
static const struct mcp_server server = {
    .title = "W", .instructions = "I", .tools = &tool, .tool_count = 1};

struct world {
    struct mcp *mcp;
    struct mcp_handlers handlers;
    struct buf out;
    struct mcp_call *open[OPEN_MAX_];
    size_t open_count;
};

static void on_send(void *context, const json_t *message)
{
    struct world *world = context;
    AUTO_FREE char *text = json_dumps(message, JSON_COMPACT);

    (void) buf_printf(&world->out, "%s\n", text);
}

static void on_call(void *context, struct mcp_call *call, const struct mcp_tool *called,
                    const json_t *arguments)
{
    struct world *world = context;

    assert_ptr_equal(called, &tool);
    assert_true(json_is_object(arguments));
    assert_null(mcp_call_get(call));
    mcp_call_set(call, world);
    world->open[world->open_count++] = call;
}

static void on_cancel(void *context, const struct mcp_call *call)
{
    assert_ptr_equal(mcp_call_get(call), context);
    (void) buf_add_text(&((struct world *) context)->out, "!cancelled\n");
}

/* The error is set by the test's own method, which no revision has. */
static json_t *on_other(void *context, const char *method, const json_t *params, struct err *err)
{
    (void) context;
    (void) params;
    if (str_equal(method, "test/echo"))
        return json_pack("{s:s}", "said", "echo");
    (void) err_set(err, str_equal(method, "test/fail") ? EINVAL : ENOSYS, "test.failed", "no");
    return NULL;
}

static void world_init(struct world *world)
{
    struct err err = {0};

    *world = (struct world){.handlers = {.send = on_send,
                                         .call = on_call,
                                         .cancel = on_cancel,
                                         .other = on_other,
                                         .context = world}};
    buf_init(&world->out, OUT_LIMIT_BYTES);
    assert_int_equal(mcp_new(&server, &world->handlers, &world->mcp, &err), 0);
}

static struct mcp_call *take_first(struct world *world)
{
    struct mcp_call *call = world->open[0];

    assert_true(world->open_count > 0);
    memmove(world->open, world->open + 1, --world->open_count * sizeof *world->open);
    return call;
}

static void world_free(struct world *world)
{
    mcp_freep(&world->mcp);
    while (world->open_count > 0) /* answers into nothing */
        mcp_call_answer(take_first(world), json_object(), false);
    buf_free(&world->out);
}

static void give(struct world *world, const char *line)
{
    if (str_equal(line, "!answer"))
        mcp_call_answer(take_first(world), json_pack("{s:i}", "n", 1), false);
    else if (str_equal(line, "!fail"))
        mcp_call_answer(take_first(world), json_pack("{s:i}", "n", 2), true);
    else if (str_equal(line, "!result"))
        mcp_call_answer_result(take_first(world), json_pack("{s:[]}", "content"));
    else if (str_equal(line, "!progress"))
        mcp_call_progress(world->open[0], "on");
    else if (str_equal(line, "!long"))
        mcp_refuse_long(world->mcp);
    else
        mcp_take(world->mcp, line, strlen(line));
}

/* ---- the table ------------------------------------------------------------------------------ */

#define REQUEST(id, method, params)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}\n"
#define ERROR(id, code, message, name)                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message       \
    "\",\"data\":{\"id\":\"" name "\"}}}\n"
#define INIT(version)                                                                              \
    REQUEST("0", "initialize",                                                                     \
            "{\"protocolVersion\":\"" version "\",\"capabilities\":{},\"clientInfo\":{}}")
#define NAMED "{\"name\":\"wattle\",\"title\":\"W\",\"version\":\"" WATTLE_VERSION "\"}"
#define WELCOME(version)                                                                           \
    RESULT("0",                                                                                    \
           "{\"protocolVersion\":\"" version                                                       \
           "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":" NAMED ",\"instructions\":\"I\"}")
#define META "io.modelcontextprotocol/"
#define ALONE_AS(version)                                                                          \
    "\"_meta\":{\"" META "protocolVersion\":\"" version "\",\"" META "clientCapabilities\":{}}"
#define ALONE ALONE_AS("2026-07-28")
#define STAMP "\"resultType\":\"complete\",\"_meta\":{\"" META "serverInfo\":" NAMED "}"
#define TOOLS                                                                                      \
    "\"tools\":[{\"name\":\"tool\",\"title\":\"T\",\"description\":\"D\",\"inputSchema\":{"        \
    "\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\"},\"annotations\":{\"title\":"      \
    "\"T\",\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":false,"              \
    "\"openWorldHint\":false}}]"
#define ANSWER(number, error)                                                                      \
    "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":" number                                \
    "}\"}],\"structuredContent\":{\"n\":" number "},\"isError\":" error
#define CALL(id) REQUEST(id, "tools/call", "{\"name\":\"tool\",\"arguments\":{}}")
#define CALL_ALONE(id) REQUEST(id, "tools/call", "{\"name\":\"tool\"," ALONE "}")
#define CANCEL(id)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"
#define NO_ERA "neither has '_meta' a protocol version nor was there an 'initialize'"

static const struct {
    const char *what;
    const char *in[6];
    const char *out;
} rows[] = {
    {"a known version is agreed to", {INIT("2024-11-05")}, WELCOME("2024-11-05")},
    {"an unknown one gets the newest", {INIT("2099-01-01")}, WELCOME("2025-11-25")},
    {"a version is needed",
     {REQUEST("1", "initialize", "{}")},
     ERROR("1", "-32602", "'protocolVersion' is missing", "rpc.params")},
    {"ping before and after",
     {REQUEST("\"a\"", "ping", "{}"), INIT("2025-06-18"), REQUEST("2", "ping", "{}")},
     RESULT("\"a\"", "{}") WELCOME("2025-06-18") RESULT("2", "{}")},
    {"the tools, in the handshake era",
     {INIT("2025-06-18"), REQUEST("1", "tools/list", "{}")},
     WELCOME("2025-06-18") RESULT("1", "{" TOOLS "}")},
    {"no tools without an era",
     {REQUEST("1", "tools/list", "{}"), CALL("2")},
     ERROR("1", "-32602", NO_ERA, "rpc.params") ERROR("2", "-32602", NO_ERA, "rpc.params")},
    {"discovery",
     {REQUEST("1", "server/discover", "{" ALONE "}")},
     RESULT("1", "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
                 "\"instructions\":\"I\",\"ttlMs\":3600000,\"cacheScope\":\"public\"," STAMP "}")},
    {"the tools, alone",
     {REQUEST("1", "tools/list", "{" ALONE "}")},
     RESULT("1", "{" TOOLS ",\"ttlMs\":3600000,\"cacheScope\":\"public\"," STAMP "}")},
    {"methods of one era are not those of the other",
     {REQUEST("1", "ping", "{" ALONE "}"), REQUEST("2", "initialize", "{" ALONE "}"),
      INIT("2025-06-18"), REQUEST("3", "server/discover", "{}")},
     ERROR("1", "-32601", "unknown method 'ping'", "rpc.method")
         ERROR("2", "-32601", "unknown method 'initialize'", "rpc.method") WELCOME("2025-06-18")
             ERROR("3", "-32602", NO_ERA, "rpc.params")},
    {"another stateless version",
     {REQUEST("1", "tools/list", "{" ALONE_AS("2030-01-01") "}")},
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"unsupported protocol "
     "version\",\"data\":{\"requested\":\"2030-01-01\",\"supported\":[\"2026-07-28\"]}}}\n"},
    {"half of what a stateless request has to say",
     {REQUEST("1", "tools/list", "{\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\"}}"),
      REQUEST("2", "tools/list", "{\"_meta\":{\"" META "clientCapabilities\":{}}}")},
     ERROR("1", "-32602", "'_meta' lacks the protocol version or the client's capabilities",
           "rpc.params")
         ERROR("2", "-32602", "'_meta' lacks the protocol version or the client's capabilities",
               "rpc.params")},
    {"calls of both eras, mixed",
     {INIT("2025-06-18"), CALL("1"), CALL_ALONE("2"), "!answer", "!fail"},
     WELCOME("2025-06-18") RESULT("1", "{" ANSWER("1", "false") "}")
         RESULT("2", "{" ANSWER("2", "true") "," STAMP "}")},
    {"a result of the caller's own",
     {CALL_ALONE("1"), "!result"},
     RESULT("1", "{\"content\":[]," STAMP "}")},
    {"unknown tools and wrong calls",
     {INIT("2025-06-18"), REQUEST("1", "tools/call", "{\"name\":\"no\"}"),
      REQUEST("2", "tools/call", "{}"),
      REQUEST("3", "tools/call", "{\"name\":\"tool\",\"arguments\":[]}"),
      REQUEST("4", "tools/call", "{\"name\":\"tool\\u0000\"}")},
     WELCOME("2025-06-18") ERROR("1", "-32602", "unknown tool 'no'", "rpc.params")
         ERROR("2", "-32602", "'name' has to be that of a tool", "rpc.params")
             ERROR("3", "-32602", "'arguments' is no object", "rpc.params")
                 ERROR("4", "-32602", "'name' has to be that of a tool", "rpc.params")},
    {"an id that is taken, and is free again",
     {CALL_ALONE("7"), CALL_ALONE("7"), "!answer", CALL_ALONE("7"), "!answer"},
     ERROR("7", "-32602", "the id is one of a call that is under way", "rpc.params")
         RESULT("7", "{" ANSWER("1", "false") "," STAMP "}")
             RESULT("7", "{" ANSWER("1", "false") "," STAMP "}")},
    {"a cancelled call has no answer, and is cancelled once",
     {CALL_ALONE("7"), CANCEL("8"), CANCEL("7"), CANCEL("7"), "!answer"},
     "!cancelled\n"},
    {"signs of life only where they are wanted",
     {CALL_ALONE("1"), "!progress", "!answer",
      REQUEST("2", "tools/call",
              "{\"name\":\"tool\",\"_meta\":{\"progressToken\":\"p\",\"" META
              "protocolVersion\":\"2026-07-28\",\"" META "clientCapabilities\":{}}}"),
      "!progress", "!progress"},
     RESULT(
         "1",
         "{" ANSWER(
             "1",
             "false") "," STAMP
                      "}") "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                           "\"progressToken\":\"p\",\"progress\":1,\"message\":\"on\"}}\n"
                           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                           "\"progressToken\":\"p\",\"progress\":2,\"message\":\"on\"}}\n"},
    {"what nobody knows",
     {REQUEST("1", "no/such", "{}"), REQUEST("2", "test/echo", "{}"),
      REQUEST("3", "test/fail", "{}"), REQUEST("4", "no/such", "{" ALONE "}")},
     ERROR("1", "-32601", "unknown method 'no/such'", "rpc.method")
         RESULT("2", "{\"said\":\"echo\"}") ERROR("3", "-32000", "no", "test.failed")
             ERROR("4", "-32601", "unknown method 'no/such'", "rpc.method")},
    {"notifications and answers are never answered",
     {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\",\"params\":{}}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}"},
     ""},
    {"what is no message",
     {"{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", "7"},
     ERROR("5", "-32600", "not a JSON-RPC 2.0 message: 'jsonrpc' is not \\\"2.0\\\"", "rpc.invalid")
         ERROR("null", "-32600", "not a JSON-RPC 2.0 message: it is no object", "rpc.invalid")},
    {"a line over the bound",
     {"!long"},
     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a message has more "
     "than "
     "4194304 bytes (4 MiB)\",\"data\":{\"id\":\"rpc.invalid\",\"hint\":\"write what is long into "
     "a file "
     "of the pen, in parts\"}}}\n"},
};

static void lines_in_and_lines_out(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world world;

        world_init(&world);
        for (size_t k = 0; k < 6 && rows[i].in[k] != NULL; k++)
            give(&world, rows[i].in[k]);
        if (!str_equal(world.out.bytes, rows[i].out))
            fail_msg("%s:\n%s\nand not\n%s", rows[i].what, world.out.bytes, rows[i].out);
        world_free(&world);
    }
}

static void so_many_calls_at_a_time(void **state)
{
    struct world world;
    char line[512];

    (void) state;
    world_init(&world);
    for (int i = 0; i <= MCP_CALLS_MAX; i++) {
        (void) snprintf(line, sizeof line,
                        REQUEST("%d", "tools/call", "{\"name\":\"tool\"," ALONE "}"), i);
        give(&world, line);
    }
    assert_int_equal(world.open_count, MCP_CALLS_MAX);
    assert_non_null(strstr(world.out.bytes, "too many calls at a time"));
    world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_in_and_lines_out),
        cmocka_unit_test(so_many_calls_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
