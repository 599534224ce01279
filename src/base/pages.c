#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Set by the linker, ld(1): where the program begins and where its code ends. What lies between is
 * read-only and never relocated, so dropping it loses nothing. */
extern const char __executable_start[]; /* NOLINT(readability-identifier-naming): ld's name */
extern const char etext[];

void pages_give_back(void)
{
    const uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
    const uintptr_t end = (uintptr_t) etext & ~(page - 1);
    const uintptr_t start = (uintptr_t) __executable_start;

    union {
        const char *in;
        void *out; /* madvise changes nothing of what it is given */
    } code = {.in = __executable_start};

    if (start % page == 0 && end > start)
        (void) madvise(code.out, end - start, MADV_DONTNEED);
}
