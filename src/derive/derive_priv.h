/* What the files of this folder share while one policy is derived. Private to src/derive/. */
#ifndef WATTLE_DERIVE_DERIVE_PRIV_H
#define WATTLE_DERIVE_DERIVE_PRIV_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "derive/derive.h"
#include "policy/settings.h"

#include <stdbool.h>
#include <sys/stat.h>

/* ---- list.c: strings that grow ----------------------------------------------------------- */

struct derive_list {
    char **items;
    size_t count;
    size_t room_;
};

int derive_list_add(struct derive_list *list, const char *text, struct err *err) MUST_CHECK;
bool derive_list_has(const struct derive_list *list, const char *text);
void derive_list_free(struct derive_list *list);

/* ---- the work at hand -------------------------------------------------------------------- */

/* Where on this machine to look; tests put files of their own in place of it. */
struct derive_machine {
    const char *passwd_file;
    const char *group_file;
    const char *admin_file;
    const char *gitconfig_file; /* of the whole machine */
};
extern const struct derive_machine derive_this_machine;

/* A folder in which the command is looked for. */
struct derive_folder {
    char *path;
    bool inside; /* on PATH inside although no rule shows the folder as such (/bin, ~/.local/bin) */
};

struct derivation {
    const struct derive_machine *machine;
    const struct derive_owner *owner;
    const struct derive_request *request;
    struct policy *policy;

    char *cwd;         /* the caller's current folder, physical; NULL when it was deleted */
    char *cwd_typed;   /* the same as $PWD calls it */
    char *pen;         /* physical */
    char *pen_typed;   /* as the caller names it; may run through symlinks */
    char *start;       /* where the command starts, physical */
    char *start_typed; /* the same as the caller names it */
    char *tree; /* outermost git work tree around the pen that is not the owner's home; or NULL */

    struct derive_survey *survey; /* of the owner's home */
    struct derive_list homes;     /* the owner's first, then those of /etc/passwd */
    struct derive_list
        secrets; /* credential places of the owner that are symlinks: where they lead */
    struct derive_list named;  /* credential places the owner opened by their exact name */
    struct derive_list typed;  /* paths that must work inside as they were typed */
    struct derive_list passed; /* PATH entries in the pen or work tree, which are not searched */
    struct derive_list ways;   /* what the owner named by another path than the physical one */
    struct derive_list way_labels; /* where: "--ro", "config.json" */

    struct derive_folder *folders;
    size_t folder_count;

    struct policy_command command; /* owns path and found; path NULL: none */
    bool shares_git;        /* the pen is a linked worktree of a repository that was opened */
    bool layouts_found[96]; /* by row of the table in toolchain.c */

    struct settings **settings; /* the owner's files, the one read last wins */
    size_t settings_count;
    struct derive_list settings_names;
    struct derive_list settings_files; /* their physical paths */
    struct settings *admin;            /* or NULL */
};

/* derive_owner_find and derive_policy on another machine than this one. */
int derive_owner_find_on(const struct derive_machine *machine, const char *const *forbidden_tops,
                         struct derive_owner **ret_owner, struct err *err) MUST_CHECK;
int derive_policy_on(const struct derive_machine *machine, const struct derive_owner *owner,
                     const struct derive_request *request, struct policy **ret_policy,
                     struct err *err) MUST_CHECK;

/* How messages call where a rule comes from. */
extern const char derive_admin[];
extern const char derive_deny_write[];

int derive_note(const struct derivation *work, struct err *err, const char *format, ...)
    PRINTF_LIKE(3, 4) MUST_CHECK;

/* What one more rule needs. `seen` NULL: its identity is not compared at the start. */
struct derive_rule {
    const char *path;
    enum policy_access access;
    enum policy_origin origin;
    const char *why;
    bool optional;
    bool hold;
    const struct stat *seen;
};
int derive_rule_add(const struct derivation *work, const struct derive_rule *rule,
                    struct err *err) MUST_CHECK;

/* `source` may be NULL. `bytes` counts for a tmpfs. */
int derive_place_add(const struct derivation *work, enum policy_place_kind kind, const char *path,
                     const char *source, const char *why, struct err *err) MUST_CHECK;

/* Whether a rule shows `path` (of the host) inside. */
bool derive_shown(const struct derivation *work, const char *path);

