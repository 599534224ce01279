/* A policy as a table for people and as an object for programs. Both show the same things. */
#include "policy/print.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATH_COLUMN 40

static const char *place_kind_name(enum policy_place_kind kind)
{
    static const char *const names[] = {
        [POLICY_PLACE_BIND] = "bind",     [POLICY_PLACE_TMPFS] = "tmpfs",
        [POLICY_PLACE_DEV] = "dev",       [POLICY_PLACE_PROC] = "proc",
        [POLICY_PLACE_FOLDER] = "folder", [POLICY_PLACE_SYMLINK] = "symlink",
        [POLICY_PLACE_FILE] = "file",     [POLICY_PLACE_OVER] = "over",
        [POLICY_PLACE_STAYS] = "stays",
    };

    assert((size_t) kind < ARRAY_SIZE(names));
    return names[kind];
}

static const char *net_name(enum policy_net net)
{
    static const char *const names[] = {
        [POLICY_NET_NONE] = "none",
        [POLICY_NET_HOSTS] = "hosts",
        [POLICY_NET_OPEN] = "open",
    };

    assert((size_t) net < ARRAY_SIZE(names));
    return names[net];
}

static const char *caches_name(enum policy_caches caches)
{
    return caches == POLICY_CACHES_PEN ? "pen" : "job";
}

struct layer {
    unsigned bit;
    const char *name;
};
static const struct layer layers[] = {
    {POLICY_REQUIRE_LANDLOCK, "landlock"},
    {POLICY_REQUIRE_MEMORY, "memory"},
    {POLICY_REQUIRE_PROCESSES, "processes"},
    {POLICY_REQUIRE_GUARD, "guard"},
};

/* What wattle itself sets. The names may hold anything when the owner sets them: a header with a
 * token is a value of GIT_CONFIG_VALUE_0. So the value decides as well. */
