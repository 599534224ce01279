/* What is done with what is found after a run. One walk meets every guarded name: those of the
 * baseline are compared, the others are new. What the walk did not meet is gone. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "fence/guard/vet.h"
#include "held/held_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct checking {
    struct held_check *check;
    bool *seen; /* by index of the baseline's items */
};

/* ---- telling ----------------------------------------------------------------------------- */

void held_check_tell(const struct held_check *check, enum held_action action, const char *path,
                     const char *reason)
{
    const struct held_event event = {
        .action = action,
        .id = "",
        .top = check->baseline->top,
        .path = path,
        .reason = reason,
    };

    check->request->on_event(check->request->context, &event);
}

static void tell_entry(const struct held_check *check, const struct held_entry *entry)
{
    const struct held_event event = {
        .action = entry->action,
        .how = entry->how,
        .id = entry->id,
        .top = entry->top,
        .path = entry->path,
        .reason = entry->reason,
    };

    check->request->on_event(check->request->context, &event);
}

static void fail(struct held_check *check, const char *path, const char *why)
{
    check->failures++;
    held_check_tell(check, HELD_FAILED, path, why);
}

int held_check_take(struct held_check *check, const struct held_found *found,
                    enum held_action action, const char *reason, struct err *err)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    const struct held_take take = {
        .store_fd = check->store_fd,
        .folder_fd = found->folder_fd,
        .name = found->name,
        .path = found->path,
        .tree = check->baseline,
        .reason = reason,
        .action = action,
    };
    struct err why = {0};
    const int r = held_take_object(&take, &entry, &why);

    if (r == -ENOENT)
        return 1;
    if (r == -ENOMEM || r == -ENOSPC || r == -EMFILE || r == -ENFILE) {
        *err = why;
        return r;
    }
    if (r < 0) {
        fail(check, found->path, why.what);
        return 0;
    }
    tell_entry(check, &entry);
    return 1;
}

/* ---- what was there before --------------------------------------------------------------- */

static int by_path(const void *key, const void *item)
{
    return strcmp(key, ((const struct held_item *) item)->path);
}

static const struct held_item *find_item(const struct held_check *check, const char *path)
{
    const struct held_baseline *baseline = check->baseline;

    if (baseline->count == 0)
        return NULL;
    return bsearch(path, baseline->items, baseline->count, sizeof *baseline->items, by_path);
}

static bool is_untouched(const struct held_item *item, const struct stat *seen)
{
    return item->dev == seen->st_dev && item->inode == seen->st_ino &&
           item->mode == seen->st_mode && item->ctime_ns == held_nanoseconds(&seen->st_ctim);
}

/* 1: yes, 0: no, or it cannot be told. -ENOMEM. */
static int has_same_content(const struct held_found *found, const struct held_item *item)
{
    AUTO_FREE char *bytes = NULL;
    size_t size = 0;
    int r;

    if (!item->has_content)
        return 0;
    r = held_read(found->folder_fd, found->name, found->status.st_mode, HELD_COPY_BYTES, &bytes,
                  &size);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    return size == item->content_size && memcmp(bytes, item->content, size) == 0;
}

/* The same bytes, in a file others may have a name of by now, or with another mode. */
static void mend(struct held_check *check, const struct held_found *found,
                 const struct held_item *item)
{
    const struct stat *seen = &found->status;

    if (!S_ISREG(seen->st_mode) || (seen->st_nlink <= item->links && seen->st_mode == item->mode))
        return;
    if (held_replace_file(found->folder_fd, found->name, item->content, item->content_size,
                          item->mode & 07777) < 0)
        fail(check, found->path, "its mode was changed, and cannot be changed back");
    else
        held_check_tell(check, HELD_RESTORED, found->path, found->reason);
}

static int put_back(struct held_check *check, const struct held_found *found,
                    const struct held_item *item, const char *reason, struct err *err)
{
    const bool can = item->has_content || S_ISDIR(item->mode);
    const int r = held_check_take(check, found, can ? HELD_PUT_BACK : HELD_TAKEN, reason, err);

    if (r <= 0 || !can)
        return r < 0 ? r : HELD_LEAVE;
    if (held_put_item(found->folder_fd, found->name, item) < 0)
        fail(check, found->path, "what was there before cannot be put back");
    return HELD_LEAVE;
}

