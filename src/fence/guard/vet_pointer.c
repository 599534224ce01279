/* The small files by which git folders find each other. */
#include "fence/guard/vet.h"
#include "fence/guard/vet_priv.h"

#include <errno.h>
#include <string.h>

/* ---- text ---------------------------------------------------------------------------------- */

/* One line without control characters or blanks at its ends, with or without its line break. */
static int take_line(const char *text, size_t size, const char *what, struct guard_slice *ret_line,
                     struct err *err)
{
    if (size > 0 && text[size - 1] == '\n')
        size--;
    if (size == 0 || size >= PATH_MAX || text[0] == ' ' || text[size - 1] == ' ')
        return err_set(err, EINVAL, "guard.vet-pointer", "%s is not one line that leads somewhere",
                       what);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
            return err_set(err, EINVAL, "guard.vet-pointer", "%s has a control character", what);
    *ret_line = (struct guard_slice){text, size};
    return 0;
}

static bool is_part(const char *part, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(part, name, size) == 0;
}

static int add_part(char *path, size_t *at, const char *part, size_t size)
{
    if (*at + 1 + size >= PATH_MAX)
        return -ENAMETOOLONG;
    path[(*at)++] = '/';
    memcpy(path + *at, part, size);
    *at += size;
    path[*at] = '\0';
    return 0;
}

static void take_part_away(char *path, size_t *at)
{
    while (*at > 0 && path[--*at] != '/')
        ;
    path[*at] = '\0';
}

/* `folder`, or nothing for an absolute path. */
static int begin(const char *folder, const char *path, char *ret_path, size_t *at)
{
    ret_path[ *at = 0] = '\0';
    if (path[0] == '/')
        return 0;
    if (folder[0] != '/' || strlen(folder) >= PATH_MAX)
        return -EINVAL;
    *at = folder[1] == '\0' ? 0 : strlen(folder);
    memcpy(ret_path, folder, *at);
    ret_path[*at] = '\0';
    return 0;
}

/* ".." is taken at the beginning only, where `folder` is known to be no symlink. */
int guard_path_resolve(const char *folder, const char *path, size_t size, char *ret_path)
{
    size_t at = 0;
    int r = size > 0 ? begin(folder, path, ret_path, &at) : -EINVAL;
    bool may_climb = r == 0 && path[0] != '/';

    for (size_t from = 0; r == 0 && from <= size;) {
        const char *part = path + from;
        const char *end = memchr(part, '/', size - from);
        const size_t length = end != NULL ? (size_t) (end - part) : size - from;

        from += length + 1;
        if (length == 0 || is_part(part, length, "."))
            continue;
        if (!is_part(part, length, "..")) {
            may_climb = false;
            r = add_part(ret_path, &at, part, length);
        } else if (may_climb) {
            take_part_away(ret_path, &at);
        } else {
            r = -EINVAL;
        }
    }
    return r == 0 && at == 0 ? -EINVAL : r;
}

/* ---- .git files ---------------------------------------------------------------------------- */

/* Where "/.git/NAME/" ends in `path`, the last one; NULL: nowhere. */
static const char *find_last(const char *path, const char *middle)
{
    const char *found = NULL;

    for (const char *at = strstr(path, middle); at != NULL; at = strstr(at + 1, middle))
        found = at + strlen(middle);
    return found;
}

/* ".../.git/worktrees/NAME", or below modules/: where configuration and hooks are guarded. */
static int kind_of(const char *path, enum guard_pointer *ret_kind)
{
    const char *module = find_last(path, "/.git/modules/");
    const char *worktree = find_last(path, "/.git/worktrees/");
    const char *nested = find_last(path, "/worktrees/");

    if (worktree != NULL && strchr(worktree, '/') == NULL) {
        *ret_kind = GUARD_POINTER_WORKTREE;
        return 0;
    }
    if (module == NULL && worktree == NULL)
        return -EINVAL;
    *ret_kind = nested != NULL && strchr(nested, '/') == NULL ? GUARD_POINTER_WORKTREE
                                                              : GUARD_POINTER_MODULE;
    return 0;
}

int guard_vet_pointer(const char *text, size_t size, const char *folder, char *ret_path,
                      enum guard_pointer *ret_kind, struct err *err)
{
    static const char start[] = "gitdir: ";
    const size_t length = sizeof start - 1;
    struct guard_slice line = {.size = 0};

    if (size <= length || memcmp(text, start, length) != 0)
        return err_set(err, EINVAL, "guard.vet-pointer", "a .git file does not begin with '%s'",
                       start);
    if (take_line(text + length, size - length, "a .git file", &line, err) < 0)
        return -EINVAL;
    if (guard_path_resolve(folder, line.at, line.size, ret_path) == 0 &&
        kind_of(ret_path, ret_kind) == 0)
        return 0;
    (void) err_set(err, EINVAL, "guard.vet-pointer",
                   "a .git file leads to no submodule's or worktree's git folder");
    return err_hint(err, "only below .git/modules and .git/worktrees are they looked after");
}

/* ---- the rest ------------------------------------------------------------------------------ */

int guard_vet_back(const char *text, size_t size, const char *folder, char *ret_path,
                   struct err *err)
{
    static const char end[] = "/.git";
    const size_t length = sizeof end - 1;
    struct guard_slice line = {.size = 0};
    size_t reached = 0;
    const int r = take_line(text, size, "a worktree's gitdir", &line, err);

    if (r < 0)
        return r;
    if (guard_path_resolve(folder, line.at, line.size, ret_path) == 0)
        reached = strlen(ret_path);
    if (reached > length && memcmp(ret_path + reached - length, end, length) == 0)
        return 0;
    return err_set(err, EINVAL, "guard.vet-pointer", "a worktree's gitdir names no .git file");
}

int guard_vet_commondir(const char *text, size_t size, const char *folder, struct err *err)
{
    char path[PATH_MAX];
    struct guard_slice line = {.size = 0};
    const int r = take_line(text, size, "a commondir", &line, err);

    if (r < 0)
        return r;
    if (is_part(line.at, line.size, "../.."))
        return 0;
    if (line.at[0] == '/' && guard_path_resolve(folder, "../..", 5, path) == 0 &&
        is_part(line.at, line.size, path))
        return 0;
    (void) err_set(err, EINVAL, "guard.vet-pointer", "a commondir leads elsewhere than '../..'");
    return err_hint(err, "git would take its configuration and hooks from there");
}

static bool is_object(const struct guard_slice *line)
{
    size_t digits = 0;

    while (digits < line->size && ((line->at[digits] >= '0' && line->at[digits] <= '9') ||
                                   (line->at[digits] >= 'a' && line->at[digits] <= 'f')))
        digits++;
    return digits == line->size && (digits == 40 || digits == 64);
}

int guard_vet_head(const char *text, size_t size, struct err *err)
{
    static const char start[] = "ref: refs/";
    struct guard_slice line = {.size = 0};
    const int r = take_line(text, size, "a HEAD", &line, err);

    if (r < 0 || is_object(&line))
        return r;
    if (line.size > sizeof start - 1 && memcmp(line.at, start, sizeof start - 1) == 0 &&
        memmem(line.at, line.size, "..", 2) == NULL)
        return 0;
    return err_set(err, EINVAL, "guard.vet-pointer", "a HEAD names neither a branch nor an object");
}

bool guard_pointer_is_whole(const char *text, size_t size)
{
    return size > 0 && text[size - 1] == '\n' && memchr(text, '\n', size - 1) == NULL;
}

bool guard_hook_is_sample(const char *name)
{
    const size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return size > 0 && strcmp(name + size, ".sample") == 0;
}
