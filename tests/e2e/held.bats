# What a run without a guard leaves at names that run on the owner's side, and 'wattle held'.

load lib

DETECT=(--guard detect)

held() {
    run --separate-stderr "$WATTLE" held "$@"
}

# The ID of the entry of a path in the pen.
id_of() {
    "$WATTLE" held list --json | /usr/bin/python3 -c 'import json, sys
print([e["id"] for e in json.load(sys.stdin) if e["path"] == sys.argv[1]][-1])' "$1"
}

entries() {
    "$WATTLE" held list | wc -l
}

store() {
    find "$HOME/.local/state/wattle/held/store" -mindepth 2 -maxdepth 2 -name object 2>/dev/null
}

# At least this many are in the store.
stored() {
    [[ $(store | wc -l) -ge $1 ]]
}

# A repository with a hook of the owner's.
make_repository() {
    need_tools git
    git init -q "$1"
    printf '#!/bin/sh\necho mine\n' >"$1/.git/hooks/post-commit"
    chmod +x "$1/.git/hooks/post-commit"
}

@test "a new name is moved to the owner's state, and the words say which" {
    works --guard off -- sh -c 'echo evil >.envrc'   # a control: it can be made, and nobody looks
    holds .envrc evil
    rm .envrc
    works "${DETECT[@]}" -- sh -c 'echo evil >.envrc; echo fine >notes'
    absent .envrc
    holds notes fine
    said "1 set aside"
    said "'.envrc'"
    said "wattle held list"
    held list
    ended 0
    said "$PEN/.envrc"
    held show "$(id_of .envrc)"
    said evil
    said "when your shell enters"
}

@test "with the guard nothing is looked at, and nothing is kept" {
    works -- sh -c 'echo fine >notes'
    absent "$HOME/.local/state/wattle/held"
    held list
    ended 0
    printed ""
}

@test "hooks made where a repository had none are set aside" {
    make_repository .
    rm -r .git/hooks # a folder that is there is held
    works "${DETECT[@]}" -- sh -c 'mkdir .git/hooks; printf "#!/bin/sh\ntouch $PWD/ran\n" >.git/hooks/pre-commit
        chmod +x .git/hooks/pre-commit'
    absent .git/hooks/pre-commit
    touch file
    git add file
    git -c user.name=me -c user.email=me@example commit -qm works
    absent ran
}

@test "a new repository works, and runs nothing" {
    need_tools git
    works "${DETECT[@]}" -- sh -c 'git init -q sub; git -C sub config core.fsmonitor "touch $PWD/ran"
        printf "#!/bin/sh\ntouch $PWD/ran\n" >sub/.git/hooks/post-checkout
        chmod +x sub/.git/hooks/post-checkout; git init -q --bare bare
        git -C bare config core.fsmonitor "touch $PWD/ran"; git init -q fine'
    said "disarmed"
    git -C sub status >/dev/null
    git -C sub checkout -qb other
    git -C bare branch >/dev/null
    git -C fine status >/dev/null
    absent ran sub/.git/hooks/post-checkout
    same "$(git -C sub config core.fsmonitor)" ""
    same "$(entries)" 3
}

@test "what was there before is there again" {
    make_repository .
    echo mine >.envrc
    control sh -c 'echo evil >.envrc; echo mine >.envrc'
    works "${DETECT[@]}" -- sh -c '(echo evil >.envrc; rm -f .git/hooks/post-commit
        git config core.fsmonitor evil; mv .git/hooks away; ln -s away .git/hooks; true) 2>/dev/null'
    holds .envrc mine
    [[ -x .git/hooks/post-commit && ! -L .git/hooks ]] || fail "the hooks are not as they were"
    same "$(git config core.fsmonitor)" ""
}

@test "a symlink that comes into a git folder does not stay in it: git would write through it" {
    make_repository .
    ln -s refs .git/inside
    ln -s "$OUT" .git/mine
    # shellcheck disable=SC2016 # for the shell inside
    works "${DETECT[@]}" -- bash -c 'mkdir -p .git/logs; rm -f .git/logs/HEAD; ln -s "$1/rc" .git/logs/HEAD
        ln -s refs/heads .git/heads' links "$OUT"
    absent .git/logs/HEAD .git/heads
    said "git on your side would write to where the link leads"
    present .git/inside .git/mine
}

@test "names that drive a terminal are shown, not obeyed" {
    works "${DETECT[@]}" -- sh -c 'd=$(printf "x\ny\033[31m"); mkdir -p "$d/.git/hooks"
        printf "\033]0;title\007evil\n" >"$d/.git/hooks/post-merge"'
    held list
    same "$(wc -l <<<"$output")" 1
    [[ $output != *$'\e'* ]] || fail "an escape character reached the terminal"
    said 'x\ny\x1b[31m'
    held show "$("$WATTLE" held list --json | json 'v[0]["id"]')"
    [[ $output != *$'\e'* && $output != *$'\a'* ]] || fail "an escape character in the content"
    said evil
    held list --json
    same "$(json 'v[0]["path"]' <<<"$output")" $'x\ny\e[31m/.git/hooks/post-merge'
}

