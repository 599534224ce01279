#!/usr/bin/env bats
# From start to end: deadlines, signals, what is left, exit statuses, descriptors.

load lib

# A job that hears nothing, with a daemon that hears nothing either.
DEAF='setsid bash -c "trap \"\" TERM HUP INT; touch daemon; sleep 300 & wait" </dev/null >/dev/null 2>&1 &
    trap "" TERM HUP INT; until [ -e daemon ]; do sleep 0.01; done; touch started; while :; do sleep 0.1; done'

# Starts a run outside and waits until its job says so; $RUN and the pids below it in $BELOW.
start_deaf() {
    outside "$WATTLE" run --pen "$PEN" "$@" -- bash -c "$DEAF"
    RUN=$PID
    until_true test -e started
    BELOW=$(descendants "$RUN")
    [[ -n $BELOW ]] || fail "the run has no processes"
}

all_gone() {
    local pid
    for pid in $BELOW; do
        until_true gone "$pid"
    done
}

# ---- the end ---------------------------------------------------------------------------------------

@test "a deadline: TERM first, then KILL, and nothing is left" {
    inside --timeout 300ms -- bash -c 'trap "echo cleaned >cleaned; exit 3" TERM; while :; do sleep 0.05; done'
    ended 124
    holds cleaned cleaned
    start_deaf --timeout 1s --kill-after 200ms
    wait "$RUN" || status=$?
    same "$status" 124 "exit status"
    all_gone
    inside --timeout 10 -- true
    ended 0
}

@test "daemons do not outlive the command" {
    outside bash -c '"$1" run --pen "$2" -- bash -c "
        setsid sh -c \"trap : TERM HUP; touch up; exec sleep 300\" </dev/null >/dev/null 2>&1 &
        (setsid sleep 301 &) ; until [ -e up ]; do sleep 0.01; done"; echo "$?" >ended; exec sleep 300' caller "$WATTLE" "$PEN"
    until_true test -s ended
    holds ended 0
    same "$(descendants "$PID")" "" "what is left"
}

@test "a daemon that keeps stdout open does not keep the run" {
    run timeout 20 "$WATTLE" run --pen "$PEN" -- bash -c 'setsid sleep 300 & echo done'
    ended 0
    printed done
}

@test "TERM, HUP and INT to wattle end the whole job" {
    local name
    for name in TERM HUP; do
        rm -f started daemon
        start_deaf --kill-after 200ms
        kill -"$name" "$RUN"
        local status=0
        wait "$RUN" || status=$?
        ((status > 128)) || fail "SIG$name: status $status"
        all_gone
    done
    outside "$WATTLE" run --pen "$PEN" -- bash -c 'trap "echo cleaned >cleaned; exit 3" TERM; touch started2; while :; do sleep 0.05; done'
    until_true test -e started2
    kill -TERM "$PID"
    wait "$PID" || true
    holds cleaned cleaned
    # INT is ignored in the background of a script: start it with its default.
    outside /usr/bin/python3 -c 'import os, signal, sys; signal.signal(2, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
        "$WATTLE" run --pen "$PEN" -- bash -c 'touch started3; exec sleep 300'
    until_true test -e started3
    BELOW=$(descendants "$PID")
    kill -INT "$PID"
    status=0
    wait "$PID" || status=$?
    same "$status" 130 "status after INT"
    all_gone
}

@test "a second TERM kills at once" {
    start_deaf --kill-after 1h
    kill -TERM "$RUN"
    kill -TERM "$RUN" # signals merge while one is pending: until it is over
    until_true bash -c 'kill -TERM "$1" 2>/dev/null; ! kill -0 "$1" 2>/dev/null || [[ $(awk "/^State:/ { print \$2 }" /proc/$1/status) == Z ]]' x "$RUN"
    all_gone
}

@test "processes outside live through starts, deadlines and stops" {
    outside sleep 300
    local canary=$PID round
    for round in {1..8}; do
        inside --timeout 30ms --kill-after 10ms -- bash -c 'trap "" TERM; sleep 60 & wait'
        outside "$WATTLE" run --pen "$PEN" -- sleep 60
        kill -KILL "$PID"
    done
    alive "$canary" || fail "killed in round $round"
}

@test "kill -9 of wattle ends the whole job" {
    start_deaf
    kill -KILL "$RUN"
    all_gone
}

