/* Other names of guarded files: who writes to one writes to the guarded file.
 *
 * Only regular files have twins that matter. A symlink with two names has no text that could be
 * written, and one that leads to a guarded name is judged by where it leads. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "pen/links.h"
#include "pen/pen.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_LIMIT_BYTES = 4 * PATH_MAX + 64 };

/* ---- where they may be ------------------------------------------------------------------- */

/* Git folders are told from others by their "objects", of which the walk knows. */
bool pen_tree_is_objects(const struct pen_tree *tree, size_t folder)
{
    const struct pen_folder *seen = &tree->folders[folder];

    return (seen->flags & PEN_OBJECTS) != 0 && folder != 0 &&
           (tree->folders[seen->parent].flags & PEN_OBJECTS) == 0;
}

/* The guarded folders in one folder. Not all of ".git" is guarded. */
static void mark_guarded(const struct pen_tree *tree, uint32_t folder, uint8_t *places)
{
    const struct pen_folder *seen = &tree->folders[folder];

    for (uint32_t i = seen->note; i < seen->note + seen->notes; i++) {
        const struct pen_note *note = &tree->notes[i];
        uint32_t child;

        if (note->type != DT_DIR || (note->what & (PEN_GUARDED | PEN_REPOSITORY)) != PEN_GUARDED)
            continue;
        child = pen_tree_child(tree, folder, pen_tree_name(tree, note->name));
        if (child != PEN_NONE)
            places[child] = 1;
    }
}

uint8_t *pen_twins_places(const struct pen_tree *tree)
{
    uint8_t *places = calloc(tree->folder_count + 1, 1);

    if (places == NULL)
        return NULL;
    for (size_t i = 0; i < tree->folder_count; i++)
        if (pen_tree_is_objects(tree, i))
            places[tree->folders[i].parent] = 1;
    for (size_t i = 0; i < tree->folder_count; i++) { /* a parent before its children */
        const struct pen_folder *folder = &tree->folders[i];

        if ((folder->flags & PEN_OBJECTS) == 0 && places[folder->parent] != 0)
            places[i] = 1;
        mark_guarded(tree, (uint32_t) i, places);
    }
    return places;
}

/* ---- asking again ------------------------------------------------------------------------ */

/* The names of one file stand together, guarded ones before the others. */
static int compare(const void *a, const void *b)
{
    const struct pen_found *left = *(const struct pen_found *const *) a;
    const struct pen_found *right = *(const struct pen_found *const *) b;
    const uint64_t pairs[][2] = {
        {left->dev, right->dev},
        {left->inode, right->inode},
        {(right->what & PEN_FOUND_GUARDED) != 0, (left->what & PEN_FOUND_GUARDED) != 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return strcmp(left->path, right->path);
}

static bool same_file(const struct pen_found *a, const struct pen_found *b)
{
    return a->dev == b->dev && a->inode == b->inode;
}

static int name_twins(struct pen_found **names, size_t count)
{
    const struct pen_found *first = NULL;

    for (size_t i = 0; i < count; i++) {
        if (first == NULL || !same_file(first, names[i]))
            first = names[i];
        if ((names[i]->what & PEN_FOUND_GUARDED) != 0 || (first->what & PEN_FOUND_GUARDED) == 0)
            continue;
        names[i]->twin = strdup(first->path);
        if (names[i]->twin == NULL)
            return -ENOMEM;
    }
    return 0;
}

static int find_twins(struct pen_findings *findings)
{
    AUTO_FREE struct pen_found **names = calloc(findings->twins + 1, sizeof(struct pen_found *));
    size_t count = 0;

    if (names == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < findings->count; i++)
        if ((findings->items[i].what & PEN_FOUND_TWIN) != 0)
            names[count++] = &findings->items[i];
    qsort(names, count, sizeof(struct pen_found *), compare);
    return name_twins(names, count);
}

static void ask(struct pen_found *found, const struct pen_asking *asking)
{
    if ((found->what & (PEN_FOUND_GUARDED | PEN_FOUND_TWIN)) == 0)
        return;
    if (asking->guarded(asking->context, found->path))
        found->what |= PEN_FOUND_GUARDED;
    else
        found->what &= ~(unsigned) PEN_FOUND_GUARDED;
}

/* Leaves out what is nothing to tell of. */
static void sift(struct pen_findings *findings)
{
    size_t kept = 0;

    findings->twins = findings->guarded = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct pen_found *found = &findings->items[i];

        if (found->twin == NULL)
            found->what &= ~(unsigned) PEN_FOUND_TWIN;
        findings->twins += (found->what & PEN_FOUND_TWIN) != 0;
        findings->guarded += (found->what & PEN_FOUND_GUARDED) != 0;
        if (found->what == 0)
            free(found->path);
        else
            findings->items[kept++] = *found;
    }
    findings->count = kept;
}

int pen_findings_keep_guarded(struct pen_findings *findings, const struct pen_asking *asking)
{
    int r;

    for (size_t i = 0; i < findings->count; i++)
        ask(&findings->items[i], asking);
    r = find_twins(findings);
    if (r == 0)
        sift(findings);
    return r;
}

/* ---- the policy -------------------------------------------------------------------------- */

/* A name of the pen may hold anything. */
static int hold_twin(const struct pen_found *found, const char *pen, struct policy *policy,
                     struct err *err)
{
    struct policy_guard_rule rule = {.kind = POLICY_GUARD_HELD};
    AUTO(buf_free) struct buf why;
    AUTO_FREE char *path = NULL;

    buf_init(&why, WHY_LIMIT_BYTES);
    if (buf_add_text(&why, "it is the file '") < 0 ||
        str_add_inert(&why, found->twin, strlen(found->twin)) < 0 ||
        buf_add_text(&why, "' by another name") < 0)
        return err_memory(err);
    path = path_join(pen, found->path);
    if (path == NULL)
        return err_memory(err);
    rule.text = path;
    rule.why = why.bytes;
    return policy_add_guard_rule(policy, &rule, err);
}

int pen_guard_twins(const struct pen_findings *findings, const char *pen, struct policy *policy,
                    struct err *err)
{
    int r = 0;

    if (findings->twins > PEN_TWINS_MAX) {
        (void) err_set(err, E2BIG, "pen.too-many-twins",
                       "'%s' holds more than %d other names of guarded files (hard links), and no "
                       "more can be held",
                       pen, PEN_TWINS_MAX);
        return err_hint(err, "'wattle pens check %s' lists them; give them contents of their own",
                        pen);
    }
    for (size_t i = 0; r == 0 && i < findings->count; i++) {
        const struct pen_found *found = &findings->items[i];

        if (found->twin != NULL)
            r = hold_twin(found, pen, policy, err);
    }
    return r;
}
