/* Texts the host reads that others wrote: a script's first line, and what the kernel says of a
 * process that chose its own name; and what it tells a model of errors that speak to the owner. */
#include "base/cleanup.h"
#include "cm.h"
#include "host/kin.h"
#include "host/shebang.h"
#include "host/told.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void the_interpreter_is_the_kernels(void **state)
{
    static const struct {
        const char *head, *name;
    } cases[] = {
        {"#!/bin/sh\nexit\n", "/bin/sh"},
        {"#! \t/bin/sh \t-e\n", "/bin/sh"},
        {"#!/bin/sh", "/bin/sh"},
        {"#!/bin/sh\r\n", "/bin/sh\r"},
        {"#!sh\n", "sh"},
        {"#!\n/bin/sh\n", ""},
        {"#! \t\n/bin/sh\n", ""},
        {"#!", ""},
        {"#", ""},
        {"", ""},
        {" #!/bin/sh\n", ""},
        {"\x7f"
         "ELF",
         ""},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *name = NULL;
        const size_t size = shebang_name(cases[i].head, strlen(cases[i].head), &name);

        assert_int_equal(size, strlen(cases[i].name));
        if (size > 0)
            assert_memory_equal(name, cases[i].name, size);
    }
}

/* What does not end where the kernel stops reading is cut, and it executes nothing by half. */
static void an_interpreter_that_is_cut_is_none(void **state)
{
    char head[SHEBANG_BYTES];
    const char *name = NULL;

    (void) state;
    memset(head, 'a', sizeof head);
    memcpy(head, "#!/", 3);
    assert_int_equal(shebang_name(head, sizeof head, &name), 0);
    assert_int_equal(shebang_name(head, sizeof head - 1, &name),
                     sizeof head - 3); /* the file ends */
    head[sizeof head - 1] = ' ';
    assert_int_equal(shebang_name(head, sizeof head, &name), sizeof head - 3);
    head[sizeof head - 1] = '\0';
    assert_int_equal(shebang_name(head, sizeof head, &name), sizeof head - 3);
}

static void a_name_changes_no_parent(void **state)
{
    static const char *const names[] = {"sh", ") S 1 1", "a) R 1 (b", "((", "))", "", " ", "a\nb"};
    char text[256];

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct kin_process process;

        (void) snprintf(text, sizeof text,
                        "12 (%s) S 42 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2",
                        names[i]);
        assert_true(kin_read(text, &process));
        assert_int_equal(process.parent, 42);
        assert_int_equal(process.born, 987654);
        assert_string_equal(process.name, names[i]);
    }
}

static void what_is_no_process_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "12",
        "12 (sh",
        "12 sh)",
        ")(",
        "12 (sh) S 42",
        "12 (sh) S -1 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2",
        "12 (sh) S 4294967338 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct kin_process process = {.parent = 7};

        assert_false(kin_read(bad[i], &process));
        assert_int_equal(process.parent, 7);
    }
}

static void a_child_descends_from_its_parent(void **state)
{
    const struct kin parent = kin_parent(getpid());
    struct kin other = parent;

    (void) state;
    if (parent.pid == 0)
        SKIP_TEST("who started this is everybody's parent");
    assert_int_equal(parent.pid, getppid());
    assert_true(kin_descends(getpid(), &parent));
    other.born++;
    assert_false(kin_descends(getpid(), &other));
    assert_false(kin_descends(getppid(), &(struct kin){.pid = getpid(), .born = parent.born}));
    assert_false(kin_descends(getpid(), &(struct kin){.pid = 0}));
}

static void tell(const char *id, struct err *ret_told)
{
    struct err err = {0};

    (void) err_set(&err, EACCES, id, "'/home/me/secret' is wrong");
    (void) err_hint(&err, "mend '/home/me/secret', or use --rw");
    told_of(&err, ret_told);
    assert_int_equal(ret_told->code, EACCES);
    assert_string_equal(ret_told->id, id);
}

/* Also of an error that nobody thought of. */
static void no_path_of_the_owners_is_told(void **state)
{
    static const char *const ids[] = {
        "derive.path-missing", "derive.path-moved", "derive.location", "derive.command-hidden",
        "derive.pen-home",     "settings.value",    "policy.path",     "pen.memory",
        "fence.native-mount",  "job.own-folder",    "store.full",      "host.state",
        "host.copy",           "host.worker",       "a.new-one",       ""};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        struct err told;

        tell(ids[i], &told);
        assert_null(strstr(told.what, "secret"));
        assert_null(strstr(told.hint, "secret"));
        assert_non_null(strstr(told.what, ids[i])); /* for the owner to look up */
        assert_non_null(strstr(told.hint, "owner"));
    }
}

static void its_own_mistakes_are_told_in_full(void **state)
{
    static const struct {
        const char *id;
        bool own_hint;
    } own[] = {{"host.directory", true},        {"host.copy-size", true},
               {"derive.command-untold", true}, {"derive.command-missing", false},
               {"pen.shared-links", false},     {"base.memory", false}};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        struct err told;

        tell(own[i].id, &told);
        assert_non_null(strstr(told.what, "secret"));
        assert_int_equal(strstr(told.hint, "secret") != NULL, own[i].own_hint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interpreter_is_the_kernels),
        cmocka_unit_test(an_interpreter_that_is_cut_is_none),
        cmocka_unit_test(a_name_changes_no_parent),
        cmocka_unit_test(no_path_of_the_owners_is_told),
        cmocka_unit_test(its_own_mistakes_are_told_in_full),
        cmocka_unit_test(what_is_no_process_is_refused),
        cmocka_unit_test(a_child_descends_from_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