@test "wattle's death at the hands of its parent's terminal ends the job" {
    run ptydrive.py 'expect=up' kill=HUP wait -- "$WATTLE" run --pen "$PEN" -- bash -c 'echo up; exec sleep 300'
    [[ $status == 0 ]] || fail "did not end"
}

# ---- exit statuses ------------------------------------------------------------------------------------

@test "exit statuses: the command's own, 126, 127, 128+N, 125" {
    local code
    for code in 0 1 2 7 77 124 125 255; do
        inside -- bash -c "exit $code"
        ended "$code"
    done
    run -127 --separate-stderr "$WATTLE" run --pen "$PEN" -- no-such-command-here
    said no-such-command-here
    run -127 "$WATTLE" run --pen "$PEN" -- /no/such/file
    echo data >data
    inside -- ./data
    ended 126
    inside -- "$PEN"
    ended 126
    printf '#!/no/such/interpreter\n' >script
    chmod +x script
    run -127 "$WATTLE" run --pen "$PEN" -- ./script
    for code in TERM KILL SEGV INT HUP USR1; do
        inside -- bash -c "kill -$code \$\$; sleep 5"
        ended $((128 + $(kill -l "$code")))
    done
    inside --no-such-option -- true
    ended 125
    inside
    ended 125
}

@test "a quiet run says nothing of its own" {
    works -- true
    same "$output$stderr" "" "what was said"
    inside -- false
    same "$output$stderr" "" "what was said of false"
}

@test "--status-fd: one line at the start, one at the end" {
    run bash -c '"$1" run --pen "$2" --status-fd 3 -- bash -c "exit 7" 3>status' caller "$WATTLE" "$PEN"
    ended 7
    same "$(json 'v["event"]' <status | tr '\n' ' ')" "start exit " events
    same "$(tail -1 status | json '(v["code"], v["exited"], v["signal"], v["timed_out"], v["stopped"])')" "(7, 7, None, False, False)" "exit event"
    same "$(head -1 status | json '(v["mechanism"], v["landlock_abi"] >= 0, v["pid"] > 1, type(v["weak"]))')" "('native', True, True, <class 'list'>)" "start event"
    run bash -c '"$1" run --pen "$2" --timeout 100ms --status-fd 5 -- sleep 60 5>status' caller "$WATTLE" "$PEN"
    ended 124
    same "$(tail -1 status | json '(v["code"], v["timed_out"])')" "(124, True)" "exit event"
    run bash -c '"$1" run --pen "$2/none" --status-fd 3 -- true 3>status' caller "$WATTLE" "$PEN"
    ended 125
    same "$(json '(v["event"], v["code"], len(v["error"]["what"]) > 5)' <status)" "('exit', 125, True)" "the only event of a refusal"
    run bash -c '"$1" run --pen "$2" --status-fd 3 -- bash -c "ls /proc/self/fd; { echo PWNED >&3; } 2>/dev/null; true" 3>status' caller "$WATTLE" "$PEN"
    said_not PWNED
    ! grep -q PWNED status || fail "the job wrote to it"
}

@test "--status-fd with a reader that went away harms nothing" {
    run bash -c '"$1" run --pen "$2" --status-fd 3 -- bash -c "exit 7" 3> >(true); exit $?' caller "$WATTLE" "$PEN"
    ended 7
}

# ---- stdin, stdout, stderr -------------------------------------------------------------------------------

@test "a log file the caller appends to can be neither read nor truncated by the job" {
    echo clean >"$OUT/log"
    run bash -c '"$1" run --pen "$2" -- bash -c "
        timeout 1 cat /proc/self/fd/1 >stolen 2>/dev/null; { : >/dev/stdout; : >/proc/self/fd/1; } 2>/dev/null; echo said >&1
        /usr/bin/python3 -c \"import os; os.ftruncate(1, 0)\" 2>/dev/null; true" >>"$3"' caller "$WATTLE" "$PEN" "$OUT/log"
    same "$(head -1 "$OUT/log")" clean "the first line of the log"
    grep -q said "$OUT/log" || fail "the job's words did not arrive: $(cat "$OUT/log")"
    [[ ! -s stolen ]] || fail "read the log: $(cat stolen)"
}

