/* Compilers, interpreters and their managers in a home: what each usual layout opens.
 *
 * A row is looked for at every start, unless it is only known from PATH: those cost nothing to who
 * does not use them. What becomes readable is the layout's own folder, never the home around it,
 * and nothing where the folder really is somewhere unfit (a home, "/", credentials, wattle's own).
 */
#include "base/path.h"
#include "base/str.h"
#include "derive/derive_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARTS_MAX 9
#define VERSIONS_MAX 64 /* of one layout; more are not looked at */

struct layout {
    const char *name;
    bool only_on_path;
    const char
        *root; /* below the home or absolute; nothing else is looked at where it is missing */
    const char *reads[PARTS_MAX]; /* opened when there; none: the root */
    const char *bins[PARTS_MAX];  /* join PATH when there; '*' stands for each version */
    struct {
        const char *name;
        const char *below_home;
    } env[2];
};

static const struct layout layouts[] = {
    {.name = "cargo", .root = ".cargo/bin", .bins = {".cargo/bin"}},
    {.name = "rustup", .root = ".rustup", .env = {{"RUSTUP_HOME", ".rustup"}}},
    {.name = "nvm", .root = ".nvm/versions/node", .bins = {".nvm/versions/node/*/bin"}},
    {.name = "fnm",
     .root = ".local/share/fnm",
     .bins = {".local/share/fnm", ".local/share/fnm/node-versions/*/installation/bin"}},
    {.name = "volta", .root = ".volta", .bins = {".volta/bin"}, .env = {{"VOLTA_HOME", ".volta"}}},
    {.name = "pyenv",
     .root = ".pyenv",
     .bins = {".pyenv/shims", ".pyenv/bin"},
     .env = {{"PYENV_ROOT", ".pyenv"}}},
    {.name = "rbenv",
     .root = ".rbenv",
     .bins = {".rbenv/shims", ".rbenv/bin"},
     .env = {{"RBENV_ROOT", ".rbenv"}}},
    {.name = "asdf",
     .root = ".asdf",
     .reads = {".asdf", ".tool-versions"},
     .bins = {".asdf/shims", ".asdf/bin"},
     .env = {{"ASDF_DATA_DIR", ".asdf"}, {"ASDF_DIR", ".asdf"}}},
    {.name = "mise",
     .root = ".local/share/mise",
     .reads = {".local/share/mise", ".local/bin/mise", ".tool-versions"},
     .bins = {".local/share/mise/shims"},
     .env = {{"MISE_DATA_DIR", ".local/share/mise"}}},
    {.name = "sdkman",
     .root = ".sdkman/candidates",
     .bins = {".sdkman/candidates/java/current/bin", ".sdkman/candidates/maven/current/bin",
              ".sdkman/candidates/gradle/current/bin", ".sdkman/candidates/kotlin/current/bin",
              ".sdkman/candidates/scala/current/bin", ".sdkman/candidates/sbt/current/bin",
              ".sdkman/candidates/groovy/current/bin"},
     .env = {{"JAVA_HOME", ".sdkman/candidates/java/current"}}},
    {.name = "go", .root = "go/bin", .bins = {"go/bin"}},
    {.name = "go sdk", .root = "sdk", .reads = {"sdk/go*"}, .bins = {"sdk/go*/bin"}},
    {.name = "go", .root = "/usr/local/go/bin", .bins = {"/usr/local/go/bin"}},
    {.name = "bun",
     .root = ".bun",
     .reads = {".bun/bin", ".bun/install/global"},
     .bins = {".bun/bin"}},
    {.name = "deno", .root = ".deno/bin", .bins = {".deno/bin"}},
    {.name = "uv",
     .root = ".local/share/uv",
     .reads = {".local/share/uv/python", ".local/share/uv/tools", ".local/bin/uv",
               ".local/bin/uvx"},
     .bins = {".local/bin"},
     .env = {{"UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"}}},
    {.name = "pipx", .root = ".local/share/pipx", .reads = {".local/share/pipx/venvs"}},
    {.name = "pnpm",
     .root = ".local/share/pnpm",
     .bins = {".local/share/pnpm", ".local/share/pnpm/bin"}},
    {.name = "npm", .root = ".npm-global", .bins = {".npm-global/bin"}},
    {.name = "Homebrew",
     .root = "/home/linuxbrew/.linuxbrew",
     .bins = {"/home/linuxbrew/.linuxbrew/bin", "/home/linuxbrew/.linuxbrew/sbin"}},
    {.name = "conda", .root = "miniconda3", .bins = {"miniconda3/condabin"}},
    {.name = "conda", .root = "anaconda3", .bins = {"anaconda3/condabin"}},
    {.name = "conda", .root = "miniforge3", .bins = {"miniforge3/condabin"}},
    {.name = "ghcup", .root = ".ghcup", .bins = {".ghcup/bin"}},
    {.name = "cabal", .root = ".cabal/bin", .bins = {".cabal/bin"}},
    {.name = "opam",
     .root = ".opam",
     .bins = {".opam/default/bin"},
     .env = {{"OPAMROOT", ".opam"}}},
    {.name = "dotnet",
     .root = ".dotnet",
     .reads = {".dotnet/dotnet", ".dotnet/host", ".dotnet/packs", ".dotnet/sdk",
               ".dotnet/sdk-manifests", ".dotnet/shared", ".dotnet/templates", ".dotnet/tools"},
     .bins = {".dotnet", ".dotnet/tools"},
     .env = {{"DOTNET_ROOT", ".dotnet"}}},
    {.name = "nix", .root = ".nix-profile/bin", .bins = {".nix-profile/bin"}},
    {.name = "Playwright",
     .root = ".cache/ms-playwright",
     .env = {{"PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright"}}},
    {.name = "Puppeteer",
     .root = ".cache/puppeteer",
     .env = {{"PUPPETEER_CACHE_DIR", ".cache/puppeteer"}}},

    {.only_on_path = true, .name = "fnm", .root = ".fnm"},
    {.only_on_path = true, .name = "n", .root = "n"},
    {.only_on_path = true,
     .name = "nodenv",
     .root = ".nodenv",
     .env = {{"NODENV_ROOT", ".nodenv"}}},
    {.only_on_path = true, .name = "goenv", .root = ".goenv", .env = {{"GOENV_ROOT", ".goenv"}}},
    {.only_on_path = true, .name = "gvm", .root = ".gvm"},
    {.only_on_path = true, .name = "jenv", .root = ".jenv", .env = {{"JENV_ROOT", ".jenv"}}},
    {.only_on_path = true, .name = "rvm", .root = ".rvm", .env = {{"rvm_path", ".rvm"}}},
    {.only_on_path = true, .name = "perlbrew", .root = "perl5"},
    {.only_on_path = true, .name = "luarocks", .root = ".luarocks"},
    {.only_on_path = true, .name = "RubyGems", .root = ".local/share/gem/ruby"},
    {.only_on_path = true, .name = "Yarn", .root = ".yarn/bin"},
    {.only_on_path = true, .name = "Yarn", .root = ".config/yarn/global"},
    {.only_on_path = true, .name = "conda", .root = "mambaforge"},
    {.only_on_path = true, .name = "conda", .root = "micromamba"},
    {.only_on_path = true, .name = "conda", .root = ".conda/envs"},
    {.only_on_path = true, .name = "Python environment", .root = ".virtualenvs"},
    {.only_on_path = true, .name = "Python environment", .root = ".local/share/virtualenvs"},
    {.only_on_path = true, .name = "Python environment", .root = ".cache/pypoetry/virtualenvs"},
    {.only_on_path = true, .name = "Poetry", .root = ".local/share/pypoetry"},
    {.only_on_path = true, .name = "Homebrew", .root = ".linuxbrew"},
    {.only_on_path = true, .name = "Julia", .root = ".juliaup"},
    {.only_on_path = true, .name = "Swift", .root = ".local/share/swiftly"},
    {.only_on_path = true, .name = "Zig", .root = ".zvm"},
    {.only_on_path = true, .name = "Elixir", .root = ".elixir-install"},
    {.only_on_path = true, .name = "Coursier", .root = ".local/share/coursier/bin"},
    {.only_on_path = true, .name = "Composer", .root = ".config/composer/vendor"},
    {.only_on_path = true, .name = "Composer", .root = ".composer/vendor"},
    {.only_on_path = true, .name = "Foundry", .root = ".foundry/bin"},
    {.only_on_path = true, .name = "Wasmtime", .root = ".wasmtime/bin"},
    {.only_on_path = true, .name = "Wasmer", .root = ".wasmer/bin"},
    {.only_on_path = true, .name = "Flutter", .root = "flutter"},
    {.only_on_path = true, .name = "Dart", .root = ".pub-cache/bin"},
    {.only_on_path = true, .name = "Android", .root = "Android/Sdk"},
    {.only_on_path = true, .name = "Maven daemon", .root = ".mvnd"},
};

