/* The parts of wattle-host. Private to src/host. One process, one thread with a libuv loop; what
 * takes long (looking at a pen, deriving a policy) goes to libuv's threads and touches nothing of
 * this but what it was given.
 *
 *   main.c      start, the lock, the end
 *   door.c      the two sockets and their clients: bytes to messages, bounds, patience
 *   dispatch.c  messages to methods: one table
 *   turn.c      a model's connection: its pen, its jobs
 *   job.c       one job from request to record; admit.c decides, worker.c speaks with wattle-job,
 *               which child.c starts; end.c closes the record
 *   spool.c     when the spool of wattle run is taken into the log; intake.c does it
 *   verbs_*.c   the owner's methods */
#ifndef WATTLE_HOST_HOST_PRIV_H
#define WATTLE_HOST_HOST_PRIV_H

#include "derive/derive.h"
#include "host/intake.h"
#include "host/kin.h"
#include "job/spool.h"
#include "rpc/client.h"
#include "rpc/frame.h"
#include "rpc/message.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* What the owner may set; these are the defaults (C3, C5). */
struct host_limits {
    uint64_t idle_ms;       /* without clients and jobs, until the host ends */
    uint64_t turn_idle_ms;  /* without a call and a job of it, until a turn ends */
    uint64_t hello_ms;      /* for the first message */
    uint64_t half_ms;       /* for the rest of a message */
    uint64_t foreground_ms; /* a run is waited for */
    uint64_t deadline_least_ms, deadline_most_ms;
    uint64_t deadline_usual_ms; /* when a call names none */
    uint64_t approval_ms;       /* until an unanswered request is refused */
    unsigned turn_jobs;         /* running at once, of a turn */
    unsigned jobs;              /* of the host */
    uint64_t records;           /* kept of a pen */
    unsigned requests;          /* open, of a client */
    size_t pending_bytes;       /* of answers a client does not read */
    uint64_t copy_bytes;        /* of one command that jobs could change */
};
extern const struct host_limits host_default_limits;

struct host_client;
struct host_job;

struct host_spool { /* spool.c */
    struct intake intake;
    uv_timer_t timer;
    uv_fs_event_t watch;
    struct err problem; /* code 0: none */
};

struct host {
    uv_loop_t loop;
    struct host_limits limits;
    struct derive_owner *owner;
    struct store *store;
    char *folder; /* of the doors */
    char *job_program;
    int lock_fd, store_lock_fd;
    uv_pipe_t doors[2]; /* by enum rpc_door */
    uv_signal_t signals[2];
    uv_timer_t idle, rest;
    struct host_spool spool;
    struct host_client *clients; /* a list */
    struct host_job *jobs;       /* a list: those that are not over */
    unsigned client_count, running;
    uint64_t since_ms; /* wall time */
    bool ending;
};

/* ---- door.c ---------------------------------------------------------------------------------- */

struct host_request; /* one request that has not been answered */

struct host_client {
    struct host_client *next, **back;
    struct host *host;
    enum rpc_door door;
    uv_pipe_t pipe;
    uv_timer_t patience;
    uv_timer_t quiet; /* turn.c: until an idle turn ends */
    struct rpc_reader reader;
    struct host_request *requests; /* a list */
    unsigned request_count;
    size_t pending; /* bytes written and not taken by the peer */
    bool greeted, closing;
    pid_t pid;              /* of the peer when it connected */
    struct kin parent;      /* at the model's door: who started it */
    char *program;          /* as it calls itself */
    struct host_turn *turn; /* turn.c; NULL: none */
};

struct host_request {
    struct host_request *next, **back;
    struct host_client *client;
    json_t *id;
    /* Of whoever works on it; NULL: nobody has to know. `gone`: so is the client, and the request
     * is freed afterwards: it must be forgotten. Else the client does not want to wait any longer:
     * it has to be answered now. */
    void (*cancel)(struct host_request *request, bool gone);
    void *value; /* of whoever works on it */
};

int host_doors_open(struct host *host, struct err *err) MUST_CHECK;
void host_doors_close(struct host *host);
void host_client_close(struct host_client *client);
/* Each answers once and frees the request; `result` is taken over (NULL: out of memory is
 * answered). */
void host_answer(struct host_request *request, json_t *result);
void host_refuse(struct host_request *request, const struct err *err);
/* What nobody asked for. Takes `params`. It may close the client, and end its turn. */
void host_tell(struct host_client *client, const char *what, json_t *params);

/* ---- dispatch.c ------------------------------------------------------------------------------ */

void host_dispatch(struct host_client *client, const struct rpc_message *message);

/* A method: reads `params` (an object or NULL), answers now or later. */
typedef void host_method(struct host_request *request, const json_t *params);

/* Of `params`: nothing but `keys` (NULL-terminated) may be there. EINVAL rpc.params. */
int host_params_check(const json_t *params, const char *const *keys, struct err *err) MUST_CHECK;
/* A text without NUL; required: EINVAL rpc.params when missing, else *ret_text is left alone.
 * Borrowed. */
int host_params_text(const json_t *params, const char *key, bool required, const char **ret_text,
                     struct err *err) MUST_CHECK;
int host_params_number(const json_t *params, const char *key, uint64_t most, uint64_t *ret_number,
                       struct err *err) MUST_CHECK; /* left alone when missing */
int host_params_flag(const json_t *params, const char *key, bool *ret_flag,
                     struct err *err) MUST_CHECK;

/* ---- spool.c --------------------------------------------------------------------------------- */

void host_spool_open(struct host *host); /* a spool that cannot be taken stops no host */
void host_spool_close(struct host *host);

/* ---- main.c ---------------------------------------------------------------------------------- */

/* Closes all; the loop runs out. `why`: a word for the log. */
void host_end(struct host *host, const char *why);
/* Call after a client or job came or went. */
void host_watch_idle(struct host *host);

/* ---- turn.c, job.c, verbs_*.c: the methods ----------------------------------------------------
 */

host_method host_turn_begin, host_job_run, host_job_status, host_job_stop;
host_method host_status, host_stop;
host_method host_pens_add, host_pens_list, host_pens_show, host_pens_rebind, host_pens_remove;
host_method host_files_list, host_files_add, host_files_edit, host_files_remove;
host_method host_chats_list, host_chats_move, host_chats_delete, host_chats_end_turn;
host_method host_jobs_list, host_jobs_show, host_jobs_logs, host_jobs_stop;
host_method host_grants_add, host_grants_list, host_grants_remove;

/* The owner's word: ends the open turns of a pen and a chat (ids, NULL: any), and with them all
 * that their connections are good for. How many there were. */
unsigned host_turns_halt(struct host *host, const char *pen, const char *chat, const char *why);
void host_turn_end(struct host_client *client, const char *why); /* the client's end */
/* Something was asked of a turn, or a job of it is over: the time until it is idle begins anew. */
void host_turn_used(struct host *host, const char *id);

#endif
