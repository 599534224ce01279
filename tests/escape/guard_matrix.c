/* guard_matrix [FOLDER]
 *
 * Every call that can bring a name into existence, with every way to write the path, at every kind
 * of guarded name, below FOLDER (made here; "." at first). Prints "landed: CALL FORM NAME" for each
 * that took effect, and at the end "N tried, N landed". What it judges by is the name itself, not
 * what a call said. Everything it made is taken away again at once, so that no try helps the next.
 */
#include "../helpers/helper.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PATH_SIZE 4096

/* ---- where ------------------------------------------------------------------------------------
 */

/* The folder (made before, not guarded itself) and the name in it. */
static const struct target {
    const char *folder, *name;
} targets[] = {
    {".", ".envrc"},
    {".", ".ENVRC"},
    {".", ".mcp.json"},
    {".", ".cursor"},
    {".", ".devcontainer.json"},
    {".claude", "settings.json"},
    {".claude", "Settings.JSON"},
    {".claude", "hooks"},
    {".vscode", "tasks.json"},
    {".idea", "workspace.xml"},
    {".husky", "pre-commit"},
    {".git", "config"},
    {".git", "commondir"},
    {".git", "config.worktree"},
    {".git/hooks", "pre-commit"},
    {".git/modules/m", "config"},
    {".git/modules/m/hooks", "post-checkout"},
    {".git/worktrees/w", "config.worktree"},
    {"sub/.git", "config"},
    {"sub/.git", "commondir"},
    {"sub/.git/hooks", "post-merge"},
    {"sub", ".envrc"},
};

static char top[PATH_SIZE];

static void make_folders(const char *path)
{
    char part[PATH_SIZE];

    (void) snprintf(part, sizeof part, "%s", path);
    for (char *slash = part; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void) mkdir(part, 0755);
        *slash = '/';
    }
    (void) mkdir(part, 0755);
}

/* ---- how the path is written -------------------------------------------------------------------
 */

struct way {
    int dir_fd;
    char path[PATH_SIZE];
};

static void relative(struct way *way, const struct target *at)
{
    (void) snprintf(way->path, PATH_SIZE, "%s/%s", at->folder, at->name);
}

static void absolute(struct way *way, const struct target *at)
{
    (void) snprintf(way->path, PATH_SIZE, "%.1000s/%s/%s", top, at->folder, at->name);
}

static void below_descriptor(struct way *way, const struct target *at)
{
    way->dir_fd = open(at->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void) snprintf(way->path, PATH_SIZE, "%s", at->name);
}

static void below_path_descriptor(struct way *way, const struct target *at)
{
    way->dir_fd = open(at->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void) snprintf(way->path, PATH_SIZE, "./%s", at->name);
}

static void with_dots(struct way *way, const struct target *at)
{
    (void) snprintf(way->path, PATH_SIZE, ".//%s/../%s//.//%s", "plain", at->folder, at->name);
}

static void by_proc_cwd(struct way *way, const struct target *at)
{
    (void) snprintf(way->path, PATH_SIZE, "/proc/self/cwd/%s/%s", at->folder, at->name);
}

static void by_proc_root(struct way *way, const struct target *at)
{
    (void) snprintf(way->path, PATH_SIZE, "/proc/thread-self/root%.1000s/%s/%s", top, at->folder,
                    at->name);
}

static void by_proc_descriptor(struct way *way, const struct target *at)
{
    way->dir_fd = open(at->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void) snprintf(way->path, PATH_SIZE, "/proc/%d/fd/%d/%s", (int) getpid(), way->dir_fd,
                    at->name);
}

static void by_folder_link(struct way *way, const struct target *at)
{
    (void) unlink("way");
    (void) !symlink(at->folder, "way");
    (void) snprintf(way->path, PATH_SIZE, "way/%s", at->name);
}

