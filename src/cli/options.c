#include "cli/options.h"

#include "base/cleanup.h"
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* getopt_long returns this plus the row's index for a long option, and the letter for a short one.
 */
enum { LONG_BASE = UCHAR_MAX + 1 };

struct parser {
    const struct option_group *const *groups;
    const char *command;
    struct known {
        const struct option_row *row;
        bool seen;
    } known[OPTIONS_MAX];
    size_t count;
    struct option longs[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 3];
};

static void parser_add(struct parser *parser, size_t *letters, const struct option_row *row)
{
    const bool takes = row->argument != NULL;

    assert(parser->count < OPTIONS_MAX);
    parser->known[parser->count].row = row;
    parser->longs[parser->count] = (struct option){
        .name = row->name,
        .has_arg = takes ? required_argument : no_argument,
        .val = LONG_BASE + (int) parser->count,
    };
    parser->count++;
    if (row->letter == 0)
        return;
    parser->letters[(*letters)++] = row->letter;
    if (takes)
        parser->letters[(*letters)++] = ':';
}

static void parser_init(struct parser *parser, const struct option_group *const *groups,
                        const char *command)
{
    size_t letters = 2;

    *parser = (struct parser){.groups = groups, .command = command};
    /* "+": stop at the first word that is no option. ":": tell a missing value from an unknown
     * option, and print nothing. */
    parser->letters[0] = '+';
    parser->letters[1] = ':';
    for (; *groups != NULL; groups++) {
        for (const struct option_row *row = (*groups)->rows; row->name != NULL; row++)
            parser_add(parser, &letters, row);
    }
}

/* NULL: a letter no option has. */
static struct known *parser_find(struct parser *parser, int found)
{
    for (size_t i = 0; i < parser->count; i++) {
        if (found == LONG_BASE + (int) i || found == parser->known[i].row->letter)
            return &parser->known[i];
    }
    return NULL;
}

const struct option_row *option_at(const struct option_group *const *groups, size_t index)
{
    for (; *groups != NULL; groups++) {
        for (const struct option_row *row = (*groups)->rows; row->name != NULL; row++) {
            if (row->kind != OPTION_REFUSED && index-- == 0)
                return row;
        }
    }
    return NULL;
}

static int unknown(const struct parser *parser, const char *typed, struct err *err)
{
    const char *names[OPTIONS_MAX + 1] = {NULL};
    const struct option_row *row;
    const char *near = NULL;
    char name[64] = "";

    for (size_t i = 0; (row = option_at(parser->groups, i)) != NULL; i++)
        names[i] = row->name;
    if (str_starts(typed, "--")) {
        const size_t length = strcspn(typed + 2, "=");

        if (length < sizeof name)
            memcpy(name, typed + 2, length);
        near = str_nearest(name, names);
    }
    (void) err_set(err, EINVAL, "cli.option", "unknown option '%.*s'", (int) strcspn(typed, "="),
                   typed);
    if (near != NULL)
        return err_hint(err, "did you mean '--%s'? 'wattle %s --help' lists all options", near,
                        parser->command);
    return err_hint(err, "'wattle %s --help' lists all options", parser->command);
}

static int bad_value(const struct option_row *row, const char *text, const char *wanted,
                     struct err *err)
{
    return err_set(err, EINVAL, "cli.value", "'--%s' wants %s, not '%s'", row->name, wanted, text);
}

static int check_word(const struct option_row *row, const char *text, struct err *err)
{
    char all[128] = "";
    const char *near;
    size_t size = 0;

    for (const char *const *word = row->words; word != NULL && *word != NULL; word++) {
        if (str_equal(*word, text))
            return 0;
        if (size < sizeof all)
            size += (size_t) snprintf(all + size, sizeof all - size, "%s%s", size > 0 ? ", " : "",
                                      *word);
    }
    if (row->words == NULL)
        return 0;
    (void) err_set(err, EINVAL, "cli.value", "'--%s' knows no '%s'", row->name, text);
    near = str_nearest(text, row->words);
    if (near != NULL)
        return err_hint(err, "did you mean '%s'? there are: %s", near, all);
    return err_hint(err, "there are: %s", all);
}

/* `room`: as many as argv has words, so that one allocation does for the whole line. */
static int list_add(struct option_list *list, size_t room, const char *text, struct err *err)
{
    if (list->items == NULL)
        list->items = calloc(room + 1, sizeof *list->items);
    if (list->items == NULL)
        return err_memory(err);
    list->items[list->count++] = text;
    return 0;
}

