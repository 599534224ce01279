/* The end of a job: its record is closed, and kept here until the store has it. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "host/job_priv.h"

#include <stdlib.h>

enum {
    REWRITE_MS = 1000,       /* until an end that could not be written is tried again; then */
    REWRITE_MOST_MS = 60000, /* twice as long each time, but no longer */
};

/* ---- the record ------------------------------------------------------------------------------ */

/* What was heard since the last time. */
static void renew_report(struct host_job *job)
{
    char *text = job->report.dirty ? report_text(&job->report) : NULL;

    if (text == NULL)
        return;
    free(job->report_text);
    job->record.report = job->report_text = text;
}

const struct store_job *host_job_record(struct host_job *job)
{
    renew_report(job);
    job->record.request = job->request;
    job->record.executable = job->executable;
    job->record.notice = job->notice;
    job->record.report = job->report_text;
    return &job->record;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *timer)
{
    struct host_job *job = timer->data;

    for (size_t i = 0; job->argv != NULL && job->argv[i] != NULL; i++)
        free(job->argv[i]);
    free(job->argv);
    free(job->working_directory);
    free(job->request);
    free(job->executable);
    free(job->notice);
    free(job->report_text);
    report_free(&job->report);
    admit_policy_freep(&job->policy);
    store_pen_free(&job->pen);
    free(job);
}

void host_job_free(struct host_job *job)
{
    uv_close((uv_handle_t *) &job->patience, on_closed);
}

static void leave(struct host_job *job)
{
    struct host *host = job->host;

    *job->back = job->next;
    if (job->next != NULL)
        job->next->back = job->back;
    host_job_free(job);
    host_watch_idle(host);
}

/* False: it has to be tried again. A record that is gone (with its pen, for one) needs no end. */
static bool write_end(struct host_job *job)
{
    struct err *problem = &job->unwritten;

    *problem = (struct err){.code = 0};
    return store_job_end(job->host->store, host_job_record(job), job->host->limits.records,
                         problem) == 0 ||
           str_equal(problem->id, "store.unknown");
}

static void on_rewrite(uv_timer_t *timer);

static void rewrite_later(struct host_job *job)
{
    job->rewrite_ms = job->rewrite_ms == 0 ? REWRITE_MS : 2 * job->rewrite_ms;
    if (job->rewrite_ms > REWRITE_MOST_MS)
        job->rewrite_ms = REWRITE_MOST_MS;
    (void) uv_timer_start(&job->patience, on_rewrite, job->rewrite_ms, 0);
}

static void on_rewrite(uv_timer_t *timer)
{
    struct host_job *job = timer->data;

    if (write_end(job))
        leave(job);
    else
        rewrite_later(job);
}

/* Not before what is being done is done. */
void host_jobs_rewrite(struct host *host)
{
    for (struct host_job *job = host->jobs; job != NULL; job = job->next) {
        if (job->step == HOST_JOB_OVER)
            (void) uv_timer_start(&job->patience, on_rewrite, 0, 0);
    }
}

unsigned host_jobs_unwritten(const struct host *host, const struct err **ret_problem)
{
    unsigned count = 0;

    *ret_problem = NULL;
    for (const struct host_job *job = host->jobs; job != NULL; job = job->next) {
        if (job->step != HOST_JOB_OVER)
            continue;
        count++;
        *ret_problem = &job->unwritten;
    }
    return count;
}

void host_job_finish(struct host_job *job, enum store_job_state state)
{
    bool written;

    if (job->step == HOST_JOB_RUNNING)
        job->host->running--;
    if (job->admission != NULL)
        admit_forget(TAKE_PTR(job->admission));
    job->step = HOST_JOB_OVER;
    host_turn_used(job->host, job->record.turn);
    job->record.state = state;
    job->record.ended_ms = clock_wall_ms();
    written = write_end(job);
    host_wait_tell(job);
    if (written || job->host->ending) { /* the next start calls what was not written stopped */
        leave(job);
        host_jobs_rewrite(job->host);
        return;
    }
    admit_policy_freep(&job->policy); /* copies of its program take room */
    rewrite_later(job);
}

void host_jobs_end(struct host *host)
{
    for (struct host_job *job = host->jobs, *next; job != NULL; job = next) {
        next = job->next;
        if (job->step == HOST_JOB_OVER) {
            (void) write_end(job);
            leave(job);
            continue;
        }
        if (job->worker != NULL)
            worker_forget(TAKE_PTR(job->worker));
        host_job_say(job, "the host was ended");
        host_job_finish(job, STORE_JOB_STOPPED);
    }
}
