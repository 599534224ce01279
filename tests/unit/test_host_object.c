/* What a model is told of a job: any bytes become valid text within the bound, and the counts are
 * those of the job's bytes. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "cm.h"
#include "host/job_priv.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 32 << 10 };

static json_t *object_of(const char *head, size_t head_size, const char *tail, size_t tail_size,
                         uint64_t total)
{
    const struct store_job job = {
        .id = "j-1",
        .state = STORE_JOB_EXITED,
        .head = {head, head_size},
        .tail = {tail, tail_size},
        .total_bytes = total,
    };

    return host_job_object(&job);
}

static const char *text_of(const json_t *object, size_t *ret_size)
{
    *ret_size = json_string_length(json_object_get(object, "output"));
    return json_string_value(json_object_get(object, "output"));
}

static uint64_t omitted_of(const json_t *object)
{
    return (uint64_t) json_integer_value(json_object_get(object, "omitted_bytes"));
}

static void short_output_is_whole(void **state)
{
    static const struct {
        const char *head, *tail, *text;
    } rows[] = {
        {"", "", ""},
        {"a\nb\n", "", "a\nb\n"},
        {"be", "hind", "behind"},
        {"\xff", "", "\xef\xbf\xbd"},
        {"\xc3\xa4", "", "\xc3\xa4"},
        {"\xe2\x82", "", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* cut short */
        {"\xc0\x80", "", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xed\xa0\x80", "", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\x1b[31m\xe2\x80\xae", "", "\x1b[31m\xe2\x80\xae"}, /* for a program, not a terminal */
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const size_t head = strlen(rows[i].head), tail = strlen(rows[i].tail);
        AUTO(json_free)
        json_t *object = object_of(rows[i].head, head, rows[i].tail, tail, head + tail);
        size_t size;

        assert_string_equal(text_of(object, &size), rows[i].text);
        assert_true(json_is_false(json_object_get(object, "truncated")));
        assert_int_equal(omitted_of(object), 0);
    }
}

/* Head and tail as wattle-job keeps them, of a flood of one byte. */
static void check_flood(char byte, size_t becomes)
{
    static char head[JOB_KEEP_BYTES], tail[JOB_KEEP_BYTES];
    static const uint64_t totals[] = {JOB_KEEP_BYTES * 2, JOB_KEEP_BYTES * 2 + 1,
                                      UINT64_C(1) << 30};

    memset(head, byte, sizeof head);
    memset(tail, byte, sizeof tail);
    for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
        AUTO(json_free) json_t *object = object_of(head, sizeof head, tail, sizeof tail, totals[i]);
        char mark[64];
        size_t size;
        const char *text = text_of(object, &size);
        const uint64_t omitted = omitted_of(object);

        assert_true(size <= MOST_BYTES);
        assert_true(json_is_true(json_object_get(object, "truncated")) == (omitted > 0));
        if (omitted == 0) {
            assert_int_equal(size, totals[i] * becomes);
            continue;
        }
        (void) snprintf(mark, sizeof mark, "\n[%llu bytes left out]\n",
                        (unsigned long long) omitted);
        assert_non_null(strstr(text, mark));
        assert_int_equal((size - strlen(mark)) / becomes + omitted, totals[i]);
    }
}

static void floods_are_bounded_and_counted(void **state)
{
    (void) state;
    check_flood('x', 1);
    check_flood('\xff', 3);
}

/* The cut goes between characters, on both sides. */
static void no_character_is_cut(void **state)
{
    static char head[JOB_KEEP_BYTES], tail[JOB_KEEP_BYTES];

    (void) state;
    for (size_t shift = 0; shift < 4; shift++) {
        AUTO(json_free) json_t *object = NULL;
        size_t size;
        const char *text;

        memset(head, 'x', sizeof head);
        memset(tail, 'x', sizeof tail);
        for (size_t at = shift; at + 4 <= sizeof head; at += 4) {
            memcpy(head + at, "\xf0\x9f\x98\x80", 4);
            memcpy(tail + sizeof tail - at - 4, "\xf0\x9f\x98\x80", 4);
        }
        object = object_of(head, sizeof head, tail, sizeof tail, 1 << 20);
        text = text_of(object, &size);
        assert_null(strstr(text, "\xef\xbf\xbd"));
        assert_true(size <= MOST_BYTES && size > MOST_BYTES - 128);
    }
}

static void states_say_what_happened(void **state)
{
    struct store_job job = {.id = "j-1", .state = STORE_JOB_EXITED, .exit_code = 3};
    AUTO(json_free) json_t *exited = host_job_object(&job);
    AUTO(json_free) json_t *killed = NULL;
    AUTO(json_free) json_t *late = NULL;

    (void) state;
    assert_int_equal(json_integer_value(json_object_get(exited, "exit_code")), 3);
    assert_true(json_is_null(json_object_get(exited, "signal")));
    assert_true(json_is_null(json_object_get(exited, "notice")));
    job.state = STORE_JOB_SIGNALED;
    job.signal = SIGSEGV;
    job.notice = "bad \xff";
    killed = host_job_object(&job);
    assert_true(json_is_null(json_object_get(killed, "exit_code")));
    assert_string_equal(json_string_value(json_object_get(killed, "signal")), "SIGSEGV");
    assert_string_equal(json_string_value(json_object_get(killed, "notice")), "bad \xef\xbf\xbd");
    job.state = STORE_JOB_TIMED_OUT;
    job.signal = SIGRTMIN;
    late = host_job_object(&job);
    assert_true(json_is_true(json_object_get(late, "timed_out")));
    assert_string_equal(json_string_value(json_object_get(late, "signal")), "SIGRT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_output_is_whole),
        cmocka_unit_test(floods_are_bounded_and_counted),
        cmocka_unit_test(no_character_is_cut),
        cmocka_unit_test(states_say_what_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
