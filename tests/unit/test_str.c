#include "base/cleanup.h"
#include "base/str.h"
#include "cm.h"

#include <errno.h>
#include <string.h>

static void texts_are_compared(void **state)
{
    (void) state;
    assert_true(str_equal("a", "a"));
    assert_false(str_equal("a", "ab"));
    assert_true(str_starts("abc", "ab"));
    assert_true(str_starts("abc", ""));
    assert_false(str_starts("ab", "abc"));
    assert_true(str_ends("abc", "bc"));
    assert_false(str_ends("bc", "abc"));
}

static bool fits(const char *glob, const char *name)
{
    return str_glob_fits(glob, strlen(glob), name, strlen(name));
}

static void a_glob_fits_whole_names_in_any_case(void **state)
{
    static const char *const good[][2] = {{"*", ""},          {"*.pem", "A.PEM"}, {"a?c", "abc"},
                                          {"*a*b", "xaabab"}, {"**", "x"},        {"", ""}};
    static const char *const bad[][2] = {
        {"*.pem", "a.pem2"}, {"a?", "a"}, {"a", "ab"}, {"*a*b", "ba"}, {"", "a"}};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(fits(good[i][0], good[i][1]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(fits(bad[i][0], bad[i][1]));
}

static void numbers_are_digits_only(void **state)
{
    static const char *const bad[] = {"", " 1", "+1", "-1", "1 ", "0x10", "1.5", "a"};
    uint64_t value = 7;

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(str_to_u64(bad[i], &value), -EINVAL);
    assert_int_equal(str_to_u64("18446744073709551616", &value), -ERANGE);
    assert_int_equal(value, 7);
    assert_int_equal(str_to_u64("18446744073709551615", &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(str_to_u64("007", &value), 0);
    assert_int_equal(value, 7);
}

static void sizes_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"512", 512},
        {"512B", 512},
        {"2K", 2048},
        {"2KiB", 2048},
        {"2KB", 2048},
        {"16M", UINT64_C(16) << 20},
        {"16m", UINT64_C(16) << 20},
        {"2G", UINT64_C(2) << 30},
        {"1T", UINT64_C(1) << 40},
    };
    static const char *const bad[] = {"", "K", "1X", "1 K", "-1K", "1Ki", "1iB", "1.5G", "1KK"};
    static const char *const out[] = {"0", "0K", "16777216T", "18446744073709551616"};
    uint64_t bytes = 7;

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(str_to_bytes(bad[i], &bytes), -EINVAL);
    for (size_t i = 0; i < ARRAY_SIZE(out); i++)
        assert_int_equal(str_to_bytes(out[i], &bytes), -ERANGE);
    assert_int_equal(bytes, 7);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(str_to_bytes(good[i].text, &bytes), 0);
        assert_true(bytes == good[i].bytes);
    }
}

static void durations_have_units(void **state)
{
    uint64_t ms = 7;

    (void) state;
    assert_int_equal(str_to_ms("90", &ms), 0);
    assert_int_equal(ms, 90000);
    assert_int_equal(str_to_ms("90s", &ms), 0);
    assert_int_equal(ms, 90000);
    assert_int_equal(str_to_ms("5m", &ms), 0);
    assert_int_equal(ms, 300000);
    assert_int_equal(str_to_ms("2h", &ms), 0);
    assert_int_equal(ms, 7200000);
    assert_int_equal(str_to_ms("1500ms", &ms), 0);
    assert_int_equal(ms, 1500);
    assert_int_equal(str_to_ms("0s", &ms), -ERANGE);
    assert_int_equal(str_to_ms("1d", &ms), -EINVAL);
    assert_int_equal(str_to_ms("s", &ms), -EINVAL);
    assert_int_equal(ms, 1500);
}

