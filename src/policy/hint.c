/* Messages that programs print when they meet the fence. Reviewed 2026-12. */
#include "policy/hint.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "policy/hint_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_BYTES = 1024,    /* of a line that are looked at for a shape */
    HINT_LIMIT_BYTES = 32768, /* two paths, each byte of which may need four */
    LINES_BEFORE = 3,         /* that may belong to "Caused by: ... (os error 13)" */
};

/* A shape is in a line that has both texts, in lower case; `also` may be NULL. `say` appends the
 * hint, or returns false when the policy is not the reason. */
struct shape {
    const char *has;
    const char *also;
    int code;
    bool (*say)(const struct shape *shape, const struct hint_line *line, struct buf *hint);
    const char *text;
};

const char *hint_remedy(enum hint_reader reader, enum hint_remedy remedy)
{
    static const char *const remedies[][2] = {
        [HINT_ADD_HOST] = {"add one with --allow HOST", "ask the owner for another one"},
        [HINT_RAISE_PROCESSES] = {"raise the bound with --pids N", "use fewer at a time"},
        [HINT_RAISE_OPEN_FILES] = {"raise the bound with --open-files N", "use fewer at a time"},
        [HINT_RAISE_FILE_SIZE] = {"raise the bound with --file-size SIZE", "make smaller ones"},
        [HINT_RAISE_MEMORY] = {"raise the bound with --memory SIZE", "use less, or ask the owner"},
        [HINT_RAISE_TMP] = {", or raise the bound with --tmp-size SIZE", ""},
        [HINT_GIVE_TERMINAL] = {"give it one of its own with -t, or tell it to ask nothing",
                                "there is none: tell it to ask nothing"},
        [HINT_OPEN_FILE] = {"; allow it with", "; ask the owner if it is needed"},
        [HINT_OPEN_HOME] = {"; for yours, allow --ro", ", which does not have the owner's files"},
    };

    return remedies[remedy][reader];
}

static bool say_text(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    (void) line;
    return buf_add_text(hint, shape->text) == 0;
}

static bool say_file(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    return hint_add_refusal(line, shape->code, hint);
}

static bool say_network(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    (void) shape;
    switch (policy_get_net(line->policy)) {
    case POLICY_NET_NONE:
        return buf_add_text(hint, "blocked: the network: this run has none") == 0;
    case POLICY_NET_HOSTS:
        return buf_printf(hint,
                          "blocked: the network: this run reaches only the hosts that its policy "
                          "names; %s",
                          hint_remedy(line->reader, HINT_ADD_HOST)) == 0;
    case POLICY_NET_OPEN:
        break;
    }
    return false;
}

static bool say_refused(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    static const char *const own[] = {"127.0.0.1", "localhost", "::1"};
    bool is_own = policy_get_net(line->policy) == POLICY_NET_NONE;

    (void) shape;
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        is_own = is_own || strstr(line->lower, own[i]) != NULL;
    return is_own && buf_add_text(hint, "blocked: the host's servers: 127.0.0.1 is the run's own, "
                                        "and nothing of the run listens there") == 0;
}

static bool say_processes(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    unsigned long long bound = policy_get_limits(line->policy)->processes;

    (void) shape;
    return bound > 0 &&
           buf_printf(hint, "blocked: more than %llu processes and threads at once; %s", bound,
                      hint_remedy(line->reader, HINT_RAISE_PROCESSES)) == 0;
}

static bool say_open_files(const struct shape *shape, const struct hint_line *line,
                           struct buf *hint)
{
    unsigned long long bound = policy_get_limits(line->policy)->open_files;

    (void) shape;
    return bound > 0 && buf_printf(hint, "blocked: more than %llu open files in one process; %s",
                                   bound, hint_remedy(line->reader, HINT_RAISE_OPEN_FILES)) == 0;
}

static bool add_file_size(const struct policy *policy, enum hint_reader reader, struct buf *hint)
{
    uint64_t bound = policy_get_limits(policy)->file_bytes;
    char size[32];

    str_from_bytes(bound, size, sizeof size);
    return bound > 0 && buf_printf(hint, "blocked: a file larger than %s; %s", size,
                                   hint_remedy(reader, HINT_RAISE_FILE_SIZE)) == 0;
}

static bool say_file_size(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    (void) shape;
    return add_file_size(line->policy, line->reader, hint);
}

