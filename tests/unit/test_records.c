/* What is written about a run: --status-fd and the spool. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/tree.h"
#include "cli/made.h"
#include "cli/record.h"
#include "cli/status.h"
#include "cm.h"
#include "job/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_LIMIT_BYTES = 512 << 10 };

/* A state folder of the test's own. */
struct place {
    char state_dir[64];
};

static int make_place(void **state)
{
    static struct place place;

    (void) snprintf(place.state_dir, sizeof place.state_dir, "/tmp/wattle-test-XXXXXX");
    *state = &place;
    return mkdtemp(place.state_dir) != NULL ? 0 : -1;
}

static int remove_place(void **state)
{
    const struct place *place = *state;
    AUTO_CLOSE int top = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

    return tree_remove(top, strrchr(place->state_dir, '/') + 1, NULL);
}

static void make_line(struct buf *line, size_t size)
{
    buf_init(line, LINE_LIMIT_BYTES);
    for (size_t i = 1; i < size; i++)
        (void) buf_add(line, "x", 1);
    (void) buf_add(line, "\n", 1);
    assert_int_equal(line->failed, 0);
}

static off_t size_of(int dir_fd, const char *name)
{
    struct stat status;

    return fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_size : -1;
}

static void the_spool_is_private_whatever_the_umask(void **state)
{
    static const mode_t masks[] = {0, 0777};
    const struct place *place = *state;
    AUTO(buf_free) struct buf line = {0};
    struct err err = {0};

    NEEDS_OPENAT2();
    make_line(&line, 10);
    for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
        const mode_t before = umask(masks[i]);
        AUTO_CLOSE int fd = spool_open(place->state_dir, &err);
        struct stat status;

        assert_true(fd >= 0);
        assert_int_equal(spool_append(fd, &line, SPOOL_LIMIT_BYTES, &err), 0);
        assert_int_equal(umask(before), masks[i]);
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0700);
        assert_int_equal(fstatat(fd, "run.jsonl", &status, 0), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
        assert_int_equal(unlinkat(fd, "run.jsonl", 0), 0);
    }
}

static void the_spool_rotates_and_keeps_a_bounded_number(void **state)
{
    const struct place *place = *state;
    struct err err = {0};
    AUTO_CLOSE int fd = spool_open(place->state_dir, &err);
    AUTO(buf_free) struct buf line = {0};

    NEEDS_OPENAT2();
    make_line(&line, 10);
    for (int i = 0; i < 3 * (SPOOL_KEPT + 4); i++)
        assert_int_equal(spool_append(fd, &line, 30, &err), 0);
    assert_int_equal(size_of(fd, "run.jsonl"), 30);
    assert_int_equal(size_of(fd, "run.jsonl.1"), 30);
    assert_int_equal(size_of(fd, "run.jsonl.8"), 30);
    assert_int_equal(size_of(fd, "run.jsonl.9"), -1);
}

static void a_line_over_the_limit_is_kept_in_a_file_of_its_own(void **state)
{
    const struct place *place = *state;
    struct err err = {0};
    AUTO_CLOSE int fd = spool_open(place->state_dir, &err);
    AUTO(buf_free) struct buf line = {0};

    NEEDS_OPENAT2();
    make_line(&line, 100);
    assert_int_equal(spool_append(fd, &line, 30, &err), 0);
    assert_int_equal(spool_append(fd, &line, 30, &err), 0);
    assert_int_equal(size_of(fd, "run.jsonl"), 100);
    assert_int_equal(size_of(fd, "run.jsonl.1"), 100);
}

