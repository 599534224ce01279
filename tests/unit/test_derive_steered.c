/* What a job could change must not choose what the next run opens, hides or obeys. */
#include "derive_tree.h"

#include <sys/socket.h>
#include <sys/un.h>

static int try_flag(struct world *world, enum policy_access access, const char *path)
{
    const struct derive_flag_path flag = {.path = path, .access = access};

    return try_derive(world, &(struct derive_request){.paths = &flag, .path_count = 1});
}

static void refuse_flag(struct world *world, enum policy_access access, const char *path,
                        const char *id)
{
    const struct derive_flag_path flag = {.path = path, .access = access};

    refuse(world, &(struct derive_request){.paths = &flag, .path_count = 1}, id);
}

static void take_flag(struct world *world, enum policy_access access, const char *path)
{
    if (try_flag(world, access, path) < 0)
        fail_msg("%s: %s", world->err.id, world->err.what);
}

/* ---- links ------------------------------------------------------------------------------- */

static void a_link_in_the_pen_does_not_choose_what_flags_open(void **state)
{
    static const enum policy_access kinds[] = {POLICY_READ, POLICY_WRITE, POLICY_HIDE};
    struct world *world = *state;
    AUTO_FREE char *documents = at(world, "home/documents");
    AUTO_FREE char *link = at(world, "home/work/proj/link");

    make_folder(world, "home/documents/a");
    make_link(world, "home/work/proj/link", "../../documents");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        refuse_flag(world, kinds[i], "link", "derive.path-steered");
        assert_non_null(strstr(world->err.what, link));
        assert_non_null(strstr(world->err.hint, documents));
        refuse_flag(world, kinds[i], "./link/a", "derive.path-steered");
        refuse_flag(world, kinds[i], "link/../documents", "derive.path-steered");
        refuse_flag(world, kinds[i], link, "derive.path-steered");
    }
    take_flag(world, POLICY_READ, documents);
}

static void a_name_in_the_pen_that_is_a_link_can_be_neither_held_nor_hidden(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *text = NULL;

    make_folder(world, "home/work/proj/real");
    make_link(world, "home/work/proj/.vscode", "real");
    refuse_flag(world, POLICY_READ, ".vscode", "derive.path-steered");
    refuse_flag(world, POLICY_HIDE, ".vscode", "derive.path-steered");
    take_flag(world, POLICY_READ, "real");

    make_link(world, "home/work/proj/.idea", "nowhere");
    assert_true(asprintf(&text, "{\"filesystem\": {\"denyWrite\": [\"%s/.idea\"]}}", world->proj) >
                0);
    make_file(world, "home/.config/wattle/config.json", text, 0600);
    refuse(world, &(struct derive_request){0}, "derive.path-steered");
    assert_non_null(strstr(world->err.what, "config.json: "));
}

static void links_elsewhere_are_the_owner_s(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *link = at(world, "home/link");

    make_folder(world, "home/data");
    make_link(world, "home/link", "data");
    take_flag(world, POLICY_WRITE, link);
    assert_int_equal(access_of(world, "home/data"), POLICY_WRITE);
}

static void a_link_in_what_is_made_writable_is_a_job_s(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *shared = at(world, "home/shared");
    AUTO_FREE char *link = at(world, "home/shared/link");
    const struct derive_flag_path both[] = {{link, POLICY_READ}, {shared, POLICY_WRITE}};
    const char *const argv[] = {link, NULL};

    make_folder(world, "home/shared");
    make_program(world, "home/tool");
    make_link(world, "home/shared/link", "../tool");
    take_flag(world, POLICY_READ, link);
    refuse(world, &(struct derive_request){.paths = both, .path_count = 2}, "derive.path-steered");
    refuse(world, &(struct derive_request){.paths = both + 1, .path_count = 1, .argv = argv},
           "derive.command-leads-out");
}

static void a_link_in_the_repository_around_the_pen_is_not_the_owner_s(void **state)
{
    struct world *world = *state;

    make_folder(world, "home/work/.git");
    make_folder(world, "home/data");
    make_link(world, "home/work/link", "../data");
    refuse_flag(world, POLICY_READ, "../link", "derive.path-steered");
}

