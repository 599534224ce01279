#include "host/worker.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "host/child.h"
#include "host/chunk.h"
#include "job/wire.h"
#include "policy/codec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker {
    struct worker_events events;
    struct child child;
    uv_pipe_t pipe;
    struct buf frame; /* what came of the next one */
    unsigned handles; /* that are open still */
    bool has_end, over, broken;
    struct worker_end end;
    struct err failed;
};

/* ---- the end --------------------------------------------------------------------------------- */

static void tell_over(struct worker *worker)
{
    static const struct err gone = {
        .code = EPIPE, .id = "host.worker", .what = "the process that ran the job is gone"};

    if (worker->over)
        return;
    worker->over = true;
    if (!worker->has_end)
        worker->end = (struct worker_end){.failed = &gone};
    worker->events.on_over(worker->events.context, &worker->end);
}

/* Both the process and its socket have to be gone before the memory is. */
static void on_closed(uv_handle_t *handle)
{
    struct worker *worker = handle->data;

    if (--worker->handles > 0)
        return;
    tell_over(worker);
    buf_free(&worker->frame);
    free(worker);
}

static void close_pipe(struct worker *worker)
{
    if (!uv_is_closing((uv_handle_t *) &worker->pipe))
        uv_close((uv_handle_t *) &worker->pipe, on_closed);
}

static void on_exited(struct child *child)
{
    child_close(child, on_closed);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void take_started(struct worker *worker, struct wire_reader *reader)
{
    struct job_start start = {.init_pid = (pid_t) wire_u32(reader)};
    AUTO_FREE char *mechanism = NULL;

    start.landlock_abi = (int) wire_u32(reader);
    start.weak = wire_u32(reader);
    start.mechanism = mechanism = wire_text(reader);
    if (wire_ended(reader) && worker->events.on_started != NULL)
        worker->events.on_started(worker->events.context, &start);
}

static void take_output(struct worker *worker, struct wire_reader *reader)
{
    struct worker_output output = {.total_bytes = wire_u64(reader)};

    output.head = wire_bytes(reader, &output.head_size);
    output.tail = wire_bytes(reader, &output.tail_size);
    if (wire_ended(reader) && worker->events.on_output != NULL)
        worker->events.on_output(worker->events.context, &output);
}

static void take_denied(struct worker *worker, struct wire_reader *reader)
{
    const pid_t pid = (pid_t) wire_u32(reader);
    AUTO_FREE char *program = wire_text(reader);
    AUTO_FREE char *call = wire_text(reader);
    AUTO_FREE char *path = wire_text(reader);
    AUTO_FREE char *reason = wire_text(reader);
    const struct job_denial denial = {
        .pid = pid, .program = program, .call = call, .path = path, .reason = reason};

    if (wire_ended(reader) && worker->events.on_denied != NULL)
        worker->events.on_denied(worker->events.context, &denial);
}

static void take_ended(struct worker *worker, struct wire_reader *reader)
{
    worker->end.exit_code = (int) wire_u32(reader);
    worker->end.signal = (int) wire_u32(reader);
    worker->end.timed_out = wire_u32(reader) != 0;
    worker->end.stopped = wire_u32(reader) != 0;
    worker->end.wall_ms = wire_u64(reader);
    worker->end.denied = wire_u64(reader);
    worker->has_end = wire_ended(reader);
}

static void take_failed(struct worker *worker, struct wire_reader *reader)
{
    const int code = (int) wire_u32(reader);
    AUTO_FREE char *id = wire_text(reader);
    AUTO_FREE char *what = wire_text(reader);
    AUTO_FREE char *hint = wire_text(reader);

    if (!wire_ended(reader))
        return;
    (void) err_set(&worker->failed, EINVAL, id, "%s", what);
    worker->failed.code = code > 0 ? code : EIO;
    if (hint[0] != '\0')
        (void) err_hint(&worker->failed, "%s", hint);
    worker->end.failed = &worker->failed;
    worker->has_end = true;
}

static void take_names(struct worker *worker, struct wire_reader *reader)
{
    size_t size;
    const char *bytes = wire_bytes(reader, &size);

    if (bytes != NULL && size > 0 && bytes[size - 1] != '\0')
        reader->broken = true;
    if (wire_ended(reader) && worker->events.on_names != NULL)
        worker->events.on_names(worker->events.context, bytes, size);
}

static void free_told(struct job_told *told, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *) (uintptr_t) told[i].name);
        free((char *) (uintptr_t) told[i].reason);
    }
    free(told);
}

