/* Which of git's settings name a file that git runs or takes on trust, and which words of a value
 * could be its name. ONE table, held against git-config(1) of git 2.39 and the release notes up to
 * 2.52 on 2026-12-01; git-lfs, git-svn, git-annex, git-flow, tig, delta and the mail commands are
 * in it too. A test asks the git that is installed for settings whose names speak of programs and
 * files: each is in here, or in its list of those that were found harmless.
 *
 * A subsection makes no difference: "remote.*.vcs" is the row {"remote", "vcs"}. A name that begins
 * with '*' is any that ends so. */
#include "base/str.h"
#include "derive/derive_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANY "*"

static const struct derive_gitkey keys[] = {
    {"include", "path", DERIVE_GITKEY_INCLUDE, "a git configuration includes it"},
    {"includeif", "path", DERIVE_GITKEY_INCLUDE, "a git configuration includes it"},
#define PATH(section, name, shown)                                                                 \
    {                                                                                              \
        section, name, DERIVE_GITKEY_PATH, "git's " shown " names it"                              \
    }
    PATH("core", "hookspath", "core.hooksPath"),
    PATH("core", "attributesfile", "core.attributesFile"),
    PATH("core", "excludesfile", "core.excludesFile"),
    PATH("init", "templatedir", "init.templateDir"),
    PATH("gpg", "allowedsignersfile", "gpg.ssh.allowedSignersFile"),
    PATH("gpg", "revocationfile", "gpg.ssh.revocationFile"),
    PATH("http", "sslcainfo", "http.sslCAInfo"),
    PATH("http", "sslcapath", "http.sslCAPath"),
    PATH("http", "proxysslcainfo", "http.proxySSLCAInfo"),
    PATH("http", "pinnedpubkey", "http.pinnedPubkey"),
    PATH("http", "cookiefile", "http.cookieFile"),
    PATH("sendemail", "smtpsslcertpath", "sendemail.smtpSSLCertPath"),
    PATH("sendemail", "aliasesfile", "sendemail.aliasesFile"),
    PATH("svn", "authorsfile", "svn.authorsFile"),
    PATH("instaweb", "modulepath", "instaweb.modulePath"),
    PATH("help", "htmlpath", "help.htmlPath"),
    PATH("gitflow", "hooks", "gitflow.path.hooks"),
#undef PATH
#define RUNS(section, name, shown)                                                                 \
    {                                                                                              \
        section, name, DERIVE_GITKEY_PROGRAM, "git's " shown " names it, and git runs it"          \
    }
    RUNS("core", "fsmonitor", "core.fsmonitor"),
    RUNS("core", "sshcommand", "core.sshCommand"),
    RUNS("core", "editor", "core.editor"),
    RUNS("core", "pager", "core.pager"),
    RUNS("core", "askpass", "core.askPass"),
    RUNS("core", "gitproxy", "core.gitProxy"),
    RUNS("core", "alternaterefscommand", "core.alternateRefsCommand"),
    RUNS("pager", ANY, "pager setting"),
    RUNS("alias", ANY, "alias"),
    RUNS("sequence", "editor", "sequence.editor"),
    RUNS("filter", "clean", "filter"),
    RUNS("filter", "smudge", "filter"),
    RUNS("filter", "process", "filter"),
    RUNS("diff", "external", "diff.external"),
    RUNS("diff", "command", "diff driver"),
    RUNS("diff", "textconv", "diff driver"),
    RUNS("merge", "driver", "merge driver"),
    RUNS("credential", "helper", "credential.helper"),
    RUNS("gpg", "program", "gpg.program"),
    RUNS("gpg", "defaultkeycommand", "gpg.ssh.defaultKeyCommand"),
    RUNS("uploadpack", "packobjectshook", "uploadpack.packObjectsHook"),
    RUNS("gc", "recentobjectshook", "gc.recentObjectsHook"),
    RUNS("hook", "command", "hook"),
    RUNS("remote", "uploadpack", "remote's uploadpack"),
    RUNS("remote", "receivepack", "remote's receivepack"),
    RUNS("remote", "vcs", "remote's vcs"),
    RUNS("submodule", "update", "submodule.update"),
    RUNS("interactive", "difffilter", "interactive.diffFilter"),
    RUNS("trailer", "command", "trailer"),
    RUNS("trailer", "cmd", "trailer"),
    RUNS("difftool", "cmd", "difftool"),
    RUNS("difftool", "path", "difftool"),
    RUNS("mergetool", "cmd", "mergetool"),
    RUNS("mergetool", "path", "mergetool"),
    RUNS("guitool", "cmd", "guitool"),
    RUNS("browser", "cmd", "browser"),
    RUNS("browser", "path", "browser"),
    RUNS("man", "cmd", "man viewer"),
    RUNS("man", "path", "man viewer"),
    RUNS("web", "browser", "web.browser"),
    RUNS("help", "browser", "help.browser"),
    RUNS("instaweb", "httpd", "instaweb.httpd"),
    RUNS("instaweb", "browser", "instaweb.browser"),
    RUNS("tar", "command", "archive format"),
    RUNS("sendemail", "sendmailcmd", "sendemail.sendmailCmd"),
    RUNS("sendemail", "smtpserver", "sendemail.smtpServer"),
    RUNS("sendemail", "tocmd", "sendemail.toCmd"),
    RUNS("sendemail", "cccmd", "sendemail.ccCmd"),
    RUNS("sendemail", "headercmd", "sendemail.headerCmd"),
    RUNS("imap", "tunnel", "imap.tunnel"),
    RUNS("lfs", "path", "lfs transfer agent"),
    RUNS("lfs", "clean", "lfs extension"),
    RUNS("lfs", "smudge", "lfs extension"),
    RUNS("svn", "authorsprog", "svn.authorsProg"),
    RUNS("jump", "grepcmd", "jump.grepCmd"),
    RUNS("sendemail", "smtpserveroption", "sendemail.smtpServerOption"),
    RUNS("annex", "*-command", "annex setting"),
    RUNS("annex", "*-hook", "annex setting"),
    RUNS("annex", "*-options", "annex setting"),
    RUNS("remote", "*-command", "remote's annex setting"),
    RUNS("remote", "*-options", "remote's annex setting"),
    RUNS("remote", "annex-shell", "remote's annex setting"),
    RUNS("tig", ANY, "tig setting"),
    RUNS("delta", "pager", "delta.pager"),
#undef RUNS
#define URL(section, name, shown)                                                                  \
    {                                                                                              \
        section, name, DERIVE_GITKEY_URL, "git's " shown " names it, and git runs it"              \
    }
    URL("remote", "url", "remote's url"),
    URL("remote", "pushurl", "remote's pushurl"),
    URL("submodule", "url", "submodule's url"),
    URL("branch", "remote", "branch's remote"),
    URL("branch", "pushremote", "branch's pushRemote"),
    {"url", "insteadof", DERIVE_GITKEY_BASE, "git's url.*.insteadOf names it, and git runs it"},
    {"url", "pushinsteadof", DERIVE_GITKEY_BASE,
     "git's url.*.pushInsteadOf names it, and git runs it"},
#undef URL
};

