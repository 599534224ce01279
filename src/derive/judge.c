/* What kind of place a physical path is. By text alone: every list it compares with was made
 * physical before (derive_judge_prepare). */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"
#include "policy/credentials.h"

#include <stdio.h>
#include <string.h>

/* Roots of many things: no project, and no toolchain. */
static const char *const broad_roots[] = {
    "/bin",           "/boot",
    "/etc",           "/gnu",
    "/gnu/store",     "/home",
    "/lib",           "/lib32",
    "/lib64",         "/libx32",
    "/lost+found",    "/media",
    "/mnt",           "/nix",
    "/nix/store",     "/nix/var",
    "/opt",           "/root",
    "/run",           "/run/user",
    "/sbin",          "/snap",
    "/srv",           "/tmp",
    "/usr",           "/usr/bin",
    "/usr/lib",       "/usr/lib32",
    "/usr/lib64",     "/usr/libexec",
    "/usr/local",     "/usr/local/bin",
    "/usr/local/lib", "/usr/local/share",
    "/usr/local/src", "/usr/sbin",
    "/usr/share",     "/usr/src",
    "/var",           "/var/cache",
    "/var/lib",       "/var/lock",
    "/var/log",       "/var/mail",
    "/var/opt",       "/var/run",
    "/var/spool",     "/var/tmp",
    "/var/www",
};

/* The system's own files, at any depth: fine to read, never a pen or writable. */
static const char *const system_tops[] = {
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/sbin",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/nix/store",
    "/gnu/store",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/lib/wattle",
};

/* Whoever opens these opens every socket in them. */
static const char *const socket_tops[] = {"/run", "/run/user", "/var/run"};

static const char *const kernel_tops[] = {"/dev", "/proc", "/sys"};

/* What the machine itself must keep to itself; root can read it. */
static const char *const system_secrets[] = {
    "/etc/NetworkManager/system-connections",
    "/etc/cni",
    "/etc/docker",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/opasswd",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/pki/tls/private",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/var/lib/NetworkManager",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/libvirt/qemu",
    "/var/lib/rancher",
    "/var/lib/sss",
    "/var/spool/cron",
};

const char *const *derive_system_secrets(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(system_secrets);
    return system_secrets;
}

static bool is_one_of(const char *path, const char *const *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(path, table[i]))
            return true;
    return false;
}

static bool is_below_one_of(const char *path, const char *const *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (path_is_below(path, table[i]))
            return true;
    return false;
}

/* "/run/user/1000": everything of one log-in. */
static bool is_runtime_top(const char *path)
{
    return str_starts(path, "/run/user/") && strchr(path + strlen("/run/user/"), '/') == NULL;
}

static unsigned judge_tables(const char *path)
{
    unsigned facts = 0;

    if (str_equal(path, "/"))
        return DERIVE_ROOT;
    if (is_below_one_of(path, kernel_tops, ARRAY_SIZE(kernel_tops)))
        facts |= DERIVE_KERNEL;
    if (path_is_below(path, POLICY_INSIDE_TOP))
        facts |= DERIVE_INSIDE;
    if (is_one_of(path, broad_roots, ARRAY_SIZE(broad_roots)) || is_runtime_top(path))
        facts |= DERIVE_BROAD;
    if (is_one_of(path, socket_tops, ARRAY_SIZE(socket_tops)) || is_runtime_top(path))
        facts |= DERIVE_SOCKETS;
    if (is_below_one_of(path, system_tops, ARRAY_SIZE(system_tops)))
        facts |= DERIVE_SYSTEM;
    return facts;
}

/* Adds `fact`, and what it is about when nothing graver was found before. */
static void add_fact(struct derive_verdict *verdict, enum derive_fact fact, const char *object)
{
    verdict->facts |= fact;
    if (verdict->object == NULL)
        verdict->object = object;
}

