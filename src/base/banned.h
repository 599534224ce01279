/* Calls that are never used here; the compiler refuses them. Forced into every file by meson. */
#ifndef WATTLE_BASE_BANNED_H
#define WATTLE_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C library makes this one a macro for clang, and poisoning a macro is worth a warning there.
 */
#undef sprintf

#pragma GCC poison strcpy strcat sprintf vsprintf strtok strtok_r atoi atol atoll system popen     \
    mktemp
#pragma GCC poison tmpnam tempnam gets

#endif
