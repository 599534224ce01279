/* How it works. One tree grows under one lock. A folder is put into it when its name is met, and on
 * the list of those to look into; whoever has nothing to do takes the last one from that list,
 * reads it without the lock, and puts what it found into the tree. The last one first: the list
 * stays short, and what is read is near to what was read. A second thread joins when there is
 * enough.
 *
 * With a remembered tree at hand, each of its folders is first looked at (verify.c). A folder that
 * is the same is then not read: its notes and children are copied. A folder that changed is read,
 * and those of its children that were known are taken for what they were. */
#include "pen/walk.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "pen/walk_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    YOUNG_MS = 2000,
    QUIET_MS = 1000,   /* without progress at first */
    PROGRESS_MS = 100, /* from one to the next */
};

/* A folder to look into, and what it was in the known tree. */
struct task {
    uint32_t folder;
    uint32_t known;
};

struct walking {
    const struct pen_walk *walk;
    const uint8_t *same; /* by index of the known tree */
    uint64_t mount;
    uint64_t began_ms; /* wall time */
    int64_t young_ns;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* From here on: with the lock. */
    struct pen_tree *tree;
    struct task *tasks;
    size_t task_count, task_room;
    unsigned busy; /* threads that may bring more tasks */
    size_t read;
    struct err failure;
    struct pen_crew crew;

    atomic_uint_fast64_t entries; /* for the progress */
};

struct worker {
    struct walking *walking;
    struct pen_listing listing;
    bool tells; /* of the progress: the calling thread */
    uint64_t began_ms;
    uint64_t told_ms;
};

/* ---- the tree, with the lock ------------------------------------------------------------- */

static int no_room(struct walking *walking)
{
    if (errno != E2BIG)
        return err_memory(&walking->failure);
    (void) err_set(&walking->failure, EINVAL, "pen.too-many",
                   "the names in '%s' take more memory than 64 MiB", walking->walk->pen);
    return err_hint(&walking->failure, "use a folder with fewer or shorter names");
}

static int add_task(struct walking *walking, uint32_t folder, uint32_t known)
{
    if (walking->task_count == walking->task_room) {
        const size_t room = walking->task_room == 0 ? 256 : walking->task_room * 2;
        struct task *tasks = reallocarray(walking->tasks, room, sizeof *tasks);

        if (tasks == NULL)
            return err_memory(&walking->failure);
        walking->tasks = tasks;
        walking->task_room = room;
    }
    walking->tasks[walking->task_count++] = (struct task){folder, known};
    return 0;
}

static int add_child(struct walking *walking, uint32_t parent, const char *name, uint8_t flags,
                     uint32_t known)
{
    const uint32_t folder = pen_tree_add_folder(walking->tree, parent, name, strlen(name));

    if (folder == PEN_NONE)
        return no_room(walking);
    walking->tree->folders[folder].flags = flags;
    return add_task(walking, folder, known);
}

/* Puts a folder in the place that was made for it, with the notes that begin at `first` of `from`.
 */
static int put_folder(struct walking *walking, uint32_t at, const struct pen_folder *folder,
                      const struct pen_tree *from, uint32_t first)
{
    struct pen_tree *tree = walking->tree;
    struct pen_folder put = *folder;

    put.name = tree->folders[at].name;
    put.parent = tree->folders[at].parent;
    put.note = (uint32_t) tree->note_count;
    tree->folders[at] = put;
    for (uint32_t i = 0; i < put.notes; i++) {
        const struct pen_note *note = &from->notes[first + i];
        const char *name = pen_tree_name(from, note->name);

        if (pen_tree_add_note(tree, note, name, strlen(name)) == PEN_NONE)
            return no_room(walking);
    }
    tree->entries += put.entries;
    return tree->entries > walking->walk->most
               ? pen_refuse_too_many(walking->walk, &walking->failure)
               : 0;
}

static int put_known(struct walking *walking, const struct task *task)
{
    const struct pen_tree *known = walking->walk->known;
    struct pen_folder folder = known->folders[task->known];
    int r;

    folder.mount = walking->mount;
    r = put_folder(walking, task->folder, &folder, known, folder.note);
    for (uint32_t i = 0; r == 0 && i < folder.children; i++) {
        const uint32_t child = folder.child + i;

        r = add_child(walking, task->folder, pen_tree_name(known, known->folders[child].name),
                      known->folders[child].flags & PEN_OBJECTS, child);
    }
    atomic_fetch_add(&walking->entries, folder.entries);
    return r;
}

