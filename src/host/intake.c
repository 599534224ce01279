#include "host/intake.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "job/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    VERSION = 1,
    PIECE_BYTES = 64 << 10, /* of one transaction, unless a line is longer: others wait meanwhile */
    LINE_BYTES = 1 << 20,   /* what is longer is no line */
    ROWS_MOST = 512,
    BEGINS_BYTES = 1 << 10, /* of what is set aside */
    ASIDE_MOST = 100,       /* rows of one file; the rest is counted */
    RUN_ID_BYTES = 16,
};

/* ---- one line -------------------------------------------------------------------------------- */

struct rows {
    struct store_row rows[ROWS_MOST];
    char pens[ROWS_MOST][STORE_ID_SIZE];
    char *bodies[ROWS_MOST];
    size_t count;
};

static void rows_freep(struct rows **rows)
{
    for (size_t i = 0; *rows != NULL && i < (*rows)->count; i++)
        free((*rows)->bodies[i]);
    free(*rows);
}

/* The row's kind, if it is an event of a run as wattle run writes it; NULL: it is none. */
static const char *kind_of(const json_t *event)
{
    static const char *const events[][2] = {{"start", "run.start"},
                                            {"denied", "run.denied"},
                                            {"held", "run.held"},
                                            {"exit", "run.end"}};
    const char *name = json_plain_text(json_object_get(event, "event"));
    const char *run = json_plain_text(json_object_get(event, "run"));

    if (json_integer_value(json_object_get(event, "v")) != VERSION || run == NULL || name == NULL ||
        strlen(run) != RUN_ID_BYTES || json_integer_value(json_object_get(event, "time_ms")) <= 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        if (str_equal(name, events[i][0]))
            return events[i][1];
    }
    return NULL;
}

/* A run in a folder that is a pen is that pen's. */
static void find_pen(struct store *store, const json_t *event, char ret_id[STORE_ID_SIZE])
{
    const char *path = json_plain_text(json_object_get(event, "pen"));
    struct store_pen pen = {.path = NULL};
    struct err ignored = {0};

    if (path != NULL && path[0] == '/' && store_pen_find(store, path, &pen, &ignored) == 0)
        memcpy(ret_id, pen.id, STORE_ID_SIZE);
    store_pen_free(&pen);
}

/* Takes `body`. */
static int add_row(struct rows *rows, const char *kind, uint64_t at_ms, json_t *body_,
                   struct err *err)
{
    AUTO(json_free) json_t *body = body_;
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    const size_t i = rows->count;

    if (text == NULL)
        return err_memory(err);
    rows->bodies[i] = text;
    rows->rows[i] = (struct store_row){.at_ms = at_ms, .kind = kind, .body = text};
    if (rows->pens[i][0] != '\0')
        rows->rows[i].pen = rows->pens[i];
    rows->count++;
    return 0;
}

static int set_aside(struct store_spool *at, const char *line, size_t size, struct rows *rows,
                     struct err *err)
{
    at->unread++;
    if (++at->file_unread > ASIDE_MOST)
        return 0;
    return add_row(rows, "spool.unread", 0,
                   json_pack("{s:I, s:o}", "bytes", (json_int_t) size, "begins",
                             json_text(line, size < BEGINS_BYTES ? size : BEGINS_BYTES)),
                   err);
}

static int take_line(struct intake *intake, struct store_spool *at, const char *line, size_t size,
                     struct rows *rows, struct err *err)
{
    AUTO(json_free) json_t *event = NULL;
    struct err wrong = {0};
    const char *kind = NULL;
    uint64_t at_ms, now_ms = clock_wall_ms();

    if (json_parse(line, size, "the spool", &event, &wrong) == 0 && json_is_object(event))
        kind = kind_of(event);
    if (kind == NULL)
        return set_aside(at, line, size, rows, err);
    at->lines++;
    at_ms = (uint64_t) json_integer_value(json_object_get(event, "time_ms"));
    find_pen(intake->store, event, rows->pens[rows->count]);
    return add_row(rows, kind, at_ms < now_ms ? at_ms : now_ms, json_incref(event), err);
}

/* ---- one piece ------------------------------------------------------------------------------- */

struct piece {
    char *bytes;
    size_t size;
    bool ends; /* with the file */
};

