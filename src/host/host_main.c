/* wattle-host: decides what a model may run, and keeps the records.
 *
 *   wattle-host FOLDER
 *   wattle-host --check STATE_DIR
 *
 * FOLDER holds the two doors (rpc/client.h). Started by whoever needs it, with the owner's
 * locations as its whole environment; descriptor RPC_READY_FD gets one word once it listens. One
 * instance: the lock in FOLDER. It ends by itself when it was idle for long, on TERM, and on
 * 'host.stop'; jobs end with it, because each wattle-job dies with its socket. What a killed one
 * left is finished at the next start (store_finish_crashed).
 *
 * The second form reads all of the store, which no start takes the time for, and prints what is
 * wrong with it: exit 1. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "host/copy.h"
#include "host/job_priv.h"
#include "job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_LOCK "host.lock" /* in the owner's state */

enum { DAY_MS = 24 * 60 * 60 * 1000, REST_MS = 1000 };
enum { EXIT_BUSY = 3, EXIT_FAILED = 1, EXIT_USAGE = 2 };

const struct host_limits host_default_limits = {
    .idle_ms = 600000,
    .turn_idle_ms = 1800000,
    .hello_ms = 10000,
    .half_ms = 30000,
    .foreground_ms = 45000,
    .deadline_least_ms = 1000,
    .deadline_most_ms = 600000,
    .deadline_usual_ms = 120000,
    .approval_ms = 600000,
    .turn_jobs = 4,
    .jobs = 32,
    .records = 100,
    .requests = 64,
    .pending_bytes = RPC_MESSAGE_LIMIT_BYTES + sizeof(uint32_t),
    .copy_bytes = UINT64_C(256) << 20,
};

/* ---- the word to who started it -------------------------------------------------------------- */

/* Descriptor 3 may be missing when a person starts it. */
static void say(const char *word)
{
    (void) !write(RPC_READY_FD, word, strlen(word));
    (void) close(RPC_READY_FD);
}

static int fail(const struct err *err)
{
    char words[sizeof err->what + sizeof err->hint + 4];

    (void) snprintf(words, sizeof words, "%s%s%s", err->what, err->hint[0] == '\0' ? "" : "; ",
                    err->hint);
    say(words);
    (void) dprintf(STDERR_FILENO, "wattle-host: %s\n", words);
    return EXIT_FAILED;
}

/* ---- idle and end ---------------------------------------------------------------------------- */

static void on_idle(uv_timer_t *timer)
{
    host_end(timer->data, "idle");
}

/* Nothing runs, but a client may stay for days: what the last jobs took goes back to the system. */
static void on_rest(uv_timer_t *timer)
{
    const struct host *host = timer->data;

    if (host->jobs != NULL)
        return; /* the end of these begins it again */
    store_rest(host->store);
    (void) malloc_trim(0);
}

void host_watch_idle(struct host *host)
{
    if (host->ending)
        return;
    (void) uv_timer_start(&host->rest, on_rest, REST_MS, 0);
    if (host->client_count > 0 || host->jobs != NULL)
        (void) uv_timer_stop(&host->idle);
    else
        (void) uv_timer_start(&host->idle, on_idle, host->limits.idle_ms, 0);
}

static int log_host(struct host *host, const char *kind, json_t *body_, struct err *err)
{
    AUTO(json_free) json_t *body = body_;
    AUTO_FREE char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    const struct store_row row = {.kind = kind, .body = text};

    return text == NULL ? err_memory(err) : store_log_add(host->store, &row, err);
}

void host_end(struct host *host, const char *why)
{
    struct err ignored = {0}; /* an end that cannot be written is one without a row, as a crash */

    if (host->ending)
        return;
    host->ending = true;
    host_doors_close(host);
    host_jobs_end(host);
    host_spool_close(host);
    (void) !log_host(host, "host.stop", json_pack("{s:s}", "why", why), &ignored);
    uv_close((uv_handle_t *) &host->idle, NULL);
    uv_close((uv_handle_t *) &host->rest, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(host->signals); i++)
        uv_close((uv_handle_t *) &host->signals[i], NULL);
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void) number;
    host_end(signal->data, "signal");
}

