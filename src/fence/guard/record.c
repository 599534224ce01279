/* What is left for the list of made names; when, and why in this order: made.h. */
#include "fence/guard/guard_priv.h"

#include <stdio.h>

static bool in_zone(const struct guard_call *call, const struct guard_place *place)
{
    return guard_rules_zone(call->guard->settings.rules, place->location, NULL) >= 0;
}

static struct guard_made_name name_of(const struct guard_place *place)
{
    return (struct guard_made_name){.folder = place->location, .name = place->plain};
}

static size_t add(const struct guard_call *call, const struct guard_made_event *event)
{
    const struct guard_settings *settings = &call->guard->settings;

    atomic_store(&call->guard->has_recorded, true);
    return guard_made_add(settings->made, settings->made_size, event);
}

static void add_done(const struct guard_call *call, enum guard_made_kind kind,
                     const struct guard_place *place)
{
    const struct guard_made_event event = {.kind = kind, .name = name_of(place)};

    if (call->guard->settings.made != NULL && in_zone(call, place))
        guard_made_settle(call->guard->settings.made, add(call, &event), true);
}

void guard_record_made(const struct guard_call *call, const struct guard_place *place)
{
    add_done(call, GUARD_MADE_NAME, place);
}

void guard_record_written(const struct guard_call *call, const struct guard_place *place)
{
    const struct guard_settings *settings = &call->guard->settings;
    char path[PATH_MAX + NAME_MAX + 2];
    const char *relative = NULL;

    if (settings->made == NULL || guard_rules_zone(settings->rules, place->location, &relative) < 0)
        return;
    (void) snprintf(path, sizeof path, "%s%s%s", relative, relative[0] == '\0' ? "" : "/",
                    place->plain);
    if (guard_reported_find(settings->reported, path) != NULL)
        add_done(call, GUARD_MADE_WRITE, place);
}

size_t guard_record_leaving(const struct guard_call *call, const struct guard_judged *judged)
{
    const struct guard_place *from = judged->source != NULL ? judged->source : judged->target;
    struct guard_made_event event = {.kind = GUARD_MADE_GONE, .name = name_of(from)};

    if (call->guard->settings.made == NULL || !in_zone(call, from))
        return 0;
    if (judged->source != NULL && in_zone(call, judged->target)) {
        event.kind = judged->op == GUARD_EXCHANGE ? GUARD_MADE_SWAP : GUARD_MADE_MOVE;
        event.other = name_of(judged->target);
    }
    return add(call, &event);
}

void guard_record_left(const struct guard_call *call, const struct guard_judged *judged,
                       size_t place, bool happened)
{
    if (call->guard->settings.made == NULL)
        return;
    guard_made_settle(call->guard->settings.made, place, happened);
    if (!happened || judged->source == NULL)
        return;
    guard_record_made(call, judged->target);
    if (judged->op == GUARD_EXCHANGE)
        guard_record_made(call, judged->source);
}
