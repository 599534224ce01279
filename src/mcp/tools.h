/* The three tools a model gets (C1 to C4), and their arguments. Layer 2. */
#ifndef WATTLE_MCP_TOOLS_H
#define WATTLE_MCP_TOOLS_H

#include "mcp/core.h"

extern const struct mcp_server mcp_tools_server;

/* What the host is asked for a call, by the tool's name: its method, and params made of the
 * arguments. Strict; the words of an error are for the model. Errors: EINVAL mcp.arguments, ENOMEM.
 */
int mcp_tools_request(const struct mcp_tool *tool, const json_t *arguments, const char **ret_method,
                      json_t **ret_params, struct err *err) MUST_CHECK;

/* The tools' one answer for what never became a job: state "refused", with the error's words as
 * notice. NULL: no memory. */
json_t *mcp_tools_refusal(const struct err *err);
/* Whether an answer of the host's is one the model should take for a failure of its call. */
bool mcp_tools_is_error(const json_t *job);

#endif
