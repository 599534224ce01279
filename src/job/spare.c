/* The spare: a scratch that no run needs now. Making and removing folders is the dearest part of a
 * short run on some file systems, so a run that left its scratch as it was hands it to the next
 * one. Anything a job touched is removed instead. */
#include "base/cleanup.h"
#include "base/tree.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPARE_PARTS 2 /* home and tmp; a job's own cache is made for its run */

/* A spare serves only runs that make the same names in their home. */
void run_spare_name(struct run_files *files, const struct policy *policy)
{
    uint64_t hash = RUN_HASH_START;

    for (size_t i = 0; i < policy_places(policy); i++) {
        const char *name = run_below_home(policy_place_at(policy, i)->path);

        if (name != NULL)
            hash = run_hash(run_hash(hash, name), "/");
    }
    (void) snprintf(files->spare, sizeof files->spare, "spare-%016llx", (unsigned long long) hash);
}

/* ---- has a job touched it? ---------------------------------------------------------------------
 */

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t) time->tv_sec * 1000000000 + time->tv_nsec;
}

struct fingerprint {
    uint64_t hash;
    int64_t newest_ns; /* of the ctimes that went into it */
};

static int add_print(struct fingerprint *print, int dir_fd, const char *name)
{
    struct stat status;
    char text[64];

    if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    (void) snprintf(text, sizeof text, "%llx.%llx/", (unsigned long long) status.st_ino,
                    (unsigned long long) nanoseconds(&status.st_ctim));
    print->hash = run_hash(print->hash, text);
    if (nanoseconds(&status.st_ctim) > print->newest_ns)
        print->newest_ns = nanoseconds(&status.st_ctim);
    return 0;
}

/* Every change to a folder or file, of content, name, mode or attribute, moves its ctime, which
 * nobody can set; a new or missing name moves its folder's. So the ctimes of what was made for the
 * job tell whether it touched anything. */
static int take_print(int run_fd, const struct policy *policy, struct fingerprint *print)
{
    AUTO_CLOSE int home_fd = run_open_folder(run_fd, run_parts[0].name, false);
    int r = home_fd < 0 ? home_fd : 0;

    *print = (struct fingerprint){.hash = RUN_HASH_START};
    for (size_t i = 0; r == 0 && i < SPARE_PARTS; i++)
        r = add_print(print, run_fd, run_parts[i].name);
    for (size_t i = 0; r == 0 && i < policy_places(policy); i++) {
        const char *name = run_below_home(policy_place_at(policy, i)->path);

        if (name != NULL)
            r = add_print(print, home_fd, name);
    }
    return r;
}

/* Kernels before 6.13 move ctimes in ticks of up to 10 ms: what is younger than two of them could
 * change without a trace. */
#define OLD_ENOUGH_NS INT64_C(20000000)

static bool is_old(const struct fingerprint *print, int64_t began_ns)
{
    return print->newest_ns < began_ns - OLD_ENOUGH_NS;
}

/* ---- taking and giving -------------------------------------------------------------------------
 */

static bool parts_are_old(int run_fd, int64_t began_ns)
{
    struct fingerprint print = {.hash = RUN_HASH_START};

    for (size_t i = 0; i < SPARE_PARTS; i++) {
        if (add_print(&print, run_fd, run_parts[i].name) < 0)
            return false;
    }
    return is_old(&print, began_ns);
}

/* Only who holds the lock of the spare folder may rename it, so once we hold it and the name still
 * means the folder we locked, the rename is ours. */
int run_spare_take(struct run_files *files)
{
    AUTO_CLOSE int fd = run_open_folder(files->top_fd, files->spare, false);
    struct stat locked, named;

    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &locked) < 0 ||
        fstatat(files->top_fd, files->spare, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (locked.st_ino != named.st_ino)
        return -ESTALE;
    if (!parts_are_old(fd, files->began_ns))
        return -EAGAIN; /* it gets older while other runs make their own */
    if (renameat(files->top_fd, files->spare, files->top_fd, files->id) < 0)
        return -errno;
    files->lock_fd = TAKE_FD(fd);
    return 0;
}

void run_spare_remember(struct run_files *files, const struct policy *policy)
{
    struct fingerprint print;

    if (take_print(files->lock_fd, policy, &print) == 0 && is_old(&print, files->began_ns))
        files->print = print.hash;
}

bool run_spare_give(const struct run_files *files, const struct policy *policy)
{
    struct fingerprint now;

    if (files->print == 0 || policy_get_caches(policy) != POLICY_CACHES_PEN)
        return false; /* too young when it was handed out; or there is a third part */
    return take_print(files->lock_fd, policy, &now) == 0 && now.hash == files->print &&
           renameat2(files->top_fd, files->id, files->top_fd, files->spare, RENAME_NOREPLACE) == 0;
}

/* For the next run; never shown to any job before. Under our own name until it is complete. */
void run_spare_make(const struct run_files *files, const struct policy *policy)
{
    char name[RUN_ID_SIZE + 8];
    struct err ignored = {0};
    AUTO_CLOSE int fd = -1;
    struct stat status;

    if (fstatat(files->top_fd, files->spare, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    (void) snprintf(name, sizeof name, "%s-s", files->id);
    fd = run_open_folder(files->top_fd, name, true);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return;
    for (size_t i = 0; i < SPARE_PARTS; i++) {
        AUTO_CLOSE int part_fd = run_open_folder(fd, run_parts[i].name, true);

        if (part_fd < 0 || (i == 0 && run_fill_home(part_fd, policy, &ignored) < 0))
            return; /* the next sweep removes it */
    }
    if (renameat2(files->top_fd, name, files->top_fd, files->spare, RENAME_NOREPLACE) < 0)
        (void) !tree_remove(files->top_fd, name, &ignored);
}
