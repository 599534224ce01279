/* Holds the filter of a guarded command against lists written here: which calls the guard performs,
 * which it refuses, and that all others, and what the command's own filter refuses, get the answers
 * of that one. Of both processors, by interpretation. */
#include "base/cleanup.h"
#include "bpf_interpreter.h"
#include "cm.h"
#include "fence/seccomp_baked.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdbool.h>

enum { X86_64, AARCH64 };
#define NO (-1)
#define HIGHEST 469

#define BAKED(array)                                                                               \
    {                                                                                              \
        array, ARRAY_SIZE(array)                                                                   \
    }

static const struct filter {
    struct bpf_program program;
    struct bpf_program unguarded;
    uint32_t arch;
    int machine;
} filters[] = {
    {BAKED(seccomp_baked_x86_64_guarded), BAKED(seccomp_baked_x86_64_command), AUDIT_ARCH_X86_64,
     X86_64},
    {BAKED(seccomp_baked_aarch64_guarded), BAKED(seccomp_baked_aarch64_command), AUDIT_ARCH_AARCH64,
     AARCH64},
};

static int ask_program(const struct bpf_program *program, uint32_t arch, int number,
                       const uint64_t *args)
{
    struct seccomp_data data = {.nr = number, .arch = arch};

    memcpy(data.args, args, sizeof data.args);
    return bpf_interpret(program, &data);
}

static int ask(const struct filter *filter, int number, const uint64_t *args)
{
    return ask_program(&filter->program, filter->arch, number, args);
}

static int ask_unguarded(const struct filter *filter, int number, const uint64_t *args)
{
    return ask_program(&filter->unguarded, filter->arch, number, args);
}

/* The kernel reads the low half of what is tested here, so the high half must change nothing. */
static void expect(const char *what, const int *number, const uint64_t *args, int expected)
{
    uint64_t high[6];

    for (size_t i = 0; i < 6; i++)
        high[i] = args[i] | 0xdeadbeef00000000;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        const int wanted = number[filters[f].machine];

        if (wanted == NO)
            continue;
        if (ask(&filters[f], wanted, args) != expected ||
            ask(&filters[f], wanted, high) != expected)
            fail_msg("%s on machine %zu answers %d, not %d", what, f,
                     ask(&filters[f], wanted, args), expected);
    }
}

static const struct call {
    const char *name;
    int number[2];
} performed[] = {
    {"creat", {85, NO}},        {"truncate", {76, 45}},        {"mkdir", {83, NO}},
    {"mkdirat", {258, 34}},     {"mknod", {133, NO}},          {"mknodat", {259, 33}},
    {"symlink", {88, NO}},      {"symlinkat", {266, 36}},      {"link", {86, NO}},
    {"linkat", {265, 37}},      {"rename", {82, NO}},          {"renameat", {264, 38}},
    {"renameat2", {316, 276}},  {"unlink", {87, NO}},          {"unlinkat", {263, 35}},
    {"rmdir", {84, NO}},        {"bind", {49, 200}},           {"chmod", {90, NO}},
    {"fchmod", {91, 52}},       {"fchmodat", {268, 53}},       {"fchmodat2", {452, 452}},
    {"setxattr", {188, 5}},     {"lsetxattr", {189, 6}},       {"fsetxattr", {190, 7}},
    {"removexattr", {197, 14}}, {"lremovexattr", {198, 15}},   {"fremovexattr", {199, 16}},
    {"setxattrat", {463, 463}}, {"removexattrat", {466, 466}},
};

static const struct call by_argument[] = {
    {"open", {2, NO}},
    {"openat", {257, 56}},
    {"prlimit64", {302, 261}},
    {"ioctl", {16, 29}},
};
static const int restrict_self[] = {446, 446};

static const uint64_t zeros[6] = {0};
static const uint64_t ones[6] = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                 UINT64_MAX, UINT64_MAX, UINT64_MAX};

static bool is_listed(int machine, int number)
{
    for (size_t i = 0; i < ARRAY_SIZE(performed); i++) {
        if (performed[i].number[machine] == number)
            return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(by_argument); i++) {
        if (by_argument[i].number[machine] == number)
            return true;
    }
    return number == restrict_self[machine];
}

static void every_call_that_makes_or_takes_a_name_is_performed(void **state)
{
    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(performed); i++)
        expect(performed[i].name, performed[i].number, zeros, BPF_NOTIFIED);
}

