/* Which names a home has, by a few listings instead of many questions: hundreds of places are known
 * that hold credentials or toolchains, and asking for each would cost more than a start may. */
#include "base/str.h"
#include "derive/derive_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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

/* ---- the survey ------------------------------------------------------------------------- */

/* The home, and the folders in it where most places are. */
static const struct {
    const char *folder;
    const char *prefix;
} listed[] = {
    {".", ""},
    {".config", ".config/"},
    {".local/share", ".local/share/"},
    {".cache", ".cache/"},
};

struct derive_survey {
    struct listing at[ARRAY_SIZE(listed)];
    bool loaded[ARRAY_SIZE(listed)];
};

static struct derive_sighting survey_part(struct derive_survey *survey, int home_fd, size_t index,
                                          const char *place)
{
    struct listing *listing = &survey->at[index];
    unsigned number = hash_part(place + strlen(listed[index].prefix));

    if (!survey->loaded[index])
        list_folder(home_fd, listed[index].folder, listing);
    survey->loaded[index] = true;
    return (struct derive_sighting){
        .may_exist = has_bit(listing->names, number),
        .may_be_link = has_bit(listing->links, number),
    };
}

/* What the listings say of a place. Parts they do not cover may be anything. */
struct derive_sighting derive_survey_place(struct derive_survey *survey, int home_fd,
                                           const char *place)
{
    struct derive_sighting sighting = survey_part(survey, home_fd, 0, place);
    const char *rest = place;

    for (size_t i = 1; sighting.may_exist && i < ARRAY_SIZE(listed); i++) {
        struct derive_sighting below;

        if (place[1] != listed[i].prefix[1] || !str_starts(place, listed[i].prefix))
            continue;
        below = survey_part(survey, home_fd, i, place);
        sighting.may_exist = below.may_exist;
        sighting.may_be_link = sighting.may_be_link || below.may_be_link;
        rest = place + strlen(listed[i].prefix);
    }
    sighting.may_be_link = sighting.may_be_link || strchr(rest, '/') != NULL;
    return sighting;
}

struct derive_survey *derive_survey_new(void)
{
    return calloc(1, sizeof(struct derive_survey));
}
