/* What a job may not ask of the kernel: the one table the filters are made of. Layer 2, data only.
 *
 * tools/bake-filter.c turns it into bytes when wattle is built; seccomp.h loads the bytes;
 * tests/unit/test_seccomp.c holds the bytes against a list of its own, call by call;
 * tools/check-syscalls.py holds the numbers here against the kernel headers of the machine.
 *
 * How to read it. A call without a row is allowed. The rows of one call are read in order, and the
 * first one whose tests all hold decides: the call answers the errno of its group, or goes on when
 * the row says `allow`. A call no row of which holds is allowed.
 *
 * It lists what is refused, not what is allowed, because namespaces, mounts and Landlock are the
 * boundary: the filter closes what these leave open and keeps rarely used kernel code out of reach,
 * while compilers, debuggers and package managers need nearly everything else. What a later kernel
 * brings is refused all the same: a number that is not among those known here answers ENOSYS.
 *
 * A second table below, seccomp_guard_groups, is what the guard (fence/guard/guard.h) adds: its
 * groups may hand a call to the guard instead of refusing it. A guarded command wears one filter
 * made of both tables, in which the rows here are read first, so that a refusal wins: two filters
 * would take twice as long to load, and at each call.
 *
 * Tests see the low 32 bits of an argument alone. Every argument tested here is an int, an unsigned
 * int or a umode_t (of clone's flags the kernel reads the low half), so the kernel drops the high
 * half: a test that compared all 64 bits would be passed by setting one of those. */
#ifndef WATTLE_FENCE_NATIVE_SECCOMP_TABLE_H
#define WATTLE_FENCE_NATIVE_SECCOMP_TABLE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { SECCOMP_X86_64, SECCOMP_AARCH64, SECCOMP_MACHINES };

/* The call numbers of one processor that were read for this table: all up to Linux 6.18. The gaps
 * count: x86-64 has lately been given numbers (335, 336) in the middle of its own. */
struct seccomp_machine {
    const char *name;
    uint32_t audit_arch;
    struct {
        uint16_t first, last;
    } known[3]; /* ascending; ends with 0, 0 */
};

static const struct seccomp_machine seccomp_machines[SECCOMP_MACHINES] = {
    {"x86_64", AUDIT_ARCH_X86_64, {{0, 336}, {424, 469}}},
    {"aarch64", AUDIT_ARCH_AARCH64, {{0, 243}, {260, 294}, {424, 469}}},
};

enum seccomp_test_kind {
    SECCOMP_TEST_NONE,
    SECCOMP_TEST_MASKED, /* (argument & mask) == value */
    SECCOMP_TEST_ANY,    /* (argument & mask) != 0 */
};

struct seccomp_test {
    enum seccomp_test_kind kind;
    unsigned argument;
    uint32_t mask;
    uint32_t value;
};

/* How rows are written. */
#define CALL(name, x86_64, aarch64) .call = name, .number = {x86_64, aarch64}
#define IF(...) .tests = {__VA_ARGS__}
#define EQUALS(argument, value)                                                                    \
    {                                                                                              \
        SECCOMP_TEST_MASKED, argument, UINT32_MAX, value                                           \
    }
#define MASKED(argument, mask, value)                                                              \
    {                                                                                              \
        SECCOMP_TEST_MASKED, argument, mask, value                                                 \
    }
#define ANY_OF(argument, mask)                                                                     \
    {                                                                                              \
        SECCOMP_TEST_ANY, argument, mask, 0                                                        \
    }

#define SECCOMP_NO_CALL (-1) /* this processor has no such call */
#define SECCOMP_TESTS_MAX 2
#define SECCOMP_RULES_MAX 20

struct seccomp_rule {
    const char *call; /* NULL ends a group */
    int16_t number[SECCOMP_MACHINES];
    struct seccomp_test tests[SECCOMP_TESTS_MAX]; /* all must hold */
    bool allow;
};

