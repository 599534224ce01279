/* Where homes and credentials really are, and the rules that keep them and wattle's own folders out
 * of what was opened.
 *
 * The table of credential places has hundreds of names; asking for each would cost more than a
 * start may. So the listings of the home, ~/.config and ~/.local/share say which can exist at all,
 * and which of those are symlinks. */
#include "derive/derive_priv.h"

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/credentials.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSWD_LIMIT_BYTES (4u << 20)
#define FIRST_PERSON_UID 1000u
#define NOBODY_UID 65534u

/* ---- homes ----------------------------------------------------------------------------------- */

/* The home of one line "name:x:uid:gid:gecos:home:shell" when it is a person's or root's; NULL. */
static char *home_of_line(char *line)
{
    char *field = line;
    uint64_t uid = 0;

    for (int number = 0; number < 5 && field != NULL; number++) {
        char *end = strchr(field, ':');

        if (end == NULL)
            return NULL;
        *end = '\0';
        if (number == 2 && str_to_u64(field, &uid) < 0)
            return NULL;
        field = end + 1;
    }
    field[strcspn(field, ":")] = '\0';
    if ((uid != 0 && uid < FIRST_PERSON_UID) || uid == NOBODY_UID)
        return NULL;
    return path_is_clean(field) && field[1] != '\0' ? field : NULL;
}

/* Homes share a parent, and it is the parent that is a symlink on some systems. */
struct parent {
    char *typed;
    char *physical;
};

static void parent_free(struct parent *parent)
{
    free(parent->typed);
    free(parent->physical);
}

static int add_home(struct derive_list *homes, const char *home, struct parent *parent,
                    struct err *err)
{
    size_t length = (size_t) (path_base(home) - home);
    AUTO_FREE char *typed = strndup(home, length > 1 ? length - 1 : 1);
    AUTO_FREE char *physical = NULL;

    if (typed == NULL)
        return err_memory(err);
    if (parent->typed == NULL || !str_equal(parent->typed, typed)) {
        parent_free(parent);
        *parent = (struct parent){.typed = TAKE_PTR(typed)};
        if (path_physical(parent->typed, &parent->physical, NULL) < 0)
            parent->physical = strdup(parent->typed);
    }
    if (parent->physical == NULL)
        return err_memory(err);
    physical = path_join(parent->physical, home + length);
    if (physical == NULL)
        return err_memory(err);
    return derive_list_has(homes, physical) ? 0 : derive_list_add(homes, physical, err);
}

static int read_homes(const char *passwd_file, struct derive_list *homes, struct err *err)
{
    AUTO(buf_free) struct buf buf;
    AUTO(parent_free) struct parent parent = {0};
    char *line = NULL;

    buf_init(&buf, PASSWD_LIMIT_BYTES);
    if (fd_read_file(AT_FDCWD, passwd_file, &buf) < 0)
        return 0; /* no such file in some containers; the owner's own home is known anyway */
    line = buf.size == 0 ? NULL : buf.bytes;
    while (line != NULL) {
        char *end = strchr(line, '\n');
        char *home = NULL;
        int r = 0;

        if (end != NULL)
            *end++ = '\0';
        home = home_of_line(line);
        if (home != NULL)
            r = add_home(homes, home, &parent, err);
        if (r < 0)
            return r;
        line = end;
    }
    return 0;
}

/* ---- which names a folder has ---------------------------------------------------------------------- */

struct listing {
    struct derive_list names;
    struct derive_list links;
};

static void listing_free(struct listing *listing)
{
    derive_list_free(&listing->names);
    derive_list_free(&listing->links);
}

/* Whether some credential place begins with `prefix` and goes on with `name` as a part. */
static bool is_wanted(const char *prefix, const char *name)
{
    size_t prefix_size = strlen(prefix);
    size_t name_size = strlen(name);

    for (size_t i = 0; credential_places[i] != NULL; i++) {
        const char *place = credential_places[i];

        if (strncmp(place, prefix, prefix_size) == 0 && place[prefix_size] == name[0] &&
            strncmp(place + prefix_size, name, name_size) == 0 &&
            (place[prefix_size + name_size] == '\0' || place[prefix_size + name_size] == '/'))
            return true;
    }
    return false;
}

