#include "cli/host.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As installed, and in a build folder. Seen from the folder of this program. */
static const char *const places[] = {"../libexec/wattle/wattle-host", "../host/wattle-host"};

int host_find(char **ret_host, struct err *err)
{
    AUTO_FREE char *self = NULL;
    char *slash;
    int r = path_physical("/proc/self/exe", &self, err);

    if (r < 0)
        return r;
    slash = strrchr(self, '/');
    slash[slash == self ? 1 : 0] = '\0';
    for (size_t i = ARRAY_SIZE(places); i-- > 0;) {
        AUTO_FREE char *place = path_join(self, places[i]);
        AUTO_FREE char *clean = NULL;

        if (place == NULL)
            return err_memory(err);
        r = path_normalize(place, "/", NULL, &clean, err);
        if (r < 0)
            return r;
        if (i > 0 && access(clean, X_OK) < 0)
            continue;
        *ret_host = TAKE_PTR(clean);
        break;
    }
    return 0;
}

/* ---- its environment ------------------------------------------------------------------------- */

enum { VARIABLES = 8 };

struct environment {
    char *items[VARIABLES]; /* ends with NULL */
    size_t count;
};

static void environment_free(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->items[i]);
}

static int add(struct environment *environment, const char *name, const char *value, size_t size,
               struct err *err)
{
    char *item = NULL;

    if (asprintf(&item, "%s=%.*s", name, (int) size, value) < 0)
        return err_memory(err);
    environment->items[environment->count++] = item;
    return 0;
}

/* A folder of wattle's, given by the folder above it, as the variable has it. */
static int add_above(struct environment *environment, const char *name, const char *folder,
                     struct err *err)
{
    const char *slash = folder == NULL ? NULL : strrchr(folder, '/');

    if (slash == NULL || slash == folder)
        return 0;
    return add(environment, name, folder, (size_t) (slash - folder), err);
}

static int fill(struct environment *environment, const struct derive_owner *owner, struct err *err)
{
    static const char path[] = "/usr/local/bin:/usr/bin:/bin", locale[] = "C.UTF-8";
    const struct {
        const char *name, *folder;
    } folders[] = {
        {"XDG_CONFIG_HOME", owner->config_dir},
        {"XDG_STATE_HOME", owner->state_dir},
        {"XDG_CACHE_HOME", owner->cache_dir},
        {"XDG_RUNTIME_DIR", owner->runtime_dir},
    };
    int r = add(environment, "HOME", owner->home, strlen(owner->home), err);

    if (r == 0)
        r = add(environment, "PATH", path, sizeof path - 1, err);
    if (r == 0)
        r = add(environment, "LC_ALL", locale, sizeof locale - 1, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++)
        r = add_above(environment, folders[i].name, folders[i].folder, err);
    return r;
}

int host_reach(const struct derive_owner *owner, enum rpc_door door, bool start,
               const char *program, struct rpc_client **ret_client, struct err *err)
{
    AUTO(environment_free) struct environment environment = {.count = 0};
    AUTO_FREE char *folder = NULL;
    AUTO_FREE char *host = NULL;
    union {
        char **in;
        const char *const *out;
    } variables = {.in = environment.items};
    struct rpc_connect wish = {.door = door, .program = program};
    int r = fill(&environment, owner, err);

    if (r == 0)
        r = rpc_folder(owner->runtime_dir, owner->state_dir, &folder, err);
    if (r == 0)
        r = host_find(&host, err);
    if (r < 0)
        return r;
    wish.folder = folder;
    wish.host = start ? host : NULL;
    wish.environment = variables.out;
    return rpc_client_open(&wish, ret_client, err);
}
