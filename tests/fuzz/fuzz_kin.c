/* Any text is read or refused; and whatever a process calls itself, its parent stays who it is. */
#include "fuzz.h"
#include "host/kin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 256 };

static void expect(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct kin_process process = {.parent = 77};
    char text[NAME_MOST + 128], name[NAME_MOST];

    size = size < sizeof name ? size : sizeof name - 1;
    memcpy(name, bytes, size);
    name[size] = '\0';
    if (!kin_read(name, &process))
        expect(process.parent == 77);
    expect(process.parent >= 0 && memchr(process.name, '\0', sizeof process.name) != NULL);
    (void) snprintf(text, sizeof text,
                    "12 (%s) S 42 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3", name);
    expect(kin_read(text, &process) && process.parent == 42 && process.born == 987654);
    expect(strncmp(process.name, name, strlen(process.name)) == 0);
    return 0;
}
