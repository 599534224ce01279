/* `wattle setup CLIENT`: prints the entry for a client's configuration. Nothing is written without
 * --write, and where a person is at a terminal they are asked as well. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/report.h"
#include "cli/setup.h"
#include "derive/derive.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_LIMIT_BYTES = 2 * SETUP_FILE_LIMIT_BYTES };

/* One call of the command. */
struct work {
    const struct values *values;
    struct setup_wish wish;
    json_t *words; /* NULL: the entry goes */
    char *path;    /* as named */
    struct setup_file file;
    struct buf text; /* the new content */
    enum setup_action action;
    bool written;
};

static const struct {
    const char *json, *would, *done;
} actions[] = {
    [SETUP_NOTHING] = {"nothing", "nothing to do in", "nothing to do in"},
    [SETUP_ADD] = {"add", "would add the entry to", "added the entry to"},
    [SETUP_REPLACE] = {"replace", "would replace wattle's entry in", "replaced wattle's entry in"},
    [SETUP_REMOVE] = {"remove", "would take wattle's entry out of", "took wattle's entry out of"},
};

static void free_work(struct work *work)
{
    json_decref(work->words);
    free(work->path);
    setup_file_free(&work->file);
    buf_free(&work->text);
}

/* ---- what is wished -------------------------------------------------------------------------- */

static int make_absolute(const char *typed, char **ret_path, struct err *err)
{
    AUTO_FREE char *here = getcwd(NULL, 0);

    if (here == NULL || here[0] != '/')
        return err_set(err, errno, "setup.cwd", "cannot tell which folder this is");
    return path_normalize(typed, here, NULL, ret_path, err);
}

/* A project's file is for everybody who works on it, and their wattle lies elsewhere. */
static int find_program(bool in_project, char **ret_program, struct err *err)
{
    char path[PATH_MAX];
    const ssize_t size = in_project ? 0 : readlink("/proc/self/exe", path, sizeof path - 1);

    if (size < 0)
        return err_set(err, errno, "setup.program", "cannot tell where wattle is installed");
    path[size] = '\0';
    *ret_program = strdup(in_project ? "wattle" : path);
    return *ret_program == NULL ? err_memory(err) : 0;
}

