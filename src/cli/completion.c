/* Completion scripts for three shells, from the same tables as help. Nothing in the tables may hold
 * a single quote (a unit test holds that), so that every text can stand in single quotes. */
#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const completion_shells[] = {"bash", "zsh", "fish", NULL};

/* Whether the command at `index` is the first of its name: groups have several. */
static bool is_first(size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (str_equal(cmd_at(i)->name, cmd_at(index)->name))
            return false;
    }
    return true;
}

static void add_names(struct buf *text)
{
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        if (is_first(i))
            (void) buf_printf(text, "%s%s", i > 0 ? " " : "", cmd_at(i)->name);
    }
}

static void add_verbs(struct buf *text, const char *name)
{
    const char *space = "";

    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        if (!str_equal(cmd_at(i)->name, name))
            continue;
        (void) buf_printf(text, "%s%s", space, cmd_at(i)->verb);
        space = " ";
    }
}

static void add_words(struct buf *text, const char *const *words)
{
    const char *space = "";

    for (; *words != NULL; words++, space = " ")
        (void) buf_printf(text, "%s%s", space, *words);
}

/* ---- bash --------------------------------------------------------------------------------- */

static const char bash_head[] =
    "# bash completion for wattle, printed by: wattle completion bash\n"
    "_wattle()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} at=2 options= valued= words= program= rest=\n"
    "    local IFS=$'\\n'\n"
    "\n"
    "    COMPREPLY=()\n";

/* bash splits "--net=none" into three words. */
static const char bash_walk[] =
    "    while ((at < COMP_CWORD)); do\n"
    "        case ${COMP_WORDS[at]} in\n"
    "        --) ((at++)); rest=command; break ;;\n"
    "        -*)\n"
    "            [[ $valued == *\" ${COMP_WORDS[at]} \"* ]] && ((at++))\n"
    "            [[ ${COMP_WORDS[at]} == '=' ]] && ((at++))\n"
    "            ((at++)) ;;\n"
    "        *) break ;;\n"
    "        esac\n"
    "    done\n"
    "    if ((at > COMP_CWORD)); then\n"
    "        [[ $option == '=' ]] && option=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "        [[ $cur == '=' ]] && cur=\n"
    "        case $option in\n";

static const char bash_tail[] =
    "        esac\n"
    "    elif [[ $at == \"$COMP_CWORD\" && $cur == -* && -z $rest ]]; then\n"
    "        COMPREPLY=($(IFS=' '; compgen -W \"$options\" -- \"$cur\"))\n"
    "    elif [[ -n $words ]]; then\n"
    "        COMPREPLY=($(IFS=' '; compgen -W \"$words\" -- \"$cur\"))\n"
    "    elif [[ -z $program ]]; then\n"
    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    elif declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"$at\"\n"
    "    elif ((at == COMP_CWORD)); then\n"
    "        COMPREPLY=($(compgen -c -- \"$cur\"))\n"
    "    else\n"
    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    fi\n"
    "}\n"
    "complete -o filenames -F _wattle wattle\n";

static void bash_names(struct buf *text)
{
    static const char reply[] = "COMPREPLY=($(IFS=' '; compgen -W '";

    (void) buf_printf(text, "    if ((COMP_CWORD == 1)); then\n        %s", reply);
    add_names(text);
    (void) buf_add_text(text, "' -- \"$cur\"))\n        return\n    fi\n    case $command in\n");
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        if (cmd_at(i)->verb == NULL || !is_first(i))
            continue;
        (void) buf_printf(text, "    %s)\n        if ((COMP_CWORD == 2)); then\n            %s",
                          cmd_at(i)->name, reply);
        add_verbs(text, cmd_at(i)->name);
        (void) buf_printf(text,
                          "' -- \"$cur\"))\n            return\n        fi\n"
                          "        command=\"%s ${COMP_WORDS[2]}\" at=3 ;;\n",
                          cmd_at(i)->name);
    }
    (void) buf_add_text(text, "    esac\n");
}

