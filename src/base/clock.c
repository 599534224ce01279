#include "base/clock.h"

#include <time.h>

static uint64_t read_ms(clockid_t clock)
{
    struct timespec now = {0};

    (void) clock_gettime(clock, &now); /* cannot fail for these two */
    return (uint64_t) now.tv_sec * 1000u + (uint64_t) now.tv_nsec / 1000000u;
}

uint64_t clock_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}
