/* What was found, for people and for programs. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"
#include "fence/fence.h"
#include "job/outlook.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_ALL = 0, EXIT_WEAKER = 1, EXIT_CANNOT = 3, NAME_WIDTH = 18 };

static const char *const status_names[] = {
    [DOCTOR_OK] = "ok",           [DOCTOR_REMARK] = "remark", [DOCTOR_WEAKER] = "weaker",
    [DOCTOR_MISSING] = "missing", [DOCTOR_UNSEEN] = "unseen", [DOCTOR_SKIPPED] = "skipped",
};

static const char *const group_names[] = {
    [DOCTOR_MACHINE] = "machine",
    [DOCTOR_KERNEL] = "kernel",
    [DOCTOR_BOUNDARY] = "boundary",
    [DOCTOR_BOUNDS] = "bounds",
};

const char *doctor_status_name(enum doctor_status status)
{
    return status_names[status];
}

static const char *mend_of(const struct doctor_check *check, const struct doctor_finding *finding)
{
    if (finding->status == DOCTOR_OK || finding->status == DOCTOR_SKIPPED)
        return "";
    if (finding->mend[0] != '\0')
        return finding->mend;
    return check->mend != NULL && finding->status == DOCTOR_MISSING ? check->mend : "";
}

/* ---- verdict -------------------------------------------------------------------------------- */

static void apply_weakness(unsigned weak, struct doctor_finding *finding)
{
    struct job_weakness weakness;

    if (finding->status > DOCTOR_REMARK || !job_weakness(weak, 0, &weakness))
        return;
    doctor_say(finding, DOCTOR_WEAKER, "%s", weakness.what);
    doctor_mend(finding, "%s", weakness.mend);
}

/* A check of the boundary that stops no other comes after a run that started. */
static bool leaks(const struct doctor_check *check, const struct doctor_finding *finding)
{
    return check->group == DOCTOR_BOUNDARY && check->stops == DOCTOR_STOPS_NOTHING &&
           finding->status != DOCTOR_SKIPPED;
}

static void count_finding(const struct doctor_check *check, const struct doctor_finding *finding,
                          struct doctor_verdict *verdict)
{
    const bool missing = finding->status >= DOCTOR_MISSING;

    if (missing && check->kind == DOCTOR_MUST) {
        verdict->why = verdict->confines ? finding->detail : verdict->why;
        verdict->confines = false;
        verdict->leaks = verdict->leaks || leaks(check, finding);
    } else if (missing || finding->status == DOCTOR_WEAKER) {
        verdict->weaker = true;
    }
    if (finding->landlock_abi > 0)
        verdict->landlock_abi = finding->landlock_abi;
}

/* Memory is bounded only in runs that ask for it, so only the check that asks tells about it. */
static unsigned weak_of(const struct doctor_check *check, const struct doctor_finding *finding)
{
    const bool asks = (check->weak & FENCE_WEAK_MEMORY) != 0;

    if (!finding->started && !asks)
        return 0;
    return asks ? finding->weak & FENCE_WEAK_MEMORY : finding->weak & ~(unsigned) FENCE_WEAK_MEMORY;
}

void doctor_conclude(const struct doctor_check *checks, size_t count,
                     struct doctor_finding *findings, struct doctor_verdict *ret_verdict)
{
    struct doctor_verdict verdict = {.confines = true};

    for (size_t i = 0; i < count; i++)
        verdict.weak |= weak_of(&checks[i], &findings[i]);
    for (size_t i = 0; i < count; i++) {
        apply_weakness(verdict.weak & checks[i].weak, &findings[i]);
        count_finding(&checks[i], &findings[i], &verdict);
    }
    verdict.weaker = verdict.weaker || verdict.weak != 0;
    *ret_verdict = verdict;
}

int doctor_exit_status(const struct doctor_verdict *verdict)
{
    if (!verdict->confines)
        return EXIT_CANNOT;
    return verdict->weaker ? EXIT_WEAKER : EXIT_ALL;
}

/* ---- table ---------------------------------------------------------------------------------- */

static void add_line(const char *status, const char *name, const char *text, struct buf *out)
{
    (void) buf_printf(out, "%-8s %-*s ", status, NAME_WIDTH, name);
    (void) str_add_inert(out, text, strlen(text));
    (void) buf_add_text(out, "\n");
}

static void add_check(const struct doctor_check *check, const struct doctor_finding *finding,
                      bool verbose, struct buf *out)
{
    const char *mend = mend_of(check, finding);

    add_line(doctor_status_name(finding->status), check->name,
             finding->status == DOCTOR_OK ? check->shows : finding->detail, out);
    if (verbose && finding->status == DOCTOR_OK && finding->detail[0] != '\0')
        add_line("", "", finding->detail, out);
    if (verbose && finding->status != DOCTOR_OK)
        add_line("", "  wanted:", check->shows, out);
    if (mend[0] != '\0')
        add_line("", "  mend:", mend, out);
}

