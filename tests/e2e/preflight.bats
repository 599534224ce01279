#!/usr/bin/env bats
# What lies in the pen before a run, and leads out of it: files shared by hard links, sockets of the
# host. And the commands that look by themselves.

load lib

# config TEXT: what stands in the owner's "wattle" settings.
config() {
    mkdir -p "$HOME/.config/wattle"
    printf '{"wattle": {%s}}' "$1" >"$HOME/.config/wattle/config.json"
}

# refuses WORDS...: the run is refused, says each of the words, and has a hint.
refuses() {
    local word
    run --separate-stderr "$WATTLE" run -- touch ran
    ended 125
    for word; do said "$word"; done
    said 'wattle: hint: '
    absent ran
}

pens() {
    run --separate-stderr "$WATTLE" pens "$@"
}

@test "a file that has another name outside cannot be changed by a run" {
    ln "$OUT/canary" link
    control bash -c 'echo again >link; cat "$1"' control "$OUT/canary"
    echo clean >"$OUT/canary"
    refuses "'link'" "1 other name outside" "wattle pens unshare $PEN"
    holds "$OUT/canary" clean
    config '"acceptSharedLinks": true'
    works -- bash -c 'echo accepted >link'
    holds "$OUT/canary" accepted
}

@test "hard links that are all in the pen are fine" {
    mkdir a
    echo x >a/one
    ln a/one two
    works -- bash -c 'ln two three; echo y >three'
    holds a/one y
}

@test "the tools that share on purpose: each refusal names its switch" {
    mkdir -p node_modules/.pnpm/x "$OUT/store"
    echo x >"$OUT/store/f"
    ln "$OUT/store/f" node_modules/.pnpm/x/f
    refuses "package-import-method=copy"
    rm -r node_modules
    mkdir -p .venv/lib/python3/site-packages
    ln "$OUT/store/f" .venv/lib/python3/site-packages/f
    refuses "UV_LINK_MODE=copy"
}

@test "git clone of a local path, in either direction, and also between two runs" {
    need_tools git
    local i
    git init -q
    for ((i = 0; i < 600; i++)); do echo "$i" >"f$i"; done
    git add .
    git -c user.name=x -c user.email=x@example.com commit -qm x
    works -- true
    git clone -q . "$OUT/clone"
    refuses "git clone --no-hardlinks"
    PEN=$OUT/clone
    cd "$PEN"
    refuses "git clone --no-hardlinks"
    pens unshare .
    ended 0
    works -- git fsck --no-progress
    [[ -z $(git status --porcelain) ]] || fail "the clone changed"
    PEN=$HOME/work/pen
    cd "$PEN"
    works -- true
}

@test "unshare: copies, keeps what belongs together, and leaves what is outside" {
    mkdir a
    echo text >"$OUT/file"
    chmod 640 "$OUT/file"
    touch -d '2001-02-03 04:05:06' "$OUT/file"
    ln "$OUT/file" a/one
    ln "$OUT/file" two
    ln "$OUT/canary" "$(printf 'odd\nname')"
    local before
    before=$(stat -c '%a %U %G %s %y' "$OUT/file")
    pens unshare --dry-run .
    ended 0
    said "would copy  a/one"
    said 'would copy  odd\nname'
    same "$(stat -c %h two)" 3
    pens unshare .
    ended 0
    said "files 2, names 3"
    same "$(stat -c '%a %U %G %s %y' a/one)" "$before"
    same "$(stat -c %i a/one)" "$(stat -c %i two)"
    same "$(stat -c %h two "$OUT/file" "$OUT/canary" | tr '\n' ' ')" "2 1 1 "
    same "$(find . -mindepth 1 -printf x)" xxxx
    works -- bash -c 'echo changed >two'
    holds "$OUT/file" text
    holds a/one changed
    pens unshare .
    said "nothing is shared"
}

@test "unshare: what is not the caller's to change is named, and the rest is done" {
    only_user
    mkdir closed
    ln "$OUT/canary" closed/one
    echo x >"$OUT/x"
    ln "$OUT/x" two
    chmod 555 closed
    pens unshare .
    chmod 755 closed
    ended 1
    said "'closed/one' is still shared"
    same "$(stat -c %h two)" 1
}

@test "a socket of the host in the pen is out of reach" {
    local connect='import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b"PWNED")'
    listen unix "$PEN/ed.sock" "$OUT/log"
    inside -- python3 -c "$connect" ed.sock
    failed_inside
    inside -- bash -c 'mv ed.sock x || rm -f ed.sock'
    failed_inside
    inside -- python3 -c "$connect" "$PEN/ed.sock"
    failed_inside
    unheard unix "$PEN/ed.sock" "$OUT/log"
    run -1 "$WATTLE" policy explain ed.sock
    said "a socket of the host"
    run -0 "$WATTLE" policy explain --unix "$PEN/ed.sock" ed.sock
    works --unix "$PEN/ed.sock" -- python3 -c "$connect" ed.sock
    until_true grep -q 'PWNED.*' "$OUT/log"
}

