/* The tables of commands and options, and what is made from them. */
#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/report.h"
#include "cm.h"
#include "policy/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_LIMIT_BYTES = 1 << 20 };

static void every_row_is_complete(void **state)
{
    const struct cmd *cmd;
    const struct option_row *row;

    (void) state;
    for (size_t i = 0; (cmd = cmd_at(i)) != NULL; i++) {
        size_t count = 0;

        assert_true((cmd->run != NULL) != (cmd->ask != NULL));
        assert_true(islower(cmd->summary[0]) && !str_ends(cmd->summary, "."));
        assert_null(strchr(cmd->summary, '\''));
        for (; (row = option_at(cmd->groups, count)) != NULL; count++) {
            assert_true(islower(row->help[0]) && !str_ends(row->help, "."));
            assert_null(strchr(row->help, '\'')); /* completion scripts quote with it */
            assert_true(strlen(row->help) <= 100 - 27);
            assert_int_equal(row->kind == OPTION_FLAG, row->argument == NULL);
        }
        assert_true(count > 0 && count < OPTIONS_MAX);
        assert_string_equal(option_at(cmd->groups, count - 1)->name, "help");
    }
}

static void no_name_or_letter_comes_twice(void **state)
{
    const struct cmd *cmd;
    const struct option_row *a;
    const struct option_row *b;

    (void) state;
    for (size_t i = 0; (cmd = cmd_at(i)) != NULL; i++) {
        for (size_t k = 0; (a = option_at(cmd->groups, k)) != NULL; k++) {
            for (size_t m = 0; m < k && (b = option_at(cmd->groups, m)) != NULL; m++) {
                assert_string_not_equal(a->name, b->name);
                assert_true(a->letter == 0 || a->letter != b->letter);
            }
        }
    }
}

static void commands_are_found_by_their_words(void **state)
{
    static const char *const run[] = {"run", "show", NULL};
    static const char *const show[] = {"policy", "show", NULL};
    struct err err = {0};
    size_t used = 0;

    (void) state;
    assert_ptr_equal(cmd_find(run, &used, &err), &cmd_run);
    assert_int_equal(used, 1);
    assert_ptr_equal(cmd_find(show, &used, &err), &cmd_policy_show);
    assert_int_equal(used, 2);
    assert_int_equal(err.code, 0);
}

static void unknown_commands_are_answered_with_the_nearest(void **state)
{
    static const struct {
        const char *words[3];
        const char *what;
        const char *hint;
    } cases[] = {
        {{"rnu", NULL}, "unknown command 'rnu'", "did you mean 'run'?"},
        {{"polcy", "show", NULL}, "unknown command 'polcy'", "did you mean 'policy'?"},
        {{"policy", "shwo", NULL}, "unknown command 'policy shwo'", "did you mean 'policy show'?"},
        {{"policy", NULL}, "'policy' needs one word more", "'wattle help policy' lists"},
        {{"", NULL}, "unknown command ''", "'wattle help' lists"},
        {{"-v", "run", NULL}, "unknown command '-v'", "as in 'wattle run -v'"},
        {{"-v", "rnu", NULL}, "unknown command '-v'", "'wattle help' lists"},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = {0};
        size_t used = 0;

        assert_null(cmd_find(cases[i].words, &used, &err));
        assert_int_equal(err.code, EINVAL);
        assert_non_null(strstr(err.what, cases[i].what));
        assert_non_null(strstr(err.hint, cases[i].hint));
    }
}

static void help_and_man_page_show_every_option(void **state)
{
    const struct cmd *cmd;
    const struct option_row *row;

    (void) state;
    for (size_t i = 0; (cmd = cmd_at(i)) != NULL; i++) {
        AUTO(buf_free) struct buf help = {0};
        AUTO(buf_free) struct buf man = {0};
        char name[64];

        buf_init(&help, TEXT_LIMIT_BYTES);
        buf_init(&man, TEXT_LIMIT_BYTES);
        help_command(cmd, &help);
        help_man(cmd, &man);
        assert_int_equal(help.failed | man.failed, 0);
        for (size_t k = 0; (row = option_at(cmd->groups, k)) != NULL; k++) {
            (void) snprintf(name, sizeof name, "--%s%s", row->name,
                            row->argument != NULL ? " " : "\n");
            assert_non_null(strstr(help.bytes, name[strlen(name) - 1] == '\n' ? row->help : name));
            (void) snprintf(name, sizeof name, "*--%s*", row->name);
            assert_non_null(strstr(man.bytes, name));
        }
        assert_null(strstr(help.bytes, "keep-env"));
        assert_null(strstr(man.bytes, "keep-env"));
    }
}

/* Help names the defaults; they must be those that are used. */
static void help_names_the_true_defaults(void **state)
{
    const struct policy_limits *limits = &policy_default_limits;

    (void) state;
    assert_int_equal(limits->deadline_ms, 0);
    assert_int_equal(limits->kill_after_ms, 2000);
    assert_int_equal(limits->memory_bytes, 0);
    assert_int_equal(limits->processes, 4096);
    assert_int_equal(limits->open_files, 4096);
    assert_true(limits->file_bytes == UINT64_C(32) << 30);
    assert_int_equal(limits->tmp_bytes, 256 << 20);
}

