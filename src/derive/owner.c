/* Who runs wattle, and where its own things are. */
#include "base/passwd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void list_free(struct derive_list *list)
{
    if (list != NULL)
        derive_list_free(list);
    free(list);
}

void derive_owner_freep(struct derive_owner **owner)
{
    struct derive_owner *gone = *owner;

    *owner = NULL;
    if (gone == NULL)
        return;
    list_free(gone->defaults);
    list_free(gone->typed);
    free(gone->login);
    free(gone->group);
    free(gone->gecos);
    free(gone->home);
    free(gone->account_home);
    free(gone->config_dir);
    free(gone->state_dir);
    free(gone->cache_dir);
    free(gone->runtime_dir);
    free(gone);
}

/* ---- names ------------------------------------------------------------------------------- */

/* It is written into /etc/passwd inside, and tools compare it. */
static bool is_login(const char *name)
{
    size_t size = name == NULL ? 0 : strlen(name);

    if (size == 0 || size > 32 || !(isalpha((unsigned char) name[0]) || name[0] == '_'))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char) name[i]) && strchr("_.-", name[i]) == NULL)
            return false;
    return true;
}

static char *login_without_entry(uid_t uid)
{
    const char *const names[] = {getenv("USER"), getenv("LOGNAME")};
    char *login = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i] != NULL && is_login(names[i]) && !str_equal(names[i], "root"))
            return strdup(names[i]);
    return asprintf(&login, "uid%lu", (unsigned long) uid) < 0 ? NULL : login;
}

static char *group_name(const char *group_file, gid_t gid)
{
    char name[64];
    char *text = NULL;

    if (passwd_group(group_file, gid, name, sizeof name) == 0)
        return strdup(name);
    return asprintf(&text, "gid%lu", (unsigned long) gid) < 0 ? NULL : text;
}

/* ---- home -------------------------------------------------------------------------------- */

/* The physical path of a folder; NULL when it is none, or not of `uid` (which may be NULL). */
static char *folder_of(const char *path, const uid_t *uid)
{
    AUTO_FREE char *physical = NULL;
    struct stat seen;

    if (path == NULL || path[0] != '/')
        return NULL;
    if (path_physical(path, &physical, NULL) < 0 || stat(physical, &seen) < 0)
        return NULL;
    if (!S_ISDIR(seen.st_mode) || (uid != NULL && seen.st_uid != *uid))
        return NULL;
    return TAKE_PTR(physical);
}

/* Remembers a name that runs through symlinks: they must not be a job's to change. */
static int note_typed(const struct derive_owner *owner, const char *typed, const char *physical,
                      struct err *err)
{
    if (typed == NULL || physical == NULL || str_equal(typed, physical))
        return 0;
    return derive_list_add(owner->typed, typed, err);
}

static int note_homes(const struct derive_owner *owner, const char *home, const char *account_home,
                      struct err *err)
{
    AUTO_FREE char *physical = folder_of(home, &owner->uid);
    int r = note_typed(owner, home, physical, err);

    return r < 0 ? r : note_typed(owner, account_home, owner->account_home, err);
}

static int find_home(struct derive_owner *owner, const char *account_home, struct err *err)
{
    const char *home = getenv("HOME");

    owner->account_home = folder_of(account_home, NULL);
    if (home != NULL && account_home != NULL && str_equal(home, account_home) &&
        owner->account_home != NULL)
        owner->home = strdup(owner->account_home);
    else
        owner->home = folder_of(home, &owner->uid);
    if (owner->home == NULL && owner->account_home != NULL)
        owner->home = strdup(owner->account_home);
    if (owner->home != NULL && !str_equal(owner->home, "/"))
        return note_homes(owner, home, account_home, err);
    (void) err_set(err, EINVAL, "derive.home", "cannot find the home folder of uid %lu",
                   (unsigned long) owner->uid);
    return err_hint(err, "set HOME to a folder that belongs to you");
}

static int find_person(const struct derive_machine *machine, struct derive_owner *owner,
                       struct err *err)
{
    struct passwd_entry entry = {0};
    bool known = false;

