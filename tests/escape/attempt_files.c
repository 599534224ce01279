/* Files: by descriptor, by handle, set-id bits, devices, names swapped. */
#include "attempt_priv.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define HANDLE_BYTES 128

union handle {
    struct file_handle head;
    unsigned char room[sizeof(struct file_handle) + HANDLE_BYTES];
};

static int print_start(int fd)
{
    char bytes[256];
    ssize_t got;

    if (fd < 0)
        return -1;
    got = read(fd, bytes, sizeof bytes);
    if (got < 0)
        return -1;
    (void) fwrite(bytes, 1, (size_t) got, stdout);
    return 0;
}

static int read_file(char **args)
{
    return print_start(open(args[0], O_RDONLY | O_CLOEXEC));
}

static int write_file(char **args)
{
    int fd = open(args[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    return fd >= 0 && write(fd, "PWNED\n", 6) == 6 ? 0 : -1;
}

/* openat FD NAME: below a folder somebody left open */
static int open_below(char **args)
{
    return print_start(openat((int) helper_number(args[0]), args[1], O_RDONLY | O_CLOEXEC));
}

static int read_fd(char **args)
{
    return print_start((int) helper_number(args[0]));
}

static int write_fd(char **args)
{
    return write((int) helper_number(args[0]), "PWNED\n", 6) == 6 ? 0 : -1;
}

/* Prints the handle of a file, to be opened inside. */
static int handle(char **args)
{
    union handle found = {.head.handle_bytes = HANDLE_BYTES};
    int mount;

    if (name_to_handle_at(AT_FDCWD, args[0], &found.head, &mount, 0) < 0)
        return -1;
    (void) printf("%d %u ", found.head.handle_type, found.head.handle_bytes);
    for (unsigned i = 0; i < found.head.handle_bytes; i++)
        (void) printf("%02x", found.head.f_handle[i]);
    (void) printf("\n");
    return 0;
}

/* open-handle FOLDER TYPE BYTES HEX */
static int open_handle(char **args)
{
    union handle wanted = {.head.handle_bytes = (unsigned) helper_number(args[2]),
                           .head.handle_type = (int) helper_number(args[1])};
    int folder = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (wanted.head.handle_bytes > HANDLE_BYTES ||
        strlen(args[3]) != 2 * (size_t) wanted.head.handle_bytes)
        errx(HELPER_FAILED, "not a handle");
    for (unsigned i = 0; i < wanted.head.handle_bytes; i++) {
        char digits[3] = {args[3][2 * i], args[3][2 * i + 1], '\0'};

        wanted.head.f_handle[i] = (unsigned char) strtoul(digits, NULL, 16);
    }
    return print_start(open_by_handle_at(folder, &wanted.head, O_RDONLY | O_CLOEXEC));
}

static int became_setid(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return -1;
    errno = EPERM;
    return status.st_mode & (S_ISUID | S_ISGID) ? 0 : -1;
}

static int setid_chmod(char **args)
{
    int fd = open(args[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

    if (fd < 0 || chmod(args[0], 06755) < 0)
        return -1;
    return became_setid(args[0]);
}

static int setid_fchmod(char **args)
{
    int fd = open(args[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

    if (fd < 0 || fchmod(fd, 06755) < 0)
        return -1;
    return became_setid(args[0]);
}

static int setid_open(char **args)
{
    if (open(args[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 06755) < 0)
        return -1;
    return became_setid(args[0]);
}

static int setid_mknod(char **args)
{
    if (mknod(args[0], S_IFREG | 06755, 0) < 0)
        return -1;
    return became_setid(args[0]);
}

static int device(char **args)
{
    return mknod(args[0], S_IFCHR | 0666, makedev(1, 11));
}

/* exchange A B: swaps two names in one step */
static int exchange(char **args)
{
    return renameat2(AT_FDCWD, args[0], AT_FDCWD, args[1], RENAME_EXCHANGE);
}

static int rename_file(char **args)
{
    return rename(args[0], args[1]);
}

static int hard_link(char **args)
{
    return linkat(AT_FDCWD, args[0], AT_FDCWD, args[1], 0);
}

/* tmpfile FOLDER TARGET: a file without a name, given one elsewhere */
static int tmpfile_link(char **args)
{
    char path[64];
    int fd = open(args[0], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, "PWNED\n", 6) != 6)
        return -1;
    (void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, args[1], AT_SYMLINK_FOLLOW);
}

/* climb FILE: the start folder may lie above the new root */
static int climb(char **args)
{
    for (int i = 0; i < 64; i++) {
        if (chdir("..") < 0)
            return -1;
    }
    return print_start(open(args[0], O_RDONLY | O_CLOEXEC));
}

const struct attempt attempts_files[] = {
    {"read", 1, read_file},
    {"write", 1, write_file},
    {"openat", 2, open_below},
    {"read-fd", 1, read_fd},
    {"write-fd", 1, write_fd},
    {"handle", 1, handle},
    {"open-handle", 4, open_handle},
    {"setid-chmod", 1, setid_chmod},
    {"setid-fchmod", 1, setid_fchmod},
    {"setid-open", 1, setid_open},
    {"setid-mknod", 1, setid_mknod},
    {"device", 1, device},
    {"exchange", 2, exchange},
    {"rename", 2, rename_file},
    {"hard-link", 2, hard_link},
    {"tmpfile", 2, tmpfile_link},
    {"climb", 1, climb},
    {NULL, 0, NULL},
};
