/* `wattle policy check`: whether the owner's files would be taken. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/request.h"

#include <errno.h>
#include <string.h>

enum { ANSWERS_LIMIT_BYTES = 4 << 20 };

static const char admin_file[] = "/etc/wattle/config.json";

struct check {
    const struct derive_owner *owner;
    bool json;
    bool optional; /* a file that is not there is no mistake: nobody asked for it */
    bool failed;
    size_t count;
    struct buf text;
};

static int add_json(struct check *check, const char *path, const struct err *found)
{
    AUTO(json_free) json_t *line = json_object();

    if (json_object_set_new(line, "file", json_text(path, strlen(path))) < 0 ||
        json_object_set_new(line, "ok", json_boolean(found->code == 0)) < 0)
        return -ENOMEM;
    if (found->code != 0 && json_object_set_new(line, "error", record_error(found)) < 0)
        return -ENOMEM;
    return json_print(&check->text, line);
}

static void check_and_tell(struct check *check, const char *path)
{
    struct err found = {0};

    if (derive_settings_check(check->owner, path, &found) < 0 && found.code == ENOENT &&
        check->optional)
        return;
    check->count++;
    if (found.code != 0)
        check->failed = true;
    if (check->json) {
        if (add_json(check, path, &found) < 0)
            check->text.failed = -ENOMEM;
        return;
    }
    if (found.code != 0) {
        report_error(&found, false);
        return;
    }
    (void) buf_add_text(&check->text, "ok ");
    (void) str_add_inert(&check->text, path, strlen(path));
    (void) buf_add_text(&check->text, "\n");
}

/* The two files every run reads, when they are there. */
static void check_usual(struct check *check)
{
    AUTO_FREE char *own = path_join(check->owner->config_dir, "config.json");

    check->optional = true;
    check_and_tell(check, admin_file);
    if (own != NULL)
        check_and_tell(check, own);
    else
        check->text.failed = -ENOMEM;
}

static void say_nothing(struct check *check)
{
    (void) buf_add_text(&check->text, "nothing to check: there is no config.json in '");
    (void) str_add_inert(&check->text, check->owner->config_dir, strlen(check->owner->config_dir));
    (void) buf_add_text(&check->text, "' or '/etc/wattle'\n");
}

static int run(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    struct check check = {.json = values->json};
    int rc = request_owner(values, &owner, err);

    if (rc < 0)
        return rc;
    check.owner = owner;
    buf_init(&check.text, ANSWERS_LIMIT_BYTES);
    for (size_t i = 0; i < values->rest_count; i++)
        check_and_tell(&check, values->rest[i]);
    if (values->rest_count == 0)
        check_usual(&check);
    if (check.count == 0 && !check.json)
        say_nothing(&check);
    rc = print_out(&check.text, err);
    buf_free(&check.text);
    if (rc < 0)
        return rc;
    return check.failed ? CMD_FAILED : CMD_OK;
}

static const struct option_group *const groups[] = {&options_json, &options_help, NULL};

const struct cmd cmd_policy_check = {
    .name = "policy",
    .verb = "check",
    .args = "[FILE...]",
    .summary = "say whether policy files are valid (default: your own)",
    .groups = groups,
    .run = run,
};
