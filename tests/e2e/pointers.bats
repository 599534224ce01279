#!/usr/bin/env bats
# What something that existed at the start leads to is held: settings of git, of the owner and of each
# repository in the pen, and symlinks. Each case shows that git would run it on the owner's side, that
# a job cannot write it, and that it was the guard that refused.

load lib

setup() {
    need_tools git
    make_world
    export GIT_CONFIG_NOSYSTEM=1
    git init -q "$PEN"
    git config --global user.name x
    git config --global user.email x@x
    MARK=$WORLD/ran
    OPENED=() # options for what is opened beside the pen
}

# plant FILE: a job makes FILE, a program that leaves a mark.
plant() {
    # shellcheck disable=SC2016 # for the shell inside
    inside "${OPENED[@]}" "${@:2}" -- bash -c 'mkdir -p "$(dirname "$1")" && printf "#!/bin/sh\ntouch %s\ncat\nexit 0\n" "$2" >"$1" && chmod +x "$1"' \
        plant "$1" "$MARK"
}

# held FILE COMMAND...: COMMAND, on the owner's side, runs FILE when there is one; no job makes it.
held() {
    local file=$1
    shift
    rm -rf "$MARK"
    plant "$file" --guard off
    ended 0
    "$@" </dev/null >/dev/null 2>&1 || true
    present "$MARK"
    rm -rf "$MARK" "$file"
    plant "$file"
    failed_inside
    said 'guarded names'
    absent "$file"
    "$@" </dev/null >/dev/null 2>&1 || true
    absent "$MARK"
}

commit_in() {
    git -C "$1" commit -q --allow-empty -m x
}

@test "a hooks folder that the owner's configuration names, in the pen, below it, and in a new repository" {
    git config --global core.hooksPath .githooks
    held .githooks/pre-commit commit_in .
    git init -q sub
    held sub/.githooks/pre-commit commit_in sub
    inside -- git init -q new
    ended 0
    held new/.githooks/pre-commit commit_in new
    inside -- bash -c 'mkdir -p later/.githooks && touch later/.githooks/pre-commit && git init -q later'
    failed_inside
    absent later/.git
}

@test "settings of nested repositories, linked worktrees, submodules and bare repositories" {
    git init -q deep/er
    git -C deep/er config core.hooksPath .husky/_
    held deep/er/.husky/_/pre-commit commit_in deep/er

    git init -q main
    git -C main commit -q --allow-empty -m x
    git -C main worktree add -q ../tree
    git -C main config core.hooksPath h
    held tree/h/pre-commit commit_in tree

    git init -q "$WORLD/upstream"
    git -C "$WORLD/upstream" commit -q --allow-empty -m x
    git -c protocol.file.allow=always submodule --quiet add "file://$WORLD/upstream" module
    git -C module config core.hooksPath h
    held module/h/pre-commit commit_in module

    git clone -q --bare main bare
    git -C bare config core.hooksPath h
    held bare/h/post-update git -C main push -q ../bare HEAD:refs/heads/$RANDOM
    git -C bare config --unset core.hooksPath
    held bare/hooks/post-update git -C main push -q ../bare "HEAD:refs/heads/x$RANDOM"
}

@test "settings of repositories that --rw opens, bare ones too" {
    local beside=$OUT/beside
    git init -q "$beside"
    OPENED=(--rw "$beside")
    git -C "$beside" config core.hooksPath h
    held "$beside/h/pre-commit" commit_in "$beside"
    git -C "$beside" config --unset core.hooksPath
    git -C "$beside" config core.fsmonitor ./mon
    held "$beside/mon" git -C "$beside" status
    git config --global core.hooksPath .githooks
    held "$beside/.githooks/pre-commit" commit_in "$beside"
    git config --global --unset core.hooksPath
    inside "${OPENED[@]}" -- touch "$beside/h" "$beside/other" # counter-control: nothing names it now
    ended 0

    git clone -q --bare "$beside" "$OUT/bare"
    OPENED=(--rw "$OUT/bare")
    git -C "$OUT/bare" config core.hooksPath h
    held "$OUT/bare/h/post-update" git -C "$beside" push -q "$OUT/bare" "HEAD:refs/heads/x$RANDOM"
}

@test "--guard detect holds the settings and hooks of a bare repository that --rw opens" {
    local hook=$OUT/bare/hooks/post-update text
    git init -q --bare "$OUT/bare"
    [[ -d $OUT/bare/hooks ]] || mkdir "$OUT/bare/hooks"
    text=$(<"$OUT/bare/config")
    for how in off detect; do
        inside --rw "$OUT/bare" --guard "$how" -- bash -c 'cd "$1" && touch new; echo "[alias] x = !x" >>config; echo x >hooks/post-update' \
            job "$OUT/bare"
        present "$OUT/bare/new"
        if [[ $how == off ]]; then # control
            present "$hook"
            [[ $(<"$OUT/bare/config") != "$text" ]]
            rm "$hook"
            printf '%s\n' "$text" >"$OUT/bare/config"
        fi
    done
    absent "$hook"
    same "$text" "$(<"$OUT/bare/config")"
}

@test "a .git file that names a git folder of another name" {
    git init -q --separate-git-dir real work
    git -C work config core.fsmonitor ./mon
    held work/mon git -C work status
    held real/hooks/pre-commit commit_in work
}

