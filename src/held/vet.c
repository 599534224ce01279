/* What of git's own files may stay: the same rules as under the guard (fence/guard/vet.h), asked
 * after the run. */
#include "fence/guard/vet.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "held/held_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t size;
};

static void text_free(struct text *text)
{
    free(text->bytes);
}

static int read_text(const struct held_found *found, size_t most, struct text *text,
                     struct err *why)
{
    const int r = held_read(found->folder_fd, found->name, found->status.st_mode, most,
                            &text->bytes, &text->size);

    return r < 0 ? err_set(why, -r, "held.vet", "it cannot be read as a file of git's") : 0;
}

/* ---- pointers ------------------------------------------------------------------------------ */

static int refuse(struct err *why, const char *what)
{
    return err_set(why, EINVAL, "held.vet", "%s", what);
}

/* The folder `path` in one of the trees, without a symlink on the way. */
static int open_in_zone(const struct held_check *check, const char *path, struct err *why)
{
    const int fd = guard_rules_zone(check->rules, path, NULL) < 0
                       ? -1
                       : path_open_plain(AT_FDCWD, path, O_PATH | O_DIRECTORY);

    return fd < 0 ? refuse(why, "it points to no folder of the pen") : fd;
}

static int vet_git(const struct held_check *check, const struct held_found *found,
                   const struct text *text, struct err *why)
{
    AUTO(text_free) struct text there = {0};
    AUTO_CLOSE int fd = -1;
    char path[PATH_MAX];
    char back[PATH_MAX] = "";
    enum guard_pointer kind;
    const size_t length = strlen(found->place);
    int r = guard_vet_pointer(text->bytes, text->size, found->place, path, &kind, why);

    if (r < 0)
        return r;
    fd = open_in_zone(check, path, why);
    if (fd < 0 || kind != GUARD_POINTER_WORKTREE)
        return fd < 0 ? fd : 0;
    if (held_read(fd, "gitdir", S_IFREG, GUARD_VET_POINTER_LIMIT, &there.bytes, &there.size) < 0 ||
        guard_vet_back(there.bytes, there.size, path, back, why) < 0 ||
        strncmp(back, found->place, length) != 0 || !str_equal(back + length, "/.git"))
        return refuse(why, "the git folder it names does not name it");
    return 0;
}

static int vet_back(const struct held_check *check, const struct held_found *found,
                    const struct text *text, struct err *why)
{
    char path[PATH_MAX];
    const int r = guard_vet_back(text->bytes, text->size, found->place, path, why);

    if (r < 0)
        return r;
    return guard_rules_zone(check->rules, path, NULL) < 0 ? refuse(why, "it points out of the pen")
                                                          : 0;
}

static int vet_pointer(const struct held_check *check, const struct held_found *found,
                       struct err *why)
{
    AUTO(text_free) struct text text = {0};
    int r = read_text(found, GUARD_VET_POINTER_LIMIT, &text, why);

    if (r < 0)
        return r;
    if (found->vet == GUARD_VET_GIT)
        r = vet_git(check, found, &text, why);
    else if (found->vet == GUARD_VET_BACK)
        r = vet_back(check, found, &text, why);
    else
        r = guard_vet_commondir(text.bytes, text.size, found->place, why);
    if (r == 0 && found->status.st_nlink > 1)
        r = held_replace_file(found->folder_fd, found->name, text.bytes, text.size,
                              found->status.st_mode & 0777);
    return r;
}

/* ---- configuration ------------------------------------------------------------------------- */

/* A work tree that is named anew: it lies in a tree of the run, and its .git names this folder. */
static bool points_back(const struct held_check *check, const char *worktree, const char *folder)
{
    AUTO(text_free) struct text text = {0};
    AUTO_CLOSE int fd = open_in_zone(check, worktree, NULL);
    char back[PATH_MAX];
    enum guard_pointer kind;

    return fd >= 0 &&
           held_read(fd, ".git", S_IFREG, GUARD_VET_POINTER_LIMIT, &text.bytes, &text.size) == 0 &&
           guard_vet_pointer(text.bytes, text.size, worktree, back, &kind, NULL) == 0 &&
           str_equal(back, folder);
}

