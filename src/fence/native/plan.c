#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "fence/fence.h"
#include "fence/native/native_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FIRST_PRIVATE_PID_MAX_MAJOR 6
#define FIRST_PRIVATE_PID_MAX_MINOR 14
#define ISLAND_BYTES (1u << 20)
#define LEAST_PID_MAX 301 /* RESERVED_PIDS + 1, kernel/pid.c */

/* ---- growing lists ----------------------------------------------------------------------- */

static void *grow(void *list, size_t *room, size_t count, size_t size)
{
    void *bigger;

    if (count < *room)
        return list;
    bigger = reallocarray(list, *room + 64, size);
    if (bigger != NULL)
        *room += 64;
    return bigger;
}

/* Where the first `size` bytes of `path` are, or belong, in the list, which is sorted by path: a
 * parent comes before what lies below it. */
static size_t search(const struct native_plan *plan, const char *path, size_t size, bool *ret_found)
{
    size_t low = 0, high = plan->step_count;
    const char *at;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strncmp(plan->steps[middle].path, path, size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    at = low < plan->step_count ? plan->steps[low].path : NULL;
    *ret_found = at != NULL && strncmp(at, path, size) == 0 && at[size] == '\0';
    return low;
}

static struct native_step *find_step(const struct native_plan *plan, const char *path, size_t size)
{
    bool found;
    const size_t at = search(plan, path, size, &found);

    return found ? &plan->steps[at] : NULL;
}

static int add_step(struct native_plan *plan, const struct native_step *step, struct err *err)
{
    struct native_step *steps =
        grow(plan->steps, &plan->step_room, plan->step_count, sizeof *plan->steps);
    bool found;
    size_t at;

    if (steps == NULL)
        return err_memory(err);
    plan->steps = steps;
    at = search(plan, step->path, strlen(step->path), &found);
    if (found)
        return err_set(err, EINVAL, "fence.twice", "'%s' is in the policy twice", step->path);
    memmove(&steps[at + 1], &steps[at], (plan->step_count - at) * sizeof *steps);
    steps[at] = *step;
    plan->step_count++;
    return 0;
}

static int add_grant(struct native_plan *plan, const char *path, enum native_right right,
                     struct err *err)
{
    struct native_grant *grants;

    for (size_t i = 0; i < plan->grant_count; i++) {
        if (plan->grants[i].right == right && str_equal(plan->grants[i].path, path))
            return 0;
    }
    grants = grow(plan->grants, &plan->grant_room, plan->grant_count, sizeof *plan->grants);
    if (grants == NULL)
        return err_memory(err);
    plan->grants = grants;
    grants[plan->grant_count++] = (struct native_grant){.path = path, .right = right};
    return 0;
}

/* The first `length` bytes of `path` as a string that lives as long as the plan. */
static const char *own_prefix(struct native_plan *plan, const char *path, size_t length)
{
    char **owned = grow(plan->owned, &plan->owned_room, plan->owned_count, sizeof *plan->owned);

    if (owned == NULL)
        return NULL;
    plan->owned = owned;
    owned[plan->owned_count] = strndup(path, length);
    if (owned[plan->owned_count] == NULL)
        return NULL;
    return owned[plan->owned_count++];
}

/* ---- what lies around a path --------------------------------------------------------------- */

static bool is_mount(enum native_step_kind kind)
{
    return kind == NATIVE_BIND || kind == NATIVE_TMPFS || kind == NATIVE_ISLAND ||
           kind == NATIVE_DEV || kind == NATIVE_PROC;
}

/* Length of the folder that holds the first `size` bytes of `path`; 0 for what lies in "/". */
static size_t parent_size(const char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/')
        size--;
    return size > 0 ? size - 1 : 0;
}

/* The mount strictly above `path`; NULL: the new root itself. */
static const struct native_step *mount_above(const struct native_plan *plan, const char *path)
{
    for (size_t size = parent_size(path, strlen(path)); size > 0; size = parent_size(path, size)) {
        const struct native_step *step = find_step(plan, path, size);

        if (step != NULL && is_mount(step->kind))
            return step;
    }
    return NULL;
}

static bool lies_on_ours(const struct native_plan *plan, const char *path)
{
    const struct native_step *above = mount_above(plan, path);

    return above == NULL || above->kind == NATIVE_TMPFS || above->kind == NATIVE_ISLAND;
}

/* ---- places and rules to steps ------------------------------------------------------------- */

static const struct {
    enum policy_place_kind place;
    enum native_step_kind step;
} place_steps[] = {
    {POLICY_PLACE_BIND, NATIVE_BIND},     {POLICY_PLACE_TMPFS, NATIVE_TMPFS},
    {POLICY_PLACE_DEV, NATIVE_DEV},       {POLICY_PLACE_PROC, NATIVE_PROC},
    {POLICY_PLACE_FOLDER, NATIVE_FOLDER}, {POLICY_PLACE_SYMLINK, NATIVE_SYMLINK},
    {POLICY_PLACE_FILE, NATIVE_FILE},     {POLICY_PLACE_OVER, NATIVE_BIND},
};

/* A file over one that a rule shows, in the place of a rule of its own. Nothing is made for it:
 * what is not there is not covered. */
static int add_over(struct native_plan *plan, struct native_step *step, struct err *err)
{
    struct native_step *same = find_step(plan, step->path, strlen(step->path));

    step->make_target = lies_on_ours(plan, step->path);
    if (same == NULL)
        return add_step(plan, step, err);
    *same = *step;
    return 0;
}

static int add_place(struct native_plan *plan, const struct policy_place *place, struct err *err)
{
    struct native_step step = {
        .writable = place->access == POLICY_WRITE,
        .make_target = true,
        .path = place->path,
        .source = place->source,
        .bytes = place->bytes,
    };

    if (place->kind == POLICY_PLACE_STAYS)
        return 0; /* it is there; the guard sees to it */
    for (size_t i = 0; i < ARRAY_SIZE(place_steps); i++) {
        if (place_steps[i].place == place->kind)
            step.kind = place_steps[i].step;
    }
    if (place->kind == POLICY_PLACE_OVER)
        return add_over(plan, &step, err);
    /* Below a bind it is already there: the folder of the host or of the run shows it. */
    if (!is_mount(step.kind) && !lies_on_ours(plan, place->path))
        return 0;
    return add_step(plan, &step, err);
}

/* A job could move a folder between a writable mount and a held name away and make the name anew.
 */
static int pin_ancestors(struct native_plan *plan, const struct native_step *above,
                         const char *path, struct err *err)
{
    for (size_t i = strlen(above->path) + 1; path[i] != '\0'; i++) {
        struct native_step pin = {.kind = NATIVE_PIN, .writable = true};
        int r;

        if (path[i] != '/')
            continue;
        if (find_step(plan, path, i) != NULL)
            continue;
        pin.path = own_prefix(plan, path, i);
        if (pin.path == NULL)
            return err_memory(err);
        r = add_step(plan, &pin, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Below a tmpfs that the job may write, mount points' parents could be moved as well. */
static int add_island(struct native_plan *plan, const struct native_step *above, const char *path,
                      struct err *err)
{
    struct native_step island = {.kind = NATIVE_ISLAND, .make_target = true, .bytes = ISLAND_BYTES};
    const char *slash = strchr(path + strlen(above->path) + 1, '/');

    if (slash == NULL)
        return 0; /* directly below: being a mount point holds it */
    if (find_step(plan, path, (size_t) (slash - path)) != NULL)
        return 0;
    island.path = own_prefix(plan, path, (size_t) (slash - path));
    if (island.path == NULL)
        return err_memory(err);
    return add_step(plan, &island, err);
}

static int missing_below_writable(const char *path, struct err *err)
{
    (void) err_set(err, EINVAL, "fence.hide-missing",
                   "'%s' does not exist yet, lies in a folder the job may write, and must not be "
                   "made by it",
                   path);
    return err_hint(err, "make it first (mkdir -p -m 700 '%s'), or open less around it", path);
}

static bool grants_no_more(const struct native_step *above, enum policy_access given)
{
    return given != POLICY_HIDE && above != NULL && above->kind == NATIVE_BIND &&
           above->writable == (given == POLICY_WRITE);
}

/* Something in a hidden folder is opened: then the folder is not covered, but replaced by one that
 * holds nothing else. */
static void open_cover(struct native_plan *plan, const char *path)
{
    for (size_t size = parent_size(path, strlen(path)); size > 0; size = parent_size(path, size)) {
        struct native_step *step = find_step(plan, path, size);

        if (step == NULL)
            continue;
        if (step->kind == NATIVE_COVER) {
            step->kind = NATIVE_ISLAND;
            step->closed = true;
            step->bytes = ISLAND_BYTES;
        }
        return;
    }
}

/* What has to be done around a rule that lies below a mount the job may write to. */
static int prepare_around(struct native_plan *plan, const struct native_step *above,
                          const struct native_step *step, struct err *err)
{
    if (above == NULL || !above->writable)
        return 0;
    if (above->kind == NATIVE_TMPFS)
        return add_island(plan, above, step->path, err);
    if (above->kind != NATIVE_BIND || step->writable)
        return 0;
    if (access(step->path, F_OK) < 0)
        return missing_below_writable(step->path, err);
    return pin_ancestors(plan, above, step->path, err);
}

static int add_rule(struct native_plan *plan, const struct policy *policy,
                    const struct policy_rule *rule, struct err *err)
{
    const struct policy_rule *decides = NULL;
    const enum policy_access given = policy_resolve(policy, rule->path, &decides);
    const struct native_step *above;
    bool shown;
    struct native_step step;
    int r;

    if (!rule->hold && (decides == NULL || !str_equal(decides->path, rule->path)))
        return 0; /* something absolute lies above it */
    if (rule->hold && find_step(plan, rule->path, strlen(rule->path)) != NULL)
        return 0; /* the plain rule of the same path has taken it into account */
    if (given != POLICY_HIDE && !rule->hold)
        open_cover(plan, rule->path);
    above = mount_above(plan, rule->path);
    shown = above != NULL && above->kind == NATIVE_BIND;
    step = (struct native_step){
        .kind = given == POLICY_HIDE ? NATIVE_COVER : NATIVE_BIND,
        .writable = given == POLICY_WRITE,
        .optional = rule->optional,
        .make_target = lies_on_ours(plan, rule->path),
        .path = rule->path,
        .source = rule->path,
        .dev = rule->dev,
        .inode = rule->inode,
        .trusted = rule->origin == POLICY_FROM_BASE,
    };
    if ((given == POLICY_HIDE || rule->hold) && !shown)
        return 0; /* nothing shows it */
    if (grants_no_more(above, given))
        return 0;
    step.early = given == POLICY_READ && above == NULL;
    r = prepare_around(plan, above, &step, err);
    return r < 0 ? r : add_step(plan, &step, err);
}

/* The reviewed file is mounted over its own path from the object whose identity is compared. */
static int add_command(struct native_plan *plan, const struct policy *policy, struct err *err)
{
    const struct policy_command *command = policy_command(policy);
    struct native_step step;
    struct native_step *same;

    if (command == NULL || !command->pinned)
        return 0;
    step = (struct native_step){
        .kind = NATIVE_BIND,
        .make_target = lies_on_ours(plan, command->path),
        .path = command->path,
        .source = command->path,
        .dev = command->dev,
        .inode = command->inode,
        .command = command,
    };
    same = find_step(plan, command->path, strlen(command->path));
    if (same == NULL)
        return add_step(plan, &step, err);
    *same = step;
    return 0;
}

static int add_steps(struct native_plan *plan, const struct policy *policy, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < policy_places(policy); i++) {
        const struct policy_place *place = policy_place_at(policy, i);

        if (place->kind <= POLICY_PLACE_PROC)
            r = add_place(plan, place, err);
    }
    for (size_t i = 0; r == 0 && i < policy_rules(policy); i++)
        r = add_rule(plan, policy, policy_rule_at(policy, i), err);
    for (size_t i = 0; r == 0 && i < policy_places(policy); i++) {
        const struct policy_place *place = policy_place_at(policy, i);

        if (place->kind > POLICY_PLACE_PROC)
            r = add_place(plan, place, err);
    }
    return r == 0 ? add_command(plan, policy, err) : r;
}

/* ---- steps to grants ----------------------------------------------------------------------- */

/* A file made for the run lies on the new root, among others of its kind: one grant for the folder
 * of the top level serves them all. */
static int grant_file(struct native_plan *plan, const char *path, struct err *err)
{
    const char *slash = strchr(path + 1, '/');

    if (slash != NULL)
        path = own_prefix(plan, path, (size_t) (slash - path));
    return path == NULL ? err_memory(err) : add_grant(plan, path, NATIVE_MAY_READ, err);
}

/* The many small things of /etc: what is shown there is what was put there. */
static bool is_granted_with_etc(const struct native_step *step)
{
    return step->kind == NATIVE_BIND && !step->writable && path_is_below(step->path, "/etc");
}

static int grant_step(struct native_plan *plan, const struct native_step *step, struct err *err)
{
    switch (step->kind) {
    case NATIVE_BIND:
        if (is_granted_with_etc(step))
            return add_grant(plan, "/etc", NATIVE_MAY_RUN, err);
        return add_grant(plan, step->path, step->writable ? NATIVE_MAY_WRITE : NATIVE_MAY_RUN, err);
    case NATIVE_TMPFS:
        return add_grant(plan, step->path, step->writable ? NATIVE_MAY_WRITE : NATIVE_MAY_READ,
                         err);
    case NATIVE_DEV:
        return add_grant(plan, step->path, NATIVE_MAY_DEVICE, err);
    case NATIVE_PROC:
        return add_grant(plan, step->path, NATIVE_MAY_PROCESS, err);
    case NATIVE_FILE:
        return grant_file(plan, step->path, err);
    case NATIVE_FOLDER:
    case NATIVE_SYMLINK:
    case NATIVE_ISLAND:
    case NATIVE_COVER:
    case NATIVE_PIN:
        break;
    }
    return 0;
}

static int add_grants(struct native_plan *plan, struct err *err)
{
    int r = add_grant(plan, "/", NATIVE_MAY_LIST, err);

    for (size_t i = 0; r == 0 && i < plan->step_count; i++)
        r = grant_step(plan, &plan->steps[i], err);
    return r == 0 ? add_grant(plan, "/dev/shm", NATIVE_MAY_WRITE, err) : r;
}

/* ---- the rest of the plan ------------------------------------------------------------------ */

/* The new root hides what lies below the folder it is attached on until the old root is gone, so
 * nothing that is mounted from may lie there. */
static int choose_staging(struct native_plan *plan, struct err *err)
{
    static const char *const candidates[] = {"/sys", "/mnt", "/media", "/srv", "/boot", "/run"};

    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        bool used = false;

        for (size_t k = 0; k < plan->step_count; k++)
            used = used || (plan->steps[k].kind == NATIVE_BIND &&
                            path_is_below(plan->steps[k].source, candidates[i]));
        if (used || access(candidates[i], F_OK) < 0)
            continue;
        plan->staging = candidates[i];
        return 0;
    }
    (void) err_set(err, ENOENT, "fence.native-staging",
                   "none of /sys, /mnt, /media, /srv, /boot and /run is free to build on");
    return err_hint(err, "make an empty folder '/mnt'");
}

/* Before Linux 6.14 kernel.pid_max is one for the whole machine, and root inside would change the
 * host's. An ordinary user is refused there, so asking the kernel is enough. */
static bool pid_max_is_ours(uid_t uid)
{
    struct utsname name;
    unsigned long major, minor;
    char *end;

    if (uid != 0)
        return true;
    if (uname(&name) < 0)
        return false;
    major = strtoul(name.release, &end, 10);
    minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > FIRST_PRIVATE_PID_MAX_MAJOR ||
           (major == FIRST_PRIVATE_PID_MAX_MAJOR && minor >= FIRST_PRIVATE_PID_MAX_MINOR);
}

static void choose_bounds(struct native_plan *plan, const struct policy *policy)
{
    uint64_t most;

    plan->limits = *policy_get_limits(policy);
    plan->shm_bytes = plan->limits.shm_bytes;
    most = plan->limits.processes < LEAST_PID_MAX ? LEAST_PID_MAX : plan->limits.processes;
    (void) snprintf(plan->pid_max, sizeof plan->pid_max, "%llu", (unsigned long long) most);
    plan->shown_pid_max = pid_max_is_ours(plan->uid) ? plan->pid_max : NULL;
}

int native_plan_make(const struct policy *policy, struct native_plan **ret_plan, struct err *err)
{
    struct native_plan *plan = calloc(1, sizeof *plan);
    int r;

    if (plan == NULL)
        return err_memory(err);
    plan->uid = geteuid();
    plan->gid = getegid();
    plan->proc_masks = native_proc_masks_here(plan->uid == 0);
    plan->landlock_abi = native_landlock_abi();
    choose_bounds(plan, policy);
    r = add_steps(plan, policy, err);
    if (r == 0)
        r = add_grants(plan, err);
    if (r == 0)
        r = choose_staging(plan, err);
    if (r == 0 && policy_get_guard(policy) == POLICY_GUARD_ON)
        r = fence_guard_rules(policy, &plan->guard_rules, err);
    if (r < 0) {
        native_plan_free(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}

void native_plan_free(struct native_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->owned_count; i++)
        free(plan->owned[i]);
    guard_rules_freep(&plan->guard_rules);
    free(plan->owned);
    free(plan->steps);
    free(plan->grants);
    free(plan);
}
