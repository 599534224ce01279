/* The plan of the native mechanism: which mounts a policy becomes. */
#include "base/cleanup.h"
#include "base/str.h"
#include "cm.h"
#include "fence/fence.h"
#include "fence/native/native_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char top[64];
    char pen[96], folder[128], file[160]; /* <top>/pen, <pen>/a/b, <pen>/a/b/file */
    struct policy *policy;
    struct native_plan *plan;
};

static char *text(const char *constant)
{
    union {
        const char *in;
        char *out; /* borrowed for the call */
    } pointer = {.in = constant};

    return pointer.out;
}

static void rule(struct world *world, const char *path, enum policy_access access,
                 enum policy_origin origin, bool hold)
{
    const struct policy_rule added = {
        .path = text(path), .access = access, .origin = origin, .why = text("test"), .hold = hold};
    struct err err = {0};

    assert_int_equal(policy_add_rule(world->policy, &added, &err), 0);
}

static void place(struct world *world, enum policy_place_kind kind, const char *path,
                  const char *source)
{
    const struct policy_place added = {
        .kind = kind,
        .access = kind == POLICY_PLACE_TMPFS ? POLICY_WRITE : POLICY_READ,
        .path = text(path),
        .source = text(source),
        .why = text("test"),
    };
    struct err err = {0};

    assert_int_equal(policy_add_place(world->policy, &added, &err), 0);
}

static void plan(struct world *world)
{
    struct err err = {0};

    assert_int_equal(native_plan_make(world->policy, &world->plan, &err), 0);
}

static const struct native_step *step(const struct world *world, const char *path)
{
    for (size_t i = 0; i < world->plan->step_count; i++) {
        if (str_equal(world->plan->steps[i].path, path))
            return &world->plan->steps[i];
    }
    return NULL;
}

static struct native_step the_step(const struct world *world, const char *path)
{
    const struct native_step *found = step(world, path);

    if (found != NULL)
        return *found;
    fail_msg("no step for '%s'", path);
    return (struct native_step){0};
}

static void assert_step(const struct world *world, const char *path, enum native_step_kind kind,
                        bool writable)
{
    const struct native_step found = the_step(world, path);

    assert_int_equal(found.kind, kind);
    assert_int_equal(found.writable, writable);
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    char a[112];

    if (world == NULL)
        return -1;
    (void) snprintf(world->top, sizeof world->top, "/var/tmp/wattle-plan-XXXXXX");
    if (mkdtemp(world->top) == NULL)
        return -1;
    (void) snprintf(world->pen, sizeof world->pen, "%s/pen", world->top);
    (void) snprintf(a, sizeof a, "%s/a", world->pen);
    (void) snprintf(world->folder, sizeof world->folder, "%s/b", a);
    (void) snprintf(world->file, sizeof world->file, "%s/file", world->folder);
    if (mkdir(world->pen, 0700) < 0 || mkdir(a, 0700) < 0 || mkdir(world->folder, 0700) < 0 ||
        mknod(world->file, S_IFREG | 0600, 0) < 0)
        return -1;
    world->policy = policy_new();
    *state = world;
    rule(world, world->pen, POLICY_WRITE, POLICY_FROM_PEN, false);
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    char a[112];

    (void) snprintf(a, sizeof a, "%s/a", world->pen);
    (void) unlink(world->file);
    (void) rmdir(world->folder);
    (void) rmdir(a);
    (void) rmdir(world->pen);
    (void) rmdir(world->top);
    native_plan_free(world->plan);
    policy_free(world->policy);
    free(world);
    return 0;
}

static void a_parent_comes_before_what_lies_below_it(void **state)
{
    struct world *world = *state;

    rule(world, "/usr", POLICY_READ, POLICY_FROM_BASE, false);
    place(world, POLICY_PLACE_TMPFS, "/tmp", NULL);
    place(world, POLICY_PLACE_FOLDER, "/run", NULL);
    rule(world, world->file, POLICY_READ, POLICY_FROM_FLAG, false);
    plan(world);
    for (size_t i = 1; i < world->plan->step_count; i++)
        assert_true(strcmp(world->plan->steps[i - 1].path, world->plan->steps[i].path) < 0);
    assert_step(world, "/usr", NATIVE_BIND, false);
    assert_step(world, world->pen, NATIVE_BIND, true);
}

static void what_is_held_in_the_pen_has_its_parents_pinned(void **state)
{
    struct world *world = *state;
    char a[112];

    (void) snprintf(a, sizeof a, "%s/a", world->pen);
    rule(world, world->file, POLICY_READ, POLICY_FROM_FLAG, false);
    plan(world);
    assert_step(world, world->file, NATIVE_BIND, false);
    assert_step(world, world->folder, NATIVE_PIN, true);
    assert_step(world, a, NATIVE_PIN, true);
    assert_false(the_step(world, world->file).make_target);
}

