#include "base/cleanup.h"
#include "base/str.h"
#include "cli/option_rows.h"
#include "cm.h"

#include <errno.h>
#include <string.h>

static const struct option_group *const groups[] = {
    &options_reach, &options_start, &options_bounds, &options_report, &options_talk,
    &options_help,  NULL,
};

enum { WORDS_MAX = 24 };

/* Parses the words of `line`, which are separated by single spaces. */
struct parsed {
    char text[256];
    char *argv[WORDS_MAX + 1];
    int argc;
    struct values values;
    struct err err;
    int rc;
};

static void parse(struct parsed *parsed, const char *line)
{
    char *rest = parsed->text;

    *parsed = (struct parsed){0};
    (void) snprintf(parsed->text, sizeof parsed->text, "run %s", line);
    while (rest != NULL && *rest != '\0') {
        assert_true(parsed->argc < WORDS_MAX);
        parsed->argv[parsed->argc++] = strsep(&rest, " ");
    }
    parsed->rc =
        options_parse(groups, "run", parsed->argc, parsed->argv, &parsed->values, &parsed->err);
}

static void every_kind_of_value_is_read(void **state)
{
    struct parsed p;

    (void) state;
    parse(&p, "--pen /a --ro=/b --ro /c -e X=1 --timeout 90s --memory 512M --pids 7 -qt make -q");
    assert_int_equal(p.rc, 0);
    assert_string_equal(p.values.pen, "/a");
    assert_int_equal(p.values.read.count, 2);
    assert_string_equal(p.values.read.items[0], "/b");
    assert_string_equal(p.values.read.items[1], "/c");
    assert_null(p.values.read.items[2]);
    assert_string_equal(p.values.env.items[0], "X=1");
    assert_int_equal(p.values.timeout_ms, 90000);
    assert_int_equal(p.values.memory_bytes, 512 << 20);
    assert_int_equal(p.values.processes, 7);
    assert_true(p.values.quiet);
    assert_true(p.values.tty);
    assert_false(p.values.verbose);
    values_free(&p.values);
}

static void options_end_at_the_first_word_that_is_none(void **state)
{
    struct parsed p;

    (void) state;
    parse(&p, "-q make --pen /a");
    assert_int_equal(p.rc, 0);
    assert_null(p.values.pen);
    assert_int_equal(p.values.rest_count, 3);
    assert_string_equal(p.values.rest[0], "make");
    assert_string_equal(p.values.rest[1], "--pen");
    assert_null(p.values.rest[3]);

    parse(&p, "-- --pen");
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.values.rest_count, 1);
    assert_string_equal(p.values.rest[0], "--pen");

    parse(&p, "--pen -- make");
    assert_string_equal(p.values.pen, "--");
    assert_string_equal(p.values.rest[0], "make");
}

static void no_option_is_no_command_either(void **state)
{
    struct parsed p;

    (void) state;
    parse(&p, "");
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.values.rest_count, 0);
    assert_null(p.values.rest[0]);
}

/* What is wrong, the words of the sentence and of the hint. */
struct mistake {
    const char *line;
    const char *id;
    const char *what;
    const char *hint;
};

static const struct mistake mistakes[] = {
    {"--timout 5 make", "cli.option", "unknown option '--timout'", "did you mean '--timeout'?"},
    {"--qiet=1 make", "cli.option", "unknown option '--qiet'", "did you mean '--quiet'?"},
    {"--tim 5 make", "cli.option", "unknown option '--tim'", "'wattle run --help' lists all"},
    {"--ti=5 make", "cli.option", "unknown option '--ti'", "'wattle run --help' lists all"},
    {"--xyzzy make", "cli.option", "unknown option '--xyzzy'", "'wattle run --help' lists all"},
    {"-Z make", "cli.option", "unknown option '-Z'", "'wattle run --help' lists all"},
    {"-qZ make", "cli.option", "unknown option '-Z'", "'wattle run --help' lists all"},
    {"--keep-env make", "cli.option", "no '--keep-env', on purpose", "name each variable"},
    {"--keep-en make", "cli.option", "unknown option '--keep-en'", "lists all options"},
    {"--pen /a --pen /b make", "cli.option", "'--pen' is given twice", ""},
    {"-C /a --chdir=/b make", "cli.option", "'--chdir' is given twice", ""},
    {"-q -q make", "cli.option", "'--quiet' is given twice", ""},
    {"--pen", "cli.value", "'--pen' needs a value: DIR", ""},
    {"-C", "cli.value", "'--chdir' needs a value: DIR", ""},
    {"--pen= make", "cli.value", "'--pen' got an empty value", ""},
    {"--quiet=yes make", "cli.value", "'--quiet' takes no value", ""},
    {"--net hots make", "cli.value", "'--net' knows no 'hots'", "did you mean 'hosts'?"},
    {"--net everything make", "cli.value", "'--net' knows no 'everything'", "none, hosts, open"},
    {"--timeout soon make", "cli.value", "'--timeout' wants a time such as 90s", ""},
    {"--timeout 0 make", "cli.value", "'--timeout' wants a time such as 90s", ""},
    {"--memory -1 make", "cli.value", "'--memory' wants a size such as 512M", ""},
    {"--pids 0 make", "cli.value", "'--pids' wants a whole number above 0", ""},
    {"--pids 1K make", "cli.value", "'--pids' wants a whole number above 0, not '1K'", ""},
    {"--status-fd three make", "cli.value", "'--status-fd' wants a whole number", ""},
    {"--nope --also-nope make", "cli.option", "unknown option '--nope'", ""},
};

static void mistakes_are_named_with_the_remedy(void **state)
{
    struct parsed p;

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
        parse(&p, mistakes[i].line);
        assert_int_equal(p.rc, -EINVAL);
        assert_string_equal(p.err.id, mistakes[i].id);
        assert_non_null(strstr(p.err.what, mistakes[i].what));
        assert_non_null(strstr(p.err.hint, mistakes[i].hint));
        values_free(&p.values);
    }
}

static void parsing_goes_on_after_a_mistake(void **state)
{
    struct parsed p;

    (void) state;
    parse(&p, "--nope -v make");
    assert_int_equal(p.rc, -EINVAL);
    assert_true(p.values.verbose);
    assert_string_equal(p.values.rest[0], "make");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_read),
        cmocka_unit_test(options_end_at_the_first_word_that_is_none),
        cmocka_unit_test(no_option_is_no_command_either),
        cmocka_unit_test(mistakes_are_named_with_the_remedy),
        cmocka_unit_test(parsing_goes_on_after_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
