/* The check after a run without a guard (held/), as `wattle run` does it and tells of it. */
#ifndef WATTLE_CLI_ENDCHECK_H
#define WATTLE_CLI_ENDCHECK_H

#include "derive/derive.h"
#include "held/held.h"

struct endcheck {
    struct held *held; /* NULL: names are guarded, and nothing is to be checked */
    void (*on_event)(void *context, const struct held_event *event); /* for the records */
    void *context;
    size_t counts[HELD_ACTIONS];
    char first[512]; /* the first one that was told; "": none */
};

/* Before each run: what crashed runs left in any tree is finished, which costs one look at an empty
 * folder where there is nothing. Said when something was done. */
void endcheck_sweep(struct endcheck *endcheck, const struct derive_owner *owner, const char *run);

/* Before a run without a guard. Errors: those of held_begin(). */
int endcheck_begin(struct endcheck *endcheck, const struct derive_owner *owner, const char *run,
                   const struct policy *policy, struct err *err) MUST_CHECK;

/* After it, however it ended. What could not be checked is said, and is done at the next start. */
void endcheck_end(struct endcheck *endcheck);

/* "names that run on your side: 2 set aside, first '.envrc': ...". */
void endcheck_say(const struct endcheck *endcheck);

#endif
