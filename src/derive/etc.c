/* The parts of /etc that programs need, and no other: a table, matched with one listing of /etc.
 * What names people or this machine is made for the run. */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ETC "/etc"

/* Sorted. A name with a slash is looked for where its first part exists. Never: shadow, sudoers,
 * ssh, machine-id, ssl/private, and registries' files that may hold tokens (npmrc, pip.conf). */
static const char *const entries[] = {
    "R",
    "alternatives",
    "bash.bashrc",
    "bashrc",
    "ca-certificates",
    "chromium",
    "chromium.d",
    "clang",
    "crypto-policies",
    "dotnet",
    "fedora-release",
    "fish",
    "fonts",
    "fpc.cfg",
    "gitattributes",
    "gitconfig",
    "host.conf",
    "inputrc",
    "java",
    "jvm",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.conf",
    "localtime",
    "lsb-release",
    "maven/logging",
    "maven/m2.conf",
    "mime.types",
    "mtab",
    "os-release",
    "perl",
    "php",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/ct_log_list.cnf",
    "pki/tls/openssl.cnf",
    "pki/tls/openssl.d",
    "profile",
    "profile.d",
    "protocols",
    "python",
    "redhat-release",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "static",
    "system-release",
    "terminfo",
    "texmf",
    "xml",
    "zlogin",
    "zprofile",
    "zsh",
    "zshenv",
    "zshrc",
};

/* Names that carry a version. */
static const char *const prefixes[] = {"ImageMagick-", "fpc-", "java-", "python3"};

const char *const *derive_etc_entries(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(entries);
    return entries;
}

/* ---- one entry --------------------------------------------------------------------------- */

static int add_read(const struct derivation *work, const char *path, struct err *err)
{
    const struct derive_rule rule = {
        .path = path,
        .access = POLICY_READ,
        .origin = POLICY_FROM_BASE,
        .why = "system configuration",
        .optional = true,
    };

    return derive_rule_add(work, &rule, err);
}

/* What leads into /usr or /proc shows; where it goes on from there is the system's business. */
static bool leads_somewhere_known(const struct derivation *work, const char *path)
{
    return derive_shown(work, path) || path_is_below(path, "/proc");
}

static int add_link(const struct derivation *work, int etc_fd, const char *name, const char *path,
                    struct derive_list *links, struct err *err)
{
    AUTO_FREE char *leads_to = NULL;
    char target[PATH_MAX];
    ssize_t size = readlinkat(etc_fd, name, target, sizeof target - 1);
    int r = 0;

    if (size <= 0)
        return 0;
    target[size] = '\0';
    r = derive_place_add(work, POLICY_PLACE_SYMLINK, path, target, "system configuration", err);
    if (r == 0)
        r = path_normalize(target, ETC, NULL, &leads_to, err);
    if (r < 0)
        return r;
    return leads_somewhere_known(work, leads_to) ? 0 : derive_list_add(links, path, err);
}

/* `type` is that of readdir. Links are noted: what they lead to is looked at when all is known. */
static int add_entry(const struct derivation *work, int etc_fd, const char *name,
                     unsigned char type, struct derive_list *links, struct err *err)
{
    AUTO_FREE char *path = path_join(ETC, name);
    struct stat seen = {0};
    mode_t mode = DTTOIF(type);

    if (path == NULL)
        return err_memory(err);
    if (type == DT_UNKNOWN) {
        if (fstatat(etc_fd, name, &seen, AT_SYMLINK_NOFOLLOW) < 0)
            return 0;
        mode = seen.st_mode;
    }
    if (S_ISLNK(mode))
        return add_link(work, etc_fd, name, path, links, err);
    return S_ISREG(mode) || S_ISDIR(mode) ? add_read(work, path, err) : 0;
}

/* ---- the listing ------------------------------------------------------------------------- */

static int compare_first_part(const void *key, const void *item)
{
    const char *name = key;
    const char *entry = *(const char *const *) item;
    size_t size = strcspn(entry, "/");
    int order = strncmp(name, entry, size);

    return order != 0 ? order : name[size] != '\0';
}

/* The entries of the table that begin with the part `name`. */
static const char *const *find_entries(const char *name, size_t *ret_count)
{
    const char *const *found =
        bsearch(name, entries, ARRAY_SIZE(entries), sizeof entries[0], compare_first_part);
    const char *const *end = found;

    if (found == NULL)
        return NULL;
    while (found > entries && compare_first_part(name, found - 1) == 0)
        found--;
    while (end < entries + ARRAY_SIZE(entries) && compare_first_part(name, end) == 0)
        end++;
    *ret_count = (size_t) (end - found);
    return found;
}

static int add_name(const struct derivation *work, int etc_fd, const struct dirent *entry,
                    struct derive_list *links, struct err *err)
{
    size_t count = 0;
    const char *const *found = find_entries(entry->d_name, &count);
    int r = 0;

