/* A git configuration, let through only where it runs nothing, and written anew. */
#include "fence/guard/vet.h"

#include "fence/guard/vet_priv.h"

#include <errno.h>
#include <string.h>

/* ---- printing ------------------------------------------------------------------------------ */

static void print(struct guard_printer *printer, const char *text, size_t size)
{
    if (printer->at <= printer->size && size <= printer->size - printer->at) {
        memcpy(printer->text + printer->at, text, size);
        printer->at += size;
    } else {
        printer->at = printer->size + 1; /* did not fit */
    }
}

static void print_text(struct guard_printer *printer, const char *text)
{
    print(printer, text, strlen(text));
}

static void print_section(struct guard_printer *printer, const struct guard_reader *reader)
{
    const struct guard_setting *setting = &reader->setting;

    print_text(printer, "[");
    print(printer, reader->section.at, reader->section.size);
    if (setting->has_subsection) {
        print_text(printer, " \"");
        for (const char *at = setting->subsection; *at != '\0'; at++) {
            if (*at == '"' || *at == '\\')
                print_text(printer, "\\");
            print(printer, at, 1);
        }
        print_text(printer, "\"");
    }
    print_text(printer, "]\n");
}

/* As git itself decides it, and for a few more bytes. */
static bool needs_quotes(const char *value)
{
    const size_t size = strlen(value);

    return size > 0 &&
           (value[0] == ' ' || value[size - 1] == ' ' || strpbrk(value, ";#\r\t\b\n\v\f") != NULL);
}

static void print_value(struct guard_printer *printer, const char *value)
{
    const char *quote = needs_quotes(value) ? "\"" : "";

    print_text(printer, quote);
    for (; *value != '\0'; value++) {
        if (*value == '\n')
            print_text(printer, "\\n");
        else if (*value == '\t')
            print_text(printer, "\\t");
        else if (*value == '\b')
            print_text(printer, "\\b");
        else if (*value == '"' || *value == '\\')
            print(printer, (const char[]){'\\', *value}, 2);
        else
            print(printer, value, 1);
    }
    print_text(printer, quote);
}

static void print_setting(struct guard_printer *printer, const struct guard_reader *reader)
{
    print_text(printer, "\t");
    print(printer, reader->key.at, reader->key.size);
    if (reader->setting.has_value) {
        print_text(printer, " = ");
        print_value(printer, reader->setting.value);
    }
    if (reader->comment.size > 0) {
        print_text(printer, " ");
        print(printer, reader->comment.at, reader->comment.size);
    }
    print_text(printer, "\n");
}

void guard_print_event(struct guard_printer *printer, const struct guard_reader *reader, int event)
{
    switch (event) {
    case GUARD_READ_BLANK:
        print_text(printer, "\n");
        return;
    case GUARD_READ_COMMENT:
        print(printer, reader->comment.at, reader->comment.size);
        print_text(printer, "\n");
        return;
    case GUARD_READ_SECTION:
        print_section(printer, reader);
        return;
    case GUARD_READ_SETTING:
        print_setting(printer, reader);
        return;
    default:
        return;
    }
}

/* ---- against what stands there ------------------------------------------------------------- */

/* The next setting of `old` that is not on the list; 0: there is none. What stands there already
 * and cannot be read is no help. */
static int next_unlisted(struct guard_reader *old, struct err *err)
{
    int r = GUARD_READ_END;

    do {
        r = guard_reader_next(old, err);
    } while (r > GUARD_READ_END &&
             (r != GUARD_READ_SETTING || guard_vet_setting(&old->setting, NULL) == 0));
    return r;
}

static int complain_lost(const struct guard_setting *setting, struct err *err)
{
    char name[GUARD_SETTING_NAME_SIZE];

    guard_setting_name(setting, name);
    return err_set(err, EINVAL, "guard.vet-lost",
                   "git's setting '%s' stands there and must stay as it is", name);
}

/* One setting of the new text: on the list, or the next of those the owner has that are not. */
static int vet_one(const struct guard_reader *reader, struct guard_reader *old, struct err *err)
{
    struct err why = {0};
    int r = guard_vet_setting(&reader->setting, &why);

    if (r == 0)
        return 0;
    r = next_unlisted(old, err);
    if (r < 0)
        return r;
    if (r != GUARD_READ_END && guard_setting_equals(&old->setting, &reader->setting))
        return 0;
    *err = why;
    return -why.code;
}

/* ---- where it leads ------------------------------------------------------------------------ */

struct search {
    const struct guard_setting *wanted;
    bool found;
};

