#include "base/buf.h"
#include "base/cleanup.h"
#include "cm.h"
#include "policy/settings.h"

#include <errno.h>
#include <string.h>

static int parse(const char *text, enum settings_source source, struct settings **ret_settings,
                 struct err *err)
{
    return settings_parse(text, strlen(text), "config.json", "/home/u", source, ret_settings, err);
}

static struct settings *accept(const char *text)
{
    struct settings *settings = NULL;
    struct err err = {0};

    if (parse(text, SETTINGS_OWNER, &settings, &err) < 0)
        fail_msg("%s: %s", text, err.what);
    return settings;
}

struct refusal {
    const char *text;
    const char *id;
    const char *words; /* of the sentence or the hint */
};

static void refuse(const struct refusal *refusals, size_t count, enum settings_source source)
{
    for (size_t i = 0; i < count; i++) {
        struct settings *settings = NULL;
        struct err err = {0};

        assert_int_equal(parse(refusals[i].text, source, &settings, &err), -EINVAL);
        assert_null(settings);
        assert_string_equal(err.id, refusals[i].id);
        if (strstr(err.what, refusals[i].words) == NULL &&
            strstr(err.hint, refusals[i].words) == NULL)
            fail_msg("%s: '%s' (%s) does not say '%s'", refusals[i].text, err.what, err.hint,
                     refusals[i].words);
        assert_non_null(strstr(err.what, "config.json"));
    }
}

static void takes_an_empty_file(void **state)
{
    AUTO(settings_freep) struct settings *settings = accept("{}");

    (void) state;
    assert_int_equal(settings->path_count, 0);
    assert_int_equal(settings->env_count, 0);
    assert_int_equal(settings->unix_count, 0);
    assert_int_equal(settings->limits.processes, 0);
    assert_false(settings->caches_given);
}

static void takes_every_key_there_is(void **state)
{
    AUTO(settings_freep)
    struct settings *settings = accept(
        "{\"$schema\": \"x\","
        " \"network\": {\"allowedDomains\": [], \"deniedDomains\": [\"evil.example\"]},"
        " \"filesystem\": {\"allowRead\": [\"~\"], \"allowWrite\": [], \"denyRead\": [],"
        "                  \"denyWrite\": []},"
        " \"wattle\": {\"limits\": {\"memory\": \"2G\", \"processes\": 100, \"openFiles\": 64,"
        "                           \"fileSize\": 4096, \"tmpSize\": \"1M\", \"shmSize\": \"1K\"},"
        "              \"timeout\": \"90s\", \"killAfter\": \"1500ms\", \"env\": [\"A=b=c\", "
        "\"D\"],"
        "              \"unix\": [\"/run/x.sock\"], \"require\": [\"landlock\", \"processes\"],"
        "              \"caches\": \"job\", \"preflight\": {\"entries\": 5, \"remember\": \"2h\"}, "
        " \"acceptSharedLinks\": true, \"path\": [\"/opt/a/bin\", \"~/b\"],"
        " \"host\": {\"turnJobs\": 1, \"jobs\": 2, \"deadlineLeast\": \"3s\","
        "            \"deadlineMost\": \"4s\", \"foreground\": \"5s\", \"records\": 6,"
        "            \"idle\": \"7s\", \"turnIdle\": \"8s\", \"copySize\": \"8K\"}}}");

    (void) state;
    assert_int_equal(settings->limits.memory_bytes, 2147483648);
    assert_int_equal(settings->limits.processes, 100);
    assert_int_equal(settings->limits.open_files, 64);
    assert_int_equal(settings->limits.file_bytes, 4096);
    assert_int_equal(settings->limits.tmp_bytes, 1048576);
    assert_int_equal(settings->limits.shm_bytes, 1024);
    assert_int_equal(settings->limits.deadline_ms, 90000);
    assert_int_equal(settings->limits.kill_after_ms, 1500);
    assert_int_equal(settings->env_count, 2);
    assert_string_equal(settings->env[0], "A=b=c");
    assert_string_equal(settings->env[1], "D");
    assert_int_equal(settings->unix_count, 1);
    assert_string_equal(settings->unix_sockets[0], "/run/x.sock");
    assert_int_equal(settings->require, POLICY_REQUIRE_LANDLOCK | POLICY_REQUIRE_PROCESSES);
    assert_true(settings->caches_given);
    assert_int_equal(settings->caches, POLICY_CACHES_JOB);
    assert_true(settings->accept_shared_links && settings->shared_links_given);
    assert_int_equal(settings->preflight_entries, 5);
    assert_int_equal(settings->preflight_remember_ms, 7200000);
    assert_true(settings->search_given);
    assert_int_equal(settings->search_count, 2);
    assert_string_equal(settings->search[1], "/home/u/b");
    assert_int_equal(settings->host.turn_jobs, 1);
    assert_int_equal(settings->host.jobs, 2);
    assert_int_equal(settings->host.deadline_least_ms, 3000);
    assert_int_equal(settings->host.deadline_most_ms, 4000);
    assert_int_equal(settings->host.foreground_ms, 5000);
    assert_int_equal(settings->host.records, 6);
    assert_int_equal(settings->host.idle_ms, 7000);
    assert_int_equal(settings->host.turn_idle_ms, 8000);
    assert_int_equal(settings->host.copy_bytes, 8192);
}

