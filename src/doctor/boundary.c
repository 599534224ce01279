/* The boundary on files: reading, writing, listing, and what is handed in. */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void no_file(struct doctor_finding *finding)
{
    doctor_say(finding, DOCTOR_UNSEEN, "cannot use the temporary folder");
}

/* ---- effects: true when the attempt was one
 * ------------------------------------------------------- */

struct written {
    const char *path;
    const char *token;
};

/* And makes it clean again. */
static bool holds_token(void *context, const struct doctor_outcome *outcome)
{
    const struct written *written = context;
    AUTO(buf_free) struct buf text = {0};
    bool holds;

    (void) outcome;
    buf_init(&text, 4096);
    if (fd_read_file(AT_FDCWD, written->path, &text) < 0)
        return false;
    holds = str_equal(text.bytes, written->token);
    if (holds && truncate(written->path, 0) < 0)
        return true;
    return holds;
}

static bool is_set_id(void *context, const struct doctor_outcome *outcome)
{
    const char *path = context;
    struct stat seen;
    bool is;

    (void) outcome;
    if (lstat(path, &seen) < 0)
        return false;
    is = (seen.st_mode & (S_ISUID | S_ISGID)) != 0;
    return unlink(path) < 0 || is;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static void take_start(struct doctor_finding *finding, const struct doctor_outcome *outcome)
{
    finding->started = outcome->started;
    finding->weak = outcome->weak;
    finding->landlock_abi = outcome->landlock_abi;
}

void doctor_check_run_one(const struct doctor_world *world, struct doctor_finding *finding)
{
    AUTO(doctor_outcome_freep) struct doctor_outcome *outcome = NULL;
    char path[DOCTOR_PATH_BYTES];
    const char *const words[] = {"make", path, world->token, NULL};
    const struct doctor_trial trial = {.words = words};
    struct written written = {path, world->token};

    if (doctor_file(world->pen, "made", NULL, path) < 0) {
        no_file(finding);
        return;
    }
    outcome = doctor_trial_inside(world, &trial);
    if (outcome == NULL)
        return;
    take_start(finding, outcome);
    if (outcome->err.code != 0)
        doctor_fail(finding, DOCTOR_MISSING, &outcome->err);
    else if (!outcome->ran)
        doctor_say(finding, DOCTOR_MISSING, "a command did not run to its end: '%.100s'",
                   outcome->output);
    else if (!holds_token(&written, outcome))
        doctor_say(finding, DOCTOR_MISSING, "a file made in the pen is not seen outside (%s)",
                   outcome->why);
    else
        doctor_say(finding, DOCTOR_OK, "it made a file there");
}

/* ---- files ---------------------------------------------------------------------------------- */

void doctor_check_read(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES], token[sizeof world->token];
    const char *const words[] = {"read", path, NULL};
    const struct doctor_trial opened = {.words = words, .opened = {path, POLICY_READ}};
    const struct doctor_breakout breakout = {{.words = words}, doctor_shows_text, token, &opened};

    memcpy(token, world->token, sizeof token);
    if (doctor_file(world->outside, "secret", token, path) < 0)
        no_file(finding);
    else
        doctor_breakout_try(world, &breakout, finding);
}

void doctor_check_write(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES];
    const char *const words[] = {"write", path, world->token, NULL};
    struct written written = {path, world->token};
    const struct doctor_trial opened = {.words = words, .opened = {path, POLICY_WRITE}};
    const struct doctor_breakout breakout = {{.words = words}, holds_token, &written, &opened};

    if (doctor_file(world->outside, "canary", "", path) < 0)
        no_file(finding);
    else
        doctor_breakout_try(world, &breakout, finding);
}

/* The same flag opens the folder around wattle's own: what lies beside them is read, they are not.
 */
void doctor_check_own(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES], beside[DOCTOR_PATH_BYTES], token[sizeof world->token];
    const char *const words[] = {"read", path, NULL};
    const char *const beside_words[] = {"read", beside, NULL};
    const struct doctor_trial opened = {.words = beside_words, .opened = {world->own, POLICY_READ}};
    const struct doctor_breakout breakout = {
        {.words = words, .opened = {world->own, POLICY_READ}}, doctor_shows_text, token, &opened};

    memcpy(token, world->token, sizeof token);
    if (doctor_file(world->own, "state/secret", token, path) < 0 ||
        doctor_file(world->own, "beside", token, beside) < 0)
        no_file(finding);
    else
        doctor_breakout_try(world, &breakout, finding);
}

