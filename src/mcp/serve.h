/* `wattle mcp`: the protocol on two descriptors, its calls passed to the host. Layer 2.
 *
 * One connection is one turn: its end stops what still runs. The host is reached when the first
 * call comes, and anew when it was gone, which is a new turn of the same chat. */
#ifndef WATTLE_MCP_SERVE_H
#define WATTLE_MCP_SERVE_H

#include "base/err.h"

struct rpc_client;

struct mcp_session {
    int in_fd, out_fd;
    const char *pen;      /* absolute */
    const char *leads_to; /* the same without symlinks; NULL: not known */
    const char *chat;     /* NULL: the default one */
    /* The model's door. */
    int (*connect)(void *context, struct rpc_client **ret_client, struct err *err);
    void *context;
};

/* Until the end of `in_fd`. Errors: mcp.input, mcp.output. */
int mcp_serve(const struct mcp_session *session, struct err *err) MUST_CHECK;

#endif
