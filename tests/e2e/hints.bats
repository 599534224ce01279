#!/usr/bin/env bats
# Why it failed: a few hints from the policy alone, never one that would open a credential.

load lib

setup() {
    make_world_at_home
}

@test "a blocked write names the path and what would allow it" {
    inside -- bash -c 'echo x >"$1/new"' job "$OUT"
    failed_inside
    said "outside the policy"
    said "~/outside"
    said -- --rw
    inside -q -- bash -c 'echo x >"$1/new"' job "$OUT"
    said_not "outside the policy"
    works -- bash -c 'echo x >"$1/new"; true' job "$OUT"
    said_not "outside the policy"
}

@test "a missing network is told" {
    inside -- bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'
    failed_inside
    [[ $stderr == *wattle:*network* ]] || fail "no word of the network"
}

@test "no hint proposes a credential, and the host is never looked at" {
    mkdir "$HOME/.ssh"
    echo x >"$HOME/.ssh/id_rsa"
    inside -- cat "$HOME/.ssh/id_rsa" "$HOME/.netrc" "$HOME/.config/wattle/config.json"
    failed_inside
    said_not '--ro ~/.ssh'
    said_not '--ro ~/.netrc'
    said_not '--ro ~/.config/wattle'
    # the same words for what is there and for what is not
    inside -- bash -c 'cat "$1"' job "$OUT/secret"
    local there=${stderr//secret/X}
    inside -- bash -c 'cat "$1"' job "$OUT/absent"
    same "$there" "${stderr//absent/X}" "hints for a file that is there and one that is not"
}

@test "at most three hints, and what a job writes stays inert" {
    inside -- bash -c 'for i in $(seq 50); do echo "cat: $1/f$i: Permission denied" >&2; done; printf "cat: %s/\033[2Jx: Permission denied\n" "$1" >&2; exit 1' \
        job "$OUT"
    local count
    count=$(grep -c '^wattle: ' <<<"$stderr")
    ((count <= 3)) || fail "$count hints"
    ! grep '^wattle: ' <<<"$stderr" | grep -q $'\033' || fail "a control character in a hint"
}

@test "a program that the bound on file sizes ended is told so" {
    inside --file-size 64K -- bash -c 'exec dd if=/dev/zero of=big bs=64K count=2'
    ended 153
    said "a file larger than 64 KiB; raise the bound with --file-size"
}

@test "git below the top of a work tree is told to use the top" {
    need_tools git
    git init -q "$PEN"
    mkdir "$PEN/deep"
    run --separate-stderr "$WATTLE" run --pen "$PEN/deep" -- git status
    failed_inside
    said "use --pen '$PEN'"
}

@test "what does not fit on a line is not cut into another proposal" {
    local line lines=0
    # cut at 1 KiB each of these would propose another path, and one of its kind "--ro ~/.ssh"
    inside -- bash -c 'for n in 500 700 900; do printf "cat: %s/.ssh%0*d: Permission denied\n" "$1" "$n" 0 >&2; done; exit 1' \
        job "$HOME"
    failed_inside
    while IFS= read -r line; do
        [[ $line =~ /\.ssh(0+)\ is\ .*\ --ro\ ~/\.ssh(0+)$ && ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]] ||
            fail "cut: ${line: -80}"
        ((++lines))
    done < <(grep '^wattle: ' <<<"$stderr")
    same "$lines" 3 "hints"
}
