#include "fence/guard/names.h"

#include "base/cleanup.h"
#include "fence/guard/match_priv.h"

#include <string.h>

#define BY_GIT "it would run on your side at the next git command"
#define BY_GIT_LEGACY "git would take an address from it"
#define BY_HG "it would run on your side at the next hg command"
#define BY_JJ "it would run on your side at the next jj command"
#define BY_SL "it would run on your side at the next sl command"
#define BY_PIJUL "it would run on your side at the next pijul command"
#define BY_EDITOR "your editor would run what it says"
#define BY_AGENT "an agent on your side would take its rights or commands from it"
#define BY_SHELL "it would run when your shell enters the folder"
#define BY_HUSKY "it would run on your side at the next commit"
#define BY_DEVCONTAINER "your editor would build and run what it says"

#define GIT(pattern, newcomer, vet)                                                                \
    {                                                                                              \
        pattern, GUARD_ANYWHERE, GUARD_HOLD, newcomer, vet, true, false, BY_GIT                    \
    }
/* What makes a folder a git folder that runs something, for those that lie in ".git". A folder
 * below modules/ or worktrees/ is a git folder at any depth: their names come from the tree. */
#define GIT_FOLDER(top)                                                                            \
    GIT(top "/hooks", GUARD_DISARM, GUARD_VET_HOOKS),                                              \
        GIT(top "/config", GUARD_DISARM, GUARD_VET_CONFIG),                                        \
        GIT(top "/config.lock", GUARD_DISARM, GUARD_VET_LOCK),                                     \
        GIT(top "/config.worktree", GUARD_DISARM, GUARD_VET_CONFIG),                               \
        GIT(top "/config.worktree.lock", GUARD_DISARM, GUARD_VET_LOCK)
#define GIT_LINKED(top)                                                                            \
    GIT_FOLDER(top), GIT(top "/commondir", GUARD_DISARM, GUARD_VET_COMMONDIR),                     \
        GIT(top "/gitdir", GUARD_DISARM, GUARD_VET_BACK)

#define TOP(pattern, newcomer, reason)                                                             \
    {                                                                                              \
        pattern, GUARD_AT_TOPS, GUARD_HOLD, newcomer, GUARD_VET_NONE, false, false, reason         \
    }
#define HELD(pattern, reason) TOP(pattern, GUARD_HOLD, reason)
#define ASIDE(pattern, reason) TOP(pattern, GUARD_SET_ASIDE, reason)
#define ANYWHERE(pattern, reason)                                                                  \
    {                                                                                              \
        pattern, GUARD_ANYWHERE, GUARD_HOLD, GUARD_HOLD, GUARD_VET_NONE, false, false, reason      \
    }

