/* guard_watch FOLDER NAME...
 *
 * Outside, while a job tries: looks for each name below FOLDER, one after the other, as fast as it
 * can, until it is told to end (SIGTERM). Prints each name that was seen, once, and at the end
 * "N looks, N seen"; exit status 1 if any was. */
#include "../helpers/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

#define NAMES_MAX 256

static volatile sig_atomic_t over;

static void end(int signal)
{
    (void) signal;
    over = 1;
}

static bool is_there(int folder_fd, const char *name)
{
    struct statx seen;

    return statx(folder_fd, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE, &seen) == 0;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = end};
    bool seen[NAMES_MAX] = {false};
    unsigned long looks = 0;
    unsigned count = 0;
    int folder_fd;

    if (argc < 3 || argc > NAMES_MAX)
        errx(HELPER_FAILED, "usage: guard_watch FOLDER NAME...");
    folder_fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        err(HELPER_FAILED, "%s", argv[1]);
    (void) sigaction(SIGTERM, &action, NULL);
    while (!over) {
        for (int i = 2; i < argc; i++, looks++) {
            if (seen[i] || !is_there(folder_fd, argv[i]))
                continue;
            seen[i] = true;
            count++;
            (void) printf("seen: %s\n", argv[i]);
        }
    }
    (void) printf("%lu looks, %u seen\n", looks, count);
    return count > 0;
}
