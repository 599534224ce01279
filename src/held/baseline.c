/* Which trees there are, and what stands at their guarded names. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "fence/fence.h"
#include "held/held_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- trees ------------------------------------------------------------------------------- */

static bool is_covered(const struct held_tops *tops, const char *path)
{
    for (size_t i = 0; i < tops->count; i++)
        if (path_is_below(path, tops->items[i].path))
            return true;
    return false;
}

/* A file that was opened by itself is the owner's to say, and no place for names. */
static int add_top(const char *path, struct held_tops *tops, struct err *err)
{
    AUTO_CLOSE int fd = path_open_plain(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    struct stat seen;

    if (fd == -ENOTDIR || fd == -ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &seen) < 0)
        return err_set(err, fd < 0 ? -fd : errno, "held.look", "cannot look into '%s'", path);
    if (tops->count == ARRAY_SIZE(tops->items))
        return err_set(err, EINVAL, "held.look", "more than %d trees can be changed",
                       GUARD_ZONES_MAX);
    tops->items[tops->count].path = strdup(path);
    if (tops->items[tops->count].path == NULL)
        return err_memory(err);
    tops->items[tops->count].fd = TAKE_FD(fd);
    tops->items[tops->count].dev = seen.st_dev;
    tops->items[tops->count].inode = seen.st_ino;
    tops->count++;
    return 0;
}

int held_tops_find(const struct policy *policy, struct held_tops *ret_tops, struct err *err)
{
    AUTO(held_tops_free) struct held_tops tops = {.count = 0};
    int r = 0;

    /* a parent comes before what lies in it */
    for (size_t i = 0; r == 0 && i < policy_rules(policy); i++) {
        const struct policy_rule *rule = policy_rule_at(policy, i);

        if (rule->hold || policy_resolve(policy, rule->path, NULL) != POLICY_WRITE ||
            is_covered(&tops, rule->path))
            continue;
        r = add_top(rule->path, &tops, err);
    }
    if (r < 0)
        return r;
    *ret_tops = tops;
    tops.count = 0;
    return 0;
}

void held_tops_free(struct held_tops *tops)
{
    for (size_t i = 0; i < tops->count; i++) {
        free(tops->items[i].path);
        cleanup_close(&tops->items[i].fd);
    }
    tops->count = 0;
}

int held_policy_reduce(const struct policy *policy, struct policy **ret_policy, struct err *err)
{
    AUTO(policy_freep) struct policy *reduced = policy_new();
    int r;

    if (reduced == NULL)
        return err_memory(err);
    r = policy_set_pen(reduced, policy_pen(policy), err);
    for (size_t i = 0; r == 0 && i < policy_rules(policy); i++)
        r = policy_add_rule(reduced, policy_rule_at(policy, i), err);
    for (size_t i = 0; r == 0 && i < policy_guard_rules(policy); i++)
        r = policy_add_guard_rule(reduced, policy_guard_rule_at(policy, i), err);
    if (r == 0)
        *ret_policy = TAKE_PTR(reduced);
    return r;
}

/* ---- reading one object ------------------------------------------------------------------ */

static int read_link(int dir_fd, const char *name, char **ret_bytes, size_t *ret_size)
{
    AUTO_FREE char *text = malloc(PATH_MAX);
    ssize_t size;

    if (text == NULL)
        return -ENOMEM;
    size = readlinkat(dir_fd, name, text, PATH_MAX - 1);
    if (size < 0)
        return -errno;
    text[size] = '\0';
    *ret_bytes = TAKE_PTR(text);
    *ret_size = (size_t) size;
    return 0;
}

static int read_all(int fd, size_t size, char **ret_bytes, size_t *ret_size)
{
    AUTO_FREE char *bytes = malloc(size + 1);
    size_t got = 0;

    if (bytes == NULL)
        return -ENOMEM;
    while (got < size) {
        const ssize_t n = read(fd, bytes + got, size - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t) n;
    }
    bytes[got] = '\0';
    *ret_bytes = TAKE_PTR(bytes);
    *ret_size = got;
    return 0;
}

