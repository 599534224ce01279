#!/usr/bin/env bats
# Pens that are linked worktrees or submodules: git works in them, and what runs on the owner's side
# or belongs to another checkout cannot be changed from there.

load lib

setup() {
    make_world
    need_tools git
    export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org
    export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
    printf '[user]\n\tname = Ada\n\temail = ada@example.org\n[protocol "file"]\n\tallow = always\n' >"$HOME/.gitconfig"
}

repository() {
    git init -q -b main "$1"
    echo one >"$1/file"
    git -C "$1" add file
    git -C "$1" commit -qm one
}

# The pen becomes a linked worktree of $MAIN; $OTHER is another one.
worktree() {
    MAIN=$HOME/work/main
    OTHER=$HOME/work/other
    repository "$MAIN"
    git -C "$MAIN" worktree add -q -b other "$OTHER"
    rm -rf "$PEN"
    git -C "$MAIN" worktree add -q -b side "${1:-$PEN}"
    PEN=${1:-$PEN}
    cd "$PEN" || return 1
}

all_is_well() {
    git -C "$MAIN" fsck --no-dangling
    same "$(git -C "$MAIN" status --porcelain)" "" "status of the main checkout"
    same "$(git -C "$OTHER" status --porcelain)" "" "status of the other worktree"
}

COMMITS='echo n >n; git add n; git commit -qm linked; git log --format=%s -1'

@test "a linked worktree: commit, branch, stash, rebase, fetch, tag, gc" {
    worktree
    git clone -q --no-hardlinks "$MAIN" "$PEN/copy"
    git -C "$PEN/copy" commit -q --allow-empty -m far
    works -- bash -ec '
        echo 1 >a; git add a; git commit -qm two
        git branch b; git switch -q b; echo 2 >b; git add b; git commit -qm three
        git switch -q side; echo 3 >c; git add c; git commit -qm four
        git switch -q b; git rebase -q side
        echo more >>a; git stash -q; git stash pop -q; git commit -qam five
        git fetch -q ./copy main:far; git merge -q --no-edit far; git tag v1
        git gc -q; git reflog >/dev/null; git fsck --no-dangling
        git log --first-parent --format=%s -4 b --'
    printed "$(printf "Merge branch 'far' into b\nfive\nthree\nfour")"
    same "$(git -C "$MAIN" log -1 --format=%s v1)" "Merge branch 'far' into b" "the tag outside"
    same "$(git -C "$MAIN" worktree list | wc -l)" 3 "worktrees outside"
    rm -rf "$PEN/copy"
    all_is_well
}

# cannot PATH...: below $MAIN/.git; neither written, made, removed nor replaced.
cannot_change() {
    local name before
    for name in "$@"; do
        before=$(stat -c '%i %s %Y' "$MAIN/.git/$name" 2>&1 || true)
        inside -- bash -c 'echo evil >"$1"' job "$MAIN/.git/$name"
        failed_inside
        inside -- bash -c 'echo evil >/wattle/tmp/x; mv -f /wattle/tmp/x "$1"' job "$MAIN/.git/$name"
        failed_inside
        inside -- bash -c 'echo evil >"$2"; mv -fT "$2" "$1"' job "$MAIN/.git/$name" "$MAIN/.git/made-inside"
        failed_inside
        inside -- bash -c 'mv -T "$1" "$2" || unlink "$1" || rmdir "$1"' job "$MAIN/.git/$name" "$MAIN/.git/moved"
        failed_inside
        same "$(stat -c '%i %s %Y' "$MAIN/.git/$name" 2>&1 || true)" "$before" "$name"
    done
}

@test "a linked worktree: what runs outside and what is another checkout's cannot be changed" {
    worktree
    mkdir "$MAIN/.git/modules"
    works -- bash -ec "$COMMITS"
    cannot_change config hooks hooks/pre-commit HEAD index modules worktrees/other/HEAD \
        worktrees/other/index worktrees/other worktrees/new worktrees worktrees/pen/gitdir \
        worktrees/pen/commondir
    inside -- git config core.fsmonitor ./evil
    failed_inside
    inside -- git worktree remove --force "$OTHER"
    failed_inside
    inside -- git update-ref --no-deref HEAD side # its own state, for comparison
    ended 0
    rm -f "$MAIN/.git"/{made-inside,moved} # 'mv' copies what it may only read
    all_is_well
}

@test "a linked worktree: names that are not there yet do not come into existence" {
    worktree
    works -- bash -c 'exit 0'
    said_not "names are not guarded"
    inside -- bash -c 'cd "$1"; for name in commondir config.worktree modules rebase-merge sequencer worktrees/pen/config.worktree; do
            mkdir "$name" 2>/dev/null && echo "$name"; echo evil 2>/dev/null >"$name" && echo "$name"; done; true' job "$MAIN/.git"
    ended 0
    printed ""
    absent "$MAIN/.git"/{commondir,config.worktree,modules,rebase-merge,sequencer,worktrees/pen/config.worktree}
}

