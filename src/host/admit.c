#include "host/admit.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "host/copy.h"
#include "look/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct admission {
    uv_work_t work;
    struct admit_request request;
    struct admit_answer answer;
    void (*done)(void *context, struct admit_answer *answer);
    void *context;
};

void admit_request_free(struct admit_request *request)
{
    free(request->pen);
    free(request->working_directory);
    for (size_t i = 0; request->argv != NULL && request->argv[i] != NULL; i++)
        free(request->argv[i]);
    free(request->argv);
    for (size_t i = 0; i < request->file_count; i++)
        free(request->files[i].path);
    free(request->files);
    for (size_t i = 0; i < request->tree_count; i++)
        free(request->trees[i]);
    free(request->trees);
    *request = (struct admit_request){.owner = NULL};
}

void admit_policy_freep(struct policy **policy)
{
    copy_remove(*policy);
    policy_freep(policy);
}

int admit_add_file(struct admit_request *request, const struct store_file *file)
{
    struct admit_file *files =
        reallocarray(request->files, request->file_count + 1, sizeof *request->files);

    if (files == NULL)
        return -ENOMEM;
    request->files = files;
    files[request->file_count] =
        (struct admit_file){.path = strdup(file->path), .access = file->access};
    return files[request->file_count++].path == NULL ? -ENOMEM : 0;
}

/* ---- what jobs can write --------------------------------------------------------------------- */

struct gathering {
    struct store *store;
    struct admit_request *request;
    struct err *err;
};

static int add_tree(struct admit_request *request, const char *path)
{
    char **trees = reallocarray(request->trees, request->tree_count + 1, sizeof *trees);

    if (trees == NULL)
        return -ENOMEM;
    request->trees = trees;
    trees[request->tree_count] = strdup(path);
    return trees[request->tree_count++] == NULL ? -ENOMEM : 0;
}

static int take_file(void *context, const struct store_file *file)
{
    const struct gathering *gathering = context;

    return file->access == STORE_WRITE ? add_tree(gathering->request, file->path) : 0;
}

static int take_pen(void *context, const struct store_pen *pen)
{
    struct gathering *gathering = context;
    const int r = add_tree(gathering->request, pen->path);

    return r < 0 ? r
                 : store_file_each(gathering->store, pen->id, take_file, context, gathering->err);
}

int admit_add_trees(struct store *store, struct admit_request *request, struct err *err)
{
    struct gathering gathering = {.store = store, .request = request, .err = err};
    const int r = store_pen_each(store, take_pen, &gathering, err);

    return r == -ENOMEM ? err_memory(err) : r;
}

void admit_follow_trees(struct admit_request *request)
{
    for (size_t i = 0; i < request->tree_count; i++) {
        char *physical = NULL;

        if (path_physical(request->trees[i], &physical, NULL) < 0)
            continue;
        free(request->trees[i]);
        request->trees[i] = physical;
    }
}

/* ---- in the thread --------------------------------------------------------------------------- */

static int replaced(const char *pen, struct err *err)
{
    (void) err_set(err, EINVAL, "host.pen-replaced",
                   "the pen '%s' is another folder than the owner chose", pen);
    return err_hint(err, "the owner can look with 'wattle pens list' and mend it with 'wattle pens "
                         "rebind'");
}

/* The folder the owner made a pen, and no other that took its place. */
static int check_pen(const struct admit_request *request, struct err *err)
{
    AUTO_FREE char *physical = NULL;
    struct stat status;

    if (path_physical(request->pen, &physical, NULL) < 0 || stat(request->pen, &status) < 0)
        return err_set(err, ENOENT, "host.pen-missing", "the pen '%s' is not there", request->pen);
    if (str_equal(physical, request->pen) && status.st_dev == request->pen_dev &&
        status.st_ino == request->pen_inode)
        return 0;
    return replaced(request->pen, err);
}

