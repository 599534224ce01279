/* The owner's files. Every key there is stands in one of the tables below, with its reader; what is
 * in no table is refused. Those of paths are in settings_path.c. The schema shipped,
 * contrib/policy.schema.json, says the same. */
#include "policy/settings.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "policy/settings_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 16
#define PROCESSES_MAX (UINT64_C(1) << 22)  /* the kernel's own bound on process ids */
#define ENTRIES_MAX (UINT64_C(1) << 26)    /* about a minute of looking */
#define OPEN_FILES_MAX (UINT64_C(1) << 30) /* and on descriptors */
#define JOBS_MAX UINT64_C(1024)            /* each is a few processes and descriptors */
#define RECORDS_MAX UINT64_C(1000000)

/* ---- words for what is wrong ------------------------------------------------------------- */

static const char *key_name(const struct settings_key *key)
{
    const char *dot = strrchr(key->path, '.');

    return dot == NULL ? key->path : dot + 1;
}

static int wrong_type(const struct settings_reader *reader, const struct settings_key *key,
                      const char *expected, struct err *err)
{
    return err_set(err, EINVAL, "settings.type", "%s: '%s' must be %s", reader->name, key->path,
                   expected);
}

static int wrong_value(const struct settings_reader *reader, const struct settings_key *key,
                       const char *problem, const char *value, struct err *err)
{
    return err_set(err, EINVAL, "settings.value", "%s: '%s' %s: '%s'", reader->name, key->path,
                   problem, value);
}

static int unknown_key(const struct settings_reader *reader, const struct settings_key *object,
                       const char *text, const struct settings_key *keys, struct err *err)
{
    const char *names[KEYS_MAX + 1] = {NULL};
    const char *nearest = NULL;
    const char *where = object == NULL ? "at the top" : object->path;
    const char *quote = object == NULL ? "" : "'";

    for (size_t i = 0; keys[i].path != NULL; i++) {
        assert(i < KEYS_MAX);
        names[i] = key_name(&keys[i]);
    }
    nearest = str_nearest(text, names);
    if (nearest == NULL)
        return err_set(err, EINVAL, "settings.unknown-key", "%s: unknown key '%s' %s%s%s%s",
                       reader->name, text, object == NULL ? "" : "in ", quote, where, quote);
    return err_set(err, EINVAL, "settings.unknown-key",
                   "%s: unknown key '%s' %s%s%s%s; did you mean '%s'?", reader->name, text,
                   object == NULL ? "" : "in ", quote, where, quote, nearest);
}

/* ---- objects ----------------------------------------------------------------------------- */

static const struct settings_key *key_find(const struct settings_key *keys, const char *name)
{
    for (; keys->path != NULL; keys++)
        if (str_equal(key_name(keys), name))
            return keys;
    return NULL;
}

static int read_member(struct settings_reader *reader, const struct settings_key *key,
                       json_t *value, struct err *err)
{
    if (reader->source == SETTINGS_ADMIN && !key->tightens) {
        (void) err_set(err, EINVAL, "settings.admin",
                       "%s: '%s' cannot stand in the administrator's file", reader->name,
                       key->path);
        return err_hint(err, "it can only tighten: denyRead, denyWrite, deniedDomains, limits, "
                             "timeout and require");
    }
    return key->read(reader, key, value, err);
}

