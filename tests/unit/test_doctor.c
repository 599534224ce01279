#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "base/tree.h"
#include "cm.h"
#include "doctor/doctor_priv.h"
#include "fence/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a small table ----------------------------------------------------------------------------
 */

enum { LAYER, HOLE, BOUND, MEMORY, CHECKS };

static const struct doctor_check checks[CHECKS] = {
    [LAYER] = {.name = "layer",
               .group = DOCTOR_KERNEL,
               .kind = DOCTOR_MUST,
               .shows = "a layer is there",
               .mend = "make the layer",
               .stops = DOCTOR_STOPS_RUNS},
    [HOLE] = {.name = "hole",
              .group = DOCTOR_BOUNDARY,
              .kind = DOCTOR_MUST,
              .shows = "there is no hole"},
    [BOUND] = {.name = "bound",
               .group = DOCTOR_BOUNDS,
               .kind = DOCTOR_BETTER,
               .shows = "there is a bound",
               .weak = FENCE_WEAK_PROCESSES_NONE | FENCE_WEAK_PROCESSES_RLIMIT},
    [MEMORY] = {.name = "memory",
                .group = DOCTOR_BOUNDS,
                .kind = DOCTOR_BETTER,
                .shows = "memory is bounded",
                .weak = FENCE_WEAK_MEMORY},
};

static struct doctor_verdict conclude(struct doctor_finding findings[CHECKS])
{
    struct doctor_verdict verdict;

    doctor_conclude(checks, CHECKS, findings, &verdict);
    return verdict;
}

/* One finding of `status`, all else fine: what the doctor exits with. */
static int exit_with(size_t index, enum doctor_status status)
{
    struct doctor_finding findings[CHECKS] = {0};
    struct doctor_verdict verdict;

    findings[index].status = status;
    verdict = conclude(findings);
    return doctor_exit_status(&verdict);
}

static const char *print(const struct doctor_options *options,
                         struct doctor_finding findings[CHECKS], struct buf *text)
{
    const struct doctor_verdict verdict = conclude(findings);

    buf_init(text, 65536);
    doctor_print_table(checks, CHECKS, findings, &verdict, options, text);
    return text->bytes;
}

/* ---- verdict -------------------------------------------------------------------------------- */

static void all_there_is_0(void **state)
{
    (void) state;
    assert_int_equal(exit_with(LAYER, DOCTOR_OK), 0);
    assert_int_equal(exit_with(BOUND, DOCTOR_REMARK), 0);
    assert_int_equal(exit_with(LAYER, DOCTOR_REMARK), 0);
}

static void less_than_the_best_is_1(void **state)
{
    (void) state;
    assert_int_equal(exit_with(BOUND, DOCTOR_WEAKER), 1);
    assert_int_equal(exit_with(BOUND, DOCTOR_MISSING), 1);
    assert_int_equal(exit_with(BOUND, DOCTOR_UNSEEN), 1);
    assert_int_equal(exit_with(BOUND, DOCTOR_SKIPPED), 1);
    assert_int_equal(exit_with(LAYER, DOCTOR_WEAKER), 1);
}

static void what_was_not_seen_to_hold_is_3(void **state)
{
    static const enum doctor_status no[] = {DOCTOR_MISSING, DOCTOR_UNSEEN, DOCTOR_SKIPPED};

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
        assert_int_equal(exit_with(LAYER, no[i]), 3);
        assert_int_equal(exit_with(HOLE, no[i]), 3);
    }
}

static void the_first_missing_thing_is_why(void **state)
{
    struct doctor_finding findings[CHECKS] = {0};
    struct doctor_verdict verdict = conclude(findings);

    (void) state;
    assert_null(verdict.why);
    doctor_say(&findings[LAYER], DOCTOR_MISSING, "no %s", "layer");
    doctor_say(&findings[HOLE], DOCTOR_SKIPPED, "not tried");
    verdict = conclude(findings);
    assert_string_equal(verdict.why, "no layer");
    assert_false(verdict.confines);
    assert_false(verdict.leaks);
}

