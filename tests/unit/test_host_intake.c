/* The way of a line from the spool into the log: each once, whatever happens meanwhile. */
#include "base/fd.h"
#include "host/intake.h"
#include "job/spool.h"
#include "store_folder.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

struct spooling {
    struct intake intake;
    int dir_fd;
};

static void begin(struct world *world, struct spooling *spooling)
{
    DONE(world, intake_open(&spooling->intake, world->store, world->state, &world->err));
    spooling->dir_fd = spool_open(world->state, &world->err);
    assert_true(spooling->dir_fd >= 0);
}

static void finish(struct spooling *spooling)
{
    intake_close(&spooling->intake);
    cleanup_close(&spooling->dir_fd);
}

static void put_in(const struct spooling *spooling, const char *name, const char *text, size_t size)
{
    AUTO_CLOSE int fd =
        openat(spooling->dir_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, size), 0);
}

static void put(const struct spooling *spooling, const char *name, const char *text)
{
    put_in(spooling, name, text, strlen(text));
}

static void append(const struct spooling *spooling, unsigned number, uint64_t limit_bytes)
{
    AUTO(buf_free) struct buf line = {0};
    struct err err = {0};

    buf_init(&line, 4096);
    (void) buf_printf(&line,
                      "{\"event\":\"start\",\"v\":1,\"run\":\"0123456789abcdef\",\"time_ms\":5,"
                      "\"n\":%u,\"pen\":\"/w/a\"}\n",
                      number);
    assert_int_equal(line.failed, 0);
    if (spool_append(spooling->dir_fd, &line, limit_bytes, &err) < 0)
        fail_msg("%s", err.what);
}

/* To the end. */
static void take_all(struct world *world, struct spooling *spooling)
{
    int r;

    do
        r = intake_step(&spooling->intake, &world->err);
    while (r > 0);
    if (r < 0)
        fail_msg("%s: %s", world->err.id, world->err.what);
}

static uint64_t rows_of(struct world *world, const char *kind)
{
    char text[128];

    (void) snprintf(text, sizeof text, "SELECT count(*) FROM log WHERE kind = '%s'", kind);
    return number_of(world, text);
}

static bool is_there(const struct spooling *spooling, const char *name)
{
    return faccessat(spooling->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- the plain way ------------------------------------------------------------------------- */

static void lines_become_rows_in_their_order(void **state)
{
    struct world *world = *state;
    struct spooling spooling;
    const struct store_pen pen = add_pen(world, "/w/a");

    begin(world, &spooling);
    for (unsigned i = 0; i < 100; i++)
        append(&spooling, i, 2000); /* several files */
    assert_true(is_there(&spooling, "run.jsonl.3"));
    take_all(world, &spooling);
    assert_int_equal(rows_of(world, "run.start"), 100);
    assert_int_equal(number_of(world, "SELECT count(*) FROM log a JOIN log b"
                                      " ON b.number = a.number + 1 WHERE a.kind = 'run.start'"
                                      " AND b.body ->> 'n' <> (a.body ->> 'n') + 1"),
                     0);
    assert_int_equal(number_of(world, "SELECT min(at_ms) = 5 AND max(at_ms) = 5 FROM log"
                                      " WHERE kind = 'run.start'"),
                     1);
    assert_int_equal(number_of(world, "SELECT count(*) FROM log, pens"
                                      " WHERE kind = 'run.start' AND pen = pens.id"),
                     100);
    assert_int_equal(spooling.intake.at.lines, 100);
    assert_false(is_there(&spooling, "run.jsonl") || is_there(&spooling, SPOOL_TAKING));
    (void) pen;
    append(&spooling, 100, 2000); /* and what comes later */
    take_all(world, &spooling);
    assert_int_equal(rows_of(world, "run.start"), 101);
    DONE(world, store_check(world->store, &world->err));
    finish(&spooling);
}

static void a_writer_is_waited_for(void **state)
{
    struct world *world = *state;
    struct spooling spooling;
    int fd;

    begin(world, &spooling);
    append(&spooling, 0, 1 << 20);
    fd = openat(spooling.dir_fd, "run.jsonl", O_WRONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_SH), 0);
    assert_int_equal(intake_step(&spooling.intake, &world->err), -EAGAIN);
    assert_true(is_there(&spooling, "run.jsonl"));
    (void) close(fd);
    take_all(world, &spooling);
    assert_int_equal(rows_of(world, "run.start"), 1);
    finish(&spooling);
}

/* ---- what is no line ----------------------------------------------------------------------- */

static void what_is_no_line_is_set_aside_and_counted(void **state)
{
    static const char *const bad[] = {
        "nonsense\n",
        "\n",
        "[]\n",
        "{}\n",
        "{\"event\":\"start\",\"v\":2,\"run\":\"0123456789abcdef\",\"time_ms\":5}\n",
        "{\"event\":\"start\",\"v\":1,\"run\":\"0123\",\"time_ms\":5}\n",
        "{\"event\":\"rm\",\"v\":1,\"run\":\"0123456789abcdef\",\"time_ms\":5}\n",
        "{\"event\":\"start\",\"v\":1,\"run\":\"0123456789abcdef\",\"time_ms\":-5}\n",
        "{\"event\":\"start\",\"event\":\"exit\",\"v\":1,\"run\":\"0123456789abcdef\"}\n",
        "{\"event\":\"start\",\"v\":1,\"run\":\"0123456789abc\\u0000de\",\"time_ms\":5}\n",
        "\xff\xfe\033[31m\n",
        "{\"event\":\"start\",\"v\":1,\"run\":\"01{\"event\":\"start\",\"v\":1}\n",
    };
    struct world *world = *state;
    struct spooling spooling;

    begin(world, &spooling);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        put(&spooling, "run.jsonl", bad[i]);
        append(&spooling, (unsigned) i, 1 << 20);
    }
    put(&spooling, "run.jsonl", "{\"event\":\"exit\""); /* half a line at the end */
    take_all(world, &spooling);
    assert_int_equal(rows_of(world, "run.start"), ARRAY_SIZE(bad));
    assert_int_equal(rows_of(world, "spool.unread"), ARRAY_SIZE(bad) + 1);
    assert_int_equal(spooling.intake.at.unread, ARRAY_SIZE(bad) + 1);
    assert_false(is_there(&spooling, "run.jsonl") || is_there(&spooling, SPOOL_TAKING));
    finish(&spooling);
}

