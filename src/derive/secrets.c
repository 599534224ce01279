/* Where homes and credentials really are, and the rules that keep them and wattle's own folders out
 * of what was opened. */
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"
#include "policy/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSWD_LIMIT_BYTES (4u << 20)
#define FIRST_PERSON_UID 1000u
#define NOBODY_UID 65534u

/* ---- homes ------------------------------------------------------------------------------- */

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

/* ---- credential places that exist -------------------------------------------------------- */

/* Calls `each` with the physical path of every place of `home` that exists, and whether it is
 * elsewhere than its name says. `all`: also of those that are where their name says. */
static int each_place(struct derive_survey *survey, const char *home, bool all,
                      int (*each)(void *context, const char *physical, struct err *err),
                      void *context, struct err *err)
{
    AUTO_CLOSE int home_fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    for (size_t i = 0; r == 0 && home_fd >= 0 && credential_places[i] != NULL; i++) {
        const char *place = credential_places[i];
        struct derive_sighting sighting = derive_survey_place(survey, home_fd, place);
        AUTO_FREE char *physical = NULL;
        AUTO_CLOSE int fd = -1;

        if (!sighting.may_exist || (!all && !sighting.may_be_link))
            continue;
        fd = derive_open_physical(home_fd, home, place, &physical);
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
    if (r < 0)
        return r;
    work->survey = derive_survey_new();
    if (work->survey == NULL)
        return err_memory(err);
    return each_place(work->survey, work->owner->home, false, add_secret, work, err);
}

/* ---- covering ---------------------------------------------------------------------------- */

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

/* Whether anything but the base opens part of /etc or /var: the base's own entries are no secrets.
 */
static bool system_is_opened(const struct derivation *work)
{
    for (size_t i = 0; i < policy_rules(work->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(work->policy, i);

        if (rule->origin != POLICY_FROM_BASE && rule->access != POLICY_HIDE &&
            (path_is_below(rule->path, "/etc") || path_is_below(rule->path, "/var")))
            return true;
    }
    return false;
}

static int cover_secrets(struct derivation *work, struct err *err)
{
    size_t count = 0;
    const char *const *system_secrets = derive_system_secrets(&count);
    int r = 0;

    for (size_t i = 0; r == 0 && i < work->homes.count; i++) {
        AUTO_FREE struct derive_survey *survey = NULL;

        if (!home_is_opened(work, work->homes.items[i]))
            continue;
        survey = derive_survey_new();
        if (survey == NULL)
            return err_memory(err);
        r = each_place(survey, work->homes.items[i], true, cover_secret, work, err);
    }
    for (size_t i = 0; r == 0 && i < work->secrets.count; i++)
        r = cover_secret(work, work->secrets.items[i], err);
    if (!system_is_opened(work))
        return r;
    for (size_t i = 0; r == 0 && i < count; i++)
        if (derive_shown(work, system_secrets[i]) && access(system_secrets[i], F_OK) == 0)
            r = cover_secret(work, system_secrets[i], err);
    return r;
}

/* A run with other variables would obey them. One that nobody can make needs no cover. */
static int cover_defaults(const struct derivation *work, struct err *err)
{
    const struct derive_list *defaults = work->owner->defaults;
    int r = 0;

    for (size_t i = 0; r == 0 && defaults != NULL && i < defaults->count; i++) {
        const char *path = defaults->items[i];
        const enum policy_access access_inside = policy_resolve(work->policy, path, NULL);

        if (access_inside == POLICY_WRITE ||
            (access_inside == POLICY_READ && access(path, F_OK) == 0))
            r = cover(work, path, POLICY_FROM_OWN, "wattle's own", err);
    }
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
    return r < 0 ? r : cover_defaults(work, err);
}
