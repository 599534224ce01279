/* What a name is: the way of each call, so nothing here allocates or asks the system. */
#include "base/cleanup.h"
#include "fence/guard/rules.h"
#include "fence/guard/rules_priv.h"

#include <string.h>

struct component {
    const char *text;
    size_t size;
    size_t index; /* from the zone's top */
    bool aliases;
};

/* The whole path, in its zone. */
struct place {
    int zone;
    const char *rest; /* of the parent, after the zone: "" or "/..." */
    const struct component *name;
    const struct guard_ask *ask;
    size_t depth; /* components of `rest` */
};

/* ---- one rule ------------------------------------------------------------------------------ */

static bool hit_is_full(const struct guard_rule *rule, const struct guard_hit *hit)
{
    return guard_pattern_is_full(&rule->pattern, hit->states);
}

/* One component of the path a rule stands below. */
static bool advance_base(const struct guard_rule *rule, struct guard_hit *hit,
                         const struct component *component)
{
    const char *part = rule->base + hit->base;
    const size_t size = strcspn(part, "/");

    if (!guard_name_is(part, size, component->text, component->size, component->aliases))
        return false;
    hit->base = (uint16_t) (hit->base + size + (part[size] == '/'));
    if (hit->base == rule->base_size)
        hit->states = GUARD_STATES_START;
    return true;
}

/* False: the rule has nothing to do with the path any more. `*ret_in_git`: it was a git folder. */
static bool advance(const struct guard_rule *rule, struct guard_hit *hit,
                    const struct component *component, bool *ret_in_git)
{
    const bool was_full = hit->states != 0 && hit_is_full(rule, hit);

    if (hit->states == 0)
        return advance_base(rule, hit, component);
    if (was_full && rule->vet == GUARD_VET_GIT) {
        *ret_in_git = true; /* the other git rules go on */
        return false;
    }
    hit->states = guard_pattern_step(&rule->pattern, hit->states, component->text, component->size,
                                     component->aliases);
    if (was_full && hit->below < UINT16_MAX)
        hit->below++;
    return hit->states != 0;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* `from`: hits before it are of another zone. A rule that is under way from two beginnings goes on
 * as one, unless what holds depends on where it began. */
static void add_hit(const struct guard_rules *rules, struct guard_class *class, size_t from,
                    const struct guard_hit *hit)
{
    const struct guard_rule *rule = &rules->rules[hit->rule];

    for (size_t i = from; i < class->count && !rule->at_tops; i++) {
        struct guard_hit *other = &class->hits[i];

        if (other->rule != hit->rule)
            continue;
        other->states |= hit->states;
        if (hit->below > other->below)
            other->below = hit->below;
        return;
    }
    if (class->count == GUARD_HITS_MAX) {
        class->overflow = true;
        return;
    }
    class->hits[class->count++] = *hit;
}

static void advance_all(const struct guard_rules *rules, struct guard_class *class, size_t from,
                        const struct component *component)
{
    size_t kept = from;

    for (size_t i = from; i < class->count; i++)
        if (advance(&rules->rules[class->hits[i].rule], &class->hits[i], component, &class->in_git))
            class->hits[kept++] = class->hits[i];
    class->count = (uint16_t) kept;
}

static bool start_rule(const struct guard_rules *rules, struct guard_class *class, size_t from,
                       size_t index, const struct component *component)
{
    const struct guard_rule *rule = &rules->rules[index];
    struct guard_hit hit = {
        .rule = (uint16_t) index,
        .states = rule->base_size == 0 ? GUARD_STATES_START : 0,
        .start = (uint16_t) component->index,
    };

    if (!advance(rule, &hit, component, &class->in_git))
        return false;
    add_hit(rules, class, from, &hit);
    return true;
}

static void start_heads(const struct guard_rules *rules, struct guard_class *class, size_t from,
                        const struct component *component)
{
    for (size_t i = 0; i < rules->head_count; i++) {
        const struct guard_head *head = &rules->heads[i];

        if (!guard_name_is(head->part.text, head->part.size, component->text, component->size,
                           component->aliases))
            continue;
        for (size_t j = head->first; j < head->end; j++)
            (void) start_rule(rules, class, from, j, component);
    }
}

/* Whether the path and that of the rule part somewhere: then the rule need not be followed up to
 * there. There may be hundreds in one folder. */
static bool parts_from(const struct guard_rule *rule, const struct place *place)
{
    const char *base = rule->base;
    const char *const pieces[] = {place->rest + (place->rest[0] == '/'),
                                  place->rest[0] == '/' ? "/" : "", place->name->text};
    const size_t sizes[] = {strlen(pieces[0]), strlen(pieces[1]), place->name->size};

    if (place->name->aliases)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        for (size_t j = 0; j < sizes[i]; j++, base++) {
            if (*base == '\0')
                return rule->base_size > 0 && pieces[i][j] != '/';
            if (guard_lower(*base) != guard_lower(pieces[i][j]))
                return true;
        }
    }
    return *base != '\0' && *base != '/';
}

