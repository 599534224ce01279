#include "fence/guard/made.h"

#include <stdatomic.h>
#include <string.h>

#define ALIGNMENT 8u
#define PATH_LIMIT 4608u /* PATH_MAX and NAME_MAX, and to spare */

enum state { OPEN = 1, HAPPENED, FAILED };

/* What follows is as in a file: the reader believes none of it. */
struct header {
    uint32_t size; /* of the record with all that belongs to it; 0: it was not finished */
    uint16_t path_size, other_size;
    uint8_t kind, state;
    uint8_t unused[6];
};

struct guard_made {
    _Atomic uint64_t used; /* of the bytes below; more than there are: it is full */
    _Alignas(64) unsigned char bytes[];
};

static size_t whole(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
}

static size_t room_of(size_t size)
{
    return size > sizeof(struct guard_made) ? size - sizeof(struct guard_made) : 0;
}

/* ---- appending ------------------------------------------------------------------------------- */

static size_t size_of(const struct guard_made_name *name)
{
    if (name->name == NULL)
        return 0;
    return (name->folder[1] == '\0' ? 0 : strlen(name->folder)) + 1 + strlen(name->name);
}

static void put(unsigned char *to, const struct guard_made_name *name, size_t size)
{
    const size_t length = size > 0 ? strlen(name->name) : 0;

    if (size == 0)
        return;
    memcpy(to, name->folder, size - length - 1);
    to[size - length - 1] = '/';
    memcpy(to + size - length, name->name, length);
}

size_t guard_made_add(struct guard_made *made, size_t size, const struct guard_made_event *event)
{
    const size_t path_size = size_of(&event->name), other_size = size_of(&event->other);
    const size_t bytes = whole(sizeof(struct header) + path_size + other_size);
    struct header header = {
        .path_size = (uint16_t) path_size,
        .other_size = (uint16_t) other_size,
        .kind = (uint8_t) event->kind,
        .state = OPEN,
    };
    unsigned char *record;
    uint64_t at;

    if (path_size > PATH_LIMIT || other_size > PATH_LIMIT)
        return 0; /* no location is so long */
    at = atomic_fetch_add_explicit(&made->used, bytes, memory_order_relaxed);
    if (at > room_of(size) || bytes > room_of(size) - at)
        return 0; /* `used` says from now on that something is missing */
    record = made->bytes + at;
    put(record + sizeof header, &event->name, path_size);
    put(record + sizeof header + path_size, &event->other, other_size);
    memcpy(record, &header, sizeof header);
    header.size = (uint32_t) bytes; /* last: a record without a size was not finished */
    atomic_thread_fence(memory_order_release);
    memcpy(record, &header.size, sizeof header.size);
    return (size_t) at + 1;
}

void guard_made_settle(struct guard_made *made, size_t place, bool happened)
{
    if (place > 0)
        made->bytes[place - 1 + offsetof(struct header, state)] = happened ? HAPPENED : FAILED;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct guard_made_reader guard_made_read(const struct guard_made *made, size_t size)
{
    const uint64_t used = atomic_load(&made->used);
    const size_t room = room_of(size);

    return (struct guard_made_reader){
        .bytes = made->bytes,
        .size = used > room ? room : (size_t) used,
        .complete = used <= room,
    };
}

static bool has_two(unsigned kind)
{
    return kind == GUARD_MADE_MOVE || kind == GUARD_MADE_SWAP;
}

static bool makes_sense(const struct header *header, size_t left)
{
    return header->size <= left && header->kind >= GUARD_MADE_NAME &&
           header->kind <= GUARD_MADE_WRITE && header->state >= OPEN && header->state <= FAILED &&
           header->path_size > 1 && header->path_size <= PATH_LIMIT &&
           header->other_size <= PATH_LIMIT && has_two(header->kind) == (header->other_size > 1) &&
           header->size ==
               whole(sizeof *header + (size_t) header->path_size + (size_t) header->other_size);
}

static bool is_path(const char *path, size_t size)
{
    return size == 0 || (path[0] == '/' && memchr(path, '\0', size) == NULL);
}

bool guard_made_next(struct guard_made_reader *reader, struct guard_made_record *ret_record)
{
    while (reader->at < reader->size) {
        const size_t left = reader->size - reader->at;
        const unsigned char *record = reader->bytes + reader->at;
        struct header header = {0};
        const char *text = (const char *) record + sizeof header;

        if (left >= sizeof header)
            memcpy(&header, record, sizeof header);
        if (left < sizeof header || !makes_sense(&header, left) ||
            !is_path(text, header.path_size) ||
            !is_path(text + header.path_size, header.other_size)) {
            reader->complete = false;
            reader->size = reader->at; /* where the next begins is not known either */
            return false;
        }
        reader->at += header.size;
        if (header.state == FAILED)
            continue;
        *ret_record = (struct guard_made_record){
            .kind = header.kind,
            .unsure = header.state == OPEN,
            .path = text,
            .path_size = header.path_size,
            .other = text + header.path_size,
            .other_size = header.other_size,
        };
        return true;
    }
    return false;
}
