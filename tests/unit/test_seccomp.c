/* Holds the baked filters against lists written here, independent of the table they are made of:
 * the bytes, of both processors, are interpreted for every rule. */
#include "base/cleanup.h"
#include "bpf_interpreter.h"
#include "cm.h"
#include "fence/native/seccomp.h"
#include "fence/seccomp_baked.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { X86_64, AARCH64 };
#define NO (-1) /* no such call there */
#define HIGHEST 469

struct filter {
    const char *name;
    struct bpf_program program;
    uint32_t arch;
    int machine;
    bool command;
};

#define BAKED(array)                                                                               \
    {                                                                                              \
        array, ARRAY_SIZE(array)                                                                   \
    }

static const struct filter filters[] = {
    {"x86_64, command", BAKED(seccomp_baked_x86_64_command), AUDIT_ARCH_X86_64, X86_64, true},
    {"x86_64, pid 1", BAKED(seccomp_baked_x86_64_init), AUDIT_ARCH_X86_64, X86_64, false},
    {"aarch64, command", BAKED(seccomp_baked_aarch64_command), AUDIT_ARCH_AARCH64, AARCH64, true},
    {"aarch64, pid 1", BAKED(seccomp_baked_aarch64_init), AUDIT_ARCH_AARCH64, AARCH64, false},
};

static int ask(const struct filter *filter, int number, const uint64_t *args)
{
    struct seccomp_data data = {.nr = number, .arch = filter->arch};

    memcpy(data.args, args, sizeof data.args);
    return bpf_interpret(&filter->program, &data);
}

/* The verdict for a call, and that the high halves of its arguments do not change it. */
static int ask_halves(const struct filter *filter, int number, const uint64_t *args)
{
    uint64_t changed[6];
    int verdict = ask(filter, number, args);

    for (size_t i = 0; i < 7; i++) { /* each alone, then all together */
        for (size_t k = 0; k < 6; k++)
            changed[k] = args[k] | (i == k || i == 6 ? 0xdeadbeef00000000 : 0);
        if (ask(filter, number, changed) != verdict)
            return BPF_BROKEN;
    }
    return verdict;
}

static void expect(const struct filter *filter, const char *what, int number, const uint64_t *args,
                   int expected)
{
    int verdict = ask_halves(filter, number, args);

    if (verdict != expected) {
        fail_msg("%s: %s (%d, %#llx, %#llx, %#llx, %#llx) answers %d, not %d", filter->name, what,
                 number, (unsigned long long) args[0], (unsigned long long) args[1],
                 (unsigned long long) args[2], (unsigned long long) args[3], verdict, expected);
    }
}

/* ---- what is expected ------------------------------------------------------------------------ */

