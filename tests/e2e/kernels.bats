#!/usr/bin/env bats
# Older and stricter kernels, simulated: a filter answers for calls that are not there, and a
# supervisor answers for an older Landlock. Each time the documented answer: it holds, it holds and
# says what is weaker, or it refuses with 125 and runs nothing. Never a run with less than it says.

load lib

setup() {
    make_world
    with_attempts
}

# on KERNEL... -- : the next `inside` runs there.
on() {
    KERNEL=("$@")
}

inside() {
    run --separate-stderr "${KERNEL[@]}" "$WATTLE" run --pen "$PEN" "$@"
}

start_event() { # EXPRESSION over v
    "${KERNEL[@]}" "$WATTLE" run --pen "$PEN" --status-fd 3 -- true 3>status
    head -1 status | json "$1"
}

# The boundary holds here: files, processes, network, names.
holds_here() {
    outside sleep 300
    works -- true
    inside --ro "$OUT" --deny "$OUT/secret" -- bash -c '
        cat "$1/secret"; cat "$2/.profile"; { echo PWNED >"$1/canary"; } 2>/dev/null; ln "$1/canary" alias
        kill "$3"; mkdir -p m; mount -t tmpfs none m; unshare -Ur true; ./attempt tcp 22; ./attempt user-namespace
        ./attempt open-tree /; ./attempt io-uring; touch /usr/wattle-planted /etc/wattle-planted; echo over' job "$OUT" "$HOME" "$PID"
    ended 0
    said_not topsecret
    said_not ': got'
    printed_last over
    holds "$OUT/canary" clean
    absent alias /usr/wattle-planted /etc/wattle-planted
    alive "$PID" || fail "killed a process outside"
    stop_outside
}

printed_last() {
    same "${output##*$'\n'}" "$1" "last line"
}

# Nothing runs here, and it is said why.
refuses_here() {
    inside "$@" -- touch ran
    ended 125
    [[ $stderr == 'wattle: '* ]] || fail "no reason given"
    absent ran
}

# ---- Landlock ----------------------------------------------------------------------------------

# ABI 1 refuses every rename between folders, which breaks most work: it counts as none.
@test "Landlock of every ABI: it holds, and says which it is and what is weaker" {
    local abi newest weak
    newest=$(start_event 'v["landlock_abi"]')
    on landlock_abi 1 --
    holds_here
    same "$(start_event '(v["landlock_abi"], "no-landlock" in v["weak"])')" "(0, True)" "start event of ABI 1"
    rm -f status
    for abi in 2 3 4 5 6 7; do
        ((abi <= newest)) || continue
        on landlock_abi "$abi" --
        holds_here
        same "$(start_event 'v["landlock_abi"]')" "$abi" "ABI in the start event"
        weak=$(start_event '" ".join(v["weak"])')
        if ((abi < 6)); then
            [[ $weak == *old-landlock* ]] || fail "ABI $abi is not said to be old: $weak"
        else
            [[ $weak != *landlock* ]] || fail "ABI $abi is said to be weak: $weak"
        fi
        rm -f status
    done
}

@test "Landlock of every ABI: git, links and renames in the pen work as ever" {
    local abi newest
    newest=$(start_event 'v["landlock_abi"]')
    rm status
    for abi in 1 2 3 5 7; do
        ((abi <= newest)) || continue
        on landlock_abi "$abi" --
        works -- bash -ec 'mkdir a b; echo x >a/f; mv a/f b/f; ln b/f a/g; : >b/f; git init -q r; cd r; git commit -q --allow-empty -m x
            git gc -q; cd ..; rm -r a b r; echo x >/tmp/a && : >/tmp/a; echo 5 >/proc/self/oom_score_adj 2>/dev/null || true'
    done
}

@test "no Landlock at all: mounts hold, and it is said" {
    local way
    for way in "landlock_abi 0" "deny_syscall landlock_create_ruleset:ENOSYS" "deny_syscall landlock_create_ruleset:EOPNOTSUPP"; do
        # shellcheck disable=SC2086 # words on purpose
        on $way --
        holds_here
        same "$(start_event '(v["landlock_abi"], "no-landlock" in v["weak"])')" "(0, True)" "start event of '$way'"
        rm -f status
        inside -v -- true
        said 'Landlock is off'
        inside --guard off -q -- true
        same "$stderr" "" "what a quiet run says"
    done
}