/* In any folder of a zone. */
static void start_floating(const struct guard_rules *rules, struct guard_class *class, size_t from,
                           const struct place *place, const struct component *component)
{
    for (size_t i = 0; i < rules->floating_count; i++) {
        const size_t index = rules->floating[i];
        const int zone = rules->starts[index].zone;

        if (zone == place->zone || zone == GUARD_ANY_ZONE)
            (void) start_rule(rules, class, from, index, component);
    }
}

/* At the top of a zone; rules below one path need to be tried once. */
static void start_anchored(const struct guard_rules *rules, struct guard_class *class, size_t from,
                           const struct place *place, const struct component *component)
{
    const unsigned char first = guard_lower(component->text[0]);
    bool began = true;

    for (size_t i = rules->table_count; i < rules->count; i++) {
        const struct guard_start *start = &rules->starts[i];

        if (start->first != first && start->first != 0 && !component->aliases)
            continue;
        if (!start->anchored || (start->zone != place->zone && start->zone != GUARD_ANY_ZONE))
            continue;
        if (began || !start->follows)
            began = !parts_from(&rules->rules[i], place) &&
                    start_rule(rules, class, from, i, component);
    }
}

static bool is_git_under_way(const struct guard_rules *rules, const struct guard_class *class,
                             size_t from)
{
    for (size_t i = from; i < class->count; i++)
        if (rules->rules[class->hits[i].rule].is_git && class->hits[i].states != 0)
            return true;
    return false;
}

static bool starts_bare(const struct guard_rules *rules, size_t head,
                        const struct component *component)
{
    const struct guard_part *part = &rules->bare_heads[head].part;

    return guard_name_is(part->text, part->size, component->text, component->size,
                         component->aliases);
}

/* In a git folder that is told by what it holds. Looked for only where a name begins that would
 * count in one, and that is not one of a known git folder's. */
static void start_bare(const struct guard_rules *rules, struct guard_class *class, size_t from,
                       const struct place *place, const struct component *component)
{
    const struct guard_ask *ask = place->ask;
    const unsigned up = (unsigned) (place->depth - component->index);
    bool asked = false;

    for (size_t i = 0; i < rules->bare_head_count; i++) {
        if (!starts_bare(rules, i, component))
            continue;
        if (!asked && (ask == NULL || ask->is_bare == NULL ||
                       is_git_under_way(rules, class, from) || !ask->is_bare(ask->context, up)))
            return;
        asked = class->in_git = true;
        for (size_t j = rules->bare_heads[i].first; j < rules->bare_heads[i].end; j++)
            (void) start_rule(rules, class, from, j, component);
    }
}

static void take(const struct guard_rules *rules, struct guard_class *class, size_t from,
                 const struct place *place, const struct component *component)
{
    advance_all(rules, class, from, component);
    if (component->text[0] == '.' || component->aliases)
        start_heads(rules, class, from, component);
    start_floating(rules, class, from, place, component);
    if (component->index == 0)
        start_anchored(rules, class, from, place, component);
    start_bare(rules, class, from, place, component);
}

/* ---- the outcome --------------------------------------------------------------------------- */

static bool is_sample(const char *name, size_t size)
{
    static const char ending[] = ".sample";
    const size_t length = sizeof ending - 1;

    return size > length && memcmp(name + size - length, ending, length) == 0;
}

static void note_denial(const struct guard_rule *rule, const struct guard_hit *hit,
                        const struct component *name, struct guard_class *class)
{
    const bool first = class->level != GUARD_DENY;

    class->level = GUARD_DENY;
    if (first)
        class->rule = hit->rule;
    class->vet = first || class->vet == rule->vet ? rule->vet : GUARD_VET_NONE;
    class->is_folder = (first || class->is_folder) && hit->below == 0;
    class->inside = (first || class->inside) && hit->below > 0;
    class->sample =
        (first || class->sample) && hit->below == 1 && is_sample(name->text, name->size);
}