/* Calls that are refused whatever their arguments are. */
static const struct refused {
    const char *name;
    int number[2];
    int error;
} refused[] = {
    {"mount", {165, 40}, EPERM},
    {"umount2", {166, 39}, EPERM},
    {"pivot_root", {155, 41}, EPERM},
    {"chroot", {161, 51}, EPERM},
    {"open_tree", {428, 428}, EPERM},
    {"move_mount", {429, 429}, EPERM},
    {"fsopen", {430, 430}, EPERM},
    {"fsconfig", {431, 431}, EPERM},
    {"fsmount", {432, 432}, EPERM},
    {"fspick", {433, 433}, EPERM},
    {"mount_setattr", {442, 442}, EPERM},
    {"open_tree_attr", {467, 467}, EPERM},
    {"setns", {308, 268}, EPERM},
    {"clone3", {435, 435}, ENOSYS},
    {"io_uring_setup", {425, 425}, ENOSYS},
    {"io_uring_enter", {426, 426}, ENOSYS},
    {"io_uring_register", {427, 427}, ENOSYS},
    {"add_key", {248, 217}, EPERM},
    {"request_key", {249, 218}, EPERM},
    {"keyctl", {250, 219}, EPERM},
    {"bpf", {321, 280}, EPERM},
    {"perf_event_open", {298, 241}, EPERM},
    {"userfaultfd", {323, 282}, EPERM},
    {"fanotify_init", {300, 262}, EPERM},
    {"fanotify_mark", {301, 263}, EPERM},
    {"open_by_handle_at", {304, 265}, EPERM},
    {"kcmp", {312, 272}, EPERM},
    {"modify_ldt", {154, NO}, EPERM},
    {"move_pages", {279, 239}, EPERM},
    {"migrate_pages", {256, 238}, EPERM},
    {"mbind", {237, 235}, EPERM},
    {"set_mempolicy", {238, 237}, EPERM},
    {"set_mempolicy_home_node", {450, 450}, EPERM},
    {"lsm_set_self_attr", {460, 460}, EPERM},
    {"kexec_load", {246, 104}, EPERM},
    {"kexec_file_load", {320, 294}, EPERM},
    {"init_module", {175, 105}, EPERM},
    {"finit_module", {313, 273}, EPERM},
    {"delete_module", {176, 106}, EPERM},
    {"swapon", {167, 224}, EPERM},
    {"swapoff", {168, 225}, EPERM},
    {"reboot", {169, 142}, EPERM},
    {"acct", {163, 89}, EPERM},
    {"quotactl", {179, 60}, EPERM},
    {"quotactl_fd", {443, 443}, EPERM},
    {"settimeofday", {164, 170}, EPERM},
    {"clock_settime", {227, 112}, EPERM},
    {"sethostname", {170, 161}, EPERM},
    {"setdomainname", {171, 162}, EPERM},
    {"iopl", {172, NO}, EPERM},
    {"ioperm", {173, NO}, EPERM},
    {"syslog", {103, 116}, EPERM},
    {"vhangup", {153, 58}, EPERM},
    {"uselib", {134, NO}, ENOSYS},
    {"ustat", {136, NO}, ENOSYS},
    {"sysfs", {139, NO}, ENOSYS},
    {"_sysctl", {156, NO}, ENOSYS},
    {"create_module", {174, NO}, ENOSYS},
    {"get_kernel_syms", {177, NO}, ENOSYS},
    {"query_module", {178, NO}, ENOSYS},
    {"nfsservctl", {180, 42}, ENOSYS},
    {"lookup_dcookie", {212, 18}, ENOSYS},
};

/* Calls whose verdict depends on their arguments, and the verdicts for all bits 0 and all bits 1.
 */
static const struct by_argument {
    const char *name;
    int number[2];
    int zeros, ones;
} by_argument[] = {
    {"clone", {56, 220}, BPF_ALLOWED, EPERM},
    {"unshare", {272, 97}, BPF_ALLOWED, EPERM},
    {"ioctl", {16, 29}, BPF_ALLOWED, BPF_ALLOWED},
    {"fcntl", {72, 25}, BPF_ALLOWED, BPF_ALLOWED},
    {"socket", {41, 198}, EAFNOSUPPORT, EAFNOSUPPORT},
    {"socketpair", {53, 199}, EAFNOSUPPORT, EAFNOSUPPORT},
    {"personality", {135, 92}, BPF_ALLOWED, BPF_ALLOWED},
    {"chmod", {90, NO}, BPF_ALLOWED, EPERM},
    {"fchmod", {91, 52}, BPF_ALLOWED, EPERM},
    {"fchmodat", {268, 53}, BPF_ALLOWED, EPERM},
    {"fchmodat2", {452, 452}, BPF_ALLOWED, EPERM},
    {"creat", {85, NO}, BPF_ALLOWED, EPERM},
    {"open", {2, NO}, BPF_ALLOWED, EPERM},
    {"openat", {257, 56}, BPF_ALLOWED, EPERM},
    {"mknod", {133, NO}, BPF_ALLOWED, EPERM},
    {"mknodat", {259, 33}, BPF_ALLOWED, EPERM},
};

