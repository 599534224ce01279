/* Git writes its pointers (.git, gitdir, commondir) in place: open, write, close. So the job gets a
 * file without a name. At the next call of the job it is read; when it is whole, and points to
 * nothing bad, a copy gets the name. Git makes other such calls before it reads the pointer. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where a pointer may lead -----------------------------------------------------------------
 */

/* The folder `path` in a zone, without a symlink on the way. */
static int open_in_zone(struct guard_call *call, const char *path, struct err *err)
{
    int fd = -1;

    if (guard_rules_zone(call->guard->settings.rules, path, NULL) < 0)
        return err_set(err, EPERM, "guard.vet-pointer", "it points out of the pen");
    fd = path_open_plain(AT_FDCWD, path, O_PATH | O_DIRECTORY);
    if (fd >= 0)
        return fd;
    return err_set(err, fd == -ENOENT ? ENOENT : EPERM, "guard.vet-pointer",
                   "it points to no folder of the pen");
}

/* .git of a linked worktree: the other side must name it. */
static int vet_git(struct guard_call *call, const char *folder, const char *text, size_t size,
                   struct err *err)
{
    AUTO_CLOSE int fd = -1;
    char path[PATH_MAX], back[PATH_MAX] = "";
    char *there = call->guard->old_text;
    enum guard_pointer kind;
    size_t there_size, length = strlen(folder);
    int r = guard_vet_pointer(text, size, folder, path, &kind, err);

    if (r < 0)
        return r;
    fd = open_in_zone(call, path, err);
    if (fd < 0)
        return fd;
    if (kind != GUARD_POINTER_WORKTREE)
        return 0;
    r = guard_read_file(fd, "gitdir", there, GUARD_VET_POINTER_LIMIT, &there_size, NULL);
    if (r == 0)
        r = guard_vet_back(there, there_size, path, back, err);
    if (r < 0 || strncmp(back, folder, length) != 0 || strcmp(back + length, "/.git") != 0)
        return err_set(err, EPERM, "guard.vet-pointer", "the git folder it names does not name it");
    return 0;
}

static int vet_back(struct guard_call *call, const char *folder, const char *text, size_t size,
                    struct err *err)
{
    char path[PATH_MAX];
    const int r = guard_vet_back(text, size, folder, path, err);

    if (r < 0)
        return r;
    if (guard_rules_zone(call->guard->settings.rules, path, NULL) < 0)
        return err_set(err, EPERM, "guard.vet-pointer", "it points out of the pen");
    return 0;
}

int guard_vet_text(struct guard_call *call, enum guard_vet vet, int folder_fd, size_t size,
                   struct err *err)
{
    const char *text = call->guard->source_text;
    char folder[PATH_MAX];
    int r = guard_location(call->guard, folder_fd, folder);

