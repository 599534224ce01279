/* The interpreter in a file's first line, as the kernel reads it (fs/binfmt_script.c). Private to
 * src/host. The bytes may be a job's. */
#ifndef WATTLE_HOST_SHEBANG_H
#define WATTLE_HOST_SHEBANG_H

#include <stddef.h>

#define SHEBANG_BYTES 256 /* of a file the kernel looks at */

/* `head`: the first bytes of the file, SHEBANG_BYTES unless it is shorter. How long the name is
 * that begins at *ret_name, in `head`; 0: there is none, or none that the kernel would execute. */
size_t shebang_name(const char *head, size_t size, const char **ret_name);

#endif
