/* cmocka in the include order it needs. */
#ifndef WATTLE_TESTS_CM_H
#define WATTLE_TESTS_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
