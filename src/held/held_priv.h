/* What the files of src/held share. Private to it. */
#ifndef WATTLE_HELD_HELD_PRIV_H
#define WATTLE_HELD_HELD_PRIV_H

#include "held/codec.h"
#include "held/look.h"

/* ---- state.c: the files of the trees ------------------------------------------------------- */

#define HELD_KEY_SIZE 40 /* "<device>-<inode>" in hexadecimal digits */

/* <state>/held/trees and <state>/held/store, made 0700 with `make`. Errors: held.state, held.store;
 * ENOENT without `make`. */
int held_trees_open(const char *state_dir, bool make, struct err *err) MUST_CHECK;
int held_store_open(const char *state_dir, bool make, struct err *err) MUST_CHECK;

void held_key(uint64_t dev, uint64_t inode, char key[HELD_KEY_SIZE]);
int64_t held_nanoseconds(const struct timespec *time);

/* The lock of a tree, as a descriptor that has it. The kernel frees it with the process. */
enum held_lock { HELD_SHARED, HELD_ALONE, HELD_ALONE_NOW };
/* -EBUSY: somebody else has it (SHARED and ALONE: for too long). */
int held_lock(int trees_fd, const char *key, enum held_lock how) MUST_CHECK;
/* From SHARED to ALONE or back, without waiting. For a moment it has none: ask held_lock_is_current
 * again. -EBUSY: somebody else has it now, and this descriptor none. */
int held_relock(int lock_fd, enum held_lock how) MUST_CHECK;
bool held_lock_is_current(int trees_fd, const char *key, int lock_fd);

/* -ENOENT: there is none, or none that can be read. */
int held_baseline_load(int trees_fd, const char *key,
                       struct held_baseline *ret_baseline) MUST_CHECK;
bool held_baseline_is_there(int trees_fd, const char *key);
/* As a new file, synchronized, renamed. */
int held_baseline_save(int trees_fd, const char *key, const struct held_baseline *baseline,
                       struct err *err) MUST_CHECK;
/* With the lock ALONE: the tree's baseline goes, then the lock's file. */
void held_baseline_remove(int trees_fd, const char *key);

/* Writes `bytes` to `name` in `dir_fd` by a new file and a rename. -errno. */
int held_write_file(int dir_fd, const char *name, const struct buf *bytes, bool sync) MUST_CHECK;

/* ---- baseline.c: what stands there now ----------------------------------------------------- */

#define HELD_COPY_BYTES (64u << 10)   /* of one file */
#define HELD_COPIES_BYTES (16u << 20) /* of a tree */

/* The trees a job with this policy may write, each but those that lie in another one. */
struct held_tops {
    struct {
        char *path;
        int fd;
        uint64_t dev, inode;
    } items[GUARD_ZONES_MAX];
    size_t count;
};
int held_tops_find(const struct policy *policy, struct held_tops *ret_tops,
                   struct err *err) MUST_CHECK;
void held_tops_free(struct held_tops *tops);

/* Of the policy only what guarded names depend on: no environment, no command. */
int held_policy_reduce(const struct policy *policy, struct policy **ret_policy,
                       struct err *err) MUST_CHECK;

/* Fills `baseline`, whose top and policy are set. */
int held_baseline_make(int top_fd, const struct guard_rules *rules, struct held_baseline *baseline,
                       struct err *err) MUST_CHECK;

/* Reads a regular file of at most `most` bytes without waiting for anybody, or a symlink's text;
 * ends in a NUL. -EFBIG: there is more; -EINVAL: it is something else. Caller frees. */
int held_read(int dir_fd, const char *name, mode_t type, size_t most, char **ret_bytes,
              size_t *ret_size) MUST_CHECK;

/* ---- store.c, take.c, copy.c: one object --------------------------------------------------- */

struct held_take {
    int store_fd;
    int folder_fd;
    const char *name;
    const char *path; /* in the tree */
    const struct held_baseline *tree;
    const char *reason;
    enum held_action action;
};

/* Takes the object out of the tree. Errors: held.move. `ret_entry` is filled when 0 is returned;
 * -ENOENT: it is gone already. */
int held_take_object(const struct held_take *take, struct held_entry *ret_entry,
                     struct err *err) MUST_CHECK;

/* The name of what is HELD_IN_PLACE, beside where it was. */
#define HELD_NEIGHBOUR_PREFIX ".wattle-held-"
#define HELD_NEIGHBOUR_SIZE 32
void held_neighbour(const char *id, char name[HELD_NEIGHBOUR_SIZE]);

