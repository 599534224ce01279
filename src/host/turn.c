/* A model's connection: its pen, its chat, the jobs it asks for. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "host/job_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MOST_S = 10, ARGS_MOST = 65536 };

/* ---- the turn -------------------------------------------------------------------------------- */

/* The path as it was given, then where it leads to, as the client says. Both are compared with
 * those of pens and no more: the machine is not looked at, so that what is told of a path that is
 * no pen's cannot depend on what is there. */
static int find_pen(struct host *host, const struct host_turn *turn, struct store_pen *ret_pen,
                    struct err *err)
{
    const int r = store_pen_find(host->store, turn->path, ret_pen, err);

    return r != -ENOENT || turn->leads_to == NULL
               ? r
               : store_pen_find(host->store, turn->leads_to, ret_pen, err);
}

/* Looks for the pen, and begins a turn of it. An unknown one has no chat and no turn to speak of.
 * When it fails the turn is as it was. */
static int enter(struct host *host, struct host_turn *turn, struct err *err)
{
    struct store_pen pen = {.path = NULL};
    struct err unknown = {0};
    int r = find_pen(host, turn, &pen, &unknown);

    if (r == -ENOENT)
        return 0;
    if (r < 0) {
        *err = unknown;
        return r;
    }
    r = store_chat_get(host->store, pen.id, turn->name, turn->chat, err);
    if (r == 0)
        r = store_turn_begin(host->store, turn->chat, turn->id, err);
    if (r < 0)
        store_pen_free(&pen);
    else
        turn->pen = pen;
    return r;
}

static void free_turn(struct host_turn *turn)
{
    store_pen_free(&turn->pen);
    free(turn->path);
    free(turn->leads_to);
    free(turn->name);
    free(turn);
}

static int begin(struct host_client *client, const char *path, const char *leads_to,
                 const char *chat, struct err *err)
{
    struct host_turn *turn = calloc(1, sizeof *turn);
    int r;

    if (turn == NULL)
        return err_memory(err);
    turn->path = strdup(path);
    turn->leads_to = leads_to == NULL ? NULL : strdup(leads_to);
    turn->name = strdup(chat);
    r = turn->path == NULL || turn->name == NULL || (leads_to != NULL && turn->leads_to == NULL)
            ? err_memory(err)
            : enter(client->host, turn, err);
    if (r < 0) {
        free_turn(turn);
        return r;
    }
    client->turn = turn;
    host_turn_used(client->host, turn->id);
    return 0;
}

static int refuse_ended(struct err *err)
{
    (void) err_set(err, EINVAL, "host.turn-ended", "the owner ended this turn");
    return err_hint(err,
                    "nothing runs by this connection any more; a new one begins a new turn, if "
                    "the owner wants you to go on");
}

/* What every request of a job's has to have. */
static int check_turn(const struct host_client *client, struct err *err)
{
    if (client->turn == NULL)
        return err_set(err, EINVAL, "host.turn", "'turn.begin' has to come first");
    host_turn_used(client->host, client->turn->id);
    return client->turn->ended ? refuse_ended(err) : 0;
}

/* `after`: the turn that the same program had by a host that is gone; NULL: none. */
static int check_after(struct host *host, const char *after, struct err *err)
{
    const int r = after == NULL ? 0 : store_turn_is_closed(host->store, after, err);

    return r > 0 ? refuse_ended(err) : r;
}

