#include "cli/ask.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/host.h"
#include "cli/report.h"
#include "rpc/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_LIMIT_BYTES = 64 << 20, WORDS_MAX = 8, VERBS_MAX = 8 };

#define PEN_ID "p-"

/* ---- from the command line to parameters ----------------------------------------------------- */

static int put(json_t *params, const char *key, json_t *value, struct err *err)
{
    if (value == NULL)
        return err_set(err, EINVAL, "cli.value", "'%s' is no text: its bytes are not UTF-8", key);
    return json_object_set_new(params, key, value) < 0 ? err_memory(err) : 0;
}

static int put_path(json_t *params, const char *key, const char *typed, struct err *err)
{
    AUTO_FREE char *here = getcwd(NULL, 0);
    AUTO_FREE char *path = NULL;
    int r;

    if (here == NULL || here[0] != '/')
        return err_set(err, errno, "cli.cwd", "cannot tell which folder this is");
    r = path_normalize(typed, here, NULL, &path, err);
    return r < 0 ? r : put(params, key, json_string(path), err);
}

/* An id has no slash; './p-1' is a folder of such a name. */
static bool is_pen_id(const char *typed)
{
    return str_starts(typed, PEN_ID) && strchr(typed, '/') == NULL;
}

static int put_word(json_t *params, const struct ask_param *param, const char *typed,
                    struct err *err)
{
    const bool is_path = param->kind == ASK_PATH || (param->kind == ASK_PEN && !is_pen_id(typed));

    return is_path ? put_path(params, param->key, typed, err)
                   : put(params, param->key, json_string(typed), err);
}

static int put_option(json_t *params, const struct ask_param *param, const struct values *values,
                      struct err *err)
{
    const void *at = (const char *) values + param->offset;
    const char *text;
    uint64_t count;

    switch (param->kind) {
    case ASK_FLAG:
        return *(const bool *) at ? put(params, param->key, json_true(), err) : 0;
    case ASK_COUNT:
        count = *(const uint64_t *) at;
        return count > 0 ? put(params, param->key, json_integer((json_int_t) count), err) : 0;
    case ASK_TEXT:
    case ASK_PATH:
    case ASK_PEN:
        text = *(const char *const *) at;
        return text != NULL ? put_word(params, param, text, err) : 0;
    }
    return 0;
}

static int put_words(json_t *params, const struct ask_param *param, const char *const *words,
                     const char *title, struct err *err)
{
    for (; param != NULL && param->key != NULL; param++) {
        const char *word;
        int r;

        if (json_object_get(params, param->key) != NULL)
            continue; /* an option said it */
        word = *words != NULL ? *words++ : param->usual;
        if (word == NULL && param->optional)
            continue;
        if (word == NULL) {
            (void) err_set(err, EINVAL, "cli.arguments", "'%s' needs one word more: %s", title,
                           param->key);
            return err_hint(err, "'wattle help %s' says how it is used", title);
        }
        r = put_word(params, param, word, err);
        if (r < 0)
            return r;
    }
    if (*words == NULL)
        return 0;
    (void) err_set(err, EINVAL, "cli.arguments", "'%s' takes no argument '%s'", title, *words);
    return err_hint(err, "options stand before the other words");
}

static int make_params(const struct ask *ask, const struct values *values, const char *const *words,
                       const char *title, json_t **ret_params, struct err *err)
{
    AUTO(json_free) json_t *params = json_object();
    const struct ask_param *option = ask->options;
    int r = params == NULL ? err_memory(err) : 0;

    for (; r == 0 && option != NULL && option->key != NULL; option++)
        r = put_option(params, option, values, err);
    if (r == 0)
        r = put_words(params, ask->words, words, title, err);
    if (r == 0)
        *ret_params = TAKE_PTR(params);
    return r;
}

/* ---- the second word --------------------------------------------------------------------------
 */

static int unknown_verb(const struct ask *verbs, const char *word, const char *title,
                        struct err *err)
{
    const char *names[VERBS_MAX + 1] = {NULL};
    const char *near;

