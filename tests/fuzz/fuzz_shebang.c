/* The first line of any file gives the name that the kernel takes: what is here says it in the
 * order of its own words, on a buffer that is filled with zeros. */
#include "fuzz.h"
#include "host/shebang.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The first that is none, up to and with `last`. */
static const char *next_word(const char *at, const char *last)
{
    for (; at <= last; at++)
        if (!is_blank(*at))
            return at;
    return NULL;
}

static const char *next_end(const char *at, const char *last)
{
    for (; at <= last; at++)
        if (is_blank(*at) || *at == '\0')
            return at;
    return NULL;
}

/* As load_script() of fs/binfmt_script.c. */
static size_t kernel_name(const char *head, const char **ret_name)
{
    const char *last = head + SHEBANG_BYTES - 1;
    const char *newline = memchr(head, '\n', SHEBANG_BYTES);
    const char *end = newline, *name, *stop;

    if (head[0] != '#' || head[1] != '!')
        return 0;
    if (newline == NULL) {
        end = next_word(head + 2, last);
        if (end == NULL || next_end(end, last) == NULL)
            return 0;
        end = last;
    }
    while (is_blank(end[-1]))
        end--;
    name = next_word(head + 2, end);
    if (name == NULL || name == end)
        return 0;
    stop = next_end(name, end);
    *ret_name = name;
    return (size_t) ((stop == NULL || stop > end ? end : stop) - name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char head[SHEBANG_BYTES + 1] = {0}, *given;
    const char *name = NULL, *kernel = NULL;
    size_t length, expected;

    size = size < SHEBANG_BYTES ? size : SHEBANG_BYTES;
    memcpy(head, bytes, size);
    given = malloc(size + 1); /* of its own: so that what reads on is seen */
    if (given == NULL)
        abort();
    memcpy(given, bytes, size);
    length = shebang_name(given, size, &name);
    expected = kernel_name(head, &kernel);
    if (length != expected || (length > 0 && name - given != kernel - head))
        abort();
    free(given);
    return 0;
}