static void a_hole_is_told_from_a_refusal(void **state)
{
    struct doctor_finding findings[CHECKS] = {0};

    (void) state;
    doctor_say(&findings[HOLE], DOCTOR_MISSING, "it works inside");
    assert_true(conclude(findings).leaks);
    doctor_say(&findings[HOLE], DOCTOR_UNSEEN, "nothing was shown");
    assert_true(conclude(findings).leaks);
}

static void what_a_run_says_is_weak_makes_its_check_weaker(void **state)
{
    struct doctor_finding findings[CHECKS] = {0};
    struct doctor_verdict verdict;

    (void) state;
    findings[HOLE].started = true;
    findings[HOLE].weak = FENCE_WEAK_PROCESSES_NONE;
    verdict = conclude(findings);
    assert_int_equal(findings[BOUND].status, DOCTOR_WEAKER);
    assert_string_not_equal(findings[BOUND].mend, "");
    assert_int_equal(verdict.weak, FENCE_WEAK_PROCESSES_NONE);
    assert_int_equal(doctor_exit_status(&verdict), 1);
}

static void memory_is_weak_only_where_a_run_asked_for_a_bound(void **state)
{
    struct doctor_finding findings[CHECKS] = {0};

    (void) state;
    findings[HOLE].started = true;
    findings[HOLE].weak = FENCE_WEAK_MEMORY; /* of a run without --memory */
    assert_int_equal(conclude(findings).weak, 0);
    assert_int_equal(findings[MEMORY].status, DOCTOR_OK);
    findings[MEMORY].weak = FENCE_WEAK_MEMORY;
    assert_int_equal(conclude(findings).weak, FENCE_WEAK_MEMORY);
    assert_int_equal(findings[MEMORY].status, DOCTOR_WEAKER);
}

/* ---- table ---------------------------------------------------------------------------------- */

static void quiet_says_nothing_when_all_is_well(void **state)
{
    const struct doctor_options quiet = {.quiet = true};
    struct doctor_finding findings[CHECKS] = {0};
    AUTO(buf_free) struct buf text = {0};

    (void) state;
    doctor_say(&findings[BOUND], DOCTOR_REMARK, "worth knowing");
    assert_string_equal(print(&quiet, findings, &text), "");
}

static void quiet_still_says_what_is_missing(void **state)
{
    const struct doctor_options quiet = {.quiet = true};
    struct doctor_finding findings[CHECKS] = {0};
    AUTO(buf_free) struct buf text = {0};

    (void) state;
    doctor_say(&findings[LAYER], DOCTOR_MISSING, "the kernel has none");
    (void) print(&quiet, findings, &text);
    assert_non_null(strstr(text.bytes, "cannot confine"));
    assert_non_null(strstr(text.bytes, "the kernel has none"));
    assert_non_null(strstr(text.bytes, "make the layer"));
    assert_null(strstr(text.bytes, "ok "));
}

static void the_table_counts_what_is_fine_and_names_what_is_not(void **state)
{
    const struct doctor_options plain = {0};
    struct doctor_finding findings[CHECKS] = {0};
    AUTO(buf_free) struct buf text = {0};

    (void) state;
    doctor_say(&findings[BOUND], DOCTOR_WEAKER, "half a bound");
    doctor_mend(&findings[BOUND], "sudo %s", "more");
    (void) print(&plain, findings, &text);
    assert_non_null(strstr(text.bytes, "confines: by 'native'"));
    assert_non_null(strstr(text.bytes, "1 of 2 checks"));
    assert_non_null(strstr(text.bytes, "half a bound"));
    assert_non_null(strstr(text.bytes, "sudo more"));
    assert_null(strstr(text.bytes, "there is no hole"));
}