static void hides_by_a_cover_and_only_what_shows(void **state)
{
    struct world *world = *state;

    rule(world, world->file, POLICY_HIDE, POLICY_FROM_FLAG, false);
    rule(world, "/nowhere/in/sight", POLICY_HIDE, POLICY_FROM_OWNER, false);
    plan(world);
    assert_step(world, world->file, NATIVE_COVER, false);
    assert_null(step(world, "/nowhere/in/sight"));
}

static void what_is_opened_in_a_hidden_folder_lies_on_an_island(void **state)
{
    struct world *world = *state;

    rule(world, world->folder, POLICY_HIDE, POLICY_FROM_FLAG, false);
    rule(world, world->file, POLICY_READ, POLICY_FROM_FLAG, false);
    plan(world);
    assert_step(world, world->folder, NATIVE_ISLAND, false);
    assert_false(the_step(world, world->folder).make_target);
    assert_step(world, world->file, NATIVE_BIND, false);
    assert_true(the_step(world, world->file).make_target);
}

static void refuses_to_hide_what_the_job_could_make(void **state)
{
    struct world *world = *state;
    char missing[160];
    struct err err = {0};

    (void) snprintf(missing, sizeof missing, "%s/missing", world->pen);
    rule(world, missing, POLICY_HIDE, POLICY_FROM_FLAG, false);
    assert_int_equal(native_plan_make(world->policy, &world->plan, &err), -EINVAL);
    assert_string_equal(err.id, "fence.hide-missing");
    assert_null(world->plan);
}

static void a_hold_takes_writing_away_and_opens_nothing(void **state)
{
    struct world *world = *state;

    rule(world, world->folder, POLICY_READ, POLICY_FROM_OWNER, true);
    rule(world, "/nowhere/in/sight", POLICY_READ, POLICY_FROM_OWNER, true);
    plan(world);
    assert_step(world, world->folder, NATIVE_BIND, false);
    assert_null(step(world, "/nowhere/in/sight"));
}

static void a_hold_of_the_very_path_that_is_opened_wins(void **state)
{
    struct world *world = *state;

    rule(world, world->pen, POLICY_READ, POLICY_FROM_OWNER, true);
    plan(world);
    assert_step(world, world->pen, NATIVE_BIND, false);
}

static void nothing_lies_in_what_is_absolutely_hidden(void **state)
{
    struct world *world = *state;

    rule(world, world->top, POLICY_READ, POLICY_FROM_FLAG, false);
    rule(world, world->pen, POLICY_HIDE, POLICY_FROM_OWN, false);
    rule(world, world->folder, POLICY_WRITE, POLICY_FROM_FLAG, false);
    plan(world);
    assert_step(world, world->pen, NATIVE_COVER, false);
    assert_null(step(world, world->folder));
}

static void says_nothing_twice(void **state)
{
    struct world *world = *state;

    rule(world, world->folder, POLICY_WRITE, POLICY_FROM_FLAG, false);
    rule(world, "/usr", POLICY_READ, POLICY_FROM_BASE, false);
    rule(world, "/usr/lib", POLICY_READ, POLICY_FROM_TOOLCHAIN, false);
    plan(world);
    assert_null(step(world, world->folder));
    assert_null(step(world, "/usr/lib"));
}

/* A mount point holds its own name, but in a tmpfs the job could move the folder above it. */
static void mounts_deep_in_the_tmpfs_lie_on_an_island(void **state)
{
    struct world *world = *state;

    place(world, POLICY_PLACE_TMPFS, "/tmp", NULL);
    rule(world, "/tmp/direct", POLICY_WRITE, POLICY_FROM_FLAG, false);
    rule(world, "/tmp/deep/er/pen", POLICY_WRITE, POLICY_FROM_FLAG, false);
    rule(world, "/tmp/deep/other", POLICY_READ, POLICY_FROM_FLAG, false);
    plan(world);
    assert_step(world, "/tmp/deep", NATIVE_ISLAND, false);
    assert_step(world, "/tmp/deep/er/pen", NATIVE_BIND, true);
    assert_true(the_step(world, "/tmp/deep/er/pen").make_target);
    assert_step(world, "/tmp/direct", NATIVE_BIND, true);
}

static void links_and_files_are_made_only_where_nothing_of_the_host_shows(void **state)
{
    struct world *world = *state;
    char link[160];

    (void) snprintf(link, sizeof link, "%s/link", world->pen);
    place(world, POLICY_PLACE_SYMLINK, link, "a");
    place(world, POLICY_PLACE_SYMLINK, "/elsewhere/link", "a");
    plan(world);
    assert_null(step(world, link));
    assert_step(world, "/elsewhere/link", NATIVE_SYMLINK, false);
}