@test "a hostile pen: nothing outside is touched, nothing is missed" {
    need_tools python3 git
    make_repository .
    mkdir -p "$OUT/hooks" "$OUT/.codex"
    echo mine >"$OUT/hooks/pre-commit"
    local before
    before=$(snapshot "$OUT")
    works "${DETECT[@]}" -- /usr/bin/python3 -c '
import os, socket, sys
out = sys.argv[1]
os.mkfifo(".envrc")
os.symlink(out, ".vscode")
os.symlink(out + "/.codex", ".codex")
s = socket.socket(socket.AF_UNIX); s.bind(".mcp.json")
os.mkdir("closed"); os.mkdir("closed/.git"); open("closed/.git/config", "w").write("[alias]\nx = !evil\n")
os.chmod("closed/.git", 0); os.chmod("closed", 0)
os.makedirs("long/.git/hooks"); open("long/.git/hooks/" + "n" * 255, "w").write("evil")
open(".nvimrc", "w").truncate(1 << 34)
os.makedirs(".cursor/rules"); os.chmod(".cursor", 0o555)
top = os.getcwd()
for i in range(60):
    os.mkdir("d" * 200); os.chdir("d" * 200)
open(".envrc", "w").write("evil")
' "$OUT"
    same "$(snapshot "$OUT")" "$before"
    absent .envrc .vscode .codex .mcp.json .nvimrc .cursor
    same "$(stat -c %a closed)" 0
    chmod 700 closed closed/.git
    same "$(git -C closed config alias.x)" ""
    same "$(find long/.git/hooks -type f ! -name '*.sample' | wc -l)" 0
    [[ $(find . -type d | awk '{ if (length > n) n = length } END { print n }') -lt 4200 ]] ||
        fail "what lies too deep is still there"
}

@test "killed in a run: the next one sets aside what it left" {
    outside "$WATTLE" run --pen "$PEN" "${DETECT[@]}" -- sh -c 'echo evil >.envrc; echo >ready; exec sleep 100'
    until_true test -e ready
    kill -KILL "$PID"
    until_true gone "$PID"
    holds .envrc evil
    works --status-fd 3 -- true 3>"$HOME/status"
    absent .envrc
    same "$(json 'v["action"]' < <(grep '"held"' "$HOME/status"))" "set aside"
    echo mine >.envrc
    works "${DETECT[@]}" -- true
    holds .envrc mine
}

@test "killed in the check, at many moments: all is in the pen or in the store, and then in the store" {
    local i all=80
    for i in 3 9 17 30; do
        rm -rf "$HOME/.local/state/wattle/held"
        rm -f ready
        outside "$WATTLE" run --pen "$PEN" "${DETECT[@]}" -- sh -c 'for i in $(seq '$all'); do
            mkdir -p d$i/.git; echo evil$i >d$i/.envrc; done; echo >ready'
        until_true test -e ready
        until_true stored "$i"
        kill -KILL "$PID" || true # it may be quicker
        until_true gone "$PID"
        same "$(($(find . -name .envrc | wc -l) + $(store | wc -l)))" $all "names in both places"
        held list
        ended 0
        same "$(find . -name .envrc | wc -l)" 0
        same "$(entries)" $all
        same "$(store | xargs cat | sort -u | wc -l)" $all
        rm -rf d*
    done
}

@test "two runs in one pen: what the first made is set aside when the last one ends" {
    outside "$WATTLE" run --pen "$PEN" "${DETECT[@]}" -- sh -c 'echo evil >.envrc; echo >ready
        until test -e go; do sleep 0.02; done'
    until_true test -e ready
    works "${DETECT[@]}" -- true
    holds .envrc evil
    touch go
    until_true gone "$PID"
    until_true test ! -e .envrc
    same "$(entries)" 1

    rm -f ready go
    outside "$WATTLE" run --pen "$PEN" "${DETECT[@]}" -- sh -c 'echo evil >.envrc; echo >ready'
    until_true test -e ready
    outside "$WATTLE" run --pen "$PEN" "${DETECT[@]}" -- sleep 0.3
    until_true gone "$PID"
    until_true test ! -e .envrc
    same "$(entries)" 2
}