/* ---- resolve.c: typed paths and symlinks ------------------------------------------------- */

/* Fills cwd and cwd_typed. A deleted folder is no error here. */
int derive_cwd_find(struct derivation *work, struct err *err) MUST_CHECK;

/* `typed` against the caller's folder, not cleaned. NULL: out of memory. */
char *derive_full(const struct derivation *work, const char *typed);

/* The physical path of `typed`, which exists, against a folder that has two names; and a clean one
 * as typed (the physical one when `typed` has ".." parts, which mean the physical parent). */
int derive_resolve(const char *typed, const char *base, const char *base_typed, char **ret_physical,
                   char **ret_typed, struct err *err) MUST_CHECK;

/* The physical path of the nearest part of clean `path` that exists, with the rest appended;
 * `ret_seen` is of that nearest part. EINVAL derive.dangling for a symlink that leads nowhere. */
int derive_resolve_missing(const char *path, char **ret_physical, bool *ret_exists,
                           struct stat *ret_seen, struct err *err) MUST_CHECK;

/* Opens `path` without its content and returns a descriptor, with its physical path: one system
 * call when it is plain. -ENOENT and the like without an error text. */
int derive_open_physical(int dir_fd, const char *top, const char *path, char **ret_physical);

/* The symlinks of every typed path become places, where no rule shows them. */
int derive_links_place(struct derivation *work, struct err *err) MUST_CHECK;
/* Whether `typed` will lead to the same folder inside. After derive_links_place. */
bool derive_links_lead(const struct derivation *work, const char *typed);

/* ---- judge.c: what kind of place a path is ----------------------------------------------- */

enum derive_fact {
    DERIVE_ROOT = 1u << 0,             /* "/" */
    DERIVE_KERNEL = 1u << 1,           /* /proc, /sys, /dev or below */
    DERIVE_INSIDE = 1u << 2,           /* a name the fence makes itself: /wattle or below, /tmp */
    DERIVE_BROAD = 1u << 3,            /* a root of many things: /home, /var, /mnt ... */
    DERIVE_SYSTEM = 1u << 4,           /* the system's own files: /etc, /boot, /usr/bin or below */
    DERIVE_HOME = 1u << 5,             /* a home itself */
    DERIVE_HOLDS_HOME = 1u << 6,       /* a home lies below */
    DERIVE_CREDENTIAL = 1u << 7,       /* is or lies in a credential place */
    DERIVE_HOLDS_CREDENTIAL = 1u << 8, /* a credential place lies below, if it exists */
    DERIVE_OWN = 1u << 9,              /* is or lies in wattle's own folders */
    DERIVE_HOLDS_OWN = 1u << 10,       /* they lie below */
    DERIVE_IN_PEN = 1u << 11,
    DERIVE_IN_TREE = 1u << 12, /* in the work tree around the pen */
    DERIVE_SOCKETS = 1u << 13, /* holds the sockets of the system or of a session */
};
#define DERIVE_UNFIT                                                                               \
    (DERIVE_ROOT | DERIVE_KERNEL | DERIVE_INSIDE | DERIVE_BROAD | DERIVE_HOME |                    \
     DERIVE_HOLDS_HOME | DERIVE_CREDENTIAL | DERIVE_HOLDS_CREDENTIAL | DERIVE_OWN |                \
     DERIVE_HOLDS_OWN)

struct derive_verdict {
    unsigned facts;     /* enum derive_fact */
    const char *object; /* the home, credential place or own folder it is about; borrowed */
};

struct derive_verdict derive_judge(const struct derivation *work, const char *path);
/* "is your home folder", "holds the credential place" ... for the gravest fact, or NULL. */
const char *derive_verdict_text(unsigned facts);

/* ---- secrets.c --------------------------------------------------------------------------- */

/* Fills homes and secrets. */
/* What the listings of a home say of a name below it; `home_fd` is that home. */
struct derive_survey;
struct derive_sighting {
    bool may_exist; /* false: surely not there */
    bool may_be_link;
};
struct derive_survey *derive_survey_new(void); /* NULL: out of memory; free() */
struct derive_sighting derive_survey_place(struct derive_survey *survey, int home_fd,
                                           const char *place);

