/* Paths as text, and the few look-ups that turn them into physical ones. Layer 0. */
#ifndef WATTLE_BASE_PATH_H
#define WATTLE_BASE_PATH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Absolute, no empty, "." or ".." component, no trailing slash (except "/" itself), < PATH_MAX. */
bool path_is_clean(const char *path);

/* Whether `path` is `top` or lies below it, by whole components. Both clean. */
bool path_is_below(const char *path, const char *top);

/* Length of the longest common run of whole components is not needed; the last component is. */
const char *path_base(const char *path);

/* Whether a name comes before a "..", as in "a/..": such a path depends on "a", and passes it by.
 */
bool path_turns_back(const char *path);

/* Joins a clean absolute `top` with `rest` (relative, not checked). NULL: out of memory. */
char *path_join(const char *top, const char *rest);

/* Makes `path` absolute against `base` (clean) and removes "." , empty and ".." parts as text.
 * "~" alone and a leading "~/" stand for `home` when `home` is not NULL. Follows no symlink.
 * Errors: ENAMETOOLONG path.too-long, ENOMEM. Caller frees *ret_path. */
int path_normalize(const char *path, const char *base, const char *home, char **ret_path,
                   struct err *err) MUST_CHECK;

/* The physical path of something that exists (realpath). Caller frees *ret_path.
 * Errors: errno of the look-up, id "path.lookup", the sentence names `path`. */
int path_physical(const char *path, char **ret_path, struct err *err) MUST_CHECK;

/* Calls `each` for every symlink met while walking the clean absolute `path`, with the symlink's
 * own physical-parent path and its text. Stops at the first non-zero return and returns it.
 * Needed to make the same symlinks inside, so that a path the caller typed works there too. */
int path_each_symlink(const char *path,
                      int (*each)(void *context, const char *link, const char *target),
                      void *context, struct err *err) MUST_CHECK;

/* The same for an absolute path that may lead to nothing, and whose ".." parts are the kernel's;
 * *ret_end is where it ends, and what is missing is appended as text. Caller frees *ret_end. */
int path_follow(const char *path, int (*each)(void *context, const char *link, const char *target),
                void *context, char **ret_end, struct err *err) MUST_CHECK;

/* O_PATH-or-other open of an absolute or relative path that refuses every symlink and magic link
 * on the way (openat2, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS). -errno, no err: the callers
 * know better words. -ENOSYS when the kernel has no openat2. O_CLOEXEC and O_NOCTTY are added. */
int path_open_plain(int dir_fd, const char *path, uint64_t flags) MUST_CHECK;

/* The same but also never above `dir_fd` (RESOLVE_BENEATH). `mode` counts with O_CREAT only. */
int path_open_below(int dir_fd, const char *path, uint64_t flags, unsigned mode) MUST_CHECK;

/* Makes `path`, which is clean and absolute, and what is missing above it. -errno; one that is
 * there is success. */
int path_make_folders(const char *path, unsigned mode) MUST_CHECK;

#endif
