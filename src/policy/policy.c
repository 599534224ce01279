/* The policy as data: what it holds, places, environment, notes. Rules: rules.c. */
#include "policy/policy.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "policy/policy_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct policy_limits policy_default_limits = {
    .deadline_ms = 0,
    .kill_after_ms = 2000,
    .memory_bytes = 0,
    .processes = 4096,
    .open_files = 4096,
    .file_bytes = UINT64_C(32) << 30,
    .tmp_bytes = UINT64_C(256) << 20,
    .shm_bytes = UINT64_C(256) << 20,
};

const struct policy_preflight policy_default_preflight = {
    .entries = 200000,
    .remember_ms = UINT64_C(24) * 3600 * 1000,
    .repositories = 10000,
};

/* ---- life -------------------------------------------------------------------------------- */

static void place_free(struct policy_place *place)
{
    free(place->path);
    free(place->source);
    free(place->why);
    *place = (struct policy_place){0};
}

static void command_free(struct policy_command *command)
{
    free(command->path);
    free(command->found);
    free(command->content);
    *command = (struct policy_command){0};
}

static void texts_free(struct list *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(*(char **) list_at(texts, i));
    free(texts->items);
}

struct policy *policy_new(void)
{
    struct policy *policy = calloc(1, sizeof *policy);

    if (policy == NULL)
        return NULL;
    policy->rules.item_size = sizeof(struct policy_rule);
    policy->places.item_size = sizeof(struct policy_place);
    policy->env.item_size = sizeof(char *);
    policy->notes.item_size = sizeof(char *);
    policy->guard_rules.item_size = sizeof(struct policy_guard_rule);
    policy->guard = POLICY_GUARD_ON;
    policy->limits = policy_default_limits;
    policy->preflight = policy_default_preflight;
    return policy;
}

void policy_free(struct policy *policy)
{
    if (policy == NULL)
        return;
    for (size_t i = 0; i < policy->rules.count; i++)
        policy_rule_free(list_at(&policy->rules, i));
    free(policy->rules.items);
    for (size_t i = 0; i < policy->places.count; i++)
        place_free(list_at(&policy->places, i));
    free(policy->places.items);
    texts_free(&policy->env);
    texts_free(&policy->notes);
    for (size_t i = 0; i < policy->guard_rules.count; i++)
        policy_guard_rule_free(list_at(&policy->guard_rules, i));
    free(policy->guard_rules.items);
    free(policy->pen);
    free(policy->cwd);
    command_free(&policy->command);
    free(policy);
}

void policy_freep(struct policy **policy)
{
    policy_free(*policy);
    *policy = NULL;
}

/* ---- places ------------------------------------------------------------------------------ */

static int place_check(const struct policy_place *place, struct err *err)
{
    int r = policy_check_path_below_root(place->path, "place", err);

    if (r < 0)
        return r;
    if (place->kind == POLICY_PLACE_BIND || place->kind == POLICY_PLACE_OVER)
        return policy_check_path_below_root(place->source, "place's source", err);
    if (place->kind == POLICY_PLACE_FILE && place->source == NULL)
        return err_set(err, EINVAL, "policy.place", "the file '%s' has no content", place->path);
    if ((place->kind == POLICY_PLACE_SYMLINK || place->kind == POLICY_PLACE_STAYS) &&
        (place->source == NULL || *place->source == '\0'))
        return err_set(err, EINVAL, "policy.place", "the symlink '%s' leads nowhere", place->path);
    return 0;
}

static int place_copy(const struct policy_place *place, struct policy_place *ret_copy,
                      struct err *err)
{
    struct policy_place copy = *place;

    copy.path = strdup(place->path);
    copy.why = strdup(place->why == NULL ? "" : place->why);
    copy.source = place->source == NULL ? NULL : strdup(place->source);
    if (copy.path == NULL || copy.why == NULL || (place->source != NULL && copy.source == NULL)) {
        place_free(&copy);
        return err_memory(err);
    }
    *ret_copy = copy;
    return 0;
}