void doctor_check_descriptor(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES], token[sizeof world->token], number[16];
    const char *const words[] = {"descriptor", number, "secret", NULL};
    const struct doctor_breakout breakout = {{.words = words}, doctor_shows_text, token, NULL};
    AUTO_CLOSE int fd = open(world->outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    memcpy(token, world->token, sizeof token);
    (void) snprintf(number, sizeof number, "%d", fd);
    /* It stays open over an exec, on purpose. */
    if (fd < 0 || fcntl(fd, F_SETFD, 0) < 0 ||
        doctor_file(world->outside, "secret", token, path) < 0)
        no_file(finding);
    else
        doctor_breakout_try(world, &breakout, finding);
}

void doctor_check_set_id(const struct doctor_world *world, struct doctor_finding *finding)
{
    char path[DOCTOR_PATH_BYTES];
    const char *const words[] = {"set-id", path, NULL};
    const struct doctor_breakout breakout = {{.words = words}, is_set_id, path, NULL};

    if (doctor_file(world->pen, "set-id", NULL, path) < 0)
        no_file(finding);
    else
        doctor_breakout_try(world, &breakout, finding);
}

/* ---- environment ---------------------------------------------------------------------------- */

#define VARIABLE "DOCTOR_SECRET"

void doctor_check_environment(const struct doctor_world *world, struct doctor_finding *finding)
{
    char token[sizeof world->token];
    const char *const words[] = {"environment", VARIABLE, NULL};
    const struct doctor_trial opened = {.words = words, .env = VARIABLE};
    const struct doctor_breakout breakout = {{.words = words}, doctor_shows_text, token, &opened};

    memcpy(token, world->token, sizeof token);
    if (setenv(VARIABLE, token, 1) < 0)
        doctor_say(finding, DOCTOR_UNSEEN, "cannot set a variable");
    else
        doctor_breakout_try(world, &breakout, finding);
}

/* ---- the home ------------------------------------------------------------------------------- */

/* Whether the policy shows `path`, or something below it for which it must be there. */
static bool policy_shows(const struct policy *policy, const char *path)
{
    if (policy_resolve(policy, path, NULL) != POLICY_HIDE)
        return true;
    for (size_t i = 0; i < policy_rules(policy); i++) {
        if (path_is_below(policy_rule_at(policy, i)->path, path))
            return true;
    }
    for (size_t i = 0; i < policy_places(policy); i++) {
        if (path_is_below(policy_place_at(policy, i)->path, path))
            return true;
    }
    return false;
}

/* Names that nothing in the policy accounts for; outside there is no policy, and every name counts.
 */
static bool lists_too_much(void *context, const struct doctor_outcome *outcome)
{
    const char *home = context;

    for (const char *line = outcome->output, *end; *line != '\0'; line = end + (*end == '\n')) {
        AUTO_FREE char *name = NULL;
        AUTO_FREE char *path = NULL;

        end = line + strcspn(line, "\n");
        if (*end == '\0')
            break; /* the last line says what came of it */
        name = strndup(line, (size_t) (end - line));
        path = name != NULL ? path_join(home, name) : NULL;
        if (path == NULL || outcome->policy == NULL || !policy_shows(outcome->policy, path))
            return true;
    }
    return false;
}

static bool is_empty(const char *folder)
{
    AUTO_CLOSEDIR DIR *dir = opendir(folder);
    size_t count = 0;

    while (dir != NULL && readdir(dir) != NULL)
        count++;
    return dir != NULL && count <= 2;
}

void doctor_check_home(const struct doctor_world *world, struct doctor_finding *finding)
{
    char home[DOCTOR_PATH_BYTES];
    const char *const words[] = {"list", home, NULL};
    const struct doctor_breakout breakout = {{.words = words}, lists_too_much, home, NULL};

    if (world->staged == NULL)
        doctor_fail(finding, DOCTOR_UNSEEN, &world->owner_err);
    else if (is_empty(world->staged->home))
        doctor_say(finding, DOCTOR_REMARK, "not tried: '%s' is empty", world->staged->home);
    else if (snprintf(home, sizeof home, "%s", world->staged->home) >= (int) sizeof home)
        no_file(finding);
    else
        doctor_breakout_try(world, &breakout, finding);
}
