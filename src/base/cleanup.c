#include "base/cleanup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void cleanup_close(int *fd)
{
    int kept = errno;

    if (*fd >= 0)
        (void) close(*fd); /* nothing can be done about a failure, and the number is free again */
    *fd = -1;
    errno = kept;
}

/* Any object pointer may stand behind the void pointer, so it is read and written as bytes. */
void cleanup_free(void *pointer_to_pointer)
{
    static const void *const none = NULL;
    int kept = errno;
    void *pointer;

    memcpy(&pointer, pointer_to_pointer, sizeof pointer);
    free(pointer);
    memcpy(pointer_to_pointer, &none, sizeof none);
    errno = kept;
}

void cleanup_closedir(DIR **dir)
{
    int kept = errno;

    if (*dir != NULL)
        (void) closedir(*dir);
    *dir = NULL;
    errno = kept;
}