static int place_compare(const void *item, const struct path_key *key)
{
    const struct policy_place *place = item;

    return path_compare(place->path, key);
}

int policy_add_place(struct policy *policy, const struct policy_place *place, struct err *err)
{
    struct policy_place copy = {0};
    struct path_key key = {0};
    bool found = false;
    size_t index = 0;
    int r = place_check(place, err);

    if (r < 0)
        return r;
    key = (struct path_key){place->path, strlen(place->path), false};
    index = list_search(&policy->places, &key, place_compare, &found);
    if (found)
        return err_set(err, EINVAL, "policy.place-twice", "two places are at '%s'", place->path);
    r = list_reserve(&policy->places, "places", err);
    if (r < 0)
        return r;
    r = place_copy(place, &copy, err);
    if (r < 0)
        return r;
    list_insert(&policy->places, index, &copy);
    return 0;
}

size_t policy_places(const struct policy *policy)
{
    return policy->places.count;
}

const struct policy_place *policy_place_at(const struct policy *policy, size_t index)
{
    return list_at(&policy->places, index);
}

const struct policy_place *policy_place_find(const struct policy *policy, const char *path)
{
    const struct path_key key = {path, strlen(path), false};
    bool found = false;
    size_t index = list_search(&policy->places, &key, place_compare, &found);

    return found ? list_at(&policy->places, index) : NULL;
}

/* ---- environment and notes --------------------------------------------------------------- */

bool policy_env_name_ok(const char *name, size_t size)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return size > 0 && strspn(name, letters) >= size && !(name[0] >= '0' && name[0] <= '9');
}

static char **env_find(const struct policy *policy, const char *name, size_t size)
{
    for (size_t i = 0; i < policy->env.count; i++) {
        char **text = list_at(&policy->env, i);

        if (strncmp(*text, name, size) == 0 && (*text)[size] == '=')
            return text;
    }
    return NULL;
}

int policy_set_env(struct policy *policy, const char *name, const char *value, struct err *err)
{
    AUTO_FREE char *text = NULL;
    char **earlier = NULL;
    int r = 0;

    if (name == NULL || value == NULL || !policy_env_name_ok(name, strlen(name))) {
        (void) err_set(err, EINVAL, "policy.env", "'%s' cannot be the name of a variable",
                       name == NULL ? "" : name);
        return err_hint(err, "a name has letters, digits and '_' and does not begin with a digit");
    }
    if (asprintf(&text, "%s=%s", name, value) < 0) {
        text = NULL; /* asprintf leaves it undefined */
        return err_memory(err);
    }
    earlier = env_find(policy, name, strlen(name));
    if (earlier != NULL) {
        free(*earlier);
        *earlier = TAKE_PTR(text);
        return 0;
    }
    r = list_reserve(&policy->env, "variables", err);
    if (r < 0)
        return r;
    list_insert(&policy->env, policy->env.count, &text);
    text = NULL;
    return 0;
}

size_t policy_envs(const struct policy *policy)
{
    return policy->env.count;
}

const char *policy_env_at(const struct policy *policy, size_t index)
{
    return *(char **) list_at(&policy->env, index);
}

const char *policy_env(const struct policy *policy, const char *name)
{
    size_t size = strlen(name);
    char **text = env_find(policy, name, size);

    return text == NULL ? NULL : *text + size + 1;
}

int policy_add_note(struct policy *policy, const char *note, struct err *err)
{
    char *text = NULL;
    int r = list_reserve(&policy->notes, "notes", err);

    if (r < 0)
        return r;
    text = strdup(note);
    if (text == NULL)
        return err_memory(err);
    list_insert(&policy->notes, policy->notes.count, &text);
    return 0;
}

size_t policy_notes(const struct policy *policy)
{
    return policy->notes.count;
}

