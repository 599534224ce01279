#include "host/kin.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STAT_BYTES = 1024,
    STEPS_MAX = 256, /* of ancestors; deeper ones are not asked */
    FIELD_STATE = 3,
    FIELD_PARENT = 4,
    FIELD_BORN = 22,
};

/* The field at `at` and the next one. */
static const char *next_field(const char *at)
{
    at += strspn(at, " ");
    return at + strcspn(at, " ");
}

/* NAME is the process's own word and may hold anything: the last ')' ends it. */
bool kin_read(const char *text, struct kin_process *ret_process)
{
    const char *name = strchr(text, '('), *at = strrchr(text, ')');
    struct kin_process process = {.parent = 0};
    long parent = -1;

    if (name == NULL || at == NULL || at < name)
        return false;
    (void) snprintf(process.name, sizeof process.name, "%.*s", (int) (at - name - 1), name + 1);
    at++;
    for (int field = FIELD_STATE; field < FIELD_BORN; field++) {
        at = next_field(at);
        if (field + 1 == FIELD_PARENT)
            parent = strtol(at, NULL, 10);
    }
    if (*at == '\0' || parent < 0 || parent > INT_MAX)
        return false;
    process.parent = (pid_t) parent;
    process.born = strtoull(at, NULL, 10);
    *ret_process = process;
    return true;
}

static bool look(pid_t pid, struct kin_process *ret_process)
{
    AUTO_CLOSE int fd = -1;
    char path[32], text[STAT_BYTES];
    ssize_t n;

    (void) snprintf(path, sizeof path, "/proc/%d/stat", (int) pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return kin_read(text, ret_process);
}

/* Orphans are given to it: to descend from it says nothing. */
static bool is_everybodys(pid_t pid, const struct kin_process *process)
{
    return pid <= 1 || str_equal(process->name, "systemd");
}

struct kin kin_parent(pid_t pid)
{
    struct kin_process child, parent;

    if (!look(pid, &child) || !look(child.parent, &parent) || is_everybodys(child.parent, &parent))
        return (struct kin){.pid = 0};
    return (struct kin){.pid = child.parent, .born = parent.born};
}

bool kin_descends(pid_t pid, const struct kin *top)
{
    struct kin_process process;

    for (int i = 0; top->pid > 0 && i < STEPS_MAX && pid > 0 && look(pid, &process); i++) {
        if (pid == top->pid)
            return process.born == top->born;
        pid = process.parent;
    }
    return false;
}
