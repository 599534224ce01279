/* bake-filter OUTPUT: writes the seccomp filters of src/fence/native/seccomp_table.h as a C header.
 *
 * Runs when wattle is built. A filter has two parts, in this order:
 *
 *   1. written here: other processors' calls and numbers that nobody has read answer ENOSYS; then
 *      the calls whose rows look at arguments, row by row as the table says;
 *   2. made by libseccomp, as a binary tree over the numbers: the calls that are always refused.
 *
 * libseccomp alone would not do: it lets numbers newer than itself pass, knows no rows that allow,
 * and takes three instructions for each bit of each half of an argument. Jumps are relative and
 * forward, so the second part needs no change by standing behind the first.
 *
 * libseccomp can make rules for another processor only for calls whose names it knows. Its part is
 * therefore always made for the processor of the build, from the numbers of the table, and the one
 * constant in it that names the processor is replaced.
 *
 * The guard's rows are all written here, in part 1: which actions libseccomp knows depends on the
 * kernel of the build.
 *
 * Whatever is not exactly as expected ends the build. */
#include "fence/native/seccomp_table.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LOAD (BPF_LD | BPF_W | BPF_ABS)
#define RETURN (BPF_RET | BPF_K)

/* Stand in a jump until it is known where it goes; no finished jump is that long. */
#define NEXT_ROW UINT8_MAX
#define NEXT_CALL (UINT8_MAX - 1)

struct program {
    struct sock_filter code[BPF_MAXINSNS];
    size_t count;
};

/* What one filter is made for. */
struct target {
    const char *name;
    bool command; /* else for pid 1 */
    bool guarded; /* with the guard's table */
};

static const struct target targets[] = {
    {"command", .command = true},
    {"init", .command = false},
    {"guarded", .command = true, .guarded = true},
};

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void) fputs("bake-filter: ", stderr);
    (void) vfprintf(stderr, format, args);
    (void) fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* ---- part 1 ------------------------------------------------------------------------------- */

static void emit(struct program *program, uint16_t code, uint32_t k, uint8_t if_true,
                 uint8_t if_false)
{
    if (program->count == COUNT(program->code))
        die("the filter is too long");
    program->code[program->count++] =
        (struct sock_filter){.code = code, .jt = if_true, .jf = if_false, .k = k};
}

static uint32_t refuse(int error)
{
    return SECCOMP_RET_ERRNO | (uint32_t) error;
}

static uint32_t answer_of(const struct seccomp_group *group, const struct seccomp_rule *rule)
{
    if (rule->allow)
        return SECCOMP_RET_ALLOW;
    return group->notify ? SECCOMP_RET_USER_NOTIF : refuse(group->error);
}

/* Jumps that were marked `open` since `start` go to the end of the program. */
static void close_jumps(struct program *program, size_t start, uint8_t open)
{
    for (size_t i = start; i < program->count; i++) {
        size_t distance = program->count - i - 1;

        if (BPF_CLASS(program->code[i].code) != BPF_JMP || program->code[i].jf != open)
            continue;
        if (distance >= NEXT_CALL)
            die("a jump over %zu instructions is out of reach", distance);
        program->code[i].jf = (uint8_t) distance;
    }
}

/* Ends with the call's number in the accumulator. A number of -1 is no call: a tracer that wants
 * one skipped writes it there, with the answer it chose. */
static void emit_entrance(struct program *program, const struct seccomp_machine *machine)
{
    uint32_t next = 0;

    emit(program, LOAD, offsetof(struct seccomp_data, arch), 0, 0);
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, machine->audit_arch, 1, 0);
    emit(program, RETURN, refuse(ENOSYS), 0, 0);
    emit(program, LOAD, offsetof(struct seccomp_data, nr), 0, 0);
    for (size_t i = 0; i < COUNT(machine->known) && machine->known[i].last != 0; i++) {
        if (machine->known[i].first < next || machine->known[i].last < machine->known[i].first)
            die("the known numbers of %s are not in order", machine->name);
        if (machine->known[i].first > next) { /* a gap, up to here */
            emit(program, BPF_JMP | BPF_JGE | BPF_K, next, 0, 2);
            emit(program, BPF_JMP | BPF_JGE | BPF_K, machine->known[i].first, 1, 0);
            emit(program, RETURN, refuse(ENOSYS), 0, 0);
        }
        next = machine->known[i].last + 1u;
    }
    emit(program, BPF_JMP | BPF_JGE | BPF_K, next, 0, 3);
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 0, 1);
    emit(program, RETURN, SECCOMP_RET_ALLOW, 0, 0);
    emit(program, RETURN, refuse(ENOSYS), 0, 0);
}

