/* A pen, a folder beside it, and a state folder, in a temporary folder of the tests of pen/. */
#ifndef WATTLE_TESTS_PEN_FOLDER_H
#define WATTLE_TESTS_PEN_FOLDER_H

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/tree.h"
#include "cm.h"
#include "pen/pen.h"
#include "pen/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Later than anything a test makes is young. */
#define LATER_MS 10000u

struct world {
    char *top;
    char *pen;   /* <top>/pen; where the test stands */
    char *state; /* <top>/state, not made */
    struct policy *policy;
    struct pen_findings *findings;
    struct err err;
    uint64_t now_ms; /* what the look takes for now */
};

static inline int world_make(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    char name[] = "/var/tmp/wattle-pen-XXXXXX";

    assert_non_null(world);
    (void) umask(022);
    assert_non_null(mkdtemp(name));
    assert_int_equal(chmod(name, 0755), 0);
    world->top = realpath(name, NULL);
    world->pen = path_join(world->top, "pen");
    world->state = path_join(world->top, "state/wattle");
    world->policy = policy_new();
    world->now_ms = clock_wall_ms() + LATER_MS;
    assert_int_equal(mkdir(world->pen, 0755), 0);
    assert_int_equal(chdir(world->pen), 0);
    assert_int_equal(mkdir("../out", 0755), 0);
    *state = world;
    return 0;
}

static inline int world_remove(void **state)
{
    struct world *world = *state;
    AUTO_CLOSE int fd = -1;

    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chdir("/"), 0);
    fd = open("/var/tmp", O_PATH | O_CLOEXEC);
    assert_int_equal(tree_remove(fd, path_base(world->top), NULL), 0);
    pen_findings_freep(&world->findings);
    policy_freep(&world->policy);
    free(world->top);
    free(world->pen);
    free(world->state);
    free(world);
    return 0;
}

static inline void make_file(const char *path, const char *text)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t) strlen(text));
}

static inline void make_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

static inline void make_link(const char *path, const char *target)
{
    assert_int_equal(link(target, path), 0);
}

/* Listens when it is a stream socket. The descriptor keeps it alive. */
static inline int make_socket(const char *path, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    (void) snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *) &address, sizeof address), 0);
    if (type != SOCK_DGRAM)
        assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static inline int try_look_at(struct world *world, const struct pen_request *request)
{
    int r = 0;

    pen_findings_freep(&world->findings);
    world->err = (struct err){0};
    r = pen_preflight(request, world->policy, &world->findings, &world->err);
    assert_int_equal(r, -world->err.code);
    assert_true((r == 0) == (world->findings != NULL));
    return r;
}

static inline int try_look(struct world *world)
{
    const struct pen_request request = {.pen = world->pen, .now_ms = world->now_ms};

    return try_look_at(world, &request);
}

static inline void look(struct world *world)
{
    if (try_look(world) < 0)
        fail_msg("%s: %s", world->err.id, world->err.what);
}

/* `what` is 0 when nothing is said of a path. */
static inline const struct pen_found *found_at(const struct world *world, const char *path)
{
    static const struct pen_found nothing;

    for (size_t i = 0; i < world->findings->count; i++)
        if (strcmp(world->findings->items[i].path, path) == 0)
            return &world->findings->items[i];
    return &nothing;
}

static inline unsigned what_of(const struct world *world, const char *path)
{
    return found_at(world, path)->what;
}

static inline int judge(struct world *world)
{
    world->err = (struct err){0};
    return pen_judge(world->findings, world->pen, world->policy, &world->err);
}

static inline void refuses(struct world *world, const char *id, const char *words)
{
    assert_int_equal(judge(world), -EINVAL);
    assert_string_equal(world->err.id, id);
    if (strstr(world->err.what, words) == NULL && strstr(world->err.hint, words) == NULL)
        fail_msg("'%s' (%s) does not say '%s'", world->err.what, world->err.hint, words);
    assert_string_not_equal(world->err.hint, "");
}

#define PEN_TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

#define RUN_PEN_TESTS(tests)                                                                       \
    (has_openat2() || getenv("WATTLE_MUST_RUN") != NULL                                            \
         ? cmocka_run_group_tests(tests, NULL, NULL)                                               \
         : puts("1..0 # SKIP no openat2") < 0)

#endif