@test "no Landlock, and the owner requires it: refused" {
    mkdir -p "$HOME/.config/wattle"
    echo '{"wattle": {"require": ["landlock"]}}' >"$HOME/.config/wattle/config.json"
    works -- true
    on landlock_abi 0 --
    refuses_here
    said landlock
}

@test "a kernel that claims an ABI and refuses its newest right: stepped down or refused, never broken" {
    local abi newest
    newest=$(start_event 'v["landlock_abi"]')
    rm status
    for abi in 2 4 5 6 7; do
        ((abi <= newest)) || continue
        on landlock_abi "$abi" --reject-top --
        inside -- true
        if [[ $status == 0 ]]; then
            holds_here
            [[ $(start_event '" ".join(v["weak"])') == *landlock* ]] || fail "ABI $abi without its top right is not said to be weak"
            rm -f status
        else
            refuses_here
            said -i
        fi
    done
}

# ---- calls that an older kernel does not have -------------------------------------------------------

@test "no clone3: clone(2) does it" {
    on deny_syscall clone3:ENOSYS --
    holds_here
}

@test "clone3 is forbidden: refused" {
    on deny_syscall clone3:EPERM --
    refuses_here
    said namespace
}

@test "no user namespaces, in every way a system says so: refused, and what to look at" {
    local way
    for way in EPERM EACCES ENOSPC EUSERS EINVAL; do
        on deny_syscall clone3:ENOSYS "clone/0x10000000:$way" --
        refuses_here
        said namespace
        said 'wattle: hint: '
    done
    # namespaces are made, and their rights are taken away, as AppArmor does
    on deny_syscall "mount:EPERM" "fsopen:EPERM" "move_mount:EPERM" "fsmount:EPERM" --
    refuses_here
}

@test "no openat2, no mount calls, no seccomp, no pidfds: refused" {
    local call
    for call in openat2 open_tree move_mount fsopen fsconfig fsmount mount_setattr pivot_root seccomp; do
        on deny_syscall "$call:ENOSYS" --
        refuses_here
        on deny_syscall "$call:EPERM" --
        refuses_here
    done
}

@test "a refusal in the middle of the set-up leaves nothing behind" {
    works -- true
    local own before mounts
    own=$(own_names)
    before=$(snapshot "$PEN")
    mounts=$(wc -l </proc/self/mountinfo)
    local call
    for call in pivot_root mount_setattr landlock_restrict_self:EPERM capset:EPERM setgroups:EPERM close_range:EPERM sethostname:EPERM; do
        on deny_syscall "$call" --
        inside -- touch ran
        [[ $status == 125 || $status == 0 ]] || fail "$call: neither refused nor run"
        rm -f ran
        same "$(own_names)" "$own" "wattle's own folders after $call"
    done
    same "$(wc -l </proc/self/mountinfo)" "$mounts" mounts
    [[ -n $before ]]
}

@test "a call that fails in the middle never gives a weaker fence" {
    local call
    for call in landlock_restrict_self landlock_add_rule capset prctl/0x16 close_range umount2 sethostname mount setns prlimit64 \
        setrlimit; do
        on deny_syscall "$call:EPERM" --
        inside --ro "$OUT" --deny "$OUT/secret" -- bash -c 'cat "$1/secret"; { echo PWNED >"$1/canary"; } 2>/dev/null
            grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status; ./attempt user-namespace' job "$OUT"
        said_not topsecret
        holds "$OUT/canary" clean
        [[ $status == 125 ]] || {
            said $'NoNewPrivs:\t1'
            said $'Seccomp:\t2'
            said $'CapEff:\t0000000000000000'
            said_not ': got'
        }
    done
}

@test "doctor says no where nothing can confine" {
    on deny_syscall clone3:ENOSYS clone/0x10000000:EPERM --
    run "${KERNEL[@]}" "$WATTLE" doctor
    ended 3
    on deny_syscall openat2:ENOSYS --
    run "${KERNEL[@]}" "$WATTLE" doctor -q
    ended 3
    on landlock_abi 0 --
    run "${KERNEL[@]}" "$WATTLE" doctor
    ended 1
    said andlock
}
