/* One job from request to record. Private to src/host; job.c has the order, end.c the end,
 * wait.c who waits for it, object.c and notice.c what is told. */
#ifndef WATTLE_HOST_JOB_PRIV_H
#define WATTLE_HOST_JOB_PRIV_H

#include "host/admit.h"
#include "host/host_priv.h"
#include "host/report.h"
#include "host/worker.h"
#include "job/job.h"

enum host_job_step {
    HOST_JOB_LOOKING,  /* a thread looks at the machine, for the first time */
    HOST_JOB_ASKING,   /* no grant fits: the owner has to answer */
    HOST_JOB_CHECKING, /* a thread looks again, after the answer */
    HOST_JOB_RUNNING,
    HOST_JOB_OVER, /* on the list only as long as its end is not written */
};

struct host_waiter;

struct host_job {
    struct host_job *next, **back;
    struct host *host;
    enum host_job_step step;
    struct store_job record; /* its texts are owned below */
    char *request, *executable, *notice, *report_text;
    char **argv;
    char *working_directory;
    uint64_t deadline_ms;
    struct store_pen pen;
    bool network;

    struct admission *admission; /* LOOKING, CHECKING */
    struct policy *policy;       /* what the first look found; then the running one */
    char grant[STORE_ID_SIZE];   /* that allows it; "": none, or none is needed */
    uv_timer_t patience;         /* ASKING; OVER: until the end is tried to be written again */
    struct err unwritten;        /* OVER: why the end could not be written */
    uint64_t rewrite_ms;         /* OVER: how long was waited last */
    struct worker *worker;       /* RUNNING */
    const char *why;             /* it is being stopped, and why; a constant */
    struct report report;        /* RUNNING */
    struct host_waiter *waiters; /* a list */

    char head[JOB_KEEP_BYTES], tail[JOB_KEEP_BYTES];
};

/* ---- wait.c ---------------------------------------------------------------------------------- */

enum host_wait_for { HOST_WAIT_END, HOST_WAIT_SETTLED }; /* SETTLED: it runs, asks or is over */

/* Answers `request` with the job's object: when it is over (or settled), or after `most_ms`,
 * whichever is first. When the request is cancelled `cancel_stops` ends the job. */
struct host_wait {
    enum host_wait_for what;
    uint64_t most_ms;
    bool cancel_stops;
    json_t *(*make)(const struct store_job *job); /* of the answer; NULL: host_job_object */
};
void host_wait(struct host_job *job, struct host_request *request, const struct host_wait *wait);
void host_wait_tell(struct host_job *job);   /* its step has changed */
void host_wait_output(struct host_job *job); /* a snapshot has come */

/* ---- object.c -------------------------------------------------------------------------------- */

/* The object of C4; NULL: out of memory. */
json_t *host_job_object(const struct store_job *job);
json_t *host_job_none(const char *state, const char *notice); /* of what never became a job */

/* ---- notice.c -------------------------------------------------------------------------------- */

void host_job_say(struct host_job *job, const char *text); /* its notice; "": none */
/* As a model is told it; the record has it whole. */
void host_job_say_error(struct host_job *job, const struct err *err);
/* Adds what the policy can say about the last words of a command that ended. */
void host_job_say_hints(struct host_job *job, int exit_code);

/* ---- turn.c ---------------------------------------------------------------------------------- */

struct host_turn {
    char id[STORE_ID_SIZE], chat[STORE_ID_SIZE];
    char before[STORE_ID_SIZE];   /* the one that was idle for too long; "": none was */
    struct store_pen pen;         /* id "": unknown, or none since */
    char *path, *leads_to, *name; /* as it was begun: an unknown pen may be made later; leads_to
                                     NULL: not said */
    bool ended;                   /* by the owner: all that is asked from then on is refused */
};

/* ---- job.c ----------------------------------------------------------------------------------- */

/* What a model asked for. Owned. */
struct host_job_wish {
    char **argv;
    char *working_directory;
    char *request; /* as JSON, for the record */
    uint64_t deadline_ms;
    bool network, background;
};
void host_job_wish_free(struct host_job_wish *wish);

/* Makes the record and puts the job on the list. Takes over what `wish` holds. Errors: store.*. */
int host_job_begin(struct host *host, const struct host_turn *turn, struct host_job_wish *wish,
                   struct host_job **ret_job, struct err *err) MUST_CHECK;
void host_job_look(struct host_job *job); /* the first step; it may be over afterwards */

/* Of a turn that ends, a pen that is removed, an owner's stop. `why` is a constant. */
void host_job_halt(struct host_job *job, const char *why);
void host_jobs_halt(struct host *host, const char *turn, const char *why); /* those of a turn */
/* Grants of the pen have changed: what asks is asked again. */
void host_jobs_ask_again(struct host *host, const char *pen);
struct host_job *host_job_find(const struct host *host,
                               const char *id); /* NULL: in the store, or unknown */

/* ---- end.c ----------------------------------------------------------------------------------- */

/* With the texts as they are now. A store that cannot be written must not let a job run unrecorded:
 * see start() in job.c. An end is kept until it can be: see host_job_finish(). */
const struct store_job *host_job_record(struct host_job *job);
/* It is over. Until that is written the job stays on the list, where those who ask find it. */
void host_job_finish(struct host_job *job, enum store_job_state state);
void host_job_free(struct host_job *job); /* of one that is on no list */
/* The store can be written: ends that could not be are tried again, soon. */
void host_jobs_rewrite(struct host *host);
/* Ends that could not be written; `ret_problem`: why, of one of them, NULL when there is none. */
unsigned host_jobs_unwritten(const struct host *host, const struct err **ret_problem);
void host_jobs_end(struct host *host); /* at once: the host ends */

#endif
