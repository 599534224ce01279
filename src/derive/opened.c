/* What the owner opens, hides and holds: flags, config.json and -p files, /etc/wattle. All that
 * opens comes first, so that what hides can be judged against it. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"
#include "policy/credentials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct opened {
    const char *typed;
    const char *label; /* "--rw", or the file's name */
    enum policy_access access;
    enum policy_origin origin;
    bool hold;
    bool must_exist; /* a file is general: what it names may be missing here */
};

const char derive_pen_files[] = "pens files";

/* Where it is. */
struct whereabouts {
    char *physical;
    char *typed; /* clean */
    bool exists;
    struct stat seen;
    struct derive_verdict verdict;
};

static void whereabouts_free(struct whereabouts *where)
{
    free(where->physical);
    free(where->typed);
}

/* ---- refusals ---------------------------------------------------------------------------- */

static const struct refusal {
    unsigned fact;
    bool read, write, hide;
    const char *id;
    const char *hint;
} refusals[] = {
    {DERIVE_ROOT, true, true, true, "derive.path-broad", "name the folders that are meant"},
    {DERIVE_KERNEL, true, true, true, "derive.path-system", "leave it out"},
    {DERIVE_INSIDE, true, true, true, "derive.path-system", "leave it out"},
    {DERIVE_HOME, false, true, false, "derive.path-home", "name the folders in it that are meant"},
    {DERIVE_HOLDS_HOME, false, true, false, "derive.path-home", "name the folders that are meant"},
    {DERIVE_SOCKETS, true, true, false, "derive.path-broad",
     "name the files that are meant, and sockets with --unix"},
    {DERIVE_BROAD, false, true, false, "derive.path-broad",
     "name the folders in it that are meant"},
    {DERIVE_OWN, true, true, false, "derive.path-own", "no run may reach wattle's own files"},
    {DERIVE_SYSTEM, false, true, false, "derive.path-broad", "copy what is to be changed"},
};

static bool refuses(const struct refusal *refusal, enum policy_access access)
{
    if (access == POLICY_HIDE)
        return refusal->hide;
    return access == POLICY_READ ? refusal->read : refusal->write;
}

static int refuse_facts(const struct opened *opened, const struct whereabouts *where,
                        struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        if ((where->verdict.facts & refusals[i].fact) == 0 ||
            !refuses(&refusals[i], opened->access))
            continue;
        (void) err_set(err, EINVAL, refusals[i].id, "%s: '%s' cannot be %s: it %s", opened->label,
                       where->physical,
                       opened->access == POLICY_HIDE    ? "hidden"
                       : opened->access == POLICY_WRITE ? "made writable"
                                                        : "opened",
                       derive_verdict_text(refusals[i].fact));
        return err_hint(err, "%s", refusals[i].hint);
    }
    return 0;
}

/* A run's /tmp is its own; the host's cannot be there as well, but a folder in it can. */
static int refuse_tmp(const struct opened *opened, const struct whereabouts *where, struct err *err)
{
    if (opened->access != POLICY_READ ||
        (!str_equal(where->physical, "/tmp") && !str_equal(where->physical, "/var/tmp")))
        return 0;
    (void) err_set(err, EINVAL, "derive.path-system",
                   "%s: '%s' cannot be opened: every run has its own", opened->label,
                   where->physical);
    return err_hint(err, "name the files or folders in it that are meant");
}

static int refuse_kind(const struct opened *opened, const struct whereabouts *where,
                       struct err *err)
{
    mode_t mode = where->seen.st_mode;

    if (opened->access == POLICY_HIDE || S_ISREG(mode) || S_ISDIR(mode))
        return 0;
    (void) err_set(err, EINVAL, "derive.path-kind", "%s: '%s' is neither a file nor a folder",
                   opened->label, where->physical);
    if (S_ISSOCK(mode))
        return err_hint(err, "open a socket with --unix '%s'", where->physical);
    return err_hint(err, "devices and pipes of the host stay outside");
}

/* ---- credentials ------------------------------------------------------------------------- */

/* Whether the owner wrote the place's own name, not that of something that leads there. */
static bool is_named_exactly(const struct derivation *work, const struct whereabouts *where)
{
    const char *home = getenv("HOME");

    if (str_equal(where->typed, where->physical))
        return true;
    if (home != NULL && path_is_clean(home) && credential_place_of(where->typed, home) != NULL)
        return true;
    return credential_place_of(where->typed, work->owner->home) != NULL;
}

