/* Names of the pen that are guarded because of what leads to them: git's configuration, of the
 * owner, the machine and the repositories at hand (gitkeys.c), and guarded names that are symlinks
 * (repositories.c). The guard's own table cannot know them, so they are added to the policy.
 *
 * A relative name in a configuration of the owner counts in every repository, also in one that a
 * job makes: it is guarded beside every ".git". */
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/pointers_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CONFIG_LIMIT_BYTES = 1 << 20,
    FILES_MAX = 256, /* of one repository, by inclusion */
    NAMES_MAX = 768, /* of all; the guard has its own bound */
    PARTS_MAX = 8,   /* of a name beside every ".git" */
};

/* ---- what is guarded ------------------------------------------------------------------------- */

static char *borrowed(const char *text)
{
    union {
        const char *in;
        char *out;
    } pointer = {.in = text};

    return pointer.out;
}

static bool is_guarded(const struct policy *policy, const struct policy_guard_rule *rule)
{
    for (size_t i = 0; i < policy_guard_rules(policy); i++) {
        const struct policy_guard_rule *other = policy_guard_rule_at(policy, i);

        if (other->kind == rule->kind && str_equal(other->text, rule->text))
            return true;
    }
    return false;
}

static int add_rule(const struct derivation *work, enum policy_guard_kind kind, const char *text,
                    const char *why, struct err *err)
{
    const struct policy_guard_rule rule = {
        .kind = kind, .text = borrowed(text), .why = borrowed(why)};

    if (is_guarded(work->policy, &rule))
        return 0;
    if (policy_guard_rules(work->policy) < NAMES_MAX)
        return policy_add_guard_rule(work->policy, &rule, err);
    (void) err_set(err, EINVAL, "derive.pointers",
                   "git settings and symlinks lead to more than %d places in the pen, such as '%s'",
                   NAMES_MAX, text);
    return err_hint(err, "use a smaller pen: nothing that such a place holds would be guarded; "
                         "'--guard off' runs without");
}

static int add_path(const struct derivation *work, enum policy_guard_kind kind, const char *path,
                    const char *why, struct err *err)
{
    if (path_is_below(work->pen, path))
        return derive_note(work, err,
                           "'%s' holds the whole pen, so that nothing in it is held for: %s", path,
                           why);
    if (policy_resolve(work->policy, path, NULL) != POLICY_WRITE)
        return 0;
    return add_rule(work, kind, path, why, err);
}

struct way {
    const struct derivation *work;
    const char *why;
    struct err *err;
};

static int hold_link(void *context, const char *link, const char *target)
{
    const struct way *way = context;

    (void) target;
    if (str_equal(path_base(link), ".git"))
        return 0; /* the guard's own table has it */
    return add_path(way->work, POLICY_GUARD_HELD, link, way->why, way->err);
}

int derive_pointers_hold(const struct derivation *work, enum policy_guard_kind kind,
                         const char *path, const char *why, struct err *err)
{
    struct way way = {work, why, err};
    struct err none = {0};
    AUTO_FREE char *end = NULL;
    const int r = path_follow(path, hold_link, &way, &end, &none);

    if (r == 0)
        return add_path(work, kind, end, why, err);
    if (r == -ENOMEM || err->code != 0)
        return err->code != 0 ? r : err_memory(err);
    return 0; /* a loop, or too long: it leads nowhere */
}

/* ---- names in a value --------------------------------------------------------------------------
 */

/* `value` from `base` on, as git expands it; NULL: out of memory. */
static char *expand(const struct derivation *work, const char *base, const char *value)
{
    const char *login = work->owner->login;
    const size_t size = login != NULL ? strlen(login) : 0;

    if (value[0] == '/')
        return strdup(value);
    if (value[0] == '~' && (value[1] == '\0' || value[1] == '/'))
        return path_join(work->owner->home, value + 1);
    if (size > 0 && value[0] == '~' && strncmp(value + 1, login, size) == 0 &&
        work->owner->account_home != NULL && (value[1 + size] == '/' || value[1 + size] == '\0'))
        return path_join(work->owner->account_home, value + 1 + size);
    return path_join(base, value);
}

static bool is_relative(const char *value)
{
    return value[0] != '/' && value[0] != '~' && value[0] != '%';
}

