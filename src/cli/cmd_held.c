/* `wattle held list`, `show`, `restore` and `drop`: what the check after runs without a guard has
 * set aside. Names and content are a job's: nothing of them reaches a terminal as it is, but with
 * --raw. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/request.h"
#include "held/held.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    ANSWER_LIMIT_BYTES = 64 << 20,
    SHOWN_BYTES = 64 << 10, /* of a content, without --raw */
};

/* ---- first: what crashed runs left ------------------------------------------------------- */

static void say_event(void *context, const struct held_event *event)
{
    (void) context;
    report_line("after a run that was killed: %s '%s/%s': %s", held_action_name(event->action),
                event->top, event->path, event->reason);
}

/* The owner's state folder, with nothing left to be checked in it. What cannot be finished is said,
 * and hinders nobody from looking at the rest. */
static int open_state(const struct values *values, struct derive_owner **ret_owner, struct err *err)
{
    char run[RECORD_ID_SIZE];
    struct held_request request = {.run = run, .on_event = say_event};
    struct err failure = {0};
    int rc = request_owner(values, ret_owner, err);

    if (rc < 0)
        return rc;
    record_new_id(run);
    request.state_dir = (*ret_owner)->state_dir;
    if (held_sweep(&request, &failure) < 0)
        report_error(&failure, false);
    return 0;
}

/* ---- one entry --------------------------------------------------------------------------- */

