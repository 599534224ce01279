/* The folder belongs to the owner alone, so nobody else can put a link or another file in the way
 * between the look here and SQLite's own open. */
#include "base/path.h"
#include "store/store_priv.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* WAL needs memory that all openers share and locks that hold; linux/magic.h and statfs(2). */
static const struct {
    uint64_t type;
    const char *name;
} networks[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},        {0xfe534d42, "SMB"},   {0xff534d42, "CIFS"},
    {0x01021997, "9p"},     {0x65735546, "FUSE"},   {0x5346414f, "AFS"},   {0x6b414653, "AFS"},
    {0x73757245, "Coda"},   {0x00c36400, "Ceph"},   {0x564c, "NCP"},       {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},   {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"}, {0x786f4256, "vboxsf"},
    {0x19830326, "BeeGFS"}, {0xbacbacbc, "vmhgfs"},
};

const char *place_network_name(uint64_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(networks); i++)
        if (networks[i].type == type)
            return networks[i].name;
    return NULL;
}

static int judge_system(int dir_fd, const char *state_dir, struct err *err)
{
    struct statfs seen;
    const char *name = NULL;

    if (fstatfs(dir_fd, &seen) < 0)
        return err_set(err, errno, "store.place", "cannot look at the file system of '%s'",
                       state_dir);
    name = place_network_name((uint64_t) seen.f_type & UINT32_MAX);
    if (name == NULL)
        return 0;
    (void) err_set(err, ENOTSUP, "store.network-fs",
                   "the store cannot lie in '%s': locks do not hold on %s", state_dir, name);
    return err_hint(err, "set XDG_STATE_HOME to a folder on a disk of this machine");
}

/* Whether nobody but the caller could have written it. */
static bool is_private(const struct stat *seen)
{
    return seen->st_uid == geteuid() && (seen->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int refuse_foreign(const char *state_dir, const char *name, struct err *err)
{
    (void) err_set(err, EPERM, "store.foreign",
                   "'%s/%s' is not a file or folder that only you can write", state_dir, name);
    return err_hint(err, "look at who made it; then 'chown' and 'chmod go-w', or remove it");
}

static int judge_folder(int dir_fd, const char *state_dir, struct err *err)
{
    struct stat seen;

    if (fstat(dir_fd, &seen) < 0)
        return err_set(err, errno, "store.place", "cannot look at '%s'", state_dir);
    return is_private(&seen) ? 0 : refuse_foreign(state_dir, "", err);
}

/* What SQLite would open. A second name of the file would be a second set of locks. */
static int judge_files(int dir_fd, const char *state_dir, struct err *err)
{
    static const char *const names[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm",
                                        STORE_FILE "-journal"};
    struct stat seen;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (fstatat(dir_fd, names[i], &seen, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT)
                continue;
            return err_set(err, errno, "store.place", "cannot look at '%s/%s'", state_dir,
                           names[i]);
        }
        if (!S_ISREG(seen.st_mode) || !is_private(&seen) || seen.st_nlink != 1)
            return refuse_foreign(state_dir, names[i], err);
    }
    return 0;
}

static int refuse_place(int code, const char *what, const char *state_dir, struct err *err)
{
    const bool closed = code == EACCES || code == EROFS || code == EPERM;
    const char *id = closed ? "store.readonly" : code == ENOSPC ? "store.full" : "store.place";

    (void) err_set(err, code, id, "cannot %s '%s'", what, state_dir);
    return err_hint(err, "make it a folder that you can write, or set XDG_STATE_HOME to one");
}

int place_prepare(const char *state_dir, struct err *err)
{
    AUTO_CLOSE int dir_fd = -1;
    AUTO_CLOSE int new_fd = -1; /* of a new file only: closing one of an old file would end locks */
    int r = texts_check_path(state_dir, err);

    if (r < 0)
        return r;
    r = path_make_folders(state_dir, 0700);
    if (r < 0)
        return refuse_place(-r, "make the folder", state_dir, err);
    dir_fd = path_open_plain(AT_FDCWD, state_dir, O_PATH | O_DIRECTORY);
    if (dir_fd < 0)
        return refuse_place(-dir_fd, "open the folder", state_dir, err);
    r = judge_folder(dir_fd, state_dir, err);
    if (r == 0)
        r = judge_system(dir_fd, state_dir, err);
    if (r < 0)
        return r;
    new_fd = path_open_below(dir_fd, STORE_FILE, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (new_fd < 0 && new_fd != -EEXIST)
        return refuse_place(-new_fd, "make the store in", state_dir, err);
    return judge_files(dir_fd, state_dir, err);
}
