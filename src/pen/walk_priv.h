/* What the files of the walk share. Private to src/pen/. */
#ifndef WATTLE_PEN_WALK_PRIV_H
#define WATTLE_PEN_WALK_PRIV_H

#include "pen/walk.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- listing.c: one folder ----------------------------------------------------------------- */

/* What was found in one folder, before it goes into the tree. Kept from folder to folder, so that
 * its blocks are. */
struct pen_listing {
    struct pen_folder folder;
    struct pen_tree *found;  /* names and notes; `folders` are the children */
    bool has_head, has_refs; /* with "objects" beside them, this is a git folder */
    char *buffer;
};

int pen_listing_init(struct pen_listing *listing) MUST_CHECK; /* -ENOMEM */
void pen_listing_free(struct pen_listing *listing);

struct pen_place {
    const char *path; /* relative to the pen */
    size_t size;
    uint64_t mount;   /* of the pen's top; 0: this is the top */
    int64_t young_ns; /* a folder changed since is young */
    uint64_t room;    /* entries that may still come */
    bool in_objects;
};

/* Reads a folder. What vanished or is closed is no error, but a flag.
 * `tick` is called after some entries, so that a large folder does not stop the progress. */
int pen_listing_read(struct pen_listing *listing, const struct pen_walk *walk,
                     const struct pen_place *place, void (*tick)(void *context, uint64_t entries),
                     void *tick_context, struct err *err) MUST_CHECK;

int pen_refuse_too_many(const struct pen_walk *walk, struct err *err) MUST_CHECK;

/* ---- verify.c: what of a remembered tree still holds --------------------------------------- */

/* Sets same[i] for every folder that is what it was when it was read. `mount`: id of the pen's. */
void pen_verify(const struct pen_walk *walk, uint64_t mount, uint8_t *same);

/* ---- crew.c: the second thread ------------------------------------------------------------- */

/* Runs `work` in a second thread as well; false: there is none. */
struct pen_crew {
    pthread_t thread;
    bool there;
};
void pen_crew_start(struct pen_crew *crew, void *(*work)(void *context), void *context);
void pen_crew_end(struct pen_crew *crew);

/* Folders from which on a second thread is worth its start. */
#define PEN_CREW_FROM 64

#endif