@test "datagram sockets, and sockets deep in the pen, too" {
    local connect='import socket,sys; s=socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b"PWNED", sys.argv[1])'
    mkdir -p a/b
    listen dgram "$PEN/a/b/d.sock" "$OUT/log"
    inside -- python3 -c "$connect" a/b/d.sock
    failed_inside
    unheard dgram "$PEN/a/b/d.sock" "$OUT/log"
}

@test "a socket nobody listens on any more is the job's to remove" {
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("old.sock")'
    works -- python3 -c 'import os,socket; os.unlink("old.sock"); s=socket.socket(socket.AF_UNIX); s.bind("old.sock"); s.listen()'
    works -- rm old.sock
}

@test "a pen with too many files is refused, and says so" {
    config '"preflight": {"entries": 20}'
    touch {1..20}
    works -- true
    touch 21
    refuses "more than 20 " "wattle.preflight.entries"
    pens check
    ended 1
}

@test "a folder the job could open and we cannot" {
    only_user
    mkdir shut
    chmod 0 shut
    refuses "'shut'" "chmod"
    chmod 700 shut
    works -- true
}

@test "root looks into folders of every mode" {
    only_root
    mkdir shut
    ln "$OUT/canary" shut/link
    chmod 0 shut
    refuses "'shut/link'"
}

@test "symlinks are not followed, and loops do no harm" {
    mkdir a
    ln -s .. a/up
    ln -s loop loop
    ln -s "$OUT" out
    ln "$OUT/canary" "$OUT/other"
    works -- true
}

@test "what is remembered: private, outside the pen, and never a reason to refuse" {
    local before i
    for ((i = 0; i < 600; i++)); do : >"f$i"; done
    before=$(names "$PEN")
    works -- true
    same "$(names "$PEN")" "$before"
    same "$(stat -c %a "$HOME/.local/state/wattle/preflight")" 700
    same "$(stat -c %a "$HOME/.local/state/wattle/preflight/"* | sort -u)" 600
    ln "$OUT/canary" link
    refuses "'link'"
    rm link
    works -- true
    printf 'x' >"$(echo "$HOME/.local/state/wattle/preflight/"*)"
    works -- true
    rm -r "$HOME/.local/state/wattle/preflight"
    works -- true
}

@test "--dry-run looks, shows what it hides, and writes nothing" {
    local i
    for ((i = 0; i < 600; i++)); do : >"f$i"; done
    listen unix "$PEN/ed.sock" "$OUT/log"
    run --separate-stderr "$WATTLE" run --dry-run -- true
    ended 0
    said "a socket of the host"
    absent "$HOME/.local/state/wattle/preflight"
    ln "$OUT/canary" link
    run --separate-stderr "$WATTLE" run --dry-run -- true
    ended 125
}

@test "pens check: what there is, as text and as JSON, and by exit status" {
    mkdir -p sub/.git
    touch .git
    listen unix "$PEN/ed.sock" "$OUT/log"
    pens check
    ended 0
    said "socket      ed.sock"
    said "repository  sub/.git"
    ln "$OUT/canary" link
    pens check "$PEN"
    ended 1
    said "shared      link  (2 names, 1 of them here)"
    said "wattle pens unshare"
    pens check --json
    ended 1
    same "$(json '(v["ok"], v["error"]["id"], sorted(f["path"] for f in v["found"]))' <<<"$output")" \
        "(False, 'pen.shared-links', ['.git', 'ed.sock', 'link', 'sub/.git'])"
    pens check -q
    [[ $output == "" ]] || fail "-q and yet: $output"
}

@test "pens: folders that cannot be pens, wrong usage" {
    pens check "$HOME"
    ended 1
    pens check "$PEN/none"
    ended 1
    pens unshare "$HOME"
    ended 1
    pens unshare
    ended 2
    pens check a b
    ended 2
    pens chek
    ended 2
    said "pens check"
}

@test "names that would drive a terminal are inert" {
    local name
    name=$(printf 'a\033[2Jb')
    ln "$OUT/canary" "$name"
    run "$WATTLE" run -- true
    ended 125
    [[ $output != *$'\033'* ]] || fail "a control character in a message"
    run "$WATTLE" pens check
    [[ $output != *$'\033'* ]] || fail "a control character in a message"
}

@test "a walk that is fast says nothing on a terminal" {
    need_tools script
    run script -qec "'$WATTLE' run -q -- true" /dev/null
    ended 0
    said_not "looking through"
}
