/* Where commands are looked for, and which of those folders are on PATH inside.
 *
 * The caller's PATH in its order, or the one that the owner stored; then toolchains that are not on
 * it; then the system's folders. An entry whose folder shows inside stays on PATH. One that does
 * not is searched for the command itself, and no more: a script of the owner's in ~/bin can be run,
 * what else lies there stays out.
 */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On every system, in /usr or led there by a symlink that is made inside as well. */
static const char *const system_folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
static const char *const root_folders[] = {"/usr/local/sbin", "/usr/sbin", "/sbin"};
static const char *const other_folders[] = {"/usr/local/games", "/usr/games"};

int derive_folder_add(struct derivation *work, const char *path, bool inside, struct err *err)
{
    struct derive_folder *folders = NULL;
    char *copy = NULL;

    for (size_t i = 0; i < work->folder_count; i++) {
        if (!str_equal(work->folders[i].path, path))
            continue;
        work->folders[i].inside = work->folders[i].inside || inside;
        return 0;
    }
    folders = reallocarray(work->folders, work->folder_count + 1, sizeof *folders);
    if (folders == NULL)
        return err_memory(err);
    work->folders = folders;
    copy = strdup(path);
    if (copy == NULL)
        return err_memory(err);
    folders[work->folder_count++] = (struct derive_folder){.path = copy, .inside = inside};
    return 0;
}

/* ---- one entry of PATH ------------------------------------------------------------------- */

static bool is_known_folder(const char *path)
{
    const struct {
        const char *const *items;
        size_t count;
    } tables[] = {
        {system_folders, ARRAY_SIZE(system_folders)},
        {root_folders, ARRAY_SIZE(root_folders)},
        {other_folders, ARRAY_SIZE(other_folders)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        for (size_t j = 0; j < tables[i].count; j++)
            if (str_equal(path, tables[i].items[j]))
                return true;
    return false;
}

static int pass_over(struct derivation *work, const char *entry, const char *why, struct err *err)
{
    return derive_note(work, err, "'%s' on PATH adds nothing: it %s", entry, why);
}

/* What a toolchain or the system shows was judged as a whole, and is no part of the pen. */
static bool is_judged(const struct derivation *work, const char *physical)
{
    if (policy_resolve(work->policy, physical, NULL) != POLICY_READ)
        return false;
    return work->tree == NULL || !path_is_below(physical, work->tree);
}

/* A physical folder that is no part of the pen and may be searched. */
static int add_fit(struct derivation *work, const char *entry, const char *physical,
                   struct err *err)
{
    int r = derive_shown(work, physical) ? 1 : derive_toolchain_open(work, physical, err);

    if (r < 0)
        return r;
    if (r == 0)
        return derive_folder_add(work, physical, false, err);
    return derive_folder_add(work, derive_shown(work, entry) ? entry : physical, true, err);
}

static int add_other(struct derivation *work, const char *entry, struct err *err)
{
    AUTO_FREE char *physical = NULL;
    AUTO_CLOSE int fd = derive_open_physical(AT_FDCWD, entry, "", &physical);
    unsigned facts = 0;
    int r = 0;

    if (fd < 0)
        return fd == -ENOMEM ? err_memory(err) : 0; /* not there, as for many who share a profile */
    if (is_judged(work, physical))
        return add_fit(work, entry, physical, err);
    facts = derive_judge(work, physical).facts;
    if ((facts & (DERIVE_IN_PEN | DERIVE_IN_TREE)) != 0) {
        r = derive_list_add(&work->passed, physical, err);
        return r < 0 ? r : pass_over(work, entry, derive_verdict_text(facts), err);
    }
    if ((facts & DERIVE_UNFIT) != 0)
        return pass_over(work, entry, derive_verdict_text(facts), err);
    return add_fit(work, entry, physical, err);
}

static int add_entry(struct derivation *work, const char *entry, struct err *err)
{
    AUTO_FREE char *clean = NULL;
    int r = 0;

    if (entry[0] != '/')
        return pass_over(work, entry[0] == '\0' ? "." : entry, "is relative", err);
    r = path_normalize(entry, "/", NULL, &clean, err);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (path_is_below(clean, "/snap"))
        return pass_over(work, entry, "holds snaps, which only their own launcher can start", err);
    if (is_known_folder(clean))
        return derive_folder_add(work, clean, true, err);
    return add_other(work, clean, err);
}

/* ---- all of it --------------------------------------------------------------------------- */

static int add_callers(struct derivation *work, struct err *err)
{
    const char *path = getenv("PATH");

    while (path != NULL) {
        size_t size = strcspn(path, ":");
        AUTO_FREE char *entry = strndup(path, size);
        int r = entry == NULL ? err_memory(err) : add_entry(work, entry, err);

        if (r < 0)
            return r;
        path = path[size] == ':' ? path + size + 1 : NULL;
    }
    return 0;
}

/* What config.json names, for those who have no caller: a model's command. */
static int add_stored(struct derivation *work, struct err *err)
{
    bool given = false;

    for (size_t i = 0; i < work->settings_count; i++) {
        const struct settings *settings = work->settings[i];

        given = given || settings->search_given;
        for (size_t k = 0; k < settings->search_count; k++) {
            const int r = add_entry(work, settings->search[k], err);

            if (r < 0)
                return r;
        }
    }
    return given ? 0
                 : derive_note(work, err,
                               "config.json stores no folders of your PATH (wattle.path): models' "
                               "commands are looked for in the system's folders and in those of "
                               "toolchains that are known");
}

static int add_all(struct derivation *work, const char *const *folders, size_t count,
                   struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = derive_folder_add(work, folders[i], true, err);
    return r;
}

int derive_search_find(struct derivation *work, struct err *err)
{
    int r = work->request->stored_path ? add_stored(work, err) : add_callers(work, err);

    if (r == 0)
        r = derive_toolchain_folders(work, err);
    if (r == 0)
        r = add_all(work, system_folders, ARRAY_SIZE(system_folders), err);
    if (r == 0 && work->owner->uid == 0)
        r = add_all(work, root_folders, ARRAY_SIZE(root_folders), err);
    return r;
}

int derive_search_set_path(const struct derivation *work, struct err *err)
{
    AUTO(buf_free) struct buf buf;
    int r = 0;

    buf_init(&buf, 131072);
    for (size_t i = 0; i < work->folder_count; i++) {
        const struct derive_folder *folder = &work->folders[i];

        if (!folder->inside && !derive_shown(work, folder->path))
            continue;
        (void) buf_printf(&buf, "%s%s", buf.size == 0 ? "" : ":", folder->path);
    }
    r = buf_check(&buf, "PATH", err);
    return r < 0 ? r : policy_set_env(work->policy, "PATH", buf.bytes, err);
}
