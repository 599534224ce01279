/* wattle-job: the job layer alone, one process per job of the host.
 *
 *   wattle-job FD
 *
 * FD is a connected stream socket to the parent (job/wire.h). Takes a compiled policy and an argv
 * from it, runs the job, keeps head and tail of its output, and reports. Reads no configuration and
 * no JSON, links nothing but libc. When the parent goes, the job is killed. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "fence/fence.h"
#include "job/outlook.h"
#include "job/wire.h"
#include "policy/codec.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define EXIT_USAGE 125
#define SLOW_PARENT_SECONDS 10 /* a parent that takes nothing for so long counts as gone */

struct server {
    int fd;
    struct buf incoming;
    struct job_output output;
};

struct task {
    struct policy *policy;
    char *cache_dir, *state_dir, *mechanism;
    char **argv;
    size_t argc;
};

/* ---- to the parent
 * ------------------------------------------------------------------------------- */

static int send_output(struct server *server)
{
    const struct job_output *output = &server->output;
    const size_t to_the_edge = JOB_KEEP_BYTES - output->tail_start;
    const size_t first = output->tail_size < to_the_edge ? output->tail_size : to_the_edge;
    AUTO(buf_free) struct buf frame = {0};

    wire_begin(&frame, WIRE_OUTPUT);
    wire_add_u64(&frame, output->total_bytes);
    wire_add_bytes(&frame, output->head, output->head_size);
    wire_add_u32(&frame, (uint32_t) output->tail_size);
    wire_add_raw(&frame, output->tail + output->tail_start, first);
    wire_add_raw(&frame, output->tail, output->tail_size - first);
    return wire_send(server->fd, &frame);
}

static int send_failure(const struct server *server, const struct err *err)
{
    AUTO(buf_free) struct buf frame = {0};

    wire_begin(&frame, WIRE_FAILED);
    wire_add_u32(&frame, (uint32_t) err->code);
    wire_add_text(&frame, err->id);
    wire_add_text(&frame, err->what);
    wire_add_text(&frame, err->hint);
    return wire_send(server->fd, &frame);
}

static int send_result(const struct server *server, const struct job_result *result)
{
    AUTO(buf_free) struct buf frame = {0};

    wire_begin(&frame, WIRE_ENDED);
    wire_add_u32(&frame, (uint32_t) result->exit_code);
    wire_add_u32(&frame, (uint32_t) result->signal);
    wire_add_u32(&frame, result->timed_out);
    wire_add_u32(&frame, result->stopped);
    wire_add_u64(&frame, result->wall_ms);
    wire_add_u64(&frame, result->denied);
    return wire_send(server->fd, &frame);
}

/* For what comes in between: on_control then sees the end and kills the job. */
static void send_or_end(const struct server *server, struct buf *frame)
{
    if (wire_send(server->fd, frame) < 0)
        (void) shutdown(server->fd, SHUT_RDWR);
}

static void on_denied(void *context, const struct job_denial *denial)
{
    AUTO(buf_free) struct buf frame = {0};

    wire_begin(&frame, WIRE_DENIED);
    wire_add_u32(&frame, (uint32_t) denial->pid);
    wire_add_text(&frame, denial->program);
    wire_add_text(&frame, denial->call);
    wire_add_text(&frame, denial->path);
    wire_add_text(&frame, denial->reason);
    send_or_end(context, &frame);
}

static void send_names(const struct server *server, const struct job_made *made)
{
    for (size_t i = 0; i < made->count;) {
        AUTO(buf_free) struct buf names = {0};
        AUTO(buf_free) struct buf frame = {0};

        buf_init(&names, WIRE_NAMES_BYTES);
        while (i < made->count && buf_add(&names, made->names[i], strlen(made->names[i]) + 1) == 0)
            i++; /* the first that does not fit begins the next */
        wire_begin(&frame, WIRE_NAMES);
        wire_add_bytes(&frame, names.bytes, names.size);
        send_or_end(server, &frame);
        if (names.failed == -ENOMEM)
            return; /* fewer names than MADE says */
    }
}

