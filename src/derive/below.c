/* Symlinks below guarded names: what runs on the owner's side is what they lead to. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/pointers_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ENTRIES_MAX = 20000 };

static const char why[] = "a guarded name leads to it";

struct below {
    const struct derivation *work;
    struct derive_list folders; /* to be listed; grows by what is found */
    size_t entries;
    struct err *err;
};

/* A link to a folder it lies in is nothing that runs, and would hold all that is there. */
static bool leads_up(const char *path)
{
    AUTO_FREE char *end = NULL;

    return path_physical(path, &end, NULL) == 0 && path_is_below(path, end);
}

static int take_link(struct below *below, const char *path)
{
    if (leads_up(path))
        return 0;
    return derive_pointers_hold(below->work, POLICY_GUARD_HELD, path, why, below->err);
}

static int take_name(struct below *below, const char *path)
{
    struct stat seen;

    if (lstat(path, &seen) < 0)
        return 0;
    if (S_ISLNK(seen.st_mode))
        return take_link(below, path);
    return S_ISDIR(seen.st_mode) ? derive_list_add(&below->folders, path, below->err) : 0;
}

static int take_entry(struct below *below, const char *folder, const struct dirent *entry)
{
    const bool is_plain = entry->d_type == DT_REG;
    AUTO_FREE char *path = NULL;

    if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
        return 0;
    if (++below->entries > ENTRIES_MAX) {
        (void) err_set(below->err, E2BIG, "derive.pointers",
                       "guarded folders, such as '%s', hold more than %d names", folder,
                       ENTRIES_MAX);
        return err_hint(below->err, "use a smaller pen, or run with '--guard off'");
    }
    if (is_plain)
        return 0;
    path = path_join(folder, entry->d_name);
    return path == NULL ? err_memory(below->err) : take_name(below, path);
}

/* One that is not there, is no folder, or cannot be opened (which the look refuses) has no names.
 */
static int list(struct below *below, const char *folder)
{
    const int fd = path_open_plain(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    AUTO_CLOSEDIR DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    while (listing != NULL && r == 0 && (entry = readdir(listing)) != NULL)
        r = take_entry(below, folder, entry);
    return r;
}

/* The guarded names that were found, and then what is held for their sake, which may be more each
 * time. */
int derive_pointers_below(const struct derivation *work, const char *const *guarded, size_t count,
                          struct err *err)
{
    struct below below = {.work = work, .err = err};
    size_t listed = 0, asked = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        AUTO_FREE char *path = path_join(work->pen, guarded[i]);

        r = path == NULL ? err_memory(err) : take_name(&below, path);
    }
    while (r == 0 && (listed < below.folders.count || asked < policy_guard_rules(work->policy))) {
        if (listed < below.folders.count) {
            AUTO_FREE char *folder = strdup(below.folders.items[listed++]); /* the list grows */

            r = folder == NULL ? err_memory(err) : list(&below, folder);
        } else {
            const struct policy_guard_rule *rule = policy_guard_rule_at(work->policy, asked++);

            if (rule->kind == POLICY_GUARD_HELD)
                r = derive_list_add(&below.folders, rule->text, err);
        }
    }
    derive_list_free(&below.folders);
    return r;
}
