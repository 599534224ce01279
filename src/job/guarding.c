/* The guard's lock file, and its words to the supervisor. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define FOLDER "run"
#define FILE_NAME "guard.lock"
#define BURST 64u
#define PER_SECOND 16u

static int open_folder(const char *state_dir)
{
    AUTO_CLOSE int top_fd = -1;
    int r = path_make_folders(state_dir, 0700);

    if (r < 0)
        return r;
    top_fd = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return top_fd < 0 ? -errno : run_open_folder(top_fd, FOLDER, true);
}

/* One file for all jobs, not one for each folder or device: a mount in one pen may be another's
 * pen, and nearly all hold it shared. */
int run_guard_open(const struct job_request *request, struct err *err)
{
    AUTO_CLOSE int folder_fd = open_folder(request->state_dir);
    AUTO_CLOSE int fd = -1;
    struct flock probe = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    int r;

    if (folder_fd < 0) {
        (void) err_set(err, -folder_fd, "job.guard-lock", "cannot make '%s/%s'", request->state_dir,
                       FOLDER);
        return err_hint(err, "make it writable for you, or set XDG_STATE_HOME");
    }
    fd = path_open_below(folder_fd, FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && fcntl(fd, F_OFD_GETLK, &probe) == 0) {
        guard_lock_make_board(fd);
        r = guard_hold_places(fd, request->policy, err);
        return r < 0 ? r : TAKE_FD(fd);
    }
    (void) err_set(err, fd < 0 ? -fd : errno, "job.guard-lock", "cannot use the lock '%s/%s/%s'",
                   request->state_dir, FOLDER, FILE_NAME);
    return err_hint(err, "set XDG_STATE_HOME to a folder on a file system with locks");
}

/* ---- in pid 1 ---------------------------------------------------------------------------------
 */

/* The lock belongs to the open file, and each thread must have its own. The last is the one that
 * was given: it holds the places, and they are held until pid 1 ends. */
int run_guard_open_again(int lock_fd, int fds[GUARD_LOCKS], struct err *err)
{
    char path[40];

    (void) snprintf(path, sizeof path, "/proc/self/fd/%d", lock_fd);
    for (size_t i = 0; i < GUARD_LOCKS; i++) {
        fds[i] = i == GUARD_THREADS ? fcntl(lock_fd, F_DUPFD_CLOEXEC, 3)
                                    : open(path, O_RDWR | O_CLOEXEC);
        if (fds[i] < 0)
            return err_set(err, errno, "job.guard-lock", "cannot open the guard's lock again");
    }
    return 0;
}

static bool may_tell(struct run_denials *denials)
{
    const uint64_t now_ms = clock_ms();
    const uint64_t more = (now_ms - denials->filled_at_ms) * PER_SECOND / 1000;

    if (denials->filled_at_ms == 0) {
        denials->left = BURST;
        denials->filled_at_ms = now_ms;
    } else if (more > 0) {
        denials->left = denials->left + more > BURST ? BURST : denials->left + more;
        denials->filled_at_ms = now_ms;
    }
    if (denials->left == 0)
        return false;
    denials->left--;
    return true;
}

/* A supervisor that was stopped must not stop the guard: then the word is lost, and only counted.
 */
void run_guard_tell(void *denials_, const struct guard_denial *denial)
{
    struct run_denials *denials = denials_;
    const struct init_message message = {.kind = INIT_DENIED, .denial = *denial};

    (void) pthread_mutex_lock(&denials->started);
    (void) pthread_mutex_unlock(&denials->started);
    if (may_tell(denials))
        (void) send(denials->control_fd, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
