#include "base/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { GROUP = 4 };

/* -1: no digit. */
static int digit_of(char character)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = character == '\0' ? NULL : strchr(digits, character);

    return at == NULL ? -1 : (int) (at - digits);
}

int base64_decode(const char *text, struct buf *bytes)
{
    const size_t size = strlen(text);

    if (size % GROUP != 0)
        return -EBADMSG;
    for (size_t at = 0; at < size; at += GROUP) {
        const bool last = at + GROUP == size;
        const size_t padding = !last || text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2;
        uint32_t value = 0;

        for (size_t i = 0; i < GROUP; i++) {
            const int digit = i >= GROUP - padding ? 0 : digit_of(text[at + i]);

            if (digit < 0)
                return -EBADMSG;
            value = value << 6 | (uint32_t) digit;
        }
        if ((padding == 1 && (value & 0xff) != 0) || (padding == 2 && (value & 0xffff) != 0))
            return -EBADMSG;
        (void) buf_add(bytes,
                       (const char[]){(char) (value >> 16), (char) (value >> 8), (char) value},
                       3 - padding);
    }
    return bytes->failed;
}
