/* The arguments of the three tools, and what becomes of them. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "cm.h"
#include "mcp/tools.h"

#include <string.h>

static const struct mcp_tool *tool_of(const char *name)
{
    for (size_t i = 0; i < mcp_tools_server.tool_count; i++) {
        if (str_equal(mcp_tools_server.tools[i].name, name))
            return &mcp_tools_server.tools[i];
    }
    fail_msg("no tool %s", name);
    return NULL;
}

static int request(const char *tool, const char *arguments, const char **ret_method,
                   json_t **ret_params, struct err *err)
{
    AUTO(json_free) json_t *given = NULL;

    assert_int_equal(json_parse_any_text(arguments, strlen(arguments), "arguments", &given, err),
                     0);
    return mcp_tools_request(tool_of(tool), given, ret_method, ret_params, err);
}

static void right_arguments_go_on_as_they_are(void **state)
{
    static const struct {
        const char *tool, *arguments, *method;
    } rows[] = {
        {"pen_run_command", "{\"command\":\"ls\"}", "job.run"},
        {"pen_run_command",
         "{\"command\":\"a b\",\"args\":[\"\",\"$(x)\",\"\\n\"],\"working_directory\":\"sub\","
         "\"network\":true,\"deadline_seconds\":600,\"background\":true}",
         "job.run"},
        {"pen_run_command", "{\"command\":\"ls\",\"args\":[],\"deadline_seconds\":1}", "job.run"},
        {"pen_command_status", "{\"job_id\":\"j-1\",\"wait_seconds\":10}", "job.status"},
        {"pen_command_status", "{\"job_id\":\"j-1\",\"wait_seconds\":0}", "job.status"},
        {"pen_stop_command", "{\"job_id\":\"j-1\"}", "job.stop"},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        AUTO(json_free) json_t *params = NULL;
        AUTO_FREE char *text = NULL;
        const char *method = NULL;
        struct err err = {0};

        assert_int_equal(request(rows[i].tool, rows[i].arguments, &method, &params, &err), 0);
        assert_string_equal(method, rows[i].method);
        text = json_dumps(params, JSON_COMPACT);
        assert_string_equal(text, rows[i].arguments);
    }
}

static void wrong_arguments_are_named(void **state)
{
    static const struct {
        const char *tool, *arguments, *word;
    } rows[] = {
        {"pen_run_command", "{}", "'command'"},
        {"pen_run_command", "{\"command\":\"\"}", "'command'"},
        {"pen_run_command", "{\"command\":7}", "'command'"},
        {"pen_run_command", "{\"command\":\"l\\u0000s\"}", "'command'"},
        {"pen_run_command", "{\"command\":\"ls\",\"args\":\"-l\"}", "'args'"},
        {"pen_run_command", "{\"command\":\"ls\",\"args\":[7]}", "'args'"},
        {"pen_run_command", "{\"command\":\"ls\",\"args\":[\"a\\u0000b\"]}", "'args'"},
        {"pen_run_command", "{\"command\":\"ls\",\"args\":null}", "'args'"},
        {"pen_run_command", "{\"command\":\"ls\",\"working_directory\":\"\"}",
         "'working_directory'"},
        {"pen_run_command", "{\"command\":\"ls\",\"network\":1}", "'network'"},
        {"pen_run_command", "{\"command\":\"ls\",\"deadline_seconds\":-1}", "'deadline_seconds'"},
        {"pen_run_command", "{\"command\":\"ls\",\"deadline_seconds\":4294967296}",
         "'deadline_seconds'"},
        {"pen_run_command", "{\"command\":\"ls\",\"deadline_seconds\":1.0}", "'deadline_seconds'"},
        {"pen_run_command", "{\"command\":\"ls\",\"background\":\"no\"}", "'background'"},
        {"pen_run_command", "{\"command\":\"ls\",\"policy\":\"open\"}", "'policy'"},
        {"pen_command_status", "{\"wait_seconds\":1}", "'job_id'"},
        {"pen_command_status", "{\"job_id\":\"j-1\",\"wait_seconds\":11}", "from 0 to 10"},
        {"pen_command_status", "{\"job_id\":\"j-1\",\"wait_seconds\":-1}", "from 0 to 10"},
        {"pen_stop_command", "{\"job_id\":\"j-1\",\"force\":true}", "'force'"},
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        json_t *params = NULL;
        const char *method = NULL;
        struct err err = {0};

        assert_int_equal(request(rows[i].tool, rows[i].arguments, &method, &params, &err), -EINVAL);
        assert_string_equal(err.id, "mcp.arguments");
        if (strstr(err.what, rows[i].word) == NULL)
            fail_msg("%s: %s", rows[i].arguments, err.what);
        assert_null(params);
    }
}

/* What a tool says it takes is what is taken: the same names, the same that are required. */
static void schemas_say_what_is_checked(void **state)
{
    (void) state;
    for (size_t i = 0; i < mcp_tools_server.tool_count; i++) {
        const struct mcp_tool *tool = &mcp_tools_server.tools[i];
        AUTO(json_free) json_t *schema = json_loads(tool->input_schema, 0, NULL);
        AUTO(json_free) json_t *output = json_loads(tool->output_schema, 0, NULL);
        const json_t *value;
        const char *name;

        assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
        assert_true(json_is_false(json_object_get(output, "additionalProperties")));
        assert_int_equal(json_array_size(json_object_get(output, "required")),
                         json_object_size(json_object_get(output, "properties")));
        json_object_foreach(json_object_get(schema, "properties"), name, value)
        {
            AUTO(json_free) json_t *given = json_pack("{s:{}}", name);
            json_t *params = NULL;
            const char *method = NULL;
            struct err err = {0};

            assert_int_equal(mcp_tools_request(tool, given, &method, &params, &err), -EINVAL);
            assert_non_null(strstr(err.what, name)); /* known, and of a wrong kind */
            assert_null(strstr(err.what, "there is no argument"));
        }
    }
}

static void a_refusal_is_an_answer_like_any(void **state)
{
    const struct err err = {.code = EINVAL, .what = "it is not there", .hint = "look elsewhere"};
    AUTO(json_free) json_t *answer = mcp_tools_refusal(&err);
    AUTO(json_free) json_t *schema = json_loads(mcp_tools_server.tools[0].output_schema, 0, NULL);

    (void) state;
    assert_true(mcp_tools_is_error(answer));
    assert_string_equal(json_string_value(json_object_get(answer, "notice")),
                        "it is not there; look elsewhere");
    assert_int_equal(json_object_size(answer),
                     json_object_size(json_object_get(schema, "properties")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_arguments_go_on_as_they_are),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(schemas_say_what_is_checked),
        cmocka_unit_test(a_refusal_is_an_answer_like_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
