/* `wattle grants`: which programs a pen's models may run without asking. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"

static const struct option_group *const add_groups[] = {&options_grants_pen, &options_grants_add,
                                                        &options_json, &options_help, NULL};
static const struct option_group *const list_groups[] = {&options_grants_pen, &options_json,
                                                         &options_help, NULL};
static const struct option_group *const groups[] = {&options_json, &options_help, NULL};

static const struct ask_column lines[] = {
    {.title = "id", .key = "id"},           {.title = "pen", .key = "pen"},
    {.title = "chat", .key = "chat"},       {.title = "program", .key = "executable"},
    {.title = "network", .key = "network"}, {.title = NULL},
};
static const struct ask_column columns[] = {
    {.title = "ID", .key = "id"},
    {.title = "STATE", .key = "state"},
    {.title = "CHAT", .key = "chat"},
    {.title = "NETWORK", .key = "network"},
    {.title = "USES", .key = "uses"},
    {.title = "LAST USED", .key = "used_ms", .show = ASK_SHOW_TIME},
    {.title = "PROGRAM", .key = "executable"},
    {.title = NULL},
};

static const struct ask ask_add = {
    .method = "grants.add",
    .words = (const struct ask_param[]){{.key = "pen", .kind = ASK_PEN},
                                        {.key = "executable"},
                                        {.key = NULL}},
    .options =
        (const struct ask_param[]){
            {"pen", ASK_PEN, offsetof(struct values, pen), false, NULL},
            {"chat", ASK_TEXT, offsetof(struct values, chat), false, NULL},
            {"network", ASK_FLAG, offsetof(struct values, network), false, NULL},
            {.key = NULL}},
    .columns = lines,
};
const struct cmd cmd_grants_add = {
    .name = "grants",
    .verb = "add",
    .args = "[PEN] PROGRAM",
    .summary = "let models run PROGRAM in PEN (or --pen PEN), with any arguments",
    .groups = add_groups,
    .ask = &ask_add,
};

static const struct ask ask_list = {
    .method = "grants.list",
    .words =
        (const struct ask_param[]){{.key = "pen", .kind = ASK_PEN, .usual = "."}, {.key = NULL}},
    .options =
        (const struct ask_param[]){{"pen", ASK_PEN, offsetof(struct values, pen), false, NULL},
                                   {.key = NULL}},
    .list = "grants",
    .columns = columns,
};
const struct cmd cmd_grants_list = {
    .name = "grants",
    .verb = "list",
    .args = "[PEN]",
    .summary = "list what models may run in PEN without asking",
    .groups = list_groups,
    .ask = &ask_list,
};

static const struct ask ask_remove = {
    .method = "grants.remove",
    .words = (const struct ask_param[]){{.key = "grant"}, {.key = NULL}},
};
const struct cmd cmd_grants_remove = {
    .name = "grants",
    .verb = "remove",
    .args = "GRANT",
    .summary = "take a grant away; what runs goes on",
    .groups = groups,
    .ask = &ask_remove,
};
