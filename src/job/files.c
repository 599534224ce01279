#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FOLDER_FLAGS = O_DIRECTORY | O_RDONLY | O_CLOEXEC };

/* ---- folders of ours ------------------------------------------------------------------------- */

/* Makes every missing part 0700. `path` is the owner's own place (derive/ has checked it). */
static int make_parents(const char *path)
{
    char part[4096];
    const size_t length = strlen(path);

    if (length >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, length + 1);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return mkdir(part, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int run_open_folder(int dir_fd, const char *name, bool make)
{
    int fd;

    if (make && mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = openat(dir_fd, name, FOLDER_FLAGS | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

/* <top>/<name>, both made when missing. */
static int open_own(const char *top, const char *name, struct err *err)
{
    AUTO_CLOSE int top_fd = open(top, FOLDER_FLAGS);
    int r = 0;

    if (top_fd < 0 && errno == ENOENT) {
        r = make_parents(top);
        top_fd = r == 0 ? open(top, FOLDER_FLAGS) : -1;
    }
    if (top_fd < 0) {
        (void) err_set(err, r < 0 ? -r : errno, "job.own-folder", "cannot make the folder '%s'",
                       top);
        return err_hint(err,
                        "wattle keeps its scratch and state there; make it writable for you, or "
                        "set XDG_CACHE_HOME and XDG_STATE_HOME");
    }
    r = run_open_folder(top_fd, name, true);
    return r < 0 ? err_set(err, -r, "job.own-folder", "cannot make '%s/%s'", top, name) : r;
}

static int make_file(int dir_fd, const char *name, const char *content)
{
    AUTO_CLOSE int fd =
        openat(dir_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? -errno : fd_write_all(fd, content, strlen(content));
}

/* ---- the run's folder -------------------------------------------------------------------------
 */

const char *run_below_home(const char *path)
{
    const size_t length = strlen(POLICY_INSIDE_HOME);

    return path_is_below(path, POLICY_INSIDE_HOME) && path[length] == '/' ? path + length + 1
                                                                          : NULL;
}

/* FNV-1a: tells names apart where nothing depends on nobody finding two with the same. */
uint64_t run_hash(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return hash;
}

static int make_id(char *id, struct err *err)
{
    unsigned char bytes[8];
    size_t at;

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
        return err_set(err, errno, "job.random", "cannot get random bytes");
    at = (size_t) snprintf(id, RUN_ID_SIZE, "run-");
    for (size_t i = 0; i < sizeof bytes; i++)
        at += (size_t) snprintf(id + at, RUN_ID_SIZE - at, "%02x", bytes[i]);
    return 0;
}

/* Between making and locking, another start's sweep may take the new folder for a crashed run's and
 * remove it; then it has no name any more, and is made again. */
static int make_folder(struct run_files *files, struct err *err)
{
    int r = -EAGAIN;

    for (int tries = 0; tries < 64; tries++) {
        AUTO_CLOSE int fd = run_open_folder(files->top_fd, files->id, true);
        struct stat status;

        r = fd;
        if (fd == -ENOENT)
            continue;
        if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &status) < 0)
            break;
        if (status.st_nlink == 0)
            continue;
        files->lock_fd = TAKE_FD(fd);
        return 0;
    }
    return err_set(err, r < 0 ? -r : errno, "job.scratch", "cannot make the run's folder");
}

int run_files_note_cgroup(struct run_files *files, const char *path, struct err *err)
{
    const int r = make_file(files->lock_fd, RUN_CGROUP_NOTE, path);

    return r < 0 ? err_set(err, -r, "job.scratch", "cannot write to the run's folder") : 0;
}

/* ---- what the job sees of it -------------------------------------------------------------------
 */

static bool has_content(int dir_fd, const char *name, const char *content)
{
    AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, strlen(content));
    return fd >= 0 && fd_read_all(fd, &text) == 0 && str_equal(text.bytes, content);
}

/* A spare home has the file already, and mostly with the same content. */
static int place_file(int home_fd, const char *name, const char *content)
{
    if (has_content(home_fd, name, content))
        return 0;
    if (unlinkat(home_fd, name, 0) < 0 && errno != ENOENT)
        return -errno;
    return make_file(home_fd, name, content);
}

/* What the policy shows below the job's home is made in the scratch, on disk, writable. */
int run_fill_home(int home_fd, const struct policy *policy, struct err *err)
{
    for (size_t i = 0; i < policy_places(policy); i++) {
        const struct policy_place *place = policy_place_at(policy, i);
        const char *name = run_below_home(place->path);
        int r = 0;

        if (name == NULL)
            continue;
        if (place->kind == POLICY_PLACE_FOLDER)
            r = mkdirat(home_fd, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
        else if (place->kind == POLICY_PLACE_FILE)
            r = place_file(home_fd, name, place->source);
        if (r < 0)
            return err_set(err, -r, "job.scratch", "cannot make '%s' in the scratch", place->path);
    }
    return 0;
}

static int add_bind(struct policy *policy, const char *inside, const char *source, const char *why,
                    struct err *err)
{
    union {
        const char *in;
        char *out; /* the strings of a place are only borrowed by policy_add_place */
    } path = {.in = inside}, from = {.in = source}, because = {.in = why};
    const struct policy_place place = {
        .kind = POLICY_PLACE_BIND,
        .access = POLICY_WRITE,
        .path = path.out,
        .source = from.out,
        .why = because.out,
    };

    return policy_add_place(policy, &place, err);
}

static int add_scratch_bind(const struct run_files *files, const struct job_request *request,
                            const char *name, const char *inside, struct err *err)
{
    char source[4096];
    const int n =
        snprintf(source, sizeof source, "%s/scratch/%s/%s", request->cache_dir, files->id, name);

    if (n < 0 || (size_t) n >= sizeof source)
        return err_set(err, ENAMETOOLONG, "job.scratch", "the path of the scratch is too long");
    return add_bind(request->policy, inside, source, "the run's own, removed at its end", err);
}

const struct run_part run_parts[] = {
    {"home", POLICY_INSIDE_HOME}, {"tmp", POLICY_INSIDE_TMP}, {"cache", POLICY_INSIDE_CACHE}};

static int make_parts(struct run_files *files, const struct job_request *request, struct err *err)
{
    const bool own_cache = policy_get_caches(request->policy) == POLICY_CACHES_JOB;

    for (size_t i = 0; i < (own_cache ? 3u : 2u); i++) {
        AUTO_CLOSE int fd = run_open_folder(files->lock_fd, run_parts[i].name, true);
        int r;

        if (fd < 0)
            return err_set(err, -fd, "job.scratch", "cannot make the scratch");
        r = i == 0 ? run_fill_home(fd, request->policy, err) : 0;
        if (r == 0)
            r = add_scratch_bind(files, request, run_parts[i].name, run_parts[i].inside, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the pen's cache --------------------------------------------------------------------------
 */

static int make_cache(const struct job_request *request, struct err *err)
{
    const char *pen = policy_pen(request->policy);
    AUTO_CLOSE int caches_fd = -1;
    AUTO_CLOSE int cache_fd = -1;
    char name[64], source[4096];
    struct stat status;
    int n;

    if (policy_get_caches(request->policy) != POLICY_CACHES_PEN)
        return 0;
    if (pen == NULL || stat(pen, &status) < 0)
        return err_set(err, pen == NULL ? ENOENT : errno, "job.cache", "the pen is gone");
    (void) snprintf(name, sizeof name, "%llx-%llx-%016llx", (unsigned long long) status.st_dev,
                    (unsigned long long) status.st_ino,
                    (unsigned long long) run_hash(RUN_HASH_START, pen));
    caches_fd = open_own(request->state_dir, "caches", err);
    if (caches_fd < 0)
        return caches_fd;
    cache_fd = run_open_folder(caches_fd, name, true);
    if (cache_fd < 0)
        return err_set(err, -cache_fd, "job.cache", "cannot make the pen's cache folder");
    n = snprintf(source, sizeof source, "%s/caches/%s", request->state_dir, name);
    if (n < 0 || (size_t) n >= sizeof source)
        return err_set(err, ENAMETOOLONG, "job.cache", "the path of the cache is too long");
    return add_bind(request->policy, POLICY_INSIDE_CACHE, source,
                    "package caches of this pen, seen by its jobs only", err);
}

/* ---- wattle's own folders -----------------------------------------------------------------------
 */

/* What is not there yet cannot be covered, and could come to be while the job looks on. */
static int make_own(const struct policy *policy, struct err *err)
{
    for (size_t i = 0; i < policy_rules(policy); i++) {
        const struct policy_rule *rule = policy_rule_at(policy, i);
        AUTO_FREE char *parent = NULL;
        int r;

        if (rule->origin != POLICY_FROM_OWN || access(rule->path, F_OK) == 0)
            continue;
        parent = strndup(rule->path, (size_t) (path_base(rule->path) - rule->path) - 1);
        if (parent == NULL)
            return err_memory(err);
        if (policy_resolve(policy, parent, NULL) == POLICY_HIDE)
            continue; /* nothing shows where it would be */
        r = make_parents(rule->path);
        if (r < 0)
            return err_set(err, -r, "job.own-folder", "cannot make '%s', to hide it", rule->path);
    }
    return 0;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

int run_files_make(struct run_files *files, const struct job_request *request, struct err *err)
{
    struct timespec now;
    int r;

    *files = (struct run_files){.lock_fd = -1, .top_fd = -1};
    (void) clock_gettime(CLOCK_REALTIME_COARSE, &now);
    files->began_ns = (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
    r = files->top_fd = open_own(request->cache_dir, "scratch", err);
    if (r >= 0)
        r = make_id(files->id, err);
    if (r >= 0) {
        run_spare_name(files, request->policy);
        r = run_spare_take(files) == 0 ? 0 : make_folder(files, err);
    }
    if (r >= 0)
        r = make_parts(files, request, err);
    if (r >= 0) {
        run_spare_remember(files, request->policy);
        r = make_cache(request, err);
    }
    if (r >= 0)
        r = make_own(request->policy, err);
    if (r < 0)
        run_files_remove(files, request->policy);
    return r < 0 ? r : 0;
}

void run_files_remove(struct run_files *files, const struct policy *policy)
{
    struct err ignored = {0};

    if (files->lock_fd >= 0 && !run_spare_give(files, policy)) {
        run_spare_make(files, policy);
        (void) !tree_remove(files->top_fd, files->id, &ignored); /* else the next sweep does it */
    }
    cleanup_close(&files->lock_fd);
    cleanup_close(&files->top_fd);
}
