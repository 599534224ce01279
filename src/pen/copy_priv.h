/* Private to src/pen/. */
#ifndef WATTLE_PEN_COPY_PRIV_H
#define WATTLE_PEN_COPY_PRIV_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/stat.h>

/* Makes the empty file behind `to_fd` like the one behind `from_fd`: content with its holes, owner,
 * extended attributes, mode, times. `ret_cloned`: the file system shares the blocks. The sentence
 * of an error says what could not be done, not on which file. Errors: pen.copy. */
int pen_copy_file(int from_fd, const struct stat *from, int to_fd, bool *ret_cloned,
                  struct err *err) MUST_CHECK;

#endif
