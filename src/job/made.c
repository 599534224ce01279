#include "job/made.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the memory ------------------------------------------------------------------------------ */

int made_open(struct made *made, struct err *err)
{
    void *memory = mmap(NULL, GUARD_MADE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return err_memory(err);
    made->memory = memory;
    made->size = GUARD_MADE_BYTES;
    made->reported = guard_reported_new();
    return made->reported != NULL ? 0 : err_memory(err);
}

void made_close(struct made *made)
{
    if (made->memory != NULL)
        (void) munmap(made->memory, made->size);
    guard_reported_freep(&made->reported);
    *made = (struct made){.memory = NULL};
}

int made_look(const char *path, const char *relative)
{
    AUTO_FREE char *zone = strndup(path, (size_t) (relative - path));
    AUTO_CLOSE int zone_fd = -1;
    AUTO_CLOSE int fd = -1;

    if (zone == NULL)
        return -ENOMEM;
    zone_fd = path_open_plain(AT_FDCWD, zone, O_PATH | O_DIRECTORY);
    if (zone_fd < 0)
        return zone_fd;
    fd = path_open_below(zone_fd, relative, O_PATH | O_NOFOLLOW, 0);
    return fd < 0 ? fd : 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* A path that is worth a word. */
struct told {
    char *path;
    size_t relative; /* of its zone: so many bytes from the beginning */
    size_t depth;
    const struct guard_name *row;
    bool doubt, written;
};

struct list {
    const struct made_question *question;
    char **names;
    size_t count, room;
    struct told *told;
    size_t told_count, told_room;
    bool failed; /* out of memory */
};

static void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    for (size_t i = 0; i < list->told_count; i++)
        free(list->told[i].path);
    free(list->names);
    free(list->told);
}

/* Room for one more; false: out of memory. */
static bool has_room(struct list *list, void *array_, size_t count, size_t *room, size_t size)
{
    void **array = array_;
    const size_t more = *room == 0 ? 64 : *room * 2;
    void *grown;

    if (count < *room)
        return true;
    grown = reallocarray(*array, more, size);
    list->failed = list->failed || grown == NULL;
    if (grown == NULL)
        return false;
    *array = grown;
    *room = more;
    return true;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

static void add_name(struct list *list, const char *path)
{
    char *copy;

    if (!has_room(list, &list->names, list->count, &list->room, sizeof *list->names))
        return;
    copy = strdup(path);
    list->failed = list->failed || copy == NULL;
    if (copy != NULL)
        list->names[list->count++] = copy;
}

static void add_told(struct list *list, const char *path, const char *relative, unsigned marks)
{
    const struct guard_name *row = guard_reported_find(list->question->reported, relative);
    struct told *told;

    if (row == NULL ||
        !has_room(list, &list->told, list->told_count, &list->told_room, sizeof *list->told))
        return;
    told = &list->told[list->told_count];
    *told = (struct told){
        .path = strdup(path),
        .relative = (size_t) (relative - path),
        .depth = depth_of(relative),
        .row = row,
        .doubt = marks == MADE_DOUBT,
        .written = (marks & (MADE_NEW | MADE_WRITTEN)) == MADE_WRITTEN,
    };
    list->failed = list->failed || told->path == NULL;
    list->told_count += told->path != NULL;
}

static void add(void *context, const char *path, unsigned marks)
{
    struct list *list = context;
    const char *relative = NULL;

    if (guard_rules_zone(list->question->rules, path, &relative) < 0 || relative[0] == '\0')
        return;
    if (marks & MADE_NEW)
        add_name(list, path);
    add_told(list, path, relative, marks);
}

static bool is_told(void *context, const char *path)
{
    const struct made_question *question = context;
    const char *relative = NULL;

    return guard_rules_zone(question->rules, path, &relative) >= 0 &&
           guard_reported_find(question->reported, relative) != NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static bool is_deeper(const struct told *told)
{
    return told->row->scope == GUARD_AT_TOPS;
}

static int compare_told(const void *a_, const void *b_)
{
    const struct told *a = a_, *b = b_;

    if (is_deeper(a) != is_deeper(b))
        return is_deeper(a) ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (strcmp(a->path, b->path) != 0)
        return strcmp(a->path, b->path);
    return a->doubt - b->doubt;
}

/* Sorted, each once. A folder that was replaced while it was filled can be there twice. */
static void sort(struct list *list)
{
    size_t kept = 0;

    if (list->count > 0)
        qsort(list->names, list->count, sizeof *list->names, compare_names);
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && str_equal(list->names[i], list->names[kept - 1]))
            free(list->names[i]);
        else
            list->names[kept++] = list->names[i];
    }
    list->count = kept;
    kept = 0;
    if (list->told_count > 0)
        qsort(list->told, list->told_count, sizeof *list->told, compare_told);
    for (size_t i = 0; i < list->told_count; i++) {
        if (kept > 0 && str_equal(list->told[i].path, list->told[kept - 1].path))
            free(list->told[i].path);
        else
            list->told[kept++] = list->told[i];
    }
    list->told_count = kept;
}

/* ---- telling --------------------------------------------------------------------------------- */

static const char *shown(const struct made_question *question, const char *path)
{
    const size_t size = question->pen != NULL ? strlen(question->pen) : 0;

    return size > 0 && path_is_below(path, question->pen) && path[size] == '/' ? path + size + 1
                                                                               : path;
}

/* What moved away stays only if it is found; what was made and is not found is told all the same:
 * where records stand in another order than their calls it may lie elsewhere. */
static size_t look_at(const struct list *list, struct job_told *told, size_t *ret_total)
{
    const struct made_question *question = list->question;
    size_t count = 0;

    *ret_total = 0;
    for (size_t i = 0; i < list->told_count; i++) {
        const struct told *one = &list->told[i];
        const bool looked = count < JOB_TOLD_MAX && question->look != NULL;
        const bool missing = looked && question->look(one->path, one->path + one->relative) < 0;

        if (one->doubt && (missing || !looked))
            continue;
        ++*ret_total;
        if (count == JOB_TOLD_MAX)
            continue;
        told[count++] = (struct job_told){
            .name = shown(question, one->path),
            .reason = one->row->reason,
            .deeper = is_deeper(one),
            .gone = missing,
            .written = one->written,
        };
    }
    return count;
}

static int tell(struct list *list, bool complete,
                void (*on_made)(void *context, const struct job_made *made), void *context)
{
    AUTO_FREE struct job_told *told = calloc(JOB_TOLD_MAX, sizeof *told);
    AUTO_FREE const char **names = calloc(list->count + 1, sizeof *names);
    struct job_made made = {.names = names, .told = told, .count = list->count};

    if (told == NULL || names == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++)
        names[i] = shown(list->question, list->names[i]);
    made.told_count = look_at(list, told, &made.told_total);
    made.complete = complete;
    on_made(context, &made);
    return 0;
}

int made_tell(const struct made_question *question, struct guard_made_reader *reader,
              void (*on_made)(void *context, const struct job_made *made), void *context,
              struct err *err)
{
    struct made_question copy = *question;
    AUTO(made_tree_freep) struct made_tree *tree = made_tree_new(is_told, &copy);
    AUTO(list_free) struct list list = {.question = &copy};
    struct guard_made_record record;

    if (tree == NULL)
        return err_memory(err);
    while (guard_made_next(reader, &record))
        made_tree_apply(tree, &record);
    made_tree_each(tree, add, &list);
    sort(&list);
    if (list.failed ||
        tell(&list, reader->complete && made_tree_is_complete(tree), on_made, context) < 0)
        return err_memory(err);
    return 0;
}