static void add_group(enum doctor_group group, const struct doctor_check *checks, size_t count,
                      const struct doctor_finding *findings, struct buf *out)
{
    size_t all = 0, fine = 0;
    char text[96];

    for (size_t i = 0; i < count; i++) {
        if (checks[i].group != group)
            continue;
        all++;
        fine += findings[i].status == DOCTOR_OK ? 1 : 0;
    }
    if (fine == 0)
        return;
    (void) snprintf(text, sizeof text,
                    group == DOCTOR_BOUNDARY ? "%zu of %zu checks, by attempts in real runs"
                                             : "%zu of %zu checks",
                    fine, all);
    add_line("ok", group_names[group], text, out);
}

static void add_summary(const struct doctor_verdict *verdict, struct buf *out)
{
    const char *weaker = verdict->weaker ? ", weaker than the best" : "";

    if (verdict->leaks)
        (void) buf_add_text(out,
                            "does not confine: a run was not seen to hold; do not rely on it\n");
    else if (!verdict->confines)
        (void) buf_add_text(out, "cannot confine: wattle run refuses to start commands here\n");
    else if (verdict->landlock_abi == 0)
        (void) buf_printf(out, "confines: by 'native', without Landlock%s\n", weaker);
    else
        (void) buf_printf(out, "confines: by 'native', Landlock ABI %d%s\n", verdict->landlock_abi,
                          weaker);
}

/* Skipped ones are of no use one by one, unless somebody asked for all. */
static bool is_worth_a_line(const struct doctor_finding *finding, bool verbose)
{
    return verbose || (finding->status != DOCTOR_OK && finding->status != DOCTOR_SKIPPED);
}

static void add_skipped(size_t count, const struct doctor_finding *findings, struct buf *out)
{
    size_t skipped = 0;
    char text[64];

    for (size_t i = 0; i < count; i++)
        skipped += findings[i].status == DOCTOR_SKIPPED ? 1 : 0;
    if (skipped == 0)
        return;
    (void) snprintf(text, sizeof text, "%zu checks, until that is mended", skipped);
    add_line("skipped", "", text, out);
}

void doctor_print_table(const struct doctor_check *checks, size_t count,
                        const struct doctor_finding *findings, const struct doctor_verdict *verdict,
                        const struct doctor_options *options, struct buf *text)
{
    if (options->quiet && doctor_exit_status(verdict) == EXIT_ALL)
        return;
    add_summary(verdict, text);
    for (int group = 0; !options->quiet && !options->verbose && group < DOCTOR_GROUPS; group++)
        add_group((enum doctor_group) group, checks, count, findings, text);
    for (size_t i = 0; i < count; i++) {
        if (options->quiet && findings[i].status == DOCTOR_REMARK)
            continue;
        if (is_worth_a_line(&findings[i], options->verbose))
            add_check(&checks[i], &findings[i], options->verbose, text);
    }
    if (!options->verbose)
        add_skipped(count, findings, text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *text_of(const char *text)
{
    return json_text(text, strlen(text));
}

static json_t *check_to_json(const struct doctor_check *check, const struct doctor_finding *finding)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "name", check->name, "group",
                     group_names[check->group], "kind",
                     check->kind == DOCTOR_MUST ? "must" : "better", "status",
                     doctor_status_name(finding->status), "shows", check->shows, "detail",
                     text_of(finding->detail), "mend", text_of(mend_of(check, finding)));
}

static json_t *weak_to_json(unsigned weak)
{
    json_t *list = json_array();
    struct job_weakness weakness;

    for (size_t i = 0; list != NULL && job_weakness(weak, i, &weakness); i++)
        (void) json_array_append_new(list, json_string(weakness.id));
    return list;
}

static json_t *checks_to_json(const struct doctor_check *checks, size_t count,
                              const struct doctor_finding *findings)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < count; i++) {
        if (json_array_append_new(list, check_to_json(&checks[i], &findings[i])) == 0)
            continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

int doctor_print_json(const struct doctor_check *checks, size_t count,
                      const struct doctor_finding *findings, const struct doctor_verdict *verdict,
                      struct buf *text)
{
    AUTO(json_free)
    json_t *object = json_pack(
        "{s:s, s:i, s:b, s:s?, s:o?, s:i, s:o, s:o}", "schema", "wattle.doctor", "v", 1, "confines",
        (int) verdict->confines, "mechanism", verdict->confines ? "native" : NULL, "why",
        verdict->why != NULL ? text_of(verdict->why) : NULL, "landlock_abi", verdict->landlock_abi,
        "checks", checks_to_json(checks, count, findings), "weak", weak_to_json(verdict->weak));

    return object == NULL ? -ENOMEM : json_print(text, object);
}
