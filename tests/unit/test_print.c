#include "base/cleanup.h"
#include "base/json.h"
#include "cm.h"
#include "policy/print.h"

#include <string.h>

static void add_rule(struct policy *policy, const char *path, enum policy_access access,
                     enum policy_origin origin)
{
    AUTO_FREE char *copy = strdup(path);
    char why[] = "a reason";
    const struct policy_rule rule = {.path = copy, .access = access, .origin = origin, .why = why};

    assert_int_equal(policy_add_rule(policy, &rule, NULL), 0);
}

static void add_place(struct policy *policy, enum policy_place_kind kind, const char *path,
                      const char *source)
{
    AUTO_FREE char *path_copy = strdup(path);
    AUTO_FREE char *source_copy = source == NULL ? NULL : strdup(source);
    char why[] = "made for the run";
    const struct policy_place place = {.kind = kind,
                                       .access = POLICY_WRITE,
                                       .path = path_copy,
                                       .source = source_copy,
                                       .why = why,
                                       .bytes = kind == POLICY_PLACE_TMPFS ? 1048576 : 0};

    assert_int_equal(policy_add_place(policy, &place, NULL), 0);
}

static int make_policy(void **state)
{
    struct policy *policy = policy_new();
    char make[] = "/usr/bin/make";
    const struct policy_command command = {.path = make, .pinned = true};

    if (policy == NULL)
        return -1;
    add_rule(policy, "/usr", POLICY_READ, POLICY_FROM_BASE);
    add_rule(policy, "/home/u/p", POLICY_WRITE, POLICY_FROM_PEN);
    add_rule(policy, "/home/u/p/.ssh", POLICY_HIDE, POLICY_FROM_CREDENTIALS);
    add_rule(policy, "/tmp/q", POLICY_READ, POLICY_FROM_FLAG);
    add_place(policy, POLICY_PLACE_TMPFS, "/tmp", NULL);
    add_place(policy, POLICY_PLACE_SYMLINK, "/bin", "usr/bin");
    add_place(policy, POLICY_PLACE_SYMLINK, "/loop", "loop");
    add_place(policy, POLICY_PLACE_FILE, "/etc/hosts", "12345");
    assert_int_equal(policy_set_pen(policy, "/home/u/p", NULL), 0);
    assert_int_equal(policy_set_command(policy, &command, NULL), 0);
    assert_int_equal(policy_set_env(policy, "HOME", "/wattle/home", NULL), 0);
    assert_int_equal(policy_set_env(policy, "TOKEN", "s3cret", NULL), 0);
    assert_int_equal(policy_set_env(policy, "CARGO_HOME", "/wattle/cache/cargo", NULL), 0);
    assert_int_equal(policy_add_note(policy, "remark \x1b[2J", NULL), 0);
    policy_require(policy, POLICY_REQUIRE_MEMORY);
    *state = policy;
    return 0;
}

static int free_policy(void **state)
{
    policy_free(*state);
    return 0;
}

static char *text_of(const struct policy *policy)
{
    AUTO(buf_free) struct buf buf;

    buf_init(&buf, 1u << 20);
    assert_int_equal(policy_print_text(policy, &buf, NULL), 0);
    return buf_take(&buf);
}

static json_t *json_of(const struct policy *policy)
{
    json_t *json = NULL;

    assert_int_equal(policy_print_json(policy, &json, NULL), 0);
    return json;
}

static void assert_contains(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, text);
}

static void the_table_shows_everything(void **state)
{
    static const char *const lines[] = {
        "pen       /home/u/p\n",
        "command   /usr/bin/make, pinned\n",
        "network   none\n",
        "requires  memory\n",
        "  read   /usr                                     a reason (base)\n",
        "  hidden /home/u/p/.ssh",
        "(tmpfs of 1 MiB)\n",
        "(symlink to usr/bin)\n",
        "(file of 5 bytes)\n",
        "  kill after  2 s\n",
        "  memory      none\n",
        "  processes   4096\n",
    };
    AUTO_FREE char *text = text_of(*state);

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_contains(text, lines[i]);
}

