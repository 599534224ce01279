/* What is told of a job beside its output: why it was refused, or may have failed. For a model. */
#include "base/cleanup.h"
#include "host/job_priv.h"
#include "host/told.h"
#include "policy/hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTICE_BYTES = 4096 };

void host_job_say(struct host_job *job, const char *text)
{
    free(job->notice);
    job->notice = text[0] == '\0' ? NULL : strdup(text);
    job->record.notice = job->notice;
}

void host_job_say_error(struct host_job *job, const struct err *err)
{
    char text[sizeof err->what + sizeof err->hint + 4];
    struct err told;

    told_of(err, &told);
    (void) snprintf(text, sizeof text, "%s%s%s", told.what, told.hint[0] == '\0' ? "" : "; ",
                    told.hint);
    host_job_say(job, text);
    report_failed(&job->report, err);
}

/* Up to the end of the output: head and tail where nothing is left out between them. */
static int add_last_words(const struct host_job *job, struct buf *words)
{
    const struct store_bytes *head = &job->record.head, *tail = &job->record.tail;
    const bool whole = head->size + tail->size == job->record.total_bytes;
    const int r = whole ? buf_add(words, head->bytes, head->size) : 0;

    return r < 0 ? r : buf_add(words, tail->bytes, tail->size);
}

void host_job_say_hints(struct host_job *job, int exit_code)
{
    AUTO(buf_free) struct buf text = {0};
    AUTO(buf_free) struct buf words = {0};

    buf_init(&text, NOTICE_BYTES);
    buf_init(&words, (size_t) 2 * JOB_KEEP_BYTES);
    if (job->notice != NULL)
        (void) buf_printf(&text, "%s\n", job->notice);
    if (exit_code != 0) {
        if (add_last_words(job, &words) == 0)
            (void) hint_find(job->policy, job->host->owner->home, HINT_MODEL, words.bytes,
                             words.size, &text);
        (void) hint_find_end(job->policy, HINT_MODEL, exit_code, &text);
    }
    if (text.size > 0 && text.bytes[text.size - 1] == '\n')
        text.bytes[text.size - 1] = '\0';
    host_job_say(job, text.bytes);
}
