#!/bin/bash
# The long forms of what tests/e2e says about the guard: the owner's loops beside a job that tries
# every guarded name, kill -9 of wattle at 300 moments in each case, and files that must be free to
# execute once they are closed, 10,000 times.
#
#   WATTLE=build/src/cli/wattle WATTLE_HELPERS=build/tests/helpers tests/long/guard.sh [SECONDS [ROUNDS]]
set -euo pipefail

: "${WATTLE:?names the program}" "${WATTLE_HELPERS:?names the folder of the compiled helpers}"
WATTLE=$(realpath -- "$WATTLE")
WATTLE_HELPERS=$(realpath -- "$WATTLE_HELPERS")
export WATTLE WATTLE_HELPERS
export TMPDIR=${TMPDIR:-/var/tmp} LC_ALL=C.UTF-8
e2e=$(realpath -- "$(dirname -- "$0")/../e2e")

WATTLE_HOST_SECONDS=${1:-180} WATTLE_STORM_ROUNDS=${2:-300} BATS_TEST_TIMEOUT=1800 \
    bats --tap "$e2e/guard_host.bats" "$e2e/guard_trace.bats"
folder=$(mktemp -d "$TMPDIR/wattle-guard-XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/pen"
cp "$WATTLE_HELPERS/guard_busy" "$folder"
"$WATTLE" run -q --pen "$folder/pen" --ro "$folder/guard_busy" -- "$folder/guard_busy" 10000