static bool env_is_of_wattle(const char *name, const char *value)
{
    static const struct {
        const char *name; /* or its beginning */
        const char *value;
    } known[] = {
        {"GIT_CONFIG_KEY_", "commit.gpgsign"},
        {"GIT_CONFIG_KEY_", "tag.gpgsign"},
        {"GIT_CONFIG_VALUE_", "false"},
        {"MAVEN_OPTS", "-Dmaven.repo.local=" POLICY_INSIDE_CACHE "/maven"},
        {"UV_LINK_MODE", "copy"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_starts(name, known[i].name) && str_equal(value, known[i].value))
            return true;
    return false;
}

/* Values that may be shown: what describes a place or a language. Any other may be a secret. */
static bool env_is_harmless(const char *name, const char *value)
{
    static const char *const names[] = {
        "CI",
        "COLORTERM",
        "COLUMNS",
        "EDITOR",
        "GIT_CONFIG_COUNT",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LINES",
        "LOGNAME",
        "PAGER",
        "PATH",
        "PWD",
        "SHELL",
        "SHLVL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "NO_COLOR",
        "SOURCE_DATE_EPOCH",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_equal(name, names[i]))
            return true;
    if (env_is_of_wattle(name, value))
        return true;
    return str_starts(name, "LC_") || str_starts(value, POLICY_INSIDE_TOP "/");
}

/* The name of "NAME=value"; NULL: out of memory. Caller frees. */
static char *env_name(const char *text)
{
    return strndup(text, strcspn(text, "="));
}

/* ---- text -------------------------------------------------------------------------------- */

static void add_inert(struct buf *buf, const char *text)
{
    (void) str_add_inert(buf, text, strlen(text)); /* a failure sticks in the buffer */
}

static void add_padded(struct buf *buf, const char *text, size_t column)
{
    size_t start = buf->size;
    size_t width = 0;

    add_inert(buf, text);
    width = buf->size - start;
    (void) buf_printf(buf, "%*s ", (int) (width < column ? column - width : 0), "");
}

static void text_head(const struct policy *policy, struct buf *buf)
{
    const struct policy_command *command = policy_command(policy);
    const char *pen = policy_pen(policy) == NULL ? "none" : policy_pen(policy);
    const char *cwd = policy_cwd(policy) == NULL ? "/" : policy_cwd(policy);

    (void) buf_add_text(buf, "pen       ");
    add_inert(buf, pen);
    (void) buf_add_text(buf, "\nstarts in ");
    add_inert(buf, cwd);
    if (command != NULL) {
        (void) buf_add_text(buf, "\ncommand   ");
        add_inert(buf, command->path);
        (void) buf_add_text(buf, command->pinned ? ", pinned" : "");
    }
    (void) buf_printf(buf, "\nnetwork   %s\ncaches    of the %s\nrequires ",
                      net_name(policy_get_net(policy)), caches_name(policy_get_caches(policy)));
    for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
        if ((policy_required(policy) & layers[i].bit) != 0)
            (void) buf_printf(buf, " %s", layers[i].name);
    (void) buf_add_text(buf, policy_required(policy) == 0 ? " nothing more\n" : "\n");
}

/* Of what wattle adds by itself most is optional, and nobody waits for it. */
static bool is_asked_for(const struct policy_rule *rule)
{
    return rule->origin == POLICY_FROM_OWNER || rule->origin == POLICY_FROM_FLAG ||
           rule->origin == POLICY_FROM_ADMIN;
}

static void text_rule(const struct policy_rule *rule, struct buf *buf)
{
    (void) buf_printf(buf, "  %-7s", rule->hold ? "held" : policy_access_name(rule->access));
    add_padded(buf, rule->path, PATH_COLUMN);
    add_inert(buf, rule->why);
    (void) buf_printf(buf, " (%s%s)\n", policy_origin_name(rule->origin),
                      rule->optional && is_asked_for(rule) ? ", if it is there" : "");
}

static void text_place(const struct policy_place *place, struct buf *buf)
{
    char bytes[32] = "";

    (void) buf_printf(buf, "  %-7s", policy_access_name(place->access));
    add_padded(buf, place->path, PATH_COLUMN);
    add_inert(buf, place->why);
    (void) buf_printf(buf, " (%s", place_kind_name(place->kind));
    if (place->kind == POLICY_PLACE_BIND || place->kind == POLICY_PLACE_SYMLINK) {
        (void) buf_add_text(buf, place->kind == POLICY_PLACE_BIND ? " of " : " to ");
        add_inert(buf, place->source);
    } else if (place->kind == POLICY_PLACE_FILE) {
        (void) buf_printf(buf, " of %zu bytes", strlen(place->source));
    } else if (place->bytes > 0) {
        str_from_bytes(place->bytes, bytes, sizeof bytes);
        (void) buf_printf(buf, " of %s", bytes);
    }
    (void) buf_add_text(buf, ")\n");
}

/* Of the names that are guarded only those which the table of guarded names does not have. */
static void text_guarded(const struct policy *policy, struct buf *buf)
{
    if (policy_guard_rules(policy) > 0)
        (void) buf_add_text(buf, "\nguarded names besides those of every run\n");
    for (size_t i = 0; i < policy_guard_rules(policy); i++) {
        const struct policy_guard_rule *rule = policy_guard_rule_at(policy, i);

        (void) buf_add_text(buf, "  held   ");
        add_padded(buf, rule->text, PATH_COLUMN);
        add_inert(buf, rule->why);
        (void) buf_add_text(buf, "\n");
    }
}

static int text_env(const char *text, struct buf *buf, struct err *err)
{
    AUTO_FREE char *name = env_name(text);
    const char *value = strchr(text, '=') + 1;

    if (name == NULL)
        return err_memory(err);
    (void) buf_printf(buf, "  %s", name);
    if (env_is_harmless(name, value)) {
        (void) buf_add_text(buf, "=");
        add_inert(buf, value);
    } else {
        (void) buf_add_text(buf, " (value not shown)");
    }
    (void) buf_add_text(buf, "\n");
    return 0;
}

void policy_print_time(uint64_t time_ms, char *text, size_t size)
{
    if (time_ms == 0)
        (void) snprintf(text, size, "none");
    else if (time_ms % 1000 == 0)
        (void) snprintf(text, size, "%" PRIu64 " s", time_ms / 1000);
    else
        (void) snprintf(text, size, "%" PRIu64 " ms", time_ms);
}

static void text_time(struct buf *buf, const char *name, uint64_t time_ms)
{
    char text[32];

    policy_print_time(time_ms, text, sizeof text);
    (void) buf_printf(buf, "  %-12s%s\n", name, text);
}

static void text_bytes(struct buf *buf, const char *name, uint64_t bytes)
{
    char text[32] = "none";

    if (bytes > 0)
        str_from_bytes(bytes, text, sizeof text);
    (void) buf_printf(buf, "  %-12s%s\n", name, text);
}

static void text_limits(const struct policy_limits *limits, struct buf *buf)
{
    (void) buf_add_text(buf, "\nlimits\n");
    text_time(buf, "deadline", limits->deadline_ms);
    text_time(buf, "kill after", limits->kill_after_ms);
    text_bytes(buf, "memory", limits->memory_bytes);
    (void) buf_printf(buf, "  %-12s%" PRIu64 "\n", "processes", limits->processes);
    (void) buf_printf(buf, "  %-12s%" PRIu64 " in one process\n", "open files", limits->open_files);
    text_bytes(buf, "file size", limits->file_bytes);
    text_bytes(buf, "/tmp, home", limits->tmp_bytes);
    text_bytes(buf, "/dev/shm", limits->shm_bytes);
}

int policy_print_text(const struct policy *policy, struct buf *buf, struct err *err)
{
    text_head(policy, buf);
    (void) buf_add_text(buf, "\npaths of this machine (all others are hidden)\n");
    for (size_t i = 0; i < policy_rules(policy); i++)
        text_rule(policy_rule_at(policy, i), buf);
    (void) buf_add_text(buf, "\nthe run's own\n");
    for (size_t i = 0; i < policy_places(policy); i++)
        text_place(policy_place_at(policy, i), buf);
    text_guarded(policy, buf);
    (void) buf_add_text(buf, "\nenvironment (no other variable)\n");
    for (size_t i = 0; i < policy_envs(policy); i++) {
        int r = text_env(policy_env_at(policy, i), buf, err);

        if (r < 0)
            return r;
    }
    text_limits(policy_get_limits(policy), buf);
    if (policy_notes(policy) > 0)
        (void) buf_add_text(buf, "\nnotes\n");
    for (size_t i = 0; i < policy_notes(policy); i++) {
        (void) buf_add_text(buf, "  ");
        add_inert(buf, policy_note_at(policy, i));
        (void) buf_add_text(buf, "\n");
    }
    return buf_check(buf, "the policy's text", err);
}

/* ---- JSON: a value that could not be made is NULL, and setting NULL fails ----------------- */

/* All keys of one object. `ok` turns false at the first failure and stays so. */
struct maker {
    json_t *object;
    bool ok;
};

static void set(struct maker *maker, const char *key, json_t *value)
{
    if (json_object_set_new(maker->object, key, value) < 0)
        maker->ok = false;
}

static void set_text(struct maker *maker, const char *key, const char *text)
{
    set(maker, key, text == NULL ? json_null() : json_text(text, strlen(text)));
}

/* JSON numbers of most readers end at 2^63 - 1. */
static void set_number(struct maker *maker, const char *key, uint64_t number)
{
    set(maker, key, json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t) number));
}