static int check_credentials(struct derivation *work, const struct opened *opened,
                             const struct whereabouts *where, struct err *err)
{
    if (opened->access == POLICY_HIDE || (where->verdict.facts & DERIVE_CREDENTIAL) == 0)
        return 0;
    if (is_named_exactly(work, where)) {
        int r = derive_note(work, err, "%s: '%s' is a place for credentials", opened->label,
                            where->physical);

        return r < 0 ? r : derive_list_add(&work->named, where->physical, err);
    }
    (void) err_set(err, EINVAL, "derive.path-credentials",
                   "%s: '%s' leads to '%s', a place for credentials", opened->label, where->typed,
                   where->physical);
    return err_hint(err, "a place for credentials is opened only by its own name");
}

/* ---- one path ---------------------------------------------------------------------------- */

static int find_missing(const struct derivation *work, const struct opened *opened,
                        struct whereabouts *where, struct err *err)
{
    int r = path_normalize(opened->typed, work->cwd_typed, NULL, &where->typed, err);

    return r < 0 ? r
                 : derive_resolve_missing(where->typed, &where->physical, &where->exists,
                                          &where->seen, err);
}

/* `physical` NULL: nothing was found there. */
static int note_way(struct derivation *work, const struct opened *opened, const char *physical,
                    struct err *err)
{
    AUTO_FREE char *full = derive_full(work, opened->typed);

    if (full == NULL)
        return err_memory(err);
    if (physical != NULL && str_equal(full, physical))
        return 0;
    return derive_way_add(work, opened->label, full, err);
}

/* A symlink was put there since, by whoever can write in the folder: jobs of another pen, perhaps.
 */
static int refuse_moved(const struct opened *opened, const struct whereabouts *where,
                        struct err *err)
{
    (void) err_set(err, EINVAL, "derive.path-moved", "%s: '%s' leads to '%s'", opened->label,
                   opened->typed, where->physical);
    return err_hint(err, "name the place itself, if it is the one that is meant");
}

static bool has_moved(const struct derivation *work, const struct opened *opened,
                      const struct whereabouts *where)
{
    return work->request->pen_files && opened->origin == POLICY_FROM_FLAG &&
           !str_equal(opened->typed, where->physical);
}

static int find(struct derivation *work, const struct opened *opened, struct whereabouts *where,
                struct err *err)
{
    struct err failure = {0};
    int r = 0;

    if (opened->typed[0] != '/' && work->cwd == NULL)
        return err_set(err, ENOENT, "derive.path-missing", "%s: cannot find '%s'", opened->label,
                       opened->typed);
    r = derive_resolve(opened->typed, work->cwd, work->cwd_typed, &where->physical, &where->typed,
                       &failure);
    if (r == 0 && stat(where->physical, &where->seen) < 0)
        r = -errno;
    where->exists = r == 0;
    if (r < 0 && r != -ENOMEM && opened->access == POLICY_HIDE) {
        free(where->physical);
        where->physical = NULL;
        r = find_missing(work, opened, where, &failure);
    }
    if (r == -ENOMEM || note_way(work, opened, where->physical, &failure) == -ENOMEM)
        return err_memory(err);
    if (r < 0) {
        (void) err_set(err, -r == EINVAL ? ENOENT : -r, "derive.path-missing",
                       "%s: cannot find '%s'", opened->label, opened->typed);
        return err_hint(err, "make it first, or leave it out");
    }
    if (has_moved(work, opened, where))
        return refuse_moved(opened, where, err);
    where->verdict = derive_judge(work, where->physical);
    return 0;
}

static int add_rule(const struct derivation *work, const struct opened *opened,
                    const struct whereabouts *where, struct err *err)
{
    const struct derive_rule rule = {
        .path = where->physical,
        .access = opened->access,
        .origin = opened->origin,
        .why = opened->label,
        .optional = opened->access == POLICY_HIDE || opened->hold || !opened->must_exist,
        .hold = opened->hold,
        .seen =
            where->exists && opened->access != POLICY_HIDE && !opened->hold ? &where->seen : NULL,
    };

    return derive_rule_add(work, &rule, err);
}

