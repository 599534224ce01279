/* Messages over a stream socket: a 32-bit length, big-endian, and so many bytes. Layer 1; the wire
 * format only. docs/api.md says what is in them. Peers are hostile: a size is checked before room
 * is made for it. */
#ifndef WATTLE_RPC_FRAME_H
#define WATTLE_RPC_FRAME_H

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

#define RPC_MESSAGE_LIMIT_BYTES (4u << 20)

/* Appends one message. -EMSGSIZE. */
int rpc_frame_put(struct buf *buf, const json_t *message) MUST_CHECK;

/* What came so far of one message. */
struct rpc_reader {
    unsigned char length[4];
    size_t length_size;
    struct buf body;
    size_t wanted; /* once the length is known */
};
void rpc_reader_init(struct rpc_reader *reader);
void rpc_reader_free(struct rpc_reader *reader);
/* Takes bytes until one message is whole or there are none left. 1: `reader->body` is whole (call
 * rpc_reader_next before going on), 0: more is needed, -EMSGSIZE, -ENOMEM. *ret_taken: how many of
 * `bytes` were used. */
int rpc_reader_feed(struct rpc_reader *reader, const void *bytes, size_t size,
                    size_t *ret_taken) MUST_CHECK;
void rpc_reader_next(struct rpc_reader *reader);
bool rpc_reader_is_half(
    const struct rpc_reader *reader); /* something of a message is there, not all */

#endif
