/* What crashed runs left: every run's folder that nobody holds is removed. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"
#include "job/run_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define NOTE_LIMIT_BYTES 1024

static bool is_run(const char *name)
{
    return str_starts(name, "run-");
}

/* The note is the path of a cgroup whose name is the run's. */
static void remove_cgroup(int run_fd, const char *id)
{
    AUTO(buf_free) struct buf path = {0};

    buf_init(&path, NOTE_LIMIT_BYTES);
    if (fd_read_file(run_fd, RUN_CGROUP_NOTE, &path) == 0 &&
        str_starts(path.bytes, "/sys/fs/cgroup/") && str_ends(path.bytes, id) &&
        strstr(path.bytes, "..") == NULL)
        (void) rmdir(path.bytes); /* a group with processes in it stays: EBUSY */
}

/* 1: finished, 0: a run that lives, or -errno. */
static int finish(int top_fd, const char *id, struct err *err)
{
    AUTO_CLOSE int run_fd = openat(top_fd, id, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (run_fd < 0)
        return errno == ENOENT ? 0 : err_set(err, errno, "job.sweep", "cannot open '%s'", id);
    if (flock(run_fd, LOCK_EX | LOCK_NB) < 0)
        return 0;
    remove_cgroup(run_fd, id);
    r = tree_remove(top_fd, id, err);
    return r < 0 ? r : 1;
}

int job_sweep(const char *cache_dir, struct err *err)
{
    AUTO_CLOSE int cache_fd = open(cache_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);
    AUTO_CLOSE int top_fd = -1;
    AUTO_CLOSEDIR DIR *top = NULL;
    const struct dirent *entry;
    int finished = 0, failure = 0;

    if (cache_fd >= 0)
        top_fd = openat(cache_fd, "scratch", O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (top_fd < 0)
        return errno == ENOENT
                   ? 0 /* nothing ever ran here */
                   : err_set(err, errno, "job.sweep", "cannot open '%s/scratch'", cache_dir);
    top = fdopendir(fcntl(top_fd, F_DUPFD_CLOEXEC, 0));
    if (top == NULL)
        return err_set(err, errno, "job.sweep", "cannot read '%s/scratch'", cache_dir);
    while ((entry = readdir(top)) != NULL) {
        const int r = is_run(entry->d_name) ? finish(top_fd, entry->d_name, err) : 0;

        if (r < 0)
            failure = r; /* one that resists must not keep the others */
        else
            finished += r;
    }
    return failure < 0 ? failure : finished;
}
