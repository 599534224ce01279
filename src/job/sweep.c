/* What earlier runs left: every run's folder that nobody holds is a crashed run's and is removed;
 * empty folders that were put aside are removed when there is time. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"
#include "job/run_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE_LIMIT_BYTES 1024
#define ASIDE_MAX 256 /* more of them are removed at a run's start, without waiting for time */

/* The note is the path of a cgroup whose name is the run's. */
static void remove_cgroup(int top_fd, const char *note)
{
    char id[RUN_ID_SIZE];
    AUTO(buf_free) struct buf path = {0};
    const size_t length = strlen(note) - strlen(RUN_CGROUP_NOTE);

    if (length >= sizeof id)
        return;
    memcpy(id, note, length);
    id[length] = '\0';
    if (faccessat(top_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return; /* its run lives, or is swept first */
    buf_init(&path, NOTE_LIMIT_BYTES);
    if (fd_read_file(top_fd, note, &path) == 0 && str_starts(path.bytes, "/sys/fs/cgroup/") &&
        str_ends(path.bytes, id) && strstr(path.bytes, "..") == NULL)
        (void) rmdir(path.bytes); /* a group with processes in it stays: EBUSY */
    (void) unlinkat(top_fd, note, 0);
}

/* 1: finished, 0: a run that lives, or -errno. */
static int finish(int top_fd, const char *id, struct err *err)
{
    AUTO_CLOSE int run_fd = run_open_folder(top_fd, id, false);
    int r;

    if (run_fd == -EACCES && fchmodat(top_fd, id, 0700, 0) == 0) /* the job closed its own folder */
        run_fd = run_open_folder(top_fd, id, false);
    if (run_fd < 0)
        return run_fd == -ENOENT ? 0 : err_set(err, -run_fd, "job.sweep", "cannot open '%s'", id);
    if (flock(run_fd, LOCK_EX | LOCK_NB) < 0)
        return 0;
    r = tree_remove(top_fd, id, err);
    return r < 0 ? r : 1;
}

static DIR *list(int top_fd)
{
    const int fd = openat(top_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0)
        (void) close(fd);
    return dir;
}

bool run_files_tidy(const struct run_files *files)
{
    AUTO_CLOSEDIR DIR *top = list(files->top_fd);
    const struct dirent *entry;

    while (top != NULL && (entry = readdir(top)) != NULL) {
        if (str_starts(entry->d_name, RUN_ASIDE))
            return unlinkat(files->top_fd, entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT;
    }
    return false;
}

struct sweep {
    int top_fd;
    int finished, failure, aside, aside_most;
};

static void look_at(struct sweep *sweep, const char *name, struct err *err)
{
    int r = 0;

    if (str_starts(name, RUN_ASIDE) && ++sweep->aside > sweep->aside_most)
        (void) unlinkat(sweep->top_fd, name, AT_REMOVEDIR);
    if (!str_starts(name, RUN_PREFIX))
        return;
    if (str_ends(name, RUN_CGROUP_NOTE))
        remove_cgroup(sweep->top_fd, name);
    else
        r = finish(sweep->top_fd, name, err);
    if (r < 0)
        sweep->failure = r; /* one that resists must not keep the others */
    else
        sweep->finished += r;
}

static int sweep_all(const char *cache_dir, int aside_most, struct err *err)
{
    AUTO_CLOSE int cache_fd = open(cache_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);
    AUTO_CLOSE int top_fd = -1;
    AUTO_CLOSEDIR DIR *top = NULL;
    const struct dirent *entry;
    struct sweep sweep = {.aside_most = aside_most};

    if (cache_fd >= 0)
        top_fd = openat(cache_fd, "scratch", O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (top_fd < 0) {
        return errno == ENOENT
                   ? 0 /* nothing ever ran here */
                   : err_set(err, errno, "job.sweep", "cannot open '%s/scratch'", cache_dir);
    }
    sweep.top_fd = top_fd;
    top = list(top_fd);
    if (top == NULL)
        return err_set(err, errno, "job.sweep", "cannot read '%s/scratch'", cache_dir);
    while ((entry = readdir(top)) != NULL)
        look_at(&sweep, entry->d_name, err);
    return sweep.failure < 0 ? sweep.failure : sweep.finished;
}

int job_sweep(const char *cache_dir, struct err *err)
{
    return sweep_all(cache_dir, 0, err);
}

int run_sweep(const char *cache_dir, struct err *err)
{
    return sweep_all(cache_dir, ASIDE_MAX, err);
}
