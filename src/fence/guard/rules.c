#include "fence/guard/rules.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "fence/guard/rules_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOME_ADDED 16 /* few policies add more to the table */
#define ADDED_GIT "it would run on your side at the next git command"

/* ---- room ---------------------------------------------------------------------------------- */

/* Grows *array, whose items are `size` bytes large; the new ones are zero. */
static int grow(void **array, size_t size, size_t old, size_t room)
{
    unsigned char *grown = reallocarray(*array, room, size);

    if (grown == NULL)
        return -ENOMEM;
    memset(grown + old * size, 0, (room - old) * size);
    *array = grown;
    return 0;
}

static int make_room(struct guard_rules *rules, size_t room)
{
    const size_t old = rules->room;
    void *arrays[] = {rules->rules, rules->starts, rules->floating};
    int r = grow(&arrays[0], sizeof *rules->rules, old, room);

    if (r == 0)
        r = grow(&arrays[1], sizeof *rules->starts, old, room);
    if (r == 0)
        r = grow(&arrays[2], sizeof *rules->floating, old, room);
    rules->rules = arrays[0]; /* each that has moved, also when another could not grow */
    rules->starts = arrays[1];
    rules->floating = arrays[2];
    if (r == 0)
        rules->room = room;
    return r;
}

static int make_room_for_one(struct guard_rules *rules)
{
    const size_t twice = 2 * rules->room;

    if (rules->count < rules->room)
        return 0;
    return make_room(rules, twice < GUARD_RULES_MAX ? twice : GUARD_RULES_MAX);
}

/* ---- the table ----------------------------------------------------------------------------- */

static int add_row(struct guard_rules *rules, const struct guard_name *name)
{
    struct guard_rule *rule = &rules->rules[rules->count];
    const int r = guard_pattern_parse(name->pattern, &rule->pattern);

    if (r < 0)
        return r;
    rule->text = name->pattern;
    rule->reason = name->reason;
    rule->base = "";
    rule->zone = GUARD_ANY_ZONE;
    rule->at_tops = name->scope == GUARD_AT_TOPS;
    rules->tops_count += rule->at_tops;
    rule->is_git = name->is_git;
    rule->vet = name->vet;
    rule->row = name;
    rules->count++;
    return 0;
}

/* What a git folder has is guarded in one of any name. */
static int add_bare_row(struct guard_rules *rules, const struct guard_name *name)
{
    static const char folder[] = ".git/";
    struct guard_rule *rule = &rules->rules[rules->count];
    int r;

    if (!name->is_git || !str_starts(name->pattern, folder))
        return 0;
    r = add_row(rules, name);
    rule->text = name->pattern + strlen(folder);
    rule->in_bare = true;
    return r < 0 ? r : guard_pattern_parse(rule->text, &rule->pattern);
}

struct heads {
    struct guard_head *heads;
    size_t *count;
    size_t room;
};

/* Rows that begin alike follow each other in the table. */
static int add_head(const struct guard_rules *rules, const struct heads *to, size_t index)
{
    const struct guard_part *part = &rules->rules[index].pattern.parts[0];
    struct guard_head *last = &to->heads[*to->count - (*to->count > 0)];

    if (part->kind != GUARD_PART_NAME)
        return -EINVAL;
    if (*to->count > 0 && last->part.size == part->size &&
        memcmp(last->part.text, part->text, part->size) == 0) {
        last->end++;
        return 0;
    }
    if (*to->count == to->room)
        return -E2BIG;
    to->heads[(*to->count)++] =
        (struct guard_head){*part, (uint16_t) index, (uint16_t) (index + 1)};
    return 0;
}

static int add_heads(struct guard_rules *rules)
{
    const struct heads dotted = {rules->heads, &rules->head_count, GUARD_HEADS_MAX};
    const struct heads bare = {rules->bare_heads, &rules->bare_head_count, GUARD_BARE_HEADS_MAX};
    int r = 0;

    for (size_t i = 0; r == 0 && i < rules->names_count; i++)
        r = rules->rules[i].pattern.parts[0].text[0] == '.' ? add_head(rules, &dotted, i) : -EINVAL;
    for (size_t i = rules->names_count; r == 0 && i < rules->table_count; i++)
        r = add_head(rules, &bare, i);
    return r;
}

struct guard_rules *guard_rules_new(void)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = calloc(1, sizeof *rules);
    int r = 0;

    if (rules == NULL || make_room(rules, 2 * guard_names_count() + SOME_ADDED) < 0)
        return NULL;
    for (size_t i = 0; r == 0 && i < guard_names_count(); i++)
        r = add_row(rules, &guard_names[i]);
    rules->names_count = rules->count;
    for (size_t i = 0; r == 0 && i < guard_names_count(); i++)
        r = add_bare_row(rules, &guard_names[i]);
    rules->table_count = rules->count;
    if (r < 0 || add_heads(rules) < 0)
        abort(); /* the table itself is wrong; a test reads it */
    return TAKE_PTR(rules);
}