    if (r < 0 || size > sizeof call->guard->new_text)
        return err_set(err, EPERM, "guard.vet-pointer", "it is not a pointer of git's");
    if (vet == GUARD_VET_GIT)
        r = vet_git(call, folder, text, size, err);
    else if (vet == GUARD_VET_BACK)
        r = vet_back(call, folder, text, size, err);
    else if (vet == GUARD_VET_COMMONDIR)
        r = guard_vet_commondir(text, size, folder, err);
    else
        r = err_set(err, EPERM, "guard.vet-pointer", "it is not a pointer of git's");
    if (r == 0)
        memcpy(call->guard->new_text, text, size);
    return r;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static void drop(struct guard *guard, size_t index)
{
    struct guard_pending *pending = &guard->pending[index];
    const unsigned count = atomic_fetch_sub(&guard->pending_count, 1) - 1;

    (void) close(pending->fd);
    (void) close(pending->folder_fd);
    memmove(pending, pending + 1, (count - index) * sizeof *pending);
}

int guard_create_pointer(struct guard_call *call, const struct guard_judged *judged)
{
    const unsigned dropped = O_CREAT | O_EXCL | O_NOFOLLOW | O_TRUNC;
    const struct guard_place *place = judged->target;
    struct guard *guard = call->guard;
    struct guard_pending *pending;
    AUTO_CLOSE int fd = -1;
    char path[GUARD_FD_PATH_SIZE];
    int given;

    if (judged->op == GUARD_WRITE && ((call->flags & O_TRUNC) == 0 || judged->held))
        return guard_refuse_vet(call, judged, NULL);
    guard_wear_umask(call);
    fd = openat(place->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, call->mode | 0600);
    if (fd < 0)
        return guard_refuse_vet(call, judged, GUARD_NO_TMPFILE);
    guard_fd_path(fd, path);
    given = open(path, (int) (call->flags & ~dropped) | O_CLOEXEC | O_NOCTTY);
    if (given < 0)
        return -errno;
    if (atomic_load(&guard->pending_count) == GUARD_PENDING_MAX)
        drop(guard, 0); /* the oldest: who has not finished it by now does not mean to */
    pending = &guard->pending[atomic_load(&guard->pending_count)];
    *pending = (struct guard_pending){.vet = judged->verdict.vet, .tid = call->tid};
    (void) snprintf(pending->name, sizeof pending->name, "%s", place->plain);
    pending->row = call->row;
    pending->folder_fd = fcntl(place->fd, F_DUPFD_CLOEXEC, 3);
    pending->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (pending->folder_fd < 0 || pending->fd < 0)
        _exit(125); /* no descriptor left for the guard: nothing it does could be relied on */
    (void) atomic_fetch_add(&guard->pending_count, 1);
    return given;
}

/* ---- giving the name --------------------------------------------------------------------------
 */

static int link_copy(const struct guard_pending *pending, const struct guard_place *place,
                     const char *text, size_t size)
{
    AUTO_CLOSE int fd = openat(place->fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    char path[GUARD_FD_PATH_SIZE];
    struct stat status;
    int r;

    if (fd < 0 || fstat(pending->fd, &status) < 0)
        return -errno;
    r = fd_write_all(fd, text, size);
    if (r < 0)
        return r;
    if (fchmod(fd, status.st_mode & 0777) < 0)
        return -errno;
    guard_fd_path(fd, path);
    (void) unlinkat(place->fd, place->plain, 0); /* one of the job's own, or none */
    return linkat(AT_FDCWD, path, place->fd, place->plain, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Judged anew: the folder may lie elsewhere by now. */
static bool still_fits(struct guard_call *call, const struct guard_pending *pending,
                       struct guard_judged *judged)
{
    struct stat status;

    judged->held = false;
    judged->op = guard_exists(judged->target, &status) ? GUARD_WRITE : GUARD_CREATE;
    return guard_judge(call, judged) == 0 && (judged->verdict.needs & GUARD_NEED_VET) &&
           judged->verdict.vet == pending->vet && !judged->held &&
           !guard_is_run(call->guard, judged->target);
}

static void note(struct guard_call *call, const struct guard_judged *judged)
{
    guard_note_made(call, judged);
    guard_record_made(call, judged->target);
}

/* Returns false while it is not whole, or names a folder that is still to be made. */
static bool settle(struct guard_call *call, const struct guard_pending *pending, bool last)
{
    char *text = call->guard->source_text;
    const ssize_t n = pread(pending->fd, text, GUARD_VET_POINTER_LIMIT, 0);
    const bool full = n == GUARD_VET_POINTER_LIMIT;
    AUTO(guard_place_close) struct guard_place place = GUARD_NO_PLACE;
    struct guard_judged judged = {
        .target = &place, .source_fd = -1, .object_fd = -1, .exclusive = true};
    struct err err = {0};

    if (n >= 0 && !full && !guard_pointer_is_whole(text, (size_t) n))
        return false;
    place.fd = fcntl(pending->folder_fd, F_DUPFD_CLOEXEC, 3);
    (void) snprintf(place.plain, sizeof place.plain, "%s", pending->name);
    (void) snprintf(place.name, sizeof place.name, "%s", pending->name);
    call->row = pending->row;
    call->tid = pending->tid;
    if (place.fd < 0 || n < 0 || !still_fits(call, pending, &judged))
        return true;
    if (full)
        (void) err_set(&err, EINVAL, "guard.vet-pointer", "it is too large for a pointer of git's");
    else
        (void) guard_vet_text(call, pending->vet, place.fd, (size_t) n, &err);
    if (err.code == ENOENT && !last)
        return false;
    if (err.code != 0)
        guard_report(call, &judged, &err);
    else if (link_copy(pending, &place, call->guard->new_text, (size_t) n) == 0)
        note(call, &judged);
    return true;
}

void guard_settle(struct guard_call *call, bool last)
{
    struct guard *guard = call->guard;
    size_t i = 0;

    if (atomic_load(&guard->pending_count) == 0 || guard_lock_exclusive(&call->lock) < 0)
        return;
    while (i < atomic_load(&guard->pending_count)) {
        if (settle(call, &guard->pending[i], last))
            drop(guard, i);
        else
            i++;
    }
    guard_unlock(&call->lock);
}
