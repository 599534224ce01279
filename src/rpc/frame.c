#include "rpc/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int rpc_frame_put(struct buf *buf, const json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    const size_t size = text == NULL ? 0 : strlen(text);
    const uint32_t length = htonl((uint32_t) size);
    int r = text == NULL ? -ENOMEM : 0;

    if (size > RPC_MESSAGE_LIMIT_BYTES)
        r = -EMSGSIZE;
    if (r == 0)
        r = buf_add(buf, &length, sizeof length);
    if (r == 0)
        r = buf_add(buf, text, size);
    free(text);
    return r;
}

void rpc_reader_init(struct rpc_reader *reader)
{
    *reader = (struct rpc_reader){0};
    buf_init(&reader->body, RPC_MESSAGE_LIMIT_BYTES);
}

void rpc_reader_free(struct rpc_reader *reader)
{
    buf_free(&reader->body);
    reader->length_size = 0;
}

void rpc_reader_next(struct rpc_reader *reader)
{
    rpc_reader_free(reader);
    rpc_reader_init(reader);
}

bool rpc_reader_is_half(const struct rpc_reader *reader)
{
    return reader->length_size > 0;
}

static size_t take_length(struct rpc_reader *reader, const char *bytes, size_t size)
{
    size_t taken = 0;
    uint32_t length;

    while (taken < size && reader->length_size < sizeof reader->length)
        reader->length[reader->length_size++] = (unsigned char) bytes[taken++];
    memcpy(&length, reader->length, sizeof length);
    reader->wanted = ntohl(length);
    return taken;
}

int rpc_reader_feed(struct rpc_reader *reader, const void *bytes, size_t size, size_t *ret_taken)
{
    size_t taken = take_length(reader, bytes, size);
    size_t some;
    int r = 0;

    *ret_taken = taken;
    if (reader->length_size < sizeof reader->length)
        return 0;
    if (reader->wanted > RPC_MESSAGE_LIMIT_BYTES)
        return -EMSGSIZE;
    some = reader->wanted - reader->body.size;
    if (some > size - taken)
        some = size - taken;
    r = buf_add(&reader->body, (const char *) bytes + taken, some);
    if (r < 0)
        return r;
    *ret_taken = taken + some;
    return reader->body.size == reader->wanted;
}
