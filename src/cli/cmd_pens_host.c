/* `wattle pens add`, `list`, `show`, `rebind`, `remove` and `files`: the host's pens. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"

static const struct ask_column note_columns[] = {
    {.title = "NOTE", .key = "note"},
    {.title = NULL},
};
static const struct ask_column made_lines[] = {
    {.title = "id", .key = "id"},
    {.title = "folder", .key = "path"},
    {.title = "name", .key = "name"},
    {.title = "state", .key = "state"},
    {.title = "since", .key = "created_ms", .show = ASK_SHOW_TIME},
    {.title = "notes", .key = "notes", .show = ASK_SHOW_TABLE, .of = note_columns},
    {.title = NULL},
};
static const struct ask_column pen_columns[] = {
    {.title = "ID", .key = "id"},
    {.title = "STATE", .key = "state"},
    {.title = "SINCE", .key = "created_ms", .show = ASK_SHOW_TIME},
    {.title = "NAME", .key = "name"},
    {.title = "FOLDER", .key = "path"},
    {.title = NULL},
};
static const struct ask_column file_columns[] = {
    {.title = "ID", .key = "id"},
    {.title = "ACCESS", .key = "access"},
    {.title = "STATE", .key = "state"},
    {.title = "PATH", .key = "path"},
    {.title = NULL},
};
static const struct ask_column chat_columns[] = {
    {.title = "ID", .key = "id"},
    {.title = "OPEN TURNS", .key = "open_turns"},
    {.title = "NAME", .key = "name"},
    {.title = NULL},
};
static const struct ask_column show_lines[] = {
    {.title = "id", .key = "id"},
    {.title = "folder", .key = "path"},
    {.title = "name", .key = "name"},
    {.title = "state", .key = "state"},
    {.title = "since", .key = "created_ms", .show = ASK_SHOW_TIME},
    {.title = "running", .key = "running"},
    {.title = "chats", .key = "chats", .show = ASK_SHOW_TABLE, .of = chat_columns},
    {.title = "files", .key = "files", .show = ASK_SHOW_TABLE, .of = file_columns},
    {.title = NULL},
};

static const struct option_group *const json_groups[] = {&options_json, &options_help, NULL};
static const struct option_group *const add_groups[] = {&options_pens_add, &options_json,
                                                        &options_help, NULL};

/* ---- the pens -------------------------------------------------------------------------------- */

static const struct ask_param pen_word[] = {{.key = "pen", .kind = ASK_PEN}, {.key = NULL}};

static const struct ask ask_add = {
    .method = "pens.add",
    .words =
        (const struct ask_param[]){{.key = "path", .kind = ASK_PATH, .usual = "."}, {.key = NULL}},
    .options =
        (const struct ask_param[]){{"name", ASK_TEXT, offsetof(struct values, name), false, NULL},
                                   {.key = NULL}},
    .columns = made_lines,
};
const struct cmd cmd_pens_add = {
    .name = "pens",
    .verb = "add",
    .args = "[DIR]",
    .summary = "make a folder a pen that models may be let into",
    .groups = add_groups,
    .ask = &ask_add,
};

static const struct ask ask_list = {.method = "pens.list", .list = "pens", .columns = pen_columns};
const struct cmd cmd_pens_list = {
    .name = "pens",
    .verb = "list",
    .summary = "list the pens there are",
    .groups = json_groups,
    .ask = &ask_list,
};

static const struct ask ask_show = {
    .method = "pens.show",
    .words =
        (const struct ask_param[]){{.key = "pen", .kind = ASK_PEN, .usual = "."}, {.key = NULL}},
    .columns = show_lines,
};
const struct cmd cmd_pens_show = {
    .name = "pens",
    .verb = "show",
    .args = "[PEN]",
    .summary = "show a pen, its chats and its files",
    .groups = json_groups,
    .ask = &ask_show,
};

static const struct ask ask_rebind = {
    .method = "pens.rebind",
    .words = (const struct ask_param[]){{.key = "pen", .kind = ASK_PEN},
                                        {.key = "path", .kind = ASK_PATH},
                                        {.key = NULL}},
    .columns = made_lines,
};
const struct cmd cmd_pens_rebind = {
    .name = "pens",
    .verb = "rebind",
    .args = "PEN DIR",
    .summary = "give a pen another folder, and take its grants away",
    .groups = json_groups,
    .ask = &ask_rebind,
};

static const struct ask ask_remove = {.method = "pens.remove", .words = pen_word};
const struct cmd cmd_pens_remove = {
    .name = "pens",
    .verb = "remove",
    .args = "PEN",
    .summary = "forget a pen and stop what runs in it; the folder stays",
    .groups = json_groups,
    .ask = &ask_remove,
};

/* ---- its files ------------------------------------------------------------------------------- */

static const struct ask_column filed_lines[] = {
    {.title = "files", .key = "files", .show = ASK_SHOW_TABLE, .of = file_columns},
    {.title = "notes", .key = "notes", .show = ASK_SHOW_TABLE, .of = note_columns},
    {.title = NULL},
};
static const struct ask file_asks[] = {
    {.verb = "list",
     .method = "pens.files.list",
     .words = pen_word,
     .list = "files",
     .columns = file_columns},
    {.verb = "add",
     .method = "pens.files.add",
     .words = (const struct ask_param[]){{.key = "pen", .kind = ASK_PEN},
                                         {.key = "path", .kind = ASK_PATH},
                                         {.key = "access", .usual = "read"},
                                         {.key = NULL}},
     .columns = filed_lines},
    {.verb = "edit",
     .method = "pens.files.edit",
     .words = (const struct ask_param[]){{.key = "pen", .kind = ASK_PEN},
                                         {.key = "id"},
                                         {.key = "access"},
                                         {.key = "path", .kind = ASK_PATH, .optional = true},
                                         {.key = NULL}},
     .columns = filed_lines},
    {.verb = "remove",
     .method = "pens.files.remove",
     .words =
         (const struct ask_param[]){{.key = "pen", .kind = ASK_PEN}, {.key = "id"}, {.key = NULL}},
     .list = "files",
     .columns = file_columns},
    {.verb = NULL},
};
static const struct ask ask_files = {.verbs = file_asks};
const struct cmd cmd_pens_files = {
    .name = "pens",
    .verb = "files",
    .args = "PEN list | add PATH [ACCESS] | edit ID ACCESS [PATH] | remove ID",
    .summary = "what commands in a pen may reach beside it: read, write, hide, unix",
    .groups = json_groups,
    .ask = &ask_files,
};