/* Objects of git: everything below "objects" beside "HEAD" and "refs". */
static uint8_t flags_of_child(const struct pen_listing *listing, const char *name)
{
    const bool objects = (listing->folder.flags & PEN_OBJECTS) != 0 ||
                         (listing->has_head && listing->has_refs && strcmp(name, "objects") == 0);

    return objects ? PEN_OBJECTS : 0;
}

static int put_listing(struct walking *walking, const struct task *task,
                       struct pen_listing *listing)
{
    const struct pen_tree *found = listing->found;
    int r;

    listing->folder.notes = (uint32_t) found->note_count;
    walking->read++;
    r = put_folder(walking, task->folder, &listing->folder, found, 0);
    for (size_t i = 0; r == 0 && i < found->folder_count; i++) {
        const char *name = pen_tree_name(found, found->folders[i].name);
        const uint32_t known = task->known == PEN_NONE
                                   ? PEN_NONE
                                   : pen_tree_child(walking->walk->known, task->known, name);

        r = add_child(walking, task->folder, name, flags_of_child(listing, name), known);
    }
    return r;
}

/* ---- a worker ---------------------------------------------------------------------------- */

static void tick(void *context, uint64_t entries)
{
    struct worker *worker = context;
    struct walking *walking = worker->walking;
    const uint64_t all = atomic_fetch_add(&walking->entries, entries) + entries;
    uint64_t now_ms;

    if (!worker->tells || walking->walk->progress == NULL)
        return;
    now_ms = clock_ms();
    if (now_ms < worker->began_ms + QUIET_MS || now_ms < worker->told_ms + PROGRESS_MS)
        return;
    worker->told_ms = now_ms;
    walking->walk->progress(walking->walk->progress_context, all);
}

static bool is_known(const struct walking *walking, uint32_t known)
{
    return known != PEN_NONE && walking->same != NULL && walking->same[known] != 0;
}

/* Reads one folder; without the lock. */
static int read_folder(struct worker *worker, const struct task *task, const char *path,
                       struct pen_place *place, struct err *err)
{
    struct walking *walking = worker->walking;

    place->path = path;
    place->mount = task->folder == 0 ? 0 : walking->mount;
    place->young_ns = walking->young_ns;
    return pen_listing_read(&worker->listing, walking->walk, place, tick, worker, err);
}

/* One task; comes and goes with the lock. */
static int do_task(struct worker *worker, const struct task *task)
{
    struct walking *walking = worker->walking;
    struct pen_place place = {0};
    struct err failure = {0};
    char path[PATH_MAX];
    int r;

    if (is_known(walking, task->known))
        return put_known(walking, task);
    place.size = pen_tree_path(walking->tree, task->folder, path);
    place.room = walking->walk->most - walking->tree->entries;
    place.in_objects = (walking->tree->folders[task->folder].flags & PEN_OBJECTS) != 0;
    (void) pthread_mutex_unlock(&walking->lock);
    r = read_folder(worker, task, path, &place, &failure);
    (void) pthread_mutex_lock(&walking->lock);
    if (r == 0)
        return put_listing(walking, task, &worker->listing);
    if (walking->failure.code == 0)
        walking->failure = failure;
    return r;
}

/* The other thread may be busy with one large folder for long. */
static void wait_for_other(struct worker *worker)
{
    struct walking *walking = worker->walking;
    const uint64_t until_ms = clock_ms() + PROGRESS_MS;
    const struct timespec until = {
        .tv_sec = (time_t) (until_ms / 1000),
        .tv_nsec = (long) (until_ms % 1000) * 1000000,
    };

    (void) pthread_cond_clockwait(&walking->changed, &walking->lock, CLOCK_MONOTONIC, &until);
    tick(worker, 0);
}

static void *work_along(void *context);

