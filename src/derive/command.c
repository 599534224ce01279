/* The executable: found as execvp finds it, then followed to the file it is. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

struct found {
    char *typed; /* absolute, as found; may run through symlinks */
    char *physical;
    struct stat seen;
};

static void found_free(struct found *found)
{
    free(found->typed);
    free(found->physical);
}

/* ---- looking ----------------------------------------------------------------------------- */

/* 0, -ENOENT: not here, -EACCES: here, but not to be executed. */
static int probe(const char *path, struct stat *ret_seen)
{
    if (stat(path, ret_seen) < 0)
        return errno == EACCES ? -EACCES : -ENOENT;
    if (!S_ISREG(ret_seen->st_mode) || access(path, X_OK) < 0)
        return -EACCES;
    return 0;
}

static int not_executable(const char *path, struct err *err)
{
    struct stat seen;

    (void) err_set(err, EACCES, "derive.command-not-executable", "cannot execute '%s'", path);
    if (stat(path, &seen) == 0 && S_ISDIR(seen.st_mode))
        return err_hint(err, "it is a folder");
    return err_hint(err, "chmod +x '%s', or name its interpreter as the command", path);
}

/* A program in the pen that the caller's PATH would have found: a virtual environment, say. */
static const char *passed_folder_with(const struct derivation *work, const char *name)
{
    for (size_t i = 0; i < work->passed.count; i++) {
        AUTO_FREE char *path = path_join(work->passed.items[i], name);
        struct stat seen;

        if (path != NULL && probe(path, &seen) == 0)
            return work->passed.items[i];
    }
    return NULL;
}

static int missing(const struct derivation *work, const char *name, struct err *err)
{
    AUTO(buf_free) struct buf where;
    const char *passed = passed_folder_with(work, name);

    buf_init(&where, 4096);
    for (size_t i = 0; i < work->folder_count; i++)
        (void) buf_printf(&where, "%s%s", i == 0 ? "" : ":", work->folders[i].path);
    (void) err_set(err, ENOENT, "derive.command-missing", "cannot find the command '%s' in %s",
                   name, where.bytes);
    if (passed != NULL)
        return err_hint(err, "PATH entries in the pen are not searched; run '%s/%s'", passed, name);
    return err_hint(err,
                    "give its path, or put its folder on PATH; a program in the pen needs a path "
                    "such as './%s'",
                    name);
}

static int look_on_path(const struct derivation *work, const char *name, struct found *found,
                        struct err *err)
{
    AUTO_FREE char *denied = NULL;

    for (size_t i = 0; name[0] != '\0' && i < work->folder_count; i++) {
        AUTO_FREE char *path = path_join(work->folders[i].path, name);
        int r = path == NULL ? -ENOMEM : probe(path, &found->seen);

        if (r == -ENOMEM)
            return err_memory(err);
        if (r == 0) {
            found->typed = TAKE_PTR(path);
            return path_physical(found->typed, &found->physical, err);
        }
        if (r == -EACCES && denied == NULL)
            denied = TAKE_PTR(path);
    }
    return denied != NULL ? not_executable(denied, err) : missing(work, name, err);
}

static int look_at_path(const struct derivation *work, const char *path, struct found *found,
                        struct err *err)
{
    int r =
        derive_resolve(path, work->start, work->start_typed, &found->physical, &found->typed, err);

    if (r == -ENOMEM)
        return r;
    if (r == -EACCES)
        return not_executable(path, err);
    if (r < 0) {
        (void) err_set(err, ENOENT, "derive.command-missing", "cannot find the command '%s'", path);
        return err_hint(err, "the path is looked up from '%s', where the command starts",
                        work->start_typed);
    }
    r = probe(found->physical, &found->seen);
    return r < 0 ? not_executable(path, err) : 0;
}

/* ---- opening ----------------------------------------------------------------------------- */

static int link_is_steered(void *context, const char *link, const char *target)
{
    (void) target;
    return derive_link_is_steered(context, link) ? 1 : 0;
}

/* A link that a job can change may lead to what shows anyway, not choose what else shows. */
static int refuse_leading_out(struct derivation *work, const struct found *found, struct err *err)
{
    int r = path_each_symlink(found->typed, link_is_steered, work, err);

    if (r <= 0)
        return r;
    (void) err_set(err, EINVAL, "derive.command-leads-out",
                   "the command '%s' is found through a symlink that jobs or a repository can "
                   "change, which leads out to '%s'",
                   found->typed, found->physical);
    return err_hint(err, "if that program is meant, name it by its own path");
}

static int refuse_place(const struct found *found, const struct derive_verdict *verdict,
                        struct err *err)
{
    (void) err_set(err, EINVAL, "derive.command-place", "cannot run '%s': it is in a place that %s",
                   found->physical, derive_verdict_text(verdict->facts));
    return err_hint(err, "copy the program to another folder if it is meant");
}

/* "/opt/X" of a file below it: programs there are one tree each. */
static char *opt_top(const char *path)
{
    static const char opt[] = "/opt/";
    const size_t size = sizeof opt - 1;

    assert(path != NULL);
    if (!str_starts(path, opt) || path[size + strcspn(path + size, "/")] == '\0')
        return NULL;
    return strndup(path, size + strcspn(path + size, "/"));
}

static int open_found(const struct derivation *work, const struct found *found, struct err *err)
{
    AUTO_FREE char *opt = opt_top(found->physical);
    struct derive_rule rule = {
        .path = found->physical,
        .access = POLICY_READ,
        .origin = POLICY_FROM_COMMAND,
        .why = "the command",
        .seen = &found->seen,
    };

    if (opt != NULL && (derive_judge(work, opt).facts & DERIVE_UNFIT) == 0) {
        rule.path = opt;
        rule.why = "the command's programs";
        rule.seen = NULL;
    }
    return derive_rule_add(work, &rule, err);
}

