/* What of the machine a job needs to know, looked at in a thread of its own. Private to src/host.
 *
 * The pen and the executable are found as a run finds them, each with its identity. Done once at
 * the request, so that the owner's grants can be asked, and once more after the owner's answer,
 * when both have to be what they were (C6). */
#ifndef WATTLE_HOST_ADMIT_H
#define WATTLE_HOST_ADMIT_H

#include "derive/derive.h"
#include "policy/policy.h"
#include "store/store.h"

#include <uv.h>

struct admit_file {
    char *path;
    enum store_access access;
};

/* Everything is a copy: the thread shares nothing but the owner, which never changes. */
struct admit_request {
    const struct derive_owner *owner;
    char *pen; /* as stored: physical */
    uint64_t pen_dev, pen_inode;
    char *working_directory;
    char **argv;
    struct admit_file *files; /* the owner's extra ones (G14) */
    size_t file_count;
    uint64_t deadline_ms;
    char **trees; /* that jobs of any pen can write, as stored */
    size_t tree_count;
    uint64_t copy_bytes;
    bool discreet; /* a model asks, see derive.h */
    bool copy;     /* what jobs could change, to run it; else it is only hashed */
};
void admit_request_free(struct admit_request *request); /* what it points to */
/* One more of `files`. -ENOMEM, no err. */
int admit_add_file(struct admit_request *request, const struct store_file *file) MUST_CHECK;
/* Fills `trees`. Errors: store.*, ENOMEM. */
int admit_add_trees(struct store *store, struct admit_request *request, struct err *err) MUST_CHECK;

/* To where they lead: the owner named files of pens as it was handy. In a thread. */
void admit_follow_trees(struct admit_request *request);

struct admit_answer {
    struct err err;        /* code 0: none */
    struct policy *policy; /* with a pinned command, or one that was copied; admit_policy_freep */
};

/* Frees it, and what was copied for it. */
void admit_policy_freep(struct policy **policy);

struct admission; /* opaque; frees itself after `done` */

/* Takes what `request` holds. `done` is called by the loop; it takes the answer's policy. */
int admit_begin(uv_loop_t *loop, struct admit_request *request,
                void (*done)(void *context, struct admit_answer *answer), void *context,
                struct admission **ret_admission, struct err *err) MUST_CHECK;
/* `done` is not called any more. */
void admit_forget(struct admission *admission);

/* Whether two policies are of the same command and pen. EINVAL host.changed, with what to do. */
int admit_compare(const struct policy *asked, const struct policy *now, struct err *err) MUST_CHECK;
/* The six that need no grant (G1). */
bool admit_is_harmless(const struct policy *policy);
/* Whether a grant is of this very executable. */
bool admit_fits(const struct store_identity *granted, const struct policy *policy);

#endif
