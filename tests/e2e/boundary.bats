#!/usr/bin/env bats
# What a job must not reach beside files: processes, sockets, terminals, the kernel. Each test: it
# works outside, it does not inside, and it was the policy that stopped it. Judged by effect.

load lib

# ---- processes -----------------------------------------------------------------------------------

@test "a process outside is not seen, read, changed, signalled or joined" {
    with_attempts
    TOPSECRET=topsecret-env outside odd_start --fd "7=$OUT/secret" -- sleep 300
    local victim=$PID way
    until_true grep -q sleep "/proc/$victim/comm"
    control "$WATTLE_HELPERS/attempt" attach "$victim"
    control "$WATTLE_HELPERS/attempt" getfd "$victim" 7
    said topsecret
    for way in "attach $victim" "getfd $victim 7" "memory $victim 0x400000" "signal $victim" "limits $victim" \
        "renice $victim" "enter $victim $OUT/secret"; do
        # shellcheck disable=SC2086 # words on purpose
        inside -- ./attempt $way
        ended 1
        said_not topsecret
    done
    inside -- bash -c 'cat "/proc/$1/environ" "/proc/$1/fd/7" /proc/[0-9]*/environ /proc/[0-9]*/fd/7 | tr "\0" "\n"
        kill -KILL "$1"; echo 999 >"/proc/$1/oom_score_adj"; true' job "$victim" 2>/dev/null
    said_not topsecret
    alive "$victim" || fail "the process outside died"
    grep -q 'Max open files *7 ' "/proc/$victim/limits" && fail "its limits changed"
    same "$(awk '{ print $19 }' "/proc/$victim/stat")" 0 "its niceness"
    sleep_inside=$(printf 'sleep 300 & p=$!; ./attempt attach $p && ./attempt signal $p && kill $p')
    works -- bash -c "$sleep_inside"
}

