/* err, cleanup, buf, fd, clock. */
#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- err ------------------------------------------------------------------------------------ */

static void an_error_says_what_failed_and_why(void **state)
{
    struct err err = {0};

    (void) state;
    assert_int_equal(err_set(&err, EACCES, "test.id", "cannot open '%s'", "a"), -EACCES);
    assert_int_equal(err.code, EACCES);
    assert_string_equal(err.id, "test.id");
    assert_string_equal(err.what, "cannot open 'a': Permission denied");
    assert_string_equal(err.hint, "");
}

static void a_wrong_argument_needs_no_errno_text(void **state)
{
    struct err err = {0};

    (void) state;
    assert_int_equal(err_set(&err, EINVAL, "test.id", "'%s' is no number", "x"), -EINVAL);
    assert_string_equal(err.what, "'x' is no number");
}

static void an_error_without_a_code_is_still_one(void **state)
{
    struct err err = {0};

    (void) state;
    assert_int_equal(err_set(&err, 0, "test.id", "odd"), -EIO);
    assert_int_equal(err.code, EIO);
}

static void an_unknown_code_is_named_so(void **state)
{
    struct err err = {0};

    (void) state;
    assert_int_equal(err_set(&err, 9999, "test.id", "odd"), -9999);
    assert_string_equal(err.what, "odd: unknown error");
}

static void context_goes_before_the_sentence_and_a_hint_replaces(void **state)
{
    struct err err = {0};

    (void) state;
    (void) err_set(&err, ENOENT, "test.id", "cannot find 'x'");
    assert_int_equal(err_hint(&err, "try %d", 1), -ENOENT);
    assert_int_equal(err_hint(&err, "try %d", 2), -ENOENT);
    assert_int_equal(err_context(&err, "job %s", "7"), -ENOENT);
    assert_string_equal(err.what, "job 7: cannot find 'x': No such file or directory");
    assert_string_equal(err.hint, "try 2");
}

static void the_old_error_may_be_an_argument_of_the_new_one(void **state)
{
    struct err err = {0};

    (void) state;
    (void) err_set(&err, EINVAL, "test.id", "inner");
    (void) err_hint(&err, "mend it");
    (void) err_set(&err, EINVAL, "test.outer", "outer (%s, %s)", err.what, err.hint);
    assert_string_equal(err.what, "outer (inner, mend it)");
    assert_string_equal(err.hint, "");
}

static void long_text_is_cut_between_characters(void **state)
{
    struct err err = {0};
    char text[400];

    (void) state;
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3); /* e with acute */
    (void) err_set(&err, EINVAL, "test.id", "%s", text);
    assert_int_equal(strlen(err.what) % 2, 1); /* whole pairs and three dots */
    assert_string_equal(err.what + strlen(err.what) - 3, "...");

    (void) err_set(&err, EACCES, "test.id", "%s", text);
    assert_string_equal(err.what + strlen(err.what) - 3, "...");
    (void) err_context(&err, "x%s", text);
    assert_true(strlen(err.what) < sizeof err.what);
    assert_string_equal(err.what + strlen(err.what) - 3, "...");
}

static void nobody_has_to_take_the_error(void **state)
{
    (void) state;
    assert_int_equal(err_set(NULL, EACCES, "test.id", "x"), -EACCES);
    assert_int_equal(err_hint(NULL, "x"), -EIO);
    assert_int_equal(err_context(NULL, "x"), -EIO);
    assert_int_equal(err_memory(NULL), -ENOMEM);
}

/* ---- cleanup -------------------------------------------------------------------------------- */

static void scopes_close_and_free_and_keep_errno(void **state)
{
    int number;

    (void) state;
    {
        AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        AUTO_CLOSE int none = -1;
        AUTO_FREE char *text = malloc(8);
        AUTO_CLOSEDIR DIR *dir = opendir("/");

        assert_non_null(text);
        assert_non_null(dir);
        assert_int_equal(none, -1);
        number = fd;
        errno = EXDEV;
    }
    assert_int_equal(errno, EXDEV);
    assert_int_equal(fcntl(number, F_GETFD), -1);
}

static void what_is_taken_is_not_closed(void **state)
{
    AUTO_CLOSE int kept = -1;
    AUTO_FREE char *text = NULL;

    (void) state;
    {
        AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        AUTO_FREE char *local = strdup("text");

        kept = TAKE_FD(fd);
        text = TAKE_PTR(local);
        assert_int_equal(fd, -1);
        assert_null(local);
    }
    assert_true(fcntl(kept, F_GETFD) >= 0);
    assert_string_equal(text, "text");
}

