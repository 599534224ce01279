/* Commands that ask the host one question: which method, what of the command line becomes its
 * parameters, how the answer is shown. All of it data; the code is the same for all of them. */
#ifndef WATTLE_CLI_ASK_H
#define WATTLE_CLI_ASK_H

#include "base/buf.h"
#include "cli/options.h"

#include <jansson.h>

struct cmd;
struct rpc_client;

enum ask_kind {
    ASK_TEXT,
    ASK_PATH, /* made absolute as text */
    ASK_PEN,  /* an id, or a path as above */
    ASK_COUNT,
    ASK_FLAG,
};

struct ask_param {
    const char *key; /* of the method's parameter; NULL ends a table */
    enum ask_kind kind;
    size_t offset;     /* of an option's value in struct values */
    bool optional;     /* of a word: may be missing */
    const char *usual; /* of a word: what is meant when it is missing; NULL: nothing */
};

enum ask_show {
    ASK_SHOW,         /* as it is; null is "-" */
    ASK_SHOW_TIME,    /* milliseconds since the epoch */
    ASK_SHOW_COMMAND, /* what a model asked for, as a shell would have it */
    ASK_SHOW_TABLE,   /* a list, below the rest */
    ASK_SHOW_OUTPUT,  /* what a job printed, below the rest, line by line */
};

struct ask_column {
    const char *title; /* NULL ends a table */
    const char *key;
    enum ask_show show;
    const struct ask_column *of; /* ASK_SHOW_TABLE */
    const char *total;           /* ... how many there are; NULL: as many as are listed */
};

struct ask {
    const char *verb; /* where a word chooses between several: that word */
    const char *method;
    const struct ask_param *words;    /* in their order; NULL: none */
    const struct ask_param *options;  /* NULL: none; one with the key of a word stands for it */
    const char *list;                 /* of the answer, what is shown as a table; NULL: all of it */
    const struct ask_column *columns; /* NULL: nothing is said about success */
    bool only_running;                /* no host is started */
    bool fine_without;                /* and none is as good as an answer */
    const struct ask *verbs; /* the second word chooses among these; the last has no `verb` */
    /* Instead of one question and its answer; `params` is borrowed. NULL: that. */
    int (*run)(struct rpc_client *client, const json_t *params, const struct values *values,
               struct err *err);
};

/* `cmd->ask` is what is asked. */
int ask_run(const struct cmd *cmd, const struct values *values, struct err *err) MUST_CHECK;
/* The exit status of an error of a host's: 3 for what was changed meanwhile. */
int ask_status(const struct err *err);

/* ---- ask_print.c ----------------------------------------------------------------------------- */

/* Control characters inert, columns aligned. */
int ask_print(const struct ask *ask, const json_t *answer, struct buf *text) MUST_CHECK;
/* Bytes of a job's: line ends and tabs stay, nothing else can drive a terminal. */
void ask_print_output(const char *bytes, size_t size, struct buf *text);

#endif