struct seccomp_group {
    const char *why;
    int error;         /* errno */
    bool command_only; /* worn by the command, not by pid 1 */
    bool notify;       /* the guard performs the call; `error` means nothing */
    struct seccomp_rule rules[SECCOMP_RULES_MAX];
};

/* Numbers and bits that the C library's headers do not all have. */
#define CALL_SET_ID (S_ISUID | S_ISGID)
#define CALL_MAKES_FILE (O_CREAT | 020000000) /* the second is the kernel's __O_TMPFILE */
#define CALL_NEW_NAMESPACE                                                                         \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET) /* not CLONE_NEWTIME: 0x80 is part of the exit signal in clone's flags */
#define CALL_UNSHARES_NO_NAMESPACE (CLONE_FS | CLONE_FILES | CLONE_SYSVSEM)
#define CALL_TIOCLINUX 0x541c
#define CALL_SOCK_TYPE 0xf
#define CALL_SOCK_PACKET 10
#define CALL_PERSONALITY_QUERY UINT32_MAX
#define CALL_F_SETLEASE 1024u
#define CALL_F_NOTIFY 1026u
#define CALL_F_SETDELEG 1040u /* since 6.19, also for folders */
#define CALL_WRITES_FILE (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)
#define CALL_BTRFS_SNAP_CREATE 0x50009401u
#define CALL_BTRFS_SUBVOL_CREATE 0x5000940eu
#define CALL_BTRFS_SNAP_CREATE_V2 0x50009417u
#define CALL_BTRFS_SUBVOL_CREATE_V2 0x50009418u
#define CALL_BTRFS_SNAP_DESTROY 0x5000940fu
#define CALL_BTRFS_SNAP_DESTROY_V2 0x5000943fu
#define CALL_BTRFS_SUBVOL_SETFLAGS 0x4008941au
#define CALL_SETFLAGS 0x40086602u       /* FS_IOC_SETFLAGS */
#define CALL_SETXATTR_FLAGS 0x401c5820u /* FS_IOC_FSSETXATTR */
#define CALL_ENABLE_VERITY 0x40806685u
#define CALL_SET_ENCRYPTION_POLICY 0x800c6613u
#define CALL_ADD_ENCRYPTION_KEY 0xc0506617u
#define CALL_REMOVE_ENCRYPTION_KEY 0xc0406618u
#define CALL_REMOVE_ENCRYPTION_KEYS 0xc0406619u /* of all users */

#define NONE SECCOMP_NO_CALL

