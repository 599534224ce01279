/* From "this folder, this command, these flags" to a policy: the only place that looks at the
 * machine to decide what a run may do. Layer 2.
 *
 * Order: locations checked (L5), owner's and administrator's files, system roots, toolchains,
 * command, pen, flags, credentials below what was opened, own folders covered, environment. */
#ifndef WATTLE_DERIVE_DERIVE_H
#define WATTLE_DERIVE_DERIVE_H

#include "policy/policy.h"
#include "policy/settings.h"

/* Who runs wattle, and where wattle's own things are. */
struct derive_owner {
    uid_t uid;
    gid_t gid;
    char *login; /* from /etc/passwd, else $USER/$LOGNAME, else "uid<N>" */
    char *group; /* name of gid, else "gid<N>" */
    char *gecos;
    char *home;         /* physical; from $HOME when it is absolute and the caller's, else passwd */
    char *account_home; /* physical home of /etc/passwd, which no environment can change; or NULL */
    char *config_dir;   /* $XDG_CONFIG_HOME/wattle, default ~/.config/wattle; physical as far as it
                           exists */
    char *state_dir;    /* $XDG_STATE_HOME/wattle */
    char *cache_dir;    /* $XDG_CACHE_HOME/wattle */
    char *runtime_dir;  /* $XDG_RUNTIME_DIR/wattle, or NULL */
    /* Private to derive. Locations that a run with another HOME or without the XDG variables would
     * use, physical; and names of homes and locations that run through symlinks. */
    struct derive_list *defaults;
    struct derive_list *typed;
};

/* Errors (L5): relative XDG values; a location physically inside `forbidden_tops` (the pen and the
 * work tree at hand; NULL-terminated; may be NULL), not the caller's, or writable by others:
 * EINVAL derive.location. Locations that do not exist yet are judged by their nearest existing
 * parent. Nothing is made. Caller frees with derive_owner_freep. */
int derive_owner_find(const char *const *forbidden_tops, struct derive_owner **ret_owner,
                      struct err *err) MUST_CHECK;
void derive_owner_freep(struct derive_owner **owner);

struct derive_flag_path {
    const char *path; /* as typed */
    enum policy_access access;
};

struct derive_request {
    const char *pen;   /* as typed; NULL: the current folder */
    const char *chdir; /* -C, as typed, relative to the caller's cwd; NULL: see architecture */
    const char *const *argv; /* argv[0] is looked up; NULL: no command (policy show) */
    const struct derive_flag_path *paths;
    size_t path_count;
    const char *const *env;        /* "NAME=V" or "NAME" (the caller's); NULL-terminated or NULL */
    const char *const *deny_write; /* paths as typed, and patterns; NULL-terminated or NULL */
    const char *const *unix_sockets;
    const char *const *policy_files; /* -p FILE ... */
    struct policy_limits limits;     /* 0: not given */
    bool caches_given;               /* --caches; else the owner's files decide, else the pen's */
    enum policy_caches caches;
    bool pin_command;
    bool discreet; /* of a command's path that the job would not see, one refusal for all reasons */
    bool
        stored_path; /* folders are searched as config.json says (wattle.path), not as $PATH does */
    bool
        pen_files; /* paths and sockets are those the owner stored of a pen: physical, or refused */
    bool guard_off; /* names will not be guarded: what leads to some is not looked for */
};

extern const char derive_pen_files[]; /* what `pen_files` are called in words: "pens files" */

/* Reads one settings file as a run would: whose it is, who may change it, what it says. Where it
 * lies against a pen is for the run to judge. Errors: ENOENT and others derive.settings, EINVAL
 * derive.location, settings.*. */
int derive_settings_check(const struct derive_owner *owner, const char *path,
                          struct err *err) MUST_CHECK;

/* The owner's config.json; one that is not there is an empty one. Caller frees with
 * settings_freep. Errors as above. */
int derive_settings_own(const struct derive_owner *owner, struct settings **ret_settings,
                        struct err *err) MUST_CHECK;

/* On ENOENT derive.command-missing (exit 127) and EACCES derive.command-not-executable (126) the
 * error says where was looked; `discreet`: EINVAL derive.command-untold. Others: derive.pen-*,
 * derive.path-*, derive.location, settings.*. */
int derive_policy(const struct derive_owner *owner, const struct derive_request *request,
                  struct policy **ret_policy, struct err *err) MUST_CHECK;

/* What the look through the pen found, relative to the pen. */
struct derive_repositories {
    const char **dot_git; /* names ".git", of any kind */
    size_t dot_git_count;
    char *const *folders; /* git folders, whatever they are called */
    size_t folder_count;
    const char **guarded; /* guarded names, but for folders ".git" */
    size_t guarded_count;
};

/* Adds to `policy`, whose pen it is about, the names that their settings and symlinks lead to.
 * EINVAL derive.repositories, derive.git-config, derive.pointers. */
int derive_pointers_nested(const struct derive_owner *owner, struct policy *policy,
                           const struct derive_repositories *found, struct err *err) MUST_CHECK;

#endif