/* The object, or NULL. */
static json_t *maker_end(struct maker *maker)
{
    if (maker->ok)
        return maker->object;
    json_decref(maker->object);
    return NULL;
}

static json_t *make_rule(const struct policy *policy, size_t index)
{
    const struct policy_rule *rule = policy_rule_at(policy, index);
    struct maker maker = {json_object(), true};

    set_text(&maker, "path", rule->path);
    set_text(&maker, "access", policy_access_name(rule->access));
    set_text(&maker, "origin", policy_origin_name(rule->origin));
    set_text(&maker, "why", rule->why);
    set(&maker, "hold", json_boolean(rule->hold));
    set(&maker, "optional", json_boolean(rule->optional));
    return maker_end(&maker);
}

static json_t *make_place(const struct policy *policy, size_t index)
{
    const struct policy_place *place = policy_place_at(policy, index);
    struct maker maker = {json_object(), true};

    set_text(&maker, "path", place->path);
    set_text(&maker, "kind", place_kind_name(place->kind));
    set_text(&maker, "access", policy_access_name(place->access));
    set_text(&maker, "why", place->why);
    if (place->kind == POLICY_PLACE_FILE)
        set_number(&maker, "bytes", strlen(place->source));
    else if (place->bytes > 0)
        set_number(&maker, "bytes", place->bytes);
    if (place->kind == POLICY_PLACE_BIND || place->kind == POLICY_PLACE_SYMLINK)
        set_text(&maker, "source", place->source);
    return maker_end(&maker);
}

