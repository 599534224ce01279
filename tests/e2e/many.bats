#!/usr/bin/env bats
# Many at once.

load lib

@test "64 at once in one pen: none fails, each has its own, nothing is left" {
    works -- true
    local own mounts i pids=() failures=0
    own=$(own_names)
    mounts=$(wc -l </proc/self/mountinfo)
    mkdir results
    for ((i = 0; i < 64; i++)); do
        "$WATTLE" run --pen "$PEN" -- bash -c 'echo "$1" >"$HOME/x"; echo "$1" >/tmp/x; echo "$1" >"$TMPDIR/x"
            cat "$HOME/x" /tmp/x "$TMPDIR/x" | sort -u >"results/$1"; [ "$(cat "results/$1")" = "$1" ]' job "$i" \
            >"results/$i.out" 2>&1 3>&- &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || failures=$((failures + 1))
    done
    same "$failures" 0 "failures of 64: $(cat results/*.out | sort | uniq -c | head -5)"
    same "$(cat results/?? results/? | sort -n | tr '\n' ' ')" "$(seq 0 63 | tr '\n' ' ')" "results"
    same "$(own_names)" "$own" "wattle's own folders"
    same "$(wc -l </proc/self/mountinfo)" "$mounts" mounts
}

@test "starts while somebody else changes the repository's files: none fails" {
    git init -q .
    outside bash -c 'for i in $(seq 100000); do touch .git/index.lock x.lock; rm -f .git/index.lock x.lock; mkdir -p t/u; rm -r t; done'
    local round
    for round in {1..30}; do
        works -- true "$round"
    done
    alive "$PID"
}

@test "two runs in one repository, the later one commits after the first has ended" {
    git init -q .
    mkfifo go
    outside "$WATTLE" run --pen "$PEN" -- bash -c 'touch started; read -r _ <go; echo late >late; git add late && git commit -qm late'
    local first=$PID
    until_true test -e started
    works -- true
    echo >go
    wait "$first"
    same "$(git log --format=%s)" late "the log"
}
