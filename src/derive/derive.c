/* One policy, from start to end. Each step has its file; the order matters and is here. */
#include "derive/derive.h"

#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct derive_machine derive_this_machine = {
    .passwd_file = "/etc/passwd",
    .group_file = "/etc/group",
    .admin_file = "/etc/wattle/config.json",
    .gitconfig_file = "/etc/gitconfig",
};

const char derive_admin[] = "/etc/wattle";
const char derive_deny_write[] = "--deny-write";

/* ---- what every step uses ---------------------------------------------------------------- */

int derive_note(const struct derivation *work, struct err *err, const char *format, ...)
{
    AUTO_FREE char *text = NULL;
    va_list arguments;
    int length = 0;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text = NULL; /* vasprintf leaves it undefined */
        return err_memory(err);
    }
    return policy_add_note(work->policy, text, err);
}

/* The policy borrows the strings of a rule or place for the call, and does not write to them. */
static char *borrowed(const char *text)
{
    union {
        const char *in;
        char *out;
    } pointer = {.in = text};

    return pointer.out;
}

int derive_rule_add(const struct derivation *work, const struct derive_rule *rule, struct err *err)
{
    const struct policy_rule added = {
        .path = borrowed(rule->path),
        .access = rule->access,
        .origin = rule->origin,
        .why = borrowed(rule->why),
        .optional = rule->optional,
        .hold = rule->hold,
        .dev = rule->seen != NULL ? rule->seen->st_dev : 0,
        .inode = rule->seen != NULL ? rule->seen->st_ino : 0,
    };

    return policy_add_rule(work->policy, &added, err);
}

int derive_place_add(const struct derivation *work, enum policy_place_kind kind, const char *path,
                     const char *source, const char *why, struct err *err)
{
    const bool writable = kind == POLICY_PLACE_TMPFS || kind == POLICY_PLACE_DEV ||
                          kind == POLICY_PLACE_PROC || path_is_below(path, POLICY_INSIDE_HOME);
    const struct policy_place added = {
        .kind = kind,
        .access = writable ? POLICY_WRITE : POLICY_READ,
        .path = borrowed(path),
        .source = borrowed(source),
        .why = borrowed(why),
        .bytes = kind == POLICY_PLACE_TMPFS ? policy_get_limits(work->policy)->tmp_bytes : 0,
    };

    return policy_add_place(work->policy, &added, err);
}

bool derive_shown(const struct derivation *work, const char *path)
{
    return policy_resolve(work->policy, path, NULL) != POLICY_HIDE;
}

/* ---- steps without a file of their own --------------------------------------------------- */

/* The owner was found without a pen, perhaps: none of its places may lie in one (L5). */
static int check_locations(struct derivation *work, struct err *err)
{
    const struct derive_owner *owner = work->owner;
    /* For the pen itself C7 has the better words. */
    const char *const own[] = {owner->config_dir, owner->state_dir, owner->cache_dir};
    int r = 0;

    if (work->tree == NULL || str_equal(work->tree, work->pen))
        return 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++)
        r = derive_location_outside(own[i], "wattle's own folder", NULL, work->tree, err);
    return r < 0 ? err_hint(err, "%s", derive_location_hint) : 0;
}

static int set_cwd(struct derivation *work, struct err *err)
{
    bool leads =
        str_equal(work->start, work->start_typed) || derive_links_lead(work, work->start_typed);

    return policy_set_cwd(work->policy, leads ? work->start_typed : work->start, err);
}

/* What the administrator hides is hidden, also where it is the pen or what the command needs. */
static int check_result(struct derivation *work, struct err *err)
{
    const char *const needed[] = {work->pen, work->start};

    for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
        const struct policy_rule *rule = NULL;

        if (policy_resolve(work->policy, needed[i], &rule) != POLICY_HIDE)
            continue;
        (void) err_set(err, EINVAL, "derive.pen-hidden", "'%s' is needed, and '%s' is hidden (%s)",
                       needed[i], rule != NULL ? rule->path : needed[i],
                       rule != NULL ? rule->why : "nothing opens it");
        return err_hint(err, "use another pen, or hide less");
    }
    return 0;
}

typedef int step(struct derivation *work, struct err *err);
typedef int pure_step(const struct derivation *work, struct err *err);

struct stage {
    step *run;
    pure_step *run_pure; /* changes nothing but the policy */
};

static const struct stage stages[] = {
    /* what and where */
    {.run = derive_cwd_find},
    {.run = derive_judge_prepare},
    {.run = derive_pen_find},
    {.run = check_locations},
    {.run = derive_files_read},
    {.run_pure = derive_files_apply},
    /* rules */
    {.run_pure = derive_pen_check},
    {.run_pure = derive_roots_add},
    {.run_pure = derive_etc_add},
    {.run = derive_toolchains_add},
    {.run = derive_search_find},
    {.run = derive_opened_add},
    {.run = derive_sockets_add},
    {.run = derive_git_add},
    {.run = derive_pointers_add},
    {.run = derive_cover},
    {.run = derive_pen_start},
    {.run = derive_patterns_add},
    {.run_pure = derive_steered_check},
    {.run = derive_command_find},
    {.run = check_result},
    /* places, once it is known what shows */
    {.run_pure = derive_roots_places},
    {.run_pure = derive_etc_files},
    {.run_pure = derive_gitconfig_add},
    {.run = derive_links_place},
    {.run_pure = derive_command_set},
    {.run = set_cwd},
    {.run_pure = derive_environment_set},
};

static void derivation_free(struct derivation *work)
{
    policy_free(work->policy);
    free(work->cwd);
    free(work->cwd_typed);
    free(work->pen);
    free(work->pen_typed);
    free(work->start);
    free(work->start_typed);
    free(work->tree);
    free(work->survey);
    derive_list_free(&work->homes);
    derive_list_free(&work->secrets);
    derive_list_free(&work->named);
    derive_list_free(&work->typed);
    derive_list_free(&work->passed);
    derive_list_free(&work->ways);
    derive_list_free(&work->way_labels);
    derive_list_free(&work->settings_names);
    derive_list_free(&work->settings_files);
    for (size_t i = 0; i < work->folder_count; i++)
        free(work->folders[i].path);
    free(work->folders);
    for (size_t i = 0; i < work->settings_count; i++)
        settings_freep(&work->settings[i]);
    free(work->settings);
    settings_freep(&work->admin);
    free(work->command.path);
    free(work->command.found);
}

int derive_policy_on(const struct derive_machine *machine, const struct derive_owner *owner,
                     const struct derive_request *request, struct policy **ret_policy,
                     struct err *err)
{
    AUTO(derivation_free)
    struct derivation work = {
        .machine = machine,
        .owner = owner,
        .request = request,
        .policy = policy_new(),
    };
    struct err failure = {0};
    int r = work.policy == NULL ? err_memory(&failure) : 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(stages); i++)
        r = stages[i].run != NULL ? stages[i].run(&work, &failure)
                                  : stages[i].run_pure(&work, &failure);
    if (r < 0) {
        if (err != NULL)
            *err = failure;
        return r;
    }
    *ret_policy = TAKE_PTR(work.policy);
    return 0;
}

int derive_policy(const struct derive_owner *owner, const struct derive_request *request,
                  struct policy **ret_policy, struct err *err)
{
    return derive_policy_on(&derive_this_machine, owner, request, ret_policy, err);
}
