/* Records of any bytes give a list: of clean paths, in order, each once. */
#include "base/cleanup.h"
#include "base/path.h"
#include "fuzz.h"
#include "job/made.h"

#include <stdlib.h>
#include <string.h>

#define PEN "/p"

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static void on_made(void *context, const struct job_made *made)
{
    (void) context;
    expect(made->told_count <= JOB_TOLD_MAX && made->told_count <= made->told_total);
    for (size_t i = 0; i < made->count; i++) {
        const char *name = made->names[i];

        expect(name[0] != '\0' && strstr(name, "//") == NULL);
        expect(name[0] != '/' || path_is_below(name, "/q"));
        expect(strncmp(name, "../", 3) != 0 && strstr(name, "/../") == NULL);
        expect(i == 0 || strcmp(name, made->names[i - 1]) != 0);
    }
}

static int look(const char *path, const char *relative)
{
    expect(relative > path && relative[-1] == '/' && relative[0] != '\0');
    return strlen(path) % 2 == 0 ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = guard_rules_new();
    AUTO(guard_reported_freep) struct guard_reported *reported = guard_reported_new();
    struct guard_made_reader reader = {.bytes = bytes, .size = size, .complete = true};
    const struct made_question question = {
        .rules = rules, .reported = reported, .pen = PEN, .look = look};
    struct err err = {0};

    expect(rules != NULL && reported != NULL);
    expect(guard_rules_add_zone(rules, PEN, false, &err) == 0);
    expect(guard_rules_add_zone(rules, "/q", false, &err) == 0);
    expect(made_tell(&question, &reader, on_made, NULL, &err) == 0);
    return 0;
}