#define OPENAT2 437

static const uint64_t zeros[6] = {0};
static const uint64_t ones[6] = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                 UINT64_MAX, UINT64_MAX, UINT64_MAX};

static bool known(int machine, int number)
{
    if (number < 0 || number > HIGHEST)
        return false;
    if (machine == X86_64)
        return number < 337 || number > 423;
    return number < 244 || (number > 259 && number < 295) || number > 423;
}

static int expected_of(const struct filter *filter, int number, bool all_ones)
{
    if (!known(filter->machine, number))
        return ENOSYS;
    if (number == OPENAT2)
        return filter->command ? ENOSYS : BPF_ALLOWED;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        if (refused[i].number[filter->machine] == number)
            return refused[i].error;
    }
    for (size_t i = 0; i < ARRAY_SIZE(by_argument); i++) {
        if (by_argument[i].number[filter->machine] == number)
            return all_ones ? by_argument[i].ones : by_argument[i].zeros;
    }
    return BPF_ALLOWED;
}

/* ---- calls as a whole ------------------------------------------------------------------------ */

static void every_number_gets_its_verdict(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        for (int number = 0; number < 5000; number++) {
            expect(&filters[f], "zeros", number, zeros, expected_of(&filters[f], number, false));
            expect(&filters[f], "ones", number, ones, expected_of(&filters[f], number, true));
        }
    }
}

static void only_pid_1_has_openat2(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++)
        expect(&filters[f], "openat2", OPENAT2, zeros, filters[f].command ? ENOSYS : BPF_ALLOWED);
}

static void numbers_nobody_read_do_not_exist(void **state)
{
    static const uint32_t numbers[] = {
        470,        512,        547,        1000,       0x8000,     0x3fffffff, 0x40000000,
        0x40000027, 0x40000200, 0x7fffffff, 0x80000000, 0xbfffffff, 0xfffffffe,
    };

    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
            expect(&filters[f], "unknown", (int) numbers[i], zeros, ENOSYS);
    }
}

static void the_x32_table_is_closed(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        for (int number = 0; number < 600; number++)
            expect(&filters[f], "x32", 0x40000000 | number, zeros, ENOSYS);
    }
}

static void a_tracer_may_skip_a_call(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++)
        expect(&filters[f], "no call", -1, ones, BPF_ALLOWED);
}

static void calls_of_other_processors_do_not_exist(void **state)
{
    static const uint32_t others[] = {
        AUDIT_ARCH_I386,
        AUDIT_ARCH_X86_64,
        AUDIT_ARCH_AARCH64,
        AUDIT_ARCH_ARM,
        AUDIT_ARCH_ARMEB,
        AUDIT_ARCH_RISCV64,
        AUDIT_ARCH_PPC64LE,
        AUDIT_ARCH_S390X,
        AUDIT_ARCH_MIPSEL64,
        0,
        62,
        UINT32_MAX,
    };

    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
            struct filter other = filters[f];

            if (others[i] == other.arch)
                continue;
            other.arch = others[i];
            for (int number = -1; number < 600; number++)
                expect(&other, "another processor", number, zeros, ENOSYS);
        }
    }
}

static void the_programs_are_well_formed(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++)
        assert_true(bpf_is_well_formed(&filters[f].program));
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void expect_both(const char *what, const int *number, const uint64_t *args, int expected)
{
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        if (number[filters[f].machine] != NO)
            expect(&filters[f], what, number[filters[f].machine], args, expected);
    }
}