static void compare_with(struct derive_verdict *verdict, const char *path, const char *place,
                         enum derive_fact inside, enum derive_fact holds)
{
    if (place == NULL)
        return;
    if (path_is_below(path, place))
        add_fact(verdict, inside, place);
    else if (path_is_below(place, path))
        add_fact(verdict, holds, place);
}

static void judge_own(const struct derive_owner *owner, const char *path,
                      struct derive_verdict *verdict)
{
    const char *const own[] = {owner->config_dir, owner->state_dir, owner->cache_dir,
                               owner->runtime_dir, "/etc/wattle"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        compare_with(verdict, path, own[i], DERIVE_OWN, DERIVE_HOLDS_OWN);
    for (size_t i = 0; owner->defaults != NULL && i < owner->defaults->count; i++)
        compare_with(verdict, path, owner->defaults->items[i], DERIVE_OWN, DERIVE_HOLDS_OWN);
}

static void judge_home(const char *home, const char *path, struct derive_verdict *verdict)
{
    const char *place = NULL;

    if (str_equal(path, home))
        add_fact(verdict, DERIVE_HOME, home);
    else if (path_is_below(home, path))
        add_fact(verdict, DERIVE_HOLDS_HOME, home);
    if (!path_is_below(path, home))
        return;
    place = credential_place_of(path, home);
    if (place != NULL)
        add_fact(verdict, DERIVE_CREDENTIAL, place);
    else if (credential_place_below(path, home))
        add_fact(verdict, DERIVE_HOLDS_CREDENTIAL, NULL); /* the home is not what it is about */
}

struct derive_verdict derive_judge(const struct derivation *work, const char *path)
{
    struct derive_verdict verdict = {.facts = judge_tables(path)};

    if ((verdict.facts & DERIVE_ROOT) != 0) {
        verdict.facts |= DERIVE_HOLDS_HOME | DERIVE_HOLDS_CREDENTIAL | DERIVE_HOLDS_OWN;
        return verdict;
    }
    for (size_t i = 0; i < work->homes.count; i++)
        judge_home(work->homes.items[i], path, &verdict);
    judge_own(work->owner, path, &verdict);
    for (size_t i = 0; i < work->secrets.count; i++)
        compare_with(&verdict, path, work->secrets.items[i], DERIVE_CREDENTIAL,
                     DERIVE_HOLDS_CREDENTIAL);
    for (size_t i = 0; i < ARRAY_SIZE(system_secrets); i++)
        compare_with(&verdict, path, system_secrets[i], DERIVE_CREDENTIAL, DERIVE_HOLDS_CREDENTIAL);
    if (work->pen != NULL && path_is_below(path, work->pen))
        verdict.facts |= DERIVE_IN_PEN;
    if (work->tree != NULL && path_is_below(path, work->tree))
        verdict.facts |= DERIVE_IN_TREE;
    return verdict;
}

const char *derive_verdict_text(unsigned facts)
{
    static const struct {
        unsigned fact;
        const char *text;
    } texts[] = {
        {DERIVE_ROOT, "is the whole system"},
        {DERIVE_KERNEL, "is made by the kernel, and a run gets its own"},
        {DERIVE_INSIDE, "is a name that every run has for itself"},
        {DERIVE_HOME, "is a home folder"},
        {DERIVE_HOLDS_HOME, "holds home folders"},
        {DERIVE_BROAD, "is a root of many things"},
        {DERIVE_SOCKETS, "holds the sockets of the system and its sessions"},
        {DERIVE_OWN, "belongs to wattle itself"},
        {DERIVE_HOLDS_OWN, "holds wattle's own files"},
        {DERIVE_CREDENTIAL, "is a place for credentials"},
        {DERIVE_HOLDS_CREDENTIAL, "holds places for credentials"},
        {DERIVE_SYSTEM, "is part of the system"},
        {DERIVE_IN_PEN, "lies in the pen"},
        {DERIVE_IN_TREE, "lies in the work tree around the pen"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if ((facts & texts[i].fact) != 0)
            return texts[i].text;
    return NULL;
}
