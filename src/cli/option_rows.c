#include "cli/option_rows.h"

#define AT(member) .offset = offsetof(struct values, member)
#define ROWS(...) ((const struct option_row[]){__VA_ARGS__, {.name = NULL}})

static const char *const nets[] = {"none", "hosts", "open", NULL};
static const char *const cache_owners[] = {"pen", "job", NULL};
static const char *const mechanisms[] = {"native", NULL};
static const char *const guards[] = {"on", "detect", "off", NULL};

static const char *const job_states[] = {"awaiting_approval", "running", "exited",  "signaled",
                                         "timed_out",         "stopped", "refused", NULL};

/* clang-format off */
const struct option_group options_reach = {
    .title = "What the command may reach",
    .rows = ROWS(
        {"pen", 0, OPTION_TEXT, AT(pen), "DIR", OPTION_FOLDER, NULL,
         "the folder it works in and may change (default: the current folder)"},
        {"ro", 0, OPTION_LIST, AT(read), "PATH", OPTION_PATH, NULL,
         "let it read PATH"},
        {"rw", 0, OPTION_LIST, AT(write), "PATH", OPTION_PATH, NULL,
         "let it read and change PATH"},
        {"deny", 0, OPTION_LIST, AT(deny), "PATH", OPTION_PATH, NULL,
         "hide PATH, whatever else is open"},
        {"deny-write", 0, OPTION_LIST, AT(deny_write), "PATTERN", OPTION_PATH, NULL,
         "let it change nothing that fits: a path, or names as **/*.pem, new too"},
        {"unix", 0, OPTION_LIST, AT(unix_sockets), "PATH", OPTION_PATH, NULL,
         "let it connect to the unix socket PATH"},
        {"net", 0, OPTION_TEXT, AT(net), "MODE", OPTION_NOTHING, nets,
         "network: none (default); hosts and open are not built yet"},
        {"allow", 0, OPTION_LIST, AT(allow), "HOST[:PORT]", OPTION_NOTHING, NULL,
         "let it connect to HOST, port 443 if none is named; not built yet"},
        {"caches", 0, OPTION_TEXT, AT(caches), "WHOSE", OPTION_NOTHING, cache_owners,
         "package caches: pen (default: kept for its next runs) or job"},
        {"policy", 'p', OPTION_LIST, AT(policy_files), "FILE", OPTION_FILE, NULL,
         "read more rules from FILE"}),
};

const struct option_group options_start = {
    .title = "How it starts",
    .rows = ROWS(
        {"chdir", 'C', OPTION_TEXT, AT(chdir), "DIR", OPTION_FOLDER, NULL,
         "start it in DIR"},
        {"env", 'e', OPTION_LIST, AT(env), "NAME[=VALUE]", OPTION_NOTHING, NULL,
         "set a variable; without a value, take yours"},
        {"keep-env", 0, OPTION_REFUSED, 0, NULL, OPTION_NOTHING, NULL,
         "an environment taken as a whole brings its keys and tokens along; "
         "name each variable with '-e NAME'"}),
};

const struct option_group options_bounds = {
    .title = "Bounds",
    .rows = ROWS(
        {"timeout", 0, OPTION_MS, AT(timeout_ms), "TIME", OPTION_NOTHING, NULL,
         "end it after TIME: 90, 90s, 5m, 2h, 1500ms (default: never)"},
        {"kill-after", 0, OPTION_MS, AT(kill_after_ms), "TIME", OPTION_NOTHING, NULL,
         "from being asked to end until being killed (default: 2s)"},
        {"memory", 0, OPTION_BYTES, AT(memory_bytes), "SIZE", OPTION_NOTHING, NULL,
         "memory of all its processes together; needs a cgroup (default: none)"},
        {"pids", 0, OPTION_COUNT, AT(processes), "NUMBER", OPTION_NOTHING, NULL,
         "processes at one time (default: 4096)"},
        {"open-files", 0, OPTION_COUNT, AT(open_files), "NUMBER", OPTION_NOTHING, NULL,
         "open files of one process (default: 4096)"},
        {"file-size", 0, OPTION_BYTES, AT(file_bytes), "SIZE", OPTION_NOTHING, NULL,
         "greatest size of one file (default: 32G)"},
        {"tmp-size", 0, OPTION_BYTES, AT(tmp_bytes), "SIZE", OPTION_NOTHING, NULL,
         "size of /tmp and of the home, each in memory (default: 256M)"}),
};

