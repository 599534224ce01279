/* guard_table
 *
 * What open answers for every pair of flags and kind of path, and what the other calls that a guard
 * performs answer for every kind of path, one line each: to be compared between a job with the
 * guard and one without. Run in an empty folder. */
#include "../helpers/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char long_name[300], long_path[5000], by_fd[64], by_task[64];

static const char *const kinds[] = {
    "missing",
    "file",
    "readonly",
    "folder",
    "to-file",
    "to-folder",
    "dangling",
    "loop",
    "socket",
    "fifo",
    "/dev/null",
    "missing/",
    "file/",
    "folder/",
    "to-folder/",
    "to-file/",
    ".",
    "..",
    "folder/.",
    "folder/..",
    "missing/x",
    "file/x",
    "closed/x",
    "",
    "/",
    "//",
    "folder//x",
    "./file",
    "to-proc-file",
    "to-proc-missing",
    long_name,
    long_path,
    by_fd,
    by_task,
    "/proc/self/comm",
    "/proc/self/missing",
    "/proc/missing",
    "/proc/self/fd/99",
    "/proc/self/cwd/file",
    "/proc/self/cwd/missing",
    "/proc/self/cwd",
    "/proc/self/root/dev/null",
    "/proc/thread-self/cwd/new",
    "/usr/file",
    "/dev/full",
    "/dev/tty",
    "to-proc-self/cwd/file",
    "/dev/stdout",
};

static const struct {
    const char *name;
    int flags;
} flag_sets[] = {
    {"r", O_RDONLY},
    {"w", O_WRONLY},
    {"rw", O_RDWR},
    {"3", 3},
    {"w+creat", O_WRONLY | O_CREAT},
    {"r+creat", O_RDONLY | O_CREAT},
    {"w+creat+trunc", O_WRONLY | O_CREAT | O_TRUNC},
    {"w+creat+excl", O_WRONLY | O_CREAT | O_EXCL},
    {"w+creat+append", O_WRONLY | O_CREAT | O_APPEND},
    {"w+creat+nofollow", O_WRONLY | O_CREAT | O_NOFOLLOW},
    {"w+nofollow", O_WRONLY | O_NOFOLLOW},
    {"w+creat+directory", O_WRONLY | O_CREAT | O_DIRECTORY},
    {"w+directory", O_WRONLY | O_DIRECTORY},
    {"r+trunc", O_RDONLY | O_TRUNC},
    {"rw+sync+noatime", O_RDWR | O_SYNC | O_NOATIME},
    {"w+creat+noctty", O_WRONLY | O_CREAT | O_NOCTTY},
    {"rw+tmpfile", O_RDWR | O_TMPFILE},
    {"w+tmpfile+excl", O_WRONLY | O_TMPFILE | O_EXCL},
    {"r+tmpfile", O_RDONLY | O_TMPFILE},
    {"tmpfile-bit", O_RDWR | (O_TMPFILE & ~O_DIRECTORY)},
    {"path", O_PATH},
    {"path+creat", O_PATH | O_CREAT | O_RDWR},
    {"w+unknown", O_WRONLY | 0x40000000},
};

/* ---- a fresh world for each line ---------------------------------------------------------------
 */

static void put_file(const char *name, mode_t mode)
{
    int fd;

    (void) unlink(name);
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    (void) !write(fd, "12345", 5);
    (void) close(fd);
}

static void put_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void) bind(fd, (struct sockaddr *) &address, sizeof address);
    (void) close(fd);
}

static void put_all(void)
{
    put_file("file", 0640);
    put_file("readonly", 0440);
    (void) mkdir("folder", 0755);
    (void) mkdir("closed", 0);
    (void) !symlink("file", "to-file");
    (void) !symlink("folder", "to-folder");
    (void) !symlink("made-by-link", "dangling");
    (void) !symlink("loop", "loop");
    (void) !symlink("/proc/self/cwd/file", "to-proc-file");
    (void) !symlink("/proc/self/cwd/made-by-proc", "to-proc-missing");
    (void) !symlink("/proc/self", "to-proc-self");
    (void) mkfifo("fifo", 0600);
    put_socket();
}

