/* Which settings a job may write into a git configuration, and what they may say. None starts a
 * program, names a file that git would read as its own, or switches a check off.
 *
 * Left out on purpose, since they look harmless: remote.*.uploadpack, .receivepack, .vcs, .proxy,
 * .promisor and extensions.partialClone (git would fetch by itself), submodule.*.update beyond four
 * words ("!command"), branch.*.mergeOptions, core.protectHFS and NTFS, *.gpgSign, safe.*, url.*. */
#include "base/cleanup.h"
#include "fence/guard/vet_priv.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum form {
    BOOL,
    NUMBER,  /* with k, m or g */
    WORD,    /* letters, digits, ",./_+:@%=-" */
    TEXT,    /* printable */
    URL,     /* or a path, or a remote's name */
    REFSPEC, /* no blanks */
    FOLDER,  /* core.worktree: the caller looks at it */
    LISTED,  /* one of `words`, separated by blanks */
    BOOL_OR, /* BOOL or LISTED */
};

struct key {
    const char *section;
    const char *name; /* "*": any */
    enum form form;
    bool subsection;
    const char *words;
};

static const struct key keys[] = {
    {"advice", "*", BOOL, false, NULL},
    {"author", "email", TEXT, false, NULL},
    {"author", "name", TEXT, false, NULL},
    {"branch", "autosetupmerge", BOOL_OR, false, "always inherit simple"},
    {"branch", "autosetuprebase", LISTED, false, "never local remote always"},
    {"branch", "description", TEXT, true, NULL},
    {"branch", "gh-merge-base", WORD, true, NULL},
    {"branch", "github-pr-owner-number", TEXT, true, NULL},
    {"branch", "merge", REFSPEC, true, NULL},
    {"branch", "pushremote", URL, true, NULL},
    {"branch", "rebase", BOOL_OR, true, "merges interactive"},
    {"branch", "remote", URL, true, NULL},
    {"branch", "vscode-merge-base", WORD, true, NULL},
    {"checkout", "defaultremote", WORD, false, NULL},
    {"color", "*", BOOL_OR, false, "auto always never"},
    {"commit", "cleanup", LISTED, false, "strip whitespace verbatim scissors default"},
    {"commit", "status", BOOL, false, NULL},
    {"commit", "verbose", BOOL_OR, false, "2"},
    {"committer", "email", TEXT, false, NULL},
    {"committer", "name", TEXT, false, NULL},
    {"core", "abbrev", WORD, false, NULL},
    {"core", "autocrlf", BOOL_OR, false, "input"},
    {"core", "bare", BOOL, false, NULL},
    {"core", "bigfilethreshold", NUMBER, false, NULL},
    {"core", "checkstat", LISTED, false, "default minimal"},
    {"core", "commitgraph", BOOL, false, NULL},
    {"core", "compression", NUMBER, false, NULL},
    {"core", "eol", LISTED, false, "lf crlf native"},
    {"core", "filemode", BOOL, false, NULL},
    {"core", "hidedotfiles", BOOL_OR, false, "dotGitOnly"},
    {"core", "ignorecase", BOOL, false, NULL},
    {"core", "logallrefupdates", BOOL_OR, false, "always"},
    {"core", "multipackindex", BOOL, false, NULL},
    {"core", "precomposeunicode", BOOL, false, NULL},
    {"core", "preloadindex", BOOL, false, NULL},
    {"core", "quotepath", BOOL, false, NULL},
    {"core", "repositoryformatversion", LISTED, false, "0 1"},
    {"core", "safecrlf", BOOL_OR, false, "warn"},
    {"core", "sparsecheckout", BOOL, false, NULL},
    {"core", "sparsecheckoutcone", BOOL, false, NULL},
    {"core", "symlinks", BOOL, false, NULL},
    {"core", "trustctime", BOOL, false, NULL},
    {"core", "untrackedcache", BOOL_OR, false, "keep"},
    {"core", "whitespace", WORD, false, NULL},
    {"core", "worktree", FOLDER, false, NULL},
    {"diff", "algorithm", WORD, false, NULL},
    {"diff", "renames", BOOL_OR, false, "copy copies"},
    {"extensions", "noop", BOOL, false, NULL},
    {"extensions", "objectformat", LISTED, false, "sha1 sha256"},
    {"extensions", "preciousobjects", BOOL, false, NULL},
    {"extensions", "refstorage", LISTED, false, "files reftable"},
    {"extensions", "relativeworktrees", BOOL, false, NULL},
    {"extensions", "worktreeconfig", BOOL, false, NULL},
    {"feature", "manyfiles", BOOL, false, NULL},
    {"fetch", "prune", BOOL, false, NULL},
    {"fetch", "prunetags", BOOL, false, NULL},
    {"gc", "auto", NUMBER, false, NULL},
    {"gc", "autodetach", BOOL, false, NULL},
    {"i18n", "commitencoding", WORD, false, NULL},
    {"index", "sparse", BOOL, false, NULL},
    {"index", "version", NUMBER, false, NULL},
    {"init", "defaultbranch", WORD, false, NULL},
    {"lfs", "access", LISTED, true, "none basic negotiate"},
    {"lfs", "locksverify", BOOL, true, NULL},
    {"lfs", "repositoryformatversion", LISTED, false, "0"},
    {"maintenance", "auto", BOOL, false, NULL},
    {"maintenance", "strategy", LISTED, false, "none incremental"},
    {"merge", "conflictstyle", LISTED, false, "merge diff3 zdiff3"},
    {"merge", "ff", BOOL_OR, false, "only"},
    {"merge", "renames", BOOL, false, NULL},
    {"pack", "threads", NUMBER, false, NULL},
    {"pull", "ff", BOOL_OR, false, "only"},
    {"pull", "rebase", BOOL_OR, false, "merges interactive"},
    {"push", "autosetupremote", BOOL, false, NULL},
    {"push", "default", LISTED, false, "nothing current upstream tracking simple matching"},
    {"push", "followtags", BOOL, false, NULL},
    {"rebase", "autosquash", BOOL, false, NULL},
    {"rebase", "autostash", BOOL, false, NULL},
    {"rebase", "updaterefs", BOOL, false, NULL},
    {"remote", "fetch", REFSPEC, true, NULL},
    {"remote", "gh-resolved", WORD, true, NULL},
    {"remote", "mirror", BOOL_OR, true, "fetch push"},
    {"remote", "prune", BOOL, true, NULL},
    {"remote", "prunetags", BOOL, true, NULL},
    {"remote", "push", REFSPEC, true, NULL},
    {"remote", "pushdefault", URL, false, NULL},
    {"remote", "pushurl", URL, true, NULL},
    {"remote", "skipdefaultupdate", BOOL, true, NULL},
    {"remote", "skipfetchall", BOOL, true, NULL},
    {"remote", "tagopt", LISTED, true, "--tags --no-tags"},
    {"remote", "url", URL, true, NULL},
    {"rerere", "autoupdate", BOOL, false, NULL},
    {"rerere", "enabled", BOOL, false, NULL},
    {"status", "showuntrackedfiles", BOOL_OR, false, "all normal"},
    {"status", "submodulesummary", BOOL, false, NULL},
    {"submodule", "active", BOOL, true, NULL},
    {"submodule", "active", REFSPEC, false, NULL},
    {"submodule", "branch", WORD, true, NULL},
    {"submodule", "fetchjobs", NUMBER, false, NULL},
    {"submodule", "fetchrecursesubmodules", BOOL_OR, true, "on-demand"},
    {"submodule", "ignore", LISTED, true, "all dirty untracked none"},
    {"submodule", "recurse", BOOL, false, NULL},
    {"submodule", "shallow", BOOL, true, NULL},
    {"submodule", "update", LISTED, true, "checkout rebase merge none"},
    {"submodule", "url", URL, true, NULL},
    {"user", "email", TEXT, false, NULL},
    {"user", "name", TEXT, false, NULL},
    {"user", "useconfigonly", BOOL, false, NULL},
};

