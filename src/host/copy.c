#include "host/copy.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "base/tree.h"
#include "host/shebang.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES "copies" /* in the state folder */
#define NS_PER_S INT64_C(1000000000)

enum {
    INTERPRETERS_MAX = 5, /* files of one chain; the kernel follows no more */
    CHUNK_BYTES = 128 << 10,
    HASH_BYTES = crypto_generichash_BYTES,
};
_Static_assert(STORE_CONTENT_SIZE == 2 * HASH_BYTES + 1, "the hash as text");

struct copying {
    const struct copy_wish *wish;
    struct policy *policy; /* NULL: only a hash is asked for */
    crypto_generichash_state chain;
    bool any; /* jobs could change one of them */
};

/* One file of the chain. */
struct link {
    const char *path; /* physical */
    int fd;
    struct stat seen;
    char head[SHEBANG_BYTES];
    size_t head_size;
    unsigned char hash[HASH_BYTES];
};

/* ---- what counts ------------------------------------------------------------------------------
 */

static bool can_change(const struct copying *copying, const char *path)
{
    for (size_t i = 0; i < copying->wish->tree_count; i++) {
        if (path_is_below(path, copying->wish->trees[i]))
            return true;
    }
    return copying->policy != NULL && policy_resolve(copying->policy, path, NULL) == POLICY_WRITE;
}

static int64_t ns_of(const struct timespec *time)
{
    return (int64_t) time->tv_sec * NS_PER_S + time->tv_nsec;
}

static void add_text(struct copying *copying, const char *text)
{
    (void) crypto_generichash_update(&copying->chain, (const unsigned char *) text,
                                     strlen(text) + 1);
}

