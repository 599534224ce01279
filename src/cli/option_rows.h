/* The rows of all options, in groups which the commands share. */
#ifndef WATTLE_CLI_OPTION_ROWS_H
#define WATTLE_CLI_OPTION_ROWS_H

#include "cli/options.h"

extern const struct option_group options_reach; /* what a run may read, write and reach */
extern const struct option_group options_start; /* how and where the command starts */
extern const struct option_group options_bounds;
extern const struct option_group options_mechanism;
extern const struct option_group options_dry_run;
extern const struct option_group options_report; /* of a run */
extern const struct option_group options_json;   /* --json of a command that prints */
extern const struct option_group options_explain;
extern const struct option_group options_unshare;
extern const struct option_group options_held_list;
extern const struct option_group options_held_show;
extern const struct option_group options_held_drop;
extern const struct option_group options_mcp;
extern const struct option_group options_setup;
extern const struct option_group options_pens_add;
extern const struct option_group options_of_pen; /* --pen, of a list */
extern const struct option_group options_jobs_list;
extern const struct option_group options_jobs_logs;
extern const struct option_group options_grants_pen;
extern const struct option_group options_grants_add;
extern const struct option_group options_quiet;  /* -q alone */
extern const struct option_group options_talk;   /* -q and -v of a run */
extern const struct option_group options_doctor; /* the same of the doctor */
extern const struct option_group options_help;   /* -h, of every command */

#endif
