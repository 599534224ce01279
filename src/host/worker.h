/* One wattle-job process (job/wire.h) as the host sees it. Private to src/host.
 *
 * Its frames are length-checked and read strictly all the same; whatever is wrong with one ends the
 * process, and with it the job. */
#ifndef WATTLE_HOST_WORKER_H
#define WATTLE_HOST_WORKER_H

#include "job/job.h"
#include "policy/policy.h"

#include <uv.h>

struct worker; /* opaque; frees itself after on_over */

struct worker_output { /* borrowed for the call; hostile bytes */
    uint64_t total_bytes;
    const void *head, *tail;
    size_t head_size, tail_size;
};

struct worker_end {
    const struct err *failed; /* NULL: the command ran */
    int exit_code, signal;
    bool timed_out, stopped;
    uint64_t wall_ms, denied;
};

/* Called by the loop, in this order; on_over once, last. Any but on_over may be missing. */
struct worker_events {
    void (*on_started)(void *context, const struct job_start *start);
    void (*on_output)(void *context, const struct worker_output *output);
    void (*on_denied)(void *context, const struct job_denial *denial);
    /* Some of the names that were made, each with a NUL; then how many, and what is told of them,
     * without the names. */
    void (*on_names)(void *context, const char *bytes, size_t size);
    void (*on_made)(void *context, const struct job_made *made);
    void (*on_over)(void *context, const struct worker_end *end);
    void *context;
};

struct worker_start {
    uv_loop_t *loop;
    const char *program; /* wattle-job */
    const struct policy *policy;
    const char *cache_dir, *state_dir;
    const char *const *argv;
    struct worker_events events;
};

/* Errors: host.worker. After success on_over will come. */
int worker_new(const struct worker_start *start, struct worker **ret_worker,
               struct err *err) MUST_CHECK;
void worker_snapshot(struct worker *worker); /* on_output will come, unless it is over before */
void worker_stop(struct worker *worker);     /* TERM, then KILL */
void worker_kill(struct worker *worker);     /* at once; on_over comes with what is known */
/* No more events: for who goes away first. The job is killed. */
void worker_forget(struct worker *worker);

#endif