static const struct key *find_key(const struct guard_setting *setting)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct key *key = &keys[i];

        if (key->subsection == setting->has_subsection &&
            strcmp(key->section, setting->section) == 0 &&
            (strcmp(key->name, setting->key) == 0 || strcmp(key->name, "*") == 0))
            return key;
    }
    return NULL;
}

/* ---- forms --------------------------------------------------------------------------------- */

/* `words` are separated by blanks. git compares most of them with case, so that another case says
 * something it does not know, and that is its own affair. */
static bool is_listed(const char *words, const char *value)
{
    const size_t size = strlen(value);

    for (const char *at = words; *at != '\0'; at += *at == ' ') {
        const size_t length = strcspn(at, " ");

        if (length == size && strncasecmp(at, value, size) == 0)
            return true;
        at += length;
    }
    return false;
}

static bool is_printable(const char *value)
{
    for (; *value != '\0'; value++)
        if ((unsigned char) *value < 0x20 || *value == 0x7f)
            return false;
    return true;
}

static bool is_alnum(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z');
}

static bool is_word(const char *value)
{
    if (*value == '\0' || *value == '-')
        return *value == '-' && value[1] != '\0' &&
               strspn(value + 1, "0123456789") == strlen(value + 1);
    for (; *value != '\0'; value++)
        if (!is_alnum(*value) && strchr(",./_+:@%=-", *value) == NULL)
            return false;
    return true;
}

