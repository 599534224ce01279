/* `wattle pens check` and `unshare`: the look through a folder that every run takes, by itself. No
 * store is needed, and nothing is run. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/option_rows.h"
#include "cli/preflight.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/request.h"
#include "pen/unshare.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { ANSWER_LIMIT_BYTES = 64 << 20 };

static const struct {
    enum pen_found_what what;
    const char *name;
} kinds[] = {
    {PEN_FOUND_SHARED, "shared"},
    {PEN_FOUND_CLOSED, "closed"},
    {PEN_FOUND_SOCKET, "socket"},
    {PEN_FOUND_MOUNT, "mount"},
    {PEN_FOUND_REPOSITORY, "repository"},
    {PEN_FOUND_GUARDED, "guarded"},
    {PEN_FOUND_TWIN, "twin"},
};

/* The policy a run in `folder` (NULL: the current one) would have: it knows the physical path, and
 * what the owner's files say of pens. What cannot be a pen is refused in the same words. */
static int derive_for(const struct values *values, const char *folder,
                      struct derive_owner **ret_owner, struct policy **ret_policy, struct err *err)
{
    struct values with = *values;

    with.pen = folder;
    return request_derive(&with, NULL, ret_owner, ret_policy, err);
}

static int one_folder_at_most(const struct values *values, struct err *err)
{
    if (values->rest_count <= 1)
        return 0;
    (void) err_set(err, EINVAL, "cli.arguments", "one folder at a time, not '%s' too",
                   values->rest[1]);
    return err_hint(err, "options stand before the folder");
}

/* ---- check: text ------------------------------------------------------------------------- */

static void print_found(const struct pen_found *found, struct buf *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if ((found->what & kinds[i].what) == 0)
            continue;
        (void) buf_printf(text, "%-10s  ", kinds[i].name);
        (void) str_add_inert(text, found->path, strlen(found->path));
        if (kinds[i].what == PEN_FOUND_SHARED)
            (void) buf_printf(text, "  (%llu names, %llu of them here)",
                              (unsigned long long) found->links,
                              (unsigned long long) found->links_here);
        if (kinds[i].what == PEN_FOUND_TWIN) {
            (void) buf_add_text(text, "  (the same file as ");
            (void) str_add_inert(text, found->twin, strlen(found->twin));
            (void) buf_add_text(text, ")");
        }
        (void) buf_add_text(text, "\n");
    }
}

static void print_findings(const struct pen_findings *findings, struct buf *text)
{
    for (size_t i = 0; i < findings->count; i++)
        print_found(&findings->items[i], text);
    (void) buf_printf(text, "looked at %llu files and folders in %zu folders\n",
                      (unsigned long long) findings->entries, findings->folders);
}

/* ---- check: JSON ------------------------------------------------------------------------- */

static json_t *found_json(const struct pen_found *found)
{
    AUTO(json_free) json_t *object = json_object();
    AUTO(json_free) json_t *what = json_array();
    int rc = json_object_set_new(object, "path", json_text(found->path, strlen(found->path)));

    for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(kinds); i++)
        if ((found->what & kinds[i].what) != 0)
            rc = json_array_append_new(what, json_string(kinds[i].name));
    if (rc == 0)
        rc = json_object_set(object, "what", what);
    if (rc == 0 && (found->what & PEN_FOUND_SHARED) != 0) {
        rc = json_object_set_new(object, "links", json_integer((json_int_t) found->links));
        if (rc == 0)
            rc = json_object_set_new(object, "links_here",
                                     json_integer((json_int_t) found->links_here));
    }
    if (rc == 0 && found->twin != NULL)
        rc = json_object_set_new(object, "twin_of", json_text(found->twin, strlen(found->twin)));
    return rc < 0 ? NULL : TAKE_PTR(object);
}

static json_t *findings_json(const struct pen_findings *findings)
{
    AUTO(json_free) json_t *list = json_array();

    for (size_t i = 0; i < findings->count; i++)
        if (json_array_append_new(list, found_json(&findings->items[i])) < 0)
            return NULL;
    return TAKE_PTR(list);
}

/* `verdict` is NULL or why a run in this pen is refused. */
static int print_json(const struct pen_findings *findings, const char *pen,
                      const struct err *verdict, struct buf *text)
{
    AUTO(json_free) json_t *object = json_object();
    const struct {
        const char *name;
        json_t *value;
    } members[] = {
        {"pen", json_text(pen, strlen(pen))},
        {"ok", json_boolean(verdict == NULL)},
        {"error", verdict == NULL ? json_null() : record_error(verdict)},
        {"entries", json_integer((json_int_t) findings->entries)},
        {"folders", json_integer((json_int_t) findings->folders)},
        {"found", findings_json(findings)},
    };
    int rc = 0;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (json_object_set_new(object, members[i].name, members[i].value) < 0)
            rc = -ENOMEM;
    return rc < 0 ? rc : json_print(text, object);
}

/* ---- check ------------------------------------------------------------------------------- */

