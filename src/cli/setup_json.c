#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/setup.h"

#include <errno.h>
#include <string.h>

#define NAME "wattle"

enum { REAL_DIGITS_LEAST = 15, REAL_DIGITS_MOST = 17, INDENT_MOST = 8, INDENT_USUAL = 2 };

/* ---- the entry ------------------------------------------------------------------------------- */

static json_t *tail_of(const json_t *words)
{
    json_t *tail = json_array();

    for (size_t i = 1; tail != NULL && i < json_array_size(words); i++)
        (void) json_array_append(tail, json_array_get(words, i));
    return tail;
}

static json_t *make_entry(const struct setup_client *client, const json_t *words)
{
    AUTO(json_free) json_t *entry = json_object();
    int rc = entry == NULL ? -1 : 0;

    if (rc == 0 && client->type != NULL)
        rc = json_object_set_new(entry, "type", json_string(client->type));
    if (rc == 0 && client->one_list)
        rc = json_object_set_new(entry, "command", json_deep_copy(words));
    if (rc == 0 && !client->one_list) {
        rc = json_object_set(entry, "command", json_array_get(words, 0));
        if (rc == 0)
            rc = json_object_set_new(entry, "args", tail_of(words));
    }
    return rc < 0 ? NULL : TAKE_PTR(entry);
}

/* One that starts `wattle mcp`, whatever else the owner has put into it. */
static bool is_ours(const struct setup_client *client, const json_t *entry)
{
    const json_t *command = json_object_get(entry, "command");
    const json_t *args = client->one_list ? command : json_object_get(entry, "args");
    const char *program =
        json_string_value(client->one_list ? json_array_get(command, 0) : command);
    const char *word = json_string_value(json_array_get(args, client->one_list ? 1 : 0));

    return program != NULL && str_equal(path_base(program), NAME) &&
           str_equal(word == NULL ? "" : word, "mcp");
}

/* ---- its place ------------------------------------------------------------------------------- */

static int misshapen(const char *name, struct err *err)
{
    return err_set(err, EINVAL, "setup.shape", "'%s' in it is no object", name);
}

/* The object that holds the entries; NULL where it is not there and not to be made. */
static int find_group(const struct setup_client *client, json_t *file, bool make,
                      json_t **ret_group, struct err *err)
{
    json_t *group = json_object_get(file, client->group);
    json_t *inner = client->inner == NULL ? NULL : json_object_get(group, client->inner);

    if (!json_is_object(file))
        return err_set(err, EINVAL, "setup.shape", "it holds no object");
    if (group != NULL && !json_is_object(group))
        return misshapen(client->group, err);
    if (group == NULL && make) {
        if (json_object_set_new(file, client->group, json_object()) < 0)
            return err_memory(err);
        group = json_object_get(file, client->group);
    }
    /* Else it is a server that has this name. */
    if (json_is_object(inner) && !json_is_string(json_object_get(inner, "type")))
        group = inner;
    *ret_group = group;
    return 0;
}

static int check_ours(const struct setup_client *client, const json_t *entry, struct err *err)
{
    if (entry == NULL || is_ours(client, entry))
        return 0;
    (void) err_set(err, EINVAL, "setup.taken",
                   "there is an entry '" NAME "' that does not start 'wattle mcp'");
    return err_hint(err, "it is not wattle's: rename or remove it by hand");
}

static int put(const struct setup_client *client, json_t *group, const json_t *words,
               enum setup_action *ret_action, struct err *err)
{
    AUTO(json_free) json_t *entry = make_entry(client, words);
    json_t *old = json_object_get(group, NAME);
    AUTO(json_free) json_t *before = json_deep_copy(old);

    if (entry == NULL)
        return err_memory(err);
    /* What the owner added to ours stays. */
    if ((old == NULL ? json_object_set(group, NAME, entry) : json_object_update(old, entry)) < 0)
        return err_memory(err);
    *ret_action = old == NULL ? SETUP_ADD : json_equal(old, before) ? SETUP_NOTHING : SETUP_REPLACE;
    return 0;
}

static int change(const struct setup_client *client, json_t *file, const json_t *words,
                  enum setup_action *ret_action, struct err *err)
{
    json_t *group = NULL;
    int r = find_group(client, file, words != NULL, &group, err);

    if (r == 0)
        r = check_ours(client, json_object_get(group, NAME), err);
    if (r == 0 && words != NULL)
        return put(client, group, words, ret_action, err);
    if (r == 0)
        *ret_action = json_object_del(group, NAME) < 0 ? SETUP_NOTHING : SETUP_REMOVE;
    return r;
}

/* ---- as text --------------------------------------------------------------------------------- */

/* How far its first member is indented. */
static size_t indent_of(const struct buf *old)
{
    const char *line = old == NULL ? NULL : strchr(old->bytes, '\n');
    const size_t count = line == NULL ? 0 : strspn(line + 1, " ");

    return count == 0 || count > INDENT_MOST ? INDENT_USUAL : count;
}

/* Numbers with the fewest digits that are still the same numbers. */
static char *print(const json_t *file, const struct buf *old)
{
    for (unsigned digits = REAL_DIGITS_LEAST; digits <= REAL_DIGITS_MOST; digits++) {
        AUTO_FREE char *text =
            json_dumps(file, JSON_INDENT(indent_of(old)) | JSON_REAL_PRECISION(digits));
        AUTO(json_free) json_t *again = NULL;
        struct err err = {0};

        if (text != NULL && json_parse_any_text(text, strlen(text), "it", &again, &err) == 0 &&
            json_equal(again, file))
            return TAKE_PTR(text);
    }
    return NULL;
}

static int parse(const struct buf *old, json_t **ret_file, struct err *err)
{
    int r;

    if (old == NULL || strspn(old->bytes, " \t\r\n") == old->size) {
        *ret_file = json_object();
        return *ret_file == NULL ? err_memory(err) : 0;
    }
    r = json_parse_any_text(old->bytes, old->size, "it", ret_file, err);
    if (r < 0)
        (void) err_hint(err, "a file with comments, or with a mistake, is left alone: put the "
                             "entry there by hand");
    return r;
}

int setup_edit_json(const struct setup_client *client, const struct buf *old, const json_t *words,
                    struct buf *text, enum setup_action *ret_action, struct err *err)
{
    AUTO(json_free) json_t *file = NULL;
    AUTO_FREE char *printed = NULL;
    enum setup_action action = SETUP_NOTHING;
    int r = parse(old, &file, err);

    if (r == 0)
        r = change(client, file, words, &action, err);
    if (r < 0)
        return r;
    printed = print(file, old);
    if (printed == NULL)
        return err_set(err, EINVAL, "setup.shape", "it holds what wattle cannot write again");
    (void) buf_printf(text, "%s\n", printed);
    r = buf_check(text, "the file", err);
    if (r == 0)
        *ret_action = action;
    return r;
}
