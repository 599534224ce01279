#!/usr/bin/env bats
# Nothing of the guard's is ever seen in the tree, also when wattle is killed at any moment; and the
# guard does not outlive, nor is outlived by, what it belongs to.
#
# WATTLE_STORM_ROUNDS: how often wattle is killed in each case (tests/long/guard.sh: 300).

load lib

readonly STORM_ROUNDS=${WATTLE_STORM_ROUNDS:-15}

# Names that git itself has for a moment, or leaves when it is killed.
readonly OF_GIT='(\.lock|/(tmp_obj_|tmp_pack_|tmp_idx_|tmp_rev_|tmp_objdir-incoming-)[^/]*(/.*)?|/t[0-9A-Za-z]{6}|/_?git-(init|clone)[^/]*|/incoming-[^/]*(/.*)?|/packed-refs\.new|/shallow_[^/]*|\.keep|/branch_?t?[^/]*|/rr-cache|/modules|/AUTO_MERGE)$'

setup() {
    make_world
    need_tools git python3
    git init -q -b main .
    git config user.name owner
    git config user.email owner@example.com
    echo one >f
    git add f
    GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git commit -qm start
}

# shellcheck disable=SC2016 # for the shell inside
readonly WORK='
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z
    for i in 1 2 3; do
        git clone -q . "c$i"; git -C "c$i" config user.name "x$i"; git -C "c$i" remote add more "/x/$i"
        git worktree add -q "w$i" -b "b$i"; echo "$i" >"w$i/g"; git -C "w$i" add g; git -C "w$i" commit -qm "$i"
        git init -q "n$i"; git config user.name "owner $i"
    done
    git -c protocol.file.allow=always submodule --quiet add ./c1 sub; git commit -qm sub'

looked() {
    (($(cat "$WORLD/$1.polls") > 2))
}

# Runs WORK while somebody looks; what was seen is in $WORLD/$1.
watched() {
    local side=$1
    outside /usr/bin/python3 "${BATS_TEST_DIRNAME}/../helpers/watch_pen.py" "$PEN" "$WORLD/$side"
    until_true test -s "$WORLD/$side.polls"
    works -q --guard "$side" -- bash -ec "$WORK"
    until_true looked "$side"
    kill -TERM "$PID"
    until_true gone "$PID"
}

@test "git's work: no name, and no line of 'git status', but those git makes without a guard" {
    cp -a . "$WORLD/copy"
    watched off
    find . -mindepth 1 | sort >"$WORLD/left"
    find . -mindepth 1 -delete
    cp -a "$WORLD/copy/." .
    watched on
    local side
    for side in off on; do
        grep -v '^status ' "$WORLD/$side" | grep -vE "$OF_GIT" | sort | comm -23 - "$WORLD/left" >"$WORLD/more.$side" || true
        grep -oE '^status .. [^/]*/?' "$WORLD/$side" | sort -u >"$WORLD/status.$side" || true
    done
    # Some of git's own are there for so short a time that only one of the two may have been seen.
    local -r passing='ORIG_HEAD|/origin|packed-refs|/worktrees/w[123]/locked$'
    same "$(grep -vE "$passing" "$WORLD/more.on" || true)" \
        "$(grep -vE "$passing" "$WORLD/more.off" || true)" "names beside git's"
    ! grep -vE '^status .. (c[123]/|w[123]/|n[123]/|sub/?|\.gitmodules|"?[^"]*\.lock)$' "$WORLD/status.on" ||
        fail "git status said more: $(cat "$WORLD/status.on")"
    grep -q . "$WORLD/status.on" || fail "git status was never asked"
}

# storm COMMAND: kill -9 of wattle at a random moment of a loop; after each one nothing is there but
# what git, killed at that moment, leaves too.
storm() {
    local i spread names
    names=$(find . | sort)
    spread=$(span)
    for ((i = 1; i <= STORM_ROUNDS; i++)); do
        KILLSTORM_SEED=$((i * 7919)) run "$WATTLE_HELPERS/killstorm" 1 "$spread" -- "$WATTLE" run -q --pen "$PEN" -- bash -c "$1"
        ended 0
        git config --list >/dev/null || fail "round $i: the configuration: $(cat .git/config)"
        same "$(git config user.email)" owner@example.com "the owner's setting, round $i"
        find . -name '*.lock' -path '*/.git/*' -print -delete >>"$WORLD/locks" # git's own: see OF_GIT
        # the checkout that was being made: git without a fence leaves it half-made too
        rm -rf w ".git/worktrees" .git/logs/refs/heads/w .git/refs/heads/w
        mkdir -p .git/logs/refs/heads
        git fsck --strict >/dev/null 2>"$WORLD/fsck" || fail "round $i: fsck: $(cat "$WORLD/fsck")"
        same "$(find . | grep -vE '/objects/|/index$|/logs/|/branches$|COMMIT_EDITMSG|ORIG_HEAD|packed-refs' | sort)" \
            "$(grep -vE '/objects/|/index$|/logs/|/branches$|COMMIT_EDITMSG|ORIG_HEAD|packed-refs' <<<"$names")" "names, round $i"
    done
}

# Microseconds, so that the kill comes during set-up, work and (for short work) after it.
span() {
    local begin=${EPOCHREALTIME/./}
    works -q -- true
    echo $(((${EPOCHREALTIME/./} - begin) * 3))
}

@test "kill -9 of wattle during 'git config': nothing of ours, and the configuration is whole" {
    # shellcheck disable=SC2016 # for the shell inside
    storm 'for ((i = 0; ; i++)); do git config user.name "$i"; done'
    [[ $(git config user.name) =~ ^[0-9]+$ ]] || fail "no round came so far as to set anything"
    works -q -- git config user.name afterwards
    same "$(git config user.name)" afterwards "what a run sets afterwards"
}

@test "kill -9 of wattle during 'git worktree add': nothing of ours, and the repository is whole" {
    storm 'while :; do git worktree add -q w; git worktree remove -f w; git branch -qD w; done'
    works -q -- git worktree add -q w
    git -C w status --porcelain
}

# ---- lives ----------------------------------------------------------------------------------------

@test "a job cannot end its guard, by any of its numbers" {
    # shellcheck disable=SC2016 # for the shell inside
    works -q -- bash -c 'for signal in KILL TERM STOP INT HUP SEGV USR1; do kill -$signal 1 2>/dev/null; done
        for task in /proc/1/task/*; do kill -KILL "${task##*/}" 2>/dev/null; done
        mkdir made; ! mkdir .claude/ 2>/dev/null || ! echo >.claude/settings.json; ! echo >.envrc; echo alive'
    printed alive
    present made
    absent .envrc .claude/settings.json
}

@test "kill -9 of wattle ends the job, and no name appears later" {
    # shellcheck disable=SC2016 # for the shell inside
    outside "$WATTLE" run -q --pen "$PEN" -- bash -c 'for i in 1 2 3 4; do (n=0; while :; do mkdir "d$i-$n"; echo >"d$i-$n/f"; ((n++)); done) & done; wait'
    until_true test -e d4-3
    local job before
    job=$(descendants "$PID")
    [[ -n $job ]] || fail "no job"
    kill -KILL "$PID"
    for PID in $job; do until_true gone "$PID"; done
    before=$(names .)
    works -q -- true
    same "$(names .)" "$before" "names"
}
