/* One error: an errno, a sentence, a hint. Layer 0.
 *
 * Fixed size and free of pointers, so that a child can send it to its parent with one write and
 * nothing has to be freed. A function that can fail takes a `struct err *` last and returns 0 (or a
 * descriptor, a count) or -errno. It fills the error once, where the object's name is known;
 * callers may add context. Success never touches the error. */
#ifndef WATTLE_BASE_ERR_H
#define WATTLE_BASE_ERR_H

#include <stdarg.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

struct err {
    int code;       /* positive errno; 0 while nothing failed */
    char id[48];    /* stable, for programs: "fence.userns-denied" */
    char what[256]; /* one sentence: what failed, on which object */
    char hint[256]; /* what the person can do now; may be empty */
};

/* Fills `err` (which may be NULL) and returns -code. `what` is printf-like; text that does not fit
 * is cut and ends in "...". The strerror text of `code` is appended after ": " unless `code` is
 * EINVAL, where the sentence itself says what is wrong. A `code` of 0 counts as EIO. */
int err_set(struct err *err, int code, const char *id, const char *format, ...) PRINTF_LIKE(4, 5);

/* Sets the hint, replacing an earlier one. Returns -err->code (-EIO when err is NULL). */
int err_hint(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Puts "format: " before the sentence. Returns -err->code (-EIO when err is NULL). */
int err_context(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* ENOMEM, id "base.memory". Returns -ENOMEM. */
int err_memory(struct err *err);

#endif