void host_turn_begin(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", "leads_to", "chat", "after", NULL};
    struct host_client *client = request->client;
    const char *path = NULL, *leads_to = NULL, *chat = "default", *after = NULL;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "pen", true, &path, &err);
    if (r == 0)
        r = host_params_text(params, "leads_to", false, &leads_to, &err);
    if (r == 0)
        r = host_params_text(params, "chat", false, &chat, &err);
    if (r == 0)
        r = host_params_text(params, "after", false, &after, &err);
    if (r == 0 && (!path_is_clean(path) || (leads_to != NULL && !path_is_clean(leads_to))))
        r = err_set(&err, EINVAL, "rpc.params", "'pen' and 'leads_to' have to be absolute paths");
    if (r == 0 && client->turn != NULL)
        r = err_set(&err, EINVAL, "host.turn", "this connection has begun its turn already");
    if (r == 0)
        r = check_after(client->host, after, &err);
    if (r == 0)
        r = begin(client, path, leads_to, chat, &err);
    if (r < 0) {
        host_refuse(request, &err);
        return;
    }
    assert(client->turn != NULL); /* it has begun */
    host_answer(request, json_pack("{s:s, s:s?}", "turn", client->turn->id, "pen",
                                   client->turn->pen.id[0] == '\0' ? NULL : client->turn->pen.id));
}

static void stop_turn(struct host_client *client, const char *why)
{
    struct host *host = client->host;
    char id[STORE_ID_SIZE];

    if (client->turn == NULL || client->turn->id[0] == '\0' || client->turn->ended)
        return;
    memcpy(id, client->turn->id, sizeof id);
    client->turn->ended = true;
    host_jobs_halt(host, id, why); /* an answer may close the client, and free its turn */
    (void) !store_turn_end(host->store, id, why, NULL);
}

/* ---- idle turns ------------------------------------------------------------------------------ */

static bool has_jobs(const struct host *host, const char *turn)
{
    for (const struct host_job *job = host->jobs; job != NULL; job = job->next) {
        if (job->step != HOST_JOB_OVER && str_equal(job->record.turn, turn))
            return true;
    }
    return false;
}

/* The connection stays, and its next command begins another turn: see enter_late(). */
static void on_quiet(uv_timer_t *timer)
{
    struct host_client *client = timer->data;
    struct host_turn *turn = client->turn;

    if (turn == NULL || turn->id[0] == '\0' || turn->ended || has_jobs(client->host, turn->id))
        return; /* the end of a job begins the time anew */
    (void) !store_turn_end(client->host->store, turn->id, "nothing was asked for long", NULL);
    memcpy(turn->before, turn->id, sizeof turn->before);
    turn->id[0] = turn->chat[0] = '\0';
    store_pen_free(&turn->pen);
    turn->pen = (struct store_pen){.path = NULL};
}

void host_turn_used(struct host *host, const char *id)
{
    for (struct host_client *client = host->clients; client != NULL; client = client->next) {
        if (client->turn != NULL && !client->closing && str_equal(client->turn->id, id))
            (void) uv_timer_start(&client->quiet, on_quiet, host->limits.turn_idle_ms, 0);
    }
}

/* ---- the owner's word ------------------------------------------------------------------------ */

unsigned host_turns_halt(struct host *host, const char *pen, const char *chat, const char *why)
{
    unsigned ended = 0;

    for (struct host_client *client = host->clients; client != NULL; client = client->next) {
        const struct host_turn *turn = client->turn;

        if (turn == NULL || turn->id[0] == '\0' || turn->ended ||
            (pen != NULL && !str_equal(turn->pen.id, pen)) ||
            (chat != NULL && !str_equal(turn->chat, chat)))
            continue;
        stop_turn(client, why);
        ended++;
    }
    return ended;
}

void host_turn_end(struct host_client *client, const char *why)
{
    stop_turn(client, why);
    if (client->turn != NULL)
        free_turn(TAKE_PTR(client->turn));
}

/* ---- job.run --------------------------------------------------------------------------------- */

void host_job_wish_free(struct host_job_wish *wish)
{
    for (size_t i = 0; wish->argv != NULL && wish->argv[i] != NULL; i++)
        free(wish->argv[i]);
    free(wish->argv);
    free(wish->working_directory);
    free(wish->request);
    *wish = (struct host_job_wish){.argv = NULL};
}

