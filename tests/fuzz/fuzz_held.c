/* Bytes that are taken for a baseline or an entry have one form: they encode to themselves again.
 * The sum at the end is put there, or nothing would get past it. */
#include "base/cleanup.h"
#include "base/path.h"
#include "fuzz.h"
#include "held/codec.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static void add_sum(const uint8_t *bytes, size_t size, uint8_t *with)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    if (size > 0)
        memcpy(with, bytes, size);
    for (size_t i = 0; i < 8; i++)
        with[size + i] = (uint8_t) (sum >> (8 * i));
}

/* No path in them leads out of the tree. */
static void expect_below(const char *path)
{
    AUTO_FREE char *absolute = path_join("/top", path);

    expect(absolute != NULL && path_is_clean(absolute) && path_is_below(absolute, "/top"));
}

static void try_baseline(const uint8_t *bytes, size_t size)
{
    AUTO(held_baseline_free) struct held_baseline baseline = {0};
    AUTO(buf_free) struct buf again;

    buf_init(&again, HELD_BASELINE_LIMIT_BYTES);
    if (held_baseline_decode(bytes, size, &baseline) < 0)
        return;
    expect(path_is_clean(baseline.top));
    for (size_t i = 0; i < baseline.count; i++) {
        expect_below(baseline.items[i].path);
        expect(i == 0 || strcmp(baseline.items[i - 1].path, baseline.items[i].path) < 0);
    }
    expect(held_baseline_encode(&baseline, &again) == 0);
    expect(again.size == size && memcmp(again.bytes, bytes, size) == 0);
}

static void try_entry(const uint8_t *bytes, size_t size)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    AUTO(buf_free) struct buf again;

    buf_init(&again, HELD_ENTRY_LIMIT_BYTES);
    if (held_entry_decode(bytes, size, &entry) < 0)
        return;
    expect(path_is_clean(entry.top));
    expect_below(entry.path);
    expect(held_action_name(entry.action) != NULL && held_how_name(entry.how) != NULL);
    expect(held_entry_encode(&entry, &again) == 0);
    expect(again.size == size && memcmp(again.bytes, bytes, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE uint8_t *with = malloc(size + 8);

    expect(with != NULL);
    add_sum(bytes, size, with);
    try_baseline(with, size + 8);
    try_entry(with, size + 8);
    return 0;
}