@test "restore: back to its place, if nothing is there and nothing runs" {
    works "${DETECT[@]}" -- sh -c 'mkdir -p .codex; echo evil >.codex/config.toml; echo evil >.envrc; chmod 640 .envrc'
    local envrc codex
    envrc=$(id_of .envrc)
    codex=$(id_of .codex)
    echo mine >.envrc
    held restore "$envrc"
    ended 1
    said "is there"
    holds .envrc mine
    rm .envrc
    outside "$WATTLE" run --pen "$PEN" "${DETECT[@]}" -- sh -c 'echo >ready; until test -e go; do sleep 0.02; done'
    until_true test -e ready
    held restore "$envrc"
    ended 1
    said "a run goes on"
    touch go
    until_true gone "$PID"
    held restore "${envrc:0:5}"
    ended 0
    said "when your shell enters"
    holds .envrc evil
    same "$(stat -c %a .envrc)" 640
    held restore "$codex"
    ended 0
    holds .codex/config.toml evil
    same "$(entries)" 0
    held restore "$envrc"
    ended 1
    said "nothing is held"
    works "${DETECT[@]}" -- true    # and now it is the owner's
    holds .envrc evil
}

@test "restore follows no symlink that came in the way" {
    mkdir sub
    works "${DETECT[@]}" -- sh -c 'mkdir sub/.git; echo evil >sub/.envrc'
    mv sub other
    ln -s "$OUT" sub
    held restore "$(id_of sub/.envrc)"
    ended 1
    absent "$OUT/.envrc"
}

@test "show prints what is in it, raw too; drop removes it for good" {
    works "${DETECT[@]}" -- sh -c 'printf "a\tb\033\n" >.envrc; mkdir .cursor; touch .cursor/one; ln -s /nowhere .nvimrc'
    local id
    id=$(id_of .envrc)
    held show "$id"
    said 'a\tb\x1b'
    "$WATTLE" held show --raw "$id" >"$HOME/raw"
    same "$(od -c <"$HOME/raw")" "$(printf 'a\tb\033\n' | od -c)"
    held show --json "$id"
    same "$(json 'v["content"]' <<<"$output")" $'a\tb\e'
    held show "$(id_of .cursor)"
    said one
    held show "$(id_of .nvimrc)"
    said /nowhere
    held drop "$id"
    ended 0
    said "removed for good"
    held show "$id"
    ended 1
    held drop
    ended 2
    held drop --all
    ended 0
    same "$(entries)" 0
    same "$(ls -A "$HOME/.local/state/wattle/held/store")" ""
}

@test "a state folder on another file system: copied, and what is too large is closed where it is" {
    [[ -w /dev/shm && $(stat -c %d /dev/shm) != $(stat -c %d "$HOME") ]] || cannot "no other file system"
    temp_folder /dev/shm
    export XDG_STATE_HOME=$FOLDER
    works "${DETECT[@]}" -- sh -c 'mkdir -p .codex/deep; echo evil >.codex/deep/file; mkfifo .envrc
        ln -s /nowhere .codex/link; chmod 500 .codex/deep; truncate -s 100M .nvimrc'
    absent .codex .envrc .nvimrc
    held list --json
    same "$(json 'sorted((e["path"], e["how"]) for e in v)' <<<"$output")" \
        "[('.codex', 'copied'), ('.envrc', 'copied'), ('.nvimrc', 'in place')]"
    local large
    large=$(id_of .nvimrc)
    same "$(stat -c '%a %s' ".wattle-held-$large")" "0 104857600"
    held restore "$(id_of .codex)"
    ended 0
    holds .codex/deep/file evil
    same "$(readlink .codex/link)" /nowhere
    held restore "$large"
    ended 0
    same "$(stat -c '%a %s' .nvimrc)" "644 104857600"
    held drop --all
    same "$(ls -A)" $'.codex\n.nvimrc'
}

@test "an opened folder is looked at as well" {
    mkdir "$HOME/shared"
    works "${DETECT[@]}" --rw "$HOME/shared" -- sh -c 'echo evil >'"$HOME"'/shared/.envrc'
    absent "$HOME/shared/.envrc"
    held list --pen "$HOME/shared"
    said "$HOME/shared/.envrc"
    held list --pen "$PEN"
    printed ""
}

@test "a held file that the owner replaces while the job runs is held again" {
    make_repository .
    outside "$WATTLE" run --pen "$PEN" "${DETECT[@]}" -- bash -c '
        ! { : >>.git/config; } 2>/dev/null && echo held >seen
        until [[ -e replaced ]]; do sleep 0.05; done
        until ! { : >>.git/config; } 2>/dev/null; do sleep 0.05; done
        echo held again >again'
    until_true test -s seen
    git config user.name Mine
    touch replaced
    until_true test -s again
    holds seen held
    holds again 'held again'
    same "$(git config user.name)" Mine "the owner's value"
}
