#include "base/cleanup.h"
#include "base/path.h"
#include "host/verbs_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int verbs_append(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) < 0 ? -ENOMEM : 0;
}

void verbs_done(struct host_request *request, int r, const struct err *err)
{
    if (r < 0)
        host_refuse(request, err);
    else
        host_answer(request, json_object());
}

static int unknown_pen(const char *key, struct err *err)
{
    (void) err_set(err, EINVAL, "pens.unknown", "there is no pen '%s'", key);
    return err_hint(err, "'wattle pens list' shows those there are; 'wattle pens add' makes one");
}

int verbs_find_pen(struct host *host, const json_t *params, struct store_pen *ret_pen,
                   struct err *err)
{
    AUTO_FREE char *physical = NULL;
    const char *key = NULL;
    struct err found = {0};
    int r = host_params_text(params, "pen", true, &key, err);

    if (r < 0)
        return r;
    r = store_pen_find(host->store, key, ret_pen, &found);
    if (r == -ENOENT && key[0] == '/' && path_physical(key, &physical, NULL) == 0)
        r = store_pen_find(host->store, physical, ret_pen, &found);
    if (r == -ENOENT)
        return unknown_pen(key, err);
    if (r < 0)
        *err = found;
    return r;
}

/* ---- looking at the machine ------------------------------------------------------------------ */

struct looking {
    struct host_request *request; /* NULL: nobody waits any more, and nothing is changed */
    struct admission *admission;
    struct verbs_look look;
};

static void free_looking(struct looking *looking)
{
    if (looking->look.free_value != NULL)
        looking->look.free_value(looking->look.value);
    free(looking);
}

static void on_looked(void *context, struct admit_answer *answer)
{
    struct looking *looking = context;
    struct host_request *request = looking->request;
    struct host *host = request == NULL ? NULL : request->client->host;
    json_t *result = NULL;

    if (request != NULL) {
        request->cancel = NULL;
        if (answer->err.code == 0)
            result = looking->look.then(host, looking->look.value, answer->policy, &answer->err);
        if (answer->err.code != 0)
            host_refuse(request, &answer->err);
        else
            host_answer(request, result);
    }
    free_looking(looking);
}

static void on_cancel(struct host_request *request, bool gone)
{
    struct looking *looking = request->value;
    const struct err err = {
        .code = ECANCELED, .id = "host.cancelled", .what = "the request was cancelled"};

    looking->request = NULL;
    request->cancel = NULL;
    if (!gone)
        host_refuse(request, &err);
}

static int fill(struct host *host, const struct verbs_look *look, struct admit_request *request,
                struct err *err)
{
    int r = 0;

    *request = (struct admit_request){
        .owner = host->owner,
        .pen = strdup(look->path),
        .pen_dev = look->dev,
        .pen_inode = look->inode,
        .working_directory = strdup("."),
        .argv = look->executable == NULL ? NULL : calloc(2, sizeof *request->argv),
        .copy_bytes = host->limits.copy_bytes,
    };
    if (request->argv != NULL)
        request->argv[0] = strdup(look->executable);
    if (request->pen == NULL || request->working_directory == NULL ||
        (look->executable != NULL && (request->argv == NULL || request->argv[0] == NULL)))
        return err_memory(err);
    if (look->add != NULL)
        r = look->add(host, look->value, request, err);
    return r < 0 ? r : admit_add_trees(host->store, request, err);
}

void verbs_look(struct host_request *request, const struct verbs_look *look)
{
    struct host *host = request->client->host;
    struct looking *looking = calloc(1, sizeof *looking);
    struct admit_request wish = {.owner = NULL};
    struct err err = {0};
    int r = looking == NULL ? err_memory(&err) : fill(host, look, &wish, &err);

    if (r == 0 && looking != NULL) {
        looking->look = *look;
        looking->request = request;
        r = admit_begin(&host->loop, &wish, on_looked, looking, &looking->admission, &err);
    }
    admit_request_free(&wish);
    if (r == 0) {
        request->value = looking;
        request->cancel = on_cancel;
        return;
    }
    if (look->free_value != NULL)
        look->free_value(look->value);
    free(looking);
    host_refuse(request, &err);
}
