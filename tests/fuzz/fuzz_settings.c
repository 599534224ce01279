/* Whatever a settings file says, what comes out of it keeps the promises of settings.h. */
#include "base/cleanup.h"
#include "base/path.h"
#include "fuzz.h"
#include "policy/settings.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static void check(const struct settings *settings, enum settings_source source)
{
    for (size_t i = 0; i < settings->path_count; i++) {
        expect(path_is_clean(settings->paths[i].path));
        expect(source == SETTINGS_OWNER || settings->paths[i].hold ||
               settings->paths[i].access == POLICY_HIDE);
    }
    for (size_t i = 0; i < settings->pattern_count; i++)
        expect(policy_pattern_fault(settings->patterns[i]) == NULL);
    for (size_t i = 0; i < settings->env_count; i++)
        expect(policy_env_name_ok(settings->env[i], strcspn(settings->env[i], "=")));
    for (size_t i = 0; i < settings->unix_count; i++)
        expect(path_is_clean(settings->unix_sockets[i]));
    expect(source == SETTINGS_OWNER || (settings->env_count == 0 && settings->unix_count == 0 &&
                                        !settings->caches_given && !settings->accept_shared_links));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const enum settings_source sources[] = {SETTINGS_OWNER, SETTINGS_ADMIN};

    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        AUTO(settings_freep) struct settings *settings = NULL;
        struct err err = {0};
        int r =
            settings_parse((const char *) bytes, size, "x", "/home/u", sources[i], &settings, &err);

        expect((r == 0) == (settings != NULL));
        expect(r == 0 || (err.code == -r && err.what[0] != '\0'));
        if (settings != NULL)
            check(settings, sources[i]);
    }
    return 0;
}