static void remove_all(void)
{
    static const char *const made[] = {
        "missing", "file",     "readonly",     "to-file",         "to-folder",    "dangling",
        "loop",    "fifo",     "socket",       "made-by-link",    "made-by-proc", "to-proc-file",
        "new",     "folder/x", "to-proc-self", "to-proc-missing", "moved",
    };

    for (size_t i = 0; i < COUNT(made); i++) {
        if (unlink(made[i]) < 0)
            (void) rmdir(made[i]);
    }
    (void) rmdir("folder");
    (void) rmdir("closed");
}

static const char *name_of(const char *kind)
{
    if (kind == long_name)
        return "LONG-NAME";
    if (kind == long_path)
        return "LONG-PATH";
    if (kind == by_fd)
        return "BY-FD";
    return kind == by_task ? "BY-TASK" : kind;
}

static const char *error_of(long result)
{
    const char *name = result < 0 ? strerrorname_np(errno) : NULL;

    return result >= 0 ? "ok" : name != NULL ? name : "?";
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static void try_open(const char *kind, size_t set)
{
    struct stat status = {0};
    int fd;

    (void) alarm(5);
    fd = open(kind, flag_sets[set].flags | O_NONBLOCK | O_CLOEXEC, 0777);
    (void) printf("open %s %s: %s", name_of(kind), flag_sets[set].name, error_of(fd));
    if (fd >= 0) {
        (void) fstat(fd, &status);
        (void) printf(" fl=%o fd=%d mode=%o size=%ld links=%ld", (unsigned) fcntl(fd, F_GETFL),
                      fcntl(fd, F_GETFD), status.st_mode,
                      S_ISREG(status.st_mode) ? (long) status.st_size : 0L,
                      S_ISREG(status.st_mode) ? (long) status.st_nlink : 0L);
        (void) close(fd);
    }
    (void) printf("\n");
}

static long do_creat(const char *kind)
{
    return open(kind, O_CREAT | O_WRONLY | O_TRUNC | O_NONBLOCK, 01755);
}

static long do_mkdir(const char *kind)
{
    return mkdir(kind, 01777);
}

static long do_mknod(const char *kind)
{
    return mknod(kind, S_IFIFO | 0666, 0);
}

static long do_mknod_bad(const char *kind)
{
    return mknod(kind, S_IFDIR | 0666, 0);
}

static long do_symlink(const char *kind)
{
    return symlink("file", kind);
}

static long do_symlink_empty(const char *kind)
{
    return symlink("", kind);
}

static long do_link_to(const char *kind)
{
    return link("file", kind);
}

static long do_link_from(const char *kind)
{
    return link(kind, "moved");
}

static long do_link_follow(const char *kind)
{
    return linkat(AT_FDCWD, kind, AT_FDCWD, "moved", AT_SYMLINK_FOLLOW);
}

static long do_link_flags(const char *kind)
{
    return linkat(AT_FDCWD, kind, AT_FDCWD, "moved", 0x10);
}

static long do_rename_to(const char *kind)
{
    return rename("file", kind);
}

static long do_rename_folder_to(const char *kind)
{
    return rename("folder", kind);
}

static long do_rename_from(const char *kind)
{
    return rename(kind, "moved");
}

static long do_exchange(const char *kind)
{
    return renameat2(AT_FDCWD, "file", AT_FDCWD, kind, RENAME_EXCHANGE);
}

static long do_rename_flags(const char *kind)
{
    return renameat2(AT_FDCWD, "file", AT_FDCWD, kind, 0x100);
}

static long do_unlink(const char *kind)
{
    return unlink(kind);
}

static long do_rmdir(const char *kind)
{
    return rmdir(kind);
}

static long do_chmod(const char *kind)
{
    return chmod(kind, 0700);
}

static long do_chmod_link(const char *kind)
{
    return syscall(452, AT_FDCWD, kind, 0700, AT_SYMLINK_NOFOLLOW);
}

static long do_truncate(const char *kind)
{
    return truncate(kind, 3);
}

static long do_truncate_negative(const char *kind)
{
    return truncate(kind, -1);
}

static long do_bad_folder(const char *kind)
{
    return mkdirat(77, kind, 0700);
}

static long do_file_as_folder(const char *kind)
{
    int fd = open("file", O_RDONLY | O_CLOEXEC);
    long result = mkdirat(fd, kind, 0700);
    int kept = errno;

    (void) close(fd);
    errno = kept;
    return result;
}

static long do_bind(const char *kind)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    long result;
    int kept;

    if (strlen(kind) >= sizeof address.sun_path || kind[0] == '\0')
        return 0;
    memcpy(address.sun_path, kind, strlen(kind));
    result = bind(fd, (struct sockaddr *) &address, sizeof address);
    kept = errno;
    (void) close(fd);
    errno = kept;
    return result;
}

