/* A power cut keeps of the store's log (SQLite's WAL) what was synced, and in the worst case
 * nothing of what came later. Syncs are seen here, since SQLite's calls find these functions first.
 */
#include "store_folder.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct disk {
    unsigned count;
    off_t synced; /* how long the log was at its last sync */
};
/* Of one test at a time; what SQLite calls is given nothing of ours. */
static struct disk disk; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables) */

static bool is_log(int fd)
{
    char link[32], path[PATH_MAX];
    ssize_t size;

    (void) snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    return strstr(path, STORE_FILE "-wal") != NULL;
}

static int see(long number, int fd)
{
    struct stat status;

    if (is_log(fd) && fstat(fd, &status) == 0) {
        disk.count++;
        disk.synced = status.st_size;
    }
    return (int) syscall(number, fd);
}

__attribute__((visibility("default"))) int
fdatasync(int fd) /* NOLINT(readability-inconsistent-declaration-parameter-name) */
{
    return see(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int
fsync(int fd) /* NOLINT(readability-inconsistent-declaration-parameter-name) */
{
    return see(SYS_fsync, fd);
}

/* How often the log was synced since it was asked the last time. */
static unsigned syncs(void)
{
    const unsigned count = disk.count;

    disk.count = 0;
    return count;
}

static char *log_path(const struct world *world)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s-wal", world->file) > 0);
    return path;
}

/* The store as the next start finds it. While it is open its last owner cannot tidy up: the files
 * are put aside first. */
static void cut_power(struct world *world)
{
    AUTO_FREE char *log = log_path(world), *aside_log = NULL, *aside = NULL;

    assert_true(asprintf(&aside, "%s/aside", world->top) > 0);
    assert_true(asprintf(&aside_log, "%s/aside-wal", world->top) > 0);
    assert_int_equal(link(world->file, aside), 0);
    assert_int_equal(link(log, aside_log), 0);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(unlink(world->file), 0);
    store_freep(&world->store);
    assert_int_equal(truncate(aside_log, disk.synced), 0);
    (void) unlink(log);
    assert_int_equal(rename(aside, world->file), 0);
    assert_int_equal(rename(aside_log, log), 0);
    open_store(world);
    DONE(world, store_check(world->store, &world->err));
}

struct life {
    struct store_pen pen;
    struct store_grant grant;
    char chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];
    struct store_job job;
};

static void begin(struct world *world, struct life *life)
{
    life->pen = add_pen(world, "/w/a");
    life->grant = put_grant(world, life->pen.id, NULL, "/bin/a");
    get_chat(world, life->pen.id, "default", life->chat);
    DONE(world, store_turn_begin(world->store, life->chat, life->turn, &world->err));
    (void) syncs();
    life->job = add_job(world, life->pen.id, life->chat, STORE_JOB_AWAITING);
}

static void start(struct world *world, struct life *life)
{
    life->job.state = STORE_JOB_RUNNING;
    DONE(world, store_job_start(world->store, &life->job, life->grant.id, &world->err));
}

static void end(struct world *world, struct life *life)
{
    life->job.state = STORE_JOB_EXITED;
    DONE(world, store_job_end(world->store, &life->job, 100, &world->err));
}

static void a_job_that_runs_is_on_the_disk(void **state)
{
    struct world *world = *state;
    struct life life;

    begin(world, &life);
    assert_int_equal(syncs(), 0);
    start(world, &life);
    assert_int_equal(syncs(), 1); /* and this one is of all before it */
    cut_power(world);
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE state = 1"), 1);
    assert_int_equal(number_of(world, "SELECT uses FROM grants"), 1);
    assert_int_equal(number_of(world, "SELECT count(*) FROM log WHERE kind IN"
                                      " ('job.request', 'grant.use', 'job.start')"),
                     3);
}

static void an_end_that_was_lost_is_made_up_for(void **state)
{
    struct world *world = *state;
    struct life life;
    uint64_t jobs = 0;

    begin(world, &life);
    start(world, &life);
    (void) syncs();
    end(world, &life);
    DONE(world, store_turn_end(world->store, life.turn, "over", &world->err));
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE state = 2"), 1);
    assert_int_equal(syncs(), 0);
    cut_power(world);
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE state = 1"), 1);
    DONE(world, store_finish_crashed(world->store, "crashed", &jobs, &world->err));
    assert_int_equal(jobs, 1);
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE notice = 'crashed'"), 1);
    assert_int_equal(number_of(world, "SELECT count(*) FROM turns WHERE why = 'crashed'"), 1);
}

/* What the owner decides is on the disk when it is told, also right after what is not. */
static void what_the_owner_decides_is_on_the_disk(void **state)
{
    struct world *world = *state;
    struct life life;

    begin(world, &life);
    start(world, &life);
    end(world, &life);
    (void) syncs();
    DONE(world, store_grant_remove(world->store, life.grant.id, STORE_ANY_REVISION, &world->err));
    assert_int_equal(syncs(), 1);
    cut_power(world);
    assert_int_equal(number_of(world, "SELECT count(*) FROM grants"), 0);
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE state = 2"), 1);
}

static void pens_files_and_chats_are_synced(void **state)
{
    struct world *world = *state;
    struct store_file file = {.path = (char *) (uintptr_t) "/x", .access = STORE_READ};
    struct store_pen pen, to = {.path = (char *) (uintptr_t) "/w/c"};
    char chat[STORE_ID_SIZE];

    (void) syncs();
    pen = add_pen(world, "/w/a");
    assert_int_equal(syncs(), 1);
    memcpy(file.pen, pen.id, sizeof file.pen);
    DONE(world, store_file_add(world->store, &file, &world->err));
    assert_int_equal(syncs(), 1);
    get_chat(world, pen.id, "default", chat);
    assert_int_equal(syncs(), 1);
    DONE(world, store_chat_delete(world->store, chat, &world->err));
    assert_int_equal(syncs(), 1);
    DONE(world, store_pen_rebind(world->store, pen.id, &to, &world->err));
    assert_int_equal(syncs(), 1);
    DONE(world, store_pen_remove(world->store, pen.id, &world->err));
    assert_int_equal(syncs(), 1);
}

static void grants_and_the_log_are_synced(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    const struct store_row row = {.kind = "test", .body = "{}"};
    const struct store_spool spool = {.dev = 1};

    (void) syncs();
    (void) put_grant(world, pen.id, NULL, "/bin/a");
    assert_int_equal(syncs(), 1);
    DONE(world, store_log_add(world->store, &row, &world->err));
    assert_int_equal(syncs(), 1);
    DONE(world, store_spool_put(world->store, &spool, &row, 1, &world->err)); /* a file goes next */
    assert_int_equal(syncs(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_job_that_runs_is_on_the_disk),
        WITH_STORE(an_end_that_was_lost_is_made_up_for),
        WITH_STORE(what_the_owner_decides_is_on_the_disk),
        WITH_STORE(pens_files_and_chats_are_synced),
        WITH_STORE(grants_and_the_log_are_synced),
    };

    return RUN_STORE_TESTS(tests);
}
