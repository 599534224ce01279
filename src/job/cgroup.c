/* A cgroup of version 2 for the job, where a part of the tree was delegated to us.
 * Source: Documentation/admin-guide/cgroup-v2.rst, "Delegation" and "No Internal Process". */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "job/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_FLAGS = O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW };
#define FILE_LIMIT_BYTES 16384

/* The path after "0::" in /proc/self/cgroup: ours in the version 2 tree. */
static int find_own_path(char *path, size_t size)
{
    AUTO(buf_free) struct buf text = {0};
    const char *line;
    size_t length;
    int r;

    buf_init(&text, FILE_LIMIT_BYTES);
    r = fd_read_file(AT_FDCWD, "/proc/self/cgroup", &text);
    if (r < 0)
        return r;
    line = str_starts(text.bytes, "0::") ? text.bytes : strstr(text.bytes, "\n0::");
    if (line == NULL)
        return -ENOENT;
    line = strchr(line, '/');
    length = line == NULL ? 0 : strcspn(line, "\n");
    if (length == 0 || length >= size)
        return -ENOENT;
    memcpy(path, line, length);
    path[length] = '\0';
    return 0;
}

static int open_own(char *path, size_t size)
{
    static const char *const tops[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char own[256];
    const int r = find_own_path(own, sizeof own);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
        AUTO_CLOSE int fd = -1;

        (void) snprintf(path, size, "%s%s", tops[i], str_equal(own, "/") ? "" : own);
        fd = open(path, FOLDER_FLAGS);
        if (fd >= 0 && faccessat(fd, "cgroup.procs", F_OK, 0) == 0)
            return TAKE_FD(fd);
    }
    return -ENOENT;
}

