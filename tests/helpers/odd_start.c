/* odd_start [--OPTION]... -- COMMAND [ARGUMENT...]
 *
 * Starts a command from an odd place, as programs of the world do:
 *   --cwd-deleted DIR   current folder DIR, removed
 *   --close N           descriptor N closed
 *   --fd N=PATH         descriptor N open for reading (and writing where possible) on PATH
 *   --connect N=PATH    descriptor N a connected unix socket
 *   --socketpair N      descriptor N one end of a socket pair that says "hello" and then ends
 *   --ignore N          signal N ignored
 *   --block-all         every signal blocked
 *   --umask OCTAL       umask
 *   --nofile N          RLIMIT_NOFILE, soft and hard
 *   --empty-env         no environment at all
 *   --no-argv           argv[0] missing (an empty argument list becomes one empty string in Linux)
 * Options act in the order given. */
#include "helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define USAGE "odd_start [--OPTION [VALUE]]... -- COMMAND [ARGUMENT...]"

static void put_at(int fd, int wanted)
{
    if (fd == wanted)
        return;
    if (dup2(fd, wanted) < 0)
        err(HELPER_FAILED, "dup2 to %d", wanted);
    (void) close(fd);
}

/* Splits "N=PATH". */
static int numbered(const char *value, const char **ret_path)
{
    char number[16] = {0};
    const char *mark = strchr(value, '=');

    if (mark == NULL || (size_t) (mark - value) >= sizeof number)
        errx(HELPER_FAILED, "'%s' is not N=PATH", value);
    memcpy(number, value, (size_t) (mark - value));
    *ret_path = mark + 1;
    return (int) helper_number(number);
}

static void cwd_deleted(const char *value)
{
    if (mkdir(value, 0700) < 0 || chdir(value) < 0 || rmdir(value) < 0)
        err(HELPER_FAILED, "%s", value);
}

static void close_fd(const char *value)
{
    (void) close((int) helper_number(value));
}

static void open_fd(const char *value)
{
    const char *path;
    int wanted = numbered(value, &path);
    int fd = open(path, O_RDWR);

    if (fd < 0)
        fd = open(path, O_RDONLY);
    if (fd < 0)
        err(HELPER_FAILED, "%s", path);
    put_at(fd, wanted);
}

static void connect_fd(const char *value)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path;
    int wanted = numbered(value, &path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void) snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (const struct sockaddr *) &address, sizeof address) < 0)
        err(HELPER_FAILED, "%s", path);
    put_at(fd, wanted);
}

static void pair_fd(const char *value)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || write(pair[0], "hello\n", 6) != 6 ||
        shutdown(pair[0], SHUT_WR) < 0)
        err(HELPER_FAILED, "socketpair");
    put_at(pair[1], (int) helper_number(value)); /* pair[0] stays open, so that writes go through */
    (void) fcntl(pair[0], F_SETFD, FD_CLOEXEC);
}

static void ignore_signal(const char *value)
{
    if (signal((int) helper_number(value), SIG_IGN) == SIG_ERR)
        err(HELPER_FAILED, "signal %s", value);
}

static void block_all(const char *value)
{
    sigset_t all;

    (void) value;
    (void) sigfillset(&all);
    (void) sigprocmask(SIG_SETMASK, &all, NULL);
}

static void set_umask(const char *value)
{
    (void) umask((mode_t) strtoul(value, NULL, 8));
}

static void set_nofile(const char *value)
{
    rlim_t limit = helper_number(value);

    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, limit}) < 0)
        err(HELPER_FAILED, "RLIMIT_NOFILE %s", value);
}

static char *no_variables[] = {NULL};

static void empty_env(const char *value)
{
    (void) value;
    environ = no_variables;
}

static const struct option {
    const char *name;
    bool has_value;
    void (*act)(const char *value);
} options[] = {
    {"--cwd-deleted", true, cwd_deleted},
    {"--close", true, close_fd},
    {"--fd", true, open_fd},
    {"--connect", true, connect_fd},
    {"--socketpair", true, pair_fd},
    {"--ignore", true, ignore_signal},
    {"--block-all", false, block_all},
    {"--umask", true, set_umask},
    {"--nofile", true, set_nofile},
    {"--empty-env", false, empty_env},
};

static const struct option *find(const char *name)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    }
    errx(HELPER_FAILED, "unknown option '%s'", name);
}

int main(int argc, char **argv)
{
    int command = helper_command(argc, argv, USAGE);
    bool no_argv = false;

    for (int i = 1; i < command - 1; i++) {
        const struct option *option;

        if (strcmp(argv[i], "--no-argv") == 0) {
            no_argv = true;
            continue;
        }
        option = find(argv[i]);
        if (option->has_value)
            i++;
        option->act(argv[i]);
    }
    if (no_argv) {
        execv(argv[command], (char *[]){NULL});
        err(HELPER_FAILED, "%s", argv[command]);
    }
    helper_exec(argv + command);
}
