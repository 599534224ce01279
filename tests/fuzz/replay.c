/* Gives every file of the folders named to one fuzz target: an ordinary test without a fuzzer. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT_BYTES (8u << 20)

/* From an own block of the exact size, so that a sanitizer sees a step beyond its end. */
static int replay_file(int folder_fd, const char *name)
{
    AUTO(buf_free) struct buf buf;
    AUTO_FREE uint8_t *exact = NULL;

    buf_init(&buf, FILE_LIMIT_BYTES);
    if (fd_read_file(folder_fd, name, &buf) < 0)
        return -1;
    exact = malloc(buf.size > 0 ? buf.size : 1);
    if (exact == NULL)
        return -1;
    memcpy(exact, buf.bytes, buf.size);
    return LLVMFuzzerTestOneInput(exact, buf.size);
}

/* Number of files given, or -1. */
static int replay_folder(const char *path)
{
    AUTO_CLOSEDIR DIR *folder = opendir(path);
    int count = 0;

    if (folder == NULL)
        return -1;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        if (replay_file(dirfd(folder), entry->d_name) < 0) {
            (void) fprintf(stderr, "cannot replay '%s/%s'\n", path, entry->d_name);
            return -1;
        }
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int count = replay_folder(argv[i]);

        (void) printf("%s: %d\n", argv[i], count);
        if (count <= 0)
            return 1;
    }
    return argc > 1 ? 0 : 2;
}
