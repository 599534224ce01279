#!/bin/bash
# `make demo`: real work inside the fence, git's too, then seven attempts to get out of it.
#
#   tools/demo.sh WATTLE
#
# Works in a temporary folder with a stand-in for the home folder; nothing of the user's own is read
# or written. Each attempt is one script that is run twice: outside, where it must work (or the
# attempt would prove nothing), and inside, where its effect must not be seen. Exits 1 when the work
# fails or an attempt succeeds.
set -euo pipefail

wattle=$(realpath -- "${1:?usage: demo.sh WATTLE}")
source=$(cd -- "${BASH_SOURCE[0]%/*}/.." && pwd)
top=$(mktemp -d /var/tmp/wattle-demo.XXXXXX)
readonly wattle source top
readonly home=$top/home pen=$top/home/projects/wattle
readonly token=demo-${top##*.}

started=() # processes of ours, ended by their id

# Running processes whose command line holds the token.
processes_with_token() {
    local file
    grep -lsaFf "$top/token" /proc/[0-9]*/cmdline | while IFS= read -r file; do
        file=${file#/proc/}
        ! is_alive "${file%/*}" || printf '%s\n' "${file%/*}"
    done
}

# A process that only waits to be reaped is not alive.
is_alive() {
    local state
    state=$(sed -nE 's/^State:\t(.).*/\1/p' "/proc/$1/status" 2>/dev/null) && [[ $state == [!ZX] ]]
}
is_gone() { ! is_alive "$1"; }

wait_for() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        ! "$@" || return 0
        sleep 0.05
    done
    printf 'demo: gave up waiting for: %s\n' "$*" >&2
    exit 1
}

clean_up() {
    local pid
    for pid in "${started[@]}" $(processes_with_token); do
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf -- "$top"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# ---- the stand-in for a home folder -------------------------------------------------------------

mkdir -p "$pen" "$home/.ssh"
printf '%s\n' "$token" >"$top/token"
printf 'secret %s\n' "$token" >"$home/.ssh/id_demo"
tar -C "$source" -c --exclude=./.git --exclude='./build*' . | tar -C "$pen" -x --no-same-owner

unset "${!XDG_@}" "${!GIT_@}" MAKEFLAGS MAKELEVEL MFLAGS
export HOME=$home
exec </dev/null

git config --global user.name 'A Developer'
git config --global user.email developer@example.org
git config --global init.defaultBranch main
git -C "$pen" init -q
git -C "$pen" add .
git -C "$pen" commit -q -m 'the source, before'

run_inside() {
    "$wattle" run -q --pen "$pen" -- "$@"
}

# ---- real work ----------------------------------------------------------------------------------

# Which test failed stands far above the end of what meson prints; its own log goes with the folder.
say_why() {
    local kept

    grep -E '(FAIL|TIMEOUT|ERROR)\b' "$top/log" | head -n 20 || true
    tail -n 40 "$top/log"
    kept=$(mktemp -d /var/tmp/wattle-demo-failed.XXXXXX)
    cp -- "$top/log" "$kept/"
    cp -- "$pen/build/meson-logs/testlog.txt" "$kept/" 2>/dev/null || true
    printf 'demo: the logs are kept in %s\n' "$kept"
}

must() {
    local title=$1
    shift
    printf '  %-62s' "$title"
    if "$@" >"$top/log" 2>&1; then
        printf 'done\n'
    else
        printf 'FAILED\n'
        say_why >&2
        exit 1
    fi
}

work() {
    must "$1" run_inside "${@:2}"
}

printf 'Real work: wattle builds and tests its own source, inside the fence\n'
work 'meson setup build' meson setup build
work 'ninja -C build' ninja -C build
work 'meson test -C build --suite unit' meson test -C build --no-rebuild --suite unit
read -r passed _ skipped < <("$source/tools/count-tests.py" "$pen/build/meson-logs/testlog.json")
printf '    %d tests passed, %d skipped (what a fence forbids inside a fence)\n' "$passed" "$skipped"

# ---- git ----------------------------------------------------------------------------------------

# Both sides see the same commits and nothing that git would call changed or new, ours least of all.
both_sides_clean() {
    local changes

    for side in env run_inside; do
        changes=$("$side" git -C "$pen" status --porcelain --untracked-files=all)
        printf '%s' "$changes"
        [[ -z $changes && $("$side" git -C "$pen" log -1 --format=%s) == 'work of an agent' ]] ||
            return 1
    done
    [[ $(git -C "$home/projects/copy" log -1 --format=%s) == 'work of an agent' ]]
}

printf 'git, used freely inside\n'
# shellcheck disable=SC2016 # for another shell
work 'git commit' bash -ec 'echo "# changed by an agent" >>README.md; git commit -qam "work of an agent"'
work 'git config and git branch' bash -ec 'git config user.name Agent; git branch -q topic'
work 'git clone of the repository, into the pen' git clone -q . build/copy
must 'git clone of that clone, outside' git clone -q --no-hardlinks "$pen/build/copy" "$home/projects/copy"
must 'git status: clean on both sides' both_sides_clean

# ---- attempts to get out ------------------------------------------------------------------------
# Each has a script, which gets $home, $pen and $value as $1 $2 $3; NAME_before, which sets the scene
# anew and may set `value`; and NAME_seen, which tells by its effect whether it worked.

value=
declare -A script

# shellcheck disable=SC2016 # the scripts are for another shell
script[read_secret]='cat "$1/.ssh/id_demo"'
read_secret_before() { :; }
read_secret_seen() { grep -qF "$token" "$top/output"; }

# shellcheck disable=SC2016
script[write_outside]='echo changed >"$1/notes.txt"'
write_outside_before() { echo mine >"$home/notes.txt"; }
write_outside_seen() { ! grep -qx mine "$home/notes.txt"; }

# shellcheck disable=SC2016
script[connect_host]='echo "hello from $$" >"/dev/tcp/127.0.0.1/$3"'
connect_host_before() {
    value=$(<"$top/port")
    : >"$top/heard"
}
connect_host_seen() {
    # The listener serves one after the other: once it heard this it has heard all before it.
    echo end >"/dev/tcp/127.0.0.1/$value"
    wait_for grep -qx end "$top/heard"
    grep -q hello "$top/heard"
}

# shellcheck disable=SC2016
script[signal_host]='kill -TERM "$3"'
signal_host_before() {
    sleep 3600 &
    value=$!
    disown "$value" # or bash tells how it ended
    started+=("$value")
}
signal_host_seen() { ! is_alive "$value"; }

# shellcheck disable=SC2016
script[plant_program]='mkdir -p "$1/.local/bin" && echo "echo planted" >"$1/.local/bin/ls"'
plant_program_before() { rm -rf "$home/.local"; }
plant_program_seen() { [[ -e $home/.local/bin/ls ]]; }

# Outside, the hook that was planted runs at the next commit.
# shellcheck disable=SC2016
script[plant_hook]='printf "#!/bin/sh\necho ran >\"%s/hook-ran\"\n" "$1" >"$2/.git/hooks/pre-commit"
    chmod +x "$2/.git/hooks/pre-commit"'
plant_hook_before() { rm -f "$home/hook-ran" "$pen/.git/hooks/pre-commit"; }
plant_hook_seen() {
    git -C "$pen" commit -q --allow-empty -m 'the owner commits' >/dev/null 2>&1 || true
    [[ -e $home/hook-ran || -e $pen/.git/hooks/pre-commit ]]
}

# shellcheck disable=SC2016
script[outlive_run]='
    setsid bash -c "while :; do echo beat >>\"\$0\"; sleep 0.1; done" "$2/beat-$3" >/dev/null 2>&1 &
    until [[ -s $2/beat-$3 ]]; do sleep 0.05; done'
outlive_run_before() {
    local pid
    value=$token
    for pid in $(processes_with_token); do
        kill -KILL "$pid"
        wait_for is_gone "$pid"
    done
    rm -f "$pen/beat-$token"
}
outlive_run_seen() { [[ -e $pen/beat-$token && -n $(processes_with_token) ]]; }

escaped=0
attempt() {
    local name=$1 title=$2

    printf '  %-62s' "$title"
    "${name}_before"
    bash -c "${script[$name]}" demo "$home" "$pen" "$value" >"$top/output" 2>&1 || true
    if ! "${name}_seen"; then
        printf 'FAILED: it does not even work outside\n'
        escaped=1
        return
    fi
    "${name}_before"
    run_inside bash -c "echo began-\$((40 + 2)); ${script[$name]}" demo "$home" "$pen" "$value" \
        >"$top/output" 2>&1 || true
    if ! grep -qx began-42 "$top/output"; then
        printf 'FAILED: the attempt was never made\n'
        sed 's/^/    /' "$top/output" >&2
        escaped=1
    elif "${name}_seen"; then
        printf 'IT GOT OUT\n'
        escaped=1
    else
        printf 'works outside, stopped inside\n'
    fi
}

listen() {
    python3 -c '
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    with server.accept()[0] as peer, open(sys.argv[2], "ab") as heard:
        while data := peer.recv(4096):
            heard.write(data)
' "$top/port" "$top/heard" &
    disown "$!"
    started+=("$!")
    wait_for test -s "$top/port"
}

printf 'Seven attempts to get out, each made outside (as a control) and inside\n'
listen
attempt read_secret 'read a secret in ~/.ssh'
attempt write_outside 'change a file outside the pen'
attempt connect_host 'connect to a server on the host'\''s loopback'
attempt signal_host 'send a signal to a process of the host'
attempt plant_program 'plant a program in ~/.local/bin'
attempt plant_hook 'plant a git hook that the owner'\''s next commit would run'
attempt outlive_run 'leave a daemon behind that outlives the run'

if [[ $escaped -ne 0 ]]; then
    printf 'demo: the fence did not hold\n' >&2
    exit 1
fi
printf 'All work done, all seven attempts stopped.\n'
