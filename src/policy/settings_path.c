/* Keys of the owner's files that name paths. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/settings_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int wrong_path(const struct settings_reader *reader, const struct settings_key *key,
                      const char *problem, const char *text, struct err *err)
{
    return err_set(err, EINVAL, "settings.path", "%s: '%s' %s: '%s'", reader->name, key->path,
                   problem, text);
}

static int unclean_path(const struct settings_reader *reader, const struct settings_key *key,
                        const char *text, struct err *err)
{
    AUTO_FREE char *plain = NULL;
    const char *tilde = text[0] == '~' ? "~" : "";
    const char *rest = text + strlen(tilde);

    if (path_normalize(rest, "/", NULL, &plain, NULL) < 0)
        return wrong_path(reader, key, "has a path that is too long", text, err);
    (void) wrong_path(reader, key, "has a path that is not plain", text, err);
    if (str_equal(plain, "/"))
        return err_hint(err, "name a folder in it, without '.', '..', '//' or a '/' at its end");
    return err_hint(err, "write '%s%s'", tilde, plain);
}

/* "~", "~/x" or "/x", clean; never "/" itself, and nothing that looks like a pattern: those would
 * be taken as names here and quietly match nothing. */
static int check_path(const struct settings_reader *reader, const struct settings_key *key,
                      const char *text, struct err *err)
{
    const char *rest = text[0] == '~' ? text + 1 : text;

    if (rest[0] != '/' && !str_equal(text, "~")) {
        (void) wrong_path(reader, key, "has a path that is not absolute", text, err);
        return err_hint(err, "write it from '/' or '~/' on; variables are not expanded");
    }
    if (strpbrk(text, "*?[]") != NULL) {
        (void) wrong_path(reader, key, "has a pattern where a path is needed", text, err);
        return err_hint(err, "name the files or the folder that holds them");
    }
    if (str_equal(text, "/")) {
        (void) wrong_path(reader, key, "names the whole system", text, err);
        return err_hint(err, key->access == POLICY_HIDE
                                 ? "leave it out: what is not named is hidden already"
                                 : "name the folders that are meant");
    }
    if (str_equal(text, "~") || (path_is_clean(rest) && rest[1] != '\0'))
        return 0;
    return unclean_path(reader, key, text, err);
}

static int read_path(const struct settings_reader *reader, const struct settings_key *key,
                     const char *text, char **ret_path, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = check_path(reader, key, text, err);

    if (r < 0)
        return r;
    path = text[0] != '~' ? strdup(text) : path_join(reader->home, text[1] == '\0' ? "" : text + 2);
    if (path == NULL)
        return err_memory(err);
    if (!path_is_clean(path))
        return wrong_path(reader, key, "has a path that is too long", text, err);
    *ret_path = TAKE_PTR(path);
    return 0;
}

static int add_path(struct settings_reader *reader, const struct settings_key *key,
                    const char *text, struct err *err)
{
    struct settings *settings = reader->settings;
    struct settings_path *paths = NULL;
    char *path = NULL;
    int r = read_path(reader, key, text, &path, err);

    if (r < 0)
        return r;
    paths = reallocarray(settings->paths, settings->path_count + 1, sizeof *paths);
    if (paths == NULL) {
        free(path);
        return err_memory(err);
    }
    settings->paths = paths;
    paths[settings->path_count++] =
        (struct settings_path){.path = path, .access = key->access, .hold = key->hold};
    return 0;
}

int settings_read_paths(struct settings_reader *reader, const struct settings_key *key,
                        json_t *value, struct err *err)
{
    return settings_read_texts(reader, key, value, add_path, err);
}

/* Relative, it is a name in each tree that can be written. */
static bool means_pattern(const char *text)
{
    return policy_is_pattern(text) || (text[0] != '/' && text[0] != '~');
}

static int add_deny_write(struct settings_reader *reader, const struct settings_key *key,
                          const char *text, struct err *err)
{
    const bool in_home = str_starts(text, "~/");
    const char *fault = policy_pattern_fault(text + in_home);
    AUTO_FREE char *pattern = NULL;

    if (!means_pattern(text))
        return add_path(reader, key, text, err);
    if (fault != NULL) {
        (void) err_set(err, EINVAL, "settings.pattern", "%s: '%s' has a pattern that %s: '%s'",
                       reader->name, key->path, fault, text);
        return err_hint(err, "%s", policy_pattern_hint);
    }
    pattern = in_home ? path_join(reader->home, text + 2) : strdup(text);
    if (pattern == NULL)
        return err_memory(err);
    return settings_add_text(&reader->settings->patterns, &reader->settings->pattern_count,
                             &pattern, err);
}

int settings_read_deny_write(struct settings_reader *reader, const struct settings_key *key,
                             json_t *value, struct err *err)
{
    return settings_read_texts(reader, key, value, add_deny_write, err);
}

static int add_socket(struct settings_reader *reader, const struct settings_key *key,
                      const char *text, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = read_path(reader, key, text, &path, err);

    return r < 0 ? r
                 : settings_add_text(&reader->settings->unix_sockets, &reader->settings->unix_count,
                                     &path, err);
}

int settings_read_sockets(struct settings_reader *reader, const struct settings_key *key,
                          json_t *value, struct err *err)
{
    return settings_read_texts(reader, key, value, add_socket, err);
}

/* The same path twice is harmless, and so is one that is not there. */
static int add_search(struct settings_reader *reader, const struct settings_key *key,
                      const char *text, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = read_path(reader, key, text, &path, err);

    return r < 0 ? r
                 : settings_add_text(&reader->settings->search, &reader->settings->search_count,
                                     &path, err);
}

int settings_read_search(struct settings_reader *reader, const struct settings_key *key,
                         json_t *value, struct err *err)
{
    reader->settings->search_given = true;
    return settings_read_texts(reader, key, value, add_search, err);
}
