#!/usr/bin/env bats
# The attacks of tests/escape/guard_attacks.py: each in a repository of its own, all in one run, and
# judged afterwards from outside by what lies at guarded names.

load lib

# Nearly all of them; the rest is refused by the kernel, by seccomp, or needs what is not there.
readonly LAND_WITHOUT=300

attacks() {
    /usr/bin/python3 "$BATS_TEST_DIRNAME/../escape/guard_attacks.py" "$@"
}

# try_all on|off: in a folder of that name; what the judge says is in $output, what somebody outside
# saw who polled names all the time in $WORLD/seen.
try_all() {
    local names watch
    mkdir "$1"
    attacks prepare "$1"
    mapfile -t names < <(attacks list | head -240 | sed 's,$,/.git/hooks/pre-commit,')
    guard_watch "$1" "${names[@]}" >"$WORLD/seen" 3>&- 4>&- &
    watch=$!
    cp "$BATS_TEST_DIRNAME/../escape/guard_attacks.py" "$PEN/../guard_attacks.py"
    inside -q --guard "$1" -C "$1" --ro "$PEN/../guard_attacks.py" -- /usr/bin/python3 "$PEN/../guard_attacks.py" run
    ended 0
    kill -TERM "$watch"
    wait "$watch" || true
    run attacks judge "$1"
}

@test "every attack of the table: none lands, not for a moment, and nothing of the owner's changes" {
    (($(attacks list | wc -l) >= 150)) || fail "too few attacks"
    try_all on
    [[ $output == *' attacks, 0 landed' ]] || fail "landed"
    grep -q ' looks, 0 seen' "$WORLD/seen" || fail "$(cat "$WORLD/seen")"
}

@test "the same attacks without the guard: nearly all of them land" {
    try_all off
    (($(grep -c '^landed' <<<"$output") >= LAND_WITHOUT)) || fail "too few landed"
    ! grep -q ' looks, 0 seen' "$WORLD/seen" || fail "the watcher sees nothing"
}
