/* The compiled policy as bytes. Numbers are little-endian, on every machine.
 *
 *   header    8 bytes  "WATTLEP\n"
 *             u32      format, POLICY_FORMAT
 *             u32      size of everything, this header included
 *   records   u8       tag, never lower than that of the record before
 *             u32      size of what follows, then the fields:
 *
 *   tag 1 RULE     u8 access, u8 origin, u8 flags (1 optional, 2 hold), u64 dev, u64 inode,
 *                  text path, text why
 *   tag 2 PLACE    u8 kind, u8 access, u64 bytes, text path, maybe source, text why
 *   tag 3 ENV      text "NAME=value"
 *   tag 4 NOTE     text
 *   tag 5 PEN      text                                              at most once, as all below
 *   tag 6 CWD      text
 *   tag 7 COMMAND  u8 pinned, u64 dev, u64 inode, u64 size, u64 mtime_ns, u64 ctime_ns,
 *                  text path, maybe found
 *   tag 8 GUARD    u8 on, then for each rule: u8 kind, text, text why
 *   tag 9 REST     u64 of each limit in the order of the struct, u8 net, u8 caches, u32 required
 *                                                                    exactly once, after GUARD, as
 * the last
 *
 *   text      u32 size, then bytes without NUL
 *   maybe     u8 0: none, or u8 1 and a text
 *
 * One policy has one form: rules and places stand in the policy's own order and none merges with an
 * earlier one. Bytes that decode encode again to the same bytes; the fuzzer holds us to that. */
#include "policy/codec.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POLICY_MAGIC "WATTLEP\n"
#define POLICY_MAGIC_SIZE 8u
#define POLICY_HEADER_SIZE (POLICY_MAGIC_SIZE + 8u)
#define POLICY_FORMAT 1u

enum tag {
    TAG_NONE,
    TAG_RULE,
    TAG_PLACE,
    TAG_ENV,
    TAG_NOTE,
    TAG_PEN,
    TAG_CWD,
    TAG_COMMAND,
    TAG_GUARD,
    TAG_REST,
    TAG_COUNT,
};

enum { RULE_OPTIONAL = 1, RULE_HOLD = 2 };

/* ---- writing: a failure sticks in the buffer --------------------------------------------- */

/* Sizes fit: the buffer's limit is far below 4 GiB and bytes beyond it are not kept. */
static void put_text(struct buf *buf, const char *text)
{
    size_t size = strlen(text);

    bytes_put_u32(buf, (uint32_t) size);
    (void) buf_add(buf, text, size);
}

static void put_maybe(struct buf *buf, const char *text)
{
    bytes_put_u8(buf, text != NULL);
    if (text != NULL)
        put_text(buf, text);
}

/* Puts the record `fields` behind its tag and empties it for the next. */
static void put_record(struct buf *buf, enum tag tag, struct buf *fields)
{
    if (fields->failed != 0 && buf->failed == 0)
        buf->failed = fields->failed;
    bytes_put_u8(buf, tag);
    bytes_put_u32(buf, (uint32_t) fields->size);
    (void) buf_add(buf, fields->bytes, fields->size);
    buf_free(fields);
    buf_init(fields, POLICY_CODEC_LIMIT_BYTES);
}

static void put_text_record(struct buf *buf, enum tag tag, const char *text, struct buf *fields)
{
    put_text(fields, text);
    put_record(buf, tag, fields);
}

static void put_rule(struct buf *buf, const struct policy_rule *rule, struct buf *fields)
{
    bytes_put_u8(fields, rule->access);
    bytes_put_u8(fields, rule->origin);
    bytes_put_u8(fields, (rule->optional ? RULE_OPTIONAL : 0u) | (rule->hold ? RULE_HOLD : 0u));
    bytes_put_u64(fields, rule->dev);
    bytes_put_u64(fields, rule->inode);
    put_text(fields, rule->path);
    put_text(fields, rule->why);
    put_record(buf, TAG_RULE, fields);
}

static void put_place(struct buf *buf, const struct policy_place *place, struct buf *fields)
{
    bytes_put_u8(fields, place->kind);
    bytes_put_u8(fields, place->access);
    bytes_put_u64(fields, place->bytes);
    put_text(fields, place->path);
    put_maybe(fields, place->source);
    put_text(fields, place->why);
    put_record(buf, TAG_PLACE, fields);
}