static int store_number(const struct option_row *row, const char *text, uint64_t *ret_number,
                        struct err *err)
{
    uint64_t number = 0;

    if (row->kind == OPTION_BYTES && str_to_bytes(text, &number) < 0)
        return bad_value(row, text, "a size such as 512M or 2G", err);
    if (row->kind == OPTION_MS && str_to_ms(text, &number) < 0)
        return bad_value(row, text, "a time such as 90s, 5m or 1500ms", err);
    if (row->kind == OPTION_COUNT && (str_to_u64(text, &number) < 0 || number == 0))
        return bad_value(row, text, "a whole number above 0", err);
    *ret_number = number;
    return 0;
}

static int store(const struct option_row *row, const char *text, size_t room, struct values *values,
                 struct err *err)
{
    void *place = (char *) values + row->offset;
    int rc = 0;

    if (row->argument != NULL && text[0] == '\0')
        return err_set(err, EINVAL, "cli.value", "'--%s' got an empty value", row->name);
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *) place = true;
        return 0;
    case OPTION_TEXT:
        rc = check_word(row, text, err);
        if (rc == 0)
            *(const char **) place = text;
        return rc;
    case OPTION_LIST:
        return list_add(place, room, text, err);
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_MS:
        return store_number(row, text, place, err);
    case OPTION_REFUSED:
        (void) err_set(err, EINVAL, "cli.option", "there is no '--%s', on purpose", row->name);
        return err_hint(err, "%s", row->help);
    }
    return 0;
}

/* The word of argv that getopt_long has just read a long option from. */
static const char *typed_word(char **argv)
{
    const bool apart = optarg != NULL && optarg == argv[optind - 1];

    return argv[optind - (apart ? 2 : 1)];
}

/* getopt_long takes any unambiguous beginning of a name. Not here: what is short for one option
 * today would mean nothing, or another one, when an option is added. */
static bool is_whole(const struct option_row *row, const char *typed)
{
    const size_t length = strlen(row->name);

    return strncmp(typed + 2, row->name, length) == 0 &&
           (typed[2 + length] == '\0' || typed[2 + length] == '=');
}

static int take_option(struct parser *parser, int found, int argc, char **argv,
                       struct values *values, struct err *err)
{
    struct known *known = parser_find(parser, found);

    assert(known != NULL);
    if (found >= LONG_BASE && !is_whole(known->row, typed_word(argv)))
        return unknown(parser, typed_word(argv), err);
    if (known->seen && known->row->kind != OPTION_LIST)
        return err_set(err, EINVAL, "cli.option", "'--%s' is given twice", known->row->name);
    known->seen = true;
    return store(known->row, optarg, (size_t) argc, values, err);
}

/* What getopt_long could not take. It leaves optopt at 0 for an unknown long option. */
static int take_mistake(struct parser *parser, int found, char **argv, struct err *err)
{
    const char letter[] = {'-', (char) optopt, '\0'};
    const struct known *known = optopt != 0 ? parser_find(parser, optopt) : NULL;

    if (optopt == 0)
        return unknown(parser, argv[optind - 1], err);
    if (known == NULL)
        return unknown(parser, letter, err);
    if (found == ':')
        return err_set(err, EINVAL, "cli.value", "'--%s' needs a value: %s", known->row->name,
                       known->row->argument);
    return err_set(err, EINVAL, "cli.value", "'--%s' takes no value", known->row->name);
}

int options_parse(const struct option_group *const *groups, const char *command, int argc,
                  char **argv, struct values *values, struct err *err)
{
    struct parser parser;
    int first = 0;

    parser_init(&parser, groups, command);
    optind = 0; /* makes glibc start over with a new argv */
    opterr = 0;
    for (;;) {
        const int found = getopt_long(argc, argv, parser.letters, parser.longs, NULL);
        struct err *sink = first == 0 ? err : NULL;
        int rc;

        if (found < 0)
            break;
        if (found == '?' || found == ':')
            rc = take_mistake(&parser, found, argv, sink);
        else
            rc = take_option(&parser, found, argc, argv, values, sink);
        if (first == 0)
            first = rc;
    }
    values->rest = (const char *const *) argv + optind;
    values->rest_count = (size_t) (argc - optind);
    return first;
}

void values_free(struct values *values)
{
    struct option_list *const lists[] = {
        &values->read, &values->write,        &values->deny,         &values->allow,
        &values->env,  &values->unix_sockets, &values->policy_files,
    };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        free(lists[i]->items);
        *lists[i] = (struct option_list){0};
    }
}