static void bash_options(const struct cmd *cmd, bool only_valued, struct buf *text)
{
    const struct option_row *row;
    const char *space = only_valued ? " " : "";

    for (size_t i = 0; (row = option_at(cmd->groups, i)) != NULL; i++) {
        if (only_valued && row->argument == NULL)
            continue;
        (void) buf_printf(text, "%s--%s", space, row->name);
        space = " ";
        if (row->letter != 0)
            (void) buf_printf(text, " -%c", row->letter);
    }
    if (only_valued)
        (void) buf_add_text(text, " ");
}

static void bash_commands(struct buf *text)
{
    const struct cmd *cmd;
    char title[64];

    (void) buf_add_text(text, "    case $command in\n");
    for (size_t i = 0; (cmd = cmd_at(i)) != NULL; i++) {
        (void) buf_printf(text, "    '%s')\n        options='",
                          cmd_title(cmd, title, sizeof title));
        bash_options(cmd, false, text);
        (void) buf_add_text(text, "'\n        valued='");
        bash_options(cmd, true, text);
        (void) buf_add_text(text, "'\n");
        if (cmd->words != NULL) {
            (void) buf_add_text(text, "        words='");
            add_words(text, cmd->words);
            (void) buf_add_text(text, "'\n");
        }
        if (cmd->takes_command)
            (void) buf_add_text(text, "        program=yes\n");
        (void) buf_add_text(text, "        ;;\n");
    }
    (void) buf_add_text(text, "    *) return ;;\n    esac\n");
}

static void bash_value(const struct option_row *row, struct buf *text)
{
    if (row->argument == NULL || (row->words == NULL && row->complete == OPTION_NOTHING))
        return;
    (void) buf_printf(text, "        --%s", row->name);
    if (row->letter != 0)
        (void) buf_printf(text, " | -%c", row->letter);
    if (row->words == NULL) {
        (void) buf_printf(text, ") COMPREPLY=($(compgen -%c -- \"$cur\")) ;;\n",
                          row->complete == OPTION_FOLDER ? 'd' : 'f');
        return;
    }
    (void) buf_add_text(text, ") COMPREPLY=($(IFS=' '; compgen -W '");
    add_words(text, row->words);
    (void) buf_add_text(text, "' -- \"$cur\")) ;;\n");
}

/* What follows an option is the same for every command that has one of that name: whether a command
 * before `index` has. */
static bool row_was_seen(const struct option_row *row, size_t index)
{
    const struct option_row *other;

    for (size_t i = 0; i < index; i++) {
        for (size_t k = 0; (other = option_at(cmd_at(i)->groups, k)) != NULL; k++) {
            if (str_equal(other->name, row->name))
                return true;
        }
    }
    return false;
}

static void bash_script(struct buf *text)
{
    const struct option_row *row;

    (void) buf_add_text(text, bash_head);
    bash_names(text);
    bash_commands(text);
    (void) buf_add_text(text, bash_walk);
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        for (size_t k = 0; (row = option_at(cmd_at(i)->groups, k)) != NULL; k++) {
            if (!row_was_seen(row, i))
                bash_value(row, text);
        }
    }
    (void) buf_add_text(text, bash_tail);
}

/* ---- zsh ---------------------------------------------------------------------------------- */

static const char zsh_dispatch[] =
    "    _arguments -C '1:command:->name' '*::argument:->rest' && return\n"
    "    case $state in\n"
    "    name) _describe command names ;;\n";

/* Text inside a description of _arguments: brackets and colons end it. */
static void zsh_text(struct buf *text, const char *plain)
{
    for (; *plain != '\0'; plain++) {
        if (strchr("[]:\\", *plain) != NULL)
            (void) buf_add_text(text, "\\");
        (void) buf_add(text, plain, 1);
    }
}

