#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/host.h"
#include "cli/option_rows.h"
#include "doctor/doctor.h"

#include <errno.h>

enum { DOCTOR_CANNOT_CONFINE = 3 };

static int run(const struct values *values, struct err *err)
{
    AUTO_FREE char *host = NULL;
    struct err ignored = {0}; /* the report says that it is not known */
    struct doctor_options options = {
        .json = values->json,
        .quiet = values->quiet,
        .verbose = values->verbose,
    };
    int status;

    if (values->rest_count > 1 && str_equal(values->rest[0], "attempt"))
        return doctor_attempt(values->rest + 1); /* the doctor's own, inside: not in the help */
    if (values->rest_count > 0)
        return err_set(err, EINVAL, "cli.arguments", "'doctor' takes no arguments, not '%s'",
                       values->rest[0]);
    if (host_find(&host, &ignored) == 0)
        options.host = host;
    status = doctor_run(&options, stdout);
    if (fflush(stdout) != 0 || ferror(stdout))
        return err_set(err, EIO, "cli.output", "cannot write to the standard output");
    return status;
}

/* A doctor that cannot even report has shown nothing to be there. */
static int status_of(const struct err *err)
{
    return err->code == EINVAL ? CMD_USAGE : DOCTOR_CANNOT_CONFINE;
}

static const struct option_group *const groups[] = {
    &options_json,
    &options_doctor,
    &options_help,
    NULL,
};

const struct cmd cmd_doctor = {
    .name = "doctor",
    .summary = "try what this machine can enforce, and say what mends the rest",
    .groups = groups,
    .run = run,
    .status_of = status_of,
};
