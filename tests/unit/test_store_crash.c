/* A child changes the store at random and is killed at a random moment; then the store is whole,
 * what was told to be saved is there, and what was not told is there as a whole or not at all.
 *
 * WATTLE_STORE_KILLS: how often; 30 when it is not set. */
#include "store_folder.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { KILLS = 30, MOST_MESSAGES = 12, LONGEST_US = 3000 };

/* What a child has been told to be saved. A grant or a new place of the pen counts as a revision,
 * and holds the number of it, in `size_bytes` or `inode`. */
struct told {
    uint64_t revision;
    uint64_t turns, ended;
    uint64_t jobs, started, finished;
    uint64_t rows;
};

/* Of a child; what it told goes through `fd` after each change. */
struct child {
    struct world *world;
    struct told told;
    char pen[STORE_ID_SIZE], chat[STORE_ID_SIZE];
    int fd;
    unsigned seed;
};

static unsigned draw(struct child *child, unsigned below)
{
    child->seed = child->seed * 1103515245u + 12345u;
    return (child->seed >> 16) % below;
}

/* ---- the changes -------------------------------------------------------------------------- */

static void change_grant(struct child *child)
{
    struct store_grant grant = grant_of(child->pen, draw(child, 2) == 0 ? child->chat : "", NULL);
    char path[32];

    (void) snprintf(path, sizeof path, "/bin/%u", draw(child, 40));
    grant.executable.path = path;
    grant.executable.size_bytes = child->told.revision + 1;
    DONE(child->world,
         store_grant_put(child->world->store, &grant, child->told.revision, &child->world->err));
    child->told.revision++;
}

static void change_place(struct child *child)
{
    const struct store_pen to = {.path = (char *) (uintptr_t) (draw(child, 2) ? "/w/a" : "/w/b"),
                                 .inode = child->told.revision + 1};

    DONE(child->world, store_pen_rebind(child->world->store, child->pen, &to, &child->world->err));
    child->told.revision++;
}

static void change_turn(struct child *child)
{
    char turn[STORE_ID_SIZE];
    struct world *world = child->world;

    DONE(world, store_turn_begin(world->store, child->chat, turn, &world->err));
    child->told.turns++;
    assert_int_equal(write(child->fd, &child->told, sizeof child->told), sizeof child->told);
    DONE(world, store_turn_end(world->store, turn, "over", &world->err));
    child->told.ended++;
}

static void change_job(struct child *child)
{
    struct world *world = child->world;
    struct store_job job = add_job(world, child->pen, child->chat, STORE_JOB_AWAITING);

    child->told.jobs++;
    assert_int_equal(write(child->fd, &child->told, sizeof child->told), sizeof child->told);
    job.state = STORE_JOB_RUNNING;
    DONE(world, store_job_start(world->store, &job, NULL, &world->err));
    child->told.started++;
    assert_int_equal(write(child->fd, &child->told, sizeof child->told), sizeof child->told);
    job.state = STORE_JOB_EXITED;
    job.notice = "done"; /* and never one without the other */
    DONE(world, store_job_end(world->store, &job, UINT64_MAX, &world->err));
    child->told.finished++;
}

static void change_log(struct child *child)
{
    static char body[9000]; /* more than a page */
    const struct store_row row = {.kind = "test", .pen = child->pen, .body = body};

    memset(body, 'x', draw(child, sizeof body - 1) + 1);
    DONE(child->world, store_log_add(child->world->store, &row, &child->world->err));
    child->told.rows++;
}

static _Noreturn void be_child(struct child *child)
{
    static void (*const changes[])(struct child *) = {change_grant, change_grant, change_place,
                                                      change_turn,  change_job,   change_log};

    open_store(child->world);
    for (;;) {
        changes[draw(child, ARRAY_SIZE(changes))](child);
        if (write(child->fd, &child->told, sizeof child->told) != sizeof child->told)
            _exit(1);
    }
}

/* ---- what is there afterwards ------------------------------------------------------------- */

static struct told look(struct world *world)
{
    return (struct told){
        .revision = number_of(world, "SELECT revision FROM pens"),
        .turns = number_of(world, "SELECT count(*) FROM turns"),
        .ended = number_of(world, "SELECT count(*) FROM turns WHERE why = 'over'"),
        .jobs = number_of(world, "SELECT count(*) FROM jobs"),
        .started = number_of(world, "SELECT count(*) FROM log WHERE kind = 'job.start'"),
        .finished = number_of(world, "SELECT count(*) FROM jobs WHERE state = 2"),
        .rows = number_of(world, "SELECT count(*) FROM log WHERE kind = 'test'"),
    };
}

