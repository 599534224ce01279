#include "job/outlook.h"

#include "base/cleanup.h"
#include "fence/fence.h"

#include <errno.h>

int job_outlook(const struct policy *policy, const char *mechanism, struct job_start *ret_start,
                struct err *err)
{
    AUTO(fence_freep) struct fence *fence = NULL;
    struct err ignored = {0};
    int rc = fence_prepare(policy, mechanism, &fence, err);

    if (rc < 0)
        return rc;
    *ret_start = (struct job_start){
        .mechanism = fence_mechanism(fence), /* a name of the const table of mechanisms */
        .landlock_abi = fence_landlock_abi(fence),
        .weak = fence_weak(fence),
    };
    if (fence_guards(fence) && guard_possible(&ignored) < 0)
        ret_start->weak |= FENCE_WEAK_GUARD;
    return 0;
}

int job_guard_settle(struct policy *policy, struct err *ret_why, struct err *err)
{
    *ret_why = (struct err){0};
    if (policy_get_guard(policy) != POLICY_GUARD_ON || guard_possible(ret_why) == 0)
        return 0;
    if ((policy_required(policy) & POLICY_REQUIRE_GUARD) != 0) {
        (void) err_set(err, ENOTSUP, "fence.required",
                       "your configuration requires 'guard', which this machine does not give: %s",
                       ret_why->what);
        return err_hint(err, "%s", ret_why->hint);
    }
    policy_set_guard(policy, POLICY_GUARD_DETECT);
    return 1;
}

bool job_weakness(unsigned weak, size_t index, struct job_weakness *ret_weakness)
{
    for (size_t i = 0; i < FENCE_WEAK_COUNT; i++) {
        const struct fence_weakness *known = &fence_weaknesses[i];

        if ((weak & known->bit) == 0 || index-- > 0)
            continue;
        *ret_weakness = (struct job_weakness){
            .id = known->id,
            .what = known->what,
            .mend = known->mend,
        };
        return true;
    }
    return false;
}