static char *full_path(const struct derivation *work, const char *path)
{
    return path[0] == '/' ? strdup(path) : path_join(work->owner->home, path);
}

/* ---- opening ----------------------------------------------------------------------------- */

static int note_unfit(const struct derivation *work, const struct layout *layout, const char *path,
                      unsigned facts, struct err *err)
{
    return derive_note(work, err, "'%s' (%s) adds nothing: it %s", path, layout->name,
                       derive_verdict_text(facts));
}

/* Rule for `physical`. What the table names by a symlink must work by that name as well. */
static int open_read(struct derivation *work, const struct layout *layout, const char *typed,
                     const char *physical, struct err *err)
{
    const struct derive_rule rule = {
        .path = physical,
        .access = POLICY_READ,
        .origin = POLICY_FROM_TOOLCHAIN,
        .why = layout->name,
        .optional = true,
    };
    unsigned facts = derive_judge(work, physical).facts;
    int r = 0;

    if ((facts & (DERIVE_UNFIT | DERIVE_IN_PEN | DERIVE_IN_TREE)) != 0)
        return note_unfit(work, layout, typed, facts, err);
    if (!derive_shown(work, physical))
        r = derive_rule_add(work, &rule, err);
    if (r == 0 && !str_equal(typed, physical))
        r = derive_list_add(&work->typed, typed, err);
    return r;
}

