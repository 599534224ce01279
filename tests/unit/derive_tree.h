/* A machine of its own for the tests of derive/: a home, a password file, an administrator's file,
 * in a temporary folder; and an environment with nothing else in it. */
#ifndef WATTLE_TESTS_DERIVE_TREE_H
#define WATTLE_TESTS_DERIVE_TREE_H

#include "base/cleanup.h"
#include "base/path.h"
#include "base/tree.h"
#include "cm.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char *top;  /* physical */
    char *home; /* <top>/home */
    char *proj; /* <top>/home/work/proj, the usual pen, where the test starts */
    char *passwd_file;
    char *group_file;
    char *admin_file;
    char *gitconfig_file;
    struct derive_machine machine;
    struct derive_owner *owner; /* once found */
    struct policy *policy;      /* of the last derivation */
    struct err err;
};

static inline char *at(const struct world *world, const char *path)
{
    char *full = path_join(world->top, path);

    assert_non_null(full);
    return full;
}

static inline void make_folder(const struct world *world, const char *path)
{
    AUTO_FREE char *full = at(world, path);

    for (char *slash = strchr(full + strlen(world->top) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
}

static inline void make_file(const struct world *world, const char *path, const char *text,
                             mode_t mode)
{
    AUTO_FREE char *full = at(world, path);
    AUTO_FREE char *folder = strdup(path);
    AUTO_CLOSE int fd = -1;

    assert_non_null(folder);
    if (strchr(folder, '/') != NULL) {
        *strrchr(folder, '/') = '\0';
        make_folder(world, folder);
    }
    fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t) strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
}

static inline void make_program(const struct world *world, const char *path)
{
    make_file(world, path, "#!/bin/sh\n", 0755);
}

static inline void make_link(const struct world *world, const char *path, const char *target)
{
    AUTO_FREE char *full = at(world, path);

    assert_int_equal(symlink(target, full), 0);
}

static inline void enter(const struct world *world, const char *path)
{
    AUTO_FREE char *full = at(world, path);

    assert_int_equal(chdir(full), 0);
}

static inline void remove_tree(const char *path)
{
    AUTO_FREE char *parent = strdup(path);
    AUTO_CLOSE int fd = -1;

    assert_non_null(parent);
    *strrchr(parent, '/') = '\0';
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(tree_remove(fd, path_base(path), NULL), 0);
}

/* Nothing stays but what tells the test program how to report. */
static inline void clear_environment(void)
{
    static const char *const names[] = {"CMOCKA_MESSAGE_OUTPUT", "WATTLE_MUST_RUN"};
    char *values[ARRAY_SIZE(names)] = {NULL};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (getenv(names[i]) != NULL)
            values[i] = strdup(getenv(names[i]));
    assert_int_equal(clearenv(), 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (values[i] != NULL)
            assert_int_equal(setenv(names[i], values[i], 1), 0);
        free(values[i]);
    }
}

static inline int world_make(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    char name[] = "/tmp/wattle-derive-XXXXXX";
    AUTO_FREE char *line = NULL;

    assert_non_null(world);
    (void) umask(022);
    assert_non_null(mkdtemp(name));
    world->top = realpath(name, NULL);
    world->home = at(world, "home");
    world->proj = at(world, "home/work/proj");
    world->passwd_file = at(world, "passwd");
    world->group_file = at(world, "group");
    world->admin_file = at(world, "etc/config.json");
    world->gitconfig_file = at(world, "etc/gitconfig");
    make_folder(world, "home/work/proj");
    make_folder(world, "home/.config/wattle");
    make_folder(world, "other");
    assert_true(asprintf(&line,
                         "tester:x:%u:%u:Test Er:%s:/bin/sh\nother:x:54321:54321::%s/other:\n",
                         geteuid(), getegid(), world->home, world->top) > 0);
    make_file(world, "passwd", line, 0644);
    make_file(world, "group", "", 0644);
    world->machine = (struct derive_machine){
        .passwd_file = world->passwd_file,
        .group_file = world->group_file,
        .admin_file = world->admin_file,
        .gitconfig_file = world->gitconfig_file,
    };
    clear_environment();
    assert_int_equal(setenv("HOME", world->home, 1), 0);
    assert_int_equal(setenv("PATH", "/usr/bin:/bin", 1), 0);
    assert_int_equal(chdir(world->proj), 0);
    *state = world;
    return 0;
}

static inline int world_remove(void **state)
{
    struct world *world = *state;

    derive_owner_freep(&world->owner);
    policy_freep(&world->policy);
    assert_int_equal(chdir("/"), 0);
    remove_tree(world->top);
    free(world->top);
    free(world->home);
    free(world->proj);
    free(world->passwd_file);
    free(world->group_file);
    free(world->admin_file);
    free(world->gitconfig_file);
    free(world);
    return 0;
}

static inline int try_derive(struct world *world, const struct derive_request *request)
{
    int r = 0;

    world->err = (struct err){0};
    policy_freep(&world->policy);
    derive_owner_freep(&world->owner);
    r = derive_owner_find_on(&world->machine, NULL, &world->owner, &world->err);
    if (r == 0)
        r = derive_policy_on(&world->machine, world->owner, request, &world->policy, &world->err);
    if (r < 0)
        assert_int_equal(r, -world->err.code);
    return r;
}

static inline void derive(struct world *world, const struct derive_request *request)
{
    if (try_derive(world, request) < 0)
        fail_msg("%s: %s", world->err.id, world->err.what);
}

/* Every refusal says what to do. */
static inline void refuse(struct world *world, const struct derive_request *request, const char *id)
{
    assert_true(try_derive(world, request) < 0);
    assert_string_equal(world->err.id, id);
    assert_string_not_equal(world->err.hint, "");
    assert_null(world->policy);
}

static inline enum policy_access access_of(const struct world *world, const char *path)
{
    AUTO_FREE char *full = path[0] == '/' ? strdup(path) : at(world, path);

    return policy_resolve(world->policy, full, NULL);
}

/* Whether some note has the text in it. */
static inline bool has_note(const struct world *world, const char *text)
{
    for (size_t i = 0; i < policy_notes(world->policy); i++)
        if (strstr(policy_note_at(world->policy, i), text) != NULL)
            return true;
    return false;
}

/* Whether a rule for the guard names `path`. */
static inline bool guards(const struct world *world, const char *path)
{
    AUTO_FREE char *full = at(world, path);

    for (size_t i = 0; i < policy_guard_rules(world->policy); i++)
        if (strcmp(policy_guard_rule_at(world->policy, i)->text, full) == 0)
            return true;
    return false;
}

/* Position of `entry` on PATH inside; -1: not there. */
static inline int on_path(const struct world *world, const char *entry)
{
    AUTO_FREE char *full = entry[0] == '/' ? strdup(entry) : at(world, entry);
    AUTO_FREE char *path = strdup(policy_env(world->policy, "PATH"));
    char *rest = path;
    int index = 0;

    for (char *item = strsep(&rest, ":"); item != NULL; item = strsep(&rest, ":"), index++)
        if (strcmp(item, full) == 0)
            return index;
    return -1;
}

/* Deriving needs openat2, and a fence takes it away. */
#define RUN_WORLD_TESTS(tests)                                                                     \
    (has_openat2() || getenv("WATTLE_MUST_RUN") != NULL                                            \
         ? cmocka_run_group_tests(tests, NULL, NULL)                                               \
         : puts("1..0 # SKIP no openat2") < 0)

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

#endif
