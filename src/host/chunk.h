/* Room for what comes of a socket: the uv_alloc_cb of all of them. Private to src/host. */
#ifndef WATTLE_HOST_CHUNK_H
#define WATTLE_HOST_CHUNK_H

#include <uv.h>

/* `suggested` is libuv's wish, and not asked. Whoever reads frees; a length of 0: out of memory,
 * which libuv tells the reader as ENOBUFS. */
void chunk_make(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_chunk);

#endif