static void put_command(struct buf *buf, const struct policy_command *command, struct buf *fields)
{
    bytes_put_u8(fields, command->pinned);
    bytes_put_u64(fields, command->dev);
    bytes_put_u64(fields, command->inode);
    bytes_put_u64(fields, command->size_bytes);
    bytes_put_u64(fields, (uint64_t) command->mtime_ns);
    bytes_put_u64(fields, (uint64_t) command->ctime_ns);
    put_text(fields, command->path);
    put_maybe(fields, command->found);
    put_record(buf, TAG_COMMAND, fields);
}

static void put_guard(struct buf *buf, const struct policy *policy, struct buf *fields)
{
    bytes_put_u8(fields, policy_get_guard(policy));
    for (size_t i = 0; i < policy_guard_rules(policy); i++) {
        const struct policy_guard_rule *rule = policy_guard_rule_at(policy, i);

        bytes_put_u8(fields, rule->kind);
        bytes_put_u8(fields, rule->absolute);
        put_text(fields, rule->text);
        put_text(fields, rule->why);
    }
    put_record(buf, TAG_GUARD, fields);
}

static void put_rest(struct buf *buf, const struct policy *policy, struct buf *fields)
{
    const struct policy_limits *limits = policy_get_limits(policy);

    bytes_put_u64(fields, limits->deadline_ms);
    bytes_put_u64(fields, limits->kill_after_ms);
    bytes_put_u64(fields, limits->memory_bytes);
    bytes_put_u64(fields, limits->processes);
    bytes_put_u64(fields, limits->open_files);
    bytes_put_u64(fields, limits->file_bytes);
    bytes_put_u64(fields, limits->tmp_bytes);
    bytes_put_u64(fields, limits->shm_bytes);
    bytes_put_u8(fields, policy_get_net(policy));
    bytes_put_u8(fields, policy_get_caches(policy));
    bytes_put_u32(fields, policy_required(policy));
    put_record(buf, TAG_REST, fields);
}

static void put_records(struct buf *buf, const struct policy *policy)
{
    AUTO(buf_free) struct buf fields;
    const char *cwd = policy_cwd(policy);

    buf_init(&fields, POLICY_CODEC_LIMIT_BYTES);
    for (size_t i = 0; i < policy_rules(policy); i++)
        put_rule(buf, policy_rule_at(policy, i), &fields);
    for (size_t i = 0; i < policy_places(policy); i++)
        put_place(buf, policy_place_at(policy, i), &fields);
    for (size_t i = 0; i < policy_envs(policy); i++)
        put_text_record(buf, TAG_ENV, policy_env_at(policy, i), &fields);
    for (size_t i = 0; i < policy_notes(policy); i++)
        put_text_record(buf, TAG_NOTE, policy_note_at(policy, i), &fields);
    if (policy_pen(policy) != NULL)
        put_text_record(buf, TAG_PEN, policy_pen(policy), &fields);
    if (cwd != policy_pen(policy)) /* the same pointer: never set, so the pen */
        put_text_record(buf, TAG_CWD, cwd, &fields);
    if (policy_command(policy) != NULL)
        put_command(buf, policy_command(policy), &fields);
    put_guard(buf, policy, &fields);
    put_rest(buf, policy, &fields);
}

int policy_encode(const struct policy *policy, struct buf *buf, struct err *err)
{
    AUTO(buf_free) struct buf records;
    int r = 0;

    buf_init(&records, POLICY_CODEC_LIMIT_BYTES - POLICY_HEADER_SIZE);
    put_records(&records, policy);
    r = records.failed;
    if (r == 0) {
        (void) buf_add(buf, POLICY_MAGIC, POLICY_MAGIC_SIZE);
        bytes_put_u32(buf, POLICY_FORMAT);
        bytes_put_u32(buf, (uint32_t) (POLICY_HEADER_SIZE + records.size));
        r = buf_add(buf, records.bytes, records.size);
    }
    if (r == -EMSGSIZE) {
        (void) err_set(err, EMSGSIZE, "policy.codec-size", "the policy is too large to hand over");
        return err_hint(err, "fewer or shorter rules and variables; at most %u KiB in all",
                        POLICY_CODEC_LIMIT_BYTES >> 10);
    }
    return r < 0 ? err_memory(err) : 0;
}