static void a_link_in_the_middle_of_the_way_counts(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *outer = at(world, "home/outer");

    make_folder(world, "home/data");
    make_link(world, "home/work/proj/inner", "../../data");
    make_link(world, "home/outer", "work/proj/inner");
    refuse_flag(world, POLICY_READ, outer, "derive.path-steered");
}

static void the_name_of_the_current_folder_is_no_way(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *pwd = at(world, "home/work/proj/here");

    make_folder(world, "home/work/proj/sub/lib");
    make_link(world, "home/work/proj/here", "sub");
    assert_int_equal(chdir(pwd), 0);
    assert_int_equal(setenv("PWD", pwd, 1), 0);
    take_flag(world, POLICY_READ, "lib");
}

static void sockets_and_settings_are_not_steered_either(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *path = at(world, "home/s.sock");
    const char *const sockets[] = {"s", NULL};
    const char *const files[] = {"p.json", NULL};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void) snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
    make_link(world, "home/work/proj/s", "../../s.sock");
    refuse(world, &(struct derive_request){.unix_sockets = sockets}, "derive.path-steered");
    make_file(world, "home/p.json", "{}", 0600);
    make_link(world, "home/work/proj/p.json", "../../p.json");
    refuse(world, &(struct derive_request){.policy_files = files}, "derive.path-steered");
    assert_non_null(strstr(world->err.what, "-p: "));
}

static void the_start_may_be_a_link_that_stays_in_the_pen(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *data = at(world, "home/data");
    const struct derive_flag_path flag = {data, POLICY_READ};

    make_folder(world, "home/work/proj/real");
    make_folder(world, "home/data");
    make_link(world, "home/work/proj/stays", "real");
    make_link(world, "home/work/proj/leaves", "../../data");
    derive(world, &(struct derive_request){.chdir = "stays"});
    refuse(world, &(struct derive_request){.chdir = "leaves", .paths = &flag, .path_count = 1},
           "derive.path-steered");
    derive(world, &(struct derive_request){.chdir = data, .paths = &flag, .path_count = 1});
}

static void the_pen_may_be_named_through_a_link_unless_a_job_can_change_it(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *shared = at(world, "home/shared");
    AUTO_FREE char *steered = at(world, "home/shared/pen");
    AUTO_FREE char *link = at(world, "home/pen");
    AUTO_FREE char *within = at(world, "home/work/proj/pen");
    const struct derive_flag_path flag = {shared, POLICY_WRITE};

    make_folder(world, "home/shared");
    make_folder(world, "home/work/proj/sub");
    make_link(world, "home/shared/pen", "../work/proj");
    make_link(world, "home/pen", "work/proj");
    make_link(world, "home/work/proj/pen", "sub");
    derive(world, &(struct derive_request){.pen = link, .paths = &flag, .path_count = 1});
    make_folder(world, "home/work/proj/.git");
    derive(world, &(struct derive_request){.pen = within});
    refuse(world, &(struct derive_request){.pen = steered, .paths = &flag, .path_count = 1},
           "derive.path-steered");
}

/* ---- wattle's own ------------------------------------------------------------------------ */

static void own_folders_behind_a_link_that_a_job_can_replace_are_refused(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *own = at(world, "home/.config/wattle");
    AUTO_FREE char *around = at(world, "home/.config");
    AUTO_FREE char *dotfiles = at(world, "home/dotfiles");

    assert_int_equal(rmdir(own), 0);
    make_folder(world, "home/dotfiles/wattle");
    make_link(world, "home/.config/wattle", "../dotfiles/wattle");
    refuse_flag(world, POLICY_WRITE, around, "derive.own-link");
    assert_non_null(strstr(world->err.what, own));
    take_flag(world, POLICY_READ, around);
    take_flag(world, POLICY_WRITE, dotfiles); /* the folder itself is covered */
    assert_int_equal(access_of(world, "home/dotfiles/wattle/config.json"), POLICY_HIDE);
}

