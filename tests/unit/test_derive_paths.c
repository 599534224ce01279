/* Flags, the owner's files, the administrator's, sockets. */
#include "derive_tree.h"

#include <sys/socket.h>
#include <sys/un.h>

struct one_flag {
    struct derive_flag_path path;
    struct derive_request request;
};

static const struct derive_request *flag(struct one_flag *one, enum policy_access access,
                                         const char *path)
{
    *one = (struct one_flag){.path = {.path = path, .access = access}};
    one->request = (struct derive_request){.paths = &one->path, .path_count = 1};
    return &one->request;
}

static void opens_what_flags_name(void **state)
{
    struct world *world = *state;
    struct one_flag one;

    make_folder(world, "home/work/lib");
    make_file(world, "home/notes", "", 0644);
    derive(world, flag(&one, POLICY_READ, "../lib"));
    assert_int_equal(access_of(world, "home/work/lib/x"), POLICY_READ);
    assert_int_equal(access_of(world, "home/work/lib2"), POLICY_HIDE);
    derive(world, flag(&one, POLICY_WRITE, "../lib"));
    assert_int_equal(access_of(world, "home/work/lib/x"), POLICY_WRITE);
    derive(world, flag(&one, POLICY_WRITE, "../../notes"));
    assert_true(has_note(world, "is one file"));
}

static void a_rule_remembers_what_was_seen(void **state)
{
    struct world *world = *state;
    struct one_flag one;
    const struct policy_rule *rule = NULL;
    AUTO_FREE char *lib = at(world, "home/work/lib");
    struct stat seen;

    make_folder(world, "home/work/lib");
    derive(world, flag(&one, POLICY_READ, lib));
    assert_int_equal(policy_resolve(world->policy, lib, &rule), POLICY_READ);
    assert_int_equal(stat(lib, &seen), 0);
    assert_int_equal(rule->inode, seen.st_ino);
    assert_int_equal(rule->origin, POLICY_FROM_FLAG);
    assert_string_equal(rule->why, "--ro");
    assert_false(rule->optional);
}

static void a_missing_path_is_refused(void **state)
{
    struct world *world = *state;
    struct one_flag one;

    refuse(world, flag(&one, POLICY_READ, "missing"), "derive.path-missing");
    refuse(world, flag(&one, POLICY_WRITE, ""), "derive.path-missing");
}

static void refuses_what_cannot_be_opened(void **state)
{
    static const struct {
        enum policy_access access;
        const char *path;
        const char *id;
    } cases[] = {
        {POLICY_READ, "/", "derive.path-broad"},
        {POLICY_READ, "/proc", "derive.path-system"},
        {POLICY_READ, "/dev/null", "derive.path-system"},
        {POLICY_READ, "/sys", "derive.path-system"},
        {POLICY_READ, "/tmp", "derive.path-system"},
        {POLICY_WRITE, "/usr", "derive.path-broad"},
        {POLICY_WRITE, "/usr/bin", "derive.path-broad"},
        {POLICY_WRITE, "/etc", "derive.path-broad"},
        {POLICY_WRITE, "/var/tmp", "derive.path-broad"},
        {POLICY_WRITE, "/var", "derive.path-broad"},
        {POLICY_HIDE, "/", "derive.path-broad"},
        {POLICY_HIDE, "/proc/x", "derive.path-system"},
        {POLICY_HIDE, "/wattle/home", "derive.path-system"},
    };
    struct world *world = *state;
    struct one_flag one;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        refuse(world, flag(&one, cases[i].access, cases[i].path), cases[i].id);
}