static void sizes_are_shown_short(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {16384, "16 KiB"},
        {1536, "1.5 KiB"},
        {(UINT64_C(1) << 20) - 1, "1023.9 KiB"},
        {UINT64_C(256) << 20, "256 MiB"},
        {UINT64_C(32) << 30, "32 GiB"},
        {UINT64_MAX, "16777215.9 TiB"},
    };
    char text[32];

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        str_from_bytes(cases[i].bytes, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void a_slip_of_the_finger_finds_its_name(void **state)
{
    static const char *const names[] = {"denyRead", "denyWrite", "run", "timeout", NULL};
    static const char *const none[] = {NULL};
    char longer[100];

    (void) state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_string_equal(str_nearest("denyread", names), "denyRead");
    assert_string_equal(str_nearest("denyWrit", names), "denyWrite");
    assert_string_equal(str_nearest("rnu", names), "run");
    assert_string_equal(str_nearest("timeot", names), "timeout");
    assert_string_equal(str_nearest("run", names), "run");
    assert_null(str_nearest("", names));
    assert_null(str_nearest("network", names));
    assert_null(str_nearest("ru", none));
    assert_null(str_nearest(longer, names));
}

static void assert_inert(const char *text, size_t size, const char *expected)
{
    AUTO(buf_free) struct buf buf;

    buf_init(&buf, 1000);
    assert_int_equal(str_add_inert(&buf, text, size), 0);
    assert_string_equal(buf.bytes, expected);
}

#define ASSERT_INERT(literal, expected) assert_inert(literal, sizeof(literal) - 1, expected)

static void plain_text_stays_itself(void **state)
{
    (void) state;
    ASSERT_INERT("", "");
    ASSERT_INERT("a b\\c'd\"", "a b\\c'd\"");
    ASSERT_INERT("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80",
                 "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80");
}

static void control_characters_become_visible(void **state)
{
    (void) state;
    ASSERT_INERT("\x1b[2J\a\r\n\t\x7f\0z", "\\x1b[2J\\x07\\x0d\\n\\t\\x7f\\x00z");
    ASSERT_INERT("\xc2\x9b", "\\u{9b}");            /* CSI as C1 */
    ASSERT_INERT("\xe2\x80\xae", "\\u{202e}");      /* right to left override */
    ASSERT_INERT("\xe2\x80\x8b", "\\u{200b}");      /* zero width space */
    ASSERT_INERT("\xe2\x81\xa6", "\\u{2066}");      /* isolate */
    ASSERT_INERT("\xd8\x9c", "\\u{61c}");           /* Arabic letter mark */
    ASSERT_INERT("\xef\xbb\xbf", "\\u{feff}");      /* byte order mark */
    ASSERT_INERT("\xf3\xa0\x81\x81", "\\u{e0041}"); /* tag */
}

static void invalid_bytes_become_visible(void **state)
{
    (void) state;
    ASSERT_INERT("\xff", "\\xff");
    ASSERT_INERT("\x80", "\\x80");
    ASSERT_INERT("a\xc3", "a\\xc3");                          /* cut off */
    ASSERT_INERT("\xc0\xaf", "\\xc0\\xaf");                   /* overlong */
    ASSERT_INERT("\xe0\x80\xaf", "\\xe0\\x80\\xaf");          /* overlong */
    ASSERT_INERT("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
    ASSERT_INERT("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above the last */
    ASSERT_INERT("\xc3\x1b", "\\xc3\\x1b");                   /* an escape must not hide in it */
}

/* Whatever goes in, what comes out drives no terminal. */
static void no_byte_pair_gets_through(void **state)
{
    (void) state;
    for (unsigned pair = 0; pair <= 0xffff; pair++) {
        const char text[] = {(char) (pair >> 8), (char) (pair & 0xff)};
        AUTO(buf_free) struct buf buf;

        buf_init(&buf, 100);
        assert_int_equal(str_add_inert(&buf, text, sizeof text), 0);
        for (size_t i = 0; i < buf.size; i++) {
            assert_true((unsigned char) buf.bytes[i] >= 0x20);
            assert_int_not_equal(buf.bytes[i], 0x7f);
        }
        assert_null(strstr(buf.bytes, "\xc2\x9b"));
    }
}

static void assert_shell(const char *text, const char *expected)
{
    AUTO(buf_free) struct buf buf;

    buf_init(&buf, 1000);
    assert_int_equal(str_add_shell(&buf, text), 0);
    assert_string_equal(buf.bytes, expected);
}

static void commands_are_quoted_where_a_shell_needs_it(void **state)
{
    (void) state;
    assert_shell("make", "make");
    assert_shell("--x=/a/b-c_d.e:f,g@h%i+j", "--x=/a/b-c_d.e:f,g@h%i+j");
    assert_shell("", "''");
    assert_shell("a b", "'a b'");
    assert_shell("~/x", "'~/x'");
    assert_shell("$(id)", "'$(id)'");
    assert_shell("it's", "'it'\\''s'");
    assert_shell("'", "''\\'''");
    assert_shell("a\nb", "'a\\nb'");
}

static void a_full_buffer_is_told(void **state)
{
    AUTO(buf_free) struct buf buf;

    (void) state;
    buf_init(&buf, 3);
    assert_int_equal(str_add_shell(&buf, "a b"), -EMSGSIZE);
    assert_int_equal(str_add_inert(&buf, "", 0), -EMSGSIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_compared),
        cmocka_unit_test(a_glob_fits_whole_names_in_any_case),
        cmocka_unit_test(numbers_are_digits_only),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(sizes_are_shown_short),
        cmocka_unit_test(a_slip_of_the_finger_finds_its_name),
        cmocka_unit_test(plain_text_stays_itself),
        cmocka_unit_test(control_characters_become_visible),
        cmocka_unit_test(invalid_bytes_become_visible),
        cmocka_unit_test(no_byte_pair_gets_through),
        cmocka_unit_test(commands_are_quoted_where_a_shell_needs_it),
        cmocka_unit_test(a_full_buffer_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