/* ---- start ----------------------------------------------------------------------------------- */

/* 1: another host has it. *ret_fd holds it for as long as the process lives. */
static int take_lock(const char *folder, const char *name, int *ret_fd, struct err *err)
{
    AUTO_CLOSE int folder_fd = path_open_plain(AT_FDCWD, folder, O_PATH | O_DIRECTORY);

    if (folder_fd < 0)
        return err_set(err, -folder_fd, "host.folder", "cannot open '%s'", folder);
    *ret_fd = path_open_below(folder_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*ret_fd < 0)
        return err_set(err, -*ret_fd, "host.lock", "cannot open the lock '%s/%s'", folder, name);
    if (flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return 1;
    return err_set(err, errno, "host.lock", "cannot take the lock '%s/%s'", folder, name);
}

/* Whoever has the lock of another folder, by another XDG_RUNTIME_DIR, has the same store: to one of
 * two hosts the jobs of the other would be those of a dead one. */
static int take_store(struct host *host, struct err *err)
{
    const char *folder = host->owner->state_dir;
    const int r = take_lock(folder, STORE_LOCK, &host->store_lock_fd, err);

    if (r != 1)
        return r;
    (void) err_set(err, EBUSY, "host.store-taken", "another host of yours has the store in '%s'",
                   folder);
    return err_hint(err,
                    "it was started with another XDG_RUNTIME_DIR: use the same, or end it with "
                    "'wattle host stop' there");
}

/* wattle-job lies beside us, also in a build folder. */
static int find_job_program(struct host *host, struct err *err)
{
    static const char *const places[] = {"wattle-job", "../job/wattle-job"};
    AUTO_FREE char *self = NULL;
    char *slash;
    int r = path_physical("/proc/self/exe", &self, err);

    if (r < 0)
        return r;
    slash = strrchr(self, '/');
    *slash = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        AUTO_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s", self, places[i]) < 0)
            return err_memory(err);
        if (access(path, X_OK) == 0)
            return path_physical(path, &host->job_program, err);
    }
    return err_set(err, ENOENT, "host.job-missing",
                   "there is no 'wattle-job' beside '%s/wattle-host'", self);
}

/* `crashed`: so many jobs were under way when the last host was killed. */
static int log_start(struct host *host, uint64_t crashed, struct err *err)
{
    return log_host(host, "host.start",
                    json_pack("{s:s, s:i, s:I}", "version", WATTLE_VERSION, "pid", (int) getpid(),
                              "stopped", (json_int_t) crashed),
                    err);
}

static int open_store(struct host *host, struct err *err)
{
    uint64_t crashed = 0;
    int r = path_make_folders(host->owner->state_dir, 0700);

    if (r < 0)
        return err_set(err, -r, "host.state", "cannot make '%s'", host->owner->state_dir);
    r = take_store(host, err);
    if (r < 0)
        return r;
    r = store_open(host->owner->state_dir, &host->store, err);
    if (r == 0)
        r = store_finish_crashed(host->store, "the host was ended while it ran", &crashed, err);
    if (r == 0)
        r = log_start(host, crashed, err);
    if (r == 0)
        r = job_sweep(host->owner->cache_dir, err);
    if (r >= 0)
        r = copy_sweep(host->owner, err);
    return r < 0 ? r : 0;
}

static int start_loop(struct host *host, struct err *err)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    int r = uv_loop_init(&host->loop);

    if (r < 0)
        return err_set(err, -r, "host.loop", "cannot make a loop");
    (void) uv_timer_init(&host->loop, &host->idle);
    (void) uv_timer_init(&host->loop, &host->rest);
    host->idle.data = host->rest.data = host;
    for (size_t i = 0; i < ARRAY_SIZE(host->signals); i++) {
        (void) uv_signal_init(&host->loop, &host->signals[i]);
        host->signals[i].data = host;
        (void) uv_signal_start(&host->signals[i], on_signal, numbers[i]);
    }
    host_spool_open(host);
    return host_doors_open(host, err);
}

static uint64_t given(uint64_t usual, uint64_t said)
{
    return said != 0 ? said : usual;
}

