/* What a model can do about a refusal. Private to src/host. */
#ifndef WATTLE_HOST_REMEDY_H
#define WATTLE_HOST_REMEDY_H

#include "base/err.h"

enum { REMEDY_BYTES = 256 };

/* In place of the error's hint, which may speak of options, files and folders that only the owner
 * has. "": there is none. Borrowed from the error, or a constant. */
const char *remedy_of(const struct err *err);

#endif
