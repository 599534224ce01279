/* Names that are guarded because something that existed at the start leads to them. Private to
 * src/derive/pointers.c and repositories.c. */
#ifndef WATTLE_DERIVE_POINTERS_PRIV_H
#define WATTLE_DERIVE_POINTERS_PRIV_H

#include "derive/derive_priv.h"

/* One set of configuration files that git reads together. */
struct derive_pointers {
    const struct derivation *work;
    struct derive_list tops;  /* where relative names count from: work trees, bare repositories */
    struct derive_list files; /* to be read, in order; grows by what they include */
    bool owners;              /* of the owner or the machine, not of one repository */
    struct err *err;

    const char *file; /* that is read */
    bool again;       /* a work tree was found on the way: names are to be looked at again */
};
void derive_pointers_free(struct derive_pointers *pointers);

/* Guards where `path` (absolute, any form) leads, and each symlink on the way there, where a job
 * may write; with POLICY_GUARD_GIT_FOLDER the end is a git folder. Names of nothing too. */
int derive_pointers_hold(const struct derivation *work, enum policy_guard_kind kind,
                         const char *path, const char *why, struct err *err) MUST_CHECK;
/* Reads all of `files`, and guards what they name. EINVAL derive.git-config, derive.pointers. */
int derive_pointers_read(struct derive_pointers *pointers) MUST_CHECK;

/* The content of a small regular file; NULL: there is none. `buf` is initialized. */
const char *derive_pointers_text(const char *path, struct buf *buf);

/* The repository whose work tree begins at `top`, if there is one, and symlinks of guarded names
 * there. */
int derive_repository_add(const struct derivation *work, const char *top,
                          struct err *err) MUST_CHECK;

/* The same for what is opened beside the pen, where `top` may also be a git folder itself. */
int derive_repository_beside(const struct derivation *work, const char *top,
                             struct err *err) MUST_CHECK;

/* below.c: guards where symlinks at and below the guarded names (relative to the pen) lead. E2BIG
 * derive.pointers. */
int derive_pointers_below(const struct derivation *work, const char *const *guarded, size_t count,
                          struct err *err) MUST_CHECK;

#endif