@test "arguments of outside processes are not seen" {
    outside bash -c 'exec -a "server --password=topsecret" sleep 300'
    until_true grep -qa topsecret "/proc/$PID/cmdline"
    inside -- bash -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "; ls /proc | grep -c "^[0-9]"'
    said_not topsecret
    ((${output##*[!0-9]} < 8)) || fail "too many processes in sight"
}

@test "kill(-1) and a signal to every pid reach nobody outside" {
    with_attempts
    outside /usr/bin/python3 -c 'import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
open(sys.argv[1], "w").close()
signal.sigwait([signal.SIGURG])
open(sys.argv[2], "w").close()
signal.pause()' "$OUT/ready" "$OUT/hit"
    local victim=$PID
    until_true test -e "$OUT/ready"
    inside -- ./attempt signal-all
    grep -q 'ShdPnd:.*[1-9a-f]' "/proc/$victim/status" && fail "a signal is pending outside"
    absent "$OUT/hit"
    "$WATTLE_HELPERS/attempt" signal "$victim"
    until_true test -e "$OUT/hit"
}

@test "pid 1 inside gives away nothing of its own" {
    TOPSECRET=topsecret-env inside -- bash -c '
        cat /proc/1/environ /proc/1/mem /proc/1/maps; ls -l /proc/1/root /proc/1/cwd /proc/1/exe /proc/1/fd
        cat /proc/1/root/etc/hostname; tr "\0" " " </proc/1/cmdline; true' 2>/dev/null
    said_not topsecret
    said_not "$PEN"
    with_attempts
    refused attach 1
    refused getfd 1 0
    works -- bash -c 'test -r /proc/$$/environ'
}

@test "two jobs of one pen do not see each other's processes, /tmp or home" {
    mkfifo go
    outside "$WATTLE" run --pen "$PEN" -- bash -c \
        'echo topsecret >/tmp/mine; echo topsecret >~/mine; echo topsecret >"$TMPDIR/mine"; touch started; read -r _ <go' topsecret
    until_true test -e started
    inside -- bash -c 'cat /tmp/mine ~/mine "$TMPDIR/mine" /proc/[0-9]*/cmdline; ls -A /tmp ~ "$TMPDIR"; true'
    local seen="$output $stderr"
    echo >go
    [[ $seen != *topsecret* && $seen != *mine$'\n'* ]] || fail "saw the other job: $seen"
}

# ---- ipc -------------------------------------------------------------------------------------------

@test "System V objects and POSIX queues of the host are not there" {
    with_attempts
    local key=$((0x57410000 + RANDOM)) queue=/wattle-test-$RANDOM kind
    control "$WATTLE_HELPERS/attempt" shm-make "$key" topsecret
    control "$WATTLE_HELPERS/attempt" msg-make "$key"
    control "$WATTLE_HELPERS/attempt" sem-make "$key"
    control "$WATTLE_HELPERS/attempt" queue-make "$queue"
    local got=()
    for kind in "shm-read $key" "shm-remove $key" "msg-get $key" "msg-remove $key" "sem-get $key" "sem-remove $key" \
        "queue-get $queue" "queue-remove $queue"; do
        # shellcheck disable=SC2086 # words on purpose
        inside -- ./attempt $kind
        [[ $status == 1 ]] || got+=("$kind: $output")
    done
    run "$WATTLE_HELPERS/attempt" shm-read "$key"
    said topsecret
    for kind in "shm-remove $key" "msg-remove $key" "sem-remove $key" "queue-remove $queue"; do
        # shellcheck disable=SC2086 # words on purpose
        "$WATTLE_HELPERS/attempt" $kind || got+=("outside no more: $kind")
    done
    same "${got[*]}" "" "got inside"
    works -- bash -c './attempt shm-make 77 own && ./attempt shm-read 77 && ./attempt sem-make 77'
}

@test "the keyrings of the caller are not the job's" {
    with_attempts
    control "$WATTLE_HELPERS/attempt" with-key topsecret "'$PEN/attempt' key-read"
    said topsecret
    run "$WATTLE_HELPERS/attempt" with-key topsecret "'$WATTLE' run --pen '$PEN' -- ./attempt key-read"
    ended 1
    said_not topsecret
    refused key-add
}

# ---- sockets and network -----------------------------------------------------------------------------

@test "unix sockets outside are not reached: stream, datagram, abstract" {
    with_attempts
    cd "$OUT" # short paths: a socket's name has room for 107 bytes
    local name=wattle-test-$RANDOM
    listen unix s "$OUT/stream"
    listen dgram d "$OUT/dgram"
    listen abstract "$name" "$OUT/abstract"
    cd "$PEN"
    inside -- bash -c 'cd "$1"; "$2" unix s; "$2" unix-dgram d; cd /; "$2" abstract "$3"; true' \
        job "$OUT" "$PEN/attempt" "$name"
    said_not ': got'
    inside --ro "$OUT" -- bash -c '"$2" abstract "$3"; true' job "$OUT" "$PEN/attempt" "$name"
    said_not ': got'
    cd "$OUT"
    unheard unix s "$OUT/stream"
    unheard dgram d "$OUT/dgram"
    unheard abstract "$name" "$OUT/abstract"
}

@test "--unix opens one socket and not the one beside it" {
    with_attempts
    temp_folder /tmp
    local where=$FOLDER
    listen unix "$where/a" "$OUT/a"
    listen unix "$where/b" "$OUT/b"
    inside --unix "$where/a" -- ./attempt unix "$where/a"
    local first=$status
    inside --unix "$where/a" -- ./attempt unix "$where/b"
    local second=$status
    unheard unix "$where/b" "$OUT/b"
    same "$first" 0 "the socket that was opened"
    same "$second" 1 "the socket beside it"
    until_true grep -q PWNED "$OUT/a"
}

@test "nothing on the host's loopback is reached: TCP, fast open, UDP" {
    with_attempts
    listen tcp - "$OUT/tcp"
    local tcp=$ADDRESS
    listen udp - "$OUT/udp"
    local udp=$ADDRESS
    inside -- bash -c './attempt tcp "$1"; ./attempt fastopen "$1"; ./attempt udp "$2"; exec 3<>"/dev/tcp/localhost/$1"' \
        job "$tcp" "$udp"
    said_not 'tcp: got'
    said_not 'fastopen: got'
    unheard tcp "$tcp" "$OUT/tcp"
    unheard udp "$udp" "$OUT/udp"
}

@test "there is no way to any network: no route, no name, no other interface" {
    inside -- /usr/bin/python3 -c '
import socket, errno
for address in ("192.0.2.1", "10.0.0.1", "169.254.169.254", "8.8.8.8"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_INET, kind)
        s.settimeout(3)
        try:
            s.connect((address, 53))
            print("connected", address, kind)
        except OSError as error:
            print(errno.errorcode.get(error.errno, error))
try:
    socket.getaddrinfo("example.com", 443)
    print("resolved")
except OSError:
    pass
print([name for _, name in socket.if_nameindex()])'
    ended 0
    said_not connected
    said_not resolved
    said ENETUNREACH
    said "['lo']"
}

@test "a listener inside is not reached from outside" {
    mkfifo go
    outside "$WATTLE" run --pen "$PEN" -- /usr/bin/python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(4)
a = socket.socket(socket.AF_UNIX); a.bind("\0wattle-inside"); a.listen(4)
c = socket.create_connection(s.getsockname()); c.close()
open("port.new", "w").write(str(s.getsockname()[1]))
import os; os.rename("port.new", "port")
open("go").read()'
    until_true test -e port
    run ! "$WATTLE_HELPERS/attempt" tcp "$(cat port)"
    run ! "$WATTLE_HELPERS/attempt" abstract wattle-inside
    echo >go
}

@test "socket families that reach past a network namespace cannot be opened" {
    with_attempts
    local name
    # AF_PACKET raw, AF_VSOCK, AF_ALG, AF_XDP, AF_KEY, AF_BLUETOOTH, AF_NFC, AF_TIPC
    for name in "17 3 0" "40 1 0" "38 5 0" "44 3 0" "15 3 2" "31 1 0" "39 1 0" "30 1 0"; do
        # shellcheck disable=SC2086 # words on purpose
        refused family $name
    done
    for name in 4 6 9 12 15 16; do # netlink: sock_diag, xfrm, audit, netfilter, uevent, generic
        refused family 16 3 "$name"
    done
    refused vsock $((40000 + RANDOM % 20000))
    works -- bash -c './attempt family 1 1 0 && ./attempt family 2 1 0 && ./attempt family 2 2 0 && ./attempt family 10 1 0 &&
        ./attempt family 16 3 0'
}

# ---- terminals -----------------------------------------------------------------------------------------

@test "a job types nothing into the caller's terminal" {
    with_attempts
    local way
    for way in tiocsti tiocsti-high; do
        run ptydrive.py wait -- "$WATTLE" run -T --pen "$PEN" -- ./attempt "$way"
        said "$way: E"
        run ptydrive.py wait -- "$WATTLE" run -t --pen "$PEN" -- ./attempt "$way"
        said "$way: E"
    done
    # What a job could have typed would be read by whoever reads the terminal next.
    run ptydrive.py 'expect=ready' 'send=typed\n' 'expect=<typed>' -- \
        bash -c '"$1" run --pen "$2" -- ./attempt tiocsti; echo ready; read -r x; echo "<$x>"' caller "$WATTLE" "$PEN"
    ended 0
}

@test "no other terminal is written to" {
    # Somebody else's terminal: what is written to it ends up in the log.
    outside /usr/bin/python3 -c '
import os, pty, sys
master, slave = pty.openpty()
os.chmod(os.ttyname(slave), 0o622)
with open(sys.argv[1] + ".new", "w") as out: out.write(os.ttyname(slave))
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    got = os.read(master, 1000)
    with open(sys.argv[2], "ab") as log: log.write(got)' "$PEN/terminal" "$OUT/log"
    until_true test -s terminal
    local try='for t in "$(cat terminal)" /dev/pts/[0-9]* /proc/[0-9]*/fd/[0-9]*; do
        [[ $t -ef /dev/tty || ! -c $t ]] || { echo PWNED >"$t"; } 2>/dev/null; done; true'
    inside -- bash -c "$try"
    run ptydrive.py wait -- "$WATTLE" run -T --pen "$PEN" -- bash -c "$try"
    echo control >"$(cat terminal)"
    until_true grep -q control "$OUT/log"
    ! grep -q PWNED "$OUT/log" || fail "written to: $(cat "$OUT/log")"
}

@test "without a terminal there is none inside" {
    inside -- bash -c 'tty; { : </dev/tty; } 2>/dev/null && echo opened; ls /dev/pts; true'
    said_not opened
    said 'not a tty'
}

# ---- descriptors -----------------------------------------------------------------------------------------

@test "descriptors the caller left open are closed: files, folders, sockets, high numbers" {
    with_attempts
    cd "$OUT"
    listen unix s "$OUT/heard"
    control odd_start --fd "9=secret" -- "$WATTLE_HELPERS/attempt" read-fd 9
    local start=(odd_start --fd "9=secret" --fd "10=canary" --fd "11=$OUT" --connect 12=s --fd "2047=secret" --nofile 1024)
    cd "$PEN"
    run bash -c 'cd "$1" && shift && exec "$@"' caller "$OUT" "${start[@]}" -- "$WATTLE" run --pen "$PEN" -- bash -c '
        ./attempt read-fd 9; ./attempt write-fd 10; ./attempt openat 11 secret; ./attempt write-fd 12; ./attempt read-fd 2047
        cat /proc/self/fd/9 /proc/self/fd/2047 /proc/self/fd/11/secret /proc/1/fd/*; ls /proc/self/fd; true'
    said_not topsecret
    said_not ': got'
    holds "$OUT/canary" clean
    cd "$OUT"
    echo x >>heard
    ! grep -q PWNED heard || fail "the inherited socket was used: $(cat heard)"
}

# ---- environment -----------------------------------------------------------------------------------------

@test "nothing of the caller's environment comes in but what was asked for" {
    local names=(TOPSECRET ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY SSH_AUTH_SOCK LD_PRELOAD LD_LIBRARY_PATH BASH_ENV ENV
        NODE_OPTIONS PYTHONSTARTUP PYTHONPATH PERL5OPT RUBYOPT GIT_DIR GIT_SSH_COMMAND GIT_CONFIG_COUNT PAGER EDITOR
        JAVA_TOOL_OPTIONS RUSTC_WRAPPER CC MAKEFLAGS DBUS_SESSION_BUS_ADDRESS DISPLAY XDG_RUNTIME_DIR PROMPT_COMMAND)
    local name assignments=()
    for name in "${names[@]}"; do assignments+=("$name=/topsecret-$name"); done
    run env "${assignments[@]/LD_*/X=1}" "$WATTLE" run --pen "$PEN" -- env
    ended 0
    said_not topsecret
    run env TOPSECRET=topsecret OTHER=topsecret-too "$WATTLE" run --pen "$PEN" -e TOPSECRET -e "GIVEN=a b" -- env
    said TOPSECRET=topsecret
    said 'GIVEN=a b'
    said_not topsecret-too
}

@test "the environment inside is whole and clean" {
    works -- bash -c 'echo "$HOME $TMPDIR $CI $NO_COLOR"; for d in "$HOME" "$TMPDIR"; do touch "$d/x" || echo "no $d"; done
        case $LANG$LC_ALL in *UTF-8*|*utf8*) ;; *) echo "no UTF-8: $LANG $LC_ALL";; esac; command -v ls >/dev/null || echo "no PATH"
        env | grep -c "^XDG_.*=$HOME\|^XDG_.*=/wattle" >/dev/null || echo "no XDG"'
    printed "/wattle/home /wattle/tmp 1 1"
}