static struct job_told read_told(struct wire_reader *reader)
{
    struct job_told told = {.name = wire_text(reader)};
    unsigned flags;

    told.reason = wire_text(reader);
    flags = wire_u32(reader);
    told.deeper = (flags & WIRE_TOLD_DEEPER) != 0;
    told.gone = (flags & WIRE_TOLD_GONE) != 0;
    told.written = (flags & WIRE_TOLD_WRITTEN) != 0;
    return told;
}

static void take_made(struct worker *worker, struct wire_reader *reader)
{
    struct job_made made = {.count = wire_u64(reader)};
    struct job_told *told;
    size_t count;

    made.complete = wire_u32(reader) != 0;
    made.told_total = wire_u64(reader);
    count = wire_u32(reader);
    reader->broken = reader->broken || count > JOB_TOLD_MAX;
    told = reader->broken ? NULL : calloc(count + 1, sizeof *told);
    reader->broken = told == NULL;
    while (made.told_count < count && !reader->broken)
        told[made.told_count++] = read_told(reader);
    made.told = told;
    if (wire_ended(reader) && worker->events.on_made != NULL)
        worker->events.on_made(worker->events.context, &made);
    free_told(told, made.told_count);
}

static const struct {
    enum wire_kind kind;
    void (*take)(struct worker *worker, struct wire_reader *reader);
} kinds[] = {
    {WIRE_STARTED, take_started}, {WIRE_OUTPUT, take_output}, {WIRE_DENIED, take_denied},
    {WIRE_NAMES, take_names},     {WIRE_MADE, take_made},     {WIRE_ENDED, take_ended},
    {WIRE_FAILED, take_failed},
};

static void take_frame(struct worker *worker)
{
    struct wire_reader reader;
    const enum wire_kind kind = wire_open(&worker->frame, &reader);

    worker->broken = true;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (kinds[i].kind != kind)
            continue;
        kinds[i].take(worker, &reader);
        worker->broken = !wire_ended(&reader);
    }
    buf_free(&worker->frame);
    buf_init(&worker->frame, WIRE_LIMIT_BYTES);
}

