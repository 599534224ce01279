#include "cli/request.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

static int refuse_network(const struct values *values, struct err *err)
{
    if (values->net != NULL && !str_equal(values->net, "none"))
        (void) err_set(err, EINVAL, "cli.not-built", "'--net %s' is not built yet", values->net);
    else if (values->allow.count > 0)
        (void) err_set(err, EINVAL, "cli.not-built", "'--allow' is not built yet");
    else
        return 0;
    return err_hint(err, "this version gives a command no network but its own 127.0.0.1");
}

int request_owner(const struct values *values, struct derive_owner **ret_owner, struct err *err)
{
    AUTO_FREE char *pen = NULL;
    /* A pen that cannot be found is reported by derive_policy, in better words. */
    const int rc = path_physical(values->pen != NULL ? values->pen : ".", &pen, NULL);
    const char *const tops[] = {rc == 0 ? pen : NULL, NULL};

    return derive_owner_find(tops, ret_owner, err);
}

struct path_flags {
    struct derive_flag_path *items;
    size_t count;
};

static void add_paths(struct path_flags *paths, const struct option_list *list,
                      enum policy_access access)
{
    for (size_t i = 0; i < list->count; i++) {
        paths->items[paths->count++] = (struct derive_flag_path){
            .path = list->items[i],
            .access = access,
        };
    }
}

static int collect_paths(const struct values *values, struct path_flags *ret_paths, struct err *err)
{
    const size_t count = values->read.count + values->write.count + values->deny.count;

    ret_paths->items = calloc(count + 1, sizeof *ret_paths->items);
    if (ret_paths->items == NULL)
        return err_memory(err);
    add_paths(ret_paths, &values->read, POLICY_READ);
    add_paths(ret_paths, &values->write, POLICY_WRITE);
    add_paths(ret_paths, &values->deny, POLICY_HIDE);
    return 0;
}

static struct policy_limits limits_of(const struct values *values)
{
    return (struct policy_limits){
        .deadline_ms = values->timeout_ms,
        .kill_after_ms = values->kill_after_ms,
        .memory_bytes = values->memory_bytes,
        .processes = values->processes,
        .open_files = values->open_files,
        .file_bytes = values->file_bytes,
        .tmp_bytes = values->tmp_bytes,
    };
}

static enum policy_guard guard_of(const struct values *values)
{
    static const struct {
        const char *word;
        enum policy_guard guard;
    } words[] = {{"off", POLICY_GUARD_OFF}, {"detect", POLICY_GUARD_DETECT}};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (values->guard != NULL && str_equal(values->guard, words[i].word))
            return words[i].guard;
    return POLICY_GUARD_ON;
}

int request_derive(const struct values *values, const char *const *argv,
                   struct derive_owner **ret_owner, struct policy **ret_policy, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    struct path_flags paths = {0};
    struct derive_request request = {
        .pen = values->pen,
        .chdir = values->chdir,
        .argv = argv,
        .env = values->env.items,
        .deny_write = values->deny_write.items,
        .unix_sockets = values->unix_sockets.items,
        .policy_files = values->policy_files.items,
        .limits = limits_of(values),
        .guard_off = values->guard != NULL && str_equal(values->guard, "off"),
        .caches_given = values->caches != NULL,
        .caches = str_equal(values->caches != NULL ? values->caches : "", "job")
                      ? POLICY_CACHES_JOB
                      : POLICY_CACHES_PEN,
    };
    int rc = refuse_network(values, err);

    if (rc == 0)
        rc = request_owner(values, &owner, err);
    if (rc == 0)
        rc = collect_paths(values, &paths, err);
    if (rc < 0)
        return rc;
    request.paths = paths.items;
    request.path_count = paths.count;
    rc = derive_policy(owner, &request, ret_policy, err);
    free(paths.items);
    if (rc < 0)
        return rc;
    policy_set_guard(*ret_policy, guard_of(values));
    *ret_owner = TAKE_PTR(owner);
    return 0;
}
