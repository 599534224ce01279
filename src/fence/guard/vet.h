/* Reading what git reads, and letting through only what runs nothing. Part of src/fence/guard.
 *
 * No system call, no malloc, no state. The caller has read the bytes and installs a copy of its
 * own: nobody then holds a descriptor on what git will read, and git reads what was printed here,
 * not what was parsed. Every refusal names what was refused. Errors are EINVAL, whose
 * sentence says it all, unless said. */
#ifndef WATTLE_FENCE_GUARD_VET_H
#define WATTLE_FENCE_GUARD_VET_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define GUARD_VET_LIMIT 65536         /* bytes of a configuration */
#define GUARD_VET_POINTER_LIMIT 8192u /* of .git, gitdir, commondir */

/* ---- git's configuration syntax ------------------------------------------------------------ */

#define GUARD_CONFIG_NAME_MAX 128
#define GUARD_CONFIG_SUBSECTION_MAX 1024
#define GUARD_CONFIG_VALUE_MAX 4096

/* One setting as git understands it. */
struct guard_setting {
    char section[GUARD_CONFIG_NAME_MAX];          /* lower case */
    char subsection[GUARD_CONFIG_SUBSECTION_MAX]; /* as written, unescaped */
    char key[GUARD_CONFIG_NAME_MAX];              /* lower case */
    char value[GUARD_CONFIG_VALUE_MAX];
    bool has_subsection;
    bool has_value; /* false: a key alone, which is "true" */
    unsigned line;
};

/* Calls `each` for every setting, also those not listed: to find core.hooksPath, include.path and
 * the like at the start. Stops at a non-zero return and returns it. guard.vet-syntax. */
int guard_config_each(const char *text, size_t size,
                      int (*each)(void *context, const struct guard_setting *setting),
                      void *context, struct err *err) MUST_CHECK;

/* ---- configuration ----------------------------------------------------------------------------
 */

enum guard_note {
    GUARD_NOTE_URL = 1u << 0, /* where an existing remote leads was changed: worth a report */
};

struct guard_vetted {
    size_t size;             /* of the copy */
    unsigned notes;          /* enum guard_note */
    char worktree[PATH_MAX]; /* core.worktree that is new, made absolute; "": none. The caller
                                checks that it lies in a zone and its .git points back */
};

/* Vets `text` for the configuration in the git folder `folder` (absolute, physical). `old` is what
 * stands there now, NULL for a new one: settings that are not on the list must be there already,
 * and all of them stay, in order. Prints the copy into `ret_text`, room bytes (GUARD_VET_LIMIT is
 * enough for what git writes). Comments are kept; git's own layout comes out byte for byte.
 * guard.vet-key (names it), guard.vet-value, guard.vet-lost, guard.vet-syntax; EFBIG
 * guard.vet-size. */
struct guard_config {
    const char *folder;
    const char *text;
    size_t size;
    const char *old;
    size_t old_size;
};
int guard_vet_config(const struct guard_config *config, char *ret_text, size_t room,
                     struct guard_vetted *ret_vetted, struct err *err) MUST_CHECK;

/* Whether a setting may be in a configuration that a job writes. guard.vet-key or .vet-value. */
int guard_vet_setting(const struct guard_setting *setting, struct err *err) MUST_CHECK;

/* ---- pointers
 * ------------------------------------------------------------------------------------ */

enum guard_pointer {
    GUARD_POINTER_MODULE,   /* .../.git/modules/NAME */
    GUARD_POINTER_WORKTREE, /* .../.git/worktrees/NAME: its gitdir must name this .git */
};

/* "gitdir: PATH" of the `.git` file in `folder`. ret_path (PATH_MAX) is absolute and clean; it has
 * to lie in a zone and to be reached without a symlink. */
int guard_vet_pointer(const char *text, size_t size, const char *folder, char *ret_path,
                      enum guard_pointer *ret_kind, struct err *err) MUST_CHECK;

/* worktrees/NAME/gitdir in `folder`: the path of a `.git` file. It has to lie in a zone. */
int guard_vet_back(const char *text, size_t size, const char *folder, char *ret_path,
                   struct err *err) MUST_CHECK;

/* "../.." or the absolute path of the folder two above `folder`. */
int guard_vet_commondir(const char *text, size_t size, const char *folder,
                        struct err *err) MUST_CHECK;

/* "ref: refs/..." or an object's name. */
int guard_vet_head(const char *text, size_t size, struct err *err) MUST_CHECK;

/* Whether the bytes read so far are a whole pointer (end in a line break): the caller gave the job
 * a descriptor of an unnamed file and looks at it at the next call. */
bool guard_pointer_is_whole(const char *text, size_t size);

/* NAME.sample, of lower case letters, digits and '-'. */
bool guard_hook_is_sample(const char *name);

#endif
