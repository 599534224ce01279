#!/bin/bash
# Measures wattle against its peers and against no fence at all, and prints the goals beside.
#
#   bench/run.sh [ROUNDS]       ROUNDS: of the start (200); WATTLE names the program
#
# What is compared, each as a whole process from fork to its end, in turning order:
#   start    /bin/true: wattle run, and without the guard, which no peer has; bwrap with the same
#            mounts and filter; `bwrap --ro-bind / /`, with new namespaces (what people write) and
#            bare (a mount namespace and nothing else); fork+exec
#   at once  64 of them
#   memory   PSS of our own processes while a job sleeps
#   build    wattle's own sources by gcc, inside and outside
# What the guard of names costs is measured by bench/guard.sh.
# Ratios are medians of ratios within a round. Read them, not the milliseconds, on a busy machine.
set -euo pipefail

here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
source=${here%/*}
WATTLE=$(realpath -- "${WATTLE:-$source/build/src/cli/wattle}")
baked=${WATTLE_BAKED:-$(dirname -- "$WATTLE")/../fence/seccomp_baked.h}
rounds=${1:-200}
world=$(mktemp -d /var/tmp/wattle-bench-XXXXXX)
trap 'chmod -R u+rwX "$world"; rm -rf "$world"' EXIT
unset "${!XDG_@}"
export HOME=$world/home
pen=$HOME/pen
mkdir -p "$pen" "$world/bwrap"
cd "$pen"

title() {
    printf '\n%s\n' "$*"
}

bench=$world/spawn_bench
gcc -O2 -D_GNU_SOURCE -o "$bench" "$here/spawn_bench.c"
wattle=(wattle "$WATTLE" run --pen "$pen" -- /bin/true)
plain=(fork+exec /bin/true)
peers=(::: "wattle, without the guard" "$WATTLE" run -q --guard off --pen "$pen" -- /bin/true)
goals=(-g 'fork+exec=2.6' -g 'wattle, without the guard=1.15')
crowd=()
if command -v bwrap >/dev/null; then
    "$WATTLE" run --pen "$pen" -- true
    mapfile -t line < <("$here/bwrap_line.py" "$WATTLE" "$pen" "$world/bwrap" "$baked")
    same=("bwrap, same mounts and filter" "${line[@]}")
    [[ ${line[0]} == @* ]] || printf 'the filter was not found: bwrap runs without one\n'
    common=(bwrap --unshare-all --die-with-parent --ro-bind / / --bind "$pen" "$pen" --tmpfs /tmp --proc /proc --dev /dev)
    peers+=(::: "${same[@]}" ::: "bwrap --ro-bind / /, namespaces" "${common[@]}" /bin/true
        ::: "bwrap --ro-bind / /, bare" bwrap --ro-bind / / /bin/true)
    goals+=(-g 'bwrap, same mounts and filter=0.50' -g 'bwrap --ro-bind / /, namespaces=0.60' -g 'bwrap --ro-bind / /, bare=0.60')
    crowd=(-g 'bwrap, same mounts and filter=1.0' -- "${wattle[@]}" ::: "${same[@]}" ::: "${plain[@]}")
else
    printf 'no bwrap here: apt-get install bubblewrap\n'
    crowd=(-- "${wattle[@]}" ::: "${plain[@]}")
fi

printf 'wattle %s, kernel %s, %s processors, as uid %s\n' "$("$WATTLE" version | cut -d' ' -f2)" "$(uname -r)" "$(nproc)" "$EUID"
command -v bwrap >/dev/null && bwrap --version

title "start of /bin/true, $rounds rounds"
failed=0
"$bench" -n "$rounds" "${goals[@]}" -- "${wattle[@]}" "${peers[@]}" ::: "${plain[@]}" || failed=1

title "64 at once, $((rounds / 10 + 5)) rounds"
"$bench" -n $((rounds / 10 + 5)) -j 64 "${crowd[@]}" || failed=1

title "memory of our own processes while a job sleeps"
# The job says that it runs by opening the fifo.
mkfifo up
"$WATTLE" run --pen "$pen" -- bash -c ': >up; exec sleep 600' &
run=$!
: <up
total=0
for pid in "$run" $(cat "/proc/$run/task/$run/children"); do
    if ! pss=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null) || [[ -z $pss ]]; then
        printf '  pid 1 of the job cannot be looked into as this user (on purpose): run as root\n'
        continue
    fi
    printf '  %-34s %6d KiB PSS\n' "$([[ $pid == "$run" ]] && echo supervisor || echo 'pid 1 of the job')" "$pss"
    total=$((total + pss))
done
kill "$run"
wait "$run" || true
# 1024 is the goal of the fence, 3072 that of the fence with its guard.
printf '  together %d KiB   goal <= 3072: %s\n' "$total" "$( ((total <= 3072)) && echo reached || echo MISSED)"

title "a build: wattle's own sources by gcc -O2, make -j2"
cp -r "$source/src" "$pen/src"
cp "$here/build.mk" "$pen/Makefile"
build=(make -s -j2 -B)
"$bench" -n $((rounds / 40 + 3)) -g 'outside=1.05' -- inside "$WATTLE" run --pen "$pen" -- "${build[@]}" ::: outside "${build[@]}" || failed=1
exit "$failed"
