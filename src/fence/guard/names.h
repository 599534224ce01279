/* The guarded names: files that other programs of the owner execute or trust by their mere
 * presence. ONE table, dated. Part of src/fence/guard; data only, no system call.
 *
 * A pattern is a relative path of at most 8 components, compared without regard to ASCII case:
 *   "*"   in a component: any run of bytes; alone: any name
 *   "!x"  any name but x
 *   "**"  any number of components, also none; not at the beginning, where the scope says it
 * What lies below a name is guarded with it (git's hooks, an editor's folder of tasks).
 *
 * Under the guard HOLD and SET_ASIDE both mean "refused at the call", DISARM "performed, but
 * vetted" (see `vet`). Where the guard cannot run they mean what wattle-held(1) says. */
#ifndef WATTLE_FENCE_GUARD_NAMES_H
#define WATTLE_FENCE_GUARD_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define GUARD_NAMES_DATE "2026-12-01" /* when the table was last held against the programs */

enum guard_action {
    GUARD_HOLD,      /* unwritable, unremovable; a new one does not come into existence */
    GUARD_DISARM,    /* is made and works, reduced to what runs nothing */
    GUARD_SET_ASIDE, /* refused under the guard; moved to the owner's state by the fallback */
    GUARD_REPORT,    /* listed when the work is handed back */
};

enum guard_scope {
    GUARD_ANYWHERE,
    GUARD_AT_TOPS, /* in the pen's top and in every folder that holds a .git; deeper ones are
                      reported only, since packages ship them */
};

/* How a guarded name may come into existence or change all the same. */
enum guard_vet {
    GUARD_VET_NONE,
    GUARD_VET_GIT,       /* ".git": a folder may be made, a pointer file is vetted */
    GUARD_VET_HOOKS,     /* the folder may be made, and NAME.sample in it */
    GUARD_VET_CONFIG,    /* its own lock is renamed onto it: guard_vet_config() */
    GUARD_VET_LOCK,      /* the file may be made; somebody else's is held */
    GUARD_VET_COMMONDIR, /* guard_vet_commondir() */
    GUARD_VET_BACK,      /* worktrees/NAME/gitdir: guard_vet_back() */
};

struct guard_name {
    const char *pattern;
    enum guard_scope scope;
    enum guard_action existing;
    enum guard_action newcomer;
    enum guard_vet vet;
    bool is_git;        /* part of a git folder */
    bool alone;         /* what lies below it is not meant */
    const char *reason; /* ends "refused create PATH: ...": "it would run on your side when ..." */
};

/* Those the guard enforces. */
extern const struct guard_name guard_names[];
size_t guard_names_count(void);

/* Those that are only reported: Makefile, package scripts, CI files. Not refused on the way of a
 * call. */
extern const struct guard_name guard_names_reported[];
size_t guard_names_reported_count(void);

/* Both tables made ready to be asked often: of the first the rows of GUARD_AT_TOPS, since what the
 * guard lets pass of them lies in a deeper folder. NULL: out of memory. */
struct guard_reported; /* opaque; one owner */
struct guard_reported *guard_reported_new(void);
void guard_reported_freep(struct guard_reported **reported); /* for AUTO(guard_reported_freep) */
/* The row for a path relative to its zone; NULL: nothing to tell. */
const struct guard_name *guard_reported_find(const struct guard_reported *reported,
                                             const char *path);

/* What of a vetted name is performed all the same, for people; NULL: nothing. */
const char *guard_vet_words(enum guard_vet vet);
const char *guard_action_name(enum guard_action action); /* "hold" "disarm" "set aside" "report" */

#endif