static int answer(const struct values *values, const struct pen_findings *findings,
                  const struct policy *policy, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    struct err verdict = {0};
    const int good = pen_judge(findings, policy_pen(policy), policy, &verdict);
    int rc = 0;

    assert(findings != NULL);
    buf_init(&text, ANSWER_LIMIT_BYTES);
    if (values->json)
        rc = print_json(findings, policy_pen(policy), good < 0 ? &verdict : NULL, &text);
    else if (!values->quiet)
        print_findings(findings, &text);
    if (rc == -ENOMEM)
        return err_memory(err);
    rc = print_out(&text, err);
    if (rc < 0 || good == 0)
        return rc;
    if (!values->json)
        report_error(&verdict, false);
    return CMD_FAILED;
}

static int check(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(policy_freep) struct policy *policy = NULL;
    AUTO(look_free) struct look seen = {0};
    int rc = one_folder_at_most(values, err);

    if (rc == 0)
        rc = derive_for(values, values->rest_count > 0 ? values->rest[0] : NULL, &owner, &policy,
                        err);
    if (rc == 0)
        rc = preflight_look(values, owner, policy, &seen, err);
    return rc < 0 ? rc : answer(values, seen.findings, policy, err);
}

static const struct option_group *const check_groups[] = {
    &options_json,
    &options_talk,
    &options_help,
    NULL,
};

const struct cmd cmd_pens_check = {
    .name = "pens",
    .verb = "check",
    .args = "[DIR]",
    .summary = "say whether a folder can be a pen, and what in it is looked after",
    .groups = check_groups,
    .run = check,
};

/* ---- unshare ----------------------------------------------------------------------------- */

struct telling {
    const struct values *values;
    struct preflight_progress progress;
    struct buf text;
};

static void tell_name(void *context, const char *path, uint64_t bytes, const struct err *failure)
{
    struct telling *telling = context;
    char size[32];

    preflight_progress_end(&telling->progress);
    if (failure != NULL) {
        report_line("'%s' is still shared: %s", path, failure->what);
        return;
    }
    if (telling->values->quiet || (!telling->values->dry_run && !telling->values->verbose))
        return;
    str_from_bytes(bytes, size, sizeof size);
    (void) buf_add_text(&telling->text, telling->values->dry_run ? "would copy  " : "copied  ");
    (void) str_add_inert(&telling->text, path, strlen(path));
    (void) buf_printf(&telling->text, "  (%s)\n", size);
}

static void show_progress(void *context, uint64_t entries)
{
    struct telling *telling = context;

    preflight_progress_show(&telling->progress, entries);
}

static void print_done(const struct values *values, const struct pen_unshared *done,
                       struct buf *text)
{
    char size[32];

    if (values->quiet)
        return;
    str_from_bytes(done->bytes, size, sizeof size);
    if (done->names == 0 && done->failures == 0) {
        (void) buf_add_text(text, "nothing is shared with names outside\n");
    } else {
        (void) buf_printf(text, "%s: files %llu, names %llu, %s; still shared: %llu\n",
                          values->dry_run ? "would copy" : "copied",
                          (unsigned long long) done->files, (unsigned long long) done->names, size,
                          (unsigned long long) done->failures);
    }
    if (done->cloned > 0) {
        (void) buf_printf(text, "sharing their blocks, so that they take no room: %llu\n",
                          (unsigned long long) done->cloned);
    }
}

static int run_unshare(const struct values *values, const struct policy *policy, struct err *err)
{
    struct telling telling = {.values = values, .progress = preflight_progress_begin(values)};
    const struct pen_unshare wanted = {
        .folder = policy_pen(policy),
        .most = policy_get_preflight(policy)->entries,
        .dry_run = values->dry_run,
        .each = tell_name,
        .progress = show_progress,
        .context = &telling,
    };
    struct pen_unshared done = {0};
    int rc;

    buf_init(&telling.text, ANSWER_LIMIT_BYTES);
    rc = pen_unshare_run(&wanted, &done, err);
    preflight_progress_end(&telling.progress);
    if (rc == 0) {
        print_done(values, &done, &telling.text);
        rc = print_out(&telling.text, err);
    }
    buf_free(&telling.text);
    if (rc < 0)
        return rc;
    return done.failures > 0 ? CMD_FAILED : CMD_OK;
}

static int unshare_folder(const struct values *values, struct err *err)
{
    AUTO(derive_owner_freep) struct derive_owner *owner = NULL;
    AUTO(policy_freep) struct policy *policy = NULL;
    int rc = one_folder_at_most(values, err);

    if (rc == 0 && values->rest_count == 0) {
        (void) err_set(err, EINVAL, "cli.arguments", "'pens unshare' wants a folder");
        rc = err_hint(err, "as in 'wattle pens unshare --dry-run .'");
    }
    if (rc == 0)
        rc = derive_for(values, values->rest[0], &owner, &policy, err);
    return rc < 0 ? rc : run_unshare(values, policy, err);
}

static const struct option_group *const unshare_groups[] = {
    &options_unshare,
    &options_talk,
    &options_help,
    NULL,
};

const struct cmd cmd_pens_unshare = {
    .name = "pens",
    .verb = "unshare",
    .args = "DIR",
    .summary = "give a folder copies of its own of files it shares by hard links",
    .groups = unshare_groups,
    .run = unshare_folder,
};