static int look_for(void *context, const struct guard_setting *setting)
{
    struct search *search = context;

    search->found = search->found || guard_setting_equals(setting, search->wanted);
    return search->found;
}

/* A work tree other than the one that stands there: the caller has to look at it. */
static int note_worktree(const struct guard_config *config, const struct guard_setting *setting,
                         struct guard_vetted *vetted, struct err *err)
{
    struct search search = {.wanted = setting};
    char path[PATH_MAX];
    struct err ignored = {0};

    if (config->old != NULL &&
        guard_config_each(config->old, config->old_size, look_for, &search, &ignored) > 0)
        return 0;
    if (guard_path_resolve(config->folder, setting->value, strlen(setting->value), path) == 0 &&
        (vetted->worktree[0] == '\0' || strcmp(vetted->worktree, path) == 0)) {
        memcpy(vetted->worktree, path, strlen(path) + 1);
        return 0;
    }
    return err_set(err, EINVAL, "guard.vet-value", "git's setting 'core.worktree' is not taken");
}

static int next_url(struct guard_reader *reader)
{
    struct err ignored = {0};
    int r = GUARD_READ_END;

    do {
        r = guard_reader_next(reader, &ignored);
    } while (r > GUARD_READ_END &&
             (r != GUARD_READ_SETTING || !guard_setting_is_url(&reader->setting)));
    return r;
}

/* Whether an address that stands there is another one now, or gone. */
static bool changes_urls(const struct guard_config *config)
{
    struct guard_reader old;
    struct guard_reader new;
    bool left = false;

    guard_reader_init(&old, config->old, config->old_size);
    guard_reader_init(&new, config->text, config->size);
    left = next_url(&old) > GUARD_READ_END;
    while (left && next_url(&new) > GUARD_READ_END)
        if (guard_setting_equals(&old.setting, &new.setting))
            left = next_url(&old) > GUARD_READ_END;
    return left;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int check_sizes(const struct guard_config *config, struct err *err)
{
    const char *old = config->old != NULL ? config->old : "";

    if (config->size > GUARD_VET_LIMIT || config->old_size > GUARD_VET_LIMIT)
        return err_set(err, EFBIG, "guard.vet-size", "a git configuration is over %d bytes",
                       GUARD_VET_LIMIT);
    if (memchr(config->text, '\0', config->size) == NULL &&
        memchr(old, '\0', config->old != NULL ? config->old_size : 0) == NULL)
        return 0;
    return err_set(err, EINVAL, "guard.vet-syntax", "the git configuration has a NUL byte");
}

static int vet_all(const struct guard_config *config, struct guard_printer *printer,
                   struct guard_vetted *vetted, struct err *err)
{
    struct guard_reader reader;
    struct guard_reader old;
    int event = GUARD_READ_END;
    int r = 0;

    guard_reader_init(&reader, config->text, config->size);
    guard_reader_init(&old, config->old != NULL ? config->old : "",
                      config->old != NULL ? config->old_size : 0);
    for (;;) {
        event = guard_reader_next(&reader, err);
        if (event <= GUARD_READ_END)
            break;
        if (event == GUARD_READ_SETTING)
            r = vet_one(&reader, &old, err);
        if (r == 0 && event == GUARD_READ_SETTING &&
            guard_setting_is(&reader.setting, "core", "worktree"))
            r = note_worktree(config, &reader.setting, vetted, err);
        if (r < 0)
            return r;
        guard_print_event(printer, &reader, event);
    }
    if (event < 0)
        return event;
    r = next_unlisted(&old, err);
    return r > GUARD_READ_END ? complain_lost(&old.setting, err) : r;
}

int guard_vet_config(const struct guard_config *config, char *ret_text, size_t room,
                     struct guard_vetted *ret_vetted, struct err *err)
{
    struct guard_printer printer = {.text = ret_text, .size = room};
    struct err own = {0};
    int r = 0;

    if (err == NULL)
        err = &own;
    ret_vetted->size = 0;
    ret_vetted->notes = 0;
    ret_vetted->worktree[0] = '\0';
    r = check_sizes(config, err);
    if (r == 0)
        r = vet_all(config, &printer, ret_vetted, err);
    if (r < 0)
        return r;
    if (printer.at > printer.size)
        return err_set(err, EFBIG, "guard.vet-size", "the git configuration is too large");
    ret_vetted->size = printer.at;
    if (config->old != NULL && changes_urls(config))
        ret_vetted->notes |= GUARD_NOTE_URL;
    return 0;
}
