#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "host/host_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What DECIDES gives models more than they had: it is the owner's in person. */
enum { MODEL = 1u << RPC_MODEL, OWNER = 1u << RPC_OWNER, DECIDES = 1u << 2 };
_Static_assert((DECIDES & (MODEL | OWNER)) == 0, "bits of their own");

static const struct {
    const char *name;
    unsigned doors;
    host_method *method;
} methods[] = {
    {"turn.begin", MODEL, host_turn_begin},
    {"job.run", MODEL, host_job_run},
    {"job.status", MODEL, host_job_status},
    {"job.stop", MODEL, host_job_stop},
    {"host.status", OWNER, host_status},
    {"host.stop", OWNER, host_stop},
    {"pens.add", OWNER | DECIDES, host_pens_add},
    {"pens.list", OWNER, host_pens_list},
    {"pens.show", OWNER, host_pens_show},
    {"pens.rebind", OWNER | DECIDES, host_pens_rebind},
    {"pens.remove", OWNER, host_pens_remove},
    {"pens.files.list", OWNER, host_files_list},
    {"pens.files.add", OWNER | DECIDES, host_files_add},
    {"pens.files.edit", OWNER | DECIDES, host_files_edit},
    {"pens.files.remove", OWNER | DECIDES, host_files_remove},
    {"chats.list", OWNER, host_chats_list},
    {"chats.move", OWNER, host_chats_move},
    {"chats.delete", OWNER, host_chats_delete},
    {"chats.end_turn", OWNER, host_chats_end_turn},
    {"jobs.list", OWNER, host_jobs_list},
    {"jobs.show", OWNER, host_jobs_show},
    {"jobs.logs", OWNER, host_jobs_logs},
    {"jobs.stop", OWNER, host_jobs_stop},
    {"grants.add", OWNER | DECIDES, host_grants_add},
    {"grants.list", OWNER, host_grants_list},
    {"grants.remove", OWNER, host_grants_remove},
};

/* ---- parameters ------------------------------------------------------------------------------ */

static bool is_among(const char *const *keys, const char *key)
{
    for (; *keys != NULL; keys++) {
        if (str_equal(*keys, key))
            return true;
    }
    return false;
}

int host_params_check(const json_t *params, const char *const *keys, struct err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *) (uintptr_t) params, key, value)
    {
        if (!is_among(keys, key))
            return err_set(err, EINVAL, "rpc.params", "there is no parameter '%.64s'", key);
    }
    return 0;
}

int host_params_text(const json_t *params, const char *key, bool required, const char **ret_text,
                     struct err *err)
{
    const json_t *value = json_object_get(params, key);

    if (value == NULL && !required)
        return 0;
    if (value == NULL)
        return err_set(err, EINVAL, "rpc.params", "'%s' is missing", key);
    if (json_plain_text(value) == NULL || json_string_length(value) == 0)
        return err_set(err, EINVAL, "rpc.params",
                       "'%s' has to be a text that is not empty and has no NUL in it", key);
    *ret_text = json_string_value(value);
    return 0;
}

int host_params_number(const json_t *params, const char *key, uint64_t most, uint64_t *ret_number,
                       struct err *err)
{
    const json_t *value = json_object_get(params, key);
    const json_int_t number = json_integer_value(value);

    if (value == NULL)
        return 0;
    if (!json_is_integer(value) || number < 0 || (uint64_t) number > most)
        return err_set(err, EINVAL, "rpc.params", "'%s' has to be a whole number up to %llu", key,
                       (unsigned long long) most);
    *ret_number = (uint64_t) number;
    return 0;
}