static void turns_the_four_lists_into_paths(void **state)
{
    AUTO(settings_freep)
    struct settings *settings =
        accept("{\"filesystem\": {\"denyRead\": [\"~/a\"], \"allowRead\": [\"/b c\"],"
               " \"allowWrite\": [\"~\"], \"denyWrite\": [\"/d/e\"]}}");
    const struct settings_path expected[] = {
        {(char[]){"/home/u/a"}, POLICY_HIDE, false},
        {(char[]){"/b c"}, POLICY_READ, false},
        {(char[]){"/home/u"}, POLICY_WRITE, false},
        {(char[]){"/d/e"}, POLICY_READ, true},
    };

    (void) state;
    assert_int_equal(settings->path_count, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_string_equal(settings->paths[i].path, expected[i].path);
        assert_int_equal(settings->paths[i].access, expected[i].access);
        assert_int_equal(settings->paths[i].hold, expected[i].hold);
    }
}

static void names_an_unknown_key_and_the_nearest(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"filesystem\": {\"alowRead\": []}}", "settings.unknown-key",
         "unknown key 'alowRead' in 'filesystem'; did you mean 'allowRead'?"},
        {"{\"wattle\": {\"limits\": {\"memroy\": 1}}}", "settings.unknown-key",
         "unknown key 'memroy' in 'wattle.limits'; did you mean 'memory'?"},
        {"{\"Network\": {}}", "settings.unknown-key",
         "unknown key 'Network' at the top; did you mean 'network'?"},
        {"{\"permissions\": {}}", "settings.unknown-key", "unknown key 'permissions' at the top"},
        {"{\"\": 1}", "settings.unknown-key", "unknown key ''"},
        {"{\"wattle.timeout\": \"1s\"}", "settings.unknown-key", "'wattle.timeout' at the top"},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_OWNER);
}

static void refuses_what_is_no_plain_json(void **state)
{
    static const struct refusal refusals[] = {
        {"", "json.syntax", ""},
        {"{\"wattle\": {}, \"wattle\": {}}", "json.syntax", "wattle"},
        {"{} {}", "json.syntax", ""},
        {"{\"wattle\": {\"env\": [\"A\\u0000B\"]}}", "json.syntax", ""},
        {"[]", "settings.type", "one object"},
        {"null", "settings.type", "one object"},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_OWNER);
}

static void names_the_key_whose_type_is_wrong(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"$schema\": 1}", "settings.type", "'$schema'"},
        {"{\"filesystem\": []}", "settings.type", "'filesystem' must be an object"},
        {"{\"filesystem\": {\"allowRead\": \"/a\"}}", "settings.type", "'filesystem.allowRead'"},
        {"{\"filesystem\": {\"allowRead\": [1]}}", "settings.type", "'filesystem.allowRead'"},
        {"{\"network\": {\"deniedDomains\": [null]}}", "settings.type", "'network.deniedDomains'"},
        {"{\"wattle\": {\"limits\": {\"memory\": 0}}}", "settings.type", "'wattle.limits.memory'"},
        {"{\"wattle\": {\"limits\": {\"memory\": -1}}}", "settings.type", "512M"},
        {"{\"wattle\": {\"limits\": {\"memory\": 1.5}}}", "settings.type", "512M"},
        {"{\"wattle\": {\"limits\": {\"memory\": \"1 G\"}}}", "settings.type", "512M"},
        {"{\"wattle\": {\"limits\": {\"processes\": \"9\"}}}", "settings.type", "whole number"},
        {"{\"wattle\": {\"limits\": {\"processes\": 0}}}", "settings.type", "whole number"},
        {"{\"wattle\": {\"limits\": {\"processes\": 4194305}}}", "settings.value", "4194304"},
        {"{\"wattle\": {\"timeout\": 90}}", "settings.type", "90s"},
        {"{\"wattle\": {\"timeout\": \"0s\"}}", "settings.type", "'wattle.timeout'"},
        {"{\"wattle\": {\"env\": {\"A\": \"b\"}}}", "settings.type", "'wattle.env'"},
        {"{\"wattle\": {\"acceptSharedLinks\": 1}}", "settings.type", "true or false"},
        {"{\"wattle\": {\"followGit\": \"no\"}}", "settings.type", "true or false"},
        {"{\"wattle\": {\"path\": \"/opt/x\"}}", "settings.type", "wattle.path"},
        {"{\"wattle\": {\"host\": {\"turnJobs\": 0}}}", "settings.type", "turnJobs"},
        {"{\"wattle\": {\"host\": {\"idle\": 5}}}", "settings.type", "idle"},
        {"{\"wattle\": {\"caches\": true}}", "settings.type", "\"pen\" or \"job\""},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_OWNER);
}

