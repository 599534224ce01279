/* Bytes of a peer, in pieces of any size: each message is taken or refused whole, and what is taken
 * can be answered. */
#include "base/cleanup.h"
#include "base/json.h"
#include "fuzz.h"
#include "rpc/frame.h"
#include "rpc/message.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static void check(const struct rpc_reader *reader)
{
    AUTO(rpc_message_free) struct rpc_message message = {.json = NULL};
    AUTO(json_free) json_t *answer = NULL;
    struct err err = {0};
    const int r = rpc_message_parse(reader->body.bytes, reader->body.size, &message, &err);

    expect(r == 0 || (r == -err.code && err.what[0] != '\0'));
    if (r < 0) {
        answer = rpc_error(message.id, rpc_code_of(&err), &err);
        expect(answer != NULL && rpc_code_of(&err) < 0);
        return;
    }
    expect((message.kind == RPC_REQUEST || message.kind == RPC_NOTIFICATION) ==
           (message.method != NULL));
    expect((message.kind == RPC_NOTIFICATION) == (message.id == NULL));
    if (message.kind == RPC_REQUEST) {
        answer = rpc_result(message.id, json_object());
        expect(answer != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct rpc_reader reader;
    size_t at = size > 0; /* the first byte says how large the pieces are */

    rpc_reader_init(&reader);
    while (at < size) {
        const size_t piece = 1 + bytes[0] % 64;
        const size_t most = size - at < piece ? size - at : piece;
        size_t taken = 0;
        const int r = rpc_reader_feed(&reader, bytes + at, most, &taken);

        if (r < 0)
            break;
        expect(taken <= most && (r == 1 || taken == most));
        at += taken;
        if (r == 1) {
            check(&reader);
            rpc_reader_next(&reader);
        }
    }
    rpc_reader_free(&reader);
    return 0;
}
