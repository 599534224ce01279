/* Which path a job was kept from, and what the owner can do about it. */
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/credentials.h"
#include "policy/hint_priv.h"
#include "policy/print.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding paths in text ------------------------------------------------------------------ */

/* Opening quotes, and what closes them. A backquote may be closed by an apostrophe. */
static const struct {
    const char *opening, *closing, *other;
} quotes[] = {
    {"'", "'", NULL},
    {"\"", "\"", NULL},
    {"`", "`", "'"},
    {"\xe2\x80\x98", "\xe2\x80\x99", NULL},
    {"\xe2\x80\x9c", "\xe2\x80\x9d", NULL},
};

/* Where `mark` is in the text from `from` on; its size: nowhere. */
static size_t find_mark(struct hint_text text, size_t from, const char *mark)
{
    const char *found =
        mark == NULL ? NULL : memmem(text.bytes + from, text.size - from, mark, strlen(mark));

    return found != NULL ? (size_t) (found - text.bytes) : text.size;
}

static bool ends_with(struct hint_text text, size_t end, const char *mark)
{
    size_t size = strlen(mark);

    return end >= size && memcmp(text.bytes + end - size, mark, size) == 0;
}

/* End of the path that starts at `start`. */
static size_t path_end(struct hint_text text, size_t start)
{
    static const char stops[] = " \t\r\n'\"`()[]{}<>,;|:";
    size_t end = start;

    for (size_t i = 0; i < ARRAY_SIZE(quotes); i++) {
        size_t closing;
        size_t other;

        if (!ends_with(text, start, quotes[i].opening))
            continue;
        closing = find_mark(text, start, quotes[i].closing);
        other = find_mark(text, start, quotes[i].other);
        closing = closing < other ? closing : other;
        if (closing < find_mark(text, start, "\n"))
            return closing;
    }
    while (end < text.size && memchr(stops, text.bytes[end], sizeof stops) == NULL)
        end++;
    while (end > start + 1 && text.bytes[end - 1] == '.')
        end--; /* of the sentence */
    return end;
}

/* A slash begins a path unless it stands in a word, a relative path or an URL. */
static bool begins_path(struct hint_text text, size_t at)
{
    static const char word[] = {'.', '_', '-', '~', '/', '+', '@', '%', '}', '\\', '*'};
    unsigned char before = at > 0 ? (unsigned char) text.bytes[at - 1] : ' ';

    if (text.bytes[at] != '/' || isalnum(before) || memchr(word, before, sizeof word) != NULL)
        return false;
    return at + 1 < text.size && text.bytes[at + 1] != '/';
}

/* "/usr/bin/cp: cannot create ...: Permission denied": the program that speaks, not its object. */
static bool is_speaker(struct hint_text text, size_t start, size_t end)
{
    bool is_first = start == 0 || text.bytes[start - 1] == '\n';

    return is_first && end < text.size && text.bytes[end] == ':' &&
           find_mark(text, end + 1, ": ") < find_mark(text, end, "\n");
}

/* The path as text, clean. NULL: what stands there could not be typed back by the owner. */
static char *clean_path(struct hint_text text, size_t start, size_t end)
{
    AUTO_FREE char *raw = NULL;
    AUTO(buf_free) struct buf inert = {0};
    char *clean = NULL;

    buf_init(&inert, PATH_MAX);
    if (str_add_inert(&inert, text.bytes + start, end - start) < 0 || inert.size != end - start)
        return NULL;
    raw = buf_take(&inert);
    if (raw == NULL || path_normalize(raw, NULL, NULL, &clean, NULL) < 0)
        return NULL;
    return clean;
}

/* ---- what the job wanted -------------------------------------------------------------------- */

enum intent { UNKNOWN, READS, WRITES, MAKES };

