/* One question to rules.h, with everything it has to know looked at under the lock. */
#include "base/cleanup.h"
#include "base/path.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define UP_MAX 64u /* levels; a path of 4096 bytes may have more, and they count as "holds one" */
#define HELD_UP_MAX 8u

/* ---- looking ----------------------------------------------------------------------------------
 */

bool guard_exists(const struct guard_place *place, struct stat *ret_status)
{
    return fstatat(place->fd, place->plain, ret_status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* "../../" and so on, then `name`. */
static bool climb(char *path, size_t size, unsigned up, const char *name)
{
    size_t at = 0;

    for (unsigned i = 0; i < up && at + 3 < size; i++, at += 3)
        (void) snprintf(path + at, size - at, "../");
    return at == 3 * (size_t) up && snprintf(path + at, size - at, "%s", name) < (int) (size - at);
}

static bool has_above(const struct guard_place *place, unsigned up, const char *name)
{
    char path[3 * UP_MAX + 16];
    struct stat status;

    return !climb(path, sizeof path, up, name) ||
           fstatat(place->fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static bool holds_git(void *context, unsigned up)
{
    return has_above(context, up, ".git");
}

/* The file system folds case itself, where it does. */
static bool is_bare_above(const struct guard_place *place, unsigned up)
{
    return has_above(place, up, "HEAD") &&
           ((has_above(place, up, "objects") && has_above(place, up, "refs")) ||
            has_above(place, up, "commondir"));
}

static bool is_bare(void *context, unsigned up)
{
    return is_bare_above(context, up);
}

static bool count_all(void *context, unsigned up)
{
    (void) context;
    (void) up;
    return true;
}

static enum guard_kind kind_of(const struct stat *status)
{
    if (S_ISLNK(status->st_mode))
        return GUARD_LINK_TEXT;
    if (S_ISDIR(status->st_mode))
        return GUARD_FOLDER;
    return S_ISREG(status->st_mode) ? GUARD_FILE : GUARD_SPECIAL;
}

/* `beside` (or NULL): the other place of the call, which may be in the same folder. */
static int classify(struct guard_call *call, struct guard_place *place,
                    const struct guard_place *beside, struct guard_class *class)
{
    const struct guard_ask asking = {.holds_git = holds_git, .is_bare = is_bare, .context = place};
    int r = 0;

    if (beside != NULL && beside->fd == place->fd)
        memcpy(place->location, beside->location, strlen(beside->location) + 1);
    else
        r = guard_locate(call->guard, place);
    if (r == 0)
        guard_classify(call->guard->settings.rules, place->location, place->plain, &asking, class);
    return r;
}

/* The folder the object lies in, so that it can be asked; -1: it is not to be found there. */
static int open_folder_of(int fd, const struct guard_place *place)
{
    AUTO_CLOSE int folder_fd = path_open_plain(AT_FDCWD, place->location, O_PATH | O_DIRECTORY);
    struct stat object, named;

    if (folder_fd < 0 || fstat(fd, &object) < 0 ||
        fstatat(folder_fd, place->plain, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
        object.st_dev != named.st_dev || object.st_ino != named.st_ino)
        return -1;
    return TAKE_FD(folder_fd);
}

static bool has_no_name(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_nlink == 0;
}

/* A file or folder with a name, in a mount of another job: nobody can say which name. */
static bool is_out_of_sight(struct guard_call *call, int fd)
{
    struct stat status;

    return (guard_mount_of(call->guard, fd) & GUARD_MOUNT_FOREIGN) != 0 &&
           (fstat(fd, &status) < 0 ||
            ((S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) && status.st_nlink > 0));
}

/* Judged by where it lies, as if every folder were a top and a git folder; only where that speaks
 * against it, its folder is looked for and asked. What has no name (a pipe) is nothing guarded. */
static int classify_object(struct guard_call *call, int fd, struct guard_place *place,
                           struct guard_class *class)
{
    const struct guard_rules *rules = call->guard->settings.rules;
    const struct guard_ask asking = {.holds_git = holds_git, .is_bare = is_bare, .context = place};
    const struct guard_ask doubting = {.holds_git = count_all, .is_bare = count_all};
    const int r = guard_location(call->guard, fd, place->location);
    char *name;

    *class = (struct guard_class){.level = GUARD_NO, .rule = -1, .report = -1};
    guard_place_close(place);
    place->plain[0] = '\0';
    if (r < 0 || place->location[0] != '/')
        return r;
    if (is_out_of_sight(call, fd))
        return -EXDEV;
    name = strrchr(place->location, '/');
    (void) snprintf(place->plain, sizeof place->plain, "%s", name + 1);
    name[name == place->location] = '\0';
    guard_classify(rules, place->location, place->plain, &doubting, class);
    if (class->level == GUARD_NO)
        return 0;
    place->fd = open_folder_of(fd, place);
    if (place->fd >= 0 || has_no_name(fd))
        guard_classify(rules, place->location, place->plain, place->fd >= 0 ? &asking : NULL,
                       class);
    return 0;
}

bool guard_object_is_free(struct guard_call *call, int fd)
{
    AUTO(guard_place_close) struct guard_place place = GUARD_NO_PLACE;
    struct guard_class class;

    return classify_object(call, fd, &place, &class) == 0 &&
           guard_is_free(GUARD_CHMOD, &class, NULL);
}

/* ---- what the job has made itself --------------------------------------------------------------
 */

/* What `name` of a folder is, a symlink itself. */
static bool identify(int dir_fd, const char *name, struct guard_object *ret_object)
{
    struct statx seen;

    if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &seen) < 0)
        return false;
    *ret_object = (struct guard_object){
        .dev = (uint64_t) seen.stx_dev_major << 32 | seen.stx_dev_minor,
        .inode = seen.stx_ino,
    };
    if ((seen.stx_mask & STATX_BTIME) != 0)
        ret_object->born_ns =
            (uint64_t) seen.stx_btime.tv_sec * 1000000000 + seen.stx_btime.tv_nsec;
    return true;
}

/* With the mutex. -1: it is not among them. */
static int find_made(const struct guard *guard, const struct guard_object *object)
{
    for (unsigned i = 0; i < guard->made_count; i++)
        if (guard->made[i].inode == object->inode && guard->made[i].dev == object->dev &&
            guard->made[i].born_ns == object->born_ns)
            return (int) i;
    return -1;
}

static bool is_made(struct guard *guard, const struct guard_object *object)
{
    bool found;

    (void) pthread_mutex_lock(&guard->made_mutex);
    found = find_made(guard, object) >= 0;
    (void) pthread_mutex_unlock(&guard->made_mutex);
    return found;
}

/* A git folder that was made in this run: its parts may be removed in this run. */
void guard_note_made(struct guard_call *call, const struct guard_judged *judged)
{
    struct guard *guard = call->guard;
    const struct guard_class *class = &judged->target_class;
    struct guard_object object;

    if (class->level == GUARD_NO || !(class->in_git || class->vet == GUARD_VET_GIT))
        return;
    if (!identify(judged->target->fd, judged->target->plain, &object))
        return;
    (void) pthread_mutex_lock(&guard->made_mutex);
    if (guard->made_count < GUARD_MADE_MAX && find_made(guard, &object) < 0)
        guard->made[guard->made_count++] = object;
    (void) pthread_mutex_unlock(&guard->made_mutex);
}

bool guard_leaves_made(const struct guard_judged *judged, struct guard_object *ret_object)
{
    return judged->target_class.level != GUARD_NO &&
           identify(judged->target->fd, judged->target->plain, ret_object);
}

void guard_forget_made(struct guard *guard, const struct guard_object *object)
{
    int at;

    (void) pthread_mutex_lock(&guard->made_mutex);
    at = find_made(guard, object);
    if (at >= 0)
        guard->made[at] = guard->made[--guard->made_count];
    (void) pthread_mutex_unlock(&guard->made_mutex);
}

/* What is there at a guarded name was there when the run began, or was put there by somebody
 * outside, unless it lies in a git folder of the job's own. */
static bool is_held(struct guard_call *call, const struct guard_place *place)
{
    struct guard_object object;

    if (place->fd >= 0 && identify(place->fd, place->plain, &object) &&
        is_made(call->guard, &object))
        return false;
    for (unsigned up = 0; place->fd >= 0 && up < HELD_UP_MAX; up++) {
        char path[3 * HELD_UP_MAX + 2];

        if (!climb(path, sizeof path, up, ".") || !identify(place->fd, path, &object))
            return true;
        if (is_made(call->guard, &object))
            return false;
    }
    return true;
}

/* ---- needs ------------------------------------------------------------------------------------
 */

/* Whether "head" is "HEAD" in this folder: one of some ext4 and f2fs, or of a file system with
 * aliases. A job may make such a folder where the file system lets it. */
static bool folds_case(const struct guard_place *place, const struct guard_class *class)
{
    AUTO_CLOSE int fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    unsigned flags = 0;

    if (class->aliases || fd < 0)
        return true;
    return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0;
}

struct bare_question {
    const struct guard_place *place;
    bool folds_case;
};

/* The file system folds case itself when it is asked for what is there; of the name that is still
 * to be made it has to be said. */
static bool has(const struct bare_question *question, const char *name)
{
    const char *plain = question->place->plain;
    struct stat status;

    if (strcmp(plain, name) == 0 || (question->folds_case && strcasecmp(plain, name) == 0))
        return true;
    return fstatat(question->place->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static bool completes_bare(const struct guard_place *place, const struct guard_class *class)
{
    const struct bare_question question = {place, folds_case(place, class)};

    return has(&question, "HEAD") &&
           ((has(&question, "objects") && has(&question, "refs")) || has(&question, "commondir"));
}

/* Says what a walk found. Returns `error`. */
static int say_found(const struct guard_call *call, struct guard_judged *judged, const char *before,
                     const char *after, int error)
{
    const struct guard_found *found = &call->guard->found;

    if (found->name[0] == '\0')
        (void) snprintf(judged->found, sizeof judged->found,
                        "it holds more than can be looked through for guarded names");
    else
        (void) snprintf(judged->found, sizeof judged->found, "%s'%.40s'%s: %s", before, found->name,
                        after, guard_rule_reason(call->guard->settings.rules, found->rule));
    return error;
}

static int found_bare(struct guard_judged *judged)
{
    judged->verdict.rule = -1; /* whose reason is that of a repository */
    return -GUARD_REFUSED;
}

static int leaves_bare(struct guard_judged *judged, bool of_source)
{
    judged->verdict.of_source = of_source;
    judged->verdict.reason = "without it the folder is no repository, and its hooks are unguarded";
    return -EBUSY;
}

/* Under the shared lock as well: what completes a repository takes the exclusive one. */
#define NEEDS_A_LOOK                                                                               \
    (GUARD_NEED_BARE | GUARD_NEED_BARE_SOURCE | GUARD_NEED_BARE_STAYS |                            \
     GUARD_NEED_BARE_STAYS_SOURCE)
#define THERE ", which is guarded there"
#define HELD ", which is held"

static int check_trees(struct guard_call *call, struct guard_judged *judged)
{
    struct guard *guard = call->guard;
    const struct guard_place *target = judged->target, *source = judged->source;
    const unsigned needs = judged->verdict.needs;

    if ((needs & GUARD_NEED_TREE) && source != NULL &&
        guard_tree_holds(guard, source->fd, source->plain, &judged->target_class))
        return say_found(call, judged, "it holds ", THERE, -GUARD_REFUSED);
    if ((needs & GUARD_NEED_TREE_LEAVES) && source != NULL &&
        guard_tree_holds(guard, source->fd, source->plain, &judged->source_class)) {
        judged->verdict.of_source = true;
        return say_found(call, judged, "it holds ", HELD, -EBUSY);
    }
    if ((needs & GUARD_NEED_OTHER) &&
        guard_tree_holds(guard, target->fd, target->plain, &judged->source_class))
        return say_found(call, judged, "what it changes places with holds ", THERE, -GUARD_REFUSED);
    if ((needs & GUARD_NEED_OTHER_LEAVES) &&
        guard_tree_holds(guard, target->fd, target->plain, &judged->target_class))
        return say_found(call, judged, "it holds ", HELD, -EBUSY);
    return 0;
}

static int check_needs(struct guard_call *call, struct guard_judged *judged)
{
    const unsigned needs = judged->verdict.needs;
    struct guard_class beside;

    if ((needs & ~(unsigned) NEEDS_A_LOOK) != 0 && !judged->exclusive)
        return GUARD_AGAIN;
    if ((needs & GUARD_NEED_BARE) && completes_bare(judged->target, &judged->target_class))
        return found_bare(judged);
    if ((needs & GUARD_NEED_BARE_SOURCE) &&
        (judged->source == NULL || completes_bare(judged->source, &judged->source_class)))
        return found_bare(judged);
    if ((needs & GUARD_NEED_BARE_STAYS) && completes_bare(judged->target, &judged->target_class))
        return leaves_bare(judged, false);
    if ((needs & GUARD_NEED_BARE_STAYS_SOURCE) &&
        completes_bare(judged->source, &judged->source_class))
        return leaves_bare(judged, true);
    if (needs & GUARD_NEED_BESIDE) {
        guard_class_beside(call->guard->settings.rules, &beside);
        if (guard_tree_holds(call->guard, judged->target->fd, ".", &beside))
            return say_found(call, judged, "with it, ", " would count", -GUARD_REFUSED);
    }
    return check_trees(call, judged);
}

/* ---- the question -----------------------------------------------------------------------------
 */

static int classify_all(struct guard_call *call, struct guard_judged *judged)
{
    AUTO(guard_place_close) struct guard_place linked = GUARD_NO_PLACE;
    int r;

    if (judged->object_fd >= 0)
        r = classify_object(call, judged->object_fd, judged->target, &judged->target_class);
    else
        r = classify(call, judged->target, NULL, &judged->target_class);
    if (r == 0 && judged->source != NULL)
        r = classify(call, judged->source, judged->target, &judged->source_class);
    if (r == 0 && judged->source_fd >= 0)
        r = classify_object(call, judged->source_fd, &linked, &judged->source_class);
    return r;
}

/* Folders that git fills itself. What looks like a work tree there is none. */
static bool is_gits_own(const char *name, size_t size)
{
    static const char *const own[] = {"annex",     "branches",     "hooks",        "info",
                                      "lfs",       "logs",         "modules",      "objects",
                                      "refs",      "reftable",     "rr-cache",     "svn",
                                      "worktrees", "rebase-apply", "rebase-merge", "sequencer"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (strlen(own[i]) == size && strncasecmp(own[i], name, size) == 0)
            return true;
    return false;
}

/* The component by which the way from `up` levels above goes down to the place. */
static bool goes_by_gits_own(const struct guard_place *place, unsigned up)
{
    const char *end = place->location + strlen(place->location), *at = end;

    if (up == 0)
        return is_gits_own(place->plain, strlen(place->plain));
    for (unsigned i = 0; i < up; i++) {
        end = i == 0 ? end : at - 1;
        at = end;
        while (at > place->location && at[-1] != '/')
            at--;
    }
    return is_gits_own(at, (size_t) (end - at));
}

/* A linked work tree: its ".git" is a file, and vetted. */
static bool is_work_tree_above(const struct guard_place *place, unsigned up)
{
    char path[3 * UP_MAX + 16];
    struct stat status;

    return climb(path, sizeof path, up, ".git") &&
           fstatat(place->fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

static bool has_work_tree_within(const struct guard_place *place, unsigned levels)
{
    for (unsigned up = 0; up < levels; up++)
        if (is_work_tree_above(place, up))
            return true;
    return false;
}

/* In a git folder of any name, at any depth; a linked work tree that lies in one is no part of it.
 * Nearly always there is none, and that is one look at each level. */
static bool lies_in_git(const struct guard_place *place, const struct guard_class *class)
{
    unsigned depth = 0, up = 0;

    if (class->in_git)
        return true;
    for (const char *at = place->location; *at != '\0'; at++)
        depth += *at == '/';
    while (up < depth && !is_bare_above(place, up))
        up++;
    return up < depth && (!has_work_tree_within(place, up) || goes_by_gits_own(place, up));
}

/* What moves from one folder to another may come into or leave a git folder that only what it holds
 * tells. Within one folder nothing changes, and what a link of LINK leads to is asked below. */
static void find_git_folders(struct guard_judged *judged)
{
    if (judged->source == NULL || judged->op == GUARD_LINK ||
        strcmp(judged->source->location, judged->target->location) == 0)
        return;
    judged->target_class.in_git = lies_in_git(judged->target, &judged->target_class);
    judged->source_class.in_git = lies_in_git(judged->source, &judged->source_class);
}

/* One that has a name may be another by the time it is linked, so its text does not count. */
static bool links_symlink(const struct guard_judged *judged)
{
    struct stat status;

    return judged->op == GUARD_LINK &&
           (judged->source != NULL || fstat(judged->source_fd, &status) < 0 ||
            S_ISLNK(status.st_mode));
}

static bool redirects(const struct guard_place *place)
{
    return guard_entry_redirects(place->fd, place->plain);
}

static bool brings_link(const struct guard_judged *judged)
{
    const bool moves = judged->op == GUARD_RENAME || judged->op == GUARD_EXCHANGE;

    if (judged->op == GUARD_SYMLINK ? guard_link_redirects(judged->text)
                                    : links_symlink(judged) || (moves && redirects(judged->source)))
        return lies_in_git(judged->target, &judged->target_class);
    return judged->op == GUARD_EXCHANGE && redirects(judged->target) &&
           lies_in_git(judged->source, &judged->source_class);
}

static bool has_source(const struct guard_judged *judged)
{
    return judged->source != NULL || judged->source_fd >= 0;
}

/* Nearly every call: nothing to look at. */
static bool is_free(const struct guard_judged *judged)
{
    const struct guard_class *source = &judged->source_class;

    return judged->target_class.level == GUARD_NO && !judged->target_class.bare &&
           judged->op != GUARD_WHITEOUT && !judged->brings_link &&
           (!has_source(judged) || (source->level == GUARD_NO && !source->bare &&
                                    source->in_git == judged->target_class.in_git));
}

/* After guard_exists(): a folder that cannot be searched answers as it would without us. */
static int cannot_look(struct guard_judged *judged)
{
    judged->verdict.quiet = true;
    return errno == EACCES ? -EACCES : -ENOENT;
}

static int ask(struct guard_call *call, struct guard_judged *judged)
{
    const struct guard_rules *rules = call->guard->settings.rules;
    struct guard_question question = {.op = judged->op,
                                      .target = &judged->target_class,
                                      .redirects = judged->brings_link,
                                      .opens = judged->opens};
    struct stat status;

    if (has_source(judged))
        question.source = &judged->source_class;
    if (judged->source != NULL) {
        if (!guard_exists(judged->source, &status))
            return cannot_look(judged);
        question.kind = kind_of(&status);
    }
    if (judged->source_fd >= 0 && fstat(judged->source_fd, &status) == 0)
        question.kind = kind_of(&status);
    if (judged->object_fd >= 0)
        question.exists = fstat(judged->object_fd, &status) == 0;
    else
        question.exists = guard_exists(judged->target, &status);
    if (!question.exists && judged->object_fd < 0 && errno == EACCES)
        return cannot_look(judged);
    if (question.exists) {
        question.other = kind_of(&status);
        question.held = judged->held = judged->target_class.vet == GUARD_VET_LOCK
                                           ? !guard_is_draft(call->guard, &status)
                                           : is_held(call, judged->target);
    }
    if (question.exists && judged->op == GUARD_CREATE) { /* by now: it is not made by this call */
        judged->verdict.quiet = true;
        return -EEXIST;
    }
    if (judged->text != NULL)
        question.harmless = guard_link_is_harmless(rules, judged->target->location,
                                                   &judged->target_class, judged->text);
    guard_decide(&question, &judged->verdict);
    return -judged->verdict.error;
}

static int judge_names(struct guard_call *call, struct guard_judged *judged)
{
    int r = classify_all(call, judged);

    if (r == 0)
        find_git_folders(judged);
    judged->verdict = (struct guard_verdict){.rule = -1};
    judged->found[0] = '\0';
    judged->brings_link = r == 0 && brings_link(judged);
    if (r < 0 || is_free(judged))
        return r;
    r = ask(call, judged);
    if (r == 0)
        r = check_needs(call, judged);
    if (r < 0 && r != GUARD_AGAIN && r != -ENOENT && !judged->verdict.quiet)
        guard_report(call, judged, NULL);
    return r;
}

int guard_judge(struct guard_call *call, struct guard_judged *judged)
{
    const int r = judge_names(call, judged);

    return r == 0 ? guard_judge_runs(call, judged) : r;
}
