#include "host/remedy.h"

#include "base/str.h"

#include <stddef.h>

/* By the error's id, or the begin of ids; the first row that fits. NULL: the hint is for models. */
static const struct {
    const char *id;
    const char *remedy;
} remedies[] = {
    {"host.", NULL},
    {"rpc.", NULL},
    {"derive.command-untold", NULL},
    {"derive.chdir", "name a folder in the pen"},
    {"derive.command-missing", "give its path; a program in the pen needs one such as './tool'"},
    {"derive.command-not-executable",
     "name its interpreter as the command, with the file as its argument"},
    {"derive.command-leads-out", "name the program by its own path"},
    {"", "ask the owner"},
};

const char *remedy_of(const struct err *err)
{
    size_t i = 0;

    while (!str_starts(err->id, remedies[i].id))
        i++; /* the last one fits */
    return remedies[i].remedy == NULL ? err->hint : remedies[i].remedy;
}
