/* What is worth a word when work is handed back. Asked for each name a job made, so the tables are
 * read once, and most rows are passed over by their first byte. */
#include "base/cleanup.h"
#include "fence/guard/match_priv.h"
#include "fence/guard/names.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const struct guard_name *name;
    struct guard_pattern pattern;
    unsigned char first; /* byte, in lower case; 0: any */
};

struct guard_reported {
    struct row *rows;
    size_t count;
};

static void add(struct guard_reported *reported, const struct guard_name *name)
{
    struct row *row = &reported->rows[reported->count];

    if (guard_pattern_parse(name->pattern, &row->pattern) < 0)
        abort(); /* the table itself is wrong; a test reads it */
    row->name = name;
    if (row->pattern.parts[0].kind == GUARD_PART_NAME)
        row->first = guard_lower(row->pattern.parts[0].text[0]);
    reported->count++;
}

struct guard_reported *guard_reported_new(void)
{
    AUTO(guard_reported_freep) struct guard_reported *reported = calloc(1, sizeof *reported);

    if (reported != NULL)
        reported->rows =
            calloc(guard_names_count() + guard_names_reported_count(), sizeof *reported->rows);
    if (reported == NULL || reported->rows == NULL)
        return NULL;
    for (size_t i = 0; i < guard_names_count(); i++) {
        if (guard_names[i].scope == GUARD_AT_TOPS)
            add(reported, &guard_names[i]);
    }
    for (size_t i = 0; i < guard_names_reported_count(); i++)
        add(reported, &guard_names_reported[i]);
    return TAKE_PTR(reported);
}

void guard_reported_freep(struct guard_reported **reported)
{
    if (*reported != NULL)
        free((*reported)->rows);
    free(*reported);
    *reported = NULL;
}

/* From this component of a path on. */
static const struct guard_name *find_from(const struct guard_reported *reported, const char *path)
{
    const unsigned char first = guard_lower(*path);

    for (size_t i = 0; i < reported->count; i++) {
        const struct row *row = &reported->rows[i];

        if ((row->first == 0 || row->first == first) &&
            guard_pattern_fits(&row->pattern, path, row->name->alone))
            return row->name;
    }
    return NULL;
}

const struct guard_name *guard_reported_find(const struct guard_reported *reported,
                                             const char *path)
{
    while (*path != '\0') {
        const struct guard_name *name = find_from(reported, path);

        if (name != NULL)
            return name;
        path += strcspn(path, "/");
        path += *path == '/';
    }
    return NULL;
}
