/* Both files have the same form:
 *
 *   magic line, fields in the order of the functions below, u64 FNV-1a of all before
 *
 * A number is a little endian u64. A text is its length and its bytes; but for the content of an
 * item and the policy it holds no NUL. */
#include "held/codec.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "fence/guard/names.h"
#include "policy/codec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char baseline_magic[] = "wattle held baseline 1\n";
static const char entry_magic[] = "wattle held entry 1\n";

enum {
    SUM_BYTES = 8,
    LEAST_ITEM_BYTES = 9 * 8 + 1, /* a path of one byte */
};

/* ---- writing ----------------------------------------------------------------------------- */

static void put_bytes(struct buf *buf, const char *bytes, size_t size)
{
    bytes_put_u64(buf, size);
    (void) buf_add(buf, bytes, size);
}

static void put_text(struct buf *buf, const char *text)
{
    put_bytes(buf, text, strlen(text));
}

static void put_item(struct buf *buf, const struct held_item *item)
{
    put_text(buf, item->path);
    bytes_put_u64(buf, item->mode);
    bytes_put_u64(buf, item->vet);
    bytes_put_u64(buf, item->dev);
    bytes_put_u64(buf, item->inode);
    bytes_put_u64(buf, item->size);
    bytes_put_u64(buf, item->links);
    bytes_put_u64(buf, (uint64_t) item->ctime_ns);
    bytes_put_u64(buf, item->has_content);
    if (item->has_content)
        put_bytes(buf, item->content, item->content_size);
}

int held_baseline_encode(const struct held_baseline *baseline, struct buf *buf)
{
    AUTO(buf_free) struct buf policy = {0};
    int r;

    buf_init(&policy, POLICY_CODEC_LIMIT_BYTES);
    r = policy_encode(baseline->policy, &policy, NULL);
    if (r < 0)
        return r;
    (void) buf_add(buf, baseline_magic, sizeof baseline_magic - 1);
    put_text(buf, baseline->top);
    bytes_put_u64(buf, baseline->dev);
    bytes_put_u64(buf, baseline->inode);
    put_text(buf, baseline->run);
    put_bytes(buf, policy.bytes, policy.size);
    bytes_put_u64(buf, baseline->count);
    for (size_t i = 0; i < baseline->count; i++)
        put_item(buf, &baseline->items[i]);
    bytes_put_u64(buf, bytes_sum(BYTES_SUM, buf->bytes, buf->size));
    return buf->failed;
}

