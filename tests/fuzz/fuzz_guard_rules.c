/* Lines of text: "p PATTERN", "h HELD", "g GIT FOLDER", "a" (other spellings count from here on),
 * and paths of the pen. Whatever they are: the answers for one path agree with each other. */
#include "base/cleanup.h"
#include "fence/guard/rules.h"
#include "fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEN "/home/ann/pen"
#define ALIASES "/media/stick"
#define LINE_SIZE 1500

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static bool holds_git(void *context, unsigned up)
{
    (void) context;
    return up % 2 == 0;
}

/* Nothing is free under one question and refused under another of the same kind. */
static void check_decisions(const struct guard_class *target, const struct guard_class *source)
{
    for (unsigned op = 0; op < GUARD_OPS; op++) {
        for (unsigned kind = 0; kind <= GUARD_SPECIAL; kind++) {
            const struct guard_question question = {
                .op = (enum guard_op) op,
                .target = target,
                .source = op >= GUARD_LINK && op <= GUARD_WHITEOUT ? source : NULL,
                .kind = (enum guard_kind) kind,
                .other = (enum guard_kind) kind,
            };
            struct guard_verdict verdict;

            guard_decide(&question, &verdict);
            expect(verdict.error == 0 || verdict.needs == 0);
            if (guard_is_free(question.op, target, question.source))
                expect(verdict.error == 0 && verdict.needs == 0);
        }
    }
}

static void check_text(const struct guard_rules *rules, const char *parent, const char *name,
                       const struct guard_class *class)
{
    const struct guard_refused refused = {GUARD_CREATE, parent, name, class->rule};
    char text[96];
    const size_t size = guard_refusal(rules, &refused, text, sizeof text);

    expect(size < sizeof text && strlen(text) == size);
    for (size_t i = 0; i < size; i++)
        expect((unsigned char) text[i] >= 0x20 && text[i] != 0x7f);
}

/* The same in capitals is the same name, where only ASCII counts. */
static void check_case(const struct guard_rules *rules, const char *top, const char *parent,
                       const char *name, const struct guard_class *class)
{
    const struct guard_ask ask = {.holds_git = holds_git};
    char other_parent[LINE_SIZE + 32];
    char other_name[LINE_SIZE + 32];
    struct guard_class other;

    (void) snprintf(other_parent, sizeof other_parent, "%s", parent);
    (void) snprintf(other_name, sizeof other_name, "%s", name);
    for (char *at = other_parent + strlen(top); *at != '\0'; at++)
        *at = (char) toupper((unsigned char) *at);
    for (char *at = other_name; *at != '\0'; at++)
        *at = (char) toupper((unsigned char) *at);
    guard_classify(rules, other_parent, other_name, &ask, &other);
    expect(other.level == class->level && other.rule == class->rule && other.vet == class->vet);
}

static void check_path(const struct guard_rules *rules, const char *top, const char *path)
{
    const struct guard_ask ask = {.holds_git = holds_git};
    char parent[LINE_SIZE + 32];
    char name[LINE_SIZE + 32];
    char *slash = NULL;
    struct guard_class class;
    struct guard_class whole;
    struct guard_class folder;
    struct guard_class step;

    (void) snprintf(parent, sizeof parent, "%s/%s", top, path);
    slash = strrchr(parent, '/');
    (void) snprintf(name, sizeof name, "%s", slash + 1);
    *slash = '\0';
    guard_classify(rules, parent, name, &ask, &class);
    guard_classify(rules, parent, name, NULL, &whole);
    expect(class.level <= whole.level);
    check_case(rules, top, parent, name, &class);
    check_text(rules, parent, name, &class);
    slash = strrchr(parent, '/');
    if (strlen(parent) <= strlen(top) || slash[1] == '\0' || name[0] == '\0')
        return;
    *slash = '\0';
    guard_classify(rules, parent, slash + 1, NULL, &folder);
    guard_class_step(rules, &folder, name, &step);
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(slash + 1, ".") != 0 &&
        strcmp(slash + 1, "..") != 0)
        expect(step.level <= whole.level);
    check_decisions(&class, &folder);
    (void) guard_link_is_harmless(rules, parent, &folder, name);
}

static void take_line(struct guard_rules *rules, const char **top, const char *line)
{
    struct err err = {0};
    char path[LINE_SIZE + 32];
    int r = 0;

    (void) snprintf(path, sizeof path, PEN "/%s", strlen(line) > 2 ? line + 2 : "");
    if (strncmp(line, "p ", 2) == 0)
        r = guard_rules_add_pattern(rules, line + 2, "your rule", &err);
    else if (strncmp(line, "h ", 2) == 0)
        r = guard_rules_add_held(rules, path, "found", &err);
    else if (strncmp(line, "g ", 2) == 0)
        r = guard_rules_add_git_folder(rules, path, &err);
    else if (strcmp(line, "a") == 0)
        *top = ALIASES;
    else
        check_path(rules, *top, line);
    expect((r < 0) == (err.code != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = guard_rules_new();
    AUTO_FREE char *text = malloc(size + 1);
    const char *top = PEN;
    struct err err = {0};

    expect(rules != NULL && text != NULL);
    expect(guard_rules_add_zone(rules, PEN, false, &err) == 0);
    expect(guard_rules_add_zone(rules, ALIASES, true, &err) == 0);
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (char *at = text; *at != '\0';) {
        char *end = at + strcspn(at, "\n");
        const bool more = *end != '\0';

        *end = '\0';
        if (end - at < LINE_SIZE)
            take_line(rules, &top, at);
        at = end + more;
    }
    return 0;
}
