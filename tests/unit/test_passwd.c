#include "base/cleanup.h"
#include "base/fd.h"
#include "base/passwd.h"
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int make_file(const char *text, size_t size)
{
    int fd = memfd_create("passwd", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, size), 0);
    return fd;
}

struct name {
    char text[32];
};

/* A name for the file, valid until the descriptor is closed. */
static struct name name_of(int fd)
{
    struct name name;

    (void) snprintf(name.text, sizeof name.text, "/proc/self/fd/%d", fd);
    return name;
}

static const char users[] = "root:x:0:0:root:/root:/bin/bash\n"
                            "# anna:x:1000:1000::/commented:/bin/sh\n"
                            "+anna:x:1000:1000::/directory:/bin/sh\n"
                            "short:x:1000:1000:/home/short\n"
                            "long:x:1000:1000:a:b:c:d\n"
                            ":x:1000:1000::/nameless:/bin/sh\n"
                            "signed:x:+1000:1000::/signed:/bin/sh\n"
                            "bell:x:1000:1000:\a:/home/bell:/bin/sh\n"
                            "nul:x:1000:1000:\0:/home/nul:/bin/sh\n"
                            "anna:x:1000:1000:Anna A.,,,:/home/anna:/bin/zsh\n"
                            "twin:x:1000:1000::/home/twin:\n"
                            "last:x:1001:1001:::";

static void a_user_is_found_by_number(void **state)
{
    AUTO_CLOSE int fd = make_file(users, sizeof users - 1);
    struct passwd_entry entry;

    (void) state;
    assert_int_equal(passwd_find(name_of(fd).text, 1000, &entry), 0);
    assert_string_equal(entry.name, "anna"); /* the lines before are all broken in some way */
    assert_string_equal(entry.gecos, "Anna A.,,,");
    assert_string_equal(entry.home, "/home/anna");
    assert_string_equal(entry.shell, "/bin/zsh");
}

static void the_last_line_needs_no_end(void **state)
{
    AUTO_CLOSE int fd = make_file(users, sizeof users - 1);
    struct passwd_entry entry;

    (void) state;
    assert_int_equal(passwd_find(name_of(fd).text, 1001, &entry), 0);
    assert_string_equal(entry.name, "last");
    assert_string_equal(entry.home, "");
}

static void who_is_not_there_changes_nothing(void **state)
{
    AUTO_CLOSE int fd = make_file(users, sizeof users - 1);
    struct passwd_entry entry = {.name = "old"};

    (void) state;
    assert_int_equal(passwd_find(name_of(fd).text, 4242, &entry), -ENOENT);
    assert_int_equal(passwd_find("/nowhere", 0, &entry), -ENOENT);
    assert_string_equal(entry.name, "old");
}

static void a_field_that_does_not_fit_is_skipped_not_cut(void **state)
{
    char text[400];
    int size = snprintf(text, sizeof text, "%0100d:x:5:5::/a:/b\nfine:x:5:5::/c:/d\n", 0);
    AUTO_CLOSE int fd = make_file(text, (size_t) size);
    struct passwd_entry entry;

    (void) state;
    assert_int_equal(passwd_find(name_of(fd).text, 5, &entry), 0);
    assert_string_equal(entry.name, "fine");
}

static void a_group_is_found_by_number(void **state)
{
    static const char groups[] = "root:x:0:\nstaff:x:50:anna,bert\nbad:x:50\n";
    AUTO_CLOSE int fd = make_file(groups, sizeof groups - 1);
    char name[8] = "old";
    char small[4] = "old";

    (void) state;
    assert_int_equal(passwd_group(name_of(fd).text, 51, name, sizeof name), -ENOENT);
    assert_string_equal(name, "old");
    assert_int_equal(passwd_group(name_of(fd).text, 50, small, sizeof small), -ENOENT);
    assert_string_equal(small, "old");
    assert_int_equal(passwd_group(name_of(fd).text, 50, name, sizeof name), 0);
    assert_string_equal(name, "staff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_is_found_by_number),
        cmocka_unit_test(the_last_line_needs_no_end),
        cmocka_unit_test(who_is_not_there_changes_nothing),
        cmocka_unit_test(a_field_that_does_not_fit_is_skipped_not_cut),
        cmocka_unit_test(a_group_is_found_by_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