/* `value` as a name the guard can look for anywhere; false: it is none. */
static bool is_pattern(const char *value)
{
    size_t parts = 0;

    for (const char *at = value; *at != '\0'; at += *at == '/') {
        const size_t size = strcspn(at, "/");

        if (size == 0 || size > UINT8_MAX || ++parts > PARTS_MAX || at[0] == '!' ||
            (at[0] == '.' && (size == 1 || (size == 2 && at[1] == '.'))) ||
            strcspn(at, "*?[\\") < size)
            return false;
        at += size;
    }
    return parts > 0;
}

static int hold_everywhere(const struct derive_pointers *pointers, const char *value,
                           const char *why)
{
    AUTO_FREE char *plain = NULL;
    const int r = path_normalize(value, "/", NULL, &plain, NULL);

    if (r == -ENOMEM)
        return err_memory(pointers->err);
    if (r < 0 || strstr(value, "..") != NULL || !is_pattern(plain + 1))
        return 0; /* then it was guarded at the tops that there are */
    return add_rule(pointers->work, POLICY_GUARD_AT_TOPS, plain + 1, why, pointers->err);
}

static const char *without_optional(const char *value)
{
    static const char optional[] = ":(optional)";

    return str_starts(value, optional) ? value + strlen(optional) : value;
}

static int hold_path(const struct derive_pointers *pointers, const char *value, const char *why)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < pointers->tops.count; i++) {
        AUTO_FREE char *path = expand(pointers->work, pointers->tops.items[i], value);

        r = path == NULL
                ? err_memory(pointers->err)
                : derive_pointers_hold(pointers->work, POLICY_GUARD_HELD, path, why, pointers->err);
    }
    /* Also of one repository's own settings: it can be moved, and get another work tree. */
    return r == 0 && is_relative(value) ? hold_everywhere(pointers, value, why) : r;
}

struct command {
    const struct derive_pointers *pointers;
    const char *why;
};