static bool is_number(const char *value)
{
    value += *value == '-';
    if (*value == '\0' || strlen(value) > 18)
        return false;
    value += strspn(value, "0123456789");
    return *value == '\0' || (strchr("kKmMgG", *value) != NULL && value[1] == '\0');
}

static bool is_refspec(const char *value)
{
    return *value != '\0' && *value != '-' && is_printable(value) && strpbrk(value, " \\") == NULL;
}

/* Whether "::" stands outside of the brackets of an address: a helper's name comes before it. */
static bool names_helper(const char *url)
{
    bool inside = false;

    for (; *url != '\0'; url++) {
        inside = (inside || *url == '[') && *url != ']' && *url != '/';
        if (!inside && url[0] == ':' && url[1] == ':')
            return true;
    }
    return false;
}

/* What ssh or another program could take for an option. */
static bool has_option_host(const char *host)
{
    const size_t size = strcspn(host, "/");
    const char *colon = memchr(host, ':', size);

    return *host == '-' || memmem(host, size, "@-", 2) != NULL ||
           (colon != NULL && colon[1] == '-');
}

/* Any other is the name of a program to git: git-remote-SCHEME. */
static bool knows_scheme(const char *scheme, size_t size)
{
    static const char *const known[] = {"file",  "git", "git+ssh", "http",
                                        "https", "ssh", "ssh+git"};

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strlen(known[i]) == size && memcmp(known[i], scheme, size) == 0)
            return true;
    return false;
}

/* An address git itself knows how to use, or a path. */
static bool is_url(const char *value)
{
    const char *host = strstr(value, "://");

    if (*value == '\0' || *value == ' ' || !is_printable(value) || strchr(value, '\\') != NULL ||
        names_helper(value) || has_option_host(value))
        return false;
    return host == NULL ||
           (knows_scheme(value, (size_t) (host - value)) && !has_option_host(host + 3));
}

static bool is_bool(const struct guard_setting *setting)
{
    return !setting->has_value || setting->value[0] == '\0' ||
           is_listed("true false yes no on off 1 0", setting->value);
}

static bool form_fits(const struct key *key, const struct guard_setting *setting)
{
    const char *value = setting->value;

    if (key->form == BOOL || key->form == BOOL_OR)
        return is_bool(setting) || (key->form == BOOL_OR && is_listed(key->words, value));
    if (!setting->has_value)
        return false;
    switch (key->form) {
    case NUMBER:
        return is_number(value);
    case WORD:
        return is_word(value);
    case TEXT:
        return is_printable(value);
    case URL:
        return is_url(value);
    case REFSPEC:
        return is_refspec(value);
    case FOLDER:
        return value[0] != '\0' && is_printable(value) && strchr(value, '\\') == NULL;
    case LISTED:
        return is_listed(key->words, value);
    case BOOL:
    case BOOL_OR:
        break;
    }
    return false;
}

/* A name of a branch, remote or submodule; git passes some of them on. */
static bool subsection_fits(const struct guard_setting *setting)
{
    const char *name = setting->subsection;

    return !setting->has_subsection ||
           (*name != '\0' && *name != '-' && is_printable(name) && strchr(name, '\\') == NULL &&
            strchr(name, '"') == NULL && !(strstr(name, "::") != NULL));
}

int guard_vet_setting(const struct guard_setting *setting, struct err *err)
{
    const struct key *key = find_key(setting);
    char name[GUARD_SETTING_NAME_SIZE];

    if (key != NULL && subsection_fits(setting) && form_fits(key, setting))
        return 0;
    guard_setting_name(setting, name);
    if (key == NULL)
        (void) err_set(err, EINVAL, "guard.vet-key",
                       "git's setting '%s' is not one of those that run nothing", name);
    else
        (void) err_set(err, EINVAL, "guard.vet-value",
                       "git's setting '%s' has a value that is not taken", name);
    return err_hint(err, "make it outside, in your own shell, if you want it");
}

void guard_setting_name(const struct guard_setting *setting, char text[GUARD_SETTING_NAME_SIZE])
{
    const char *const parts[] = {
        setting->section, setting->has_subsection ? setting->subsection : NULL, setting->key};
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (i > 0 && parts[i] != NULL && at + 1 < GUARD_SETTING_NAME_SIZE)
            text[at++] = '.';
        for (const char *from = parts[i]; from != NULL && *from != '\0'; from++) {
            const bool plain = *from > 0x20 && *from < 0x7f;

            /* room is left for the key */
            if (at + 1 + (i == 1 ? 48 : 0) >= GUARD_SETTING_NAME_SIZE)
                break;
            text[at++] = (char) (plain ? *from : '?');
        }
    }
    text[at] = '\0';
}
