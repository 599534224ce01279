#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool str_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static unsigned char lower(char byte)
{
    const unsigned char value = (unsigned char) byte;

    return value >= 'A' && value <= 'Z' ? (unsigned char) (value + ('a' - 'A')) : value;
}

bool str_glob_fits(const char *glob, size_t glob_size, const char *name, size_t size)
{
    size_t i = 0; /* in glob */
    size_t j = 0; /* in name */
    size_t star_i = 0;
    size_t star_j = 0; /* what follows the last star, 0: there was none; and where it ended */

    while (i < glob_size || j < size) {
        if (i < glob_size && glob[i] == '*') {
            star_i = ++i;
            star_j = j;
        } else if (i < glob_size && j < size &&
                   (glob[i] == '?' || lower(glob[i]) == lower(name[j]))) {
            i++;
            j++;
        } else if (star_i > 0 && star_j < size) {
            i = star_i;
            j = ++star_j;
        } else {
            return false;
        }
    }
    return true;
}

bool str_ends(const char *text, const char *suffix)
{
    size_t size = strlen(text);
    size_t suffix_size = strlen(suffix);

    return size >= suffix_size && memcmp(text + size - suffix_size, suffix, suffix_size) == 0;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The digits `text` begins with; *ret_end is what follows them. */
static int leading_u64(const char *text, uint64_t *ret_value, const char **ret_end)
{
    uint64_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t) (*at - '0'), &value))
            return -ERANGE;
    }
    if (at == text)
        return -EINVAL;
    *ret_value = value;
    *ret_end = at;
    return 0;
}

int str_to_u64(const char *text, uint64_t *ret_value)
{
    const char *end;
    uint64_t value;
    int r = leading_u64(text, &value, &end);

    if (r < 0)
        return r;
    if (*end != '\0')
        return -EINVAL;
    *ret_value = value;
    return 0;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* A number and one of `units`, which end with a NULL name. */
static int number_with_unit(const char *text, const struct unit *units, uint64_t *ret_value)
{
    const char *end;
    uint64_t value;
    int r = leading_u64(text, &value, &end);

    if (r < 0)
        return r;
    while (units->name != NULL && strcmp(units->name, end) != 0)
        units++;
    if (units->name == NULL)
        return -EINVAL;
    if (value == 0 || __builtin_mul_overflow(value, units->factor, &value))
        return -ERANGE;
    *ret_value = value;
    return 0;
}

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)
#define GIB ((uint64_t) 1 << 30)
#define TIB ((uint64_t) 1 << 40)

int str_to_bytes(const char *text, uint64_t *ret_bytes)
{
    static const struct unit units[] = {
        {"", 1},     {"B", 1},     {"K", KIB},   {"KB", KIB},  {"KiB", KIB},
        {"k", KIB},  {"M", MIB},   {"MB", MIB},  {"MiB", MIB}, {"m", MIB},
        {"G", GIB},  {"GB", GIB},  {"GiB", GIB}, {"g", GIB},   {"T", TIB},
        {"TB", TIB}, {"TiB", TIB}, {"t", TIB},   {NULL, 0},
    };

    return number_with_unit(text, units, ret_bytes);
}

