/* Remembered or walked, never refused from memory: a tree that was taken over in part and has
 * something in it that would be refused is walked again in full, and so is one that was changing.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "pen/links.h"
#include "pen/memory.h"
#include "pen/pen_priv.h"
#include "pen/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* A pen with fewer entries is read as fast as its memory would be. */
enum { WORTH_ENTRIES = 512 };

struct preflight {
    const struct pen_request *request;
    const struct policy *policy;
    struct pen_walk walk;
    struct pen_memory memory;
    struct buf known_bytes;
    struct pen_tree *tree;
    struct pen_findings *findings;
};

/* What is seen has to be of the folder that the policy opens: its paths are derived from that one,
 * and it is compared again when it is mounted. */
static int check_identity(const struct preflight *preflight, struct err *err)
{
    const char *pen = preflight->request->pen;
    const struct policy_rule *rule = NULL;
    struct stat seen;

    (void) policy_resolve(preflight->policy, pen, &rule);
    if (rule == NULL || rule->inode == 0 || !str_equal(rule->path, pen))
        return 0;
    if (fstat(preflight->walk.top_fd, &seen) < 0)
        return err_set(err, errno, "pen.read", "cannot look at '%s'", pen);
    if (seen.st_dev == rule->dev && seen.st_ino == rule->inode)
        return 0;
    (void) err_set(err, EINVAL, "pen.replaced", "the pen '%s' was replaced while it was looked at",
                   pen);
    return err_hint(err, "look at what is there now, and run it again");
}

static int open_pen(struct preflight *preflight, struct err *err)
{
    const char *pen = preflight->request->pen;
    struct statx seen;

    preflight->walk.top_fd = path_open_plain(AT_FDCWD, pen, O_PATH | O_DIRECTORY);
    if (preflight->walk.top_fd < 0)
        return err_set(err, -preflight->walk.top_fd, "pen.read", "cannot look at '%s'", pen);
    if (statx(preflight->walk.top_fd, "", AT_EMPTY_PATH, STATX_INO, &seen) < 0)
        return err_set(err, errno, "pen.read", "cannot look at '%s'", pen);
    preflight->memory.dev = ((uint64_t) seen.stx_dev_major << 32) | seen.stx_dev_minor;
    preflight->memory.inode = seen.stx_ino;
    return check_identity(preflight, err);
}

static bool remembers(const struct preflight *preflight)
{
    return preflight->request->state_dir != NULL && preflight->memory.lapses_ms > 0;
}

/* Walks, with what is known, and replaces an earlier result. */
static int look(struct preflight *preflight, const struct pen_tree *known, struct err *err)
{
    size_t read = 0;
    int r;

    pen_tree_freep(&preflight->tree);
    pen_findings_freep(&preflight->findings);
    preflight->walk.known = known;
    r = pen_walk_run(&preflight->walk, &preflight->tree, &read, err);
    if (r < 0)
        return r;
    r = pen_findings_make(preflight->tree, preflight->walk.top_fd, &preflight->findings);
    if (r < 0)
        return err_memory(err);
    preflight->findings->folders_read = read;
    return 0;
}

/* Names that move while the pen is walked may be missed, and then a file has more names than were
 * seen. */
static bool was_changing(const struct pen_tree *tree)
{
    for (size_t i = 0; i < tree->folder_count; i++)
        if ((tree->folders[i].flags & PEN_YOUNG) != 0)
            return true;
    return false;
}

static bool is_good(const struct preflight *preflight)
{
    return pen_judge(preflight->findings, preflight->request->pen, preflight->policy, NULL) == 0;
}

/* A link that is made to a file changes the folder of the new name alone: what is remembered of the
 * other name may be from before. So new shared files count as changed ones. */
static bool has_new_links(const struct preflight *preflight, const struct pen_tree *known)
{
    uint64_t now = 0, then = 0;

    if (known == NULL || preflight->findings->shared == 0)
        return false;
    return pen_links_sum(preflight->tree, &now) < 0 || pen_links_sum(known, &then) < 0 ||
           now != then;
}

static int look_with_memory(struct preflight *preflight, struct err *err)
{
    AUTO(pen_tree_freep) struct pen_tree *known = NULL;
    int r;

    if (remembers(preflight) && !preflight->request->fresh &&
        pen_memory_load(&preflight->memory, &preflight->known_bytes, &known) < 0)
        buf_free(&preflight->known_bytes);
    r = look(preflight, known, err);
    if (r == 0 && is_good(preflight) && !has_new_links(preflight, known))
        return 0;
    if (known == NULL && (r < 0 || !was_changing(preflight->tree)))
        return r;
    buf_free(&preflight->known_bytes);
    return look(preflight, NULL, err);
}

/* Whatever fails here costs the next run some time and nothing else. */
static void keep(const struct preflight *preflight)
{
    const struct buf *known = &preflight->known_bytes;
    AUTO(buf_free) struct buf bytes = {0};

    if (!remembers(preflight) || preflight->request->look_only ||
        preflight->tree->entries < WORTH_ENTRIES || !is_good(preflight))
        return;
    buf_init(&bytes, PEN_MEMORY_LIMIT_BYTES);
    if (pen_memory_encode(preflight->tree, preflight->request->pen, &bytes) < 0)
        return;
    if (bytes.size == known->size && memcmp(bytes.bytes, known->bytes, known->size) == 0)
        return;
    (void) !pen_memory_save(&preflight->memory, &bytes, NULL);
}

int pen_preflight(const struct pen_request *request, const struct policy *policy,
                  struct pen_findings **ret_findings, struct err *err)
{
    const struct policy_preflight *bounds = policy_get_preflight(policy);
    const uint64_t now_ms = request->now_ms != 0 ? request->now_ms : clock_wall_ms();
    struct preflight preflight = {
        .request = request,
        .policy = policy,
        .walk = {.pen = request->pen,
                 .most = bounds->entries,
                 .now_ms = now_ms,
                 .guarded = request->guarded,
                 .guarded_context = request->guarded_context,
                 .guarded_key = request->guarded_key,
                 .progress = request->progress,
                 .progress_context = request->progress_context},
        .memory = {.state_dir = request->state_dir,
                   .pen = request->pen,
                   .guarded_key = request->guarded_key,
                   .now_ms = now_ms,
                   .lapses_ms = bounds->remember_ms},
    };
    int r;

    buf_init(&preflight.known_bytes, PEN_MEMORY_LIMIT_BYTES);
    r = open_pen(&preflight, err);
    if (r == 0)
        r = look_with_memory(&preflight, err);
    if (r == 0) {
        keep(&preflight);
        *ret_findings = TAKE_PTR(preflight.findings);
    }
    pen_findings_freep(&preflight.findings);
    pen_tree_freep(&preflight.tree);
    buf_free(&preflight.known_bytes);
    cleanup_close(&preflight.walk.top_fd);
    return r;
}
