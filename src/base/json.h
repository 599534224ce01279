/* Strict JSON by jansson. Layer 0. Not linked into wattle-job. */
#ifndef WATTLE_BASE_JSON_H
#define WATTLE_BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

void json_free(json_t **json); /* for AUTO(json_free) */

/* Parses exactly one value: duplicate keys, trailing bytes, NUL, invalid UTF-8, depth over 64 are
 * errors, id "json.syntax", which name `object` and the line. */
int json_parse(const char *text, size_t size, const char *object, json_t **ret_json,
               struct err *err) MUST_CHECK;

/* The same, and texts may hold NUL: output of a job's, words of a model's. Whoever takes a text for
 * a C string asks json_plain_text. */
int json_parse_any_text(const char *text, size_t size, const char *object, json_t **ret_json,
                        struct err *err) MUST_CHECK;
const char *json_plain_text(const json_t *value); /* NULL: no text, or one with a NUL in it */

/* A string of bytes that may not be UTF-8: invalid bytes become U+FFFD. NULL: out of memory. */
json_t *json_text(const char *bytes, size_t size);

/* One line, keys in insertion order, newline at the end. */
int json_print(struct buf *buf, const json_t *json) MUST_CHECK;

#endif
