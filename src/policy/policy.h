/* What one run may read, write and reach, and within which bounds. Layer 1.
 *
 * Data only: knows no mechanism and makes no system call. A policy is derived (derive/), printed
 * and asked (policy/print.h), sent to wattle-job (policy/codec.h) and enforced (fence/). Every rule
 * remembers why it is there.
 *
 * All paths are clean (base/path.h) and, where they name something of the host, physical: deriving
 * has followed the symlinks. Strings are copied in. One owner; not shared between processes.
 * On any error the policy is unchanged. Errors: EINVAL policy.*, ENOMEM base.memory. */
#ifndef WATTLE_POLICY_POLICY_H
#define WATTLE_POLICY_POLICY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum policy_access {
    POLICY_HIDE,  /* the name is there (when a parent shows it) and answers EACCES */
    POLICY_READ,  /* read and execute */
    POLICY_WRITE, /* read, execute, create, change, remove */
};

/* Who put a rule there. Later origins do not beat earlier ones by rank: the most specific path
 * wins, and at one path HIDE wins over WRITE wins over READ. Two things are absolute, whatever lies
 * below them: what /etc/wattle hides or holds, and wattle's own folders. */
enum policy_origin {
    POLICY_FROM_BASE,      /* system roots */
    POLICY_FROM_TOOLCHAIN, /* a compiler or interpreter found on the owner's PATH or home */
    POLICY_FROM_COMMAND,   /* the executable itself */
    POLICY_FROM_PEN,
    POLICY_FROM_GIT,   /* a linked worktree's or submodule's git folder */
    POLICY_FROM_OWNER, /* config.json, pens/<id>.json, -p FILE */
    POLICY_FROM_FLAG,
    POLICY_FROM_CREDENTIALS, /* a credential place below something that was opened */
    POLICY_FROM_ADMIN,       /* /etc/wattle: can only tighten; absolute */
    POLICY_FROM_OWN,         /* wattle's configuration, state and scratch; absolute */
};

struct policy_rule {
    char *path; /* the same inside and outside */
    enum policy_access access;
    enum policy_origin origin;
    char *why;     /* one short phrase for people: "system programs", "--ro", "config.json" */
    bool optional; /* a start goes on when it is not there any more */
    bool hold;     /* "keep unwritable": lowers WRITE to READ and opens nothing by itself */
    uint64_t dev;  /* identity seen when derived (st_dev, st_ino); 0,0: not compared */
    uint64_t inode;
};

/* Something shown inside at another path than outside, or made for the run. */
enum policy_place_kind {
    POLICY_PLACE_BIND,    /* `source` of the host at `path` */
    POLICY_PLACE_TMPFS,   /* an own tmpfs of `bytes` at `path`, gone with the run */
    POLICY_PLACE_DEV,     /* the small /dev with own pts and shm */
    POLICY_PLACE_PROC,    /* an own /proc, masked */
    POLICY_PLACE_FOLDER,  /* an empty read-only folder */
    POLICY_PLACE_SYMLINK, /* `source` is the text of the link */
    POLICY_PLACE_FILE,    /* `source` is the content, read-only, made for the run */
    POLICY_PLACE_OVER,    /* `source` of the host, read-only, over the file that shows at `path` */
    POLICY_PLACE_STAYS,   /* nothing is made: a symlink of the host, whose text is `source` */
};

struct policy_place {
    enum policy_place_kind kind;
    enum policy_access access;
    char *path;   /* inside */
    char *source; /* see kind; NULL when it has none. FILE: may hold any byte but NUL */
    char *why;
    uint64_t bytes;
};

/* Where runs find their own things. Fixed, so that no path of the host shows. */
#define POLICY_INSIDE_TOP "/wattle"
#define POLICY_INSIDE_HOME "/wattle/home"
#define POLICY_INSIDE_TMP "/wattle/tmp"
#define POLICY_INSIDE_CACHE "/wattle/cache"

enum policy_net {
    POLICY_NET_NONE, /* own network namespace, loopback only */
    POLICY_NET_HOSTS,
    POLICY_NET_OPEN,
};

