#!/usr/bin/env bats
# The doctor: what it says is what a run does. Where it says yes a command runs confined; where it
# says no it says which layer is missing and what mends it, and a run is refused. Missing layers are
# simulated, as in kernels.bats.

load lib

setup() {
    make_world
    export TMPDIR=$WORLD/tmp # where the doctor tries things: everything below must be gone again
    mkdir "$TMPDIR"
}

on() {
    KERNEL=("$@")
}

doctor() {
    run --separate-stderr "${KERNEL[@]}" "$WATTLE" doctor "$@"
}

# Of the JSON report of this kernel: v is the object, c the checks by name.
report() { # EXPRESSION
    "${KERNEL[@]}" "$WATTLE" doctor --json | /usr/bin/python3 -c 'import json, sys
v = json.load(sys.stdin)
c = {check["name"]: check for check in v["checks"]}
print(eval(sys.argv[1]))' "$1"
}

# Commands can be confined here, or a test of that says nothing.
need_fence() {
    run "$WATTLE" doctor -q
    [[ $status -le 1 ]] || cannot "no fence here: $output"
}

# It cannot confine, for the want of this check, whose mend has this word; and a run is refused.
says_no() { # CHECK WORD
    doctor
    ended 3
    [[ ${lines[0]} == 'cannot confine: '* ]] || fail "the first line does not say so"
    said "missing  $1 "
    doctor -q
    ended 3
    said "missing  $1 "
    same "$(report 'v["confines"], v["mechanism"], c["'"$1"'"]["status"], bool(v["why"])')" \
        "(False, None, 'missing', True)" "report of $1"
    [[ $(report 'c["'"$1"'"]["mend"]') == *"$2"* ]] || fail "the mend of $1 does not name '$2'"
    run --separate-stderr "${KERNEL[@]}" "$WATTLE" run --pen "$PEN" -- touch ran
    ended 125
    absent ran
}

# ---- here ------------------------------------------------------------------------------------

@test "all ways of asking give the same answer" {
    need_fence
    doctor
    local answer=$status
    [[ $answer == 0 || $answer == 1 ]] || fail "neither 0 nor 1"
    [[ ${lines[0]} == "confines: by 'native'"* ]] || fail "the first line does not say so"
    doctor -v
    ended "$answer"
    doctor --json
    ended "$answer"
    doctor -q
    ended "$answer"
    [[ $answer == 1 || -z $output ]] || fail "quiet, all is well, and it says something"
    same "$(report 'v["confines"]')" True confines
}

@test "the JSON report has its documented shape" {
    need_fence
    same "$(report '(v["schema"], v["v"], v["mechanism"], v["why"], type(v["landlock_abi"]).__name__)')" \
        "('wattle.doctor', 1, 'native', None, 'int')" head
    same "$(report 'sorted({key for check in v["checks"] for key in check})')" \
        "['detail', 'group', 'kind', 'mend', 'name', 'shows', 'status']" "keys of a check"
    same "$(report '{check["kind"] for check in v["checks"]} == {"must", "better"}')" True kinds
    same "$(report 'all(check["status"] in ("ok", "remark") for check in v["checks"] if check["kind"] == "must")')" \
        True "what must be there"
    same "$(report 'all(isinstance(name, str) for name in v["weak"])')" True weak
    same "$(report '[name for name, check in c.items() if check["status"] == "weaker" and not check["mend"]]')" \
        "[]" "weaker without a mend"
}

@test "every attempt to get out was made and stopped" {
    need_fence
    local name
    for name in read-outside write-outside read-own descriptor environment set-id tcp abstract-socket unix-socket signal \
        see-processes nesting daemon; do
        same "$(report 'c["'"$name"'"]["status"], c["'"$name"'"]["detail"].startswith("works outside; inside: ")')" \
            "('ok', True)" "$name"
    done
    same "$(report 'c["list-home"]["status"] in ("ok", "remark")')" True list-home
}