static bool entry_is_link(DIR *dir, const struct dirent *entry)
{
    struct stat seen;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_LNK;
    return fstatat(dirfd(dir), entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK(seen.st_mode);
}

/* The names in `home`/`prefix` (which ends in "/", or is "") with which a credential place goes on. */
static int list_folder(int home_fd, const char *prefix, struct listing *listing, struct err *err)
{
    AUTO_CLOSE int fd =
        openat(home_fd, prefix[0] == '\0' ? "." : prefix, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry = NULL;
    int r = 0;

    if (dir == NULL)
        return 0; /* not there, or not to be read by the caller either */
    (void) TAKE_FD(fd); /* the stream owns it */
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        if (!is_wanted(prefix, entry->d_name))
            continue;
        r = derive_list_add(&listing->names, entry->d_name, err);
        if (r == 0 && entry_is_link(dir, entry))
            r = derive_list_add(&listing->links, entry->d_name, err);
    }
    return r;
}

/* ---- credential places that exist -------------------------------------------------------------------- */

/* The home, and the folders in it where most places are. */
static const char *const listed[] = {"", ".config/", ".local/share/"};

struct survey {
    struct listing at[ARRAY_SIZE(listed)];
    bool loaded[ARRAY_SIZE(listed)];
    int home_fd;
};

static void survey_free(struct survey *survey)
{
    for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
        listing_free(&survey->at[i]);
    cleanup_close(&survey->home_fd);
}

/* Whether the part of `place` after listed[index] is there; `ret_link` when it is a symlink. */
static int survey_part(struct survey *survey, size_t index, const char *place, bool *ret_there,
                       bool *ret_link, struct err *err)
{
    char part[NAME_MAX + 1];
    const char *rest = place + strlen(listed[index]);
    size_t size = strcspn(rest, "/");
    int r = 0;

    if (!survey->loaded[index])
        r = list_folder(survey->home_fd, listed[index], &survey->at[index], err);
    if (r < 0)
        return r;
    survey->loaded[index] = true;
    if (size >= sizeof part)
        return 0;
    memcpy(part, rest, size);
    part[size] = '\0';
    *ret_there = derive_list_has(&survey->at[index].names, part);
    *ret_link = *ret_there && derive_list_has(&survey->at[index].links, part);
    return 0;
}

/* Whether `place` may exist at all. False only where a listing says that it does not. */
static int survey_place(struct survey *survey, const char *place, bool *ret_there, bool *ret_link,
                        struct err *err)
{
    int r = survey_part(survey, 0, place, ret_there, ret_link, err);

    for (size_t i = 1; r == 0 && *ret_there && i < ARRAY_SIZE(listed); i++) {
        bool link = false;

        if (!str_starts(place, listed[i]))
            continue;
        r = survey_part(survey, i, place, ret_there, &link, err);
        *ret_link = *ret_link || link;
    }
    return r;
}

/* Calls `each` with the physical path of every place of `home` that exists, and whether it is
 * elsewhere than its name says. `all`: also of those that are where their name says. */
static int each_place(const char *home, bool all,
                      int (*each)(void *context, const char *physical, struct err *err),
                      void *context, struct err *err)
{
    AUTO(survey_free) struct survey survey = {.home_fd = -1};
    int r = 0;

    survey.home_fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (survey.home_fd < 0)
        return 0;
    for (size_t i = 0; r == 0 && credential_places[i] != NULL; i++) {
        const char *place = credential_places[i];
        AUTO_FREE char *physical = NULL;
        AUTO_CLOSE int fd = -1;
        bool there = false;
        bool link = false;

        r = survey_place(&survey, place, &there, &link, err);
        if (r < 0 || !there || (!all && !link && strchr(place, '/') == NULL))
            continue;
        fd = derive_open_physical(survey.home_fd, home, place, &physical);
        if (fd < 0 || (!all && path_is_below(physical, home) &&
                       str_equal(physical + strlen(home) + 1, place)))
            continue;
        r = each(context, physical, err);
    }
    return r;
}

static int add_secret(void *context, const char *physical, struct err *err)
{
    struct derivation *work = context;

    return derive_list_add(&work->secrets, physical, err);
}

int derive_judge_prepare(struct derivation *work, struct err *err)
{
    int r = derive_list_add(&work->homes, work->owner->home, err);

    if (r == 0 && work->owner->account_home != NULL &&
        !derive_list_has(&work->homes, work->owner->account_home))
        r = derive_list_add(&work->homes, work->owner->account_home, err);
    if (r == 0)
        r = read_homes(work->machine->passwd_file, &work->homes, err);
    if (r == 0)
        r = each_place(work->owner->home, false, add_secret, work, err);
    return r;
}

/* ---- covering ----------------------------------------------------------------------------------- */

static int cover(const struct derivation *work, const char *path, enum policy_origin origin,
                 const char *why, struct err *err)
{
    const struct derive_rule rule = {
        .path = path,
        .access = POLICY_HIDE,
        .origin = origin,
        .why = why,
        .optional = true,
    };

    return derive_rule_add(work, &rule, err);
}

/* A place is hidden where something wider shows it; a rule that names it exactly stays. */
static int cover_secret(void *context, const char *physical, struct err *err)
{
    const struct derivation *work = context;

    if (!derive_shown(work, physical) || derive_list_has(&work->named, physical))
        return 0;
    return cover(work, physical, POLICY_FROM_CREDENTIALS, "credentials", err);
}

/* Whether a rule opens `home`, something above it, or something in it that holds places. */
static bool home_is_opened(const struct derivation *work, const char *home)
{
    for (size_t i = 0; i < policy_rules(work->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(work->policy, i);

        if (rule->access == POLICY_HIDE || rule->hold)
            continue;
        if (path_is_below(home, rule->path))
            return true;
        if (path_is_below(rule->path, home) && credential_place_below(rule->path, home))
            return true;
    }
    return false;
}

static int cover_secrets(struct derivation *work, struct err *err)
{
    size_t count = 0;
    const char *const *system_secrets = derive_system_secrets(&count);
    int r = 0;

    for (size_t i = 0; r == 0 && i < work->homes.count; i++)
        if (home_is_opened(work, work->homes.items[i]))
            r = each_place(work->homes.items[i], true, cover_secret, work, err);
    for (size_t i = 0; r == 0 && i < work->secrets.count; i++)
        r = cover_secret(work, work->secrets.items[i], err);
    for (size_t i = 0; r == 0 && i < count; i++)
        if (derive_shown(work, system_secrets[i]) && access(system_secrets[i], F_OK) == 0)
            r = cover_secret(work, system_secrets[i], err);
    return r;
}

int derive_cover(struct derivation *work, struct err *err)
{
    const struct derive_owner *owner = work->owner;
    const char *const own[] = {owner->config_dir, owner->state_dir, owner->cache_dir,
                               owner->runtime_dir};
    int r = cover_secrets(work, err);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++)
        if (own[i] != NULL)
            r = cover(work, own[i], POLICY_FROM_OWN, "wattle's own", err);
    return r;
}
