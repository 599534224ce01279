/* Where the doors are. */
#include "base/cleanup.h"
#include "base/path.h"
#include "rpc/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LONGEST_NAME "/" RPC_OWNER_SOCKET

/* The folder as it must be: this user's, and nobody else may enter. */
static int check_folder(int fd, const char *folder, struct err *err)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return err_set(err, errno, "rpc.folder", "cannot look at '%s'", folder);
    if (status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return 0;
    (void) err_set(err, EPERM, "rpc.folder", "'%s' is open to others", folder);
    return err_hint(err, "make it yours alone: chmod 700 '%s'", folder);
}

/* A socket file there is no meeting place for two processes of one machine only. */
static int check_file_system(int fd, const char *folder, struct err *err)
{
    static const uint32_t remote[] = {
        0x6969,     /* nfs */
        0xff534d42, /* cifs */
        0xfe534d42, /* smb2 */
        0x01021997, /* 9p */
        0x65735546, /* fuse: sshfs and the like */
        0x5346414f, /* afs */
        0x00c36400, /* ceph */
        0x47504653, /* gpfs */
        0x0bd00bd0, /* lustre */
    };
    struct statfs status;

    if (fstatfs(fd, &status) < 0)
        return err_set(err, errno, "rpc.folder", "cannot look at '%s'", folder);
    for (size_t i = 0; i < ARRAY_SIZE(remote); i++) {
        if ((uint32_t) status.f_type == remote[i]) {
            (void) err_set(err, ENOTSUP, "rpc.network-fs",
                           "'%s' lies on a network file system, where no socket can be", folder);
            return err_hint(err, "set XDG_RUNTIME_DIR or XDG_STATE_HOME to a folder of this "
                                 "machine's");
        }
    }
    return 0;
}

static int check_length(const char *folder, struct err *err)
{
    const struct sockaddr_un address;

    if (strlen(folder) + strlen(LONGEST_NAME) < sizeof address.sun_path)
        return 0;
    (void) err_set(err, ENAMETOOLONG, "rpc.folder-long",
                   "'%s' is too long for the address of a socket", folder);
    return err_hint(err, "set XDG_RUNTIME_DIR to a shorter path");
}

/* A runtime folder that is not there, or another's (after su), is no reason to fail. */
static bool is_usable(const char *runtime_dir)
{
    AUTO_FREE char *parent = runtime_dir == NULL ? NULL : strdup(runtime_dir);
    struct stat status;
    char *slash = parent == NULL ? NULL : strrchr(parent, '/');

    if (slash == NULL || slash == parent)
        return false;
    *slash = '\0';
    return stat(parent, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 077) == 0;
}

int rpc_folder(const char *runtime_dir, const char *state_dir, char **ret_folder, struct err *err)
{
    AUTO_FREE char *folder =
        is_usable(runtime_dir) ? strdup(runtime_dir) : path_join(state_dir, "run");
    AUTO_CLOSE int fd = -1;
    int r;

    if (folder == NULL)
        return err_memory(err);
    r = check_length(folder, err);
    if (r < 0)
        return r;
    r = path_make_folders(folder, 0700);
    if (r < 0)
        return err_set(err, -r, "rpc.folder", "cannot make '%s'", folder);
    fd = path_open_plain(AT_FDCWD, folder, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return err_set(err, -fd, "rpc.folder", "cannot open '%s'", folder);
    r = check_folder(fd, folder, err);
    if (r == 0)
        r = check_file_system(fd, folder, err);
    if (r == 0)
        *ret_folder = TAKE_PTR(folder);
    return r;
}
