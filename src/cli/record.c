#include "cli/record.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "job/outlook.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    VERSION = 1,
    PLACE_LIMIT_BYTES = 448,
    COMMAND_LIMIT_BYTES = 32 << 10, /* of the arguments in one line of the spool */
    TOLD_LIMIT_BYTES = 3 << 10,     /* of what is told in the last line, which fits into a pipe */
};

void record_new_id(char id[RECORD_ID_SIZE])
{
    uint64_t number = 0;

    /* Fails only where getrandom is missing; a time is unique enough to tell runs apart. */
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t) sizeof number)
        number = clock_wall_ms() << 22 ^ (uint64_t) getpid();
    (void) snprintf(id, RECORD_ID_SIZE, "%016llx", (unsigned long long) number);
}

/* Takes `value`; a NULL one stands for no memory. Returns 0 or -1, to be or-ed together. */
static int put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

static json_t *text_of(const char *text)
{
    return json_text(text, strlen(text));
}

static json_t *event_of(const struct record_run *run, const char *name)
{
    json_t *event = json_object();
    int failed = 0;

    failed |= put(event, "event", json_string(name));
    failed |= put(event, "v", json_integer(VERSION));
    failed |= put(event, "run", json_string(run->id));
    failed |= put(event, "time_ms", json_integer((json_int_t) clock_wall_ms()));
    if (failed != 0) {
        json_decref(event);
        return NULL;
    }
    return event;
}

static int put_fence(json_t *object, const struct job_start *start)
{
    json_t *weak = json_array();
    struct job_weakness weakness;
    int failed = 0;

    for (size_t i = 0; job_weakness(start->weak, i, &weakness); i++)
        failed |= json_array_append_new(weak, json_string(weakness.id));
    failed |= put(object, "mechanism", json_string(start->mechanism));
    failed |= put(object, "landlock_abi", json_integer(start->landlock_abi));
    failed |= put(object, "weak", weak);
    return failed;
}

json_t *record_fence(const struct job_start *start)
{
    AUTO(json_free) json_t *fence = json_object();

    return put_fence(fence, start) == 0 ? TAKE_PTR(fence) : NULL;
}

static json_t *start_of(const struct record_run *run, const struct job_start *start)
{
    AUTO(json_free) json_t *event = event_of(run, "start");

    if (event == NULL || put(event, "pid", json_integer(start->init_pid)) != 0 ||
        put_fence(event, start) != 0)
        return NULL;
    return TAKE_PTR(event);
}

int record_status_start(const struct record_run *run, const struct job_start *start,
                        struct buf *line)
{
    AUTO(json_free) json_t *event = start_of(run, start);

    return event != NULL ? json_print(line, event) : -ENOMEM;
}

/* Arguments past the limit are left out, and the line says how many there were. */
static int put_command(json_t *event, const char *const *argv)
{
    json_t *command = json_array();
    size_t bytes = 0;
    int failed = put(event, "command", command);
    int count = 0;

    for (; argv[count] != NULL; count++) {
        bytes += strlen(argv[count]);
        if (bytes <= COMMAND_LIMIT_BYTES)
            failed |= json_array_append_new(command, text_of(argv[count]));
    }
    return failed | put(event, "argc", json_integer(count));
}

int record_spool_start(const struct record_run *run, const struct job_start *start,
                       struct buf *line)
{
    AUTO(json_free) json_t *event = start_of(run, start);
    int failed = 0;

    if (event == NULL)
        return -ENOMEM;
    failed |= put(event, "pen", text_of(policy_pen(run->policy)));
    failed |= put(event, "cwd", text_of(policy_cwd(run->policy)));
    failed |= put_command(event, run->argv);
    return failed == 0 ? json_print(line, event) : -ENOMEM;
}

int record_denied(const struct record_run *run, const struct job_denial *denial, struct buf *line)
{
    AUTO(json_free) json_t *event = event_of(run, "denied");
    int failed = 0;

    if (event == NULL)
        return -ENOMEM;
    failed |= put(event, "call", text_of(denial->call));
    failed |= put(event, "path", text_of(denial->path));
    failed |= put(event, "program", text_of(denial->program));
    failed |= put(event, "pid", json_integer(denial->pid));
    failed |= put(event, "reason", text_of(denial->reason));
    return failed == 0 ? json_print(line, event) : -ENOMEM;
}

