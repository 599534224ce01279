/* Around a run: each tree is joined before it, and left after it. */
#include "held/held.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "fence/fence.h"
#include "held/held_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOIN_TRIES = 100 }; /* each lost to somebody who came or went in the same moment */

struct held {
    struct held_request request;
    char *state_dir;
    char run[HELD_RUN_SIZE];
    int trees_fd;
    struct {
        char key[HELD_KEY_SIZE];
        int lock_fd;
    } trees[GUARD_ZONES_MAX];
    size_t count;
};

/* ---- one check --------------------------------------------------------------------------- */

/* The tree itself: the same folder. After a restart of the machine its device may have another
 * number. */
static int open_tree(const struct held_baseline *baseline)
{
    AUTO_CLOSE int fd = path_open_plain(AT_FDCWD, baseline->top, O_RDONLY | O_DIRECTORY);
    struct stat seen;

    if (fd < 0)
        return fd;
    if (fstat(fd, &seen) < 0)
        return -errno;
    return seen.st_ino == baseline->inode ? TAKE_FD(fd) : -ESTALE;
}

static int check_tree(const struct held_request *request, const struct held_baseline *baseline,
                      int top_fd, struct err *err)
{
    AUTO(guard_rules_freep) struct guard_rules *rules = NULL;
    AUTO_CLOSE int store_fd = held_store_open(request->state_dir, true, err);
    struct held_check check = {
        .request = request, .baseline = baseline, .top_fd = top_fd, .store_fd = store_fd};
    int r = store_fd < 0 ? store_fd : fence_guard_rules(baseline->policy, &rules, err);

    check.rules = rules;
    if (r == 0)
        r = held_check_run(&check, err);
    if (r == 0 && syncfs(store_fd) < 0) /* before the baseline goes */
        r = err_set(err, errno, "held.store", "cannot write to '%s'", request->state_dir);
    if (r < 0 || check.failures == 0)
        return r;
    (void) err_set(err, EBUSY, "held.unfinished",
                   "%zu names in '%s' that a run made or changed could not be set aside",
                   check.failures, baseline->top);
    return err_hint(err, "move them away yourself: until then no run is started there");
}

/* With the lock alone. What cannot be checked any more is gone, or no baseline. */
static int finish(const struct held_request *request, int trees_fd, const char *key,
                  struct err *err)
{
    AUTO(held_baseline_free) struct held_baseline baseline = {0};
    AUTO_CLOSE int top_fd = -1;
    int r = held_baseline_load(trees_fd, key, &baseline);

    if (r == -ENOENT)
        return 0;
    if (r == -EBADMSG) {
        (void) unlinkat(trees_fd, key, 0);
        return err_set(err, EBADMSG, "held.state",
                       "what stood at guarded names before a run that crashed cannot be read: "
                       "nothing was compared");
    }
    if (r < 0)
        return err_set(err, -r, "held.state", "cannot read what stood at guarded names");
    top_fd = open_tree(&baseline);
    return top_fd < 0 ? 0 : check_tree(request, &baseline, top_fd, err);
}

/* ---- before a run ------------------------------------------------------------------------ */

static int make_baseline(const struct held *held, const char *key, const char *top, int top_fd,
                         const struct policy *policy, struct err *err)
{
    AUTO(held_baseline_free) struct held_baseline baseline = {0};
    AUTO(guard_rules_freep) struct guard_rules *rules = NULL;
    struct stat seen;
    int r = held_policy_reduce(policy, &baseline.policy, err);

    if (r == 0)
        r = fence_guard_rules(baseline.policy, &rules, err);
    if (r < 0)
        return r;
    if (fstat(top_fd, &seen) < 0)
        return err_set(err, errno, "held.look", "cannot look at '%s'", top);
    baseline.top = strdup(top);
    if (baseline.top == NULL)
        return err_memory(err);
    baseline.dev = seen.st_dev;
    baseline.inode = seen.st_ino;
    memcpy(baseline.run, held->run, sizeof baseline.run);
    r = held_baseline_make(top_fd, rules, &baseline, err);
    return r < 0 ? r : held_baseline_save(held->trees_fd, key, &baseline, err);
}

static int busy(int code, const char *top, struct err *err)
{
    (void) err_set(err, code, "held.busy", "cannot join the runs that go on in '%s'", top);
    return err_hint(err, "what a run before this one left there is still being looked at");
}

/* One try. 1: joined, 0: somebody else was in between. */
static int join_once(struct held *held, const struct policy *policy, const char *top, int top_fd,
                     struct err *err)
{
    const char *key = held->trees[held->count].key;
    AUTO_CLOSE int fd = held_lock(held->trees_fd, key, HELD_ALONE_NOW);
    int r = 0;

    if (fd >= 0) {
        r = finish(&held->request, held->trees_fd, key, err);
        if (r == 0)
            r = make_baseline(held, key, top, top_fd, policy, err);
        if (r < 0)
            return r;
        if (held_relock(fd, HELD_SHARED) < 0)
            return 0;
    } else if (fd == -EBUSY) {
        fd = held_lock(held->trees_fd, key, HELD_SHARED);
    }
    if (fd < 0)
        return busy(-fd, top, err);
    if (!held_lock_is_current(held->trees_fd, key, fd) ||
        !held_baseline_is_there(held->trees_fd, key))
        return 0;
    held->trees[held->count++].lock_fd = TAKE_FD(fd);
    return 1;
}

