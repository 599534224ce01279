/* Commands that jobs could change: what was reviewed is what runs (C6). Private to src/host.
 *
 * A file that only the owner can change is mounted from the very file that was looked at, and its
 * identity tells whether it is still that. One in a tree that jobs can write could be changed in
 * place after any look; it is copied to a folder of wattle's, the copy is hashed, and the copy is
 * mounted read-only where the file lies, which nobody moves meanwhile (fence/guard/hold.c). The
 * same goes for the interpreters that '#!' names, and for symlinks by which a file is found: they
 * stay as they were. What an interpreter reads beside the script, and what a program loads, is not
 * looked at. */
#ifndef WATTLE_HOST_COPY_H
#define WATTLE_HOST_COPY_H

#include "derive/derive.h"
#include "policy/policy.h"
#include "store/store.h"

struct copy_wish {
    const struct derive_owner *owner; /* of the folder the copies are made in */
    char *const *trees;               /* that jobs of any pen can write; physical */
    size_t tree_count;
    uint64_t limit_bytes; /* of one file */
    bool keep;            /* else it is read and hashed only */
};

/* For the command of `policy`, in a thread: when jobs could change it or an interpreter of it, the
 * command gets its `content`, and, with `keep`, the policy places that show the copies and say
 * which symlinks stay. Errors: host.changed, host.copy, host.copy-size, host.interpreter,
 * host.symlink. */
int copy_command(const struct copy_wish *wish, struct policy *policy, struct err *err) MUST_CHECK;

/* The `content` that the file at `path` would have now, in a thread. Errors as above. */
int copy_hash(const struct copy_wish *wish, const char *path, char ret_content[STORE_CONTENT_SIZE],
              struct err *err) MUST_CHECK;

/* Removes the copies that `policy` shows. A job that has them mounted keeps them. */
void copy_remove(const struct policy *policy);
/* At the host's start: those that another one left. */
int copy_sweep(const struct derive_owner *owner, struct err *err) MUST_CHECK;

#endif