static void the_link_of_a_default_location_counts_also_when_it_is_not_used(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *own = at(world, "home/.config/wattle");
    AUTO_FREE char *around = at(world, "home/.config");
    AUTO_FREE char *other = at(world, "home/.cfg2");

    assert_int_equal(rmdir(own), 0);
    make_folder(world, "home/dotfiles/wattle");
    make_link(world, "home/.config/wattle", "../dotfiles/wattle");
    assert_int_equal(setenv("XDG_CONFIG_HOME", other, 1), 0);
    refuse_flag(world, POLICY_WRITE, around, "derive.own-link");
}

static void default_locations_are_covered_beside_those_of_the_variables(void **state)
{
    static const char *const variables[] = {"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"};
    struct world *world = *state;
    AUTO_FREE char *own = at(world, "home/.config/wattle");
    AUTO_FREE char *other = at(world, "home/.other");
    AUTO_FREE char *config = at(world, "home/.config");
    AUTO_FREE char *local = at(world, "home/.local");
    AUTO_FREE char *cache = at(world, "home/.cache");
    const struct derive_flag_path flags[] = {
        {config, POLICY_WRITE}, {local, POLICY_WRITE}, {cache, POLICY_WRITE}};

    make_folder(world, "home/.local");
    make_folder(world, "home/.cache");
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        assert_int_equal(setenv(variables[i], other, 1), 0);
    derive(world, &(struct derive_request){.paths = flags, .path_count = 3});
    assert_int_equal(access_of(world, "home/.config/x"), POLICY_WRITE);
    assert_int_equal(access_of(world, "home/.config/wattle/config.json"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/.local/state/wattle/x"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/.cache/wattle/x"), POLICY_HIDE);
    refuse_flag(world, POLICY_READ, own, "derive.path-own");
}

static void the_account_s_home_has_default_locations_too(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *home = at(world, "home2");
    AUTO_FREE char *config = at(world, "home/.config");

    make_folder(world, "home2");
    assert_int_equal(setenv("HOME", home, 1), 0);
    take_flag(world, POLICY_WRITE, config);
    assert_int_equal(access_of(world, "home/.config/wattle/config.json"), POLICY_HIDE);
}

static void a_default_location_that_only_could_be_read_is_not_made(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *local = at(world, "home/.local");
    AUTO_FREE char *state_dir = at(world, "home/.local/state/wattle");
    AUTO_FREE char *other = at(world, "home/.other");
    const struct policy_rule *rule = NULL;

    make_folder(world, "home/.local");
    assert_int_equal(setenv("XDG_STATE_HOME", other, 1), 0);
    take_flag(world, POLICY_READ, local);
    assert_int_equal(policy_resolve(world->policy, state_dir, &rule), POLICY_READ);
    make_folder(world, "home/.local/state/wattle");
    take_flag(world, POLICY_READ, local);
    assert_int_equal(policy_resolve(world->policy, state_dir, &rule), POLICY_HIDE);
}

static void settings_files_must_not_be_writable(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *rules = at(world, "home/rules");
    AUTO_FREE char *file = at(world, "home/rules/r.json");
    const char *const files[] = {file, NULL};
    struct derive_flag_path flag = {rules, POLICY_WRITE};
    const struct derive_request request = {.policy_files = files, .paths = &flag, .path_count = 1};

    make_file(world, "home/rules/r.json", "{}", 0600);
    refuse(world, &request, "derive.settings-writable");
    flag.access = POLICY_READ;
    derive(world, &request);

    flag.access = POLICY_WRITE; /* config.json behind a link to such a file */
    make_link(world, "home/.config/wattle/config.json", "../../rules/r.json");
    refuse_flag(world, POLICY_WRITE, rules, "derive.settings-writable");
}

static void settings_that_open_their_own_folder_are_refused(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *file = at(world, "home/rules/r.json");
    const char *const files[] = {file, NULL};

    make_file(world, "home/rules/r.json", "{\"filesystem\": {\"allowWrite\": [\"~/rules\"]}}",
              0600);
    refuse(world, &(struct derive_request){.policy_files = files}, "derive.settings-writable");
}

