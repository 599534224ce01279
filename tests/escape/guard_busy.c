/* guard_busy TRIES
 *
 * A descriptor that the guard hands over must have no second life in it: a file that was written
 * and closed can be executed at once, and a lock that went with its descriptor is free at once.
 * Also: a process that shows nobody its memory can still make names. Run in an empty folder. */
#include "../helpers/helper.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void copy_self(const char *name)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
    struct stat status;

    if (from < 0 || to < 0 || fstat(from, &status) < 0 ||
        sendfile(to, from, NULL, (size_t) status.st_size) != status.st_size)
        err(HELPER_FAILED, "%s", name);
    (void) close(from);
    (void) close(to);
}

static bool is_busy(void)
{
    char name[] = "./program";
    char *argv[] = {name, NULL};
    pid_t pid;
    int status = 0;

    copy_self(name);
    pid = vfork();
    if (pid == 0) {
        execv(name, argv);
        _exit(errno == ETXTBSY ? 77 : 1);
    }
    (void) waitpid(pid, &status, 0);
    (void) unlink(name);
    return !WIFEXITED(status) || WEXITSTATUS(status) == 77;
}

static bool is_locked(void)
{
    int fd = open("lock", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    bool locked = flock(fd, LOCK_EX | LOCK_NB) < 0;

    (void) close(fd);
    return locked;
}

static bool hidden_works(void)
{
    int fd = -1;

    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        err(HELPER_FAILED, "prctl");
    fd = open("hidden", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    return fd >= 0 && mkdir("hidden.d", 0700) == 0 && rename("hidden", "hidden.d/x") == 0;
}

int main(int argc, char **argv)
{
    unsigned long tries, busy = 0, locked = 0;
    bool hidden;

    if (argc < 2)
        return 0; /* the copy */
    tries = helper_number(argv[1]);
    for (unsigned long i = 0; i < tries; i++) {
        busy += is_busy();
        locked += is_locked();
    }
    hidden = hidden_works();
    (void) printf("%lu tries, %lu busy, %lu locked, hidden %s\n", tries, busy, locked,
                  hidden ? "works" : "fails");
    return busy > 0 || locked > 0 || !hidden;
}
