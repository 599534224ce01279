/* `wattle chats`: the conversations that have worked in a pen. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"

static const struct option_group *const list_groups[] = {&options_of_pen, &options_json,
                                                         &options_help, NULL};
static const struct option_group *const groups[] = {&options_json, &options_help, NULL};

static const struct ask_param chat_word[] = {{.key = "chat"}, {.key = NULL}};
static const struct ask_column columns[] = {
    {.title = "ID", .key = "id"},
    {.title = "PEN", .key = "pen"},
    {.title = "TURNS", .key = "turns"},
    {.title = "OPEN", .key = "open_turns"},
    {.title = "SINCE", .key = "created_ms", .show = ASK_SHOW_TIME},
    {.title = "NAME", .key = "name"},
    {.title = NULL},
};

static const struct ask ask_list = {
    .method = "chats.list",
    .options =
        (const struct ask_param[]){{"pen", ASK_PEN, offsetof(struct values, pen), false, NULL},
                                   {.key = NULL}},
    .list = "chats",
    .columns = columns,
};
const struct cmd cmd_chats_list = {
    .name = "chats",
    .verb = "list",
    .summary = "list the chats there are",
    .groups = list_groups,
    .ask = &ask_list,
};

static const struct ask ask_move = {
    .method = "chats.move",
    .words =
        (const struct ask_param[]){{.key = "chat"}, {.key = "pen", .kind = ASK_PEN}, {.key = NULL}},
};
const struct cmd cmd_chats_move = {
    .name = "chats",
    .verb = "move",
    .args = "CHAT PEN",
    .summary = "give a chat to another pen, and take its grants away",
    .groups = groups,
    .ask = &ask_move,
};

static const struct ask ask_delete = {.method = "chats.delete", .words = chat_word};
const struct cmd cmd_chats_delete = {
    .name = "chats",
    .verb = "delete",
    .args = "CHAT",
    .summary = "forget a chat and its grants",
    .groups = groups,
    .ask = &ask_delete,
};

static const struct ask_column ended[] = {{.title = "ended", .key = "ended"}, {.title = NULL}};
static const struct ask ask_end_turn = {
    .method = "chats.end_turn", .words = chat_word, .columns = ended};
const struct cmd cmd_chats_end_turn = {
    .name = "chats",
    .verb = "end-turn",
    .args = "CHAT",
    .summary = "end the open turns of a chat and stop what they run",
    .groups = groups,
    .ask = &ask_end_turn,
};
