/* Patterns of names and how a path goes through one. Private to src/fence/guard. No system call,
 * no malloc, no state. */
#ifndef WATTLE_FENCE_GUARD_MATCH_PRIV_H
#define WATTLE_FENCE_GUARD_MATCH_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_PARTS_MAX 8

enum guard_part_kind {
    GUARD_PART_NAME, /* as it is */
    GUARD_PART_GLOB, /* with '*' or '?' */
    GUARD_PART_ANY,  /* "*" */
    GUARD_PART_NOT,  /* "!x" */
    GUARD_PART_DEEP, /* "**" */
};

struct guard_part {
    const char *text; /* borrowed from the pattern's text */
    uint16_t size;
    enum guard_part_kind kind;
};

struct guard_pattern {
    struct guard_part parts[GUARD_PARTS_MAX];
    unsigned count;
};

/* `text` is relative, without "**" at its beginning; it must live as long as the pattern. One at
 * the end says nothing and is left out. -EINVAL: empty, or an empty, "." or ".." component, or a
 * '[' or '\' in one; -E2BIG. */
int guard_pattern_parse(const char *text, struct guard_pattern *ret_pattern);

/* A path is followed with a set of states: bit i says that the first i parts are matched. */
#define GUARD_STATES_START 1u
uint16_t guard_pattern_step(const struct guard_pattern *pattern, uint16_t states, const char *name,
                            size_t size, bool aliases);

static inline bool guard_pattern_is_full(const struct guard_pattern *pattern, uint16_t states)
{
    return (states >> pattern->count & 1u) != 0;
}

static inline unsigned char guard_lower(char byte)
{
    const unsigned char value = (unsigned char) byte;

    return value >= 'A' && value <= 'Z' ? (unsigned char) (value + ('a' - 'A')) : value;
}

bool guard_part_fits(const struct guard_part *part, const char *name, size_t size, bool aliases);

/* Whether `path` (relative) is what `pattern` names, beginning at its first component; or, unless
 * `alone`, lies below it. */
bool guard_pattern_fits(const struct guard_pattern *pattern, const char *path, bool alone);

/* Equal but for ASCII case; with `aliases`, also when the file system could take `name` for
 * `plain`. */
bool guard_name_is(const char *plain, size_t plain_size, const char *name, size_t size,
                   bool aliases);

#endif
