/* A buffer of bytes that grows up to a limit given when it is made. Layer 0.
 * Always ends in a NUL that is not counted, so `bytes` can be read as a string. */
#ifndef WATTLE_BASE_BUF_H
#define WATTLE_BASE_BUF_H

#include "base/err.h"

#include <stddef.h>

struct buf {
    char *bytes; /* never NULL after buf_init: an empty buffer points to a constant "" */
    size_t size;
    size_t limit;
    size_t room_;
    int failed; /* sticky -errno of the first failure: callers may append freely and test once */
};

void buf_init(struct buf *buf, size_t limit_bytes);
void buf_free(struct buf *buf); /* takes a zeroed or freed one; usable as AUTO(buf_free) */

/* Errors: -ENOMEM, -EMSGSIZE beyond the limit. On failure the content is unchanged and every later
 * append fails the same way. */
int buf_add(struct buf *buf, const void *bytes, size_t size);
int buf_add_text(struct buf *buf, const char *text);
int buf_printf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

/* Turns a sticky failure into an error about `object` ("buf.limit" or "base.memory"). */
int buf_check(const struct buf *buf, const char *object, struct err *err) MUST_CHECK;

/* Hands the bytes to the caller (free()); the buffer is empty afterwards. NULL when out of memory
 * or when an append had failed: half a text is never handed out. */
char *buf_take(struct buf *buf);

#endif
