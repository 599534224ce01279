/* A state folder with an open store, a clock of the test's, and short ways to put rows into it. */
#ifndef WATTLE_TESTS_STORE_FOLDER_H
#define WATTLE_TESTS_STORE_FOLDER_H

#include "base/path.h"
#include "base/tree.h"
#include "cm.h"
#include "store/store_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct world {
    char *top;
    char *state; /* <top>/state, made by the first open */
    char *file;  /* <top>/state/wattle.db */
    struct store *store;
    struct err err;
    uint64_t now_ms;
};

static inline uint64_t world_now(void *context)
{
    return ((const struct world *) context)->now_ms;
}

static inline void open_store(struct world *world)
{
    world->err = (struct err){0};
    if (store_open(world->state, &world->store, &world->err) < 0)
        fail_msg("%s: %s", world->err.id, world->err.what);
    store_set_clock(world->store, world_now, world);
}

static inline int world_make_closed(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    char name[] = "/var/tmp/wattle-store-XXXXXX";

    assert_non_null(world);
    assert_non_null(mkdtemp(name));
    world->top = realpath(name, NULL);
    world->state = path_join(world->top, "state");
    world->file = path_join(world->state, STORE_FILE);
    world->now_ms = 1000;
    *state = world;
    return 0;
}

static inline int world_make(void **state)
{
    (void) world_make_closed(state);
    open_store(*state);
    return 0;
}

static inline int world_remove(void **state)
{
    struct world *world = *state;
    AUTO_CLOSE int fd = open("/var/tmp", O_PATH | O_CLOEXEC);

    store_freep(&world->store);
    assert_int_equal(tree_remove(fd, path_base(world->top), NULL), 0);
    free(world->top);
    free(world->state);
    free(world->file);
    free(world);
    return 0;
}

/* Each with a store of its own. */
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, world_make, world_remove)
#define WITHOUT_STORE(test) cmocka_unit_test_setup_teardown(test, world_make_closed, world_remove)

#define RUN_STORE_TESTS(tests)                                                                     \
    (has_openat2() ? cmocka_run_group_tests(tests, NULL, NULL) : say_that_none_runs())

static inline int say_that_none_runs(void)
{
    (void) printf("1..0 # SKIP no openat2\n");
    return getenv("WATTLE_MUST_RUN") == NULL ? 0 : 1;
}

/* An error of this errno and id. */
#define REFUSED(world, call, code_, id_)                                                           \
    do {                                                                                           \
        (world)->err = (struct err){0};                                                            \
        assert_int_equal((call), -(code_));                                                        \
        assert_string_equal((world)->err.id, (id_));                                               \
    } while (0)

#define DONE(world, call)                                                                          \
    do {                                                                                           \
        (world)->err = (struct err){0};                                                            \
        if ((call) != 0)                                                                           \
            fail_msg("%s: %s: %s", #call, (world)->err.id, (world)->err.what);                     \
    } while (0)

/* The number that a query gives, past the store's own functions. */
static inline uint64_t number_of(struct world *world, const char *text)
{
    sqlite3_stmt *statement = NULL;
    uint64_t number = 0;

    assert_int_equal(sqlite3_prepare_v2(world->store->db, text, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    number = (uint64_t) sqlite3_column_int64(statement, 0);
    (void) sqlite3_finalize(statement);
    return number;
}

static inline void execute(struct world *world, const char *text)
{
    char *message = NULL;

    if (sqlite3_exec(world->store->db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
}

/* ---- rows --------------------------------------------------------------------------------- */

static inline struct store_pen add_pen(struct world *world, const char *path)
{
    struct store_pen pen = {.path = (char *) (uintptr_t) path, .name = NULL, .dev = 1, .inode = 2};

    DONE(world, store_pen_add(world->store, &pen, &world->err));
    return pen;
}

static inline uint64_t revision_of(struct world *world, const char *id)
{
    AUTO(store_pen_free) struct store_pen pen = {0};

    DONE(world, store_pen_find(world->store, id, &pen, &world->err));
    return pen.revision;
}

static inline void get_chat(struct world *world, const char *pen, const char *name,
                            char ret_id[STORE_ID_SIZE])
{
    DONE(world, store_chat_get(world->store, pen, name, ret_id, &world->err));
}

/* A grant of the whole pen, or of the chat. */
static inline struct store_grant grant_of(const char *pen, const char *chat, const char *path)
{
    struct store_grant grant = {
        .executable = {.path = (char *) (uintptr_t) path,
                       .dev = 1,
                       .inode = 2,
                       .size_bytes = 3,
                       .mtime_ns = 4,
                       .ctime_ns = 5},
    };

    (void) snprintf(grant.pen, sizeof grant.pen, "%s", pen);
    (void) snprintf(grant.chat, sizeof grant.chat, "%s", chat == NULL ? "" : chat);
    return grant;
}

static inline struct store_grant put_grant(struct world *world, const char *pen, const char *chat,
                                           const char *path)
{
    struct store_grant grant = grant_of(pen, chat, path);

    DONE(world, store_grant_put(world->store, &grant, STORE_ANY_REVISION, &world->err));
    return grant;
}

static inline struct store_job add_job(struct world *world, const char *pen, const char *chat,
                                       enum store_job_state job_state)
{
    struct store_job job = {.state = job_state, .request = "{}"};

    (void) snprintf(job.pen, sizeof job.pen, "%s", pen);
    (void) snprintf(job.chat, sizeof job.chat, "%s", chat);
    DONE(world, store_job_add(world->store, &job, &world->err));
    return job;
}

/* A job that starts by it. */
static inline void use_grant(struct world *world, const struct store_grant *grant)
{
    struct store_job job = add_job(world, grant->pen, "", STORE_JOB_AWAITING);

    job.state = STORE_JOB_RUNNING;
    DONE(world, store_job_start(world->store, &job, grant->id, &world->err));
}

#endif