static void clone_makes_no_namespace(void **state)
{
    static const uint64_t fresh = 0x7e020000; /* NEWNS, NEWCGROUP, NEWUTS, IPC, USER, PID, NET */
    static const int number[] = {56, 220};

    (void) state;
    for (unsigned pair = 0; pair < 32 * 32; pair++) {
        const uint64_t flags = UINT64_C(1) << pair % 32 | UINT64_C(1) << pair / 32;
        const uint64_t args[6] = {flags};
        const uint64_t with_signal[6] = {flags | 17};

        expect_both("clone", number, args, flags & fresh ? EPERM : BPF_ALLOWED);
        expect_both("clone", number, with_signal, flags & fresh ? EPERM : BPF_ALLOWED);
    }
    expect_both("a thread", number, (const uint64_t[6]){0x3d0f00}, BPF_ALLOWED);
    expect_both("all but namespaces", number, (const uint64_t[6]){0x81fdffff}, BPF_ALLOWED);
    expect_both("all", number, (const uint64_t[6]){UINT32_MAX}, EPERM);
}

static void unshare_makes_no_namespace(void **state)
{
    static const uint64_t harmless = 0x40600; /* SYSVSEM, FILES, FS */
    static const int number[] = {272, 97};

    (void) state;
    for (unsigned pair = 0; pair < 32 * 32; pair++) {
        const uint64_t flags = UINT64_C(1) << pair % 32 | UINT64_C(1) << pair / 32;

        expect_both("unshare", number, (const uint64_t[6]){flags},
                    flags & ~harmless ? EPERM : BPF_ALLOWED);
    }
    expect_both("all that is harmless", number, (const uint64_t[6]){harmless}, BPF_ALLOWED);
}

