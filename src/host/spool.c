/* When the spool is taken into the log: at the start, when something changes there, and now and
 * then. intake.c does it, piece by piece, so that nobody waits for long. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "host/host_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEXT_MS = 1, /* not 0: timers that are due run before anybody else is served */
    CHANGED_MS = 200,
    BUSY_MS = 1000,
    ANYWAY_MS = 60000, /* where nothing tells of changes */
};

static void on_time(uv_timer_t *timer);

static void wait_for(struct host_spool *spool, uint64_t ms)
{
    (void) uv_timer_start(&spool->timer, on_time, ms, 0);
}

static void on_time(uv_timer_t *timer)
{
    struct host_spool *spool = timer->data;
    struct err err = {0};
    const int r = intake_step(&spool->intake, &err);

    if (r != -EAGAIN)
        spool->problem = err;
    if (r > 0)
        wait_for(spool, NEXT_MS);
    else
        wait_for(spool, r == -EAGAIN ? BUSY_MS : ANYWAY_MS);
}

static void on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
    struct host_spool *spool = watch->data;

    (void) name;
    (void) events;
    (void) status;
    if (uv_timer_get_due_in(&spool->timer) > CHANGED_MS)
        wait_for(spool, CHANGED_MS);
}

void host_spool_open(struct host *host)
{
    struct host_spool *spool = &host->spool;
    AUTO_FREE char *path = path_join(host->owner->state_dir, SPOOL_FOLDER);

    (void) uv_timer_init(&host->loop, &spool->timer);
    (void) uv_fs_event_init(&host->loop, &spool->watch);
    spool->timer.data = spool->watch.data = spool;
    if (intake_open(&spool->intake, host->store, host->owner->state_dir, &spool->problem) < 0)
        return;
    if (path != NULL)
        (void) uv_fs_event_start(&spool->watch, on_change, path, 0);
    wait_for(spool, NEXT_MS);
}

void host_spool_close(struct host *host)
{
    intake_close(&host->spool.intake);
    uv_close((uv_handle_t *) &host->spool.timer, NULL);
    uv_close((uv_handle_t *) &host->spool.watch, NULL);
}
