/* Why a run may have failed, from the policy and the job's own last words alone. Layer 1.
 * The host is never looked at: a job could otherwise learn what exists there. */
#ifndef WATTLE_POLICY_HINT_H
#define WATTLE_POLICY_HINT_H

#include "base/buf.h"
#include "policy/policy.h"

#define HINT_MAX 3

/* Who reads it: a model has no options of wattle, and none is named to it. */
enum hint_reader { HINT_OWNER, HINT_MODEL };

/* Reads a tail of the job's stderr (hostile bytes, any length) and appends at most HINT_MAX lines
 * "blocked: write to ~/notes is outside the policy; allow it with --rw ~/notes". Knows messages for
 * files (EACCES, EPERM, EROFS, ENOENT, EBUSY, EXDEV with a path), network (resolver, unreachable,
 * refused), namespaces, set-id bits, bounds (EAGAIN on fork, ENOSPC in /tmp, EFBIG, EMFILE), and
 * programs that ask for a terminal. `home` is the owner's, for "~"; NULL: paths stay whole. Never
 * proposes a credential place or wattle's own folders. Returns the number of lines. */
int hint_find(const struct policy *policy, const char *home, enum hint_reader reader,
              const char *tail, size_t size, struct buf *lines);

/* What the exit status alone says: a program that a bound ended with a signal had no last words.
 * Appends a line unless `lines` has it. Returns the number of lines. */
int hint_find_end(const struct policy *policy, enum hint_reader reader, int exit_code,
                  struct buf *lines);

#endif
