/* Calls with hostile strings, one after the other. After each input no guarded name may be there,
 * and no descriptor may be left. */
#include "fuzz.h"
#include "perform_world.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct guard_call *call = &world.guard.calls[0];
    char line[PERFORM_LINE_SIZE];
    unsigned before;

    if (!world.ready)
        perform_make_world();
    if (world.useless)
        return 0;
    perform_fresh_tree();
    before = perform_count_descriptors();
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(bytes + at, '\n', size - at);
        const size_t length = (end != NULL ? (size_t) (end - bytes) : size) - at;

        if (length < sizeof line) {
            memcpy(line, bytes + at, length);
            line[length] = '\0';
            perform_line(call, line);
        }
        at += length + 1;
    }
    guard_settle(call, true);
    perform_forget();
    perform_check();
    perform_expect(perform_count_descriptors() == before, "a descriptor is left");
    return 0;
}