int host_params_flag(const json_t *params, const char *key, bool *ret_flag, struct err *err)
{
    const json_t *value = json_object_get(params, key);

    if (value == NULL)
        return 0;
    if (!json_is_boolean(value))
        return err_set(err, EINVAL, "rpc.params", "'%s' has to be true or false", key);
    *ret_flag = json_is_true(value);
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void hello(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"api", "program", NULL};
    struct host_client *client = request->client;
    const char *program = NULL;
    uint64_t api = 0;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = host_params_number(params, "api", UINT32_MAX, &api, &err);
    if (r == 0)
        r = host_params_text(params, "program", true, &program, &err);
    if (r == 0 && client->greeted)
        r = err_set(&err, EINVAL, "rpc.invalid", "'hello' was said already");
    if (r == 0 && api != RPC_API_VERSION)
        r = err_set(&err, EINVAL, "host.version", "this host speaks version %d", RPC_API_VERSION);
    if (r < 0) {
        host_refuse(request, &err);
        return;
    }
    assert(program != NULL); /* it was required */
    client->greeted = true;
    client->program = strndup(program, 64);
    host_answer(request,
                json_pack("{s:i, s:s, s:s}", "api", RPC_API_VERSION, "version", WATTLE_VERSION,
                          "door", client->door == RPC_OWNER ? "owner" : "model"));
}

/* Of a shell that an agent's host has beside `wattle mcp`. */
static int refuse_kin(const struct host_client *client, const char *name, struct err *err)
{
    for (const struct host_client *other = client->host->clients; other != NULL;
         other = other->next) {
        if (!kin_descends(client->pid, &other->parent))
            continue;
        (void) err_set(err, EPERM, "host.kin",
                       "'%s' is the owner's to decide, and was asked for by what process %d "
                       "started, which also started a 'wattle mcp' that is connected",
                       name, (int) other->parent.pid);
        return err_hint(err, "if you mean it, run it from another terminal");
    }
    return 0;
}

static int find_method(const struct host_client *client, const char *name, host_method **ret_method,
                       struct err *err)
{
    if (str_equal(name, "hello")) {
        *ret_method = hello;
        return 0;
    }
    if (!client->greeted)
        return err_set(err, EINVAL, "rpc.invalid", "'hello' has to be said first");
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        if (str_equal(methods[i].name, name) && (methods[i].doors & (1u << client->door)) != 0) {
            *ret_method = methods[i].method;
            return (methods[i].doors & DECIDES) != 0 ? refuse_kin(client, name, err) : 0;
        }
    }
    return err_set(err, EINVAL, "rpc.method", "this door has no method '%.64s'", name);
}

static struct host_request *new_request(struct host_client *client, const json_t *id)
{
    struct host_request *request = calloc(1, sizeof *request);

    if (request == NULL)
        return NULL;
    request->client = client;
    request->id = json_deep_copy(id);
    request->back = &client->requests;
    request->next = client->requests;
    if (request->next != NULL)
        request->next->back = &request->next;
    client->requests = request;
    client->request_count++;
    return request;
}

static void on_request(struct host_client *client, const struct rpc_message *message)
{
    struct host_request *request = new_request(client, message->id);
    host_method *method = NULL;
    struct err err = {0};
    int r;

    if (request == NULL) {
        host_client_close(client);
        return;
    }
    r = find_method(client, message->method, &method, &err);
    if (r == 0 && client->host->ending)
        r = err_set(&err, EINVAL, "rpc.ending", "the host is ending");
    if (r == 0 && client->request_count > client->host->limits.requests)
        r = err_set(&err, EINVAL, "host.requests", "too many requests are open");
    if (r < 0) {
        host_refuse(request, &err);
        return;
    }
    assert(method != NULL); /* it was found */
    method(request, message->params);
}

/* "cancel": the only notification there is. */
static void on_notification(const struct host_client *client, const struct rpc_message *message)
{
    const json_t *id = json_object_get(message->params, "request");

    if (!str_equal(message->method, "cancel") || id == NULL)
        return;
    for (struct host_request *request = client->requests; request != NULL;
         request = request->next) {
        if (!json_equal(request->id, id))
            continue;
        if (request->cancel != NULL)
            request->cancel(request, false);
        return;
    }
}

void host_dispatch(struct host_client *client, const struct rpc_message *message)
{
    if (message->kind == RPC_REQUEST)
        on_request(client, message);
    else if (message->kind == RPC_NOTIFICATION)
        on_notification(client, message);
    else
        host_client_close(client); /* the host asks nobody anything */
}
