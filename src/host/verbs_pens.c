/* Pens, and the owner's extra files of them. Only the owner makes a pen (C7). */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "host/job_priv.h"
#include "host/verbs_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- objects --------------------------------------------------------------------------------- */

static const char *state_of(const struct store_pen *pen)
{
    struct stat status;

    if (lstat(pen->path, &status) < 0)
        return "missing";
    return status.st_dev == pen->dev && status.st_ino == pen->inode ? "ok" : "replaced";
}

static json_t *pen_object(const struct store_pen *pen)
{
    assert(pen->path != NULL && pen->name != NULL); /* the store gives both */
    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:s, s:I}", "id", pen->id, "path",
                     json_text(pen->path, strlen(pen->path)), "name",
                     json_text(pen->name, strlen(pen->name)), "dev", (json_int_t) pen->dev, "inode",
                     (json_int_t) pen->inode, "created_ms", (json_int_t) pen->created_ms, "state",
                     state_of(pen), "revision", (json_int_t) pen->revision);
}

static const char *const accesses[] = {
    [STORE_READ] = "read",
    [STORE_WRITE] = "write",
    [STORE_HIDE] = "hide",
    [STORE_UNIX] = "unix",
};

/* Jobs get it only where it was named. */
static const char *state_of_file(const struct store_file *file)
{
    AUTO_FREE char *physical = NULL;

    if (path_physical(file->path, &physical, NULL) < 0)
        return "missing";
    return str_equal(physical, file->path) ? "ok" : "moved";
}

static int add_file(void *list, const struct store_file *file)
{
    return verbs_append(list, json_pack("{s:s, s:o, s:s, s:s}", "id", file->id, "path",
                                        json_text(file->path, strlen(file->path)), "access",
                                        accesses[file->access], "state", state_of_file(file)));
}

static int add_pen(void *list, const struct store_pen *pen)
{
    return verbs_append(list, pen_object(pen));
}

static int add_chat(void *list, const struct store_chat *chat)
{
    return verbs_append(list, json_pack("{s:s, s:o, s:I}", "id", chat->id, "name",
                                        json_text(chat->name, strlen(chat->name)), "open_turns",
                                        (json_int_t) chat->open_turns));
}

/* Ends a method that gathered. */
static void answer_list(struct host_request *request, const char *key, json_t *list_, int r,
                        struct err *err)
{
    AUTO(json_free) json_t *list = list_;

    if (r < 0 && err->code == 0)
        (void) err_memory(err);
    if (r < 0)
        host_refuse(request, err);
    else
        host_answer(request, json_pack("{s:O}", key, list));
}

/* ---- add, rebind ----------------------------------------------------------------------------- */

struct making {
    char *id; /* of the pen that gets another folder; NULL: a new one */
    struct store_pen pen;
};

static void free_making(void *value)
{
    struct making *making = value;

    free(making->id);
    store_pen_free(&making->pen);
    free(making);
}

/* What of the owner's settings does not work here, or is missing; or only what is told about what
 * `label` names (NULL: all). */
