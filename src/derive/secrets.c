/* Where homes and credentials really are, and the rules that keep them and wattle's own folders out
 * of what was opened.
 *
 * The table of credential places has hundreds of names; asking for each would cost more than a
 * start may. So the listings of the home, ~/.config and ~/.local/share say which can exist at all,
 * and which of those are symlinks. */
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"
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

/* ---- which names a folder has ------------------------------------------------------------ */

#define LISTING_BITS 65536u

/* One bit for the hash of every name: a name whose bit is missing is not there. One whose bit is
 * set may be another's; the kernel is asked then. */
struct listing {
    unsigned char names[LISTING_BITS / 8];
    unsigned char links[LISTING_BITS / 8];
};

/* FNV-1a of the first part of `name`, folded to a bit's number. */
static unsigned hash_part(const char *name)
{
    uint32_t hash = UINT32_C(2166136261);

    for (; *name != '\0' && *name != '/'; name++)
        hash = (hash ^ (unsigned char) *name) * UINT32_C(16777619);
    return (hash ^ hash >> 16) % LISTING_BITS;
}

static void set_bit(unsigned char *bits, unsigned number)
{
    bits[number / 8] = (unsigned char) (bits[number / 8] | 1u << number % 8);
}

static bool has_bit(const unsigned char *bits, unsigned number)
{
    return (bits[number / 8] >> number % 8 & 1) != 0;
}

static bool entry_is_link(DIR *dir, const struct dirent *entry)
{
    struct stat seen;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_LNK;
    return fstatat(dirfd(dir), entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK(seen.st_mode);
}

/* The names in `home`/`folder`; none where the caller cannot read either. */
static void list_folder(int home_fd, const char *folder, struct listing *listing)
{
    AUTO_CLOSE int fd = openat(home_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry = NULL;

    if (dir == NULL)
        return;
    (void) TAKE_FD(fd); /* the stream owns it */
    while ((entry = readdir(dir)) != NULL) {
        unsigned number = hash_part(entry->d_name);

        set_bit(listing->names, number);
        if (entry_is_link(dir, entry))
            set_bit(listing->links, number);
    }
}

/* ---- credential places that exist -------------------------------------------------------- */

/* The home, and the folders in it where most places are. */
static const struct {
    const char *folder;
    const char *prefix;
} listed[] = {
    {".", ""},
    {".config", ".config/"},
    {".local/share", ".local/share/"},
};

struct survey {
    struct listing at[ARRAY_SIZE(listed)];
    bool loaded[ARRAY_SIZE(listed)];
};

struct sighting {
    bool may_exist;
    bool may_be_link;
};

static struct sighting survey_part(struct survey *survey, int home_fd, size_t index,
                                   const char *place)
{
    struct listing *listing = &survey->at[index];
    unsigned number = hash_part(place + strlen(listed[index].prefix));

    if (!survey->loaded[index])
        list_folder(home_fd, listed[index].folder, listing);
    survey->loaded[index] = true;
    return (struct sighting){
        .may_exist = has_bit(listing->names, number),
        .may_be_link = has_bit(listing->links, number),
    };
}

/* What the listings say of a place. Parts they do not cover may be anything. */
static struct sighting survey_place(struct survey *survey, int home_fd, const char *place)
{
    struct sighting sighting = survey_part(survey, home_fd, 0, place);
    const char *rest = place;

    for (size_t i = 1; sighting.may_exist && i < ARRAY_SIZE(listed); i++) {
        struct sighting below;

        if (!str_starts(place, listed[i].prefix))
            continue;
        below = survey_part(survey, home_fd, i, place);
        sighting.may_exist = below.may_exist;
        sighting.may_be_link = sighting.may_be_link || below.may_be_link;
        rest = place + strlen(listed[i].prefix);
    }
    sighting.may_be_link = sighting.may_be_link || strchr(rest, '/') != NULL;
    return sighting;
}

/* Calls `each` with the physical path of every place of `home` that exists, and whether it is
 * elsewhere than its name says. `all`: also of those that are where their name says. */
static int each_place(const char *home, bool all,
                      int (*each)(void *context, const char *physical, struct err *err),
                      void *context, struct err *err)
{
    AUTO_FREE struct survey *survey = calloc(1, sizeof *survey);
    AUTO_CLOSE int home_fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    if (survey == NULL)
        return err_memory(err);
    for (size_t i = 0; r == 0 && home_fd >= 0 && credential_places[i] != NULL; i++) {
        const char *place = credential_places[i];
        struct sighting sighting = survey_place(survey, home_fd, place);
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
    if (r == 0)
        r = each_place(work->owner->home, false, add_secret, work, err);
    return r;
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
