#!/usr/bin/env bats
# Pens that are odd or hostile when a run starts: what stands in for a `.git`, other spellings of it,
# very many repositories, other file systems. Linked worktrees are in worktree.bats, pointers of the
# owner's configuration in pointers.bats.

load lib
BATS_TEST_TIMEOUT=280 # ten thousand repositories are made and removed on a machine with much else to do

setup() {
    make_world
    need_tools git
    MOUNTS=()
}

# Mounts of a test go before its folders do.
teardown() {
    local i
    for ((i = ${#MOUNTS[@]} - 1; i >= 0; i--)); do umount "${MOUNTS[i]}"; done
    [[ ! -d $WORLD ]] || rm -rf -- "$WORLD"
}

mounted() {
    mount "$@" || cannot "mount $*"
    MOUNTS+=("${*: -1}")
}

# Tries to make or change each FILE; prints those it could. For a shell inside.
readonly TRIES='
is_evil() { [[ $(cat "$1" 2>/dev/null) == evil ]] && echo "$1"; }
for name; do
    mkdir -p "$(dirname "$name")" 2>/dev/null
    { echo evil >"$name"; } 2>/dev/null; is_evil "$name"
    echo evil >t; mv -fT t "$name" 2>/dev/null; is_evil "$name"
    echo evil >t; ln -sfnr t "$name" 2>/dev/null; is_evil "$name"
done; rm -f t; true'

# closed FILE...: inside none can be made, changed or replaced; without the guard each can.
closed() {
    local name before=() after=()
    for name; do before+=("$(stat -c '%i %s %Y' "$name" 2>&1 || true)"); done
    inside -- bash -c "$TRIES" job "$@"
    ended 0
    printed ""
    for name; do after+=("$(stat -c '%i %s %Y' "$name" 2>&1 || true)"); done
    same "${after[*]}" "${before[*]}" "what is there"
    inside --guard off -- bash -c "$TRIES" job "$@"
    ended 0
    for name; do [[ $'\n'$output$'\n' == *$'\n'$name$'\n'* ]] || fail "the control could not change '$name'"; done
}

@test "a '.git' that is a symlink: to a folder in the pen, to one outside, to itself, to nothing" {
    git init -q store
    mv store/.git real
    rmdir store
    ln -s real .git
    closed .git/hooks/pre-commit real/hooks/pre-commit

    rm -rf .git real
    git init -q "$OUT/repository"
    ln -s "$OUT/repository/.git" .git
    inside -- bash -c "$TRIES" job .git/hooks/pre-commit .git/config
    ended 0
    printed ""
    absent "$OUT/repository/.git/hooks/pre-commit"

    ln -sfn .git .git
    closed .git
    rm -rf .git
    ln -sfn gone .git
    closed gone/hooks/pre-commit gone/config
}

@test "a '.git' file, and a 'commondir' in a folder of a git folder's form, that lead out of the pen" {
    git init -q "$OUT/repository"
    cp -a "$OUT/repository" "$OUT/copy"
    for name in "$OUT/repository/.git" ../../outside/repository/.git //proc/self/cwd/.git; do
        rm -rf .git
        echo "gitdir: $name" >.git
        inside -v -- bash -c "$TRIES" job .git "$OUT/repository/.git/hooks/pre-commit" "$OUT/repository/.git/config"
        ended 0
        printed ""
        holds .git "gitdir: $name"
    done
    rm -f .git
    mkdir -p .git/refs .git/objects
    echo 'ref: refs/heads/main' >.git/HEAD
    echo "$OUT/repository/.git" >.git/commondir
    inside -- bash -c "$TRIES" job .git/commondir .git/hooks/x "$OUT/repository/.git/config"
    ended 0
    printed ""
    holds .git/commondir "$OUT/repository/.git"
    diff -r "$OUT/repository" "$OUT/copy"
}

@test "other spellings of '.git' are guarded as '.git' is, whether they are there or not" {
    local name
    mkdir -p .GIT .Git/hooks deep/.gIt/objects
    closed .GIT/config .Git/hooks/pre-commit deep/.gIt/commondir new/.GIT/HOOKS/post-checkout .ENVRC .Claude/Settings.json
}

# many_repositories LINE: 10,001 of them, each with LINE in its configuration.
many_repositories() {
    /usr/bin/python3 - "$1" <<'PY'
import os, sys
for i in range(10001):
    folder = f"r/{i // 100}/{i % 100}/.git"
    os.makedirs(folder + "/objects", exist_ok=True)
    os.makedirs(folder + "/refs", exist_ok=True)
    with open(folder + "/HEAD", "w", encoding="ascii") as file:
        file.write("ref: refs/heads/main\n")
    with open(folder + "/config", "w", encoding="ascii") as file:
        file.write("[core]\n\t" + sys.argv[1] + "\n")
PY
}

# soon SECONDS COMMAND...: it takes no longer. Seconds of a machine that has much else to do.
soon() {
    local begin=$SECONDS
    "${@:2}"
    ((SECONDS - begin <= $1)) || fail "it took $((SECONDS - begin)) s: ${*:2}"
}

@test "ten thousand repositories in the pen: a refusal by the setting's name, or a run that is fast" {
    many_repositories 'bare = false'
    soon 10 inside -- true
    ended 125
    said 'wattle.preflight.repositories'
    mkdir -p "$HOME/.config/wattle"
    echo '{"wattle": {"preflight": {"repositories": 20000}}}' >"$HOME/.config/wattle/config.json"
    soon 60 inside -- bash -c "$TRIES" job r/0/0/.git/hooks/x r/99/99/.git/config r/100/0/.envrc
    ended 0
    printed ""
}

@test "ten thousand repositories that name a place each: a refusal by the number of places" {
    many_repositories 'hooksPath = .husky'
    mkdir -p "$HOME/.config/wattle"
    echo '{"wattle": {"preflight": {"repositories": 20000}}}' >"$HOME/.config/wattle/config.json"
    soon 10 inside -- true
    ended 125
    said 'more than 768 places in the pen'
}

@test "a pen that is itself a '.git' folder" {
    git init -q "$PEN"
    PEN=$PEN/.git
    cd "$PEN"
    closed hooks/pre-commit config commondir modules/m/hooks/x worktrees/w/gitdir
    works -- bash -c 'echo x >description && mkdir -p refs/heads/x'
    holds description x
}

@test "a pen on a tmpfs" {
    only_root
    mounted -t tmpfs -o size=16m wattle-pen "$PEN"
    cd "$PEN"
    git init -q .
    closed .git/hooks/pre-commit sub/.git/config .envrc
    cd /
}

@test "a pen on an ext4 of its own" {
    only_root
    need_tools mkfs.ext4 losetup
    truncate -s 32M "$WORLD/image"
    mkfs.ext4 -q "$WORLD/image"
    mounted -o loop "$WORLD/image" "$PEN"
    cd "$PEN"
    git init -q .
    closed .git/hooks/pre-commit sub/.git/config .envrc
    cd /
}

@test "a pen with a folder that takes case for nothing" {
    only_root
    # A kernel without CONFIG_UNICODE has no such folders: no tool that is missing, so no failure.
    [[ -e /sys/fs/ext4/features/casefold ]] || skip "this kernel has no casefold"
    need_tools mkfs.ext4 losetup chattr
    truncate -s 32M "$WORLD/image"
    mkfs.ext4 -q -O casefold "$WORLD/image"
    mounted -o loop "$WORLD/image" "$PEN"
    cd "$PEN"
    mkdir folded
    chattr +F folded
    closed folded/.GIT/config folded/.ENVRC $'folded/.en\u212arc/../.envrc'
    cd /
}

@test "a guarded name that is a bind mount keeps what it holds" {
    only_root
    git init -q .
    cp .git/config "$OUT/config"
    mkdir "$OUT/hooks"
    mounted --bind "$OUT/hooks" .git/hooks
    mounted --bind "$OUT/config" .git/config
    inside -- bash -c "$TRIES" job .git/hooks/pre-commit .git/config
    ended 0
    printed ""
    absent "$OUT/hooks/pre-commit"
    same "$(cat .git/config)" "$(cat "$OUT/config")"
    [[ $(cat .git/config) != evil ]]
}