static void much_of_it_is_counted_only(void **state)
{
    enum { LINES = 5000 };
    struct world *world = *state;
    struct spooling spooling;
    static char text[2 * LINES + 1];

    begin(world, &spooling);
    for (size_t i = 0; i < LINES; i++)
        memcpy(text + 2 * i, "x\n", 2);
    put(&spooling, "run.jsonl", text);
    take_all(world, &spooling);
    assert_int_equal(spooling.intake.at.unread, LINES);
    assert_int_equal(rows_of(world, "spool.unread"), 100);
    finish(&spooling);
}

/* One that fits into no piece is one, and what follows it is read. */
static void a_line_without_an_end_is_one(void **state)
{
    static char text[3 << 20];
    struct world *world = *state;
    struct spooling spooling;

    begin(world, &spooling);
    memset(text, 'x', sizeof text - 1);
    put(&spooling, "run.jsonl", text);
    put(&spooling, "run.jsonl", "\n");
    append(&spooling, 1, UINT64_MAX);
    take_all(world, &spooling);
    assert_int_equal(spooling.intake.at.unread, 1);
    assert_int_equal(rows_of(world, "run.start"), 1);
    assert_true(number_of(world, "SELECT max(length(body)) FROM log") < 2000);
    finish(&spooling);
}

/* Longer than the usual piece, and right. */
static void a_long_line_is_read(void **state)
{
    static char text[300 << 10];
    struct world *world = *state;
    struct spooling spooling;
    const int size = snprintf(text, sizeof text,
                              "{\"event\":\"exit\",\"v\":1,\"run\":\"0123456789abcdef\","
                              "\"time_ms\":5,\"x\":\"");

    begin(world, &spooling);
    memset(text + size, 'x', sizeof text - (size_t) size);
    memcpy(text + sizeof text - 3, "\"}\n", 3);
    put_in(&spooling, "run.jsonl", text, sizeof text);
    append(&spooling, 1, UINT64_MAX);
    take_all(world, &spooling);
    assert_int_equal(rows_of(world, "run.end"), 1);
    assert_int_equal(rows_of(world, "run.start"), 1);
    assert_int_equal(spooling.intake.at.unread, 0);
    finish(&spooling);
}

