#include "cli/endcheck.h"

#include "base/cleanup.h"
#include "cli/report.h"

#include <stdio.h>

static void on_event(void *context, const struct held_event *event)
{
    struct endcheck *endcheck = context;

    endcheck->counts[event->action]++;
    if (endcheck->first[0] == '\0')
        (void) snprintf(endcheck->first, sizeof endcheck->first, "'%.300s': %.200s", event->path,
                        event->reason);
    endcheck->on_event(endcheck->context, event);
}

static struct held_request request_of(struct endcheck *endcheck, const struct derive_owner *owner,
                                      const char *run)
{
    return (struct held_request){
        .state_dir = owner->state_dir,
        .run = run,
        .on_event = on_event,
        .context = endcheck,
    };
}

void endcheck_sweep(struct endcheck *endcheck, const struct derive_owner *owner, const char *run)
{
    const struct held_request request = request_of(endcheck, owner, run);
    struct err err = {0};

    if (held_sweep(&request, &err) < 0)
        report_error(&err, false);
}

int endcheck_begin(struct endcheck *endcheck, const struct derive_owner *owner, const char *run,
                   const struct policy *policy, struct err *err)
{
    const struct held_request request = request_of(endcheck, owner, run);

    return held_begin(&request, policy, &endcheck->held, err);
}

void endcheck_end(struct endcheck *endcheck)
{
    struct err err = {0};

    if (endcheck->held == NULL)
        return;
    if (held_end(endcheck->held, &err) < 0)
        report_error(&err, false);
    held_freep(&endcheck->held);
}

void endcheck_say(const struct endcheck *endcheck)
{
    static const struct {
        enum held_action action;
        const char *what;
    } words[] = {
        {HELD_SET_ASIDE, "set aside"}, {HELD_DISARMED, "disarmed"},
        {HELD_PUT_BACK, "put back"},   {HELD_TAKEN, "taken without a copy to put back"},
        {HELD_RESTORED, "restored"},   {HELD_GONE, "gone"},
        {HELD_FAILED, "still there"},
    };
    AUTO(buf_free) struct buf text = {0};
    size_t all = 0;

    buf_init(&text, 1024);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const size_t count = endcheck->counts[words[i].action];

        if (count > 0)
            (void) buf_printf(&text, "%s%zu %s", all > 0 ? ", " : "", count, words[i].what);
        all += count;
    }
    if (all > 0)
        report_line("names that run on your side: %s, first %s; see 'wattle held list'", text.bytes,
                    endcheck->first);
}
