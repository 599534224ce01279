/* Records of jobs. Their output goes out as base64: any bytes, whole. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "host/job_priv.h"
#include "host/verbs_priv.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST_MOST = 1000,
    LIST_ARGS_BYTES = 2 << 10, /* of one job */
    LIST_BYTES_MOST = 2 << 20, /* a message holds twice as much */
};

/* ---- objects --------------------------------------------------------------------------------- */

static json_t *time_or_null(uint64_t time_ms)
{
    return time_ms == 0 ? json_null() : json_integer((json_int_t) time_ms);
}

static json_t *parsed(const char *text)
{
    json_t *json = text == NULL ? NULL : json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    return json != NULL ? json : json_null();
}

/* What was asked for. Of many arguments a list shows the first. */
static json_t *request_of(const struct store_job *job, bool whole)
{
    AUTO(json_free) json_t *request = parsed(job->request);
    json_t *args = json_object_get(request, "args"), *arg;
    size_t bytes = 0, i;

    json_array_foreach(args, i, arg)
    {
        bytes += json_string_length(arg) + 1;
        if (!whole && bytes > LIST_ARGS_BYTES)
            break;
    }
    if (i < json_array_size(args)) {
        (void) json_object_set_new(request, "args_left_out",
                                   json_integer((json_int_t) (json_array_size(args) - i)));
        while (json_array_size(args) > i)
            (void) json_array_remove(args, json_array_size(args) - 1);
    }
    return TAKE_PTR(request);
}

/* What report.c made, and null for what is not known of this one. */
static int put_report(json_t *object, const struct store_job *job)
{
    static const char *const keys[] = {"policy_digest", "identity",    "limits",         "fence",
                                       "names",         "names_total", "names_complete", "denials",
                                       "denied",        "cause"};
    AUTO(json_free) json_t *report = parsed(job->report);
    int failed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        json_t *value = json_object_get(report, keys[i]);

        failed |=
            json_object_set_new(object, keys[i], value != NULL ? json_incref(value) : json_null());
    }
    return failed;
}

/* The job as a model sees it, and what only the owner does. In a list without what may be long. */
static json_t *record_object(const struct store_job *job, bool whole)
{
    AUTO(json_free) json_t *object = host_job_object(job);
    AUTO(json_free)
    json_t *more = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "pen", job->pen, "chat", job->chat, "turn",
        job->turn, "request", request_of(job, whole), "executable",
        job->executable == NULL ? json_null() : json_text(job->executable, strlen(job->executable)),
        "asked_ms", time_or_null(job->asked_ms), "began_ms", time_or_null(job->began_ms),
        "ended_ms", time_or_null(job->ended_ms), "total_bytes", (json_int_t) job->total_bytes);

    if (object == NULL || more == NULL || json_object_update(object, more) < 0)
        return NULL;
    if (!whole)
        (void) json_object_del(object, "output");
    else if (put_report(object, job) != 0)
        return NULL;
    return TAKE_PTR(object);
}

static json_t *base64(const struct store_bytes *bytes)
{
    const size_t size = sodium_base64_encoded_len(bytes->size, sodium_base64_VARIANT_ORIGINAL);
    AUTO_FREE char *text = malloc(size);

    if (text == NULL)
        return NULL;
    return json_string(
        sodium_bin2base64(text, size, bytes->bytes, bytes->size, sodium_base64_VARIANT_ORIGINAL));
}

/* ---- list ------------------------------------------------------------------------------------ */

struct listing {
    const struct host *host;
    int state;     /* asked for; -1: any */
    uint64_t most; /* 0: all */
    json_t *jobs;
    size_t bytes;
};

/* TOO_LONG: no more than this goes into one answer. */
enum { ENOUGH = 1, TOO_LONG };

static int add_job(void *context, const struct store_job *job)
{
    struct listing *listing = context;
    const struct host_job *kept = host_job_find(listing->host, job->id);
    json_t *object;

    if (kept != NULL && kept->step == HOST_JOB_OVER) /* its end is not written yet */
        job = &kept->record;
    if (listing->state >= 0 && listing->state != (int) job->state)
        return 0;
    if (listing->most > 0 && json_array_size(listing->jobs) == listing->most)
        return ENOUGH;
    object = record_object(job, false);
    if (object != NULL)
        listing->bytes += json_dumpb(object, NULL, 0, JSON_COMPACT);
    if (listing->bytes > LIST_BYTES_MOST) {
        json_decref(object);
        return TOO_LONG;
    }
    return verbs_append(listing->jobs, object);
}