static void rules_for_the_guard_are_shown(void **state)
{
    char name[] = "docs/plan", why[] = "the rule 'docs/plan' of config.json";
    const struct policy_guard_rule rule = {.kind = POLICY_GUARD_PATTERN, .text = name, .why = why};
    AUTO_FREE char *before = text_of(*state);
    AUTO_FREE char *text = NULL;
    AUTO(json_free) json_t *json = NULL;
    const json_t *shown = NULL;

    assert_null(strstr(before, "guarded names"));
    assert_int_equal(policy_add_guard_rule(*state, &rule, NULL), 0);
    text = text_of(*state);
    json = json_of(*state);
    assert_contains(text, "\nguarded names besides those of every run\n  held   docs/plan ");
    assert_contains(text, " the rule 'docs/plan' of config.json\n");
    shown = json_array_get(json_object_get(json, "guarded"), 0);
    assert_string_equal(json_string_value(json_object_get(shown, "name")), name);
    assert_string_equal(json_string_value(json_object_get(shown, "why")), why);
}

static void never_shows_the_value_of_a_secret(void **state)
{
    AUTO_FREE char *text = text_of(*state);
    AUTO(json_free) json_t *json = json_of(*state);
    AUTO_FREE char *dump = json_dumps(json, 0);

    assert_contains(text, "  TOKEN (value not shown)\n");
    assert_contains(text, "  HOME=/wattle/home\n");
    assert_contains(text, "  CARGO_HOME=/wattle/cache/cargo\n");
    assert_null(strstr(text, "s3cret"));
    assert_null(strstr(dump, "s3cret"));
}

static void what_wattle_sets_is_shown_and_the_same_name_with_another_value_is_not(void **state)
{
    static const struct {
        const char *name, *value;
        bool shown;
    } cases[] = {
        {"GIT_CONFIG_COUNT", "2", true},
        {"GIT_CONFIG_KEY_0", "commit.gpgsign", true},
        {"GIT_CONFIG_VALUE_0", "false", true},
        {"GIT_CONFIG_VALUE_1", "Authorization: s3cret", false},
        {"MAVEN_OPTS", "-Dmaven.repo.local=/wattle/cache/maven", true},
        {"UV_LINK_MODE", "copy", true},
        {"MAVEN_OPTS", "-Dmaven.repo.local=/wattle/cache/maven -Dpassword=s3cret", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char wanted[96];
        AUTO_FREE char *text = NULL;

        assert_int_equal(policy_set_env(*state, cases[i].name, cases[i].value, NULL), 0);
        text = text_of(*state);
        if (cases[i].shown)
            (void) snprintf(wanted, sizeof wanted, "  %s=%s\n", cases[i].name, cases[i].value);
        else
            (void) snprintf(wanted, sizeof wanted, "  %s (value not shown)\n", cases[i].name);
        assert_contains(text, wanted);
        assert_null(strstr(text, "s3cret"));
    }
}

static void only_what_somebody_asked_for_is_called_optional(void **state)
{
    char base[] = "/opt/b", flag[] = "/opt/f", why[] = "why";
    struct policy_rule rule = {.path = base, .access = POLICY_READ, .why = why, .optional = true};
    AUTO_FREE char *text = NULL;

    rule.origin = POLICY_FROM_BASE;
    assert_int_equal(policy_add_rule(*state, &rule, NULL), 0);
    rule.path = flag;
    rule.origin = POLICY_FROM_FLAG;
    assert_int_equal(policy_add_rule(*state, &rule, NULL), 0);
    text = text_of(*state);
    assert_contains(text, "why (base)\n");
    assert_contains(text, "why (flag, if it is there)\n");
}

static void times_are_told_in_seconds_where_they_are_whole(void **state)
{
    char text[32];

    (void) state;
    policy_print_time(0, text, sizeof text);
    assert_string_equal(text, "none");
    policy_print_time(1000, text, sizeof text);
    assert_string_equal(text, "1 s");
    policy_print_time(1500, text, sizeof text);
    assert_string_equal(text, "1500 ms");
}

static void text_cannot_drive_a_terminal(void **state)
{
    AUTO_FREE char *text = text_of(*state);

    assert_contains(text, "remark \\x1b[2J\n");
    assert_null(strchr(text, '\x1b'));
}

static void json_says_the_same(void **state)
{
    AUTO(json_free) json_t *json = json_of(*state);
    json_t *rules = json_object_get(json, "rules");
    json_t *limits = json_object_get(json, "limits");

    assert_string_equal(json_string_value(json_object_get(json, "schema")), "wattle.policy");
    assert_int_equal(json_integer_value(json_object_get(json, "v")), 1);
    assert_string_equal(json_string_value(json_object_get(json, "pen")), "/home/u/p");
    assert_int_equal(json_array_size(rules), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rules, 1), "access")),
                        "hidden");
    assert_int_equal(json_array_size(json_object_get(json, "places")), 4);
    assert_int_equal(json_array_size(json_object_get(json, "environment")), 3);
    assert_int_equal(json_integer_value(json_object_get(limits, "kill_after_ms")), 2000);
    assert_int_equal(json_array_size(json_object_get(json, "require")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "notes")), 1);
}

