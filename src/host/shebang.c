#include "host/shebang.h"

#include <string.h>

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

size_t shebang_name(const char *head, size_t size, const char **ret_name)
{
    const char *at = head + 2, *end = head + size;
    const char *name;

    if (size < 2 || memcmp(head, "#!", 2) != 0)
        return 0;
    while (at < end && is_blank(*at))
        at++;
    name = at;
    while (at < end && *at != '\0' && *at != '\n' && !is_blank(*at))
        at++;
    if (at == end && size == SHEBANG_BYTES)
        return 0; /* it may go on */
    *ret_name = name;
    return (size_t) (at - name);
}
