/* May a file or folder say what wattle does? It must be the caller's, unchangeable by others, and
 * outside of the pen and the work tree (L5). */
#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

const char derive_location_hint[] = "nothing in a repository may say what wattle does; keep it "
                                    "outside, and look at HOME and the XDG_*_HOME variables";

int derive_location_outside(const char *path, const char *what, const char *pen, const char *tree,
                            struct err *err)
{
    if (pen != NULL && path_is_below(path, pen))
        return err_set(err, EINVAL, "derive.location", "%s '%s' lies in the pen, '%s'", what, path,
                       pen);
    if (tree != NULL && path_is_below(path, tree))
        return err_set(err, EINVAL, "derive.location",
                       "%s '%s' lies in the repository around the pen, '%s'", what, path, tree);
    return 0;
}

/* Users often have a group of their own, and folders it may write: that gives nobody else a say. */
static bool group_is_private(const struct derive_owner *owner, gid_t gid)
{
    return gid == owner->gid && str_equal(owner->group, owner->login);
}

static bool others_may_write(const struct derive_owner *owner, const struct stat *seen)
{
    if ((seen->st_mode & S_IWOTH) != 0)
        return true;
    return (seen->st_mode & S_IWGRP) != 0 && !group_is_private(owner, seen->st_gid);
}

/* Files that a declarative system puts there belong to root and cannot be changed by anybody. */
static bool is_from_store(const char *path, const struct stat *seen)
{
    return seen->st_uid == 0 && path_is_below(path, "/nix/store");
}

int derive_location_judge(const struct derive_owner *owner, const char *path,
                          const struct stat *seen, const char *what, struct err *err)
{
    if (is_from_store(path, seen))
        return 0;
    if (seen->st_uid != owner->uid) {
        (void) err_set(err, EINVAL, "derive.location",
                       "%s '%s' is not yours: it belongs to uid %lu", what, path,
                       (unsigned long) seen->st_uid);
        return err_hint(err,
                        "wattle takes its orders from %s alone; chown it, or set the XDG_*_HOME "
                        "variables to folders of yours",
                        owner->login);
    }
    if (others_may_write(owner, seen)) {
        (void) err_set(err, EINVAL, "derive.location", "%s '%s' can be changed by other users",
                       what, path);
        return err_hint(err, "chmod go-w '%s'", path);
    }
    return 0;
}

/* Cuts the last part off; false at "/". */
static bool to_parent(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL || path[1] == '\0')
        return false;
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

#define OVERFLOW_UID 65534u
#define UID_MAP_LIMIT_BYTES 16384 /* 340 lines at most, user_namespaces(7) */

/* Inside a user namespace, all who have no number there show as the overflow uid, first of all the
 * machine's root: whoever made the namespace could not tell them apart either. Where 65534 has a
 * number of its own it is an ordinary, foreign user. user_namespaces(7), "Unmapped user and group
 * IDs". */
static bool is_without_number(uid_t uid)
{
    AUTO(buf_free) struct buf map = {0};
    char *at;

    buf_init(&map, UID_MAP_LIMIT_BYTES);
    if (uid != OVERFLOW_UID || fd_read_file(AT_FDCWD, "/proc/self/uid_map", &map) < 0)
        return false;
    at = map.bytes;
    while (at != NULL && *at != '\0') { /* lines of: first inside, first outside, count */
        const unsigned long first = strtoul(at, &at, 10);

        (void) strtoul(at, &at, 10);
        if (uid >= first && uid - first < strtoul(at, &at, 10))
            return false;
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    return true;
}

static bool is_trusted(const struct derive_owner *owner, uid_t uid)
{
    return uid == owner->uid || uid == 0 || is_without_number(uid);
}

/* Who may write a folder, or owns it, can put another one in the place of what lies in it. */
static int judge_above(const struct derive_owner *owner, const char *folder,
                       const struct stat *seen, const char *path, struct err *err)
{
    if (!is_trusted(owner, seen->st_uid)) {
        (void) err_set(err, EINVAL, "derive.location",
                       "'%s' can be replaced by others: '%s' belongs to uid %lu", path, folder,
                       (unsigned long) seen->st_uid);
        return err_hint(err, "keep it in folders of %s%s", owner->login,
                        owner->uid == 0 ? "" : " or root");
    }
    if ((seen->st_mode & S_ISVTX) != 0 || !others_may_write(owner, seen))
        return 0;
    (void) err_set(err, EINVAL, "derive.location",
                   "'%s' can be replaced by other users: '%s' is writable by %s", path, folder,
                   (seen->st_mode & S_IWOTH) != 0 ? "everybody" : "its group");
    return err_hint(err, "chmod go-w '%s'", folder);
}

int derive_location_above(const struct derive_owner *owner, const char *path, const char *stop,
                          const char *what, struct err *err)
{
    AUTO_FREE char *above = strdup(path);

    if (above == NULL)
        return err_memory(err);
    while (to_parent(above) && (stop == NULL || !str_equal(above, stop))) {
        struct stat seen;
        int r = lstat(above, &seen) < 0 ? -errno : 0;

        if (r == -ENOENT)
            continue; /* nothing of the location is there yet */
        if (r < 0)
            return err_set(err, -r, "derive.location", "cannot look at '%s', where %s lies", above,
                           what);
        r = judge_above(owner, above, &seen, path, err);
        if (r < 0)
            return r;
    }
    return 0;
}
