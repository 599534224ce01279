/* What mount the object of a descriptor lies in: procfs or not, one of ours or not.
 *
 * Names are judged by where they lie below our root. A descriptor that came over a socket from
 * another job shows a folder of the same pen in that job's mounts: its path is one of those, and
 * when that job has ended it begins at the mount itself, as in "/.git/hooks". Such a path says
 * nothing here, while the folder is as real as ever. Nothing is mounted or unmounted in a run, so
 * what was found once stays true. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif
#define CHUNK 1024u

/* `mask` is STATX_MNT_ID or, of kernels since 6.8, the one that is never used again. */
static bool mount_of(int fd, unsigned mask, uint64_t *ret_id)
{
    struct statx seen;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &seen) < 0 ||
        (seen.stx_mask & mask) == 0)
        return false;
    *ret_id = seen.stx_mnt_id;
    return true;
}

/* Where a line has got to; lines may be longer than a chunk. */
struct scan {
    uint64_t number; /* the first of the line */
    bool in_number;
};

static bool scan_chunk(struct scan *scan, const char *text, size_t size, uint64_t id)
{
    for (size_t i = 0; i < size; i++) {
        const bool digit = text[i] >= '0' && text[i] <= '9';

        if (scan->in_number && digit) {
            scan->number = scan->number * 10 + (uint64_t) (text[i] - '0');
        } else if (scan->in_number) {
            if (scan->number == id)
                return true;
            scan->in_number = false;
        }
        if (text[i] == '\n')
            *scan = (struct scan){.in_number = true};
    }
    return false;
}

static bool is_listed(uint64_t id)
{
    AUTO_CLOSE int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    struct scan scan = {.in_number = true};
    char text[CHUNK];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

    for (; n > 0; n = read(fd, text, sizeof text))
        if (scan_chunk(&scan, text, (size_t) n, id))
            return true;
    return false;
}

/* One of ours that was met is kept as its number, and below that what it is. */
#define BITS 3u
_Static_assert((GUARD_MOUNT_FOREIGN | GUARD_MOUNT_PROC | GUARD_MOUNT_READS) < 1u << BITS, "fits");

static bool is_known(struct guard *guard, uint64_t key, unsigned *ret_bits)
{
    for (size_t i = 0; i < GUARD_MOUNTS_KNOWN; i++) {
        const uint64_t known = atomic_load(&guard->mounts_known[i]);

        if (known >> BITS != key)
            continue;
        *ret_bits = (unsigned) (known & ((1u << BITS) - 1));
        return true;
    }
    return false;
}

static unsigned look(int fd)
{
    struct statvfs status;
    const bool reads = fstatvfs(fd, &status) < 0 || (status.f_flag & ST_RDONLY) != 0;

    return (guard_is_proc(fd) ? GUARD_MOUNT_PROC : 0) | (reads ? GUARD_MOUNT_READS : 0);
}

unsigned guard_mount_of(struct guard *guard, int fd)
{
    uint64_t id = 0, key = 0;
    unsigned bits = 0;

    if (!mount_of(fd, STATX_MNT_ID_UNIQUE, &key) && !mount_of(fd, STATX_MNT_ID, &key))
        return GUARD_MOUNT_FOREIGN | GUARD_MOUNT_PROC;
    if (is_known(guard, key, &bits))
        return bits;
    bits = look(fd);
    if (!mount_of(fd, STATX_MNT_ID, &id) || !is_listed(id))
        return GUARD_MOUNT_FOREIGN | bits;
    atomic_store(
        &guard->mounts_known[atomic_fetch_add(&guard->mounts_next, 1) % GUARD_MOUNTS_KNOWN],
        key << BITS | bits);
    return bits;
}
