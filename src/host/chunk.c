#include "host/chunk.h"

#include <stdlib.h>

enum { CHUNK_BYTES = 64 << 10 };

void chunk_make(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_chunk)
{
    (void) handle;
    (void) suggested;
    *ret_chunk = uv_buf_init(malloc(CHUNK_BYTES), CHUNK_BYTES);
    if (ret_chunk->base == NULL)
        ret_chunk->len = 0;
}
