/* The files of held names: what is written is read, and nothing else is. */
#include "base/cleanup.h"
#include "cm.h"
#include "fence/guard/names.h"
#include "held/codec.h"

#include <string.h>
#include <sys/stat.h>

static void add_item(struct held_baseline *baseline, const char *path, const char *content,
                     size_t size)
{
    struct held_item *item = held_baseline_add(baseline);

    assert_non_null(item);
    item->path = strdup(path);
    item->mode = S_IFREG | 0644;
    item->vet = GUARD_VET_CONFIG;
    item->inode = 77;
    item->ctime_ns = -5;
    item->has_content = content != NULL;
    item->content_size = size;
    if (content != NULL) {
        item->content = calloc(1, size + 1);
        assert_non_null(item->content);
        memcpy(item->content, content, size);
    }
}

static void make_baseline(struct held_baseline *baseline)
{
    struct err err = {0};

    baseline->top = strdup("/home/you/pen");
    baseline->dev = 1;
    baseline->inode = UINT64_MAX;
    memcpy(baseline->run, "0123456789abcdef", sizeof baseline->run);
    baseline->policy = policy_new();
    assert_int_equal(policy_set_pen(baseline->policy, "/home/you/pen", &err), 0);
    add_item(baseline, ".git/config", "[core]\n\0x", 9);
    add_item(baseline, "line\nbreak\xff/.envrc", NULL, 0);
}

static void make_entry(struct held_entry *entry)
{
    *entry = (struct held_entry){
        .id = "0123abcd", .run = "0123456789abcdef", .action = HELD_TAKEN, .how = HELD_IN_PLACE};
    entry->top = strdup("/home/you/pen");
    entry->path = strdup("sub/.envrc\x1b[31m");
    entry->reason = strdup("it would run");
    entry->when_ms = 5;
    entry->mode = S_IFIFO | 0600;
}

static void reads_what_was_written(void **state)
{
    AUTO(held_baseline_free) struct held_baseline baseline = {0};
    AUTO(held_baseline_free) struct held_baseline again = {0};
    AUTO(held_entry_free) struct held_entry entry = {0};
    AUTO(held_entry_free) struct held_entry entry_again = {0};
    AUTO(buf_free) struct buf bytes = {0};
    AUTO(buf_free) struct buf note = {0};

    (void) state;
    buf_init(&bytes, HELD_BASELINE_LIMIT_BYTES);
    buf_init(&note, HELD_ENTRY_LIMIT_BYTES);
    make_baseline(&baseline);
    make_entry(&entry);
    assert_int_equal(held_baseline_encode(&baseline, &bytes), 0);
    assert_int_equal(held_baseline_decode(bytes.bytes, bytes.size, &again), 0);
    assert_int_equal(again.count, 2);
    assert_int_equal(again.items[0].content_size, 9);
    assert_memory_equal(again.items[0].content, "[core]\n\0x", 9);
    assert_string_equal(again.items[1].path, "line\nbreak\xff/.envrc");
    assert_false(again.items[1].has_content);
    assert_string_equal(policy_pen(again.policy), "/home/you/pen");
    assert_int_equal(held_entry_encode(&entry, &note), 0);
    assert_int_equal(held_entry_decode(note.bytes, note.size, &entry_again), 0);
    assert_string_equal(entry_again.path, entry.path);
    assert_int_equal(entry_again.how, HELD_IN_PLACE);
}

/* Cut anywhere, with any byte changed, or with one more. */
static void takes_nothing_else(void **state)
{
    AUTO(held_baseline_free) struct held_baseline baseline = {0};
    AUTO(held_baseline_free) struct held_baseline again = {0};
    AUTO(buf_free) struct buf bytes = {0};

    (void) state;
    buf_init(&bytes, HELD_BASELINE_LIMIT_BYTES);
    make_baseline(&baseline);
    assert_int_equal(held_baseline_encode(&baseline, &bytes), 0);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(held_baseline_decode(bytes.bytes, size, &again), -EBADMSG);
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.bytes[i] ^= 1;
        assert_int_equal(held_baseline_decode(bytes.bytes, bytes.size, &again), -EBADMSG);
        bytes.bytes[i] ^= 1;
    }
    assert_int_equal(held_baseline_decode(bytes.bytes, bytes.size + 1, &again), -EBADMSG);
    assert_null(again.items);
}

static void takes_no_path_out_of_the_tree(void **state)
{
    static const char *const bad[] = {"", "/etc/passwd", "..", "a/../../b", "a//b", "a/", "./a"};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTO(held_entry_free) struct held_entry entry = {0};
        AUTO(held_entry_free) struct held_entry again = {0};
        AUTO(buf_free) struct buf bytes = {0};

        buf_init(&bytes, HELD_ENTRY_LIMIT_BYTES);
        make_entry(&entry);
        free(entry.path);
        entry.path = strdup(bad[i]);
        assert_int_equal(held_entry_encode(&entry, &bytes), 0);
        assert_int_equal(held_entry_decode(bytes.bytes, bytes.size, &again), -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(takes_nothing_else),
        cmocka_unit_test(takes_no_path_out_of_the_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