struct policy_limits {
    uint64_t deadline_ms;   /* of monotonic time; 0: none */
    uint64_t kill_after_ms; /* between TERM and KILL */
    uint64_t memory_bytes;  /* of all processes together; 0: not bounded; needs a cgroup */
    uint64_t processes;
    uint64_t open_files; /* of one process */
    uint64_t file_bytes; /* greatest size of one file */
    uint64_t tmp_bytes;  /* /tmp */
    uint64_t shm_bytes;  /* /dev/shm */
};
extern const struct policy_limits policy_default_limits;

/* Layers whose absence is a refusal instead of a remark, when the owner requires them. */
enum policy_require {
    POLICY_REQUIRE_LANDLOCK = 1u << 0,
    POLICY_REQUIRE_MEMORY = 1u << 1,    /* a bound on memory in force */
    POLICY_REQUIRE_PROCESSES = 1u << 2, /* a bound on processes that also binds root */
    POLICY_REQUIRE_GUARD = 1u << 3,     /* names are guarded at the moment of the call */
};

enum policy_caches { POLICY_CACHES_PEN, POLICY_CACHES_JOB };

/* How a pen is looked through before the start (pen/). Nothing the job knows of: wattle-job is not
 * told. */
struct policy_preflight {
    uint64_t entries;      /* looked at before giving up */
    uint64_t remember_ms;  /* until a folder that did not change is read again */
    uint64_t repositories; /* whose settings are read before giving up */
    bool accept_shared_links;
};
extern const struct policy_preflight policy_default_preflight;

/* The executable that was reviewed. `pinned`: it is mounted read-only over its own path from the
 * file that had this identity, and a start with another identity fails (C6). */
struct policy_command {
    char *path;    /* physical */
    char *found;   /* what is executed: as it was found, may be a symlink that shows inside; NULL:
                      path */
    char *content; /* the host's: of what jobs could change, the hash that was reviewed; NULL: none.
                      wattle-job is not told */
    bool pinned;
    uint64_t dev, inode, size_bytes;
    int64_t mtime_ns, ctime_ns;
};

struct policy; /* opaque */

struct policy *policy_new(void); /* NULL: out of memory */
void policy_free(struct policy *policy);
void policy_freep(struct policy **policy); /* for AUTO(policy_freep) */

/* ---- rules ------------------------------------------------------------------------------- */

/* Adds or merges one rule; see enum policy_origin for what wins. `rule->path` must be clean and not
 * "/". The strings of `rule` are borrowed for the call. A path has at most two rules: a plain one
 * and, after it, one that holds. An absolute origin may only hide or hold.
 * EINVAL policy.path, policy.root, policy.absolute, policy.too-many. */
int policy_add_rule(struct policy *policy, const struct policy_rule *rule,
                    struct err *err) MUST_CHECK;
/* Sorted by path, a parent before what lies below it. Borrowed from the policy until it changes. */
size_t policy_rules(const struct policy *policy);
const struct policy_rule *policy_rule_at(const struct policy *policy, size_t index);

/* The answer for one path of the host: what the fence will let a job do with it, and the rule that
 * decides (NULL: nothing opens it). The same resolver decides what is mounted. `ret_rule` may be
 * NULL. */
enum policy_access policy_resolve(const struct policy *policy, const char *path,
                                  const struct policy_rule **ret_rule);

/* ---- places ------------------------------------------------------------------------------ */

int policy_add_place(struct policy *policy, const struct policy_place *place, struct err *err)
    MUST_CHECK; /* EINVAL policy.path, .root, .place, .place-twice */
size_t policy_places(const struct policy *policy); /* sorted by path */
const struct policy_place *policy_place_at(const struct policy *policy, size_t index);
const struct policy_place *policy_place_find(const struct policy *policy, const char *path);

/* ---- guarded names: those of the table in fence/guard/names.c, and these ------------------------
 */

enum policy_guard_kind {
    POLICY_GUARD_PATTERN, /* may not be made or changed: "**" "/" "*.pem", "docs/x" from the top of
                             each writable tree, or absolute in one */
    POLICY_GUARD_HELD,    /* absolute and physical: held with all below it */
    POLICY_GUARD_GIT_FOLDER, /* absolute and physical: a git folder that is not called ".git" */
    POLICY_GUARD_AT_TOPS,    /* relative: held with all below it in the top of each writable tree
                                and in every folder that holds a .git */
};

