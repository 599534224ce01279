/* Where the checks happen: folders that are gone afterwards. Nothing of the owner's is changed. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree.h"
#include "doctor/doctor_priv.h"
#include "job/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int doctor_file(const char *top, const char *name, const char *text, char *path)
{
    AUTO_CLOSE int fd = -1;

    if (snprintf(path, DOCTOR_PATH_BYTES, "%s/%s", top, name) >= DOCTOR_PATH_BYTES)
        return -ENAMETOOLONG;
    if (text == NULL)
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

#define TOP_NAME "wattle-doctor."

enum { LEFT_AFTER_SECONDS = 60 };

/* ---- who we are ----------------------------------------------------------------------------- */

static int make_token(struct doctor_world *world)
{
    unsigned char bytes[8];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t) sizeof bytes)
        return err_set(&world->err, errno, "doctor.token", "cannot get random bytes");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void) snprintf(world->token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int find_program(struct doctor_world *world)
{
    char path[DOCTOR_PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length < 0)
        return err_set(&world->err, errno, "doctor.program", "cannot find wattle's own program");
    path[length] = '\0';
    if (access(path, X_OK) < 0)
        return err_set(&world->err, errno, "doctor.program", "cannot use wattle's own program '%s'",
                       path);
    world->program = strdup(path);
    return world->program == NULL ? err_memory(&world->err) : 0;
}

/* ---- what a visit that was killed has left ------------------------------------------------------
 */

static void remove_folder(const char *path)
{
    AUTO_CLOSE int parent_fd = -1;
    AUTO_FREE char *parent = strdup(path);
    AUTO_FREE char *scratch = path_join(path, "own/cache");
    char *slash = parent != NULL ? strrchr(parent, '/') : NULL;

    if (slash == NULL || scratch == NULL)
        return;
    slash[slash == parent ? 1 : 0] = '\0';
    parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void) !job_sweep(scratch, NULL); /* cgroups of runs that were killed */
    /* What does not go is in a folder for temporary files already. */
    (void) !tree_remove(parent_fd, path_base(path), NULL);
}

/* Ours, not held by a visit, and not so new that its visit may be about to lock it. */
static bool is_left(const char *path)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat seen;

    return fd >= 0 && fstat(fd, &seen) == 0 && seen.st_uid == geteuid() &&
           seen.st_ctim.tv_sec + LEFT_AFTER_SECONDS < time(NULL) &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void sweep(const char *parent)
{
    AUTO_CLOSEDIR DIR *dir = opendir(parent);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        AUTO_FREE char *path = NULL;

        if (!str_starts(entry->d_name, TOP_NAME))
            continue;
        path = path_join(parent, entry->d_name);
        if (path != NULL && is_left(path))
            remove_folder(path);
    }
}

/* ---- making it ------------------------------------------------------------------------------ */

static char *make_top(const char *parent)
{
    AUTO_FREE char *pattern = NULL;
    AUTO_FREE char *physical = NULL;

    if (parent == NULL || parent[0] != '/' || path_physical(parent, &physical, NULL) < 0)
        return NULL;
    sweep(physical);
    if (asprintf(&pattern, "%s/" TOP_NAME "XXXXXX", str_equal(physical, "/") ? "" : physical) < 0)
        pattern = NULL;
    return pattern != NULL && mkdtemp(pattern) != NULL ? TAKE_PTR(pattern) : NULL;
}

static int make_folder(const char *top, const char *name, char **ret_path, struct err *err)
{
    *ret_path = path_join(top, name);
    if (*ret_path == NULL)
        return err_memory(err);
    if (mkdir(*ret_path, 0700) < 0)
        return err_set(err, errno, "doctor.folder", "cannot make the folder '%s'", *ret_path);
    return 0;
}

static int make_folders(struct doctor_world *world)
{
    const char *const parents[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    int r = 0;

    for (size_t i = 0; world->top == NULL && i < ARRAY_SIZE(parents); i++)
        world->top = make_top(parents[i]);
    if (world->top == NULL)
        return err_set(&world->err, EACCES, "doctor.folder",
                       "cannot make a temporary folder in '/tmp' or '/var/tmp'");
    world->top_fd = open(world->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (world->top_fd < 0 || flock(world->top_fd, LOCK_EX) < 0)
        return err_set(&world->err, errno, "doctor.folder", "cannot lock the folder '%s'",
                       world->top);
    r = make_folder(world->top, "pen", &world->pen, &world->err);
    if (r == 0)
        r = make_folder(world->top, "outside", &world->outside, &world->err);
    return r == 0 ? make_folder(world->top, "own", &world->own, &world->err) : r;
}

static int stage_folder(const char *own, const char *name, char **place, struct err *err)
{
    free(TAKE_PTR(*place));
    return make_folder(own, name, place, err);
}

/* The runs' scratch and caches are temporary too, and a file in them is something to reach for. */
static int stage_owner(struct doctor_world *world)
{
    int r = derive_owner_find(NULL, &world->staged, &world->owner_err);

    if (r < 0)
        return 0; /* the check of the folders says it */
    r = stage_folder(world->own, "config", &world->staged->config_dir, &world->err);
    if (r == 0)
        r = stage_folder(world->own, "state", &world->staged->state_dir, &world->err);
    return r == 0 ? stage_folder(world->own, "cache", &world->staged->cache_dir, &world->err) : r;
}

void doctor_world_make(struct doctor_world *world)
{
    int r;

    *world = (struct doctor_world){.top_fd = -1};
    r = make_token(world);
    if (r == 0)
        r = find_program(world);
    if (r == 0)
        r = make_folders(world);
    if (r == 0)
        r = stage_owner(world);
    if (r == 0 && world->staged != NULL)
        (void) !derive_owner_find(NULL, &world->owner, &world->owner_err);
}

void doctor_world_remove(struct doctor_world *world)
{
    cleanup_close(&world->top_fd);
    if (world->top != NULL)
        remove_folder(world->top);
    derive_owner_freep(&world->owner);
    derive_owner_freep(&world->staged);
    free(world->program);
    free(world->top);
    free(world->pen);
    free(world->outside);
    free(world->own);
}
