#include "job/wire.h"

#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- writing ------------------------------------------------------------------------------------
 */

/* Failures stay in the buffer and are seen by wire_send. */
void wire_add_raw(struct buf *frame, const void *bytes, size_t size)
{
    if (buf_add(frame, bytes, size) < 0)
        return;
}

void wire_begin(struct buf *frame, enum wire_kind kind)
{
    const struct wire_header header = {.kind = kind};

    buf_init(frame, WIRE_LIMIT_BYTES);
    wire_add_raw(frame, &header, sizeof header);
}

void wire_add_u32(struct buf *frame, uint32_t value)
{
    wire_add_raw(frame, &value, sizeof value);
}

void wire_add_u64(struct buf *frame, uint64_t value)
{
    wire_add_raw(frame, &value, sizeof value);
}

void wire_add_bytes(struct buf *frame, const void *bytes, size_t size)
{
    wire_add_u32(frame, (uint32_t) size);
    wire_add_raw(frame, bytes, size);
}

void wire_add_text(struct buf *frame, const char *text)
{
    wire_add_bytes(frame, text, strlen(text));
}

int wire_finish(struct buf *frame)
{
    const uint32_t size = (uint32_t) (frame->size - sizeof(struct wire_header));

    if (frame->failed < 0)
        return frame->failed;
    memcpy(frame->bytes + offsetof(struct wire_header, size), &size, sizeof size);
    return 0;
}

int wire_send(int fd, struct buf *frame)
{
    const int r = wire_finish(frame);

    return r < 0 ? r : fd_write_all(fd, frame->bytes, frame->size);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static const void *take(struct wire_reader *reader, size_t size)
{
    const void *at = reader->at;

    if (reader->broken || size > reader->left) {
        reader->broken = true;
        return NULL;
    }
    reader->at += size;
    reader->left -= size;
    return at;
}

uint32_t wire_u32(struct wire_reader *reader)
{
    uint32_t value = 0;
    const void *at = take(reader, sizeof value);

    if (at != NULL)
        memcpy(&value, at, sizeof value);
    return value;
}

uint64_t wire_u64(struct wire_reader *reader)
{
    uint64_t value = 0;
    const void *at = take(reader, sizeof value);

    if (at != NULL)
        memcpy(&value, at, sizeof value);
    return value;
}

const void *wire_bytes(struct wire_reader *reader, size_t *ret_size)
{
    const size_t size = wire_u32(reader);
    const void *at = take(reader, size);

    *ret_size = at == NULL ? 0 : size;
    return at;
}

char *wire_text(struct wire_reader *reader)
{
    size_t size;
    const void *at = wire_bytes(reader, &size);
    char *text;

    if (at == NULL || memchr(at, '\0', size) != NULL) {
        reader->broken = true;
        return NULL;
    }
    text = strndup(at, size);
    reader->broken = text == NULL;
    return text;
}

bool wire_ended(const struct wire_reader *reader)
{
    return !reader->broken && reader->left == 0;
}

int wire_missing(const struct buf *frame, size_t *ret_size)
{
    struct wire_header header;

    *ret_size = sizeof header - frame->size;
    if (frame->size < sizeof header)
        return 0;
    memcpy(&header, frame->bytes, sizeof header);
    if (header.size > WIRE_LIMIT_BYTES - sizeof header)
        return -EBADMSG;
    *ret_size = sizeof header + header.size - frame->size;
    return 0;
}

int wire_receive(int fd, struct buf *frame, bool wait)
{
    for (;;) {
        char part[4096];
        size_t size;
        ssize_t n;

        if (wire_missing(frame, &size) < 0)
            return -EBADMSG;
        if (size == 0)
            return 1;
        if (size > sizeof part)
            size = sizeof part;
        n = recv(fd, part, size, wait ? 0 : MSG_DONTWAIT);
        if (n == 0)
            return -EPIPE;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && buf_add(frame, part, (size_t) n) < 0)
            return frame->failed;
    }
}

enum wire_kind wire_open(const struct buf *frame, struct wire_reader *ret_reader)
{
    struct wire_header header;

    memcpy(&header, frame->bytes, sizeof header);
    *ret_reader = (struct wire_reader){
        .at = (const unsigned char *) frame->bytes + sizeof header,
        .left = header.size,
    };
    return (enum wire_kind) header.kind;
}
