/* Grants, as far as the owner gives them by hand. An executable is looked at where it lies, never
 * run. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "host/job_priv.h"
#include "host/verbs_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_S INT64_C(1000000000)

/* ---- objects --------------------------------------------------------------------------------- */

static int64_t ns_of(const struct timespec *time)
{
    return (int64_t) time->tv_sec * NS_PER_S + time->tv_nsec;
}

static const char *state_of(const struct store_identity *granted)
{
    struct stat now;

    if (granted->path[0] == '\0' || stat(granted->path, &now) < 0)
        return "missing";
    return now.st_dev == granted->dev && now.st_ino == granted->inode &&
                   (uint64_t) now.st_size == granted->size_bytes &&
                   ns_of(&now.st_mtim) == granted->mtime_ns &&
                   ns_of(&now.st_ctim) == granted->ctime_ns
               ? "ok"
               : "changed";
}

static json_t *grant_object(const struct store_grant *grant)
{
    return json_pack("{s:s, s:s, s:s?, s:o, s:b, s:I, s:I, s:I, s:s}", "id", grant->id, "pen",
                     grant->pen, "chat", grant->chat[0] == '\0' ? NULL : grant->chat, "executable",
                     json_text(grant->executable.path, strlen(grant->executable.path)), "network",
                     (int) grant->network, "created_ms", (json_int_t) grant->created_ms, "used_ms",
                     (json_int_t) grant->used_ms, "uses", (json_int_t) grant->uses, "state",
                     state_of(&grant->executable));
}

static int add_grant(void *list, const struct store_grant *grant)
{
    return verbs_append(list, grant_object(grant));
}

/* ---- add ------------------------------------------------------------------------------------- */

static json_t *put(struct host *host, void *value, const struct policy *policy, struct err *err)
{
    struct store_grant *grant = value;
    const struct policy_command *command = policy_command(policy);

    grant->executable = (struct store_identity){
        .path = strdup(command->path),
        .dev = command->dev,
        .inode = command->inode,
        .size_bytes = command->size_bytes,
        .mtime_ns = command->mtime_ns,
        .ctime_ns = command->ctime_ns,
    };
    if (grant->executable.path == NULL) {
        (void) err_memory(err);
        return NULL;
    }
    if (store_grant_put(host->store, grant, STORE_ANY_REVISION, err) < 0)
        return NULL;
    host_jobs_ask_again(host, grant->pen);
    return grant_object(grant);
}

static void free_grant(void *value)
{
    struct store_grant *grant = value;

    free(grant->executable.path);
    free(grant);
}

void host_grants_add(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", "executable", "network", "chat", NULL};
    struct host *host = request->client->host;
    struct store_grant *grant = calloc(1, sizeof *grant);
    struct store_pen pen = {.path = NULL};
    const char *executable = NULL, *chat = "";
    struct err err = {0};
    int r = grant == NULL ? err_memory(&err) : host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "executable", true, &executable, &err);
    if (r == 0)
        r = host_params_text(params, "chat", false, &chat, &err);
    if (r == 0)
        r = host_params_flag(params, "network", &grant->network, &err);
    if (r == 0 && strlen(chat) >= sizeof grant->chat)
        r = err_set(&err, EINVAL, "rpc.params", "'chat' has to be the id of one");
    if (r == 0)
        r = verbs_find_pen(host, params, &pen, &err);
    if (r == 0) {
        memcpy(grant->pen, pen.id, sizeof grant->pen);
        memcpy(grant->chat, chat, strlen(chat) + 1);
        verbs_look(request, &(struct verbs_look){.path = pen.path,
                                                 .dev = pen.dev,
                                                 .inode = pen.inode,
                                                 .executable = executable,
                                                 .then = put,
                                                 .free_value = free_grant,
                                                 .value = grant});
    } else {
        free(grant);
        host_refuse(request, &err);
    }
    store_pen_free(&pen);
}

/* ---- list, remove ---------------------------------------------------------------------------- */

void host_grants_list(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", NULL};
    struct host *host = request->client->host;
    AUTO(json_free) json_t *list = json_array();
    struct store_pen pen = {.path = NULL};
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = verbs_find_pen(host, params, &pen, &err);
    if (r == 0)
        r = store_grant_each(host->store, pen.id, add_grant, list, &err);
    if (r < 0)
        host_refuse(request, &err);
    else
        host_answer(request,
                    json_pack("{s:I, s:O}", "revision", (json_int_t) pen.revision, "grants", list));
    store_pen_free(&pen);
}

void host_grants_remove(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"grant", NULL};
    const char *grant = NULL;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_text(params, "grant", true, &grant, &err);
    if (r == 0)
        r = store_grant_remove(request->client->host->store, grant, STORE_ANY_REVISION, &err);
    verbs_done(request, r, &err);
}
