/* Who owns it: attributes that free a variable at the end of its scope. Layer 0.
 * An owning variable starts as -1 or NULL; TAKE_* hands the thing over and empties the variable. */
#ifndef WATTLE_BASE_CLEANUP_H
#define WATTLE_BASE_CLEANUP_H

#include <dirent.h>
#include <stdlib.h>

/* Closes once, also on EINTR (Linux has then released the number), and keeps errno. -1 is nothing.
 */
void cleanup_close(int *fd);
void cleanup_free(void *pointer_to_pointer);
void cleanup_closedir(DIR **dir);

#define AUTO(function) __attribute__((cleanup(function)))
#define AUTO_CLOSE AUTO(cleanup_close)
#define AUTO_FREE AUTO(cleanup_free)
#define AUTO_CLOSEDIR AUTO(cleanup_closedir)

#define TAKE_FD(fd)                                                                                \
    __extension__({                                                                                \
        int taken_fd_ = (fd);                                                                      \
        (fd) = -1;                                                                                 \
        taken_fd_;                                                                                 \
    })
#define TAKE_PTR(pointer)                                                                          \
    __extension__({                                                                                \
        __typeof__(pointer) taken_pointer_ = (pointer);                                            \
        (pointer) = NULL;                                                                          \
        taken_pointer_;                                                                            \
    })

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
