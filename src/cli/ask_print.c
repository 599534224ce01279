/* Answers of the host as text. What they say comes from others: paths, arguments, output. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/ask.h"

#include <string.h>
#include <time.h>

enum { CELL_LIMIT_BYTES = 1 << 20, GAP = 2, COLUMNS_MAX = 16, BELOW_MOST = 50 };

/* ---- one value ------------------------------------------------------------------------------- */

static void add_text(struct buf *text, const json_t *value)
{
    (void) str_add_inert(text, json_string_value(value), json_string_length(value));
}

static void add_time(struct buf *text, const json_t *value)
{
    const time_t when = (time_t) (json_integer_value(value) / 1000);
    char line[32] = "?";
    struct tm parts;

    if (gmtime_r(&when, &parts) != NULL)
        (void) strftime(line, sizeof line, "%Y-%m-%d %H:%M:%SZ", &parts);
    (void) buf_add_text(text, line);
}

static void add_command(struct buf *text, const json_t *request)
{
    const json_t *args = json_object_get(request, "args"), *arg;
    const char *command = json_string_value(json_object_get(request, "command"));
    size_t i;

    (void) str_add_shell(text, command == NULL ? "-" : command);
    json_array_foreach(args, i, arg)
    {
        (void) buf_add_text(text, " ");
        (void) str_add_shell(text, json_is_string(arg) ? json_string_value(arg) : "");
    }
}

static void add_plain(struct buf *text, const json_t *value)
{
    if (json_is_string(value) && json_string_length(value) > 0)
        add_text(text, value);
    else if (json_is_integer(value))
        (void) buf_printf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        (void) buf_add_text(text, json_is_true(value) ? "yes" : "no");
    else
        (void) buf_add_text(text, "-");
}

static void add_cell(struct buf *text, const struct ask_column *column, const json_t *object)
{
    const json_t *value = json_object_get(object, column->key);

    if (column->show == ASK_SHOW_COMMAND)
        add_command(text, value);
    else if (column->show == ASK_SHOW_TIME && json_integer_value(value) > 0)
        add_time(text, value);
    else if (column->show == ASK_SHOW_TIME)
        (void) buf_add_text(text, "-");
    else
        add_plain(text, value);
}

void ask_print_output(const char *bytes, size_t size, struct buf *text)
{
    size_t from = 0;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\t')
            continue;
        (void) str_add_inert(text, bytes + from, i - from);
        (void) buf_add(text, bytes + i, 1);
        from = i + 1;
    }
    (void) str_add_inert(text, bytes + from, size - from);
}

/* ---- a table --------------------------------------------------------------------------------- */

/* Columns of a terminal, for what most names are made of. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char) *text & 0xc0) != 0x80;
    return width;
}

static void pad(struct buf *text, size_t width, size_t to)
{
    (void) buf_printf(text, "%*s", (int) (to > width ? to - width : 0) + GAP, "");
}

static size_t cell_width(const struct ask_column *column, const json_t *object)
{
    AUTO(buf_free) struct buf cell = {0};

    buf_init(&cell, CELL_LIMIT_BYTES);
    add_cell(&cell, column, object);
    return width_of(cell.bytes);
}

static void measure(const struct ask_column *columns, const json_t *rows, size_t *widths)
{
    for (size_t i = 0; columns[i].title != NULL; i++) {
        const json_t *row;
        size_t at;

        widths[i] = width_of(columns[i].title);
        json_array_foreach(rows, at, row)
        {
            const size_t width = cell_width(&columns[i], row);

            if (width > widths[i])
                widths[i] = width;
        }
    }
}

static void add_row(struct buf *text, const struct ask_column *columns, const size_t *widths,
                    const json_t *row)
{
    for (size_t i = 0; columns[i].title != NULL; i++) {
        AUTO(buf_free) struct buf cell = {0};

        buf_init(&cell, CELL_LIMIT_BYTES);
        if (row == NULL)
            (void) buf_add_text(&cell, columns[i].title);
        else
            add_cell(&cell, &columns[i], row);
        (void) buf_add_text(text, cell.bytes);
        if (columns[i + 1].title != NULL)
            pad(text, width_of(cell.bytes), widths[i]);
    }
    (void) buf_add_text(text, "\n");
}

static void add_table(struct buf *text, const struct ask_column *columns, const json_t *rows)
{
    size_t widths[COLUMNS_MAX] = {0};
    const json_t *row;
    size_t at;

    if (json_array_size(rows) == 0)
        return;
    measure(columns, rows, widths);
    add_row(text, columns, widths, NULL);
    json_array_foreach(rows, at, row)
    {
        add_row(text, columns, widths, row);
    }
}

/* A list that belongs to something else: its beginning, and how many more there are. */
static void add_beginning(struct buf *text, const struct ask_column *column, const json_t *object)
{
    AUTO(json_free) json_t *rows = json_copy(json_object_get(object, column->key));
    json_int_t total = (json_int_t) json_array_size(rows);
    const json_t *more = column->total != NULL ? json_object_get(object, column->total) : NULL;

    if (json_integer_value(more) > total)
        total = json_integer_value(more);
    while (json_array_size(rows) > BELOW_MOST)
        (void) json_array_remove(rows, json_array_size(rows) - 1);
    if (total == 0)
        return;
    (void) buf_printf(text, "\n%s\n", column->title);
    add_table(text, column->of, rows);
    if (total > (json_int_t) json_array_size(rows))
        (void) buf_printf(text, "…and %" JSON_INTEGER_FORMAT " more\n",
                          total - (json_int_t) json_array_size(rows));
}

/* ---- one object ------------------------------------------------------------------------------ */

static void add_lines(struct buf *text, const struct ask_column *columns, const json_t *object)
{
    size_t most = 0;

    for (const struct ask_column *column = columns; column->title != NULL; column++) {
        if (width_of(column->title) > most)
            most = width_of(column->title);
    }
    for (const struct ask_column *column = columns; column->title != NULL; column++) {
        if (column->show == ASK_SHOW_TABLE || column->show == ASK_SHOW_OUTPUT)
            continue;
        (void) buf_add_text(text, column->title);
        pad(text, width_of(column->title), most);
        add_cell(text, column, object);
        (void) buf_add_text(text, "\n");
    }
}

static void add_below(struct buf *text, const struct ask_column *columns, const json_t *object)
{
    for (const struct ask_column *column = columns; column->title != NULL; column++) {
        const json_t *value = json_object_get(object, column->key);

        if (column->show == ASK_SHOW_TABLE) {
            add_beginning(text, column, object);
        } else if (column->show == ASK_SHOW_OUTPUT && json_string_length(value) > 0) {
            (void) buf_printf(text, "\n%s\n", column->title);
            ask_print_output(json_string_value(value), json_string_length(value), text);
            if (!str_ends(json_string_value(value), "\n"))
                (void) buf_add_text(text, "\n");
        }
    }
}

int ask_print(const struct ask *ask, const json_t *answer, struct buf *text)
{
    if (ask->columns == NULL)
        return 0;
    if (ask->list != NULL) {
        add_table(text, ask->columns, json_object_get(answer, ask->list));
    } else {
        add_lines(text, ask->columns, answer);
        add_below(text, ask->columns, answer);
    }
    return text->failed;
}
