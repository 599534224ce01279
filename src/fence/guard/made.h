/* The list of names a job made: records that the guard, in pid 1, leaves for the supervisor in
 * memory both share. Part of src/fence/guard; no system call.
 *
 * Each call that made, moved or removed a name in a zone appends one record, without a lock and
 * without a system call: room is reserved by one atomic addition. Two threads append, so records
 * may stand in another order than their calls took place in. What keeps a name from being lost by
 * that: a name that goes is recorded before the call that takes it, a name that comes after the
 * call that made it. So what exists in the end has a record after all that took it away. A file
 * that is made in a folder while that folder moves may be listed where the folder was.
 *
 * Memory that is full takes no more; the list is then told to be incomplete. It is touched as it
 * is filled, and counts among the job's. */
#ifndef WATTLE_FENCE_GUARD_MADE_H
#define WATTLE_FENCE_GUARD_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_MADE_BYTES (32u << 20)

enum guard_made_kind {
    GUARD_MADE_NAME = 1, /* came into existence */
    GUARD_MADE_MOVE,     /* from `path` to `other`, which also has a NAME after it */
    GUARD_MADE_SWAP,     /* `path` and `other` changed places */
    GUARD_MADE_GONE,
    GUARD_MADE_WRITE, /* a file that was there was opened for writing; only names worth a report */
};

/* The shared memory: zero when it is new. */
struct guard_made;

/* ---- the guard's side ------------------------------------------------------------------------ */

struct guard_made_name {
    const char *folder; /* absolute and true */
    const char *name;   /* one component; NULL: there is no such name */
};

struct guard_made_event {
    enum guard_made_kind kind;
    struct guard_made_name name, other; /* `other` with MOVE and SWAP */
};

/* Appends a record that does not count yet. `size` is that of the memory. Returns where it stands;
 * 0: nowhere, it is full. */
size_t guard_made_add(struct guard_made *made, size_t size, const struct guard_made_event *event);
/* Makes it count, or never. `place` 0: does nothing. */
void guard_made_settle(struct guard_made *made, size_t place, bool happened);

/* ---- the reader's side: the bytes are taken for a stranger's ----------------------------------
 */

struct guard_made_record {
    enum guard_made_kind kind;
    bool unsure;              /* the guard ended before it said whether the call succeeded */
    const char *path, *other; /* absolute; not ended by a NUL */
    size_t path_size, other_size;
};

struct guard_made_reader {
    const unsigned char *bytes;
    size_t size, at;
    bool complete; /* false: something is missing, or the rest makes no sense */
};

/* The records in shared memory of `size` bytes. Nobody may write it any more. */
struct guard_made_reader guard_made_read(const struct guard_made *made, size_t size);
/* False: there is no other. */
bool guard_made_next(struct guard_made_reader *reader, struct guard_made_record *ret_record);

#endif
