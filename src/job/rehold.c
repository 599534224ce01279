/* The fallback's held names, while the job runs: the folders they lie in are watched from outside,
 * and a name somebody has replaced is held again. There is a moment in between; what a job does in
 * it is found when the run is over (held/). */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS_BYTES = 4 << 10 };

/* ---- watching -------------------------------------------------------------------------------- */

/* By descriptor: a folder that is reached through a symlink by now is another one. */
static int watch(struct run_hold *hold, const char *path)
{
    AUTO_FREE char *folder = strndup(path, (size_t) (path_base(path) - path));
    AUTO_CLOSE int fd = -1;
    size_t size = folder == NULL ? 0 : strlen(folder);
    char name[40];

    if (folder == NULL)
        return -ENOMEM;
    if (size > 1)
        folder[size - 1] = '\0';
    fd = path_open_plain(AT_FDCWD, folder, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    (void) snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return inotify_add_watch(hold->notify_fd, name, IN_CREATE | IN_MOVED_TO) < 0 ? -errno : 0;
}

int run_hold_open(struct run_hold *hold, const struct policy *policy, struct err *err)
{
    int r = 0;

    if (policy_get_guard(policy) != POLICY_GUARD_DETECT)
        return 0;
    hold->policy = policy;
    hold->notify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (hold->notify_fd < 0)
        return err_set(err, errno, "job.hold", "cannot watch the held names");
    for (size_t i = 0; r == 0 && i < policy_rules(policy); i++) {
        const struct policy_rule *rule = policy_rule_at(policy, i);

        if (rule->hold)
            r = watch(hold, rule->path);
        if (r < 0)
            return err_set(err, -r, "job.hold", "cannot watch the held name '%s'", rule->path);
    }
    return 0;
}

void run_hold_close(struct run_hold *hold)
{
    cleanup_close(&hold->notify_fd);
    cleanup_close(&hold->namespaces.user_fd);
    cleanup_close(&hold->namespaces.mount_fd);
}

/* ---- holding again --------------------------------------------------------------------------- */

/* In a process of its own: who has entered the job's namespaces does nothing else any more. */
static void hold_again(const struct run_hold *hold, const char *path)
{
    const pid_t pid = fork();

    if (pid == 0)
        _exit(fence_hold_again(&hold->namespaces, path) < 0);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Which folder an event is of does not matter: a name that is held still is left alone. */
static void hold_all_called(const struct run_hold *hold, const char *name)
{
    for (size_t i = 0; i < policy_rules(hold->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(hold->policy, i);

        if (rule->hold && (name == NULL || str_equal(path_base(rule->path), name)))
            hold_again(hold, rule->path);
    }
}

void run_hold_step(struct run_hold *hold)
{
    union {
        struct inotify_event event;
        char bytes[EVENTS_BYTES];
    } room;
    const ssize_t n = read(hold->notify_fd, &room, sizeof room);
    const struct inotify_event *event;

    if (hold->namespaces.mount_fd < 0)
        return; /* it has not begun yet, and its mounts are made of what is there then */
    for (ssize_t at = 0; at < n; at += (ssize_t) (sizeof *event + event->len)) {
        event = (const void *) (room.bytes + at);
        if ((event->mask & IN_Q_OVERFLOW) != 0)
            hold_all_called(hold, NULL);
        else if (event->len > 0)
            hold_all_called(hold, event->name);
    }
}
