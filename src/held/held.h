/* The end check of runs without a guard, and what it has set aside. Layer 3.
 *
 * Where names cannot be guarded at the moment of the call (fence/guard/guard.h), they are looked
 * at when a run is over: what stood at a guarded name before the run stands there again, and what
 * came is moved to the owner's state, or reduced to what runs nothing. That detects; it does not
 * prevent: for as long as the run goes on, the names are there.
 *
 *   held_begin()  before the job: what stands at the guarded names of each tree it may write is
 *                 kept as that tree's baseline, together with the rules. A lock is shared by all
 *                 runs in the tree. A run that begins while another one goes on takes the baseline
 *                 that is there, so that what the first one makes is still new to it.
 *   held_end()    after it: whoever can have the lock alone is the last one, and checks.
 *   held_sweep()  the same for trees whose runs were all killed. The kernel has freed their locks.
 *
 * A check can be killed at any point and is done again from the start: each step leaves an object
 * either where it was or in the store. Nothing is ever deleted. What the owner makes at such a name
 * while a run goes on cannot be told from what the run made, and is set aside too. */
#ifndef WATTLE_HELD_HELD_H
#define WATTLE_HELD_HELD_H

#include "base/buf.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HELD_ID_SIZE 9   /* eight hexadecimal digits */
#define HELD_RUN_SIZE 17 /* of a run's id */

/* What was done with a name. */
enum held_action {
    HELD_SET_ASIDE, /* it was new, and is in the store now */
    HELD_DISARMED,  /* it was new and part of a new git folder: the folder works without it */
    HELD_PUT_BACK,  /* it was changed: what it had become is in the store, and it is as it was */
    HELD_TAKEN,     /* the same, but there was no copy to put back */
    HELD_RESTORED,  /* it was gone or had another mode, and is as it was; nothing is in the store */
    HELD_GONE,      /* it is gone, and could not be put back; nothing is in the store */
    HELD_FAILED,    /* it could not be moved: it is still there */
};
#define HELD_ACTIONS 7

/* Where it is now. */
enum held_how {
    HELD_MOVED,
    HELD_COPIED,   /* the tree is on another file system than the store */
    HELD_IN_PLACE, /* too much for a copy: beside its old name, under one nobody reads, closed */
};
#define HELD_HOWS 3

const char *held_action_name(enum held_action action); /* "set aside" "disarmed" ... */
const char *held_how_name(enum held_how how);          /* "moved" "copied" "in place" */

/* ---- around a run -------------------------------------------------------------------------- */

/* Texts are borrowed for the call, and may hold any byte. */
struct held_event {
    enum held_action action;
    enum held_how how;
    const char *id;     /* in the store; "": nothing is there */
    const char *top;    /* the tree */
    const char *path;   /* in it */
    const char *reason; /* "it would run on your side ..." */
};

struct held_request {
    const char *state_dir; /* the owner's, checked */
    const char *run;       /* id of the run, for what is set aside */
    void (*on_event)(void *context, const struct held_event *event);
    void *context;
};

struct held; /* opaque; one owner */

/* First finishes what crashed runs left in these trees, which is told like the end of a run. With
 * `held` freed without held_end() the check is left to the next start.
 * Errors: held.busy, held.look, held.state, held.unfinished (a name of before is still there). */
int held_begin(const struct held_request *request, const struct policy *policy,
               struct held **ret_held, struct err *err) MUST_CHECK;
int held_end(struct held *held, struct err *err) MUST_CHECK;
void held_freep(struct held **held);

/* All trees of this owner which no run holds. The first error is given at the end. */
int held_sweep(const struct held_request *request, struct err *err) MUST_CHECK;

/* ---- the store ----------------------------------------------------------------------------- */

struct held_entry {
    char id[HELD_ID_SIZE];
    char run[HELD_RUN_SIZE];
    char *top;  /* physical path of the tree */
    char *path; /* in it */
    char *reason;
    enum held_action action;
    enum held_how how;
    uint64_t when_ms; /* wall time */
    uint64_t top_dev, top_inode;
    uint64_t dev, inode, size; /* of the object, where it was found */
    int64_t ctime_ns;
    uint32_t mode; /* st_mode, with its type */
};
void held_entry_free(struct held_entry *entry); /* what it points to; for AUTO() too */

/* Calls `each` for every entry, the oldest first; stops at a non-zero return and returns it.
 * Errors: held.store. No store is no entry. */
int held_list(const char *state_dir,
              int (*each)(void *context, const struct held_entry *entry, struct err *err),
              void *context, struct err *err) MUST_CHECK;

/* `id` or an unambiguous beginning of at least four digits. Errors: ENOENT held.unknown, EINVAL
 * held.ambiguous. */
int held_find(const char *state_dir, const char *id, struct held_entry *ret_entry,
              struct err *err) MUST_CHECK;

/* The content: of a regular file its first bytes, up to the limit of `buf`; of a symlink its text;
 * of a folder the names below it, a line each, as they are. Errors: held.store. */
int held_content(const char *state_dir, const struct held_entry *entry, struct buf *buf,
                 struct err *err) MUST_CHECK;

/* Back to its place, if nothing is there; the entry is gone then. Errors: EEXIST held.in-the-way,
 * EBUSY held.busy (a run goes on there), held.place (the tree is gone or another one),
 * held.store. */
int held_restore(const char *state_dir, const struct held_entry *entry, struct err *err) MUST_CHECK;

/* Removes it for good. Errors: held.store. */
int held_drop(const char *state_dir, const struct held_entry *entry, struct err *err) MUST_CHECK;

#endif
