/* What is told of a call that is refused. */
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of a path that is too long its end says more. */
static void put_path(const struct guard_place *place, char *text, size_t size)
{
    const char *location = place->location[1] == '\0' ? "" : place->location;
    const size_t name = strlen(place->plain) + 1, length = strlen(location);
    const size_t room = size - 1 - name;
    const bool cut = length > room;

    (void) snprintf(text, size, "%s%.*s/%.255s", cut ? "..." : "", (int) (cut ? room - 3 : length),
                    cut ? location + length - (room - 3) : location, place->plain);
}

/* Without the kernel's words for the errno, which are about nobody's call. */
static void put_reason(const struct guard_call *call, const struct guard_judged *judged,
                       const struct err *err, char *text, size_t size)
{
    const struct guard_verdict *verdict = &judged->verdict;
    const char *reason = judged->found;
    const char *end;

    if (err != NULL)
        reason = err->what;
    else if (reason[0] == '\0')
        reason = verdict->reason != NULL
                     ? verdict->reason
                     : guard_rule_reason(call->guard->settings.rules, verdict->rule);
    (void) snprintf(text, size, "%.*s", (int) size - 1, reason);
    end = err != NULL ? strerrordesc_np(err->code) : NULL;
    if (end != NULL && strlen(text) > strlen(end) + 2 &&
        strcmp(text + strlen(text) - strlen(end), end) == 0)
        text[strlen(text) - strlen(end) - 2] = '\0';
}

void guard_report(struct guard_call *call, const struct guard_judged *judged, const struct err *err)
{
    struct guard *guard = call->guard;
    const struct guard_settings *settings = &guard->settings;
    const struct guard_place *place =
        err == NULL && judged->verdict.of_source && judged->source != NULL ? judged->source
                                                                           : judged->target;
    struct guard_denial denial = {.pid = call->tid};

    guard_task_program(call->tid, denial.program, sizeof denial.program);
    (void) snprintf(denial.call, sizeof denial.call, "%s", call->row->name);
    put_reason(call, judged, err, denial.reason, sizeof denial.reason);
    put_path(place, denial.path, sizeof denial.path);
    (void) pthread_mutex_lock(&guard->denied_mutex);
    guard->denied_count++;
    if (settings->on_denied != NULL)
        settings->on_denied(settings->context, &denial);
    (void) pthread_mutex_unlock(&guard->denied_mutex);
}

int guard_refuse_vet(struct guard_call *call, const struct guard_judged *judged, const char *why)
{
    struct err err = {0};

    if (why != NULL)
        (void) err_set(&err, EPERM, "guard.vet", "%s", why);
    guard_report(call, judged, why != NULL ? &err : NULL);
    return -GUARD_REFUSED;
}
