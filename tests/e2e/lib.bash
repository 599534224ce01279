# What the end-to-end tests share; every file begins with `load lib`.
# shellcheck shell=bash disable=SC2034 # variables are for the tests
#
# WATTLE          the program under test
# WATTLE_HELPERS  the folder of the compiled helpers (tests/helpers, tests/escape)
# WATTLE_MUST_RUN set: a test that cannot run for want of a tool is a failure, not a skip
#
# Every test gets a world of its own: $HOME (made for it), $PEN (a project in it, the current
# folder), $OUT (a folder beside it that is nobody's business). It runs as whoever calls.

bats_require_minimum_version 1.5.0

: "${WATTLE:?names the program under test}"
: "${WATTLE_HELPERS:?names the folder of the compiled helpers}"
# System programs only: what a person has on the PATH differs, and belongs to another home.
PATH=$WATTLE_HELPERS:$BATS_TEST_DIRNAME/../helpers:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin

# ---- saying what was seen --------------------------------------------------------------------

fail() {
    printf '%s\n' "$*" >&2
    if [[ -n ${status+x} ]]; then
        printf -- '-- status: %s\n-- stdout:\n%s\n-- stderr:\n%s\n' "$status" "${output:-}" "${stderr:-}" >&2
    fi
    return 1
}

# The last `run` ended with this status.
ended() {
    [[ $status == "$1" ]] || fail "ended with $status, not $1"
}

# The last `run` failed (the job's own failure, not wattle's).
failed_inside() {
    [[ $status != 0 && $status != 125 ]] || fail "expected the job to fail by itself"
}

said() {
    [[ $output == *"$1"* || ${stderr:-} == *"$1"* ]] || fail "nobody said '$1'"
}

said_not() {
    [[ $output != *"$1"* && ${stderr:-} != *"$1"* ]] || fail "somebody said '$1'"
}

# The last `run` printed exactly this.
printed() {
    [[ $output == "$1" ]] || fail "expected on stdout: '$1'"
}

same() {
    [[ $1 == "$2" ]] || fail "${3:-a value}: '$1' is not '$2'"
}

# FILE holds exactly TEXT.
holds() {
    local text
    text=$(cat -- "$1") || fail "cannot read '$1'"
    same "$text" "$2" "$1"
}

absent() {
    local path
    for path; do
        [[ ! -e $path && ! -L $path ]] || fail "'$path' is there: $(ls -ld -- "$path")"
    done
}

present() {
    local path
    for path; do
        [[ -e $path ]] || fail "'$path' is missing"
    done
}

# ---- what a test needs -----------------------------------------------------------------------

cannot() {
    [[ -z ${WATTLE_MUST_RUN:-} ]] || fail "cannot run here: $*"
    skip "$*"
}

# need COMMAND [ARGUMENT...]: what must succeed, or the test cannot run here.
need() {
    "$@" >/dev/null 2>&1 || cannot "needs '$*'"
}

need_tools() {
    local tool
    for tool; do
        command -v -- "$tool" >/dev/null || cannot "no '$tool'"
    done
}

only_root() {
    [[ $EUID == 0 ]] || skip "for root"
}

only_user() {
    [[ $EUID != 0 ]] || skip "for an ordinary user"
}

# A control: what must work outside, or the test says nothing about the fence.
control() {
    run --separate-stderr "$@"
    [[ $status == 0 ]] || cannot "the control fails outside the fence: $*: $output $stderr"
}

# ---- the world of a test ---------------------------------------------------------------------

# make_world [FOLDER]: below FOLDER instead of the test's own.
make_world() {
    local name
    WORLD=${1:-$BATS_TEST_TMPDIR}
    for name in "${!XDG_@}" "${!GIT_@}" "${!WATTLE_TEST_@}"; do unset "$name"; done
    unset SSH_AUTH_SOCK BASH_ENV ENV CDPATH
    umask 022
    export HOME=$WORLD/home
    PEN=$HOME/work/pen
    OUT=$HOME/outside
    mkdir -p "$PEN" "$OUT"
    echo clean >"$OUT/canary"
    echo topsecret >"$OUT/secret"
    OUTSIDE_PIDS=()
    FOLDERS=()
    cd "$PEN" || return 1
}

