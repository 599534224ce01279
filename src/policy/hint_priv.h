/* Parts of hint.c for its own folder: a line of the job's words, and paths in it. */
#ifndef WATTLE_POLICY_HINT_PRIV_H
#define WATTLE_POLICY_HINT_PRIV_H

#include "policy/hint.h"

enum hint_intent { HINT_UNKNOWN, HINT_READS, HINT_WRITES };

/* Bytes that are looked at together: one line, or a line with those before it. No NUL at the end. */
struct hint_text {
    const char *bytes;
    size_t size;
};

struct hint_finder {
    const struct policy *policy;
    const char *home; /* NULL: not known */
    struct hint_text line;   /* as it came */
    struct hint_text around; /* the line and a few before it */
    const char *lower;       /* the line in lower case, cut, without NUL bytes inside */
};

/* Calls `each` with every absolute path the text may mean, clean and harmless to print, until it
 * returns true; then returns true. */
bool hint_each_path(struct hint_text text,
                    bool (*each)(const struct hint_finder *finder, const char *path, int code,
                                 struct buf *hint),
                    const struct hint_finder *finder, int code, struct buf *hint);

/* Writes what stands between a job and a path when a call on it ended in `code` (an errno).
 * False: the policy is not the reason. */
bool hint_add_refusal(const struct hint_finder *finder, const char *path, int code,
                      struct buf *hint);

#endif