@test "a file on stdin can be read and not changed" {
    echo content >"$OUT/in"
    run bash -c '"$1" run --pen "$2" -- bash -c "cat; echo PWNED >&0; echo PWNED >/proc/self/fd/0; : >/dev/stdin; true" <>"$3" 2>/dev/null' \
        caller "$WATTLE" "$PEN" "$OUT/in"
    ended 0
    printed content
    holds "$OUT/in" content
}

@test "a socket pair on stdin is relayed, not handed in" {
    run odd_start --socketpair 0 -- "$WATTLE" run --pen "$PEN" -- bash -c 'cat; readlink /proc/self/fd/0'
    ended 0
    said hello
    said_not socket
}

@test "a folder or a device as a descriptor is refused or shut off" {
    run bash -c '"$1" run --pen "$2" -- bash -c "ls /proc/self/fd/0/; cat /proc/self/fd/0/secret; true" <"$3"' caller "$WATTLE" "$PEN" "$OUT"
    said_not topsecret
    said_not canary
    [[ $status == 125 ]] || same "$status" 0 "status"
    run bash -c '"$1" run --pen "$2" -- cat </dev/null' caller "$WATTLE" "$PEN"
    ended 0
    run bash -c '"$1" run --pen "$2" -- head -c 3 </dev/zero | wc -c' caller "$WATTLE" "$PEN"
    printed 3
    run bash -c '"$1" run --pen "$2" -- bash -c "echo x; echo y >&2" >/dev/null 2>&1' caller "$WATTLE" "$PEN"
    ended 0
    run bash -c '"$1" run --pen "$2" -- echo x >/dev/full' caller "$WATTLE" "$PEN"
    alive $$
}

@test "stdout and stderr stay apart, in order, and to the last byte" {
    works -- bash -c 'for i in $(seq 500); do echo "out $i"; echo "err $i" >&2; done'
    same "$output" "$(seq -f 'out %g' 500)" stdout
    same "$stderr" "$(seq -f 'err %g' 500)" stderr
    run bash -c '"$1" run --pen "$2" -- bash -c "echo 1; echo 2 >&2; echo 3" 2>&1' caller "$WATTLE" "$PEN"
    same "$(sort <<<"$output")" "$(printf '1\n2\n3')" "together"
}

@test "a job that does not read its stdin ends though the writer is still there" {
    mkfifo in
    outside bash -c 'exec 7>in; exec sleep 300'
    run timeout 20 bash -c '"$1" run --pen "$2" -- bash -c "echo done; exit 4" <in' caller "$WATTLE" "$PEN"
    ended 4
    printed done
}

@test "a reader that goes away ends the job as it would outside" {
    run timeout 30 bash -c 'set -o pipefail; "$1" run --pen "$2" -- bash -c "yes; echo \"\$?\" >ended" | head -1; echo "${PIPESTATUS[*]}"' \
        caller "$WATTLE" "$PEN"
    said y
    [[ $status == 0 ]] || fail "hung"
    run timeout 30 bash -c '"$1" run --pen "$2" -- bash -c "yes >&2" 2> >(head -1 >first); true' caller "$WATTLE" "$PEN"
    ended 0
}

@test "a slow reader gets everything" {
    run bash -c '"$1" run --pen "$2" -- bash -c "seq 200000; seq 200000 >&2" 2> >(sleep 0.5; sha256sum >err.sum) | (sleep 0.5; sha256sum)
        wait; until [ -s err.sum ]; do sleep 0.05; done; cat err.sum' caller "$WATTLE" "$PEN"
    local sum
    sum=$(seq 200000 | sha256sum)
    printed "$(printf '%s\n%s' "$sum" "$sum")"
}

@test "stdin that ends ends inside; data and end arrive in order" {
    run bash -c '(printf one; sleep 0.2; printf two) | "$1" run --pen "$2" -- bash -c "cat; echo /end"' caller "$WATTLE" "$PEN"
    printed onetwo/end
}

# ---- what is left ------------------------------------------------------------------------------------------

