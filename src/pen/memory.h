/* What is remembered of a pen between runs: <state>/preflight/<key>, one file a pen. Layer 2.
 *
 * It saves reading folders that did not change. It can never make a pen acceptable that is not:
 * what it holds is taken only for folders with the same device, inode and change time, and a
 * refusal is never given from it (preflight.c). A file that is not exactly what we would write is
 * no memory. */
#ifndef WATTLE_PEN_MEMORY_H
#define WATTLE_PEN_MEMORY_H

#include "base/buf.h"
#include "pen/tree.h"

#define PEN_MEMORY_LIMIT_BYTES (96u << 20)

/* Which memory is meant. */
struct pen_memory {
    const char *state_dir; /* the owner's, checked by whoever found it */
    const char *pen;       /* physical path */
    uint64_t dev, inode;   /* of the pen, as struct pen_folder has them */
    uint64_t guarded_key;
    uint64_t now_ms;    /* wall time */
    uint64_t lapses_ms; /* age from which on it is no memory any more */
};

/* The bytes of a settled tree. -ENOMEM, -EMSGSIZE. */
int pen_memory_encode(const struct pen_tree *tree, const char *pen, struct buf *buf) MUST_CHECK;

/* Back to a settled tree; strict, so that what is taken encodes to the same bytes again. `ret_pen`
 * is freed by the caller. -EBADMSG, -ENOMEM; then neither is touched. */
int pen_memory_decode(const void *bytes, size_t size, struct pen_tree **ret_tree,
                      char **ret_pen) MUST_CHECK;

/* The tree, and its bytes in `buf`, which the caller has initialized. Any reason why there is none
 * is -ENOENT: then the pen is walked. */
int pen_memory_load(const struct pen_memory *memory, struct buf *buf,
                    struct pen_tree **ret_tree) MUST_CHECK;

/* Writes `bytes` as a new file and renames it. When another run is doing the same it does nothing.
 * Files of pens that were not used for long are removed on the way. Errors: pen.memory. */
int pen_memory_save(const struct pen_memory *memory, const struct buf *bytes,
                    struct err *err) MUST_CHECK;

#endif
