#!/usr/bin/env bats
# The owner works in the pen while a job tries every guarded name in it: nothing of the job's takes
# effect, not for a moment, no command of the owner's fails, and nothing the owner wrote is lost.
#
# WATTLE_HOST_SECONDS: how long each loop takes (tests/long/guard-host.sh).

load lib

readonly HOST_SECONDS=${WATTLE_HOST_SECONDS:-8}

setup() {
    make_world
    need_tools git python3
    git init -q .
    git config user.name owner
    git config user.email owner@example.com
    mkdir .claude .vscode
    echo '#!/bin/sh' >.git/hooks/pre-commit
    chmod 755 .git/hooks/pre-commit
    echo owner | tee .envrc >.claude/settings.json
    git commit -q --allow-empty -m start
    cp "${BATS_TEST_DIRNAME}/../helpers/try_held.py" "$WORLD/try_held.py"
}

try_held() {
    inside -q "$@" --ro "$WORLD/try_held.py" -- /usr/bin/python3 "$WORLD/try_held.py" "$SECONDS_OF_JOB"
}

watch() {
    outside /usr/bin/python3 "${BATS_TEST_DIRNAME}/../helpers/watch_held.py" "$PEN" "$WORLD/seen"
    WATCHER=$PID
    until_true test -s "$WORLD/seen.polls"
}

# The owner's loops. Each ends when the job has, says what failed, and leaves what must be there then.
owner_config() {
    local i
    for ((i = 0; ; i++)); do
        [[ ! -e $WORLD/over ]] || break
        git config --add owner.value "$i"
        git config user.name "owner $i"
        git remote add "r$i" "/x/$i"
        ((i % 3)) || git remote remove "r$i"
    done
    echo "$i" >"$WORLD/config.count"
}

owner_saves() {
    local i
    for ((i = 0; ; i++)); do
        [[ ! -e $WORLD/over ]] || break
        echo "owner $i" >"$OUT/x" && mv "$OUT/x" .envrc
        echo "owner $i" >.claude/settings.json
        printf '#!/bin/sh\n# %d\n' "$i" >"$OUT/hook" && chmod 755 "$OUT/hook" && mv "$OUT/hook" .git/hooks/pre-commit
    done
    echo "$i" >"$WORLD/saves.count"
}

owner_commits() {
    local i
    for ((i = 0; ; i++)); do
        [[ ! -e $WORLD/over ]] || break
        git commit -q --allow-empty -m "owner $i"
        ((i % 8)) || git gc -q --prune=now
    done
    echo "$i" >"$WORLD/commits.count"
}

count() {
    cat "$WORLD/$1.count"
}

# owner LOOP...: beside a job that tries everything.
owner() {
    local loop pids=()
    watch
    for loop; do
        (set +e; "owner_$loop" >/dev/null 2>>"$WORLD/failures") 3>&- 4>&- &
        pids+=("$!")
    done
    SECONDS_OF_JOB=$HOST_SECONDS
    try_held
    touch "$WORLD/over"
    wait "${pids[@]}"
    kill -TERM "$WATCHER"
    until_true gone "$WATCHER"
    ended 0
    [[ ! -s $WORLD/failures ]] || fail "the owner's commands: $(sort "$WORLD/failures" | uniq -c)"
    [[ ! -s $WORLD/seen ]] || fail "seen from outside: $(sort "$WORLD/seen" | uniq -c)"
    # How often depends on what else the machine does: this only tells that both did their work.
    (($(cat "$WORLD/seen.polls") > 2 * HOST_SECONDS)) || fail "the watcher looked too seldom"
    (($(awk '/^calls/ { print $2 }' <<<"$output") > 20 * HOST_SECONDS)) || fail "the job did too little"
    ! grep -rq PWNED .git/config .git/hooks .envrc .claude .vscode || fail "something of the job's is there"
    absent stolen-* .mcp.json .git/commondir .git/config.worktree .vscode/tasks.json .git/config.lock
}

