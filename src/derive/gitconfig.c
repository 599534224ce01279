/* A .gitconfig for the run, made from an allow-list of the owner's keys.
 *
 * None of the keys starts a program or names a file, and values are written quoted, so that nothing
 * in the owner's file, whatever it holds, can say more than the table lets it. Inclusions are not
 * followed. */
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_SIZE 1024
#define FOLDERS_MAX 64 /* of safe.directory */

enum value_kind {
    VALUE_TEXT,   /* anything printable */
    VALUE_WORD,   /* letters, digits and ,./_+:- */
    VALUE_FOLDER, /* like text, and there may be many */
};

/* Sections stand together: a section is printed once. */
static const struct key {
    const char *section;
    const char *name;
    enum value_kind kind;
} keys[] = {
    {"apply", "whitespace", VALUE_WORD},
    {"branch", "autosetupmerge", VALUE_WORD},
    {"branch", "autosetuprebase", VALUE_WORD},
    {"branch", "sort", VALUE_WORD},
    {"checkout", "defaultremote", VALUE_WORD},
    {"color", "ui", VALUE_WORD},
    {"column", "ui", VALUE_WORD},
    {"commit", "cleanup", VALUE_WORD},
    {"commit", "verbose", VALUE_WORD},
    {"core", "abbrev", VALUE_WORD},
    {"core", "autocrlf", VALUE_WORD},
    {"core", "commentchar", VALUE_TEXT},
    {"core", "eol", VALUE_WORD},
    {"core", "filemode", VALUE_WORD},
    {"core", "precomposeunicode", VALUE_WORD},
    {"core", "quotepath", VALUE_WORD},
    {"core", "safecrlf", VALUE_WORD},
    {"core", "whitespace", VALUE_WORD},
    {"diff", "algorithm", VALUE_WORD},
    {"diff", "colormoved", VALUE_WORD},
    {"diff", "context", VALUE_WORD},
    {"diff", "mnemonicprefix", VALUE_WORD},
    {"diff", "noprefix", VALUE_WORD},
    {"diff", "renamelimit", VALUE_WORD},
    {"diff", "renames", VALUE_WORD},
    {"fetch", "prune", VALUE_WORD},
    {"fetch", "prunetags", VALUE_WORD},
    {"i18n", "commitencoding", VALUE_WORD},
    {"i18n", "logoutputencoding", VALUE_WORD},
    {"init", "defaultbranch", VALUE_WORD},
    {"log", "date", VALUE_TEXT},
    {"log", "decorate", VALUE_WORD},
    {"log", "follow", VALUE_WORD},
    {"merge", "conflictstyle", VALUE_WORD},
    {"merge", "ff", VALUE_WORD},
    {"merge", "renamelimit", VALUE_WORD},
    {"pull", "ff", VALUE_WORD},
    {"pull", "rebase", VALUE_WORD},
    {"push", "autosetupremote", VALUE_WORD},
    {"push", "default", VALUE_WORD},
    {"push", "followtags", VALUE_WORD},
    {"rebase", "autosquash", VALUE_WORD},
    {"rebase", "autostash", VALUE_WORD},
    {"rebase", "updaterefs", VALUE_WORD},
    {"rerere", "autoupdate", VALUE_WORD},
    {"rerere", "enabled", VALUE_WORD},
    {"safe", "directory", VALUE_FOLDER},
    {"status", "short", VALUE_WORD},
    {"status", "showuntrackedfiles", VALUE_WORD},
    {"tag", "sort", VALUE_WORD},
    {"user", "email", VALUE_TEXT},
    {"user", "name", VALUE_TEXT},
    {"user", "useconfigonly", VALUE_WORD},
};

struct derive_gitconfig {
    char *values[ARRAY_SIZE(keys)];
    struct derive_list folders;
};

struct derive_gitconfig *derive_gitconfig_new(void)
{
    return calloc(1, sizeof(struct derive_gitconfig));
}

void derive_gitconfig_freep(struct derive_gitconfig **config)
{
    struct derive_gitconfig *gone = *config;

    *config = NULL;
    if (gone == NULL)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        free(gone->values[i]);
    derive_list_free(&gone->folders);
    free(gone);
}

/* ---- reading ----------------------------------------------------------------------------- */

