/* Codex's file is TOML, for which the static program has no reader. So nothing of it is read: our
 * table goes to its end, between two lines of ours, and those lines are all that is looked for.
 * (`codex mcp add` would be the other way: a program that rewrites the whole file, is found on a
 * PATH, and does not know the owner's consent.) A table at the end is right after any right file,
 * unless the same table is there already; whatever might be one refuses the edit. */
#include "base/cleanup.h"
#include "base/str.h"
#include "cli/setup.h"

#include <errno.h>
#include <string.h>

#define BEGIN "# >>> wattle setup: wattle rewrites what stands between these lines"
#define END "# <<< wattle setup"

/* Where ours is: from `begin` to `end`, both 0 where it is not. */
struct block {
    size_t begin, end;
};

static int broken(const char *what, struct err *err)
{
    (void) err_set(err, EINVAL, "setup.shape", "%s", what);
    return err_hint(err, "it is left alone: put the entry there by hand");
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool next_line(const struct buf *text, size_t *at, const char **ret_line, size_t *ret_size)
{
    const char *line = text->bytes + *at;
    const char *end;

    if (*at >= text->size)
        return false;
    end = memchr(line, '\n', text->size - *at);
    *ret_line = line;
    *ret_size = end == NULL ? text->size - *at : (size_t) (end - line);
    *at += *ret_size + (end != NULL);
    return true;
}

static bool is(const char *line, size_t size, const char *what)
{
    return size == strlen(what) && memcmp(line, what, size) == 0;
}

static bool has(const char *line, size_t size, const char *what)
{
    return memmem(line, size, what, strlen(what)) != NULL;
}

static int find_block(const struct buf *old, struct block *ret_block, struct err *err)
{
    struct block block = {0};
    bool open = false, found = false;
    const char *line;
    size_t size;

    for (size_t at = 0, start = 0; next_line(old, &at, &line, &size); start = at) {
        const bool begins = is(line, size, BEGIN), ends = is(line, size, END);

        if ((begins && (open || found)) || (ends && !open))
            return broken("the lines around wattle's part are not as wattle wrote them", err);
        if (begins)
            block.begin = start;
        if (ends)
            block.end = at;
        open = begins || (open && !ends);
        found = found || ends;
    }
    if (open)
        return broken("the line that ends wattle's part is missing", err);
    *ret_block = block;
    return 0;
}

/* ---- what is not ours ------------------------------------------------------------------------ */

/* "[mcp_servers.wattle]" and all its other spellings; "mcp_servers = {" and the like, after which
 * no table may follow; and a "[mcp_servers]" that could hold a key of ours. */
static bool might_clash(const char *line, size_t size, const char *group)
{
    while (size > 0 && (*line == ' ' || *line == '\t' || *line == '"' || *line == '\'')) {
        line++;
        size--;
    }
    if (size == 0 || *line == '#')
        return false;
    return (has(line, size, group) && has(line, size, "wattle")) ||
           (size >= strlen(group) && memcmp(line, group, strlen(group)) == 0) ||
           (*line == '[' && has(line, size, group) && !has(line, size, "."));
}

/* Whether the quotes of texts over several lines come in pairs. */
static bool quotes_pair(const struct buf *old, const char *quotes)
{
    size_t count = 0;

    for (const char *at = strstr(old->bytes, quotes); at != NULL; at = strstr(at + 3, quotes))
        count++;
    return count % 2 == 0;
}

static int check_rest(const struct setup_client *client, const struct buf *old,
                      const struct block *block, struct err *err)
{
    const char *line;
    size_t size;

    for (size_t at = 0, start = 0; next_line(old, &at, &line, &size); start = at) {
        if ((start >= block->begin && start < block->end) ||
            !might_clash(line, size, client->group))
            continue;
        (void) err_set(err, EINVAL, "setup.taken",
                       "'%.*s' in it may be an entry 'wattle' that wattle did not write",
                       (int) (size < 80 ? size : 80), line);
        return err_hint(err, "look at it, and change it by hand");
    }
    return 0;
}

static int check_text(const struct buf *old, struct err *err)
{
    for (size_t at = 0; at < old->size;) {
        uint32_t rune = 0;
        const size_t length = str_utf8(old->bytes + at, old->size - at, &rune);

        if (length == 0 || (rune < ' ' && rune != '\n' && rune != '\t' && rune != '\r'))
            return broken("it is no text that a TOML file may hold", err);
        at += length;
    }
    if (!quotes_pair(old, "\"\"\"") || !quotes_pair(old, "'''"))
        return broken("a text over several lines in it does not end", err);
    return 0;
}

/* ---- ours ------------------------------------------------------------------------------------ */

/* Strings of JSON without escaped slashes are strings of TOML, but for DEL. */
static int add_value(struct buf *text, const json_t *value, struct err *err)
{
    AUTO_FREE char *printed = json_dumps(value, JSON_ENCODE_ANY);

    if (printed == NULL)
        return err_memory(err);
    for (const char *at = printed; *at != '\0'; at++)
        (void) (*at == '\x7f' ? buf_add_text(text, "\\u007F") : buf_add(text, at, 1));
    return 0;
}

static int add_block(const struct setup_client *client, const json_t *words, struct buf *text,
                     struct err *err)
{
    int r;

    (void) buf_printf(text, BEGIN "\n[%s.wattle]\ncommand = ", client->group);
    r = add_value(text, json_array_get(words, 0), err);
    (void) buf_add_text(text, "\nargs = [");
    for (size_t i = 1; r == 0 && i < json_array_size(words); i++) {
        (void) buf_add_text(text, i > 1 ? ", " : "");
        r = add_value(text, json_array_get(words, i), err);
    }
    (void) buf_add_text(text, "]\n" END "\n");
    return r;
}

static int assemble(const struct setup_client *client, const struct buf *old,
                    const struct block *block, const json_t *words, struct buf *text,
                    struct err *err)
{
    const bool there = block->end > 0;
    const size_t before = there ? block->begin : old->size;
    int r = 0;

    (void) buf_add(text, old->bytes, before);
    if (words != NULL && !there && before > 0 && old->bytes[before - 1] != '\n')
        (void) buf_add_text(text, "\n");
    if (words != NULL)
        r = add_block(client, words, text, err);
    if (there)
        (void) buf_add(text, old->bytes + block->end, old->size - block->end);
    return r < 0 ? r : buf_check(text, "the file", err);
}

int setup_edit_toml(const struct setup_client *client, const struct buf *old, const json_t *words,
                    struct buf *text, enum setup_action *ret_action, struct err *err)
{
    AUTO(buf_free) struct buf none = {0};
    struct block block = {0};
    int r;

    buf_init(&none, 0);
    if (old == NULL)
        old = &none;
    r = check_text(old, err);
    if (r == 0)
        r = find_block(old, &block, err);
    if (r == 0 && words != NULL)
        r = check_rest(client, old, &block, err);
    if (r == 0)
        r = assemble(client, old, &block, words, text, err);
    if (r < 0)
        return r;
    if (text->size == old->size && memcmp(text->bytes, old->bytes, old->size) == 0)
        *ret_action = SETUP_NOTHING;
    else
        *ret_action = words == NULL ? SETUP_REMOVE : block.end > 0 ? SETUP_REPLACE : SETUP_ADD;
    return 0;
}