/* What a folder holds is not what a command runs by its name: "make -C sub", "cd src". */
static int hold_word(void *context, const char *word)
{
    const struct command *command = context;
    const struct derive_pointers *pointers = command->pointers;
    const bool is_path = strchr(word, '/') != NULL;
    bool is_folder = false;
    bool is_there = false;

    for (size_t i = 0; i < pointers->tops.count; i++) {
        AUTO_FREE char *path = expand(pointers->work, pointers->tops.items[i], word);
        struct stat seen;

        if (path == NULL)
            return err_memory(pointers->err);
        if (stat(path, &seen) < 0 && (errno == ENAMETOOLONG || lstat(path, &seen) < 0))
            continue;
        is_there = true;
        is_folder = is_folder || S_ISDIR(seen.st_mode);
    }
    if (is_folder || (!is_path && !is_there))
        return 0;
    if (is_path)
        return hold_path(pointers, word, command->why);
    for (size_t i = 0; i < pointers->tops.count; i++) {
        AUTO_FREE char *path = path_join(pointers->tops.items[i], word);
        const int r = path == NULL ? err_memory(pointers->err)
                                   : derive_pointers_hold(pointers->work, POLICY_GUARD_HELD, path,
                                                          command->why, pointers->err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int hold_words(const struct derive_pointers *pointers, const struct derive_gitkey *key,
                      const char *value)
{
    struct command command = {pointers, key->why};
    const struct derive_gitwords words = {hold_word, &command};

    return derive_gitwords_each(value, &words);
}

static int hold_url(const struct derive_pointers *pointers, const struct derive_gitkey *key,
                    const char *url)
{
    const char *command = url != NULL ? derive_giturl_command(url) : NULL;

    return command != NULL ? hold_words(pointers, key, command) : 0;
}

/* An alias that begins otherwise is git's own words. */
static int hold_program(const struct derive_pointers *pointers, const struct derive_gitkey *key,
                        const char *value)
{
    if (str_equal(key->section, "alias") && value[0] != '!')
        return 0;
    return hold_words(pointers, key, value);
}

/* ---- settings ----------------------------------------------------------------------------------
 */

static char *folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash == file ? strdup("/") : strndup(file, (size_t) (slash - file));
}

/* A condition counts as true: what it depends on may change. */
static int include(struct derive_pointers *pointers, const char *value, const char *why)
{
    AUTO_FREE char *folder = folder_of(pointers->file);
    AUTO_FREE char *path = folder == NULL ? NULL : expand(pointers->work, folder, value);
    int r;

    if (path == NULL)
        return err_memory(pointers->err);
    r = derive_pointers_hold(pointers->work, POLICY_GUARD_HELD, path, why, pointers->err);
    if (r < 0 || derive_list_has(&pointers->files, path))
        return r;
    if (pointers->files.count < FILES_MAX)
        return derive_list_add(&pointers->files, path, pointers->err);
    (void) err_set(pointers->err, EINVAL, "derive.git-config",
                   "the git configuration '%s' includes more than %d files",
                   pointers->files.items[0], FILES_MAX);
    return err_hint(pointers->err, "include fewer, or run with '--guard off'");
}

/* The work tree of a git folder may be elsewhere: relative names count from there. */
static int take_tree(struct derive_pointers *pointers, const char *value)
{
    AUTO_FREE char *folder = folder_of(pointers->file);
    AUTO_FREE char *path = folder == NULL ? NULL : expand(pointers->work, folder, value);
    AUTO_FREE char *top = NULL;
    struct err none = {0};

    if (path == NULL)
        return err_memory(pointers->err);
    if (path_physical(path, &top, &none) < 0 || derive_list_has(&pointers->tops, top))
        return 0;
    pointers->again = true;
    return derive_list_add(&pointers->tops, top, pointers->err);
}

static int take(void *context, const struct derive_gitsetting *setting)
{
    struct derive_pointers *pointers = context;
    const struct derive_gitkey *key = derive_gitkey_find(setting);
    const char *value = without_optional(setting->value);

    if (str_equal(setting->section, "core") && str_equal(setting->name, "worktree") &&
        !pointers->owners)
        return take_tree(pointers, value);
    if (key == NULL || value[0] == '\0')
        return 0;
    switch (key->kind) {
    case DERIVE_GITKEY_INCLUDE:
        return include(pointers, value, key->why);
    case DERIVE_GITKEY_PATH:
        return hold_path(pointers, value, key->why);
    case DERIVE_GITKEY_PROGRAM:
        return hold_program(pointers, key, value);
    case DERIVE_GITKEY_URL:
        return hold_url(pointers, key, value);
    case DERIVE_GITKEY_BASE:
        return hold_url(pointers, key, setting->subsection);
    }
    return 0;
}

/* ---- files -------------------------------------------------------------------------------------
 */

/* Opens a regular file, also through symlinks, and nothing else: a device may act when it is
 * opened.
 */
static int open_regular(const char *path)
{
    char again[64];
    struct stat seen;
    int fd = path_open_plain(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
    AUTO_CLOSE int found = -1;

    if (fd != -ELOOP)
        return fd;
    found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0 || fstat(found, &seen) < 0)
        return -errno;
    if (!S_ISREG(seen.st_mode))
        return -EINVAL;
    (void) snprintf(again, sizeof again, "/proc/self/fd/%d", found);
    fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static int refuse(const char *path, const char *what, struct err *err)
{
    (void) err_set(err, EINVAL, "derive.git-config",
                   "the git configuration '%s' %s, so that what it names is not known", path, what);
    return err_hint(err, "make it shorter, or run with '--guard off'");
}

static int read_text(struct derive_pointers *pointers, const char *path, const struct buf *buf)
{
    unsigned flaws = 0;
    const int r = derive_gitconfig_each(buf->bytes, buf->size, take, pointers, &flaws);

    if (r == -ENOMEM && pointers->err->code == 0)
        return err_memory(pointers->err);
    if (r < 0)
        return r;
    if ((flaws & DERIVE_GIT_CUT) != 0)
        return refuse(path, "holds a setting that is too long", pointers->err);
    return (flaws & DERIVE_GIT_BAD) == 0
               ? 0
               : derive_note(pointers->work, pointers->err,
                             "'%s' has lines that git does not understand; they were passed over",
                             path);
}

/* One that git cannot read either says nothing, unless a job could make it readable again. */
static int tell_unreadable(struct derive_pointers *pointers, const char *path)
{
    if (policy_resolve(pointers->work->policy, path, NULL) == POLICY_WRITE) {
        (void) refuse(path, "cannot be read", pointers->err);
        return err_hint(pointers->err, "look at it, and make it a file that you can read");
    }
    return derive_note(pointers->work, pointers->err,
                       "'%s' could not be read; what it names in the pen is not held", path);
}

/* One that is not there says nothing. */
static int read_file(struct derive_pointers *pointers, const char *path)
{
    AUTO(buf_free) struct buf buf;
    AUTO_CLOSE int fd = open_regular(path);
    struct stat seen;
    int r = 0;

    buf_init(&buf, CONFIG_LIMIT_BYTES);
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
        return 0;
    if (fd >= 0 && (fstat(fd, &seen) < 0 || !S_ISREG(seen.st_mode)))
        r = -EINVAL;
    if (fd >= 0 && r == 0)
        r = fd_read_all(fd, &buf);
    if (r == -ENOMEM)
        return err_memory(pointers->err);
    if (r == -EMSGSIZE)
        return refuse(path, "is too large", pointers->err);
    if (fd < 0 || r < 0)
        return tell_unreadable(pointers, path);
    pointers->file = path;
    return read_text(pointers, path, &buf);
}

int derive_pointers_read(struct derive_pointers *pointers)
{
    int r = 0;

    do {
        pointers->again = false;
        for (size_t i = 0; r == 0 && i < pointers->files.count; i++) {
            AUTO_FREE char *path = strdup(pointers->files.items[i]); /* the list grows */

            r = path == NULL ? err_memory(pointers->err) : read_file(pointers, path);
        }
    } while (r == 0 && pointers->again && pointers->tops.count < FILES_MAX);
    return r;
}

void derive_pointers_free(struct derive_pointers *pointers)
{
    derive_list_free(&pointers->tops);
    derive_list_free(&pointers->files);
}

const char *derive_pointers_text(const char *path, struct buf *buf)
{
    AUTO_CLOSE int fd = open_regular(path);
    struct stat seen;

    if (fd < 0 || fstat(fd, &seen) < 0 || !S_ISREG(seen.st_mode) || fd_read_all(fd, buf) < 0)
        return NULL;
    while (buf->size > 0 && strchr("\r\n", buf->bytes[buf->size - 1]) != NULL)
        buf->bytes[--buf->size] = '\0';
    return buf->bytes;
}

/* ---- the owner's, and the pen ------------------------------------------------------------------
 */

static int add_tops(struct derive_pointers *pointers)
{
    const struct derivation *work = pointers->work;
    int r = derive_list_add(&pointers->tops, work->pen, pointers->err);

    if (r == 0 && work->tree != NULL && !str_equal(work->tree, work->pen))
        r = derive_list_add(&pointers->tops, work->tree, pointers->err);
    return r;
}

/* The files themselves may be the owner's symlinks into the pen. */
static int add_file(struct derive_pointers *pointers, const char *path)
{
    static const char why[] = "it is your git configuration";
    const int r = derive_pointers_hold(pointers->work, POLICY_GUARD_HELD, path, why, pointers->err);

    return r == 0 ? derive_list_add(&pointers->files, path, pointers->err) : r;
}

static int read_owner(const struct derivation *work, struct err *err)
{
    AUTO(derive_pointers_free)
    struct derive_pointers pointers = {.work = work, .owners = true, .err = err};
    int r = add_tops(&pointers);

    if (r == 0 && work->machine->gitconfig_file != NULL)
        r = add_file(&pointers, work->machine->gitconfig_file);
    for (unsigned which = 0; r == 0 && which < DERIVE_GITCONFIG_FILES; which++) {
        AUTO_FREE char *path = derive_gitconfig_path(work->owner, which);

        r = path == NULL ? err_memory(err) : add_file(&pointers, path);
    }
    return r == 0 ? derive_pointers_read(&pointers) : r;
}

/* What the owner opens for writing: repositories at its top, which is not looked through. */
static int read_opened(const struct derivation *work, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy_rules(work->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(work->policy, i);

        if (rule->access == POLICY_WRITE && !rule->hold && !path_is_below(rule->path, work->pen))
            r = derive_repository_beside(work, rule->path, err);
    }
    return r;
}

int derive_pointers_add(struct derivation *work, struct err *err)
{
    int r = 0;

    if (work->request->guard_off)
        return 0;
    r = read_owner(work, err);
    if (r == 0 && work->tree != NULL && !str_equal(work->tree, work->pen))
        r = derive_repository_add(work, work->tree, err);
    if (r == 0)
        r = derive_repository_add(work, work->pen, err);
    return r == 0 ? read_opened(work, err) : r;
}
