/* Files and folders that stay where they are while a job lives, whatever other jobs do: a byte each
 * in the lock's file, which the job's holder locks and every guard asks for. The kernel frees them
 * when the job's pid 1 and its supervisor are gone.
 *
 * A job in 'pen/sub' sees 'pen/sub' whatever another job in 'pen' renames it to, '.claude' for one:
 * so that is refused (a place).
 *
 * What a model runs of a pen is a copy, mounted over the file. The kernel takes that mount away
 * when somebody in another mount namespace, another job, renames a file over the mount point or
 * removes it, and leaves it behind when the mount point or a folder on the way is moved: then
 * something that nobody looked at is run by that name. So neither happens (a run). All the way from
 * the root counts, since another pen may begin anywhere on it. A symlink by which it was found is
 * held in the same way, with the text it had.
 *
 * Bytes are locked under the exclusive lock, and asked for under the lock a call is performed
 * under: what was asked before is done by then. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLACES ((off_t) GUARD_LOCK_BYTES)
#define RUNS (PLACES + ((off_t) 1 << 62))
#define RUN_STEPS_MAX 256u /* files and folders of one job; each is a lock in the kernel's list */

/* Two that share a byte make one more call be refused, and nothing else. */
static off_t mix(const struct stat *status)
{
    const uint64_t mixed = ((uint64_t) status->st_ino + 1) * 0x9e3779b97f4a7c15u ^
                           ((uint64_t) status->st_dev + 1) * 0xc2b2ae3d27d4eb4fu;

    return (off_t) (mixed >> 3);
}

static int hold(int lock_fd, off_t byte)
{
    struct flock range = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    return fcntl(lock_fd, F_OFD_SETLK, &range) < 0 ? -errno : 0; /* nobody has it exclusively */
}

/* `length` 0: all from there on. What cannot be told is held. */
static bool is_held(const struct guard *guard, off_t byte, off_t length)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = length};

    return fcntl(guard->settings.lock_fds[0], F_OFD_GETLK, &range) < 0 || range.l_type != F_UNLCK;
}

bool guard_is_held_place(const struct guard *guard, const struct stat *status)
{
    return is_held(guard, PLACES + mix(status), 1);
}

/* Nearly always nothing is held so, which is one question. */
bool guard_is_run(const struct guard *guard, const struct guard_place *place)
{
    struct stat status;

    return is_held(guard, RUNS, 0) && guard_exists(place, &status) &&
           is_held(guard, RUNS + mix(&status), 1);
}

/* Another name for a file, or other bytes in it, is nothing to who runs a copy of it. */
int guard_judge_runs(struct guard_call *call, struct guard_judged *judged)
{
    const bool moves = judged->op == GUARD_RENAME || judged->op == GUARD_EXCHANGE;
    const bool of_source = moves && guard_is_run(call->guard, judged->source);

    if (!of_source &&
        ((!moves && judged->op != GUARD_UNLINK) || !guard_is_run(call->guard, judged->target)))
        return 0;
    judged->verdict.of_source = of_source;
    judged->verdict.reason = "a command that was looked at runs from there";
    guard_report(call, judged, NULL);
    return -EBUSY;
}

/* ---- holding ----------------------------------------------------------------------------------
 */

static int lose(int r, const char *path, struct err *err)
{
    return err_set(err, -r, "fence.guard-place", "cannot hold '%s' where it is", path);
}

/* A program outside may move it. */
static int hold_place(int lock_fd, const char *path, struct err *err)
{
    struct stat before, after;
    int r;

    if (stat(path, &before) < 0)
        return err_set(err, errno, "fence.guard-place", "cannot look at '%s'", path);
    r = hold(lock_fd, PLACES + mix(&before));
    if (r < 0)
        return lose(r, path, err);
    if (stat(path, &after) < 0 || after.st_dev != before.st_dev || after.st_ino != before.st_ino)
        return err_set(err, EBUSY, "fence.guard-place", "'%s' is being moved", path);
    return 0;
}

/* Of what the path led to when it was looked at; then it was physical up to its end. */
static bool is_kind(const struct policy_place *place, const struct stat *status, bool is_last)
{
    if (!is_last)
        return S_ISDIR(status->st_mode);
    return (S_ISLNK(status->st_mode) != 0) == (place->kind == POLICY_PLACE_STAYS);
}

static int replaced(const char *path, struct err *err)
{
    return err_set(err, EBUSY, "fence.guard-place", "'%s' was replaced", path);
}

static int hold_step(int lock_fd, const struct policy_place *place, size_t size, struct err *err)
{
    char path[PATH_MAX];
    struct stat status;
    int r;

    (void) snprintf(path, sizeof path, "%.*s", (int) size, place->path);
    if (lstat(path, &status) < 0)
        return err_set(err, errno, "fence.guard-place", "cannot look at '%s'", path);
    if (!is_kind(place, &status, place->path[size] == '\0'))
        return replaced(path, err);
    r = hold(lock_fd, RUNS + mix(&status));
    return r < 0 ? lose(r, path, err) : 0;
}

static int hold_way(int lock_fd, const struct policy_place *place, unsigned *steps, struct err *err)
{
    const char *path = place->path;
    int r = 0;

    if (path[0] != '/' || strlen(path) >= PATH_MAX)
        return lose(-ENAMETOOLONG, path, err);
    for (const char *end = path; r == 0 && *end != '\0';) {
        end = strchrnul(end + 1, '/');
        if ((*steps)++ == RUN_STEPS_MAX)
            return err_set(err, E2BIG, "fence.guard-place",
                           "'%s' lies too deep to be held where it is", path);
        r = hold_step(lock_fd, place, (size_t) (end - path), err);
    }
    return r;
}

/* After it is held: from here on it says the same. */
static int check_text(const struct policy_place *place, struct err *err)
{
    char text[PATH_MAX];
    const ssize_t size = readlink(place->path, text, sizeof text);

    if (size < 0 || (size_t) size != strlen(place->source) ||
        memcmp(text, place->source, (size_t) size) != 0)
        return replaced(place->path, err);
    return 0;
}

static int hold_all(int lock_fd, const struct policy *policy, struct err *err)
{
    unsigned steps = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy_rules(policy); i++) {
        const struct policy_rule *rule = policy_rule_at(policy, i);

        if (policy_resolve(policy, rule->path, NULL) == POLICY_WRITE)
            r = hold_place(lock_fd, rule->path, err);
    }
    for (size_t i = 0; r == 0 && i < policy_places(policy); i++) {
        const struct policy_place *place = policy_place_at(policy, i);

        if (place->kind == POLICY_PLACE_OVER || place->kind == POLICY_PLACE_STAYS)
            r = hold_way(lock_fd, place, &steps, err);
        if (r == 0 && place->kind == POLICY_PLACE_STAYS)
            r = check_text(place, err);
    }
    return r;
}

int guard_hold_places(int lock_fd, const struct policy *policy, struct err *err)
{
    struct guard_lock lock = {.fd = lock_fd};
    int r = guard_lock_exclusive(&lock);

    if (r < 0) {
        (void) err_set(err, -r, "fence.guard-lock", "cannot take the guard's lock");
    } else {
        r = hold_all(lock_fd, policy, err);
        guard_unlock(&lock);
    }
    guard_lock_unmap(lock.board);
    return r;
}
