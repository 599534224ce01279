#include "base/cleanup.h"
#include "base/json.h"
#include "cm.h"

#include <errno.h>
#include <string.h>

static int parse(const char *text, size_t size, json_t **ret_json, struct err *err)
{
    return json_parse(text, size, "file.json", ret_json, err);
}

static void one_value_is_read_and_printed_in_its_order(void **state)
{
    static const char text[] = " {\"z\": [1, true, null], \"a\": \"\\u00fc\\n\"} ";
    AUTO(json_free) json_t *json = NULL;
    AUTO(buf_free) struct buf buf;
    struct err err = {0};

    (void) state;
    buf_init(&buf, 1000);
    assert_int_equal(parse(text, sizeof text - 1, &json, &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(json_print(&buf, json), 0);
    assert_string_equal(buf.bytes, "{\"z\":[1,true,null],\"a\":\"\\u00FC\\n\"}\n");
}

static void what_is_not_exactly_one_value_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t size;
    } bad[] = {
        {"", 0},
        {"{", 1},
        {"{} {}", 5},
        {"{},", 3},
        {"[1,]", 4},
        {"{}\0", 3},
        {"\"a\0b\"", 5},
        {"\"\\u0000\"", 8},
        {"\"\xff\"", 3},
        {"\"\xc0\xaf\"", 4},
        {"\"\\ud800\"", 8},
        {"[1] // x", 8},
        {"{'a':1}", 7},
        {"{\"a\":NaN}", 9},
        {"01", 2},
        {"\"a\nb\"", 5},
        {"1e999", 5},
        {"99999999999999999999", 20},
        {"{1:2}", 5},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        json_t *json = NULL;
        struct err err = {0};

        assert_int_equal(parse(bad[i].text, bad[i].size, &json, &err), -EINVAL);
        assert_string_equal(err.id, "json.syntax");
        assert_non_null(strstr(err.what, "'file.json' line "));
        assert_null(json);
    }
}

static void a_key_given_twice_is_refused_with_its_line(void **state)
{
    static const char text[] = "{\n \"a\": 1,\n \"a\": 2\n}";
    json_t *json = NULL;
    struct err err = {0};

    (void) state;
    assert_int_equal(parse(text, sizeof text - 1, &json, &err), -EINVAL);
    assert_non_null(strstr(err.what, "line 3"));
    assert_non_null(strstr(err.what, "duplicate"));
}

/* Text of `depth` opened and closed arrays. */
static char *nested(size_t depth)
{
    char *text = malloc(2 * depth + 1);

    assert_non_null(text);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = '\0';
    return text;
}

static void depth_is_bounded(void **state)
{
    static const char quoted[] = "\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                                 "[[[[[[[[[[[[[[[[[[\"";
    AUTO(json_free) json_t *deep = NULL;
    AUTO(json_free) json_t *text = NULL;
    AUTO_FREE char *allowed = nested(64);
    AUTO_FREE char *refused = nested(65);
    AUTO_FREE char *absurd = nested(1000000);
    struct err err = {0};

    (void) state;
    assert_int_equal(parse(allowed, 128, &deep, &err), 0);
    assert_int_equal(parse(quoted, sizeof quoted - 1, &text, &err), 0);
    assert_int_equal(parse(refused, 130, &deep, &err), -EINVAL);
    assert_string_equal(err.what, "'file.json' line 1: more than 64 levels deep");
    assert_int_equal(parse(absurd, 2000000, &deep, &err), -EINVAL);
}

static void any_bytes_become_text(void **state)
{
    AUTO(json_free) json_t *json = json_text("a\xff\xc3\xbc\xc3", 5);
    AUTO(json_free) json_t *empty = json_text("", 0);

    (void) state;
    assert_string_equal(json_string_value(json), "a\xef\xbf\xbd\xc3\xbc\xef\xbf\xbd");
    assert_string_equal(json_string_value(empty), "");
}

static void nothing_printed_drives_a_terminal(void **state)
{
    AUTO(json_free) json_t *json = json_text("\x1b\xc2\x9b\xe2\x80\xae", 6);
    AUTO(buf_free) struct buf buf;
    struct buf small;

    (void) state;
    buf_init(&buf, 100);
    assert_int_equal(json_print(&buf, json), 0);
    assert_string_equal(buf.bytes, "\"\\u001B\\u009B\\u202E\"\n");
    buf_init(&small, 3);
    assert_int_equal(json_print(&small, json), -EMSGSIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_is_read_and_printed_in_its_order),
        cmocka_unit_test(what_is_not_exactly_one_value_is_refused),
        cmocka_unit_test(a_key_given_twice_is_refused_with_its_line),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(any_bytes_become_text),
        cmocka_unit_test(nothing_printed_drives_a_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
