/* The guard's own code performs calls in this process: no filter, no notification. The task that is
 * said to make them is a child that sleeps in a folder made for it.
 *
 * Landlock keeps what is performed in that folder, and root is given up; without Landlock nothing
 * is performed. The linker gives the names in __wrap_ the place of the guard's. */
#ifndef WATTLE_TESTS_PERFORM_WORLD_H
#define WATTLE_TESTS_PERFORM_WORLD_H

#include "fence/guard/guard_priv.h"

#define PERFORM_LINE_SIZE 600

/* One for the process; a fuzzer has no other place to keep it. */
extern struct perform_world {
    struct guard guard;
    char top[64];
    int top_fd;
    pid_t task;
    bool ready, useless;
} world;

void perform_make_world(void);
void perform_fresh_tree(void);
void perform_make_folders(void); /* of the tree, those that are missing */
/* Performs one line: "CALL FLAGS PATH" or "CALL FLAGS PATH PATH" (a tab between the paths). */
void perform_line(struct guard_call *call, char *line);
/* What never became whole, and what was made. */
void perform_forget(void);
/* Ends the process if a guarded name is there. */
void perform_check(void);
void perform_expect(bool ok, const char *what);
unsigned perform_count_descriptors(void);

#endif
