/* Parts of the hints for their own folder: one line of a job, and the paths in it. */
#ifndef WATTLE_POLICY_HINT_PRIV_H
#define WATTLE_POLICY_HINT_PRIV_H

#include "policy/hint.h"

/* Bytes as a job wrote them; no NUL at the end, and any inside. */
struct hint_text {
    const char *bytes;
    size_t size;
};

struct hint_line {
    const struct policy *policy;
    const char *home;        /* NULL: not known */
    struct hint_text text;   /* the line */
    struct hint_text before; /* lines before it that belong to the same error */
    const char *lower;       /* the line in lower case, cut, as a string */
};

/* Finds the first absolute path in the line, or else before it, that the policy keeps from the job,
 * and appends to `hint` what stands between them. `code` is the errno the job met. False: the
 * policy is not the reason, and nothing was appended. */
bool hint_add_refusal(const struct hint_line *line, int code, struct buf *hint);

#endif
