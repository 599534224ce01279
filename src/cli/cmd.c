#include "cli/cmd.h"

#include "base/cleanup.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>

static const struct cmd *const cmds[] = {
    &cmd_run,
    &cmd_policy_show,
    &cmd_policy_explain,
    &cmd_policy_check,
    &cmd_mcp,
    &cmd_setup_claude,
    &cmd_setup_codex,
    &cmd_setup_vscode,
    &cmd_setup_opencode,
    &cmd_setup_gemini,
    &cmd_pens_add,
    &cmd_pens_list,
    &cmd_pens_show,
    &cmd_pens_rebind,
    &cmd_pens_remove,
    &cmd_pens_files,
    &cmd_pens_check,
    &cmd_pens_unshare,
    &cmd_chats_list,
    &cmd_chats_move,
    &cmd_chats_delete,
    &cmd_chats_end_turn,
    &cmd_jobs_list,
    &cmd_jobs_show,
    &cmd_jobs_logs,
    &cmd_jobs_stop,
    &cmd_grants_add,
    &cmd_grants_list,
    &cmd_grants_remove,
    &cmd_host_status,
    &cmd_host_stop,
    &cmd_held_list,
    &cmd_held_show,
    &cmd_held_restore,
    &cmd_held_drop,
    &cmd_doctor,
    &cmd_completion,
    &cmd_version,
    &cmd_help,
};

const struct cmd *cmd_at(size_t index)
{
    return index < ARRAY_SIZE(cmds) ? cmds[index] : NULL;
}

const char *cmd_title(const struct cmd *cmd, char *title, size_t size)
{
    (void) snprintf(title, size, "%s%s%s", cmd->name, cmd->verb != NULL ? " " : "",
                    cmd->verb != NULL ? cmd->verb : "");
    return title;
}

bool cmd_has_verbs(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(cmds); i++) {
        if (cmds[i]->verb != NULL && str_equal(cmds[i]->name, name))
            return true;
    }
    return false;
}

static bool is_command(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(cmds); i++) {
        if (str_equal(cmds[i]->name, word))
            return true;
    }
    return false;
}

/* Names of all commands, or the verbs of one; a name with several verbs may come twice. */
static void list_names(const char *of, const char *names[ARRAY_SIZE(cmds) + 1])
{
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_SIZE(cmds); i++) {
        if (of == NULL)
            names[count++] = cmds[i]->name;
        else if (str_equal(of, cmds[i]->name))
            names[count++] = cmds[i]->verb;
    }
    names[count] = NULL;
}

/* `wattle -v run` */
static const struct cmd *misplaced(const char *option, const char *command, struct err *err)
{
    (void) err_set(err, EINVAL, "cli.command", "unknown command '%s'", option);
    (void) err_hint(err, "options follow the command, as in 'wattle %s %s'", command, option);
    return NULL;
}

static const struct cmd *not_found(const char *group, const char *word, struct err *err)
{
    const char *names[ARRAY_SIZE(cmds) + 1];
    const char *space = group != NULL ? " " : "";
    const char *near;

    if (group == NULL)
        group = "";
    list_names(*group != '\0' ? group : NULL, names);
    near = word != NULL ? str_nearest(word, names) : NULL;
    if (word == NULL)
        (void) err_set(err, EINVAL, "cli.command", "'%s' needs one word more", group);
    else
        (void) err_set(err, EINVAL, "cli.command", "unknown command '%s%s%s'", group, space, word);
    if (near != NULL)
        (void) err_hint(err, "did you mean '%s%s%s'? 'wattle help%s%s' lists what there is", group,
                        space, near, space, group);
    else
        (void) err_hint(err, "'wattle help%s%s' lists what there is", space, group);
    return NULL;
}

const struct cmd *cmd_find(const char *const *words, size_t *ret_words, struct err *err)
{
    const char *group = NULL;

    if (words[0] != NULL && words[0][0] == '-' && words[1] != NULL && is_command(words[1]))
        return misplaced(words[0], words[1], err);
    for (size_t i = 0; i < ARRAY_SIZE(cmds) && words[0] != NULL; i++) {
        if (!str_equal(cmds[i]->name, words[0]))
            continue;
        group = cmds[i]->name;
        if (cmds[i]->verb == NULL || (words[1] != NULL && str_equal(cmds[i]->verb, words[1]))) {
            *ret_words = cmds[i]->verb != NULL ? 2 : 1;
            return cmds[i];
        }
    }
    return not_found(group, group != NULL ? words[1] : words[0], err);
}
