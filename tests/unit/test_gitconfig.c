#include "cm.h"
#include "derive/derive_priv.h"

#include <string.h>

#define SIGNING_OFF "[commit]\n\tgpgsign = false\n[tag]\n\tgpgsign = false\n"

/* Reads `text` and compares what is written. */
static void assert_becomes(const char *text, const char *expected)
{
    AUTO(derive_gitconfig_freep) struct derive_gitconfig *config = derive_gitconfig_new();
    AUTO(buf_free) struct buf buf;
    AUTO_FREE char *whole = NULL;

    buf_init(&buf, 1u << 20);
    assert_non_null(config);
    assert_int_equal(derive_gitconfig_read(config, text, strlen(text)), 0);
    assert_int_equal(derive_gitconfig_print(config, &buf), 0);
    assert_true(asprintf(&whole, "%s%s", expected, SIGNING_OFF) > 0);
    assert_string_equal(buf.bytes, whole);
}

static void takes_the_plain_keys(void **state)
{
    (void) state;
    assert_becomes("", "");
    assert_becomes("[user]\n\tname = Ann Other\n\temail=a@b.c\n",
                   "[user]\n\temail = \"a@b.c\"\n\tname = \"Ann Other\"\n");
    assert_becomes("[User] NAME = x ; why\n", "[user]\n\tname = \"x\"\n");
    assert_becomes("[core]\r\n  autocrlf = input\r\n", "[core]\n\tautocrlf = \"input\"\n");
    assert_becomes("[pull]\nrebase\n", "[pull]\n\trebase = \"true\"\n");
    assert_becomes("\xef\xbb\xbf[pull]\nff = only", "[pull]\n\tff = \"only\"\n");
}

static void unquotes_and_quotes(void **state)
{
    (void) state;
    assert_becomes("[user]\nname = \"a ; b\" # c\n", "[user]\n\tname = \"a ; b\"\n");
    assert_becomes("[user]\nname = a\\\"b\\\\c\n", "[user]\n\tname = \"a\\\"b\\\\c\"\n");
    assert_becomes("[user]\nname = \" a \"  \n", "[user]\n\tname = \" a \"\n");
    assert_becomes("[user]\nname = a\\tb\n", "[user]\n\tname = \"a\\tb\"\n");
    assert_becomes("[user]\nname = a\\\n b\nemail = y\n",
                   "[user]\n\temail = \"y\"\n\tname = \"a b\"\n");
}

static void leaves_out_all_other_keys(void **state)
{
    (void) state;
    assert_becomes(
        "[core]\neditor = evil\npager = evil\nhooksPath = /x\nfsmonitor = evil\n"
        "sshCommand = evil\nexcludesFile = /x\nattributesFile = /x\n"
        "[alias]\nst = !evil\n[include]\npath = /x\n[includeIf \"gitdir:/\"]\npath = /x\n"
        "[credential]\nhelper = evil\n[url \"x\"]\ninsteadOf = y\n"
        "[commit]\ngpgsign = true\ntemplate = /x\n[gpg]\nprogram = evil\n"
        "[diff]\nexternal = evil\n[merge]\ntool = evil\n[init]\ntemplateDir = /x\n",
        "");
}

static void a_subsection_is_another_section(void **state)
{
    (void) state;
    assert_becomes("[user \"work\"]\nname = x\n", "");
    assert_becomes("[user.work]\nname = x\n", "");
    assert_becomes("[user\nname = x\n", "");
    assert_becomes("[user] ]\nname = x\n", "[user]\n\tname = \"x\"\n");
    assert_becomes("name = x\n", "");
}

static void passes_over_lines_it_does_not_know(void **state)
{
    (void) state;
    assert_becomes("[user]\nname = \"open\nemail = x\n", "[user]\n\temail = \"x\"\n");
    assert_becomes("[user]\nname = a\\nb\n", ""); /* a line break in a value */
    assert_becomes("[user]\nname = a\\bb\n", "");
    assert_becomes("[user]\nname = a\001b\n", "");
    assert_becomes("[user]\nname x = y\n", "");
    assert_becomes("[user]\nname =\n", "");
    assert_becomes("[user]\n= x\n", "");
}

static void words_have_no_other_bytes(void **state)
{
    (void) state;
    assert_becomes("[init]\ndefaultBranch = feature/x-1\n",
                   "[init]\n\tdefaultbranch = \"feature/x-1\"\n");
    assert_becomes("[init]\ndefaultBranch = $(x)\n", "");
    assert_becomes("[pull]\nrebase = \"a b\"\n", "");
}

static void later_values_win_and_safe_folders_add_up(void **state)
{
    (void) state;
    assert_becomes("[user]\nname = a\n[user]\nname = b\n", "[user]\n\tname = \"b\"\n");
    assert_becomes("[safe]\ndirectory = /a\ndirectory = *\n",
                   "[safe]\n\tdirectory = \"/a\"\n\tdirectory = \"*\"\n");
}

static void a_value_too_long_is_left_out(void **state)
{
    char text[3000];

    (void) state;
    (void) snprintf(text, sizeof text, "[user]\nemail = x\nname = %02000d\n", 7);
    assert_becomes(text, "[user]\n\temail = \"x\"\n");
}

static void bytes_after_a_nul_are_no_text(void **state)
{
    static const char text[] = "[user]\nna\0me = x\nname = a\0b\nemail = y\n";
    AUTO(derive_gitconfig_freep) struct derive_gitconfig *config = derive_gitconfig_new();
    AUTO(buf_free) struct buf buf;

    (void) state;
    buf_init(&buf, 4096);
    assert_int_equal(derive_gitconfig_read(config, text, sizeof text - 1), 0);
    assert_int_equal(derive_gitconfig_print(config, &buf), 0);
    assert_string_equal(buf.bytes, "[user]\n\temail = \"y\"\n" SIGNING_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_plain_keys),
        cmocka_unit_test(unquotes_and_quotes),
        cmocka_unit_test(leaves_out_all_other_keys),
        cmocka_unit_test(a_subsection_is_another_section),
        cmocka_unit_test(passes_over_lines_it_does_not_know),
        cmocka_unit_test(words_have_no_other_bytes),
        cmocka_unit_test(later_values_win_and_safe_folders_add_up),
        cmocka_unit_test(a_value_too_long_is_left_out),
        cmocka_unit_test(bytes_after_a_nul_are_no_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
