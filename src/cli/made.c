#include "cli/made.h"

#include "base/cleanup.h"
#include "cli/report.h"
#include "cli/status.h"

#include <string.h>

enum {
    WAIT_MS = 10000, /* for a reader that does something else */
    PART_LIMIT_BYTES = 64 << 10,
    LINE_LIMIT_BYTES = 4 << 10,
    SAID_MAX = 5,
};

static int write_part(int fd, struct buf *part, int rc)
{
    if (rc == 0)
        rc = status_write_long(fd, part->bytes, part->size, WAIT_MS);
    buf_free(part);
    buf_init(part, PART_LIMIT_BYTES);
    return rc;
}

int made_write(int fd, const struct job_made *made)
{
    AUTO(buf_free) struct buf part = {0};
    int rc = 0;

    buf_init(&part, PART_LIMIT_BYTES);
    for (size_t i = 0; rc == 0 && i < made->count; i++) {
        const size_t size = strlen(made->names[i]) + 1;

        if (part.size + size > PART_LIMIT_BYTES)
            rc = write_part(fd, &part, rc);
        if (rc == 0)
            rc = buf_add(&part, made->names[i], size);
    }
    return write_part(fd, &part, rc);
}

/* Only the first `count` of what is told. */
static void say_told(const struct job_made *made, size_t count, size_t total)
{
    AUTO(buf_free) struct buf line = {0};
    size_t said = 0;

    if (count == 0)
        return;
    buf_init(&line, LINE_LIMIT_BYTES);
    for (; said < count && said < SAID_MAX; said++) {
        const struct job_told *told = &made->told[said];

        (void) buf_printf(&line, "%s'%s' (%s%s)", said == 0 ? "" : ", ", told->name, told->reason,
                          told->gone ? "; it was not found there in the end" : "");
    }
    if (total > said)
        (void) buf_printf(&line, ", and %zu more", total - said);
    if (line.failed == 0)
        report_line("look before you use %s: %s", total == 1 ? "it" : "them", line.bytes);
    else
        report_line("look before you use them: %zu names (--made-fd lists what was made)", total);
}

void made_say(const struct job_made *made, bool verbose)
{
    size_t deeper = 0;

    while (deeper < made->told_count && made->told[deeper].deeper)
        deeper++;
    if (verbose) {
        report_line("made %zu name%s", made->count, made->count == 1 ? "" : "s");
        say_told(made, made->told_count, made->told_total);
    } else {
        say_told(made, deeper, deeper);
    }
    if (!made->complete)
        report_line("more names were made than could be kept: the list of them is not complete");
}