static void no_ioctl_types_into_a_terminal_or_changes_keys_of_folders(void **state)
{
    static const int number[] = {16, 29};
    static const uint64_t keys[] = {0x800c6613, 0xc0506617, 0xc0406618, 0xc0406619};

    (void) state;
    for (uint64_t request = 0; request < 0x10000; request++) {
        const uint64_t args[6] = {0, request};
        bool bad = request == 0x5412 || request == 0x541c || request == 0x541d;

        expect_both("ioctl", number, args, bad ? EPERM : BPF_ALLOWED);
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        expect_both("a key", number, (const uint64_t[6]){3, keys[i]}, EPERM);
    expect_both("a key's state", number, (const uint64_t[6]){3, 0xc080661a}, BPF_ALLOWED);
    expect_both("as descriptor", number, (const uint64_t[6]){0x5412, 0x5401, 0x5412}, BPF_ALLOWED);
    expect_both("another size", number, (const uint64_t[6]){0, 0x80015412}, BPF_ALLOWED);
}

static void no_lease_makes_others_wait(void **state)
{
    static const int number[] = {72, 25};

    (void) state;
    for (uint64_t command = 0; command < 0x1000; command++) {
        const uint64_t args[6] = {3, command, 1};
        const bool bad = command == 1024 || command == 1026 || command == 1040;

        expect_both("fcntl", number, args, bad ? EINVAL : BPF_ALLOWED);
    }
    expect_both("as descriptor", number, (const uint64_t[6]){1024, 3, 1024}, BPF_ALLOWED);
}

static int socket_expected(uint64_t family, uint64_t type, uint64_t protocol)
{
    if (family == 2 && (type & 0xf) == 10)
        return EAFNOSUPPORT;
    if (family == 1 || family == 2 || family == 10)
        return BPF_ALLOWED;
    return family == 16 && protocol == 0 ? BPF_ALLOWED : EAFNOSUPPORT;
}

static void only_four_socket_families_exist(void **state)
{
    static const int single[] = {41, 198};
    static const int pair[] = {53, 199};

    (void) state;
    for (uint64_t family = 0; family < 0x200; family++) {
        uint64_t args[6] = {family, 1};

        expect_both("socket", single, args, socket_expected(family, 1, 0));
        expect_both("socketpair", pair, args, family == 1 ? BPF_ALLOWED : EAFNOSUPPORT);
        args[2] = 1;
        expect_both("socket, protocol 1", single, args, socket_expected(family, 1, 1));
    }
    for (unsigned bit = 5; bit < 32; bit++) {
        const uint64_t args[6] = {UINT64_C(1) << bit | 2, 1};

        expect_both("a large family", single, args, EAFNOSUPPORT);
        expect_both("a large family", pair, args, EAFNOSUPPORT);
    }
}

static void netlink_is_for_routes_only(void **state)
{
    static const int number[] = {41, 198};

    (void) state;
    for (uint64_t protocol = 0; protocol < 64; protocol++) {
        const uint64_t args[6] = {16, 3, protocol};

        expect_both("netlink", number, args, protocol == 0 ? BPF_ALLOWED : EAFNOSUPPORT);
    }
    expect_both("netlink", number, (const uint64_t[6]){16, 3, 0x80000000}, EAFNOSUPPORT);
}

static void the_old_packet_type_is_no_way_to_packets(void **state)
{
    static const int number[] = {41, 198};

    (void) state;
    for (uint64_t type = 0; type < 0x1000; type++) {
        const uint64_t inet[6] = {2, type};
        const uint64_t unix_[6] = {1, type};
        const uint64_t with_flags[6] = {2, type | 02004000};

        expect_both("inet", number, inet, socket_expected(2, type, 0));
        expect_both("inet", number, with_flags, socket_expected(2, type, 0));
        expect_both("unix", number, unix_, BPF_ALLOWED);
    }
}

static void personality_cannot_make_data_executable(void **state)
{
    static const int number[] = {135, 92};
    static const uint64_t implies_exec = 0x400000;

    (void) state;
    for (unsigned bit = 0; bit < 32; bit++) {
        const uint64_t alone[6] = {UINT64_C(1) << bit};
        const uint64_t both[6] = {alone[0] | implies_exec};
        const uint64_t nearly_query[6] = {UINT32_MAX & ~alone[0]};

        expect_both("one bit", number, alone, alone[0] == implies_exec ? EPERM : BPF_ALLOWED);
        expect_both("two bits", number, both, EPERM);
        expect_both("nearly a query", number, nearly_query,
                    alone[0] == implies_exec ? BPF_ALLOWED : EPERM);
    }
    expect_both("query", number, (const uint64_t[6]){UINT32_MAX}, BPF_ALLOWED);
}

/* A call that takes a mode at `mode`, and looks at it only if `flags` (0: none) say so. */
static const struct mode_call {
    const char *name;
    int number[2];
    unsigned mode, flags;
} mode_calls[] = {
    {"chmod", {90, NO}, 1, 0},       {"fchmod", {91, 52}, 1, 0}, {"fchmodat", {268, 53}, 2, 0},
    {"fchmodat2", {452, 452}, 2, 0}, {"creat", {85, NO}, 1, 0},  {"mknod", {133, NO}, 1, 0},
    {"mknodat", {259, 33}, 2, 0},    {"open", {2, NO}, 2, 1},    {"openat", {257, 56}, 3, 2},
};

static void no_mode_carries_set_id_bits(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(mode_calls); i++) {
        const struct mode_call *call = &mode_calls[i];

        for (uint64_t mode = 0; mode < 0x4000; mode++) {
            uint64_t args[6] = {0};

            if (call->flags != 0)
                args[call->flags] = 0101; /* O_CREAT | O_WRONLY */
            args[call->mode] = mode;
            expect_both(call->name, call->number, args, mode & 06000 ? EPERM : BPF_ALLOWED);
        }
    }
}

static void expect_open(const struct mode_call *call, uint64_t flags)
{
    const bool makes = flags & 0100 || flags & 020000000; /* O_CREAT, __O_TMPFILE */
    uint64_t args[6] = {0};

    args[call->flags] = flags;
    args[call->mode] = 04755;
    expect_both(call->name, call->number, args, makes ? EPERM : BPF_ALLOWED);
    args[call->mode] = 02755;
    expect_both(call->name, call->number, args, makes ? EPERM : BPF_ALLOWED);
    args[call->mode] = 01777;
    expect_both(call->name, call->number, args, BPF_ALLOWED);
}

