/* What the decision table promises for every question, and how it says why. */
#include "base/cleanup.h"
#include "cm.h"
#include "fence/guard/rules.h"

#include <stdio.h>
#include <string.h>

#define PEN "/p"

static void classify(const struct guard_rules *rules, const char *path, struct guard_class *class)
{
    char parent[256];
    char *slash = NULL;

    (void) snprintf(parent, sizeof parent, PEN "/%s", path);
    slash = strrchr(parent, '/');
    *slash = '\0';
    guard_classify(rules, parent, slash + 1, NULL, class);
}

static const char *const paths[] = {"x",
                                    "src/x",
                                    ".git",
                                    ".git/foo",
                                    ".git/config",
                                    ".git/hooks",
                                    ".git/hooks/a",
                                    ".git/hooks/a.sample",
                                    ".git/modules/x",
                                    ".envrc",
                                    ".claude",
                                    "HEAD",
                                    ".git/worktrees/w/commondir"};

/* What no question may ever be answered with. */
static void check_promises(const struct guard_question *question,
                           const struct guard_verdict *verdict)
{
    const bool goes_on = verdict->error == 0;
    const struct guard_class *target = question->target;
    const bool is_loose = target->level == GUARD_DENY && target->vet == GUARD_VET_NONE;

    assert_true(goes_on || verdict->needs == 0);
    if (goes_on && is_loose)
        assert_true(question->op == GUARD_UNLINK);
    if (goes_on && question->source != NULL)
        assert_true(question->source->level != GUARD_DENY);
    if (goes_on && target->level == GUARD_PARTIAL && question->op >= GUARD_RENAME &&
        question->op <= GUARD_EXCHANGE)
        assert_true((verdict->needs & GUARD_NEED_EXCLUSIVE) != 0);
    if (verdict->needs & (unsigned) ~(GUARD_NEED_EXCLUSIVE | GUARD_NEED_BARE |
                                      GUARD_NEED_BARE_STAYS | GUARD_NEED_BARE_STAYS_SOURCE))
        assert_true((verdict->needs & GUARD_NEED_EXCLUSIVE) != 0);
    if (goes_on && target->bare && question->op < GUARD_UNLINK)
        assert_true((verdict->needs & GUARD_NEED_BARE) != 0);
    if (guard_is_free(question->op, target, question->source))
        assert_true(goes_on && verdict->needs == 0);
}

static void ask_in_all_ways(const struct guard_class *target, const struct guard_class *source)
{
    for (unsigned i = 0; i < GUARD_OPS * 4 * 4 * 8; i++) {
        const enum guard_op op = (enum guard_op)(i % GUARD_OPS);
        const unsigned rest = i / GUARD_OPS;
        const bool two = op == GUARD_LINK || (op >= GUARD_RENAME && op <= GUARD_WHITEOUT);
        const struct guard_question question = {
            .op = op,
            .target = target,
            .source = two ? source : NULL,
            .kind = (enum guard_kind)(rest % 4),
            .other = (enum guard_kind)(rest / 4 % 4),
            .exists = (rest / 16 & 1u) != 0,
            .held = (rest / 16 & 2u) != 0,
            .harmless = (rest / 16 & 4u) != 0,
        };
        struct guard_verdict verdict;

        guard_decide(&question, &verdict);
        check_promises(&question, &verdict);
    }
}

static void promises_hold_for_every_question(void **state)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = guard_rules_new();
    struct err err = {0};

    (void) state;
    assert_non_null(rules);
    assert_int_equal(guard_rules_add_zone(rules, PEN, false, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct guard_class target;

        classify(rules, paths[i], &target);
        for (size_t j = 0; j < ARRAY_SIZE(paths); j++) {
            struct guard_class source;

            classify(rules, paths[j], &source);
            ask_in_all_ways(&target, &source);
        }
    }
}

/* Where no rule speaks against it, the reason is said; and whose name it is. */
static void each_refusal_has_its_own_reason(void **state)
{
    struct guard_class source = {.rule = -1, .in_git = true}, target = {.rule = -1};
    struct guard_question question = {
        .op = GUARD_RENAME, .target = &target, .source = &source, .kind = GUARD_FOLDER};
    struct guard_verdict verdict;

    (void) state;
    guard_decide(&question, &verdict);
    assert_int_equal(verdict.error, EBUSY);
    assert_true(verdict.of_source);
    assert_non_null(strstr(verdict.reason, "part of a git folder"));

    source = (struct guard_class){.rule = -1};
    target = (struct guard_class){.rule = -1, .in_git = true};
    question.op = GUARD_EXCHANGE;
    question.other = GUARD_FOLDER;
    guard_decide(&question, &verdict);
    assert_int_equal(verdict.error, EBUSY);
    assert_false(verdict.of_source); /* what is at the target would leave */
    assert_non_null(strstr(verdict.reason, "part of a git folder"));

    target = (struct guard_class){.rule = -1, .level = GUARD_DENY, .overflow = true};
    question = (struct guard_question){.op = GUARD_MKDIR, .target = &target};
    guard_decide(&question, &verdict);
    assert_int_equal(verdict.error, EROFS);
    assert_non_null(strstr(verdict.reason, "too deep"));

    target = (struct guard_class){.rule = 3, .level = GUARD_PARTIAL};
    source = (struct guard_class){.rule = -1};
    question = (struct guard_question){
        .op = GUARD_RENAME, .target = &target, .source = &source, .kind = GUARD_LINK_TEXT};
    guard_decide(&question, &verdict);
    assert_int_equal(verdict.error, EROFS);
    assert_int_equal(verdict.rule, 3);
    assert_false(verdict.of_source);
    assert_null(verdict.reason);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_hold_for_every_question),
        cmocka_unit_test(each_refusal_has_its_own_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