static void on_made(void *context, const struct job_made *made)
{
    const struct server *server = context;
    AUTO(buf_free) struct buf frame = {0};

    send_names(server, made);
    wire_begin(&frame, WIRE_MADE);
    wire_add_u64(&frame, made->count);
    wire_add_u32(&frame, made->complete);
    wire_add_u64(&frame, made->told_total);
    wire_add_u32(&frame, (uint32_t) made->told_count);
    for (size_t i = 0; i < made->told_count; i++) {
        const struct job_told *told = &made->told[i];

        wire_add_text(&frame, told->name);
        wire_add_text(&frame, told->reason);
        wire_add_u32(&frame, (told->deeper ? WIRE_TOLD_DEEPER : 0) |
                                 (told->gone ? WIRE_TOLD_GONE : 0) |
                                 (told->written ? WIRE_TOLD_WRITTEN : 0));
    }
    send_or_end(server, &frame);
}

static void on_start(void *context, const struct job_start *start)
{
    AUTO(buf_free) struct buf frame = {0};

    wire_begin(&frame, WIRE_STARTED);
    wire_add_u32(&frame, (uint32_t) start->init_pid);
    wire_add_u32(&frame, (uint32_t) start->landlock_abi);
    wire_add_u32(&frame, start->weak);
    wire_add_text(&frame, start->mechanism);
    send_or_end(context, &frame);
}

/* ---- from the parent
 * ------------------------------------------------------------------------------ */

static int take_frame(struct server *server)
{
    struct wire_reader reader;
    const enum wire_kind kind = wire_open(&server->incoming, &reader);
    const uint32_t number = kind == WIRE_SIGNAL ? wire_u32(&reader) : 0;

    if (!wire_ended(&reader))
        return -1;
    switch (kind) {
    case WIRE_SIGNAL:
        return number > 0 && number < _NSIG ? (int) number : -1;
    case WIRE_STOP:
        return SIGTERM;
    case WIRE_SNAPSHOT:
        return send_output(server) < 0 ? -1 : 0;
    case WIRE_START:
    case WIRE_STARTED:
    case WIRE_OUTPUT:
    case WIRE_ENDED:
    case WIRE_FAILED:
    case WIRE_DENIED:
    case WIRE_NAMES:
    case WIRE_MADE:
        break;
    }
    return -1;
}

static int on_control(void *context)
{
    struct server *server = context;
    const int r = wire_receive(server->fd, &server->incoming, false);
    int answer;

    if (r <= 0)
        return r;
    answer = take_frame(server);
    buf_free(&server->incoming);
    buf_init(&server->incoming, WIRE_LIMIT_BYTES);
    return answer;
}

static int malformed(struct err *err)
{
    return err_set(err, EBADMSG, "job.wire", "the request is not a well-formed START");
}

static int read_argv(struct wire_reader *reader, struct task *task, struct err *err)
{
    const uint32_t count = wire_u32(reader);

    if (reader->broken || count == 0 || count > WIRE_ARGS_LIMIT)
        return malformed(err);
    task->argv = calloc((size_t) count + 1, sizeof *task->argv);
    if (task->argv == NULL)
        return err_memory(err);
    for (; task->argc < count && !reader->broken; task->argc++)
        task->argv[task->argc] = wire_text(reader);
    return wire_ended(reader) ? 0 : malformed(err);
}

