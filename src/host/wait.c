/* Requests that wait for a job. Each is answered once: at the job's end, when its time is over, or
 * when it is cancelled. */
#include "base/cleanup.h"
#include "host/job_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { SNAPSHOT_MS = 1000 }; /* for wattle-job to give one; then the last one has to do */

struct host_waiter {
    struct host_waiter *next, **back;
    struct host_job *job; /* NULL: answered */
    struct host_request *request;
    struct host_wait wait;
    uv_timer_t timer;
    bool due; /* the next snapshot is the answer */
};

static void on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

static void leave(struct host_waiter *waiter)
{
    *waiter->back = waiter->next;
    if (waiter->next != NULL)
        waiter->next->back = waiter->back;
    waiter->job = NULL;
    uv_close((uv_handle_t *) &waiter->timer, on_closed);
}

static void answer(struct host_waiter *waiter)
{
    struct host_request *request = waiter->request;
    json_t *object = waiter->wait.make(&waiter->job->record);

    leave(waiter);
    request->cancel = NULL;
    host_answer(request, object);
}

static void on_time(uv_timer_t *timer)
{
    struct host_waiter *waiter = timer->data;

    if (waiter->job->step != HOST_JOB_RUNNING || waiter->due) {
        answer(waiter);
        return;
    }
    waiter->due = true;
    worker_snapshot(waiter->job->worker);
    (void) uv_timer_start(&waiter->timer, on_time, SNAPSHOT_MS, 0);
}

static void on_cancel(struct host_request *request, bool gone)
{
    struct host_waiter *waiter = request->value;
    struct host_job *job = waiter->job;
    const bool stops = waiter->wait.cancel_stops;

    if (gone)
        leave(waiter);
    else if (stops)
        host_job_halt(job, "the call was cancelled"); /* answers, sooner or later */
    else
        answer(waiter);
}

static bool is_reached(const struct host_waiter *waiter)
{
    const enum host_job_step step = waiter->job->step;

    if (step == HOST_JOB_OVER)
        return true;
    return waiter->wait.what == HOST_WAIT_SETTLED &&
           (step == HOST_JOB_ASKING || step == HOST_JOB_RUNNING);
}

void host_wait(struct host_job *job, struct host_request *request, const struct host_wait *wait)
{
    struct host_waiter *waiter = calloc(1, sizeof *waiter);
    struct err err = {0};

    if (waiter == NULL) {
        (void) err_memory(&err);
        host_refuse(request, &err);
        return;
    }
    *waiter = (struct host_waiter){
        .next = job->waiters, .back = &job->waiters, .job = job, .request = request, .wait = *wait};
    if (waiter->wait.make == NULL)
        waiter->wait.make = host_job_object;
    if (waiter->next != NULL)
        waiter->next->back = &waiter->next;
    job->waiters = waiter;
    request->value = waiter;
    request->cancel = on_cancel;
    (void) uv_timer_init(&job->host->loop, &waiter->timer);
    waiter->timer.data = waiter;
    if (is_reached(waiter))
        answer(waiter);
    else
        (void) uv_timer_start(&waiter->timer, on_time, wait->most_ms, 0);
}

/* From the start after each: an answer may close its client, and with it other waiters. */
void host_wait_tell(struct host_job *job)
{
    struct host_waiter *waiter = job->waiters;

    while (waiter != NULL) {
        if (is_reached(waiter)) {
            answer(waiter);
            waiter = job->waiters;
        } else {
            waiter = waiter->next;
        }
    }
}

void host_wait_output(struct host_job *job)
{
    struct host_waiter *waiter = job->waiters;

    while (waiter != NULL) {
        if (waiter->due) {
            answer(waiter);
            waiter = job->waiters;
        } else {
            waiter = waiter->next;
        }
    }
}
