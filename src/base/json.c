#include "base/json.h"

#include "base/cleanup.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

void json_free(json_t **json)
{
    json_decref(*json);
    *json = NULL;
}

/* The parser calls itself once a level, so depth is bounded before it starts. Returns the line that
 * goes too deep; 0: none does. Text that is no JSON may be counted wrongly, which only matters for
 * the words of its refusal. */
static size_t find_too_deep(const char *text, size_t size)
{
    size_t line = 1;
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < size; i++) {
        char c = text[i];

        if (c == '\n')
            line++;
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{') && ++depth > DEPTH_MAX)
            return line;
        else if (!quoted && (c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return 0;
}

static int parse(const char *text, size_t size, const char *object, size_t flags, json_t **ret_json,
                 struct err *err)
{
    json_error_t error;
    size_t line = find_too_deep(text, size);
    json_t *json;

    if (line > 0)
        return err_set(err, EINVAL, "json.syntax", "'%s' line %zu: more than %d levels deep",
                       object, line, DEPTH_MAX);
    json = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, &error);
    if (json == NULL && json_error_code(&error) == json_error_out_of_memory)
        return err_memory(err);
    if (json == NULL) {
        (void) err_set(err, EINVAL, "json.syntax", "'%s' line %d: %s", object, error.line,
                       error.text);
        if (json_error_code(&error) != json_error_invalid_syntax)
            return -EINVAL;
        return err_hint(err, "JSON has no comments and no trailing commas");
    }
    *ret_json = json;
    return 0;
}

int json_parse(const char *text, size_t size, const char *object, json_t **ret_json,
               struct err *err)
{
    return parse(text, size, object, 0, ret_json, err);
}

int json_parse_any_text(const char *text, size_t size, const char *object, json_t **ret_json,
                        struct err *err)
{
    return parse(text, size, object, JSON_ALLOW_NUL, ret_json, err);
}

const char *json_plain_text(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && strlen(text) == json_string_length(value) ? text : NULL;
}

json_t *json_text(const char *bytes, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    AUTO_FREE char *text = malloc(size * 3 + 1);
    size_t length = 0;
    size_t step;

    if (text == NULL)
        return NULL;
    for (size_t at = 0; at < size; at += step) {
        uint32_t rune;
        size_t valid = str_utf8(bytes + at, size - at, &rune);
        const char *source = valid > 0 ? bytes + at : replacement;
        size_t copied = valid > 0 ? valid : sizeof replacement - 1;

        step = valid > 0 ? valid : 1;
        memcpy(text + length, source, copied);
        length += copied;
    }
    return json_stringn_nocheck(text, length);
}

/* ASCII only, so that a name in it cannot drive the terminal it is shown on. */
int json_print(struct buf *buf, const json_t *json)
{
    AUTO_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

    if (text == NULL)
        return -ENOMEM;
    (void) buf_add_text(buf, text); /* failures are sticky */
    return buf_add(buf, "\n", 1);
}