static json_t *notes_of(const struct policy *policy, const char *label)
{
    json_t *list = json_array();

    for (size_t i = 0; i < policy_notes(policy); i++) {
        const char *note = policy_note_at(policy, i);

        if (label != NULL && !str_starts(note, label))
            continue;
        if (json_array_append_new(list, json_pack("{s:o}", "note", json_text(note, strlen(note)))) <
            0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Turns that began in the old folder do not go on in the new one, nor in the old one. */
static int rebind(struct host *host, const struct making *making, struct err *err)
{
    const int r = store_pen_rebind(host->store, making->id, &making->pen, err);

    if (r == 0)
        (void) host_turns_halt(host, making->id, NULL, "the owner gave the pen another folder");
    return r;
}

static json_t *make(struct host *host, void *value, const struct policy *policy, struct err *err)
{
    struct making *making = value;
    struct store_pen made = {.path = NULL};
    json_t *object;
    int r;

    if (making->id == NULL)
        r = store_pen_add(host->store, &making->pen, err);
    else
        r = rebind(host, making, err);
    if (r == 0)
        r = store_pen_find(host->store, making->id == NULL ? making->pen.id : making->id, &made,
                           err);
    if (r < 0)
        return NULL;
    object = pen_object(&made);
    store_pen_free(&made);
    if (object == NULL || json_object_set_new(object, "notes", notes_of(policy, NULL)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* Takes `id`. */
static void make_of(struct host_request *request, const json_t *params, char *id_)
{
    AUTO_FREE char *id = id_;
    AUTO_FREE char *physical = NULL;
    const char *path = NULL, *name = "";
    struct making *making;
    struct stat status;
    struct err err = {0};
    int r = host_params_text(params, "path", true, &path, &err);

    if (r == 0)
        r = host_params_text(params, "name", false, &name, &err);
    if (r == 0 && !path_is_clean(path))
        r = err_set(&err, EINVAL, "rpc.params", "'path' has to be an absolute path");
    if (r == 0)
        r = path_physical(path, &physical, &err);
    if (r == 0 && stat(physical, &status) < 0)
        r = err_set(&err, errno, "pens.path", "cannot look at '%s'", physical);
    making = r < 0 ? NULL : calloc(1, sizeof *making);
    if (making == NULL) {
        if (r == 0)
            (void) err_memory(&err);
        host_refuse(request, &err);
        return;
    }
    making->id = TAKE_PTR(id);
    making->pen = (struct store_pen){.path = TAKE_PTR(physical),
                                     .name = strdup(name),
                                     .dev = status.st_dev,
                                     .inode = status.st_ino};
    verbs_look(request, &(struct verbs_look){.path = making->pen.path,
                                             .dev = status.st_dev,
                                             .inode = status.st_ino,
                                             .then = make,
                                             .free_value = free_making,
                                             .value = making});
}

void host_pens_add(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"path", "name", NULL};
    struct err err = {0};

    if (host_params_check(params, keys, &err) < 0)
        host_refuse(request, &err);
    else
        make_of(request, params, NULL);
}

void host_pens_rebind(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", "path", NULL};
    struct store_pen pen = {.path = NULL};
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = verbs_find_pen(request->client->host, params, &pen, &err);
    if (r < 0) {
        host_refuse(request, &err);
        return;
    }
    make_of(request, params, strdup(pen.id));
    store_pen_free(&pen);
}

/* ---- list, show, remove ---------------------------------------------------------------------- */

void host_pens_list(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {NULL};
    json_t *list = json_array();
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = store_pen_each(request->client->host->store, add_pen, list, &err);
    answer_list(request, "pens", list, r, &err);
}

static unsigned count_running(const struct host *host, const char *pen)
{
    unsigned count = 0;

    for (const struct host_job *job = host->jobs; job != NULL; job = job->next)
        count += job->step == HOST_JOB_RUNNING && str_equal(job->pen.id, pen);
    return count;
}

static json_t *show(struct host *host, const struct store_pen *pen, struct err *err)
{
    AUTO(json_free) json_t *object = pen_object(pen);
    json_t *chats = json_array(), *files = json_array();
    int r = store_chat_each(host->store, pen->id, add_chat, chats, err);

    if (r == 0)
        r = store_file_each(host->store, pen->id, add_file, files, err);
    if (json_object_set_new(object, "chats", chats) < 0 ||
        json_object_set_new(object, "files", files) < 0 ||
        json_object_set_new(object, "running", json_integer(count_running(host, pen->id))) < 0)
        r = err_memory(err);
    return r < 0 ? NULL : TAKE_PTR(object);
}

void host_pens_show(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", NULL};
    struct host *host = request->client->host;
    struct store_pen pen = {.path = NULL};
    json_t *object = NULL;
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = verbs_find_pen(host, params, &pen, &err);
    if (r == 0)
        object = show(host, &pen, &err);
    store_pen_free(&pen);
    if (err.code != 0)
        host_refuse(request, &err);
    else
        host_answer(request, object);
}

void host_pens_remove(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", NULL};
    struct host *host = request->client->host;
    struct store_pen pen = {.path = NULL};
    struct err err = {0};
    int r = host_params_check(params, keys, &err);

    if (r == 0)
        r = verbs_find_pen(host, params, &pen, &err);
    if (r == 0) {
        (void) host_turns_halt(host, pen.id, NULL, "the owner removed the pen");
        r = store_pen_remove(host->store, pen.id, &err);
    }
    store_pen_free(&pen);
    verbs_done(request, r, &err);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_access(const json_t *params, bool required, enum store_access *ret_access,
                       struct err *err)
{
    const char *word = NULL;
    const int r = host_params_text(params, "access", required, &word, err);

    if (r < 0 || word == NULL)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(accesses); i++) {
        if (!str_equal(word, accesses[i]))
            continue;
        *ret_access = (enum store_access) i;
        return 0;
    }
    return err_set(err, EINVAL, "rpc.params", "'access' has to be read, write, hide or unix");
}

static void answer_files(struct host_request *request, const char *pen, int r, struct err *err)
{
    json_t *list = json_array();

    if (r == 0)
        r = store_file_each(request->client->host->store, pen, add_file, list, err);
    answer_list(request, "files", list, r, err);
}

/* What those that look at nothing begin with. */
static int begin_files(struct host_request *request, const json_t *params, const char *const *keys,
                       char pen[STORE_ID_SIZE], struct err *err)
{
    struct store_pen found = {.path = NULL};
    int r = host_params_check(params, keys, err);

    if (r == 0)
        r = verbs_find_pen(request->client->host, params, &found, err);
    if (r == 0)
        memcpy(pen, found.id, STORE_ID_SIZE);
    store_pen_free(&found);
    return r;
}

void host_files_list(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", NULL};
    char pen[STORE_ID_SIZE] = "";
    struct err err = {0};
    const int r = begin_files(request, params, keys, pen, &err);

    answer_files(request, pen, r, &err);
}

/* A rule to be added or changed, once the machine was looked at: as a job would get it, with the
 * pen's others. */
struct filing {
    struct store_pen pen;
    struct store_file file; /* id "": a new one */
};

static void free_filing(void *value)
{
    struct filing *filing = value;

    store_pen_free(&filing->pen);
    free(filing->file.path);
    free(filing);
}

struct taking {
    const struct filing *filing;
    struct admit_request *request;
};

static int take_other(void *context, const struct store_file *file)
{
    const struct taking *taking = context;

    return str_equal(file->id, taking->filing->file.id) ? 0 : admit_add_file(taking->request, file);
}

static int take_files(struct host *host, const void *value, struct admit_request *request,
                      struct err *err)
{
    const struct filing *filing = value;
    struct taking taking = {.filing = filing, .request = request};
    int r = store_file_each(host->store, filing->pen.id, take_other, &taking, err);

    if (r == 0)
        r = admit_add_file(request, &filing->file);
    return r == -ENOMEM ? err_memory(err) : r;
}

static json_t *file_it(struct host *host, void *value, const struct policy *policy, struct err *err)
{
    struct filing *filing = value;
    AUTO(json_free) json_t *list = json_array();
    int r = filing->file.id[0] == '\0' ? store_file_add(host->store, &filing->file, err)
                                       : store_file_edit(host->store, &filing->file, err);

    if (r == 0)
        r = store_file_each(host->store, filing->pen.id, add_file, list, err);
    if (r < 0)
        return NULL;
    return json_pack("{s:O, s:o}", "files", list, "notes", notes_of(policy, derive_pen_files));
}

/* What both begin with. */
static int begin_filing(struct host_request *request, const json_t *params, const char *const *keys,
                        struct filing **ret_filing, struct err *err)
{
    struct filing *filing = calloc(1, sizeof *filing);
    int r;

    if (filing == NULL) {
        (void) err_memory(err);
        return -ENOMEM;
    }
    r = host_params_check(params, keys, err);
    if (r == 0)
        r = verbs_find_pen(request->client->host, params, &filing->pen, err);
    if (r < 0) {
        free(filing);
        return r;
    }
    memcpy(filing->file.pen, filing->pen.id, sizeof filing->file.pen);
    *ret_filing = filing;
    return 0;
}

static int take_path(struct filing *filing, const char *path, struct err *err)
{
    if (!path_is_clean(path))
        return err_set(err, EINVAL, "rpc.params", "'path' has to be an absolute path");
    free(filing->file.path);
    filing->file.path = strdup(path);
    return filing->file.path == NULL ? err_memory(err) : 0;
}

/* Takes `filing`, which may be NULL when `r` is below 0. */
static void end_filing(struct host_request *request, struct filing *filing, int r,
                       const struct err *err)
{
    if (r == 0) {
        verbs_look(request, &(struct verbs_look){.path = filing->pen.path,
                                                 .dev = filing->pen.dev,
                                                 .inode = filing->pen.inode,
                                                 .add = take_files,
                                                 .then = file_it,
                                                 .free_value = free_filing,
                                                 .value = filing});
        return;
    }
    if (filing != NULL)
        free_filing(filing);
    host_refuse(request, err);
}

void host_files_add(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", "path", "access", NULL};
    struct filing *filing = NULL;
    const char *path = NULL;
    struct err err = {0};
    int r = begin_filing(request, params, keys, &filing, &err);

    if (r == 0)
        r = host_params_text(params, "path", true, &path, &err);
    if (r == 0)
        r = read_access(params, true, &filing->file.access, &err);
    if (r == 0)
        r = take_path(filing, path, &err);
    end_filing(request, filing, r, &err);
}

struct editing {
    const char *id;
    struct store_file *file;
};

static int find_file(void *context, const struct store_file *file)
{
    const struct editing *editing = context;

    if (!str_equal(file->id, editing->id))
        return 0;
    editing->file->access = file->access;
    editing->file->path = strdup(file->path);
    memcpy(editing->file->id, file->id, sizeof editing->file->id);
    return editing->file->path == NULL ? -ENOMEM : 1;
}

/* What is not given stays. */
static int read_edit(struct host *host, const json_t *params, struct filing *filing,
                     struct err *err)
{
    struct editing editing = {.file = &filing->file};
    const char *path = NULL;
    int r = host_params_text(params, "id", true, &editing.id, err);

    if (r == 0)
        r = store_file_each(host->store, filing->pen.id, find_file, &editing, err);
    if (r == 0)
        return err_set(err, EINVAL, "pens.file-unknown", "the pen has no file '%.32s'", editing.id);
    if (r > 0)
        r = host_params_text(params, "path", false, &path, err);
    if (r == 0)
        r = read_access(params, false, &filing->file.access, err);
    if (r == 0 && path != NULL)
        r = take_path(filing, path, err);
    return r == -ENOMEM ? err_memory(err) : r;
}

void host_files_edit(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", "id", "path", "access", NULL};
    struct filing *filing = NULL;
    struct err err = {0};
    int r = begin_filing(request, params, keys, &filing, &err);

    if (r == 0)
        r = read_edit(request->client->host, params, filing, &err);
    end_filing(request, filing, r, &err);
}

void host_files_remove(struct host_request *request, const json_t *params)
{
    static const char *const keys[] = {"pen", "id", NULL};
    char pen[STORE_ID_SIZE] = "";
    const char *id = NULL;
    struct err err = {0};
    int r = begin_files(request, params, keys, pen, &err);

    if (r == 0)
        r = host_params_text(params, "id", true, &id, &err);
    if (r == 0)
        r = store_file_remove(request->client->host->store, pen, id, &err);
    answer_files(request, pen, r, &err);
}
