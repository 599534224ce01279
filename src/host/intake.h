/* From the files of the spool (job/spool.h) to the log of the store, each line once. Private to
 * src/host.
 *
 * A file is renamed to where no writer looks for it, read from where the store says, and removed
 * when all of it is in. Lines and how far they reach are one transaction; a file that is gone is
 * forgotten before the next one is renamed, so that one with the same inode is never taken for it.
 * Killed anywhere in between, the next host goes on without a line lost or there twice.
 *
 * The lines are checked as a stranger's: what is no line of ours is counted, and its beginning set
 * aside in the log, of a bounded number a file. */
#ifndef WATTLE_HOST_INTAKE_H
#define WATTLE_HOST_INTAKE_H

#include "store/store.h"

struct intake {
    struct store *store;
    int dir_fd;            /* of the spool */
    int fd;                /* of the file that is being taken; -1: none is open */
    struct store_spool at; /* as stored */
};

/* Errors: job.spool, store.*. */
int intake_open(struct intake *intake, struct store *store, const char *state_dir,
                struct err *err) MUST_CHECK;
void intake_close(struct intake *intake);
/* A piece of it. 1: there is more, 0: nothing is left; -EAGAIN: a writer is at it. */
int intake_step(struct intake *intake, struct err *err) MUST_CHECK;

#endif
