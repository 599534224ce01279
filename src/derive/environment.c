/* A clean environment: these variables, the owner's own words (-e, config.json), and no other. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE POLICY_INSIDE_CACHE

static const struct {
    const char *name;
    const char *value;
} fixed[] = {
    {"HOME", POLICY_INSIDE_HOME},
    {"XDG_CONFIG_HOME", POLICY_INSIDE_HOME "/.config"},
    {"XDG_DATA_HOME", POLICY_INSIDE_HOME "/.local/share"},
    {"XDG_STATE_HOME", POLICY_INSIDE_HOME "/.local/state"},
    {"XDG_RUNTIME_DIR", POLICY_INSIDE_TMP}, /* 0700 and the user's, as it must be */
    {"XDG_CACHE_HOME", CACHE},
    {"TMPDIR", POLICY_INSIDE_TMP},
    {"TMP", POLICY_INSIDE_TMP},
    {"TEMP", POLICY_INSIDE_TMP},
    {"TMPPREFIX", POLICY_INSIDE_TMP "/zsh"}, /* zsh's here-documents do not ask TMPDIR */
    {"LANG", "C.UTF-8"},
    {"CI", "1"},
    {"NO_COLOR", "1"},

    /* No key is inside, so signing could only fail; wins over the configuration of a repository. */
    {"GIT_CONFIG_COUNT", "2"},
    {"GIT_CONFIG_KEY_0", "commit.gpgsign"},
    {"GIT_CONFIG_VALUE_0", "false"},
    {"GIT_CONFIG_KEY_1", "tag.gpgsign"},
    {"GIT_CONFIG_VALUE_1", "false"},

    /* Caches of package managers that do not ask XDG_CACHE_HOME. */
    {"BUN_INSTALL_CACHE_DIR", CACHE "/bun"},
    {"BUNDLE_USER_CACHE", CACHE "/bundle"},
    {"CARGO_HOME", CACHE "/cargo"},
    {"COREPACK_HOME", CACHE "/corepack"},
    {"DENO_DIR", CACHE "/deno"},
    {"GOCACHE", CACHE "/go-build"},
    {"GOMODCACHE", CACHE "/go/pkg/mod"},
    {"GOPATH", CACHE "/go"},
    {"GRADLE_USER_HOME", CACHE "/gradle"},
    {"MAVEN_OPTS", "-Dmaven.repo.local=" CACHE "/maven"},
    {"NUGET_PACKAGES", CACHE "/nuget"},
    {"YARN_CACHE_FOLDER", CACHE "/yarn"},
    {"npm_config_cache", CACHE "/npm"},
    {"UV_LINK_MODE", "copy"}, /* cache and pen are different file systems inside */
};

/* Of the caller's, and only when it names something of the system that shows inside anyway. */
static const char *const kept_when_shown[] = {"GOROOT", "JAVA_HOME", "RUSTUP_HOME", "PYENV_ROOT",
                                              "RBENV_ROOT"};

const char *derive_shell(void)
{
    return access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
}

static int set(const struct derivation *work, const char *name, const char *value, struct err *err)
{
    return policy_set_env(work->policy, name, value, err);
}

/* Letters, digits and what `more` has; at most `limit` of them. */
static bool is_sane(const char *value, const char *more, size_t limit)
{
    size_t size = value == NULL ? 0 : strlen(value);

    if (size == 0 || size > limit)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char) value[i]) && strchr(more, value[i]) == NULL)
            return false;
    return true;
}

static int set_callers(const struct derivation *work, struct err *err)
{
    const char *term = getenv("TERM");
    const char *zone = getenv("TZ");
    int r = 0;

    if (is_sane(term, "+._-", 32))
        r = set(work, "TERM", term, err);
    /* A zone by name or rule; never a file by its path. */
    if (r == 0 && zone != NULL && is_sane(zone, "+-_/,.:<>", 64) && zone[0] != '/' &&
        zone[0] != ':' && strstr(zone, "..") == NULL)
        r = set(work, "TZ", zone, err);
    return r;
}