static void emit_test(struct program *program, const struct seccomp_test *test)
{
    uint32_t low_half =
        (uint32_t) (offsetof(struct seccomp_data, args) + test->argument * sizeof(uint64_t));

    emit(program, LOAD, low_half, 0, 0);
    if (test->kind == SECCOMP_TEST_ANY) {
        emit(program, BPF_JMP | BPF_JSET | BPF_K, test->mask, 0, NEXT_ROW);
        return;
    }
    if (test->mask != UINT32_MAX)
        emit(program, BPF_ALU | BPF_AND | BPF_K, test->mask, 0, 0);
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, test->value, 0, NEXT_ROW);
}

static bool has_tests(const struct seccomp_rule *rule)
{
    return rule->tests[0].kind != SECCOMP_TEST_NONE;
}

/* The rows of one call in a group, as the table says. Whether one without tests is among them:
 * nothing gets past it. */
static bool emit_rows(struct program *program, const struct seccomp_group *group, const char *call)
{
    bool decided = false;

    for (const struct seccomp_rule *rule = group->rules; rule->call != NULL; rule++) {
        size_t row = program->count;

        if (strcmp(rule->call, call) != 0)
            continue;
        if (decided)
            die("a row of %s is never reached", rule->call);
        for (size_t i = 0; i < SECCOMP_TESTS_MAX; i++) {
            if (rule->tests[i].kind != SECCOMP_TEST_NONE)
                emit_test(program, &rule->tests[i]);
        }
        emit(program, RETURN, answer_of(group, rule), 0, 0);
        close_jumps(program, row, NEXT_ROW);
        decided = !has_tests(rule);
    }
    return decided;
}

static bool allows(const struct seccomp_group *group, const char *call)
{
    for (const struct seccomp_rule *rule = group->rules; rule->call != NULL; rule++) {
        if (rule->allow && strcmp(rule->call, call) == 0)
            return true;
    }
    return false;
}

/* All rows of one call: of its group, and before them those of `before`, which may be NULL. */
static void emit_call(struct program *program, const struct seccomp_group *before,
                      const struct seccomp_group *group, const struct seccomp_rule *call,
                      unsigned machine)
{
    const size_t start = program->count;

    emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) call->number[machine], 0, NEXT_CALL);
    if (before != NULL && (allows(before, call->call) || emit_rows(program, before, call->call)))
        die("the guard is not always asked for %s", call->call);
    if (!emit_rows(program, group, call->call))
        emit(program, RETURN, SECCOMP_RET_ALLOW, 0, 0);
    close_jumps(program, start, NEXT_CALL);
}

/* ---- part 2 ------------------------------------------------------------------------------- */

static void check(int failed, const char *what)
{
    if (failed != 0)
        die("libseccomp: %s: %s", what, strerror(-failed));
}

/* Appends libseccomp's program, with the processor it was made for replaced. */
static void append(struct program *program, scmp_filter_ctx filter, uint32_t audit_arch)
{
    FILE *file = tmpfile();
    size_t start = program->count;
    size_t found = 0;

    if (file == NULL)
        die("cannot make a temporary file");
    check(seccomp_export_bpf(filter, fileno(file)), "export");
    rewind(file);
    program->count +=
        fread(program->code + start, sizeof program->code[0], COUNT(program->code) - start, file);
    if (ferror(file) || !feof(file) || program->count == start)
        die("cannot read what libseccomp made");
    (void) fclose(file);
    for (size_t i = start; i < program->count; i++) {
        struct sock_filter *line = &program->code[i];

        if (line->code == (BPF_JMP | BPF_JEQ | BPF_K) && line->k == seccomp_arch_native()) {
            line->k = audit_arch;
            found++;
        }
    }
    if (found != 1)
        die("libseccomp looks at the processor %zu times", found);
}

/* ---- both --------------------------------------------------------------------------------- */

static bool has_row(const struct seccomp_group *group, const char *call)
{
    for (const struct seccomp_rule *rule = group->rules; rule->call != NULL; rule++) {
        if (strcmp(rule->call, call) == 0)
            return true;
    }
    return false;
}

static bool looks_at_arguments(const struct seccomp_group *group, const char *call)
{
    for (const struct seccomp_rule *rule = group->rules; rule->call != NULL; rule++) {
        if (has_tests(rule) && strcmp(rule->call, call) == 0)
            return true;
    }
    return false;
}

static bool is_first_row(const struct seccomp_group *group, const struct seccomp_rule *row)
{
    for (const struct seccomp_rule *rule = group->rules; rule != row; rule++) {
        if (strcmp(rule->call, row->call) == 0)
            return false;
    }
    return true;
}

static void check_rule(const struct seccomp_rule *rule)
{
    if (!has_tests(rule) && rule->tests[1].kind != SECCOMP_TEST_NONE)
        die("a test of %s comes too late", rule->call);
    for (size_t i = 0; i < SECCOMP_TESTS_MAX; i++) {
        if (rule->tests[i].value & ~rule->tests[i].mask)
            die("a test of %s can never hold", rule->call);
    }
}