/* A piece with a line in it, if there is one. */
static int read_piece(const struct intake *intake, struct piece *piece, struct err *err)
{
    size_t most = PIECE_BYTES;
    ssize_t n;

    for (;;) {
        n = pread(intake->fd, piece->bytes, most, (off_t) intake->at.offset);
        if (n < 0)
            return err_set(err, errno, "job.spool", "cannot read the spool");
        piece->size = (size_t) n;
        piece->ends = piece->size < most;
        if (piece->ends || most >= LINE_BYTES || memchr(piece->bytes, '\n', piece->size) != NULL)
            return 0;
        most = LINE_BYTES;
    }
}

/* Whether the piece begins in the middle of what was too long for a line, and is counted. */
static bool goes_on(const struct intake *intake)
{
    char before = '\n';

    if (intake->at.offset > 0)
        (void) !pread(intake->fd, &before, 1, (off_t) intake->at.offset - 1);
    return before != '\n';
}

static int take_lines(struct intake *intake, const struct piece *piece, struct store_spool *at,
                      struct rows *rows, struct err *err)
{
    bool skipping = goes_on(intake);
    size_t done = 0;
    int r = 0;

    while (r == 0 && done < piece->size && rows->count < ROWS_MOST) {
        const char *line = piece->bytes + done;
        const char *end = memchr(line, '\n', piece->size - done);
        const size_t size = end != NULL ? (size_t) (end - line) : piece->size - done;
        const bool whole = end != NULL || piece->ends || done == 0;

        if (!whole)
            break; /* the rest of it comes with the next piece */
        if (!skipping && end != NULL)
            r = take_line(intake, at, line, size, rows, err);
        else if (!skipping)
            r = set_aside(at, line, size, rows, err); /* half a line, or more than one */
        skipping = false;
        done += size + (end != NULL);
    }
    at->offset += done;
    return r;
}

static int take_piece(struct intake *intake, struct err *err)
{
    AUTO_FREE char *bytes = malloc(LINE_BYTES);
    AUTO(rows_freep) struct rows *rows = calloc(1, sizeof *rows);
    struct piece piece = {.bytes = bytes};
    struct store_spool at = intake->at;
    int r = bytes == NULL || rows == NULL ? err_memory(err) : read_piece(intake, &piece, err);

    if (r < 0 || piece.size == 0)
        return r;
    r = take_lines(intake, &piece, &at, rows, err);
    if (r == 0)
        r = store_spool_put(intake->store, &at, rows->rows, rows->count, err);
    if (r < 0)
        return r;
    intake->at = at;
    return 1;
}

/* ---- one file after the other ---------------------------------------------------------------- */

static int forget(struct intake *intake, struct err *err)
{
    struct store_spool at = intake->at;
    int r;

    if (at.dev == 0 && at.inode == 0)
        return 0;
    at.dev = at.inode = at.offset = at.file_unread = 0;
    r = store_spool_put(intake->store, &at, NULL, 0, err);
    if (r == 0)
        intake->at = at;
    return r;
}

/* Of the file that is open. */
static int know(struct intake *intake, struct err *err)
{
    struct stat status;

    if (fstat(intake->fd, &status) < 0)
        return err_set(err, errno, "job.spool", "cannot look at the spool");
    if (intake->at.dev == status.st_dev && intake->at.inode == status.st_ino)
        return 1;
    intake->at.dev = status.st_dev;
    intake->at.inode = status.st_ino;
    intake->at.offset = intake->at.file_unread = 0;
    return 1; /* stored with the first lines */
}

static int begin_file(struct intake *intake, struct err *err)
{
    int r;

    intake->fd = spool_open_taking(intake->dir_fd, err);
    if (intake->fd >= 0)
        return know(intake, err);
    if (intake->fd != -ENOENT)
        return intake->fd;
    r = forget(intake, err);
    return r == 0 ? spool_begin_taking(intake->dir_fd, err) : r;
}

static int end_file(struct intake *intake, struct err *err)
{
    int r = spool_end_taking(intake->dir_fd, err);

    cleanup_close(&intake->fd);
    if (r == 0)
        r = forget(intake, err);
    return r == 0 ? 1 : r;
}

int intake_step(struct intake *intake, struct err *err)
{
    int r;

    if (intake->fd < 0)
        return begin_file(intake, err);
    r = take_piece(intake, err);
    return r == 0 ? end_file(intake, err) : r;
}

int intake_open(struct intake *intake, struct store *store, const char *state_dir, struct err *err)
{
    *intake = (struct intake){.store = store, .dir_fd = -1, .fd = -1};
    intake->dir_fd = spool_open(state_dir, err);
    return intake->dir_fd < 0 ? intake->dir_fd : store_spool_get(store, &intake->at, err);
}

void intake_close(struct intake *intake)
{
    cleanup_close(&intake->fd);
    cleanup_close(&intake->dir_fd);
}
