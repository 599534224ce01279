/* git's configuration syntax, as git's own config.c reads it: whatever git takes is taken here,
 * with the same meaning. Blanks within a value are all spaces, as versions before 2.45 have it.
 *
 * Where git gives up, the line is passed over and the rest is read all the same: who looks for what
 * a setting could lead to wants to know too much rather than too little. */
#include "derive/derive_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADING_SIZE = 8192, /* section and subsection; of includeIf a path */
    NAME_SIZE = 128,
    VALUE_SIZE = 16384,
};

struct text {
    char *bytes;
    size_t size, room;
    bool cut; /* more than there is room for, or a NUL in it */
};

struct reader {
    const char *at;
    const char *end;
    int byte;   /* the one read last */
    bool over;  /* that was the end of the text, which is a line break as well */
    bool known; /* the heading was understood */
    unsigned flaws;
    struct text heading, name, value;
    char heading_bytes[HEADING_SIZE];
    char name_bytes[NAME_SIZE];
    char value_bytes[VALUE_SIZE];
};

static struct reader *reader_new(const char *text, size_t size)
{
    struct reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL)
        return NULL;
    reader->at = text;
    reader->end = text + size;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reader->at += 3;
    reader->heading = (struct text){.bytes = reader->heading_bytes, .room = HEADING_SIZE};
    reader->name = (struct text){.bytes = reader->name_bytes, .room = NAME_SIZE};
    reader->value = (struct text){.bytes = reader->value_bytes, .room = VALUE_SIZE};
    return reader;
}

/* ---- bytes --------------------------------------------------------------------------------- */

static int next(struct reader *reader)
{
    reader->over = reader->at == reader->end;
    reader->byte = reader->over ? '\n' : (unsigned char) *reader->at++;
    if (reader->byte == '\r' && reader->at < reader->end && *reader->at == '\n')
        reader->byte = (unsigned char) *reader->at++;
    return reader->byte;
}

static void begin(struct text *text)
{
    text->size = 0;
    text->cut = false;
    text->bytes[0] = '\0';
}

static void add(struct text *text, int byte)
{
    if (text->size + 1 >= text->room || byte == '\0') {
        text->cut = true;
        return;
    }
    text->bytes[text->size++] = (char) byte;
    text->bytes[text->size] = '\0';
}

static bool is_blank(int byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool is_of_name(int byte)
{
    return isalnum(byte) || byte == '-';
}

static int lower(int byte)
{
    return tolower(byte);
}

/* ---- headings: [section], [section "subsection"], and the old [section.subsection] ----------- */

static bool read_subsection(struct reader *reader)
{
    do {
        if (reader->byte == '\n')
            return false;
    } while (is_blank(next(reader)));
    if (reader->byte != '"')
        return false;
    add(&reader->heading, '.');
    while (next(reader) != '"') {
        if (reader->byte == '\\')
            (void) next(reader);
        if (reader->byte == '\n')
            return false;
        add(&reader->heading, reader->byte);
    }
    return next(reader) == ']';
}

static bool read_heading(struct reader *reader)
{
    begin(&reader->heading);
    while (next(reader) != ']') {
        if (is_blank(reader->byte))
            return read_subsection(reader);
        if (!is_of_name(reader->byte) && reader->byte != '.')
            return false;
        add(&reader->heading, lower(reader->byte));
    }
    return true;
}

/* ---- values -------------------------------------------------------------------------------- */

/* What follows a backslash; -1: nothing that may. */
static int unescape(int byte)
{
    switch (byte) {
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case '"':
    case '\\':
        return byte;
    default:
        return -1;
    }
}

static void skip_line(struct reader *reader)
{
    while (reader->byte != '\n')
        (void) next(reader);
}

/* False: not understood. A backslash at the end of a line joins it with the next. */
static bool read_value(struct reader *reader)
{
    struct text *value = &reader->value;
    bool quoted = false;
    size_t blanks = 0; /* that count only if something follows */

    while (next(reader) != '\n') {
        if (!quoted && is_blank(reader->byte)) {
            blanks += value->size > 0;
            continue;
        }
        if (!quoted && (reader->byte == '#' || reader->byte == ';')) {
            skip_line(reader);
            break;
        }
        for (; blanks > 0; blanks--)
            add(value, ' ');
        if (reader->byte == '"') {
            quoted = !quoted;
        } else if (reader->byte != '\\') {
            add(value, reader->byte);
        } else if (next(reader) != '\n') {
            if (unescape(reader->byte) < 0)
                return false;
            add(value, unescape(reader->byte));
        }
    }
    return !quoted;
}

static bool read_setting(struct reader *reader)
{
    static const char alone[] = "true";

    begin(&reader->name);
    begin(&reader->value);
    do
        add(&reader->name, tolower(reader->byte));
    while (is_of_name(next(reader)));
    while (reader->byte == ' ' || reader->byte == '\t')
        (void) next(reader);
    if (reader->byte != '\n')
        return reader->byte == '=' && read_value(reader);
    for (const char *at = alone; *at != '\0'; at++)
        add(&reader->value, *at);
    return true;
}

/* ---- all of it ----------------------------------------------------------------------------- */

struct listener {
    int (*each)(void *context, const struct derive_gitsetting *setting);
    void *context;
};

static int tell(struct reader *reader, const struct listener *listener)
{
    const size_t section_size = strcspn(reader->heading.bytes, ".");
    const bool has_subsection = reader->heading.bytes[section_size] != '\0';
    struct derive_gitsetting setting = {
        .section = reader->heading.bytes,
        .subsection = has_subsection ? reader->heading.bytes + section_size + 1 : NULL,
        .name = reader->name.bytes,
        .value = reader->value.bytes,
    };
    int r;

    if (!reader->known)
        return 0;
    if (reader->heading.cut || reader->name.cut || reader->value.cut) {
        reader->flaws |= DERIVE_GIT_CUT;
        return 0;
    }
    reader->heading.bytes[section_size] = '\0';
    r = listener->each(listener->context, &setting);
    if (has_subsection)
        reader->heading.bytes[section_size] = '.';
    return r;
}

/* One heading, setting, comment, or byte between them. */
static int read_one(struct reader *reader, const struct listener *listener)
{
    bool understood = true;

    if (is_blank(next(reader)))
        return 0;
    if (reader->byte == '#' || reader->byte == ';') {
        skip_line(reader);
    } else if (reader->byte == '[') {
        understood = reader->known = read_heading(reader);
    } else if (isalpha(reader->byte)) {
        understood = read_setting(reader);
        if (understood)
            return tell(reader, listener);
    } else {
        understood = false;
    }
    if (!understood) {
        reader->flaws |= DERIVE_GIT_BAD;
        skip_line(reader);
    }
    return 0;
}

int derive_gitconfig_each(const char *text, size_t size,
                          int (*each)(void *context, const struct derive_gitsetting *setting),
                          void *context, unsigned *ret_flaws)
{
    const struct listener listener = {each, context};
    AUTO_FREE struct reader *reader = reader_new(text, size);
    int r = reader == NULL ? -ENOMEM : 0;

    while (r == 0 && !reader->over)
        r = read_one(reader, &listener);
    if (r == 0 && ret_flaws != NULL)
        *ret_flaws = reader->flaws;
    return r;
}