static void an_empty_policy_prints(void **state)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    AUTO_FREE char *text = text_of(policy);
    AUTO(json_free) json_t *json = json_of(policy);

    (void) state;
    assert_contains(text, "pen       none\n");
    assert_true(json_is_null(json_object_get(json, "pen")));
    assert_true(json_is_null(json_object_get(json, "command")));
}

static void a_text_over_its_limit_is_an_error(void **state)
{
    AUTO(buf_free) struct buf buf;
    struct err err = {0};

    buf_init(&buf, 40);
    assert_true(policy_print_text(*state, &buf, &err) < 0);
    assert_string_equal(err.id, "buf.limit");
}

struct question {
    const char *path;
    enum policy_access access;
    const char *rule;
    const char *place;
};

static void explains_by_the_rule_or_the_place_that_decides(void **state)
{
    static const struct question questions[] = {
        {"/usr/bin/make", POLICY_READ, "/usr", NULL},
        {"/bin/sh", POLICY_READ, "/usr", NULL},
        {"/bin", POLICY_READ, "/usr", NULL},
        {"/home/u/p/x", POLICY_WRITE, "/home/u/p", NULL},
        {"/home/u/p/.ssh/id", POLICY_HIDE, "/home/u/p/.ssh", NULL},
        {"/home/u", POLICY_HIDE, NULL, NULL},
        {"/tmp/x", POLICY_WRITE, NULL, "/tmp"},
        {"/tmp/q/x", POLICY_READ, "/tmp/q", NULL},
        {"/loop/x", POLICY_HIDE, NULL, NULL},
        {"relative", POLICY_HIDE, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        const struct question *question = &questions[i];
        struct policy_answer answer = {0};

        policy_explain(*state, question->path, &answer);
        assert_int_equal(answer.access, question->access);
        assert_string_equal(answer.rule == NULL ? "" : answer.rule->path,
                            question->rule == NULL ? "" : question->rule);
        assert_string_equal(answer.place == NULL ? "" : answer.place->path,
                            question->place == NULL ? "" : question->place);
    }
}

static void of_devices_and_processes_only_what_is_there_is_open(void **state)
{
    static const struct {
        const char *path;
        enum policy_access access;
    } cases[] = {
        {"/dev", POLICY_READ},         {"/dev/null", POLICY_WRITE},  {"/dev/urandom", POLICY_WRITE},
        {"/dev/pts", POLICY_WRITE},    {"/dev/pts/0", POLICY_WRITE}, {"/dev/shm/a/b", POLICY_WRITE},
        {"/dev/fd/3", POLICY_WRITE},   {"/dev/stdin", POLICY_WRITE}, {"/dev/sda", POLICY_HIDE},
        {"/dev/null2", POLICY_HIDE},   {"/dev/nul", POLICY_HIDE},    {"/dev/shm2", POLICY_HIDE},
        {"/dev/net/tun", POLICY_HIDE}, {"/dev/null/x", POLICY_HIDE}, {"/proc", POLICY_READ},
        {"/proc/1/mem", POLICY_READ},
    };
    AUTO(buf_free) struct buf buf;
    struct policy_answer answer;

    add_place(*state, POLICY_PLACE_DEV, "/dev", NULL);
    add_place(*state, POLICY_PLACE_PROC, "/proc", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        policy_explain(*state, cases[i].path, &answer);
        assert_non_null(answer.place);
        assert_int_equal(answer.access, cases[i].access);
    }
    buf_init(&buf, 4096);
    policy_explain(*state, "/dev/sda", &answer);
    assert_int_equal(policy_print_answer(&answer, "/dev/sda", &buf, NULL), 0);
    assert_string_equal(buf.bytes, "hidden /dev/sda: not among the run's own devices (the run's "
                                   "own '/dev')\n");
}

static void what_lies_in_the_runs_own_folders_is_told_from_them(void **state)
{
    static const char *const writable[] = {"/wattle/home", "/wattle/tmp/x", "/wattle/cache/cargo"};
    struct policy_answer answer;

    for (size_t i = 0; i < ARRAY_SIZE(writable); i++) {
        policy_explain(*state, writable[i], &answer);
        assert_int_equal(answer.access, POLICY_WRITE);
    }
    add_place(*state, POLICY_PLACE_FILE, "/wattle/home/.gitconfig", "x");
    policy_explain(*state, "/wattle/home/.gitconfig", &answer);
    assert_string_equal(answer.place->path, "/wattle/home/.gitconfig");
}

static void an_answer_is_one_line(void **state)
{
    struct policy_answer answer = {0};
    AUTO(buf_free) struct buf buf;

    buf_init(&buf, 4096);
    policy_explain(*state, "/usr/x\ny", &answer);
    assert_int_equal(policy_print_answer(&answer, "/usr/x\ny", &buf, NULL), 0);
    assert_string_equal(buf.bytes, "read   /usr/x\\ny: a reason (base rule '/usr')\n");
    buf_free(&buf);
    buf_init(&buf, 4096);
    policy_explain(*state, "/root", &answer);
    assert_int_equal(policy_print_answer(&answer, "/root", &buf, NULL), 0);
    assert_string_equal(buf.bytes, "hidden /root: no rule opens it\n");
}

static void an_answer_is_an_object(void **state)
{
    struct policy_answer answer = {0};
    AUTO(json_free) json_t *json = NULL;

    policy_explain(*state, "/usr/x", &answer);
    assert_int_equal(policy_print_answer_json(&answer, "/usr/x", &json, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "read");
    assert_string_equal(json_string_value(json_object_get(json, "rule")), "/usr");
    assert_string_equal(json_string_value(json_object_get(json, "origin")), "base");
    assert_string_equal(json_string_value(json_object_get(json, "why")), "a reason");
    assert_true(json_is_null(json_object_get(json, "place")));
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_policy, free_policy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_table_shows_everything),
        T(never_shows_the_value_of_a_secret),
        T(what_wattle_sets_is_shown_and_the_same_name_with_another_value_is_not),
        T(rules_for_the_guard_are_shown),
        T(only_what_somebody_asked_for_is_called_optional),
        T(times_are_told_in_seconds_where_they_are_whole),
        T(text_cannot_drive_a_terminal),
        T(json_says_the_same),
        T(an_empty_policy_prints),
        T(a_text_over_its_limit_is_an_error),
        T(explains_by_the_rule_or_the_place_that_decides),
        T(of_devices_and_processes_only_what_is_there_is_open),
        T(what_lies_in_the_runs_own_folders_is_told_from_them),
        T(an_answer_is_one_line),
        T(an_answer_is_an_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
