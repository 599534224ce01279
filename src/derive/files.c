/* The owner's settings: config.json, then every -p file; and the administrator's, which only
 * tighten. Each is opened once, judged by its descriptor, and read from it. */
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_LIMIT_BYTES (1u << 20)

/* ---- one file ---------------------------------------------------------------------------- */

struct file {
    const char *path; /* as named; may be relative, run through symlinks, have ".." parts */
    const char *name; /* for messages */
    enum settings_source source;
    char *physical; /* once read */
};

static void file_free(struct file *file)
{
    free(file->physical);
}

/* Follows symlinks and "..", and tells where the file is. */
static int open_file(const char *path, char **ret_physical)
{
    int fd = path_is_clean(path) ? path_open_plain(AT_FDCWD, path, O_RDONLY | O_NONBLOCK) : -ELOOP;
    AUTO_FREE char *physical = NULL;
    int r = 0;

    if (fd == -ELOOP) {
        r = path_physical(path, &physical, NULL);
        fd = r < 0 ? r : path_open_plain(AT_FDCWD, physical, O_RDONLY | O_NONBLOCK);
    } else if (fd >= 0) {
        physical = strdup(path);
    }
    if (fd >= 0 && physical == NULL) {
        cleanup_close(&fd);
        return -ENOMEM;
    }
    if (fd >= 0)
        *ret_physical = TAKE_PTR(physical);
    return fd;
}

static int judge_file(const struct derivation *work, int fd, const struct file *file,
                      struct err *err)
{
    char name[] = "root";
    const struct derive_owner root = {.uid = 0, .gid = 0, .login = name, .group = name};
    const struct derive_owner *owner = file->source == SETTINGS_ADMIN ? &root : work->owner;
    const char *physical = file->physical;
    struct stat seen;
    int r = 0;

    if (fstat(fd, &seen) < 0)
        return err_set(err, errno, "derive.location", "cannot look at '%s'", physical);
    if (!S_ISREG(seen.st_mode))
        return err_set(err, EINVAL, "derive.location", "'%s' is no regular file", physical);
    r = derive_location_outside(physical, "the settings file", work->pen, work->tree, err);
    if (r < 0)
        return err_hint(err, "nothing in a repository may say what wattle does; keep it outside");
    r = derive_location_judge(owner, physical, &seen, "the settings file", err);
    return r < 0 ? r : derive_location_above(owner, physical, NULL, "the settings file", err);
}

static int read_settings(const struct derivation *work, struct file *file,
                         struct settings **ret_settings, struct err *err)
{
    AUTO(buf_free) struct buf buf;
    AUTO_CLOSE int fd = open_file(file->path, &file->physical);
    int r = 0;

    buf_init(&buf, SETTINGS_LIMIT_BYTES);
    if (fd == -ENOMEM)
        return err_memory(err);
    if (fd < 0)
        return err_set(err, -fd, "derive.settings", "cannot read the settings file '%s'",
                       file->path);
    r = judge_file(work, fd, file, err);
    if (r < 0)
        return r;
    r = fd_read_all(fd, &buf);
    if (r < 0)
        return r == -ENOMEM ? err_memory(err)
                            : err_set(err, -r, "derive.settings",
                                      "cannot read the settings file '%s'", file->path);
    return settings_parse(buf.bytes, buf.size, file->name, work->owner->home, file->source,
                          ret_settings, err);
}

int derive_settings_check(const struct derive_owner *owner, const char *path, struct err *err)
{
    AUTO(settings_freep) struct settings *settings = NULL;
    const struct derivation work = {.machine = &derive_this_machine, .owner = owner};
    const bool admin = str_equal(path, derive_this_machine.admin_file);
    AUTO(file_free)
    struct file file = {
        .path = path,
        .name = path,
        .source = admin ? SETTINGS_ADMIN : SETTINGS_OWNER,
    };

    return read_settings(&work, &file, &settings, err);
}

int derive_settings_own(const struct derive_owner *owner, struct settings **ret_settings,
                        struct err *err)
{
    static const char empty[] = "{}";
    const struct derivation work = {.machine = &derive_this_machine, .owner = owner};
    AUTO_FREE char *path = path_join(owner->config_dir, "config.json");
    AUTO(file_free)
    struct file file = {.path = path, .name = "config.json", .source = SETTINGS_OWNER};
    struct stat seen;

