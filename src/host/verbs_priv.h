/* What the owner's methods share. Private to src/host. */
#ifndef WATTLE_HOST_VERBS_PRIV_H
#define WATTLE_HOST_VERBS_PRIV_H

#include "host/admit.h"
#include "host/host_priv.h"

/* The pen that `params` names by "pen": an id, or an absolute path. The caller frees it. Errors:
 * rpc.params, pens.unknown. */
int verbs_find_pen(struct host *host, const json_t *params, struct store_pen *ret_pen,
                   struct err *err) MUST_CHECK;

/* A method that has to look at the machine first: a thread derives the policy of the pen `path`
 * and, unless it is NULL, the command `executable`; `then` gets it, or is not called and the
 * request is refused. */
struct verbs_look {
    const char *path;
    uint64_t dev, inode;
    const char *executable;
    int (*add)(struct host *host, const void *value, struct admit_request *request,
               struct err *err); /* what belongs to the pen; NULL: nothing */
    json_t *(*then)(struct host *host, void *value, const struct policy *policy, struct err *err);
    void (*free_value)(void *value);
    void *value; /* taken over */
};
void verbs_look(struct host_request *request, const struct verbs_look *look);

/* Gathers a list of objects; `item` is taken over, NULL: out of memory. -ENOMEM. */
int verbs_append(json_t *list, json_t *item) MUST_CHECK;

/* Ends a method that has nothing to tell but that it was done, or, with `r` below 0, why not. */
void verbs_done(struct host_request *request, int r, const struct err *err);

#endif