static void a_home_can_be_read_but_not_made_writable(void **state)
{
    struct world *world = *state;
    struct one_flag one;

    make_folder(world, "home/.ssh");
    make_file(world, "home/.config/gh/hosts.yml", "", 0600);
    make_file(world, "home/.netrc", "", 0600);
    derive(world, flag(&one, POLICY_READ, world->home));
    assert_int_equal(access_of(world, "home/x"), POLICY_READ);
    assert_int_equal(access_of(world, "home/.ssh/id"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/.config/gh/hosts.yml"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/.netrc"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/.config/wattle/config.json"), POLICY_HIDE);
    assert_int_equal(access_of(world, "home/work/proj"), POLICY_WRITE);
    refuse(world, flag(&one, POLICY_WRITE, world->home), "derive.path-home");
}

static void credentials_of_other_homes_are_covered_too(void **state)
{
    struct world *world = *state;
    struct one_flag one;

    make_folder(world, "other/.aws");
    derive(world, flag(&one, POLICY_READ, world->top));
    assert_int_equal(access_of(world, "other/x"), POLICY_READ);
    assert_int_equal(access_of(world, "other/.aws/credentials"), POLICY_HIDE);
}

static void credentials_behind_a_symlink_are_covered_where_they_are(void **state)
{
    struct world *world = *state;
    struct one_flag one;
    AUTO_FREE char *dotfiles = at(world, "home/dotfiles");

    make_file(world, "home/dotfiles/netrc", "", 0600);
    make_link(world, "home/.netrc", "dotfiles/netrc");
    derive(world, flag(&one, POLICY_READ, dotfiles));
    assert_int_equal(access_of(world, "home/dotfiles/x"), POLICY_READ);
    assert_int_equal(access_of(world, "home/dotfiles/netrc"), POLICY_HIDE);
}

static void a_credential_place_is_opened_by_its_own_name_only(void **state)
{
    struct world *world = *state;
    struct one_flag one;
    AUTO_FREE char *ssh = at(world, "home/.ssh");
    AUTO_FREE char *link = at(world, "home/innocent");
    const struct derive_flag_path both[] = {{world->home, POLICY_READ}, {ssh, POLICY_READ}};

    make_folder(world, "home/.ssh");
    make_link(world, "home/innocent", ".ssh");
    refuse(world, flag(&one, POLICY_READ, link), "derive.path-credentials");
    derive(world, flag(&one, POLICY_READ, ssh));
    assert_int_equal(access_of(world, "home/.ssh/known_hosts"), POLICY_READ);
    derive(world, &(struct derive_request){.paths = both, .path_count = 2});
    assert_int_equal(access_of(world, "home/.ssh/known_hosts"), POLICY_READ);
}

static void one_file_of_a_credential_place_can_be_opened(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *hosts = at(world, "home/.ssh/known_hosts");
    const struct derive_flag_path both[] = {{world->home, POLICY_READ}, {hosts, POLICY_READ}};

    make_file(world, "home/.ssh/known_hosts", "", 0644);
    derive(world, &(struct derive_request){.paths = both, .path_count = 2});
    assert_int_equal(access_of(world, "home/.ssh/known_hosts"), POLICY_READ);
    assert_int_equal(access_of(world, "home/.ssh/id_rsa"), POLICY_HIDE);
}

static void wattle_s_own_folders_stay_closed(void **state)
{
    struct world *world = *state;
    struct one_flag one;
    AUTO_FREE char *own = at(world, "home/.config/wattle");
    AUTO_FREE char *around = at(world, "home/.config");

    refuse(world, flag(&one, POLICY_READ, own), "derive.path-own");
    refuse(world, flag(&one, POLICY_WRITE, own), "derive.path-own");
    derive(world, flag(&one, POLICY_WRITE, around));
    assert_int_equal(access_of(world, "home/.config/x"), POLICY_WRITE);
    assert_int_equal(access_of(world, "home/.config/wattle/x"), POLICY_HIDE);
    derive(world, flag(&one, POLICY_READ, around));
    assert_int_equal(access_of(world, "home/.config/x"), POLICY_READ);
    assert_int_equal(access_of(world, "home/.config/wattle/x"), POLICY_HIDE);
}

static void hides_in_the_pen_what_exists(void **state)
{
    struct world *world = *state;
    struct one_flag one;

    make_file(world, "home/work/proj/.env", "", 0600);
    derive(world, flag(&one, POLICY_HIDE, ".env"));
    assert_int_equal(access_of(world, "home/work/proj/.env"), POLICY_HIDE);
    refuse(world, flag(&one, POLICY_HIDE, ".env.local"), "derive.path-hide-missing");
    refuse(world, flag(&one, POLICY_HIDE, "."), "derive.path-hide-pen");
    derive(world, flag(&one, POLICY_HIDE, "../missing")); /* nothing shows it anyway */
    derive(world, flag(&one, POLICY_HIDE, ".."));         /* the more specific pen stays */
    assert_int_equal(access_of(world, "home/work/proj/x"), POLICY_WRITE);
}

static void symlinks_on_the_way_are_made_inside(void **state)
{
    struct world *world = *state;
    struct one_flag one;
    AUTO_FREE char *link = at(world, "home/link");

    make_folder(world, "home/data/set");
    make_link(world, "home/link", "data");
    derive(world, flag(&one, POLICY_READ, "../../link/set"));
    assert_int_equal(access_of(world, "home/data/set"), POLICY_READ);
    assert_null(policy_place_find(world->policy, link)); /* ".." has no one meaning */
    enter(world, "home");
    derive(world,
           &(struct derive_request){.pen = "work/proj", .paths = &one.path, .path_count = 0});
    {
        const struct derive_flag_path path = {"link/set", POLICY_READ};

        derive(world,
               &(struct derive_request){.pen = "work/proj", .paths = &path, .path_count = 1});
    }
    assert_non_null(policy_place_find(world->policy, link));
    assert_string_equal(policy_place_find(world->policy, link)->source, "data");
}

static void files_of_a_pen_lie_where_they_were_stored(void **state)
{
    struct world *world = *state;
    static const enum policy_access accesses[] = {POLICY_READ, POLICY_WRITE, POLICY_HIDE};
    AUTO_FREE char *lib = at(world, "home/work/lib");
    AUTO_FREE char *link = at(world, "home/work/link");
    AUTO_FREE char *below = at(world, "home/work/link/below");
    struct one_flag one;

    make_folder(world, "home/work/lib/below");
    assert_int_equal(symlink(lib, link), 0);
    for (size_t i = 0; i < ARRAY_SIZE(accesses); i++) {
        derive(world, flag(&one, accesses[i], link)); /* a run's options are the owner's of now */
        (void) flag(&one, accesses[i], lib);
        one.request.pen_files = true;
        derive(world, &one.request);
        one.path.path = link;
        refuse(world, &one.request, "derive.path-moved");
        one.path.path = below;
        refuse(world, &one.request, "derive.path-moved");
        one.request.discreet = true;
        refuse(world, &one.request, "derive.path-moved");
    }
}

static void devices_and_sockets_are_not_files(void **state)
{
    struct world *world = *state;
    struct one_flag one;
    AUTO_FREE char *fifo = at(world, "fifo");

    assert_int_equal(mkfifo(fifo, 0600), 0);
    refuse(world, flag(&one, POLICY_READ, fifo), "derive.path-kind");
}

static void opens_sockets_by_their_own_flag(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *path = at(world, "docker.sock");
    AUTO_FREE char *file = at(world, "file");
    const char *const socket_list[] = {path, NULL};
    const char *const file_list[] = {file, NULL};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct one_flag one;

    (void) snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
    make_file(world, "file", "", 0600);
    derive(world, &(struct derive_request){.unix_sockets = socket_list});
    assert_int_equal(access_of(world, "docker.sock"), POLICY_READ);
    assert_true(has_note(world, "outside of the fence"));
    refuse(world, &(struct derive_request){.unix_sockets = file_list}, "derive.path-kind");
    refuse(world, flag(&one, POLICY_READ, path), "derive.path-kind");
    assert_int_equal(unlink(path), 0);
    refuse(world, &(struct derive_request){.unix_sockets = socket_list}, "derive.path-missing");
}

/* ---- files ------------------------------------------------------------------------------- */

static void reads_the_owner_s_file(void **state)
{
    struct world *world = *state;
    const struct policy_rule *rule = NULL;
    AUTO_FREE char *lib = at(world, "home/lib");

    make_folder(world, "home/lib");
    make_file(world, "home/.config/wattle/config.json",
              "{\"filesystem\": {\"allowRead\": [\"~/lib\", \"~/missing\"]}}", 0600);
    derive(world, &(struct derive_request){0});
    assert_int_equal(policy_resolve(world->policy, lib, &rule), POLICY_READ);
    assert_int_equal(rule->origin, POLICY_FROM_OWNER);
    assert_string_equal(rule->why, "config.json");
    assert_true(has_note(world, "is not here"));
}

static void refuses_an_unfit_owner_s_file(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *file = at(world, "home/.config/wattle/config.json");

    make_file(world, "home/.config/wattle/config.json", "{", 0600);
    assert_true(try_derive(world, &(struct derive_request){0}) < 0);
    make_file(world, "home/.config/wattle/config.json", "{}", 0666);
    refuse(world, &(struct derive_request){0}, "derive.location");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkdir(file, 0755), 0);
    assert_int_equal(try_derive(world, &(struct derive_request){0}), -EINVAL);
    assert_int_equal(rmdir(file), 0);
    make_link(world, "home/.config/wattle/config.json", "nowhere");
    assert_int_equal(try_derive(world, &(struct derive_request){0}), -ENOENT);
}

static void no_file_of_the_pen_is_a_policy(void **state)
{
    struct world *world = *state;
    const char *const files[] = {"policy.json", NULL};

    make_file(world, "home/work/proj/policy.json", "{}", 0600);
    refuse(world, &(struct derive_request){.policy_files = files}, "derive.location");
    make_link(world, "home/.config/wattle/config.json", "../../work/proj/policy.json");
    refuse(world, &(struct derive_request){0}, "derive.location");
}

static void more_files_are_read_in_order(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *first = at(world, "one.json");
    AUTO_FREE char *second = at(world, "two.json");
    const char *const files[] = {first, second, NULL};
    const char *const missing[] = {"/nonexistent/x.json", NULL};

    make_file(world, "one.json", "{\"wattle\": {\"env\": [\"A=1\", \"B=1\"]}}", 0600);
    make_file(world, "two.json", "{\"wattle\": {\"env\": [\"B=2\"]}}", 0600);
    derive(world, &(struct derive_request){.policy_files = files});
    assert_string_equal(policy_env(world->policy, "A"), "1");
    assert_string_equal(policy_env(world->policy, "B"), "2");
    refuse(world, &(struct derive_request){.policy_files = missing}, "derive.settings");
}

static void the_administrator_only_tightens(void **state)
{
    struct world *world = *state;
    struct one_flag one;
    AUTO_FREE char *closed = at(world, "closed");
    AUTO_FREE char *below = at(world, "closed/a");
    AUTO_FREE char *text = NULL;

    if (geteuid() != 0)
        SKIP_TEST("the file must be root's");
    make_folder(world, "closed/a");
    assert_true(asprintf(&text,
                         "{\"filesystem\": {\"denyRead\": [\"%s\"]},"
                         " \"wattle\": {\"limits\": {\"processes\": 10}}}",
                         closed) > 0);
    make_file(world, "etc/config.json", text, 0644);
    derive(world, flag(&one, POLICY_READ, below));
    assert_int_equal(access_of(world, "closed/a"), POLICY_HIDE); /* whatever is below */
    assert_int_equal(policy_get_limits(world->policy)->processes, 10);
    derive(world, &(struct derive_request){.limits = {.processes = 5}});
    assert_int_equal(policy_get_limits(world->policy)->processes, 5);
    derive(world, &(struct derive_request){.limits = {.processes = 500, .deadline_ms = 7}});
    assert_int_equal(policy_get_limits(world->policy)->processes, 10);
    assert_int_equal(policy_get_limits(world->policy)->deadline_ms, 7);
    make_file(world, "etc/config.json", text, 0666);
    refuse(world, &(struct derive_request){0}, "derive.location");
}

static void the_administrator_can_forbid_a_pen(void **state)
{
    struct world *world = *state;
    AUTO_FREE char *text = NULL;

    if (geteuid() != 0)
        SKIP_TEST("the file must be root's");
    assert_true(asprintf(&text, "{\"filesystem\": {\"denyRead\": [\"%s/work\"]}}", world->home) >
                0);
    make_file(world, "etc/config.json", text, 0644);
    refuse(world, &(struct derive_request){0}, "derive.pen-hidden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(opens_what_flags_name),
        WORLD_TEST(a_rule_remembers_what_was_seen),
        WORLD_TEST(a_missing_path_is_refused),
        WORLD_TEST(refuses_what_cannot_be_opened),
        WORLD_TEST(a_home_can_be_read_but_not_made_writable),
        WORLD_TEST(credentials_of_other_homes_are_covered_too),
        WORLD_TEST(credentials_behind_a_symlink_are_covered_where_they_are),
        WORLD_TEST(a_credential_place_is_opened_by_its_own_name_only),
        WORLD_TEST(one_file_of_a_credential_place_can_be_opened),
        WORLD_TEST(wattle_s_own_folders_stay_closed),
        WORLD_TEST(hides_in_the_pen_what_exists),
        WORLD_TEST(symlinks_on_the_way_are_made_inside),
        WORLD_TEST(files_of_a_pen_lie_where_they_were_stored),
        WORLD_TEST(devices_and_sockets_are_not_files),
        WORLD_TEST(opens_sockets_by_their_own_flag),
        WORLD_TEST(reads_the_owner_s_file),
        WORLD_TEST(refuses_an_unfit_owner_s_file),
        WORLD_TEST(no_file_of_the_pen_is_a_policy),
        WORLD_TEST(more_files_are_read_in_order),
        WORLD_TEST(the_administrator_only_tightens),
        WORLD_TEST(the_administrator_can_forbid_a_pen),
    };

    return RUN_WORLD_TESTS(tests);
}
