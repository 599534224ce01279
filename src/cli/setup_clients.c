#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/setup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* As the clients' documents described it on 2026-12-01: Claude Code 2.1, Codex 0.154, VS Code
 * 1.126, opencode 1.18 (its version 2 reads the same, and names `servers` of its own below `mcp`),
 * Gemini CLI. */
static const struct setup_client clients[] = {
    {
        .name = "claude",
        .title = "Claude Code",
        .variable = "CLAUDE_CONFIG_DIR",
        .moved = {".claude.json"},
        .usual = {".claude.json"},
        .project = {".mcp.json"},
        .guarded = true,
        .group = "mcpServers",
        .type = "stdio",
        .replaced = "$",
    },
    {
        .name = "codex",
        .title = "Codex",
        .format = SETUP_TOML,
        .variable = "CODEX_HOME",
        .moved = {"config.toml"},
        .usual = {".codex/config.toml"},
        .project = {".codex/config.toml"},
        .guarded = true,
        .group = "mcp_servers",
    },
    {
        .name = "vscode",
        .title = "VS Code",
        .variable = "XDG_CONFIG_HOME",
        .moved = {"Code/User/mcp.json"},
        .usual = {".config/Code/User/mcp.json"},
        .project = {".vscode/mcp.json"},
        .guarded = true,
        .group = "servers",
        .type = "stdio",
        .here = "${workspaceFolder}",
        .replaced = "$",
    },
    {
        .name = "opencode",
        .title = "opencode",
        .variable = "XDG_CONFIG_HOME",
        .moved = {"opencode/opencode.json", "opencode/opencode.jsonc"},
        .usual = {".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"},
        .project = {"opencode.json", "opencode.jsonc"},
        .group = "mcp",
        .inner = "servers",
        .type = "local",
        .one_list = true,
        .replaced = "{",
    },
    {
        .name = "gemini",
        .title = "Gemini CLI",
        .variable = "GEMINI_CLI_HOME",
        .moved = {".gemini/settings.json"},
        .usual = {".gemini/settings.json"},
        .project = {".gemini/settings.json"},
        .guarded = true,
        .group = "mcpServers",
        .replaced = "$",
    },
};

const struct setup_client *setup_client_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        if (str_equal(clients[i].name, name))
            return &clients[i];
    }
    return NULL;
}

/* ---- where ----------------------------------------------------------------------------------- */

static int choose(const char *top, const char *const names[2], char **ret_path, struct err *err)
{
    AUTO_FREE char *first = path_join(top, names[0]);
    AUTO_FREE char *second = names[1] == NULL ? NULL : path_join(top, names[1]);

    if (first == NULL || (names[1] != NULL && second == NULL))
        return err_memory(err);
    *ret_path = second != NULL && access(first, F_OK) < 0 && access(second, F_OK) == 0
                    ? TAKE_PTR(second)
                    : TAKE_PTR(first);
    return 0;
}

int setup_path(const struct setup_wish *wish, char **ret_path, struct err *err)
{
    const struct setup_client *client = wish->client;
    const char *moved = client->variable == NULL ? NULL : getenv(client->variable);

    if (wish->project != NULL)
        return choose(wish->project, client->project, ret_path, err);
    if (moved == NULL || moved[0] == '\0')
        return choose(wish->home, client->usual, ret_path, err);
    if (!path_is_clean(moved)) {
        (void) err_set(err, EINVAL, "setup.place", "%s is no plain absolute path: '%s'",
                       client->variable, moved);
        return err_hint(err, "unset it, or name a folder from the root on, without '..'");
    }
    return choose(moved, client->moved, ret_path, err);
}

/* ---- what ------------------------------------------------------------------------------------ */

static int add(const struct setup_wish *wish, json_t *words, const char *word, struct err *err)
{
    const struct setup_client *client = wish->client;

    if (client->replaced != NULL && strpbrk(word, client->replaced) != NULL) {
        (void) err_set(err, EINVAL, "setup.text", "%s would read something else for '%s'",
                       client->title, word);
        return err_hint(err, "it replaces what follows a '%s'; choose a name without",
                        client->replaced);
    }
    if (json_array_append_new(words, json_string(word)) < 0)
        return err_set(err, EINVAL, "setup.text", "'%s' is no text: its bytes are not UTF-8", word);
    return 0;
}

static int add_option(const struct setup_wish *wish, json_t *words, const char *option,
                      const char *value, struct err *err)
{
    const int r = add(wish, words, option, err);

    return r < 0 ? r : add(wish, words, value, err);
}

int setup_words(const struct setup_wish *wish, json_t **ret_words, struct err *err)
{
    AUTO(json_free) json_t *words = json_array();
    int r = words == NULL ? err_memory(err) : add(wish, words, wish->program, err);

    if (r == 0)
        r = add(wish, words, "mcp", err);
    if (r == 0 && wish->pen != NULL)
        r = add_option(wish, words, "--pen", wish->pen, err);
    else if (r == 0 && wish->client->here != NULL &&
             (json_array_append_new(words, json_string("--pen")) < 0 ||
              json_array_append_new(words, json_string(wish->client->here)) < 0))
        r = err_memory(err);
    if (r == 0 && wish->chat != NULL)
        r = add_option(wish, words, "--chat", wish->chat, err);
    if (r == 0)
        *ret_words = TAKE_PTR(words);
    return r;
}