    if (path == NULL)
        return err_memory(err);
    if (lstat(path, &seen) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return settings_parse(empty, sizeof empty - 1, file.name, owner->home, file.source,
                              ret_settings, err);
    return read_settings(&work, &file, ret_settings, err);
}

/* ---- all of them ------------------------------------------------------------------------- */

/* `label` says who named it: "-p". */
static int add_settings(struct derivation *work, const char *path, const char *name,
                        const char *label, struct err *err)
{
    AUTO(file_free) struct file file = {.path = path, .name = name, .source = SETTINGS_OWNER};
    struct settings **all =
        reallocarray(work->settings, work->settings_count + 1, sizeof(struct settings *));
    int r = 0;

    if (all == NULL)
        return err_memory(err);
    work->settings = all;
    r = derive_list_add(&work->settings_names, name, err);
    if (r == 0)
        r = read_settings(work, &file, &all[work->settings_count], err);
    if (r < 0)
        return r;
    work->settings_count++;
    r = derive_list_add(&work->settings_files, file.physical, err);
    if (r == 0 && !str_equal(path, file.physical))
        r = derive_way_add(work, label, path, err);
    return r;
}

/* A file that need not exist. */
static int add_config(struct derivation *work, const char *path, struct err *err)
{
    struct stat seen;

    if (lstat(path, &seen) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    return add_settings(work, path, "config.json", "config.json", err);
}

static int add_flag_file(struct derivation *work, const char *typed, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = 0;

    if (typed[0] != '/' && work->cwd == NULL)
        return err_set(err, ENOENT, "derive.settings", "cannot read the settings file '%s'", typed);
    path = derive_full(work, typed);
    if (path == NULL)
        return err_memory(err);
    r = add_settings(work, path, path_base(typed), "-p", err);
    if (r == -ENOENT)
        return err_hint(err, "name an existing file with -p FILE");
    return r;
}

int derive_files_read(struct derivation *work, struct err *err)
{
    AUTO_FREE char *config = path_join(work->owner->config_dir, "config.json");
    const char *const *files = work->request->policy_files;
    struct stat seen;
    AUTO(file_free)
    struct file admin = {
        .path = work->machine->admin_file,
        .name = work->machine->admin_file,
        .source = SETTINGS_ADMIN,
    };
    int r = config == NULL ? err_memory(err) : add_config(work, config, err);

    for (size_t i = 0; r == 0 && files != NULL && files[i] != NULL; i++)
        r = add_flag_file(work, files[i], err);
    if (r == 0 &&
        (lstat(work->machine->admin_file, &seen) == 0 || (errno != ENOENT && errno != ENOTDIR)))
        r = read_settings(work, &admin, &work->admin, err);
    return r;
}

/* ---- limits ------------------------------------------------------------------------------ */

static uint64_t given(uint64_t earlier, uint64_t later)
{
    return later != 0 ? later : earlier;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b; /* 0 is no bound */
    return a < b ? a : b;
}

static void merge_limits(struct policy_limits *limits, const struct policy_limits *other,
                         uint64_t (*merge)(uint64_t, uint64_t))
{
    limits->deadline_ms = merge(limits->deadline_ms, other->deadline_ms);
    limits->kill_after_ms = merge(limits->kill_after_ms, other->kill_after_ms);
    limits->memory_bytes = merge(limits->memory_bytes, other->memory_bytes);
    limits->processes = merge(limits->processes, other->processes);
    limits->open_files = merge(limits->open_files, other->open_files);
    limits->file_bytes = merge(limits->file_bytes, other->file_bytes);
    limits->tmp_bytes = merge(limits->tmp_bytes, other->tmp_bytes);
    limits->shm_bytes = merge(limits->shm_bytes, other->shm_bytes);
}

static void apply_preflight(struct policy_preflight *preflight, const struct settings *settings)
{
    preflight->entries = given(preflight->entries, settings->preflight_entries);
    preflight->repositories = given(preflight->repositories, settings->preflight_repositories);
    preflight->remember_ms = given(preflight->remember_ms, settings->preflight_remember_ms);
    if (settings->shared_links_given)
        preflight->accept_shared_links = settings->accept_shared_links;
}

int derive_files_apply(const struct derivation *work, struct err *err)
{
    struct policy_limits *limits = policy_limits(work->policy);

    (void) err;
    for (size_t i = 0; i < work->settings_count; i++) {
        const struct settings *settings = work->settings[i];

        merge_limits(limits, &settings->limits, given);
        policy_require(work->policy, settings->require);
        if (settings->caches_given)
            policy_set_caches(work->policy, settings->caches);
        apply_preflight(policy_preflight(work->policy), settings);
    }
    merge_limits(limits, &work->request->limits, given);
    if (work->request->caches_given)
        policy_set_caches(work->policy, work->request->caches);
    if (work->admin != NULL) {
        merge_limits(limits, &work->admin->limits, lesser);
        policy_require(work->policy, work->admin->require);
    }
    return 0;
}