/* Fills what is to be done; the texts of the wish are the caller's to free. */
static int wish(struct work *work, char **pen, char **project, char **program, struct err *err)
{
    const struct values *values = work->values;
    int r = values->pen == NULL ? 0 : make_absolute(values->pen, pen, err);

    if (r == 0 && values->project)
        r = path_physical(values->pen == NULL ? "." : *pen, project, err);
    if (r == 0)
        r = find_program(values->project, program, err);
    work->wish.pen = *pen;
    work->wish.chat = values->chat;
    work->wish.project = *project;
    work->wish.program = *program;
    if (r == 0)
        r = setup_path(&work->wish, &work->path, err);
    return r < 0 ? r : setup_words(&work->wish, &work->words, err);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void note(json_t *notes, const char *format, ...) PRINTF_LIKE(2, 3);

static void note(json_t *notes, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return; /* a note less */
    (void) json_array_append_new(notes, json_text(text, (size_t) length));
    free(text);
}

static json_t *make_notes(const struct work *work)
{
    const struct setup_client *client = work->wish.client;
    json_t *notes = json_array();

    if (work->file.linked)
        note(notes, "'%s' is a symlink: the file is '%s'", work->path, work->file.path);
    if (work->wish.project != NULL) {
        note(notes,
             client->guarded
                 ? "'%s' lies in the project, where commands in a pen cannot change it"
                 : "'%s' lies in the project, and commands in a pen can change it: look "
                   "at it before %s reads it",
             work->path, client->title);
    }
    if (work->words != NULL && work->wish.pen != NULL) {
        note(notes,
             "only a pen is of use to it: if '%s' is none yet, 'wattle pens add' makes it one",
             work->wish.pen);
    } else if (work->words != NULL) {
        note(notes, "only a pen is of use to it: 'wattle pens add' makes a folder one");
    }
    return notes;
}

static int print_json(const struct work *work, const char *action, json_t *notes, struct err *err)
{
    AUTO(buf_free) struct buf line = {0};
    AUTO(json_free)
    json_t *answer =
        json_pack("{s:s, s:s, s:s?, s:s, s:s, s:b, s:o, s:O}", "client", work->wish.client->name,
                  "file", work->path, "links_to", work->file.linked ? work->file.path : NULL,
                  "scope", work->wish.project == NULL ? "owner" : "project", "action", action,
                  "written", (int) work->written, "command",
                  work->words == NULL ? json_null() : json_incref(work->words), "notes", notes);
    int r;

    if (answer == NULL)
        return err_set(err, EINVAL, "setup.text", "a path in it is no text: it is not UTF-8");
    buf_init(&line, TEXT_LIMIT_BYTES);
    r = json_print(&line, answer);
    return r < 0 ? err_set(err, -r, "cli.output", "cannot print the answer")
                 : print_out(&line, err);
}

/* `action` for programs, `what` for people. */
static int say(const struct work *work, const char *action, const char *what, struct err *err)
{
    AUTO(json_free) json_t *notes = make_notes(work);
    const json_t *text;
    size_t i;

    if (notes == NULL)
        return err_memory(err);
    if (work->values->json)
        return print_json(work, action, notes, err);
    report_line("%s '%s'", what, work->path);
    for (i = 0; (text = json_array_get(notes, i)) != NULL; i++)
        report_line("note: %s", json_string_value(text));
    return 0;
}

static int say_action(const struct work *work, struct err *err)
{
    return say(work, actions[work->action].json,
               work->written ? actions[work->action].done : actions[work->action].would, err);
}

/* ---- what is done ---------------------------------------------------------------------------- */

static int edit(const struct setup_client *client, const struct buf *old, const json_t *words,
                struct buf *text, enum setup_action *ret_action, struct err *err)
{
    return client->format == SETUP_TOML
               ? setup_edit_toml(client, old, words, text, ret_action, err)
               : setup_edit_json(client, old, words, text, ret_action, err);
}

/* The entry alone, as a file of its own would hold it. */
static int print_entry(const struct work *work, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    enum setup_action action;
    int r;

    buf_init(&text, TEXT_LIMIT_BYTES);
    r = edit(work->wish.client, NULL, work->words, &text, &action, err);
    return r < 0 ? r : print_out(&text, err);
}

static int only_print(const struct work *work, struct err *err)
{
    const int r = work->values->json ? 0 : print_entry(work, err);

    return r < 0 ? r : say(work, "print", "'--write' puts this entry into", err);
}

/* Where wattle does not write, a person may: what to put there is printed. */
static int refuse_edit(const struct work *work, struct err *err)
{
    struct err other = {0};

    if (work->words != NULL && !work->values->json)
        (void) print_entry(work, &other); /* what is reported is the first failure */
    return err_context(err, "'%s'", work->path);
}

static bool agreed(const struct work *work)
{
    char answer[8] = "";

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return true; /* --write is the consent */
    report_line("%s '%s'", actions[work->action].would, work->file.path);
    (void) fputs("wattle: do it? [y/N] ", stderr);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        return false;
    return str_equal(answer, "y\n") || str_equal(answer, "Y\n") || str_equal(answer, "yes\n");
}

static int refuse_consent(struct err *err)
{
    return err_set(err, EINVAL, "setup.declined", "nothing is written, as you say");
}

static int change_file(struct work *work, struct err *err)
{
    int r = setup_file_read(work->path, work->wish.project, &work->file, err);

    if (r < 0)
        return r;
    r = edit(work->wish.client, work->file.exists ? &work->file.text : NULL, work->words,
             &work->text, &work->action, err);
    if (r < 0)
        return refuse_edit(work, err);
    if (work->action == SETUP_NOTHING || !work->values->to_write || work->values->dry_run)
        return say_action(work, err);
    if (!agreed(work))
        return refuse_consent(err);
    r = setup_file_write(&work->file, &work->text, err);
    if (r < 0)
        return r;
    work->written = true;
    return say_action(work, err);
}

static int setup(const struct setup_client *client, const struct values *values, struct err *err)
{
    AUTO_FREE char *pen = NULL;
    AUTO_FREE char *project = NULL;
    AUTO_FREE char *program = NULL;
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(free_work) struct work work = {.values = values, .file = {.top_fd = -1, .folder_fd = -1}};
    int r;

    if (values->rest_count > 0)
        return err_set(err, EINVAL, "cli.arguments", "'setup %s' takes no argument '%s'",
                       client->name, values->rest[0]);
    buf_init(&work.text, TEXT_LIMIT_BYTES);
    r = derive_owner_find(NULL, &owner, err);
    if (r < 0)
        return r;
    work.wish.client = client;
    work.wish.home = owner->home;
    r = wish(&work, &pen, &project, &program, err);
    if (r < 0)
        return r;
    if (!values->to_write && !values->dry_run && !values->remove)
        return only_print(&work, err);
    if (values->remove) {
        json_decref(work.words);
        work.words = NULL;
    }
    return change_file(&work, err);
}

/* ---- one command for each client ------------------------------------------------------------- */

static const struct option_group *const groups[] = {&options_setup, &options_json, &options_help,
                                                    NULL};

#define SETUP(client, called)                                                                      \
    static int run_##client(const struct values *values, struct err *err)                          \
    {                                                                                              \
        return setup(setup_client_find(#client), values, err);                                     \
    }                                                                                              \
    const struct cmd cmd_setup_##client = {                                                        \
        .name = "setup",                                                                           \
        .verb = #client,                                                                           \
        .summary = "print or write the entry for wattle in the settings of " called,               \
        .groups = groups,                                                                          \
        .run = run_##client,                                                                       \
    }

SETUP(claude, "Claude Code");
SETUP(codex, "Codex");
SETUP(vscode, "VS Code");
SETUP(opencode, "opencode");
SETUP(gemini, "Gemini CLI");