    owner->uid = geteuid();
    owner->gid = getegid();
    known = passwd_find(machine->passwd_file, owner->uid, &entry) == 0;
    owner->login = known ? strdup(entry.name) : login_without_entry(owner->uid);
    owner->gecos = strdup(entry.gecos);
    owner->group = group_name(machine->group_file, owner->gid);
    if (owner->login == NULL || owner->gecos == NULL || owner->group == NULL)
        return err_memory(err);
    return find_home(owner, known ? entry.home : NULL, err);
}

/* ---- wattle's own folders ---------------------------------------------------------------- */

struct own_folder {
    const char *variable;
    const char *below_home; /* default; NULL: there is none */
    const char *what;
};

static const struct own_folder config_folder = {"XDG_CONFIG_HOME", ".config", "the configuration"};
static const struct own_folder state_folder = {"XDG_STATE_HOME", ".local/state",
                                               "the state folder"};
static const struct own_folder cache_folder = {"XDG_CACHE_HOME", ".cache", "the scratch folder"};

/* "<variable>/wattle" or the default, as text. NULL in *ret_path: there is no such folder. */
static int own_text(const struct own_folder *folder, const char *home, char **ret_path,
                    struct err *err)
{
    const char *value = getenv(folder->variable);
    AUTO_FREE char *top = NULL;
    int r = 0;

    if (value != NULL && value[0] != '\0' && value[0] != '/') {
        (void) err_set(err, EINVAL, "derive.location", "%s is not an absolute path: '%s'",
                       folder->variable, value);
        return err_hint(err, "make it begin with '/', or unset it");
    }
    if (value != NULL && value[0] != '\0')
        r = path_normalize(value, "/", NULL, &top, err);
    else if (folder->below_home != NULL)
        top = path_join(home, folder->below_home);
    else
        return 0;
    if (r < 0)
        return r;
    *ret_path = top == NULL ? NULL : path_join(top, "wattle");
    return *ret_path == NULL ? err_memory(err) : 0;
}

static int refuse_home_as_top(const char *home, const char *top, struct err *err)
{
    (void) err_set(err, EINVAL, "derive.pen-home", "'%s' cannot be a pen: it %s", top,
                   str_equal(home, top) ? "is a home folder" : "holds home folders");
    return err_hint(err, "cd into a project, or name one with --pen DIR");
}

/* A top that holds the account's own home is no reason: as a pen it is refused in better words when
 * deriving, and a home that is a git work tree is the owner's. */
static int judge_outside(const struct derive_owner *owner, const char *path, const char *what,
                         const char *const *tops, struct err *err)
{
    for (size_t i = 0; tops != NULL && tops[i] != NULL; i++) {
        const bool first = i == 0; /* the pen; then the work tree */
        int r = 0;

        if (owner->account_home != NULL && path_is_below(owner->account_home, tops[i]))
            continue;
        if (path_is_below(owner->home, tops[i]))
            return refuse_home_as_top(owner->home, tops[i], err);
        r = derive_location_outside(path, what, first ? tops[i] : NULL, tops[i], err);
        if (r < 0)
            return err_hint(err, "%s", derive_location_hint);
    }
    return 0;
}

struct own_search {
    struct derive_owner *owner;
    const char *const *tops;
    bool home_checked; /* the home and all above it cannot be replaced by others */
};

static int judge_own(struct own_search *search, const char *path, const struct stat *seen,
                     const char *what, struct err *err)
{
    const struct derive_owner *owner = search->owner;
    bool at_home = path_is_below(path, owner->home);
    int r = judge_outside(owner, path, what, search->tops, err);

    if (r == 0)
        r = derive_location_judge(owner, path, seen, what, err);
    if (r == 0)
        r = derive_location_above(owner, path, at_home && search->home_checked ? owner->home : NULL,
                                  what, err);
    search->home_checked = search->home_checked || at_home;
    return r;
}

