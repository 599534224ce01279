/* The other end of the host's doors, for programs that ask and wait: `wattle pens`, `wattle mcp`.
 * Layer 1. */
#ifndef WATTLE_RPC_CLIENT_H
#define WATTLE_RPC_CLIENT_H

#include "base/err.h"

#include <jansson.h>

enum rpc_door { RPC_MODEL, RPC_OWNER };

/* Names in the folder of rpc_folder(). */
#define RPC_MODEL_SOCKET "model.sock"
#define RPC_OWNER_SOCKET "owner.sock"
#define RPC_HOST_LOCK "host.lock" /* held by the one host, exclusively (flock) */

#define RPC_API_VERSION 1

/* Where the sockets lie: $XDG_RUNTIME_DIR/wattle when that is the owner's and 0700, else
 * <state>/run. Never /tmp. Refused: a path over 107 bytes, a network file system, a folder of
 * others. Makes it 0700. Errors: rpc.folder, rpc.folder-long, rpc.network-fs. */
int rpc_folder(const char *runtime_dir, const char *state_dir, char **ret_folder,
               struct err *err) MUST_CHECK;

/* What a host that was started says on descriptor RPC_READY_FD, in one write: RPC_READY once it
 * listens, RPC_BUSY when another one holds the lock, anything else is why it could not. */
#define RPC_READY_FD 3
#define RPC_READY "ready"
#define RPC_BUSY "busy"

struct rpc_client; /* opaque; one owner */

struct rpc_connect {
    const char *folder; /* rpc_folder() */
    enum rpc_door door;
    const char *program; /* "wattle pens" */
    const char *host;    /* the program to start when nobody answers; NULL: do not start one */
    /* Its whole environment, "NAME=value" and NULL: the owner's locations, never the caller's own.
     */
    const char *const *environment;
};
/* Connects, checks that the peer is of this user, says hello. Starts the host when nobody answers:
 * with a fixed environment, folder "/", no descriptor of ours but /dev/null; waits for it at most
 * 10 s. Errors: rpc.host-missing, rpc.host-start (with the host's last words), rpc.peer,
 * rpc.version, rpc.closed. */
int rpc_client_open(const struct rpc_connect *wish, struct rpc_client **ret_client,
                    struct err *err) MUST_CHECK;
void rpc_client_freep(struct rpc_client **client);

/* Asks and waits; `params` is taken over. On an error answer: -errno made from its code, with its
 * id, words and hint. */
int rpc_client_call(struct rpc_client *client, const char *method, json_t *params,
                    json_t **ret_result, struct err *err) MUST_CHECK;

/* For those with a loop of their own (wattle mcp): the descriptor to poll, a request without
 * waiting, what has come. rpc_client_next: 1 and a message (caller frees), 0: none yet, -EPIPE: the
 * host is gone. */
int rpc_client_fd(const struct rpc_client *client);
int rpc_client_send(struct rpc_client *client, json_t *message, struct err *err) MUST_CHECK;
struct rpc_message;
int rpc_client_next(struct rpc_client *client, struct rpc_message *ret_message,
                    struct err *err) MUST_CHECK;

#endif
