/* The way from a command to the host: where its doors are, what is started when nobody answers. */
#ifndef WATTLE_CLI_HOST_H
#define WATTLE_CLI_HOST_H

#include "derive/derive.h"
#include "rpc/client.h"

/* Where wattle-host is, or should be when it is nowhere: the message names it. The caller frees it.
 */
int host_find(char **ret_host, struct err *err) MUST_CHECK;

/* `start`: when nobody answers. `program` is how the caller calls itself ("wattle pens"). The host
 * gets the owner's locations and nothing else of the caller's environment. Errors: those of
 * rpc_folder and rpc_client_open. */
int host_reach(const struct derive_owner *owner, enum rpc_door door, bool start,
               const char *program, struct rpc_client **ret_client, struct err *err) MUST_CHECK;

#endif
