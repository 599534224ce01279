#include "base/str.h"
#include "fence/guard/match_priv.h"

#include <errno.h>
#include <string.h>

/* ---- one name ------------------------------------------------------------------------------ */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (guard_lower(byte) >= 'a' && guard_lower(byte) <= 'z') || is_digit(byte);
}

static bool is_equal(const char *plain, const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (guard_lower(plain[i]) != guard_lower(name[i]))
            return false;
    return true;
}

/* A DOS name that stands for a longer one: "GIT~1", "SETTIN~1.JSO". Which one it stands for is
 * known to the file system only. */
static bool is_short_name(const char *name, size_t size)
{
    const char *tilde = memrchr(name, '~', size < 8 ? size : 8);
    size_t at = tilde != NULL ? (size_t) (tilde - name) + 1 : 0;

    if (tilde == NULL || tilde == name || at == size || !is_digit(name[at]))
        return false;
    while (at < size && at < 8 && is_digit(name[at]))
        at++;
    return at == size || (name[at] == '.' && size - at <= 4);
}

/* Case folding can make ASCII letters of other characters, or nothing at all ("ﬁ", the Kelvin sign,
 * a zero-width joiner), but nothing else of ASCII: a run of them counts as any letters. Going back
 * to the last run is enough, since none can get past what is no letter. */
static bool could_fold_to(const char *plain, size_t plain_size, const char *name, size_t size)
{
    size_t i = 0; /* in plain */
    size_t j = 0; /* in name */
    size_t run_i = 0;
    size_t run_j = 0; /* what follows the last run; 0: there was none */

    while (i < plain_size || j < size) {
        if (j < size && (unsigned char) name[j] >= 0x80) {
            while (j < size && (unsigned char) name[j] >= 0x80)
                j++;
            run_i = i;
            run_j = j;
        } else if (i < plain_size && j < size && guard_lower(plain[i]) == guard_lower(name[j])) {
            i++;
            j++;
        } else if (run_j > 0 && run_i < plain_size && is_letter(plain[run_i])) {
            i = ++run_i;
            j = run_j;
        } else {
            return false;
        }
    }
    return true;
}

/* What file systems from elsewhere take for the same name: without dots and blanks at the end,
 * without a stream, and in short form. */
static bool could_be(const char *plain, size_t plain_size, const char *name, size_t size)
{
    const char *stream = memchr(name, ':', size);

    if (memchr(name, '\\', size) != NULL || is_short_name(name, size))
        return true;
    if (stream != NULL)
        size = (size_t) (stream - name);
    while (size > 0 && (name[size - 1] == '.' || name[size - 1] == ' '))
        size--;
    return could_fold_to(plain, plain_size, name, size);
}

bool guard_name_is(const char *plain, size_t plain_size, const char *name, size_t size,
                   bool aliases)
{
    if (plain_size == size && is_equal(plain, name, size))
        return true;
    return aliases && could_be(plain, plain_size, name, size);
}

bool guard_part_fits(const struct guard_part *part, const char *name, size_t size, bool aliases)
{
    switch (part->kind) {
    case GUARD_PART_NAME:
        return guard_name_is(part->text, part->size, name, size, aliases);
    case GUARD_PART_GLOB:
        return str_glob_fits(part->text, part->size, name, size) ||
               (aliases && is_short_name(name, size));
    case GUARD_PART_NOT:
        return part->size != size || !is_equal(part->text, name, size);
    case GUARD_PART_ANY:
    case GUARD_PART_DEEP:
        return true;
    }
    return true;
}

/* ---- a pattern ----------------------------------------------------------------------------- */

static int parse_part(const char *text, size_t size, struct guard_part *part)
{
    const bool negated = text[0] == '!';

    if (size == 0 || size > UINT8_MAX || (size == 1 && (text[0] == '.' || negated)) ||
        (size == 2 && memcmp(text, "..", 2) == 0) || memchr(text, '[', size) != NULL ||
        memchr(text, '\\', size) != NULL)
        return -EINVAL;
    part->text = text + negated;
    part->size = (uint16_t) (size - negated);
    part->kind = negated ? GUARD_PART_NOT : GUARD_PART_NAME;
    if (memchr(text, '*', size) == NULL && memchr(text, '?', size) == NULL)
        return 0;
    if (negated)
        return -EINVAL;
    part->kind = GUARD_PART_GLOB;
    if (text[0] == '*' && size <= 2 && text[size - 1] == '*')
        part->kind = size == 1 ? GUARD_PART_ANY : GUARD_PART_DEEP;
    return 0;
}

int guard_pattern_parse(const char *text, struct guard_pattern *ret_pattern)
{
    struct guard_pattern pattern = {.count = 0};

    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, "/");
        struct guard_part part;
        const int r = parse_part(at, size, &part);

        if (r < 0)
            return r;
        at += size;
        if (part.kind == GUARD_PART_DEEP && (pattern.count == 0 || *at == '\0')) {
            if (pattern.count == 0)
                return -EINVAL;
        } else if (part.kind != GUARD_PART_DEEP ||
                   pattern.parts[pattern.count - 1].kind != GUARD_PART_DEEP) {
            if (pattern.count == GUARD_PARTS_MAX)
                return -E2BIG;
            pattern.parts[pattern.count++] = part;
        }
        if (*at == '\0')
            break;
    }
    while (pattern.parts[pattern.count - 1].kind == GUARD_PART_DEEP)
        pattern.count--; /* never the first */
    *ret_pattern = pattern;
    return 0;
}

uint16_t guard_pattern_step(const struct guard_pattern *pattern, uint16_t states, const char *name,
                            size_t size, bool aliases)
{
    unsigned next = 0;

    for (unsigned left = states; left != 0; left &= left - 1) {
        const unsigned i = (unsigned) __builtin_ctz(left);

        if (i >= pattern->count || pattern->parts[i].kind == GUARD_PART_DEEP)
            next |= 1u << i;
        else if (guard_part_fits(&pattern->parts[i], name, size, aliases))
            next |= 1u << (i + 1);
    }
    for (unsigned i = 0; i < pattern->count; i++) /* "**" may stand for nothing */
        if ((next >> i & 1u) != 0 && pattern->parts[i].kind == GUARD_PART_DEEP)
            next |= 1u << (i + 1);
    return (uint16_t) next;
}

bool guard_pattern_fits(const struct guard_pattern *pattern, const char *path, bool alone)
{
    uint16_t states = GUARD_STATES_START;

    while (states != 0 && *path != '\0') {
        const size_t size = strcspn(path, "/");

        states = guard_pattern_step(pattern, states, path, size, false);
        path += size + (path[size] == '/');
        if (guard_pattern_is_full(pattern, states))
            return !alone || *path == '\0';
    }
    return false;
}