@test "a run leaves nothing: in the pen, in the home, in the mount table, of its scratch" {
    git init -q . 2>/dev/null || true
    works -- true
    local before mounts
    before=$(snapshot "$HOME/work" "$OUT")
    local own
    own=$(own_names)
    mounts=$(wc -l </proc/self/mountinfo)
    works -- bash -c 'echo x >"$HOME/x"; mkdir -p "$TMPDIR/a/b/c"; echo y >/tmp/y'
    same "$(snapshot "$HOME/work" "$OUT")" "$before" "pen and outside"
    same "$(own_names)" "$own" "wattle's own folders"
    same "$(wc -l </proc/self/mountinfo)" "$mounts" "mounts"
    same "$(ls -A "$HOME" | tr '\n' ' ')" ".cache .local outside work " "the home"
    same "$(stat -c %a "$HOME/.local/state/wattle" "$HOME/.cache/wattle" | sort -u)" 700 "modes of wattle's folders"
}

@test "nothing of ours is in the pen while a job runs" {
    git init -q . 2>/dev/null || true
    local before
    before=$(names "$PEN")
    mkfifo "$OUT/go"
    outside "$WATTLE" run --pen "$PEN" --ro "$OUT" -- bash -c 'echo up >/proc/self/fd/1; read -r _ <"$1/go"' job "$OUT"
    until_true bash -c '[[ $(cat /proc/$1/task/*/children) ]]' x "$PID"
    local i
    for ((i = 0; i < 20; i++)); do
        same "$(names "$PEN")" "$before" "the pen while a job runs"
    done
    echo >"$OUT/go"
}

# Kills a run of which the scratch was filled by SCRIPT.
crash_with() {
    rm -f "$PEN/started"
    outside "$WATTLE" run --pen "$PEN" -- bash -c "($1)"'; touch started; exec sleep 300'
    until_true test -e "$PEN/started"
    BELOW=$(descendants "$PID")
    kill -KILL "$PID"
    all_gone
    rm "$PEN/started"
}

@test "the next start sweeps what a crash left: deep, symlinked, without permission" {
    works -- true
    local own
    own=$(own_names)
    mkdir "$OUT/keep"
    echo kept >"$OUT/keep/file"
    crash_with 'cd "$HOME"; for i in $(seq 1 300); do mkdir d && cd d; done; echo x >leaf'
    crash_with 'ln -s "'"$OUT"'/keep" "$HOME/link"; ln -s / "$TMPDIR/root"; ln -s . "$HOME/self"'
    crash_with 'mkdir -p "$HOME/a/b/c"; echo x >"$HOME/a/b/c/f"; chmod 0 "$HOME/a/b/c" "$HOME/a/b" "$HOME/a"; chmod 0 "$TMPDIR"'
    crash_with 'cd "$HOME"; /usr/bin/python3 -c "
import os
for i in range(3000): open(\"f%d\" % i, \"w\").close()
os.mkfifo(\"fifo\"); open(b\"\\xff\\n odd\", \"w\").close()
import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"'
    [[ $(own_names) != "$own" ]] || fail "the crashes left nothing: the test says nothing"
    works -- true
    same "$(own_names)" "$own" "wattle's own folders after the next start"
    holds "$OUT/keep/file" kept
}

@test "a sweep leaves running jobs alone" {
    mkfifo go
    outside "$WATTLE" run --pen "$PEN" -- bash -c 'echo mine >"$HOME/mine"; touch started; read -r _ <go; cat "$HOME/mine" >result'
    local first=$PID
    until_true test -e started
    works -- true
    works -- true
    echo >go
    wait "$first"
    holds result mine
}

@test "wattle's folders may be removed while a job runs" {
    mkfifo go
    outside "$WATTLE" run --pen "$PEN" -- bash -c 'touch started; read -r _ <go; exit 5'
    until_true test -e started
    rm -rf "$HOME/.cache/wattle" "$HOME/.local/state/wattle"
    echo >go
    local status=0
    wait "$PID" || status=$?
    same "$status" 5 "exit status"
    works -- true
}

@test "random kill -9 leaves no process, no mount and nothing in the pen" {
    works -- true
    local own mounts before
    own=$(own_names)
    mounts=$(wc -l </proc/self/mountinfo)
    before=$(snapshot "$PEN")
    run killstorm 25 40000 -- "$WATTLE" run --pen "$PEN" -- bash -c \
        '(setsid sleep 30 &) ; trap "" TERM HUP; sleep 30 & sleep 30'
    ended 0
    run killstorm 25 30000 -- "$WATTLE" run --pen "$PEN" -- true
    ended 0
    run killstorm 10 60000 --term-first -- "$WATTLE" run --kill-after 10ms --pen "$PEN" -- bash -c 'trap "" TERM; sleep 30 & wait; wait'
    ended 0
    same "$(wc -l </proc/self/mountinfo)" "$mounts" "mounts"
    same "$(snapshot "$PEN")" "$before" "the pen"
    works -- true
    same "$(own_names)" "$own" "wattle's own folders after the next start"
}

@test "a file as stdin goes on where the job stopped reading" {
    seq 1 200000 >numbers
    local line lines=0
    while read -r line && ((lines < 3)); do
        works -- echo "$line"
        lines=$((lines + 1))
    done <numbers
    same "$lines" 3 "commands that a loop over a file ran"
    { "$WATTLE" run --pen "$PEN" -- bash -c 'read -r x; echo "inside $x"'; read -r line; } <numbers >seen
    same "$line" 2 "the line after the one the job read"
    holds seen 'inside 1'
}

# Sends its descriptors over a unix socket in the pen to a job that outlives it. Sockets that are there
# when a run starts are covered: the one who connects must be the first to start.
send_fds='import array, os, socket, sys, time
s = socket.socket(socket.AF_UNIX); open("waiting", "w")
while s.connect_ex("x.sock"): time.sleep(0.02)
fds = [os.open(p, os.O_RDONLY) for p in sys.argv[2:]] or [int(sys.argv[1])]
s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]); s.recv(1)'
keep_fds='import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind("x.sock"); s.listen(1)
c, _ = s.accept()
m, fds, _, _ = socket.recv_fds(c, 1, 4); c.send(b"x")
while not os.path.exists("stop"):
    for fd in fds:
        try: os.write(fd, b"STRANGER\n")
        except OSError: pass
        try: print(os.fstat(fd).st_ino, flush=True)
        except OSError: pass
    time.sleep(0.02)'