const struct option_group options_mechanism = {
    .title = "The fence",
    .rows = ROWS(
        {"mechanism", 0, OPTION_TEXT, AT(mechanism), "NAME", OPTION_NOTHING, mechanisms,
         "how to enforce the policy: native (default: the first that can)"},
        {"guard", 0, OPTION_TEXT, AT(guard), "on|detect|off", OPTION_NOTHING, guards,
         "names like git hooks: on refuses, detect holds old, off (default: on)"}),
};

const struct option_group options_dry_run = {
    .title = "Look first",
    .rows = ROWS(
        {"dry-run", 0, OPTION_FLAG, AT(dry_run), NULL, OPTION_NOTHING, NULL,
         "print what it could reach, and run nothing"},
        {"json", 0, OPTION_FLAG, AT(json), NULL, OPTION_NOTHING, NULL,
         "with --dry-run: print that, and errors, as JSON"}),
};

const struct option_group options_report = {
    .title = "Terminal and reports",
    .rows = ROWS(
        {"tty", 't', OPTION_FLAG, AT(tty), NULL, OPTION_NOTHING, NULL,
         "give it a terminal of its own (default: when yours is on 0, 1 and 2)"},
        {"no-tty", 'T', OPTION_FLAG, AT(no_tty), NULL, OPTION_NOTHING, NULL,
         "give it no terminal"},
        {"status-fd", 0, OPTION_COUNT, AT(status_fd), "N", OPTION_NOTHING, NULL,
         "write JSON lines on start and end to descriptor N"},
        {"made-fd", 0, OPTION_COUNT, AT(made_fd), "N", OPTION_NOTHING, NULL,
         "write the names it made to descriptor N, each with a NUL"}),
};

const struct option_group options_json = {
    .title = "Output",
    .rows = ROWS(
        {"json", 0, OPTION_FLAG, AT(json), NULL, OPTION_NOTHING, NULL,
         "print JSON, errors too"}),
};

const struct option_group options_mcp = {
    .title = "Whose turn",
    .rows = ROWS(
        {"pen", 0, OPTION_TEXT, AT(pen), "DIR", OPTION_FOLDER, NULL,
         "the pen, made one with wattle pens add (default: this folder)"},
        {"chat", 0, OPTION_TEXT, AT(chat), "NAME", OPTION_NOTHING, NULL,
         "the chat its records are kept under (default: default)"}),
};

const struct option_group options_setup = {
    .title = "The entry",
    .rows = ROWS(
        {"pen", 0, OPTION_TEXT, AT(pen), "DIR", OPTION_FOLDER, NULL,
         "the pen it is for (default: the folder the client works in)"},
        {"chat", 0, OPTION_TEXT, AT(chat), "NAME", OPTION_NOTHING, NULL,
         "the chat its records are kept under (default: default)"},
        {"project", 0, OPTION_FLAG, AT(project), NULL, OPTION_NOTHING, NULL,
         "into the file of the project (--pen, or this folder), not into your own"},
        {"write", 0, OPTION_FLAG, AT(to_write), NULL, OPTION_NOTHING, NULL,
         "write it; at a terminal you are asked first"},
        {"remove", 0, OPTION_FLAG, AT(remove), NULL, OPTION_NOTHING, NULL,
         "take it out; without --write only what would be done is said"},
        {"dry-run", 0, OPTION_FLAG, AT(dry_run), NULL, OPTION_NOTHING, NULL,
         "read the file, say what would be done, and change nothing"}),
};

const struct option_group options_pens_add = {
    .title = "The pen",
    .rows = ROWS(
        {"name", 0, OPTION_TEXT, AT(name), "NAME", OPTION_NOTHING, NULL,
         "how lists call it"}),
};

const struct option_group options_of_pen = {
    .title = "Which",
    .rows = ROWS(
        {"pen", 0, OPTION_TEXT, AT(pen), "PEN", OPTION_FOLDER, NULL,
         "only those of this pen: its id or its folder"}),
};

