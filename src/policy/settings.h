/* The owner's files: JSON text to settings, by a strict reader. Layer 1: text in, data out.
 *
 * Shape of sandbox-runtime's settings plus one key "wattle" and "$schema"; the schema shipped is
 * contrib/policy.schema.json. Unknown and duplicate keys, wrong types, relative or unclean paths
 * are errors that name the key and suggest the nearest one. A path may begin with "~/". In
 * denyWrite what has a '*' or '?', or is relative, is a pattern. */
#ifndef WATTLE_POLICY_SETTINGS_H
#define WATTLE_POLICY_SETTINGS_H

#include "policy/policy.h"

struct settings_path {
    char *path; /* normalized, absolute; may still run through symlinks */
    enum policy_access access;
    bool hold; /* filesystem.denyWrite */
};

/* What the host admits; 0: not given. Runs of the owner's own are not bound by it. */
struct settings_host {
    uint64_t turn_jobs, jobs; /* running at once: of a turn, of the host */
    uint64_t deadline_least_ms, deadline_most_ms;
    uint64_t foreground_ms; /* a call is waited for */
    uint64_t records;       /* kept of a pen */
    uint64_t idle_ms;       /* until the host ends */
    uint64_t turn_idle_ms;  /* until a turn ends */
    uint64_t copy_bytes;    /* of one command that jobs could change */
};

struct settings {
    struct settings_path *paths;
    size_t path_count;
    char **patterns; /* of filesystem.denyWrite: policy_pattern_fault() has nothing to say */
    size_t pattern_count;
    char **env; /* "NAME=value", or "NAME": the caller's value */
    size_t env_count;
    char **unix_sockets; /* absolute paths */
    size_t unix_count;
    char **search; /* absolute folders in which models' commands are looked for */
    size_t search_count;
    bool search_given;
    struct settings_host host;
    struct policy_limits limits; /* 0: not given */
    unsigned require;            /* enum policy_require */
    bool caches_given;
    enum policy_caches caches;
    bool shared_links_given;
    bool accept_shared_links;
    bool follow_git_given;
    bool follow_git;            /* to a git folder outside of the pen */
    uint64_t preflight_entries; /* 0: not given */
    uint64_t preflight_remember_ms;
    uint64_t preflight_repositories;
};

/* Where a file comes from decides what it may say: the administrator's may only tighten (deny
 * lists, lower limits, require); anything else in it is an error. */
enum settings_source { SETTINGS_OWNER, SETTINGS_ADMIN };

/* `home` stands for "~". `name` is the file's name for messages. Caller frees with settings_freep.
 * Errors: EINVAL settings.*, json.syntax; ENOMEM. */
int settings_parse(const char *text, size_t size, const char *name, const char *home,
                   enum settings_source source, struct settings **ret_settings,
                   struct err *err) MUST_CHECK;
void settings_freep(struct settings **settings);

#endif
