/* What the host remembers: pens, chats, turns, jobs, grants, the owner's extra files, the log.
 * Layer 2; the only layer that includes sqlite3.h.
 *
 * One SQLite file, <state>/wattle.db, WAL, foreign keys on, trusted_schema off; prepared statements
 * only. One process has it open for writing (the host). Each function is one transaction: after a
 * crash at any instant its change is there or it is not. When it returns, its change and all before
 * it are on the disk; but those said to be relaxed are only with the kernel, so that a power cut
 * may lose the last of them. Texts are copied in and out. Ids are short texts: 'p-', 'c-', 't-',
 * 'j-', 'g-', 'f-' and eight letters or digits at random.
 *
 * Errors: ENOENT store.unknown (nothing of that id), EEXIST store.exists, ESTALE store.stale
 * (another revision), EINVAL store.text (missing, too long, not a clean path), and for what could
 * not be saved ("nothing was saved: ...") store.full, store.locked, store.readonly, store.broken,
 * each with what the owner can do; when opening also ENOTSUP store.network-fs, store.newer (made by
 * a later wattle), EPERM store.foreign (others can write it), store.place. */
#ifndef WATTLE_STORE_STORE_H
#define WATTLE_STORE_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_ID_SIZE 16

struct store; /* opaque; one owner */

/* Opens or makes <state_dir>/wattle.db and brings an older one up to date, in one transaction,
 * after a copy of it was put beside it as wattle.db.vN. `state_dir`: physical; made when missing.
 * What a crashed host left stays until store_finish_crashed. */
int store_open(const char *state_dir, struct store **ret_store, struct err *err) MUST_CHECK;
void store_freep(struct store **store);
/* Gives back the memory that only makes the next change quicker. */
void store_rest(struct store *store);
/* PRAGMA integrity_check, and the log's chain: all of it is read, which takes its time. */
int store_check(struct store *store, struct err *err) MUST_CHECK;
/* The same of the store that is there, also while a host has it open. Nothing is made, nor brought
 * up to date. -ENOENT store.unknown: there is none. */
int store_check_place(const char *state_dir, struct err *err) MUST_CHECK;
/* A test's clock; NULL: the wall clock. Milliseconds. */
void store_set_clock(struct store *store, uint64_t (*now_ms)(void *context), void *context);

/* ---- pens ---------------------------------------------------------------------------------- */

struct store_pen {
    char id[STORE_ID_SIZE];
    char *path; /* physical */
    char *name; /* "" when it has none */
    uint64_t dev, inode;
    uint64_t created_ms;
    uint64_t revision; /* of its grants; 0 at first, one more with each change */
};
void store_pen_free(struct store_pen *pen);

int store_pen_add(struct store *store, struct store_pen *pen,
                  struct err *err) MUST_CHECK; /* id and created_ms are set */
/* `key`: an id, or a path as stored. */
int store_pen_find(struct store *store, const char *key, struct store_pen *ret_pen,
                   struct err *err) MUST_CHECK;
/* Grants of the pen are cleared with it. */
int store_pen_rebind(struct store *store, const char *id, const struct store_pen *to,
                     struct err *err) MUST_CHECK;
/* With its chats, grants and files; records of its jobs stay. */
int store_pen_remove(struct store *store, const char *id, struct err *err) MUST_CHECK;

/* Lists call back for each row, newest last unless it is said; what is passed lives for the call. A
 * return value that is not 0 ends the list and is returned. A callback may use the store; whether
 * the list shows what it changed is not said. */
int store_pen_each(struct store *store, int (*each)(void *context, const struct store_pen *pen),
                   void *context, struct err *err) MUST_CHECK;

/* ---- the owner's extra files of a pen (G14) -------------------------------------------------- */

enum store_access { STORE_READ, STORE_WRITE, STORE_HIDE, STORE_UNIX };
struct store_file {
    char id[STORE_ID_SIZE], pen[STORE_ID_SIZE];
    char *path;
    enum store_access access;
};
int store_file_add(struct store *store, struct store_file *file, struct err *err) MUST_CHECK;
int store_file_edit(struct store *store, const struct store_file *file,
                    struct err *err) MUST_CHECK; /* by id and pen */
