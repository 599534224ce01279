/* Numbers and blocks as bytes, little endian on every machine: what files and frames of all layers
 * are made of. Layer 0. */
#ifndef WATTLE_BASE_BYTES_H
#define WATTLE_BASE_BYTES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- writing: a failure sticks in the buffer ------------------------------------------------- */

void bytes_put_u8(struct buf *buf, unsigned number);
void bytes_put_u32(struct buf *buf, uint32_t number);
void bytes_put_u64(struct buf *buf, uint64_t number);

/* ---- reading: nothing is believed ------------------------------------------------------------ */

/* What is left. A step beyond the end sets `broken`, as the reader's owner may for any other fault;
 * from then on everything reads as 0 or NULL. */
struct bytes {
    const unsigned char *at;
    size_t left;
    bool broken;
};

struct bytes bytes_of(const void *block, size_t size);
const void *bytes_take(struct bytes *bytes, size_t size); /* borrowed from the block */
uint8_t bytes_take_u8(struct bytes *bytes);
uint32_t bytes_take_u32(struct bytes *bytes);
uint64_t bytes_take_u64(struct bytes *bytes);

/* ---- telling blocks apart -------------------------------------------------------------------- */

/* FNV-1a, 64 bits: finds what a crash left half written, and nothing an attacker wrote. Begin with
 * BYTES_SUM; the sum of one block goes on in the next. */
#define BYTES_SUM UINT64_C(0xcbf29ce484222325)
uint64_t bytes_sum(uint64_t sum, const void *block, size_t size);

#endif
