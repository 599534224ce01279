/* What crashed runs left: every mark that nobody holds is finished. */
#include "job/run_priv.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_LIMIT_BYTES 1024

static bool is_mark(const char *name)
{
    return str_starts(name, "run-") && strlen(name) < RUN_ID_SIZE &&
           strspn(name + 4, "0123456789abcdef") == strlen(name) - 4;
}

/* The mark holds at most the path of a cgroup that ends in the run's own id. */
static void remove_cgroup(int mark_fd, const char *id)
{
    AUTO(buf_free) struct buf path = {0};

    buf_init(&path, MARK_LIMIT_BYTES);
    if (fd_read_all(mark_fd, &path) == 0 && str_starts(path.bytes, "/sys/fs/cgroup/") &&
        str_ends(path.bytes, id) && strstr(path.bytes, "..") == NULL)
        (void) rmdir(path.bytes); /* a group with processes in it stays: EBUSY */
}

/* 1: finished, 0: a run that lives, or -errno. */
static int finish(int marks_fd, int scratch_fd, const char *id, struct err *err)
{
    AUTO_CLOSE int mark_fd = openat(marks_fd, id, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (mark_fd < 0)
        return errno == ENOENT ? 0 : err_set(err, errno, "job.sweep", "cannot open the mark '%s'", id);
    if (flock(mark_fd, LOCK_EX | LOCK_NB) < 0)
        return 0;
    remove_cgroup(mark_fd, id);
    r = tree_remove(scratch_fd, id, err);
    if (r < 0)
        return r;
    if (unlinkat(marks_fd, id, 0) < 0 && errno != ENOENT)
        return err_set(err, errno, "job.sweep", "cannot remove the mark '%s'", id);
    return 1;
}

static int open_part(const char *top, const char *name)
{
    AUTO_CLOSE int top_fd = open(top, O_DIRECTORY | O_PATH | O_CLOEXEC);
    int fd;

    if (top_fd < 0)
        return -errno;
    fd = openat(top_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

int job_sweep(const char *cache_dir, const char *state_dir, struct err *err)
{
    AUTO_CLOSE int scratch_fd = open_part(cache_dir, "scratch");
    AUTO_CLOSE int marks_fd = open_part(state_dir, "runs");
    AUTO_CLOSEDIR DIR *marks = NULL;
    const struct dirent *entry;
    int finished = 0, failure = 0;

    if (scratch_fd == -ENOENT || marks_fd == -ENOENT)
        return 0; /* nothing ever ran here */
    if (scratch_fd < 0 || marks_fd < 0)
        return err_set(err, scratch_fd < 0 ? -scratch_fd : -marks_fd, "job.sweep",
                       "cannot look for leftovers of crashed runs");
    marks = fdopendir(fcntl(marks_fd, F_DUPFD_CLOEXEC, 0));
    if (marks == NULL)
        return err_set(err, errno, "job.sweep", "cannot read the marks of runs");
    while ((entry = readdir(marks)) != NULL) {
        int r;

        if (!is_mark(entry->d_name))
            continue;
        r = finish(marks_fd, scratch_fd, entry->d_name, err);
        if (r < 0)
            failure = r; /* one that resists must not keep the others */
        else
            finished += r;
    }
    return failure < 0 ? failure : finished;
}