int store_file_remove(struct store *store, const char *pen, const char *id,
                      struct err *err) MUST_CHECK;
int store_file_each(struct store *store, const char *pen,
                    int (*each)(void *context, const struct store_file *file), void *context,
                    struct err *err) MUST_CHECK;

/* ---- chats and turns ------------------------------------------------------------------------- */

struct store_chat {
    char id[STORE_ID_SIZE], pen[STORE_ID_SIZE];
    char *name;
    uint64_t created_ms;
    uint64_t turns, open_turns;
};
/* The pen's chat of that name, made when there is none. */
int store_chat_get(struct store *store, const char *pen, const char *name,
                   char ret_id[STORE_ID_SIZE], struct err *err) MUST_CHECK;
/* Grants of the chat are cleared. EBUSY store.turn-open while a turn is, for both. */
int store_chat_move(struct store *store, const char *id, const char *pen,
                    struct err *err) MUST_CHECK;
int store_chat_delete(struct store *store, const char *id, struct err *err) MUST_CHECK;
int store_chat_each(struct store *store, const char *pen, /* NULL: of all */
                    int (*each)(void *context, const struct store_chat *chat), void *context,
                    struct err *err) MUST_CHECK;
int store_turn_begin(struct store *store, const char *chat, char ret_id[STORE_ID_SIZE],
                     struct err *err) MUST_CHECK;
/* Of a turn that was ended before, the first reason is kept. Relaxed. */
int store_turn_end(struct store *store, const char *id, const char *why,
                   struct err *err) MUST_CHECK;
/* The owner's word: no turn of the chat so far is to go on, those that ended before included.
 * store_chat_move and store_pen_rebind close those of theirs. */
int store_turns_close(struct store *store, const char *chat, struct err *err) MUST_CHECK;
/* 1: it was closed, or is gone with its chat or pen; 0: what it was may go on as a new one. */
int store_turn_is_closed(struct store *store, const char *id, struct err *err) MUST_CHECK;

/* ---- jobs ------------------------------------------------------------------------------------ */

enum store_job_state {
    STORE_JOB_AWAITING,
    STORE_JOB_RUNNING,
    STORE_JOB_EXITED,
    STORE_JOB_SIGNALED,
    STORE_JOB_TIMED_OUT,
    STORE_JOB_STOPPED,
    STORE_JOB_REFUSED,
};
const char *store_job_state_name(enum store_job_state state); /* as the tools say it: "timed_out" */

struct store_bytes {
    const void *bytes;
    size_t size;
};

struct store_job {
    char id[STORE_ID_SIZE], pen[STORE_ID_SIZE], chat[STORE_ID_SIZE], turn[STORE_ID_SIZE];
    enum store_job_state state;
    const char *
        request; /* JSON: command, args, working_directory, network, deadline_seconds, background */
    const char *executable;                /* physical; NULL until resolved */
    uint64_t asked_ms, began_ms, ended_ms; /* wall time; 0: not yet */
    int exit_code, signal;
    const char *notice; /* NULL: none */
    uint64_t total_bytes;
    struct store_bytes head, tail; /* of the output */
    const char *report; /* JSON: created names, denials, weak layers, policy digest; NULL: none */
};
/* All find a job by its id but the first, which sets it and asked_ms. Whose it is and what was
 * asked stays. Of these only the start is on the disk before anything runs; the rest is relaxed:
 * what a power cut loses was asked and did not run, or is closed by store_finish_crashed. */
int store_job_add(struct store *store, struct store_job *job, struct err *err) MUST_CHECK;
int store_job_update(struct store *store, const struct store_job *job, struct err *err) MUST_CHECK;
/* With the use of a grant; NULL: none was needed. One that is gone: ENOENT store.unknown. */
int store_job_start(struct store *store, const struct store_job *job, const char *grant,
                    struct err *err) MUST_CHECK;
/* And removes the oldest finished records of its pen beyond `keep`. */
int store_job_end(struct store *store, const struct store_job *job, uint64_t keep,
                  struct err *err) MUST_CHECK;