struct policy_guard_rule {
    enum policy_guard_kind kind;
    char *text;
    char *why;     /* of a pattern: "the rule '...' of FILE" */
    bool absolute; /* the administrator's: without a guard that prevents there is no run */
};

/* POLICY_GUARD_ON until it is set otherwise. */
enum policy_guard {
    POLICY_GUARD_OFF,    /* no name is guarded */
    POLICY_GUARD_DETECT, /* those that are there are held as rules, new ones are not prevented */
    POLICY_GUARD_ON,     /* refused at the moment of the call */
};
void policy_set_guard(struct policy *policy, enum policy_guard guard);
enum policy_guard policy_get_guard(const struct policy *policy);
#define POLICY_PATTERN_PARTS_MAX 8 /* GUARD_COMPONENTS_MAX */
/* Whether a path means more than one name: it has a '*' or '?'. */
bool policy_is_pattern(const char *text);
/* What is wrong with a pattern as its owner wrote it, absolute or relative: "is empty". NULL: it is
 * one. */
const char *policy_pattern_fault(const char *pattern);
extern const char policy_pattern_hint[]; /* how one is written */
/* The strings are borrowed for the call. Patterns are read when the fence is prepared. EINVAL
 * policy.guard, policy.path, policy.root, policy.too-many. */
int policy_add_guard_rule(struct policy *policy, const struct policy_guard_rule *rule,
                          struct err *err) MUST_CHECK;
size_t policy_guard_rules(const struct policy *policy); /* as added */
const struct policy_guard_rule *policy_guard_rule_at(const struct policy *policy, size_t index);

/* ---- environment: exactly these and no other ----------------------------------------------- */

bool policy_env_name_ok(const char *name, size_t size); /* [A-Za-z_][A-Za-z0-9_]* */

/* `name` must be one; an earlier value is replaced. EINVAL policy.env. */
int policy_set_env(struct policy *policy, const char *name, const char *value,
                   struct err *err) MUST_CHECK;
size_t policy_envs(const struct policy *policy);
const char *policy_env_at(const struct policy *policy, size_t index);  /* "NAME=value" */
const char *policy_env(const struct policy *policy, const char *name); /* value or NULL */

/* ---- the rest ---------------------------------------------------------------------------- */

/* Physical top of the pen; identity is in its rule. cwd: where the command starts, as the caller
 * names it (may run through symlinks made inside); defaults to the pen. */
int policy_set_pen(struct policy *policy, const char *path, struct err *err) MUST_CHECK;
const char *policy_pen(const struct policy *policy); /* NULL until set */
int policy_set_cwd(struct policy *policy, const char *path, struct err *err) MUST_CHECK;
const char *policy_cwd(const struct policy *policy);

int policy_set_command(struct policy *policy, const struct policy_command *command,
                       struct err *err) MUST_CHECK;
const struct policy_command *policy_command(const struct policy *policy); /* NULL until set */

struct policy_limits *policy_limits(struct policy *policy); /* changed in place */
const struct policy_limits *policy_get_limits(const struct policy *policy);
struct policy_preflight *policy_preflight(struct policy *policy); /* changed in place */
const struct policy_preflight *policy_get_preflight(const struct policy *policy);

void policy_set_net(struct policy *policy, enum policy_net net);
enum policy_net policy_get_net(const struct policy *policy);
void policy_set_caches(struct policy *policy, enum policy_caches caches);
enum policy_caches policy_get_caches(const struct policy *policy);
void policy_require(struct policy *policy, unsigned layers); /* adds to those required */
unsigned policy_required(const struct policy *policy);

/* Remarks for the owner found while deriving ("~/bin on PATH adds nothing: it is in your home").
 * Shown by policy show, --dry-run, -v. */
int policy_add_note(struct policy *policy, const char *note, struct err *err) MUST_CHECK;
size_t policy_notes(const struct policy *policy);
const char *policy_note_at(const struct policy *policy, size_t index);

const char *policy_access_name(enum policy_access access); /* "hidden" "read" "write" */
const char *policy_origin_name(enum policy_origin origin); /* "base" "toolchain" ... */

#endif
