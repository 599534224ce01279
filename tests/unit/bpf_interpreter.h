/* Runs a seccomp filter as the kernel would: the few instructions that ours are made of. */
#ifndef WATTLE_TESTS_BPF_INTERPRETER_H
#define WATTLE_TESTS_BPF_INTERPRETER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BPF_ALLOWED 0
#define BPF_NOTIFIED 4096 /* handed to the guard; no errno is that large */
#define BPF_BROKEN (-1)   /* nothing the kernel would take, or an answer ours never give */

struct bpf_program {
    const struct sock_filter *code;
    size_t count;
};

static inline bool bpf_load(const struct seccomp_data *data, uint32_t offset, uint32_t *ret)
{
    if (offset % sizeof *ret != 0 || offset > sizeof *data - sizeof *ret)
        return false;
    memcpy(ret, (const char *) data + offset, sizeof *ret);
    return true;
}

static inline bool bpf_jumps(const struct sock_filter *line, uint32_t accumulator)
{
    switch (BPF_OP(line->code)) {
    case BPF_JEQ:
        return accumulator == line->k;
    case BPF_JGT:
        return accumulator > line->k;
    case BPF_JGE:
        return accumulator >= line->k;
    default:
        return (accumulator & line->k) != 0;
    }
}

/* The errno a call answers, BPF_ALLOWED, BPF_NOTIFIED or BPF_BROKEN. */
static inline int bpf_verdict(uint32_t answer)
{
    if (answer == SECCOMP_RET_ALLOW)
        return BPF_ALLOWED;
    if (answer == SECCOMP_RET_USER_NOTIF)
        return BPF_NOTIFIED;
    if ((answer & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO)
        return BPF_BROKEN;
    return (int) (answer & SECCOMP_RET_DATA);
}

static inline int bpf_interpret(const struct bpf_program *program, const struct seccomp_data *data)
{
    uint32_t accumulator = 0;

    for (size_t at = 0; at < program->count; at++) {
        const struct sock_filter *line = &program->code[at];

        switch (line->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (!bpf_load(data, line->k, &accumulator))
                return BPF_BROKEN;
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            accumulator &= line->k;
            break;
        case BPF_RET | BPF_K:
            return bpf_verdict(line->k);
        case BPF_JMP | BPF_JA:
            at += line->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
        case BPF_JMP | BPF_JGT | BPF_K:
        case BPF_JMP | BPF_JGE | BPF_K:
        case BPF_JMP | BPF_JSET | BPF_K:
            at += bpf_jumps(line, accumulator) ? line->jt : line->jf;
            break;
        default:
            return BPF_BROKEN;
        }
    }
    return BPF_BROKEN; /* ran past the end */
}

/* What the kernel asks of a program before it takes it: every way ends in an answer. */
static inline bool bpf_is_well_formed(const struct bpf_program *program)
{
    if (program->count == 0 || program->count > BPF_MAXINSNS ||
        BPF_CLASS(program->code[program->count - 1].code) != BPF_RET)
        return false;
    for (size_t at = 0; at < program->count; at++) {
        const struct sock_filter *line = &program->code[at];
        const size_t room = program->count - at - 1;

        if (BPF_CLASS(line->code) == BPF_RET && bpf_verdict(line->k) == BPF_BROKEN)
            return false;
        if (BPF_CLASS(line->code) != BPF_JMP)
            continue;
        if (BPF_OP(line->code) == BPF_JA ? line->k >= room : line->jt >= room || line->jf >= room)
            return false;
    }
    return true;
}

#endif
