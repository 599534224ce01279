/* The host's store, read whole: wattle-host does it, since nobody else links SQLite. A host's start
 * does not take the time. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_BYTES = 1024 };

static _Noreturn void be_the_host(const struct doctor_world *world, char *state_dir, int output_fd)
{
    char check[] = "--check", *const environment[] = {NULL};
    char *const argv[] = {world->host, check, state_dir, NULL};

    if (dup2(output_fd, STDOUT_FILENO) >= 0)
        (void) execve(world->host, argv, environment);
    _exit(127);
}

/* What it says, and its wait status. -errno. */
static int ask_host(const struct doctor_world *world, struct buf *answer, int *ret_status)
{
    int ends[2];
    pid_t pid;
    int r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid = fork();
    if (pid == 0)
        be_the_host(world, world->owner->state_dir, ends[1]);
    r = pid < 0 ? -errno : 0;
    (void) close(ends[1]);
    if (r == 0)
        r = fd_read_all(ends[0], answer);
    (void) close(ends[0]);
    if (pid > 0 && waitpid(pid, ret_status, 0) < 0)
        r = -errno;
    return r;
}

void doctor_check_store(const struct doctor_world *world, struct doctor_finding *finding)
{
    AUTO(buf_free) struct buf answer = {0};
    int status = 0;
    int r;

    if (world->host == NULL || access(world->host, X_OK) < 0) {
        doctor_say(finding, DOCTOR_REMARK,
                   "wattle-host is not installed: models' commands need it");
        return;
    }
    buf_init(&answer, ANSWER_BYTES);
    r = ask_host(world, &answer, &status);
    if (r < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1 || answer.size == 0)
        doctor_say(finding, DOCTOR_UNSEEN, "'%s' gave no answer", world->host);
    else
        doctor_say(finding, WEXITSTATUS(status) == 0 ? DOCTOR_OK : DOCTOR_MISSING, "%s",
                   answer.bytes);
}
