/* `wattle setup`: the entry for wattle in the configuration of an agent's host (a client). What
 * each client reads is data (setup_clients.c); a file is edited as a value (setup_json.c) or, for
 * want of a reader, as lines (setup_toml.c), and replaced whole (setup_file.c). */
#ifndef WATTLE_CLI_SETUP_H
#define WATTLE_CLI_SETUP_H

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

#define SETUP_FILE_LIMIT_BYTES (16u << 20)

/* ---- setup_clients.c ------------------------------------------------------------------------- */

enum setup_format { SETUP_JSON, SETUP_TOML };

struct setup_client {
    const char *name;  /* "claude" */
    const char *title; /* "Claude Code" */
    enum setup_format format;
    const char *variable;   /* of the environment, which moves the file; NULL: none */
    const char *moved[2];   /* below what it says: the first that is there, else the first */
    const char *usual[2];   /* below the home folder, in the same way */
    const char *project[2]; /* below a project's folder */
    bool guarded;           /* that one, from commands in a pen */
    const char *group;      /* the member of the file that holds the entries */
    const char *inner;      /* a member of `group` that holds them where it is there; NULL: none */
    const char *type;       /* what the entry says it is; NULL: nothing */
    bool one_list;          /* the program and its arguments are one list */
    const char *here;       /* how a file says the folder at hand; NULL: servers start in it */
    const char *replaced;   /* characters by which it replaces parts of texts; NULL: never */
};

/* One of ours: NULL only for a name that no command of wattle has. */
const struct setup_client *setup_client_find(const char *name);

struct setup_wish {
    const struct setup_client *client;
    const char *program; /* what the client starts */
    const char *pen;     /* absolute; NULL: the folder the client is in */
    const char *chat;    /* NULL: the default one */
    const char *project; /* physical folder of it; NULL: the owner's own file */
    const char *home;
};

/* Where the file is. Errors: EINVAL setup.place; ENOMEM. Caller frees. */
int setup_path(const struct setup_wish *wish, char **ret_path, struct err *err) MUST_CHECK;

/* Program and arguments, as a list. Errors: EINVAL setup.text: no UTF-8, or the client would read
 * something else. */
int setup_words(const struct setup_wish *wish, json_t **ret_words, struct err *err) MUST_CHECK;

/* ---- edits ----------------------------------------------------------------------------------- */

enum setup_action { SETUP_NOTHING, SETUP_ADD, SETUP_REPLACE, SETUP_REMOVE };

/* The content of a file with our entry, or with `words` NULL without it; `old` NULL: there is none.
 * All else in it stays. Errors, with nothing in `text`: EINVAL json.syntax, setup.shape: no such
 * file as the client reads, or one wattle cannot keep as it is; EINVAL setup.taken: another entry
 * has the name. */
int setup_edit_json(const struct setup_client *client, const struct buf *old, const json_t *words,
                    struct buf *text, enum setup_action *ret_action, struct err *err) MUST_CHECK;
int setup_edit_toml(const struct setup_client *client, const struct buf *old, const json_t *words,
                    struct buf *text, enum setup_action *ret_action, struct err *err) MUST_CHECK;

/* ---- setup_file.c ---------------------------------------------------------------------------- */

struct setup_file {
    char *path;  /* where it really is */
    bool linked; /* it was named by a symlink */
    bool in_project;
    int top_fd;    /* of the project; -1: none */
    int folder_fd; /* -1: the folder is not there */
    bool exists;
    struct stat was;
    struct buf text;
};

void setup_file_free(struct setup_file *file);

/* Reads it where it is there. In the owner's home a symlink is followed, once and for all; below
 * `project` (NULL: none) nothing is. Errors: setup.file, of what cannot be read, is not the
 * caller's alone, or no file. */
int setup_file_read(const char *path, const char *project, struct setup_file *file,
                    struct err *err) MUST_CHECK;

/* The new content in its place: whole or not at all, mode and group as before. Errors: ESTALE
 * setup.changed: somebody else wrote meanwhile; setup.write. */
int setup_file_write(struct setup_file *file, const struct buf *text, struct err *err) MUST_CHECK;

#endif
