#!/bin/bash
# The long form of "a killed supervisor leaves nothing": 1000 times kill -9 of wattle at a random
# moment, spread over set-up, run and tear-down. The short form is in tests/e2e/lifecycle.bats.
#
#   WATTLE=build/src/cli/wattle WATTLE_HELPERS=build/tests/helpers tests/long/killstorm.sh [ROUNDS]
#
# After each kill no process may live on (killstorm is their subreaper); at the end the mount table,
# the pen and, after one more start, wattle's own folders must be as before. Prints figures; exit 1
# when anything was left. KILLSTORM_SEED repeats a sequence.
set -euo pipefail

: "${WATTLE:?names the program}" "${WATTLE_HELPERS:?names the folder of the compiled helpers}"
WATTLE=$(realpath -- "$WATTLE")
WATTLE_HELPERS=$(realpath -- "$WATTLE_HELPERS")
rounds=${1:-1000}

world=$(mktemp -d "${TMPDIR:-/var/tmp}/wattle-killstorm-XXXXXX")
trap 'chmod -R u+rwX "$world"; rm -rf "$world"' EXIT
unset "${!XDG_@}"
export HOME=$world/home
pen=$HOME/pen
mkdir -p "$pen"
cd "$pen"
git init -q . 2>/dev/null || true
echo content >file

# What must be the same before and after.
state() {
    find "$pen" -printf '%p %y %m %s %T@ %l\n' | sort
    wc -l </proc/self/mountinfo
    find "$HOME/.cache" "$HOME/.local" -not -name 'aside-*' -printf '%p %y\n' 2>/dev/null | sort
}

# storm SHARE SPREAD_US OPTION... -- COMMAND...
storm() {
    local share=$1 spread=$2
    shift 2
    "$WATTLE_HELPERS/killstorm" $((rounds * share / 100 + 1)) "$spread" "$@" || failed=1
}

failed=0
"$WATTLE" run --pen "$pen" -- true
# How long a whole run takes here, in microseconds: the storm is spread over that.
begin=${EPOCHREALTIME/./}
for _ in 1 2 3 4 5; do "$WATTLE" run --pen "$pen" -- true; done
whole=$(((${EPOCHREALTIME/./} - begin) / 5))
printf 'a run of true takes %d us; load %s\n' "$whole" "$(cut -d' ' -f1-3 /proc/loadavg)"
before=$(state)

run=("$WATTLE" run --kill-after 10ms --pen "$pen" --)
# shellcheck disable=SC2016 # for the job's shell
deaf='(setsid sleep 60 &) ; trap "" TERM HUP INT; echo x >"$HOME/x"; mkdir -p "$TMPDIR/a/b"; sleep 60 & sleep 60'
storm 35 "$whole" -- "${run[@]}" true
storm 25 $((whole / 4)) -- "${run[@]}" bash -c "$deaf"
storm 20 $((whole * 4)) -- "${run[@]}" bash -c "$deaf"
storm 20 $((whole * 2)) --term-first -- "${run[@]}" bash -c "$deaf"

"$WATTLE" run --pen "$pen" -- true
if ! diff <(printf '%s\n' "$before") <(state); then
    printf 'something was left: see the difference above\n' >&2
    failed=1
fi
exit "$failed"