static void take_bytes(struct worker *worker, const char *bytes, size_t size)
{
    while (size > 0 && !worker->broken) {
        size_t some = 0;

        if (wire_missing(&worker->frame, &some) < 0) {
            worker->broken = true;
            return;
        }
        if (some > size)
            some = size;
        worker->broken = buf_add(&worker->frame, bytes, some) < 0;
        bytes += some;
        size -= some;
        if (!worker->broken && wire_missing(&worker->frame, &some) == 0 && some == 0)
            take_frame(worker);
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct worker *worker = stream->data;

    if (n > 0 && !worker->over)
        take_bytes(worker, bytes->base, (size_t) n);
    free(bytes->base);
    if (n < 0 || worker->broken)
        close_pipe(worker); /* wattle-job kills the job at the end of its socket, and ends */
}

/* ---- to it ----------------------------------------------------------------------------------- */

struct writing {
    uv_write_t write;
    struct buf frame;
};

static void on_written(uv_write_t *write, int status)
{
    struct writing *writing = (struct writing *) write;

    (void) status; /* a socket that fails is read to its end as well */
    buf_free(&writing->frame);
    free(writing);
}

/* Takes what `frame` holds. */
static int send_frame(struct worker *worker, struct buf *frame)
{
    struct writing *writing = calloc(1, sizeof *writing);
    uv_buf_t bytes;
    int r = writing == NULL ? -ENOMEM : wire_finish(frame);

    if (r == 0) {
        writing->frame = *frame;
        buf_init(frame, 0);
        bytes = uv_buf_init(writing->frame.bytes, (unsigned) writing->frame.size);
        r = uv_write(&writing->write, (uv_stream_t *) &worker->pipe, &bytes, 1, on_written);
    }
    if (r < 0 && writing != NULL) {
        buf_free(&writing->frame);
        free(writing);
    }
    return r;
}

static void send_word(struct worker *worker, enum wire_kind kind)
{
    AUTO(buf_free) struct buf frame = {0};

    if (uv_is_closing((uv_handle_t *) &worker->pipe))
        return;
    wire_begin(&frame, kind);
    if (send_frame(worker, &frame) < 0)
        close_pipe(worker);
}

void worker_snapshot(struct worker *worker)
{
    send_word(worker, WIRE_SNAPSHOT);
}

void worker_stop(struct worker *worker)
{
    send_word(worker, WIRE_STOP);
}

void worker_kill(struct worker *worker)
{
    close_pipe(worker);
}

void worker_forget(struct worker *worker)
{
    worker->over = true;
    close_pipe(worker);
}

/* ---- start ----------------------------------------------------------------------------------- */

static int send_start(struct worker *worker, const struct worker_start *start, struct err *err)
{
    AUTO(buf_free) struct buf frame = {0}, policy = {0};
    uint32_t count = 0;
    int r;

    buf_init(&policy, POLICY_CODEC_LIMIT_BYTES);
    r = policy_encode(start->policy, &policy, err);
    if (r < 0)
        return r;
    while (start->argv[count] != NULL)
        count++;
    wire_begin(&frame, WIRE_START);
    wire_add_u32(&frame, WIRE_VERSION);
    wire_add_bytes(&frame, policy.bytes, policy.size);
    wire_add_text(&frame, start->cache_dir);
    wire_add_text(&frame, start->state_dir);
    wire_add_text(&frame, "");
    wire_add_u32(&frame, count);
    for (uint32_t i = 0; i < count; i++)
        wire_add_text(&frame, start->argv[i]);
    r = send_frame(worker, &frame);
    return r < 0 ? err_set(err, -r, "host.worker", "cannot hand the job over") : 0;
}

static int spawn(struct worker *worker, const struct worker_start *start, int job_fd,
                 struct err *err)
{
    char name[] = "wattle-job", number[] = "3"; /* CHILD_FD */
    char *argv[] = {name, number, NULL};
    const struct child_start wish = {.loop = start->loop,
                                     .program = start->program,
                                     .argv = argv,
                                     .fd = job_fd,
                                     .on_exited = on_exited};
    const int r = child_begin(&worker->child, &wish, err);

    if (r == 0)
        worker->handles++;
    return r;
}

/* With the handle of the socket open: whatever fails from here on ends by on_closed. */
static int begin(struct worker *worker, const struct worker_start *start, int *fds, struct err *err)
{
    int r = spawn(worker, start, fds[1], err);

    if (r < 0)
        return r;
    r = uv_pipe_open(&worker->pipe, fds[0]);
    if (r < 0)
        return err_set(err, -r, "host.worker", "cannot use a socket");
    fds[0] = -1;
    r = send_start(worker, start, err);
    if (r == 0 && uv_read_start((uv_stream_t *) &worker->pipe, chunk_make, on_read) < 0)
        r = err_set(err, EIO, "host.worker", "cannot read from a socket");
    return r;
}

int worker_new(const struct worker_start *start, struct worker **ret_worker, struct err *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    int fds[2] = {-1, -1};
    int r;

    if (worker == NULL)
        return err_memory(err);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        free(worker);
        return err_set(err, errno, "host.worker", "cannot make a socket pair");
    }
    worker->events = start->events;
    worker->child.poll.data = worker->pipe.data = worker;
    buf_init(&worker->frame, WIRE_LIMIT_BYTES);
    (void) uv_pipe_init(start->loop, &worker->pipe, 0);
    worker->handles = 1;
    r = begin(worker, start, fds, err);
    cleanup_close(&fds[0]);
    cleanup_close(&fds[1]);
    if (r < 0)
        worker_forget(worker);
    else
        *ret_worker = worker;
    return r;
}