static void zsh_value(const struct option_row *row, struct buf *text)
{
    (void) buf_add_text(text, ":");
    zsh_text(text, row->argument);
    if (row->words != NULL) {
        (void) buf_add_text(text, ":(");
        add_words(text, row->words);
        (void) buf_add_text(text, ")");
        return;
    }
    if (row->complete == OPTION_NOTHING)
        (void) buf_add_text(text, ": ");
    else
        (void) buf_add_text(text, row->complete == OPTION_FOLDER ? ":_files -/" : ":_files");
}

/* '(-C --chdir)'{-C+,--chdir=}'[start it in DIR]:DIR:_files -/' */
static void zsh_option(const struct option_row *row, struct buf *text)
{
    const bool takes = row->argument != NULL;

    (void) buf_add_text(text, " \\\n        ");
    if (row->letter == 0)
        (void) buf_printf(text, "'%s--%s%s", row->kind == OPTION_LIST ? "*" : "", row->name,
                          takes ? "=" : "");
    else if (row->kind == OPTION_LIST)
        (void) buf_printf(text, "'*'{-%c%s,--%s%s}'", row->letter, takes ? "+" : "", row->name,
                          takes ? "=" : "");
    else
        (void) buf_printf(text, "'(-%c --%s)'{-%c%s,--%s%s}'", row->letter, row->name, row->letter,
                          takes ? "+" : "", row->name, takes ? "=" : "");
    (void) buf_add_text(text, "[");
    zsh_text(text, row->help);
    (void) buf_add_text(text, "]");
    if (takes)
        zsh_value(row, text);
    (void) buf_add_text(text, "'");
}

static void zsh_command(const struct cmd *cmd, struct buf *text)
{
    const struct option_row *row;

    (void) buf_printf(text, "_wattle_%s%s%s()\n{\n    _arguments -s -S -A '-*'", cmd->name,
                      cmd->verb != NULL ? "_" : "", cmd->verb != NULL ? cmd->verb : "");
    for (size_t i = 0; (row = option_at(cmd->groups, i)) != NULL; i++)
        zsh_option(row, text);
    if (cmd->takes_command) {
        (void) buf_add_text(text, " \\\n        '*::command: _normal'\n}\n\n");
    } else if (cmd->words != NULL) {
        (void) buf_add_text(text, " \\\n        '1:word:(");
        add_words(text, cmd->words);
        (void) buf_add_text(text, ")'\n}\n\n");
    } else {
        (void) buf_add_text(text, " \\\n        '*:file:_files'\n}\n\n");
    }
}

static const char *summary_at(size_t index)
{
    return cmd_at(index)->verb == NULL ? cmd_at(index)->summary : "several commands";
}

/* `name` NULL: the function that knows the commands; else the one that knows the verbs of one. */
static void zsh_group(const char *name, struct buf *text)
{
    const struct cmd *cmd;

    (void) buf_printf(text,
                      "_wattle%s%s()\n{\n    local curcontext=$curcontext state line\n"
                      "    local -a names=(",
                      name != NULL ? "_" : "", name != NULL ? name : "");
    for (size_t i = 0; (cmd = cmd_at(i)) != NULL; i++) {
        if (name != NULL && str_equal(cmd->name, name))
            (void) buf_printf(text, "\n        '%s:%s'", cmd->verb, cmd->summary);
        else if (name == NULL && is_first(i))
            (void) buf_printf(text, "\n        '%s:%s'", cmd->name, summary_at(i));
    }
    (void) buf_printf(text, ")\n\n%s    rest) (( $+functions[_wattle_%s%s$words[1]] )) && ",
                      zsh_dispatch, name != NULL ? name : "", name != NULL ? "_" : "");
    (void) buf_printf(text, "_wattle_%s%s$words[1] ;;\n    esac\n}\n\n", name != NULL ? name : "",
                      name != NULL ? "_" : "");
}

