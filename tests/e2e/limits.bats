#!/usr/bin/env bats
# Bounds: in force by default, adjustable, and said when they are not.

load lib

# How many processes a job can have at once, counted inside; stops at 600.
forks() {
    /usr/bin/python3 -c '
import os, signal, sys
children = []
try:
    for i in range(600):
        pid = os.fork()
        if pid == 0:
            signal.pause(); os._exit(0)
        children.append(pid)
except OSError as error:
    print(error.strerror)
print(len(children))
for pid in children: os.kill(pid, signal.SIGKILL)
for pid in children: os.waitpid(pid, 0)'
}

# The machine bounds processes by the pid namespace's own pid_max (also for root), or for an ordinary
# user by RLIMIT_NPROC.
weak() {
    "$WATTLE" run --pen "$PEN" --status-fd 3 -- true 3>&1 | json '" ".join(v.get("weak", []))'
}

# Root's processes are bounded by pid_max alone, which no kernel lets go below 301.
most_processes() {
    if [[ $EUID == 0 ]]; then echo 400; else echo 100; fi
}

@test "a fork bomb ends at --pids and harms nobody" {
    [[ $(weak) != *processes-none* ]] || cannot "nothing bounds root's processes here"
    outside sleep 300
    local most count
    most=$(most_processes)
    inside --pids "$most" -- bash -c "$(declare -f forks); forks"
    said 'Resource temporarily unavailable'
    count=${output##*$'\n'}
    ((count > most / 2 && count <= most)) || fail "$count processes with --pids $most"
    alive "$PID"
    works -- bash -c "$(declare -f forks); forks"
    said 600
    works --pids "$most" -- bash -c 'sleep 60 & kill $!; wait'
}

@test "the job cannot lift its bound on processes" {
    [[ $(weak) != *processes-none* ]] || cannot "nothing bounds root's processes here"
    local most count
    most=$(most_processes)
    inside --pids "$most" -- bash -c 'echo 4000000 >/proc/sys/kernel/pid_max; ulimit -u unlimited'" 2>/dev/null; $(declare -f forks); forks"
    count=${output##*$'\n'}
    ((count <= most)) || fail "$count processes with --pids $most"
}

@test "open files are bounded, by default and by --open-files" {
    works -- bash -c 'ulimit -Hn; ulimit -n 100000 2>/dev/null; ulimit -Hn'
    local most=4096
    [[ $(ulimit -Hn) == unlimited ]] || (($(ulimit -Hn) >= most)) || most=$(ulimit -Hn)
    printed "$(printf '%s\n%s' "$most" "$most")"
    inside --open-files 64 -- /usr/bin/python3 -c '
import os
files = []
try:
    while len(files) < 5000: files.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error: print(error.strerror, len(files) < 64)'
    printed 'Too many open files True'
}

@test "/tmp is memory of a bounded size, and so is /dev/shm" {
    works --tmp-size 8M -- bash -c 'dd if=/dev/zero of=/tmp/fill bs=1M count=20 2>&1 | grep -o "No space left.*"; stat -c %s /tmp/fill'
    printed "$(printf 'No space left on device\n%d' $((8 << 20)))"
    works -- bash -c 'for d in /tmp /dev/shm; do stat -f -c "%T" "$d"; echo $(($(stat -f -c "%b * %S" "$d") >> 20)); done'
    printed "$(printf 'tmpfs\n256\ntmpfs\n256')"
    works -- bash -c 'for i in $(seq 1 100); do mkdir -p /tmp/many/$i; done; df -i /tmp >/dev/null'
}

@test "one file is of bounded size, by default and by --file-size" {
    inside -- bash -c 'truncate -s 4T big; stat -c %s big; truncate -s 1G fine && stat -c %s fine; rm -f big fine'
    said "$((1 << 30))"
    said_not "$((4 << 40))"
    inside --file-size 1M -- bash -c '(head -c 3000000 /dev/zero >big) 2>/dev/null; stat -c %s big'
    printed "$((1 << 20))"
}

@test "memory without a cgroup: --memory is refused, and nothing is run" {
    local own
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    if grep -qs memory "/sys/fs/cgroup$own/cgroup.controllers" "/sys/fs/cgroup/unified$own/cgroup.controllers" &&
        [[ -w /sys/fs/cgroup$own || -w /sys/fs/cgroup/unified$own ]]; then
        skip "a memory controller is delegated here"
    fi
    inside --memory 100M -- touch ran
    ended 125
    said 'memory'
    said 'hint'
    absent ran
    [[ $(weak) == *memory* ]] || fail "the start event does not say that memory is not bounded"
    inside -v -- true
    said 'memory is not bounded'
    works -- true
    same "$stderr" "" "what a plain run says"
}

# As root, in a mount namespace of its own, with a cgroup2 tree at its usual place.
in_cgroup2() {
    unshare -m bash -ec 'mount --make-rprivate /; mount -t tmpfs none /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
        group=/sys/fs/cgroup/wattle-e2e-$$; mkdir "$group"; echo $$ >"$group/cgroup.procs"
        trap '\''echo $$ >/sys/fs/cgroup/cgroup.procs; find "$group" -depth -type d -exec rmdir {} +'\'' EXIT
        shift; "$@"' caller "$@"
}

@test "in a cgroup2 tree a job runs, and no group of its own is left" {
    only_root
    need_tools unshare
    control in_cgroup2 _ true
    run in_cgroup2 _ bash -c '"$1" run --pen "$2" -- true; echo "$?"; find /sys/fs/cgroup -name "wattle-e2e*" -mindepth 1 -type d | wc -l
        find "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)" -mindepth 1 -type d -not -name wattle-supervisor | wc -l' \
        caller "$WATTLE" "$PEN"
    ended 0
    printed "$(printf '0\n1\n0')"
}

@test "in a cgroup2 tree with a memory controller memory is bounded" {
    only_root
    need_tools unshare
    control in_cgroup2 _ true
    run in_cgroup2 _ grep -w memory /sys/fs/cgroup/cgroup.controllers
    [[ $status == 0 ]] || skip "the memory controller is not in the cgroup2 tree of this machine"
    run in_cgroup2 _ "$WATTLE" run --memory 64M --pen "$PEN" -- /usr/bin/python3 -c 'x = bytearray(200 << 20); print("got it")'
    said_not 'got it'
    run in_cgroup2 _ "$WATTLE" run --memory 400M --pen "$PEN" -- /usr/bin/python3 -c 'x = bytearray(200 << 20); print("got it")'
    said 'got it'
}

@test "a job is the first to go when memory runs out" {
    works -- cat /proc/self/oom_score_adj
    ((output > $(cat /proc/self/oom_score_adj) || output == 1000)) || fail "oom_score_adj is $output"
}

@test "a bound that would not bind root is refused" {
    only_root
    inside --pids 100 -- touch ran
    ended 125
    said 301
    absent ran
    works --pids 301 -- touch ran
    present ran
}

@test "nonsense for a bound is refused" {
    local bad
    for bad in "--pids 0" "--pids -1" "--pids many" "--tmp-size 0x10" "--tmp-size 99999999999999999999G" "--timeout -5" \
        "--timeout 5y" "--file-size 1.5M" "--open-files ''" "--memory 1Q"; do
        # shellcheck disable=SC2086 # words on purpose
        inside $bad -- touch ran
        ended 125
        said "${bad%% *}"
        absent ran
    done
}