@test "-v shows every check, and without it only counts are shown of what is fine" {
    need_fence
    local name
    doctor -v
    for name in $(report '" ".join(c)'); do
        said " $name "
    done
    doctor
    said_not ' read-outside '
    said 'checks, by attempts in real runs'
}

in_the_middle() {
    compgen -G "$TMPDIR/wattle-doctor.*/own/cache/scratch"
}

# Under a name of this test's own, so that no other doctor is mistaken for it.
own_doctor() {
    cp "$WATTLE" "$WORLD/wattle"
    WATTLE=$WORLD/wattle
}

no_doctor() {
    ! pgrep -f "^$WATTLE doctor"
}

@test "nothing is changed, and nothing stays" {
    need_fence
    own_doctor
    mkdir -p "$HOME/.local/state" "$HOME/.cache"
    local before mounts
    before=$(snapshot "$HOME")
    mounts=$(wc -l </proc/self/mountinfo)
    doctor
    doctor --json
    same "$(snapshot "$HOME")" "$before" "the home"
    same "$(names "$TMPDIR")" "$TMPDIR d" "the temporary folder"
    same "$(wc -l </proc/self/mountinfo)" "$mounts" mounts
    no_doctor || fail "a process stays"
}

@test "ended in the middle, nothing stays" {
    need_fence
    own_doctor
    local signal pid
    for signal in TERM HUP KILL; do
        (trap - "$signal" && exec "$WATTLE" doctor >/dev/null 2>&1 3>&-) &
        pid=$!
        until_true in_the_middle
        kill "-$signal" "$pid"
        wait "$pid" || true
        until_true no_doctor
        [[ $signal == KILL ]] || same "$(names "$TMPDIR")" "$TMPDIR d" "the temporary folder after $signal"
    done
}

@test "started from odd places it comes to the same answer" {
    need_fence
    doctor
    local answer=$status
    (umask 0777 && "$WATTLE" doctor -q) || same $? "$answer" "umask 0777"
    (trap '' CHLD && "$WATTLE" doctor -q) || same $? "$answer" "SIGCHLD ignored"
    (exec <&- >&- 2>&- && "$WATTLE" doctor) || same $? "$answer" "0, 1 and 2 closed"
    (ulimit -n 24 && "$WATTLE" doctor -q) || same $? "$answer" "24 descriptors"
    env -i HOME="$HOME" "$WATTLE" doctor -q || same $? "$answer" "no environment"
    (mkdir gone && cd gone && rmdir "$PEN/gone" && "$WATTLE" doctor -q) || same $? "$answer" "a current folder that is gone"
    mkdir "$WORLD/with"$'\n'"a line"
    TMPDIR="$WORLD/with"$'\n'"a line" "$WATTLE" doctor -q || same $? "$answer" "an odd TMPDIR"
    cp "$WATTLE" "$HOME/copy"
    "$HOME/copy" doctor -q || same $? "$answer" "a program in the home"
}

@test "an answer that cannot be written is not a yes" {
    need_fence
    run "$WATTLE" doctor --json >/dev/full
    run bash -c '"$1" doctor --json >/dev/full' - "$WATTLE"
    ended 3
    said 'cannot write'
}

@test "the doctor's own verb is in no help and no completion" {
    run -0 "$WATTLE" help doctor
    said_not attempt
    run -0 "$WATTLE" completion bash
    said_not attempt
    run "$WATTLE" doctor attempt
    ended 2
    run "$WATTLE" doctor attempt fly
    ended 2
}

# ---- weaker ----------------------------------------------------------------------------------