/* The rows of a call stand in one group: their order means nothing across groups. */
static void check_group(const struct seccomp_group *groups, size_t index)
{
    const struct seccomp_group *group = &groups[index];

    if (group->rules[SECCOMP_RULES_MAX - 1].call != NULL)
        die("the group of %s has no end", group->rules[0].call);
    for (const struct seccomp_rule *rule = group->rules; rule->call != NULL; rule++) {
        check_rule(rule);
        for (size_t other = 0; other < index; other++) {
            if (has_row(&groups[other], rule->call))
                die("%s is in two groups", rule->call);
        }
    }
}

static const struct seccomp_group *find_group(const struct seccomp_group *groups, size_t count,
                                              const char *call)
{
    for (size_t g = 0; g < count; g++) {
        if (has_row(&groups[g], call))
            return &groups[g];
    }
    return NULL;
}

static bool is_the_guards(const char *call)
{
    return find_group(seccomp_guard_groups, COUNT(seccomp_guard_groups), call) != NULL;
}

static void bake_group(struct program *program, scmp_filter_ctx filter,
                       const struct seccomp_group *group, const struct target *target,
                       unsigned machine)
{
    const uint32_t refused = SCMP_ACT_ERRNO((uint32_t) group->error);

    for (const struct seccomp_rule *rule = group->rules; rule->call != NULL; rule++) {
        if (rule->number[machine] == SECCOMP_NO_CALL)
            continue;
        if (target->guarded && is_the_guards(rule->call))
            continue; /* bake_guard has emitted it */
        if (!looks_at_arguments(group, rule->call))
            check(seccomp_rule_add_exact(filter, refused, rule->number[machine], 0), rule->call);
        else if (is_first_row(group, rule))
            emit_call(program, NULL, group, rule, machine);
    }
}

/* They come first, the open of a file before all: they are asked most. */
static void bake_guard(struct program *program, unsigned machine)
{
    for (size_t g = 0; g < COUNT(seccomp_guard_groups); g++) {
        const struct seccomp_group *group = &seccomp_guard_groups[g];

        for (const struct seccomp_rule *rule = group->rules; rule->call != NULL; rule++) {
            if (rule->number[machine] != SECCOMP_NO_CALL && is_first_row(group, rule))
                emit_call(program, find_group(seccomp_groups, COUNT(seccomp_groups), rule->call),
                          group, rule, machine);
        }
    }
}

static void bake(struct program *program, const struct target *target, unsigned machine)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    if (filter == NULL)
        die("libseccomp: out of memory");
    check(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)), "bad arch");
    check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
    program->count = 0;
    emit_entrance(program, &seccomp_machines[machine]);
    if (target->guarded)
        bake_guard(program, machine);
    for (size_t g = 0; g < COUNT(seccomp_groups); g++) {
        if (target->command || !seccomp_groups[g].command_only)
            bake_group(program, filter, &seccomp_groups[g], target, machine);
    }
    append(program, filter, seccomp_machines[machine].audit_arch);
    seccomp_release(filter);
}

static void print(FILE *out, const struct program *program, unsigned machine, const char *name)
{
    (void) fprintf(out, "static const struct sock_filter seccomp_baked_%s_%s[] = {\n",
                   seccomp_machines[machine].name, name);
    for (size_t i = 0; i < program->count; i++) {
        const struct sock_filter *line = &program->code[i];

        (void) fprintf(out, "    {0x%02x, %u, %u, 0x%08x},\n", (unsigned) line->code,
                       (unsigned) line->jt, (unsigned) line->jf, line->k);
    }
    (void) fputs("};\n", out);
}

int main(int argc, char **argv)
{
    static struct program program;
    FILE *out;

    if (argc != 2)
        die("usage: bake-filter OUTPUT");
    for (size_t g = 0; g < COUNT(seccomp_groups); g++)
        check_group(seccomp_groups, g);
    for (size_t g = 0; g < COUNT(seccomp_guard_groups); g++)
        check_group(seccomp_guard_groups, g);
    out = fopen(argv[1], "we");
    if (out == NULL)
        die("cannot write %s", argv[1]);
    (void) fputs("/* Made by tools/bake-filter.c of src/fence/native/seccomp_table.h. */\n"
                 "#include <linux/filter.h>\n",
                 out);
    for (unsigned machine = 0; machine < SECCOMP_MACHINES; machine++) {
        for (size_t i = 0; i < COUNT(targets); i++) {
            (void) fputc('\n', out);
            bake(&program, &targets[i], machine);
            print(out, &program, machine, targets[i].name);
        }
    }
    if (ferror(out) || fclose(out) != 0)
        die("cannot write %s", argv[1]);
    return 0;
}