/* The note was made while deriving, where the machine could be looked at. */
static bool say_git(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    (void) shape;
    for (size_t i = 0; i < policy_notes(line->policy); i++) {
        const char *note = policy_note_at(line->policy, i);

        if (strstr(note, "git work tree") != NULL && line->reader == HINT_MODEL)
            return buf_add_text(hint, "blocked: git: the pen is a part of a git work tree; ask the "
                                      "owner for the whole one") == 0;
        if (strstr(note, "git work tree") != NULL)
            return buf_add_text(hint, "blocked: git: ") == 0 &&
                   str_add_inert(hint, note, strlen(note)) == 0;
    }
    return false;
}

static bool say_memory(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    uint64_t bound = policy_get_limits(line->policy)->memory_bytes;
    char size[32];

    (void) shape;
    str_from_bytes(bound, size, sizeof size);
    return bound > 0 && buf_printf(hint, "blocked: more than %s of memory; %s", size,
                                   hint_remedy(line->reader, HINT_RAISE_MEMORY)) == 0;
}

/* A full disk looks the same, so the line must speak of what is in memory or of no place at all. */
static bool say_space(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    uint64_t bound = policy_get_limits(line->policy)->tmp_bytes;
    bool names_home = strstr(line->lower, POLICY_INSIDE_HOME "/") != NULL;
    bool names_tmp =
        strstr(line->lower, "/tmp/") != NULL && strstr(line->lower, POLICY_INSIDE_TMP) == NULL;
    bool is_told = names_home || names_tmp;
    char size[32];

    (void) shape;
    if (bound == 0 || (!is_told && strchr(line->lower, '/') != NULL))
        return false;
    str_from_bytes(bound, size, sizeof size);
    return buf_printf(hint, "blocked: %s than %s in %s; use $TMPDIR, which is on disk%s",
                      is_told ? "more" : "perhaps more", size,
                      names_home ? "the run's home" : "/tmp",
                      hint_remedy(line->reader, HINT_RAISE_TMP)) == 0;
}

static const char no_namespaces[] = "blocked: namespaces: a run makes none of its own; switch the "
                                    "program's own sandbox off (Chromium: --no-sandbox)";
static const char no_mounts[] = "blocked: mounts: a run cannot mount or unmount";
static const char no_rights[] = "blocked: more rights: sudo, su and set-user-ID programs gain "
                                "none in a run";
static const char no_set_id[] = "blocked: set-user-ID and set-group-ID bits: a run cannot set them";
static const char no_owners[] = "blocked: a change of owner: a run has one user and one group";
static const char no_agents[] = "blocked: keys and their agents: they stay outside a run";
static const char no_docker[] = "blocked: the container daemon: its socket would open the whole "
                                "machine to a run";
static const char no_display[] = "blocked: the display: a run has none";

static bool say_terminal(const struct shape *shape, const struct hint_line *line, struct buf *hint)
{
    (void) shape;
    return buf_printf(hint, "blocked: the program asks for a terminal; %s",
                      hint_remedy(line->reader, HINT_GIVE_TERMINAL)) == 0;
}

