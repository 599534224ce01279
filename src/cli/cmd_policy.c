/* `wattle policy show` and `explain`: what a run may do, from the resolver that enforces it. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/preflight.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/view.h"
#include "job/names.h"
#include "job/outlook.h"
#include "policy/credentials.h"
#include "policy/print.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWERS_LIMIT_BYTES = 4 << 20 };

/* ---- show --------------------------------------------------------------------------------- */

static int show(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(policy_freep) struct policy *policy = NULL;
    const char *const *argv = values->rest_count > 0 ? values->rest : NULL;
    int rc = request_derive(values, argv, &owner, &policy, err);

    if (rc == 0)
        rc = preflight_hide(values, owner, policy, err);
    if (rc < 0)
        return rc;
    return view_print(policy, owner, values->mechanism, values->json, err);
}

static const struct option_group *const show_groups[] = {
    &options_reach, &options_start, &options_bounds, &options_mechanism, &options_json,
    &options_help,  NULL,
};

const struct cmd cmd_policy_show = {
    .name = "policy",
    .verb = "show",
    .args = "[[--] COMMAND [ARGUMENT...]]",
    .summary = "print what a run with these options may reach, and why",
    .groups = show_groups,
    .takes_command = true,
    .run = show,
};

/* ---- explain ------------------------------------------------------------------------------ */

static int cut_last(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL || slash[1] == '\0')
        return -ENOENT;
    slash[slash == path ? 1 : 0] = '\0';
    return 0;
}

/* The physical path as far as it exists, and the rest as it stands. */
static int physical_as_far(const char *path, char **ret_path, struct err *err)
{
    AUTO_FREE char *top = strdup(path);
    AUTO_FREE char *physical = NULL;
    const char *rest;
    int rc;

    if (top == NULL)
        return err_memory(err);
    rc = path_physical(top, &physical, err);
    while ((rc == -ENOENT || rc == -ENOTDIR || rc == -EACCES) && cut_last(top) == 0)
        rc = path_physical(top, &physical, err);
    if (rc < 0)
        return rc;
    rest = path + strlen(top);
    rest += *rest == '/';
    *ret_path = *rest == '\0' ? TAKE_PTR(physical) : path_join(physical, rest);
    return *ret_path == NULL ? err_memory(err) : 0;
}

struct links {
    const struct policy *policy;
    struct policy_answer *answer; /* of the first link that is not shown */
};

static int ask_link(void *context, const char *link, const char *target)
{
    struct links *links = context;
    struct policy_answer answer;

    (void) target;
    policy_explain(links->policy, link, &answer);
    if (answer.access != POLICY_HIDE)
        return 0;
    *links->answer = answer;
    return 1;
}

/* A path in a place for credentials is hidden for want of a rule, as others are; that a wider rule
 * would not open it is what its owner has to know. */
static void note_credential(const char *home, const char *path, struct policy_answer *answer)
{
    const bool unasked = answer->rule == NULL || answer->rule->origin == POLICY_FROM_CREDENTIALS;

    if (answer->access == POLICY_HIDE && unasked && answer->place == NULL &&
        credential_place_of(path, home) != NULL)
        answer->why = "a place for credentials, which only a rule with its exact name opens";
}

/* What the answers are taken from. */
struct asking {
    const struct policy *policy;
    const char *home;
    const struct job_names *names;
};

/* Where a run would have no guard, names that are there are held, and new ones are only looked at
 * when it is over. */
static void ask_name(const struct asking *asking, const char *physical, struct job_name *ret_name)
{
    const enum policy_guard guard = policy_get_guard(asking->policy);
    struct stat seen;

    assert(physical != NULL);
    if (guard == POLICY_GUARD_OFF)
        return;
    job_names_ask(asking->names, physical, ret_name);
    if (!ret_name->guarded || guard == POLICY_GUARD_ON)
        return;
    ret_name->vetted = lstat(physical, &seen) == 0
                           ? NULL
                           : "not prevented, but looked at when the run is over (wattle-held(1))";
}

/* A path of the host may run through symlinks. Inside it works when every one of them is shown, and
 * then it means what it leads to. */
static int answer_path(const struct asking *asking, const char *path,
                       struct policy_answer *ret_answer, struct job_name *ret_name, struct err *err)
{
    const struct policy *policy = asking->policy;
    struct links links = {.policy = policy, .answer = ret_answer};
    AUTO_FREE char *physical = NULL;
    int rc;

    assert(path != NULL);
    policy_explain(policy, path, ret_answer);
    if (ret_answer->place != NULL) /* the job's own: the host has no say */
        return 0;
    rc = path_each_symlink(path, ask_link, &links, NULL);
    if (rc > 0)
        return 0;
    rc = physical_as_far(path, &physical, err);
    if (rc < 0)
        return rc;
    policy_explain(policy, physical, ret_answer);
    note_credential(asking->home, path, ret_answer);
    note_credential(asking->home, physical, ret_answer);
    if (ret_answer->access == POLICY_WRITE && ret_answer->place == NULL)
        ask_name(asking, physical, ret_name);
    return 0;
}

static void print_guarded(const struct job_name *name, const char *path, struct buf *text)
{
    (void) buf_add_text(text, "guarded ");
    (void) str_add_inert(text, path, strlen(path));
    (void) buf_printf(text, ": %s; ", name->vetted != NULL ? "vetted" : "held");
    (void) buf_add_text(text, name->vetted != NULL ? name->vetted : name->reason);
    (void) buf_add_text(text, " (name '");
    (void) str_add_inert(text, name->pattern, strlen(name->pattern));
    (void) buf_add_text(text, "')\n");
}