int str_to_ms(const char *text, uint64_t *ret_ms)
{
    static const struct unit units[] = {
        {"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}, {"h", 3600000}, {NULL, 0},
    };

    return number_with_unit(text, units, ret_ms);
}

void str_from_bytes(uint64_t bytes, char *text, size_t size)
{
    static const struct unit units[] = {
        {"TiB", TIB}, {"GiB", GIB}, {"MiB", MIB}, {"KiB", KIB}, {"B", 1},
    };
    const struct unit *unit = units;
    uint64_t tenths;

    while (unit->factor > 1 && bytes < unit->factor)
        unit++;
    /* Cut, not rounded: "1024.0 KiB" would be odd. */
    tenths = bytes % unit->factor * 10 / unit->factor;
    if (tenths == 0)
        (void) snprintf(text, size, "%llu %s", (unsigned long long) (bytes / unit->factor),
                        unit->name);
    else
        (void) snprintf(text, size, "%llu.%u %s", (unsigned long long) (bytes / unit->factor),
                        (unsigned) tenths, unit->name);
}

/* ---- nearest name -------------------------------------------------------------------------- */

enum { NAME_LIMIT = 64 }; /* longer names are not worth suggesting for */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits that turn `a` into `b`: one byte added, removed or changed, or two neighbours swapped. Both
 * shorter than NAME_LIMIT. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned rows[3][NAME_LIMIT] = {{0}};
    unsigned a_size = (unsigned) strlen(a);
    unsigned b_size = (unsigned) strlen(b);

    for (unsigned j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_size; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (unsigned j = 1; j <= b_size; j++) {
            unsigned changed = above[j - 1] + (a[i - 1] != b[j - 1]);

            row[j] = least(changed, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

const char *str_nearest(const char *text, const char *const *names)
{
    size_t size = strnlen(text, NAME_LIMIT);
    const char *nearest = NULL;
    unsigned best = NAME_LIMIT;

    if (size >= NAME_LIMIT)
        return NULL;
    for (; *names != NULL; names++) {
        size_t name_size = strnlen(*names, NAME_LIMIT);
        size_t longer = size > name_size ? size : name_size;
        unsigned distance;

        if (name_size >= NAME_LIMIT)
            continue;
        distance = edit_distance(text, *names);
        if (distance < best && distance <= longer / 3) {
            best = distance;
            nearest = *names;
        }
    }
    return nearest;
}

/* ---- printing ------------------------------------------------------------------------------ */

/* Length of the UTF-8 sequence that a first byte announces; 0: it cannot be a first byte. */
static size_t announced_size(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    if (first >= 0xf0 && first <= 0xf4)
        return 4;
    return 0;
}

size_t str_utf8(const char *bytes, size_t size, uint32_t *ret_rune)
{
    static const unsigned char first_masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t least_runes[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = size > 0 ? announced_size((unsigned char) bytes[0]) : 0;
    uint32_t rune;

    if (need == 0 || need > size)
        return 0;
    rune = (unsigned char) bytes[0] & first_masks[need];
    for (size_t i = 1; i < need; i++) {
        unsigned char byte = (unsigned char) bytes[i];

        if ((byte & 0xc0u) != 0x80u)
            return 0;
        rune = rune << 6 | (byte & 0x3fu);
    }
    if (rune < least_runes[need] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
        return 0;
    *ret_rune = rune;
    return need;
}

/* Characters that change how their neighbours look, or show nothing themselves. */
static bool is_formatting(uint32_t rune)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (rune >= ranges[i].first && rune <= ranges[i].last)
            return true;
    }
    return false;
}

/* One character of `text`; *ret_size is its length. */
static int add_inert_rune(struct buf *buf, const char *text, size_t size, size_t *ret_size)
{
    uint32_t rune = 0;
    size_t length = str_utf8(text, size, &rune);

    *ret_size = length > 0 ? length : 1;
    if (length == 0)
        return buf_printf(buf, "\\x%02x", (unsigned) (unsigned char) text[0]);
    if (rune == '\n')
        return buf_add(buf, "\\n", 2);
    if (rune == '\t')
        return buf_add(buf, "\\t", 2);
    if (rune < 0x20 || rune == 0x7f)
        return buf_printf(buf, "\\x%02x", (unsigned) rune);
    if (is_formatting(rune))
        return buf_printf(buf, "\\u{%x}", (unsigned) rune);
    return buf_add(buf, text, length);
}

int str_add_inert(struct buf *buf, const char *text, size_t size)
{
    size_t length;

    for (size_t at = 0; at < size; at += length) {
        int r = add_inert_rune(buf, text + at, size - at, &length);

        if (r < 0)
            return r;
    }
    return buf->failed;
}

int str_add_shell(struct buf *buf, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "%+,-./:=@_";
    size_t size = strlen(text);

    if (size > 0 && strspn(text, plain) == size)
        return buf_add(buf, text, size);

    (void) buf_add(buf, "'", 1); /* failures are sticky: the last one tells */
    for (;;) {
        size_t run = strcspn(text, "'");

        (void) str_add_inert(buf, text, run);
        text += run;
        if (*text == '\0')
            break;
        (void) buf_add_text(buf, "'\\''");
        text++;
    }
    return buf_add(buf, "'", 1);
}
