#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

/* What `bytes` points to while nothing is allocated. Never written: room_ is 0 then. */
static const char nothing[1] = "";

void buf_init(struct buf *buf, size_t limit_bytes)
{
    *buf = (struct buf){
        .bytes = (char *) (uintptr_t) nothing,
        .limit = limit_bytes < SIZE_MAX / 2 ? limit_bytes : SIZE_MAX / 2, /* room never overflows */
    };
}

void buf_free(struct buf *buf)
{
    if (buf->room_ > 0)
        free(buf->bytes);
    buf_init(buf, buf->limit);
}

static int fail(struct buf *buf, int code)
{
    buf->failed = -code;
    return -code;
}

/* Makes room for `size` more bytes and the NUL. */
static int reserve(struct buf *buf, size_t size)
{
    size_t need;
    size_t room = buf->room_ > 0 ? buf->room_ : FIRST_ROOM;
    char *grown;

    if (buf->failed != 0)
        return buf->failed;
    if (size > buf->limit - buf->size)
        return fail(buf, EMSGSIZE);
    need = buf->size + size + 1;
    if (need <= buf->room_)
        return 0;

    while (room < need)
        room *= 2;
    if (room > buf->limit + 1)
        room = buf->limit + 1;
    grown = realloc(buf->room_ > 0 ? buf->bytes : NULL, room);
    if (grown == NULL)
        return fail(buf, ENOMEM);
    buf->bytes = grown;
    buf->room_ = room;
    return 0;
}

int buf_add(struct buf *buf, const void *bytes, size_t size)
{
    int r;

    if (size == 0)
        return buf->failed;
    r = reserve(buf, size);
    if (r < 0)
        return r;

    memcpy(buf->bytes + buf->size, bytes, size);
    buf->size += size;
    buf->bytes[buf->size] = '\0';
    return 0;
}

int buf_add_text(struct buf *buf, const char *text)
{
    return buf_add(buf, text, strlen(text));
}

int buf_printf(struct buf *buf, const char *format, ...)
{
    va_list arguments;
    int length;
    int r;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return buf->failed != 0 ? buf->failed : fail(buf, EMSGSIZE);
    if (length == 0)
        return buf->failed;
    r = reserve(buf, (size_t) length);
    if (r < 0)
        return r;

    va_start(arguments, format);
    (void) vsnprintf(buf->bytes + buf->size, (size_t) length + 1, format, arguments);
    va_end(arguments);
    buf->size += (size_t) length;
    return 0;
}

int buf_check(const struct buf *buf, const char *object, struct err *err)
{
    if (buf->failed == 0)
        return 0;
    if (buf->failed == -ENOMEM)
        return err_memory(err);
    return err_set(err, -buf->failed, "buf.limit", "'%s' does not fit in %zu bytes", object,
                   buf->limit);
}

char *buf_take(struct buf *buf)
{
    char *taken = NULL;

    if (buf->failed == 0) {
        taken = buf->room_ > 0 ? buf->bytes : calloc(1, 1);
        if (buf->room_ > 0)
            buf->room_ = 0; /* now the caller's; buf_free leaves it alone */
    }
    buf_free(buf);
    return taken;
}