/* The end of a long path: a line has to fit into a pipe, whatever bytes are in it. */
static json_t *place_of(const struct held_event *event)
{
    AUTO_FREE char *place = path_join(event->top, event->path);
    const size_t size = place != NULL ? strlen(place) : 0;

    if (place == NULL)
        return NULL;
    return size <= PLACE_LIMIT_BYTES
               ? text_of(place)
               : json_text(place + size - PLACE_LIMIT_BYTES, PLACE_LIMIT_BYTES);
}

int record_held(const struct record_run *run, const struct held_event *event, struct buf *line)
{
    AUTO(json_free) json_t *object = event_of(run, "held");
    const bool is_stored = event->id[0] != '\0';
    int failed = 0;

    if (object == NULL)
        return -ENOMEM;
    failed |= put(object, "action", json_string(held_action_name(event->action)));
    failed |= put(object, "path", place_of(event));
    failed |= put(object, "reason", text_of(event->reason));
    failed |= put(object, "id", is_stored ? json_string(event->id) : json_null());
    failed |= put(object, "how", is_stored ? json_string(held_how_name(event->how)) : json_null());
    return failed == 0 ? json_print(line, object) : -ENOMEM;
}

static int put_result(json_t *event, const struct job_result *result)
{
    const bool exited = WIFEXITED(result->status);
    int failed = 0;

    failed |=
        put(event, "exited", exited ? json_integer(WEXITSTATUS(result->status)) : json_null());
    failed |=
        put(event, "signal", result->signal != 0 ? json_integer(result->signal) : json_null());
    failed |= put(event, "timed_out", json_boolean(result->timed_out));
    failed |= put(event, "stopped", json_boolean(result->stopped));
    failed |= put(event, "denied", json_integer((json_int_t) result->denied));
    failed |= put(event, "wall_ms", json_integer((json_int_t) result->wall_ms));
    return failed;
}

static json_t *told_of(const struct job_told *told)
{
    AUTO(json_free) json_t *object = json_object();
    int failed = 0;

    failed |= put(object, "path", text_of(told->name));
    failed |= put(object, "reason", json_string(told->reason));
    if (told->deeper)
        failed |= put(object, "deeper", json_true());
    if (told->gone)
        failed |= put(object, "gone", json_true());
    return failed == 0 ? TAKE_PTR(object) : NULL;
}

/* So many bytes as it takes in a line. */
static size_t size_of(const json_t *object)
{
    return json_dumpb(object, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) + sizeof ",";
}

json_t *record_made(const struct job_made *made)
{
    AUTO(json_free) json_t *object = json_object();
    json_t *list = json_array();
    size_t bytes = 0;
    int failed = 0;

    failed |= put(object, "count", json_integer((json_int_t) made->count));
    failed |= put(object, "complete", json_boolean(made->complete));
    failed |= put(object, "told", list);
    failed |= put(object, "told_count", json_integer((json_int_t) made->told_total));
    for (size_t i = 0; failed == 0 && i < made->told_count; i++) {
        AUTO(json_free) json_t *told = told_of(&made->told[i]);

        if (told == NULL)
            return NULL;
        bytes += size_of(told);
        if (bytes <= TOLD_LIMIT_BYTES)
            failed |= json_array_append(list, told);
    }
    return failed == 0 ? TAKE_PTR(object) : NULL;
}

json_t *record_error(const struct err *err)
{
    AUTO(json_free) json_t *error = json_object();
    int failed = 0;

    failed |= put(error, "id", json_string(err->id));
    failed |= put(error, "what", text_of(err->what));
    failed |= put(error, "hint", text_of(err->hint));
    return failed == 0 ? TAKE_PTR(error) : NULL;
}

int record_end(const struct record_run *run, int exit_code, const struct job_result *result,
               const struct err *refusal, struct buf *line)
{
    AUTO(json_free) json_t *event = event_of(run, "exit");

    if (event == NULL || put(event, "code", json_integer(exit_code)) != 0)
        return -ENOMEM;
    if (result != NULL && put_result(event, result) != 0)
        return -ENOMEM;
    if (run->made != NULL && put(event, "made", json_incref(run->made)) != 0)
        return -ENOMEM;
    if (refusal != NULL && put(event, "error", record_error(refusal)) != 0)
        return -ENOMEM;
    return json_print(line, event);
}

int record_error_line(const struct err *err, struct buf *line)
{
    AUTO(json_free) json_t *object = json_object();

    if (put(object, "error", record_error(err)) != 0)
        return -ENOMEM;
    return json_print(line, object);
}
