#include "base/passwd.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    FILE_LIMIT_BYTES = 32 << 20,
    FIELDS_MAX = 7,
};

static bool has_control(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
            return true;
    }
    return false;
}

/* The next line without its end; NULL after the last. Cuts it off inside the buffer. */
static char *next_line(char **at, char *end, size_t *ret_size)
{
    char *line = *at;
    char *stop;

    if (line >= end)
        return NULL;
    stop = memchr(line, '\n', (size_t) (end - line));
    if (stop == NULL)
        stop = end; /* the buffer ends in a NUL */
    *stop = '\0';
    *ret_size = (size_t) (stop - line);
    *at = stop + 1;
    return line;
}

/* Cuts `line` at its colons. False unless it has exactly `count` fields and a name. */
static bool split(char *line, char *fields[], size_t count)
{
    size_t found = 0;

    for (char *at = line; at != NULL && found < count; found++) {
        fields[found] = at;
        at = strchr(at, ':');
        if (at != NULL) {
            if (found + 1 == count)
                return false;
            *at++ = '\0';
        }
    }
    /* "+" and "-" lines ask a directory service; "#" is a comment. */
    return found == count && strchr("+-#", fields[0][0]) == NULL;
}

static bool copy_field(char *target, size_t size, const char *field)
{
    size_t length = strlen(field);

    if (length >= size)
        return false;
    memcpy(target, field, length + 1);
    return true;
}

static bool is_number(const char *field, uint64_t number)
{
    uint64_t value;

    return str_to_u64(field, &value) == 0 && value == number;
}

/* Reads lines of `count` fields until one has `number` in its third and `use` takes it. */
static int find_line(const char *path, size_t count, uint64_t number,
                     bool (*use)(void *context, char *fields[]), void *context)
{
    AUTO(buf_free) struct buf buf;
    char *fields[FIELDS_MAX] = {0};
    char *at;
    char *line;
    size_t size = 0;
    int r;

    buf_init(&buf, FILE_LIMIT_BYTES);
    r = fd_read_file(AT_FDCWD, path, &buf);
    if (r < 0)
        return r;
    at = buf.bytes;
    while ((line = next_line(&at, buf.bytes + buf.size, &size)) != NULL) {
        if (!has_control(line, size) && split(line, fields, count) &&
            is_number(fields[2], number) && use(context, fields))
            return 0;
    }
    return -ENOENT;
}

static bool use_user(void *context, char *fields[])
{
    struct passwd_entry entry = {0};

    if (!copy_field(entry.name, sizeof entry.name, fields[0]) ||
        !copy_field(entry.gecos, sizeof entry.gecos, fields[4]) ||
        !copy_field(entry.home, sizeof entry.home, fields[5]) ||
        !copy_field(entry.shell, sizeof entry.shell, fields[6]))
        return false;
    *(struct passwd_entry *) context = entry;
    return true;
}

int passwd_find(const char *path, uid_t uid, struct passwd_entry *ret_entry)
{
    return find_line(path, 7, uid, use_user, ret_entry);
}

struct group_name {
    char *text;
    size_t size;
};

static bool use_group(void *context, char *fields[])
{
    const struct group_name *name = context;

    return copy_field(name->text, name->size, fields[0]);
}

int passwd_group(const char *path, gid_t gid, char *name, size_t size)
{
    struct group_name group = {.text = name, .size = size};

    return find_line(path, 4, gid, use_group, &group);
}