const struct derive_gitkey *derive_gitkey_find(const struct derive_gitsetting *setting)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const bool fits = keys[i].name[0] == ANY[0] ? str_ends(setting->name, keys[i].name + 1)
                                                    : str_equal(keys[i].name, setting->name);

        if (fits && str_equal(keys[i].section, setting->section))
            return &keys[i];
    }
    return NULL;
}

const char *derive_giturl_command(const char *url)
{
    static const char helper[] = "ext::";

    return str_starts(url, helper) ? url + strlen(helper) : NULL;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* What a shell takes for the end of a word, quoted or not in a string it runs later. */
#define SEPARATORS " \t\n'\"\\`;|&()<>{}$=,:!"

/* Every piece between separators; and where something is expanded ("$TOP/x", "$(y)/x"), "./x" as if
 * that stood for the top. */
static int each_piece(char *value, const struct derive_gitwords *words)
{
    const char *start = value;
    const bool expands = strpbrk(value, "$`") != NULL;
    int r = 0;

    while (r == 0 && *value != '\0') {
        char *piece = value + strspn(value, SEPARATORS);
        char *end = piece + strcspn(piece, SEPARATORS);
        char *slash = NULL;

        value = end + (*end != '\0');
        *end = '\0';
        if (piece == end)
            continue;
        slash = strchr(piece, '/');
        r = words->each(words->context, piece);
        if (r != 0 || !expands || slash == NULL || slash == start)
            continue;
        slash[-1] = '.';
        r = words->each(words->context, slash - 1);
    }
    return r;
}

/* One word as a shell reads it, into `word`; returns what follows. */
static const char *take_word(const char *at, char *word)
{
    char quote = '\0';

    for (; *at != '\0'; at++) {
        if (*at == '\\' && quote != '\'' && at[1] != '\0')
            *word++ = *++at;
        else if (quote != '\0' && *at == quote)
            quote = '\0';
        else if (quote == '\0' && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (quote == '\0' && strchr(" \t\n;|&()<>", *at) != NULL)
            break;
        else
            *word++ = *at;
    }
    *word = '\0';
    return at;
}

static int each_word(const char *value, char *word, const struct derive_gitwords *words)
{
    int r = 0;

    for (const char *at = value; r == 0 && *at != '\0'; at += *at != '\0') {
        at = take_word(at, word);
        if (word[0] != '\0')
            r = words->each(words->context, word);
    }
    return r;
}

int derive_gitwords_each(const char *value, const struct derive_gitwords *words)
{
    AUTO_FREE char *copy = strdup(value);
    int r = copy == NULL ? -ENOMEM : 0;

    if (r == 0)
        r = each_word(value, copy, words);
    if (r < 0)
        return r;
    memcpy(copy, value, strlen(value) + 1);
    return each_piece(copy, words);
}