static int open_path(struct derivation *work, const struct layout *layout, const char *path,
                     struct err *err)
{
    AUTO_FREE char *typed = full_path(work, path);
    AUTO_FREE char *physical = NULL;
    AUTO_CLOSE int fd = -1;

    if (typed == NULL)
        return err_memory(err);
    fd = derive_open_physical(AT_FDCWD, typed, "", &physical);
    return fd < 0 ? 0 : open_read(work, layout, typed, physical, err);
}

/* ---- versions ---------------------------------------------------------------------------- */

/* "v9.1" before "v10.0": digits by value, the rest by byte. */
static int compare_versions(const char *a, const char *b)
{
    return strverscmp(a, b);
}

static int newest_first(const void *a, const void *b)
{
    return compare_versions(*(char *const *) b, *(char *const *) a);
}

/* The names in the folder that begin with `prefix`, the newest version first. */
static int list_versions(const char *folder, const char *prefix, struct derive_list *names,
                         struct err *err)
{
    AUTO_CLOSEDIR DIR *dir = opendir(folder);
    const struct dirent *entry = NULL;
    int r = 0;

    while (r == 0 && dir != NULL && names->count < VERSIONS_MAX && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && str_starts(entry->d_name, prefix))
            r = derive_list_add(names, entry->d_name, err);
    if (names->count > 1)
        qsort(names->items, names->count, sizeof names->items[0], newest_first);
    return r;
}

/* Calls `each` with `pattern`, or with one path for every version its "*" stands for. */
static int expand(struct derivation *work, const struct layout *layout, const char *pattern,
                  int (*each)(struct derivation *work, const struct layout *layout,
                              const char *path, struct err *err),
                  struct err *err)
{
    AUTO(derive_list_free) struct derive_list names = {0};
    AUTO_FREE char *full = full_path(work, pattern);
    char *star = full == NULL ? NULL : strchr(full, '*');
    char *slash = NULL;
    int r = 0;

    if (full == NULL)
        return err_memory(err);
    if (star == NULL)
        return each(work, layout, full, err);
    *star = '\0';
    slash = strrchr(full, '/');
    *slash = '\0';
    r = list_versions(full, slash + 1, &names, err);
    for (size_t i = 0; r == 0 && i < names.count; i++) {
        AUTO_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s%s", full, names.items[i], star + 1) < 0) {
            path = NULL;
            return err_memory(err);
        }
        r = each(work, layout, path, err);
    }
    return r;
}

