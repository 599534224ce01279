/* Says of each settings file named whether it is taken: for check-schema.py. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "policy/settings.h"

#include <fcntl.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        AUTO(settings_freep) struct settings *settings = NULL;
        AUTO(buf_free) struct buf buf;
        struct err err = {0};

        buf_init(&buf, 1u << 20);
        if (fd_read_file(AT_FDCWD, argv[i], &buf) < 0)
            return 2;
        (void) (settings_parse(buf.bytes, buf.size, "x", "/home/u", SETTINGS_OWNER, &settings,
                               &err) == 0
                    ? puts("taken")
                    : puts("refused"));
    }
    return 0;
}
