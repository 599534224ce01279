/* wattle-job as its parent sees it: a compiled policy in, events and bounded output back. The
 * program is named by $WATTLE_JOB. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree.h"
#include "job/wire.h"
#include "policy/codec.h"
#include "tests/unit/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
    char top[64]; /* a folder of the test's own on disk */
    char pen[96], cache[96], state[96];
    pid_t pid; /* wattle-job */
    int fd;    /* our end of its socket */
};

struct answer {
    enum wire_kind kind;
    struct buf frame;
    struct wire_reader reader;
};

/* ---- a policy by hand --------------------------------------------------------------------------
 */

static char *text(const char *constant)
{
    union {
        const char *in;
        char *out; /* borrowed for the call */
    } pointer = {.in = constant};

    return pointer.out;
}

static void add_rule(struct policy *policy, const char *path, enum policy_access access,
                     enum policy_origin origin)
{
    const struct policy_rule rule = {
        .path = text(path), .access = access, .origin = origin, .why = text("test")};
    struct err err = {0};

    assert_int_equal(policy_add_rule(policy, &rule, &err), 0);
}

static void add_place(struct policy *policy, enum policy_place_kind kind, const char *path,
                      const char *source)
{
    const struct policy_place place = {
        .kind = kind,
        .access = kind == POLICY_PLACE_TMPFS ? POLICY_WRITE : POLICY_READ,
        .path = text(path),
        .source = text(source),
        .why = text("test"),
        .bytes = kind == POLICY_PLACE_TMPFS ? 16u << 20 : 0,
    };
    struct err err = {0};

    assert_int_equal(policy_add_place(policy, &place, &err), 0);
}

static void add_top(struct policy *policy, const char *path)
{
    char target[64];
    const ssize_t n = readlink(path, target, sizeof target - 1);

    if (n > 0) {
        target[n] = '\0';
        add_place(policy, POLICY_PLACE_SYMLINK, path, target);
    } else if (access(path, F_OK) == 0) {
        add_rule(policy, path, POLICY_READ, POLICY_FROM_BASE);
    }
}

static struct policy *make_policy(const struct world *world)
{
    static const char *const tops[] = {"/bin", "/lib", "/lib64"};
    struct policy *policy = policy_new();
    const struct policy_command command = {.path = text("/usr/bin/dash")};
    struct err err = {0};

    assert_non_null(policy);
    add_rule(policy, "/usr", POLICY_READ, POLICY_FROM_BASE);
    for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
        add_top(policy, tops[i]);
    add_place(policy, POLICY_PLACE_DEV, "/dev", NULL);
    add_place(policy, POLICY_PLACE_PROC, "/proc", NULL);
    add_place(policy, POLICY_PLACE_TMPFS, "/tmp", NULL);
    add_rule(policy, world->pen, POLICY_WRITE, POLICY_FROM_PEN);
    assert_int_equal(policy_set_pen(policy, world->pen, &err), 0);
    assert_int_equal(policy_set_cwd(policy, world->pen, &err), 0);
    assert_int_equal(policy_set_command(policy, &command, &err), 0);
    assert_int_equal(policy_set_env(policy, "PATH", "/usr/bin:/bin", &err), 0);
    policy_set_guard(policy, POLICY_GUARD_OFF); /* fewer frames */
    return policy;
}

/* ---- talking to it ------------------------------------------------------------------------------
 */

static void send_start(const struct world *world, const struct policy *policy, const char *script)
{
    AUTO(buf_free) struct buf frame = {0}, compiled = {0};
    struct err err = {0};

    buf_init(&compiled, POLICY_CODEC_LIMIT_BYTES);
    assert_int_equal(policy_encode(policy, &compiled, &err), 0);
    wire_begin(&frame, WIRE_START);
    wire_add_u32(&frame, WIRE_VERSION);
    wire_add_bytes(&frame, compiled.bytes, compiled.size);
    wire_add_text(&frame, world->cache);
    wire_add_text(&frame, world->state);
    wire_add_text(&frame, "");
    wire_add_u32(&frame, 3);
    wire_add_text(&frame, "sh");
    wire_add_text(&frame, "-c");
    wire_add_text(&frame, script);
    assert_int_equal(wire_send(world->fd, &frame), 0);
}