static int find_own(struct own_search *search, const struct own_folder *folder, char **ret_path,
                    struct err *err)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *physical = NULL;
    struct stat seen = {0};
    bool exists = false;
    int r = own_text(folder, search->owner->home, &text, err);

    if (r < 0 || text == NULL)
        return r;
    r = derive_resolve_missing(text, &physical, &exists, &seen, err);
    if (r == 0)
        r = judge_own(search, physical, &seen, folder->what, err);
    if (r == 0)
        r = note_typed(search->owner, text, physical, err);
    if (r == 0)
        *ret_path = TAKE_PTR(physical);
    return r;
}

/* The runtime folder is a convenience: one that is not there or not the caller's (after su) is as
 * good as none. */
static int find_runtime(struct own_search *search, struct err *err)
{
    static const struct own_folder runtime = {"XDG_RUNTIME_DIR", NULL, "the runtime folder"};
    const char *value = getenv(runtime.variable);
    AUTO_FREE char *top = folder_of(value, &search->owner->uid);

    if (value != NULL && value[0] == '/' && top == NULL)
        return 0;
    return find_own(search, &runtime, &search->owner->runtime_dir, err);
}

/* ---- what other variables would choose ---------------------------------------------------- */

/* One that cannot be looked at now could be later, so its name counts. */
static int add_default(const struct derive_owner *owner, const char *home,
                       const struct own_folder *folder, struct err *err)
{
    AUTO_FREE char *top = path_join(home, folder->below_home);
    AUTO_FREE char *text = top == NULL ? NULL : path_join(top, "wattle");
    AUTO_FREE char *physical = NULL;
    struct err failure = {0};
    struct stat seen;
    bool exists = false;
    int r = text == NULL ? err_memory(&failure)
                         : derive_resolve_missing(text, &physical, &exists, &seen, &failure);

    if (r == -ENOMEM || str_equal(failure.id, "derive.dangling")) {
        if (err != NULL)
            *err = failure;
        return r;
    }
    r = derive_list_add(owner->defaults, r < 0 ? text : physical, err);
    return r < 0 ? r : note_typed(owner, text, physical, err);
}

/* A later run may have another HOME, or no XDG variables, and would obey what it finds there. */
static int find_defaults(const struct derive_owner *owner, struct err *err)
{
    static const struct own_folder *const folders[] = {&config_folder, &state_folder,
                                                       &cache_folder};
    const bool other_home =
        owner->account_home != NULL && !str_equal(owner->account_home, owner->home);
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++) {
        const char *value = getenv(folders[i]->variable);

        if (value != NULL && value[0] != '\0')
            r = add_default(owner, owner->home, folders[i], err);
        if (r == 0 && other_home)
            r = add_default(owner, owner->account_home, folders[i], err);
    }
    return r;
}

static struct derive_owner *owner_new(void)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = calloc(1, sizeof *owner);

    if (owner == NULL)
        return NULL;
    owner->defaults = calloc(1, sizeof *owner->defaults);
    owner->typed = calloc(1, sizeof *owner->typed);
    return owner->defaults == NULL || owner->typed == NULL ? NULL : TAKE_PTR(owner);
}

int derive_owner_find_on(const struct derive_machine *machine, const char *const *forbidden_tops,
                         struct derive_owner **ret_owner, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = owner_new();
    struct own_search search = {.owner = owner, .tops = forbidden_tops};
    int r = owner == NULL ? err_memory(err) : find_person(machine, owner, err);

    if (r == 0)
        r = find_own(&search, &config_folder, &owner->config_dir, err);
    if (r == 0)
        r = find_own(&search, &state_folder, &owner->state_dir, err);
    if (r == 0)
        r = find_own(&search, &cache_folder, &owner->cache_dir, err);
    if (r == 0)
        r = find_runtime(&search, err);
    if (r == 0)
        r = find_defaults(owner, err);
    if (r < 0)
        return r;
    *ret_owner = TAKE_PTR(owner);
    return 0;
}

int derive_owner_find(const char *const *forbidden_tops, struct derive_owner **ret_owner,
                      struct err *err)
{
    return derive_owner_find_on(&derive_this_machine, forbidden_tops, ret_owner, err);
}