/* The path was looked up anew since: what is mounted has to be the folder that the owner chose. */
static int check_derived(const struct admit_request *request, const struct policy *policy,
                         struct err *err)
{
    for (size_t i = 0; i < policy_rules(policy); i++) {
        const struct policy_rule *rule = policy_rule_at(policy, i);

        if (!rule->hold && str_equal(rule->path, request->pen) &&
            str_equal(policy_pen(policy), request->pen) && rule->dev == request->pen_dev &&
            rule->inode == request->pen_inode)
            return 0;
    }
    return replaced(request->pen, err);
}

static int check_directory(const char *directory, struct err *err)
{
    if (directory[0] == '/')
        return err_set(err, EINVAL, "host.directory",
                       "'working_directory' has to be relative to the pen");
    for (const char *part = directory; *part != '\0'; part += strspn(part, "/")) {
        const size_t size = strcspn(part, "/");

        if (size == 2 && memcmp(part, "..", 2) == 0)
            return err_set(err, EINVAL, "host.directory", "'working_directory' has a '..'");
        part += size;
    }
    return 0;
}

/* The owner's extra files of the pen, as a run's options would name them. Both end with NULL or
 * their count, and borrow. */
struct extra {
    struct derive_flag_path *paths;
    size_t path_count;
    const char **sockets;
};

static void extra_free(struct extra *extra)
{
    free(extra->paths);
    free(extra->sockets);
}

static int fill_extra(const struct admit_request *request, struct extra *extra, struct err *err)
{
    static const enum policy_access accesses[] = {
        [STORE_READ] = POLICY_READ, [STORE_WRITE] = POLICY_WRITE, [STORE_HIDE] = POLICY_HIDE};
    size_t sockets = 0;

    extra->paths = calloc(request->file_count + 1, sizeof *extra->paths);
    extra->sockets = calloc(request->file_count + 1, sizeof *extra->sockets);
    if (extra->paths == NULL || extra->sockets == NULL)
        return err_memory(err);
    for (size_t i = 0; i < request->file_count; i++) {
        const struct admit_file *file = &request->files[i];

        if (file->access == STORE_UNIX)
            extra->sockets[sockets++] = file->path;
        else
            extra->paths[extra->path_count++] =
                (struct derive_flag_path){.path = file->path, .access = accesses[file->access]};
    }
    return 0;
}

/* Symlinks that lead out of the pen are for derive to refuse. */
static int derive(const struct admit_request *request, struct policy **ret_policy, struct err *err)
{
    AUTO(extra_free) struct extra extra = {.paths = NULL};
    AUTO_FREE char *chdir = path_join(request->pen, request->working_directory);
    AUTO_FREE char *clean = NULL;
    union {
        char **in;
        const char *const *out;
    } argv = {.in = request->argv};
    struct derive_request wish = {
        .pen = request->pen,
        .argv = argv.out,
        .limits = {.deadline_ms = request->deadline_ms},
        .pin_command = true,
        .discreet = request->discreet,
        .stored_path = true,
        .pen_files = true,
    };
    int r = chdir == NULL ? err_memory(err) : fill_extra(request, &extra, err);

    if (r == 0)
        r = path_normalize(chdir, "/", NULL, &clean, err);
    if (r < 0)
        return r;
    wish.chdir = clean;
    wish.paths = extra.paths;
    wish.path_count = extra.path_count;
    wish.unix_sockets = extra.sockets;
    return derive_policy(request->owner, &wish, ret_policy, err);
}

/* What a model runs leaves nothing to detect afterwards: without a guard it does not run. */
static int prepare(const struct admit_request *request, struct policy *policy, struct err *err)
{
    AUTO(look_free) struct look seen = {0};
    const struct look_request wish = {.owner = request->owner, .how = LOOK_KEEP};

    policy_require(policy, POLICY_REQUIRE_GUARD);
    return look_apply(&wish, policy, &seen, err);
}

static int copy(struct admit_request *request, struct policy *policy, struct err *err)
{
    const struct copy_wish wish = {
        .owner = request->owner,
        .trees = request->trees,
        .tree_count = request->tree_count,
        .limit_bytes = request->copy_bytes,
        .keep = request->copy,
    };

    admit_follow_trees(request);
    return copy_command(&wish, policy, err);
}