static void send_plain(const struct world *world, enum wire_kind kind)
{
    AUTO(buf_free) struct buf frame = {0};

    wire_begin(&frame, kind);
    assert_int_equal(wire_send(world->fd, &frame), 0);
}

static void receive(const struct world *world, struct answer *answer)
{
    buf_init(&answer->frame, WIRE_LIMIT_BYTES);
    assert_int_equal(wire_receive(world->fd, &answer->frame, true), 1);
    answer->kind = wire_open(&answer->frame, &answer->reader);
}

static void skip(const struct world *world, enum wire_kind kind)
{
    struct answer answer;

    receive(world, &answer);
    assert_int_equal(answer.kind, kind);
    buf_free(&answer.frame);
}

static void start_program(struct world *world)
{
    const char *program = getenv("WATTLE_JOB");
    int ends[2];
    char number[16];

    assert_non_null(program);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    (void) snprintf(number, sizeof number, "%d", ends[1]);
    world->pid = fork();
    assert_true(world->pid >= 0);
    if (world->pid == 0) {
        (void) close(ends[0]);
        (void) execl(program, "wattle-job", number, (char *) NULL);
        _exit(127);
    }
    (void) close(ends[1]);
    world->fd = ends[0];
}

static void run(struct world *world, const char *script)
{
    struct policy *policy = make_policy(world);

    start_program(world);
    send_start(world, policy, script);
    policy_free(policy);
}

static void run_guarded(struct world *world, const char *script)
{
    struct policy *policy = make_policy(world);

    policy_set_guard(policy, POLICY_GUARD_ON);
    start_program(world);
    send_start(world, policy, script);
    policy_free(policy);
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    if (world == NULL)
        return -1;
    (void) snprintf(world->top, sizeof world->top, "/var/tmp/wattle-job-test-XXXXXX");
    if (mkdtemp(world->top) == NULL)
        return -1;
    (void) snprintf(world->pen, sizeof world->pen, "%s/pen", world->top);
    (void) snprintf(world->cache, sizeof world->cache, "%s/cache", world->top);
    (void) snprintf(world->state, sizeof world->state, "%s/state", world->top);
    world->fd = -1;
    *state = world;
    return mkdir(world->pen, 0700);
}

static int teardown(void **state)
{
    struct world *world = *state;
    AUTO_CLOSE int parent_fd = open("/var/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};
    int r;

    cleanup_close(&world->fd);
    if (world->pid > 0)
        (void) waitpid(world->pid, NULL, 0);
    r = tree_remove(parent_fd, world->top + strlen("/var/tmp/"), &err);
    free(world);
    return r;
}

static bool exists(const struct world *world, const char *name)
{
    char path[160];

    (void) snprintf(path, sizeof path, "%s/%s", world->pen, name);
    return access(path, F_OK) == 0;
}

/* ---- tests
 * ---------------------------------------------------------------------------------------- */

static void reports_start_output_and_end(void **state)
{
    struct world *world = *state;
    struct answer answer;
    size_t size;
    const char *head;

    run(world, "echo out; echo err >&2; echo made >made; exit 7");
    skip(world, WIRE_STARTED);
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_OUTPUT);
    assert_int_equal(wire_u64(&answer.reader), 8);
    head = wire_bytes(&answer.reader, &size);
    assert_int_equal(size, 8);
    assert_memory_equal(head, "out\nerr\n", 8);
    buf_free(&answer.frame);
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_ENDED);
    assert_int_equal(wire_u32(&answer.reader), 7);
    buf_free(&answer.frame);
    assert_true(exists(world, "made"));
}

static void keeps_head_and_tail_of_a_flood(void **state)
{
    struct world *world = *state;
    struct answer answer;
    size_t head_size, tail_size;
    const char *head, *tail;

    run(world, "echo first; i=0; while [ $i -lt 300 ]; do printf '%01000d' 0; i=$((i+1)); done; "
               "echo last");
    skip(world, WIRE_STARTED);
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_OUTPUT);
    assert_int_equal(wire_u64(&answer.reader), 6 + 300000 + 5);
    head = wire_bytes(&answer.reader, &head_size);
    tail = wire_bytes(&answer.reader, &tail_size);
    assert_int_equal(head_size, JOB_KEEP_BYTES);
    assert_int_equal(tail_size, JOB_KEEP_BYTES);
    assert_memory_equal(head, "first\n", 6);
    assert_memory_equal(tail + tail_size - 5, "last\n", 5);
    buf_free(&answer.frame);
    skip(world, WIRE_ENDED);
}