static int link_is_the_kernels(void *context, const char *link, const char *target)
{
    (void) target;
    return (derive_judge(context, link).facts & DERIVE_KERNEL) != 0 ? 1 : 0;
}

/* "/proc/self/exe" is one program here and another one inside: what the kernel makes names nothing
 * that could be run there, however it is reached. */
static int refuse_the_kernels(struct derivation *work, const char *path, struct err *err)
{
    AUTO_FREE char *full = NULL;
    AUTO_FREE char *end = NULL;
    int r;

    assert(path != NULL);
    full = path[0] == '/' ? strdup(path) : path_join(work->start, path);
    r = full == NULL ? err_memory(err) : path_follow(full, link_is_the_kernels, work, &end, err);

    if (r < 0 || (r == 0 && (derive_judge(work, end).facts & DERIVE_KERNEL) == 0))
        return r < 0 ? r : 0;
    (void) err_set(err, EINVAL, "derive.command-place",
                   "cannot run '%s': it leads through a place that %s", path,
                   derive_verdict_text(DERIVE_KERNEL));
    return err_hint(err, "name the program by its own path");
}

static int refuse_hidden(const struct found *found, const struct policy_rule *rule, struct err *err)
{
    (void) err_set(err, EINVAL, "derive.command-hidden", "cannot run '%s': '%s' is hidden (%s)",
                   found->physical, rule->path, rule->why);
    return err_hint(err, "run another program, or hide less");
}

/* Makes sure that the file shows inside, by its physical path and as it was found. */
static int show(struct derivation *work, const struct found *found, struct err *err)
{
    const struct policy_rule *rule = NULL;
    struct derive_verdict verdict = {0};
    int r = 0;

    if (policy_resolve(work->policy, found->physical, &rule) == POLICY_HIDE) {
        verdict = derive_judge(work, found->physical);
        if ((verdict.facts & (DERIVE_CREDENTIAL | DERIVE_OWN | DERIVE_KERNEL | DERIVE_INSIDE)) != 0)
            return refuse_place(found, &verdict, err);
        if (rule != NULL)
            return refuse_hidden(found, rule, err);
        r = refuse_leading_out(work, found, err);
        if (r == 0)
            r = open_found(work, found, err);
    }
    if (r == 0 && !str_equal(found->typed, found->physical))
        r = derive_list_add(&work->typed, found->typed, err);
    return r;
}

static int64_t in_ns(struct timespec time)
{
    return (int64_t) time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* ---- what may be told ---------------------------------------------------------------------- */

static bool is_shown(const struct derivation *work, const char *path)
{
    return policy_resolve(work->policy, path, NULL) != POLICY_HIDE;
}

/* What the root holds is the same on every machine: "/bin". */
static int link_is_told(void *context, const char *link, const char *target)
{
    const bool known = strrchr(link, '/') == link || is_shown(context, link);

    return known && !path_turns_back(target) ? 0 : 1;
}

/* Whether the job could see for itself what is, or is not, at the path: nothing on the way may
 * depend on what it does not see. */
static bool may_be_told(struct derivation *work, const char *path)
{
    AUTO_FREE char *full = path[0] == '/' ? strdup(path) : path_join(work->start, path);
    AUTO_FREE char *end = NULL;

    return full != NULL && !path_turns_back(path) &&
           path_follow(full, link_is_told, work, &end, NULL) == 0 && is_shown(work, end);
}

static int refuse_alike(const char *path, struct err *err)
{
    (void) err_set(err, EINVAL, "derive.command-untold",
                   "'%s' is not something that can be run here", path);
    return err_hint(err, "what the pen holds can be, and programs of the system; a symlink or a "
                         "'..' that leads out cannot");
}

static int find(struct derivation *work, const char *name, struct found *found, struct err *err)
{
    const bool is_path = strchr(name, '/') != NULL;
    int r = is_path ? look_at_path(work, name, found, err) : look_on_path(work, name, found, err);

    if (r == 0)
        r = refuse_the_kernels(work, is_path ? name : found->typed, err);
    if (r == 0)
        r = show(work, found, err);
    return r < 0 && r != -ENOMEM && is_path && work->request->discreet && !may_be_told(work, name)
               ? refuse_alike(name, err)
               : r;
}

int derive_command_find(struct derivation *work, struct err *err)
{
    const char *const *argv = work->request->argv;
    AUTO(found_free) struct found found = {0};
    int r = 0;

    if (argv == NULL || argv[0] == NULL)
        return 0;
    r = find(work, argv[0], &found, err);
    if (r < 0)
        return r;
    work->command = (struct policy_command){
        .path = TAKE_PTR(found.physical),
        .found = TAKE_PTR(found.typed),
        .pinned = work->request->pin_command,
        .dev = found.seen.st_dev,
        .inode = found.seen.st_ino,
        .size_bytes = (uint64_t) found.seen.st_size,
        .mtime_ns = in_ns(found.seen.st_mtim),
        .ctime_ns = in_ns(found.seen.st_ctim),
    };
    return 0;
}

/* The name it was found by is executed where it leads to the same file inside: some programs look
 * at what they were called. */
int derive_command_set(const struct derivation *work, struct err *err)
{
    struct policy_command command = work->command;

    if (command.path == NULL)
        return 0;
    if (!derive_links_lead(work, command.found))
        command.found = command.path;
    return policy_set_command(work->policy, &command, err);
}