static int vet_text(const struct held_check *check, const struct guard_config *config,
                    char *ret_text, size_t *ret_size, struct err *why)
{
    AUTO_FREE struct guard_vetted *vetted = calloc(1, sizeof *vetted);
    const int r = vetted == NULL ? err_memory(why)
                                 : guard_vet_config(config, ret_text, GUARD_VET_LIMIT, vetted, why);

    if (r < 0)
        return r;
    assert(vetted != NULL);
    if (vetted->worktree[0] != '\0' && !points_back(check, vetted->worktree, config->folder))
        return refuse(why, "core.worktree names a folder that does not point back here");
    *ret_size = vetted->size;
    return 0;
}

static int vet_config(const struct held_check *check, const struct held_found *found,
                      const struct held_item *old, struct err *why)
{
    AUTO(text_free) struct text text = {0};
    AUTO_FREE char *vetted = malloc(GUARD_VET_LIMIT);
    struct guard_config config = {.folder = found->place};
    size_t size = 0;
    int r = vetted == NULL ? err_memory(why) : read_text(found, GUARD_VET_LIMIT, &text, why);

    if (r < 0)
        return r;
    if (old != NULL && !old->has_content)
        return refuse(why, "there is no copy of what it was");
    config.text = text.bytes;
    config.size = text.size;
    config.old = old != NULL ? old->content : NULL;
    config.old_size = old != NULL ? old->content_size : 0;
    r = vet_text(check, &config, vetted, &size, why);
    if (r < 0)
        return r;
    assert(vetted != NULL);
    if (size == text.size && memcmp(vetted, text.bytes, size) == 0 && found->status.st_nlink == 1)
        return 0;
    return held_replace_file(found->folder_fd, found->name, vetted, size,
                             found->status.st_mode & 0777);
}

int held_vet(const struct held_check *check, const struct held_found *found,
             const struct held_item *old, struct err *why)
{
    int r = -EINVAL;

    (void) err_set(why, EINVAL, "held.vet", "%s", found->reason);
    if (!S_ISREG(found->status.st_mode))
        return 0;
    switch (found->vet) {
    case GUARD_VET_NONE:
    case GUARD_VET_HOOKS:
    case GUARD_VET_LOCK:
        return 0;
    case GUARD_VET_CONFIG:
        r = vet_config(check, found, old, why);
        break;
    case GUARD_VET_GIT:
    case GUARD_VET_COMMONDIR:
    case GUARD_VET_BACK:
        r = vet_pointer(check, found, why);
        break;
    }
    return r == -ENOMEM ? r : r == 0;
}

/* ---- what of it runs nothing --------------------------------------------------------------- */

struct reducing {
    struct buf *text;
    char section[GUARD_CONFIG_NAME_MAX];
    char subsection[GUARD_CONFIG_SUBSECTION_MAX];
    bool has_subsection;
};

static void add_quoted(struct buf *text, const char *value)
{
    static const char plain[] = "\\\"\n\t\b";
    static const char escaped[] = "\\\"ntb";

    (void) buf_add_text(text, "\"");
    for (; *value != '\0'; value++) {
        const char *special = strchr(plain, *value);

        if (special != NULL)
            (void) buf_printf(text, "\\%c", escaped[special - plain]);
        else
            (void) buf_add(text, value, 1);
    }
    (void) buf_add_text(text, "\"");
}

static void add_header(struct reducing *reducing, const struct guard_setting *setting)
{
    if (reducing->text->size > 0 && reducing->has_subsection == setting->has_subsection &&
        str_equal(reducing->section, setting->section) &&
        str_equal(reducing->subsection, setting->subsection))
        return;
    (void) buf_printf(reducing->text, "[%s", setting->section);
    if (setting->has_subsection) {
        (void) buf_add_text(reducing->text, " ");
        add_quoted(reducing->text, setting->subsection);
    }
    (void) buf_add_text(reducing->text, "]\n");
    memcpy(reducing->section, setting->section, sizeof reducing->section);
    memcpy(reducing->subsection, setting->subsection, sizeof reducing->subsection);
    reducing->has_subsection = setting->has_subsection;
}

/* Not where the work tree is: without it, it is where the folder is. */
static bool runs_nothing(const struct guard_setting *setting)
{
    return guard_vet_setting(setting, NULL) == 0 &&
           !(str_equal(setting->section, "core") && str_equal(setting->key, "worktree"));
}

static void add_any(struct reducing *reducing, const struct guard_setting *setting)
{
    add_header(reducing, setting);
    (void) buf_printf(reducing->text, "\t%s", setting->key);
    if (setting->has_value) {
        (void) buf_add_text(reducing->text, " = ");
        add_quoted(reducing->text, setting->value);
    }
    (void) buf_add_text(reducing->text, "\n");
}