static int add_guard(const struct job_name *name, json_t *object, struct err *err)
{
    AUTO(json_free) json_t *guard = name->guarded ? json_object() : json_null();
    const char *const members[][2] = {
        {"existing", name->existing}, {"new", name->newcomer},  {"pattern", name->pattern},
        {"reason", name->reason},     {"vetted", name->vetted},
    };

    for (size_t i = 0; name->guarded && i < ARRAY_SIZE(members); i++) {
        const char *value = members[i][1];

        if (json_object_set_new(guard, members[i][0],
                                value == NULL ? json_null() : json_text(value, strlen(value))) < 0)
            return err_memory(err);
    }
    return json_object_set(object, "guard", guard) < 0 ? err_memory(err) : 0;
}

static int add_answer(const struct policy_answer *answer, const struct job_name *name,
                      const char *path, bool json, struct buf *text, struct err *err)
{
    AUTO(json_free) json_t *object = NULL;
    int rc;

    if (!json && name->guarded) {
        print_guarded(name, path, text);
        return buf_check(text, "the answer", err);
    }
    if (!json)
        return policy_print_answer(answer, path, text, err);
    rc = policy_print_answer_json(answer, path, &object, err);
    if (rc == 0)
        rc = add_guard(name, object, err);
    if (rc < 0)
        return rc;
    rc = json_print(text, object);
    return rc < 0 ? err_set(err, -rc, "cli.output", "cannot print the answer") : 0;
}

/* The same folder by another name than getcwd's, when the caller came there through a symlink. */
static int normalize(const char *typed, const struct derive_owner *owner, char **ret_path,
                     struct err *err)
{
    AUTO_FREE char *cwd = NULL;

    if (typed[0] == '\0')
        return err_set(err, EINVAL, "cli.arguments", "a path is empty");
    if (typed[0] != '/' && typed[0] != '~') {
        cwd = getcwd(NULL, 0);
        if (cwd == NULL || cwd[0] != '/')
            return err_set(err, cwd == NULL ? errno : ENOENT, "cli.arguments",
                           "cannot tell where '%s' is: the current folder", typed);
    }
    return path_normalize(typed, cwd != NULL ? cwd : "/", owner->home, ret_path, err);
}

/* Returns 1 when one of them is not open as `wanted`. */
static int answer_all(const struct values *values, const struct derive_owner *owner,
                      const struct asking *asking, struct buf *text, struct err *err)
{
    const enum policy_access wanted = values->to_write ? POLICY_WRITE : POLICY_READ;
    int status = CMD_OK;

    for (size_t i = 0; i < values->rest_count; i++) {
        AUTO_FREE char *path = NULL;
        struct policy_answer answer = {0};
        struct job_name name = {0};
        int rc = normalize(values->rest[i], owner, &path, err);

        if (rc == 0)
            rc = answer_path(asking, path, &answer, &name, err);
        if (rc == 0)
            rc = add_answer(&answer, &name, path, values->json, text, err);
        if (rc < 0)
            return rc;
        if (answer.access < wanted || (values->to_write && name.guarded && name.vetted == NULL))
            status = CMD_FAILED;
    }
    return status;
}

/* What sockets, settings, symlinks and other names of a file in the pen do to it is found there;
 * for other paths nobody has to look. */
static int asks_of_pen(const struct values *values, const struct derive_owner *owner,
                       const struct policy *policy, struct err *err)
{
    for (size_t i = 0; i < values->rest_count; i++) {
        AUTO_FREE char *path = NULL;
        AUTO_FREE char *physical = NULL;
        int rc = normalize(values->rest[i], owner, &path, err);

        if (rc < 0)
            return rc;
        assert(path != NULL);
        rc = physical_as_far(path, &physical, err);
        if (rc < 0)
            return rc;
        if (path_is_below(physical, policy_pen(policy)))
            return 1;
    }
    return 0;
}

/* The policy of a run with these options, where one of the paths may need all of it. */
static int explain_derive(const struct values *values, struct derive_owner **ret_owner,
                          struct policy **ret_policy, struct err *err)
{
    struct err why;
    int rc = request_derive(values, NULL, ret_owner, ret_policy, err);

    if (rc == 0)
        rc = job_guard_settle(*ret_policy, &why, err);
    if (rc >= 0)
        rc = asks_of_pen(values, *ret_owner, *ret_policy, err);
    return rc > 0 ? preflight_hide(values, *ret_owner, *ret_policy, err) : rc;
}

static int explain(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(policy_freep) struct policy *policy = NULL;
    AUTO(job_names_freep) struct job_names *names = NULL;
    AUTO(buf_free) struct buf text = {0};
    struct asking asking;
    int status;
    int rc;

    buf_init(&text, ANSWERS_LIMIT_BYTES);
    if (values->rest_count == 0)
        return err_set(err, EINVAL, "cli.arguments", "'policy explain' wants a path");
    rc = explain_derive(values, &owner, &policy, err);
    if (rc == 0)
        rc = job_names_make(policy, &names, err);
    if (rc < 0)
        return rc;
    asking = (struct asking){.policy = policy, .home = owner->home, .names = names};
    status = answer_all(values, owner, &asking, &text, err);
    if (status < 0)
        return status;
    rc = print_out(&text, err);
    return rc < 0 ? rc : status;
}

static const struct option_group *const explain_groups[] = {
    &options_explain, &options_reach, &options_start, &options_mechanism,
    &options_json,    &options_help,  NULL,
};

const struct cmd cmd_policy_explain = {
    .name = "policy",
    .verb = "explain",
    .args = "PATH...",
    .summary = "say whether a run may read (or change) PATH, by which rule, and why",
    .groups = explain_groups,
    .run = explain,
};
