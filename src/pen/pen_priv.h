/* Private to src/pen/. */
#ifndef WATTLE_PEN_PEN_PRIV_H
#define WATTLE_PEN_PEN_PRIV_H

#include "pen/pen.h"
#include "pen/tree.h"

/* `top_fd`: the pen, to ask whether somebody is behind a socket. -ENOMEM. */
int pen_findings_make(const struct pen_tree *tree, int top_fd,
                      struct pen_findings **ret_findings) MUST_CHECK;

#endif