/* A dangling symlink: only an open follows it, and makes what it names. */
static void by_dangling_link(struct way *way, const struct target *at)
{
    char text[PATH_SIZE];

    (void) unlink("way");
    (void) snprintf(text, sizeof text, "%s/%s", at->folder, at->name);
    (void) !symlink(text, "way");
    (void) snprintf(way->path, PATH_SIZE, "way");
}

static void by_long_link(struct way *way, const struct target *at)
{
    char text[PATH_SIZE], name[16];

    (void) snprintf(text, sizeof text, "%s/%s", at->folder, at->name);
    for (int i = 0; i < 12; i++) {
        (void) snprintf(name, sizeof name, "way%d", i);
        (void) unlink(name);
        (void) !symlink(text, name);
        (void) snprintf(text, sizeof text, "%s", name);
    }
    (void) snprintf(way->path, PATH_SIZE, "%s", text);
}

static const struct {
    const char *name;
    void (*write)(struct way *way, const struct target *at);
} forms[] = {
    {"relative", relative},
    {"absolute", absolute},
    {"descriptor", below_descriptor},
    {"path-descriptor", below_path_descriptor},
    {"dots", with_dots},
    {"proc-cwd", by_proc_cwd},
    {"proc-root", by_proc_root},
    {"proc-descriptor", by_proc_descriptor},
    {"folder-link", by_folder_link},
    {"dangling-link", by_dangling_link},
    {"long-link", by_long_link},
};

/* ---- the calls ---------------------------------------------------------------------------------
 */

static void close_some(int fd)
{
    if (fd >= 0)
        (void) close(fd);
}