static void zsh_script(struct buf *text)
{
    (void) buf_add_text(text, "#compdef wattle\n"
                              "# zsh completion for wattle, printed by: wattle completion zsh\n\n");
    for (size_t i = 0; cmd_at(i) != NULL; i++)
        zsh_command(cmd_at(i), text);
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        if (cmd_at(i)->verb != NULL && is_first(i))
            zsh_group(cmd_at(i)->name, text);
    }
    zsh_group(NULL, text);
    (void) buf_add_text(text, "_wattle \"$@\"\n");
}

/* ---- fish --------------------------------------------------------------------------------- */

static const char fish_head[] =
    "# fish completion for wattle, printed by: wattle completion fish\n"
    "function __wattle_at --description 'the command line begins with these words'\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -gt (count $argv); or return 1\n"
    "    for i in (seq (count $argv))\n"
    "        test \"$words[(math $i + 1)]\" = \"$argv[$i]\"; or return 1\n"
    "    end\n"
    "end\n"
    "function __wattle_only --description 'and with nothing more'\n"
    "    test (count (commandline -opc)) -eq (math (count $argv) + 1); and __wattle_at $argv\n"
    "end\n"
    "complete -c wattle -f\n";

static void fish_option(const char *title, const struct option_row *row, struct buf *text)
{
    (void) buf_printf(text, "complete -c wattle -n '__wattle_at %s' -l %s", title, row->name);
    if (row->letter != 0)
        (void) buf_printf(text, " -s %c", row->letter);
    if (row->argument == NULL) {
        /* a flag */
    } else if (row->words != NULL) {
        (void) buf_add_text(text, " -x -a '");
        add_words(text, row->words);
        (void) buf_add_text(text, "'");
    } else if (row->complete == OPTION_FOLDER) {
        (void) buf_add_text(text, " -x -a '(__fish_complete_directories)'");
    } else {
        (void) buf_add_text(text, row->complete == OPTION_NOTHING ? " -x" : " -r -F");
    }
    (void) buf_printf(text, " -d '%s'\n", row->help);
}

static void fish_arguments(const char *title, const struct cmd *cmd, struct buf *text)
{
    (void) buf_printf(text, "complete -c wattle -n '__wattle_at %s'", title);
    if (cmd->takes_command) {
        (void) buf_printf(text, " -x -a '(__fish_complete_subcommand --fcs-skip=%d)'\n",
                          cmd->verb != NULL ? 3 : 2);
    } else if (cmd->words != NULL) {
        (void) buf_add_text(text, " -x -a '");
        add_words(text, cmd->words);
        (void) buf_add_text(text, "'\n");
    } else {
        (void) buf_add_text(text, " -F\n");
    }
}

static void fish_script(struct buf *text)
{
    const struct cmd *cmd;
    const struct option_row *row;
    char title[64];

    (void) buf_add_text(text, fish_head);
    for (size_t i = 0; (cmd = cmd_at(i)) != NULL; i++) {
        if (is_first(i))
            (void) buf_printf(text, "complete -c wattle -n '__wattle_only' -a %s -d '%s'\n",
                              cmd->name, summary_at(i));
        if (cmd->verb != NULL)
            (void) buf_printf(text, "complete -c wattle -n '__wattle_only %s' -a %s -d '%s'\n",
                              cmd->name, cmd->verb, cmd->summary);
        (void) cmd_title(cmd, title, sizeof title);
        for (size_t k = 0; (row = option_at(cmd->groups, k)) != NULL; k++)
            fish_option(title, row, text);
        fish_arguments(title, cmd, text);
    }
}

int completion_script(const char *shell, struct buf *text)
{
    static void (*const scripts[])(struct buf * text) = {bash_script, zsh_script, fish_script};

    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        if (str_equal(shell, completion_shells[i])) {
            scripts[i](text);
            return text->failed;
        }
    }
    return -EINVAL;
}
