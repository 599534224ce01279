/* The table of places under a home, and files, that hold credentials. Layer 1: data and matching.
 */
#ifndef WATTLE_POLICY_CREDENTIALS_H
#define WATTLE_POLICY_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

/* Paths relative to a home (".ssh", ".config/gh"); ends with NULL. Dated in the .c file. */
extern const char *const credential_places[];

/* The place (an entry of the table) that `path` is or lies in, given the clean `home`; NULL: none.
 */
const char *credential_place_of(const char *path, const char *home);

/* Whether some place lies strictly below `path`: opening `path` would open it too. */
bool credential_place_below(const char *path, const char *home);

#endif
