/* Any file of the spool is taken in to its end, each line once: what is a line of a run becomes a
 * row, what is none is counted, and a bounded number of it set aside. The store and the folder are
 * of this file: what they are given is looked at. In a file that begins with LONG each byte RUN
 * stands for RUN_BYTES, so that few bytes make lines of more than one piece. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "fuzz.h"
#include "host/intake.h"
#include "job/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LONG = 'L', RUN = 1, RUN_BYTES = 32 << 10, FILE_MOST = 6 << 20, ASIDE_MOST = 100 };

struct store {
    struct store_spool at;
    uint64_t runs, aside;
    int file_fd; /* -1: it was taken, and removed */
};
static struct store the_store; /* a fuzzer's: spool_* know no context */

static void expect(bool ok)
{
    if (!ok)
        abort();
}

/* ---- the store ------------------------------------------------------------------------------- */

int store_spool_get(struct store *store, struct store_spool *ret_spool, struct err *err)
{
    (void) err;
    *ret_spool = store->at;
    return 0;
}

/* What is set aside may hold a NUL. */
static void look_at_row(struct store *store, const struct store_row *row)
{
    AUTO(json_free)
    json_t *body = json_loads(row->body, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const char *pen;

    expect(json_is_object(body));
    if (str_equal(row->kind, "spool.unread")) {
        store->aside++;
        return;
    }
    store->runs++;
    expect(str_starts(row->kind, "run.") && row->at_ms > 0);
    expect(json_plain_text(json_object_get(body, "event")) != NULL);
    pen = json_plain_text(json_object_get(body, "pen"));
    expect((row->pen != NULL) == (pen != NULL && str_equal(pen, "/w/a")));
}

int store_spool_put(struct store *store, const struct store_spool *spool,
                    const struct store_row *rows, size_t count, struct err *err)
{
    (void) err;
    expect(spool->offset > store->at.offset || spool->inode == 0 || store->at.inode == 0);
    expect(spool->lines >= store->at.lines && spool->unread >= store->at.unread);
    for (size_t i = 0; i < count; i++)
        look_at_row(store, &rows[i]);
    store->at = *spool;
    return 0;
}

int store_pen_find(struct store *store, const char *key, struct store_pen *ret_pen, struct err *err)
{
    (void) store;
    if (!str_equal(key, "/w/a"))
        return err_set(err, ENOENT, "store.unknown", "there is no pen");
    *ret_pen = (struct store_pen){.id = "p-aaaaaaaa"};
    return 0;
}

void store_pen_free(struct store_pen *pen)
{
    (void) pen; /* it has no texts */
}

/* ---- the folder ------------------------------------------------------------------------------ */

int spool_open(const char *state_dir, struct err *err)
{
    const int fd = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 ? fd : err_set(err, errno, "job.spool", "cannot open '%s'", state_dir);
}

int spool_open_taking(int dir_fd, struct err *err)
{
    int fd;

    (void) dir_fd;
    if (the_store.file_fd < 0)
        return -ENOENT;
    fd = fcntl(the_store.file_fd, F_DUPFD_CLOEXEC, 0);
    return fd >= 0 ? fd : err_set(err, errno, "job.spool", "no descriptor");
}

int spool_begin_taking(int dir_fd, struct err *err)
{
    (void) dir_fd;
    (void) err;
    return 0; /* there is no other one */
}

int spool_end_taking(int dir_fd, struct err *err)
{
    (void) dir_fd;
    (void) err;
    cleanup_close(&the_store.file_fd);
    return 0;
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Its bytes, as they are or with runs made long. `out` of NULL: how many there will be. */
static size_t unfold(const uint8_t *bytes, size_t size, char *out)
{
    const bool folded = size > 0 && bytes[0] == LONG;
    size_t made = 0;

    for (size_t i = folded ? 1 : 0; i < size; i++) {
        const bool run = folded && bytes[i] == RUN;
        const size_t length = run ? RUN_BYTES : 1;

        if (made + length > FILE_MOST)
            break;
        if (out != NULL)
            memset(out + made, run ? 'x' : bytes[i], length);
        made += length;
    }
    return made;
}

static uint64_t count_lines(const char *bytes, size_t size)
{
    uint64_t lines = size > 0 && bytes[size - 1] != '\n';

    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static void take_all(size_t size)
{
    struct intake intake;
    struct err err = {0};
    uint64_t last = 0;
    int r = intake_open(&intake, &the_store, "/", &err);

    expect(r == 0);
    while ((r = intake_step(&intake, &err)) > 0) {
        if (the_store.file_fd >= 0)
            last = intake.at.offset;
    }
    expect(r == 0 && the_store.file_fd < 0 && last == size);
    intake_close(&intake);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const size_t made = unfold(bytes, size, NULL);
    AUTO_FREE char *file = malloc(made + 1);
    uint64_t unread;

    expect(file != NULL && unfold(bytes, size, file) == made);
    the_store = (struct store){.file_fd = memfd_create("spool", MFD_CLOEXEC)};
    expect(the_store.file_fd >= 0 && fd_write_all(the_store.file_fd, file, made) == 0);
    take_all(made);
    unread = the_store.at.unread;
    expect(the_store.runs == the_store.at.lines);
    expect(the_store.runs + unread == count_lines(file, made));
    expect(the_store.aside == (unread < ASIDE_MOST ? unread : ASIDE_MOST));
    return 0;
}
