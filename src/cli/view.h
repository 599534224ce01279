/* A policy and the fence it would get, printed for `policy show` and --dry-run. */
#ifndef WATTLE_CLI_VIEW_H
#define WATTLE_CLI_VIEW_H

#include "derive/derive.h"

/* Prints to stdout, as text or as one JSON object. A fence that cannot be built here is an error
 * after the policy was printed. The places every run gets on disk are added to the policy. */
int view_print(struct policy *policy, const struct derive_owner *owner, const char *mechanism,
               bool json, struct err *err) MUST_CHECK;

#endif
