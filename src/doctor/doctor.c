/* One visit: a temporary world, every check of the table in a child of its own, the verdict. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "doctor/doctor_priv.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

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

/* False: interrupted. */
static bool run_checks(const struct doctor_world *world, int interrupt_fd,
                       struct doctor_finding *findings)
{
    const struct doctor_check *gate = NULL; /* the first that failed */

    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];

        if (gate != NULL && (check->group > gate->group || check->group >= DOCTOR_BOUNDARY)) {
            doctor_say(&findings[i], DOCTOR_SKIPPED, "not tried: '%s' is missing", gate->name);
            continue;
        }
        if (!doctor_check_run(check, world, DOCTOR_LIMIT_MS, interrupt_fd, &findings[i]))
            return false;
        if (gate == NULL && check->gate && failed(&findings[i]))
            gate = check;
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
    complete = run_checks(&world, interrupt_fd, findings);
    doctor_world_remove(&world);
    if (!complete)
        return EXIT_CANNOT_CONFINE;
    doctor_conclude(doctor_checks, doctor_check_count, findings, &verdict);
    print(findings, &verdict, options, out);
    return doctor_exit_status(&verdict);
}

/* Signals that end us wait until everything is cleaned up: they stay pending, and reach us when the
 * mask is set back. What loses its parent in a check becomes our child, and is ended. */
int doctor_run(const struct doctor_options *options, FILE *out)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    AUTO_CLOSE int interrupt_fd = -1;
    struct sigaction child_before;
    sigset_t set, before;
    int adopted = 0;
    int status;

    (void) sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
        (void) sigaddset(&set, ending[i]);
    (void) sigprocmask(SIG_BLOCK, &set, &before);
    (void) sigaction(SIGCHLD, &usual, &child_before); /* one that is ignored hides how a child ended */
    (void) prctl(PR_GET_CHILD_SUBREAPER, &adopted, 0, 0, 0);
    (void) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    interrupt_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    status = visit(options, interrupt_fd, out);
    (void) prctl(PR_SET_CHILD_SUBREAPER, adopted, 0, 0, 0);
    (void) sigaction(SIGCHLD, &child_before, NULL);
    (void) sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