static const char *type_name(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

static void add_place(struct buf *text, const struct held_entry *entry)
{
    (void) str_add_inert(text, entry->top, strlen(entry->top));
    (void) buf_add_text(text, "/");
    (void) str_add_inert(text, entry->path, strlen(entry->path));
}

static void add_time(struct buf *text, uint64_t when_ms)
{
    const time_t when = (time_t) (when_ms / 1000);
    char line[32] = "?";
    struct tm parts;

    if (gmtime_r(&when, &parts) != NULL)
        (void) strftime(line, sizeof line, "%Y-%m-%d %H:%MZ", &parts);
    (void) buf_add_text(text, line);
}

static json_t *entry_json(const struct held_entry *entry)
{
    AUTO(json_free) json_t *object = json_object();
    char mode[8];
    int rc = 0;

    (void) snprintf(mode, sizeof mode, "%04o", entry->mode & 07777);
    const struct {
        const char *name;
        json_t *value;
    } members[] = {
        {"id", json_string(entry->id)},
        {"pen", json_text(entry->top, strlen(entry->top))},
        {"path", json_text(entry->path, strlen(entry->path))},
        {"action", json_string(held_action_name(entry->action))},
        {"how", json_string(held_how_name(entry->how))},
        {"reason", json_text(entry->reason, strlen(entry->reason))},
        {"time_ms", json_integer((json_int_t) entry->when_ms)},
        {"run", json_string(entry->run)},
        {"type", json_string(type_name(entry->mode))},
        {"mode", json_string(mode)},
        {"size", json_integer((json_int_t) entry->size)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (json_object_set_new(object, members[i].name, members[i].value) < 0)
            rc = -ENOMEM;
    return rc < 0 ? NULL : TAKE_PTR(object);
}

/* ---- list -------------------------------------------------------------------------------- */

struct listing {
    const char *pen; /* physical; NULL: all */
    bool json;
    json_t *array;
    struct buf text;
};

static int list_one(void *context, const struct held_entry *entry, struct err *err)
{
    struct listing *listing = context;

    if (listing->pen != NULL && !path_is_below(entry->top, listing->pen))
        return 0;
    if (listing->json)
        return json_array_append_new(listing->array, entry_json(entry)) < 0 ? err_memory(err) : 0;
    (void) buf_printf(&listing->text, "%s  ", entry->id);
    add_time(&listing->text, entry->when_ms);
    (void) buf_printf(&listing->text, "  %-9s  ", held_action_name(entry->action));
    add_place(&listing->text, entry);
    (void) buf_add_text(&listing->text, "\n");
    return 0;
}

static int no_arguments(const struct values *values, struct err *err)
{
    return values->rest_count == 0 ? 0
                                   : err_set(err, EINVAL, "cli.arguments",
                                             "'held list' takes no argument '%s'", values->rest[0]);
}

static int list(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(json_free) json_t *array = json_array();
    AUTO_FREE char *pen = NULL;
    struct listing listing = {.json = values->json, .array = array};
    int rc = no_arguments(values, err);

    if (rc == 0)
        rc = open_state(values, &owner, err);
    if (rc == 0 && values->pen != NULL)
        rc = path_physical(values->pen, &pen, err);
    if (rc < 0)
        return rc;
    listing.pen = pen;
    assert(owner != NULL);
    buf_init(&listing.text, ANSWER_LIMIT_BYTES);
    rc = held_list(owner->state_dir, list_one, &listing, err);
    if (rc == 0 && values->json && json_print(&listing.text, array) < 0)
        rc = err_memory(err);
    if (rc == 0)
        rc = print_out(&listing.text, err);
    buf_free(&listing.text);
    return rc < 0 ? rc : CMD_OK;
}

static const struct option_group *const list_groups[] = {
    &options_held_list,
    &options_json,
    &options_help,
    NULL,
};

const struct cmd cmd_held_list = {
    .name = "held",
    .verb = "list",
    .summary = "list what runs without a guard had set aside",
    .groups = list_groups,
    .run = list,
};

/* ---- show -------------------------------------------------------------------------------- */

static void print_entry(const struct held_entry *entry, struct buf *text)
{
    char size[32];

    str_from_bytes(entry->size, size, sizeof size);
    (void) buf_printf(text, "%s  %s, %s\n", entry->id, held_action_name(entry->action),
                      held_how_name(entry->how));
    (void) buf_add_text(text, "place   ");
    add_place(text, entry);
    (void) buf_printf(text, "\nwhat    %s, mode %04o, %s\n", type_name(entry->mode),
                      entry->mode & 07777, size);
    (void) buf_add_text(text, "reason  ");
    (void) str_add_inert(text, entry->reason, strlen(entry->reason));
    (void) buf_add_text(text, "\nwhen    ");
    add_time(text, entry->when_ms);
    (void) buf_printf(text, ", run %s\n\n", entry->run);
}

/* A line stays a line; all else that could drive a terminal is shown. */
static void print_content(const struct buf *content, struct buf *text)
{
    const char *at = content->bytes;
    const char *end = at + content->size;

    while (at < end) {
        const char *line = memchr(at, '\n', (size_t) (end - at));
        const size_t size = (size_t) ((line != NULL ? line : end) - at);

        (void) str_add_inert(text, at, size);
        (void) buf_add_text(text, "\n");
        at += size + 1;
    }
}

static int print_shown(const struct values *values, const struct held_entry *entry,
                       const struct buf *content, struct buf *text)
{
    AUTO(json_free) json_t *object = values->json ? entry_json(entry) : NULL;

    if (values->json) {
        if (object == NULL ||
            json_object_set_new(object, "content", json_text(content->bytes, content->size)) < 0)
            return -ENOMEM;
        return json_print(text, object);
    }
    print_entry(entry, text);
    print_content(content, text);
    if (content->size == content->limit)
        (void) buf_add_text(text, "... and more: --raw prints all of it\n");
    return 0;
}

static int one_id(const struct values *values, const char *verb, struct err *err)
{
    if (values->rest_count == 1)
        return 0;
    (void) err_set(err, EINVAL, "cli.arguments", "'held %s' wants one ID", verb);
    return err_hint(err, "'wattle held list' shows them");
}

/* Finds the entry of the one argument. */
static int find_one(const struct values *values, const char *verb, struct derive_owner **ret_owner,
                    struct held_entry *ret_entry, struct err *err)
{
    int rc = one_id(values, verb, err);

    if (rc == 0)
        rc = open_state(values, ret_owner, err);
    if (rc < 0)
        return rc;
    assert(*ret_owner != NULL);
    return held_find((*ret_owner)->state_dir, values->rest[0], ret_entry, err);
}

static int show(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(held_entry_free) struct held_entry entry = {0};
    AUTO(buf_free) struct buf content = {0};
    AUTO(buf_free) struct buf text = {0};
    int rc = 0;

    if (values->raw && values->json)
        return err_set(err, EINVAL, "cli.option", "'--raw' and '--json' exclude each other");
    rc = find_one(values, "show", &owner, &entry, err);
    if (rc < 0)
        return rc;
    assert(owner != NULL);
    buf_init(&content, values->raw ? ANSWER_LIMIT_BYTES : SHOWN_BYTES);
    buf_init(&text, ANSWER_LIMIT_BYTES);
    rc = held_content(owner->state_dir, &entry, &content, err);
    if (rc < 0)
        return rc;
    if (values->raw)
        return print_out(&content, err) < 0 ? -err->code : CMD_OK;
    if (print_shown(values, &entry, &content, &text) < 0)
        return err_memory(err);
    rc = print_out(&text, err);
    return rc < 0 ? rc : CMD_OK;
}

static const struct option_group *const show_groups[] = {
    &options_held_show,
    &options_json,
    &options_help,
    NULL,
};

const struct cmd cmd_held_show = {
    .name = "held",
    .verb = "show",
    .args = "ID",
    .summary = "show one of them, and what is in it",
    .groups = show_groups,
    .run = show,
};

/* ---- restore ----------------------------------------------------------------------------- */

static int restore(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(held_entry_free) struct held_entry entry = {0};
    int rc = find_one(values, "restore", &owner, &entry, err);

    if (rc < 0)
        return rc;
    assert(owner != NULL);
    rc = held_restore(owner->state_dir, &entry, err);
    if (rc < 0)
        return rc;
    if (!values->quiet)
        report_line("'%s/%s' is there again: %s", entry.top, entry.path, entry.reason);
    return CMD_OK;
}

static const struct option_group *const restore_groups[] = {
    &options_quiet,
    &options_help,
    NULL,
};

const struct cmd cmd_held_restore = {
    .name = "held",
    .verb = "restore",
    .args = "ID",
    .summary = "put one of them back to where it was",
    .groups = restore_groups,
    .run = restore,
};

/* ---- drop -------------------------------------------------------------------------------- */

struct dropping {
    const struct values *values;
    const char *state_dir;
};

static int drop_one(void *context, const struct held_entry *entry, struct err *err)
{
    const struct dropping *dropping = context;
    const int rc = held_drop(dropping->state_dir, entry, err);

    if (rc == 0 && !dropping->values->quiet)
        report_line("removed for good: %s '%s/%s'", entry->id, entry->top, entry->path);
    return rc;
}

static int check_drop(const struct values *values, struct err *err)
{
    if (values->all != (values->rest_count > 0))
        return 0;
    (void) err_set(err, EINVAL, "cli.arguments", "'held drop' wants IDs, or '--all'");
    return err_hint(err, "'wattle held list' shows them");
}

static int drop(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    struct dropping dropping = {.values = values};
    int rc = check_drop(values, err);

    if (rc == 0)
        rc = open_state(values, &owner, err);
    if (rc < 0)
        return rc;
    assert(owner != NULL);
    dropping.state_dir = owner->state_dir;
    if (values->all)
        rc = held_list(owner->state_dir, drop_one, &dropping, err);
    for (size_t i = 0; rc == 0 && i < values->rest_count; i++) {
        AUTO(held_entry_free) struct held_entry entry = {0};

        rc = held_find(owner->state_dir, values->rest[i], &entry, err);
        if (rc == 0)
            rc = drop_one(&dropping, &entry, err);
    }
    return rc < 0 ? rc : CMD_OK;
}

static const struct option_group *const drop_groups[] = {
    &options_held_drop,
    &options_quiet,
    &options_help,
    NULL,
};

const struct cmd cmd_held_drop = {
    .name = "held",
    .verb = "drop",
    .args = "[ID...]",
    .summary = "remove some of them for good",
    .groups = drop_groups,
    .run = drop,
};
