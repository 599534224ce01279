/* The options of one command: a const table from which parsing, help, completion and the option
 * parts of the man pages come, so that none of them can say something else than the others. */
#ifndef WATTLE_CLI_OPTIONS_H
#define WATTLE_CLI_OPTIONS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one row stores at its place in `struct values`. All but LIST may be given once. */
enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char * */
    OPTION_LIST,    /* struct option_list; may be repeated */
    OPTION_COUNT,   /* uint64_t, a whole number above 0 */
    OPTION_BYTES,   /* uint64_t, "512M" */
    OPTION_MS,      /* uint64_t, "90s" */
    OPTION_REFUSED, /* known from other tools and left out on purpose: `help` says why */
};

enum option_complete { OPTION_NOTHING, OPTION_FILE, OPTION_FOLDER, OPTION_PATH };

struct option_row {
    const char *name; /* "timeout"; NULL ends a table */
    char letter;      /* 'T' for -T, or 0 */
    enum option_kind kind;
    size_t offset;        /* of the value in struct values */
    const char *argument; /* how help calls the value; NULL: takes none */
    enum option_complete complete;
    const char *const *words; /* the only values there are; NULL: any */
    const char *help;
};

struct option_group {
    const char *title;
    const struct option_row *rows;
};

#define OPTIONS_MAX 64 /* of one command */

struct option_list {
    const char **items; /* ends with NULL; NULL while empty */
    size_t count;
};

/* Every value any command knows; 0, NULL and false mean: not given. Texts are borrowed from argv,
 * the arrays of the lists are owned (values_free). */
struct values {
    const char *pen;
    const char *chdir;
    const char *net;
    const char *caches;
    const char *mechanism;
    const char *guard;
    const char *chat;
    const char *name;
    const char *state;
    struct option_list read;
    struct option_list write;
    struct option_list deny;
    struct option_list deny_write;
    struct option_list allow;
    struct option_list env;
    struct option_list unix_sockets;
    struct option_list policy_files;
    uint64_t timeout_ms;
    uint64_t kill_after_ms;
    uint64_t memory_bytes;
    uint64_t processes;
    uint64_t tmp_bytes;
    uint64_t file_bytes;
    uint64_t open_files;
    uint64_t status_fd;
    uint64_t made_fd;
    uint64_t limit;
    bool tty;
    bool no_tty;
    bool dry_run;
    bool json;
    bool quiet;
    bool verbose;
    bool to_write;
    bool remove;
    bool project;
    bool raw;
    bool all;
    bool network;
    bool follow;
    bool help;
    char *own_argv; /* the memory of the program's arguments; NULL: not in one piece */
    size_t own_argv_size;
    const char *const *rest; /* what follows the options; ends with NULL; borrowed from argv */
    size_t rest_count;
};

void values_free(struct values *values); /* for AUTO(values_free) */

/* Reads the options of `command` ("run", for messages) from `argv`, whose first entry is skipped,
 * up to the first word that is no option. `groups` ends with NULL. Goes on after a mistake, so that
 * a later --json is seen, and reports the first one. Errors: EINVAL cli.option, cli.value; ENOMEM.
 */
int options_parse(const struct option_group *const *groups, const char *command, int argc,
                  char **argv, struct values *values, struct err *err) MUST_CHECK;

/* The rows people see, one after the other over all groups; NULL past the last. */
const struct option_row *option_at(const struct option_group *const *groups, size_t index);

#endif
