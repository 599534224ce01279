/* What a model is told of a job (C4). The output is the job's: any bytes. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "host/job_priv.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    OUTPUT_BYTES = 32 << 10,
    MARK_BYTES = 64, /* the line that stands for what was left out */
    HALF_BYTES = (OUTPUT_BYTES - MARK_BYTES) / 2,
};

/* How many bytes the next character takes, and how many it becomes. */
static size_t step(const char *bytes, size_t size, size_t *ret_becomes)
{
    uint32_t rune;
    const size_t valid = str_utf8(bytes, size, &rune);

    *ret_becomes = valid > 0 ? valid : 3; /* U+FFFD */
    return valid > 0 ? valid : 1;
}

static size_t length_as_text(const char *bytes, size_t size)
{
    size_t length = 0;

    for (size_t at = 0, becomes; at < size; length += becomes)
        at += step(bytes + at, size - at, &becomes);
    return length;
}

/* How much of the beginning fits. */
static size_t fitting(const char *bytes, size_t size, size_t most)
{
    size_t length = 0, at = 0;

    while (at < size) {
        size_t becomes;
        const size_t some = step(bytes + at, size - at, &becomes);

        if (length + becomes > most)
            break;
        length += becomes;
        at += some;
    }
    return at;
}

/* How much of the beginning has to go, so that the rest fits. */
static size_t excess(const char *bytes, size_t size, size_t most)
{
    size_t length = length_as_text(bytes, size), at = 0;

    while (length > most) {
        size_t becomes;

        at += step(bytes + at, size - at, &becomes);
        length -= becomes;
    }
    return at;
}

static void add_text(struct buf *text, const char *bytes, size_t size)
{
    for (size_t at = 0, becomes, some; at < size; at += some) {
        some = step(bytes + at, size - at, &becomes);
        if (some == 1 && becomes == 3)
            (void) buf_add_text(text, "\xef\xbf\xbd");
        else
            (void) buf_add(text, bytes + at, some);
    }
}

/* Head and tail as one text of at most OUTPUT_BYTES; how many bytes of the job are not in it. */
static uint64_t put_output(const struct store_job *job, struct buf *text)
{
    const char *head = job->head.bytes, *tail = job->tail.bytes;
    const bool whole =
        job->head.size + job->tail.size == job->total_bytes &&
        length_as_text(head, job->head.size) + length_as_text(tail, job->tail.size) <= OUTPUT_BYTES;
    const size_t head_size = whole ? job->head.size : fitting(head, job->head.size, HALF_BYTES);
    const size_t from = whole ? 0 : excess(tail, job->tail.size, HALF_BYTES);
    const uint64_t kept = head_size + job->tail.size - from;
    const uint64_t omitted = job->total_bytes > kept ? job->total_bytes - kept : 0;

    add_text(text, head, head_size);
    if (omitted > 0)
        (void) buf_printf(text, "\n[%" PRIu64 " bytes left out]\n", omitted);
    if (job->tail.size > from)
        add_text(text, tail + from, job->tail.size - from);
    return omitted;
}

static json_t *text_or_null(const char *text)
{
    return text == NULL ? json_null() : json_text(text, strlen(text));
}

static json_t *signal_name(int number)
{
    const char *name = number > 0 ? sigabbrev_np(number) : NULL;
    char text[32];

    if (number <= 0)
        return json_null();
    (void) snprintf(text, sizeof text, "SIG%s", name == NULL ? "RT" : name);
    return json_string(text);
}

json_t *host_job_object(const struct store_job *job)
{
    AUTO(buf_free) struct buf text = {0};
    const bool ended = job->state == STORE_JOB_EXITED;
    uint64_t omitted;

    buf_init(&text, OUTPUT_BYTES + MARK_BYTES);
    omitted = put_output(job, &text);
    if (text.failed < 0)
        return NULL;
    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:o, s:o, s:b, s:I}", "job_id", job->id, "state",
                     store_job_state_name(job->state), "exit_code",
                     ended ? json_integer(job->exit_code) : json_null(), "signal",
                     signal_name(job->signal), "timed_out", job->state == STORE_JOB_TIMED_OUT,
                     "notice", text_or_null(job->notice), "output",
                     json_text(text.bytes, text.size), "truncated", (int) (omitted > 0),
                     "omitted_bytes", (json_int_t) omitted);
}

json_t *host_job_none(const char *state, const char *notice)
{
    return json_pack("{s:n, s:s, s:n, s:n, s:b, s:o, s:s, s:b, s:i}", "job_id", "state", state,
                     "exit_code", "signal", "timed_out", 0, "notice", text_or_null(notice),
                     "output", "", "truncated", 0, "omitted_bytes", 0);
}