int derive_judge_prepare(struct derivation *work, struct err *err) MUST_CHECK;
/* HIDE rules for the credential places that exist below what was opened, and for wattle's own. */
int derive_cover(struct derivation *work, struct err *err) MUST_CHECK;

/* Files and folders of the machine that only root has business with. */
const char *const *derive_system_secrets(size_t *ret_count);

/* ---- steered.c: symlinks that a job could change ----------------------------------------- */

/* Whether a job may replace the symlink at `link`, or a repository brought it. */
bool derive_link_is_steered(const struct derivation *work, const char *link);
/* Notes the full path by which something was named, for derive_steered_check. */
int derive_way_add(struct derivation *work, const char *label, const char *path,
                   struct err *err) MUST_CHECK;
/* EINVAL derive.path-steered, derive.own-link, derive.settings-writable. After all that opens. */
int derive_steered_check(const struct derivation *work, struct err *err) MUST_CHECK;

/* ---- location.c: may this file or folder say what wattle does (L5)? ---------------------- */

/* Not in the pen, nor in the repository around it; each may be NULL. The caller adds the hint. */
int derive_location_outside(const char *path, const char *what, const char *pen, const char *tree,
                            struct err *err) MUST_CHECK;
extern const char derive_location_hint[]; /* for wattle's own folders */
/* Ownership and mode of one location, and that no folder above it (up to `stop`, itself trusted;
 * NULL: all of them) belongs to others or can be changed by them. */
int derive_location_judge(const struct derive_owner *owner, const char *path,
                          const struct stat *seen, const char *what, struct err *err) MUST_CHECK;
int derive_location_above(const struct derive_owner *owner, const char *path, const char *stop,
                          const char *what, struct err *err) MUST_CHECK;

/* ---- files.c: the owner's and the administrator's settings ------------------------------- */

int derive_files_read(struct derivation *work, struct err *err) MUST_CHECK;
/* Limits, requirements, caches. */
int derive_files_apply(const struct derivation *work, struct err *err) MUST_CHECK;

/* ---- the steps --------------------------------------------------------------------------- */

int derive_pen_find(struct derivation *work, struct err *err) MUST_CHECK;        /* pen, tree */
int derive_pen_check(const struct derivation *work, struct err *err) MUST_CHECK; /* C7 */
int derive_pen_start(struct derivation *work, struct err *err) MUST_CHECK; /* start; after rules */
int derive_roots_add(const struct derivation *work, struct err *err) MUST_CHECK;
int derive_roots_places(const struct derivation *work, struct err *err) MUST_CHECK; /* last */
int derive_etc_add(const struct derivation *work, struct err *err) MUST_CHECK;
const char *const *derive_etc_entries(size_t *ret_count); /* the table, for its test */
int derive_etc_files(const struct derivation *work, struct err *err) MUST_CHECK;
int derive_toolchains_add(struct derivation *work, struct err *err) MUST_CHECK;
int derive_search_find(struct derivation *work, struct err *err) MUST_CHECK; /* PATH -> folders */
int derive_search_set_path(const struct derivation *work, struct err *err) MUST_CHECK;
int derive_command_find(struct derivation *work, struct err *err) MUST_CHECK;
int derive_command_set(const struct derivation *work, struct err *err) MUST_CHECK; /* after links */
int derive_opened_add(struct derivation *work, struct err *err) MUST_CHECK; /* flags, settings */
int derive_sockets_add(struct derivation *work, struct err *err) MUST_CHECK;
int derive_git_add(struct derivation *work, struct err *err) MUST_CHECK; /* after opened */
int derive_pointers_add(struct derivation *work, struct err *err) MUST_CHECK;
int derive_patterns_add(struct derivation *work, struct err *err) MUST_CHECK; /* after all opens */
const char *derive_shell(void); /* /bin/bash where there is one */
int derive_environment_set(const struct derivation *work, struct err *err) MUST_CHECK;
int derive_gitconfig_add(const struct derivation *work, struct err *err) MUST_CHECK;

int derive_folder_add(struct derivation *work, const char *path, bool inside,
                      struct err *err) MUST_CHECK;

/* ---- gitfolder.c: what a ".git" file names ----------------------------------------------- */

struct derive_gitfolder {
    char *folder; /* physical; the worktree's or submodule's own */
    char *common; /* what a linked worktree shares with others; NULL: a submodule's */
    struct stat seen;
    struct stat common_seen;
    bool in_pen; /* `folder` lies in the pen, which needs no rule; nothing else was looked at */
};

