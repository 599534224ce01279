/* The two files of held names: a tree's baseline, and the note of an entry in the store. Layer 3.
 *
 * Both lie in the owner's state, where no job can write; they are read strictly all the same: what
 * is taken encodes to the same bytes again, and half a file has a wrong sum. Format: codec.c. */
#ifndef WATTLE_HELD_CODEC_H
#define WATTLE_HELD_CODEC_H

#include "held/held.h"

#define HELD_BASELINE_LIMIT_BYTES (128u << 20)
#define HELD_ENTRY_LIMIT_BYTES (64u << 10)

/* What stood at a guarded name. */
struct held_item {
    char *path; /* in the tree */
    uint32_t mode;
    uint8_t vet; /* enum guard_vet */
    uint64_t dev, inode, size, links;
    int64_t ctime_ns;
    bool has_content; /* of a regular file or a symlink that is not too large */
    char *content;    /* may hold any byte; ends in one more NUL */
    size_t content_size;
};

struct held_baseline {
    char *top; /* physical */
    uint64_t dev, inode;
    char run[HELD_RUN_SIZE];
    struct policy *policy;   /* what the rules are made of */
    struct held_item *items; /* sorted by path */
    size_t count, room;
};
void held_baseline_free(struct held_baseline *baseline); /* what it points to; for AUTO() too */

/* The place for one more item; NULL: out of memory. */
struct held_item *held_baseline_add(struct held_baseline *baseline);

/* -EBADMSG: not what would be written. -ENOMEM, -EMSGSIZE. On failure nothing is given. */
int held_baseline_encode(const struct held_baseline *baseline, struct buf *buf) MUST_CHECK;
int held_baseline_decode(const void *bytes, size_t size,
                         struct held_baseline *ret_baseline) MUST_CHECK;
int held_entry_encode(const struct held_entry *entry, struct buf *buf) MUST_CHECK;
int held_entry_decode(const void *bytes, size_t size, struct held_entry *ret_entry) MUST_CHECK;

#endif
