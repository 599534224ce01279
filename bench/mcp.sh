#!/bin/bash
# Measures commands over `wattle mcp`, and prints the goals beside.
#
#   bench/mcp.sh [ROUNDS]       ROUNDS: of the run (100); WATTLE names the program
#
#   run         from the call to the result of /bin/true, against `wattle run` of the same, in turn
#   throughput  four at a time, against bwrap with the same mounts and filter, in turn
#   idle        PSS of the host
#   status      how long a model waits to hear of its job while 32 others print all they can; memory
# Read the ratios, not the milliseconds, on a busy machine; the load is printed.
set -euo pipefail

here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
source=${here%/*}
WATTLE=$(realpath -- "${WATTLE:-$source/build/src/cli/wattle}")
baked=${WATTLE_BAKED:-$(dirname -- "$WATTLE")/../fence/seccomp_baked.h}
export WATTLE
world=$(mktemp -d /var/tmp/wattle-bench-XXXXXX)
unset "${!XDG_@}"
export HOME=$world/home
pen=$HOME/pen
mkdir -p "$pen" "$world/bwrap"
cd "$pen"
trap '"$WATTLE" host stop || true; chmod -R u+rwX "$world"; rm -rf "$world"' EXIT

printf 'wattle %s, kernel %s, %s processors, as uid %s, load %s\n' "$("$WATTLE" version | cut -d' ' -f2)" \
    "$(uname -r)" "$(nproc)" "$EUID" "$(cut -d' ' -f1-3 /proc/loadavg)"
line=()
if command -v bwrap >/dev/null; then
    "$WATTLE" run --pen "$pen" -- true
    mapfile -t line < <("$here/bwrap_line.py" "$WATTLE" "$pen" "$world/bwrap" "$baked")
    [[ ${line[0]} == @* ]] || printf 'the filter was not found: bwrap runs without one\n'
else
    printf 'no bwrap here: apt-get install bubblewrap\n'
fi
status=0
python3 -B "$here/mcp_bench.py" "${1:-100}" "$pen" "${line[@]}" || status=$?
printf 'load at the end: %s\n' "$(cut -d' ' -f1-3 /proc/loadavg)"
exit "$status"
