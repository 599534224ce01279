#include "perform_world.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534
#define WRITES                                                                                     \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

bool __wrap_guard_is_waiting(const struct guard *guard, uint64_t id);
void __wrap_guard_answer(const struct guard *guard, uint64_t id, int64_t value, int error);
void __wrap_guard_answer_fd(const struct guard *guard, uint64_t id, int fd, bool cloexec);
int __wrap_guard_open_later(struct guard_call *call, int fd, unsigned flags);

bool __wrap_guard_is_waiting(const struct guard *guard, uint64_t id)
{
    (void) guard;
    (void) id;
    return true;
}

void __wrap_guard_answer(const struct guard *guard, uint64_t id, int64_t value, int error)
{
    (void) guard;
    (void) id;
    (void) value;
    (void) error;
}

void __wrap_guard_answer_fd(const struct guard *guard, uint64_t id, int fd, bool cloexec)
{
    (void) guard;
    (void) id;
    (void) cloexec;
    (void) close(fd);
}

/* What would wait for another side. */
int __wrap_guard_open_later(struct guard_call *call, int fd, unsigned flags)
{
    (void) call;
    (void) flags;
    (void) close(fd);
    return -EAGAIN;
}

static const struct op {
    char letter;
    struct guard_row row;
} ops[] = {
    {'o', {.name = "open", .gives_fd = true, .perform = guard_perform_open}},
    {'d', {.name = "mkdir", .perform = guard_perform_make}},
    {'n', {.name = "mknod", .perform = guard_perform_make}},
    {'s', {.name = "symlink", .perform = guard_perform_make}},
    {'l', {.name = "link", .perform = guard_perform_link}},
    {'r', {.name = "rename", .perform = guard_perform_rename}},
    {'u', {.name = "unlink", .perform = guard_perform_unlink}},
    {'c', {.name = "chmod", .perform = guard_perform_chmod}},
    {'t', {.name = "truncate", .perform = guard_perform_truncate}},
};

struct perform_world world;

void perform_expect(bool ok, const char *what)
{
    if (ok)
        return;
    (void) fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- the folder -------------------------------------------------------------------------------
 */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void) status;
    (void) type;
    if (where->level > 0)
        (void) remove(path);
    return 0;
}

void perform_make_folders(void)
{
    static const char *const folders[] = {"a",   "a/b",     ".git",        ".git/hooks",
                                          ".hg", ".claude", ".git/modules"};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        (void) mkdirat(world.top_fd, folders[i], 0755);
}