@test "a run ends with its command, whoever got hold of its stdout" {
    need_tools python3
    outside bash -c '"$1" run --pen "$2" -- /usr/bin/python3 -c "$3" 1 >out.txt' caller "$WATTLE" "$PEN" "$send_fds"
    local sender=$PID keeper size
    until_true test -e waiting
    outside bash -c '"$1" run --pen "$2" -- /usr/bin/python3 -c "$3" >keeper.out' caller "$WATTLE" "$PEN" "$keep_fds"
    keeper=$PID
    wait "$sender"
    size=$(stat -c %s out.txt)
    until_true bash -c '[[ $(wc -l <keeper.out) -gt 20 ]]' # it is still writing
    same "$(stat -c %s out.txt)" "$size" "size of the file after the run"
    touch stop
    wait "$keeper" || true
}

@test "what a job has seen of its temporary folder is never given to another" {
    need_tools python3
    outside "$WATTLE" run --pen "$PEN" -- /usr/bin/python3 -c "$send_fds" 0 /wattle/tmp /wattle/home
    local sender=$PID keeper seen
    until_true test -e waiting
    outside bash -c '"$1" run --pen "$2" -- /usr/bin/python3 -c "$3" >keeper.out' caller "$WATTLE" "$PEN" "$keep_fds"
    keeper=$PID
    wait "$sender"
    until_true bash -c '[[ $(wc -l <keeper.out) -gt 4 ]]'
    seen=$(sort -u keeper.out | head -n 1)
    for _ in {1..10}; do
        works -- stat -c %i /wattle/tmp
        ! grep -qx "$output" keeper.out || fail "the folder of inode $output was used again (seen: $seen)"
    done
    touch stop
    wait "$keeper" || true
}

@test "flags that a job sets on a pipe of the caller end with it" {
    # shellcheck disable=SC2016 # for the other shells
    run bash -c '{ sleep 0.5; echo late; } | { "$1" run --pen "$2" -- /usr/bin/python3 -c "
import fcntl, os
fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK)"; cat; }' caller "$WATTLE" "$PEN"
    ended 0
    printed late
}

@test "a file as stdin never goes back further than this run has read" {
    seq 1 9 >numbers
    { read -r _; read -r _; "$WATTLE" run --pen "$PEN" -- bash -c 'for i in {1..50}; do echo xxxxxxx; done >/proc/self/fd/0'
        read -r line; } <numbers
    same "$line" 3 "the line after a job that put bytes into its own stdin"
}
