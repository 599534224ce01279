#include "host/report.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "job/outlook.h"
#include "policy/codec.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MOST = 200,
    TOLD_MOST = 64,
    DENIALS_MOST = 64,
    BYTES_MOST = 32 << 10, /* of all names, and of all refusals */
    DIGEST_BYTES = 32,
};

static json_t *text_of(const char *text)
{
    return json_text(text, strlen(text));
}

/* ---- the policy ------------------------------------------------------------------------------ */

/* Of the bytes wattle-job gets: two runs with the same digest could do the same. */
static json_t *digest_of(const struct policy *policy, struct err *err)
{
    AUTO(buf_free) struct buf bytes = {0};
    unsigned char hash[DIGEST_BYTES];
    char hex[2 * sizeof hash + 1];

    buf_init(&bytes, POLICY_CODEC_LIMIT_BYTES);
    if (policy_encode(policy, &bytes, err) < 0)
        return NULL;
    (void) crypto_generichash(hash, sizeof hash, (const unsigned char *) bytes.bytes, bytes.size,
                              NULL, 0); /* fails for a length that is out of bounds only */
    return json_sprintf("blake2b:%s", sodium_bin2hex(hex, sizeof hex, hash, sizeof hash));
}

static json_t *identity_of(const struct policy_command *command)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "dev", (json_int_t) command->dev, "inode",
                     (json_int_t) command->inode, "size_bytes", (json_int_t) command->size_bytes,
                     "mtime_ns", (json_int_t) command->mtime_ns, "ctime_ns",
                     (json_int_t) command->ctime_ns);
}

static json_t *limits_of(const struct policy_limits *limits)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "deadline_ms",
                     (json_int_t) limits->deadline_ms, "memory_bytes",
                     (json_int_t) limits->memory_bytes, "processes", (json_int_t) limits->processes,
                     "open_files", (json_int_t) limits->open_files, "file_bytes",
                     (json_int_t) limits->file_bytes, "tmp_bytes", (json_int_t) limits->tmp_bytes);
}

int report_begin(struct report *report, const struct policy *policy, struct err *err)
{
    json_t *digest = digest_of(policy, err);

    if (digest == NULL)
        return err->code != 0 ? -err->code : err_memory(err);
    *report = (struct report){
        .created = json_array(), .told = json_array(), .denials = json_array(), .dirty = true};
    report->object = json_pack("{s:o, s:o, s:o, s:O}", "policy_digest", digest, "identity",
                               identity_of(policy_command(policy)), "limits",
                               limits_of(policy_get_limits(policy)), "denials", report->denials);
    if (report->object != NULL && report->created != NULL && report->told != NULL)
        return 0;
    report_free(report);
    return err_memory(err);
}

void report_free(struct report *report)
{
    json_decref(report->object);
    json_decref(report->created);
    json_decref(report->told);
    json_decref(report->denials);
    *report = (struct report){.object = NULL};
}

/* ---- what comes ------------------------------------------------------------------------------ */

void report_started(struct report *report, const struct job_start *start)
{
    json_t *weak = json_array();
    struct job_weakness weakness;

    for (size_t i = 0; job_weakness(start->weak, i, &weakness); i++)
        (void) json_array_append_new(weak, json_string(weakness.id));
    (void) json_object_set_new(report->object, "fence",
                               json_pack("{s:o, s:i, s:o}", "mechanism", text_of(start->mechanism),
                                         "landlock_abi", start->landlock_abi, "weak", weak));
    report->dirty = true;
}

void report_denied(struct report *report, const struct job_denial *denial)
{
    const char *const texts[] = {denial->call, denial->path, denial->program, denial->reason};

    report->denied++;
    report->dirty = true;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        report->denial_bytes += strlen(texts[i]);
    if (report->denial_bytes > BYTES_MOST || json_array_size(report->denials) >= DENIALS_MOST)
        return;
    (void) json_array_append_new(report->denials,
                                 json_pack("{s:o, s:o, s:o, s:i, s:o}", "call",
                                           text_of(denial->call), "path", text_of(denial->path),
                                           "program", text_of(denial->program), "pid",
                                           (int) denial->pid, "reason", text_of(denial->reason)));
}

void report_count_denied(struct report *report, uint64_t denied)
{
    report->denied = denied;
    report->dirty = true;
}

void report_names(struct report *report, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += strlen(bytes + at) + 1) {
        report->name_bytes += strlen(bytes + at);
        if (report->name_bytes > BYTES_MOST || json_array_size(report->created) >= NAMES_MOST)
            return;
        (void) json_array_append_new(report->created, text_of(bytes + at));
    }
}

static json_t *name_of(json_t *path, const char *how, const struct job_told *told)
{
    return json_pack("{s:o, s:s, s:s?, s:b}", "path", path, "how", how, "reason",
                     told == NULL ? NULL : told->reason, "gone", told != NULL && told->gone);
}

void report_made(struct report *report, const struct job_made *made)
{
    report->has_made = true;
    report->complete = made->complete;
    report->made = made->count;
    report->dirty = true;
    for (size_t i = 0; i < made->told_count; i++) {
        const struct job_told *told = &made->told[i];

        report->told_changed += told->written;
        if (json_array_size(report->told) < TOLD_MOST)
            (void) json_array_append_new(
                report->told,
                name_of(text_of(told->name), told->written ? "changed" : "created", told));
    }
}

void report_failed(struct report *report, const struct err *err)
{
    char text[sizeof err->what + sizeof err->hint + 4];

    if (report->object == NULL)
        report->object = json_object(); /* of one that was refused before it had a policy */
    (void) snprintf(text, sizeof text, "%s%s%s", err->what, err->hint[0] == '\0' ? "" : "; ",
                    err->hint);
    (void) json_object_set_new(report->object, "cause", text_of(text));
    report->dirty = true;
}

/* ---- the text -------------------------------------------------------------------------------- */

static bool is_told(const struct report *report, const json_t *path)
{
    const json_t *told;
    size_t i;

    json_array_foreach(report->told, i, told)
    {
        if (json_equal(json_object_get(told, "path"), path))
            return true;
    }
    return false;
}

/* First what something on the owner's side may run, then the rest of what was made. */
static json_t *names_of(const struct report *report)
{
    json_t *names = json_copy(report->told);
    json_t *path;
    size_t i;

    json_array_foreach(report->created, i, path)
    {
        if (!is_told(report, path))
            (void) json_array_append_new(names, name_of(json_incref(path), "created", NULL));
    }
    return names;
}

char *report_text(struct report *report)
{
    json_t *object = report->object;

    if (object == NULL)
        return NULL;
    report->dirty = false;
    if (report->denials != NULL)
        (void) json_object_set_new(object, "denied", json_integer((json_int_t) report->denied));
    if (report->has_made) {
        (void) json_object_set_new(object, "names", names_of(report));
        (void) json_object_set_new(
            object, "names_total",
            json_integer((json_int_t) report->made + (json_int_t) report->told_changed));
        (void) json_object_set_new(object, "names_complete", json_boolean(report->complete));
    }
    return json_dumps(object, JSON_COMPACT);
}
