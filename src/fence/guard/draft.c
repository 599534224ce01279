/* git's way to change its configuration: it makes 'config.lock', which keeps other gits away,
 * writes the new text into it and renames it onto 'config'. A git of the owner's does the same
 * beside us.
 *
 * So a 'config.lock' of somebody else's is held like the configuration it will become: a job that
 * kept a descriptor of it, or put a file of its own in its place, would have written what the owner
 * then installs. And the job's own holds nothing: what the job writes goes into a file without a
 * name (the draft), and into the named one only at the rename, vetted, when it is known to become
 * the configuration. Whoever renames it before that installs an empty one. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct guard_draft *find(struct guard *guard, const struct stat *named)
{
    struct stat status;

    for (unsigned i = 0; i < guard->draft_count; i++)
        if (fstat(guard->drafts[i].name_fd, &status) == 0 && status.st_dev == named->st_dev &&
            status.st_ino == named->st_ino)
            return &guard->drafts[i];
    return NULL;
}

bool guard_is_draft(struct guard *guard, const struct stat *named)
{
    return find(guard, named) != NULL;
}

static void drop(struct guard *guard, struct guard_draft *draft)
{
    (void) close(draft->name_fd);
    (void) close(draft->text_fd);
    *draft = guard->drafts[--guard->draft_count];
}

/* Those whose name was removed, by the job or by the owner. */
static void drop_gone(struct guard *guard)
{
    struct stat status;

    for (unsigned i = guard->draft_count; i-- > 0;)
        if (fstat(guard->drafts[i].name_fd, &status) < 0 || status.st_nlink == 0)
            drop(guard, &guard->drafts[i]);
}

static int open_text(const struct guard_call *call, int text_fd)
{
    const unsigned dropped = O_CREAT | O_EXCL | O_NOFOLLOW;
    char path[GUARD_FD_PATH_SIZE];
    int fd;

    guard_fd_path(text_fd, path);
    fd = open(path, (int) (call->flags & ~dropped) | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static int begin(struct guard_call *call, const struct guard_judged *judged)
{
    const struct guard_place *place = judged->target;
    struct guard *guard = call->guard;
    AUTO_CLOSE int text_fd = -1, name_fd = -1;
    int given;

    drop_gone(guard);
    if (guard->draft_count == GUARD_DRAFTS_MAX)
        return guard_refuse_vet(call, judged, "too many git configurations are being written");
    guard_wear_umask(call);
    text_fd = openat(place->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, call->mode | 0600);
    if (text_fd < 0)
        return guard_refuse_vet(call, judged, GUARD_NO_TMPFILE);
    given = open_text(call, text_fd);
    if (given < 0)
        return given;
    name_fd =
        openat(place->fd, place->plain, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, call->mode | 0200);
    if (name_fd < 0) {
        const int error = errno;

        (void) close(given);
        return -error;
    }
    guard->drafts[guard->draft_count++] =
        (struct guard_draft){.name_fd = TAKE_FD(name_fd), .text_fd = TAKE_FD(text_fd)};
    guard_record_made(call, place);
    return given;
}

int guard_open_draft(struct guard_call *call, const struct guard_judged *judged)
{
    const struct guard_draft *draft;
    struct stat named;

    if (judged->op == GUARD_CREATE)
        return begin(call, judged);
    draft = guard_exists(judged->target, &named) ? find(call->guard, &named) : NULL;
    return draft == NULL ? guard_refuse_vet(call, judged, NULL) : open_text(call, draft->text_fd);
}

int guard_read_draft(struct guard *guard, const struct guard_place *place, char *text, size_t room,
                     size_t *ret_size)
{
    const struct guard_draft *draft;
    struct stat named;

    draft = guard_exists(place, &named) ? find(guard, &named) : NULL;
    return draft == NULL ? -EPERM : guard_read_text(draft->text_fd, text, room, ret_size);
}

int guard_install_draft(struct guard_call *call, const struct guard_judged *judged,
                        const char *text, size_t size)
{
    const struct guard_place *from = judged->source, *to = judged->target;
    struct guard_draft *draft;
    struct stat named;
    int r;

    draft = guard_exists(from, &named) ? find(call->guard, &named) : NULL;
    if (draft == NULL)
        return -EPERM;
    r = fd_write_all(draft->name_fd, text, size);
    if (r == 0 && (fchmod(draft->name_fd, named.st_mode & 0777) < 0 ||
                   renameat(from->fd, from->plain, to->fd, to->plain) < 0))
        r = -errno;
    if (r < 0)
        (void) unlinkat(from->fd, from->plain, 0); /* half of it is of no use to anybody */
    drop(call->guard, draft);
    return r;
}