static int open_one(struct derivation *work, const struct opened *opened, struct err *err)
{
    AUTO(whereabouts_free) struct whereabouts where = {0};
    struct err failure = {0};
    int r = find(work, opened, &where, &failure);

    if (r < 0 && r != -ENOMEM && !opened->must_exist)
        return derive_note(work, err, "%s: '%s' is not here", opened->label, opened->typed);
    if (r < 0) {
        *err = failure;
        return r;
    }
    r = refuse_facts(opened, &where, err);
    if (r == 0)
        r = refuse_tmp(opened, &where, err);
    if (r == 0)
        r = refuse_kind(opened, &where, err);
    if (r == 0)
        r = check_credentials(work, opened, &where, err);
    if (r == 0)
        r = add_rule(work, opened, &where, err);
    if (r == 0 && opened->access == POLICY_WRITE && S_ISREG(where.seen.st_mode)) {
        r = derive_note(
            work, err,
            "%s: '%s' is one file: programs that replace it by a new one will fail; open "
            "its folder if they must",
            opened->label, where.physical);
    }
    if (r == 0 && !str_equal(where.typed, where.physical))
        r = derive_list_add(&work->typed, where.typed, err);
    return r;
}

static int refuse_missing_below_write(const struct opened *opened, const char *physical,
                                      struct err *err)
{
    (void) err_set(err, EINVAL, "derive.path-hide-missing",
                   "%s: '%s' does not exist, and the run may write where it would be made",
                   opened->label, physical);
    return err_hint(err, opened->hold
                             ? "make it first, or use a pattern: '**/NAME' holds new names too"
                             : "make it first, or leave it out: only what exists can be hidden");
}

/* Hides or holds. */
static int close_one(struct derivation *work, const struct opened *opened, struct err *err)
{
    struct opened as_hidden = *opened;
    AUTO(whereabouts_free) struct whereabouts where = {0};
    struct err failure = {0};
    int r = 0;

    as_hidden.access = POLICY_HIDE; /* may be missing, and may be a credential place */
    r = find(work, &as_hidden, &where, &failure);
    if (r < 0 && r != -ENOMEM && !opened->must_exist)
        return derive_note(work, err, "%s: '%s' is not here", opened->label, opened->typed);
    if (r < 0) {
        *err = failure;
        return r;
    }
    r = refuse_facts(&as_hidden, &where, err);
    if (r < 0)
        return r;
    if (!where.exists && policy_resolve(work->policy, where.physical, NULL) == POLICY_WRITE)
        return refuse_missing_below_write(opened, where.physical, err);
    if (!opened->hold && str_equal(where.physical, work->pen) &&
        opened->origin != POLICY_FROM_ADMIN) {
        (void) err_set(err, EINVAL, "derive.path-hide-pen", "%s: '%s' is the pen itself",
                       opened->label, where.physical);
        return err_hint(err, "hide what is in it");
    }
    return add_rule(work, opened, &where, err);
}

/* ---- all of them ------------------------------------------------------------------------- */

typedef int each_opened(struct derivation *work, const struct opened *opened, struct err *err);

static int each_flag(struct derivation *work, bool opens, each_opened *each, struct err *err)
{
    static const char *const labels[] = {
        [POLICY_HIDE] = "--deny",
        [POLICY_READ] = "--ro",
        [POLICY_WRITE] = "--rw",
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < work->request->path_count; i++) {
        const struct derive_flag_path *flag = &work->request->paths[i];
        const struct opened opened = {
            .typed = flag->path,
            .label = work->request->pen_files ? derive_pen_files : labels[flag->access],
            .access = flag->access,
            .origin = POLICY_FROM_FLAG,
            .must_exist = true,
        };

        if ((flag->access != POLICY_HIDE) == opens)
            r = each(work, &opened, err);
    }
    return r;
}

/* Patterns are another file's: derive_patterns_add. */
static int each_deny_write(struct derivation *work, each_opened *each, struct err *err)
{
    const char *const *typed = work->request->deny_write;
    int r = 0;

    for (size_t i = 0; r == 0 && typed != NULL && typed[i] != NULL; i++) {
        const struct opened opened = {
            .typed = typed[i],
            .label = derive_deny_write,
            .access = POLICY_READ,
            .origin = POLICY_FROM_FLAG,
            .hold = true,
            .must_exist = true,
        };

        if (!policy_is_pattern(typed[i]))
            r = each(work, &opened, err);
    }
    return r;
}