static void call_open(const struct way *way)
{
    close_some(openat(way->dir_fd, way->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
}

static void call_open_read(const struct way *way)
{
    close_some(openat(way->dir_fd, way->path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0755));
}

static void call_open_exclusive(const struct way *way)
{
    close_some(openat(way->dir_fd, way->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
}

/* The high half of an int argument is no part of it. */
static void call_open_high(const struct way *way)
{
    close_some((int) syscall(SYS_openat, way->dir_fd, way->path,
                             0xdead00000000ul | O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
}

static void call_mkdir(const struct way *way)
{
    (void) mkdirat(way->dir_fd, way->path, 0755);
}

static void call_mkdir_slash(const struct way *way)
{
    char path[PATH_SIZE + 3];

    (void) snprintf(path, sizeof path, "%s//", way->path);
    (void) mkdirat(way->dir_fd, path, 0755);
}

static void call_mknod(const struct way *way)
{
    (void) mknodat(way->dir_fd, way->path, S_IFREG | 0755, 0);
}

static void call_mkfifo(const struct way *way)
{
    (void) mknodat(way->dir_fd, way->path, S_IFIFO | 0755, 0);
}

static void call_symlink(const struct way *way)
{
    (void) !symlinkat("plain", way->dir_fd, way->path);
}

static void call_link(const struct way *way)
{
    (void) !linkat(AT_FDCWD, "source", way->dir_fd, way->path, 0);
}

static void call_link_proc(const struct way *way)
{
    char path[64];
    int fd = open("source", O_RDONLY | O_CLOEXEC);

    (void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void) !linkat(AT_FDCWD, path, way->dir_fd, way->path, AT_SYMLINK_FOLLOW);
    close_some(fd);
}

static void call_tmpfile(const struct way *way)
{
    char path[64];
    int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0755);

    (void) snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
    (void) !linkat(AT_FDCWD, path, way->dir_fd, way->path, AT_SYMLINK_FOLLOW);
    close_some(fd);
}

static void call_rename(const struct way *way)
{
    (void) renameat(AT_FDCWD, "source", way->dir_fd, way->path);
}

static void call_rename2(const struct way *way)
{
    (void) renameat2(AT_FDCWD, "source", way->dir_fd, way->path, RENAME_NOREPLACE);
}

static void call_rename_folder(const struct way *way)
{
    (void) renameat(AT_FDCWD, "source.d", way->dir_fd, way->path);
}

static void call_rename_link(const struct way *way)
{
    (void) renameat(AT_FDCWD, "source.l", way->dir_fd, way->path);
}

static void call_bind(const struct way *way)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int here = open(".", O_PATH | O_CLOEXEC);

    if (strlen(way->path) < sizeof address.sun_path) {
        memcpy(address.sun_path, way->path, strlen(way->path) + 1);
        if (way->dir_fd != AT_FDCWD && way->path[0] != '/')
            (void) !fchdir(way->dir_fd);
        (void) bind(fd, (struct sockaddr *) &address, sizeof address);
        (void) !fchdir(here);
    }
    close_some(fd);
    close_some(here);
}

static const struct {
    const char *name;
    void (*make)(const struct way *way);
} calls[] = {
    {"open", call_open},
    {"open-read", call_open_read},
    {"open-exclusive", call_open_exclusive},
    {"open-high", call_open_high},
    {"mkdir", call_mkdir},
    {"mkdir-slash", call_mkdir_slash},
    {"mknod", call_mknod},
    {"mkfifo", call_mkfifo},
    {"symlink", call_symlink},
    {"link", call_link},
    {"link-proc", call_link_proc},
    {"tmpfile", call_tmpfile},
    {"rename", call_rename},
    {"rename-noreplace", call_rename2},
    {"rename-folder", call_rename_folder},
    {"rename-link", call_rename_link},
    {"bind", call_bind},
};

/* ---- all of it ---------------------------------------------------------------------------------
 */

static void make_sources(void)
{
    static const char harm[] = "[core]\n\tfsmonitor = ./harm\n";
    int fd = open("source", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    (void) !write(fd, harm, sizeof harm - 1);
    close_some(fd);
    (void) mkdir("source.d", 0755);
    (void) !symlink("plain", "source.l");
}

/* What names with another case mean the same on some machine of the owner's. */
static bool is_there(const struct target *at)
{
    char path[PATH_SIZE];
    struct stat status;

    (void) snprintf(path, sizeof path, "%s/%s", at->folder, at->name);
    return lstat(path, &status) == 0;
}

static void take_away(const struct target *at)
{
    char path[PATH_SIZE];

    (void) snprintf(path, sizeof path, "%s/%s", at->folder, at->name);
    if (unlink(path) < 0)
        (void) rmdir(path);
}

static bool try(size_t call, size_t form, const struct target *at)
{
    struct way way = {.dir_fd = AT_FDCWD};
    bool landed;

    make_sources();
    forms[form].write(&way, at);
    calls[call].make(&way);
    close_some(way.dir_fd == AT_FDCWD ? -1 : way.dir_fd);
    landed = is_there(at);
    if (landed) {
        (void) printf("landed: %s %s %s/%s\n", calls[call].name, forms[form].name, at->folder,
                      at->name);
        take_away(at);
    }
    return landed;
}

int main(int argc, char **argv)
{
    unsigned tried = 0, landed = 0;

    if (argc > 1 && (mkdir(argv[1], 0755) < 0 || chdir(argv[1]) < 0))
        err(HELPER_FAILED, "%s", argv[1]);
    if (getcwd(top, sizeof top) == NULL)
        err(HELPER_FAILED, "getcwd");
    make_folders("plain");
    for (size_t t = 0; t < COUNT(targets); t++)
        make_folders(targets[t].folder);
    for (size_t t = 0; t < COUNT(targets); t++) {
        if (is_there(&targets[t]))
            continue; /* one of the others' folders */
        for (size_t form = 0; form < COUNT(forms); form++) {
            for (size_t call = 0; call < COUNT(calls); call++, tried++)
                landed += try(call, form, &targets[t]);
        }
    }
    (void) printf("%u tried, %u landed\n", tried, landed);
    return landed > 0;
}