/* ---- buf ------------------------------------------------------------------------------------ */

static void a_buffer_grows_and_is_a_string(void **state)
{
    AUTO(buf_free) struct buf buf;

    (void) state;
    buf_init(&buf, 100000);
    assert_string_equal(buf.bytes, "");
    for (int i = 0; i < 10000; i++)
        assert_int_equal(buf_add(&buf, "12345", 5), 0);
    assert_int_equal(buf_printf(&buf, "%d-%s", 7, "x"), 0);
    assert_int_equal(buf_add_text(&buf, ""), 0);
    assert_int_equal(buf_add(&buf, NULL, 0), 0);
    assert_int_equal(buf.size, 50003);
    assert_string_equal(buf.bytes + 50000, "7-x");
}

static void a_buffer_fills_to_its_limit_and_no_further(void **state)
{
    AUTO(buf_free) struct buf buf;
    struct err err = {0};

    (void) state;
    buf_init(&buf, 4);
    assert_int_equal(buf_add(&buf, "abcd", 4), 0);
    assert_int_equal(buf_check(&buf, "thing", &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(buf_printf(&buf, "%d", 1), -EMSGSIZE);
    assert_string_equal(buf.bytes, "abcd");
    assert_int_equal(buf_add_text(&buf, ""), -EMSGSIZE); /* sticky */
    assert_int_equal(buf_check(&buf, "thing", &err), -EMSGSIZE);
    assert_string_equal(err.id, "buf.limit");
    assert_non_null(strstr(err.what, "'thing'"));
}

static void a_buffer_without_room_takes_nothing(void **state)
{
    AUTO(buf_free) struct buf buf;

    (void) state;
    buf_init(&buf, 0);
    assert_int_equal(buf_printf(&buf, "%s", ""), 0);
    assert_int_equal(buf_add(&buf, "x", 1), -EMSGSIZE);
    assert_string_equal(buf.bytes, "");
}

static void bytes_are_handed_over_once(void **state)
{
    AUTO(buf_free) struct buf buf;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *empty = NULL;

    (void) state;
    buf_init(&buf, 100);
    (void) buf_add_text(&buf, "abc");
    text = buf_take(&buf);
    assert_string_equal(text, "abc");
    assert_int_equal(buf.size, 0);
    assert_string_equal(buf.bytes, "");
    empty = buf_take(&buf);
    assert_string_equal(empty, "");
}

static void half_a_text_is_not_handed_over(void **state)
{
    AUTO(buf_free) struct buf buf;

    (void) state;
    buf_init(&buf, 4);
    (void) buf_add_text(&buf, "abc");
    (void) buf_add_text(&buf, "def");
    assert_null(buf_take(&buf));
    assert_int_equal(buf_add_text(&buf, "new"), 0); /* empty again, and usable */
}

static void a_zeroed_or_freed_buffer_can_be_freed(void **state)
{
    struct buf buf = {0};

    (void) state;
    buf_free(&buf);
    buf_init(&buf, SIZE_MAX);
    assert_int_equal(buf_add(&buf, "x", 1), 0);
    buf_free(&buf);
    buf_free(&buf);
    assert_string_equal(buf.bytes, "");
}

/* ---- fd ------------------------------------------------------------------------------------- */

static void bytes_pass_through_a_pipe(void **state)
{
    static char sent[200000];
    AUTO(buf_free) struct buf buf;
    int ends[2];
    pid_t child;

    (void) state;
    memset(sent, 'x', sizeof sent);
    buf_init(&buf, sizeof sent);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(fd_write_all(ends[1], sent, sizeof sent) == 0 ? 0 : 1);
    (void) close(ends[1]);
    assert_int_equal(fd_read_all(ends[0], &buf), 0);
    assert_int_equal(buf.size, sizeof sent);
    (void) close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_file_larger_than_the_limit_is_refused(void **state)
{
    AUTO(buf_free) struct buf buf;

    (void) state;
    buf_init(&buf, 3);
    assert_int_equal(fd_read_file(AT_FDCWD, "/proc/self/stat", &buf), -EMSGSIZE);
    buf_free(&buf);
    assert_int_equal(fd_read_file(AT_FDCWD, "/nowhere/at/all", &buf), -ENOENT);
    buf_init(&buf, 100000);
    assert_int_equal(fd_read_file(AT_FDCWD, "/proc/self/stat", &buf), 0);
    assert_true(buf.size > 0);
}

static void text_is_put_into_existing_files_only(void **state)
{
    (void) state;
    assert_int_equal(fd_put(AT_FDCWD, "/dev/null", "text"), 0);
    assert_int_equal(fd_put(AT_FDCWD, "/dev/full", "text"), -ENOSPC);
    assert_int_equal(fd_put(AT_FDCWD, "/nowhere", "text"), -ENOENT);
}

/* In a child, so that this program keeps its own three. Answers by exit status. */
static int fill_in_child(unsigned closed)
{
    char byte = 'x';
    int filled;

    for (int fd = 0; fd <= 2; fd++) {
        if ((closed & 1u << fd) != 0)
            (void) close(fd);
    }
    filled = fd_fill_standard();
    if (filled != (int) closed)
        return 1;
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != 0) /* open, and not close-on-exec */
            return 2;
    }
    if ((closed & 1u) != 0 && (read(0, &byte, 1) != 0 || write(0, &byte, 1) != -1))
        return 3;
    if ((closed & 2u) != 0 && (read(1, &byte, 1) != -1 || write(1, &byte, 1) != 1))
        return 4;
    return 0;
}

static void the_standard_three_are_filled(void **state)
{
    (void) state;
    for (unsigned closed = 0; closed <= 7; closed++) {
        int status = -1;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0)
            _exit(fill_in_child(closed));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* ---- clock ---------------------------------------------------------------------------------- */

static void time_goes_forward(void **state)
{
    uint64_t first = clock_ms();

    (void) state;
    assert_true(clock_ms() >= first);
    assert_true(clock_wall_ms() > UINT64_C(1600000000000)); /* milliseconds, after 2020 */
}

static void base64_is_read_strictly(void **state)
{
    static const struct {
        const char *text, *bytes;
    } good[] = {{"", ""},        {"Zg==", "f"},        {"Zm8=", "fo"},
                {"Zm9v", "foo"}, {"Zm9vYg==", "foob"}, {"+/8=", "\xfb\xff"}};
    static const char *const bad[] = {"Z",    "Zg",       "Zg=",    "Zg===", "Zh==", "Zm9=", "====",
                                      "=Zg=", "Zg==Zg==", "Zm9v\n", "Zm-_",  "Z===", "Zm 9"};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        AUTO(buf_free) struct buf bytes = {0};

        buf_init(&bytes, 64);
        assert_int_equal(base64_decode(good[i].text, &bytes), 0);
        assert_string_equal(bytes.bytes, good[i].bytes);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTO(buf_free) struct buf bytes = {0};

        buf_init(&bytes, 64);
        if (base64_decode(bad[i], &bytes) != -EBADMSG)
            fail_msg("taken: %s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_read_strictly),
        cmocka_unit_test(an_error_says_what_failed_and_why),
        cmocka_unit_test(a_wrong_argument_needs_no_errno_text),
        cmocka_unit_test(an_error_without_a_code_is_still_one),
        cmocka_unit_test(an_unknown_code_is_named_so),
        cmocka_unit_test(context_goes_before_the_sentence_and_a_hint_replaces),
        cmocka_unit_test(the_old_error_may_be_an_argument_of_the_new_one),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(nobody_has_to_take_the_error),
        cmocka_unit_test(scopes_close_and_free_and_keep_errno),
        cmocka_unit_test(what_is_taken_is_not_closed),
        cmocka_unit_test(a_buffer_grows_and_is_a_string),
        cmocka_unit_test(a_buffer_fills_to_its_limit_and_no_further),
        cmocka_unit_test(a_buffer_without_room_takes_nothing),
        cmocka_unit_test(bytes_are_handed_over_once),
        cmocka_unit_test(half_a_text_is_not_handed_over),
        cmocka_unit_test(a_zeroed_or_freed_buffer_can_be_freed),
        cmocka_unit_test(bytes_pass_through_a_pipe),
        cmocka_unit_test(a_file_larger_than_the_limit_is_refused),
        cmocka_unit_test(text_is_put_into_existing_files_only),
        cmocka_unit_test(the_standard_three_are_filled),
        cmocka_unit_test(time_goes_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
