/* /etc/passwd and /etc/group by our own reader: a static program has no NSS. Layer 0.
 * Users known only to a directory service are not found; callers then fall back to $USER and $HOME
 * and say so. */
#ifndef WATTLE_BASE_PASSWD_H
#define WATTLE_BASE_PASSWD_H

#include "base/err.h"

#include <sys/types.h>

struct passwd_entry {
    char name[64];
    char gecos[128];
    char home[1024];
    char shell[128];
};

/* Line of `uid` in the file at `path` ("/etc/passwd"). -ENOENT when there is none. A line with a
 * field too long for the struct, or a control character in it, is skipped. */
int passwd_find(const char *path, uid_t uid, struct passwd_entry *ret_entry) MUST_CHECK;

/* Name of `gid` in the file at `path` ("/etc/group"). -ENOENT when there is none. */
int passwd_group(const char *path, gid_t gid, char *name, size_t size) MUST_CHECK;

#endif