/* The first that speaks wins, so what is more exact stands before what is less. */
static const struct shape shapes[] = {
    /* namespaces and mounts */
    {"no usable sandbox", NULL, 0, say_text, no_namespaces},
    {"failed to move to new namespace", NULL, 0, say_text, no_namespaces},
    {"suid sandbox helper", NULL, 0, say_text, no_namespaces},
    {"no permissions to create new namespace", NULL, 0, say_text, no_namespaces},
    {"creating new namespace failed", NULL, 0, say_text, no_namespaces},
    {"setting up uid map", NULL, 0, say_text, no_namespaces},
    {"unshare", "operation not permitted", 0, say_text, no_namespaces},
    {"unshare", "permission denied", 0, say_text, no_namespaces},
    {"unshare", "no space left on device", 0, say_text, no_namespaces},
    {"newuidmap", NULL, 0, say_text, no_namespaces},
    {"clone(", "operation not permitted", 0, say_text, no_namespaces},
    {"clone: ", "operation not permitted", 0, say_text, no_namespaces},
    {"mount: ", "permission denied", 0, say_text, no_mounts},
    {"mount: ", "must be superuser", 0, say_text, no_mounts},
    {"mount: ", "operation not permitted", 0, say_text, no_mounts},
    {"fusermount", NULL, 0, say_text, no_mounts},

    /* rights */
    {"no new privileges", NULL, 0, say_text, no_rights},
    {"sudo: effective uid is not 0", NULL, 0, say_text, no_rights},
    {"sudo: unable to", NULL, 0, say_text, no_rights},
    {"must be setuid root", NULL, 0, say_text, no_rights},
    {"su: authentication failure", NULL, 0, say_text, no_rights},
    {"su: cannot set groups", NULL, 0, say_text, no_rights},
    {"changing permissions of", "operation not permitted", 0, say_text, no_set_id},
    {"chmod", "operation not permitted", 0, say_text, no_set_id},
    {"setting permissions", "operation not permitted", 0, say_text, no_set_id},
    {"changing ownership of", NULL, 0, say_text, no_owners},
    {"changing group of", NULL, 0, say_text, no_owners},
    {"cannot change ownership", NULL, 0, say_text, no_owners},
    {"chown", "operation not permitted", 0, say_text, no_owners},
    {"chown", "invalid argument", 0, say_text, no_owners},

    /* what stays outside */
    {"authentication agent", NULL, 0, say_text, no_agents},
    {"error connecting to agent", NULL, 0, say_text, no_agents},
    {"no secret key", NULL, 0, say_text, no_agents},
    {"permission denied (publickey", NULL, 0, say_text, no_agents},
    {"docker daemon", NULL, 0, say_text, no_docker},
    {"docker.sock", NULL, 0, say_text, no_docker},
    {"podman.sock", NULL, 0, say_text, no_docker},
    {"cannot open display", NULL, 0, say_text, no_display},
    {"can't open display", NULL, 0, say_text, no_display},
    {"missing x server or $display", NULL, 0, say_text, no_display},
    {"unable to open x display", NULL, 0, say_text, no_display},

    /* terminal */
    {"/dev/tty", "no such device", 0, say_terminal, NULL},
    {"not a tty", NULL, 0, say_terminal, NULL},
    {"not a terminal", NULL, 0, say_terminal, NULL},
    {"no tty present", NULL, 0, say_terminal, NULL},
    {"a terminal is required", NULL, 0, say_terminal, NULL},
    {"must be run from a terminal", NULL, 0, say_terminal, NULL},
    {"inappropriate ioctl for device", NULL, 0, say_terminal, NULL},
    {"error opening terminal", NULL, 0, say_terminal, NULL},
    {"terminal prompts disabled", NULL, 0, say_terminal, NULL},
    {"could not read username", NULL, 0, say_terminal, NULL},
    {"could not read password", NULL, 0, say_terminal, NULL},
    {"no controlling terminal", NULL, 0, say_terminal, NULL},

    /* what lies above the pen */
    {"not a git repository", NULL, 0, say_git, NULL},

    /* network */
    {"could not resolve", NULL, 0, say_network, NULL},
    {"couldn't resolve", NULL, 0, say_network, NULL},
    {"failed to resolve", NULL, 0, say_network, NULL},
    {"temporary failure in name resolution", NULL, 0, say_network, NULL},
    {"temporary failure resolving", NULL, 0, say_network, NULL},
    {"name or service not known", NULL, 0, say_network, NULL},
    {"nodename nor servname", NULL, 0, say_network, NULL},
    {"failed to lookup address", NULL, 0, say_network, NULL},
    {"no such host", NULL, 0, say_network, NULL},
    {"unknownhostexception", NULL, 0, say_network, NULL},
    {"unknown host", NULL, 0, say_network, NULL},
    {"no address associated with hostname", NULL, 0, say_network, NULL},
    {"enotfound", NULL, 0, say_network, NULL},
    {"eai_again", NULL, 0, say_network, NULL},
    {"network is unreachable", NULL, 0, say_network, NULL},
    {"network unreachable", NULL, 0, say_network, NULL},
    {"enetunreach", NULL, 0, say_network, NULL},
    {"no route to host", NULL, 0, say_network, NULL},
    {"connection refused", NULL, 0, say_refused, NULL},
    {"econnrefused", NULL, 0, say_refused, NULL},

    /* bounds */
    {"fork", "resource temporarily unavailable", 0, say_processes, NULL},
    {"thread", "resource temporarily unavailable", 0, say_processes, NULL},
    {"can't start new thread", NULL, 0, say_processes, NULL},
    {"unable to create native thread", NULL, 0, say_processes, NULL},
    {"cannot fork", NULL, 0, say_processes, NULL},
    {"spawn", "eagain", 0, say_processes, NULL},
    {"no space left on device", NULL, 0, say_space, NULL},
    {"file too large", NULL, 0, say_file_size, NULL},
    {"file size limit exceeded", NULL, 0, say_file_size, NULL},
    {"too many open files", NULL, 0, say_open_files, NULL},
    {"cannot allocate memory", NULL, 0, say_memory, NULL},
    {"out of memory", NULL, 0, say_memory, NULL},
    {"memoryerror", NULL, 0, say_memory, NULL},
    {"bad_alloc", NULL, 0, say_memory, NULL},

    /* files */
    {"read-only file system", NULL, EROFS, say_file, NULL},
    {"permission denied", NULL, EACCES, say_file, NULL},
    {"accessdeniedexception", NULL, EACCES, say_file, NULL},
    {"operation not permitted", NULL, EPERM, say_file, NULL},
    {"resource busy", NULL, EBUSY, say_file, NULL},
    {"cross-device link", NULL, EXDEV, say_file, NULL},
    {"no such file or directory", NULL, ENOENT, say_file, NULL},
    {"nosuchfileexception", NULL, ENOENT, say_file, NULL},
};