@test "a file that is included, on any condition and by another, and a file it does not find" {
    git config includeIf.onbranch:other.path ../settings/one
    mkdir settings
    git config --file settings/one include.path two
    git config --file settings/two core.hooksPath from-two
    git config --file settings/two include.path three
    git checkout -q -b other
    held from-two/pre-commit commit_in .
    inside -- bash -c 'echo "[core]" >>settings/two'
    failed_inside
    inside -- bash -c 'echo "[core]" >settings/three'
    failed_inside
    absent settings/three
}

@test "programs that settings name: a monitor, an alias, a filter, a diff driver" {
    git config core.fsmonitor tools/monitor
    held tools/monitor git status
    git config --unset core.fsmonitor
    git config alias.go '!f() { "$(git rev-parse --show-toplevel)"/tools/go; }; f'
    held tools/go git go
    git config filter.f.clean "sh -c 'exec ./tools/clean'"
    echo '*.f filter=f' >.gitattributes
    touch a.f
    held tools/clean git add -f a.f
    git config --global diff.d.textconv ./conv
    echo '*.f diff=d' >.gitattributes
    git add . && git commit -qm x && echo more >>a.f
    held conv git --no-pager diff
    inside -- bash -c 'mkdir -p tools && echo ok >tools/other && git add tools/other && git commit -qm y'
    ended 0
}

@test "symlinks: one to nothing, chains, one above, and a configuration of the owner's in the pen" {
    mkdir real
    ln -s one .envrc
    ln -s deep/two one
    ln -s real deep
    inside -- bash -c 'echo x >real/two'
    failed_inside
    absent real/two
    inside -- bash -c 'rm one; echo x >one'
    failed_inside
    inside -- bash -c 'rm deep'
    failed_inside
    git init -q sub
    ln -s env sub/.envrc
    inside -- bash -c 'echo x >sub/env'
    failed_inside
    absent sub/env
    works --guard off -- bash -c 'echo x >sub/env; echo x >real/two'
    present sub/env real/two

    mv "$HOME/.gitconfig" mine
    ln -s "$PEN/mine" "$HOME/.gitconfig"
    inside -- bash -c 'echo "[core]" >>mine'
    failed_inside
}

@test "husky: its folder may be made anew, unless core.hooksPath names it" {
    inside -- bash -c 'mkdir -p .husky/_ && touch .husky/_/pre-commit'
    ended 0
    rm -rf .husky
    git config core.hooksPath .husky/_
    held .husky/_/pre-commit commit_in .
}

@test "many nested repositories: they cost little, and too many names are a refusal" {
    local i
    for i in {1..300}; do
        mkdir -p "r/$i/.git/objects" "r/$i/.git/refs"
        echo 'ref: refs/heads/main' >"r/$i/.git/HEAD"
        printf '[core]\n\thooksPath = .husky\n' >"r/$i/.git/config"
    done
    inside -- bash -c 'mkdir r/7/src && touch r/7/src/x'
    ended 0
    inside -- mkdir r/299/.husky
    failed_inside
    for i in {1..300}; do
        printf '[core]\n\thooksPath = .husky\n\tfsmonitor = ./a\n\teditor = ./b\n' >"r/$i/.git/config"
    done
    inside -- true
    ended 125
    said 'more than 768 places in the pen'
    works --guard off -- true
}

@test "symlinks in guarded folders: what they lead to is held, of links in it too" {
    mkdir -p scripts cc sc .claude
    printf '#!/bin/sh\ntouch %s\n' "$MARK" >scripts/pre-commit
    chmod +x scripts/pre-commit
    ln -s ../../scripts/pre-commit .git/hooks/pre-commit
    ln -s ../cc .claude/skills
    ln -s ../sc/skill cc/SKILL.md
    ln -s ../.. .git/hooks/up # holds not all there is
    echo mine | tee sc/skill >cc/plain
    commit_in .
    present "$MARK"
    for file in scripts/pre-commit sc/skill cc/plain; do
        inside -- bash -c 'echo planted >>"$1"' bash "$file"
        failed_inside
        run grep -c planted "$file"
        printed 0
    done
    inside -- bash -c 'echo x >scripts/other && git add scripts && git commit -qm y --no-verify'
    ended 0
    works --guard off -- bash -c 'echo "# planted" >>scripts/pre-commit'
    grep -q planted scripts/pre-commit
}

@test "a configuration that a job closes, a repository it moves, a bare one it takes apart, a work tree it adds" {
    commit_in .
    git config core.hooksPath tools/hooks
    inside -- chmod 0 .git/config
    ended 0
    [[ $EUID -eq 0 ]] || { # root reads it all the same
        plant tools/hooks/pre-commit
        ended 125
        said 'cannot be read'
    }
    chmod 644 .git/config
    absent tools

    git init -q other
    git -C other config core.fsmonitor ./fsm.sh
    works -- mv other moved
    plant moved/fsm.sh
    failed_inside
    absent moved/fsm.sh

    git init -q s
    commit_in s
    git clone -q --bare --no-hardlinks s bare
    inside -- mv bare/HEAD bare/H
    failed_inside
    present bare/HEAD

    works -- git worktree add -q new -b new
    plant new/tools/hooks/pre-commit
    failed_inside
    absent new/tools/hooks

    inside -- chmod 0 .git/hooks
    failed_inside
    [[ -x .git/hooks ]]
}
