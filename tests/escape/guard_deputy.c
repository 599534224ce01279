/* guard_deputy
 *
 * Calls on what belongs to pid 1, made so that the guard in it has to perform them: it must not
 * lend its own eyes and hands. Prints "got: NAME" for each that gave something, and "N tried, N
 * got". Run in an empty folder. Outside of a fence the same calls on a process of one's own work.
 */
#include "../helpers/helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned tried, got;

static void judge(const char *what, const char *where, bool success)
{
    tried++;
    if (!success)
        return;
    got++;
    (void) printf("got: %s %s\n", what, where);
}

/* Opened for writing is what must not be; what cannot be opened at all is refused as well. */
static void open_it(int dir_fd, const char *what, const char *path)
{
    static const int flags[] = {O_RDWR, O_WRONLY | O_CREAT, O_RDWR | O_CREAT | O_NOFOLLOW,
                                O_RDONLY | O_CREAT};

    for (size_t i = 0; i < COUNT(flags); i++) {
        int fd = openat(dir_fd, path, flags[i] | O_CLOEXEC | O_NONBLOCK, 0600);

        judge(what, path, fd >= 0);
        if (fd >= 0)
            (void) close(fd);
    }
}

static void everything_of(const char *top)
{
    static const char *const names[] = {
        "mem",   "comm",     "oom_score_adj", "timerslack_ns", "fd/0",        "fd/1",
        "fd/3",  "fd/4",     "fd/5",          "fd/6",          "fd/7",        "fd/8",
        "cwd/x", "root/x",   "clear_refs",    "attr/current",  "task/1/mem",  "coredump_filter",
        "sched", "loginuid", "ns/user",       "exe",           "map_files/x", "autogroup",
    };
    int dir_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < COUNT(names); i++) {
        char path[256];

        (void) snprintf(path, sizeof path, "%s/%s", top, names[i]);
        open_it(AT_FDCWD, "path", path);
        open_it(dir_fd, "descriptor", names[i]);
        (void) unlink("way");
        (void) !symlink(path, "way");
        open_it(AT_FDCWD, "link", "way");
        (void) unlink("taken");
        judge("linkat", path, linkat(AT_FDCWD, path, AT_FDCWD, "taken", AT_SYMLINK_FOLLOW) == 0);
        judge("chmod", path, chmod(path, 0777) == 0);
        judge("truncate", path, truncate(path, 0) == 0);
        judge("mkdir", path, mkdir(path, 0777) == 0);
        judge("unlink", path, unlink(path) == 0);
    }
    if (dir_fd >= 0)
        (void) close(dir_fd);
}

static void each_thread_of_the_guard(void)
{
    DIR *dir = opendir("/proc/1/task");
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[300];

        if (entry->d_name[0] == '.')
            continue;
        (void) snprintf(path, sizeof path, "/proc/%s", entry->d_name);
        everything_of(path);
        (void) snprintf(path, sizeof path, "/proc/1/task/%s", entry->d_name);
        everything_of(path);
    }
    if (dir != NULL)
        (void) closedir(dir);
}

/* "self" must be the one who asks. */
static void self_is_me(const char *path)
{
    static const char mark[] = "only this process has these bytes";
    char bytes[sizeof mark] = "";
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void) !pread(fd, bytes, sizeof bytes, (off_t) (uintptr_t) mark);
    judge("memory of another by", path, fd >= 0 && memcmp(bytes, mark, sizeof mark) != 0);
    if (fd >= 0)
        (void) close(fd);
}

/* The guard's current folder is not ours: a socket bound by way of "self" must not land in it. */
static void bind_goes_where_it_says(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/proc/self/cwd/there.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat status;

    (void) mkdir("elsewhere", 0755);
    (void) !chdir("elsewhere");
    if (bind(fd, (struct sockaddr *) &address, sizeof address) == 0)
        judge("bind", "in another folder", lstat("there.sock", &status) < 0);
    (void) !chdir("..");
    (void) close(fd);
}

static void hands_on_pid_1(void)
{
    char byte = 0;
    struct iovec here = {&byte, 1}, there = {(void *) (uintptr_t) 0x1000, 1};
    struct rlimit limit = {0, 0};
    int pidfd = (int) syscall(SYS_pidfd_open, 1, 0);

    judge("process_vm_writev", "1",
          process_vm_writev(1, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT);
    judge("process_vm_readv", "1",
          process_vm_readv(1, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT);
    judge("prlimit", "1", prlimit(1, RLIMIT_NOFILE, &limit, NULL) == 0);
    judge("ptrace", "1", ptrace(PTRACE_SEIZE, 1, 0, 0) == 0);
    for (int fd = 0; fd < 16; fd++)
        judge("pidfd_getfd", "1", syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0);
    (void) kill(1, SIGKILL);
    (void) kill(1, SIGSTOP);
    (void) kill(1, SIGUSR1);
    (void) kill(1, SIGTERM);
    judge("landlock_restrict_self", "", syscall(446, -1, 0) == 0 || errno != EPERM);
}

int main(void)
{
    everything_of("/proc/1");
    each_thread_of_the_guard();
    self_is_me("/proc/self/mem");
    self_is_me("/proc/thread-self/mem");
    self_is_me("/proc/self/task/../mem");
    self_is_me("/proc/../proc/./self/mem");
    bind_goes_where_it_says();
    hands_on_pid_1();
    (void) close(open("alive", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    judge("the guard", "is gone", access("alive", F_OK) < 0);
    (void) printf("%u tried, %u got\n", tried, got);
    return got > 0;
}
