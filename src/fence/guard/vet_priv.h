/* How a git configuration is read. Private to src/fence/guard. */
#ifndef WATTLE_FENCE_GUARD_VET_PRIV_H
#define WATTLE_FENCE_GUARD_VET_PRIV_H

#include "fence/guard/vet.h"

struct guard_slice {
    const char *at;
    size_t size;
};

enum guard_read {
    GUARD_READ_END,
    GUARD_READ_BLANK,   /* an empty line */
    GUARD_READ_COMMENT, /* `comment`: from the beginning of the line, or of the comment */
    GUARD_READ_SECTION, /* `section`: the name as written; setting.subsection */
    GUARD_READ_SETTING, /* `key` as written; `comment` what follows it, may be empty */
};

struct guard_reader {
    const char *text;
    size_t size;
    size_t at;
    size_t line_start;
    unsigned line;
    bool line_used; /* something was reported of this line */
    struct guard_slice section, key, comment;
    struct guard_setting setting;
};

void guard_reader_init(struct guard_reader *reader, const char *text, size_t size);
/* The next of enum guard_read. EINVAL guard.vet-syntax names the line. */
int guard_reader_next(struct guard_reader *reader, struct err *err) MUST_CHECK;

/* Appends to text[size] from *at on; *at > size afterwards: it did not fit. */
struct guard_printer {
    char *text;
    size_t size;
    size_t at;
};
void guard_print_event(struct guard_printer *printer, const struct guard_reader *reader, int event);

/* "remote.origin.url", with what cannot be printed as '?'. */
#define GUARD_SETTING_NAME_SIZE 128
void guard_setting_name(const struct guard_setting *setting, char text[GUARD_SETTING_NAME_SIZE]);

bool guard_setting_is(const struct guard_setting *setting, const char *section, const char *key);
bool guard_setting_equals(const struct guard_setting *a, const struct guard_setting *b);
bool guard_setting_is_url(const struct guard_setting *setting); /* of a remote */

/* `path` made absolute against `folder` and cleaned, as text. ENAMETOOLONG, EINVAL for "/". */
int guard_path_resolve(const char *folder, const char *path, size_t size, char *ret_path);

#endif