static const struct {
    const char *name;
    long (*make)(const char *kind);
} calls[] = {
    {"creat", do_creat},
    {"mkdir", do_mkdir},
    {"mknod", do_mknod},
    {"mknod-bad", do_mknod_bad},
    {"symlink", do_symlink},
    {"symlink-empty", do_symlink_empty},
    {"link-to", do_link_to},
    {"link-from", do_link_from},
    {"link-follow", do_link_follow},
    {"link-flags", do_link_flags},
    {"rename-to", do_rename_to},
    {"rename-folder-to", do_rename_folder_to},
    {"rename-from", do_rename_from},
    {"exchange", do_exchange},
    {"rename-flags", do_rename_flags},
    {"unlink", do_unlink},
    {"rmdir", do_rmdir},
    {"chmod", do_chmod},
    {"chmod-link", do_chmod_link},
    {"truncate", do_truncate},
    {"truncate-negative", do_truncate_negative},
    {"bad-folder", do_bad_folder},
    {"file-as-folder", do_file_as_folder},
    {"bind", do_bind},
};

static void try_call(size_t call, const char *kind)
{
    struct stat status = {0};
    long result;

    (void) alarm(5);
    result = calls[call].make(kind);
    (void) printf("%s %s: %s", calls[call].name, name_of(kind), error_of(result));
    if (result >= 0 && lstat(kind, &status) == 0 && kind[0] != '/')
        (void) printf(" mode=%o links=%ld", status.st_mode,
                      S_ISDIR(status.st_mode) ? 0L : (long) status.st_nlink);
    (void) printf("\n");
}

int main(void)
{
    static const mode_t masks[] = {022, 0, 077, 0777};
    const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    memset(long_name, 'n', sizeof long_name - 1);
    for (size_t i = 0; i + 2 < sizeof long_path; i += 2)
        memcpy(long_path + i, "n/", 2);
    (void) snprintf(by_fd, sizeof by_fd, "/proc/self/fd/%d/file", here);
    (void) snprintf(by_task, sizeof by_task, "/proc/%d/cwd/new", (int) getpid());
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        for (size_t set = 0; set < COUNT(flag_sets); set++) {
            put_all();
            try_open(kinds[kind], set);
            remove_all();
        }
        for (size_t call = 0; call < COUNT(calls); call++) {
            put_all();
            try_call(call, kinds[kind]);
            remove_all();
        }
    }
    for (size_t i = 0; i < COUNT(masks); i++) {
        (void) umask(masks[i]);
        put_all();
        (void) printf("umask %o: ", masks[i]);
        try_open("missing", 4);
        try_call(1, "new");
        remove_all();
    }
    return 0;
}
