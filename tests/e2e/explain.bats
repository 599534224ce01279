#!/usr/bin/env bats
# What `wattle policy explain` says is what the kernel does: hundreds of paths, one policy each way.

load lib

setup() {
    make_world_at_home
    cp "$WATTLE_HELPERS/probe_paths" "$PEN/probe_paths"
}

# Folders, files and links below the home, some inside the pen.
fill() {
    local top name
    for top in "$PEN" "$OUT" "$HOME/docs" "$HOME/work/other"; do
        for name in a a/b a/b/c "sp ace" ü .dot; do
            mkdir -p "$top/$name"
            echo x >"$top/$name/f"
            echo x >"$top/$name/g h"
        done
        ln -s a "$top/link"
        ln -s "$OUT/canary" "$top/out"
        ln -s nowhere "$top/dangling"
    done
    mkdir -p "$HOME/.ssh" "$HOME/.config/gh" "$HOME/.config/other" "$HOME/.aws"
    echo x | tee "$HOME/.ssh/id" "$HOME/.ssh/config" "$HOME/.config/gh/hosts.yml" "$HOME/.config/other/f" "$HOME/.aws/credentials" \
        "$HOME/.netrc" "$HOME/notes" >/dev/null
}

# The paths to ask about: all of the home, a sample of the system.
paths() {
    find "$HOME" -not -name probe_paths -not -path "$HOME/.cache/wattle/scratch*"
    find / -maxdepth 1
    find /etc -maxdepth 1 | head -120
    find /usr -maxdepth 2 | head -120
    find /opt /srv /mnt /media /boot /var -maxdepth 1
    printf '%s\n' /etc/shadow /etc/ssl/private /etc/ssh/sshd_config /root /home /tmp /var/tmp /dev/shm /dev/null /dev/kmsg /dev/sda \
        /proc/1/environ /proc/cpuinfo /proc/self/status /sys/kernel /run/user /usr/lib/os-release /bin/sh /lib \
        /wattle /wattle/home /wattle/tmp /wattle/cache "$HOME/none" "$PEN/none" "$PEN/a/none/deeper" /nonexistent
}

# agree OPTION... : for every path, what is said is what is so.
agree() {
    paths | sort -u >"$BATS_TEST_TMPDIR/paths"
    xargs -d '\n' "$WATTLE" policy explain --json --pen "$PEN" "$@" -- <"$BATS_TEST_TMPDIR/paths" \
        >"$BATS_TEST_TMPDIR/said" 2>"$BATS_TEST_TMPDIR/complaints" || true
    [[ ! -s $BATS_TEST_TMPDIR/complaints ]] || fail "explain complains: $(head -5 "$BATS_TEST_TMPDIR/complaints")"
    run --separate-stderr bash -c '"$1" run --pen "${@:3}" -- ./probe_paths <"$2" >"$2.kernel"' caller "$WATTLE" "$BATS_TEST_TMPDIR/paths" "$PEN" "$@"
    ended 0
    "$WATTLE" policy show --json --pen "$PEN" "$@" >"$BATS_TEST_TMPDIR/policy"
    run /usr/bin/python3 "$BATS_TEST_DIRNAME/compare_explain.py" "$BATS_TEST_TMPDIR/policy" "$BATS_TEST_TMPDIR/said" \
        "$BATS_TEST_TMPDIR/paths.kernel"
    [[ $status == 0 ]] || fail "explain and the kernel differ with: $*"
    echo "# $output" >&3
}

@test "explain agrees with the kernel: a plain run" {
    fill
    agree
}

@test "explain agrees with the kernel: folders opened for reading, a folder hidden in them" {
    fill
    agree --ro "$OUT" --deny "$OUT/a" --ro "$OUT/a/b/c/f" --deny "$PEN/a/b"
}

@test "explain agrees with the kernel: the whole home opened" {
    fill
    works -- true
    mkdir -p "$HOME/.config/wattle"
    agree --ro "$HOME" --rw "$HOME/docs" --deny "$HOME/docs/a/b"
}