/* ---- where settings lie ------------------------------------------------------------------ */

static void a_settings_file_beside_the_pen_may_be_named_by_dots(void **state)
{
    struct world *world = *state;
    const char *const beside[] = {"../p.json", NULL};
    const char *const inside[] = {"../proj/p.json", NULL};
    AUTO_FREE char *sly = at(world, "home/x/../work/proj/p.json");
    const char *const absolute[] = {sly, NULL};

    make_folder(world, "home/x");
    make_file(world, "home/work/p.json", "{\"wattle\": {\"env\": [\"A=1\"]}}", 0600);
    make_file(world, "home/work/proj/p.json", "{}", 0600);
    derive(world, &(struct derive_request){.policy_files = beside});
    assert_string_equal(policy_env(world->policy, "A"), "1");
    refuse(world, &(struct derive_request){.policy_files = inside}, "derive.location");
    assert_non_null(strstr(world->err.what, "lies in the pen"));
    assert_null(strstr(world->err.hint, "XDG"));
    refuse(world, &(struct derive_request){.policy_files = absolute}, "derive.location");

    make_folder(world, "home/work/.git");
    refuse(world, &(struct derive_request){.policy_files = beside}, "derive.location");
    assert_non_null(strstr(world->err.what, "repository around the pen"));
}

/* ---- sockets of everything ---------------------------------------------------------------- */

static void folders_of_all_sockets_are_not_opened(void **state)
{
    static const char *const tops[] = {"/run", "/var/run", "/run/user"};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
        if (access(tops[i], F_OK) < 0)
            continue;
        refuse_flag(world, POLICY_READ, tops[i], "derive.path-broad");
        assert_non_null(strstr(world->err.hint, "--unix"));
        refuse_flag(world, POLICY_WRITE, tops[i], "derive.path-broad");
    }
    /* Those of one log-in need not be there to be judged. */
    take_flag(world, POLICY_HIDE, "/nonexistent");
    {
        const struct derivation work = {.owner = world->owner};

        assert_true((derive_judge(&work, "/run/user/1000").facts & DERIVE_SOCKETS) != 0);
        assert_true((derive_judge(&work, "/run/user/1000/app").facts & DERIVE_SOCKETS) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_link_in_the_pen_does_not_choose_what_flags_open),
        WORLD_TEST(a_name_in_the_pen_that_is_a_link_can_be_neither_held_nor_hidden),
        WORLD_TEST(links_elsewhere_are_the_owner_s),
        WORLD_TEST(a_link_in_what_is_made_writable_is_a_job_s),
        WORLD_TEST(a_link_in_the_repository_around_the_pen_is_not_the_owner_s),
        WORLD_TEST(a_link_in_the_middle_of_the_way_counts),
        WORLD_TEST(the_name_of_the_current_folder_is_no_way),
        WORLD_TEST(sockets_and_settings_are_not_steered_either),
        WORLD_TEST(the_start_may_be_a_link_that_stays_in_the_pen),
        WORLD_TEST(the_pen_may_be_named_through_a_link_unless_a_job_can_change_it),
        WORLD_TEST(own_folders_behind_a_link_that_a_job_can_replace_are_refused),
        WORLD_TEST(the_link_of_a_default_location_counts_also_when_it_is_not_used),
        WORLD_TEST(default_locations_are_covered_beside_those_of_the_variables),
        WORLD_TEST(the_account_s_home_has_default_locations_too),
        WORLD_TEST(a_default_location_that_only_could_be_read_is_not_made),
        WORLD_TEST(settings_files_must_not_be_writable),
        WORLD_TEST(settings_that_open_their_own_folder_are_refused),
        WORLD_TEST(a_settings_file_beside_the_pen_may_be_named_by_dots),
        WORLD_TEST(folders_of_all_sockets_are_not_opened),
    };

    return RUN_WORLD_TESTS(tests);
}
