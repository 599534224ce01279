/* Private to src/rpc. */
#ifndef WATTLE_RPC_RPC_PRIV_H
#define WATTLE_RPC_RPC_PRIV_H

#include "rpc/client.h"

/* Starts a host and waits for its word. 0: it listens, 1: there is another one already. */
int rpc_host_start(const struct rpc_connect *wish, int wait_ms, struct err *err) MUST_CHECK;

#endif