/* Of the pen. Found only when both directions agree physically; else `why` says what is wrong:
 * EINVAL derive.git-folder, ENOMEM. */
int derive_gitfolder_find(const struct derivation *work, struct derive_gitfolder *ret_found,
                          struct err *why) MUST_CHECK;
void derive_gitfolder_free(struct derive_gitfolder *found);
bool derive_gitfolder_is(const char *path); /* holds HEAD, objects and refs */

/* ---- toolchain.c ------------------------------------------------------------------------- */

/* Opens the known layout in which the PATH entry `path` (physical) lies. Returns 1 when it did. */
int derive_toolchain_open(struct derivation *work, const char *path, struct err *err) MUST_CHECK;
/* Adds the bin folders of the toolchains found to the folders searched. */
int derive_toolchain_folders(struct derivation *work, struct err *err) MUST_CHECK;

/* ---- gitread.c: git's configuration syntax ------------------------------------------------ */

struct derive_gitsetting {
    const char *section;    /* lower case */
    const char *subsection; /* as git has it; NULL: none */
    const char *name;       /* lower case */
    const char *value;      /* "true" for a name alone */
};

enum derive_gitflaw {
    DERIVE_GIT_BAD = 1u << 0, /* git itself refuses the text; lines were passed over */
    DERIVE_GIT_CUT = 1u << 1, /* a setting that git takes is longer than is read here, or has a NUL:
                                 nobody was told of it */
};

/* Calls `each` for every setting, until it returns something else than 0, which is returned.
 * -ENOMEM. `ret_flaws` may be NULL. */
int derive_gitconfig_each(const char *text, size_t size,
                          int (*each)(void *context, const struct derive_gitsetting *setting),
                          void *context, unsigned *ret_flaws);

/* ---- gitkeys.c: settings that name what git runs ------------------------------------------ */

enum derive_gitkey_kind {
    DERIVE_GITKEY_INCLUDE, /* a configuration file, relative to the file that names it */
    DERIVE_GITKEY_PATH,    /* a file or folder, relative to the work tree's top */
    DERIVE_GITKEY_PROGRAM, /* a command, which may be a shell's */
    DERIVE_GITKEY_URL,     /* an address, which may be a command */
    DERIVE_GITKEY_BASE,    /* such an address is the subsection */
};

struct derive_gitkey {
    const char *section, *name;
    enum derive_gitkey_kind kind;
    const char *why; /* ends a refusal */
};

const struct derive_gitkey *derive_gitkey_find(const struct derive_gitsetting *setting);
/* What "ext::COMMAND" runs; NULL: the address is another's. Whether git takes such an address
 * (protocol.ext.allow) is the owner's to change. */
const char *derive_giturl_command(const char *url);

/* Calls `each` for every word of a command that could name a file, some of them twice and some that
 * name none. What a program makes of its words, or computes, is not seen. -ENOMEM, or what `each`
 * returned. */
struct derive_gitwords {
    int (*each)(void *context, const char *word);
    void *context;
};
int derive_gitwords_each(const char *value, const struct derive_gitwords *words);

/* ---- gitconfig.c ------------------------------------------------------------------------- */

#define DERIVE_GITCONFIG_LIMIT_BYTES (64u << 10)
struct derive_gitconfig; /* the allowed keys and their values */

/* The owner's files, in git's own order: what a later one says wins. */
enum derive_gitconfig_file {
    DERIVE_GITCONFIG_XDG,
    DERIVE_GITCONFIG_HOME,
    DERIVE_GITCONFIG_FILES, /* how many */
};
/* Caller frees; NULL: out of memory. */
char *derive_gitconfig_path(const struct derive_owner *owner, enum derive_gitconfig_file file);

struct derive_gitconfig *derive_gitconfig_new(void);
void derive_gitconfig_freep(struct derive_gitconfig **config);
/* Takes what it knows from `text`; later values replace earlier ones. -ENOMEM only. */
int derive_gitconfig_read(struct derive_gitconfig *config, const char *text, size_t size);
/* Appends a configuration file with what was read and signing off. */
int derive_gitconfig_print(const struct derive_gitconfig *config, struct buf *buf);

#endif