void guard_rules_freep(struct guard_rules **rules)
{
    struct guard_rules *gone = *rules;

    *rules = NULL;
    if (gone == NULL)
        return;
    for (size_t i = 0; i < gone->count; i++)
        free(gone->rules[i].owned);
    for (size_t i = 0; i < gone->zone_count; i++)
        free(gone->zones[i].path);
    free(gone->rules);
    free(gone->starts);
    free(gone->floating);
    free(gone);
}

size_t guard_rules_count(const struct guard_rules *rules)
{
    return rules->count;
}

static int refuse_more(const char *base, const char *pattern, struct err *err)
{
    (void) err_set(err, E2BIG, "guard.too-many",
                   "there are more names to be guarded than the guard can hold: '%s%s'", base,
                   pattern);
    return err_hint(err, "open less for writing: a smaller pen, fewer --rw; or '--guard off'");
}

/* ---- zones --------------------------------------------------------------------------------- */

static int check_path(const char *path, struct err *err)
{
    if (path_is_clean(path) && path[1] != '\0')
        return 0;
    return err_set(err, EINVAL, "guard.path", "names cannot be guarded in '%s'", path);
}

/* A zone may be a ".git" or ".claude", or lie in one: then its names are names of that. */
static bool counts_below(const struct guard_rules *rules, const char *name, size_t size,
                         bool aliases)
{
    for (size_t i = 0; i < rules->head_count; i++) {
        const struct guard_part *part = &rules->heads[i].part;

        if (guard_name_is(part->text, part->size, name, size, aliases))
            return true;
    }
    return false;
}

/* Where the first such component of `path` begins; its end: there is none. */
static size_t find_lead(const struct guard_rules *rules, const char *path, bool aliases)
{
    size_t at = 0;

    while (path[at] != '\0') {
        const size_t size = strcspn(path + at + 1, "/");

        if (counts_below(rules, path + at + 1, size, aliases))
            return at;
        at += 1 + size;
    }
    return at;
}

int guard_rules_add_zone(struct guard_rules *rules, const char *path, bool aliases, struct err *err)
{
    char *copy = NULL;
    const int r = check_path(path, err);

    if (r < 0)
        return r;
    if (rules->zone_count == GUARD_ZONES_MAX)
        return refuse_more(path, "", err);
    copy = strdup(path);
    if (copy == NULL)
        return err_memory(err);
    rules->zones[rules->zone_count++] = (struct guard_zone){
        .path = copy,
        .size = strlen(copy),
        .lead = find_lead(rules, copy, aliases),
        .aliases = aliases,
    };
    return 0;
}

const char *guard_zone_rest(const struct guard_zone *zone, const char *path)
{
    if (strncmp(path, zone->path, zone->size) != 0 ||
        (path[zone->size] != '\0' && path[zone->size] != '/'))
        return NULL;
    return path + zone->size;
}

int guard_rules_zone(const struct guard_rules *rules, const char *path, const char **ret_relative)
{
    const char *found_rest = NULL;
    int found = -1;

    for (size_t i = 0; i < rules->zone_count; i++) {
        const char *rest = guard_zone_rest(&rules->zones[i], path);

        if (rest == NULL || (found >= 0 && rules->zones[i].size <= rules->zones[found].size))
            continue;
        found = (int) i;
        found_rest = rest;
    }
    if (found_rest != NULL && ret_relative != NULL)
        *ret_relative = found_rest + (*found_rest == '/');
    return found;
}

/* ---- what is added ------------------------------------------------------------------------- */

struct addition {
    const char *base;    /* "" or a path from the zone */
    const char *pattern; /* NULL: the base itself */
    const char *reason;
    const struct guard_name *row; /* whose properties it has; NULL: held */
    int zone;
    bool anchored;
    bool at_tops;
};

static struct guard_start start_of(const struct guard_rules *rules, const struct guard_rule *rule)
{
    const struct guard_rule *before = rule - (rules->count > rules->table_count);
    const struct guard_part *part = &rule->pattern.parts[0];
    const char *text = rule->base;

    if (text[0] == '\0' && rule->pattern.count > 0)
        text = part->kind == GUARD_PART_NAME ? part->text : "";
    return (struct guard_start){
        .first = guard_lower(text[0]),
        .anchored = rule->anchored,
        .follows = before != rule && rule->base_size > 0 && before->zone == rule->zone &&
                   str_equal(before->base, rule->base),
        .zone = rule->zone,
    };
}

