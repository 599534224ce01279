#!/usr/bin/env bats
# A terminal of the job's own: size, keys, job control, and the caller's terminal as it was before.

load lib

setup() {
    make_world
    need_tools /usr/bin/python3
    T=("$WATTLE" run --pen "$PEN" --)
}

@test "a job has a terminal when its caller has one, of the same size, and another than the caller's" {
    run ptydrive.py --size=33x101 wait cooked -- bash -c 'echo "outer $(tty)"; "$@"' caller "${T[@]}" \
        bash -c '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminals; stty size; echo "inner $(tty) $TERM"; : </dev/tty && echo controlling'
    ended 0
    said terminals
    said '33 101'
    said controlling
    local outer inner
    outer=$(grep -o 'outer .*' <<<"$output")
    inner=$(grep -o 'inner .*' <<<"$output")
    [[ $inner == 'inner /dev/pts/0'* ]] || fail "inner terminal: $inner, $outer"
}

@test "a change of size reaches the job" {
    run ptydrive.py --size=24x80 'expect=24 80' size=50x132 'expect=50 132' 'send=q' wait -- "${T[@]}" \
        bash -c 'trap "stty size" WINCH; stty size; stty -icanon; until read -rsn1 -t 0.1 _; do :; done'
    ended 0
    said 'exit: 0'
}

@test "Ctrl-C ends the job; the terminal is as it was" {
    run ptydrive.py 'expect=up' 'send=\x03' wait cooked -- "${T[@]}" bash -c 'echo up; exec sleep 60'
    ended 0
    said 'exit: 130'
    run ptydrive.py 'expect=up' 'send=\x03' 'expect=caught' wait cooked -- "${T[@]}" \
        bash -c 'trap "echo caught; exit 9" INT; echo up; while :; do sleep 0.05; done'
    said 'exit: 9'
    # Not bash, which ignores SIGQUIT until it has executed the next program.
    run ptydrive.py 'expect=up' 'send=\x1c' wait cooked -- "${T[@]}" sh -c 'echo up; exec sleep 60'
    said 'exit: 131'
}

@test "an interactive shell with job control" {
    # Every key waits for what it is meant for: the prompt, or the program that reads it.
    run ptydrive.py 'expect=> ' 'send=sh -c "echo up-$((2+3)); exec sleep 100"\r' \
        'expect=up-5' 'send=\x1a' 'expect=Stopped' 'expect=> ' 'send=jobs\r' 'expect=Stopped' 'expect=> ' \
        'send=bg\r' 'expect=&' 'expect=> ' 'send=kill %1; wait; echo over-$((6*7))\r' 'expect=over-42' 'expect=> ' \
        'send=sh -c "echo up-$((3+4)); exec cat"\r' 'expect=up-7' 'send=typed\r' 'expect=typed' 'expect=typed' \
        'send=\x04' 'expect=> ' 'send=exit 3\r' wait cooked -- "$WATTLE" run -e 'PS1=> ' --pen "$PEN" -- bash --norc -i
    ended 0
    said 'exit: 3'
    said_not 'no job control'
}

@test "Ctrl-Z in a job without a shell does not wedge the terminal" {
    run ptydrive.py 'expect=up' 'send=\x1a' 'send=\x03' wait cooked -- "${T[@]}" bash -c 'echo up; exec sleep 60'
    ended 0
}

@test "the end of input, typed, arrives" {
    run ptydrive.py 'expect=up' 'send=line\r' 'send=\x04' wait cooked -- "${T[@]}" bash -c 'echo up; cat | tr a-z A-Z'
    said LINE
    said 'exit: 0'
}

@test "kill -9 of wattle: the terminal is as it was, the job is gone" {
    run ptydrive.py 'expect=up' 'expect=restored' 'expect=gone' wait cooked -- /usr/bin/python3 -c '
import os, subprocess, sys, termios, time
first = termios.tcgetattr(0)
run = subprocess.Popen(sys.argv[1:])
while not os.path.exists("up"): time.sleep(0.01)
raw = termios.tcgetattr(0) != first
children = open("/proc/%d/task/%d/children" % (run.pid, run.pid)).read().split()
print("up", raw, flush=True)
run.kill(); run.wait()
for i in range(500):
    if termios.tcgetattr(0) == first: print("restored", flush=True); break
    time.sleep(0.01)
for i in range(500):
    if not any(os.path.exists("/proc/%s/cmdline" % c) and open("/proc/%s/cmdline" % c).read() for c in children): print("gone", flush=True); break
    time.sleep(0.01)' "${T[@]}" bash -c 'touch up; exec sleep 300'
    ended 0
}

@test "-T gives no terminal, -t insists on one" {
    run ptydrive.py wait cooked -- "$WATTLE" run -T --pen "$PEN" -- bash -c '[ -t 0 ] || echo none-0; { : </dev/tty; } 2>/dev/null || echo none-tty'
    said none-0
    said none-tty
    run "$WATTLE" run -t --pen "$PEN" -- true </dev/null
    ended 125
    said 'leave out -t'
}

@test "with one of three descriptors elsewhere no terminal is made up" {
    run ptydrive.py wait cooked -- bash -c '"$@" </dev/null' caller "${T[@]}" bash -c '[ -t 0 ] || echo no-0; [ -t 1 ] && { : </dev/tty; } 2>/dev/null && echo controlling; true'
    said no-0
    said_not controlling
    run ptydrive.py wait cooked -- bash -c '"$@" | cat' caller "${T[@]}" bash -c '[ -t 1 ] || echo no-1'
    said no-1
}

@test "1 MB of output through the terminal is whole" {
    run ptydrive.py wait cooked -- "${T[@]}" bash -c 'seq 150000; echo the-end'
    said the-end
    same "$(grep -cE '^[0-9]+$' <<<"$output")" 150000 lines
}

@test "a second job on the same terminal, and one in the background, harm nothing" {
    run ptydrive.py wait cooked -- bash -c '"$@" echo one; "$@" echo two; "$@" echo three </dev/null & wait' caller "${T[@]}"
    ended 0
    said one
    said two
    said three
}

@test "in the background of a shell it takes no terminal, and runs to its end" {
    run ptydrive.py 'expect=> ' "send=$WATTLE run --pen '$PEN' -- sh -c 'sleep 0.2; echo done >bgout' & wait; cat bgout; echo over-\$((6*7))\\r" \
        'expect=done' 'expect=over-42' 'send=exit\r' wait -- env PS1='> ' bash --norc --noprofile -i
    ended 0
}