/* ---- reading the tail ----------------------------------------------------------------------- */

static size_t line_start(const char *tail, size_t end)
{
    while (end > 0 && tail[end - 1] != '\n')
        end--;
    return end;
}

/* Some programs name the file a few lines before the reason. */
static size_t cause_start(const char *tail, size_t start, const char *lower)
{
    if (strstr(lower, "(os error") == NULL && strstr(lower, "errno") == NULL)
        return start;
    for (int i = 0; i < LINES_BEFORE && start > 0; i++)
        start = line_start(tail, start - 1);
    return start;
}

/* Bytes that are no ASCII stay; NUL becomes a space. */
static char lowered(char byte)
{
    if (byte == '\0')
        return ' ';
    return (char) (byte >= 'A' && byte <= 'Z' ? (unsigned char) byte | 0x20u
                                              : (unsigned char) byte);
}

static void to_lower(const char *line, size_t size, char lower[LINE_MAX_BYTES])
{
    size_t length = size < LINE_MAX_BYTES ? size : LINE_MAX_BYTES - 1;

    for (size_t i = 0; i < length; i++)
        lower[i] = lowered(line[i]);
    lower[length] = '\0';
}

static bool explain_line(const struct hint_line *line, struct buf *hint)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        const struct shape *shape = &shapes[i];

        if (strstr(line->lower, shape->has) != NULL &&
            (shape->also == NULL || strstr(line->lower, shape->also) != NULL) &&
            shape->say(shape, line, hint) && hint->failed == 0)
            return true;
    }
    return false;
}

/* Adds the hint as a line unless it is there already. Returns the number of lines added. */
static int add_once(struct buf *hint, struct buf *lines, size_t from)
{
    if (buf_add(hint, "\n", 1) < 0 ||
        memmem(lines->bytes + from, lines->size - from, hint->bytes, hint->size) != NULL)
        return 0;
    return buf_add(lines, hint->bytes, hint->size) == 0 ? 1 : 0;
}

/* The line that ends at `end`, which starts at `start`. Returns the number of lines added. */
static int read_line(struct hint_line *line, const char *tail, size_t start, size_t end,
                     struct buf *lines, size_t from)
{
    AUTO(buf_free) struct buf hint = {0};
    char lower[LINE_MAX_BYTES];
    size_t before;
    int added;

    to_lower(tail + start, end - start, lower);
    before = cause_start(tail, start, lower);
    line->lower = lower;
    line->text = (struct hint_text){tail + start, end - start};
    line->before = (struct hint_text){tail + before, start - before};
    buf_init(&hint, HINT_LIMIT_BYTES);
    added = explain_line(line, &hint) ? add_once(&hint, lines, from) : 0;
    line->lower = NULL; /* ours, and gone now */
    return added;
}

/* From the end: what a program said last is nearest to why it ended. */
int hint_find(const struct policy *policy, const char *home, enum hint_reader reader,
              const char *tail, size_t size, struct buf *lines)
{
    struct hint_line line = {.policy = policy, .home = home, .reader = reader};
    size_t from = lines->size;
    size_t end = size;
    int count = 0;

    while (end > 0 && count < HINT_MAX) {
        size_t start = line_start(tail, end);

        if (start < end)
            count += read_line(&line, tail, start, end, lines, from);
        end = start > 0 ? start - 1 : 0;
    }
    return count;
}

int hint_find_end(const struct policy *policy, enum hint_reader reader, int exit_code,
                  struct buf *lines)
{
    AUTO(buf_free) struct buf hint = {0};

    buf_init(&hint, HINT_LIMIT_BYTES);
    if (exit_code != 128 + SIGXFSZ || !add_file_size(policy, reader, &hint))
        return 0;
    return add_once(&hint, lines, 0);
}
