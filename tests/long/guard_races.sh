#!/bin/bash
# The long form of "races": each race of guard_race, many tries, while a program outside polls the
# names that must not come into existence. The short form is in tests/e2e/guard.bats.
#
#   WATTLE=build/src/cli/wattle WATTLE_HELPERS=build/tests/helpers tests/long/guard_races.sh [TRIES [SECONDS [RACE...]]]
#
# Without RACE all of them. A race is ended after SECONDS (0: never) and the tries it got to are not
# known then, so choose enough. Prints a line for each; exit 1 when anything landed or was seen.
set -euo pipefail

: "${WATTLE:?names the program}" "${WATTLE_HELPERS:?names the folder of the compiled helpers}"
WATTLE=$(realpath -- "$WATTLE")
WATTLE_HELPERS=$(realpath -- "$WATTLE_HELPERS")
tries=${1:-100000}
seconds=${2:-0}
shift $(($# > 2 ? 2 : $#))
races=("$@")
[[ ${#races[@]} != 0 ]] || mapfile -t races < <("$WATTLE_HELPERS/guard_race" list)

world=$(mktemp -d "${TMPDIR:-/var/tmp}/wattle-races-XXXXXX")
trap 'chmod -R u+rwX "$world"; rm -rf "$world"' EXIT
unset "${!XDG_@}"
export HOME=$world/home
mkdir -p "$HOME/pen"
cp "$WATTLE_HELPERS/guard_race" "$world/guard_race"
names=(.hg/hgrc .hg/hgrc-not-shared a/b/.git/hooks/pre-commit c/b/.git/hooks/pre-commit a/b/.git/commondir
    c/b/.git/commondir .git/hooks/pre-commit .git/commondir .git/config.worktree .envrc .mcp.json
    .claude/settings.json .vscode/tasks.json .vscode/settings.json .idea/workspace.xml .cursor .codex .gemini
    .husky/pre-commit .devcontainer.json)

failed=0
for race in "${races[@]}"; do
    pen=$HOME/pen/$race
    mkdir "$pen"
    "$WATTLE_HELPERS/guard_watch" "$pen" "${names[@]}" >"$world/seen" &
    watch=$!
    begin=${EPOCHREALTIME/./}
    timeout --foreground "$seconds" "$WATTLE" run -q --pen "$pen" --ro "$world/guard_race" -- \
        "$world/guard_race" "$race" "$tries" >"$world/said" || true
    kill -TERM "$watch"
    wait "$watch" || failed=1
    grep -q ', 0 landed$' "$world/said" || failed=1
    printf '%s; %s; %d s\n' "$(tail -1 "$world/said")" "$(tail -1 "$world/seen")" \
        $(((${EPOCHREALTIME/./} - begin) / 1000000))
    rm -rf "$pen"
done
exit "$failed"
