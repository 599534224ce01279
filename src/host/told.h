/* What a model is told of an error. Private to src/host.
 *
 * An error speaks to the owner: of options, rules, files and folders. A model is told its own
 * mistakes in the error's words; of all else that it fails, under the error's id, and whom to ask.
 * The owner finds the whole of it in the record. */
#ifndef WATTLE_HOST_TOLD_H
#define WATTLE_HOST_TOLD_H

#include "base/err.h"

/* The same error, as a model is told it. */
void told_of(const struct err *err, struct err *ret_told);

#endif