static int read_argv(const json_t *params, struct host_job_wish *wish, struct err *err)
{
    const json_t *args = json_object_get(params, "args");
    const size_t count = json_array_size(args);
    const char *command = NULL;
    int r = host_params_text(params, "command", true, &command, err);

    if (r == 0 && ((args != NULL && !json_is_array(args)) || count > ARGS_MOST))
        r = err_set(err, EINVAL, "rpc.params", "'args' has to be a list of at most %d texts",
                    ARGS_MOST);
    if (r < 0)
        return r;
    wish->argv = calloc(count + 2, sizeof *wish->argv);
    if (wish->argv == NULL || (wish->argv[0] = strdup(command)) == NULL)
        return err_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *text = json_plain_text(json_array_get(args, i));

        if (text == NULL)
            return err_set(err, EINVAL, "rpc.params",
                           "'args' has to be a list of texts without NUL");
        wish->argv[i + 1] = strdup(text);
        if (wish->argv[i + 1] == NULL)
            return err_memory(err);
    }
    return 0;
}

/* In whole seconds on the wire. What is usual gives way to the owner's bounds. */
static int read_deadline(const struct host_limits *limits, const json_t *params,
                         uint64_t *ret_deadline_ms, struct err *err)
{
    uint64_t deadline_s = UINT64_MAX, deadline_ms = limits->deadline_usual_ms;
    int r = host_params_number(params, "deadline_seconds", UINT32_MAX, &deadline_s, err);

    if (r < 0)
        return r;
    if (deadline_s == UINT64_MAX) {
        if (deadline_ms > limits->deadline_most_ms)
            deadline_ms = limits->deadline_most_ms;
        *ret_deadline_ms =
            deadline_ms < limits->deadline_least_ms ? limits->deadline_least_ms : deadline_ms;
        return 0;
    }
    *ret_deadline_ms = deadline_s * 1000;
    if (*ret_deadline_ms >= limits->deadline_least_ms &&
        *ret_deadline_ms <= limits->deadline_most_ms)
        return 0;
    return err_set(err, EINVAL, "rpc.params", "'deadline_seconds' has to be from %llu to %llu",
                   (unsigned long long) (limits->deadline_least_ms + 999) / 1000,
                   (unsigned long long) limits->deadline_most_ms / 1000);
}

static int read_wish(const struct host_limits *limits, const json_t *params,
                     struct host_job_wish *wish, struct err *err)
{
    static const char *const keys[] = {
        "command", "args", "working_directory", "network", "background", "deadline_seconds", NULL};
    const char *directory = ".";
    int r = host_params_check(params, keys, err);

    if (r == 0)
        r = read_argv(params, wish, err);
    if (r == 0)
        r = host_params_text(params, "working_directory", false, &directory, err);
    if (r == 0)
        r = host_params_flag(params, "network", &wish->network, err);
    if (r == 0)
        r = host_params_flag(params, "background", &wish->background, err);
    if (r == 0)
        r = read_deadline(limits, params, &wish->deadline_ms, err);
    if (r < 0)
        return r;
    wish->working_directory = strdup(directory);
    wish->request = json_dumps(params, JSON_COMPACT);
    return wish->working_directory == NULL || wish->request == NULL ? err_memory(err) : 0;
}

/* The folder may be a pen by now; or the turn before was idle for too long. */
static int enter_late(struct host_client *client, struct err *err)
{
    const char *before = client->turn->before;
    int r = check_after(client->host, before[0] == '\0' ? NULL : before, err);

    if (r == 0)
        r = enter(client->host, client->turn, err);
    if (r < 0 || client->turn->id[0] == '\0')
        return r;
    host_turn_used(client->host, client->turn->id);
    host_tell(client, "turn.began", json_pack("{s:s}", "turn", client->turn->id));
    return client->turn != NULL ? 0 : err_set(err, EPIPE, "host.gone", "the client is gone");
}