/* Of a configuration each setting is put back for itself: what the owner has set meanwhile stays.
 */
static int put_back_config(struct held_check *check, const struct held_found *found,
                           const struct held_item *item, const char *reason, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    struct held_item kept = *item;
    int r;

    buf_init(&text, GUARD_VET_LIMIT);
    r = held_keep_config(check, found, item, &text);
    if (r == -ENOMEM)
        return err_memory(err);
    if (r == 0) {
        kept.content = text.bytes;
        kept.content_size = text.size;
    }
    return put_back(check, found, &kept, reason, err);
}

static int compare(struct held_check *check, const struct held_found *found,
                   const struct held_item *item, struct err *err)
{
    const mode_t type = found->status.st_mode & S_IFMT;
    struct err why = {0};
    int r;

    if (is_untouched(item, &found->status))
        return HELD_ENTER;
    if (type != (item->mode & S_IFMT))
        return put_back(check, found, item, found->reason, err);
    if (type != S_IFREG && type != S_IFLNK)
        return HELD_ENTER;
    r = has_same_content(found, item);
    if (r == 1)
        mend(check, found, item);
    if (r == 0)
        r = held_vet(check, found, item, &why);
    if (r < 0)
        return err_memory(err);
    if (r == 1)
        return HELD_LEAVE;
    return found->vet == GUARD_VET_CONFIG && type == S_IFREG
               ? put_back_config(check, found, item, why.what, err)
               : put_back(check, found, item, why.what, err);
}

/* ---- what is new ------------------------------------------------------------------------- */

static bool was_there(const struct held_check *check, const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    if (slash == NULL)
        return false;
    (void) snprintf(folder, sizeof folder, "%.*s", (int) (slash - path), path);
    return find_item(check, folder) != NULL;
}

enum held_newcomer held_newcomer(const struct held_found *found)
{
    const bool is_folder = S_ISDIR(found->status.st_mode);
    const bool is_file = S_ISREG(found->status.st_mode);

    if (found->too_deep)
        return HELD_NEW_TAKE;
    if (is_folder && (found->vet == GUARD_VET_GIT || found->is_folder))
        return HELD_NEW_ENTER;
    if (is_file && found->is_sample && guard_hook_is_sample(found->name))
        return HELD_NEW_STAYS;
    if (is_file && found->vet == GUARD_VET_CONFIG)
        return HELD_NEW_REDUCE;
    if (is_file && found->vet != GUARD_VET_NONE && found->vet != GUARD_VET_HOOKS)
        return HELD_NEW_VET;
    return HELD_NEW_TAKE;
}

static int take_new(struct held_check *check, const struct held_found *found, const char *reason,
                    struct err *err)
{
    const bool disarms = found->vet != GUARD_VET_NONE && !was_there(check, found->path);

    return held_check_take(check, found, disarms ? HELD_DISARMED : HELD_SET_ASIDE, reason, err);
}

/* What cannot be reduced is gone from there, and git does without it. */
static int reduce(struct held_check *check, const struct held_found *found, const char *reason,
                  struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    int reduced;
    int r;

    buf_init(&text, GUARD_VET_LIMIT);
    reduced = held_reduce_config(check, found, &text);
    if (reduced == -ENOMEM)
        return err_memory(err);
    r = take_new(check, found, reason, err);
    if (r == 1 && reduced == 0 &&
        held_put_file(found->folder_fd, found->name, text.bytes, text.size,
                      found->status.st_mode & 0777) < 0)
        held_check_tell(check, HELD_GONE, found->path, "what of it runs nothing cannot be written");
    return r < 0 ? r : HELD_LEAVE;
}