static void refuses_values_it_does_not_know(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"wattle\": {\"caches\": \"pens\"}}", "settings.value", "did you mean 'pen'?"},
        {"{\"wattle\": {\"require\": [\"seccomp\"]}}", "settings.value", "'landlock'"},
        {"{\"wattle\": {\"require\": [\"landlok\"]}}", "settings.value", "mean 'landlock'?"},
        {"{\"wattle\": {\"env\": [\"1A=b\"]}}", "settings.value", "NAME=value"},
        {"{\"wattle\": {\"env\": [\"=b\"]}}", "settings.value", "NAME=value"},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_OWNER);
}

static void refuses_paths_with_the_remedy(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"filesystem\": {\"allowRead\": [\"src\"]}}", "settings.path", "not absolute"},
        {"{\"filesystem\": {\"allowRead\": [\"\"]}}", "settings.path", "not absolute"},
        {"{\"filesystem\": {\"allowRead\": [\"./src\"]}}", "settings.path", "from '/' or '~/' on"},
        {"{\"filesystem\": {\"allowRead\": [\"~v/x\"]}}", "settings.path", "from '/' or '~/' on"},
        {"{\"filesystem\": {\"allowRead\": [\"$HOME/x\"]}}", "settings.path", "not expanded"},
        {"{\"filesystem\": {\"allowRead\": [\"/a/../b\"]}}", "settings.path", "write '/b'"},
        {"{\"filesystem\": {\"allowWrite\": [\"/a//b/\"]}}", "settings.path", "write '/a/b'"},
        {"{\"filesystem\": {\"allowWrite\": [\"~/a/./b\"]}}", "settings.path", "write '~/a/b'"},
        {"{\"filesystem\": {\"allowWrite\": [\"~/\"]}}", "settings.path", "name a folder"},
        {"{\"filesystem\": {\"allowWrite\": [\"/\"]}}", "settings.path", "name the folders"},
        {"{\"filesystem\": {\"denyRead\": [\"/\"]}}", "settings.path", "hidden already"},
        {"{\"filesystem\": {\"denyRead\": [\"~/x/**\"]}}", "settings.path", "a pattern"},
        {"{\"filesystem\": {\"allowWrite\": [\"/a/*.pem\"]}}", "settings.path", "a pattern"},
        {"{\"filesystem\": {\"denyWrite\": [\"/a/[b]\"]}}", "settings.path", "a pattern"},
        {"{\"wattle\": {\"unix\": [\"x.sock\"]}}", "settings.path", "'wattle.unix'"},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_OWNER);
}

static void keeps_names_by_patterns(void **state)
{
    static const char *const patterns[] = {"**/*.pem", "docs/plan", "/home/u/x/*", "/a/?/b"};
    AUTO(settings_freep)
    struct settings *settings =
        accept("{\"filesystem\": {\"denyWrite\": [\"**/*.pem\", \"/plain\", \"docs/plan\","
               " \"~/x/*\", \"~\", \"/a/?/b\"]}}");

    (void) state;
    assert_int_equal(settings->pattern_count, ARRAY_SIZE(patterns));
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
        assert_string_equal(settings->patterns[i], patterns[i]);
    assert_int_equal(settings->path_count, 2);
    assert_string_equal(settings->paths[0].path, "/plain");
    assert_string_equal(settings->paths[1].path, "/home/u");
}

static void refuses_patterns_with_the_fault(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"filesystem\": {\"denyWrite\": [\"\"]}}", "settings.pattern", "is empty"},
        {"{\"filesystem\": {\"denyWrite\": [\"a[b]\"]}}", "settings.pattern", "has a '['"},
        {"{\"filesystem\": {\"denyWrite\": [\"../*\"]}}", "settings.pattern", "'..' in it"},
        {"{\"filesystem\": {\"denyWrite\": [\"$HOME/*\"]}}", "settings.pattern", "a shell"},
        {"{\"filesystem\": {\"denyWrite\": [\"~v/*\"]}}", "settings.pattern", "a shell"},
        {"{\"filesystem\": {\"denyWrite\": [\"**\"]}}", "settings.pattern", "everything"},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_OWNER);
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_ADMIN);
}

