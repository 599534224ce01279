/* probe_paths <PATHS >ANSWERS
 *
 * What the kernel lets this process do with each path (one a line): "read", "write" or "hidden",
 * a tab, the path. "write" is tried for real: a file is opened for writing, and a folder must take
 * a new name, which is removed again. "hidden": neither its content nor a listing can be had.
 * Static, so that it runs wherever it is put. */
#include "helper.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#define PROBE_NAME "wattle-probe-paths"

static bool folder_takes_names(int fd)
{
    int made = openat(fd, PROBE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (made < 0)
        return false;
    (void) close(made);
    (void) unlinkat(fd, PROBE_NAME, 0);
    return true;
}

static const char *probe(const char *path)
{
    const char *answer = "hidden";
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int writable;

    if (fd < 0)
        return answer;
    if (fstat(fd, &status) == 0) {
        writable = S_ISDIR(status.st_mode) ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        answer =
            writable >= 0 || (S_ISDIR(status.st_mode) && folder_takes_names(fd)) ? "write" : "read";
        if (writable >= 0)
            (void) close(writable);
    }
    (void) close(fd);
    return answer;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while ((length = getline(&line, &room, stdin)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        (void) printf("%s\t%s\n", probe(line), line);
    }
    free(line);
    return 0;
}
