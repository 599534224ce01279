/* The readers of single keys. Private to src/policy. Errors: EINVAL settings.*, ENOMEM. */
#ifndef WATTLE_POLICY_SETTINGS_PRIV_H
#define WATTLE_POLICY_SETTINGS_PRIV_H

#include "base/json.h"
#include "policy/settings.h"

struct settings_reader {
    const char *name; /* of the file */
    const char *home;
    enum settings_source source;
    struct settings *settings; /* being filled */
};

struct settings_key {
    const char *path; /* from the top: "filesystem.allowRead"; NULL ends a table */
    int (*read)(struct settings_reader *reader, const struct settings_key *key, json_t *value,
                struct err *err);
    bool tightens;                 /* the administrator may say it */
    const struct settings_key *in; /* an object: its keys */
    enum policy_access access;
    bool hold;
    size_t offset; /* in struct settings */
    uint64_t most;
};

/* Calls `each` for every text of a list; anything else is refused. */
int settings_read_texts(struct settings_reader *reader, const struct settings_key *key,
                        json_t *value,
                        int (*each)(struct settings_reader *reader, const struct settings_key *key,
                                    const char *text, struct err *err),
                        struct err *err) MUST_CHECK;
/* Appends `*text` and takes it over; on failure it stays the caller's. */
int settings_add_text(char ***texts, size_t *count, char **text, struct err *err) MUST_CHECK;

/* ---- settings_path.c: lists of paths ----------------------------------------------------------
 */

int settings_read_paths(struct settings_reader *reader, const struct settings_key *key,
                        json_t *value, struct err *err) MUST_CHECK;
/* Or of patterns. */
int settings_read_deny_write(struct settings_reader *reader, const struct settings_key *key,
                             json_t *value, struct err *err) MUST_CHECK;
int settings_read_sockets(struct settings_reader *reader, const struct settings_key *key,
                          json_t *value, struct err *err) MUST_CHECK;
int settings_read_search(struct settings_reader *reader, const struct settings_key *key,
                         json_t *value, struct err *err) MUST_CHECK;

#endif
