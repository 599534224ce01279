/* The list of names a run made, for whoever gets the work back (job.h has the result). Layer 3.
 *
 * The memory is made before the clone and filled by the guard; when the job is over its records are
 * put together, and the few names that are worth a word are looked for on disk. */
#ifndef WATTLE_JOB_MADE_H
#define WATTLE_JOB_MADE_H

#include "fence/guard/names.h"
#include "fence/guard/rules.h"
#include "job/job.h"
#include "job/made_tree.h"

/* Of the memory and the tables that go with it; zero: none. */
struct made {
    struct guard_made *memory;
    size_t size;
    struct guard_reported *reported;
};

/* ENOMEM base.memory. */
int made_open(struct made *made, struct err *err) MUST_CHECK;
void made_close(struct made *made); /* takes a zeroed one */

/* What a list is made for. */
struct made_question {
    const struct guard_rules *rules;
    const struct guard_reported *reported;
    const char *pen;
    /* Whether there is something at `path`, which lies in the zone that ends before `relative`;
     * -errno: ENOENT is no. */
    int (*look)(const char *path, const char *relative);
};

/* Reads the records to their end and calls `on_made`. ENOMEM base.memory. */
int made_tell(const struct made_question *question, struct guard_made_reader *reader,
              void (*on_made)(void *context, const struct job_made *made), void *context,
              struct err *err) MUST_CHECK;
/* By descriptor, without symlinks and without leaving the zone. */
int made_look(const char *path, const char *relative);

#endif
