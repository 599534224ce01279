/* Why one path is open or not: the resolver's answer, and the places that lie over the host's. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/print.h"

#include <stdlib.h>
#include <string.h>

#define SYMLINKS_MAX 40 /* as the kernel */

/* The deepest place that `path` is or lies in. */
static const struct policy_place *place_over(const struct policy *policy, const char *path)
{
    const struct policy_place *deepest = NULL;

    for (size_t i = 0; i < policy_places(policy); i++) {
        const struct policy_place *place = policy_place_at(policy, i);

        if (path_is_below(path, place->path)) /* sorted: a later one is deeper */
            deepest = place;
    }
    return deepest;
}

/* The job layer binds them for each run; a policy that was only derived may not have them yet. */
static const struct policy_place *place_of_run(const char *path)
{
    static char home[] = POLICY_INSIDE_HOME, tmp[] = POLICY_INSIDE_TMP,
                cache[] = POLICY_INSIDE_CACHE;
    static char why[] = "the run's own";
    static const struct policy_place places[] = {
        {.kind = POLICY_PLACE_BIND, .access = POLICY_WRITE, .path = home, .why = why},
        {.kind = POLICY_PLACE_BIND, .access = POLICY_WRITE, .path = tmp, .why = why},
        {.kind = POLICY_PLACE_BIND, .access = POLICY_WRITE, .path = cache, .why = why},
    };

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        if (path_is_below(path, places[i].path))
            return &places[i];
    }
    return NULL;
}

/* What decides: the deeper of the two. */
static const struct policy_place *place_at(const struct policy *policy, const char *path)
{
    const struct policy_place *of_run = place_of_run(path);
    const struct policy_place *place = place_over(policy, path);

    if (place == NULL || of_run == NULL)
        return place != NULL ? place : of_run;
    return strlen(place->path) < strlen(of_run->path) ? of_run : place;
}

/* Whether a rule opens or hides something below `place` that `path` is or lies in. */
static bool rule_below(const struct policy *policy, const struct policy_place *place,
                       const char *path)
{
    for (size_t i = 0; i < policy_rules(policy); i++) {
        const struct policy_rule *rule = policy_rule_at(policy, i);

        if (!rule->hold && path_is_below(path, rule->path) &&
            strlen(rule->path) > strlen(place->path))
            return true;
    }
    return false;
}

/* Where `path`, at or below the symlink `place`, leads. NULL: nowhere. */
static char *follow(const struct policy_place *place, const char *path)
{
    AUTO_FREE char *parent = strndup(place->path, (size_t) (path_base(place->path) - place->path));
    AUTO_FREE char *target = NULL;
    const char *rest = path + strlen(place->path);

    /* The last "/" of `parent` may stay: it is only looked at part by part. */
    if (parent == NULL || path_normalize(place->source, parent, NULL, &target, NULL) < 0)
        return NULL;
    return path_join(target, *rest == '/' ? rest + 1 : rest);
}

/* `name` is what follows "/dev". Folders hold names of their own. */
static bool is_own_device(const char *name)
{
    static const char *const devices[] = {"null", "zero",  "full",   "random", "urandom",
                                          "tty",  "stdin", "stdout", "stderr", "ptmx"};
    static const char *const folders[] = {"/pts", "/shm", "/fd"};

    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        if (str_equal(name + 1, devices[i]))
            return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        if (path_is_below(name, folders[i]))
            return true;
    }
    return false;
}

/* /dev holds its few names and takes no others. /proc is there to be read: what little a process
 * may set there is of itself. */
static void answer_place(const struct policy_place *place, const char *path,
                         struct policy_answer *ret)
{
    const char *rest = path + strlen(place->path);

    ret->place = place;
    ret->access = place->access;
    if (place->kind == POLICY_PLACE_PROC || (place->kind == POLICY_PLACE_DEV && *rest == '\0')) {
        ret->access = POLICY_READ;
    } else if (place->kind == POLICY_PLACE_DEV && !is_own_device(rest)) {
        ret->access = POLICY_HIDE;
        ret->why = "not among the run's own devices";
    }
}

void policy_explain(const struct policy *policy, const char *path, struct policy_answer *ret)
{
    AUTO_FREE char *at = strdup(path);

    *ret = (struct policy_answer){.access = POLICY_HIDE};
    for (int hops = 0; at != NULL && path_is_clean(at) && hops < SYMLINKS_MAX; hops++) {
        const struct policy_place *place = place_at(policy, at);
        char *next = NULL;

        if (place == NULL || rule_below(policy, place, at)) {
            ret->access = policy_resolve(policy, at, &ret->rule);
            return;
        }
        if (place->kind != POLICY_PLACE_SYMLINK && place->kind != POLICY_PLACE_STAYS) {
            answer_place(place, at, ret);
            return;
        }
        next = follow(place, at);
        free(at);
        at = next;
    }
}

static const char *answer_why(const struct policy_answer *answer)
{
    if (answer->why != NULL)
        return answer->why;
    if (answer->rule != NULL)
        return answer->rule->why;
    return answer->place != NULL ? answer->place->why : "no rule opens it";
}

int policy_print_answer(const struct policy_answer *answer, const char *path, struct buf *buf,
                        struct err *err)
{
    const char *why = answer_why(answer);

    (void) buf_printf(buf, "%-6s ", policy_access_name(answer->access));
    (void) str_add_inert(buf, path, strlen(path));
    (void) buf_add_text(buf, ": ");
    (void) str_add_inert(buf, why, strlen(why));
    if (answer->rule != NULL) {
        (void) buf_printf(buf, " (%s rule '", policy_origin_name(answer->rule->origin));
        (void) str_add_inert(buf, answer->rule->path, strlen(answer->rule->path));
        (void) buf_add_text(buf, "')");
    } else if (answer->place != NULL) {
        (void) buf_add_text(buf, " (the run's own '");
        (void) str_add_inert(buf, answer->place->path, strlen(answer->place->path));
        (void) buf_add_text(buf, "')");
    }
    (void) buf_add_text(buf, "\n");
    return buf_check(buf, "the answer", err);
}

static json_t *text_or_null(const char *text)
{
    return text == NULL ? json_null() : json_text(text, strlen(text));
}

int policy_print_answer_json(const struct policy_answer *answer, const char *path,
                             json_t **ret_json, struct err *err)
{
    AUTO(json_free) json_t *json = json_object();
    const struct policy_rule *rule = answer->rule;
    const char *origin = rule == NULL ? NULL : policy_origin_name(rule->origin);
    const char *place = answer->place == NULL ? NULL : answer->place->path;
    const char *verdict = policy_access_name(answer->access);

    if (json_object_set_new(json, "path", text_or_null(path)) < 0 ||
        json_object_set_new(json, "verdict", text_or_null(verdict)) < 0 ||
        json_object_set_new(json, "rule", text_or_null(rule == NULL ? NULL : rule->path)) < 0 ||
        json_object_set_new(json, "origin", text_or_null(origin)) < 0 ||
        json_object_set_new(json, "place", text_or_null(place)) < 0 ||
        json_object_set_new(json, "why", text_or_null(answer_why(answer))) < 0)
        return err_memory(err);
    *ret_json = TAKE_PTR(json);
    return 0;
}
