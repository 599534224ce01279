#include "cli/view.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/record.h"
#include "cli/report.h"
#include "job/outlook.h"
#include "policy/print.h"

#include <errno.h>

enum { VIEW_LIMIT_BYTES = 16 << 20 };

static void add_fence(struct buf *text, const struct job_start *start)
{
    struct job_weakness weakness;

    (void) buf_printf(text, "\nfence: %s, ", start->mechanism);
    if (start->landlock_abi > 0)
        (void) buf_printf(text, "Landlock ABI %d\n", start->landlock_abi);
    else
        (void) buf_add_text(text, "no Landlock\n");
    for (size_t i = 0; job_weakness(start->weak, i, &weakness); i++) {
        (void) buf_printf(text, "  weaker: %s\n", weakness.what);
        if (weakness.mend[0] != '\0')
            (void) buf_printf(text, "          %s\n", weakness.mend);
    }
}

/* `start` NULL: no fence can be built. */
static int print_text(const struct policy *policy, const struct job_start *start, struct err *err)
{
    AUTO(buf_free) struct buf text = {0};
    int rc;

    buf_init(&text, VIEW_LIMIT_BYTES);
    rc = policy_print_text(policy, &text, err);
    if (rc < 0)
        return rc;
    if (start != NULL)
        add_fence(&text, start);
    return print_out(&text, err);
}

static int print_json(const struct policy *policy, const struct job_start *start, struct err *err)
{
    AUTO(json_free) json_t *json = NULL;
    AUTO(buf_free) struct buf text = {0};
    int rc;

    buf_init(&text, VIEW_LIMIT_BYTES);
    rc = policy_print_json(policy, &json, err);
    if (rc < 0)
        return rc;
    if (json_object_set_new(json, "fence", start != NULL ? record_fence(start) : json_null()) < 0)
        return err_memory(err);
    rc = json_print(&text, json);
    return rc < 0 ? err_set(err, -rc, "cli.output", "cannot print the policy")
                  : print_out(&text, err);
}

int view_print(const struct policy *policy, const char *mechanism, bool json, struct err *err)
{
    struct job_start start;
    struct err no_fence = {0};
    const int fence = job_outlook(policy, mechanism, &start, &no_fence);
    int rc;

    if (json)
        rc = print_json(policy, fence < 0 ? NULL : &start, err);
    else
        rc = print_text(policy, fence < 0 ? NULL : &start, err);
    if (rc == 0 && fence < 0) {
        *err = no_fence;
        return fence;
    }
    return rc;
}