static int add(struct guard_rules *rules, const struct addition *what, struct err *err)
{
    const char *pattern = what->pattern != NULL ? what->pattern : "";
    const size_t base_size = strlen(what->base);
    const size_t pattern_size = strlen(pattern);
    struct guard_rule *rule;
    AUTO_FREE char *owned = NULL;

    if (rules->count == GUARD_RULES_MAX || (what->at_tops && rules->tops_count == GUARD_TOPS_MAX))
        return refuse_more(what->base, pattern, err);
    if (make_room_for_one(rules) < 0 ||
        asprintf(&owned, "%s%c%s%c%s", what->base, 0, pattern, 0, what->reason) < 0)
        return err_memory(err);
    rule = &rules->rules[rules->count];
    *rule = (struct guard_rule){
        .base = owned,
        .base_size = (uint16_t) base_size,
        .text = owned + base_size + 1,
        .reason = owned + base_size + 1 + pattern_size + 1,
        .zone = (int16_t) what->zone,
        .anchored = what->anchored,
        .at_tops = what->at_tops,
        .row = what->row,
    };
    if (what->row != NULL) {
        rule->is_git = what->row->is_git;
        rule->vet = what->row->vet;
    }
    if (pattern_size > 0 && guard_pattern_parse(rule->text, &rule->pattern) < 0) {
        *rule = (struct guard_rule){.base = NULL};
        (void) err_set(err, EINVAL, "guard.pattern", "'%s' is no pattern of names", pattern);
        return err_hint(err, "at most %d parts, '*', '?' and '**'; no '..', '[' or '\\'",
                        GUARD_PARTS_MAX);
    }
    rule->owned = TAKE_PTR(owned);
    rules->starts[rules->count] = start_of(rules, rule);
    if (!rule->anchored)
        rules->floating[rules->floating_count++] = (uint16_t) rules->count;
    rules->tops_count += rule->at_tops;
    if (rule->is_git && rule->base_size == 0)
        rules->zones[rule->zone].is_git = true;
    rules->count++;
    return 0;
}

/* Without "./" and "/" at its beginning and "/" and "/" "**" at its end. NULL: out of memory. */
static char *trim(const char *pattern)
{
    char *copy = NULL;
    size_t size = 0;

    while (str_starts(pattern, "./"))
        pattern += 2;
    copy = strdup(pattern);
    if (copy == NULL)
        return NULL;
    size = strlen(copy);
    while (size > 1 && copy[size - 1] == '/')
        copy[--size] = '\0';
    return copy;
}

/* The outermost, so that what moves within it moves within the rule's reach: between zones that do
 * not lie in each other nothing is renamed, since each is a mount. */
static int zone_around(const struct guard_rules *rules, const char *path, const char **ret_rest)
{
    int found = -1;

    for (size_t i = 0; i < rules->zone_count; i++) {
        const char *rest = guard_zone_rest(&rules->zones[i], path);

        if (rest == NULL || (found >= 0 && rules->zones[i].size >= rules->zones[found].size))
            continue;
        found = (int) i;
        *ret_rest = rest + (*rest == '/');
    }
    return found;
}

int guard_rules_add_pattern(struct guard_rules *rules, const char *pattern, const char *reason,
                            struct err *err)
{
    AUTO_FREE char *copy = trim(pattern);
    struct addition what = {.base = "", .reason = reason, .zone = GUARD_ANY_ZONE, .anchored = true};

    if (copy == NULL)
        return err_memory(err);
    what.pattern = copy;
    if (copy[0] == '/') {
        what.zone = zone_around(rules, copy, &what.pattern);
        if (what.zone < 0)
            return err_set(err, EINVAL, "guard.pattern",
                           "'%s' lies in no folder that can be written", pattern);
    }
    for (; str_starts(what.pattern, "**/"); what.pattern += 3)
        what.anchored = false;
    if (what.pattern[0] != '\0')
        return add(rules, &what, err);
    return err_set(err, EINVAL, "guard.pattern", "'%s' is no pattern of names", pattern);
}

int guard_rules_add_at_tops(struct guard_rules *rules, const char *pattern, const char *reason,
                            struct err *err)
{
    const struct addition what = {
        .base = "", .pattern = pattern, .reason = reason, .zone = GUARD_ANY_ZONE, .at_tops = true};

    if (pattern[0] != '\0')
        return add(rules, &what, err);
    return err_set(err, EINVAL, "guard.pattern", "an empty pattern guards nothing");
}

/* For each zone that `path` lies in. */
static int add_in_zones(struct guard_rules *rules, const char *path, struct addition *what,
                        struct err *err)
{
    int r = check_path(path, err);

    for (size_t i = 0; r == 0 && i < rules->zone_count; i++) {
        const char *rest = guard_zone_rest(&rules->zones[i], path);

        if (rest == NULL || (rest[0] == '\0' && what->pattern == NULL))
            continue;
        what->base = rest + (rest[0] == '/');
        what->zone = (int) i;
        what->anchored = true;
        r = add(rules, what, err);
    }
    return r;
}