const char *policy_note_at(const struct policy *policy, size_t index)
{
    return *(char **) list_at(&policy->notes, index);
}

/* ---- the rest ---------------------------------------------------------------------------- */

static int replace_text(char **text, const char *value, struct err *err)
{
    char *copy = strdup(value);

    if (copy == NULL)
        return err_memory(err);
    free(*text);
    *text = copy;
    return 0;
}

int policy_set_pen(struct policy *policy, const char *path, struct err *err)
{
    int r = policy_check_path_below_root(path, "pen", err);

    return r < 0 ? r : replace_text(&policy->pen, path, err);
}

const char *policy_pen(const struct policy *policy)
{
    return policy->pen;
}

int policy_set_cwd(struct policy *policy, const char *path, struct err *err)
{
    int r = policy_check_path(path, "start folder", err);

    return r < 0 ? r : replace_text(&policy->cwd, path, err);
}

const char *policy_cwd(const struct policy *policy)
{
    return policy->cwd == NULL ? policy->pen : policy->cwd;
}

int policy_set_command(struct policy *policy, const struct policy_command *command, struct err *err)
{
    struct policy_command copy = *command;
    int r = policy_check_path_below_root(command->path, "command", err);

    if (r == 0 && command->found != NULL)
        r = policy_check_path_below_root(command->found, "command", err);
    if (r < 0)
        return r;
    copy.path = strdup(command->path);
    copy.found = command->found == NULL ? NULL : strdup(command->found);
    copy.content = command->content == NULL ? NULL : strdup(command->content);
    if (copy.path == NULL || (command->found != NULL && copy.found == NULL) ||
        (command->content != NULL && copy.content == NULL)) {
        command_free(&copy);
        return err_memory(err);
    }
    command_free(&policy->command);
    policy->command = copy;
    return 0;
}

const struct policy_command *policy_command(const struct policy *policy)
{
    return policy->command.path == NULL ? NULL : &policy->command;
}

struct policy_limits *policy_limits(struct policy *policy)
{
    return &policy->limits;
}

const struct policy_limits *policy_get_limits(const struct policy *policy)
{
    return &policy->limits;
}

struct policy_preflight *policy_preflight(struct policy *policy)
{
    return &policy->preflight;
}

const struct policy_preflight *policy_get_preflight(const struct policy *policy)
{
    return &policy->preflight;
}

void policy_set_net(struct policy *policy, enum policy_net net)
{
    policy->net = net;
}

enum policy_net policy_get_net(const struct policy *policy)
{
    return policy->net;
}

void policy_set_caches(struct policy *policy, enum policy_caches caches)
{
    policy->caches = caches;
}

enum policy_caches policy_get_caches(const struct policy *policy)
{
    return policy->caches;
}

void policy_require(struct policy *policy, unsigned layers)
{
    policy->required |= layers;
}

unsigned policy_required(const struct policy *policy)
{
    return policy->required;
}

const char *policy_access_name(enum policy_access access)
{
    static const char *const names[] = {
        [POLICY_HIDE] = "hidden",
        [POLICY_READ] = "read",
        [POLICY_WRITE] = "write",
    };

    assert((size_t) access < ARRAY_SIZE(names));
    return names[access];
}

const char *policy_origin_name(enum policy_origin origin)
{
    static const char *const names[] = {
        [POLICY_FROM_BASE] = "base",       [POLICY_FROM_TOOLCHAIN] = "toolchain",
        [POLICY_FROM_COMMAND] = "command", [POLICY_FROM_PEN] = "pen",
        [POLICY_FROM_GIT] = "git",         [POLICY_FROM_OWNER] = "owner",
        [POLICY_FROM_FLAG] = "flag",       [POLICY_FROM_CREDENTIALS] = "credentials",
        [POLICY_FROM_ADMIN] = "admin",     [POLICY_FROM_OWN] = "own",
    };

    assert((size_t) origin < ARRAY_SIZE(names));
    return names[origin];
}