/* For reading, whatever its mode says of its owner. */
static int open_file(int dir_fd, const char *name)
{
    int fd = path_open_below(dir_fd, name, O_RDONLY | O_NONBLOCK, 0);
    struct stat seen;

    if (fd != -EACCES || fstatat(dir_fd, name, &seen, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(seen.st_mode) || seen.st_uid != geteuid() ||
        fchmodat(dir_fd, name, S_IRUSR, AT_SYMLINK_NOFOLLOW) < 0)
        return fd;
    fd = path_open_below(dir_fd, name, O_RDONLY | O_NONBLOCK, 0);
    if (fd >= 0)
        (void) fchmod(fd, seen.st_mode & 07777);
    return fd;
}

int held_read(int dir_fd, const char *name, mode_t type, size_t most, char **ret_bytes,
              size_t *ret_size)
{
    AUTO_CLOSE int fd = -1;
    struct stat seen;

    if (S_ISLNK(type))
        return read_link(dir_fd, name, ret_bytes, ret_size);
    if (!S_ISREG(type))
        return -EINVAL;
    fd = open_file(dir_fd, name);
    if (fd < 0)
        return fd;
    if (fstat(fd, &seen) < 0)
        return -errno;
    if (!S_ISREG(seen.st_mode))
        return -EINVAL;
    if ((uint64_t) seen.st_size > most)
        return -EFBIG;
    return read_all(fd, (size_t) seen.st_size, ret_bytes, ret_size);
}

/* ---- a baseline -------------------------------------------------------------------------- */

struct making {
    struct held_baseline *baseline;
    uint64_t copied;
};

static int copy_content(struct making *making, const struct held_found *found,
                        struct held_item *item)
{
    int r;

    if (making->copied >= HELD_COPIES_BYTES)
        return 0;
    r = held_read(found->folder_fd, found->name, found->status.st_mode, HELD_COPY_BYTES,
                  &item->content, &item->content_size);
    if (r < 0)
        return r == -ENOMEM ? r : 0; /* it can be compared, but not put back */
    item->has_content = true;
    making->copied += item->content_size;
    return 0;
}

static int add_item(void *context, const struct held_found *found, struct err *err)
{
    struct making *making = context;
    const struct stat *seen = &found->status;
    struct held_item *item = held_baseline_add(making->baseline);

    if (item == NULL)
        return err_memory(err);
    item->path = strdup(found->path);
    if (item->path == NULL)
        return err_memory(err);
    item->mode = seen->st_mode;
    item->vet = (uint8_t) found->vet;
    item->dev = seen->st_dev;
    item->inode = seen->st_ino;
    item->size = (uint64_t) seen->st_size;
    item->links = seen->st_nlink;
    item->ctime_ns = held_nanoseconds(&seen->st_ctim);
    return copy_content(making, found, item) < 0 ? err_memory(err) : HELD_ENTER;
}

/* The look before the run has said what it thinks of such folders. */
static int pass_closed(void *context, const char *path, int code, struct err *err)
{
    (void) context, (void) path, (void) code, (void) err;
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct held_item *) a)->path, ((const struct held_item *) b)->path);
}

int held_baseline_make(int top_fd, const struct guard_rules *rules, struct held_baseline *baseline,
                       struct err *err)
{
    struct making making = {.baseline = baseline};
    const struct held_look look = {
        .top_fd = top_fd,
        .top = baseline->top,
        .rules = rules,
        .policy = baseline->policy,
        .each = add_item,
        .closed = pass_closed,
        .context = &making,
    };
    size_t kept = 0;
    int r = held_look_run(&look, err);

    if (r < 0)
        return r;
    if (baseline->count > 0)
        qsort(baseline->items, baseline->count, sizeof baseline->items[0], by_path);
    /* a name that came and went and came is met twice */
    for (size_t i = 0; i < baseline->count; i++) {
        struct held_item *item = &baseline->items[i];

        if (kept > 0 && str_equal(baseline->items[kept - 1].path, item->path)) {
            free(item->path);
            free(item->content);
            continue;
        }
        baseline->items[kept++] = *item;
    }
    baseline->count = kept;
    return 0;
}