const struct guard_name guard_names[] = {
    /* git. Not more of ".git" than this: a probe file that cannot be made there changes what git
     * thinks of the file system. */
    GIT(".git", GUARD_DISARM, GUARD_VET_GIT),
    GIT_FOLDER(".git"),
    GIT(".git/commondir", GUARD_HOLD, GUARD_VET_NONE),
    GIT_LINKED(".git/modules/**"),
    GIT_LINKED(".git/worktrees/**"),
    {".git/remotes", GUARD_ANYWHERE, GUARD_HOLD, GUARD_HOLD, GUARD_VET_NONE, true, false,
     BY_GIT_LEGACY},
    {".git/branches/*", GUARD_ANYWHERE, GUARD_HOLD, GUARD_HOLD, GUARD_VET_NONE, true, false,
     BY_GIT_LEGACY},
    /* other version control */
    ANYWHERE(".hg/hgrc", BY_HG),
    ANYWHERE(".hg/hgrc-not-shared", BY_HG),
    ANYWHERE(".hg/sharedpath", BY_HG),
    /* Before 0.38 jj read these; it takes over what it finds there until the owner's own settings
     * have an entry for the folder, which the two ids name. */
    ANYWHERE(".jj/repo/config.toml", BY_JJ),
    ANYWHERE(".jj/repo/config-id", BY_JJ),
    ANYWHERE(".jj/workspace-config.toml", BY_JJ),
    ANYWHERE(".jj/workspace-config-id", BY_JJ),
    ANYWHERE(".sl/config", BY_SL),
    ANYWHERE(".pijul/config", BY_PIJUL),
    /* the shell */
    ASIDE(".envrc", BY_SHELL),
    ASIDE(".autoenv", BY_SHELL),
    ASIDE(".autoenv.zsh", BY_SHELL),
    /* agents */
    ASIDE(".mcp.json", BY_AGENT),
    HELD(".claude/settings.json", BY_AGENT),
    HELD(".claude/settings.local.json", BY_AGENT),
    HELD(".claude/hooks", BY_AGENT),
    HELD(".claude/commands", BY_AGENT),
    HELD(".claude/agents", BY_AGENT),
    HELD(".claude/skills", BY_AGENT),
    HELD(".claude/plugins", BY_AGENT),
    HELD(".claude-plugin", BY_AGENT),
    HELD(".codex", BY_AGENT),
    HELD(".agents/skills", BY_AGENT),
    HELD(".gemini", BY_AGENT),
    HELD(".cursor", BY_AGENT),
    HELD(".windsurf", BY_AGENT),
    HELD(".kiro", BY_AGENT),
    HELD(".opencode", BY_AGENT),
    HELD(".roo", BY_AGENT),
    HELD(".aider.conf.yml", BY_AGENT),
    HELD(".qwen", BY_AGENT),
    HELD(".amazonq", BY_AGENT),
    HELD(".crush.json", BY_AGENT),
    HELD(".clinerules/hooks", BY_AGENT),
    /* editors */
    ASIDE(".vscode/tasks.json", BY_EDITOR),
    ASIDE(".vscode/launch.json", BY_EDITOR),
    ASIDE(".vscode/settings.json", BY_EDITOR),
    ASIDE(".vscode/mcp.json", BY_AGENT),
    HELD(".idea/workspace.xml", BY_EDITOR),
    HELD(".idea/runConfigurations", BY_EDITOR),
    HELD(".idea/externalDependencies.xml", BY_EDITOR),
    HELD(".run", BY_EDITOR),
    HELD(".zed/tasks.json", BY_EDITOR),
    HELD(".zed/debug.json", BY_EDITOR),
    HELD(".zed/settings.json", BY_EDITOR),
    HELD(".nvim.lua", BY_EDITOR),
    HELD(".nvimrc", BY_EDITOR),
    HELD(".exrc", BY_EDITOR),
    HELD(".vimrc", BY_EDITOR),
    HELD(".gvimrc", BY_EDITOR),
    HELD(".helix", BY_EDITOR),
    HELD(".devcontainer", BY_DEVCONTAINER),
    HELD(".devcontainer.json", BY_DEVCONTAINER),
    /* husky makes ".husky/_" anew at each installation; it runs only where core.hooksPath names
     * it, and such a folder is held as what hooksPath names */
    HELD(".husky/!_", BY_HUSKY),
};

size_t guard_names_count(void)
{
    return ARRAY_SIZE(guard_names);
}

#define ROW(pattern, alone, reason)                                                                \
    {                                                                                              \
        pattern, GUARD_ANYWHERE, GUARD_REPORT, GUARD_REPORT, GUARD_VET_NONE, false, alone, reason  \
    }
#define LISTED(pattern, reason) ROW(pattern, false, reason)
#define BY_BUILD "it runs when you build"
#define BY_INSTALL "it can run when you install or test"
#define BY_CI "it runs in your continuous integration"
#define BY_REBASE "an unfinished rebase can hold commands that 'git rebase --continue' runs"
#define BY_REPOSITORY "git takes the folder for a repository of its own, with its own history"
#define BY_FILTER "git runs the filters and merge drivers it names, where your settings have them"
#define BY_ADDRESS "git takes addresses to fetch from out of it"