static int each_setting(struct derivation *work, const struct settings *settings, const char *name,
                        bool opens, each_opened *each, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && settings != NULL && i < settings->path_count; i++) {
        const struct settings_path *path = &settings->paths[i];
        const struct opened opened = {
            .typed = path->path,
            .label = name,
            .access = path->access,
            .origin = settings == work->admin ? POLICY_FROM_ADMIN : POLICY_FROM_OWNER,
            .hold = path->hold,
        };

        if ((path->access != POLICY_HIDE && !path->hold) == opens)
            r = each(work, &opened, err);
    }
    return r;
}

static int each_path(struct derivation *work, bool opens, each_opened *each, struct err *err)
{
    int r = each_flag(work, opens, each, err);

    if (r == 0 && !opens)
        r = each_deny_write(work, each, err);
    for (size_t i = 0; r == 0 && i < work->settings_count; i++)
        r = each_setting(work, work->settings[i], work->settings_names.items[i], opens, each, err);
    if (r == 0)
        r = each_setting(work, work->admin, derive_admin, opens, each, err);
    return r;
}

int derive_opened_add(struct derivation *work, struct err *err)
{
    int r = each_path(work, true, open_one, err);

    return r < 0 ? r : each_path(work, false, close_one, err);
}

/* ---- sockets ----------------------------------------------------------------------------- */

/* Who can talk to one of these can do nearly everything. */
static bool is_powerful(const char *path)
{
    static const char *const names[] = {
        "docker.sock",    "podman.sock",  "containerd.sock",   "crio.sock",
        "buildkitd.sock", "libvirt-sock", "system_bus_socket", "bus",
        "private"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_equal(path_base(path), names[i]))
            return true;
    return false;
}

static int check_socket(struct derivation *work, const struct opened *opened,
                        const struct whereabouts *where, struct err *err)
{
    int r = refuse_facts(opened, where, err);

    if (r < 0)
        return r;
    if (!S_ISSOCK(where->seen.st_mode)) {
        (void) err_set(err, EINVAL, "derive.path-kind", "%s: '%s' is no socket", opened->label,
                       where->physical);
        return err_hint(err, "open a file or folder with --ro or --rw");
    }
    r = check_credentials(work, opened, where, err);
    if (r == 0 && is_powerful(where->physical))
        r = derive_note(work, err,
                        "%s: whoever reaches '%s' can start programs outside of the fence",
                        opened->label, where->physical);
    return r;
}

static int open_socket(struct derivation *work, const struct opened *opened, struct err *err)
{
    AUTO(whereabouts_free) struct whereabouts where = {0};
    struct err failure = {0};
    int r = find(work, opened, &where, &failure);

    if (r < 0 && r != -ENOMEM && !opened->must_exist)
        return derive_note(work, err, "%s: the socket '%s' is not here", opened->label,
                           opened->typed);
    if (r < 0) {
        *err = failure;
        return r;
    }
    r = check_socket(work, opened, &where, err);
    if (r == 0)
        r = add_rule(work, opened, &where, err);
    if (r == 0 && !str_equal(where.typed, where.physical))
        r = derive_list_add(&work->typed, where.typed, err);
    return r;
}

/* Reading is enough: a connection changes nothing in the file system. */
int derive_sockets_add(struct derivation *work, struct err *err)
{
    struct opened opened = {.access = POLICY_READ, .origin = POLICY_FROM_FLAG, .must_exist = true};
    const char *const *flags = work->request->unix_sockets;
    int r = 0;

    for (size_t i = 0; r == 0 && flags != NULL && flags[i] != NULL; i++) {
        opened.typed = flags[i];
        opened.label = work->request->pen_files ? derive_pen_files : "--unix";
        r = open_socket(work, &opened, err);
    }
    opened.must_exist = false;
    opened.origin = POLICY_FROM_OWNER;
    for (size_t i = 0; r == 0 && i < work->settings_count; i++) {
        opened.label = work->settings_names.items[i];
        for (size_t j = 0; r == 0 && j < work->settings[i]->unix_count; j++) {
            opened.typed = work->settings[i]->unix_sockets[j];
            r = open_socket(work, &opened, err);
        }
    }
    return r;
}
