/* `wattle mcp`: the Model Context Protocol on stdin and stdout, its calls passed to the host. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cli/host.h"
#include "cli/option_rows.h"
#include "mcp/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_LIMIT_BYTES = 16384 };

/* Why it cannot be reached speaks of the owner's folders and settings: that is for the owner. */
static int refuse_to_model(const struct err *why, struct err *err)
{
    (void) dprintf(STDERR_FILENO, "wattle mcp: %s%s%s\n", why->what,
                   why->hint[0] == '\0' ? "" : "; ", why->hint);
    (void) err_set(err, EINVAL, "mcp.host", "the host that runs commands cannot be reached (%s)",
                   why->id);
    return err_hint(err,
                    "ask the owner, who sees more with 'wattle doctor' and 'wattle pens list'");
}

/* The owner is looked up anew each time: the host that is started gets what is true now. */
static int reach(void *context, struct rpc_client **ret_client, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    struct err why = {0};
    int r = derive_owner_find(NULL, &owner, &why);

    (void) context;
    if (r == 0)
        r = host_reach(owner, RPC_MODEL, true, "wattle mcp", ret_client, &why);
    return r < 0 ? refuse_to_model(&why, err) : 0;
}

/* Whoever started this may have tools of its own, and those are not ours to confine. What is seen
 * of it is little: a filter of system calls, or none. */
static void warn_of_parent(void)
{
    AUTO(buf_free) struct buf text = {0};
    AUTO_CLOSE int fd = -1;
    char path[40];

    (void) snprintf(path, sizeof path, "/proc/%d/status", (int) getppid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    buf_init(&text, STATUS_LIMIT_BYTES);
    if (fd < 0 || fd_read_all(fd, &text) < 0 || strstr(text.bytes, "\nSeccomp:\t0\n") == NULL ||
        strstr(text.bytes, "\nNoNewPrivs:\t0\n") == NULL)
        return;
    (void) dprintf(STDERR_FILENO,
                   "wattle mcp: the program that started this (process %d) is not confined itself: "
                   "what it runs by other tools than these is not held by wattle; turn its own "
                   "shell tool off\n",
                   (int) getppid());
}

/* As text: whether it is a pen is the host's to know, and nothing that is none is looked at. */
static int make_absolute(const char *typed, char **ret_pen, struct err *err)
{
    AUTO_FREE char *here = NULL;

    if (typed != NULL && typed[0] == '/')
        return path_normalize(typed, "/", NULL, ret_pen, err);
    here = getcwd(NULL, 0);
    if (here == NULL || here[0] != '/')
        return err_set(err, errno, "mcp.cwd", "cannot tell which folder this is");
    return path_normalize(typed == NULL ? "." : typed, here, NULL, ret_pen, err);
}

static int run(const struct values *values, struct err *err)
{
    AUTO_FREE char *pen = NULL;
    AUTO_FREE char *leads_to = NULL;
    struct mcp_session session = {
        .in_fd = STDIN_FILENO,
        .out_fd = STDOUT_FILENO,
        .chat = values->chat,
        .connect = reach,
    };
    int r;

    if (values->rest_count > 0)
        return err_set(err, EINVAL, "cli.arguments", "'mcp' takes no argument '%s'",
                       values->rest[0]);
    r = make_absolute(values->pen, &pen, err);
    if (r < 0)
        return r;
    session.pen = pen;
    if (path_physical(pen, &leads_to, NULL) == 0) /* by its name: nothing in it is looked at */
        session.leads_to = leads_to;
    warn_of_parent();
    (void) signal(SIGPIPE, SIG_IGN); /* a client or host that is gone is an error of a write */
    r = mcp_serve(&session, err);
    return r < 0 ? r : CMD_OK;
}

static const struct option_group *const groups[] = {&options_mcp, &options_help, NULL};

const struct cmd cmd_mcp = {
    .name = "mcp",
    .summary = "offer a model commands in one pen (Model Context Protocol, on stdin and stdout)",
    .groups = groups,
    .run = run,
};