static const struct seccomp_group seccomp_groups[] = {
    {
        .why = "mounts: what the fence shows and hides is built of them",
        .error = EPERM,
        .rules =
            {
                {CALL("mount", 165, 40)},
                {CALL("umount2", 166, 39)},
                {CALL("pivot_root", 155, 41)},
                {CALL("chroot", 161, 51)},
                {CALL("open_tree", 428, 428)},
                {CALL("move_mount", 429, 429)},
                {CALL("fsopen", 430, 430)},
                {CALL("fsconfig", 431, 431)},
                {CALL("fsmount", 432, 432)},
                {CALL("fspick", 433, 433)},
                {CALL("mount_setattr", 442, 442)},
                {CALL("open_tree_attr", 467, 467)},
            },
    },
    {
        .why = "namespaces: in one of its own a job has every capability, and with them most of "
               "the kernel's seldom used code",
        .error = EPERM,
        .rules =
            {
                {CALL("unshare", 272, 97), IF(MASKED(0, ~(uint32_t) CALL_UNSHARES_NO_NAMESPACE, 0)),
                 .allow = true},
                {CALL("unshare", 272, 97)},
                {CALL("setns", 308, 268)},
                {CALL("clone", 56, 220), IF(ANY_OF(0, CALL_NEW_NAMESPACE))},
            },
    },
    {
        .why = "clone3 takes its flags in memory, where no filter can read them; callers fall "
               "back to clone",
        .error = ENOSYS,
        .rules = {{CALL("clone3", 435, 435)}},
    },
    {
        .why = "openat2 takes its mode in memory as well and could make a set-id file; callers "
               "fall back to openat. pid 1 keeps it for the files it handles",
        .error = ENOSYS,
        .command_only = true,
        .rules = {{CALL("openat2", 437, 437)}},
    },
    {
        .why = "io_uring does files and sockets without passing a filter; callers fall back",
        .error = ENOSYS,
        .rules =
            {
                {CALL("io_uring_setup", 425, 425)},
                {CALL("io_uring_enter", 426, 426)},
                {CALL("io_uring_register", 427, 427)},
            },
    },
    {
        .why = "key rings of the session and of the user are shared with the host",
        .error = EPERM,
        .rules =
            {
                {CALL("add_key", 248, 217)},
                {CALL("request_key", 249, 218)},
                {CALL("keyctl", 250, 219)},
            },
    },
    {
        .why = "files by handle, views of the whole machine, and the parts of the kernel with the "
               "longest record of holes. name_to_handle_at needs no row: a handle is of no use "
               "without open_by_handle_at, and some programs compare them",
        .error = EPERM,
        .rules =
            {
                {CALL("open_by_handle_at", 304, 265)},
                {CALL("fanotify_init", 300, 262)},
                {CALL("fanotify_mark", 301, 263)},
                {CALL("bpf", 321, 280)},
                {CALL("perf_event_open", 298, 241)},
                {CALL("userfaultfd", 323, 282)},
                {CALL("kcmp", 312, 272)},
                {CALL("modify_ldt", 154, NONE)},
                {CALL("move_pages", 279, 239)},
                {CALL("migrate_pages", 256, 238)},
                {CALL("mbind", 237, 235)},
                {CALL("set_mempolicy", 238, 237)},
                {CALL("set_mempolicy_home_node", 450, 450)},
                {CALL("lsm_set_self_attr", 460, 460)},
            },
    },
    {
        .why = "the machine: kernel, modules, swap, accounting, quotas",
        .error = EPERM,
        .rules =
            {
                {CALL("kexec_load", 246, 104)},
                {CALL("kexec_file_load", 320, 294)},
                {CALL("init_module", 175, 105)},
                {CALL("finit_module", 313, 273)},
                {CALL("delete_module", 176, 106)},
                {CALL("swapon", 167, 224)},
                {CALL("swapoff", 168, 225)},
                {CALL("reboot", 169, 142)},
                {CALL("acct", 163, 89)},
                {CALL("quotactl", 179, 60)},
                {CALL("quotactl_fd", 443, 443)},
            },
    },
    {
        .why = "the machine: clock, name, ports, kernel log, console",
        .error = EPERM,
        .rules =
            {
                {CALL("settimeofday", 164, 170)},
                {CALL("clock_settime", 227, 112)},
                {CALL("sethostname", 170, 161)},
                {CALL("setdomainname", 171, 162)},
                {CALL("iopl", 172, NONE)},
                {CALL("ioperm", 173, NONE)},
                {CALL("syslog", 103, 116)},
                {CALL("vhangup", 153, 58)},
            },
    },
    {
        .why =
            "terminals: typing into one that somebody else reads, or taking the console. And keys "
            "of encrypted folders, for which a descriptor for reading is enough: a job could "
            "hide names in a folder from the guard, or lock the owner's",
        .error = EPERM,
        .rules =
            {
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_SET_ENCRYPTION_POLICY))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_ADD_ENCRYPTION_KEY))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_REMOVE_ENCRYPTION_KEY))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_REMOVE_ENCRYPTION_KEYS))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, TIOCSTI))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_TIOCLINUX))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, TIOCCONS))},
            },
    },
    {
        .why = "sockets: unix, IPv4, IPv6 and routing tables have a namespace of the job's own; "
               "others, as AF_VSOCK, have none, or are code for which no job has a use. AF_INET "
               "with the old type SOCK_PACKET is AF_PACKET to the kernel",
        .error = EAFNOSUPPORT,
        .rules =
            {
                {CALL("socket", 41, 198),
                 IF(EQUALS(0, AF_INET), MASKED(1, CALL_SOCK_TYPE, CALL_SOCK_PACKET))},
                {CALL("socket", 41, 198), IF(EQUALS(0, AF_UNIX)), .allow = true},
                {CALL("socket", 41, 198), IF(EQUALS(0, AF_INET)), .allow = true},
                {CALL("socket", 41, 198), IF(EQUALS(0, AF_INET6)), .allow = true},
                {CALL("socket", 41, 198), IF(EQUALS(0, AF_NETLINK), EQUALS(2, 0)), .allow = true},
                {CALL("socket", 41, 198)},
                {CALL("socketpair", 53, 199), IF(EQUALS(0, AF_UNIX)), .allow = true},
                {CALL("socketpair", 53, 199)},
            },
    },
    {
        .why = "READ_IMPLIES_EXEC makes every page executable, also in programs started later",
        .error = EPERM,
        .rules =
            {
                {CALL("personality", 135, 92), IF(EQUALS(0, CALL_PERSONALITY_QUERY)),
                 .allow = true},
                {CALL("personality", 135, 92), IF(ANY_OF(0, READ_IMPLIES_EXEC))},
            },
    },
    {
        .why = "set-id bits: a file made in the pen is one on the host. mkdir needs no row, the "
               "kernel takes no such bit from it; without O_CREAT the mode of open means nothing",
        .error = EPERM,
        .rules =
            {
                {CALL("chmod", 90, NONE), IF(ANY_OF(1, CALL_SET_ID))},
                {CALL("fchmod", 91, 52), IF(ANY_OF(1, CALL_SET_ID))},
                {CALL("fchmodat", 268, 53), IF(ANY_OF(2, CALL_SET_ID))},
                {CALL("fchmodat2", 452, 452), IF(ANY_OF(2, CALL_SET_ID))},
                {CALL("creat", 85, NONE), IF(ANY_OF(1, CALL_SET_ID))},
                {CALL("open", 2, NONE), IF(ANY_OF(1, CALL_MAKES_FILE), ANY_OF(2, CALL_SET_ID))},
                {CALL("openat", 257, 56), IF(ANY_OF(2, CALL_MAKES_FILE), ANY_OF(3, CALL_SET_ID))},
                {CALL("mknod", 133, NONE), IF(ANY_OF(1, CALL_SET_ID))},
                {CALL("mknodat", 259, 33), IF(ANY_OF(2, CALL_SET_ID))},
            },
    },
    {
        .why = "a lease makes whoever opens the file to write, of the owner's programs as well, "
               "wait for the job. Answered as by a file system that has none: who serves files to "
               "others does without. dnotify came before inotify, and nothing of today uses it",
        .error = EINVAL,
        .rules =
            {
                {CALL("fcntl", 72, 25), IF(EQUALS(1, CALL_F_SETLEASE))},
                {CALL("fcntl", 72, 25), IF(EQUALS(1, CALL_F_NOTIFY))},
                {CALL("fcntl", 72, 25), IF(EQUALS(1, CALL_F_SETDELEG))},
            },
    },
    {
        .why = "calls of the past: gone from today's kernels, or of no use to a program of today",
        .error = ENOSYS,
        .rules =
            {
                {CALL("uselib", 134, NONE)},
                {CALL("ustat", 136, NONE)},
                {CALL("sysfs", 139, NONE)},
                {CALL("_sysctl", 156, NONE)},
                {CALL("create_module", 174, NONE)},
                {CALL("get_kernel_syms", 177, NONE)},
                {CALL("query_module", 178, NONE)},
                {CALL("nfsservctl", 180, 42)},
                {CALL("lookup_dcookie", 212, 18)},
            },
    },
};