/* Works until there is nothing left, or something failed. */
static void work(struct worker *worker)
{
    struct walking *walking = worker->walking;

    (void) pthread_mutex_lock(&walking->lock);
    for (;;) {
        struct task task;

        while (walking->task_count == 0 && walking->busy > 0 && walking->failure.code == 0)
            wait_for_other(worker);
        if (walking->task_count == 0 || walking->failure.code != 0)
            break;
        task = walking->tasks[--walking->task_count];
        walking->busy++;
        (void) do_task(worker, &task); /* it leaves its failure in `walking` */
        walking->busy--;
        if (worker->tells && walking->task_count > 1 && walking->read > PEN_CREW_FROM)
            pen_crew_start(&walking->crew, work_along, walking);
        if (walking->crew.there)
            (void) pthread_cond_broadcast(&walking->changed);
    }
    (void) pthread_mutex_unlock(&walking->lock);
}

/* Without memory for its blocks it leaves the work to the other one. */
static void *work_along(void *context)
{
    struct worker worker = {.walking = context};

    if (pen_listing_init(&worker.listing) == 0)
        work(&worker);
    pen_listing_free(&worker.listing);
    return NULL;
}

/* ---- the walk ---------------------------------------------------------------------------- */

static int look_at_top(struct walking *walking, struct err *err)
{
    struct statx seen;

    if (statx(walking->walk->top_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &seen) < 0)
        return err_set(err, errno, "pen.read", "cannot look at '%s'", walking->walk->pen);
    walking->mount = seen.stx_mnt_id;
    walking->began_ms = walking->walk->now_ms != 0 ? walking->walk->now_ms : clock_wall_ms();
    walking->young_ns = ((int64_t) walking->began_ms - YOUNG_MS) * 1000000;
    return 0;
}

static int walk_all(struct walking *walking, struct err *err)
{
    struct worker worker = {.walking = walking, .tells = true, .began_ms = clock_ms()};
    const uint32_t known = walking->walk->known == NULL ? PEN_NONE : 0;
    int r = pen_listing_init(&worker.listing);

    if (r == 0)
        r = pen_tree_add_folder(walking->tree, 0, "", 0) == 0 ? add_task(walking, 0, known)
                                                              : -ENOMEM;
    if (r == 0)
        work(&worker);
    pen_crew_end(&walking->crew);
    pen_listing_free(&worker.listing);
    if (r < 0)
        return err_memory(err);
    if (walking->failure.code == 0)
        return 0;
    *err = walking->failure;
    return -err->code;
}

static int finish(struct walking *walking, struct err *err)
{
    const struct pen_folder *top = &walking->tree->folders[0];
    const struct pen_tree *known = walking->walk->known;

    if ((top->flags & PEN_VANISHED) != 0)
        return err_set(err, ENOENT, "pen.read", "cannot look at '%s'", walking->walk->pen);
    walking->tree->walked_ms = known != NULL ? known->walked_ms : walking->began_ms;
    walking->tree->guarded_key = walking->walk->guarded_key;
    return pen_tree_settle(walking->tree) < 0 ? err_memory(err) : 0;
}

static int run(struct walking *walking, struct err *err)
{
    const struct pen_tree *known = walking->walk->known;
    AUTO_FREE uint8_t *same = NULL;
    int r = look_at_top(walking, err);

    if (r == 0 && known != NULL) {
        same = calloc(known->folder_count, sizeof *same);
        if (same == NULL)
            return err_memory(err);
        pen_verify(walking->walk, walking->mount, same);
        walking->same = same;
    }
    if (r == 0)
        r = walk_all(walking, err);
    return r == 0 ? finish(walking, err) : r;
}

int pen_walk_run(const struct pen_walk *walk, struct pen_tree **ret_tree, size_t *ret_read,
                 struct err *err)
{
    struct walking walking = {
        .walk = walk,
        .tree = pen_tree_new(),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    struct err failure = {0};
    int r = walking.tree == NULL ? err_memory(&failure) : run(&walking, &failure);

    free(walking.tasks);
    (void) pthread_mutex_destroy(&walking.lock);
    (void) pthread_cond_destroy(&walking.changed);
    if (r == 0) {
        *ret_tree = TAKE_PTR(walking.tree);
        *ret_read = walking.read;
    } else if (err != NULL) {
        *err = failure;
    }
    pen_tree_freep(&walking.tree);
    return r;
}
