/* Rules for one pen, and what they say of a name in it; for the tests of the guard's rules. */
#ifndef WATTLE_TESTS_GUARD_PEN_H
#define WATTLE_TESTS_GUARD_PEN_H

#include "base/cleanup.h"
#include "cm.h"
#include "fence/guard/rules.h"

#include <stdio.h>
#include <string.h>

#define PEN "/home/ann/pen"
#define WITH_RULES(test) cmocka_unit_test_setup_teardown(test, make, unmake)

static inline bool yes(void *context, unsigned up)
{
    (void) context;
    (void) up;
    return true;
}

static inline bool no(void *context, unsigned up)
{
    (void) context;
    (void) up;
    return false;
}

static inline int make(void **state)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = guard_rules_new();
    struct err err = {0};

    if (rules == NULL || guard_rules_add_zone(rules, PEN, false, &err) < 0)
        return -1;
    *state = TAKE_PTR(rules);
    return 0;
}

static inline int unmake(void **state)
{
    struct guard_rules *rules = *state;

    guard_rules_freep(&rules);
    return 0;
}

/* "a/b/c" of the pen, or an absolute path. */
static inline struct guard_class classify(const struct guard_rules *rules, const char *path,
                                          bool (*holds_git)(void *context, unsigned up))
{
    const struct guard_ask ask = {.holds_git = holds_git};
    AUTO_FREE char *whole = NULL;
    struct guard_class class;
    char *slash = NULL;

    assert_true(asprintf(&whole, "%s%s", path[0] == '/' ? "" : PEN "/", path) > 0);
    slash = strrchr(whole, '/');
    *slash = '\0';
    guard_classify(rules, whole[0] != '\0' ? whole : "/", slash + 1,
                   holds_git != NULL ? &ask : NULL, &class);
    return class;
}

static inline enum guard_level level(void **state, const char *path)
{
    const struct guard_class class = classify(*state, path, no);

    return class.level;
}

#endif