static void answers_while_it_runs_and_stops_when_told(void **state)
{
    struct world *world = *state;
    struct answer answer;
    uint64_t total = 0;

    run(world, "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done");
    skip(world, WIRE_STARTED);
    while (total == 0) {
        send_plain(world, WIRE_SNAPSHOT);
        receive(world, &answer);
        assert_int_equal(answer.kind, WIRE_OUTPUT);
        total = wire_u64(&answer.reader);
        buf_free(&answer.frame);
    }
    send_plain(world, WIRE_STOP);
    skip(world, WIRE_OUTPUT);
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_ENDED);
    assert_int_equal(wire_u32(&answer.reader), 3);
    assert_int_equal(wire_u32(&answer.reader), 0); /* signal */
    assert_int_equal(wire_u32(&answer.reader), 0); /* timed out */
    assert_int_equal(wire_u32(&answer.reader), 1); /* stopped */
    buf_free(&answer.frame);
}

/* The job holds the write end of a fifo: its end of file is the job's death, seen from outside. */
static void dies_with_its_parent(void **state)
{
    struct world *world = *state;
    char fifo[128], byte;
    AUTO_CLOSE int fd = -1;
    struct pollfd end = {.events = POLLIN};

    (void) snprintf(fifo, sizeof fifo, "%s/fifo", world->pen);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    run(world,
        "exec 9>fifo; echo x >&9; trap '' TERM HUP INT; (sleep 300 &) ; while :; do sleep 1; done");
    fd = open(fifo, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(read(fd, &byte, 1), 1);
    cleanup_close(&world->fd); /* the parent goes */
    end.fd = fd;
    assert_int_equal(poll(&end, 1, 10000), 1);
    assert_int_equal(read(fd, &byte, 1), 0);
}

static void refuses_what_is_not_a_request(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        {"\x01\0\0\0\x08\0\0\0\x02\0\0\0\xff\xff\xff\xff", 16}, /* a policy longer than the frame */
        {"\x01\0\0\0\x04\0\0\0\x01\0\0\0", 12},                 /* another version */
        {"\x01\0\0\0\0\0\0\0", 8},                              /* an empty START */
        {"\x63\0\0\0\0\0\0\0", 8},                              /* an unknown kind */
        {"\x02\0\0\0\x04\0\0\0\x0f\0\0\0", 12},                 /* a SIGNAL before START */
        {"\x01\0\0\0\xff\xff\xff\x7f", 8},                      /* a frame over the limit */
        {"\x01\0", 2},                                          /* half a header, then the end */
    };
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct answer answer;
        int status;

        start_program(world);
        assert_int_equal(fd_write_all(world->fd, bad[i].bytes, bad[i].size), 0);
        (void) shutdown(world->fd, SHUT_WR);
        receive(world, &answer);
        assert_int_equal(answer.kind, WIRE_FAILED);
        buf_free(&answer.frame);
        assert_int_equal(waitpid(world->pid, &status, 0), world->pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 125);
        world->pid = 0;
        cleanup_close(&world->fd);
    }
}

static void runs_the_reviewed_file_or_none(void **state)
{
    struct world *world = *state;
    struct policy *policy = make_policy(world);
    struct policy_command command = {.path = text("/usr/bin/dash"), .pinned = true};
    struct err err = {0};
    struct answer answer;
    struct stat status;

    assert_int_equal(stat(command.path, &status), 0);
    command.dev = status.st_dev;
    command.inode = status.st_ino;
    command.size_bytes = (uint64_t) status.st_size;
    command.mtime_ns = (int64_t) status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    command.ctime_ns = (int64_t) status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec + 1;
    assert_int_equal(policy_set_command(policy, &command, &err), 0);
    start_program(world);
    send_start(world, policy, "echo ran >ran");
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_FAILED);
    buf_free(&answer.frame);
    (void) waitpid(world->pid, NULL, 0);
    cleanup_close(&world->fd);

    assert_false(exists(world, "ran"));

    command.ctime_ns--; /* counter-control: with the identity the file has it runs */
    assert_int_equal(policy_set_command(policy, &command, &err), 0);
    start_program(world);
    send_start(world, policy, "echo ran >ran");
    skip(world, WIRE_STARTED);
    skip(world, WIRE_OUTPUT);
    skip(world, WIRE_ENDED);
    assert_true(exists(world, "ran"));
    policy_free(policy);
}