    for (size_t i = 0; i < VERBS_MAX && verbs[i].verb != NULL; i++)
        names[i] = verbs[i].verb;
    near = word == NULL ? NULL : str_nearest(word, names);
    (void) err_set(err, EINVAL, "cli.command",
                   word == NULL ? "'%s' needs one word more%s" : "'%s' knows no '%s'", title,
                   word == NULL ? "" : word);
    return near == NULL ? err_hint(err, "'wattle help %s' says how it is used", title)
                        : err_hint(err, "did you mean '%s'?", near);
}

/* PEN VERB REST...: VERB chooses, and what is left goes on. */
static int choose(const struct ask **ask, const struct values *values, const char **words,
                  const char *title, struct err *err)
{
    const char *verb = values->rest_count > 1 ? values->rest[1] : NULL;
    const struct ask *verbs = (*ask)->verbs;

    if (values->rest_count >= WORDS_MAX)
        return err_set(err, EINVAL, "cli.arguments", "'%s' takes no argument '%s'", title,
                       values->rest[WORDS_MAX - 1]);
    for (size_t i = 0, count = 0; i < values->rest_count; i++) {
        if (i != 1)
            words[count++] = values->rest[i];
    }
    for (const struct ask *row = verbs; verb != NULL && row->verb != NULL; row++) {
        if (!str_equal(row->verb, verb))
            continue;
        *ask = row;
        return 0;
    }
    return unknown_verb(verbs, verb, title, err);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int show(const struct ask *ask, const json_t *answer, bool json, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    int r;

    buf_init(&text, ANSWER_LIMIT_BYTES);
    r = json ? json_print(&text, answer) : ask_print(ask, answer, &text);
    return r < 0 ? err_set(err, -r, "cli.output", "cannot print the answer")
                 : print_out(&text, err);
}

/* 1: there is none, and need not be. */
static int reach(const struct ask *ask, const struct derive_owner *owner, const char *program,
                 struct rpc_client **ret_client, struct err *err)
{
    struct err failure = {0};
    const int r = host_reach(owner, RPC_OWNER, !ask->only_running, program, ret_client, &failure);

    if (r < 0 && ask->fine_without && str_equal(failure.id, "rpc.host-missing"))
        return 1;
    if (r < 0)
        *err = failure;
    return r;
}

/* Takes `params`. */
static int question(const struct ask *ask, json_t *params_, const struct values *values,
                    const char *title, struct err *err)
{
    AUTO(json_free) json_t *params = params_;
    AUTO(json_free) json_t *answer = NULL;
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(rpc_client_freep) struct rpc_client *client = NULL;
    char program[80];
    int r = derive_owner_find(NULL, &owner, err);

    (void) snprintf(program, sizeof program, "wattle %s", title);
    if (r == 0)
        r = reach(ask, owner, program, &client, err);
    if (r != 0)
        return r < 0 ? r : CMD_OK;
    if (ask->run != NULL)
        return ask->run(client, params, values, err);
    r = rpc_client_call(client, ask->method, TAKE_PTR(params), &answer, err);
    return r < 0 ? r : show(ask, answer, values->json, err);
}

int ask_run(const struct cmd *cmd, const struct values *values, struct err *err)
{
    const char *words[WORDS_MAX + 1] = {NULL};
    const struct ask *ask = cmd->ask;
    json_t *params = NULL;
    char title[64];
    int r = 0;

    (void) cmd_title(cmd, title, sizeof title);
    if (ask->verbs != NULL)
        r = choose(&ask, values, words, title, err);
    if (r == 0)
        r = make_params(ask, values, cmd->ask->verbs != NULL ? words : values->rest, title, &params,
                        err);
    return r < 0 ? r : question(ask, params, values, title, err);
}

int ask_status(const struct err *err)
{
    if (err->code == ESTALE)
        return CMD_STALE;
    return str_starts(err->id, "cli.") || str_equal(err->id, "rpc.params") ? CMD_USAGE : CMD_FAILED;
}
