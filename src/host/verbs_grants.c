/* Grants, as far as the owner gives them by hand. An executable is looked at where it lies, never
 * run. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "host/copy.h"
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
    if (granted->content[0] != '\0')
        return "ok"; /* look_at_contents has more to say */
    return now.st_dev == granted->dev && now.st_ino == granted->inode &&
                   (uint64_t) now.st_size == granted->size_bytes &&
                   ns_of(&now.st_mtim) == granted->mtime_ns &&
                   ns_of(&now.st_ctim) == granted->ctime_ns
               ? "ok"
               : "changed";
}

static json_t *grant_object(const struct store_grant *grant)
{
    const struct store_identity *executable = &grant->executable;

    return json_pack("{s:s, s:s, s:s?, s:o, s:s?, s:b, s:I, s:I, s:I, s:s}", "id", grant->id, "pen",
                     grant->pen, "chat", grant->chat[0] == '\0' ? NULL : grant->chat, "executable",
                     json_text(executable->path, strlen(executable->path)), "content",
                     executable->content[0] == '\0' ? NULL : executable->content, "network",
                     (int) grant->network, "created_ms", (json_int_t) grant->created_ms, "used_ms",
                     (json_int_t) grant->used_ms, "uses", (json_int_t) grant->uses, "state",
                     state_of(executable));
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
    if (command->content != NULL)
        memcpy(grant->executable.content, command->content, sizeof grant->executable.content);
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

/* ---- list ------------------------------------------------------------------------------------ */

struct content {
    char *path;
    char reviewed[STORE_CONTENT_SIZE];
    size_t index; /* in the list */
    bool same;
};

/* Of those that jobs could change the bytes are read: in a thread. */
struct listing {
    uv_work_t work;
    struct host_request *request; /* NULL: nobody waits any more */
    struct admit_request trees;
    json_t *list;
    uint64_t revision;
    struct content *contents;
    size_t count;
};

static void free_listing(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->contents[i].path);
    free(listing->contents);
    json_decref(listing->list);
    admit_request_free(&listing->trees);
    free(listing);
}

static int add_content(struct listing *listing, const struct store_grant *grant)
{
    struct content *contents =
        reallocarray(listing->contents, listing->count + 1, sizeof *contents);
    struct content *content;

    if (contents == NULL)
        return -ENOMEM;
    listing->contents = contents;
    content = &contents[listing->count];
    *content = (struct content){.path = strdup(grant->executable.path),
                                .index = json_array_size(listing->list) - 1};
    if (content->path == NULL)
        return -ENOMEM;
    memcpy(content->reviewed, grant->executable.content, sizeof content->reviewed);
    listing->count++;
    return 0;
}

static int add_grant(void *context, const struct store_grant *grant)
{
    struct listing *listing = context;
    const int r = verbs_append(listing->list, grant_object(grant));

    return r < 0 || grant->executable.content[0] == '\0' ? r : add_content(listing, grant);
}

static void look_at_contents(uv_work_t *work)
{
    struct listing *listing = work->data;
    const struct copy_wish wish = {
        .owner = listing->trees.owner,
        .trees = listing->trees.trees,
        .tree_count = listing->trees.tree_count,
        .limit_bytes = listing->trees.copy_bytes,
    };

    admit_follow_trees(&listing->trees);
    for (size_t i = 0; i < listing->count; i++) {
        struct content *content = &listing->contents[i];
        char now[STORE_CONTENT_SIZE];

        content->same =
            copy_hash(&wish, content->path, now, NULL) == 0 && str_equal(now, content->reviewed);
    }
}

static void answer_listing(struct listing *listing)
{
    host_answer(listing->request,
                json_pack("{s:I, s:O}", "revision", (json_int_t) listing->revision, "grants",
                          listing->list));
    free_listing(listing);
}

static void on_looked(uv_work_t *work, int status)
{
    struct listing *listing = work->data;

    if (listing->request == NULL) {
        free_listing(listing);
        return;
    }
    listing->request->cancel = NULL;
    for (size_t i = 0; i < listing->count; i++) {
        json_t *object = json_array_get(listing->list, listing->contents[i].index);
        const char *state = json_string_value(json_object_get(object, "state"));

        if ((status < 0 || !listing->contents[i].same) && str_equal(state, "ok"))
            (void) json_object_set_new(object, "state", json_string("changed"));
    }
    answer_listing(listing);
}

static void on_cancel(struct host_request *request, bool gone)
{
    struct listing *listing = request->value;
    const struct err err = {
        .code = ECANCELED, .id = "host.cancelled", .what = "the request was cancelled"};

    listing->request = NULL;
    request->cancel = NULL;
    if (!gone)
        host_refuse(request, &err);
}

static int fill_listing(struct host *host, const json_t *params, struct listing *listing,
                        struct err *err)
{
    static const char *const keys[] = {"pen", NULL};
    struct store_pen pen = {.path = NULL};
    int r = host_params_check(params, keys, err);

    listing->list = json_array();
    listing->trees.owner = host->owner;
    listing->trees.copy_bytes = host->limits.copy_bytes;
    if (r == 0)
        r = verbs_find_pen(host, params, &pen, err);
    if (r == 0)
        r = store_grant_each(host->store, pen.id, add_grant, listing, err);
    if (r == -ENOMEM && err->code == 0)
        r = err_memory(err);
    if (r == 0)
        r = admit_add_trees(host->store, &listing->trees, err);
    listing->revision = pen.revision;
    store_pen_free(&pen);
    return r;
}

void host_grants_list(struct host_request *request, const json_t *params)
{
    struct host *host = request->client->host;
    struct listing *listing = calloc(1, sizeof *listing);
    struct err err = {0};

    if (listing == NULL) {
        (void) err_memory(&err);
        host_refuse(request, &err);
        return;
    }
    if (fill_listing(host, params, listing, &err) < 0) {
        free_listing(listing);
        host_refuse(request, &err);
        return;
    }
    listing->request = request;
    listing->work.data = listing;
    if (listing->count == 0 ||
        uv_queue_work(&host->loop, &listing->work, look_at_contents, on_looked) < 0) {
        answer_listing(listing);
        return;
    }
    request->value = listing;
    request->cancel = on_cancel;
}

/* ---- remove ---------------------------------------------------------------------------------- */

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
