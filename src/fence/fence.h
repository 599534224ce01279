/* How a promise is kept: one policy, one mechanism that enforces it. Layer 2.
 *
 * Life of a fence, all in the job layer's hands (doctor's probes use the job layer too):
 *   parent   fence_prepare()     may allocate; chooses the mechanism; refuses a policy it cannot
 * keep parent   clone3(fence_clone_flags()) child    fence_enter()       pid 1: builds the boundary
 * around itself; cannot be undone; no malloc, no log child    vfork -> fence_enter_command(): the
 * last rights go, in the process that will exec child    fence_enter_init(): pid 1 puts on its own
 * filter once the command runs parent   fence_freep() A mechanism that cannot give what the policy
 * needs is never chosen: ENOTSUP fence.too-weak. */
#ifndef WATTLE_FENCE_FENCE_H
#define WATTLE_FENCE_FENCE_H

#include "fence/guard/guard.h"
#include "policy/policy.h"

/* What is weaker than the best this mechanism can do. Said in doctor, policy show, the start event
 * and with -v; a refusal where the owner requires the layer. */
enum fence_weak {
    FENCE_WEAK_NO_LANDLOCK = 1u << 0,
    FENCE_WEAK_OLD_LANDLOCK = 1u << 1,     /* some rights of ABI 7 are missing */
    FENCE_WEAK_MEMORY = 1u << 2,           /* no cgroup: memory is not bounded */
    FENCE_WEAK_PROCESSES_RLIMIT = 1u << 3, /* pid_max not ours: RLIMIT_NPROC only */
    FENCE_WEAK_PROCESSES_NONE = 1u << 4,   /* ... and the caller is root: not bounded */
    FENCE_WEAK_NAMESPACE_LIMITS = 1u << 5, /* user.max_*_namespaces could not be set */
    FENCE_WEAK_GUARD = 1u << 6, /* guarded names can be made: off, or the kernel cannot */
};
#define FENCE_WEAK_COUNT 7

/* {"no-landlock", "Landlock is off: ...", "what mends it"} for one bit. */
struct fence_weakness {
    unsigned bit;
    const char *id;
    const char *what;
    const char *mend;
};
extern const struct fence_weakness fence_weaknesses[FENCE_WEAK_COUNT];

struct fence; /* opaque; one owner */

/* `mechanism` NULL: the first that keeps the policy. `weak` of the parent's view is in
 * fence_weak(). Errors: ENOTSUP fence.too-weak, fence.no-mechanism, fence.native-*, each with what
 * is missing and what the owner can do; EINVAL fence.* for what a mechanism cannot express. */
int fence_prepare(const struct policy *policy, const char *mechanism, struct fence **ret_fence,
                  struct err *err) MUST_CHECK;
void fence_freep(struct fence **fence);

const char *fence_mechanism(const struct fence *fence);
uint64_t fence_clone_flags(const struct fence *fence); /* CLONE_NEW*, for clone3 */
unsigned fence_weak(const struct fence *fence);        /* enum fence_weak known before the clone */
int fence_landlock_abi(const struct fence *fence);     /* 0: none */

/* In pid 1. `keep` lists descriptors that stay open (others are closed or made close-on-exec).
 * `ret_weak` gets the bits found while building. */
int fence_enter(const struct fence *fence, const int *keep, size_t keep_count, unsigned *ret_weak,
                struct err *err) MUST_CHECK;
int fence_enter_init(const struct fence *fence, struct err *err) MUST_CHECK;

/* In the vforked child: shares memory with pid 1, so nothing but its own stack may be written.
 * `guarded`: fence_enter_guard has put the filter on. Returns -errno. */
int fence_enter_command(const struct fence *fence, bool guarded) MUST_CHECK;

/* ---- guarded names (guard/guard.h)
 * ---------------------------------------------------------------
 */

/* The names that are guarded in what `policy` lets a job write: what every guard of it asks. Looks
 * at file systems, whatever policy_get_guard says. Caller frees with guard_rules_freep (rules.h).
 * Errors: guard.*, ENOMEM. */
int fence_guard_rules(const struct policy *policy, struct guard_rules **ret_rules,
                      struct err *err) MUST_CHECK;

#define FENCE_UNGUARDED 1

/* Whether the policy asks for a guard and the mechanism has one. */
bool fence_guards(const struct fence *fence);
/* Those the guard decides by; NULL: names are not guarded. */
const struct guard_rules *fence_guards_by(const struct fence *fence);
/* In the vforked child, before fence_enter_command. Puts on the filter, which hands calls to the
 * guard, and sends its listener through `channel_fd`, one end of a socket pair whose other end pid
 * 1 has. 0, FENCE_UNGUARDED when there is none, or -errno. */
int fence_enter_guard(const struct fence *fence, int channel_fd) MUST_CHECK;
/* In pid 1, between the start of the command and fence_enter_init: takes the listener from the
 * other end and starts the guard, which performs nothing before guard_go (guard/guard.h). Of
 * `settings` the rules and the listener are filled in here. */
int fence_start_guard(const struct fence *fence, int channel_fd, struct guard_settings *settings,
                      struct guard **ret_guard, struct err *err) MUST_CHECK;

/* ---- held names (the fallback) -----------------------------------------------------------------
 */

/* Of a job, as pid 1 opened them: from outside nobody else may. */
struct fence_namespaces {
    int user_fd, mount_fd; /* -1: none */
};
/* In a process of one thread, which has to end soon afterwards: enters the job's namespaces and
 * makes `path` read-only again, if it is not. -errno. */
int fence_hold_again(const struct fence_namespaces *namespaces, const char *path) MUST_CHECK;

#endif