static void expect_text(struct answer *answer, const char *expected)
{
    AUTO_FREE char *found = wire_text(&answer->reader);

    assert_non_null(found);
    assert_string_equal(found, expected);
}

/* The job goes on only when its refusal has been heard of here. */
static void tells_of_a_refusal_at_once(void **state)
{
    struct world *world = *state;
    struct answer answer;
    char path[160];

    run_guarded(world, "trap 'exit 0' TERM; echo >.envrc; while :; do sleep 0.05; done");
    for (bool denied = false, started = false; !denied || !started;) {
        receive(world, &answer);
        if (answer.kind == WIRE_DENIED) {
            denied = true;
            (void) snprintf(path, sizeof path, "%s/.envrc", world->pen);
            assert_true(wire_u32(&answer.reader) > 1);
            expect_text(&answer, "dash");
            expect_text(&answer, "open");
            expect_text(&answer, path);
            expect_text(&answer, "it would run when your shell enters the folder");
            assert_true(wire_ended(&answer.reader));
        } else {
            assert_int_equal(answer.kind, WIRE_STARTED);
            started = true;
        }
        buf_free(&answer.frame);
    }
    send_plain(world, WIRE_STOP);
    skip(world, WIRE_MADE);
    skip(world, WIRE_OUTPUT);
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_ENDED);
    for (size_t i = 0; i < 4; i++)
        (void) wire_u32(&answer.reader);
    (void) wire_u64(&answer.reader);
    assert_int_equal(wire_u64(&answer.reader), 1); /* denied */
    assert_true(wire_ended(&answer.reader));
    buf_free(&answer.frame);
    assert_false(exists(world, ".envrc"));
}

static void tells_what_was_made(void **state)
{
    struct world *world = *state;
    struct answer answer;
    const char *names;
    size_t size;

    run_guarded(world, "echo >m; mkdir d d/.claude; echo >d/.claude/settings.json; mv m Makefile");
    skip(world, WIRE_STARTED);
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_NAMES);
    names = wire_bytes(&answer.reader, &size);
    assert_int_equal(size, sizeof "Makefile\0d\0d/.claude\0d/.claude/settings.json");
    assert_memory_equal(names, "Makefile\0d\0d/.claude\0d/.claude/settings.json", size);
    assert_true(wire_ended(&answer.reader));
    buf_free(&answer.frame);
    receive(world, &answer);
    assert_int_equal(answer.kind, WIRE_MADE);
    assert_int_equal(wire_u64(&answer.reader), 4);
    assert_int_equal(wire_u32(&answer.reader), 1); /* complete */
    assert_int_equal(wire_u64(&answer.reader), 2);
    assert_int_equal(wire_u32(&answer.reader), 2);
    expect_text(&answer, "d/.claude/settings.json");
    expect_text(&answer, "an agent on your side would take its rights or commands from it");
    assert_int_equal(wire_u32(&answer.reader), WIRE_TOLD_DEEPER);
    expect_text(&answer, "Makefile");
    expect_text(&answer, "it runs when you build");
    assert_int_equal(wire_u32(&answer.reader), 0);
    assert_true(wire_ended(&answer.reader));
    buf_free(&answer.frame);
    skip(world, WIRE_OUTPUT);
    skip(world, WIRE_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reports_start_output_and_end, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_head_and_tail_of_a_flood, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_while_it_runs_and_stops_when_told, setup, teardown),
        cmocka_unit_test_setup_teardown(dies_with_its_parent, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_is_not_a_request, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_the_reviewed_file_or_none, setup, teardown),
        cmocka_unit_test_setup_teardown(tells_of_a_refusal_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(tells_what_was_made, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
