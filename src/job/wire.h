/* What wattle-job and its parent say to each other over one stream socket. Layer 3.
 *
 * Frames: a header of two 32-bit numbers in the machine's byte order (both ends are the same build
 * on the same machine), then `size` bytes. Numbers in payloads likewise; a text is a 32-bit length
 * and bytes without NUL. An unknown kind, a size over the limit, or a kind out of turn ends the
 * connection, and with it the job. So does a START of another version: the version changes with
 * any change of a frame, and frames are added to no version.
 *
 *   parent: START, then any of SIGNAL, STOP, SNAPSHOT; its end of file kills the job
 *   job:    FAILED; or STARTED, then OUTPUT for each SNAPSHOT; at the end NAMES (none or more) and
 *           MADE, if names were guarded, then OUTPUT and ENDED. DENIED comes at any time before
 *           these, and may come before STARTED: at most 64 at once and 16 each second, while ENDED
 *           counts all
 *
 * Texts of DENIED, NAMES and MADE come from the job: hostile bytes. */
#ifndef WATTLE_JOB_WIRE_H
#define WATTLE_JOB_WIRE_H

#include "base/buf.h"
#include "job/job.h"

#define WIRE_LIMIT_BYTES (8u << 20)
#define WIRE_VERSION 3u
#define WIRE_NAMES_BYTES (1u << 20) /* of one NAMES */
#define WIRE_ARGS_LIMIT 65536u      /* entries of argv */

enum wire_kind {
    WIRE_START =
        1, /* version, policy (bytes), cache_dir, state_dir, mechanism ("": choose), argc, argv */
    WIRE_SIGNAL,   /* number */
    WIRE_STOP,     /* TERM, then KILL */
    WIRE_SNAPSHOT, /* asks for OUTPUT now */
    WIRE_STARTED,  /* pid of the job's pid 1, Landlock ABI, weak bits, mechanism */
    WIRE_OUTPUT,   /* total (64 bit), head (bytes), tail (bytes); the rest between was left out */
    WIRE_ENDED,    /* exit code, signal, timed out, stopped, wall_ms, denied (64 bit) */
    WIRE_FAILED,   /* errno, id, what, hint */
    WIRE_DENIED,   /* pid inside, program, call, path, reason */
    WIRE_NAMES,    /* bytes: some of the names that were made (job.h), each with a NUL */
    WIRE_MADE,     /* names (64 bit), complete, told (64 bit), entries; each: path, reason, flags */
};

/* Of an entry of MADE: struct job_told. */
#define WIRE_TOLD_DEEPER 1u
#define WIRE_TOLD_GONE 2u
#define WIRE_TOLD_WRITTEN 4u

struct wire_header {
    uint32_t kind;
    uint32_t size;
};

/* ---- writing: sticky failure in the buffer, see base/buf.h -------------------------------------
 */

void wire_begin(struct buf *frame, enum wire_kind kind);
void wire_add_u32(struct buf *frame, uint32_t value);
void wire_add_u64(struct buf *frame, uint64_t value);
void wire_add_raw(struct buf *frame, const void *bytes, size_t size);
void wire_add_bytes(struct buf *frame, const void *bytes, size_t size); /* with its length */
void wire_add_text(struct buf *frame, const char *text);
/* Fills in the size: the frame can be sent as it is. -errno; EMSGSIZE when it is too large. */
int wire_finish(struct buf *frame) MUST_CHECK;
/* The same, and sends all of it, blocking. */
int wire_send(int fd, struct buf *frame) MUST_CHECK;

/* ---- reading ------------------------------------------------------------------------------------
 */

struct wire_reader {
    const unsigned char *at;
    size_t left;
    bool broken; /* sticky: something was missing or too long */
};

uint32_t wire_u32(struct wire_reader *reader);
uint64_t wire_u64(struct wire_reader *reader);
const void *wire_bytes(struct wire_reader *reader, size_t *ret_size); /* borrowed from the frame */
char *wire_text(struct wire_reader *reader);       /* caller frees; NULL: broken */
bool wire_ended(const struct wire_reader *reader); /* all read, nothing broken */

/* How many bytes to add next to what came of a frame; 0: it is whole. -EBADMSG: a size over the
 * limit. */
int wire_missing(const struct buf *frame, size_t *ret_size) MUST_CHECK;
/* Takes what is there on `fd` into `frame` (begin with an empty one). 1: a whole frame is in it,
 * 0: not yet (only with `wait` false), -EPIPE: the end, -EBADMSG: a size over the limit. */
int wire_receive(int fd, struct buf *frame, bool wait) MUST_CHECK;
enum wire_kind wire_open(const struct buf *frame, struct wire_reader *ret_reader);

#endif
