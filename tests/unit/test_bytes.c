#include "base/bytes.h"
#include "cm.h"

#include <string.h>

static const unsigned char block[] = {0x01, 0x05, 0x04, 0x03, 0x02, 0x0d, 0x0c, 0x0b,
                                      0x0a, 0x09, 0x08, 0x07, 0x86, 'a',  'b'};

static void numbers_are_written_with_the_least_byte_first(void **state)
{
    struct buf buf;

    (void) state;
    buf_init(&buf, 64);
    bytes_put_u8(&buf, 0x01);
    bytes_put_u32(&buf, 0x02030405);
    bytes_put_u64(&buf, 0x860708090a0b0c0d);
    (void) buf_add(&buf, "ab", 2);
    assert_int_equal(buf.size, sizeof block);
    assert_memory_equal(buf.bytes, block, sizeof block);
    buf_free(&buf);
}

static void what_was_written_is_read(void **state)
{
    struct bytes bytes = bytes_of(block, sizeof block);

    (void) state;
    assert_int_equal(bytes_take_u8(&bytes), 0x01);
    assert_int_equal(bytes_take_u32(&bytes), 0x02030405);
    assert_true(bytes_take_u64(&bytes) == 0x860708090a0b0c0d);
    assert_ptr_equal(bytes_take(&bytes, 2), block + 13);
    assert_non_null(bytes_take(&bytes, 0));
    assert_int_equal(bytes.left, 0);
    assert_false(bytes.broken);
}

/* Also a step that would fit: the reader is where nobody meant it to be. */
static void nothing_is_read_after_a_step_beyond_the_end(void **state)
{
    struct bytes bytes = bytes_of(block, 6);

    (void) state;
    assert_true(bytes_take_u64(&bytes) == 0);
    assert_true(bytes.broken);
    assert_int_equal(bytes.left, 6);
    assert_int_equal(bytes_take_u8(&bytes), 0);
    assert_int_equal(bytes_take_u32(&bytes), 0);
    assert_null(bytes_take(&bytes, 0));
}

static void a_size_of_all_ones_is_beyond_the_end(void **state)
{
    struct bytes bytes = bytes_of(block, sizeof block);

    (void) state;
    assert_null(bytes_take(&bytes, SIZE_MAX));
    assert_true(bytes.broken);
}

/* Values of draft-eastlake-fnv. */
static void sums_are_those_of_fnv_1a(void **state)
{
    (void) state;
    assert_true(bytes_sum(BYTES_SUM, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(bytes_sum(BYTES_SUM, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(bytes_sum(bytes_sum(BYTES_SUM, "foo", 3), "bar", 3) ==
                UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_with_the_least_byte_first),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(nothing_is_read_after_a_step_beyond_the_end),
        cmocka_unit_test(a_size_of_all_ones_is_beyond_the_end),
        cmocka_unit_test(sums_are_those_of_fnv_1a),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