static int read_task(struct server *server, struct task *task, struct err *err)
{
    struct wire_reader reader;
    const void *policy;
    size_t size;
    int r = wire_receive(server->fd, &server->incoming, true);

    if (r < 0)
        return err_set(err, -r, "job.wire", "no request came");
    if (wire_open(&server->incoming, &reader) != WIRE_START)
        return malformed(err);
    if (wire_u32(&reader) != WIRE_VERSION)
        return err_set(err, EPROTO, "job.wire-version", "the request is of another version");
    policy = wire_bytes(&reader, &size);
    task->cache_dir = wire_text(&reader);
    task->state_dir = wire_text(&reader);
    task->mechanism = wire_text(&reader);
    r = reader.broken ? malformed(err) : read_argv(&reader, task, err);
    if (r == 0)
        r = policy_decode(policy, size, &task->policy, err);
    if (r == 0 && (policy_command(task->policy) == NULL || policy_pen(task->policy) == NULL))
        r = malformed(err);
    buf_free(&server->incoming);
    buf_init(&server->incoming, WIRE_LIMIT_BYTES);
    return r;
}

static void task_free(struct task *task)
{
    for (size_t i = 0; i < task->argc; i++)
        free(task->argv[i]);
    free(task->argv);
    free(task->cache_dir);
    free(task->state_dir);
    free(task->mechanism);
    policy_free(task->policy);
}

/* ---- the job
 * ---------------------------------------------------------------------------------------- */

static int run(struct server *server, const struct task *task, struct err *err)
{
    union {
        char **in;
        const char *const *out;
    } argv = {.in = task->argv};
    const struct job_request request = {
        .policy = task->policy,
        .argv = argv.out,
        .mechanism = task->mechanism[0] != '\0' ? task->mechanism : NULL,
        .cache_dir = task->cache_dir,
        .state_dir = task->state_dir,
        .output = &server->output,
        .on_start = on_start,
        .on_denied = on_denied,
        .on_made = on_made,
        .control_fd = server->fd,
        .on_control = on_control,
        .context = server,
    };
    static struct job_result result; /* 8 KiB of tail: not on the stack */
    struct err unguarded;
    int r = job_guard_settle(task->policy, &unguarded, err);

    if (r >= 0)
        r = job_run(&request, &result, err);

    if (r < 0)
        return r;
    r = send_output(server);
    if (r == 0)
        r = send_result(server, &result);
    return r < 0 ? err_set(err, -r, "job.wire", "the parent is gone") : 0;
}

static int open_socket(const char *text, int *ret_fd, struct err *err)
{
    const struct timeval patience = {.tv_sec = SLOW_PARENT_SECONDS};
    struct stat status;
    uint64_t number;

    if (str_to_u64(text, &number) < 0 || number < 3 || number > INT_MAX ||
        fstat((int) number, &status) < 0 || !S_ISSOCK(status.st_mode))
        return err_set(err, EINVAL, "job.wire", "'%s' is not the number of a socket", text);
    *ret_fd = (int) number;
    if (setsockopt(*ret_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        return err_set(err, errno, "job.wire", "cannot set up the socket");
    return 0;
}

static int serve(int fd, struct err *err)
{
    static struct server server; /* 32 KiB of output: not on the stack */
    struct task task = {0};
    int r;

    server.fd = fd;
    buf_init(&server.incoming, WIRE_LIMIT_BYTES);
    r = read_task(&server, &task, err);
    if (r == 0)
        r = run(&server, &task, err);
    if (r < 0 && send_failure(&server, err) < 0)
        r = -EPIPE; /* nobody is there to be told */
    task_free(&task);
    buf_free(&server.incoming);
    return r;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    int fd = -1;
    int r = fd_fill_standard();

    (void) signal(SIGPIPE, SIG_IGN);
    if (argc != 2)
        r = err_set(&err, EINVAL, "job.usage", "usage: wattle-job FD");
    else if (r >= 0)
        r = open_socket(argv[1], &fd, &err);
    if (r >= 0)
        return serve(fd, &err) < 0 ? EXIT_USAGE : 0;
    (void) fprintf(stderr, "wattle-job: %s\nwattle-job: hint: it is started by wattle-host\n",
                   err.what);
    return EXIT_USAGE;
}
