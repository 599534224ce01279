/* Bounds of real runs, reached for. */
#include "base/cleanup.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"
#include "fence/fence.h"
#include "job/outlook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above the least that kernel.pid_max takes, below what a small machine can start. */
#define FEW_PROCESSES 320
#define MANY_PROCESSES "400"

#define LITTLE_MEMORY (UINT64_C(32) << 20)
#define WITHIN_MEMORY "4194304"
#define BEYOND_MEMORY "100663296"

static bool could_run(const struct doctor_outcome *outcome, struct doctor_finding *finding)
{
    if (outcome == NULL)
        return false;
    finding->started = outcome->started;
    finding->weak = outcome->weak;
    finding->landlock_abi = outcome->landlock_abi;
    if (outcome->err.code == 0)
        return true;
    doctor_fail(finding, DOCTOR_UNSEEN, &outcome->err);
    return false;
}

void doctor_check_processes(const struct doctor_world *world, struct doctor_finding *finding)
{
    static const char *const words[] = {"fork", MANY_PROCESSES, NULL};
    const struct doctor_trial bounded = {.words = words, .processes = FEW_PROCESSES};
    const struct doctor_trial free = {.words = words};
    AUTO(doctor_outcome_freep) struct doctor_outcome *inside = doctor_trial_inside(world, &bounded);
    AUTO(doctor_outcome_freep) struct doctor_outcome *control = NULL;

    if (!could_run(inside, finding))
        return;
    control = doctor_trial_inside(world, &free);
    if (control == NULL || !control->got)
        doctor_say(finding, DOCTOR_UNSEEN, "nothing was shown: %s processes cannot be started",
                   MANY_PROCESSES);
    else if (inside->got)
        doctor_say(finding, DOCTOR_WEAKER, "a run with --pids %d started more", FEW_PROCESSES);
    else
        doctor_say(finding, DOCTOR_OK, "with --pids %d the next was refused (%s)", FEW_PROCESSES,
                   inside->why);
}

static void lacks_memory(struct doctor_finding *finding)
{
    struct job_weakness weakness;

    if (!job_weakness(FENCE_WEAK_MEMORY, 0, &weakness))
        return;
    doctor_say(finding, DOCTOR_WEAKER, "%s", weakness.what);
    doctor_mend(finding, "%s", weakness.mend);
}

void doctor_check_memory(const struct doctor_world *world, struct doctor_finding *finding)
{
    static const char *const within[] = {"memory", WITHIN_MEMORY, NULL};
    static const char *const beyond[] = {"memory", BEYOND_MEMORY, NULL};
    struct doctor_trial trial = {.words = within, .memory_bytes = LITTLE_MEMORY};
    AUTO(doctor_outcome_freep) struct doctor_outcome *control = doctor_trial_inside(world, &trial);
    AUTO(doctor_outcome_freep) struct doctor_outcome *inside = NULL;

    if (control != NULL && str_equal(control->err.id, "job.memory-none")) {
        lacks_memory(finding);
        finding->weak = FENCE_WEAK_MEMORY;
        return;
    }
    if (!could_run(control, finding))
        return;
    trial.words = beyond;
    inside = doctor_trial_inside(world, &trial);
    if (!control->got || inside == NULL)
        doctor_say(finding, DOCTOR_UNSEEN, "nothing was shown: a little memory cannot be had");
    else if (inside->got)
        doctor_say(finding, DOCTOR_WEAKER, "a run took more than its --memory");
    else
        doctor_say(finding, DOCTOR_OK, "a run that took more was ended");
}

/* The number is that of the user namespace of whoever reads it. */
void doctor_check_namespace_limit(const struct doctor_world *world, struct doctor_finding *finding)
{
    static const char *const words[] = {"read", "/proc/sys/user/max_user_namespaces", NULL};
    const struct doctor_trial trial = {.words = words};
    AUTO(doctor_outcome_freep) struct doctor_outcome *inside = doctor_trial_inside(world, &trial);

    if (!could_run(inside, finding))
        return;
    if (inside->got && strtol(inside->output, NULL, 10) == 0)
        doctor_say(finding, DOCTOR_OK, "it is 0 inside");
    else
        doctor_say(finding, DOCTOR_WEAKER, "seccomp alone refuses them inside");
}