/* Level, vet and rule, from the hits. */
static void settle(const struct guard_rules *rules, const struct component *name,
                   struct guard_class *class)
{
    class->level = GUARD_NO;
    class->vet = GUARD_VET_NONE;
    class->rule = -1;
    for (size_t i = 0; i < class->count; i++) {
        const struct guard_hit *hit = &class->hits[i];
        const struct guard_rule *rule = &rules->rules[hit->rule];

        if (hit->states != 0 && hit_is_full(rule, hit)) {
            note_denial(rule, hit, name, class);
        } else if (class->level == GUARD_NO) {
            class->level = GUARD_PARTIAL;
            class->rule = hit->rule;
        }
    }
    if (class->overflow) {
        class->level = GUARD_DENY;
        class->vet = GUARD_VET_NONE;
    }
    class->sample = class->sample && class->vet == GUARD_VET_HOOKS;
    class->is_folder = class->is_folder && class->vet == GUARD_VET_HOOKS;
}

/* ---- one zone ------------------------------------------------------------------------------ */

/* Leaves out what holds only beside a ".git", where there is none. */
static void ask_all(const struct guard_rules *rules, struct guard_class *class, size_t from,
                    size_t depth, const struct guard_ask *ask)
{
    size_t kept = from;
    size_t asked = SIZE_MAX;
    bool answer = true;

    for (size_t i = from; i < class->count; i++) {
        const struct guard_hit hit = class->hits[i];
        const struct guard_rule *rule = &rules->rules[hit.rule];
        const bool depends = rule->at_tops && hit.start > 0 && ask != NULL;

        if (depends && hit.start != asked) {
            asked = hit.start;
            answer = ask->holds_git(ask->context, (unsigned) (depth - hit.start));
        }
        if (!depends || answer)
            class->hits[kept++] = hit;
        else if (hit_is_full(rule, &hit) && class->report < 0)
            class->report = hit.rule;
    }
    class->count = (uint16_t) kept;
}

/* What a zone's own place begins. Who opens a folder that is held as a whole for an editor or an
 * agent wants to work in it; they keep worktrees there. */
static void take_lead(const struct guard_rules *rules, const struct guard_zone *zone,
                      struct guard_class *class, size_t from, struct component *component)
{
    const char *rest = zone->path + zone->lead;
    size_t kept = from;

    while (*rest != '\0') {
        component->text = rest + 1;
        component->size = strcspn(component->text, "/");
        advance_all(rules, class, from, component);
        start_heads(rules, class, from, component);
        rest += 1 + component->size;
    }
    for (size_t i = from; i < class->count; i++) {
        const struct guard_rule *rule = &rules->rules[class->hits[i].rule];

        if (!rule->at_tops || !hit_is_full(rule, &class->hits[i]))
            class->hits[kept++] = class->hits[i];
    }
    class->count = (uint16_t) kept;
}

/* Whether a name of the table may begin with this component. */
static bool may_begin(const struct guard_rules *rules, const struct component *component)
{
    if (component->text[0] == '.')
        return true;
    for (size_t i = 0; i < rules->bare_head_count; i++)
        if (starts_bare(rules, i, component))
            return true;
    return false;
}

/* Nearly every path has no such component. Counts them on the way. */
static bool may_hold(const struct guard_rules *rules, const char *rest,
                     const struct component *name, size_t *ret_depth)
{
    struct component component = {.aliases = name->aliases};
    bool found = may_begin(rules, name);

    for (*ret_depth = 0; *rest != '\0'; ++*ret_depth) {
        component.text = rest + 1;
        component.size = strcspn(component.text, "/");
        found = found || may_begin(rules, &component);
        rest += 1 + component.size;
    }
    return found;
}

static bool is_bare_name(const struct component *name)
{
    static const char *const bare[] = {"HEAD", "objects", "refs", "config", "commondir"};

    for (size_t i = 0; i < ARRAY_SIZE(bare); i++)
        if (guard_name_is(bare[i], strlen(bare[i]), name->text, name->size, name->aliases))
            return true;
    return false;
}

/* `rest`: what of the parent comes after the zone, "" or "/...". */
static void classify_in(const struct guard_rules *rules, int zone, const char *rest,
                        struct component *name, const struct guard_ask *ask,
                        struct guard_class *class)
{
    const size_t from = class->count;
    const struct guard_zone *own = &rules->zones[zone];
    struct place place = {.zone = zone, .rest = rest, .name = name, .ask = ask};
    struct component component = {.aliases = name->aliases};
    bool covered = false;