static bool is_plain(const char *value)
{
    for (; *value != '\0'; value++)
        if (((unsigned char) *value < 0x20 && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

static bool value_fits(enum value_kind kind, const char *value)
{
    if (value[0] == '\0' || strlen(value) >= VALUE_SIZE || !is_plain(value))
        return false;
    for (size_t i = 0; kind == VALUE_WORD && value[i] != '\0'; i++)
        if (!isalnum((unsigned char) value[i]) && strchr(",./_+:-", value[i]) == NULL)
            return false;
    return true;
}

static int store(struct derive_gitconfig *config, size_t index, const char *value)
{
    char *copy = NULL;

    if (keys[index].kind == VALUE_FOLDER)
        return config->folders.count >= FOLDERS_MAX
                   ? 0
                   : derive_list_add(&config->folders, value, NULL);
    copy = strdup(value);
    if (copy == NULL)
        return -ENOMEM;
    free(config->values[index]);
    config->values[index] = copy;
    return 0;
}

static int take_setting(void *context, const struct derive_gitsetting *setting)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (setting->subsection == NULL && str_equal(keys[i].section, setting->section) &&
            str_equal(keys[i].name, setting->name) && value_fits(keys[i].kind, setting->value))
            return store(context, i, setting->value);
    return 0;
}

int derive_gitconfig_read(struct derive_gitconfig *config, const char *text, size_t size)
{
    return derive_gitconfig_each(text, size, take_setting, config, NULL);
}

/* ---- writing ----------------------------------------------------------------------------- */

static void print_setting(struct buf *buf, const char *name, const char *value)
{
    (void) buf_printf(buf, "\t%s = \"", name);
    for (; *value != '\0'; value++) {
        if (*value == '\t') {
            (void) buf_add_text(buf, "\\t");
            continue;
        }
        if (*value == '"' || *value == '\\')
            (void) buf_add(buf, "\\", 1);
        (void) buf_add(buf, value, 1);
    }
    (void) buf_add_text(buf, "\"\n");
}

int derive_gitconfig_print(const struct derive_gitconfig *config, struct buf *buf)
{
    const char *section = "";

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        bool is_list = keys[i].kind == VALUE_FOLDER;

        if (is_list ? config->folders.count == 0 : config->values[i] == NULL)
            continue;
        if (!str_equal(section, keys[i].section))
            (void) buf_printf(buf, "[%s]\n", keys[i].section);
        section = keys[i].section;
        for (size_t j = 0; is_list && j < config->folders.count; j++)
            print_setting(buf, keys[i].name, config->folders.items[j]);
        if (!is_list)
            print_setting(buf, keys[i].name, config->values[i]);
    }
    (void) buf_add_text(buf, "[commit]\n\tgpgsign = false\n[tag]\n\tgpgsign = false\n");
    return buf->failed;
}

/* ---- the owner's files ------------------------------------------------------------------- */

/* Follows symlinks: a file generated elsewhere is the owner's word as well. */
static int read_file(struct derive_gitconfig *config, const char *path)
{
    AUTO(buf_free) struct buf buf;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat seen;

    buf_init(&buf, DERIVE_GITCONFIG_LIMIT_BYTES);
    if (fd < 0 || fstat(fd, &seen) < 0 || !S_ISREG(seen.st_mode) || fd_read_all(fd, &buf) < 0)
        return 0; /* git inside works without it */
    return derive_gitconfig_read(config, buf.bytes, buf.size);
}

char *derive_gitconfig_path(const struct derive_owner *owner, enum derive_gitconfig_file file)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");

    if (file == DERIVE_GITCONFIG_HOME)
        return path_join(owner->home, ".gitconfig");
    return xdg != NULL && xdg[0] == '/' ? path_join(xdg, "git/config")
                                        : path_join(owner->home, ".config/git/config");
}

static int read_files(const struct derivation *work, struct derive_gitconfig *config,
                      struct err *err)
{
    for (unsigned file = 0; file < DERIVE_GITCONFIG_FILES; file++) {
        AUTO_FREE char *path = derive_gitconfig_path(work->owner, file);

        if (path == NULL || read_file(config, path) < 0)
            return err_memory(err);
    }
    return 0;
}

int derive_gitconfig_add(const struct derivation *work, struct err *err)
{
    /* 'git gc' must leave other worktrees alone: their logs are held, and their folders, which are
     * not inside, would look as if they were gone. */
    static const char shared[] = "[gc]\n\treflogexpire = never\n\treflogexpireunreachable = never\n"
                                 "\tworktreepruneexpire = never\n";
    AUTO(derive_gitconfig_freep) struct derive_gitconfig *config = derive_gitconfig_new();
    AUTO(buf_free) struct buf buf;
    int r;

    buf_init(&buf, 2 * DERIVE_GITCONFIG_LIMIT_BYTES + 4096);
    if (config == NULL)
        return err_memory(err);
    r = read_files(work, config, err);
    if (r < 0)
        return r;
    (void) derive_gitconfig_print(config, &buf);
    if (work->shares_git)
        (void) buf_add_text(&buf, shared);
    r = buf_check(&buf, ".gitconfig", err);
    if (r < 0)
        return r;
    return derive_place_add(work, POLICY_PLACE_FILE, POLICY_INSIDE_HOME "/.gitconfig", buf.bytes,
                            "your git identity and settings, signing off", err);
}
