/* Renames onto git's configuration and its pointers.
 *
 * What the source holds is read and vetted; git then gets a file of our own with the vetted text,
 * which nobody has a descriptor of. A configuration comes by way of a draft (draft.c). The file for
 * a pointer first takes the name of the source, which was about to vanish anyway, so that no name
 * of ours is ever seen; the exclusive lock keeps the job from opening it on the way. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int guard_read_text(int fd, char *text, size_t room, size_t *ret_size)
{
    size_t got = 0;

    while (got < room) {
        const ssize_t n = pread(fd, text + got, room - got, (off_t) got);

        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t) n;
    }
    if (got == room)
        return -EFBIG;
    *ret_size = got;
    return 0;
}

int guard_read_file(int dir_fd, const char *name, char *text, size_t room, size_t *ret_size,
                    mode_t *ret_mode)
{
    AUTO_CLOSE int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    if (ret_mode != NULL)
        *ret_mode = status.st_mode;
    return guard_read_text(fd, text, room, ret_size);
}

static int refuse(struct guard_call *call, const struct guard_judged *judged, const struct err *err)
{
    guard_report(call, judged, err);
    return -GUARD_REFUSED;
}

/* A core.worktree that is new: it lies in a zone, and what is there names this git folder. */
static bool worktree_points_back(struct guard_call *call, const char *worktree, const char *folder)
{
    AUTO_CLOSE int fd = -1;
    char text[GUARD_VET_POINTER_LIMIT], back[PATH_MAX];
    enum guard_pointer kind;
    struct err ignored = {0};
    size_t size = 0;

    if (guard_rules_zone(call->guard->settings.rules, worktree, NULL) < 0)
        return false;
    fd = path_open_plain(AT_FDCWD, worktree, O_PATH | O_DIRECTORY);
    return fd >= 0 && guard_read_file(fd, ".git", text, sizeof text, &size, NULL) == 0 &&
           guard_vet_pointer(text, size, worktree, back, &kind, &ignored) == 0 &&
           strcmp(back, folder) == 0;
}

static int vet_config(struct guard_call *call, const struct guard_judged *judged, size_t size,
                      size_t *ret_size, struct err *err)
{
    struct guard *guard = call->guard;
    const struct guard_place *target = judged->target;
    struct guard_config config = {
        .folder = target->location, .text = guard->source_text, .size = size};
    int r = guard_read_file(target->fd, target->plain, guard->old_text, sizeof guard->old_text,
                            &config.old_size, NULL);

    if (r == 0)
        config.old = guard->old_text;
    else if (r != -ENOENT)
        return err_set(err, EPERM, "guard.vet-old", "what is there now cannot be read");
    r = guard_vet_config(&config, guard->new_text, sizeof guard->new_text, &guard->vetted, err);
    if (r < 0)
        return r;
    if (guard->vetted.worktree[0] != '\0' &&
        !worktree_points_back(call, guard->vetted.worktree, target->location))
        return err_set(err, EPERM, "guard.vet-worktree",
                       "core.worktree names a folder that does not point back here");
    *ret_size = guard->vetted.size;
    return 0;
}

/* The source gives way to a file of ours, which is renamed. */
static int replace(const struct guard_judged *judged, const char *text, size_t size, mode_t mode)
{
    const struct guard_place *from = judged->source, *to = judged->target;
    AUTO_CLOSE int fd = -1;
    int r;

    if (unlinkat(from->fd, from->plain, 0) < 0)
        return -errno;
    fd = openat(from->fd, from->plain, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = fd_write_all(fd, text, size);
    if (r == 0 &&
        (fchmod(fd, mode & 0777) < 0 || renameat(from->fd, from->plain, to->fd, to->plain) < 0))
        r = -errno;
    if (r < 0)
        (void) unlinkat(from->fd, from->plain, 0); /* half of it is of no use to anybody */
    return r;
}

/* 'config.lock' beside 'config': what git makes first, so that no other git changes the same. */
static bool is_own_lock(const struct guard_place *from, const struct guard_place *to)
{
    const size_t length = strlen(to->plain);

    return strcmp(from->location, to->location) == 0 &&
           strncmp(from->plain, to->plain, length) == 0 &&
           strcmp(from->plain + length, ".lock") == 0;
}

static int install_config(struct guard_call *call, const struct guard_judged *judged)
{
    struct guard *guard = call->guard;
    struct err err = {0};
    size_t size = 0, new_size = 0;
    int r = is_own_lock(judged->source, judged->target)
                ? guard_read_draft(guard, judged->source, guard->source_text,
                                   sizeof guard->source_text, &size)
                : -EPERM;

    if (r == -EPERM)
        (void) err_set(&err, EPERM, "guard.vet-source",
                       "it is replaced only by a 'config.lock' beside it that this run has made");
    else if (r < 0)
        (void) err_set(&err, EINVAL, "guard.vet-source",
                       "what would be put there cannot be read, or is too large");
    if (err.code == 0)
        (void) vet_config(call, judged, size, &new_size, &err);
    if (err.code != 0)
        return refuse(call, judged, &err);
    return guard_install_draft(call, judged, guard->new_text, new_size);
}

static int install_pointer(struct guard_call *call, const struct guard_judged *judged)
{
    struct guard *guard = call->guard;
    const struct guard_place *from = judged->source;
    struct err err = {0};
    size_t size = 0;
    mode_t mode = 0;

    if (guard_read_file(from->fd, from->plain, guard->source_text, sizeof guard->source_text, &size,
                        &mode) < 0)
        (void) err_set(&err, EINVAL, "guard.vet-source",
                       "what would be put there cannot be read, or is too large");
    else
        (void) guard_vet_text(call, judged->verdict.vet, judged->target->fd, size, &err);
    if (err.code != 0)
        return refuse(call, judged, &err);
    return replace(judged, guard->new_text, size, mode);
}

int guard_install(struct guard_call *call, const struct guard_judged *judged)
{
    struct err err = {0};
    int r;

    if (call->flags != 0) {
        (void) err_set(&err, EINVAL, "guard.vet-source", "only a plain rename can be vetted");
        return refuse(call, judged, &err);
    }
    r = judged->verdict.vet == GUARD_VET_CONFIG ? install_config(call, judged)
                                                : install_pointer(call, judged);
    if (r == 0)
        guard_note_made(call, judged);
    return r;
}
