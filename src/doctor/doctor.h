/* What this machine can enforce, found out by trying. Layer 4. */
#ifndef WATTLE_DOCTOR_DOCTOR_H
#define WATTLE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

struct doctor_options {
    bool json;    /* one object instead of a table */
    bool quiet;   /* say nothing when all is well; else only what is not */
    bool verbose; /* every check, also those that are fine */
    char *host;   /* wattle-host, which checks its store; NULL: not known where */
};

/* Tries every layer in a child and writes what was found to `out`. Returns what the program exits
 * with: 0 all there, 1 weaker than the best, 3 cannot confine. */
int doctor_run(const struct doctor_options *options, FILE *out);

/* One attempt to get out, as doctor_run makes it inside a run: `wattle doctor attempt NAME
 * [ARGUMENT...]`. `words` begins with the name and ends with NULL. Writes what came of it to the
 * standard output and returns 0, or 2 for an attempt there is not. */
int doctor_attempt(const char *const *words);

#endif
