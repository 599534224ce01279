/* What a run made, for the person and for a program that reads --made-fd. Both can do without: what
 * goes wrong here makes no run fail. */
#ifndef WATTLE_CLI_MADE_H
#define WATTLE_CLI_MADE_H

#include "job/job.h"

/* Each name, followed by a NUL. -errno; -EAGAIN: the reader did not read. */
int made_write(int fd, const struct job_made *made) MUST_CHECK;

/* A line of what to look at before it is used; without `verbose` only of what is more than an
 * ordinary part of work. */
void made_say(const struct job_made *made, bool verbose);

#endif