/* `object` is NULL for the whole file. */
static int read_keys(struct settings_reader *reader, const struct settings_key *object,
                     const struct settings_key *keys, json_t *value, struct err *err)
{
    const char *name = NULL;
    json_t *member = NULL;

    json_object_foreach(value, name, member)
    {
        const struct settings_key *key = key_find(keys, name);
        int r = key == NULL ? unknown_key(reader, object, name, keys, err)
                            : read_member(reader, key, member, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int read_object(struct settings_reader *reader, const struct settings_key *key,
                       json_t *value, struct err *err)
{
    if (!json_is_object(value))
        return wrong_type(reader, key, "an object", err);
    return read_keys(reader, key, key->in, value, err);
}

/* ---- lists of texts ---------------------------------------------------------------------- */

int settings_read_texts(struct settings_reader *reader, const struct settings_key *key,
                        json_t *value,
                        int (*each)(struct settings_reader *reader, const struct settings_key *key,
                                    const char *text, struct err *err),
                        struct err *err)
{
    if (!json_is_array(value))
        return wrong_type(reader, key, "a list of texts, like [\"...\"]", err);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = json_string_value(json_array_get(value, i));
        int r = text == NULL ? wrong_type(reader, key, "a list of texts and nothing else", err)
                             : each(reader, key, text, err);

        if (r < 0)
            return r;
    }
    return 0;
}

int settings_add_text(char ***texts, size_t *count, char **text, struct err *err)
{
    char **grown = reallocarray(*texts, *count + 1, sizeof *grown);

    if (grown == NULL)
        return err_memory(err);
    *texts = grown;
    grown[(*count)++] = TAKE_PTR(*text);
    return 0;
}

/* ---- environment, network, layers -------------------------------------------------------- */

static int add_env(struct settings_reader *reader, const struct settings_key *key, const char *text,
                   struct err *err)
{
    AUTO_FREE char *copy = NULL;

    if (!policy_env_name_ok(text, strcspn(text, "="))) {
        (void) wrong_value(reader, key, "has no variable's name", text, err);
        return err_hint(err, "write 'NAME=value', or 'NAME' for the caller's value");
    }
    copy = strdup(text);
    if (copy == NULL)
        return err_memory(err);
    return settings_add_text(&reader->settings->env, &reader->settings->env_count, &copy, err);
}

static int read_env(struct settings_reader *reader, const struct settings_key *key, json_t *value,
                    struct err *err)
{
    return settings_read_texts(reader, key, value, add_env, err);
}

static int refuse_domain(struct settings_reader *reader, const struct settings_key *key,
                         const char *text, struct err *err)
{
    (void) err_set(err, EINVAL, "settings.network-not-built",
                   "%s: '%s' names '%s', but network by host name is not built yet", reader->name,
                   key->path, text);
    return err_hint(err, "leave the list empty; a run then has no network but its own loopback");
}

static int read_allowed_domains(struct settings_reader *reader, const struct settings_key *key,
                                json_t *value, struct err *err)
{
    return settings_read_texts(reader, key, value, refuse_domain, err);
}

/* Nothing is reachable yet, so what is denied is denied. */
static int keep_denied(struct settings_reader *reader, const struct settings_key *key,
                       const char *text, struct err *err)
{
    return *text != '\0' ? 0 : wrong_value(reader, key, "has an empty name", text, err);
}

static int read_denied_domains(struct settings_reader *reader, const struct settings_key *key,
                               json_t *value, struct err *err)
{
    return settings_read_texts(reader, key, value, keep_denied, err);
}

static int one_of(const struct settings_reader *reader, const struct settings_key *key,
                  const char *text, const char *const *names, struct err *err)
{
    const char *nearest = NULL;

    for (int i = 0; names[i] != NULL; i++)
        if (str_equal(text, names[i]))
            return i;
    nearest = str_nearest(text, names);
    (void) wrong_value(reader, key, "does not know", text, err);
    return nearest == NULL ? err_hint(err, "it knows '%s' and '%s'%s", names[0], names[1],
                                      names[2] == NULL ? "" : ", 'processes' and 'guard'")
                           : err_hint(err, "did you mean '%s'?", nearest);
}

static int add_require(struct settings_reader *reader, const struct settings_key *key,
                       const char *text, struct err *err)
{
    static const char *const names[] = {"landlock", "memory", "processes", "guard", NULL};
    static const unsigned bits[] = {POLICY_REQUIRE_LANDLOCK, POLICY_REQUIRE_MEMORY,
                                    POLICY_REQUIRE_PROCESSES, POLICY_REQUIRE_GUARD};
    int index = one_of(reader, key, text, names, err);

    if (index < 0)
        return index;
    reader->settings->require |= bits[index];
    return 0;
}

static int read_require(struct settings_reader *reader, const struct settings_key *key,
                        json_t *value, struct err *err)
{
    return settings_read_texts(reader, key, value, add_require, err);
}

static int read_caches(struct settings_reader *reader, const struct settings_key *key,
                       json_t *value, struct err *err)
{
    static const char *const names[] = {"pen", "job", NULL};
    static const enum policy_caches caches[] = {POLICY_CACHES_PEN, POLICY_CACHES_JOB};
    int index = 0;

    if (!json_is_string(value))
        return wrong_type(reader, key, "\"pen\" or \"job\"", err);
    index = one_of(reader, key, json_string_value(value), names, err);
    if (index < 0)
        return index;
    reader->settings->caches = caches[index];
    reader->settings->caches_given = true;
    return 0;
}

static int read_shared_links(struct settings_reader *reader, const struct settings_key *key,
                             json_t *value, struct err *err)
{
    if (!json_is_boolean(value))
        return wrong_type(reader, key, "true or false", err);
    reader->settings->accept_shared_links = json_is_true(value);
    reader->settings->shared_links_given = true;
    return 0;
}

static int read_follow_git(struct settings_reader *reader, const struct settings_key *key,
                           json_t *value, struct err *err)
{
    if (!json_is_boolean(value))
        return wrong_type(reader, key, "true or false", err);
    reader->settings->follow_git = json_is_true(value);
    reader->settings->follow_git_given = true;
    return 0;
}

static int read_schema(struct settings_reader *reader, const struct settings_key *key,
                       json_t *value, struct err *err)
{
    return json_is_string(value) ? 0 : wrong_type(reader, key, "a text", err);
}

/* ---- bounds ------------------------------------------------------------------------------ */

static void set_limit(struct settings_reader *reader, const struct settings_key *key,
                      uint64_t value)
{
    memcpy((char *) reader->settings + key->offset, &value, sizeof value);
}

static int read_size(struct settings_reader *reader, const struct settings_key *key, json_t *value,
                     struct err *err)
{
    static const char expected[] = "a size above 0, like \"512M\", or a number of bytes";
    uint64_t bytes = 0;

    if (json_is_integer(value) && json_integer_value(value) > 0)
        bytes = (uint64_t) json_integer_value(value);
    else if (!json_is_string(value) || str_to_bytes(json_string_value(value), &bytes) < 0)
        return wrong_type(reader, key, expected, err);
    set_limit(reader, key, bytes);
    return 0;
}

static int read_count(struct settings_reader *reader, const struct settings_key *key, json_t *value,
                      struct err *err)
{
    json_int_t count = json_integer_value(value);

    if (!json_is_integer(value) || count < 1)
        return wrong_type(reader, key, "a whole number above 0", err);
    if ((uint64_t) count > key->most)
        return err_set(err, EINVAL, "settings.value", "%s: '%s' can be at most %llu", reader->name,
                       key->path, (unsigned long long) key->most);
    set_limit(reader, key, (uint64_t) count);
    return 0;
}

static int read_duration(struct settings_reader *reader, const struct settings_key *key,
                         json_t *value, struct err *err)
{
    uint64_t duration_ms = 0;

    if (!json_is_string(value) || str_to_ms(json_string_value(value), &duration_ms) < 0)
        return wrong_type(reader, key, "a time above 0, like \"90s\", \"5m\" or \"1500ms\"", err);
    set_limit(reader, key, duration_ms);
    return 0;
}

/* ---- all keys ---------------------------------------------------------------------------- */

enum { OWNER_ONLY = false, TIGHTENS = true };
#define KEY(name, reader, may, ...)                                                                \
    {                                                                                              \
        .path = (name), .read = (reader), .tightens = (may), __VA_ARGS__                           \
    }
#define LIMIT(field) .offset = offsetof(struct settings, limits.field)
#define VALUE(field) .offset = offsetof(struct settings, field)

static const struct settings_key network_keys[] = {
    KEY("network.allowedDomains", read_allowed_domains, OWNER_ONLY),
    KEY("network.deniedDomains", read_denied_domains, TIGHTENS),
    {.path = NULL},
};

static const struct settings_key filesystem_keys[] = {
    KEY("filesystem.allowRead", settings_read_paths, OWNER_ONLY, .access = POLICY_READ),
    KEY("filesystem.allowWrite", settings_read_paths, OWNER_ONLY, .access = POLICY_WRITE),
    KEY("filesystem.denyRead", settings_read_paths, TIGHTENS, .access = POLICY_HIDE),
    KEY("filesystem.denyWrite", settings_read_deny_write, TIGHTENS, .access = POLICY_READ,
        .hold = true),
    {.path = NULL},
};

static const struct settings_key limit_keys[] = {
    KEY("wattle.limits.memory", read_size, TIGHTENS, LIMIT(memory_bytes)),
    KEY("wattle.limits.processes", read_count, TIGHTENS, LIMIT(processes), .most = PROCESSES_MAX),
    KEY("wattle.limits.openFiles", read_count, TIGHTENS, LIMIT(open_files), .most = OPEN_FILES_MAX),
    KEY("wattle.limits.fileSize", read_size, TIGHTENS, LIMIT(file_bytes)),
    KEY("wattle.limits.tmpSize", read_size, TIGHTENS, LIMIT(tmp_bytes)),
    KEY("wattle.limits.shmSize", read_size, TIGHTENS, LIMIT(shm_bytes)),
    {.path = NULL},
};

static const struct settings_key preflight_keys[] = {
    KEY("wattle.preflight.entries", read_count, OWNER_ONLY, VALUE(preflight_entries),
        .most = ENTRIES_MAX),
    KEY("wattle.preflight.remember", read_duration, OWNER_ONLY, VALUE(preflight_remember_ms)),
    KEY("wattle.preflight.repositories", read_count, OWNER_ONLY, VALUE(preflight_repositories),
        .most = ENTRIES_MAX),
    {.path = NULL},
};

static const struct settings_key host_keys[] = {
    KEY("wattle.host.turnJobs", read_count, OWNER_ONLY, VALUE(host.turn_jobs), .most = JOBS_MAX),
    KEY("wattle.host.jobs", read_count, OWNER_ONLY, VALUE(host.jobs), .most = JOBS_MAX),
    KEY("wattle.host.deadlineLeast", read_duration, OWNER_ONLY, VALUE(host.deadline_least_ms)),
    KEY("wattle.host.deadlineMost", read_duration, OWNER_ONLY, VALUE(host.deadline_most_ms)),
    KEY("wattle.host.foreground", read_duration, OWNER_ONLY, VALUE(host.foreground_ms)),
    KEY("wattle.host.records", read_count, OWNER_ONLY, VALUE(host.records), .most = RECORDS_MAX),
    KEY("wattle.host.idle", read_duration, OWNER_ONLY, VALUE(host.idle_ms)),
    KEY("wattle.host.turnIdle", read_duration, OWNER_ONLY, VALUE(host.turn_idle_ms)),
    KEY("wattle.host.copySize", read_size, OWNER_ONLY, VALUE(host.copy_bytes)),
    {.path = NULL},
};

static const struct settings_key wattle_keys[] = {
    KEY("wattle.limits", read_object, TIGHTENS, .in = limit_keys),
    KEY("wattle.timeout", read_duration, TIGHTENS, LIMIT(deadline_ms)),
    KEY("wattle.killAfter", read_duration, OWNER_ONLY, LIMIT(kill_after_ms)),
    KEY("wattle.env", read_env, OWNER_ONLY),
    KEY("wattle.unix", settings_read_sockets, OWNER_ONLY),
    KEY("wattle.require", read_require, TIGHTENS),
    KEY("wattle.caches", read_caches, OWNER_ONLY),
    KEY("wattle.acceptSharedLinks", read_shared_links, OWNER_ONLY),
    KEY("wattle.followGit", read_follow_git, OWNER_ONLY),
    KEY("wattle.preflight", read_object, OWNER_ONLY, .in = preflight_keys),
    KEY("wattle.path", settings_read_search, OWNER_ONLY),
    KEY("wattle.host", read_object, OWNER_ONLY, .in = host_keys),
    {.path = NULL},
};

static const struct settings_key top_keys[] = {
    KEY("$schema", read_schema, TIGHTENS),
    KEY("network", read_object, TIGHTENS, .in = network_keys),
    KEY("filesystem", read_object, TIGHTENS, .in = filesystem_keys),
    KEY("wattle", read_object, TIGHTENS, .in = wattle_keys),
    {.path = NULL},
};

/* ---- the whole file ---------------------------------------------------------------------- */

/* Seven parameters: a text, what it is called, and whose it is.
 * NOLINTNEXTLINE(readability-function-size) */
int settings_parse(const char *text, size_t size, const char *name, const char *home,
                   enum settings_source source, struct settings **ret_settings, struct err *err)
{
    AUTO(settings_freep) struct settings *settings = calloc(1, sizeof *settings);
    AUTO(json_free) json_t *json = NULL;
    struct settings_reader reader = {name, home, source, settings};
    int r = 0;

    if (settings == NULL)
        return err_memory(err);
    r = json_parse(text, size, name, &json, err);
    if (r < 0)
        return r;
    if (!json_is_object(json))
        return err_set(err, EINVAL, "settings.type", "%s: must be one object, like {}", name);
    r = read_keys(&reader, NULL, top_keys, json, err);
    if (r < 0)
        return r;
    *ret_settings = TAKE_PTR(settings);
    return 0;
}

void settings_freep(struct settings **settings)
{
    struct settings *old = TAKE_PTR(*settings);

    if (old == NULL)
        return;
    for (size_t i = 0; i < old->path_count; i++)
        free(old->paths[i].path);
    for (size_t i = 0; i < old->env_count; i++)
        free(old->env[i]);
    for (size_t i = 0; i < old->unix_count; i++)
        free(old->unix_sockets[i]);
    for (size_t i = 0; i < old->search_count; i++)
        free(old->search[i]);
    for (size_t i = 0; i < old->pattern_count; i++)
        free(old->patterns[i]);
    free(old->paths);
    free(old->patterns);
    free(old->env);
    free(old->unix_sockets);
    free(old->search);
    free(old);
}