static int read_state(const json_t *params, int *ret_state, struct err *err)
{
    const char *word = NULL;
    const int r = host_params_text(params, "state", false, &word, err);

    if (r < 0 || word == NULL)
        return r;
    for (int state = STORE_JOB_AWAITING; state <= STORE_JOB_REFUSED; state++) {
        if (str_equal(word, store_job_state_name((enum store_job_state) state))) {
            *ret_state = state;
            return 0;
        }
    }
    return err_set(err, EINVAL, "rpc.params", "there is no state '%.32s'", word);
}

void host_jobs_list(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", "chat", "state", "limit", NULL};
    struct host *host = request->client->host;
    AUTO(json_free) json_t *list = json_array();
    struct store_pen pen = {.path = NULL};
    struct listing listing = {.host = host, .state = -1, .most = 100, .jobs = list};
    struct store_job_wish wish = {.state = -1};
    const struct err *problem = NULL;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0 && json_object_get(params, "pen") != NULL)
        r = verbs_find_pen(host, params, &pen, &err);
    if (r == 0)
        r = host_params_text(params, "chat", false, &wish.chat, &err);
    if (r == 0)
        r = read_state(params, &listing.state, &err);
    if (r == 0)
        r = host_params_number(params, "limit", LIST_MOST, &listing.most, &err);
    if (host_jobs_unwritten(host, &problem) == 0) { /* else the store's states are not the last */
        wish.state = listing.state;
        wish.most = listing.most;
    }
    wish.pen = pen.path == NULL ? NULL : pen.id;
    if (r == 0)
        r = store_job_each(host->store, &wish, add_job, &listing, &err);
    store_pen_free(&pen);
    if (r < 0)
        host_refuse(request, &err);
    else
        host_answer(request, json_pack("{s:O, s:b}", "jobs", list, "complete", r != TOO_LONG));
}

/* ---- one ------------------------------------------------------------------------------------- */

struct answering {
    json_t *(*make)(const struct store_job *job);
    json_t *object;
};

static int take(void *context, const struct store_job *job)
{
    struct answering *answering = context;

    answering->object = answering->make(job);
    return 0;
}

static json_t *make_record(const struct store_job *job)
{
    return record_object(job, true);
}

static json_t *make_logs(const struct store_job *job)
{
    const uint64_t kept = job->head.size + job->tail.size;

    return json_pack("{s:o, s:o, s:I, s:I, s:b}", "head", base64(&job->head), "tail",
                     base64(&job->tail), "total_bytes", (json_int_t) job->total_bytes,
                     "omitted_bytes",
                     (json_int_t) (job->total_bytes > kept ? job->total_bytes - kept : 0), "done",
                     (int) (job->ended_ms != 0));
}

/* Of what runs, wattle-job is asked first. */
static void answer_job(struct host_request *request, const json_t *params,
                       json_t *(*make)(const struct store_job *job))
{
    static const char *const keys[] = {"job", NULL};
    struct host *host = request->client->host;
    struct answering answering = {.make = make};
    struct host_job *job;
    const char *id = NULL;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "job", true, &id, &err);
    job = r < 0 ? NULL : host_job_find(host, id);
    if (job != NULL) {
        host_wait(job, request, &(struct host_wait){.what = HOST_WAIT_END, .make = make});
        return;
    }
    if (r == 0)
        r = store_job_find(host->store, id, take, &answering, &err);
    if (r < 0)
        host_refuse(request, &err);
    else
        host_answer(request, answering.object);
}

void host_jobs_show(struct host_request *request, const json_t *params)
{
    answer_job(request, params, make_record);
}

void host_jobs_logs(struct host_request *request, const json_t *params)
{
    answer_job(request, params, make_logs);
}

void host_jobs_stop(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"job", NULL};
    struct host *host = request->client->host;
    const char *id = NULL;
    struct host_job *job;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "job", true, &id, &err);
    job = r < 0 ? NULL : host_job_find(host, id);
    if (r == 0 && (job == NULL || job->step == HOST_JOB_OVER))
        r = err_set(&err, EINVAL, "jobs.over", "no job '%.32s' is under way", id);
    if (r < 0) {
        host_refuse(request, &err);
        return;
    }
    host_wait(job, request,
              &(struct host_wait){.what = HOST_WAIT_END, .most_ms = host->limits.foreground_ms});
    host_job_halt(job, "the owner stopped it");
}