static void refuses_a_path_too_long_for_the_system(void **state)
{
    static const char begin[] = "{\"filesystem\": {\"allowRead\": [\"~";
    AUTO(buf_free) struct buf buf;
    struct settings *settings = NULL;
    struct err err = {0};

    (void) state;
    buf_init(&buf, 10000);
    (void) buf_add_text(&buf, begin);
    while (buf.size < 8200)
        (void) buf_add_text(&buf, "/a");
    assert_int_equal(buf_add_text(&buf, "\"]}}"), 0);
    assert_int_equal(parse(buf.bytes, SETTINGS_OWNER, &settings, &err), -EINVAL);
    assert_string_equal(err.id, "settings.path");
    assert_non_null(strstr(err.what, "too long"));
}

static void says_that_host_names_are_not_built(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"network\": {\"allowedDomains\": [\"example.org\"]}}", "settings.network-not-built",
         "network by host name is not built yet"},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_OWNER);
}

static void lets_the_administrator_only_tighten(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"filesystem\": {\"allowRead\": []}}", "settings.admin", "'filesystem.allowRead'"},
        {"{\"filesystem\": {\"allowWrite\": [\"/a\"]}}", "settings.admin", "only tighten"},
        {"{\"network\": {\"allowedDomains\": []}}", "settings.admin", "only tighten"},
        {"{\"wattle\": {\"env\": []}}", "settings.admin", "'wattle.env'"},
        {"{\"wattle\": {\"unix\": []}}", "settings.admin", "'wattle.unix'"},
        {"{\"wattle\": {\"caches\": \"job\"}}", "settings.admin", "'wattle.caches'"},
        {"{\"wattle\": {\"killAfter\": \"1s\"}}", "settings.admin", "'wattle.killAfter'"},
        {"{\"wattle\": {\"acceptSharedLinks\": true}}", "settings.admin", "only tighten"},
        {"{\"wattle\": {\"followGit\": false}}", "settings.admin", "only tighten"},
        {"{\"wattle\": {\"path\": [\"/opt\"]}}", "settings.admin", "only tighten"},
        {"{\"wattle\": {\"host\": {\"jobs\": 1}}}", "settings.admin", "only tighten"},
        {"{\"wattle\": {\"alow\": true}}", "settings.unknown-key", "'alow'"},
    };

    (void) state;
    refuse(refusals, ARRAY_SIZE(refusals), SETTINGS_ADMIN);
}

static void takes_all_that_tightens_from_the_administrator(void **state)
{
    AUTO(settings_freep) struct settings *settings = NULL;

    (void) state;
    assert_int_equal(parse("{\"$schema\": \"x\", \"network\": {\"deniedDomains\": [\"a.b\"]},"
                           " \"filesystem\": {\"denyRead\": [\"/a\"],"
                           "                \"denyWrite\": [\"/b\", \"**/*.pem\"]},"
                           " \"wattle\": {\"limits\": {\"memory\": \"1G\"}, \"timeout\": \"1h\","
                           " \"require\": [\"memory\"]}}",
                           SETTINGS_ADMIN, &settings, NULL),
                     0);
    assert_int_equal(settings->path_count, 2);
    assert_int_equal(settings->pattern_count, 1);
    assert_int_equal(settings->limits.deadline_ms, 3600000);
    assert_int_equal(settings->require, POLICY_REQUIRE_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_an_empty_file),
        cmocka_unit_test(takes_every_key_there_is),
        cmocka_unit_test(turns_the_four_lists_into_paths),
        cmocka_unit_test(names_an_unknown_key_and_the_nearest),
        cmocka_unit_test(refuses_what_is_no_plain_json),
        cmocka_unit_test(names_the_key_whose_type_is_wrong),
        cmocka_unit_test(refuses_values_it_does_not_know),
        cmocka_unit_test(refuses_paths_with_the_remedy),
        cmocka_unit_test(keeps_names_by_patterns),
        cmocka_unit_test(refuses_patterns_with_the_fault),
        cmocka_unit_test(refuses_a_path_too_long_for_the_system),
        cmocka_unit_test(says_that_host_names_are_not_built),
        cmocka_unit_test(lets_the_administrator_only_tighten),
        cmocka_unit_test(takes_all_that_tightens_from_the_administrator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
