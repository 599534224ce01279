#include "fence/fence.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "fence/mech_priv.h"

#include <errno.h>
#include <stdlib.h>

/* In the order of preference. */
static const struct fence_mech *const mechanisms[] = {&fence_native};

const struct fence_weakness fence_weaknesses[FENCE_WEAK_COUNT] = {
    {FENCE_WEAK_NO_LANDLOCK, "no-landlock", "Landlock is off: files are held by mounts alone",
     "start the kernel with 'landlock' in the lsm= list (Linux 5.19 or newer)"},
    {FENCE_WEAK_OLD_LANDLOCK, "old-landlock",
     "Landlock is older than ABI 6: signals, abstract sockets, truncation or device ioctls are "
     "held by the other layers alone",
     "use Linux 6.12 or newer"},
    {FENCE_WEAK_MEMORY, "memory", "memory is not bounded: no cgroup is delegated",
     "start it with 'systemd-run --user --scope -p Delegate=yes wattle run ...'"},
    {FENCE_WEAK_PROCESSES_RLIMIT, "processes-rlimit",
     "the number of processes is bounded by RLIMIT_NPROC only", "use Linux 6.14 or newer"},
    {FENCE_WEAK_PROCESSES_NONE, "processes-none",
     "the number of processes is not bounded: the kernel exempts root from RLIMIT_NPROC",
     "run wattle as an ordinary user, or use Linux 6.14 or newer"},
    {FENCE_WEAK_NAMESPACE_LIMITS, "namespace-limits",
     "new namespaces inside are refused by seccomp alone", "mount /proc with its /proc/sys/user"},
    {FENCE_WEAK_GUARD, "guard",
     "names are not guarded: what is left in the pen (git hooks, .envrc, editor tasks) may run on "
     "your side later",
     "leave out '--guard'; else use Linux 5.19 or newer, outside of other sandboxes"},
};

struct fence {
    const struct fence_mech *mech;
    void *plan;
    unsigned weak;
};

static unsigned needs_of(const struct policy *policy)
{
    unsigned needs = FENCE_HIDES_FILES | FENCE_OWN_PIDS | FENCE_BOUNDS | FENCE_GUARDS_NET;

    return policy_places(policy) > 0 ? needs | FENCE_MOVES_PATHS : needs;
}

static int choose(const struct policy *policy, const char *name, const struct fence_mech **ret_mech,
                  struct err *err)
{
    const unsigned needs = needs_of(policy);

    for (size_t i = 0; i < ARRAY_SIZE(mechanisms); i++) {
        if (name != NULL && !str_equal(name, mechanisms[i]->name))
            continue;
        if ((mechanisms[i]->enforces & needs) == needs) {
            *ret_mech = mechanisms[i];
            return 0;
        }
        if (name != NULL) {
            (void) err_set(err, ENOTSUP, "fence.too-weak",
                           "the mechanism '%s' cannot keep this policy", name);
            return err_hint(err, "leave out --mechanism to have a fitting one chosen");
        }
    }
    (void) err_set(err, ENOTSUP, "fence.no-mechanism", "no mechanism '%s'",
                   name != NULL ? name : "fits");
    return err_hint(err, "this build has: native");
}

/* A missing layer is a remark, unless the owner required it. */
static int check_required(const struct policy *policy, unsigned weak, struct err *err)
{
    static const struct {
        unsigned require, weak;
        const char *layer;
    } table[] = {
        {POLICY_REQUIRE_LANDLOCK, FENCE_WEAK_NO_LANDLOCK, "landlock"},
        {POLICY_REQUIRE_PROCESSES, FENCE_WEAK_PROCESSES_NONE, "processes"},
    };

    if ((policy_required(policy) & POLICY_REQUIRE_GUARD) != 0 &&
        policy_get_guard(policy) != POLICY_GUARD_ON) {
        (void) err_set(err, ENOTSUP, "fence.required",
                       "your configuration requires 'guard', which this run is to go without");
        return err_hint(err, "leave out '--guard'");
    }

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (!(policy_required(policy) & table[i].require) || !(weak & table[i].weak))
            continue;
        (void) err_set(err, ENOTSUP, "fence.required",
                       "your configuration requires '%s', which this machine does not give",
                       table[i].layer);
        return err_hint(err, "run 'wattle doctor' to see what mends it");
    }
    return 0;
}