static int meet_new(struct held_check *check, const struct held_found *found, struct err *err)
{
    const enum held_newcomer what = held_newcomer(found);
    struct err why = {0};
    int r = 0;

    if (what == HELD_NEW_ENTER || what == HELD_NEW_STAYS)
        return what == HELD_NEW_ENTER ? HELD_ENTER : HELD_LEAVE;
    if (found->too_deep && str_starts(found->name, HELD_NEIGHBOUR_PREFIX))
        return HELD_LEAVE; /* it was met before, and could only be renamed */
    (void) err_set(&why, EINVAL, "held.new", "%s", found->reason);
    if (what == HELD_NEW_REDUCE || what == HELD_NEW_VET)
        r = held_vet(check, found, NULL, &why);
    if (r != 0)
        return r < 0 ? err_memory(err) : HELD_LEAVE;
    if (what == HELD_NEW_REDUCE)
        return reduce(check, found, why.what, err);
    r = take_new(check, found, why.what, err);
    return r < 0 ? r : HELD_LEAVE;
}

static int meet(void *context, const struct held_found *found, struct err *err)
{
    struct checking *checking = context;
    struct held_check *check = checking->check;
    const struct held_item *item = found->too_deep ? NULL : find_item(check, found->path);

    if (item == NULL)
        return meet_new(check, found, err);
    checking->seen[item - check->baseline->items] = true;
    return compare(check, found, item, err);
}

static int meet_closed(void *context, const char *path, int code, struct err *err)
{
    struct checking *checking = context;

    (void) code, (void) err;
    held_check_tell(checking->check, HELD_GONE, path,
                    "it is another user's and closed: it was not looked into");
    return 0;
}

/* ---- what is gone ------------------------------------------------------------------------ */

struct search {
    const struct held_item *item;
    bool found;
};

/* One that was new to another tree's check: that tree lies in this one, or this one in it. */
static int is_other_check(void *context, const struct held_entry *entry)
{
    struct search *search = context;

    search->found = (entry->action == HELD_SET_ASIDE || entry->action == HELD_DISARMED) &&
                    entry->dev == search->item->dev && entry->inode == search->item->inode;
    return search->found;
}

static bool was_taken(const struct held_check *check, const struct held_item *item)
{
    struct search search = {.item = item};

    return held_each(check->store_fd, is_other_check, &search) > 0;
}

/* Returns whether it is gone for good. */
static bool restore_gone(struct held_check *check, const struct held_item *item)
{
    const char *name;
    AUTO_CLOSE int fd = held_folder_open(check->top_fd, item->path, &name);
    struct stat seen;
    int r = fd < 0 ? fd : 0;

    if (r == 0 && fstatat(fd, name, &seen, AT_SYMLINK_NOFOLLOW) == 0)
        return false; /* the walk was not let to it, or it came back */
    if (was_taken(check, item))
        return false;
    if (r == 0 && S_ISDIR(item->mode) && item->vet == GUARD_VET_GIT)
        r = -EINVAL; /* a git folder is more than its guarded names */
    if (r == 0)
        r = held_put_item(fd, name, item);
    if (r == 0)
        held_check_tell(check, HELD_RESTORED, item->path, "it was removed");
    else
        held_check_tell(check, HELD_GONE, item->path, "it was removed, or its folder was");
    return r < 0;
}

/* What lies below something that is gone is not told of by itself. */
static void restore_all(struct checking *checking)
{
    const struct held_baseline *baseline = checking->check->baseline;
    const char *gone = NULL;

    for (size_t i = 0; i < baseline->count; i++) {
        const struct held_item *item = &baseline->items[i];
        const size_t length = gone != NULL ? strlen(gone) : 0;

        if (checking->seen[i] ||
            (gone != NULL && strncmp(item->path, gone, length) == 0 && item->path[length] == '/'))
            continue;
        if (restore_gone(checking->check, item))
            gone = item->path;
    }
}

int held_check_run(struct held_check *check, struct err *err)
{
    AUTO_FREE bool *seen = calloc(check->baseline->count + 1, sizeof *seen);
    struct checking checking = {.check = check, .seen = seen};
    const struct held_look look = {
        .top_fd = check->top_fd,
        .top = check->baseline->top,
        .rules = check->rules,
        .policy = check->baseline->policy,
        .each = meet,
        .closed = meet_closed,
        .context = &checking,
    };
    int r;

    if (seen == NULL)
        return err_memory(err);
    r = held_look_run(&look, err);
    if (r == 0)
        restore_all(&checking);
    return r;
}