/* The script of bash asks no more than the option's name. */
static void options_of_one_name_complete_alike(void **state)
{
    const struct option_row *row, *other;

    (void) state;
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        for (size_t k = 0; (row = option_at(cmd_at(i)->groups, k)) != NULL; k++) {
            for (size_t j = 0; j < i; j++) {
                for (size_t m = 0; (other = option_at(cmd_at(j)->groups, m)) != NULL; m++) {
                    if (!str_equal(other->name, row->name))
                        continue;
                    assert_int_equal(other->letter, row->letter);
                    assert_int_equal(other->complete, row->complete);
                    assert_ptr_equal(other->words, row->words);
                }
            }
        }
    }
}

static void completion_scripts_know_every_option(void **state)
{
    const struct option_row *row;
    char name[64];

    (void) state;
    for (size_t i = 0; completion_shells[i] != NULL; i++) {
        AUTO(buf_free) struct buf script = {0};
        const bool fish = str_equal(completion_shells[i], "fish");

        buf_init(&script, TEXT_LIMIT_BYTES);
        assert_int_equal(completion_script(completion_shells[i], &script), 0);
        for (size_t k = 0; (row = option_at(cmd_run.groups, k)) != NULL; k++) {
            (void) snprintf(name, sizeof name, fish ? "-l %s" : "--%s", row->name);
            assert_non_null(strstr(script.bytes, name));
        }
        assert_null(strstr(script.bytes, "keep-env"));
    }
}

static void other_shells_have_no_script(void **state)
{
    AUTO(buf_free) struct buf script = {0};

    (void) state;
    buf_init(&script, TEXT_LIMIT_BYTES);
    assert_int_equal(completion_script("tcsh", &script), -EINVAL);
    assert_int_equal(script.size, 0);
}

static void help_completes_every_command(void **state)
{
    (void) state;
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        size_t k = 0;

        while (cmd_help.words[k] != NULL && !str_equal(cmd_help.words[k], cmd_at(i)->name))
            k++;
        assert_non_null(cmd_help.words[k]);
    }
}

static void exit_status_tells_what_failed(void **state)
{
    static const struct {
        const char *id;
        int code;
        int status;
    } cases[] = {
        {"derive.command-missing", ENOENT, 127},
        {"derive.command-not-executable", EACCES, 126},
        {"job.exec", ENOENT, 127},
        {"job.exec", EACCES, 126},
        {"job.exec", ENOEXEC, 126},
        {"job.exec", E2BIG, 125},
        {"derive.pen-missing", ENOENT, 125},
        {"cli.option", EINVAL, 125},
        {"base.memory", ENOMEM, 125},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = {0};

        (void) err_set(&err, cases[i].code, cases[i].id, "x");
        assert_int_equal(cmd_run.status_of(&err), cases[i].status);
    }
}

/* What report_line writes to stderr for a text of `size` bytes. */
static size_t reported_bytes(size_t size)
{
    AUTO_CLOSE int kept = dup(STDERR_FILENO);
    AUTO_CLOSE int file = memfd_create("stderr", MFD_CLOEXEC);
    AUTO_FREE char *text = malloc(size + 1);
    struct stat status;

    assert_true(kept >= 0 && file >= 0 && text != NULL);
    memset(text, 'A', size);
    text[size] = '\0';
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    report_line("allow it with --ro ~/.ssh%s", text);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(fstat(file, &status), 0);
    return (size_t) status.st_size;
}

/* "--ro ~/.sshAAAA" that was cut could say "--ro ~/.ssh". */
static void a_line_is_said_whole_or_not_at_all(void **state)
{
    const size_t around = strlen("wattle: allow it with --ro ~/.ssh\n");

    (void) state;
    assert_int_equal(reported_bytes(3), around + 3);
    assert_int_equal(reported_bytes(4000), around + 4000);
    for (size_t size = 1000; size < 20000; size += 997) {
        const size_t seen = reported_bytes(size);

        assert_true(seen == 0 || seen == around + size);
    }
    assert_int_equal(reported_bytes(100000), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(no_name_or_letter_comes_twice),
        cmocka_unit_test(commands_are_found_by_their_words),
        cmocka_unit_test(unknown_commands_are_answered_with_the_nearest),
        cmocka_unit_test(help_and_man_page_show_every_option),
        cmocka_unit_test(help_names_the_true_defaults),
        cmocka_unit_test(options_of_one_name_complete_alike),
        cmocka_unit_test(completion_scripts_know_every_option),
        cmocka_unit_test(other_shells_have_no_script),
        cmocka_unit_test(help_completes_every_command),
        cmocka_unit_test(a_line_is_said_whole_or_not_at_all),
        cmocka_unit_test(exit_status_tells_what_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
