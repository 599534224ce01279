/* race_guard_perform COUNT FILE...: both threads of a guard perform lines of the files in a random
 * order, COUNT each, in one folder at the same time. In the end no guarded name may be there; what
 * they do to each other's memory is for ThreadSanitizer to say (docs/testing.md). */
#include "base/cleanup.h"
#include "perform_world.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINES_MAX 4096
#define REMAKE_EVERY 50 /* what the lines have removed, so that there is something to act on */

static char lines[LINES_MAX][PERFORM_LINE_SIZE];
static unsigned line_count;
static unsigned long count;

static void read_lines(const char *path)
{
    FILE *file = fopen(path, "re");

    perform_expect(file != NULL, path);
    while (line_count < LINES_MAX && fgets(lines[line_count], PERFORM_LINE_SIZE, file) != NULL) {
        lines[line_count][strcspn(lines[line_count], "\n")] = '\0';
        line_count++;
    }
    (void) fclose(file);
}

static void *perform(void *context)
{
    struct guard_call *call = context;
    unsigned seed = (unsigned) (call - world.guard.calls);
    char line[PERFORM_LINE_SIZE];

    perform_expect(unshare(CLONE_FS) == 0, "no umask of its own");
    (void) umask(call->umask_now);
    for (unsigned long i = 0; i < count; i++) {
        memcpy(line, lines[(unsigned) rand_r(&seed) % line_count], sizeof line);
        perform_line(call, line);
        if (i % REMAKE_EVERY == 0)
            perform_make_folders();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[GUARD_THREADS];

    perform_expect(argc > 2, "usage: race_guard_perform COUNT FILE...");
    count = strtoul(argv[1], NULL, 10);
    for (int i = 2; i < argc; i++)
        read_lines(argv[i]);
    perform_make_world();
    if (world.useless)
        return 77; /* skipped: nothing keeps what is performed in its folder */
    perform_fresh_tree();
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        perform_expect(pthread_create(&threads[i], NULL, perform, &world.guard.calls[i]) == 0, "");
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        (void) pthread_join(threads[i], NULL);
    perform_check();
    return 0;
}
