#include "fence/native/seccomp.h"

#include "base/cleanup.h"
#include "base/kernel.h"
#include "fence/seccomp_baked.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The test for an argument's low half reads the first four of its eight bytes. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the filters are for little endian");

#if defined(__x86_64__) && !defined(__ILP32__)
#define BAKED_COMMAND seccomp_baked_x86_64_command
#define BAKED_INIT seccomp_baked_x86_64_init
#define BAKED_GUARDED seccomp_baked_x86_64_guarded
#elif defined(__aarch64__) && !defined(__ILP32__)
#define BAKED_COMMAND seccomp_baked_aarch64_command
#define BAKED_INIT seccomp_baked_aarch64_init
#define BAKED_GUARDED seccomp_baked_aarch64_guarded
#else
#error "seccomp_table.h has no call numbers for this processor"
#endif

#define GUARD_FLAGS (SECCOMP_FILTER_FLAG_NEW_LISTENER | KERNEL_SECCOMP_WAIT_KILLABLE)

/* struct sock_fprog with the const that the kernel keeps but its header does not say. */
struct program {
    unsigned short length;
    const struct sock_filter *code;
};
_Static_assert(sizeof(struct program) == sizeof(struct sock_fprog), "layout");
_Static_assert(offsetof(struct program, code) == offsetof(struct sock_fprog, filter), "layout");

static const struct program programs[] = {
    [SECCOMP_COMMAND] = {ARRAY_SIZE(BAKED_COMMAND), BAKED_COMMAND},
    [SECCOMP_INIT] = {ARRAY_SIZE(BAKED_INIT), BAKED_INIT},
};
static const unsigned long flags[] = {
    [SECCOMP_COMMAND] = 0, [SECCOMP_INIT] = SECCOMP_FILTER_FLAG_TSYNC, /* one program in memory for
                                                                          all threads */
};
static const struct program guarded_program = {ARRAY_SIZE(BAKED_GUARDED), BAKED_GUARDED};

int seccomp_load(enum seccomp_program program)
{
    const long r =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[program], &programs[program]);

    if (r > 0)
        return -EAGAIN; /* the thread that could not follow */
    return r < 0 ? -errno : 0;
}

int seccomp_load_guarded(void)
{
    const long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, GUARD_FLAGS, &guarded_program);

    return fd < 0 ? -errno : (int) fd;
}

/* Flags are looked at before the filter is read, which is nowhere: seccomp_set_mode_filter() in
 * kernel/seccomp.c. */
int seccomp_try_guard(void)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, GUARD_FLAGS, NULL) >= 0)
        return -ENOSYS; /* whoever answered was not the kernel */
    return errno == EFAULT ? 0 : -errno;
}