/* Of a command whose names are guarded, besides the rows above. Every call that makes a name, takes
 * one away, opens a file for writing or changes a mode goes to the guard, which performs it. open
 * comes first: it is asked most. */
static const struct seccomp_group seccomp_guard_groups[] = {
    {
        .why = "opens that make or change a file. O_PATH does neither, whatever else is set",
        .notify = true,
        .rules =
            {
                {CALL("openat", 257, 56), IF(ANY_OF(2, O_PATH)), .allow = true},
                {CALL("openat", 257, 56), IF(ANY_OF(2, CALL_WRITES_FILE))},
                {CALL("open", 2, NONE), IF(ANY_OF(1, O_PATH)), .allow = true},
                {CALL("open", 2, NONE), IF(ANY_OF(1, CALL_WRITES_FILE))},
                {CALL("creat", 85, NONE)},
                {CALL("truncate", 76, 45)},
            },
    },
    {
        .why = "names that are made, moved or taken away",
        .notify = true,
        .rules =
            {
                {CALL("mkdir", 83, NONE)},
                {CALL("mkdirat", 258, 34)},
                {CALL("mknod", 133, NONE)},
                {CALL("mknodat", 259, 33)},
                {CALL("symlink", 88, NONE)},
                {CALL("symlinkat", 266, 36)},
                {CALL("link", 86, NONE)},
                {CALL("linkat", 265, 37)},
                {CALL("rename", 82, NONE)},
                {CALL("renameat", 264, 38)},
                {CALL("renameat2", 316, 276)},
                {CALL("unlink", 87, NONE)},
                {CALL("unlinkat", 263, 35)},
                {CALL("rmdir", 84, NONE)},
                {CALL("bind", 49, 200)},
            },
    },
    {
        .why = "modes: a hook that is not executable does not run",
        .notify = true,
        .rules =
            {
                {CALL("chmod", 90, NONE)},
                {CALL("fchmod", 91, 52)},
                {CALL("fchmodat", 268, 53)},
                {CALL("fchmodat2", 452, 452)},
            },
    },
    {
        .why = "an access list is a mode, too, and is set as an extended attribute",
        .notify = true,
        .rules =
            {
                {CALL("setxattr", 188, 5)},
                {CALL("lsetxattr", 189, 6)},
                {CALL("fsetxattr", 190, 7)},
                {CALL("setxattrat", 463, 463)},
                {CALL("removexattr", 197, 14)},
                {CALL("lremovexattr", 198, 15)},
                {CALL("fremovexattr", 199, 16)},
                {CALL("removexattrat", 466, 466)},
            },
    },
    {
        .why = "the guard performs outside of a domain that a program puts on itself, and would "
               "give it more than it wants to have",
        .error = EPERM,
        .rules = {{CALL("landlock_restrict_self", 446, 446)}},
    },
    {
        .why = "limits of other processes: those of the guard would make its calls fail",
        .error = EPERM,
        .rules =
            {
                {CALL("prlimit64", 302, 261), IF(EQUALS(0, 0)), .allow = true},
                {CALL("prlimit64", 302, 261)},
            },
    },
    {
        .why = "btrfs makes and removes names by ioctl; flags make names of another case the same; "
               "verity seals a file by a descriptor for reading",
        .error = EPERM,
        .rules =
            {
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_BTRFS_SNAP_CREATE))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_BTRFS_SUBVOL_CREATE))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_BTRFS_SNAP_CREATE_V2))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_BTRFS_SUBVOL_CREATE_V2))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_BTRFS_SNAP_DESTROY))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_BTRFS_SNAP_DESTROY_V2))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_BTRFS_SUBVOL_SETFLAGS))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_SETFLAGS))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_SETXATTR_FLAGS))},
                {CALL("ioctl", 16, 29), IF(EQUALS(1, CALL_ENABLE_VERITY))},
            },
    },
};

#undef CALL
#undef IF
#undef EQUALS
#undef MASKED
#undef ANY_OF
#undef NONE

#endif