static enum intent guess_intent(const char *lower, int code)
{
    static const struct {
        const char *word;
        enum intent intent;
    } words[] = {
        {"creat", MAKES},    {"mkdir", MAKES},          {"touch", MAKES},
        {"symlink", MAKES},  {"copyfile", MAKES},       {"cannot move", MAKES},
        {"renam", MAKES},    {"writ", WRITES},          {"remov", WRITES},
        {"delet", WRITES},   {"unlink", WRITES},        {"rmdir", WRITES},
        {"chmod", WRITES},   {"truncat", WRITES},       {"append", WRITES},
        {"output", WRITES},  {"save", WRITES},          {" lock", WRITES},
        {"reading", READS},  {"cannot read", READS},    {"can't read", READS},
        {"access '", READS}, {"cannot stat", READS},    {" stat '", READS},
        {"scandir", READS},  {"open directory", READS}, {"cat: ", READS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strstr(lower, words[i].word) != NULL)
            return words[i].intent;
    }
    return code == EROFS || code == EBUSY || code == EXDEV ? WRITES : UNKNOWN;
}

/* ---- what may be proposed ------------------------------------------------------------------- */

static bool is_below_any(const char *path, const char *const *tops)
{
    for (; *tops != NULL; tops++) {
        if (path_is_below(path, *tops))
            return true;
    }
    return false;
}

/* Wattle's own folders, and what holds them. */
static bool touches_own(const struct hint_line *line, const char *path)
{
    static const char *const below_home[] = {".config/wattle", ".local/state/wattle",
                                             ".cache/wattle"};

    for (size_t i = 0; i < policy_rules(line->policy); i++) {
        const struct policy_rule *rule = policy_rule_at(line->policy, i);

        if (rule->origin == POLICY_FROM_OWN &&
            (path_is_below(path, rule->path) || path_is_below(rule->path, path)))
            return true;
    }
    for (size_t i = 0; line->home != NULL && i < ARRAY_SIZE(below_home); i++) {
        AUTO_FREE char *own = path_join(line->home, below_home[i]);

        if (own == NULL || path_is_below(path, own) || path_is_below(own, path))
            return true;
    }
    return path_is_below(path, "/etc/wattle") || path_is_below("/etc/wattle", path);
}

/* The home that a path outside of the owner's may lie in: "/root", "/home/NAME". NULL: none. */
static char *other_home(const char *path)
{
    static const char homes[] = "/home/";

    if (path_is_below(path, "/root"))
        return strdup("/root");
    if (!str_starts(path, homes))
        return NULL;
    return strndup(path, sizeof homes - 1 + strcspn(path + sizeof homes - 1, "/"));
}

static bool is_credential(const struct hint_line *line, const char *path)
{
    AUTO_FREE char *other = other_home(path);

    return (line->home != NULL && credential_place_of(path, line->home) != NULL) ||
           (other != NULL && credential_place_of(path, other) != NULL);
}

/* Whether opening `path` would open credentials that lie below it. */
static bool holds_credentials(const struct hint_line *line, const char *path)
{
    AUTO_FREE char *other = other_home(path);

    return (line->home != NULL && credential_place_below(path, line->home)) ||
           (other != NULL && credential_place_below(path, other)) || path_is_below("/root", path) ||
           path_is_below("/home", path);
}

/* What programs of the owner read by its mere presence lies in dot files: no hint opens them for
 * writing, since the words it answers are the job's. */
static bool is_dot_file(const struct hint_line *line, const char *path)
{
    return line->home != NULL && path_is_below(path, line->home) &&
           str_starts(path + strlen(line->home), "/.");
}

/* Secrets of the machine, which root could open. */
static bool touches_machine_secrets(const char *path)
{
    static const char *const secrets[] = {"/etc/shadow",  "/etc/gshadow",     "/etc/sudoers",
                                          "/etc/ssh",     "/etc/ssl/private", "/etc/krb5.keytab",
                                          "/etc/security"};

    for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
        if (path_is_below(secrets[i], path) || str_starts(path, secrets[i]))
            return true;
    }
    return false;
}

static bool may_propose(const struct hint_line *line, const char *path, bool writing)
{
    static const char *const machine[] = {"/proc", "/sys", "/dev", "/run", "/var/run", NULL};
    static const char *const programs[] = {"/usr", "/etc",  "/boot",  "/bin",
                                           "/lib", "/sbin", "/lib64", NULL};

    if (path[1] == '\0' || is_below_any(path, machine) || is_credential(line, path) ||
        holds_credentials(line, path) || touches_own(line, path) || touches_machine_secrets(path))
        return false;
    return !writing || (!is_below_any(path, programs) && !is_dot_file(line, path));
}