void host_job_run(struct host_request *request, const json_t *params)
{
    static const char unknown[] =
        "this folder is not a pen: its owner has to open it with 'wattle pens add'";
    struct host_client *client = request->client;
    struct host_job_wish wish = {.argv = NULL};
    struct host_job *job = NULL;
    struct host_wait wait = {
        .what = HOST_WAIT_END, .most_ms = client->host->limits.foreground_ms, .cancel_stops = true};
    struct err err = {0};
    int r = check_turn(client, &err);

    if (r == 0)
        r = read_wish(&client->host->limits, params, &wish, &err);
    if (r == 0 && client->turn->pen.id[0] == '\0')
        r = enter_late(client, &err);
    if (r == 0 && client->turn->pen.id[0] == '\0') {
        host_job_wish_free(&wish);
        host_answer(request, host_job_none("awaiting_approval", unknown));
        return;
    }
    if (r == 0 && wish.background)
        wait.what = HOST_WAIT_SETTLED;
    if (r == 0)
        r = host_job_begin(client->host, client->turn, &wish, &job, &err);
    host_job_wish_free(&wish);
    if (r < 0) {
        host_refuse(request, &err);
        return;
    }
    host_wait(job, request, &wait);
    host_job_look(job);
}

/* ---- job.status, job.stop -------------------------------------------------------------------- */

struct answering {
    const struct host_turn *turn;
    json_t *object;
};

static int take_record(void *context, const struct store_job *job)
{
    struct answering *answering = context;

    if (str_equal(job->turn, answering->turn->id))
        answering->object = host_job_object(job);
    return 0;
}

static int no_job(const char *id, struct err *err)
{
    return err_set(err, EINVAL, "host.job-unknown", "this turn has no command '%.32s'", id);
}

/* One that is over: its record, if it is of this turn. */
static void answer_record(struct host_request *request, const char *id)
{
    struct answering answering = {.turn = request->client->turn};
    struct err err = {0};

    (void) !store_job_find(request->client->host->store, id, take_record, &answering, &err);
    if (answering.object != NULL) {
        host_answer(request, answering.object);
        return;
    }
    (void) no_job(id, &err);
    host_refuse(request, &err);
}

/* NULL: it was answered, since there is no such job, or none that is under way. */
static struct host_job *find_job(struct host_request *request, const char *id)
{
    struct host_job *job = host_job_find(request->client->host, id);
    struct err err = {0};

    if (job != NULL && str_equal(job->record.turn, request->client->turn->id))
        return job;
    if (job != NULL) { /* another turn's: as if there were none */
        (void) no_job(id, &err);
        host_refuse(request, &err);
    } else {
        answer_record(request, id);
    }
    return NULL;
}

static int read_job(struct host_request *request, const json_t *params, const char *const *keys,
                    const char **ret_id, struct err *err)
{
    int r = host_params_check(params, keys, err);

    if (r == 0)
        r = host_params_text(params, "job_id", true, ret_id, err);
    return r == 0 ? check_turn(request->client, err) : r;
}

void host_job_status(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"job_id", "wait_seconds", NULL};
    const char *id = NULL;
    uint64_t wait_s = 0;
    struct host_job *job;
    struct err err = {0};
    int r = read_job(request, params, keys, &id, &err);

    if (r == 0)
        r = host_params_number(params, "wait_seconds", WAIT_MOST_S, &wait_s, &err);
    if (r < 0) {
        host_refuse(request, &err);
        return;
    }
    job = find_job(request, id);
    if (job != NULL)
        host_wait(job, request,
                  &(struct host_wait){.what = HOST_WAIT_END, .most_ms = wait_s * 1000});
}

void host_job_stop(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"job_id", NULL};
    const char *id = NULL;
    struct host_job *job;
    struct err err = {0};

    if (read_job(request, params, keys, &id, &err) < 0) {
        host_refuse(request, &err);
        return;
    }
    job = find_job(request, id);
    if (job == NULL)
        return;
    host_wait(job, request,
              &(struct host_wait){.what = HOST_WAIT_END,
                                  .most_ms = request->client->host->limits.foreground_ms});
    host_job_halt(job, "it was stopped");
}
