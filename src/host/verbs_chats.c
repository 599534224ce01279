/* Chats, and the host itself. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "host/job_priv.h"
#include "host/verbs_priv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int add_chat(void *list, const struct store_chat *chat)
{
    return verbs_append(
        list, json_pack("{s:s, s:s, s:o, s:I, s:I, s:I}", "id", chat->id, "pen", chat->pen, "name",
                        json_text(chat->name, strlen(chat->name)), "turns",
                        (json_int_t) chat->turns, "open_turns", (json_int_t) chat->open_turns,
                        "created_ms", (json_int_t) chat->created_ms));
}

void host_chats_list(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", NULL};
    struct host *host = request->client->host;
    AUTO(json_free) json_t *list = json_array();
    struct store_pen pen = {.path = NULL};
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0 && json_object_get(params, "pen") != NULL)
        r = verbs_find_pen(host, params, &pen, &err);
    if (r == 0)
        r = store_chat_each(host->store, pen.path == NULL ? NULL : pen.id, add_chat, list, &err);
    store_pen_free(&pen);
    if (r < 0)
        host_refuse(request, &err);
    else
        host_answer(request, json_pack("{s:O}", "chats", list));
}

void host_chats_move(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"chat", "pen", NULL};
    struct host *host = request->client->host;
    struct store_pen pen = {.path = NULL};
    const char *chat = NULL;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "chat", true, &chat, &err);
    if (r == 0)
        r = verbs_find_pen(host, params, &pen, &err);
    if (r == 0)
        r = store_chat_move(host->store, chat, pen.id, &err);
    store_pen_free(&pen);
    verbs_done(request, r, &err);
}

void host_chats_delete(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"chat", NULL};
    const char *chat = NULL;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "chat", true, &chat, &err);
    if (r == 0)
        r = store_chat_delete(request->client->host->store, chat, &err);
    verbs_done(request, r, &err);
}

/* The connections stay: each call of theirs is refused, and says why. */
void host_chats_end_turn(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"chat", NULL};
    struct host *host = request->client->host;
    const char *chat = NULL;
    unsigned ended = 0;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "chat", true, &chat, &err);
    if (r == 0) {
        ended = host_turns_halt(host, NULL, chat, "the owner ended the turn");
        r = store_turns_close(host->store, chat, &err);
    }
    if (r < 0)
        host_refuse(request, &err);
    else
        host_answer(request, json_pack("{s:i}", "ended", ended));
}

/* ---- the host -------------------------------------------------------------------------------- */

static json_t *words_of(const struct err *problem)
{
    return problem == NULL || problem->code == 0 ? json_null()
                                                 : json_text(problem->what, strlen(problem->what));
}

void host_status(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {NULL};
    const struct host *host = request->client->host;
    const struct err *problem = NULL;
    const unsigned unwritten = host_jobs_unwritten(host, &problem);
    struct err err = {0};

    if (host_params_check(params, keys, &err) < 0) {
        host_refuse(request, &err);
        return;
    }
    host_answer(request,
                json_pack("{s:s, s:i, s:I, s:i, s:i, s:o, s:i, s:o, s:I, s:I, s:o}", "version",
                          WATTLE_VERSION, "pid", (int) getpid(), "since_ms",
                          (json_int_t) host->since_ms, "clients", host->client_count, "running",
                          host->running, "store",
                          json_text(host->owner->state_dir, strlen(host->owner->state_dir)),
                          "unwritten", unwritten, "store_problem", words_of(problem), "spool_lines",
                          (json_int_t) host->spool.intake.at.lines, "spool_unread",
                          (json_int_t) host->spool.intake.at.unread, "spool_problem",
                          words_of(&host->spool.problem)));
}

void host_stop(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {NULL};
    struct host *host = request->client->host;
    struct err err = {0};

    if (host_params_check(params, keys, &err) < 0) {
        host_refuse(request, &err);
        return;
    }
    host_answer(request, json_object());
    host_end(host, "owner");
}