static void writers_at_the_same_time_lose_no_line(void **state)
{
    enum { WRITERS = 8, LINES = 40 };
    const struct place *place = *state;
    struct err err = {0};
    AUTO_CLOSE int fd = spool_open(place->state_dir, &err);
    AUTO(buf_free) struct buf line = {0};
    off_t all = 0;
    char name[32];

    NEEDS_OPENAT2();
    make_line(&line, 10);
    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            int rc = 0;

            for (int k = 0; k < LINES && rc == 0; k++)
                rc = spool_append(fd, &line, 500, NULL);
            _exit(rc == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (int i = 1; i <= SPOOL_KEPT; i++) {
        (void) snprintf(name, sizeof name, "run.jsonl.%d", i);
        if (size_of(fd, name) > 0)
            all += size_of(fd, name);
    }
    assert_int_equal(all + size_of(fd, "run.jsonl"), WRITERS * LINES * 10);
}

static void links_and_foreign_folders_are_refused(void **state)
{
    const struct place *place = *state;
    AUTO(buf_free) struct buf line = {0};
    AUTO_CLOSE int top = open(place->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};
    int fd;

    NEEDS_OPENAT2();
    make_line(&line, 10);
    assert_int_equal(symlinkat("/tmp", top, "spool"), 0);
    assert_true(spool_open(place->state_dir, &err) < 0);
    assert_string_equal(err.id, "job.spool");
    assert_int_equal(unlinkat(top, "spool", 0), 0);

    assert_int_equal(mkdirat(top, "spool", 0700), 0);
    assert_int_equal(fchmodat(top, "spool", 0770, 0), 0);
    assert_int_equal(spool_open(place->state_dir, &err), -EPERM);
    assert_int_equal(fchmodat(top, "spool", 0700, 0), 0);

    fd = spool_open(place->state_dir, &err);
    assert_true(fd >= 0);
    assert_int_equal(symlinkat("elsewhere", fd, "run.jsonl"), 0);
    assert_true(spool_append(fd, &line, 30, &err) < 0);
    assert_int_equal(size_of(fd, "elsewhere"), -1);
    assert_int_equal(unlinkat(fd, "run.jsonl", 0), 0);
    assert_int_equal(mkfifoat(fd, "run.jsonl", 0600), 0);
    assert_true(spool_append(fd, &line, 30, &err) < 0);
    (void) close(fd);
}

static void status_wants_a_descriptor_it_can_write(void **state)
{
    struct err err = {0};
    int ends[2];

    (void) state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(status_open(1, "status-fd", &err), -EINVAL);
    assert_int_equal(status_open(1000, "status-fd", &err), -EINVAL);
    assert_int_equal(status_open(UINT64_MAX, "made-fd", &err), -EINVAL);
    assert_int_equal(status_open((uint64_t) ends[0], "made-fd", &err), -EINVAL);
    assert_string_equal(err.id, "cli.made-fd");
    assert_non_null(strstr(err.what, "'--made-fd'"));
    assert_int_equal(fcntl(ends[1], F_SETFD, 0), 0);
    assert_int_equal(status_open((uint64_t) ends[1], "status-fd", &err), ends[1]);
    assert_int_equal(fcntl(ends[1], F_GETFD), FD_CLOEXEC);
    (void) close(ends[0]);
    (void) close(ends[1]);
}

static void a_status_reader_can_neither_stop_nor_kill_us(void **state)
{
    AUTO(buf_free) struct buf line = {0};
    int ends[2];
    int rc = 0;

    (void) state;
    make_line(&line, 4000);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < 100 && rc == 0; i++)
        rc = status_write(ends[1], &line, 0);
    assert_int_equal(rc, -EAGAIN);
    (void) close(ends[0]);
    assert_int_equal(status_write(ends[1], &line, 0), -EPIPE);
    (void) close(ends[1]);
}

static json_t *only_line(const struct buf *line)
{
    json_t *json = NULL;

    assert_ptr_equal(strchr(line->bytes, '\n'), line->bytes + line->size - 1);
    assert_int_equal(json_parse(line->bytes, line->size, "line", &json, NULL), 0);
    return json;
}

static void the_greatest_refusal_fits_into_a_pipe_at_once(void **state)
{
    const struct record_run run = {.id = "0123456789abcdef"};
    AUTO(buf_free) struct buf line = {0};
    AUTO(json_free) json_t *json = NULL;
    struct err err = {.code = EPERM, .id = "x.y"};

    (void) state;
    memset(err.what, '\x01', sizeof err.what - 1);
    memset(err.hint, '\x01', sizeof err.hint - 1);
    buf_init(&line, LINE_LIMIT_BYTES);
    assert_int_equal(record_end(&run, 125, NULL, &err, &line), 0);
    assert_true(line.size <= PIPE_BUF);
    json = only_line(&line);
    assert_string_equal(json_string_value(json_object_get(json, "run")), run.id);
    assert_int_equal(json_integer_value(json_object_get(json, "code")), 125);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "error"), "id")),
                        "x.y");
}