/* A variable of a repository may have set it: it opens nothing, and only says where. */
static int set_when_shown(const struct derivation *work, const char *name, struct err *err)
{
    const char *value = getenv(name);
    AUTO_FREE char *physical = NULL;

    if (value == NULL || !path_is_clean(value) || policy_env(work->policy, name) != NULL)
        return 0;
    if (policy_resolve(work->policy, value, NULL) != POLICY_READ ||
        path_physical(value, &physical, NULL) < 0 ||
        policy_resolve(work->policy, physical, NULL) != POLICY_READ)
        return 0;
    return set(work, name, value, err);
}

/* ---- the owner's own words --------------------------------------------------------------- */

/* Names by which a loader, an interpreter or git runs what a variable says. */
static bool is_injection(const char *name)
{
    static const char *const prefixes[] = {"LD_", "DYLD_", "GIT_CONFIG_", "BASH_FUNC_"};
    static const char *const names[] = {
        "BASH_ENV",          "ENV",
        "GCONV_PATH",        "GIT_ASKPASS",
        "GIT_EDITOR",        "GIT_EXEC_PATH",
        "GIT_EXTERNAL_DIFF", "GIT_PAGER",
        "GIT_SSH",           "GIT_SSH_COMMAND",
        "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",  "NODE_OPTIONS",
        "NODE_PATH",         "PERL5LIB",
        "PERL5OPT",          "PROMPT_COMMAND",
        "PYTHONHOME",        "PYTHONPATH",
        "PYTHONSTARTUP",     "RUBYLIB",
        "RUBYOPT",           "ZDOTDIR",
    };

    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (str_starts(name, prefixes[i]))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_equal(name, names[i]))
            return true;
    return false;
}

static bool is_ours(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        if (str_equal(name, fixed[i].name))
            return true;
    return str_equal(name, "PATH") || str_equal(name, "PWD");
}

static int note_special(const struct derivation *work, const char *name, const char *label,
                        struct err *err)
{
    if (is_injection(name))
        return derive_note(work, err, "%s: '%s' makes programs load or run what it says", label,
                           name);
    if (is_ours(name))
        return derive_note(work, err, "%s: '%s' replaces what wattle sets", label, name);
    return 0;
}

/* "NAME=value", or "NAME" for the caller's value. */
static int set_word(const struct derivation *work, const char *word, const char *label,
                    struct err *err)
{
    size_t size = strcspn(word, "=");
    AUTO_FREE char *name = strndup(word, size);
    const char *value = NULL;
    int r = 0;

    if (name == NULL)
        return err_memory(err);
    value = word[size] == '=' ? word + size + 1 : getenv(name);
    if (value == NULL && name[0] != '\0')
        return derive_note(work, err, "%s: '%s' is not set here and adds nothing", label, name);
    r = set(work, name, value != NULL ? value : "", err);
    if (r < 0)
        return r == -ENOMEM ? r : err_context(err, "%s", label);
    return note_special(work, name, label, err);
}

static int set_words(const struct derivation *work, struct err *err)
{
    const char *const *flags = work->request->env;
    int r = 0;

    for (size_t i = 0; r == 0 && i < work->settings_count; i++)
        for (size_t j = 0; r == 0 && j < work->settings[i]->env_count; j++)
            r = set_word(work, work->settings[i]->env[j], work->settings_names.items[i], err);
    for (size_t i = 0; r == 0 && flags != NULL && flags[i] != NULL; i++)
        r = set_word(work, flags[i], "-e", err);
    return r;
}

/* ---- all of it --------------------------------------------------------------------------- */

int derive_environment_set(const struct derivation *work, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fixed); i++)
        r = set(work, fixed[i].name, fixed[i].value, err);
    if (r == 0)
        r = set(work, "USER", work->owner->login, err);
    if (r == 0)
        r = set(work, "LOGNAME", work->owner->login, err);
    if (r == 0)
        r = set(work, "SHELL", derive_shell(), err);
    if (r == 0)
        r = set(work, "PWD", policy_cwd(work->policy), err);
    if (r == 0)
        r = derive_search_set_path(work, err);
    if (r == 0)
        r = set_callers(work, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kept_when_shown); i++)
        r = set_when_shown(work, kept_when_shown[i], err);
    return r < 0 ? r : set_words(work, err);
}