/* One argument at a time takes each value that a row could look for. */
static void expect_the_same(const struct filter *filter, int number)
{
    for (size_t at = 0; at < 6; at++) {
        for (unsigned value = 0; value < 0x600; value++) {
            uint64_t args[6] = {0};

            args[at] = value < 0x580 ? value : UINT64_C(1) << (value - 0x580) % 64;
            assert_int_equal(ask(filter, number, args), ask_unguarded(filter, number, args));
        }
    }
    assert_int_equal(ask(filter, number, ones), ask_unguarded(filter, number, ones));
}

static void all_others_get_the_answers_of_the_commands_filter(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        for (int number = 0; number <= HIGHEST; number++) {
            if (!is_listed(filters[f].machine, number))
                expect_the_same(&filters[f], number);
        }
    }
}

static void what_the_commands_filter_refuses_the_guard_is_not_asked(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
        for (int number = 0; number <= HIGHEST; number++) {
            const int refusal = ask_unguarded(&filters[f], number, ones);

            if (refusal != BPF_ALLOWED)
                assert_int_equal(ask(&filters[f], number, ones), refusal);
        }
    }
    expect("set-id", performed[18].number, (const uint64_t[6]){0, 04755}, EPERM); /* fchmod */
    expect("TIOCSTI", by_argument[3].number, (const uint64_t[6]){0, 0x5412}, EPERM);
}

static void numbers_and_processors_nobody_read_do_not_exist(void **state)
{
    struct filter other = filters[0];

    (void) state;
    assert_int_equal(ask(&filters[0], 470, zeros), ENOSYS);
    assert_int_equal(ask(&filters[0], 0x40000000 | 2, zeros), ENOSYS);
    other.arch = AUDIT_ARCH_I386;
    assert_int_equal(ask(&other, 5, zeros), ENOSYS);
}

static int expected_of_open(uint64_t flags)
{
    if (flags & 010000000) /* O_PATH */
        return BPF_ALLOWED;
    return flags & (03 | 0100 | 01000) ? BPF_NOTIFIED : BPF_ALLOWED; /* mode, O_CREAT, O_TRUNC */
}

static void opens_that_may_write_are_performed(void **state)
{
    (void) state;
    for (unsigned pair = 0; pair < 32 * 32; pair++) {
        const uint64_t flags = UINT64_C(1) << pair % 32 | UINT64_C(1) << pair / 32;

        expect("open", by_argument[0].number, (const uint64_t[6]){0, flags},
               expected_of_open(flags));
        expect("openat", by_argument[1].number, (const uint64_t[6]){0, 0, flags},
               expected_of_open(flags));
    }
    expect("reading", by_argument[0].number, zeros, BPF_ALLOWED);
}

static void inner_domains_and_limits_of_others_are_refused(void **state)
{
    (void) state;
    expect("landlock_restrict_self", restrict_self, zeros, EPERM);
    expect("own limits", by_argument[2].number, zeros, BPF_ALLOWED);
    expect("limits of 1", by_argument[2].number, (const uint64_t[6]){1}, EPERM);
}

static void no_ioctl_makes_or_seals_names(void **state)
{
    static const uint64_t bad[] = {0x50009401, 0x5000940e, 0x50009417, 0x50009418, 0x5000940f,
                                   0x5000943f, 0x4008941a, 0x40086602, 0x401c5820, 0x40806685};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        expect("ioctl", by_argument[3].number, (const uint64_t[6]){0, bad[i]}, EPERM);
    expect("reading flags", by_argument[3].number, (const uint64_t[6]){0, 0x80086601}, BPF_ALLOWED);
    expect("another ioctl", by_argument[3].number, (const uint64_t[6]){0, 0x5401}, BPF_ALLOWED);
}

static void the_programs_are_well_formed(void **state)
{
    (void) state;
    for (size_t f = 0; f < ARRAY_SIZE(filters); f++)
        assert_true(bpf_is_well_formed(&filters[f].program));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_that_makes_or_takes_a_name_is_performed),
        cmocka_unit_test(all_others_get_the_answers_of_the_commands_filter),
        cmocka_unit_test(what_the_commands_filter_refuses_the_guard_is_not_asked),
        cmocka_unit_test(numbers_and_processors_nobody_read_do_not_exist),
        cmocka_unit_test(opens_that_may_write_are_performed),
        cmocka_unit_test(inner_domains_and_limits_of_others_are_refused),
        cmocka_unit_test(no_ioctl_makes_or_seals_names),
        cmocka_unit_test(the_programs_are_well_formed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
