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
    const char *home; /* NULL: not known */
    enum hint_reader reader;
    struct hint_text text;   /* the line */
    struct hint_text before; /* lines before it that belong to the same error */
    const char *lower;       /* the line in lower case, cut, as a string */
};

/* What the reader can do: an option of the owner's, or what a model can. */
enum hint_remedy {
    HINT_ADD_HOST,
    HINT_RAISE_PROCESSES,
    HINT_RAISE_OPEN_FILES,
    HINT_RAISE_FILE_SIZE,
    HINT_RAISE_MEMORY,
    HINT_RAISE_TMP,
    HINT_GIVE_TERMINAL,
    HINT_OPEN_FILE, /* the owner's text goes on with the option and the path */
    HINT_OPEN_HOME, /* the same */
};
const char *hint_remedy(enum hint_reader reader, enum hint_remedy remedy);

/* Finds the first absolute path in the line, or else before it, that the policy keeps from the job,
 * and appends to `hint` what stands between them. `code` is the errno the job met. False: the
 * policy is not the reason, and nothing was appended. */
bool hint_add_refusal(const struct hint_line *line, int code, struct buf *hint);

#endif