/* A pattern means names that do not exist yet, which nothing but a guard keeps away. */
static int check_patterns(const struct policy *policy, struct err *err)
{
    const enum policy_guard guard = policy_get_guard(policy);

    for (size_t i = 0; guard != POLICY_GUARD_ON && i < policy_guard_rules(policy); i++) {
        const struct policy_guard_rule *rule = policy_guard_rule_at(policy, i);

        if (rule->kind != POLICY_GUARD_PATTERN || (guard == POLICY_GUARD_DETECT && !rule->absolute))
            continue;
        (void) err_set(err, ENOTSUP, "fence.pattern",
                       "%s cannot be kept where names are not guarded", rule->why);
        return err_hint(err, rule->absolute ? "it is the administrator's; 'wattle doctor' says why "
                                              "there is no guard, if '--guard' does not"
                                            : "leave out '--guard off', or take the rule away");
    }
    return 0;
}

int fence_prepare(const struct policy *policy, const char *mechanism, struct fence **ret_fence,
                  struct err *err)
{
    AUTO(fence_freep) struct fence *fence = calloc(1, sizeof *fence);
    int r;

    if (fence == NULL)
        return err_memory(err);
    r = choose(policy, mechanism, &fence->mech, err);
    if (r < 0)
        return r;
    r = fence->mech->prepare(policy, &fence->plan, &fence->weak, err);
    if (r < 0)
        return r;
    r = check_required(policy, fence->weak, err);
    if (r == 0)
        r = check_patterns(policy, err);
    if (r < 0)
        return r;
    *ret_fence = TAKE_PTR(fence);
    return 0;
}

void fence_freep(struct fence **fence)
{
    if (*fence == NULL)
        return;
    if ((*fence)->mech != NULL)
        (*fence)->mech->release((*fence)->plan);
    free(*fence);
    *fence = NULL;
}

const char *fence_mechanism(const struct fence *fence)
{
    return fence->mech->name;
}

uint64_t fence_clone_flags(const struct fence *fence)
{
    return fence->mech->clone_flags;
}

unsigned fence_weak(const struct fence *fence)
{
    return fence->weak;
}

int fence_landlock_abi(const struct fence *fence)
{
    return fence->mech->landlock_abi(fence->plan);
}

int fence_enter(const struct fence *fence, const int *keep, size_t keep_count, unsigned *ret_weak,
                struct err *err)
{
    return fence->mech->enter(fence->plan, keep, keep_count, ret_weak, err);
}

int fence_enter_init(const struct fence *fence, struct err *err)
{
    return fence->mech->enter_init(fence->plan, err);
}

int fence_enter_command(const struct fence *fence, bool guarded)
{
    return fence->mech->enter_command(fence->plan, guarded);
}

const struct guard_rules *fence_guards_by(const struct fence *fence)
{
    return fence->mech->guard_rules(fence->plan);
}

bool fence_guards(const struct fence *fence)
{
    return fence_guards_by(fence) != NULL;
}

int fence_enter_guard(const struct fence *fence, int channel_fd)
{
    return fence->mech->enter_guard(fence->plan, channel_fd);
}

int fence_start_guard(const struct fence *fence, int channel_fd, struct guard_settings *settings,
                      struct guard **ret_guard, struct err *err)
{
    int r = fd_fill_standard(); /* no descriptor of the job's is to be number 2 here */

    if (r < 0)
        return err_set(err, -r, "fence.guard-descriptors", "cannot open '/dev/null' inside");
    settings->rules = fence->mech->guard_rules(fence->plan);
    settings->listener_fd = fd_receive(channel_fd);
    if (settings->listener_fd < 0)
        return err_set(err, -settings->listener_fd, "fence.guard-listener",
                       "cannot get the calls of the command");
    return guard_start(settings, ret_guard, err);
}