/* ---- reading: nothing is believed -------------------------------------------------------- */

/* `in` ends where the record does, and between records where everything does. The first fault is
 * kept. */
struct reader {
    struct bytes in;
    const unsigned char *begin;
    const char *bad;
    size_t bad_at;
};

static const char out_of_memory[] = "out of memory";

static size_t reader_at(const struct reader *reader)
{
    return (size_t) (reader->in.at - reader->begin);
}

static void reader_fail(struct reader *reader, const char *why)
{
    reader->in.broken = true;
    if (reader->bad != NULL)
        return;
    reader->bad = why;
    reader->bad_at = reader_at(reader);
}

static int reader_error(const struct reader *reader, struct err *err)
{
    if (reader->bad == out_of_memory)
        return err_memory(err);
    return err_set(err, EBADMSG, "policy.codec", "compiled policy: %s at byte %zu", reader->bad,
                   reader->bad_at);
}

/* After each step that may be one beyond the end. */
static void check_end(struct reader *reader)
{
    if (reader->in.broken)
        reader_fail(reader, "too short");
}

/* A byte of an enum or a flag set: at most `most`. */
static unsigned get_choice(struct reader *reader, unsigned most, const char *why)
{
    const unsigned value = bytes_take_u8(&reader->in);

    check_end(reader);
    if (value <= most)
        return value;
    reader_fail(reader, why);
    return 0;
}

static uint32_t get_u32(struct reader *reader)
{
    const uint32_t value = bytes_take_u32(&reader->in);

    check_end(reader);
    return value;
}

static uint64_t get_u64(struct reader *reader)
{
    const uint64_t value = bytes_take_u64(&reader->in);

    check_end(reader);
    return value;
}

