/* One visit: a temporary world, every check of the table in a child of its own, the verdict. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "doctor/doctor_priv.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

enum { REPORT_LIMIT_BYTES = 256 << 10, EXIT_CANNOT_CONFINE = 3 };

void doctor_say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
{
    va_list arguments;

    finding->status = status;
    va_start(arguments, format);
    (void) vsnprintf(finding->detail, sizeof finding->detail, format, arguments);
    va_end(arguments);
}

void doctor_mend(struct doctor_finding *finding, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void) vsnprintf(finding->mend, sizeof finding->mend, format, arguments);
    va_end(arguments);
}

void doctor_fail(struct doctor_finding *finding, enum doctor_status status, const struct err *err)
{
    doctor_say(finding, status, "%s", err->what);
    if (err->hint[0] != '\0')
        doctor_mend(finding, "%s", err->hint);
}

static bool failed(const struct doctor_finding *finding)
{
    return finding->status >= DOCTOR_MISSING;
}

/* The check for whose failure number `index` is not tried, or NULL. */
static const struct doctor_check *find_obstacle(size_t index, const struct doctor_finding *findings)
{
    const struct doctor_check *check = &doctor_checks[index];

    for (size_t i = 0; i < index; i++) {
        const struct doctor_check *before = &doctor_checks[i];
        const bool needed = check->needs != NULL && str_equal(check->needs, before->name);
        const bool stops = before->stops == DOCTOR_STOPS_ALL ||
                           (before->stops == DOCTOR_STOPS_RUNS && check->group >= DOCTOR_BOUNDARY);

        if ((needed || stops) && failed(&findings[i]))
            return before;
    }
    return NULL;
}

/* False: interrupted. */
static bool run_checks(const struct doctor_world *world, int interrupt_fd,
                       struct doctor_finding *findings)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *obstacle = find_obstacle(i, findings);

        if (obstacle != NULL)
            doctor_say(&findings[i], DOCTOR_SKIPPED, "not tried without '%s'", obstacle->name);
        else if (!doctor_check_run(&doctor_checks[i], world, DOCTOR_LIMIT_MS, interrupt_fd,
                                   &findings[i]))
            return false;
    }
    return true;
}

static void print(const struct doctor_finding *findings, const struct doctor_verdict *verdict,
                  const struct doctor_options *options, FILE *out)
{
    AUTO(buf_free) struct buf text = {0};

    buf_init(&text, REPORT_LIMIT_BYTES);
    if (!options->json)
        doctor_print_table(doctor_checks, doctor_check_count, findings, verdict, options, &text);
    else if (doctor_print_json(doctor_checks, doctor_check_count, findings, verdict, &text) < 0)
        return;
    (void) fwrite(text.bytes, 1, text.size, out); /* the caller looks at ferror(out) */
}

static int visit(const struct doctor_options *options, int interrupt_fd, FILE *out)
{
    AUTO_FREE struct doctor_finding *findings = calloc(doctor_check_count, sizeof *findings);
    struct doctor_verdict verdict = {0};
    struct doctor_world world;
    bool complete;

    if (findings == NULL)
        return EXIT_CANNOT_CONFINE;
    doctor_world_make(&world);
    world.host = options->host;
    complete = run_checks(&world, interrupt_fd, findings);
    doctor_world_remove(&world);
    if (!complete)
        return EXIT_CANNOT_CONFINE;
    doctor_conclude(doctor_checks, doctor_check_count, findings, &verdict);
    print(findings, &verdict, options, out);
    return doctor_exit_status(&verdict);
}

/* Signals that end us wait until everything is cleaned up: they stay pending, and reach us when the
 * mask is set back. Those the caller has us ignore do not count. */
static void hold_signals(sigset_t *ret_held, sigset_t *ret_before)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    (void) sigemptyset(ret_held);
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
        struct sigaction now;

        if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void) sigaddset(ret_held, ending[i]);
    }
    (void) sigprocmask(SIG_BLOCK, ret_held, ret_before);
}

/* What loses its parent in a check becomes our child, and is ended. */
int doctor_run(const struct doctor_options *options, FILE *out)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    const mode_t umask_before = umask(077);
    AUTO_CLOSE int interrupt_fd = -1;
    struct sigaction child_before;
    sigset_t held, before;
    int adopted = 0;
    int status;

    hold_signals(&held, &before);
    (void) sigaction(SIGCHLD, &usual, &child_before); /* ignored, it hides how a child ended */
    (void) prctl(PR_GET_CHILD_SUBREAPER, &adopted, 0, 0, 0);
    (void) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    interrupt_fd = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    status = visit(options, interrupt_fd, out);
    (void) prctl(PR_SET_CHILD_SUBREAPER, adopted, 0, 0, 0);
    (void) sigaction(SIGCHLD, &child_before, NULL);
    (void) umask(umask_before);
    (void) sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