    if (!may_hold(rules, rest, name, &place.depth) && own->lead == own->size && !name->aliases &&
        rules->count == rules->table_count) {
        class->bare = class->bare || is_bare_name(name);
        return;
    }
    take_lead(rules, own, class, from, &component);
    while (*rest != '\0') {
        component.text = rest + 1;
        component.size = strcspn(component.text, "/");
        take(rules, class, from, &place, &component);
        component.index++;
        rest += 1 + component.size;
    }
    covered = is_git_under_way(rules, class, from);
    if (own->is_git) { /* its rules are under way before the first component */
        class->in_git = true;
        covered = covered || component.index == 0;
    }
    name->index = component.index;
    take(rules, class, from, &place, name);
    ask_all(rules, class, from, component.index, ask);
    class->bare = class->bare || (!covered && is_bare_name(name));
}

/* ---- the public side ----------------------------------------------------------------------- */

static void begin(struct guard_class *class)
{
    class->level = GUARD_NO;
    class->vet = GUARD_VET_NONE;
    class->bare = class->in_git = class->sample = class->is_folder = false;
    class->inside = class->overflow = class->aliases = false;
    class->rule = class->report = -1;
    class->count = 0;
}

/* Whether there is anything to find out. */
static bool check_text(const char *parent, const char *name, struct component *component,
                       struct guard_class *class)
{
    size_t size = strlen(name);

    while (size > 0 && name[size - 1] == '/')
        size--;
    component->text = name;
    component->size = size;
    if (size == 0 || (size <= 2 && memcmp(name, "..", size) == 0))
        return false;
    if (parent[0] == '/' && memchr(name, '/', size) == NULL)
        return true;
    class->overflow = true;
    class->level = GUARD_DENY;
    return false;
}

void guard_classify(const struct guard_rules *rules, const char *parent, const char *name,
                    const struct guard_ask *ask, struct guard_class *ret_class)
{
    struct component component = {.index = 0};

    begin(ret_class);
    if (!check_text(parent, name, &component, ret_class))
        return;
    for (size_t i = 0; i < rules->zone_count; i++) {
        const char *rest = guard_zone_rest(&rules->zones[i], parent);

        if (rest == NULL)
            continue;
        component.aliases = rules->zones[i].aliases;
        ret_class->aliases = ret_class->aliases || component.aliases;
        classify_in(rules, (int) i, rest, &component, ask, ret_class);
    }
    settle(rules, &component, ret_class);
}

void guard_class_step(const struct guard_rules *rules, const struct guard_class *folder,
                      const char *name, struct guard_class *ret_class)
{
    struct component component = {.text = name, .size = strlen(name), .aliases = folder->aliases};

    begin(ret_class);
    ret_class->in_git = folder->in_git;
    ret_class->overflow = folder->overflow;
    ret_class->aliases = folder->aliases;
    ret_class->count = folder->count;
    memcpy(ret_class->hits, folder->hits, folder->count * sizeof folder->hits[0]);
    advance_all(rules, ret_class, 0, &component);
    settle(rules, &component, ret_class);
}

void guard_class_beside(const struct guard_rules *rules, struct guard_class *ret_class)
{
    begin(ret_class);
    for (size_t i = 0; i < rules->zone_count; i++) /* in doubt, for all */
        ret_class->aliases = ret_class->aliases || rules->zones[i].aliases;
    for (size_t i = 0; i < rules->count; i++) {
        const struct guard_hit hit = {.rule = (uint16_t) i, .states = GUARD_STATES_START};

        if (rules->rules[i].at_tops)
            add_hit(rules, ret_class, 0, &hit);
    }
    ret_class->level = ret_class->overflow ? GUARD_DENY : GUARD_PARTIAL;
}

/* The same rules in the same states, or further. */
static bool holds_all(const struct guard_class *class, const struct guard_class *other)
{
    for (size_t i = 0; i < class->count; i++) {
        const struct guard_hit *hit = &class->hits[i];
        bool found = false;

        for (size_t j = 0; j < other->count && !found; j++)
            found = other->hits[j].rule == hit->rule && other->hits[j].start == hit->start &&
                    other->hits[j].base == hit->base &&
                    (other->hits[j].states & hit->states) == hit->states;
        if (!found)
            return false;
    }
    return true;
}

const char guard_link_reason[] = "git on your side would write to where the link leads";

bool guard_link_redirects(const char *text)
{
    return strcmp(text, "testing") != 0;
}

bool guard_link_is_harmless(const struct guard_rules *rules, const char *parent,
                            const struct guard_class *class, const char *text)
{
    struct guard_class neighbour;

    if (class->level != GUARD_PARTIAL || text[0] == '\0' || strchr(text, '/') != NULL ||
        strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return false;
    guard_classify(rules, parent, text, NULL, &neighbour);
    return !neighbour.overflow && holds_all(class, &neighbour);
}