int guard_rules_add_held(struct guard_rules *rules, const char *path, const char *reason,
                         struct err *err)
{
    struct addition what = {.reason = reason};

    return add_in_zones(rules, path, &what, err);
}

int guard_rules_add_git_folder(struct guard_rules *rules, const char *path, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < rules->names_count; i++) {
        const struct guard_name *row = &guard_names[i];
        struct addition what = {.reason = ADDED_GIT, .row = row};

        if (!row->is_git)
            continue;
        if (!str_equal(row->pattern, ".git"))
            what.pattern = row->pattern + strlen(".git/");
        r = add_in_zones(rules, path, &what, err);
    }
    return r;
}

bool guard_rules_beyond_dots(const struct guard_rules *rules)
{
    bool aliases = false;

    for (size_t i = 0; i < rules->zone_count; i++)
        aliases = aliases || rules->zones[i].aliases;
    return aliases || rules->count > rules->table_count;
}

/* ---- which set it is ----------------------------------------------------------------------- */

/* FNV-1a, with the NUL, so that two texts are not one. */
static uint64_t mix(uint64_t sum, const char *text)
{
    for (const char *at = text;; at++) {
        sum = (sum ^ (unsigned char) *at) * UINT64_C(0x100000001b3);
        if (*at == '\0')
            return sum;
    }
}

static bool concerns(const struct guard_rules *rules, int zone, const char *top)
{
    return zone == GUARD_ANY_ZONE || path_is_below(top, rules->zones[zone].path) ||
           path_is_below(rules->zones[zone].path, top);
}

uint64_t guard_rules_key(const struct guard_rules *rules, const char *top)
{
    uint64_t sum = mix(UINT64_C(0xcbf29ce484222325), GUARD_NAMES_DATE);

    for (size_t i = 0; i < rules->zone_count; i++) {
        if (!concerns(rules, (int) i, top))
            continue;
        sum = mix(sum, rules->zones[i].path);
        sum = mix(sum, rules->zones[i].aliases ? "other spellings" : "");
    }
    for (size_t i = 0; i < rules->count; i++) {
        const struct guard_rule *rule = &rules->rules[i];

        if (!concerns(rules, rule->zone, top))
            continue;
        sum = mix(sum, rule->zone == GUARD_ANY_ZONE ? "" : rules->zones[rule->zone].path);
        sum = mix(sum, rule->base);
        sum = mix(sum, rule->text);
        sum = mix(sum, rule->anchored ? "anchored" : "");
        sum = mix(sum, rule->at_tops ? "at tops" : "");
    }
    return sum;
}

/* ---- words --------------------------------------------------------------------------------- */

const char *guard_rule_reason(const struct guard_rules *rules, int rule)
{
    if (rule < 0 || (size_t) rule >= rules->count)
        return "it would make the folder a git repository of its own";
    return rules->rules[rule].reason;
}

const char *guard_rule_pattern(const struct guard_rules *rules, int rule)
{
    if (rule < 0 || (size_t) rule >= rules->count)
        return "";
    return rules->rules[rule].text[0] != '\0' ? rules->rules[rule].text : rules->rules[rule].base;
}

const struct guard_name *guard_rule_row(const struct guard_rules *rules, int rule)
{
    return rule < 0 || (size_t) rule >= rules->count ? NULL : rules->rules[rule].row;
}

/* As much of `text` as fits, control characters as \xHH. Always leaves a NUL. */
static size_t append(char *to, size_t size, size_t at, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char) *text;
        const bool plain = byte >= 0x20 && byte != 0x7f;

        if (at + (plain ? 2 : 5) > size)
            break;
        if (plain)
            to[at++] = *text;
        else
            at += (size_t) snprintf(to + at, size - at, "\\x%02x", (unsigned) byte);
    }
    to[at] = '\0';
    return at;
}

size_t guard_refusal(const struct guard_rules *rules, const struct guard_refused *refused,
                     char *text, size_t size)
{
    const char *folder = refused->parent;
    size_t at = 0;

    if (size == 0)
        return 0;
    (void) guard_rules_zone(rules, refused->parent, &folder);
    at = append(text, size, at, "guard: refused ");
    at = append(text, size, at, guard_op_name(refused->op));
    at = append(text, size, at, " ");
    at = append(text, size, at, folder);
    if (folder[0] != '\0' && folder[strlen(folder) - 1] != '/')
        at = append(text, size, at, "/");
    at = append(text, size, at, refused->name);
    at = append(text, size, at, ": ");
    return append(text, size, at, guard_rule_reason(rules, refused->rule));
}