/* More than a day is more than the tool of `wattle mcp` takes. */
static int check_limits(const struct host_limits *limits, struct err *err)
{
    if (limits->deadline_most_ms > DAY_MS)
        return err_set(err, EINVAL, "settings.value",
                       "config.json: 'wattle.host.deadlineMost' can be at most 24h");
    if (limits->deadline_least_ms <= limits->deadline_most_ms)
        return 0;
    return err_set(err, EINVAL, "settings.value",
                   "config.json: 'wattle.host.deadlineLeast' is more than "
                   "'wattle.host.deadlineMost'");
}

/* Once: what the owner changes counts for the next host. */
static int read_limits(struct host *host, struct err *err)
{
    AUTO(settings_freep) struct settings *settings = NULL;
    struct host_limits *limits = &host->limits;
    const struct settings_host *said;
    int r = derive_settings_own(host->owner, &settings, err);

    if (r < 0)
        return r;
    said = &settings->host;
    limits->turn_jobs = (unsigned) given(limits->turn_jobs, said->turn_jobs);
    limits->jobs = (unsigned) given(limits->jobs, said->jobs);
    limits->deadline_least_ms = given(limits->deadline_least_ms, said->deadline_least_ms);
    limits->deadline_most_ms = given(limits->deadline_most_ms, said->deadline_most_ms);
    limits->foreground_ms = given(limits->foreground_ms, said->foreground_ms);
    limits->records = given(limits->records, said->records);
    limits->idle_ms = given(limits->idle_ms, said->idle_ms);
    limits->turn_idle_ms = given(limits->turn_idle_ms, said->turn_idle_ms);
    limits->copy_bytes = given(limits->copy_bytes, said->copy_bytes);
    return check_limits(limits, err);
}

static int start(struct host *host, struct err *err)
{
    int r = take_lock(host->folder, RPC_HOST_LOCK, &host->lock_fd, err);

    if (r == 0)
        r = find_job_program(host, err);
    if (r == 0)
        r = derive_owner_find(NULL, &host->owner, err);
    if (r == 0)
        r = read_limits(host, err);
    if (r == 0)
        r = open_store(host, err);
    return r == 0 ? start_loop(host, err) : r;
}

static int check(const char *state_dir)
{
    struct err err = {0};
    const int r = store_check_place(state_dir, &err);

    if (r == 0)
        (void) printf("'%s/wattle.db'", state_dir);
    else if (r == -ENOENT)
        (void) printf("there is none yet");
    else
        (void) printf("%s", err.what);
    return r == 0 || r == -ENOENT ? 0 : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    struct host host = {.limits = host_default_limits, .lock_fd = -1, .store_lock_fd = -1};
    struct err err = {0};
    int r;

    if (argc == 3 && str_equal(argv[1], "--check") && path_is_clean(argv[2]))
        return check(argv[2]);
    if (argc != 2 || !path_is_clean(argv[1])) {
        (void) fprintf(stderr, "usage: wattle-host FOLDER | --check STATE_DIR\n");
        return EXIT_USAGE;
    }
    /* Looks through pens run in threads; a heap of each would stay as large as its largest look. */
    (void) mallopt(M_ARENA_MAX, 1);
    (void) umask(077);
    (void) signal(SIGPIPE, SIG_IGN);
    if (fcntl(RPC_READY_FD, F_SETFD, FD_CLOEXEC) < 0 || fd_fill_standard() < 0)
        (void) open("/dev/null", O_RDWR | O_CLOEXEC); /* nobody waits: keep the number taken */
    host.folder = argv[1];
    host.since_ms = clock_wall_ms();
    r = start(&host, &err);
    if (r > 0) {
        say(RPC_BUSY);
        return EXIT_BUSY;
    }
    if (r < 0)
        return fail(&err);
    say(RPC_READY);
    host_watch_idle(&host);
    (void) uv_run(&host.loop, UV_RUN_DEFAULT);
    (void) uv_loop_close(&host.loop);
    store_freep(&host.store);
    derive_owner_freep(&host.owner);
    free(host.job_program);
    return 0; /* the lock goes with the process */
}