/* The sum of what is there beyond what was told: one change at most was under way. */
static void at_most_one_more(const struct told *there, const struct told *told)
{
    const uint64_t more = (there->revision - told->revision) + (there->turns - told->turns) +
                          (there->ended - told->ended) + (there->jobs - told->jobs) +
                          (there->started - told->started) + (there->finished - told->finished) +
                          (there->rows - told->rows);

    assert_true(there->revision >= told->revision && there->turns >= told->turns &&
                there->ended >= told->ended && there->jobs >= told->jobs &&
                there->started >= told->started && there->finished >= told->finished &&
                there->rows >= told->rows);
    assert_true(more <= 1);
}

/* What was done is in the log, and nothing else is. */
static void each_change_has_its_row(struct world *world)
{
    static const char *const pairs[][2] = {
        {"SELECT sum(revision) FROM pens", "'grant.put', 'pen.rebind'"},
        {"SELECT count(*) FROM turns", "'turn.begin'"},
        {"SELECT count(*) FROM turns WHERE ended_ms IS NOT NULL", "'turn.end'"},
        {"SELECT count(*) FROM jobs", "'job.request'"},
        {"SELECT count(*) FROM jobs WHERE state > 1", "'job.end'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        char text[256];

        (void) snprintf(text, sizeof text, "SELECT count(*) FROM log WHERE kind IN (%s)",
                        pairs[i][1]);
        assert_int_equal(number_of(world, text), number_of(world, pairs[i][0]));
    }
}

static void each_change_is_whole(struct world *world)
{
    uint64_t jobs = 0;

    assert_int_equal(number_of(world, "SELECT max(inode, (SELECT ifnull(max(size_bytes), 0)"
                                      " FROM grants)) - revision FROM pens"),
                     0);
    assert_int_equal(number_of(world, "SELECT count(*) FROM grants, pens"
                                      " WHERE grants.size_bytes <= pens.inode"),
                     0); /* another place cleared what was granted before */
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs"
                                      " WHERE (state = 2) <> (notice IS 'done')"
                                      " AND notice IS NOT 'crashed'"),
                     0);
    each_change_has_its_row(world);
    DONE(world, store_finish_crashed(world->store, "crashed", &jobs, &world->err));
    assert_true(jobs <= 1);
    assert_int_equal(number_of(world, "SELECT count(*) FROM jobs WHERE state < 2"), 0);
    assert_int_equal(number_of(world, "SELECT count(*) FROM turns WHERE ended_ms IS NULL"), 0);
    each_change_has_its_row(world);
    DONE(world, store_check(world->store, &world->err));
}

/* ---- the storm ---------------------------------------------------------------------------- */

/* Waits for that many messages, or the end. A message is written in one piece. */
static void read_told(int fd, unsigned most, struct told *told)
{
    struct told next;

    for (unsigned i = 0; i < most && read(fd, &next, sizeof next) == sizeof next; i++)
        *told = next;
}

static pid_t start(struct child *child, int fds[2])
{
    pid_t pid = -1;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void) close(fds[0]);
        child->fd = fds[1];
        be_child(child);
    }
    (void) close(fds[1]);
    return pid;
}

/* A little after some message, or after none, while it opens. */
static void kill_once(struct child *child)
{
    const struct timespec life = {0, (long) draw(child, LONGEST_US) * 1000};
    int fds[2];
    int status = 0;
    const pid_t pid = start(child, fds);

    read_told(fds[0], draw(child, MOST_MESSAGES), &child->told);
    (void) nanosleep(&life, NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    read_told(fds[0], UINT_MAX, &child->told);
    (void) close(fds[0]);
}

static int kills(void)
{
    const char *text = getenv("WATTLE_STORE_KILLS");
    uint64_t count = KILLS;

    if (text != NULL)
        assert_int_equal(str_to_u64(text, &count), 0);
    return (int) count;
}

static void a_killed_host_leaves_the_store_whole(void **state)
{
    struct world *world = *state;
    const struct store_pen pen = add_pen(world, "/w/a");
    struct child child = {.world = world, .seed = (unsigned) getpid()};

    memcpy(child.pen, pen.id, sizeof child.pen);
    get_chat(world, pen.id, "default", child.chat);
    execute(world, "UPDATE pens SET inode = 0");
    store_freep(&world->store);
    print_message("# seed %u\n", child.seed);
    for (int i = 0; i < kills(); i++) {
        struct told there;

        kill_once(&child);
        open_store(world);
        there = look(world);
        at_most_one_more(&there, &child.told);
        each_change_is_whole(world);
        child.told = there;
        store_freep(&world->store); /* none is open across a fork */
    }
    print_message("# %d kills, %d changes of grants, %d rows\n", kills(), (int) child.told.revision,
                  (int) child.told.rows);
    assert_true(child.told.revision > 0 || kills() < KILLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_killed_host_leaves_the_store_whole),
    };

    return RUN_STORE_TESTS(tests);
}