static void look(uv_work_t *work)
{
    struct admission *admission = work->data;
    struct admit_request *request = &admission->request;
    struct err *err = &admission->answer.err;
    int r = check_pen(request, err);

    if (r == 0)
        r = check_directory(request->working_directory, err);
    if (r == 0)
        r = derive(request, &admission->answer.policy, err);
    if (r == 0)
        r = check_derived(request, admission->answer.policy, err);
    if (r == 0)
        r = prepare(request, admission->answer.policy, err);
    if (r == 0)
        r = copy(request, admission->answer.policy, err);
    if (r < 0)
        admit_policy_freep(&admission->answer.policy);
}

/* ---- in the loop ----------------------------------------------------------------------------- */

static void on_looked(uv_work_t *work, int status)
{
    struct admission *admission = work->data;

    if (status < 0)
        (void) err_set(&admission->answer.err, -status, "host.admit", "cannot look at the machine");
    if (admission->done != NULL)
        admission->done(admission->context, &admission->answer);
    admit_policy_freep(&admission->answer.policy);
    admit_request_free(&admission->request);
    free(admission);
}

int admit_begin(uv_loop_t *loop, struct admit_request *request,
                void (*done)(void *context, struct admit_answer *answer), void *context,
                struct admission **ret_admission, struct err *err)
{
    struct admission *admission = calloc(1, sizeof *admission);
    int r;

    if (admission == NULL)
        return err_memory(err);
    admission->work.data = admission;
    admission->request = *request;
    admission->done = done;
    admission->context = context;
    r = uv_queue_work(loop, &admission->work, look, on_looked);
    if (r < 0) {
        free(admission);
        return err_set(err, -r, "host.admit", "cannot look at the machine");
    }
    *request = (struct admit_request){.owner = NULL};
    *ret_admission = admission;
    return 0;
}

void admit_forget(struct admission *admission)
{
    admission->done = NULL;
}

/* ---- what was found -------------------------------------------------------------------------- */

static int changed(const struct policy_command *command, struct err *err)
{
    return err_set(err, EINVAL, "host.changed", "'%s' changed since it was asked for; ask again",
                   command->path);
}

/* What jobs could change is known by its bytes; both NULL for all else. */
int admit_compare(const struct policy *asked, const struct policy *now, struct err *err)
{
    const struct policy_command *a = policy_command(asked), *b = policy_command(now);

    if (a->content != NULL && b->content != NULL && str_equal(a->path, b->path)) {
        if (!str_equal(a->content, b->content))
            return changed(a, err);
    } else if (!str_equal(a->path, b->path) || a->content != b->content || a->dev != b->dev ||
               a->inode != b->inode || a->size_bytes != b->size_bytes ||
               a->mtime_ns != b->mtime_ns || a->ctime_ns != b->ctime_ns)
        return changed(a, err);
    if (!str_equal(policy_pen(asked), policy_pen(now)))
        return err_set(err, EINVAL, "host.changed",
                       "the pen changed since it was asked for; ask "
                       "again");
    return 0;
}

bool admit_is_harmless(const struct policy *policy)
{
    static const char *const names[] = {"pwd", "ls", "cat", "head", "tail", "wc"};
    static const char *const folders[] = {"/usr/bin/", "/bin/"};
    const char *path = policy_command(policy)->path;

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        if (!str_starts(path, folders[i]))
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
            if (str_equal(path + strlen(folders[i]), names[k]))
                return true;
        }
    }
    return false;
}

bool admit_fits(const struct store_identity *granted, const struct policy *policy)
{
    const struct policy_command *command = policy_command(policy);

    if (granted->path[0] == '\0' || !str_equal(granted->path, command->path))
        return false;
    if (command->content != NULL || granted->content[0] != '\0')
        return command->content != NULL && str_equal(granted->content, command->content);
    return granted->dev == command->dev && granted->inode == command->inode &&
           granted->size_bytes == command->size_bytes && granted->mtime_ns == command->mtime_ns &&
           granted->ctime_ns == command->ctime_ns;
}