@test "a linked worktree: what the owner changes in the main checkout meanwhile stays out of reach" {
    worktree
    mkfifo go
    "$WATTLE" run -- bash -c 'echo ready; read -r _ <go; cd "$1"
        for name in config HEAD index hooks/pre-commit worktrees/other/HEAD worktrees/late/HEAD worktrees/late/gitdir; do
            echo evil 2>/dev/null >"$name" && echo "$name"; rm -f "$name" 2>/dev/null && echo "$name"; done
        cd "$2"; echo n >n; git add n; git commit -qm linked && echo committed' job "$MAIN/.git" "$PEN" >"$OUT/said" 2>"$OUT/log" &
    local job=$!
    until_true grep -q ready "$OUT/said"
    git -C "$MAIN" config user.name Grace
    git -C "$MAIN" commit -q --allow-empty -m meanwhile
    git -C "$MAIN" switch -qc other-branch
    git -C "$MAIN" worktree add -q -b late "$HOME/work/late"
    echo 'exit 0' >"$MAIN/.git/hooks/pre-commit"
    echo >go
    wait "$job"
    holds "$OUT/said" $'ready\ncommitted'
    same "$(git -C "$MAIN" config user.name)" Grace
    same "$(cat "$MAIN/.git/HEAD")" "ref: refs/heads/other-branch"
    holds "$MAIN/.git/hooks/pre-commit" 'exit 0'
    same "$(git -C "$HOME/work/late" status --porcelain)" "" "status of the late worktree"
    all_is_well
}

@test "the '.git' file of a linked worktree cannot be turned to another folder" {
    worktree
    local before
    before=$(cat .git)
    inside -- bash -c 'mkdir e; echo "gitdir: $PWD/e" >.git; rm -f .git; mv .git g; echo x >t; mv -f t .git; ln -sf e .git; true'
    holds .git "$before"
    [[ -f .git && ! -L .git ]]
}

@test "a run says which repository was opened, and the owner can forbid it" {
    worktree
    inside --dry-run -- true
    said "the repository '$MAIN/.git' is open"
    inside -v -- true
    said "the repository '$MAIN/.git' is open"
    run -0 "$WATTLE" policy show --pen "$PEN"
    said "the repository '$MAIN/.git' is open"
    mkdir -p "$HOME/.config/wattle"
    echo '{"wattle": {"followGit": false}}' >"$HOME/.config/wattle/config.json"
    inside -v -- git status
    failed_inside
    said "config.json forbids it"
    inside -- cat "$MAIN/.git/HEAD"
    failed_inside
}

@test "a linked worktree with relative pointers" {
    worktree
    echo "gitdir: ../main/.git/worktrees/pen" >.git
    echo ../../../../pen/.git >"$MAIN/.git/worktrees/pen/gitdir"
    works -- bash -ec "$COMMITS"
    printed linked
}

@test "a linked worktree of a bare repository" {
    MAIN=$HOME/work/main.git
    repository "$HOME/work/first"
    git clone -q --bare "$HOME/work/first" "$MAIN"
    rm -rf "$PEN"
    git -C "$MAIN" worktree add -q -b side "$PEN"
    cd "$PEN"
    works -- bash -ec "$COMMITS"
    printed linked
    inside -- bash -c 'echo evil >>"$1/config"' job "$MAIN"
    failed_inside
    same "$(git -C "$MAIN" log -1 --format=%s side)" linked "the commit outside"
}

@test "a linked worktree in the main checkout" {
    worktree "$HOME/work/main/.worktrees/side"
    works -- bash -ec "$COMMITS"
    printed linked
    inside -- cat "$MAIN/file"
    failed_inside
    inside -- bash -c 'echo evil >"$1"' job "$MAIN/.git/hooks/pre-commit"
    failed_inside
}

@test "a submodule and a submodule in it" {
    repository "$HOME/work/inner"
    repository "$HOME/work/library"
    git -C "$HOME/work/library" submodule --quiet add "$HOME/work/inner" deep/inner
    git -C "$HOME/work/library" commit -qm submodule
    repository "$HOME/work/super"
    cd "$HOME/work/super"
    git submodule --quiet add "$HOME/work/library" libs/library
    git submodule --quiet update --init --recursive
    git commit -qm submodule
    PEN=$HOME/work/super/libs/library
    cd "$PEN"
    works -- bash -ec "$COMMITS; cd deep/inner; $COMMITS; git gc -q"
    printed "$(printf 'linked\nlinked')"
    MAIN=$HOME/work/super
    inside -- bash -c 'cd "$1/modules/libs/library"; for name in config hooks/x modules/deep/inner/config modules/deep/inner/hooks/x; do
            echo evil 2>/dev/null >"$name" && echo "$name"; done; true' job "$MAIN/.git"
    ended 0
    printed ""
    inside -- ls "$MAIN/.git/hooks"
    failed_inside
    same "$(git log -1 --format=%s)" linked "the commit outside"
}

@test "forged pointers open nothing" {
    worktree
    mkdir "$OUT/worktrees" "$OUT/worktrees/pen"
    local pointer
    for pointer in "$MAIN/.git" "$MAIN/.git/worktrees/other" "$OUT" "$OUT/worktrees/pen" "$HOME/.ssh" /etc ../..; do
        echo "gitdir: $pointer" >.git
        inside -v -- bash -c 'ls "$1" 2>/dev/null; ls "$2" 2>/dev/null; true' job "$MAIN/.git" "$OUT"
        ended 0
        printed ""
        said "is not opened, so git will not work inside"
    done
}