const struct guard_name guard_names_reported[] = {
    LISTED("Makefile", BY_BUILD),
    LISTED("GNUmakefile", BY_BUILD),
    LISTED("*.mk", BY_BUILD),
    LISTED("CMakeLists.txt", BY_BUILD),
    LISTED("meson.build", BY_BUILD),
    LISTED("configure", BY_BUILD),
    LISTED("build.rs", BY_BUILD),
    LISTED("build.gradle", BY_BUILD),
    LISTED("build.gradle.kts", BY_BUILD),
    LISTED("gradlew", BY_BUILD),
    LISTED("pom.xml", BY_BUILD),
    LISTED("Rakefile", BY_BUILD),
    LISTED("justfile", BY_BUILD),
    LISTED("Taskfile.yml", BY_BUILD),
    LISTED("Dockerfile", BY_BUILD),
    LISTED("compose.yaml", BY_BUILD),
    LISTED("docker-compose.yml", BY_BUILD),
    LISTED(".cargo/config.toml", BY_BUILD),
    LISTED(".cargo/config", BY_BUILD),
    LISTED(".bazelrc", BY_BUILD),
    LISTED("package.json", BY_INSTALL),
    LISTED(".npmrc", BY_INSTALL),
    LISTED(".yarnrc", BY_INSTALL),
    LISTED(".yarnrc.yml", BY_INSTALL),
    LISTED(".pnpmfile.cjs", BY_INSTALL),
    LISTED("setup.py", BY_INSTALL),
    LISTED("pyproject.toml", BY_INSTALL),
    LISTED("conftest.py", BY_INSTALL),
    LISTED("tox.ini", BY_INSTALL),
    LISTED("noxfile.py", BY_INSTALL),
    LISTED("Gemfile", BY_INSTALL),
    LISTED("composer.json", BY_INSTALL),
    LISTED(".pre-commit-config.yaml", BY_INSTALL),
    LISTED("lefthook.yml", BY_INSTALL),
    LISTED("mise.toml", BY_INSTALL),
    LISTED(".mise.toml", BY_INSTALL),
    LISTED(".gdbinit", BY_INSTALL),
    LISTED(".dir-locals.el", BY_INSTALL),
    LISTED("opencode.json", BY_INSTALL),
    LISTED("*.code-workspace", BY_INSTALL),
    LISTED(".github/workflows/*", BY_CI),
    LISTED(".github/actions/**", BY_CI),
    LISTED(".gitlab-ci.yml", BY_CI),
    LISTED(".circleci/config.yml", BY_CI),
    LISTED(".travis.yml", BY_CI),
    LISTED("azure-pipelines.yml", BY_CI),
    LISTED("bitbucket-pipelines.yml", BY_CI),
    LISTED("Jenkinsfile", BY_CI),
    LISTED(".woodpecker.yml", BY_CI),
    LISTED(".gitattributes", BY_FILTER),
    LISTED(".gitmodules", BY_ADDRESS),
    LISTED(".lfsconfig", BY_ADDRESS),
    LISTED(".git/info/attributes", BY_FILTER),
    LISTED(".git/modules/**/info/attributes", BY_FILTER),
    /* a gitlink: a repository in the one of the pen; below its top only */
    ROW("*/.git", true, BY_REPOSITORY),
    LISTED(".git/rebase-merge", BY_REBASE),
    LISTED(".git/rebase-apply", BY_REBASE),
    LISTED(".git/sequencer", BY_REBASE),
    LISTED(".git/worktrees/*/rebase-merge", BY_REBASE),
    LISTED(".git/worktrees/*/rebase-apply", BY_REBASE),
    LISTED(".git/worktrees/*/sequencer", BY_REBASE),
    LISTED(".git/modules/**/rebase-merge", BY_REBASE),
    LISTED(".git/modules/**/rebase-apply", BY_REBASE),
    LISTED(".git/modules/**/sequencer", BY_REBASE),
};

size_t guard_names_reported_count(void)
{
    return ARRAY_SIZE(guard_names_reported);
}

const char *guard_vet_words(enum guard_vet vet)
{
    switch (vet) {
    case GUARD_VET_NONE:
        return NULL;
    case GUARD_VET_GIT:
        return "a git folder: it may be made and worked in, and its guarded names stay held";
    case GUARD_VET_HOOKS:
        return "git's hooks: the folder and examples in it (*.sample) may be made";
    case GUARD_VET_CONFIG:
        return "git's configuration: keys that run nothing may be set by git";
    case GUARD_VET_LOCK:
        return "git's lock of its configuration: it may be made, and another's is held";
    case GUARD_VET_COMMONDIR:
    case GUARD_VET_BACK:
        return "a pointer between git folders: it may be made in the form git gives it";
    }
    return NULL;
}

const char *guard_action_name(enum guard_action action)
{
    switch (action) {
    case GUARD_HOLD:
        return "hold";
    case GUARD_DISARM:
        return "disarm";
    case GUARD_SET_ASIDE:
        return "set aside";
    case GUARD_REPORT:
        return "report";
    }
    return "unknown";
}