static json_t *make_guarded(const struct policy *policy, size_t index)
{
    const struct policy_guard_rule *rule = policy_guard_rule_at(policy, index);
    struct maker maker = {json_object(), true};

    set_text(&maker, "name", rule->text);
    set_text(&maker, "why", rule->why);
    return maker_end(&maker);
}

static json_t *make_env(const struct policy *policy, size_t index)
{
    const char *text = policy_env_at(policy, index);
    AUTO_FREE char *name = env_name(text);
    const char *value = strchr(text, '=') + 1;
    struct maker maker = {NULL, true};

    if (name == NULL)
        return NULL;
    maker.object = json_object();
    set_text(&maker, "name", name);
    set_text(&maker, "value", env_is_harmless(name, value) ? value : NULL);
    return maker_end(&maker);
}

static json_t *make_note(const struct policy *policy, size_t index)
{
    const char *note = policy_note_at(policy, index);

    return json_text(note, strlen(note));
}

static json_t *make_list(const struct policy *policy, size_t count,
                         json_t *(*make)(const struct policy *policy, size_t index))
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(list, make(policy, i)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *make_required(const struct policy *policy)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
        if ((policy_required(policy) & layers[i].bit) == 0)
            continue;
        if (json_array_append_new(list, json_string(layers[i].name)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *make_command(const struct policy_command *command)
{
    struct maker maker = {NULL, true};

    if (command == NULL)
        return json_null();
    maker.object = json_object();
    set_text(&maker, "path", command->path);
    set_text(&maker, "found", command->found == NULL ? command->path : command->found);
    set(&maker, "pinned", json_boolean(command->pinned));
    return maker_end(&maker);
}

static json_t *make_limits(const struct policy_limits *limits)
{
    struct maker maker = {json_object(), true};

    set_number(&maker, "deadline_ms", limits->deadline_ms);
    set_number(&maker, "kill_after_ms", limits->kill_after_ms);
    set_number(&maker, "memory_bytes", limits->memory_bytes);
    set_number(&maker, "processes", limits->processes);
    set_number(&maker, "open_files", limits->open_files);
    set_number(&maker, "file_bytes", limits->file_bytes);
    set_number(&maker, "tmp_bytes", limits->tmp_bytes);
    set_number(&maker, "shm_bytes", limits->shm_bytes);
    return maker_end(&maker);
}

int policy_print_json(const struct policy *policy, json_t **ret_json, struct err *err)
{
    struct maker maker = {json_object(), true};
    json_t *json = NULL;

    set_text(&maker, "schema", "wattle.policy");
    set_number(&maker, "v", 1);
    set_text(&maker, "pen", policy_pen(policy));
    set_text(&maker, "cwd", policy_cwd(policy));
    set(&maker, "command", make_command(policy_command(policy)));
    set_text(&maker, "network", net_name(policy_get_net(policy)));
    set_text(&maker, "caches", caches_name(policy_get_caches(policy)));
    set(&maker, "require", make_required(policy));
    set(&maker, "rules", make_list(policy, policy_rules(policy), make_rule));
    set(&maker, "places", make_list(policy, policy_places(policy), make_place));
    set(&maker, "guarded", make_list(policy, policy_guard_rules(policy), make_guarded));
    set(&maker, "environment", make_list(policy, policy_envs(policy), make_env));
    set(&maker, "limits", make_limits(policy_get_limits(policy)));
    set(&maker, "notes", make_list(policy, policy_notes(policy), make_note));
    json = maker_end(&maker);
    if (json == NULL)
        return err_memory(err);
    *ret_json = json;
    return 0;
}
