#include "base/buf.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree.h"
#include "job/run_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
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

/* ---- the run's folder -------------------------------------------------------------------------
 */

static int make_id(char *id, struct err *err)
{
    unsigned char bytes[8];
    size_t at;

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
        return err_set(err, errno, "job.random", "cannot get random bytes");
    at = (size_t) snprintf(id, RUN_ID_SIZE, RUN_PREFIX);
    for (size_t i = 0; i < sizeof bytes; i++)
        at += (size_t) snprintf(id + at, RUN_ID_SIZE - at, "%02x", bytes[i]);
    return 0;
}

/* The spare is an empty folder that no job has seen: a rename is quicker than making one. */
static int take_or_make(int top_fd, const char *id)
{
    if (renameat(top_fd, RUN_SPARE, top_fd, id) < 0 && errno != ENOENT)
        return -errno;
    return run_open_folder(top_fd, id, true);
}

/* Until it is locked, another start's sweep may take the new folder for a crashed run's and remove
 * it; then it has no name any more, and is made again. */
static int make_folder(int top_fd, const char *id, int *ret_fd, struct err *err)
{
    int r = -EAGAIN;

    for (int tries = 0; tries < 64; tries++) {
        AUTO_CLOSE int fd = take_or_make(top_fd, id);
        struct stat status;

        r = fd;
        if (fd == -ENOENT)
            continue;
        if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &status) < 0)
            break;
        if (status.st_nlink == 0)
            continue;
        *ret_fd = TAKE_FD(fd);
        return 0;
    }
    return err_set(err, r < 0 ? -r : errno, "job.scratch", "cannot make the run's folder");
}

static int make_note(int top_fd, const char *name, const char *content)
{
    AUTO_CLOSE int fd =
        openat(top_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? -errno : fd_write_all(fd, content, strlen(content));
}

int run_files_note_cgroup(struct run_files *files, const char *path, struct err *err)
{
    char name[RUN_ID_SIZE + 16];
    int r;

    (void) snprintf(name, sizeof name, "%s" RUN_CGROUP_NOTE, files->id);
    r = make_note(files->top_fd, name, path);
    if (r < 0)
        return err_set(err, -r, "job.scratch", "cannot write beside the run's folder");
    files->noted = true;
    return 0;
}

/* ---- what the job sees of it -------------------------------------------------------------------
 */

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

static int add_scratch_bind(const struct job_request *request, const char *name, const char *inside,
                            struct err *err)
{
    char source[4096];
    const int n = snprintf(source, sizeof source, "%s/scratch/%s", request->cache_dir, name);

    if (n < 0 || (size_t) n >= sizeof source)
        return err_set(err, ENAMETOOLONG, "job.scratch", "the path of the scratch is too long");
    return add_bind(request->policy, inside, source, "the run's own, removed at its end", err);
}

static int make_scratch(struct run_files *files, const struct job_request *request, struct err *err)
{
    const int r = make_folder(files->top_fd, files->id, &files->lock_fd, err);

    return r < 0 ? r : add_scratch_bind(request, files->id, POLICY_INSIDE_TMP, err);
}

static int make_own_cache(struct run_files *files, const struct job_request *request,
                          struct err *err)
{
    int r;

    (void) snprintf(files->cache_id, sizeof files->cache_id, "%s-cache", files->id);
    r = make_folder(files->top_fd, files->cache_id, &files->cache_fd, err);
    return r < 0 ? r : add_scratch_bind(request, files->cache_id, POLICY_INSIDE_CACHE, err);
}

/* ---- the pen's cache --------------------------------------------------------------------------
 */

/* Device and inode beside the sum tell pens apart; it only tells one folder's names apart. */
static int make_pen_cache(const struct job_request *request, struct err *err)
{
    const char *pen = policy_pen(request->policy);
    AUTO_CLOSE int caches_fd = -1;
    AUTO_CLOSE int cache_fd = -1;
    char name[64], source[4096];
    struct stat status;
    int n;

    if (pen == NULL || stat(pen, &status) < 0)
        return err_set(err, pen == NULL ? ENOENT : errno, "job.cache", "the pen is gone");
    (void) snprintf(name, sizeof name, "%llx-%llx-%016llx", (unsigned long long) status.st_dev,
                    (unsigned long long) status.st_ino,
                    (unsigned long long) bytes_sum(BYTES_SUM, pen, strlen(pen)));
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
    int r;

    *files = (struct run_files){.lock_fd = -1, .cache_fd = -1, .top_fd = -1};
    r = files->top_fd = open_own(request->cache_dir, "scratch", err);
    if (r >= 0)
        r = make_id(files->id, err);
    if (r >= 0)
        r = make_scratch(files, request, err);
    if (r >= 0) {
        r = policy_get_caches(request->policy) == POLICY_CACHES_JOB
                ? make_own_cache(files, request, err)
                : make_pen_cache(request, err);
    }
    if (r >= 0)
        r = make_own(request->policy, err);
    if (r < 0)
        run_files_remove(files);
    return r < 0 ? r : 0;
}

void run_files_make_spare(const struct run_files *files)
{
    (void) mkdirat(files->top_fd, RUN_SPARE,
                   0700); /* there already, or the next run makes its own */
}

static bool is_empty(int dir_fd)
{
    AUTO_CLOSEDIR DIR *dir = fdopendir(fcntl(dir_fd, F_DUPFD_CLOEXEC, 0));
    size_t names = 0;

    while (dir != NULL && readdir(dir) != NULL)
        names++;
    return dir != NULL && names <= 2; /* . and .. */
}

/* An empty folder holds nothing of the job. On some file systems removing it takes longer than all
 * the rest of a short run, so it is put aside and removed by a later run that has time; it is never
 * used again, since another job may hold a descriptor of it. */
static bool put_aside(const struct run_files *files)
{
    char name[RUN_ID_SIZE + 8];

    if (!is_empty(files->lock_fd))
        return false;
    (void) snprintf(name, sizeof name, RUN_ASIDE "%s", files->id + strlen(RUN_PREFIX));
    return renameat(files->top_fd, files->id, files->top_fd, name) == 0;
}

void run_files_remove(struct run_files *files)
{
    struct err ignored = {0};
    char note[RUN_ID_SIZE + 16];

    if (files->lock_fd >= 0 && !put_aside(files))
        (void) !tree_remove(files->top_fd, files->id, &ignored); /* else the next sweep does it */
    if (files->cache_fd >= 0)
        (void) !tree_remove(files->top_fd, files->cache_id, &ignored);
    (void) snprintf(note, sizeof note, "%s" RUN_CGROUP_NOTE, files->id);
    if (files->noted)
        (void) unlinkat(files->top_fd, note, 0);
    cleanup_close(&files->cache_fd);
    cleanup_close(&files->lock_fd);
    cleanup_close(&files->top_fd);
}