# ---- kernel surface ----------------------------------------------------------------------------------------

@test "no namespace, mount or new root inside" {
    with_attempts
    local way
    mkdir folder
    for way in user-namespace clone-namespace clone3-namespace "mount $PEN/folder" "unmount $PEN" "unmount /etc" "remount /usr" \
        "remount /" fsopen "open-tree /" "chroot /tmp"; do
        # shellcheck disable=SC2086 # words on purpose
        refused $way
    done
    inside -- bash -c 'unshare -Ur true; unshare -rm true'
    failed_inside
}

@test "kernel surface that no build needs is closed" {
    with_attempts
    local way
    for way in io-uring perf bpf userfaultfd fanotify personality x32; do
        refused "$way"
    done
    [[ $(uname -m) == x86_64 ]] || return 0
    # By number, all arguments zero: mounts, keys, modules, handles, memory policies ... and numbers
    # that no kernel has yet.
    for way in 154 155 161 165 166 237 238 246 248 249 250 256 279 298 300 304 308 312 313 321 323 425 428 429 430 \
        431 432 433 442 443 600 1000; do
        refused call "$way"
    done
    works -- ./attempt call 39
}

@test "keys of encrypted folders, flags and seals of files are not set by a descriptor for reading" {
    need_tools python3
    local ask='import fcntl, os
fd = os.open(".", os.O_RDONLY)
for request in (0x800c6613, 0xc0506617, 0xc0406618, 0xc0406619, 0x40086602, 0x401c5820, 0x40806685):
    try: fcntl.ioctl(fd, request, bytes(256)); print("done")
    except OSError as error: print("EPERM" if error.errno == 1 else "asked")'
    mkdir folder
    run python3 -c "import os; os.chdir('folder')
$ask"
    ended 0
    [[ $output != *EPERM* ]] || fail "the kernel itself refuses some of them: $output"
    works -- /usr/bin/python3 -c "$ask"
    same "$(sort -u <<<"$output")" EPERM
    works --guard off -- /usr/bin/python3 -c "$ask"
    same "$(head -n 4 <<<"$output" | sort -u)" EPERM
}

@test "the 32-bit system call table is not a way around" {
    [[ $(uname -m) == x86_64 ]] || skip "for x86-64"
    with_attempts
    run "$WATTLE_HELPERS/attempt" int80
    inside -- ./attempt int80
    [[ $status != 0 ]] || fail "int 0x80 answered"
}

@test "rights are gone: no capability, no new privileges, a filter in force" {
    works -- grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status
    printed "$(printf 'CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2')"
    works -- id -u
    printed "$EUID"
}