static void never_builds_on_a_folder_that_is_mounted_from(void **state)
{
    struct world *world = *state;

    rule(world, "/sys/fs/cgroup", POLICY_READ, POLICY_FROM_FLAG, false);
    plan(world);
    assert_string_not_equal(world->plan->staging, "/sys");
}

static void a_pinned_command_is_mounted_over_its_own_path(void **state)
{
    struct world *world = *state;
    struct policy_command command = {.path = text("/usr/bin/env"), .pinned = true, .inode = 7};
    struct err err = {0};

    rule(world, "/usr", POLICY_READ, POLICY_FROM_BASE, false);
    assert_int_equal(policy_set_command(world->policy, &command, &err), 0);
    plan(world);
    assert_step(world, "/usr/bin/env", NATIVE_BIND, false);
    assert_int_equal(the_step(world, "/usr/bin/env").inode, 7);
    assert_non_null(the_step(world, "/usr/bin/env").command);
}

static void a_copy_is_mounted_over_what_shows(void **state)
{
    struct world *world = *state;
    const struct policy_place copy = {.kind = POLICY_PLACE_OVER,
                                      .access = POLICY_READ,
                                      .path = world->file,
                                      .source = text("/usr/bin/env"),
                                      .why = text("a copy")};
    struct err err = {0};

    assert_int_equal(policy_add_place(world->policy, &copy, &err), 0);
    plan(world);
    assert_step(world, world->file, NATIVE_BIND, false);
    assert_string_equal(the_step(world, world->file).source, "/usr/bin/env");
    assert_false(the_step(world, world->file).make_target); /* nothing is made in the pen */
}

static void nothing_is_made_for_a_symlink_that_stays(void **state)
{
    struct world *world = *state;
    const struct policy_place link = {.kind = POLICY_PLACE_STAYS,
                                      .access = POLICY_READ,
                                      .path = world->file,
                                      .source = text("/usr/bin/env"),
                                      .why = text("a symlink")};
    struct err err = {0};

    assert_int_equal(policy_add_place(world->policy, &link, &err), 0);
    plan(world);
    assert_null(step(world, world->file));
}

static void fence_says(const struct world *world, const char *id)
{
    struct fence *fence = NULL;
    struct err err = {0};
    int r = fence_prepare(world->policy, NULL, &fence, &err);

    fence_freep(&fence);
    assert_true((r < 0) == (id[0] != '\0'));
    assert_string_equal(err.id, id);
    if (r < 0)
        assert_non_null(strstr(err.what, "the rule '*.pem' of config.json"));
}

static void a_pattern_is_not_kept_by_halves(void **state)
{
    static const struct {
        enum policy_guard guard;
        bool absolute;
        const char *id;
    } cases[] = {
        {POLICY_GUARD_ON, false, ""},
        {POLICY_GUARD_OFF, false, "fence.pattern"},
        {POLICY_GUARD_DETECT, false, ""},
        {POLICY_GUARD_ON, true, ""},
        {POLICY_GUARD_OFF, true, "fence.pattern"},
        {POLICY_GUARD_DETECT, true, "fence.pattern"},
    };
    struct world *world = *state;
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct policy_guard_rule added = {.kind = POLICY_GUARD_PATTERN,
                                                .text = text("*.pem"),
                                                .why = text("the rule '*.pem' of config.json"),
                                                .absolute = cases[i].absolute};

        policy_freep(&world->policy);
        world->policy = policy_new();
        rule(world, world->pen, POLICY_WRITE, POLICY_FROM_PEN, false);
        assert_int_equal(policy_set_pen(world->policy, world->pen, &err), 0);
        assert_int_equal(policy_add_guard_rule(world->policy, &added, &err), 0);
        policy_set_guard(world->policy, cases[i].guard);
        fence_says(world, cases[i].id);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_parent_comes_before_what_lies_below_it),
        TEST(what_is_held_in_the_pen_has_its_parents_pinned),
        TEST(hides_by_a_cover_and_only_what_shows),
        TEST(what_is_opened_in_a_hidden_folder_lies_on_an_island),
        TEST(refuses_to_hide_what_the_job_could_make),
        TEST(a_hold_takes_writing_away_and_opens_nothing),
        TEST(a_hold_of_the_very_path_that_is_opened_wins),
        TEST(nothing_lies_in_what_is_absolutely_hidden),
        TEST(says_nothing_twice),
        TEST(mounts_deep_in_the_tmpfs_lie_on_an_island),
        TEST(links_and_files_are_made_only_where_nothing_of_the_host_shows),
        TEST(never_builds_on_a_folder_that_is_mounted_from),
        TEST(a_pattern_is_not_kept_by_halves),
        TEST(a_pinned_command_is_mounted_over_its_own_path),
        TEST(a_copy_is_mounted_over_what_shows),
        TEST(nothing_is_made_for_a_symlink_that_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