/* What of the list does not fit is left out, and counted. */
static void the_greatest_list_fits_into_a_pipe_at_once(void **state)
{
    const struct job_result result = {.denied = UINT64_MAX >> 1, .wall_ms = UINT64_MAX >> 1};
    struct record_run run = {.id = "0123456789abcdef"};
    struct job_told told[JOB_TOLD_MAX];
    struct job_made made = {.told = told, .count = 500000, .told_count = JOB_TOLD_MAX};
    char name[64];

    (void) state;
    made.told_total = 100000;
    for (size_t size = 1; size < sizeof name; size++) {
        AUTO(buf_free) struct buf line = {0};
        AUTO(json_free) json_t *json = NULL;
        const json_t *list;

        memset(name, '\x01', size);
        name[size] = '\0';
        for (size_t i = 0; i < JOB_TOLD_MAX; i++)
            told[i] = (struct job_told){
                .name = name, .reason = "it runs when you build", .deeper = true, .gone = true};
        run.made = record_made(&made);
        assert_non_null(run.made);
        buf_init(&line, LINE_LIMIT_BYTES);
        assert_int_equal(record_end(&run, 255, &result, NULL, &line), 0);
        json_decref(run.made);
        assert_true(line.size <= PIPE_BUF);
        json = only_line(&line);
        list = json_object_get(json, "made");
        assert_int_equal(json_integer_value(json_object_get(list, "count")), 500000);
        assert_int_equal(json_integer_value(json_object_get(list, "told_count")), 100000);
        assert_true(json_is_false(json_object_get(list, "complete")));
        assert_true(json_array_size(json_object_get(list, "told")) > 5);
    }
}

static void a_reader_of_names_may_be_slow_or_go(void **state)
{
    enum { NAMES = 60000 };
    const char **names = calloc(NAMES, sizeof *names);
    const struct job_made made = {.names = names, .count = NAMES};
    size_t got = 0;
    ssize_t n;
    int ends[2];
    pid_t pid;
    char part[8192];

    (void) state;
    assert_non_null(names);
    for (size_t i = 0; i < NAMES; i++)
        names[i] = "folder/a\nname";
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void) close(ends[0]);
        _exit(made_write(ends[1], &made) == 0 ? 0 : 1);
    }
    (void) close(ends[1]);
    while ((n = read(ends[0], part, sizeof part)) > 0)
        got += (size_t) n;
    assert_int_equal(got, NAMES * sizeof "folder/a\nname");
    (void) close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void) close(ends[0]);
    assert_int_equal(made_write(ends[1], &made), -EPIPE);
    (void) close(ends[1]);
    free(names);
}

static json_t *end_of(const struct job_result *result)
{
    const struct record_run run = {.id = "0123456789abcdef"};
    AUTO(buf_free) struct buf line = {0};

    buf_init(&line, LINE_LIMIT_BYTES);
    assert_int_equal(record_end(&run, result->exit_code, result, NULL, &line), 0);
    return only_line(&line);
}

static void an_end_by_status_has_no_signal(void **state)
{
    const struct job_result exited = {.status = 125 << 8, .exit_code = 125, .wall_ms = 7};
    AUTO(json_free) json_t *json = end_of(&exited);

    (void) state;
    assert_int_equal(json_integer_value(json_object_get(json, "exited")), 125);
    assert_int_equal(json_integer_value(json_object_get(json, "wall_ms")), 7);
    assert_true(json_is_null(json_object_get(json, "signal")));
    assert_null(json_object_get(json, "error"));
}

static void an_end_by_signal_has_no_status(void **state)
{
    const struct job_result killed = {
        .status = 9, .exit_code = 124, .signal = 9, .timed_out = true};
    AUTO(json_free) json_t *json = end_of(&killed);

    (void) state;
    assert_true(json_is_null(json_object_get(json, "exited")));
    assert_int_equal(json_integer_value(json_object_get(json, "code")), 124);
    assert_int_equal(json_integer_value(json_object_get(json, "signal")), 9);
    assert_true(json_is_true(json_object_get(json, "timed_out")));
}

int main(void)
{
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    static const struct CMUnitTest tests[] = {
        WITH_PLACE(the_spool_is_private_whatever_the_umask),
        WITH_PLACE(the_spool_rotates_and_keeps_a_bounded_number),
        WITH_PLACE(a_line_over_the_limit_is_kept_in_a_file_of_its_own),
        WITH_PLACE(writers_at_the_same_time_lose_no_line),
        WITH_PLACE(links_and_foreign_folders_are_refused),
        cmocka_unit_test(status_wants_a_descriptor_it_can_write),
        cmocka_unit_test(a_status_reader_can_neither_stop_nor_kill_us),
        cmocka_unit_test(the_greatest_refusal_fits_into_a_pipe_at_once),
        cmocka_unit_test(the_greatest_list_fits_into_a_pipe_at_once),
        cmocka_unit_test(a_reader_of_names_may_be_slow_or_go),
        cmocka_unit_test(an_end_by_status_has_no_signal),
        cmocka_unit_test(an_end_by_signal_has_no_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
