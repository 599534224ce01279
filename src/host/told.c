#include "host/told.h"

#include "base/str.h"

#include <stddef.h>
#include <stdio.h>

#define ASK "ask the owner, who sees more with 'wattle jobs show'"
#define ASK_DOCTOR "ask the owner, who sees more with 'wattle doctor'"

/* By the error's id, or the begin of ids; the first row that fits. NULL: the error's own. Own words
 * are of what the model named itself, or of what lies in the pen. */
static const struct {
    const char *id, *what, *remedy;
} rows[] = {
    {"host.copy-size", NULL, NULL},
    {"host.copy", "the program cannot be copied to where it would run", ASK},
    {"host.state", "the host cannot use its own folders", ASK_DOCTOR},
    {"host.worker", "the command cannot be started", ASK_DOCTOR},
    {"host.", NULL, NULL},
    {"rpc.", NULL, NULL},
    {"base.", NULL, ""},
    {"derive.chdir", NULL, "name a folder in the pen"},
    {"derive.command-missing", NULL,
     "give its path; a program in the pen needs one such as './tool'"},
    {"derive.command-not-executable", NULL,
     "name its interpreter as the command, with the file as its argument"},
    {"derive.command-leads-out", NULL, "name the program by its own path"},
    {"derive.command-untold", NULL, NULL},
    {"derive.command-", "the program lies where no command may run it from", ASK},
    {"derive.pointers", NULL, ASK},
    {"derive.git-config", "git's settings of the pen cannot be read to their end", ASK},
    {"derive.path-moved", "a place that the owner named beside the pen leads to another one now",
     "ask the owner, who sees which with 'wattle pens show'"},
    {"derive.pen-", "the pen cannot be used as it is", ASK},
    {"derive.", "what the owner opened or closed for this pen cannot be kept", ASK},
    {"settings.", "the owner's settings cannot be used", ASK},
    {"policy.", "what the owner opened or closed for this pen cannot be kept", ASK},
    {"pen.memory", "the host cannot use its own folders", ASK_DOCTOR},
    {"pen.", NULL, ASK},
    {"fence.native-changed", "what was looked at was replaced before the command began",
     "ask again"},
    {"fence.", "the fence of the command cannot be set up", ASK},
    {"guard.", "the guard of the pen's names cannot be set up", ASK},
    {"job.", "the command cannot be started", ASK},
    {"store.text", NULL, NULL},
    {"store.unknown", "what it needs was removed meanwhile", "ask again"},
    {"store.", "nothing was saved: the host's store cannot be written", ASK_DOCTOR},
    {"", "the command cannot be run", ASK},
};

void told_of(const struct err *err, struct err *ret_told)
{
    size_t i = 0;

    while (!str_starts(err->id, rows[i].id))
        i++; /* the last one fits */
    *ret_told = *err;
    if (rows[i].what != NULL)
        (void) snprintf(ret_told->what, sizeof ret_told->what, "%s (%s)", rows[i].what, err->id);
    if (rows[i].remedy != NULL)
        (void) snprintf(ret_told->hint, sizeof ret_told->hint, "%s", rows[i].remedy);
}