static int add_setting(void *context, const struct guard_setting *setting)
{
    if (runs_nothing(setting))
        add_any(context, setting);
    return 0;
}

int held_reduce_config(const struct held_check *check, const struct held_found *found,
                       struct buf *ret_text)
{
    AUTO(text_free) struct text text = {0};
    AUTO_FREE char *vetted = malloc(GUARD_VET_LIMIT);
    AUTO_FREE struct reducing *reducing = calloc(1, sizeof *reducing);
    struct guard_config config = {.folder = found->place};
    size_t size;

    if (vetted == NULL || reducing == NULL)
        return -ENOMEM;
    if (read_text(found, GUARD_VET_LIMIT, &text, NULL) < 0)
        return -EINVAL;
    reducing->text = ret_text;
    /* what comes after a fault in it, git does not read either */
    (void) !guard_config_each(text.bytes, text.size, add_setting, reducing, NULL);
    if (ret_text->failed != 0)
        return -EINVAL;
    config.text = ret_text->bytes;
    config.size = ret_text->size;
    return vet_text(check, &config, vetted, &size, NULL) < 0 ? -EINVAL : 0;
}

/* ---- what of a change stays ---------------------------------------------------------------- */

/* Those of before that could run something, by their number, in order: all of them stay. */
struct old_settings {
    struct reducing *reducing;
    const struct guard_setting *wanted;
    size_t from, to;
    size_t at;
};

struct keeping {
    struct reducing reducing;
    const struct held_item *old;
    size_t kept; /* of those of before */
};

static bool is_same(const struct guard_setting *a, const struct guard_setting *b)
{
    return a->has_subsection == b->has_subsection && a->has_value == b->has_value &&
           str_equal(a->section, b->section) && str_equal(a->key, b->key) &&
           (!a->has_subsection || str_equal(a->subsection, b->subsection)) &&
           (!a->has_value || str_equal(a->value, b->value));
}

static int find_old(void *context, const struct guard_setting *setting)
{
    struct old_settings *old = context;

    if (runs_nothing(setting) || old->at++ < old->from || !is_same(setting, old->wanted))
        return 0;
    old->to = old->at;
    return 1;
}

static int add_old(void *context, const struct guard_setting *setting)
{
    struct old_settings *old = context;

    if (!runs_nothing(setting) && old->at++ >= old->from && old->at <= old->to)
        add_any(old->reducing, setting);
    return 0;
}

static int each_old(const struct keeping *keeping, struct old_settings *old,
                    int (*each)(void *context, const struct guard_setting *setting))
{
    return guard_config_each(keeping->old->content, keeping->old->content_size, each, old, NULL);
}

/* Up to the one with number `to`. */
static int keep_old(struct keeping *keeping, size_t to)
{
    struct old_settings old = {.reducing = &keeping->reducing, .from = keeping->kept, .to = to};

    keeping->kept = to;
    return each_old(keeping, &old, add_old);
}

static int keep_setting(void *context, const struct guard_setting *setting)
{
    struct keeping *keeping = context;
    struct old_settings old = {.wanted = setting, .from = keeping->kept};

    if (runs_nothing(setting))
        return add_setting(&keeping->reducing, setting);
    return each_old(keeping, &old, find_old) > 0 ? keep_old(keeping, old.to) : 0;
}

int held_keep_config(const struct held_check *check, const struct held_found *found,
                     const struct held_item *old, struct buf *ret_text)
{
    AUTO(text_free) struct text text = {0};
    AUTO_FREE char *vetted = malloc(GUARD_VET_LIMIT);
    AUTO_FREE struct keeping *keeping = calloc(1, sizeof *keeping);
    struct guard_config config = {.folder = found->place};
    size_t size;

    if (vetted == NULL || keeping == NULL)
        return -ENOMEM;
    if (!old->has_content || read_text(found, GUARD_VET_LIMIT, &text, NULL) < 0)
        return -EINVAL;
    keeping->reducing.text = ret_text;
    keeping->old = old;
    if (guard_config_each(text.bytes, text.size, keep_setting, keeping, NULL) < 0 ||
        keep_old(keeping, SIZE_MAX) < 0 || ret_text->failed != 0)
        return -EINVAL;
    config.text = ret_text->bytes;
    config.size = ret_text->size;
    config.old = old->content;
    config.old_size = old->content_size;
    return vet_text(check, &config, vetted, &size, NULL) < 0 ? -EINVAL : 0;
}