int store_job_find(struct store *store, const char *id,
                   int (*found)(void *context, const struct store_job *job), void *context,
                   struct err *err) MUST_CHECK;
struct store_job_wish {
    const char *pen, *chat; /* NULL: any */
    int state;              /* -1: any */
    uint64_t most;          /* 0: all */
};
int store_job_each(struct store *store, const struct store_job_wish *wish, /* newest first */
                   int (*each)(void *context, const struct store_job *job), void *context,
                   struct err *err) MUST_CHECK;
/* At the host's start: whatever was waiting or running is "stopped", with the notice, and open
 * turns are ended. */
int store_finish_crashed(struct store *store, const char *notice, uint64_t *ret_jobs,
                         struct err *err) MUST_CHECK;

/* ---- grants ---------------------------------------------------------------------------------- */

#define STORE_CONTENT_SIZE 65 /* a hash of 32 bytes as text, and its end */
struct store_identity {       /* of an executable as it was reviewed (C6) */
    char *path;               /* physical; "" in rows of older versions: authorises nothing */
    uint64_t dev, inode, size_bytes;
    int64_t mtime_ns, ctime_ns;
    char content[STORE_CONTENT_SIZE]; /* of one that jobs could change, which is known by it and
                                         its path alone; "": by all else */
};
struct store_grant {
    char id[STORE_ID_SIZE], pen[STORE_ID_SIZE];
    char chat[STORE_ID_SIZE]; /* "": the whole pen */
    struct store_identity executable;
    bool network;
    uint64_t created_ms, used_ms, uses;
};
/* `revision` of the pen as it was read, STORE_ANY_REVISION: whatever it is. One more afterwards.
 * With an id it replaces that entry, without one it is a new one; another of equal executable and
 * scope goes into it, with the wider network (G8). Afterwards `grant` is what is stored. */
#define STORE_ANY_REVISION UINT64_MAX
int store_grant_put(struct store *store, struct store_grant *grant, uint64_t revision,
                    struct err *err) MUST_CHECK;
int store_grant_remove(struct store *store, const char *id, uint64_t revision,
                       struct err *err) MUST_CHECK;
int store_grant_each(struct store *store, const char *pen,
                     int (*each)(void *context, const struct store_grant *grant), void *context,
                     struct err *err) MUST_CHECK;
/* Those whose path, scope and network cover the call; whether the file is still the one that was
 * reviewed is the caller's to see. Never one without a path (G10). */
struct store_call {
    const char *pen, *chat; /* ids */
    const char *path;       /* of the executable, physical */
    bool network;
};
int store_grant_match(struct store *store, const struct store_call *call,
                      int (*each)(void *context, const struct store_grant *grant), void *context,
                      struct err *err) MUST_CHECK;

/* ---- the log --------------------------------------------------------------------------------- */

/* One row: what happened ("job.run", "grant.put", "spool" ...), to what, and its JSON. Each row
 * holds the hash of the one before it (libsodium), so that accident and partial edits are found;
 * not a rewrite by the owner's own uid. */
struct store_row {
    uint64_t number, at_ms;
    const char *kind, *pen, *chat, *job; /* ids, NULL: none */
    const char *body;                    /* JSON */
};
/* `number` is not read; `at_ms` of 0 is now. */
int store_log_add(struct store *store, const struct store_row *row, struct err *err) MUST_CHECK;
/* How far a file of the spool was taken into the log. */
struct store_spool {
    uint64_t dev, inode; /* of the file; 0, 0: none is being taken */
    uint64_t offset;     /* what lies before it was taken */
    uint64_t file_unread;
    uint64_t lines, unread; /* of all files there ever were */
};
int store_spool_get(struct store *store, struct store_spool *ret_spool, struct err *err) MUST_CHECK;
/* Rows, and how far they reach: both or neither. */
int store_spool_put(struct store *store, const struct store_spool *spool,
                    const struct store_row *rows, size_t count, struct err *err) MUST_CHECK;
/* `most` of 0: all. */
int store_log_each(struct store *store, uint64_t after, uint64_t most,
                   int (*each)(void *context, const struct store_row *row), void *context,
                   struct err *err) MUST_CHECK;

#endif
