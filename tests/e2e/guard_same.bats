#!/usr/bin/env bats
# Real work of common tools with the guard of names and without: they say the same, end the same and
# leave the same tree. The way of open flags and odd paths is in guard.bats (guard_table).

load lib

# What is left of differences: a pattern of the line without the guard, and why. The same table
# stands in docs/testing.md.
readonly -A KNOWN=(
    ['^  nofollow 0o']='F_GETFL of a file that was there lacks O_NOFOLLOW'
    ['^  long 65600 ']='a path that is too long is ENAMETOOLONG before the flags are looked at'
    ['^  full 24 ']='a new file is made before it is known that the program has no descriptor left'
    ['^seccomp-bpf saw ']='strace --seccomp-bpf is not told of the calls the guard performs; plain strace is'
)

need_all() {
    need_tools git gcc make cmake npm node tar rsync python3 javac java strace ssh-agent script
}

# transcript on|off SECTION...: into $WORLD/on, $WORLD/off
transcript() {
    local side=$1
    shift
    cp "${BATS_TEST_DIRNAME}/../helpers/same_tools.sh" "$WORLD/same_tools.sh"
    mkdir "$PEN/t"
    inside -q --guard "$side" --tmp-size 1G -C t --ro "$WORLD/same_tools.sh" -- bash "$WORLD/same_tools.sh" "$@"
    [[ $status == 0 ]] || fail "the driver"
    printf '%s\n' "$output" >"$WORLD/$side"
    rm -rf "$PEN/t"
}

# The lines of one side that are neither the other's nor known.
unknown() {
    local pattern pattern_args=()
    for pattern in "${!KNOWN[@]}"; do pattern_args+=(-e "$pattern"); done
    diff "$WORLD/off" "$WORLD/on" | grep '^[<>]' | sed -E 's/^[<>] //' | grep -vE "${pattern_args[@]}"
}

same_tools() {
    need_all
    transcript off "$@"
    transcript on "$@"
    ! unknown >"$WORLD/unknown" || fail "differences: $(diff "$WORLD/off" "$WORLD/on")"
}

said_by_both() {
    grep -qE -- "$1" "$WORLD/off" || fail "nothing was done: no '$1': $(cat "$WORLD/off")"
}

@test "git: the same words, the same ends, the same tree" {
    same_tools git
    said_by_both '^  [0-9a-f]{40} third$'
    said_by_both 'clone2/sub/f f 644'
}

@test "gcc, make, cmake and npm" {
    same_tools build npm
    said_by_both '^  42$'
    said_by_both 'a runs'
}

@test "tar, cp, rsync, install, sed, split, script, umasks, hard links as pnpm makes them" {
    same_tools files
    said_by_both 'handed over'
    said_by_both '^-rw-r----- m027$'
    said_by_both 'set-id.: Operation not permitted' # by the fence, either way
}

@test "python (tempfile, sqlite, descriptors), java, node, strace, ssh-agent" {
    same_tools python java node trace
    said_by_both 'database is locked'
    said_by_both 'there$'
    said_by_both '^  hello$'
    said_by_both '^. grep -c mkdir."seen.d"' # and 1 by both, or it were a difference
}
