/* A policy for people and programs. Layer 1. Uses jansson: not linked into wattle-job. */
#ifndef WATTLE_POLICY_PRINT_H
#define WATTLE_POLICY_PRINT_H

#include "base/buf.h"
#include "policy/policy.h"

#include <jansson.h>

/* A readable table: pen, command, rules with reasons, places, environment (names only, values of
 * harmless ones), limits, network, what is required, notes. Control characters inert. */
int policy_print_text(const struct policy *policy, struct buf *buf, struct err *err) MUST_CHECK;

/* The same as one object, {"schema":"wattle.policy","v":1,...}. Caller json_decref's. */
int policy_print_json(const struct policy *policy, json_t **ret_json, struct err *err) MUST_CHECK;

/* What a job may do at one path of the host, and what decides it. Symlinks made for the run are
 * followed; those of the host are the caller's business. */
struct policy_answer {
    enum policy_access access;
    const struct policy_rule *rule;   /* borrowed; NULL when none decides */
    const struct policy_place *place; /* set when a path inside is the job's own (/tmp, /dev ...) */
    const char *why;                  /* borrowed; NULL: the reason of the rule or place */
};
void policy_explain(const struct policy *policy, const char *path, struct policy_answer *ret);

/* One line: "read   /usr/bin/make: system programs (base rule '/usr')". */
int policy_print_answer(const struct policy_answer *answer, const char *path, struct buf *buf,
                        struct err *err) MUST_CHECK;

/* "2 s", "1500 ms", "none" for 0. */
void policy_print_time(uint64_t time_ms, char *text, size_t size);

/* {"path","verdict","rule","origin","why"}, "place" instead of rule and origin where it decides;
 * null for what is not there. Caller json_decref's. */
int policy_print_answer_json(const struct policy_answer *answer, const char *path,
                             json_t **ret_json, struct err *err) MUST_CHECK;

#endif