/* NULL after a failure; else the caller's. */
static char *get_text(struct reader *reader)
{
    const uint32_t size = get_u32(reader);
    const char *bytes = bytes_take(&reader->in, size);
    char *text = NULL;

    check_end(reader);
    if (bytes == NULL)
        return NULL;
    if (memchr(bytes, '\0', size) != NULL) {
        reader_fail(reader, "a NUL in a text");
        return NULL;
    }
    text = malloc((size_t) size + 1);
    if (text == NULL) {
        reader_fail(reader, out_of_memory);
        return NULL;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

static char *get_maybe(struct reader *reader)
{
    return get_choice(reader, 1, "a wrong mark of presence") == 1 ? get_text(reader) : NULL;
}

/* What the policy itself refuses is as bad as a wrong length, and says why. */
static int refuse(const struct reader *reader, int r, struct err *err)
{
    struct err reason = {0};

    if (r == -ENOMEM)
        return r;
    if (err != NULL)
        reason = *err;
    return err_set(err, EBADMSG, "policy.codec", "compiled policy: %s, before byte %zu",
                   reason.what, reader_at(reader));
}

static int decode_rule(struct reader *reader, struct policy *policy, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *why = NULL;
    struct policy_rule rule = {0};
    size_t count = policy_rules(policy);
    unsigned flags = 0;
    int r = 0;

    rule.access = get_choice(reader, POLICY_WRITE, "an unknown access");
    rule.origin = get_choice(reader, POLICY_FROM_OWN, "an unknown origin");
    flags = get_choice(reader, RULE_OPTIONAL | RULE_HOLD, "unknown flags");
    rule.optional = (flags & RULE_OPTIONAL) != 0;
    rule.hold = (flags & RULE_HOLD) != 0;
    rule.dev = get_u64(reader);
    rule.inode = get_u64(reader);
    rule.path = path = get_text(reader);
    rule.why = why = get_text(reader);
    if (rule.hold && rule.access != POLICY_READ)
        reader_fail(reader, "a rule that holds and opens");
    if (reader->bad != NULL || path == NULL || why == NULL)
        return 0;
    r = policy_add_rule(policy, &rule, err);
    if (r < 0)
        return refuse(reader, r, err);
    if (policy_rules(policy) != count + 1 ||
        strcmp(policy_rule_at(policy, count)->path, rule.path) != 0 ||
        policy_rule_at(policy, count)->hold != rule.hold)
        reader_fail(reader, "rules out of order");
    return 0;
}

static int decode_place(struct reader *reader, struct policy *policy, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *source = NULL;
    AUTO_FREE char *why = NULL;
    struct policy_place place = {0};
    size_t count = policy_places(policy);
    int r = 0;

    place.kind = get_choice(reader, POLICY_PLACE_STAYS, "an unknown kind of place");
    place.access = get_choice(reader, POLICY_WRITE, "an unknown access");
    place.bytes = get_u64(reader);
    place.path = path = get_text(reader);
    place.source = source = get_maybe(reader);
    place.why = why = get_text(reader);
    if (reader->bad != NULL || path == NULL || why == NULL)
        return 0;
    r = policy_add_place(policy, &place, err);
    if (r < 0)
        return refuse(reader, r, err);
    if (strcmp(policy_place_at(policy, count)->path, place.path) != 0)
        reader_fail(reader, "places out of order");
    return 0;
}

static int decode_env(struct reader *reader, struct policy *policy, struct err *err)
{
    AUTO_FREE char *text = get_text(reader);
    size_t count = policy_envs(policy);
    char *equals = text == NULL ? NULL : strchr(text, '=');
    int r = 0;

    if (text != NULL && equals == NULL)
        reader_fail(reader, "a variable without '='");
    if (reader->bad != NULL || equals == NULL)
        return 0;
    *equals = '\0';
    r = policy_set_env(policy, text, equals + 1, err);
    if (r < 0)
        return refuse(reader, r, err);
    if (policy_envs(policy) != count + 1)
        reader_fail(reader, "a variable given twice");
    return 0;
}

static int decode_text(struct reader *reader, struct policy *policy,
                       int (*set)(struct policy *policy, const char *text, struct err *err),
                       struct err *err)
{
    AUTO_FREE char *text = get_text(reader);
    int r = text == NULL ? 0 : set(policy, text, err);

    return r < 0 ? refuse(reader, r, err) : 0;
}

static int decode_command(struct reader *reader, struct policy *policy, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *found = NULL;
    struct policy_command command = {0};
    int r = 0;

    command.pinned = get_choice(reader, 1, "a wrong flag") == 1;
    command.dev = get_u64(reader);
    command.inode = get_u64(reader);
    command.size_bytes = get_u64(reader);
    command.mtime_ns = (int64_t) get_u64(reader);
    command.ctime_ns = (int64_t) get_u64(reader);
    command.path = path = get_text(reader);
    command.found = found = get_maybe(reader);
    if (reader->bad != NULL)
        return 0;
    r = policy_set_command(policy, &command, err);
    return r < 0 ? refuse(reader, r, err) : 0;
}

static int decode_guard(struct reader *reader, struct policy *policy, struct err *err)
{
    policy_set_guard(policy, get_choice(reader, POLICY_GUARD_ON, "an unknown guard"));
    while (reader->bad == NULL && reader->in.left > 0) {
        AUTO_FREE char *text = NULL;
        AUTO_FREE char *why = NULL;
        struct policy_guard_rule rule = {0};
        int r = 0;

        rule.kind = get_choice(reader, POLICY_GUARD_AT_TOPS, "an unknown kind of guarded name");
        rule.absolute = get_choice(reader, 1, "a wrong flag") == 1;
        rule.text = text = get_text(reader);
        rule.why = why = get_text(reader);
        if (reader->bad != NULL || text == NULL || why == NULL)
            return 0;
        r = policy_add_guard_rule(policy, &rule, err);
        if (r < 0)
            return refuse(reader, r, err);
    }
    return 0;
}

static void decode_rest(struct reader *reader, struct policy *policy)
{
    const uint32_t known = POLICY_REQUIRE_LANDLOCK | POLICY_REQUIRE_MEMORY |
                           POLICY_REQUIRE_PROCESSES | POLICY_REQUIRE_GUARD;
    struct policy_limits *limits = policy_limits(policy);
    uint32_t required = 0;

    limits->deadline_ms = get_u64(reader);
    limits->kill_after_ms = get_u64(reader);
    limits->memory_bytes = get_u64(reader);
    limits->processes = get_u64(reader);
    limits->open_files = get_u64(reader);
    limits->file_bytes = get_u64(reader);
    limits->tmp_bytes = get_u64(reader);
    limits->shm_bytes = get_u64(reader);
    policy_set_net(policy, get_choice(reader, POLICY_NET_OPEN, "an unknown network mode"));
    policy_set_caches(policy, get_choice(reader, POLICY_CACHES_JOB, "an unknown cache mode"));
    required = get_u32(reader);
    if ((required & ~known) != 0)
        reader_fail(reader, "an unknown layer is required");
    else
        policy_require(policy, required);
}

static int decode_fields(struct reader *reader, enum tag tag, struct policy *policy,
                         struct err *err)
{
    switch (tag) {
    case TAG_RULE:
        return decode_rule(reader, policy, err);
    case TAG_PLACE:
        return decode_place(reader, policy, err);
    case TAG_ENV:
        return decode_env(reader, policy, err);
    case TAG_NOTE:
        return decode_text(reader, policy, policy_add_note, err);
    case TAG_PEN:
        return decode_text(reader, policy, policy_set_pen, err);
    case TAG_CWD:
        return decode_text(reader, policy, policy_set_cwd, err);
    case TAG_COMMAND:
        return decode_command(reader, policy, err);
    case TAG_GUARD:
        return decode_guard(reader, policy, err);
    case TAG_REST:
        decode_rest(reader, policy);
        return 0;
    case TAG_NONE:
    case TAG_COUNT:
        break;
    }
    reader_fail(reader, "an unknown tag");
    return 0;
}

/* One record; *ret_tag is its tag, given that of the one before. */
static int decode_record(struct reader *reader, enum tag *ret_tag, struct policy *policy,
                         struct err *err)
{
    enum tag tag = get_choice(reader, TAG_COUNT - 1, "an unknown tag");
    const uint32_t size = get_u32(reader);
    size_t rest;
    int r = 0;

    if (tag < *ret_tag || (tag == *ret_tag && tag >= TAG_PEN) ||
        (tag == TAG_REST && *ret_tag != TAG_GUARD))
        reader_fail(reader, "records out of order");
    if (size > reader->in.left)
        reader_fail(reader, "a record longer than the rest");
    if (reader->bad != NULL)
        return 0;
    rest = reader->in.left - size;
    reader->in.left = size;
    r = decode_fields(reader, tag, policy, err);
    if (r < 0)
        return r;
    if (reader->in.left > 0)
        reader_fail(reader, "a record with bytes left over");
    reader->in.left = rest;
    *ret_tag = tag;
    return 0;
}

static void decode_header(struct reader *reader, size_t size)
{
    const void *magic = bytes_take(&reader->in, POLICY_MAGIC_SIZE);

    check_end(reader);
    if (magic != NULL && memcmp(magic, POLICY_MAGIC, POLICY_MAGIC_SIZE) != 0)
        reader_fail(reader, "not one");
    if (get_u32(reader) != POLICY_FORMAT)
        reader_fail(reader, "of another version");
    if (get_u32(reader) != size)
        reader_fail(reader, "a wrong size");
}

int policy_decode(const void *bytes, size_t size, struct policy **ret_policy, struct err *err)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    struct reader reader = {.in = bytes_of(bytes, size), .begin = bytes};
    enum tag tag = TAG_NONE;
    int r = 0;

    if (policy == NULL)
        return err_memory(err);
    if (size > POLICY_CODEC_LIMIT_BYTES)
        reader_fail(&reader, "too large");
    decode_header(&reader, size);
    while (r == 0 && reader.bad == NULL && reader.in.left > 0)
        r = decode_record(&reader, &tag, policy, err);
    if (r < 0)
        return r;
    if (tag != TAG_REST)
        reader_fail(&reader, "no end");
    if (reader.bad != NULL)
        return reader_error(&reader, err);
    *ret_policy = TAKE_PTR(policy);
    return 0;
}
