/* Bytes as text (RFC 4648, section 4). Layer 0. */
#ifndef WATTLE_BASE_BASE64_H
#define WATTLE_BASE_BASE64_H

#include "base/buf.h"

/* Strict: whole groups of four, padding at the end only, no other character. Appends. -EBADMSG, or
 * the buffer's failure. */
int base64_decode(const char *text, struct buf *bytes) MUST_CHECK;

#endif