static int join(struct held *held, const struct policy *policy, const struct held_tops *tops,
                size_t index, struct err *err)
{
    const char *top = tops->items[index].path;

    held_key(tops->items[index].dev, tops->items[index].inode, held->trees[held->count].key);
    for (int i = 0; i < JOIN_TRIES; i++) {
        const int r = join_once(held, policy, top, tops->items[index].fd, err);

        if (r != 0)
            return r < 0 ? r : 0;
    }
    return busy(EAGAIN, top, err);
}

static struct held *make(const struct held_request *request)
{
    struct held *held = calloc(1, sizeof *held);

    if (held == NULL)
        return NULL;
    held->trees_fd = -1;
    held->request = *request;
    held->state_dir = strdup(request->state_dir);
    held->request.state_dir = held->state_dir;
    (void) snprintf(held->run, sizeof held->run, "%s", request->run);
    held->request.run = held->run;
    if (held->state_dir == NULL)
        held_freep(&held);
    return held;
}

int held_begin(const struct held_request *request, const struct policy *policy,
               struct held **ret_held, struct err *err)
{
    AUTO(held_freep) struct held *held = make(request);
    AUTO(held_tops_free) struct held_tops tops = {.count = 0};
    int r = 0;

    if (held == NULL)
        return err_memory(err);
    r = held->trees_fd = held_trees_open(held->state_dir, true, err);
    if (r >= 0)
        r = held_tops_find(policy, &tops, err);
    for (size_t i = 0; r == 0 && i < tops.count; i++)
        r = join(held, policy, &tops, i, err);
    if (r < 0)
        return r;
    *ret_held = TAKE_PTR(held);
    return 0;
}

void held_freep(struct held **held)
{
    if (*held == NULL)
        return;
    for (size_t i = 0; i < (*held)->count; i++)
        cleanup_close(&(*held)->trees[i].lock_fd);
    cleanup_close(&(*held)->trees_fd);
    free((*held)->state_dir);
    free(*held);
    *held = NULL;
}

/* ---- after it ---------------------------------------------------------------------------- */

/* Whoever is last has the lock alone. Two that leave in the same moment both give up the shared
 * one before they ask for the other, so one of them gets it. */
static int leave(struct held *held, size_t index, struct err *err)
{
    const char *key = held->trees[index].key;
    const int fd = held->trees[index].lock_fd;
    int r;

    if (held_relock(fd, HELD_ALONE) < 0 || !held_lock_is_current(held->trees_fd, key, fd))
        return 0;
    r = finish(&held->request, held->trees_fd, key, err);
    if (r == 0)
        held_baseline_remove(held->trees_fd, key);
    return r;
}

int held_end(struct held *held, struct err *err)
{
    int first = 0;

    for (size_t i = 0; i < held->count; i++) {
        struct err later = {0};
        const int r = leave(held, i, first == 0 ? err : &later);

        cleanup_close(&held->trees[i].lock_fd);
        if (first == 0)
            first = r;
    }
    held->count = 0;
    return first;
}

/* ---- after a crash ----------------------------------------------------------------------- */

static int sweep_tree(const struct held_request *request, int trees_fd, const char *key,
                      struct err *err)
{
    AUTO_CLOSE int fd = held_lock(trees_fd, key, HELD_ALONE_NOW);
    int r;

    if (fd < 0)
        return 0; /* a run goes on */
    r = finish(request, trees_fd, key, err);
    if (r == 0)
        held_baseline_remove(trees_fd, key);
    return r;
}

/* The key a file of the folder belongs to; false: none. */
static bool key_of(const char *name, char key[HELD_KEY_SIZE])
{
    const size_t size = strspn(name, "0123456789abcdef-");

    if (size == 0 || size >= HELD_KEY_SIZE)
        return false;
    (void) snprintf(key, HELD_KEY_SIZE, "%.*s", (int) size, name);
    return name[size] == '\0' || str_equal(name + size, ".lock");
}

static void sweep_store(const char *state_dir)
{
    AUTO_CLOSE int fd = held_store_open(state_dir, false, NULL);

    if (fd < 0 || held_store_lock(fd) < 0)
        return;
    held_store_sweep(fd);
    held_store_unlock(fd);
}

int held_sweep(const struct held_request *request, struct err *err)
{
    AUTO_CLOSE int trees_fd = held_trees_open(request->state_dir, false, NULL);
    const int fd = trees_fd < 0 ? -1 : openat(trees_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool any = false;
    int first = 0;

    if (dir == NULL)
        return 0; /* never was a run without a guard */
    while ((entry = readdir(dir)) != NULL) {
        char key[HELD_KEY_SIZE];
        struct err later = {0};
        int r;

        if (!key_of(entry->d_name, key))
            continue;
        any = true;
        r = sweep_tree(request, trees_fd, key, first == 0 ? err : &later);
        if (first == 0)
            first = r;
    }
    if (any)
        sweep_store(request->state_dir);
    return first;
}