const struct option_group options_jobs_list = {
    .title = "Which",
    .rows = ROWS(
        {"pen", 0, OPTION_TEXT, AT(pen), "PEN", OPTION_FOLDER, NULL,
         "only those of this pen: its id or its folder"},
        {"chat", 0, OPTION_TEXT, AT(chat), "CHAT", OPTION_NOTHING, NULL,
         "only those of this chat, by its id"},
        {"state", 0, OPTION_TEXT, AT(state), "STATE", OPTION_NOTHING, job_states,
         "only those in this state"},
        {"limit", 0, OPTION_COUNT, AT(limit), "NUMBER", OPTION_NOTHING, NULL,
         "at most so many (default: 100, at most 1000)"}),
};

const struct option_group options_jobs_logs = {
    .title = "How long",
    .rows = ROWS(
        {"follow", 'f', OPTION_FLAG, AT(follow), NULL, OPTION_NOTHING, NULL,
         "go on until the command is over"}),
};

const struct option_group options_grants_pen = {
    .title = "Which",
    .rows = ROWS(
        {"pen", 0, OPTION_TEXT, AT(pen), "PEN", OPTION_FOLDER, NULL,
         "the pen, by its id or its folder, instead of the first word"}),
};

const struct option_group options_grants_add = {
    .title = "How far",
    .rows = ROWS(
        {"chat", 0, OPTION_TEXT, AT(chat), "CHAT", OPTION_NOTHING, NULL,
         "only in this chat, by its id (default: the whole pen)"},
        {"network", 0, OPTION_FLAG, AT(network), NULL, OPTION_NOTHING, NULL,
         "also with network, which this version gives nobody yet"}),
};

const struct option_group options_explain = {
    .title = "The question",
    .rows = ROWS(
        {"write", 0, OPTION_FLAG, AT(to_write), NULL, OPTION_NOTHING, NULL,
         "ask whether PATH may be changed, not only read"}),
};

const struct option_group options_unshare = {
    .title = "Look first",
    .rows = ROWS(
        {"dry-run", 0, OPTION_FLAG, AT(dry_run), NULL, OPTION_NOTHING, NULL,
         "print what would be copied, and change nothing"}),
};

const struct option_group options_held_list = {
    .title = "Which",
    .rows = ROWS(
        {"pen", 0, OPTION_TEXT, AT(pen), "DIR", OPTION_FOLDER, NULL,
         "only what lay in DIR"}),
};

const struct option_group options_held_show = {
    .title = "How",
    .rows = ROWS(
        {"raw", 0, OPTION_FLAG, AT(raw), NULL, OPTION_NOTHING, NULL,
         "print the content alone, as it is: for a file, not for a terminal"}),
};

const struct option_group options_held_drop = {
    .title = "Which",
    .rows = ROWS(
        {"all", 0, OPTION_FLAG, AT(all), NULL, OPTION_NOTHING, NULL,
         "all there are"}),
};

const struct option_group options_quiet = {
    .title = "How much is said",
    .rows = ROWS(
        {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, OPTION_NOTHING, NULL,
         "say nothing but errors"}),
};

const struct option_group options_talk = {
    .title = "How much is said",
    .rows = ROWS(
        {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, OPTION_NOTHING, NULL,
         "say nothing but errors: no hints why it failed"},
        {"verbose", 'v', OPTION_FLAG, AT(verbose), NULL, OPTION_NOTHING, NULL,
         "say what was noticed, and what is weaker than the best"}),
};

const struct option_group options_doctor = {
    .title = "How much is said",
    .rows = ROWS(
        {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, OPTION_NOTHING, NULL,
         "say nothing when all is there, and else only what is not"},
        {"verbose", 'v', OPTION_FLAG, AT(verbose), NULL, OPTION_NOTHING, NULL,
         "show every check, and what it found"}),
};

const struct option_group options_help = {
    .title = "Help",
    .rows = ROWS(
        {"help", 'h', OPTION_FLAG, AT(help), NULL, OPTION_NOTHING, NULL,
         "print this help"}),
};
/* clang-format on */