int held_entry_encode(const struct held_entry *entry, struct buf *buf)
{
    (void) buf_add(buf, entry_magic, sizeof entry_magic - 1);
    put_text(buf, entry->id);
    put_text(buf, entry->run);
    put_text(buf, entry->top);
    put_text(buf, entry->path);
    put_text(buf, entry->reason);
    bytes_put_u64(buf, (uint64_t) entry->action);
    bytes_put_u64(buf, (uint64_t) entry->how);
    bytes_put_u64(buf, entry->when_ms);
    bytes_put_u64(buf, entry->top_dev);
    bytes_put_u64(buf, entry->top_inode);
    bytes_put_u64(buf, entry->dev);
    bytes_put_u64(buf, entry->inode);
    bytes_put_u64(buf, entry->size);
    bytes_put_u64(buf, (uint64_t) entry->ctime_ns);
    bytes_put_u64(buf, entry->mode);
    bytes_put_u64(buf, bytes_sum(BYTES_SUM, buf->bytes, buf->size));
    return buf->failed;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* `in`, and why it is broken when it is not for its end: the first reason. */
struct reader {
    struct bytes in;
    int failure; /* -errno; 0: none */
};

static void spoil(struct reader *reader, int failure)
{
    if (reader->failure == 0)
        reader->failure = failure;
    reader->in.broken = true;
}

static uint64_t get_number(struct reader *reader)
{
    const uint64_t number = bytes_take_u64(&reader->in);

    if (reader->in.broken)
        spoil(reader, -EBADMSG);
    return number;
}

/* One that is at most `most`. */
static uint64_t get_small(struct reader *reader, uint64_t most)
{
    const uint64_t number = get_number(reader);

    if (number > most)
        spoil(reader, -EBADMSG);
    return number > most ? 0 : number;
}

/* Borrowed from the block; never NULL. */
static const char *get_bytes(struct reader *reader, size_t *ret_size)
{
    const uint64_t size = get_number(reader);
    const char *bytes = bytes_take(&reader->in, size);

    *ret_size = bytes == NULL ? 0 : (size_t) size;
    if (bytes != NULL)
        return bytes;
    spoil(reader, -EBADMSG);
    return "";
}

static char *copy_bytes(struct reader *reader, const char *bytes, size_t size)
{
    char *copy = reader->failure != 0 ? NULL : malloc(size + 1);

    if (copy == NULL) {
        spoil(reader, -ENOMEM);
        return NULL;
    }
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

static char *get_text(struct reader *reader, size_t most)
{
    size_t size;
    const char *bytes = get_bytes(reader, &size);

    if (size > most || memchr(bytes, '\0', size) != NULL)
        spoil(reader, -EBADMSG);
    return copy_bytes(reader, bytes, size);
}

static bool is_digit(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

/* Hexadecimal digits, `room` - 1 of them. */
static void get_hex(struct reader *reader, char *text, size_t room)
{
    size_t size;
    const char *bytes = get_bytes(reader, &size);

    if (size != room - 1)
        spoil(reader, -EBADMSG);
    for (size_t i = 0; i < size && reader->failure == 0; i++)
        if (!is_digit(bytes[i]))
            spoil(reader, -EBADMSG);
    if (reader->failure != 0)
        size = 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
}

static char *get_top(struct reader *reader)
{
    char *top = get_text(reader, PATH_MAX - 1);

    if (top != NULL && !path_is_clean(top))
        spoil(reader, -EBADMSG);
    return top;
}

/* Relative, of whole components, none of them "." or "..". */
static bool is_path_below(const char *path)
{
    char absolute[PATH_MAX + 1] = "/";
    const size_t size = strlen(path);

    if (size == 0 || size + 2 > sizeof absolute)
        return false;
    memcpy(absolute + 1, path, size + 1);
    return path_is_clean(absolute);
}

static char *get_path(struct reader *reader)
{
    char *path = get_text(reader, PATH_MAX - 1);

    if (path != NULL && !is_path_below(path))
        spoil(reader, -EBADMSG);
    return path;
}

/* Checks the frame: what is between the magic and the sum. */
static void begin(struct reader *reader, const void *bytes, size_t size, const char *magic)
{
    const size_t length = strlen(magic);

    *reader = (struct reader){.failure = 0};
    if (size < length + SUM_BYTES || memcmp(bytes, magic, length) != 0) {
        spoil(reader, -EBADMSG);
        return;
    }
    size -= SUM_BYTES;
    reader->in = bytes_of((const char *) bytes + size, SUM_BYTES);
    if (get_number(reader) != bytes_sum(BYTES_SUM, bytes, size))
        spoil(reader, -EBADMSG);
    else
        reader->in = bytes_of((const char *) bytes + length, size - length);
}

static int finish(struct reader *reader)
{
    if (reader->in.left > 0)
        spoil(reader, -EBADMSG);
    return reader->failure;
}

static void get_item(struct reader *reader, struct held_item *item)
{
    const char *bytes;

    item->path = get_path(reader);
    item->mode = (uint32_t) get_small(reader, UINT32_MAX);
    item->vet = (uint8_t) get_small(reader, GUARD_VET_BACK);
    item->dev = get_number(reader);
    item->inode = get_number(reader);
    item->size = get_number(reader);
    item->links = get_number(reader);
    item->ctime_ns = (int64_t) get_number(reader);
    item->has_content = get_small(reader, 1) != 0;
    if (!item->has_content)
        return;
    bytes = get_bytes(reader, &item->content_size);
    item->content = copy_bytes(reader, bytes, item->content_size);
}

static void get_policy(struct reader *reader, struct held_baseline *baseline)
{
    AUTO(buf_free) struct buf again = {0};
    size_t size;
    const char *bytes = get_bytes(reader, &size);

    if (reader->failure != 0)
        return;
    buf_init(&again, POLICY_CODEC_LIMIT_BYTES);
    if (policy_decode(bytes, size, &baseline->policy, NULL) < 0 ||
        policy_encode(baseline->policy, &again, NULL) < 0 || again.size != size ||
        memcmp(again.bytes, bytes, size) != 0)
        spoil(reader, -EBADMSG);
}

static void get_items(struct reader *reader, struct held_baseline *baseline)
{
    const uint64_t count = get_small(reader, reader->in.left / LEAST_ITEM_BYTES);

    for (uint64_t i = 0; i < count && reader->failure == 0; i++) {
        struct held_item *item = held_baseline_add(baseline);

        if (item == NULL) {
            spoil(reader, -ENOMEM);
            return;
        }
        get_item(reader, item);
        if (reader->failure == 0 && i > 0 && strcmp(item[-1].path, item->path) >= 0)
            spoil(reader, -EBADMSG);
    }
}

int held_baseline_decode(const void *bytes, size_t size, struct held_baseline *ret_baseline)
{
    AUTO(held_baseline_free) struct held_baseline baseline = {0};
    struct reader reader;

    begin(&reader, bytes, size, baseline_magic);
    baseline.top = get_top(&reader);
    baseline.dev = get_number(&reader);
    baseline.inode = get_number(&reader);
    get_hex(&reader, baseline.run, sizeof baseline.run);
    get_policy(&reader, &baseline);
    get_items(&reader, &baseline);
    if (finish(&reader) < 0)
        return reader.failure;
    *ret_baseline = baseline;
    baseline = (struct held_baseline){0};
    return 0;
}

int held_entry_decode(const void *bytes, size_t size, struct held_entry *ret_entry)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    struct reader reader;

    begin(&reader, bytes, size, entry_magic);
    get_hex(&reader, entry.id, sizeof entry.id);
    get_hex(&reader, entry.run, sizeof entry.run);
    entry.top = get_top(&reader);
    entry.path = get_path(&reader);
    entry.reason = get_text(&reader, PATH_MAX - 1);
    entry.action = (enum held_action) get_small(&reader, HELD_ACTIONS - 1);
    entry.how = (enum held_how) get_small(&reader, HELD_HOWS - 1);
    entry.when_ms = get_number(&reader);
    entry.top_dev = get_number(&reader);
    entry.top_inode = get_number(&reader);
    entry.dev = get_number(&reader);
    entry.inode = get_number(&reader);
    entry.size = get_number(&reader);
    entry.ctime_ns = (int64_t) get_number(&reader);
    entry.mode = (uint32_t) get_small(&reader, UINT32_MAX);
    if (finish(&reader) < 0)
        return reader.failure;
    *ret_entry = entry;
    entry = (struct held_entry){0};
    return 0;
}

/* ---- the values -------------------------------------------------------------------------- */

struct held_item *held_baseline_add(struct held_baseline *baseline)
{
    if (baseline->count == baseline->room) {
        const size_t room = baseline->room == 0 ? 64 : baseline->room * 2;
        struct held_item *items = reallocarray(baseline->items, room, sizeof *items);

        if (items == NULL)
            return NULL;
        baseline->items = items;
        baseline->room = room;
    }
    baseline->items[baseline->count] = (struct held_item){0};
    return &baseline->items[baseline->count++];
}

void held_baseline_free(struct held_baseline *baseline)
{
    for (size_t i = 0; i < baseline->count; i++) {
        free(baseline->items[i].path);
        free(baseline->items[i].content);
    }
    free(baseline->items);
    free(baseline->top);
    policy_freep(&baseline->policy);
    *baseline = (struct held_baseline){0};
}

void held_entry_free(struct held_entry *entry)
{
    free(entry->top);
    free(entry->path);
    free(entry->reason);
    *entry = (struct held_entry){0};
}
