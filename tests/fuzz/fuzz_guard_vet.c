/* A configuration, perhaps after a NUL another that stands there already. What is let through says
 * the same when it is read again, is let through again as it is, and has no setting but those on
 * the list and the owner's. The bytes are tried as pointers as well. */
#include "base/cleanup.h"
#include "fence/guard/vet_priv.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define FOLDER "/home/ann/pen/.git"
#define ROOM ((size_t) 4 * GUARD_VET_LIMIT)

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static int next_setting(struct guard_reader *reader)
{
    struct err err = {0};
    int r = GUARD_READ_END;

    do {
        r = guard_reader_next(reader, &err);
    } while (r > GUARD_READ_END && r != GUARD_READ_SETTING);
    return r;
}

__attribute__((noinline)) static void check_same(const char *a, size_t a_size, const char *b,
                                                 size_t b_size)
{
    struct guard_reader one;
    struct guard_reader other;
    int r = GUARD_READ_SETTING;

    guard_reader_init(&one, a, a_size);
    guard_reader_init(&other, b, b_size);
    while (r > GUARD_READ_END) {
        r = next_setting(&one);
        expect(next_setting(&other) == r);
        expect(r <= GUARD_READ_END || guard_setting_equals(&one.setting, &other.setting));
    }
    expect(r == GUARD_READ_END);
}

static int is_bad(void *context, const struct guard_setting *setting)
{
    const struct guard_config *config = context;

    return config->old == NULL && guard_vet_setting(setting, NULL) < 0;
}

static void check_config(const struct guard_config *config, char *once, char *twice)
{
    struct guard_vetted vetted;
    struct guard_vetted again;
    struct guard_config copied = *config;
    struct err err = {0};
    const int r = guard_vet_config(config, once, ROOM, &vetted, &err);

    expect((r < 0) == (err.code != 0));
    if (r < 0) {
        expect(err.what[0] != '\0');
        return;
    }
    expect(vetted.size <= ROOM);
    check_same(config->text, config->size, once, vetted.size);
    expect(guard_config_each(once, vetted.size, is_bad, &copied, &err) == 0);
    if (vetted.size > GUARD_VET_LIMIT)
        return;
    copied.text = once;
    copied.size = vetted.size;
    expect(guard_vet_config(&copied, twice, ROOM, &again, &err) == 0);
    expect(again.size == vetted.size && memcmp(once, twice, again.size) == 0);
    expect(again.notes == vetted.notes && strcmp(again.worktree, vetted.worktree) == 0);
}

static void check_clean(const char *path)
{
    expect(path[0] == '/' && strlen(path) < PATH_MAX && strstr(path, "//") == NULL &&
           strstr(path, "/../") == NULL && strstr(path, "/./") == NULL);
    for (; *path != '\0'; path++)
        expect((unsigned char) *path >= 0x20);
}

static void check_pointers(const char *text, size_t size)
{
    char path[PATH_MAX];
    enum guard_pointer kind = GUARD_POINTER_MODULE;
    struct err err = {0};

    if (guard_vet_pointer(text, size, "/p/sub", path, &kind, &err) == 0) {
        check_clean(path);
        expect(strstr(path, "/.git/modules/") != NULL || strstr(path, "/.git/worktrees/") != NULL);
    }
    if (guard_vet_back(text, size, "/p/.git/worktrees/w", path, &err) == 0)
        check_clean(path);
    if (guard_vet_commondir(text, size, "/p/.git/worktrees/w", &err) == 0)
        expect(size <= sizeof "/p/.git\n");
    if (guard_vet_head(text, size, &err) == 0)
        expect(memmem(text, size, "..", 2) == NULL);
    (void) guard_pointer_is_whole(text, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO_FREE char *once = malloc(ROOM);
    AUTO_FREE char *twice = malloc(ROOM);
    const char *text = (const char *) bytes;
    const char *nul = size > 0 ? memchr(text, '\0', size) : NULL;
    struct guard_config config = {.folder = FOLDER, .text = text, .size = size};

    expect(once != NULL && twice != NULL);
    if (nul != NULL) {
        config.size = (size_t) (nul - text);
        config.old = nul + 1;
        config.old_size = size - config.size - 1;
    }
    if (size == 0)
        config.text = "";
    check_config(&config, once, twice);
    check_pointers(config.text, size);
    return 0;
}