    for (size_t i = 0; r == 0 && found != NULL && i < count; i++)
        r = add_entry(work, etc_fd, found[i],
                      strchr(found[i], '/') == NULL ? entry->d_type : DT_UNKNOWN, links, err);
    for (size_t i = 0; r == 0 && found == NULL && i < ARRAY_SIZE(prefixes); i++)
        if (str_starts(entry->d_name, prefixes[i]))
            r = add_entry(work, etc_fd, entry->d_name, entry->d_type, links, err);
    return r;
}

/* Where a link leads must show as well, unless it is a place of the kernel's. What the table names
 * is the system's word; a home or a place for credentials is not opened even so. */
static int open_target(const struct derivation *work, const char *link, struct err *err)
{
    AUTO_FREE char *physical = NULL;
    unsigned facts = 0;

    if (path_physical(link, &physical, NULL) < 0)
        return 0; /* leads nowhere, outside as well */
    facts = derive_judge(work, physical).facts;
    if (derive_shown(work, physical) || (facts & DERIVE_UNFIT) != 0)
        return 0;
    return add_read(work, physical, err);
}

int derive_etc_add(const struct derivation *work, struct err *err)
{
    AUTO_CLOSEDIR DIR *dir = opendir(ETC);
    AUTO(derive_list_free) struct derive_list links = {0};
    const struct dirent *entry = NULL;
    int r = 0;

    if (dir == NULL)
        return errno == ENOENT ? 0 : err_set(err, errno, "derive.etc", "cannot list '%s'", ETC);
    while (r == 0 && (entry = readdir(dir)) != NULL)
        r = add_name(work, dirfd(dir), entry, &links, err);
    for (size_t i = 0; r == 0 && i < links.count; i++)
        r = open_target(work, links.items[i], err);
    return r;
}

/* ---- made for the run -------------------------------------------------------------------- */

static int add_file(const struct derivation *work, const char *path, const char *content,
                    struct err *err)
{
    return derive_place_add(work, POLICY_PLACE_FILE, path, content, "made for the run", err);
}

static int add_passwd(const struct derivation *work, struct err *err)
{
    const struct derive_owner *owner = work->owner;
    /* As adduser does: an account without a full name makes git refuse every commit. */
    const char *full_name = owner->gecos[0] != '\0' ? owner->gecos : owner->login;
    AUTO(buf_free) struct buf buf;
    int r = 0;

    buf_init(&buf, 16384);
    if (owner->uid != 0)
        (void) buf_add_text(&buf, "root:x:0:0:root:/root:/bin/sh\n");
    (void) buf_printf(&buf, "%s:x:%lu:%lu:%s:" POLICY_INSIDE_HOME ":%s\n", owner->login,
                      (unsigned long) owner->uid, (unsigned long) owner->gid, full_name,
                      derive_shell());
    if (owner->uid != 65534 && !str_equal(owner->login, "nobody"))
        (void) buf_add_text(&buf, "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n");
    r = buf_check(&buf, "/etc/passwd", err);
    return r < 0 ? r : add_file(work, "/etc/passwd", buf.bytes, err);
}

static int add_group(const struct derivation *work, struct err *err)
{
    const struct derive_owner *owner = work->owner;
    AUTO(buf_free) struct buf buf;
    int r = 0;

    buf_init(&buf, 16384);
    if (owner->gid != 0)
        (void) buf_add_text(&buf, "root:x:0:\n");
    (void) buf_printf(&buf, "%s:x:%lu:\n", owner->group, (unsigned long) owner->gid);
    if (owner->gid != 65534 && !str_equal(owner->group, "nogroup"))
        (void) buf_add_text(&buf, "nogroup:x:65534:\n");
    r = buf_check(&buf, "/etc/group", err);
    return r < 0 ? r : add_file(work, "/etc/group", buf.bytes, err);
}

int derive_etc_files(const struct derivation *work, struct err *err)
{
    static const struct {
        const char *path;
        const char *content;
    } files[] = {
        {"/etc/hostname", "wattle\n"},
        {"/etc/hosts", "127.0.0.1 localhost\n"
                       "::1 localhost ip6-localhost ip6-loopback\n"
                       "127.0.1.1 wattle.localdomain wattle\n"},
        {"/etc/nsswitch.conf", "passwd: files\n"
                               "group: files\n"
                               "shadow: files\n"
                               "hosts: files dns\n"
                               "networks: files\n"
                               "protocols: files\n"
                               "services: files\n"},
        {"/etc/resolv.conf", ""}, /* no network, no name servers */
    };
    int r = add_passwd(work, err);

    if (r == 0)
        r = add_group(work, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
        r = add_file(work, files[i].path, files[i].content, err);
    return r;
}
