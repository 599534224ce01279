/* deny_syscall NAME[/MASK|//MASK][:ERRNO] ... -- COMMAND [ARGUMENT...]
 *
 * Runs a command for which some system calls answer an errno (ENOSYS unless said), as an older or
 * a stricter kernel would. With /MASK only calls whose first argument has all bits of MASK set;
 * with
 * //MASK it is the second argument.
 *
 *   deny_syscall clone3 clone/0x10000000:EPERM -- wattle run -- true     no user namespaces
 *   deny_syscall seccomp//0x20:EINVAL -- wattle run -- true              no killable listeners */
#include "helper.h"

#include <seccomp.h>

#define USAGE "deny_syscall NAME[/MASK|//MASK][:ERRNO] ... -- COMMAND [ARGUMENT...]"

static const struct errno_name {
    const char *name;
    int value;
} errno_names[] = {
    {"ENOSYS", ENOSYS},         {"EPERM", EPERM},   {"EACCES", EACCES},
    {"EINVAL", EINVAL},         {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN},
    {"EOPNOTSUPP", EOPNOTSUPP}, {"ENOSPC", ENOSPC}, {"EUSERS", EUSERS},
    {"EMFILE", EMFILE},         {"EIO", EIO},       {"ENODEV", ENODEV},
};

static int errno_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof errno_names / sizeof errno_names[0]; i++) {
        if (strcmp(errno_names[i].name, name) == 0)
            return errno_names[i].value;
    }
    errx(HELPER_FAILED, "unknown errno '%s'", name);
}

/* Cuts `text` at `mark` and returns what follows, or NULL. */
static char *cut(char *text, char mark)
{
    char *found = strchr(text, mark);

    if (found == NULL)
        return NULL;
    *found = '\0';
    return found + 1;
}

static void add_rule(scmp_filter_ctx filter, char *text)
{
    const char *answer = cut(text, ':');
    const char *mask_text = cut(text, '/');
    uint32_t action = SCMP_ACT_ERRNO((uint32_t) (answer ? errno_by_name(answer) : ENOSYS));
    int number = seccomp_syscall_resolve_name(text);
    int failed;

    if (number == __NR_SCMP_ERROR)
        errx(HELPER_FAILED, "unknown system call '%s'", text);
    if (mask_text == NULL) {
        failed = seccomp_rule_add(filter, action, number, 0);
    } else {
        const unsigned second = mask_text[0] == '/';
        unsigned long mask = helper_number(mask_text + second);

        failed = seccomp_rule_add(filter, action, number, 1,
                                  SCMP_CMP(second, SCMP_CMP_MASKED_EQ, mask, mask));
    }
    if (failed != 0)
        errx(HELPER_FAILED, "rule for '%s': %s", text, strerror(-failed));
}

int main(int argc, char **argv)
{
    int command = helper_command(argc, argv, USAGE);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int failed;

    if (filter == NULL)
        errx(HELPER_FAILED, "seccomp_init");
    for (int i = 1; i < command - 1; i++)
        add_rule(filter, argv[i]);
    failed = seccomp_load(filter);
    if (failed != 0)
        errx(HELPER_FAILED, "seccomp_load: %s", strerror(-failed));
    seccomp_release(filter);
    helper_exec(argv + command);
}
