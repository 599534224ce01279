/* guard_race NAME TRIES | guard_race list
 *
 * Two threads against the guard: one changes what the other's call means while it is under way. Run
 * in an empty folder. Prints "NAME: N tries, N worked, N landed"; exit status 1 if any landed. Of
 * those that worked there must be many, or the race was not run. */
#include "../helpers/helper.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static volatile char path[64];
static int folder_fd = -1, folders[2] = {-1, -1};
static unsigned long worked;

static const char *path_now(void)
{
    return (const char *) (uintptr_t) path;
}

static void close_some(int fd)
{
    if (fd >= 0) {
        worked++;
        (void) close(fd);
    }
}

static void count(int result)
{
    worked += result == 0;
}

static bool exists(const char *name)
{
    struct stat status;

    return lstat(name, &status) == 0;
}

static void set_path(const char *text)
{
    for (size_t i = 0; i <= strlen(text); i++)
        path[i] = text[i];
}

/* ---- the string changes in memory --------------------------------------------------------------
 */

static void string_setup(void)
{
    (void) mkdir("plain", 0755);
    (void) mkdir(".hg", 0755);
    (void) mkdir("source.d", 0755);
    close_some(open("source", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
    set_path("pl-/hgrc");
    (void) mkdir("pl-", 0755);
}

/* Both are of one length, so each byte may be seen of either. */
static void string_flip(unsigned long turn)
{
    const char *text = turn % 2 ? ".hg" : "pl-";

    for (size_t i = 0; text[i] != '\0'; i++)
        path[i] = text[i];
}

static bool string_landed(void)
{
    const bool landed = exists(".hg/hgrc");

    (void) unlink(".hg/hgrc");
    (void) rmdir(".hg/hgrc");

    (void) unlink("pl-/hgrc");
    (void) rmdir("pl-/hgrc");
    return landed;
}

static void string_open(void)
{
    close_some(open(path_now(), O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
}

static void string_mkdir(void)
{
    count(mkdir(path_now(), 0755));
}

static void string_rename(void)
{
    count(rename("source", path_now()));
    (void) close(open("source", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
}

static void string_link(void)
{
    count(link("source", path_now()));
}

static void string_symlink(void)
{
    count(symlink("plain", path_now()));
}

static void string_bind(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path_now(), sizeof path);
    count(bind(fd, (struct sockaddr *) &address, sizeof address));
    (void) close(fd);
}

/* ---- the folder changes ------------------------------------------------------------------------
 */

static void folder_setup(void)
{
    (void) mkdir("plain", 0755);
    (void) mkdir(".hg", 0755);
    folders[0] = open("plain", O_PATH | O_CLOEXEC);
    folders[1] = open(".hg", O_PATH | O_CLOEXEC);
    folder_fd = dup(folders[0]);
    (void) close(openat(folders[0], "source", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
}

static void fd_flip(unsigned long turn)
{
    (void) dup2(folders[turn % 2], folder_fd);
}

static void fd_open(void)
{
    close_some(openat(folder_fd, "hgrc", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
}

static void fd_rename(void)
{
    (void) close(open("source", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
    count(renameat(AT_FDCWD, "source", folder_fd, "hgrc"));
}

static bool folder_landed(void)
{
    (void) unlink("plain/hgrc");
    return exists(".hg/hgrc");
}

static char top[4096];

static void cwd_setup(void)
{
    folder_setup();
    (void) !getcwd(top, sizeof top);
}

static void cwd_flip(unsigned long turn)
{
    (void) !fchdir(folders[turn % 2]);
}

static void cwd_open(void)
{
    close_some(open("hgrc", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
}

static void cwd_bind(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "hgrc"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    count(bind(fd, (struct sockaddr *) &address, sizeof address));
    (void) close(fd);
}

static void cwd_proc_bind(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/proc/self/cwd/hgrc"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    count(bind(fd, (struct sockaddr *) &address, sizeof address));
    (void) close(fd);
}

static void cwd_rename(void)
{
    int fd = openat(folders[0], "source", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

    if (fd >= 0)
        (void) close(fd);
    count(renameat(folders[0], "source", AT_FDCWD, "hgrc"));
}

static void cwd_link(void)
{
    count(linkat(folders[0], "source", AT_FDCWD, "hgrc", 0));
}

static bool cwd_landed(void)
{
    struct stat status;
    const bool landed = fstatat(folders[1], "hgrc", &status, AT_SYMLINK_NOFOLLOW) == 0;

    (void) unlinkat(folders[0], "hgrc", 0);
    return landed;
}

/* ---- the names change --------------------------------------------------------------------------
 */

/* A folder becomes ".hg" and is one no longer, while a name is made in it. */
static void rename_setup(void)
{
    (void) mkdir("mg", 0755);
}

static void rename_flip(unsigned long turn)
{
    count(turn % 2 == 0 ? rename("mg", ".hg") : rename(".hg", "mg"));
}

static void rename_act(void)
{
    int fd = open("mg/hgrc", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

    if (fd >= 0)
        (void) close(fd);
}

static bool rename_landed(void)
{
    const bool landed = exists(".hg/hgrc");

    (void) unlink("mg/hgrc");
    (void) unlink(".hg/hgrc");
    return landed;
}

static void exchange_setup(void)
{
    (void) mkdir("mg", 0755);
    (void) mkdir(".hg", 0755);
}

static void exchange_flip(unsigned long turn)
{
    (void) turn;
    count(renameat2(AT_FDCWD, "mg", AT_FDCWD, ".hg", RENAME_EXCHANGE));
}

/* A parent far above moves: nothing changes for names that hold anywhere. */
static void deep_setup(void)
{
    (void) mkdir("a", 0755);
    (void) mkdir("a/b", 0755);
    (void) mkdir("a/b/.git", 0755);
    (void) mkdir("a/b/.git/hooks", 0755);
}

static void deep_flip(unsigned long turn)
{
    count(turn % 2 == 0 ? rename("a", "c") : rename("c", "a"));
}

static void deep_act(void)
{
    (void) !open("a/b/.git/hooks/pre-commit", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    (void) mkdir("c/b/.git/commondir", 0755);
}

static bool deep_landed(void)
{
    return exists("a/b/.git/hooks/pre-commit") || exists("c/b/.git/hooks/pre-commit") ||
           exists("a/b/.git/commondir") || exists("c/b/.git/commondir");
}

static void link_setup(void)
{
    folder_setup();
    (void) !symlink("plain", "to-plain");
    (void) !symlink(".hg", "to-hg");
    (void) !symlink("plain", "way");
}

static void link_flip(unsigned long turn)
{
    (void) turn;
    count(renameat2(AT_FDCWD, "way", AT_FDCWD, turn % 2 ? "to-plain" : "to-hg", RENAME_EXCHANGE));
}

static void link_open(void)
{
    int fd = open("way/hgrc", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

    if (fd >= 0)
        (void) close(fd);
}

static void link_bind(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "way/hgrc"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void) bind(fd, (struct sockaddr *) &address, sizeof address);
    (void) close(fd);
}

static void dangling_setup(void)
{
    folder_setup();
    (void) !symlink("plain/hgrc", "one");
    (void) !symlink(".hg/hgrc", "two");
    (void) !symlink("plain/hgrc", "way");
}

static void dangling_flip(unsigned long turn)
{
    count(renameat2(AT_FDCWD, "way", AT_FDCWD, turn % 2 ? "one" : "two", RENAME_EXCHANGE));
}

static void dangling_open(void)
{
    int fd = open("way", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

    if (fd >= 0)
        (void) close(fd);
}

/* ---- parts come together -----------------------------------------------------------------------
 */

static void bare_setup(void)
{
    (void) mkdir("bare", 0755);
    (void) mkdir("bare/objects", 0755);
}

static void bare_flip(unsigned long turn)
{
    if (turn % 2 == 0)
        count(mkdir("bare/refs", 0755));
    else
        (void) rmdir("bare/refs");
}

static void bare_act(void)
{
    int fd = open("bare/HEAD", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

    if (fd >= 0)
        (void) close(fd);
}

static bool bare_landed(void)
{
    const int folder = open("bare", O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool landed = false;

    /* HEAD stays until it is taken away here, so both were there at once if both are seen. */
    landed = fstatat(folder, "HEAD", &status, 0) == 0 && fstatat(folder, "refs", &status, 0) == 0;
    (void) close(folder);
    (void) unlink("bare/HEAD");
    return landed;
}

static void beside_setup(void)
{
    (void) mkdir("pkg", 0755);
}

static void beside_flip(unsigned long turn)
{
    if (turn % 2 == 0)
        count(mkdir("pkg/.git", 0755));
    else
        (void) rmdir("pkg/.git");
}

static void beside_act(void)
{
    int fd = open("pkg/.envrc", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

    if (fd >= 0)
        (void) close(fd);
}

static bool beside_landed(void)
{
    const bool landed = exists("pkg/.envrc") && exists("pkg/.git");

    (void) unlink("pkg/.envrc");
    return landed;
}

/* ---- vetted text -------------------------------------------------------------------------------
 */

static int lock_fd = -1;

static void vetted_setup(void)
{
    (void) mkdir(".git", 0755);
    (void) mkdir("spare", 0755);
}

/* Whoever still has the file open writes into it when it has been vetted. */
static void vetted_flip(unsigned long turn)
{
    static const char good[] = "[user]\n\tname = aaaaaaaaaaaa\n#";
    static const char harm[] = "[core]\n\tfsmonitor = ./harm\n#";

    if (lock_fd >= 0)
        (void) !pwrite(lock_fd, turn % 2 ? harm : good, sizeof good - 1, 0);
}

static void vetted_act(void)
{
    int fd = open(".git/config.lock", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    int old = lock_fd;

    lock_fd = fd;
    if (old >= 0)
        (void) close(old);
    count(rename(".git/config.lock", ".git/config"));
}

static bool vetted_landed(void)
{
    char text[128] = "";
    int fd = open(".git/config", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        (void) close(fd);
    return n > 0 && strstr(text, "fsmonitor") != NULL;
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static const struct race {
    const char *name;
    void (*setup)(void);
    void (*flip)(unsigned long turn);
    void (*act)(void);
    bool (*landed)(void);
} races[] = {
    {"string-open", string_setup, string_flip, string_open, string_landed},
    {"string-mkdir", string_setup, string_flip, string_mkdir, string_landed},
    {"string-rename", string_setup, string_flip, string_rename, string_landed},
    {"string-link", string_setup, string_flip, string_link, string_landed},
    {"string-symlink", string_setup, string_flip, string_symlink, string_landed},
    {"string-bind", string_setup, string_flip, string_bind, string_landed},
    {"fd-open", folder_setup, fd_flip, fd_open, folder_landed},
    {"fd-rename", folder_setup, fd_flip, fd_rename, folder_landed},
    {"cwd-open", cwd_setup, cwd_flip, cwd_open, cwd_landed},
    {"cwd-bind", cwd_setup, cwd_flip, cwd_bind, cwd_landed},
    {"cwd-proc-bind", cwd_setup, cwd_flip, cwd_proc_bind, cwd_landed},
    {"cwd-rename", cwd_setup, cwd_flip, cwd_rename, cwd_landed},
    {"cwd-link", cwd_setup, cwd_flip, cwd_link, cwd_landed},
    {"rename", rename_setup, rename_flip, rename_act, rename_landed},
    {"exchange", exchange_setup, exchange_flip, rename_act, rename_landed},
    {"deep", deep_setup, deep_flip, deep_act, deep_landed},
    {"link-open", link_setup, link_flip, link_open, folder_landed},
    {"link-bind", link_setup, link_flip, link_bind, folder_landed},
    {"dangling-open", dangling_setup, dangling_flip, dangling_open, folder_landed},
    {"bare", bare_setup, bare_flip, bare_act, bare_landed},
    {"beside", beside_setup, beside_flip, beside_act, beside_landed},
    {"vetted", vetted_setup, vetted_flip, vetted_act, vetted_landed},
};

static atomic_bool over;

static void *flip(void *context)
{
    const struct race *race = context;

    for (unsigned long turn = 0; !atomic_load(&over); turn++)
        race->flip(turn);
    return NULL;
}

static int run(const struct race *race, unsigned long tries)
{
    unsigned long landed = 0;
    pthread_t thread;

    race->setup();
    worked = 0;
    if (pthread_create(&thread, NULL, flip, (void *) (uintptr_t) race) != 0)
        errx(HELPER_FAILED, "no thread");
    for (unsigned long i = 0; i < tries; i++) {
        race->act();
        landed += race->landed();
    }
    atomic_store(&over, true);
    (void) pthread_join(thread, NULL);
    (void) printf("%s: %lu tries, %lu worked, %lu landed\n", race->name, tries, worked, landed);
    return landed > 0;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < COUNT(races); i++)
        (void) printf("%s\n", races[i].name);
    if (argc == 2)
        return 0;
    if (argc != 3)
        errx(HELPER_FAILED, "usage: guard_race NAME TRIES | guard_race list");
    for (size_t i = 0; i < COUNT(races); i++) {
        if (strcmp(argv[1], races[i].name) == 0)
            return run(&races[i], helper_number(argv[2]));
    }
    errx(HELPER_FAILED, "unknown race '%s'", argv[1]);
}
