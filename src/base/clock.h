/* Monotonic time in milliseconds, and wall time for records. Layer 0. */
#ifndef WATTLE_BASE_CLOCK_H
#define WATTLE_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);      /* CLOCK_MONOTONIC */
uint64_t clock_wall_ms(void); /* CLOCK_REALTIME, since the epoch */

#endif
