/* git's configuration syntax, as config.c of git reads it; what git would refuse, or reads in one
 * way today and in another tomorrow, is refused here. */
#include "fence/guard/vet_priv.h"

#include <errno.h>
#include <string.h>

#define END_OF_LINE '\n'

void guard_reader_init(struct guard_reader *reader, const char *text, size_t size)
{
    *reader = (struct guard_reader){.text = text, .size = size, .line = 1};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reader->at = reader->line_start = 3;
}

static int complain(const struct guard_reader *reader, const char *what, struct err *err)
{
    return err_set(err, EINVAL, "guard.vet-syntax", "line %u of the git configuration %s",
                   reader->line, what);
}

/* ---- bytes --------------------------------------------------------------------------------- */

static bool at_end(const struct guard_reader *reader)
{
    return reader->at >= reader->size;
}

/* A carriage return before a line break is part of it; the end of the text is one as well. */
static unsigned char peek(const struct guard_reader *reader)
{
    if (at_end(reader))
        return END_OF_LINE;
    if (reader->text[reader->at] == '\r' && reader->at + 1 < reader->size &&
        reader->text[reader->at + 1] == '\n')
        return END_OF_LINE;
    return (unsigned char) reader->text[reader->at];
}

static unsigned char take(struct guard_reader *reader)
{
    const unsigned char byte = peek(reader);

    if (at_end(reader))
        return byte;
    if (byte == END_OF_LINE) {
        reader->at += reader->text[reader->at] == '\r' ? 2 : 1;
        reader->line++;
        reader->line_start = reader->at;
    } else {
        reader->at++;
    }
    return byte;
}

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static unsigned char lower(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (unsigned char) (byte + ('a' - 'A')) : byte;
}

static bool is_alpha(unsigned char byte)
{
    return lower(byte) >= 'a' && lower(byte) <= 'z';
}

static bool is_key(unsigned char byte)
{
    return is_alpha(byte) || (byte >= '0' && byte <= '9') || byte == '-';
}

/* Letters, digits and '-', in lower case, and as they are written. */
static bool take_name(struct guard_reader *reader, char name[GUARD_CONFIG_NAME_MAX],
                      struct guard_slice *written)
{
    size_t size = 0;

    written->at = reader->text + reader->at;
    while (!at_end(reader) && is_key(peek(reader))) {
        if (size + 1 == GUARD_CONFIG_NAME_MAX)
            return false;
        name[size++] = (char) lower(take(reader));
    }
    name[size] = '\0';
    written->size = size;
    return size > 0;
}

/* ---- sections ------------------------------------------------------------------------------ */

/* What follows the quote. */
static bool take_subsection(struct guard_reader *reader)
{
    char *subsection = reader->setting.subsection;
    size_t size = 0;

    for (;;) {
        unsigned char byte = peek(reader);

        if (byte == END_OF_LINE || size + 1 == GUARD_CONFIG_SUBSECTION_MAX)
            return false;
        (void) take(reader);
        if (byte == '"')
            break;
        if (byte == '\\') {
            byte = peek(reader);
            if (byte == END_OF_LINE)
                return false;
            (void) take(reader);
        }
        subsection[size++] = (char) byte;
    }
    subsection[size] = '\0';
    return true;
}

static int read_section(struct guard_reader *reader, struct err *err)
{
    struct guard_setting *setting = &reader->setting;

    (void) take(reader);
    setting->has_subsection = false;
    setting->subsection[0] = '\0';
    if (!take_name(reader, setting->section, &reader->section))
        return complain(reader, "has no plain name of a section", err);
    if (is_blank(peek(reader))) {
        while (is_blank(peek(reader)))
            (void) take(reader);
        if (take(reader) != '"' || !take_subsection(reader))
            return complain(reader, "has a subsection that is not understood", err);
        setting->has_subsection = true;
    }
    if (peek(reader) != ']')
        return complain(reader, "has a section that is not understood", err);
    (void) take(reader);
    reader->line_used = true;
    return GUARD_READ_SECTION;
}

/* ---- settings ------------------------------------------------------------------------------ */

/* To the end of the line, which stays. */
static void take_comment(struct guard_reader *reader, const char *from)
{
    while (peek(reader) != END_OF_LINE)
        (void) take(reader);
    reader->comment.at = from;
    reader->comment.size = (size_t) (reader->text + reader->at - from);
    while (reader->comment.size > 0 && from[reader->comment.size - 1] == '\r')
        reader->comment.size--; /* would be part of the line break in the copy */
}

struct value {
    size_t size;
    size_t blanks; /* that count only if something follows */
    bool quoted;
};

static bool add(struct guard_reader *reader, struct value *value, char byte)
{
    if (value->size + value->blanks + 1 >= GUARD_CONFIG_VALUE_MAX)
        return false;
    memset(reader->setting.value + value->size, ' ', value->blanks);
    value->size += value->blanks;
    value->blanks = 0;
    if (byte != '\0')
        reader->setting.value[value->size++] = byte;
    return true;
}