@test "git config, remote add and remove: every value of the owner's is there, and nothing else" {
    owner config
    local n
    n=$(count config)
    ((n > HOST_SECONDS)) || fail "the owner did only $n rounds"
    same "$(git config --get-all owner.value)" "$(seq 0 $((n - 1)))" "the values"
    same "$(git config user.name)" "owner $((n - 1))" "the name"
    same "$(git remote)" "$(for ((i = 0; i < n; i++)); do ((i % 3 == 0)) || echo "r$i"; done | sort)" "the remotes"
}

@test "an editor's saves, by a rename and in place: the last one is there" {
    owner saves
    local n
    n=$(count saves)
    ((n > HOST_SECONDS)) || fail "the owner did only $n rounds"
    holds .envrc "owner $((n - 1))"
    holds .claude/settings.json "owner $((n - 1))"
    same "$(tail -1 .git/hooks/pre-commit)" "# $((n - 1))" "the hook"
}

@test "commits and git gc beside it, all loops together" {
    owner config saves commits
    same "$(git config --get-all owner.value)" "$(seq 0 $(($(count config) - 1)))" "the values"
    holds .envrc "owner $(($(count saves) - 1))"
    same "$(git rev-list --count HEAD)" "$(($(count commits) + 1))" "the commits"
    git fsck --strict
}

@test "the same job lands without the guard, and the watcher sees it" {
    watch
    SECONDS_OF_JOB=1
    try_held --guard off
    until_true grep -q . "$WORLD/seen"
    grep -rq PWNED .git .envrc .claude .vscode || compgen -G 'stolen-*' >/dev/null ||
        fail "the job did nothing"
}

# ---- what the owner's git has in hand ----------------------------------------------------------

@test "a lock of the owner's git is not opened, replaced or removed; what a descriptor could do later" {
    echo owner >.git/config.lock
    local before
    before=$(snapshot .git/config.lock)
    # shellcheck disable=SC2016 # for the shell inside
    local attack='echo PWNED >>.git/config.lock; rm -f .git/config.lock; mv .git/config.lock away
        echo PWNED >x; mv -f x .git/config.lock; ln .git/config.lock linked; chmod 777 .git/config.lock
        truncate -s 0 .git/config.lock; mv .git/config.lock .git/config; true'
    inside -- bash -c "$attack"
    ended 0
    same "$(snapshot .git/config.lock)" "$before" "the lock"
    absent away linked
    rm .git/config.lock
    works -q -- bash -ec 'git config user.name Somebody; echo >.git/config.lock; rm .git/config.lock'
    same "$(git config user.name)" Somebody "what the job set"
    echo owner >.git/config.lock
    works -q --guard off -- bash -c "$attack"
    [[ ! -e .git/config.lock ]] || fail "the attack does nothing"
}

@test "a job's lock holds nothing of the job's: who renames it installs nothing" {
    works -q -- bash -ec 'echo "[core] fsmonitor = ./PWNED" >.git/config.lock; echo more >>.git/config.lock'
    holds .git/config.lock ""
    rm .git/config.lock
}

@test "a configuration is replaced by git's own way only, so that none of the owner's is lost" {
    git config --add owner.value 1
    works -q -- bash -c '! { cp .git/config x && mv x .git/config; }'
    works -q -- bash -c 'cp .git/config .git/config.lock && mv .git/config.lock .git/config'
    same "$(git config owner.value)" 1 "the owner's"
}

@test "a pointer that is there is not written by way of its descriptor" {
    git worktree add -q tree
    local before
    before=$(cat tree/.git)
    local flags
    for flags in O_RDWR 'O_RDONLY | os.O_TRUNC' 'O_WRONLY | os.O_APPEND'; do
        inside -q -- /usr/bin/python3 -c "
import os
os.write(os.open('/proc/self/fd/%d' % os.open('tree/.git', os.O_RDONLY), os.$flags), b'PWNED')"
        failed_inside
        holds tree/.git "$before"
    done
    works -q --guard off -- /usr/bin/python3 -c "
import os
os.write(os.open('/proc/self/fd/%d' % os.open('tree/.git', os.O_RDONLY), os.O_RDWR), b'PWNED')"
    grep -q PWNED tree/.git || fail "the attack does nothing"
}
