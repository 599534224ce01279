/* A server of the protocol that is wattle's in all but its tools: what the protocol's own tests
 * call has to be there by name. On stdin and stdout, one message a line. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "mcp/core.h"

#include <stdio.h>
#include <string.h>

#define ANY "{\"type\":\"object\"}"
#define TEXT "{\"type\":\"text\",\"text\":\"This is a text of a test.\"}"
#define PIXEL                                                                                      \
    "{\"type\":\"image\",\"mimeType\":\"image/"                                                    \
    "png\",\"data\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAY"                                         \
    "AAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\"}"
#define SOUND                                                                                      \
    "{\"type\":\"audio\",\"mimeType\":\"audio/"                                                    \
    "wav\",\"data\":\"UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8A"                                        \
    "AIA+AAACABAAZGF0YQAAAAA=\"}"
#define RESOURCE                                                                                   \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://resource\",\"mimeType\":\"text/"        \
    "plain\","                                                                                     \
    "\"text\":\"words\"}}"
#define SCHEMA_2020                                                                                \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/"                                        \
    "schema\",\"type\":\"object\",\"$defs\":{"                                                     \
    "\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{"     \
    "\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":"   \
    "\"string\"},\"address\":{\"$ref\":\"#/$defs/"                                                 \
    "address\"},\"contactMethod\":{\"type\":\"string\","                                           \
    "\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":"         \
    "\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}]" \
    ","                                                                                            \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":["              \
    "\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]}," \
    "\"additionalProperties\":false}"

enum { LINE_LIMIT_BYTES = 1 << 20, TICKS = 3 };

/* What each tool answers, as content of a result. */
static const struct {
    struct mcp_tool tool;
    const char *content;
    bool is_error, ticks;
} rows[] = {
    {{.name = "test_simple_text", .input_schema = ANY}, "[" TEXT "]", false, false},
    {{.name = "test_image_content", .input_schema = ANY}, "[" PIXEL "]", false, false},
    {{.name = "test_audio_content", .input_schema = ANY}, "[" SOUND "]", false, false},
    {{.name = "test_embedded_resource", .input_schema = ANY}, "[" RESOURCE "]", false, false},
    {{.name = "test_multiple_content_types", .input_schema = ANY},
     "[" TEXT "," PIXEL "," RESOURCE "]",
     false,
     false},
    {{.name = "test_error_handling", .input_schema = ANY}, "[" TEXT "]", true, false},
    {{.name = "test_tool_with_progress", .input_schema = ANY}, "[" TEXT "]", false, true},
    {{.name = "json_schema_2020_12_tool", .input_schema = SCHEMA_2020}, "[" TEXT "]", false, false},
};

static void on_send(void *context, const json_t *message)
{
    (void) context;
    (void) json_dumpf(message, stdout, JSON_COMPACT);
    (void) fputs("\n", stdout);
    (void) fflush(stdout);
}

static void on_call(void *context, struct mcp_call *call, const struct mcp_tool *tool,
                    const json_t *arguments)
{
    (void) context;
    (void) arguments;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (!str_equal(rows[i].tool.name, tool->name))
            continue;
        for (int tick = 0; rows[i].ticks && tick < TICKS; tick++)
            mcp_call_progress(call, "under way");
        mcp_call_answer_result(
            call, json_pack("{s:o, s:{}, s:b}", "content", json_loads(rows[i].content, 0, NULL),
                            "structuredContent", "isError", (int) rows[i].is_error));
        return;
    }
}

static void on_cancel(void *context, const struct mcp_call *call)
{
    (void) context;
    (void) call; /* none is ever under way */
}

static int serve(struct mcp *mcp)
{
    static char line[LINE_LIMIT_BYTES];

    while (fgets(line, sizeof line, stdin) != NULL)
        mcp_take(mcp, line, strcspn(line, "\n"));
    return ferror(stdin) ? 1 : 0;
}

int main(void)
{
    static struct mcp_tool tools[ARRAY_SIZE(rows)];
    const struct mcp_server server = {.title = "fixture",
                                      .instructions = "For tests alone.",
                                      .tools = tools,
                                      .tool_count = ARRAY_SIZE(rows)};
    const struct mcp_handlers handlers = {.send = on_send, .call = on_call, .cancel = on_cancel};
    AUTO(mcp_freep) struct mcp *mcp = NULL;
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        tools[i] = rows[i].tool;
        tools[i].title = tools[i].name;
        tools[i].description = "A tool of the protocol's tests.";
        tools[i].output_schema = ANY;
    }
    if (mcp_new(&server, &handlers, &mcp, &err) < 0) {
        (void) fprintf(stderr, "mcp_fixture: %s\n", err.what);
        return 1;
    }
    return serve(mcp);
}