/* ---- words ---------------------------------------------------------------------------------- */

/* As a shell takes it; "~/notes" where that needs no quotes. */
static void add_path(const struct hint_line *line, const char *path, struct buf *hint)
{
    AUTO(buf_free) struct buf rest = {0};
    const char *below;

    if (line->home != NULL && line->home[1] != '\0' && path_is_below(path, line->home)) {
        below = path + strlen(line->home);
        buf_init(&rest, PATH_MAX * 5);
        if (*below == '\0' || (str_add_shell(&rest, below) == 0 && str_equal(rest.bytes, below))) {
            (void) buf_printf(hint, "~%s", below);
            return;
        }
    }
    (void) str_add_shell(hint, path);
}

static void add_blocked(const struct hint_line *line, enum intent intent, const char *path,
                        struct buf *hint)
{
    static const char *const words[] = {
        [UNKNOWN] = "use of", [READS] = "read of", [WRITES] = "write to", [MAKES] = "write to"};

    (void) buf_printf(hint, "blocked: %s ", words[intent]);
    add_path(line, path, hint);
}

/* Where a name is to be made, the folder must be opened: the name may not be there yet. */
static char *path_to_open(const struct hint_line *line, enum intent intent, const char *path)
{
    AUTO_FREE char *parent = strndup(path, (size_t) (path_base(path) - path - 1));

    if (intent != MAKES || parent == NULL || strchr(parent, '/') == strrchr(parent, '/') ||
        !may_propose(line, parent, true))
        return strdup(path);
    return TAKE_PTR(parent);
}

/* `against` (NULL: none) is the rule in the way: one for a path above its own would not win. */
static void add_proposal(const struct hint_line *line, enum intent intent, const char *path,
                         const struct policy_rule *against, struct buf *hint)
{
    AUTO_FREE char *open = path_to_open(line, intent, path);
    bool writing = intent == WRITES || intent == MAKES;

    if (open == NULL || !may_propose(line, open, writing) ||
        (against != NULL && !path_is_below(open, against->path)))
        return;
    (void) buf_add_text(hint, hint_remedy(line->reader, HINT_OPEN_FILE));
    if (line->reader == HINT_MODEL)
        return;
    (void) buf_printf(hint, " %s ", writing ? "--rw" : "--ro");
    add_path(line, open, hint);
    if (intent == UNKNOWN && may_propose(line, open, true)) {
        (void) buf_add_text(hint, ", or --rw ");
        add_path(line, open, hint);
        (void) buf_add_text(hint, " to change it");
    }
}

/* ---- one path ------------------------------------------------------------------------------- */

/* What another home would have held: the job's own is nearly empty. */
static bool add_own_home(const struct hint_line *line, const char *path, int code, struct buf *hint)
{
    const char *rest = path + strlen(POLICY_INSIDE_HOME);
    AUTO_FREE char *owners = NULL;

    if (code != ENOENT || line->home == NULL || *rest == '\0')
        return false;
    owners = path_join(line->home, rest + 1);
    if (owners == NULL || !may_propose(line, owners, false) || is_dot_file(line, owners))
        return false;
    (void) buf_add_text(hint, "blocked: ");
    (void) str_add_shell(hint, path);
    (void) buf_printf(hint, " is in the run's own home%s",
                      hint_remedy(line->reader, HINT_OPEN_HOME));
    if (line->reader == HINT_MODEL)
        return true;
    (void) buf_add_text(hint, " ");
    add_path(line, owners, hint);
    (void) buf_add_text(hint, " and give the command the whole path");
    return true;
}

/* Rules of the owner's are called after options and files of settings. */
static void add_why(const struct hint_line *line, const struct policy_rule *rule, struct buf *hint)
{
    const bool owners = rule->origin == POLICY_FROM_FLAG || rule->origin == POLICY_FROM_OWNER;
    const char *why = line->reader == HINT_MODEL && owners ? "the owner" : rule->why;

    (void) str_add_inert(hint, why, strlen(why));
}