static void open_flags_decide_whether_the_mode_counts(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(mode_calls); i++) {
        for (unsigned pair = 0; mode_calls[i].flags != 0 && pair < 32 * 32; pair++)
            expect_open(&mode_calls[i], UINT64_C(1) << pair % 32 | UINT64_C(1) << pair / 32);
    }
}

/* ---- for real ------------------------------------------------------------------------------- */

/* 0 for a call that worked, or its errno. */
static int errno_of(long result)
{
    return result < 0 ? errno : 0;
}

static int openat2_errno(void)
{
    const struct open_how how = {.flags = 010000000}; /* O_PATH */

    return errno_of(syscall(OPENAT2, -100 /* AT_FDCWD */, "/", &how, sizeof how));
}

/* In a child: its exit status, 0 or a bit for each thing that does not hold. */
static int wears(enum seccomp_program program, int openat2_expected)
{
    unsigned failed = 0;

    failed |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || seccomp_load(program) != 0;
    failed |= (openat2_errno() != openat2_expected) << 1;
    failed |= (errno_of(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)) != EPERM) << 2;
    failed |= (errno_of(syscall(SYS_clone, 0x10000000 | SIGCHLD, 0, 0, 0, 0)) != EPERM) << 3;
    failed |= (errno_of(syscall(SYS_clone3, NULL, 0)) != ENOSYS) << 4;
    failed |= (errno_of(socket(40, SOCK_STREAM, 0)) != EAFNOSUPPORT) << 5;
    failed |= (errno_of(socket(AF_UNIX, SOCK_STREAM, 0)) != 0) << 6;
    failed |= (seccomp_load(program) != 0) << 7; /* a second one may be worn */
    return (int) failed;
}

static int in_child(int (*run)(enum seccomp_program, int), enum seccomp_program program,
                    int argument)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        _exit(run(program, argument));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_kernel_takes_the_filters(void **state)
{
    (void) state; /* these tests are also run inside a fence, where openat2 is gone before */
    assert_int_equal(in_child(wears, SECCOMP_COMMAND, ENOSYS), 0);
    assert_int_equal(in_child(wears, SECCOMP_INIT, openat2_errno()), 0);
}

/* In a child: root may load a filter with any privileges, so this is nobody's attempt. */
static int is_refused(enum seccomp_program program, int expected)
{
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        return 1;
    return seccomp_load(program) == expected ? 0 : 1;
}

static void new_privileges_must_be_off(void **state)
{
    (void) state;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return; /* they are already, for good: these tests run in a fence */
    assert_int_equal(in_child(is_refused, SECCOMP_COMMAND, -EACCES), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_gets_its_verdict),
        cmocka_unit_test(only_pid_1_has_openat2),
        cmocka_unit_test(numbers_nobody_read_do_not_exist),
        cmocka_unit_test(the_x32_table_is_closed),
        cmocka_unit_test(a_tracer_may_skip_a_call),
        cmocka_unit_test(calls_of_other_processors_do_not_exist),
        cmocka_unit_test(the_programs_are_well_formed),
        cmocka_unit_test(clone_makes_no_namespace),
        cmocka_unit_test(unshare_makes_no_namespace),
        cmocka_unit_test(no_ioctl_types_into_a_terminal_or_changes_keys_of_folders),
        cmocka_unit_test(no_lease_makes_others_wait),
        cmocka_unit_test(only_four_socket_families_exist),
        cmocka_unit_test(netlink_is_for_routes_only),
        cmocka_unit_test(the_old_packet_type_is_no_way_to_packets),
        cmocka_unit_test(personality_cannot_make_data_executable),
        cmocka_unit_test(no_mode_carries_set_id_bits),
        cmocka_unit_test(open_flags_decide_whether_the_mode_counts),
        cmocka_unit_test(the_kernel_takes_the_filters),
        cmocka_unit_test(new_privileges_must_be_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