static void verbose_shows_every_check(void **state)
{
    const struct doctor_options verbose = {.verbose = true};
    struct doctor_finding findings[CHECKS] = {0};
    AUTO(buf_free) struct buf text = {0};

    (void) state;
    doctor_say(&findings[HOLE], DOCTOR_SKIPPED, "not tried");
    (void) print(&verbose, findings, &text);
    for (size_t i = 0; i < CHECKS; i++) {
        assert_non_null(strstr(text.bytes, checks[i].name));
        assert_non_null(strstr(text.bytes, checks[i].shows));
    }
}

static void a_folder_name_cannot_drive_the_terminal(void **state)
{
    const struct doctor_options plain = {0};
    struct doctor_finding findings[CHECKS] = {0};
    AUTO(buf_free) struct buf text = {0};

    (void) state;
    doctor_say(&findings[LAYER], DOCTOR_MISSING, "'/tmp/\033[2J\n'");
    (void) print(&plain, findings, &text);
    assert_null(strchr(text.bytes, '\033'));
    assert_non_null(strstr(text.bytes, "\\n'"));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_has_the_documented_shape(void **state)
{
    struct doctor_finding findings[CHECKS] = {0};
    struct doctor_verdict verdict;
    AUTO(buf_free) struct buf text = {0};
    AUTO(json_free) json_t *object = NULL;
    const json_t *first = NULL;

    (void) state;
    findings[HOLE].started = true;
    findings[HOLE].landlock_abi = 7;
    findings[HOLE].weak = FENCE_WEAK_PROCESSES_RLIMIT;
    doctor_say(&findings[LAYER], DOCTOR_OK, "bytes \xff");
    verdict = conclude(findings);
    buf_init(&text, 65536);
    assert_int_equal(doctor_print_json(checks, CHECKS, findings, &verdict, &text), 0);
    assert_int_equal(json_parse(text.bytes, text.size, "the report", &object, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(object, "schema")), "wattle.doctor");
    assert_int_equal(json_integer_value(json_object_get(object, "v")), 1);
    assert_true(json_is_true(json_object_get(object, "confines")));
    assert_true(json_is_null(json_object_get(object, "why")));
    assert_string_equal(json_string_value(json_object_get(object, "mechanism")), "native");
    assert_int_equal(json_integer_value(json_object_get(object, "landlock_abi")), 7);
    assert_string_equal(json_string_value(json_array_get(json_object_get(object, "weak"), 0)),
                        "processes-rlimit");
    assert_int_equal(json_array_size(json_object_get(object, "checks")), CHECKS);
    first = json_array_get(json_object_get(object, "checks"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "layer");
    assert_string_equal(json_string_value(json_object_get(first, "group")), "kernel");
    assert_string_equal(json_string_value(json_object_get(first, "kind")), "must");
    assert_string_equal(json_string_value(json_object_get(first, "status")), "ok");
    assert_string_equal(json_string_value(json_object_get(first, "mend")), "");
}

static void json_names_no_mechanism_where_none_holds(void **state)
{
    struct doctor_finding findings[CHECKS] = {0};
    struct doctor_verdict verdict;
    AUTO(buf_free) struct buf text = {0};

    (void) state;
    doctor_say(&findings[LAYER], DOCTOR_MISSING, "none");
    verdict = conclude(findings);
    buf_init(&text, 65536);
    assert_int_equal(doctor_print_json(checks, CHECKS, findings, &verdict, &text), 0);
    assert_non_null(strstr(text.bytes, "\"confines\":false"));
    assert_non_null(strstr(text.bytes, "\"mechanism\":null"));
    assert_non_null(strstr(text.bytes, "\"why\":\"none\""));
}

/* ---- settings ------------------------------------------------------------------------------- */

static void write_file(const char *top, const char *name, const char *text)
{
    char path[DOCTOR_PATH_BYTES];

    assert_int_equal(doctor_file(top, name, text, path), 0);
}

static void make_folder(const char *top, const char *name)
{
    char path[DOCTOR_PATH_BYTES];

    assert_int_equal(doctor_file(top, name, NULL, path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void settings_are_read_from_proc(void **state)
{
    char top[] = "wattle-test-proc.XXXXXX"; /* in the current folder */
    static const char *const folders[] = {"sys", "sys/kernel", "sys/kernel/yama", "sys/user",
                                          "self"};
    struct doctor_settings settings;

    (void) state;
    assert_non_null(mkdtemp(top));
    doctor_settings_read(top, &settings);
    assert_false(settings.apparmor_restricts || settings.userns_clone_off ||
                 settings.userns_max_zero || settings.filtered);
    assert_int_equal(settings.ptrace_scope, 0);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        make_folder(top, folders[i]);
    write_file(top, "sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    write_file(top, "sys/kernel/unprivileged_userns_clone", "0\n");
    write_file(top, "sys/user/max_user_namespaces", "0\n");
    write_file(top, "sys/kernel/yama/ptrace_scope", "3\n");
    write_file(top, "self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    doctor_settings_read(top, &settings);
    assert_true(settings.apparmor_restricts && settings.userns_clone_off &&
                settings.userns_max_zero && settings.filtered);
    assert_int_equal(settings.ptrace_scope, 3);
    assert_int_equal(tree_remove(AT_FDCWD, top, NULL), 0);
}

static void each_obstacle_has_its_own_mend(void **state)
{
    static const struct {
        struct doctor_settings settings;
        const char *mend;
    } rows[] = {
        {{.userns_max_zero = true, .root = true}, "user.max_user_namespaces"},
        {{.userns_clone_off = true}, "kernel.unprivileged_userns_clone=1"},
        {{.apparmor_restricts = true}, "apparmor_parser"},
        {{.filtered = true}, "outer sandbox"},
        {{.filtered = true, .userns_max_zero = true}, "outer sandbox"},
        {{.root = true, .apparmor_restricts = true, .userns_clone_off = true}, "CAP_SETFCAP"},
        {{0}, "CONFIG_USER_NS"},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_non_null(strstr(doctor_settings_mend(&rows[i].settings), rows[i].mend));
}

/* ---- running a check ------------------------------------------------------------------------- */

static void say_fine(const struct doctor_world *world, struct doctor_finding *finding)
{
    (void) world;
    doctor_say(finding, DOCTOR_OK, "fine");
}

static void hang(const struct doctor_world *world, struct doctor_finding *finding)
{
    (void) world;
    (void) finding;
    for (;;)
        (void) pause();
}

static void crash(const struct doctor_world *world, struct doctor_finding *finding)
{
    (void) world;
    (void) finding;
    (void) raise(SIGKILL);
}

/* The write end of a pipe tells how long what was left behind lives. */
static void leave_daemon(const struct doctor_world *world, struct doctor_finding *finding)
{
    (void) world;
    if (fork() == 0) {
        (void) setsid();
        if (fork() > 0)
            _exit(0);
        (void) signal(SIGTERM, SIG_IGN);
        (void) alarm(60);
        for (;;)
            (void) pause();
    }
    doctor_say(finding, DOCTOR_OK, "left");
}

static struct doctor_finding run_check(void (*run)(const struct doctor_world *world,
                                                   struct doctor_finding *finding),
                                       unsigned limit_ms)
{
    const struct doctor_check check = {.name = "a check", .shows = "x", .run = run};
    const struct doctor_world world = {0};
    struct doctor_finding finding = {0};

    assert_true(doctor_check_run(&check, &world, limit_ms, -1, &finding));
    return finding;
}

static void a_check_tells_what_it_found(void **state)
{
    const struct doctor_finding finding = run_check(say_fine, DOCTOR_LIMIT_MS);

    (void) state;
    assert_int_equal(finding.status, DOCTOR_OK);
    assert_string_equal(finding.detail, "fine");
}

static void a_check_that_hangs_is_ended_and_counts_as_unseen(void **state)
{
    const struct doctor_finding finding = run_check(hang, 50);

    (void) state;
    assert_int_equal(finding.status, DOCTOR_UNSEEN);
    assert_non_null(strstr(finding.detail, "hung"));
}

static void a_check_that_crashes_counts_as_unseen(void **state)
{
    (void) state;
    assert_int_equal(run_check(crash, DOCTOR_LIMIT_MS).status, DOCTOR_UNSEEN);
}

static void what_a_check_leaves_behind_is_ended(void **state)
{
    struct pollfd fd = {.events = POLLIN};
    int ends[2];

    (void) state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(run_check(leave_daemon, DOCTOR_LIMIT_MS).status, DOCTOR_OK);
    (void) close(ends[1]);
    fd.fd = ends[0];
    assert_int_equal(poll(&fd, 1, 5000), 1);
    assert_true((fd.revents & POLLHUP) != 0);
    (void) close(ends[0]);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

static void an_interrupt_ends_a_check(void **state)
{
    const struct doctor_check check = {.name = "a check", .shows = "x", .run = hang};
    const struct doctor_world world = {0};
    struct doctor_finding finding = {0};
    int ends[2];

    (void) state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_false(doctor_check_run(&check, &world, DOCTOR_LIMIT_MS, ends[0], &finding));
    (void) close(ends[0]);
    (void) close(ends[1]);
}

/* ---- the table of checks ----------------------------------------------------------------------
 */

static bool comes_before(size_t index, const char *name)
{
    for (size_t i = 0; i < index; i++) {
        if (str_equal(doctor_checks[i].name, name))
            return true;
    }
    return false;
}

static void the_checks_are_complete_and_in_order(void **state)
{
    unsigned weak = 0;

    (void) state;
    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];

        assert_non_null(check->run);
        assert_non_null(check->shows);
        assert_false(comes_before(i, check->name));
        if (check->needs != NULL)
            assert_true(comes_before(i, check->needs));
        weak |= check->weak;
    }
    for (size_t i = 0; i < FENCE_WEAK_COUNT; i++)
        assert_true((weak & fence_weaknesses[i].bit) != 0);
}

static void an_attempt_there_is_not_is_refused(void **state)
{
    static const char *const none[] = {NULL};
    static const char *const unknown[] = {"fly", NULL};
    static const char *const too_few[] = {"write", "x", NULL};

    (void) state;
    assert_int_equal(doctor_attempt(none), 2);
    assert_int_equal(doctor_attempt(unknown), 2);
    assert_int_equal(doctor_attempt(too_few), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_there_is_0),
        cmocka_unit_test(less_than_the_best_is_1),
        cmocka_unit_test(what_was_not_seen_to_hold_is_3),
        cmocka_unit_test(the_first_missing_thing_is_why),
        cmocka_unit_test(a_hole_is_told_from_a_refusal),
        cmocka_unit_test(what_a_run_says_is_weak_makes_its_check_weaker),
        cmocka_unit_test(memory_is_weak_only_where_a_run_asked_for_a_bound),
        cmocka_unit_test(quiet_says_nothing_when_all_is_well),
        cmocka_unit_test(quiet_still_says_what_is_missing),
        cmocka_unit_test(the_table_counts_what_is_fine_and_names_what_is_not),
        cmocka_unit_test(verbose_shows_every_check),
        cmocka_unit_test(a_folder_name_cannot_drive_the_terminal),
        cmocka_unit_test(json_has_the_documented_shape),
        cmocka_unit_test(json_names_no_mechanism_where_none_holds),
        cmocka_unit_test(settings_are_read_from_proc),
        cmocka_unit_test(each_obstacle_has_its_own_mend),
        cmocka_unit_test(a_check_tells_what_it_found),
        cmocka_unit_test(a_check_that_hangs_is_ended_and_counts_as_unseen),
        cmocka_unit_test(a_check_that_crashes_counts_as_unseen),
        cmocka_unit_test(what_a_check_leaves_behind_is_ended),
        cmocka_unit_test(an_interrupt_ends_a_check),
        cmocka_unit_test(the_checks_are_complete_and_in_order),
        cmocka_unit_test(an_attempt_there_is_not_is_refused),
    };

    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