@test "explain agrees with the kernel: writable folders, held files, single files" {
    fill
    agree --rw "$OUT" --ro "$OUT/a/f" --ro "$PEN/a" --rw "$PEN/a/b" --rw "$HOME/notes" --ro "$HOME/work"
}

@test "explain agrees with the kernel: rules through symlinks" {
    fill
    ln -s "$OUT" "$HOME/through"
    agree --ro "$HOME/through" --rw "$HOME/work/other/link"
}

@test "explain: exit status, the rule and the reason" {
    fill
    run "$WATTLE" policy explain "$PEN"
    ended 0
    said write
    said "$PEN"
    run "$WATTLE" policy explain "$OUT/secret"
    ended 1
    said hidden
    run "$WATTLE" policy explain --ro "$OUT" "$OUT/secret"
    ended 0
    said -- '--ro'
    run "$WATTLE" policy explain --write --ro "$OUT" "$OUT/secret"
    ended 1
    run "$WATTLE" policy explain --ro "$HOME" "$HOME/.ssh/id_rsa"
    ended 1
    said credential
    run "$WATTLE" policy explain "$HOME/.ssh/id_x"
    ended 1
    said "a place for credentials, which only a rule with its exact name opens"
    run "$WATTLE" policy explain --write /dev/null /dev/shm/x
    ended 0
    run "$WATTLE" policy explain /dev/null /dev/kvm
    ended 1
    said "hidden /dev/kvm: not among the run's own devices"
    run "$WATTLE" policy explain /proc/self/status
    ended 0
    said "read "
    run "$WATTLE" policy explain /usr/bin/env ./x ~/work
    [[ $status == 1 ]] || fail "one of three is hidden"
    run "$WATTLE" policy explain
    ended 2
}

@test "policy explain knows guarded names, there or not, and a run agrees" {
    need_tools git
    git init -q .
    run "$WATTLE" policy explain .git/hooks/pre-commit .git/config x
    ended 0
    said "guarded $PEN/.git/hooks/pre-commit: held; it would run on your side at the next git command (name '.git/hooks')"
    said "guarded $PEN/.git/config: vetted; git's configuration: keys that run nothing may be set by git"
    said "write  $PEN/x"
    run "$WATTLE" policy explain --write .envrc
    ended 1
    run "$WATTLE" policy explain --write .git/config sub/.envrc
    ended 0
    run "$WATTLE" policy explain --json .mcp.json x
    same "$(json '(v["guard"] or {}).get("new")' <<<"$output" | xargs)" "set aside None" "what happens to a new one"
    inside -- touch .envrc
    failed_inside
    works -- bash -c 'git config user.name me; mkdir sub; touch sub/.envrc'
}

@test "policy explain answers as a run of the same options does: twins, nested repositories, the guard" {
    local way
    need_tools git
    git init -q .
    echo hook >.git/hooks/pre-commit
    ln .git/hooks/pre-commit alias
    git init -q sub
    git -C sub config core.hooksPath h
    run "$WATTLE" policy explain alias sub/h/pre-commit free
    ended 0
    said "guarded $PEN/alias: held; it is the file '.git/hooks/pre-commit' by another name"
    said "guarded $PEN/sub/h/pre-commit: held"
    said "write  $PEN/free"
    for way in alias sub/h/pre-commit .git/hooks/pre-commit .envrc free; do
        for guard in on off detect; do
            run "$WATTLE" policy explain --write --guard "$guard" "$way"
            same "$status" "$(
                inside --guard "$guard" -- bash -c 'mkdir -p "$(dirname "$1")" && : >>"$1"' way "$way"
                echo "$((status != 0))"
            )" "$way with the guard $guard"
            rm -rf sub/h .envrc free
        done
    done
    run "$WATTLE" policy explain --guard detect .envrc .git/hooks/pre-commit
    said "guarded $PEN/.envrc: vetted; not prevented"
    said "guarded $PEN/.git/hooks/pre-commit: held"
    run "$WATTLE" policy explain --guard off .envrc
    said "write  $PEN/.envrc"
}
