/* From the options of a command to a policy. Shared by run and the policy verbs, so that what
 * `policy show` prints is what `run` enforces. */
#ifndef WATTLE_CLI_REQUEST_H
#define WATTLE_CLI_REQUEST_H

#include "cli/options.h"
#include "derive/derive.h"

/* `argv` NULL: no command. Nothing is written to disk. The caller frees both. Errors: those of
 * derive/, and ENOTSUP cli.not-built for what this version cannot do yet. */
int request_derive(const struct values *values, const char *const *argv,
                   struct derive_owner **ret_owner, struct policy **ret_policy,
                   struct err *err) MUST_CHECK;

/* The owner alone, with the pen of `values` as the place no configuration may lie in. */
int request_owner(const struct values *values, struct derive_owner **ret_owner,
                  struct err *err) MUST_CHECK;

#endif
