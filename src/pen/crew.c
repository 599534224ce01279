/* The second thread of a walk. It is gone before anything is cloned. */
#include "pen/walk_priv.h"

#include <signal.h>

/* No signal is its business: what handles them is the thread that started it. */
void pen_crew_start(struct pen_crew *crew, void *(*work)(void *context), void *context)
{
    sigset_t all;
    sigset_t before;

    if (crew->there)
        return;
    (void) sigfillset(&all);
    (void) pthread_sigmask(SIG_SETMASK, &all, &before);
    crew->there = pthread_create(&crew->thread, NULL, work, context) == 0;
    (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pen_crew_end(struct pen_crew *crew)
{
    if (crew->there)
        (void) pthread_join(crew->thread, NULL);
    crew->there = false;
}
