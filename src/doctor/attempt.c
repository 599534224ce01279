/* What is tried inside. The same program with the same words is run outside first, where it must
 * succeed. The last line of the output is "got" or "refused ERRNO", and nothing else counts as an
 * attempt that was made; whether it had an effect is looked at from outside. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "doctor/doctor.h"
#include "doctor/doctor_priv.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    UNKNOWN_ATTEMPT = 2,
    READ_LIMIT_BYTES = 4096,
    LIFE_SECONDS = 30, /* of what is meant to live on, should it */
};

static int number_of(const char *text)
{
    uint64_t value;

    return str_to_u64(text, &value) < 0 || value > INT32_MAX ? -EINVAL : (int) value;
}

static int print_bytes(const struct buf *bytes)
{
    const int r = fd_write_all(STDOUT_FILENO, bytes->bytes, bytes->size);

    return r < 0 ? r : fd_write_all(STDOUT_FILENO, "\n", 1);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* read PATH */
static int try_read(const char *const *args)
{
    AUTO(buf_free) struct buf bytes = {0};
    int r;

    buf_init(&bytes, READ_LIMIT_BYTES);
    r = fd_read_file(AT_FDCWD, args[0], &bytes);
    return r < 0 ? r : print_bytes(&bytes);
}

/* write PATH TEXT: into a file that is there */
static int try_write(const char *const *args)
{
    AUTO_CLOSE int fd = open(args[0], O_WRONLY | O_TRUNC | O_CLOEXEC);

    return fd < 0 ? -errno : fd_write_all(fd, args[1], strlen(args[1]));
}

/* make PATH TEXT: a new file */
static int try_make(const char *const *args)
{
    AUTO_CLOSE int fd = open(args[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    return fd < 0 ? -errno : fd_write_all(fd, args[1], strlen(args[1]));
}

/* list PATH */
static int try_list(const char *const *args)
{
    AUTO_CLOSEDIR DIR *dir = opendir(args[0]);
    struct dirent *entry;

    if (dir == NULL)
        return -errno;
    while ((entry = readdir(dir)) != NULL) {
        if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
            (void) printf("%s\n", entry->d_name);
    }
    return 0;
}

/* descriptor NUMBER NAME: a file below a folder that was open when we were started */
static int try_descriptor(const char *const *args)
{
    AUTO(buf_free) struct buf bytes = {0};
    const int folder_fd = number_of(args[0]);
    int r;

    buf_init(&bytes, READ_LIMIT_BYTES);
    r = folder_fd < 0 ? folder_fd : fd_read_file(folder_fd, args[1], &bytes);
    return r < 0 ? r : print_bytes(&bytes);
}

/* set-id PATH: a new program that runs as whoever made it */
static int try_set_id(const char *const *args)
{
    AUTO_CLOSE int fd = open(args[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

    return fd < 0 || fchmod(fd, S_ISUID | S_IRWXU) < 0 ? -errno : 0;
}

/* environment NAME */
static int try_environment(const char *const *args)
{
    const char *value = getenv(args[0]);

    if (value == NULL)
        return -ENOENT;
    (void) printf("%s\n", value);
    return 0;
}

/* ---- sockets -------------------------------------------------------------------------------- */

/* tcp PORT, on 127.0.0.1 */
static int try_tcp(const char *const *args)
{
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int port = number_of(args[0]);
    union {
        struct sockaddr any;
        struct sockaddr_in in;
    } address = {.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

    if (fd < 0 || port < 0 || port > UINT16_MAX)
        return fd < 0 ? -errno : -EINVAL;
    address.in.sin_port = htons((uint16_t) port);
    return connect(fd, &address.any, sizeof address) < 0 ? -errno : 0;
}

static int connect_unix(const char *name, bool abstract)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    union {
        struct sockaddr any;
        struct sockaddr_un local;
    } address = {.local = {.sun_family = AF_UNIX}};
    const size_t before = abstract ? 1 : 0, length = strlen(name);

    if (before + length >= sizeof address.local.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.local.sun_path + before, name, length);
    if (fd < 0 ||
        connect(fd, &address.any,
                (socklen_t) (offsetof(struct sockaddr_un, sun_path) + before + length)) < 0)
        return -errno;
    return 0;
}

/* unix PATH; a long path is reached through its folder */
static int try_unix(const char *const *args)
{
    AUTO_FREE char *folder = strdup(args[0]);
    char *slash = folder != NULL ? strrchr(folder, '/') : NULL;

    if (slash == NULL || slash == folder)
        return -EINVAL;
    *slash = '\0';
    return chdir(folder) < 0 ? -errno : connect_unix(slash + 1, false);
}

/* abstract NAME */
static int try_abstract(const char *const *args)
{
    return connect_unix(args[0], true);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* signal PID */
static int try_signal(const char *const *args)
{
    const int pid = number_of(args[0]);

    if (pid < 2)
        return -EINVAL;
    return kill(pid, SIGTERM) < 0 ? -errno : 0;
}

/* see WORD: prints what processes were called with that have the word in it */
static int try_see(const char *const *args)
{
    AUTO_CLOSEDIR DIR *proc = opendir("/proc");
    struct dirent *entry;
    int r = -ESRCH;

    if (proc == NULL)
        return -errno;
    while ((entry = readdir(proc)) != NULL) {
        AUTO(buf_free) struct buf line = {0};
        char path[sizeof entry->d_name + 16];

        buf_init(&line, READ_LIMIT_BYTES);
        (void) snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        if (!isdigit((unsigned char) entry->d_name[0]) ||
            number_of(entry->d_name) == (int) getpid() || fd_read_file(AT_FDCWD, path, &line) < 0 ||
            memmem(line.bytes, line.size, args[0], strlen(args[0])) == NULL)
            continue;
        for (size_t i = 0; i < line.size; i++) {
            if (line.bytes[i] == '\0')
                line.bytes[i] = ' ';
        }
        r = print_bytes(&line);
    }
    return r;
}

/* stay WORD: something to be seen */
static int try_stay(const char *const *args)
{
    (void) args;
    (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void) alarm(LIFE_SECONDS);
    if (fd_write_all(STDOUT_FILENO, "here\n", 5) < 0)
        return -EPIPE;
    (void) pause(); /* the signals that end it end the process */
    return 0;
}

/* user-namespace: by unshare, and by a child that begins in one */
static int try_user_namespace(const char *const *args)
{
    int status = 0;
    pid_t pid;

    (void) args;
    if (unshare(CLONE_NEWUSER) == 0)
        return 0;
    pid = (pid_t) syscall(SYS_clone, (unsigned long) (CLONE_NEWUSER | SIGCHLD), 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return -errno;
    return waitpid(pid, &status, 0) == pid ? 0 : -ECHILD;
}

static _Noreturn void be_the_daemon(int fd, int ready_fd)
{
    const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    (void) setsid();
    if (fork() > 0)
        _exit(0);
    (void) signal(SIGTERM, SIG_IGN);
    (void) signal(SIGHUP, SIG_IGN);
    if (fcntl(fd, F_SETLK, &lock) == 0)
        (void) !write(ready_fd, "r", 1);
    (void) close(ready_fd);
    for (int standard = 0; standard < 3; standard++)
        (void) close(standard); /* nobody waits for our output to end */
    (void) alarm(LIFE_SECONDS);
    for (;;)
        (void) pause();
}

/* daemon PATH: leaves a process that holds a lock on the file as long as it lives */
static int try_daemon(const char *const *args)
{
    AUTO_CLOSE int fd = open(args[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int ready[2];
    char byte;
    pid_t pid;

    if (fd < 0 || pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    pid = fork();
    if (pid == 0)
        be_the_daemon(fd, ready[1]);
    (void) close(ready[1]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1)
        return -ECHILD;
    (void) close(ready[0]);
    return 0;
}

/* ---- bounds --------------------------------------------------------------------------------- */

/* fork COUNT */
static int try_fork(const char *const *args)
{
    const int most = number_of(args[0]);
    int hold[2];
    int count = 0;
    int r = 0;
    pid_t gone;

    if (most < 0 || pipe2(hold, O_CLOEXEC) < 0)
        return -EINVAL;
    for (; r == 0 && count < most; count += r == 0 ? 1 : 0) {
        const pid_t pid = fork();
        char byte;

        if (pid == 0) {
            (void) close(hold[1]);
            _exit((int) read(hold[0], &byte, 1)); /* till the end of file */
        }
        r = pid < 0 ? -errno : 0;
    }
    (void) close(hold[1]);
    do {
        gone = waitpid(-1, NULL, 0);
    } while (gone > 0 || errno == EINTR);
    (void) printf("%d\n", count);
    return r;
}

/* memory BYTES */
static int try_memory(const char *const *args)
{
    const int bytes = number_of(args[0]);
    char *memory;

    if (bytes <= 0)
        return -EINVAL;
    memory = mmap(NULL, (size_t) bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -errno;
    memset(memory, 'x', (size_t) bytes);
    return memory[bytes / 2] == 'x' ? 0 : -EIO;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t args;
    int (*make)(const char *const *args); /* 0: got it; else -errno */
} attempts[] = {
    {"read", 1, try_read},
    {"write", 2, try_write},
    {"make", 2, try_make},
    {"list", 1, try_list},
    {"descriptor", 2, try_descriptor},
    {"set-id", 1, try_set_id},
    {"environment", 1, try_environment},
    {"tcp", 1, try_tcp},
    {"unix", 1, try_unix},
    {"abstract", 1, try_abstract},
    {"signal", 1, try_signal},
    {"see", 1, try_see},
    {"stay", 1, try_stay},
    {"user-namespace", 0, try_user_namespace},
    {"daemon", 1, try_daemon},
    {"fork", 1, try_fork},
    {"memory", 1, try_memory},
};

int doctor_attempt(const char *const *words)
{
    size_t count = 0;
    int r;

    while (words[count] != NULL)
        count++;
    for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
        if (count == 0 || !str_equal(words[0], attempts[i].name) || count - 1 != attempts[i].args)
            continue;
        r = attempts[i].make(words + 1);
        if (r < 0)
            (void) printf("refused %s\n", strerrorname_np(-r));
        else
            (void) printf("got\n");
        return fflush(stdout) == 0 ? 0 : UNKNOWN_ATTEMPT;
    }
    return UNKNOWN_ATTEMPT;
}
