/* The system's own programs and libraries, and what every run has for itself. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Symlinks into /usr where that is merged, else folders of their own. */
static const char *const usr_links[] = {"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"};
/* Where whole systems keep their programs. */
static const char *const stores[] = {"/gnu/store", "/nix/store"};

static int add_root(const struct derivation *work, const char *path, bool optional, struct err *err)
{
    const struct derive_rule rule = {
        .path = path,
        .access = POLICY_READ,
        .origin = POLICY_FROM_BASE,
        .why = "system programs",
        .optional = optional,
    };

    return derive_rule_add(work, &rule, err);
}

static int add_link_or_root(const struct derivation *work, const char *path, struct err *err)
{
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target - 1);

    if (size < 0 && errno == EINVAL)
        return add_root(work, path, true, err);
    if (size <= 0)
        return 0;
    target[size] = '\0';
    return derive_place_add(work, POLICY_PLACE_SYMLINK, path, target, "merged into /usr", err);
}

static int add_usr(const struct derivation *work, struct err *err)
{
    AUTO_FREE char *physical = NULL;
    int r = path_physical("/usr", &physical, err);

    if (r < 0)
        return r;
    r = add_root(work, physical, false, err);
    if (r == 0 && !str_equal(physical, "/usr"))
        r = derive_place_add(work, POLICY_PLACE_SYMLINK, "/usr", physical, "system programs", err);
    return r;
}

int derive_roots_add(const struct derivation *work, struct err *err)
{
    int r = add_usr(work, err);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(usr_links); i++)
        r = add_link_or_root(work, usr_links[i], err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(stores); i++)
        if (access(stores[i], F_OK) == 0)
            r = add_root(work, stores[i], true, err);
    return r;
}

/* ---- the run's own ----------------------------------------------------------------------- */

static int add_tmpfs(const struct derivation *work, const char *path, struct err *err)
{
    int r = derive_place_add(work, POLICY_PLACE_TMPFS, path, NULL, "the run's own, in memory", err);

    return r;
}

static bool rule_below(const struct derivation *work, const char *path)
{
    for (size_t i = 0; i < policy_rules(work->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(work->policy, i);

        if (rule->access != POLICY_HIDE && path_is_below(rule->path, path))
            return true;
    }
    return false;
}

/* A symlink cannot have mount points below it, nor be made where the host's folder shows. */
static int add_var_tmp(const struct derivation *work, struct err *err)
{
    if (derive_shown(work, "/var/tmp") || rule_below(work, "/var/tmp"))
        return add_tmpfs(work, "/var/tmp", err);
    return derive_place_add(work, POLICY_PLACE_SYMLINK, "/var/tmp", "/tmp", "the run's own", err);
}

static int add_empty(const struct derivation *work, const char *path, struct err *err)
{
    if (derive_shown(work, path))
        return 0;
    return derive_place_add(work, POLICY_PLACE_FOLDER, path, NULL, "expected by programs", err);
}

int derive_roots_places(const struct derivation *work, struct err *err)
{
    int r = add_tmpfs(work, "/tmp", err);

    if (r == 0)
        r = add_tmpfs(work, POLICY_INSIDE_HOME, err);
    if (r == 0)
        r = add_empty(work, "/run", err);
    if (r == 0)
        r = add_empty(work, "/var", err);
    if (r == 0)
        r = add_var_tmp(work, err);
    if (r == 0)
        r = derive_place_add(work, POLICY_PLACE_DEV, "/dev", NULL, "the run's own devices", err);
    if (r == 0)
        r = derive_place_add(work, POLICY_PLACE_PROC, "/proc", NULL, "the run's own processes",
                             err);
    if (r == 0)
        r = derive_place_add(work, POLICY_PLACE_FOLDER, POLICY_INSIDE_TOP, NULL, "the run's own",
                             err);
    return r;
}