/* ---- one layout -------------------------------------------------------------------------- */

/* The environment that tells a toolchain where it is, as its home inside is another one. */
static int set_env(const struct derivation *work, const struct layout *layout, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(layout->env) && layout->env[i].name != NULL; i++) {
        AUTO_FREE char *path = full_path(work, layout->env[i].below_home);

        if (path == NULL)
            return err_memory(err);
        if (str_equal(layout->env[i].below_home, layout->root) || access(path, F_OK) == 0)
            r = policy_set_env(work->policy, layout->env[i].name, path, err);
    }
    return r;
}

/* `root` exists, as the caller names it and physically. */
static int open_layout(struct derivation *work, const struct layout *layout, const char *typed,
                       const char *physical, struct err *err)
{
    int r = 0;

    if (layout->reads[0] == NULL)
        r = open_read(work, layout, typed, physical, err);
    for (size_t i = 0; r == 0 && i < PARTS_MAX && layout->reads[i] != NULL; i++)
        r = expand(work, layout, layout->reads[i], open_path, err);
    return r < 0 ? r : set_env(work, layout, err);
}

/* Names below the home are looked up from a descriptor of it. */
static int find_layout(struct derivation *work, const struct layout *layout, int home_fd,
                       bool *ret_found, struct err *err)
{
    const bool absolute = layout->root[0] == '/';
    AUTO_FREE char *typed = NULL;
    AUTO_FREE char *physical = NULL;
    AUTO_CLOSE int fd = -1;

    if (!absolute && !derive_survey_place(work->survey, home_fd, layout->root).may_exist)
        return 0;
    typed = full_path(work, layout->root);
    if (typed == NULL)
        return err_memory(err);
    fd = absolute ? derive_open_physical(AT_FDCWD, layout->root, "", &physical)
                  : derive_open_physical(home_fd, work->owner->home, layout->root, &physical);
    *ret_found = fd >= 0;
    return fd < 0 ? 0 : open_layout(work, layout, typed, physical, err);
}

int derive_toolchains_add(struct derivation *work, struct err *err)
{
    AUTO_CLOSE int home_fd = open(work->owner->home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    _Static_assert(ARRAY_SIZE(layouts) <= sizeof work->layouts_found, "one mark for each row");
    for (size_t i = 0; r == 0 && home_fd >= 0 && i < ARRAY_SIZE(layouts); i++)
        if (!layouts[i].only_on_path)
            r = find_layout(work, &layouts[i], home_fd, &work->layouts_found[i], err);
    return r;
}

/* ---- PATH -------------------------------------------------------------------------------- */

static int add_bin(struct derivation *work, const struct layout *layout, const char *path,
                   struct err *err)
{
    AUTO_FREE char *physical = NULL;
    AUTO_CLOSE int fd = derive_open_physical(AT_FDCWD, path, "", &physical);
    bool shown = fd >= 0 && derive_shown(work, physical);

    /* A folder of which only some files are shown was named by the table itself. */
    if (fd < 0 || (!shown && layout->reads[0] == NULL))
        return 0;
    return derive_folder_add(work, derive_shown(work, path) ? path : physical, true, err);
}

int derive_toolchain_folders(struct derivation *work, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(layouts); i++)
        for (size_t j = 0; r == 0 && work->layouts_found[i] && j < PARTS_MAX; j++)
            if (layouts[i].bins[j] != NULL)
                r = expand(work, &layouts[i], layouts[i].bins[j], add_bin, err);
    return r;
}

int derive_toolchain_open(struct derivation *work, const char *path, struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        AUTO_FREE char *typed = full_path(work, layouts[i].root);
        AUTO_FREE char *physical = NULL;
        AUTO_CLOSE int fd = -1;
        int r = 0;

        if (typed == NULL)
            return err_memory(err);
        if (!layouts[i].only_on_path || !path_is_below(path, typed))
            continue;
        fd = derive_open_physical(AT_FDCWD, typed, "", &physical);
        if (fd < 0)
            continue;
        r = open_layout(work, &layouts[i], typed, physical, err);
        return r < 0 ? r : derive_shown(work, path);
    }
    return 0;
}
