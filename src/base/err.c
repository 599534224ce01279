#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Marks text that was cut, without leaving half of a UTF-8 character in front of the mark. */
static void mark_cut(char *text, size_t size)
{
    static const char mark[] = "...";
    size_t end = size - sizeof mark;

    while (end > 0 && ((unsigned char) text[end] & 0xc0u) == 0x80u)
        end--;
    memcpy(text + end, mark, sizeof mark);
}

static void PRINTF_LIKE(3, 0)
    format_cut(char *text, size_t size, const char *format, va_list arguments);

static void format_cut(char *text, size_t size, const char *format, va_list arguments)
{
    int length = vsnprintf(text, size, format, arguments);

    if (length < 0)
        text[0] = '\0';
    else if ((size_t) length >= size)
        mark_cut(text, size);
}

/* `text` may be `a` or `b`. */
static void join_cut(char *text, size_t size, const char *a, const char *b)
{
    char joined[sizeof((struct err *) NULL)->what];
    int length = snprintf(joined, sizeof joined, "%s: %s", a, b);

    if (length < 0)
        return;
    if ((size_t) length >= sizeof joined)
        mark_cut(joined, sizeof joined);
    memcpy(text, joined, size < sizeof joined ? size : sizeof joined);
}

int err_set(struct err *err, int code, const char *id, const char *format, ...)
{
    char what[sizeof err->what];
    va_list arguments;
    int positive = code > 0 ? code : EIO;

    if (err == NULL)
        return -positive;

    /* The arguments may point into the old error. */
    va_start(arguments, format);
    format_cut(what, sizeof what, format, arguments);
    va_end(arguments);
    if (positive != EINVAL) {
        /* Not strerror(): this runs in children between fork and exec, and takes no lock. */
        const char *reason = strerrordesc_np(positive);

        join_cut(what, sizeof what, what, reason != NULL ? reason : "unknown error");
    }
    err->code = positive;
    (void) snprintf(err->id, sizeof err->id, "%s", id);
    memcpy(err->what, what, sizeof what);
    err->hint[0] = '\0';
    return -positive;
}

int err_hint(struct err *err, const char *format, ...)
{
    char hint[sizeof err->hint];
    va_list arguments;

    if (err == NULL)
        return -EIO;

    va_start(arguments, format);
    format_cut(hint, sizeof hint, format, arguments);
    va_end(arguments);
    memcpy(err->hint, hint, sizeof hint);
    return -err->code;
}

int err_context(struct err *err, const char *format, ...)
{
    char context[sizeof err->what];
    va_list arguments;

    if (err == NULL)
        return -EIO;

    va_start(arguments, format);
    format_cut(context, sizeof context, format, arguments);
    va_end(arguments);
    join_cut(err->what, sizeof err->what, context, err->what);
    return -err->code;
}

int err_memory(struct err *err)
{
    return err_set(err, ENOMEM, "base.memory", "out of memory");
}
