/* Whatever the owner's file holds, what is written is our own table's keys, quoted: reading it
 * again gives the same. */
#include "derive/derive_priv.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool ok)
{
    if (!ok)
        abort();
}

static void rewrite(const char *text, size_t size, struct buf *buf)
{
    AUTO(derive_gitconfig_freep) struct derive_gitconfig *config = derive_gitconfig_new();

    buf_init(buf, 16u << 20);
    expect(config != NULL);
    expect(derive_gitconfig_read(config, text, size) == 0);
    expect(derive_gitconfig_print(config, buf) == 0);
}

/* Only sections and settings with a quoted value, and no byte that could end one early. */
static void check_line(const char *line, size_t size)
{
    static const char *const forbidden[] = {"helper",  "editor",  "pager", "hookspath", "fsmonitor",
                                            "program", "include", "alias", "sshcommand"};
    size_t name = strcspn(line, "=");

    for (size_t i = 0; i < size; i++)
        expect((unsigned char) line[i] >= 0x20 || line[i] == '\t');
    if (line[0] == '[') {
        expect(line[size - 1] == ']' && memchr(line, '"', size) == NULL);
        return;
    }
    expect(line[0] == '\t' && name < size);
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
        expect(memmem(line, name, forbidden[i], strlen(forbidden[i])) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(buf_free) struct buf once;
    AUTO(buf_free) struct buf twice;
    const char *at = NULL;

    rewrite((const char *) bytes, size, &once);
    rewrite(once.bytes, once.size, &twice);
    expect(once.size == twice.size && memcmp(once.bytes, twice.bytes, once.size) == 0);
    for (at = once.bytes; *at != '\0'; at = strchr(at, '\n') + 1)
        check_line(at, strcspn(at, "\n"));
    return 0;
}