/* Other things by those names are left alone, and keep nobody from the rest. */
static void what_is_no_file_of_ours_is_left_alone(void **state)
{
    struct world *world = *state;
    struct spooling spooling;

    begin(world, &spooling);
    assert_int_equal(mkdirat(spooling.dir_fd, "run.jsonl.8", 0700), 0);
    assert_int_equal(mkfifoat(spooling.dir_fd, "run.jsonl.7", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", spooling.dir_fd, "run.jsonl.6"), 0);
    put(&spooling, "run.jsonl.5", "written by others\n");
    assert_int_equal(fchmodat(spooling.dir_fd, "run.jsonl.5", 0666, 0), 0);
    append(&spooling, 1, 1 << 20);
    (void) !intake_step(&spooling.intake, &world->err);
    for (int i = 0; i < 10; i++)
        (void) !intake_step(&spooling.intake, &world->err);
    assert_int_equal(rows_of(world, "run.start"), 1);
    assert_int_equal(rows_of(world, "spool.unread"), 0);
    assert_true(is_there(&spooling, "run.jsonl.8") && is_there(&spooling, "run.jsonl.7") &&
                is_there(&spooling, "run.jsonl.6") && is_there(&spooling, "run.jsonl.5"));
    finish(&spooling);
}

/* ---- killed at any moment ------------------------------------------------------------------ */

/* Takes all the time, until it is killed. */
static _Noreturn void be_taker(struct world *world)
{
    struct spooling spooling;

    open_store(world);
    begin(world, &spooling);
    for (;;)
        (void) !intake_step(&spooling.intake, &world->err);
}

static void each_line_is_there_once_whoever_is_killed(void **state)
{
    struct world *world = *state;
    const char *wish = getenv("WATTLE_STORE_KILLS");
    const unsigned kills = wish == NULL ? 40 : (unsigned) strtoul(wish, NULL, 10);
    unsigned seed = (unsigned) getpid();
    struct spooling spooling;
    unsigned written = 0;

    (void) printf("# seed %u\n", seed);
    begin(world, &spooling);
    finish(&spooling);
    store_freep(&world->store);
    for (unsigned i = 0; i < kills; i++) {
        const pid_t pid = fork();

        if (pid == 0)
            be_taker(world);
        assert_true(pid > 0);
        spooling.dir_fd = spool_open(world->state, &world->err);
        for (unsigned n = (unsigned) rand_r(&seed) % 60; n > 0; n--)
            append(&spooling, written++, 1 << 17);         /* never so many that the oldest go */
        (void) usleep((useconds_t) rand_r(&seed) % 20000); /* the moment is what is tried */
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        (void) close(spooling.dir_fd);
    }
    open_store(world);
    begin(world, &spooling);
    take_all(world, &spooling);
    (void) printf("# %u kills, %u lines\n", kills, written);
    assert_int_equal(rows_of(world, "run.start"), written);
    assert_int_equal(number_of(world, "SELECT count(DISTINCT body ->> 'n') FROM log"), written);
    assert_int_equal(spooling.intake.at.lines, written);
    assert_int_equal(spooling.intake.at.unread, 0);
    DONE(world, store_check(world->store, &world->err));
    finish(&spooling);
}

/* Removed and not forgotten; the next file may have the same inode. */
static void a_file_that_comes_after_is_not_taken_for_the_one_before(void **state)
{
    struct world *world = *state;
    struct spooling spooling;
    struct store_spool at;
    struct stat status;

    begin(world, &spooling);
    append(&spooling, 0, 1 << 20);
    append(&spooling, 1, 1 << 20);
    assert_int_equal(fstatat(spooling.dir_fd, "run.jsonl", &status, 0), 0);
    at = spooling.intake.at;
    at.dev = status.st_dev;
    at.inode = status.st_ino;
    at.offset = (uint64_t) status.st_size;
    DONE(world, store_spool_put(world->store, &at, NULL, 0, &world->err));
    finish(&spooling);
    begin(world, &spooling);
    take_all(world, &spooling);
    assert_int_equal(rows_of(world, "run.start"), 2);
    finish(&spooling);
}

/* Steps 1, 2, 3 ... of one taking, each the last of its process: certain, not by chance. */
static void each_step_may_be_the_last(void **state)
{
    struct world *world = *state;
    struct spooling spooling;
    unsigned written = 0;

    begin(world, &spooling);
    for (int steps = 1; steps < 40; steps++) {
        for (unsigned i = 0; i < 12; i++)
            append(&spooling, written++, 500);
        for (int i = 0; i < steps; i++)
            (void) !intake_step(&spooling.intake, &world->err);
        finish(&spooling);
        begin(world, &spooling); /* knows nothing but what was stored */
        if (steps % 5 == 0)
            take_all(world, &spooling);
    }
    take_all(world, &spooling);
    assert_int_equal(rows_of(world, "run.start"), written);
    assert_int_equal(number_of(world, "SELECT count(DISTINCT body ->> 'n') FROM log"), written);
    finish(&spooling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(lines_become_rows_in_their_order),
        WITH_STORE(a_writer_is_waited_for),
        WITH_STORE(what_is_no_line_is_set_aside_and_counted),
        WITH_STORE(much_of_it_is_counted_only),
        WITH_STORE(a_line_without_an_end_is_one),
        WITH_STORE(a_long_line_is_read),
        WITH_STORE(what_is_no_file_of_ours_is_left_alone),
        WITH_STORE(a_file_that_comes_after_is_not_taken_for_the_one_before),
        WITH_STORE(each_step_may_be_the_last),
        WITH_STORE(each_line_is_there_once_whoever_is_killed),
    };

    return RUN_STORE_TESTS(tests);
}