static bool has_word(int dir_fd, const char *file, const char *word)
{
    AUTO(buf_free) struct buf text = {0};
    const size_t length = strlen(word);

    buf_init(&text, FILE_LIMIT_BYTES);
    if (fd_read_file(dir_fd, file, &text) < 0)
        return false;
    for (const char *at = text.bytes; (at = strstr(at, word)) != NULL; at += length) {
        const bool starts = at == text.bytes || at[-1] == ' ';

        if (starts && (at[length] == ' ' || at[length] == '\n' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* A group that holds processes cannot hand controllers down: then we move into one of our own. */
static void hand_down(int own_fd, const char *controller)
{
    char text[32];

    if (has_word(own_fd, "cgroup.subtree_control", controller))
        return;
    (void) snprintf(text, sizeof text, "+%s", controller);
    if (fd_put(own_fd, "cgroup.subtree_control", text) != -EBUSY)
        return;
    if (mkdirat(own_fd, "wattle-supervisor", 0700) < 0 && errno != EEXIST)
        return;
    if (fd_put(own_fd, "wattle-supervisor/cgroup.procs", "0") == 0)
        (void) fd_put(own_fd, "cgroup.subtree_control",
                      text); /* seen by what the job's group has */
}

static bool put_number(int fd, const char *file, uint64_t value)
{
    char text[32];

    (void) snprintf(text, sizeof text, "%llu", (unsigned long long) value);
    return fd_put(fd, file, text) == 0;
}

static void set_bounds(struct run_cgroup *cgroup, const struct policy_limits *limits)
{
    if (limits->memory_bytes != 0 && put_number(cgroup->fd, "memory.max", limits->memory_bytes)) {
        /* Swap would only delay the bound; a kernel without swap accounting has no such file. */
        (void) put_number(cgroup->fd, "memory.swap.max", 0);
        (void) fd_put(cgroup->fd, "memory.oom.group", "1");
        cgroup->memory = true;
    }
    if (limits->processes != 0)
        cgroup->pids = put_number(cgroup->fd, "pids.max", limits->processes);
}

/* Fewer processes than kernel.pid_max can say (RESERVED_PIDS, kernel/pid.c). RLIMIT_NPROC can, but
 * does not bind root. */
#define LEAST_PID_MAX 301

/* The pid namespace's own bound costs nothing; a group is made where that is not enough. */
static bool pids_need_group(const struct policy_limits *limits, unsigned weak)
{
    return (weak & FENCE_WEAK_PROCESSES_NONE) != 0 ||
           (geteuid() == 0 && limits->processes < LEAST_PID_MAX);
}

static void make_group(struct run_cgroup *cgroup, const struct policy_limits *limits,
                       const char *id)
{
    char own[400];
    AUTO_CLOSE int own_fd = open_own(own, sizeof own);
    AUTO_CLOSE int fd = -1;
    bool memory, pids;

    if (own_fd < 0)
        return;
    memory = limits->memory_bytes != 0 && has_word(own_fd, "cgroup.controllers", "memory");
    pids = has_word(own_fd, "cgroup.controllers", "pids");
    if ((!memory && !pids) || mkdirat(own_fd, id, 0700) < 0)
        return;
    if (memory)
        hand_down(own_fd, "memory");
    if (pids)
        hand_down(own_fd, "pids");
    fd = openat(own_fd, id, FOLDER_FLAGS);
    (void) snprintf(cgroup->path, sizeof cgroup->path, "%s/%s", own, id);
    if (fd < 0)
        return;
    cgroup->fd = TAKE_FD(fd);
    set_bounds(cgroup, limits);
}

static int check_pids(const struct run_cgroup *cgroup, const struct policy_limits *limits,
                      struct err *err)
{
    if (cgroup->pids || limits->processes == 0 || geteuid() != 0 ||
        limits->processes >= LEAST_PID_MAX)
        return 0;
    (void) err_set(err, ENOTSUP, "job.pids-too-few",
                   "the kernel bounds root to no fewer than %d processes without a cgroup",
                   LEAST_PID_MAX);
    return err_hint(err, "give at least that many, or run wattle as an ordinary user");
}

static int check_memory(const struct run_cgroup *cgroup, const struct policy *policy,
                        struct err *err)
{
    const uint64_t wanted = policy_get_limits(policy)->memory_bytes;

    if (cgroup->memory || (wanted == 0 && !(policy_required(policy) & POLICY_REQUIRE_MEMORY)))
        return 0;
    if (wanted == 0) {
        (void) err_set(err, EINVAL, "job.memory-not-set",
                       "your configuration requires a bound on memory, and none is set");
        return err_hint(err, "set wattle.limits.memory, or give --memory");
    }
    (void) err_set(
        err, ENOTSUP, "job.memory-none",
        "memory cannot be bounded: no cgroup with a memory controller is delegated to you");
    return err_hint(err,
                    "start it with 'systemd-run --user --scope -p Delegate=yes wattle run ...', "
                    "or leave out --memory");
}

int run_cgroup_make(struct run_cgroup *cgroup, const struct policy *policy, unsigned weak,
                    const char *id, struct err *err)
{
    const struct policy_limits *limits = policy_get_limits(policy);
    int r;

    *cgroup = (struct run_cgroup){.fd = -1};
    if (limits->memory_bytes != 0 || pids_need_group(limits, weak))
        make_group(cgroup, limits, id);
    r = check_memory(cgroup, policy, err);
    if (r == 0)
        r = check_pids(cgroup, limits, err);
    if (r == 0 && cgroup->fd >= 0 && !cgroup->memory && !cgroup->pids)
        run_cgroup_remove(cgroup); /* bounds nothing: do without */
    if (r < 0)
        run_cgroup_remove(cgroup);
    return r;
}

void run_cgroup_remove(struct run_cgroup *cgroup)
{
    if (cgroup->path[0] != '\0')
        (void) rmdir(cgroup->path); /* empty by now; else the next sweep does it */
    cgroup->path[0] = '\0';
    cleanup_close(&cgroup->fd);
}