void perform_fresh_tree(void)
{
    static const char *const files[] = {"file", "a/f", ".git/HEAD"};

    (void) nftw(world.top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    perform_make_folders();
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        (void) close(openat(world.top_fd, files[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static int check_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    static const char *const never[] = {"/.hg/hgrc", "/.hg/sharedpath", "/.git/commondir",
                                        "/.claude/settings.json"};
    const char *hooks = strcasestr(path, "/.git/hooks/");
    const size_t size = strlen(path);

    (void) status;
    (void) type;
    for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
        const size_t length = strlen(never[i]);

        perform_expect(size < length || strcasecmp(path + size - length, never[i]) != 0, path);
    }
    perform_expect(hooks == NULL || (size > 7 && strcmp(path + size - 7, ".sample") == 0), path);
    perform_expect(where->level != 1 || strcasecmp(path + where->base, ".envrc") != 0, path);
    return 0;
}

unsigned perform_count_descriptors(void)
{
    AUTO_CLOSEDIR DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    return count;
}

/* ---- the world --------------------------------------------------------------------------------
 */

static int confine(void)
{
    const struct landlock_ruleset_attr all = {.handled_access_fs = WRITES};
    const int ruleset = (int) syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    struct landlock_path_beneath_attr beneath = {.allowed_access = WRITES};
    int r = -1;

    if (ruleset < 0)
        return -1;
    beneath.parent_fd = open(world.top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0 &&
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        r = (int) syscall(SYS_landlock_restrict_self, ruleset, 0);
    (void) close(beneath.parent_fd);
    (void) close(ruleset);
    return r;
}

static void end_world(void)
{
    (void) kill(world.task, SIGKILL);
    (void) nftw(world.top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void) rmdir(world.top);
}

static int make_locks(void)
{
    char path[] = "/tmp/wattle-lock-XXXXXX";
    const int first = mkostemp(path, O_CLOEXEC);

    for (size_t i = 0; i < GUARD_LOCKS; i++)
        world.guard.settings.lock_fds[i] = open(path, O_RDWR | O_CLOEXEC);
    (void) close(first);
    return unlink(path);
}

/* The task begins in the folder. The fuzzer stays where it is: it has yet to read its corpus. */
static void start_task(void)
{
    AUTO_CLOSE int here_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    perform_expect(chdir(world.top) == 0, "no folder");
    world.task = fork();
    if (world.task == 0) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            (void) pause();
    }
    perform_expect(world.task > 0 && fchdir(here_fd) == 0, "no task");
}

/* The lock's file is on a file system that keeps its blocks, so that there is a board. */
static void set_up_calls(void)
{
    for (size_t i = 0; i < GUARD_THREADS; i++) {
        struct guard_call *call = &world.guard.calls[i];

        call->guard = &world.guard;
        call->lock.fd = world.guard.settings.lock_fds[i];
        call->umask_now = 022;
        call->pidfd = call->known.status_fd = -1;
        guard_lock_sit(&call->lock, world.guard.board);
        call->tid = world.task;
        guard_wear_umask(call); /* keeps a descriptor of the task from now on */
    }
}

void perform_make_world(void)
{
    struct guard_rules *rules = guard_rules_new();
    struct err err = {0};

    world.ready = true;
    (void) snprintf(world.top, sizeof world.top, "/tmp/wattle-perform-XXXXXX");
    perform_expect(rules != NULL && mkdtemp(world.top) != NULL && make_locks() == 0, "no folder");
    if (geteuid() == 0)
        perform_expect(
            chown(world.top, NOBODY, NOBODY) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                setresuid(NOBODY, NOBODY, NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0,
            "cannot become nobody");
    world.top_fd = open(world.top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    perform_expect(world.top_fd >= 0, "no folder");
    perform_expect(guard_rules_add_zone(rules, world.top, false, &err) == 0, err.what);
    world.useless = confine() < 0;
    start_task();
    (void) atexit(end_world);
    world.guard.settings.rules = rules;
    world.guard.settings.listener_fd = -1;
    world.guard.settings.umask = 022;
    world.guard.pid = getpid();
    guard_lock_make_board(world.guard.settings.lock_fds[0]);
    perform_expect(guard_lock_map(world.guard.settings.lock_fds[0], &world.guard.board) == 0,
                   "no board");
    world.guard.fds_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    perform_expect(world.guard.fds_fd >= 0, "no /proc/self/fd");
    (void) umask(022);
    (void) pthread_mutex_init(&world.guard.denied_mutex, NULL);
    (void) pthread_mutex_init(&world.guard.made_mutex, NULL);
    (void) pthread_mutex_init(&world.guard.blocked_mutex, NULL);
    set_up_calls();
}

/* ---- one call ---------------------------------------------------------------------------------
 */

static const struct op *find_op(char letter)
{
    for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
        if (ops[i].letter == letter)
            return &ops[i];
    return NULL;
}

void perform_line(struct guard_call *call, char *line)
{
    const struct op *op = find_op(line[0]);
    char *rest = NULL;
    char *other;
    int r;

    if (op == NULL || line[1] != ' ')
        return;
    call->flags = (unsigned) strtoul(line + 2, &rest, 16);
    if (rest == NULL || *rest != ' ')
        return;
    other = strchr(++rest, '\t');
    if (other != NULL)
        *other++ = '\0';
    (void) snprintf(call->path[0], PATH_MAX, "%s", rest);
    (void) snprintf(call->path[1], PATH_MAX, "%s", other != NULL ? other : "");
    guard_settle(call, false);
    call->row = &op->row;
    call->tid = world.task;
    call->dir_fd[0] = call->dir_fd[1] = AT_FDCWD;
    call->mode = op->letter == 'n' ? S_IFIFO | 0644 : 0755;
    call->args[1] = 3;
    r = op->row.perform(call);
    if (r >= 0 && op->row.gives_fd) {
        (void) !write(r, "PWNED\n", 6);
        (void) close(r);
    }
}

void perform_forget(void)
{
    for (unsigned i = 0; i < atomic_load(&world.guard.pending_count); i++) {
        (void) close(world.guard.pending[i].fd);
        (void) close(world.guard.pending[i].folder_fd);
    }
    atomic_store(&world.guard.pending_count, 0);
    world.guard.made_count = 0;
}

void perform_check(void)
{
    (void) nftw(world.top, check_one, 16, FTW_PHYS);
}
