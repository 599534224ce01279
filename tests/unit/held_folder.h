/* A pen with a run in it, and what its check tells, for the tests of held/. */
#ifndef WATTLE_TESTS_HELD_FOLDER_H
#define WATTLE_TESTS_HELD_FOLDER_H

#include "held/held.h"
#include "pen_folder.h"

#define RUN_ID "0123456789abcdef"
#define EVENTS_MAX 16

struct told {
    enum held_action action;
    enum held_how how;
    char id[HELD_ID_SIZE];
    char path[300];
    char reason[200];
};

struct telling {
    struct told events[EVENTS_MAX];
    size_t count;
};

static inline void note_event(void *context, const struct held_event *event)
{
    struct telling *telling = context;
    struct told *told = &telling->events[telling->count++];

    assert_true(telling->count <= EVENTS_MAX);
    told->action = event->action;
    told->how = event->how;
    (void) snprintf(told->id, sizeof told->id, "%s", event->id);
    (void) snprintf(told->path, sizeof told->path, "%s", event->path);
    (void) snprintf(told->reason, sizeof told->reason, "%s", event->reason);
}

static inline struct held_request request_of(const struct world *world, struct telling *telling)
{
    return (struct held_request){
        .state_dir = world->state, .run = RUN_ID, .on_event = note_event, .context = telling};
}

static inline void open_tree_of(struct world *world, char *path)
{
    char why[] = "a test";
    const struct policy_rule rule = {
        .path = path, .access = POLICY_WRITE, .origin = POLICY_FROM_PEN, .why = why};
    struct err err = {0};

    assert_int_equal(policy_add_rule(world->policy, &rule, &err), 0);
}

static inline int held_world_make(void **state)
{
    struct err err = {0};
    struct world *world;

    (void) world_make(state);
    world = *state;
    assert_int_equal(policy_set_pen(world->policy, world->pen, &err), 0);
    open_tree_of(world, world->pen);
    return 0;
}

static inline struct held *begin(struct world *world, struct telling *telling)
{
    const struct held_request request = request_of(world, telling);
    struct held *held = NULL;
    struct err err = {0};

    if (held_begin(&request, world->policy, &held, &err) < 0)
        fail_msg("%s: %s", err.id, err.what);
    return held;
}

static inline void end(struct held *held)
{
    struct err err = {0};

    if (held_end(held, &err) < 0)
        fail_msg("%s: %s", err.id, err.what);
    held_freep(&held);
}

static inline const struct told *told_of(const struct telling *telling, const char *path)
{
    for (size_t i = 0; i < telling->count; i++)
        if (strcmp(telling->events[i].path, path) == 0)
            return &telling->events[i];
    return NULL;
}

/* It was told once that this was done with this name. */
static inline const struct told *was(const struct telling *telling, const char *path,
                                     enum held_action action)
{
    const struct told *told = told_of(telling, path);

    if (told == NULL) {
        fail_msg("nothing is told of '%s'", path);
        abort(); /* fail_msg does not come back, which the compiler cannot know */
    }
    if (told->action != action)
        fail_msg("'%s' was %s, not %s: %s", path, held_action_name(told->action),
                 held_action_name(action), told->reason);
    return told;
}

static inline bool is_there(const char *path)
{
    struct stat seen;

    return lstat(path, &seen) == 0;
}

static inline void holds(const char *path, const char *text)
{
    char bytes[512] = "";
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        fail_msg("'%s' cannot be opened", path);
    assert_true(read(fd, bytes, sizeof bytes - 1) >= 0);
    assert_string_equal(bytes, text);
}

/* What the store has of it. */
static inline void store_holds(const struct world *world, const char *id, const char *text)
{
    AUTO(held_entry_free) struct held_entry entry = {0};
    AUTO(buf_free) struct buf content = {0};
    struct err err = {0};

    buf_init(&content, 4096);
    if (held_find(world->state, id, &entry, &err) < 0 ||
        held_content(world->state, &entry, &content, &err) < 0)
        fail_msg("%s: %s", err.id, err.what);
    assert_string_equal(content.bytes, text);
}

#define HELD_TEST(name) cmocka_unit_test_setup_teardown(name, held_world_make, world_remove)

#endif
