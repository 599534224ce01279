/* Paths as people type them, the physical ones they stand for, and the symlinks in between: those
 * are made again inside, so that what was typed works there too. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the caller's folder ----------------------------------------------------------------- */

/* $PWD, when it is another name of the current folder. */
static bool pwd_names(const char *pwd, const char *cwd)
{
    struct stat named;
    struct stat here;

    if (pwd == NULL || !path_is_clean(pwd))
        return false;
    if (str_equal(pwd, cwd))
        return true;
    return stat(pwd, &named) == 0 && stat(".", &here) == 0 && named.st_dev == here.st_dev &&
           named.st_ino == here.st_ino;
}

int derive_cwd_find(struct derivation *work, struct err *err)
{
    const char *pwd = getenv("PWD");

    work->cwd = getcwd(NULL, 0);
    if (work->cwd == NULL && errno == ENOMEM)
        return err_memory(err);
    if (work->cwd == NULL || !path_is_clean(work->cwd)) {
        free(work->cwd);
        work->cwd = NULL; /* deleted, or beyond what the process can reach or name */
        return 0;
    }
    work->cwd_typed = strdup(pwd_names(pwd, work->cwd) ? pwd : work->cwd);
    return work->cwd_typed == NULL ? err_memory(err) : 0;
}

/* ---- typed to physical ------------------------------------------------------------------- */

char *derive_full(const struct derivation *work, const char *typed)
{
    if (typed[0] == '/' || work->cwd == NULL)
        return strdup(typed);
    return path_join(work->cwd, typed);
}

static bool has_parent_part(const char *path)
{
    for (const char *at = strstr(path, ".."); at != NULL; at = strstr(at + 1, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    return false;
}

int derive_resolve(const char *typed, const char *base, const char *base_typed, char **ret_physical,
                   char **ret_typed, struct err *err)
{
    AUTO_FREE char *full = typed[0] == '/' ? strdup(typed) : path_join(base, typed);
    AUTO_FREE char *physical = NULL;
    AUTO_FREE char *clean = NULL;
    int r;

    if (full == NULL)
        return err_memory(err);
    r = path_physical(typed[0] == '\0' ? "" : full, &physical, err);
    if (r < 0)
        return r;
    if (has_parent_part(typed)) {
        clean = strdup(physical);
        r = clean == NULL ? err_memory(err) : 0;
    } else {
        r = path_normalize(typed, base_typed, NULL, &clean, err);
    }
    if (r < 0)
        return r;
    *ret_physical = TAKE_PTR(physical);
    *ret_typed = TAKE_PTR(clean);
    return 0;
}

int derive_open_physical(int dir_fd, const char *top, const char *path, char **ret_physical)
{
    AUTO_FREE char *full = path_join(top, path);
    AUTO_CLOSE int fd = -1;
    char *physical = NULL;
    int r;

    if (full == NULL)
        return -ENOMEM;
    fd = path[0] == '\0' ? path_open_plain(AT_FDCWD, top, O_PATH)
                         : path_open_plain(dir_fd, path, O_PATH);
    if (fd >= 0) {
        *ret_physical = TAKE_PTR(full);
        return TAKE_FD(fd);
    }
    if (fd != -ELOOP)
        return fd;
    r = path_physical(full, &physical, NULL);
    if (r < 0)
        return r;
    fd = path_open_plain(AT_FDCWD, physical, O_PATH);
    if (fd < 0) {
        free(physical);
        return fd;
    }
    *ret_physical = physical;
    return TAKE_FD(fd);
}

static int refuse_dangling(const char *path, struct err *err)
{
    (void) err_set(err, EINVAL, "derive.dangling", "the symlink '%s' leads nowhere", path);
    return err_hint(err, "make what it leads to, or remove it");
}

/* The first look-up of every run comes here: what lacks openat2 gets no further. */
static int refuse_kernel(struct err *err)
{
    (void) err_set(err, ENOSYS, "derive.no-openat2", "cannot look up paths safely: openat2");
    return err_hint(err,
                    "wattle needs Linux 5.12 or later, and cannot run inside another fence that "
                    "withholds this call");
}

int derive_resolve_missing(const char *path, char **ret_physical, bool *ret_exists,
                           struct stat *ret_seen, struct err *err)
{
    AUTO_FREE char *near = strdup(path);
    AUTO_FREE char *physical = NULL;
    size_t length = strlen(path);

    if (near == NULL)
        return err_memory(err);
    for (;;) {
        AUTO_CLOSE int fd = derive_open_physical(AT_FDCWD, near, "", &physical);
        struct stat link;

        if (fd == -ENOMEM)
            return err_memory(err);
        if (fd >= 0 && fstat(fd, ret_seen) == 0)
            break;
        if (fd == -ENOSYS)
            return refuse_kernel(err);
        if (fd != -ENOENT && fd != -ENOTDIR)
            return err_set(err, fd < 0 ? -fd : errno, "path.lookup", "cannot look up '%s'", near);
        if (lstat(near, &link) == 0 && S_ISLNK(link.st_mode))
            return refuse_dangling(near, err);
        while (near[length - 1] != '/')
            length--;
        length -= length > 1;
        near[length] = '\0';
    }
    *ret_exists = path[length] == '\0' || str_equal(path, "/");
    *ret_physical = path_join(physical, path + length + strspn(path + length, "/"));
    return *ret_physical == NULL ? err_memory(err) : 0;
}

/* ---- symlinks made again inside ---------------------------------------------------------- */

/* Names that the kernel or the fence makes there; nothing of ours can be put below them. */
static bool is_foreign(const char *path)
{
    static const char *const tops[] = {"/proc", "/sys", "/dev", POLICY_INSIDE_TOP};

    for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
        if (path_is_below(path, tops[i]))
            return true;
    return false;
}

/* Whether the link is, or can be, inside what it is outside. */
static bool link_fits(const struct policy *policy, const char *link, const char *target,
                      bool *ret_there)
{
    const struct policy_place *place = policy_place_find(policy, link);
    const struct policy_rule *rule = NULL;

    *ret_there = true;
    if (place != NULL)
        return place->kind == POLICY_PLACE_SYMLINK && str_equal(place->source, target);
    if (policy_resolve(policy, link, &rule) != POLICY_HIDE)
        return true;
    *ret_there = false;
    return rule == NULL && !is_foreign(link);
}

static int place_link(void *context, const char *link, const char *target)
{
    const struct derivation *work = context;
    bool there = false;

    if (!link_fits(work->policy, link, target, &there) || there)
        return 0;
    return derive_place_add(work, POLICY_PLACE_SYMLINK, link, target,
                            "on the way to what was named", NULL);
}

int derive_links_place(struct derivation *work, struct err *err)
{
    for (size_t i = 0; i < work->typed.count; i++) {
        int r = path_each_symlink(work->typed.items[i], place_link, work, err);

        if (r < 0)
            return r == -ENOMEM ? err_memory(err) : r;
    }
    return 0;
}

static int link_leads(void *context, const char *link, const char *target)
{
    bool there = false;

    return link_fits(context, link, target, &there) && there ? 0 : 1;
}

bool derive_links_lead(const struct derivation *work, const char *typed)
{
    return path_each_symlink(typed, link_leads, work->policy, NULL) == 0;
}
