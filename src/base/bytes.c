#include "base/bytes.h"

#include <endian.h>
#include <string.h>

void bytes_put_u8(struct buf *buf, unsigned number)
{
    const unsigned char byte = (unsigned char) number;

    (void) buf_add(buf, &byte, sizeof byte);
}

void bytes_put_u32(struct buf *buf, uint32_t number)
{
    number = htole32(number);
    (void) buf_add(buf, &number, sizeof number);
}

void bytes_put_u64(struct buf *buf, uint64_t number)
{
    number = htole64(number);
    (void) buf_add(buf, &number, sizeof number);
}

struct bytes bytes_of(const void *block, size_t size)
{
    return (struct bytes){.at = block, .left = size};
}

const void *bytes_take(struct bytes *bytes, size_t size)
{
    const void *at = bytes->at;

    bytes->broken = bytes->broken || size > bytes->left;
    if (bytes->broken)
        return NULL;
    bytes->at += size;
    bytes->left -= size;
    return at;
}

uint8_t bytes_take_u8(struct bytes *bytes)
{
    const unsigned char *at = bytes_take(bytes, 1);

    return at == NULL ? 0 : *at;
}

uint32_t bytes_take_u32(struct bytes *bytes)
{
    const void *at = bytes_take(bytes, sizeof(uint32_t));
    uint32_t number = 0;

    if (at != NULL)
        memcpy(&number, at, sizeof number);
    return le32toh(number);
}

uint64_t bytes_take_u64(struct bytes *bytes)
{
    const void *at = bytes_take(bytes, sizeof(uint64_t));
    uint64_t number = 0;

    if (at != NULL)
        memcpy(&number, at, sizeof number);
    return le64toh(number);
}

uint64_t bytes_sum(uint64_t sum, const void *block, size_t size)
{
    const unsigned char *at = block;

    for (size_t i = 0; i < size; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
    return sum;
}
