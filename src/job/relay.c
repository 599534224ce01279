/* One direction of bytes between the caller and the job, through the supervisor.
 *
 * The caller's descriptors may be shared with other processes, so their flags are never changed: a
 * write that could block is avoided by what poll(2) promises for each kind of object, or by an own
 * open file of the same object. */
#include "base/cleanup.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a terminal surely takes once poll says it is writable (n_tty wakes below 256 queued). */
#define TERMINAL_CHUNK 256

/* An open file of our own of the same object, non-blocking; -1 where that is refused. */
static int reopen(int fd)
{
    char path[64];

    (void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void choose_writing(struct relay *relay)
{
    struct stat status;
    int own;

    if (relay->to < 0 || fstat(relay->to, &status) < 0)
        return;
    relay->to_socket = S_ISSOCK(status.st_mode);
    if (relay->close_to || (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)))
        return; /* ours and non-blocking, or a file, which does not block */
    own = reopen(relay->to);
    if (own >= 0) {
        relay->to = own;
        relay->close_to = true;
        return;
    }
    relay->chunk = S_ISFIFO(status.st_mode) ? PIPE_BUF : TERMINAL_CHUNK;
}

int relay_open(struct relay *relay, struct err *err)
{
    struct stat status;

    relay->buffer = malloc(RELAY_BYTES);
    if (relay->buffer == NULL) {
        relay_close(relay);
        return err_memory(err);
    }
    relay->from_socket = fstat(relay->from, &status) == 0 && S_ISSOCK(status.st_mode);
    choose_writing(relay);
    return 0;
}

void relay_close(struct relay *relay)
{
    if (relay->close_from)
        cleanup_close(&relay->from);
    if (relay->close_to)
        cleanup_close(&relay->to);
    free(relay->buffer);
    *relay = (struct relay){.from = -1, .to = -1};
}

size_t relay_left(const struct relay *relay)
{
    return relay->end - relay->start;
}

bool relay_busy(const struct relay *relay)
{
    return relay->buffer != NULL;
}

size_t relay_poll(const struct relay *relay, struct pollfd *fds)
{
    if (!relay_busy(relay))
        return 0;
    *fds = relay->start < relay->end ? (struct pollfd){.fd = relay->to, .events = POLLOUT}
                                     : (struct pollfd){.fd = relay->from, .events = POLLIN};
    return 1;
}

/* ---- keeping ----------------------------------------------------------------------------------
 */

static void keep_tail(struct job_result *result, const char *bytes, size_t size)
{
    const size_t room = sizeof result->tail;

    if (size >= room) {
        memcpy(result->tail, bytes + size - room, room);
        result->tail_size = room;
        return;
    }
    if (result->tail_size + size > room) {
        const size_t drop = result->tail_size + size - room;

        memmove(result->tail, result->tail + drop, result->tail_size - drop);
        result->tail_size -= drop;
    }
    memcpy(result->tail + result->tail_size, bytes, size);
    result->tail_size += size;
}

static void keep_output(struct job_output *output, const char *bytes, size_t size)
{
    output->total_bytes += size;
    if (output->head_size < JOB_KEEP_BYTES) {
        const size_t room = JOB_KEEP_BYTES - output->head_size;
        const size_t part = size < room ? size : room;

        memcpy(output->head + output->head_size, bytes, part);
        output->head_size += part;
        bytes += part;
        size -= part;
    }
    for (size_t i = 0; i < size; i++) {
        output->tail[(output->tail_start + output->tail_size) % JOB_KEEP_BYTES] = bytes[i];
        if (output->tail_size < JOB_KEEP_BYTES)
            output->tail_size++;
        else
            output->tail_start = (output->tail_start + 1) % JOB_KEEP_BYTES;
    }
}

/* ---- moving -----------------------------------------------------------------------------------
 */

static bool later(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void read_some(struct relay *relay)
{
    const ssize_t n = relay->from_socket
                          ? recv(relay->from, relay->buffer, RELAY_BYTES, MSG_DONTWAIT)
                          : read(relay->from, relay->buffer, RELAY_BYTES);

    if (later(n) && relay->reads_left == 0)
        return;
    if (n <= 0) { /* the end; EIO: the last one on the other side of a pty is gone */
        relay_close(relay);
        return;
    }
    if (relay->tail_of != NULL)
        keep_tail(relay->tail_of, relay->buffer, (size_t) n);
    if (relay->output != NULL)
        keep_output(relay->output, relay->buffer, (size_t) n);
    relay->start = 0;
    relay->end = relay->to < 0 ? 0 : (size_t) n;
}

static void write_some(struct relay *relay)
{
    size_t size = relay->end - relay->start;
    ssize_t n;

    if (relay->chunk != 0 && size > relay->chunk)
        size = relay->chunk;
    n = relay->to_socket
            ? send(relay->to, relay->buffer + relay->start, size, MSG_DONTWAIT | MSG_NOSIGNAL)
            : write(relay->to, relay->buffer + relay->start, size);
    if (later(n))
        return;
    if (n < 0) /* nobody reads any more: the job gets SIGPIPE once our end is closed */
        relay_close(relay);
    else
        relay->start += (size_t) n;
}

#define READS_AFTER_THE_END 32 /* of RELAY_BYTES: more than a pipe can hold */

void relay_finish(struct relay *relay)
{
    if (!relay_busy(relay))
        return;
    if (relay->reads_left == 0)
        relay->reads_left = READS_AFTER_THE_END + 1;
    while (relay_busy(relay) && relay->start == relay->end) {
        if (--relay->reads_left == 0)
            relay_close(relay);
        else
            read_some(relay);
    }
}

void relay_step(struct relay *relay, short events)
{
    if (events == 0 || !relay_busy(relay))
        return;
    if (relay->start < relay->end)
        write_some(relay);
    else
        read_some(relay);
}