# A world that does not lie below /tmp or /var/tmp, where a job has its own: what is hidden there
# cannot be told from what is not there.
make_world_at_home() {
    local home
    home=$(getent passwd "$EUID" | cut -d: -f6)
    [[ -n $home && $home != / && -w $home && $home != /tmp/* && $home != /var/tmp/* ]] ||
        cannot "no writable home folder for uid $EUID outside of /tmp and /var/tmp"
    make_world "$(mktemp -d "$home/wattle-e2e-XXXXXX")"
}

setup() {
    make_world
}

stop_outside() {
    local pid
    for pid in "${OUTSIDE_PIDS[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    OUTSIDE_PIDS=()
}

# temp_folder PARENT: $FOLDER, a folder elsewhere that goes with the test.
temp_folder() {
    FOLDER=$(mktemp -d "$1/wattle-e2e-XXXXXX")
    FOLDERS+=("$FOLDER")
}

teardown() {
    stop_outside
    [[ ${#FOLDERS[@]} == 0 ]] || rm -rf -- "${FOLDERS[@]}"
    chmod -R u+rwX "$WORLD" 2>/dev/null || true
    [[ $WORLD == "$BATS_TEST_TMPDIR" ]] || rm -rf -- "$WORLD"
}

# Runs in the pen: $status, $output, $stderr.
inside() {
    run --separate-stderr "$WATTLE" run --pen "$PEN" "$@"
}

# The same, and it must succeed.
works() {
    inside "$@"
    [[ $status == 0 ]] || fail "must work inside: $*"
}

# The program of attempts, where a job finds it.
with_attempts() {
    cp "$WATTLE_HELPERS/attempt" "$PEN/attempt"
}

# refused NAME [ARGUMENT...]: the attempt fails inside, and it was the attempt that failed.
refused() {
    inside -- ./attempt "$@"
    [[ $status == 1 && $output == *"$1: E"* ]] || fail "the attempt '$*' was not refused"
}

# Starts a process outside, in the background; $PID.
outside() {
    "$@" </dev/null >/dev/null 2>&1 3>&- 4>&- &
    PID=$!
    OUTSIDE_PIDS+=("$PID")
}

# listen KIND ADDRESS LOG: $ADDRESS is where (the port for tcp and udp).
listen() {
    local line
    line=$(listener "$@") || fail "no listener for $*"
    OUTSIDE_PIDS+=("${line%% *}")
    ADDRESS=${line#* }
}

# unheard KIND ADDRESS LOG: the listener was reached by nobody inside. A word from here comes after
# all that came before it, so there is nothing to wait for but that word.
unheard() {
    local kind=$1
    case $kind in
    dgram) kind=unix-dgram ;;
    esac
    "$WATTLE_HELPERS/attempt" "$kind" "$2" >/dev/null || fail "the control cannot reach $2"
    until_true grep -q PWNED "$3"
    same "$(grep -c PWNED "$3")" 1 "words heard by the listener"
}

# Waits for a condition that another process brings about; at most ten seconds.
until_true() {
    local i
    for ((i = 0; i < 500; i++)); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.02
    done
    fail "did not come true: $*"
}

# Names, kinds, modes, sizes, times and link texts below folders.
snapshot() {
    find "$@" -printf '%p %y %m %U %s %T@ %l\n' | sort
}

# Names and kinds only: what was made or removed.
names() {
    find "$@" -printf '%p %y\n' | sort
}

# What runs left of their own: scratch and marks. Compared with what one clean run leaves.
# Empty folders that wait for their removal have a name of their own each, and are left out.
own_names() {
    local folders=()
    [[ ! -d $HOME/.cache/wattle ]] || folders+=("$HOME/.cache/wattle")
    [[ ! -d $HOME/.local/state/wattle ]] || folders+=("$HOME/.local/state/wattle")
    [[ ${#folders[@]} == 0 ]] || names "${folders[@]}" | grep -v '/scratch/aside-[0-9a-f]* d$' || true
}

# Pids of the descendants of a process.
descendants() {
    local child
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
        echo "$child"
        descendants "$child"
    done
}

alive() {
    [[ -e /proc/$1 && $(awk '/^State:/ { print $2 }' "/proc/$1/status") != Z ]]
}

gone() {
    ! alive "$1"
}

json() {
    /usr/bin/python3 -c 'import json, sys
for line in sys.stdin:
    value = json.loads(line)
    print(eval(sys.argv[1], {"v": value}))' "$1"
}