@test "no Landlock: weaker, and said how to get it" {
    need_fence
    local way
    for way in "landlock_abi 0 --" "landlock_abi 1 --" "deny_syscall landlock_create_ruleset:EOPNOTSUPP --"; do
        # shellcheck disable=SC2086 # words on purpose
        on $way
        doctor
        ended 1
        said 'without Landlock'
        said 'lsm='
        same "$(report 'v["confines"], v["landlock_abi"], "no-landlock" in v["weak"], c["landlock"]["status"]')" \
            "(True, 0, True, 'weaker')" "report with $way"
    done
}

@test "an old Landlock: weaker, and its ABI is said" {
    need_fence
    [[ $(report 'v["landlock_abi"] >= 6') == True ]] || cannot "no newer Landlock"
    local abi
    for abi in 2 3 5; do
        on landlock_abi "$abi" --
        doctor
        ended 1
        same "$(report 'v["confines"], v["landlock_abi"], "old-landlock" in v["weak"]')" "(True, $abi, True)" "report of ABI $abi"
    done
    on landlock_abi 6 --
    same "$(report '[name for name in v["weak"] if "landlock" in name]')" "[]" "what is weak with ABI 6"
}

@test "clone3 hidden by an outer sandbox: no weaker for that" {
    need_fence
    doctor
    local answer=$status
    on deny_syscall clone3:ENOSYS --
    doctor
    ended "$answer"
}

# ---- missing ---------------------------------------------------------------------------------

@test "no user namespaces: the one layer is named, and what mends it" {
    need_fence
    local code
    for code in EPERM EACCES EINVAL; do
        on deny_syscall clone3:ENOSYS "clone/0x10000000:$code" --
        says_no user-namespaces sandbox
    done
    on deny_syscall clone3:EPERM --
    says_no user-namespaces sandbox
    said_not 'missing  mounts'
}

@test "user namespaces without rights, as AppArmor leaves them" {
    need_fence
    on deny_syscall sethostname:EPERM --
    says_no user-namespaces sandbox
}

@test "no mount calls: named, and what mends it" {
    need_fence
    local call
    for call in fsopen fsmount fsconfig move_mount open_tree mount_setattr; do
        on deny_syscall "$call:ENOSYS" --
        says_no mounts Linux
    done
    on deny_syscall fsopen:EPERM --
    says_no mounts sandbox
    on deny_syscall pivot_root:EPERM --
    says_no pivot sandbox
}

@test "no openat2, no seccomp: named, and what mends it" {
    need_fence
    on deny_syscall openat2:ENOSYS --
    says_no openat2 Linux
    on deny_syscall seccomp:ENOSYS --
    says_no seccomp CONFIG_SECCOMP_FILTER
}

@test "every layer is there and a run fails all the same: no" {
    need_fence
    on deny_syscall capset:EPERM --
    says_no run outside
}

@test "inside of a fence: no, and nothing is claimed" {
    need_fence
    cp "$WATTLE" wattle
    run "$WATTLE" run --pen "$PEN" -- ./wattle doctor
    ended 3
    said 'cannot confine'
    said 'outer sandbox'
}

# ---- the owner's own -------------------------------------------------------------------------

@test "a configuration a run would refuse is a no, with the reason" {
    need_fence
    mkdir -p "$HOME/.config/wattle"
    echo '{"wattle": {"requires": []}}' >"$HOME/.config/wattle/config.json"
    says_no configuration 'policy check'
    echo '{"wattle": {"require": ["landlock"]}}' >"$HOME/.config/wattle/config.json"
    run "$WATTLE" doctor -q
    [[ $status -le 1 ]] || fail "what is there is required, and it says no"
    on landlock_abi 0 --
    doctor
    ended 3
    said 'missing  configuration'
    said landlock
}

@test "wattle's folders that cannot be made are a no, and named" {
    need_fence
    : >"$HOME/.cache"
    says_no own-folders XDG_CACHE_HOME
    said "$HOME/.cache/wattle"
}

@test "wattle's folders where a run would not take them are a no, with what is wrong" {
    need_fence
    export XDG_STATE_HOME=relative
    says_no own-folders "'/'"
}
