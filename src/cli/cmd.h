/* The commands. Each is one const struct in its own cmd_NAME.c; the table of them is cmd.c.
 * Help, completion and the option parts of the man pages are made from here. */
#ifndef WATTLE_CLI_CMD_H
#define WATTLE_CLI_CMD_H

#include "base/buf.h"
#include "cli/options.h"

/* Exit statuses of wattle's own; `wattle run` has others (architecture). */
enum {
    CMD_OK = 0,
    CMD_FAILED = 1,
    CMD_USAGE = 2,
    CMD_STALE = 3, /* what was to be changed is not what it was when it was read */
    RUN_REFUSED = 125,
    RUN_NOT_EXECUTABLE = 126,
    RUN_NOT_FOUND = 127,
};

struct ask;

struct cmd {
    const char *name;    /* "policy" */
    const char *verb;    /* "show" of "policy show"; NULL: none */
    const char *args;    /* as in "usage: wattle NAME [OPTION...] ARGS"; NULL: none */
    const char *summary; /* one line, lower case */
    const struct option_group *const *groups; /* ends with NULL */
    const char *const *words; /* the only first arguments there are, for completion; NULL: any */
    bool takes_command;       /* what follows the options is a command with its own arguments */

    /* What the host is asked (ask.h); NULL: nothing, and `run` does it. */
    const struct ask *ask;
    /* Returns the exit status, or -errno with `err` filled. */
    int (*run)(const struct values *values, struct err *err);
    /* Exit status for such an error; NULL: 2 for wrong usage ("cli.*"), 1 for all else. */
    int (*status_of)(const struct err *err);
};

extern const struct cmd cmd_run, cmd_policy_show, cmd_policy_check, cmd_policy_explain;
extern const struct cmd cmd_pens_check, cmd_pens_unshare;
extern const struct cmd cmd_held_list, cmd_held_show, cmd_held_restore, cmd_held_drop;
extern const struct cmd cmd_mcp;
extern const struct cmd cmd_setup_claude, cmd_setup_codex, cmd_setup_vscode, cmd_setup_opencode,
    cmd_setup_gemini;
extern const struct cmd cmd_pens_add, cmd_pens_list, cmd_pens_show, cmd_pens_rebind,
    cmd_pens_remove, cmd_pens_files;
extern const struct cmd cmd_chats_list, cmd_chats_move, cmd_chats_delete, cmd_chats_end_turn;
extern const struct cmd cmd_jobs_list, cmd_jobs_show, cmd_jobs_logs, cmd_jobs_stop;
extern const struct cmd cmd_grants_add, cmd_grants_list, cmd_grants_remove;
extern const struct cmd cmd_host_status, cmd_host_stop;
extern const struct cmd cmd_doctor, cmd_completion, cmd_help, cmd_version;

/* In the order of help; NULL past the last. */
const struct cmd *cmd_at(size_t index);

/* The command of words[0] and, when that has verbs, words[1]; `ret_words` gets how many were used.
 * NULL with `err` filled (cli.command) when there is none. `words` ends with NULL. */
const struct cmd *cmd_find(const char *const *words, size_t *ret_words, struct err *err);

/* Whether there are commands "name VERB". */
bool cmd_has_verbs(const char *name);

/* "run" or "policy show". */
const char *cmd_title(const struct cmd *cmd, char *title, size_t size);

/* Texts of `--help` and of `wattle help`. `name` NULL: all commands; `verb` NULL: all its verbs. */
void help_command(const struct cmd *cmd, struct buf *text);
void help_group(const char *name, struct buf *text);
void help_all(struct buf *text);

/* The option part of a man page, in scdoc. */
void help_man(const struct cmd *cmd, struct buf *text);

/* A completion script. -EINVAL for an unknown shell. */
int completion_script(const char *shell, struct buf *text) MUST_CHECK;
extern const char *const completion_shells[];

#endif