/* After a backslash. */
static bool add_escaped(struct guard_reader *reader, struct value *value)
{
    switch (take(reader)) {
    case END_OF_LINE: /* goes on in the next line */
        return !at_end(reader) && add(reader, value, '\0');
    case 't':
        return add(reader, value, '\t');
    case 'b':
        return add(reader, value, '\b');
    case 'n':
        return add(reader, value, '\n');
    case '"':
        return add(reader, value, '"');
    case '\\':
        return add(reader, value, '\\');
    default:
        return false;
    }
}

/* One byte of a value that is not at its end. Blanks other than spaces within one are read
 * differently by different versions. */
static bool add_byte(struct guard_reader *reader, struct value *value, bool *odd_blank)
{
    const unsigned char byte = take(reader);

    if (is_blank(byte) && !value->quoted) {
        value->blanks += value->size > 0;
        *odd_blank = *odd_blank || (value->size > 0 && byte != ' ');
        return value->blanks < GUARD_CONFIG_VALUE_MAX;
    }
    if (*odd_blank)
        return false;
    if (byte == '\\')
        return add_escaped(reader, value);
    if (byte != '"')
        return add(reader, value, (char) byte);
    value->quoted = !value->quoted;
    return add(reader, value, '\0');
}

static bool read_value(struct guard_reader *reader)
{
    struct value value = {.size = 0};
    bool odd_blank = false;

    for (;;) {
        const unsigned char byte = peek(reader);

        if (byte == END_OF_LINE)
            break;
        if (!value.quoted && (byte == '#' || byte == ';')) {
            take_comment(reader, reader->text + reader->at);
            break;
        }
        if (!add_byte(reader, &value, &odd_blank))
            return false;
    }
    reader->setting.value[value.size] = '\0';
    return !value.quoted;
}

static int read_setting(struct guard_reader *reader, struct err *err)
{
    struct guard_setting *setting = &reader->setting;

    setting->line = reader->line;
    setting->has_value = false;
    setting->value[0] = '\0';
    if (setting->section[0] == '\0')
        return complain(reader, "belongs to no section", err);
    if (!take_name(reader, setting->key, &reader->key))
        return complain(reader, "has a name that is too long", err);
    while (peek(reader) == ' ' || peek(reader) == '\t')
        (void) take(reader);
    if (peek(reader) != END_OF_LINE) {
        if (take(reader) != '=' || !read_value(reader))
            return complain(reader, "is not understood", err);
        setting->has_value = true;
    }
    reader->line_used = true;
    return GUARD_READ_SETTING;
}

/* ---- all of it ----------------------------------------------------------------------------- */

int guard_reader_next(struct guard_reader *reader, struct err *err)
{
    reader->comment.size = 0;
    while (!at_end(reader)) {
        const unsigned char byte = peek(reader);

        if (byte == '\0')
            return complain(reader, "has a NUL byte", err);
        if (byte == END_OF_LINE) {
            const bool was_used = reader->line_used;

            (void) take(reader);
            reader->line_used = false;
            if (!was_used)
                return GUARD_READ_BLANK;
        } else if (byte == '#' || byte == ';') {
            take_comment(reader,
                         reader->text + (reader->line_used ? reader->at : reader->line_start));
            reader->line_used = true;
            return GUARD_READ_COMMENT;
        } else if (byte == '[') {
            return read_section(reader, err);
        } else if (is_alpha(byte)) {
            return read_setting(reader, err);
        } else if (is_blank(byte)) {
            (void) take(reader);
        } else {
            return complain(reader, "is not understood", err);
        }
    }
    return GUARD_READ_END;
}

int guard_config_each(const char *text, size_t size,
                      int (*each)(void *context, const struct guard_setting *setting),
                      void *context, struct err *err)
{
    struct guard_reader reader;
    int r = 0;

    if (memchr(text, '\0', size) != NULL)
        return err_set(err, EINVAL, "guard.vet-syntax", "the git configuration has a NUL byte");
    guard_reader_init(&reader, text, size);
    for (;;) {
        r = guard_reader_next(&reader, err);
        if (r <= GUARD_READ_END)
            return r;
        if (r != GUARD_READ_SETTING)
            continue;
        r = each(context, &reader.setting);
        if (r != 0)
            return r;
    }
}

/* ---- what was read ------------------------------------------------------------------------- */

bool guard_setting_is(const struct guard_setting *setting, const char *section, const char *key)
{
    return strcmp(setting->section, section) == 0 && strcmp(setting->key, key) == 0;
}

bool guard_setting_equals(const struct guard_setting *a, const struct guard_setting *b)
{
    return guard_setting_is(a, b->section, b->key) && a->has_subsection == b->has_subsection &&
           strcmp(a->subsection, b->subsection) == 0 && a->has_value == b->has_value &&
           strcmp(a->value, b->value) == 0;
}

bool guard_setting_is_url(const struct guard_setting *setting)
{
    return guard_setting_is(setting, "remote", "url") ||
           guard_setting_is(setting, "remote", "pushurl");
}
