/* One job: asked for, looked at, allowed (or not), looked at again when the owner took time, run,
 * recorded.
 *
 *   LOOKING ──allowed──────────────► RUNNING ─► OVER
 *      └─no grant─► ASKING ─► CHECKING ─┘
 *
 * Any step may go to OVER: refused, halted, failed. A job leaves the list when it is OVER and its
 * end is written; its record stays. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "host/copy.h"
#include "host/job_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARGUMENT_BYTES = 128 << 10, /* the kernel's MAX_ARG_STRLEN, its NUL included */
};

/* ---- refusing and halting -------------------------------------------------------------------- */

static void refuse(struct host_job *job, const struct err *err)
{
    host_job_say_error(job, err);
    host_job_finish(job, STORE_JOB_REFUSED);
}

void host_job_halt(struct host_job *job, const char *why)
{
    if (job->why != NULL || job->step == HOST_JOB_OVER)
        return;
    job->why = why;
    if (job->step == HOST_JOB_RUNNING) {
        worker_stop(job->worker); /* on_over comes */
        return;
    }
    host_job_say(job, why);
    host_job_finish(job, STORE_JOB_STOPPED);
}

void host_jobs_halt(struct host *host, const char *turn, const char *why)
{
    for (struct host_job *job = host->jobs, *next; job != NULL; job = next) {
        next = job->next;
        if (str_equal(job->record.turn, turn))
            host_job_halt(job, why);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static void on_started(void *context, const struct job_start *start)
{
    report_started(&((struct host_job *) context)->report, start);
}

static void on_names(void *context, const char *bytes, size_t size)
{
    report_names(&((struct host_job *) context)->report, bytes, size);
}

static void on_made(void *context, const struct job_made *made)
{
    report_made(&((struct host_job *) context)->report, made);
}

static void on_output(void *context, const struct worker_output *output)
{
    struct host_job *job = context;
    const size_t head = output->head_size < sizeof job->head ? output->head_size : sizeof job->head;
    const size_t tail = output->tail_size < sizeof job->tail ? output->tail_size : sizeof job->tail;

    memcpy(job->head, output->head, head);
    memcpy(job->tail, output->tail, tail);
    job->record.head = (struct store_bytes){job->head, head};
    job->record.tail = (struct store_bytes){job->tail, tail};
    job->record.total_bytes = output->total_bytes;
    (void) host_job_record(job); /* those who wait see what was heard */
    host_wait_output(job);
}

static void on_denied(void *context, const struct job_denial *denial)
{
    struct host_job *job = context;
    char text[768];

    report_denied(&job->report, denial);
    if (job->report.denied > 1)
        return;
    (void) snprintf(text, sizeof text, "refused %.10s '%.300s' by '%.15s': %.128s", denial->call,
                    denial->path, denial->program, denial->reason);
    host_job_say(job, text);
}

static enum store_job_state state_of(const struct host_job *job, const struct worker_end *end)
{
    if (job->why != NULL)
        return STORE_JOB_STOPPED;
    if (end->failed != NULL)
        return end->failed->code == EPIPE ? STORE_JOB_STOPPED : STORE_JOB_REFUSED;
    if (end->timed_out)
        return STORE_JOB_TIMED_OUT;
    if (end->signal != 0)
        return STORE_JOB_SIGNALED;
    return end->stopped ? STORE_JOB_STOPPED : STORE_JOB_EXITED;
}

static void on_over(void *context, const struct worker_end *end)
{
    struct host_job *job = context;

    job->worker = NULL;
    job->record.exit_code = end->exit_code;
    job->record.signal = end->signal;
    if (end->denied > job->report.denied)
        report_count_denied(&job->report, end->denied);
    if (job->why != NULL)
        host_job_say(job, job->why);
    else if (end->failed != NULL)
        host_job_say_error(job, end->failed);
    else
        host_job_say_hints(job, end->exit_code);
    host_job_finish(job, state_of(job, end));
}

/* The four, or as many as the owner lets be. */
static unsigned count_running(const struct host_job *job, struct buf *ids)
{
    unsigned count = 0;

    for (const struct host_job *other = job->host->jobs; other != NULL; other = other->next) {
        if (other->step != HOST_JOB_RUNNING || !str_equal(other->record.turn, job->record.turn))
            continue;
        (void) buf_printf(ids, "%s%s", count++ == 0 ? "" : ", ", other->record.id);
    }
    return count;
}

static int check_room(const struct host_job *job, struct err *err)
{
    AUTO(buf_free) struct buf ids = {0};
    unsigned count;

    buf_init(&ids, 192);
    count = count_running(job, &ids);
    if (count >= job->host->limits.turn_jobs) {
        (void) err_set(err, EINVAL, "host.turn-full", "%u commands of this turn run already: %s",
                       count, ids.bytes);
        return err_hint(err, "wait for one with pen_command_status, or stop one");
    }
    if (job->host->running >= job->host->limits.jobs)
        return err_set(err, EINVAL, "host.full", "the host runs %u commands already",
                       job->host->running);
    return 0;
}

/* The record says "running", on the disk, before anything does. */
static int start(struct host_job *job, struct err *err)
{
    union {
        char **in;
        const char *const *out;
    } argv = {.in = job->argv};
    const struct worker_start wish = {
        .loop = &job->host->loop,
        .program = job->host->job_program,
        .policy = job->policy,
        .cache_dir = job->host->owner->cache_dir,
        .state_dir = job->host->owner->state_dir,
        .argv = argv.out,
        .events = {.on_started = on_started,
                   .on_output = on_output,
                   .on_denied = on_denied,
                   .on_names = on_names,
                   .on_made = on_made,
                   .on_over = on_over,
                   .context = job},
    };
    int r = check_room(job, err);

    if (r < 0)
        return r;
    job->record.state = STORE_JOB_RUNNING;
    job->record.began_ms = clock_wall_ms();
    r = report_begin(&job->report, job->policy, err);
    if (r < 0)
        return r;
    r = store_job_start(job->host->store, host_job_record(job),
                        job->grant[0] == '\0' ? NULL : job->grant, err);
    return r < 0 ? r : worker_new(&wish, &job->worker, err);
}

static void launch(struct host_job *job)
{
    struct err err = {0};

    if (start(job, &err) < 0) {
        refuse(job, &err);
        return;
    }
    job->step = HOST_JOB_RUNNING;
    job->host->running++;
    host_jobs_rewrite(job->host);
    host_wait_tell(job);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Of the very file that was reviewed. */
static int ask_grant(void *context, const struct store_grant *grant)
{
    struct host_job *job = context;

    if (!admit_fits(&grant->executable, job->policy))
        return 0;
    memcpy(job->grant, grant->id, sizeof job->grant);
    return 1;
}

static bool is_allowed(struct host_job *job)
{
    const struct store_call call = {.pen = job->pen.id,
                                    .chat = job->record.chat,
                                    .path = job->executable,
                                    .network = job->network};

    job->grant[0] = '\0';
    return (!job->network && admit_is_harmless(job->policy)) ||
           store_grant_match(job->host->store, &call, ask_grant, job, NULL) > 0;
}

static void on_patience(uv_timer_t *timer)
{
    struct host_job *job = timer->data;
    struct err err = {0};

    (void) err_set(&err, ETIME, "host.unanswered", "the owner did not answer in time");
    refuse(job, &err);
}

static void ask(struct host_job *job)
{
    char text[512];
    struct err err = {0};

    (void) snprintf(text, sizeof text,
                    "the owner has to allow '%.300s'%s first; ask again with pen_command_status",
                    job->executable, job->network ? " with network" : "");
    host_job_say(job, text);
    copy_remove(job->policy); /* the next look makes its own */
    job->step = HOST_JOB_ASKING;
    job->record.state = STORE_JOB_AWAITING;
    if (store_job_update(job->host->store, host_job_record(job), &err) < 0) {
        refuse(job, &err);
        return;
    }
    (void) uv_timer_start(&job->patience, on_patience, job->host->limits.approval_ms, 0);
    host_wait_tell(job);
}

/* ---- looking --------------------------------------------------------------------------------- */

static int refuse_network(const struct host_job *job, struct err *err)
{
    if (!job->network)
        return 0;
    (void) err_set(err, ENOTSUP, "host.network", "this version gives no command a network");
    return err_hint(err, "run it without 'network'; a server and its clients in one command see "
                         "each other");
}

static void on_first_look(void *context, struct admit_answer *answer)
{
    struct host_job *job = context;

    job->admission = NULL;
    if (answer->err.code != 0 || refuse_network(job, &answer->err) < 0) {
        refuse(job, &answer->err);
        return;
    }
    job->policy = TAKE_PTR(answer->policy);
    job->executable = strdup(policy_command(job->policy)->path);
    if (job->executable == NULL) {
        (void) err_memory(&answer->err);
        refuse(job, &answer->err);
    } else if (is_allowed(job)) {
        launch(job);
    } else {
        ask(job);
    }
}

/* What was found before the owner answered has to be there still. */
static void on_second_look(void *context, struct admit_answer *answer)
{
    struct host_job *job = context;

    job->admission = NULL;
    if (answer->err.code != 0 || admit_compare(job->policy, answer->policy, &answer->err) < 0) {
        refuse(job, &answer->err);
        return;
    }
    admit_policy_freep(&job->policy);
    job->policy = TAKE_PTR(answer->policy);
    if (!is_allowed(job)) { /* the owner took it back meanwhile */
        ask(job);
        return;
    }
    host_job_say(job, "");
    launch(job);
}

static int take_file(void *context, const struct store_file *file)
{
    return admit_add_file(context, file);
}

static int fill_request(struct host_job *job, struct admit_request *request, struct err *err)
{
    size_t count = 0;
    bool whole = true;
    int r;

    while (job->argv[count] != NULL)
        count++;
    *request = (struct admit_request){
        .owner = job->host->owner,
        .pen = strdup(job->pen.path),
        .pen_dev = job->pen.dev,
        .pen_inode = job->pen.inode,
        .working_directory = strdup(job->working_directory),
        .argv = calloc(count + 1, sizeof *request->argv),
        .deadline_ms = job->deadline_ms,
        .discreet = true,
        .copy_bytes = job->host->limits.copy_bytes,
        .copy = true,
    };
    for (size_t i = 0; request->argv != NULL && i < count; i++) {
        request->argv[i] = strdup(job->argv[i]);
        whole = whole && request->argv[i] != NULL;
    }
    r = store_file_each(job->host->store, job->pen.id, take_file, request, err);
    if (r == 0)
        r = admit_add_trees(job->host->store, request, err);
    if (r == 0 && (!whole || request->pen == NULL || request->working_directory == NULL ||
                   request->argv == NULL))
        return err_memory(err);
    return r;
}

static void look(struct host_job *job, void (*done)(void *context, struct admit_answer *answer))
{
    struct admit_request request = {.owner = NULL};
    struct err err = {0};
    int r = fill_request(job, &request, &err);

    if (r == 0)
        r = admit_begin(&job->host->loop, &request, done, job, &job->admission, &err);
    admit_request_free(&request); /* empty, when it was taken */
    if (r < 0)
        refuse(job, &err);
}

void host_jobs_ask_again(struct host *host, const char *pen)
{
    for (struct host_job *job = host->jobs, *next; job != NULL; job = next) {
        next = job->next;
        if (job->step != HOST_JOB_ASKING || !str_equal(job->pen.id, pen) || !is_allowed(job))
            continue;
        (void) uv_timer_stop(&job->patience);
        job->step = HOST_JOB_CHECKING;
        look(job, on_second_look);
    }
}

struct host_job *host_job_find(const struct host *host, const char *id)
{
    for (struct host_job *job = host->jobs; job != NULL; job = job->next) {
        if (str_equal(job->record.id, id))
            return job;
    }
    return NULL;
}

/* ---- being asked for ------------------------------------------------------------------------- */

/* Takes over what `wish` holds, also when it fails. */
int host_job_begin(struct host *host, const struct host_turn *turn, struct host_job_wish *wish,
                   struct host_job **ret_job, struct err *err)
{
    struct host_job *job = calloc(1, sizeof *job);
    int r;

    if (job == NULL) {
        host_job_wish_free(wish);
        return err_memory(err);
    }
    job->host = host;
    job->argv = TAKE_PTR(wish->argv);
    job->working_directory = TAKE_PTR(wish->working_directory);
    job->request = TAKE_PTR(wish->request);
    job->deadline_ms = wish->deadline_ms;
    job->network = wish->network;
    job->pen = turn->pen;
    job->pen.path = strdup(turn->pen.path);
    job->pen.name = NULL;
    memcpy(job->record.pen, turn->pen.id, sizeof job->record.pen);
    memcpy(job->record.chat, turn->chat, sizeof job->record.chat);
    memcpy(job->record.turn, turn->id, sizeof job->record.turn);
    job->record.request = job->request;
    (void) uv_timer_init(&host->loop, &job->patience);
    job->patience.data = job;
    r = job->pen.path == NULL ? err_memory(err) : store_job_add(host->store, &job->record, err);
    if (r < 0) {
        host_job_free(job);
        return r;
    }
    job->back = &host->jobs;
    job->next = host->jobs;
    if (job->next != NULL)
        job->next->back = &job->next;
    host->jobs = job;
    *ret_job = job;
    return 0;
}

/* The kernel would refuse it later, with a word that names nothing. */
static int check_arguments(char *const *argv, struct err *err)
{
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (strlen(argv[i]) < ARGUMENT_BYTES)
            continue;
        (void) err_set(err, E2BIG, "host.argument",
                       "argument %zu has %zu bytes, and the kernel takes at most %d", i,
                       strlen(argv[i]), ARGUMENT_BYTES - 1);
        return err_hint(err, "write it into a file of the pen and give the file's name");
    }
    return 0;
}

void host_job_look(struct host_job *job)
{
    struct err err = {0};

    if (job->step != HOST_JOB_LOOKING) /* its turn ended meanwhile */
        return;
    if (check_arguments(job->argv, &err) < 0)
        refuse(job, &err);
    else
        look(job, on_first_look);
}
