#!/bin/bash
# The long form of "host, server and client are killed at random moments" of tests/e2e/host.bats: 500
# times kill -9 of wattle-host, of `wattle mcp` or of the client that started it.
#
#   WATTLE=build/src/cli/wattle tests/long/host_kills.sh [ROUNDS]
#
# After each kill no process of a job may live for longer than 2 s. After each 50, and at the end, with one more
# start of the host: scratch is empty, no record runs or waits, no turn is open, the store is whole, and
# the log has an end for each request. Prints figures. WATTLE_SEED repeats a sequence.
set -euo pipefail

: "${WATTLE:?names the program}"
WATTLE=$(realpath -- "$WATTLE")
export WATTLE WATTLE_ROUNDS=${1:-500}
cases=$(realpath -- "$(dirname -- "$0")/../e2e/host_records.py")

world=$(mktemp -d "${TMPDIR:-/var/tmp}/wattle-host-kills-XXXXXX")
trap '"$WATTLE" host stop || true; chmod -R u+rwX "$world"; rm -rf "$world"' EXIT
unset "${!XDG_@}"
export HOME=$world/home
mkdir -p "$HOME/pen"
cd "$HOME/pen"
/usr/bin/python3 -B "$cases" killed_at_random
printf 'load %s\n' "$(cut -d' ' -f1-3 /proc/loadavg)"