/* What jobs could change counts by its bytes, all else by its identity. */
static void add_link(struct copying *copying, const struct link *link, bool by_bytes)
{
    const uint64_t identity[] = {
        link->seen.st_dev,
        link->seen.st_ino,
        (uint64_t) link->seen.st_size,
        (uint64_t) ns_of(&link->seen.st_mtim),
        (uint64_t) ns_of(&link->seen.st_ctim),
    };

    add_text(copying, link->path);
    add_text(copying, by_bytes ? "bytes" : "file");
    if (by_bytes)
        (void) crypto_generichash_update(&copying->chain, link->hash, sizeof link->hash);
    else
        (void) crypto_generichash_update(&copying->chain, (const unsigned char *) identity,
                                         sizeof identity);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static int changed(const char *path, struct err *err)
{
    (void) err_set(err, EINVAL, "host.changed", "'%s' changed while it was looked at", path);
    return err_hint(err, "ask again");
}

/* Through what the first descriptor holds: what a job put there, a FIFO or a device, is not opened
 * before it is known to be a file. A file under a job's lease is not waited for. */
static int open_link(struct link *link, bool by_bytes, struct err *err)
{
    AUTO_CLOSE int path_fd = path_open_plain(AT_FDCWD, link->path, O_PATH);
    char name[32];

    if (path_fd < 0 || fstat(path_fd, &link->seen) < 0 || !S_ISREG(link->seen.st_mode))
        return changed(link->path, err);
    (void) snprintf(name, sizeof name, "/proc/self/fd/%d", path_fd);
    if (access(name, X_OK) < 0)
        return err_set(err, EACCES, "host.interpreter", "cannot execute '%s'", link->path);
    link->fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (link->fd < 0 && (by_bytes || errno != EACCES))
        return err_set(err, errno, "host.copy", "cannot read '%s'", link->path);
    return 0;
}

static bool is_command(const struct link *link, const struct policy_command *command)
{
    return link->seen.st_dev == command->dev && link->seen.st_ino == command->inode &&
           (uint64_t) link->seen.st_size == command->size_bytes &&
           ns_of(&link->seen.st_mtim) == command->mtime_ns &&
           ns_of(&link->seen.st_ctim) == command->ctime_ns;
}

/* ---- copying ----------------------------------------------------------------------------------
 */

static int too_large(const struct copying *copying, const struct link *link, struct err *err)
{
    char most[32];

    str_from_bytes(copying->wish->limit_bytes, most, sizeof most);
    (void) err_set(err, EFBIG, "host.copy-size",
                   "'%s' is larger than %s, and lies where commands could change it", link->path,
                   most);
    return err_hint(err, "the owner can keep it outside of the pen, or set 'wattle.host.copySize' "
                         "in config.json");
}

/* What is hashed is what is written; `to_fd` below 0: nothing is. */
static int read_through(const struct copying *copying, struct link *link, int to_fd,
                        struct err *err)
{
    AUTO_FREE unsigned char *chunk = malloc(CHUNK_BYTES);
    crypto_generichash_state state;
    uint64_t total = 0;
    ssize_t n = -1;
    int r;

    if (chunk == NULL)
        return err_memory(err);
    (void) crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    for (;;) {
        n = read(link->fd, chunk, CHUNK_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (total == 0) {
            link->head_size = (size_t) n < SHEBANG_BYTES ? (size_t) n : SHEBANG_BYTES;
            memcpy(link->head, chunk, link->head_size);
        }
        total += (uint64_t) n;
        if (total > copying->wish->limit_bytes)
            return too_large(copying, link, err);
        (void) crypto_generichash_update(&state, chunk, (size_t) n);
        r = to_fd < 0 ? 0 : fd_write_all(to_fd, chunk, (size_t) n);
        if (r < 0)
            return err_set(err, -r, "host.copy", "cannot write a copy of '%s'", link->path);
    }
    if (n < 0)
        return err_set(err, errno, "host.copy", "cannot read '%s'", link->path);
    (void) crypto_generichash_final(&state, link->hash, sizeof link->hash);
    return 0;
}

/* A new file of the owner's that anybody who has it mounted may execute, and nobody write. */
static int make_file(const struct derive_owner *owner, char **ret_path, struct err *err)
{
    AUTO_FREE char *folder = path_join(owner->state_dir, COPIES);
    AUTO_FREE char *path = NULL;
    uint64_t number = 0;
    int fd;

    if (folder == NULL)
        return err_memory(err);
    if (getrandom(&number, sizeof number, 0) != (ssize_t) sizeof number ||
        path_make_folders(folder, 0700) < 0)
        return err_set(err, EIO, "host.copy", "cannot make '%s'", folder);
    if (asprintf(&path, "%s/%016llx", folder, (unsigned long long) number) < 0) {
        path = NULL;
        return err_memory(err);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);
    if (fd < 0)
        return err_set(err, errno, "host.copy", "cannot make '%s'", path);
    *ret_path = TAKE_PTR(path);
    return fd;
}

/* The place owns the file from here on (copy_remove). */
static int show_copy(struct policy *policy, const struct link *link, char *source, struct err *err)
{
    char why[] = "a copy, as it was looked at";
    union {
        const char *in;
        char *out; /* borrowed, and not written to */
    } path = {.in = link->path};
    const struct policy_place place = {.kind = POLICY_PLACE_OVER,
                                       .access = POLICY_READ,
                                       .path = path.out,
                                       .source = source,
                                       .why = why};

    return policy_add_place(policy, &place, err);
}

static int copy_link(const struct copying *copying, struct link *link, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int fd = -1;
    int r;

    if (!copying->wish->keep)
        return read_through(copying, link, -1, err);
    fd = make_file(copying->wish->owner, &path, err);
    if (fd < 0)
        return fd;
    assert(path != NULL);
    r = read_through(copying, link, fd, err);
    if (r == 0)
        r = show_copy(copying->policy, link, path, err);
    if (r < 0)
        (void) unlink(path);
    return r;
}

/* Of one that can be executed and not read nobody sees whether it is a script; the kernel would not
 * execute one. */
static int read_head(struct link *link, struct err *err)
{
    const ssize_t n = link->fd < 0 ? 0 : pread(link->fd, link->head, sizeof link->head, 0);

    if (n < 0)
        return err_set(err, errno, "host.copy", "cannot read '%s'", link->path);
    link->head_size = (size_t) n;
    return 0;
}

/* ---- symlinks ---------------------------------------------------------------------------------
 */

struct way {
    const struct copying *copying;
    struct err *err;
};

/* One that jobs see and could turn stays as it is while the command runs. What it passes by is not
 * held. */
static int keep_link(void *context, const char *link, const char *target)
{
    const struct way *way = context;
    const struct copying *copying = way->copying;
    char why[] = "a symlink, as it was looked at";
    union {
        const char *in;
        char *out; /* borrowed, and not written to */
    } path = {.in = link}, text = {.in = target};
    const struct policy_place place = {.kind = POLICY_PLACE_STAYS,
                                       .access = POLICY_READ,
                                       .path = path.out,
                                       .source = text.out,
                                       .why = why};

    if (copying->policy == NULL || !can_change(copying, link) ||
        policy_resolve(copying->policy, link, NULL) == POLICY_HIDE ||
        policy_place_find(copying->policy, link) != NULL)
        return 0;
    if (!path_turns_back(target))
        return copying->wish->keep ? policy_add_place(copying->policy, &place, way->err) : 0;
    (void) err_set(way->err, EINVAL, "host.symlink",
                   "the symlink '%s' goes into a folder and back by '..'", link);
    return err_hint(way->err, "name the file that it leads to");
}

/* Each symlink is read once: what it said then is where the path leads. -errno of the way with
 * nothing in *err, else as keep_link(). */
static int find_end(const struct copying *copying, const char *path, char **ret_end,
                    struct err *err)
{
    struct way way = {copying, err};

    return path_follow(path, keep_link, &way, ret_end, NULL);
}

/* The name that the command is executed by. */
static int keep_found(const struct copying *copying, const struct policy_command *command,
                      struct err *err)
{
    AUTO_FREE char *end = NULL;
    int r;

    if (command->found == NULL)
        return 0;
    r = find_end(copying, command->found, &end, err);
    if (r == -ENOMEM)
        return err_memory(err);
    if (r < 0 && err->code != 0)
        return r;
    return r == 0 && str_equal(end, command->path) ? 0 : changed(command->found, err);
}

/* ---- the chain --------------------------------------------------------------------------------
 */

static int refuse_interpreter(const struct link *link, const char *name, const char *why,
                              struct err *err)
{
    (void) err_set(err, EINVAL, "host.interpreter", "'%s' wants the interpreter '%.128s', %s",
                   link->path, name, why);
    return err_hint(err, "name the interpreter as the command, with the script as its argument");
}

/* What a job does not see is not read for it: a script could name any file as its interpreter. */
static int find_next(const struct copying *copying, const struct link *link, char **ret_path,
                     struct err *err)
{
    const char *start = NULL;
    const size_t size = shebang_name(link->head, link->head_size, &start);
    AUTO_FREE char *name = size == 0 ? NULL : strndup(start, size);
    AUTO_FREE char *end = NULL;
    int r;

    if (size == 0)
        return 0;
    if (name == NULL)
        return err_memory(err);
    if (name[0] != '/')
        return refuse_interpreter(link, name, "which is no absolute path", err);
    if (path_turns_back(name))
        return refuse_interpreter(link, name, "which goes into a folder and back by '..'", err);
    r = find_end(copying, name, &end, err);
    if (r == -ENOMEM)
        return err_memory(err);
    if (r < 0 && err->code != 0)
        return r;
    if (r < 0 || access(end, F_OK) < 0 ||
        (copying->policy != NULL && policy_resolve(copying->policy, end, NULL) == POLICY_HIDE))
        return refuse_interpreter(link, name, "which is not there inside", err);
    *ret_path = TAKE_PTR(end);
    return 1;
}

static int take_link(struct copying *copying, struct link *link, bool first, struct err *err)
{
    const struct policy_command *command =
        copying->policy == NULL ? NULL : policy_command(copying->policy);
    const bool by_bytes = can_change(copying, link->path);
    int r = open_link(link, by_bytes, err);

    if (r == 0 && first && command != NULL && !is_command(link, command))
        r = changed(link->path, err);
    if (r == 0)
        r = by_bytes ? copy_link(copying, link, err) : read_head(link, err);
    if (r == 0)
        add_link(copying, link, by_bytes);
    copying->any = copying->any || by_bytes;
    cleanup_close(&link->fd);
    return r;
}

/* The command and its interpreters, one after the other. */
static int follow(struct copying *copying, const char *path, struct err *err)
{
    AUTO_FREE char *at = strdup(path);
    int r = at == NULL ? err_memory(err) : 1;

    (void) crypto_generichash_init(&copying->chain, NULL, 0, HASH_BYTES);
    for (int i = 0; r == 1; i++) {
        struct link link = {.path = at, .fd = -1};
        char *next = NULL;

        if (i == INTERPRETERS_MAX)
            return err_set(err, ELOOP, "host.interpreter",
                           "'%s' has a chain of more than %d interpreters", path,
                           INTERPRETERS_MAX - 1);
        r = take_link(copying, &link, i == 0, err);
        if (r == 0)
            r = find_next(copying, &link, &next, err);
        if (next != NULL) {
            free(at);
            at = next;
        }
    }
    return r;
}

static void print_chain(struct copying *copying, char content[STORE_CONTENT_SIZE])
{
    unsigned char hash[HASH_BYTES];

    (void) crypto_generichash_final(&copying->chain, hash, sizeof hash);
    (void) sodium_bin2hex(content, STORE_CONTENT_SIZE, hash, sizeof hash);
}

int copy_hash(const struct copy_wish *wish, const char *path, char ret_content[STORE_CONTENT_SIZE],
              struct err *err)
{
    struct copying copying = {.wish = wish};
    int r = follow(&copying, path, err);

    if (r == 0)
        print_chain(&copying, ret_content);
    return r;
}

int copy_command(const struct copy_wish *wish, struct policy *policy, struct err *err)
{
    struct copying copying = {.wish = wish, .policy = policy};
    char content[STORE_CONTENT_SIZE];
    struct policy_command command;
    int r;

    if (policy_command(policy) == NULL)
        return 0;
    command = *policy_command(policy);
    command.pinned = !can_change(&copying, command.path);
    r = command.pinned ? keep_found(&copying, &command, err) : 0;
    if (r == 0)
        r = follow(&copying, command.path, err);
    if (r < 0 || !copying.any)
        return r;
    print_chain(&copying, content);
    command.content = content;
    if (!command.pinned)
        command.found = NULL;
    return policy_set_command(policy, &command, err);
}

/* ---- the end of copies ------------------------------------------------------------------------
 */

void copy_remove(const struct policy *policy)
{
    for (size_t i = 0; policy != NULL && i < policy_places(policy); i++) {
        const struct policy_place *place = policy_place_at(policy, i);

        if (place->kind == POLICY_PLACE_OVER)
            (void) unlink(place->source); /* gone already when it was removed before */
    }
}

int copy_sweep(const struct derive_owner *owner, struct err *err)
{
    AUTO_CLOSE int fd = open(owner->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, errno, "host.state", "cannot open '%s'", owner->state_dir);
    return tree_remove(fd, COPIES, err);
}
