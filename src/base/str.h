/* Text: equality, sizes, durations, nearest names, and printing that cannot drive a terminal.
 * Layer 0. */
#ifndef WATTLE_BASE_STR_H
#define WATTLE_BASE_STR_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_equal(const char *a, const char *b);
bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* Whether all of a name is what `glob` says: '*' stands for any bytes, '?' for one, and letters of
 * ASCII count whatever their case. */
bool str_glob_fits(const char *glob, size_t glob_size, const char *name, size_t size);

/* Decimal digits only, no sign, no space. -EINVAL or -ERANGE; *ret_value untouched then. */
int str_to_u64(const char *text, uint64_t *ret_value) MUST_CHECK;

/* "512", "512K", "16M", "2G", "1T" (powers of 1024, optional "iB" or "B"; "16m" too). Bytes. > 0:
 * -ERANGE otherwise. */
int str_to_bytes(const char *text, uint64_t *ret_bytes) MUST_CHECK;

/* "90", "90s", "5m", "2h", "1500ms"; a bare number is seconds. Milliseconds. > 0: -ERANGE
 * otherwise. */
int str_to_ms(const char *text, uint64_t *ret_ms) MUST_CHECK;

/* Shortest of bytes as "16 KiB", for people. */
void str_from_bytes(uint64_t bytes, char *text, size_t size);

/* The entry of `names` (ends with NULL) nearest to `text`, or NULL when none is near enough to be
 * worth suggesting (edit distance over a third of the length). */
const char *str_nearest(const char *text, const char *const *names);

/* Length of the UTF-8 character that `bytes` begins with, by the strict rules (no overlong form, no
 * surrogate); 0: none does. */
size_t str_utf8(const char *bytes, size_t size, uint32_t *ret_rune);

/* Appends `text` with every byte that could drive a terminal made visible: control characters as
 * \n \t \xHH, invalid UTF-8 as \xHH, bidi controls, zero-width and other format characters
 * (U+200B..F, U+2028..E, U+2060..F, U+FEFF, U+E0000..7F, C1) as \u{HEX}. Backslash stays itself. */
int str_add_inert(struct buf *buf, const char *text, size_t size);

/* Like str_add_inert, and in single quotes when a shell would need quotes: for printing commands.
 */
int str_add_shell(struct buf *buf, const char *text);

#endif