static bool add_hidden(const struct hint_line *line, const struct policy_rule *rule,
                       const char *path, int code, struct buf *hint)
{
    enum intent intent = guess_intent(line->lower, code);

    add_blocked(line, intent, path, hint);
    if (is_credential(line, path)) {
        (void) buf_add_text(hint, ": it holds credentials and stays closed");
    } else if (rule != NULL) {
        (void) buf_add_text(hint, ": hidden by ");
        add_why(line, rule, hint);
    } else {
        (void) buf_add_text(hint, " is outside the policy");
        add_proposal(line, intent, path, NULL, hint);
    }
    return true;
}

static bool add_place(const struct hint_line *line, const struct policy_place *place,
                      const char *path, int code, struct buf *hint)
{
    enum intent intent = guess_intent(line->lower, code);

    if (path_is_below(path, POLICY_INSIDE_HOME))
        return add_own_home(line, path, code, hint);
    if (place->kind == POLICY_PLACE_FOLDER && !path_is_below(path, POLICY_INSIDE_TOP) &&
        !str_equal(path, place->path))
        return add_hidden(line, NULL, path, code, hint); /* it stands for one of the host's */
    if (place->access == POLICY_WRITE || (intent != WRITES && intent != MAKES) || code == ENOENT)
        return false;
    add_blocked(line, intent, path, hint);
    (void) buf_add_text(hint, ": it is made for the run and stays as it is");
    return true;
}

static bool add_read_only(const struct hint_line *line, const struct policy_rule *rule,
                          const char *path, int code, struct buf *hint)
{
    enum intent intent = guess_intent(line->lower, code);

    if ((intent != WRITES && intent != MAKES) || code == ENOENT)
        return false;
    add_blocked(line, intent, path, hint);
    (void) buf_add_text(hint, rule->hold ? ": kept as it is (" : ": read-only by ");
    add_why(line, rule, hint);
    (void) buf_add_text(hint, rule->hold ? ")" : "");
    if (!rule->hold && (rule->origin == POLICY_FROM_FLAG || rule->origin == POLICY_FROM_OWNER))
        add_proposal(line, intent, path, rule, hint);
    return true;
}

/* What is open may still be a mount point, or another file system for a rename or a link. */
static bool add_mount(const struct hint_line *line, const struct policy_rule *rule,
                      const char *path, int code, struct buf *hint)
{
    bool is_top = rule != NULL && str_equal(rule->path, path);

    if (code == EBUSY && is_top) {
        (void) buf_add_text(hint, "blocked: ");
        add_path(line, path, hint);
        (void) buf_add_text(hint, " is held in its place: a run cannot rename or remove it");
        return true;
    }
    if (code == EXDEV) {
        (void) buf_add_text(hint, "blocked: a rename or link of ");
        add_path(line, path, hint);
        (void) buf_add_text(hint, " across the parts that were opened one by one; copy instead");
        return true;
    }
    return false;
}

static bool add_for_path(const struct hint_line *line, const char *path, int code, struct buf *hint)
{
    struct policy_answer answer;

    policy_explain(line->policy, path, &answer);
    if (answer.place != NULL)
        return add_place(line, answer.place, path, code, hint);
    if (answer.access == POLICY_HIDE)
        return add_hidden(line, answer.rule, path, code, hint);
    if (code == EBUSY || code == EXDEV)
        return add_mount(line, answer.rule, path, code, hint);
    return answer.access == POLICY_READ && add_read_only(line, answer.rule, path, code, hint);
}

static bool add_for_text(const struct hint_line *line, struct hint_text text, int code,
                         struct buf *hint)
{
    size_t end;

    for (size_t at = 0; at < text.size; at = end) {
        AUTO_FREE char *path = NULL;

        end = at + 1;
        if (!begins_path(text, at))
            continue;
        end = path_end(text, at);
        if (is_speaker(text, at, end))
            continue;
        path = clean_path(text, at, end);
        if (path != NULL && path[1] != '\0' && add_for_path(line, path, code, hint))
            return true;
    }
    return false;
}

bool hint_add_refusal(const struct hint_line *line, int code, struct buf *hint)
{
    return add_for_text(line, line->text, code, hint) ||
           add_for_text(line, line->before, code, hint);
}