#define HELD_OBJECT "object" /* in an entry's folder */

/* The folder that `path` is in, for reading, and the name there. -errno. */
int held_folder_open(int top_fd, const char *path, const char **ret_name) MUST_CHECK;

/* Whoever changes the store has its lock, on the descriptor of its folder. -EBUSY: not in time. */
int held_store_lock(int store_fd) MUST_CHECK;
void held_store_unlock(int store_fd);
/* With the lock. A new entry's folder; fills entry->id. -errno. */
int held_entry_make(int store_fd, struct held_entry *entry, int *ret_fd) MUST_CHECK;
int held_entry_save(int entry_fd, const struct held_entry *entry) MUST_CHECK;
int held_entry_open(int store_fd, const char *id) MUST_CHECK;
int held_entry_load(int store_fd, const char *id, struct held_entry *ret_entry) MUST_CHECK;
/* Whether there is an object: not before the move, or after it was restored. */
bool held_entry_has_object(int entry_fd, const struct held_entry *entry);
/* With the lock: what was begun and has no object goes. */
void held_store_sweep(int store_fd);
/* Calls for each entry that has its object, in no order. Stops at a non-zero return. -errno. */
int held_each(int store_fd, int (*each)(void *context, const struct held_entry *entry),
              void *context) MUST_CHECK;

/* Copies an object of any kind that is not too much: -EFBIG. The target must not exist; what was
 * made of it when it failed stays. -errno. */
#define HELD_MOVE_BYTES (64u << 20)
#define HELD_MOVE_ENTRIES 10000u
int held_copy(int from_fd, const char *from, int to_fd, const char *to) MUST_CHECK;

/* ---- check.c, disarm.c: the check ---------------------------------------------------------- */

struct held_check {
    const struct held_request *request;
    const struct held_baseline *baseline;
    const struct guard_rules *rules;
    int top_fd;
    int store_fd;
    size_t failures; /* names that are still there */
};

/* What a new name is worth, by its look alone. */
enum held_newcomer {
    HELD_NEW_ENTER,  /* a new git folder, or its hooks: what is in it is looked at */
    HELD_NEW_STAYS,  /* a sample of a hook */
    HELD_NEW_REDUCE, /* a configuration: it stays if it runs nothing, else what of it does not */
    HELD_NEW_VET,    /* a pointer of git's: it stays if it leads to where it may */
    HELD_NEW_TAKE,
};
enum held_newcomer held_newcomer(const struct held_found *found);

/* Looks at everything, and does what is to be done. Errors: of the walk and the store. */
int held_check_run(struct held_check *check, struct err *err) MUST_CHECK;

/* Takes it and tells; what fails is told and counted. 1: it is gone from there, 0: it is not. Only
 * what ends the check is an error. */
int held_check_take(struct held_check *check, const struct held_found *found,
                    enum held_action action, const char *reason, struct err *err) MUST_CHECK;
/* Of something that is not in the store. */
void held_check_tell(const struct held_check *check, enum held_action action, const char *path,
                     const char *reason);

/* Whether what is there may stay, if need be as a copy without what others could still write to.
 * `old` NULL: it is new. 1: it stays; 0: it does not, and `why` says it. */
int held_vet(const struct held_check *check, const struct held_found *found,
             const struct held_item *old, struct err *why) MUST_CHECK;
/* What of a configuration runs nothing, as a text of its own. -ENOMEM, -EINVAL: nothing of it. */
int held_reduce_config(const struct held_check *check, const struct held_found *found,
                       struct buf *ret_text) MUST_CHECK;

/* Of one that was changed: what of the change runs nothing, and of `old` what does. -ENOMEM,
 * -EINVAL: it cannot be told. */
int held_keep_config(const struct held_check *check, const struct held_found *found,
                     const struct held_item *old, struct buf *ret_text) MUST_CHECK;

/* ---- put.c: making things in the tree ------------------------------------------------------ */

/* What stood there, at a name where nothing is. -EEXIST, -errno. */
int held_put_item(int folder_fd, const char *name, const struct held_item *item) MUST_CHECK;
int held_put_file(int folder_fd, const char *name, const char *bytes, size_t size,
                  mode_t mode) MUST_CHECK;
/* In the place of a file, in one step. */
int held_replace_file(int folder_fd, const char *name, const char *bytes, size_t size,
                      mode_t mode) MUST_CHECK;

#endif
