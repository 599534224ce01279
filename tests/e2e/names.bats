#!/usr/bin/env bats
# Pens of every name and place, and arguments of every kind.

load lib

# pen_named NAME [PARENT]: the pen is made there, and a job in it works there.
pen_named() {
    PEN=${2:-$HOME/work}/$1
    mkdir -p "$PEN"
    works_in "$PEN"
}

works_in() {
    cd "$1" || fail "no $1"
    echo before >there
    run --separate-stderr "$WATTLE" run -- bash -c '[ "$PWD" = "$1" ] && cat there && echo after >made && mkdir d && : >"d/f"' job "$1"
    ended 0
    printed before
    holds "$1/made" after
    cd "$HOME" || return 1
    run --separate-stderr "$WATTLE" run --pen "$1" -- bash -c 'rm -r d made && [ "$PWD" = "$1" ]' job "$1"
    ended 0
    absent "$1/made" "$1/d"
}

@test "pens with spaces, quotes, newlines, unicode and odd signs in their names" {
    pen_named 'my project (1)'
    pen_named "it's \"quoted\""
    pen_named $'two\nlines'
    pen_named $'tab\tand\x01control'
    pen_named 'prøj-日本-🐧'
    pen_named 'a,b:c$d*e=[f]%\g'
    pen_named '-n'
    pen_named '--pen'
    pen_named ' '
    pen_named $'invalid\xff\xfeutf8'
    pen_named '\040octal'
}

@test "a pen whose path has nearly 4000 bytes" {
    local i path=$HOME/work part
    part=$(printf 'L%.0s' {1..200})
    cd "$path"
    for ((i = 0; ${#path} < 3800; i++)); do
        mkdir "$part" && cd "$part" && path+=/$part
    done
    PEN=$path
    run --separate-stderr "$WATTLE" run -- bash -c 'echo after >made; pwd | wc -c'
    ended 0
    printed $((${#path} + 1))
    holds made after
    cd "$HOME"
}

@test "a path that is too long for the kernel is refused, not cut" {
    local long
    long=$(printf '/LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL%.0s' {1..50})
    run "$WATTLE" run --pen "$long" -- true
    ended 125
}

@test "a pen through a symlink is the folder behind it; PWD is kept" {
    mkdir real
    ln -s real link
    cd link
    run --separate-stderr "$WATTLE" run -- bash -c 'echo "$PWD"; pwd -P; touch made'
    ended 0
    printed "$(printf '%s\n%s' "$PEN/link" "$PEN/real")"
    present "$PEN/real/made"
    cd "$HOME"
    run --separate-stderr "$WATTLE" run --pen "$PEN/link" -- bash -c 'touch made2; pwd -P'
    ended 0
    printed "$PEN/real"
    present "$PEN/real/made2"
}

@test "a pen below a symlinked parent" {
    mkdir -p "$HOME/disk/project"
    ln -s "$HOME/disk" "$HOME/short"
    works_in "$HOME/short/project"
}

@test "a pen under /tmp, with a /tmp of its own around it" {
    temp_folder /tmp
    works_in "$FOLDER"
    run "$WATTLE" run --pen "$FOLDER" -- bash -c 'echo x >/tmp/other && cat /tmp/other; ls -A /tmp | wc -l'
    printed "$(printf 'x\n2')"
    absent /tmp/other
}

@test "a pen in the home itself" {
    pen_named pen-in-home "$HOME"
}

@test "a pen that is another mount, a tmpfs, with a mount inside it" {
    need_tools unshare
    local flags=(-rm)
    [[ $EUID != 0 ]] || flags=(-m)
    control unshare "${flags[@]}" mount -t tmpfs none "$OUT"
    # A user namespace inside a user namespace: the ordinary user's way to a mount.
    run unshare "${flags[@]}" bash -ec 'mkdir -p "$2/sub"; mount -t tmpfs none "$2"; mkdir "$2/sub"; mount -t tmpfs none "$2/sub"
        cd "$2"; "$1" run -- bash -c "echo x >a; echo y >sub/b; stat -f -c %T . sub"; cat a sub/b' caller "$WATTLE" "$PEN"
    ended 0
    printed "$(printf 'tmpfs\ntmpfs\nx\ny')"
}

@test "-C starts below the pen; a start folder below the pen is kept" {
    mkdir -p a/b
    works -C "$PEN/a/b" -- pwd
    printed "$PEN/a/b"
    cd a/b
    works -- bash -c 'pwd; touch ../../made'
    printed "$PEN/a/b"
    present "$PEN/made"
    run "$WATTLE" run --pen "$PEN" -C "$OUT" -- pwd
    ended 125
    cd "$OUT"
    works -- pwd
    printed "$PEN"
}

@test "arguments arrive literally" {
    local words=('a b' '' $'new\nline' "it's" '"dq"' '$HOME' '`id`' '$(id)' '*' '\\n' '\' 'ü日本' -x -- --help --pen '~' '!' '#c'
        'a;b' '>x' $'tab\t' ' ' '%s' '{a,b}' $'\x01\x7f' $'bad\xff')
    local script='import os, sys; print(ascii([os.fsencode(a) for a in sys.argv[1:]]))'
    works -- /usr/bin/python3 -c "$script" "${words[@]}"
    printed "$(/usr/bin/python3 -c "$script" "${words[@]}")"
    inside /usr/bin/python3 -c "$script" --pen x
    ended 0
    printed "[b'--pen', b'x']"
}

@test "a very long argument list arrives, and one that is too long says so" {
    # shellcheck disable=SC2046 # words on purpose
    works -- bash -c 'echo $#' job $(seq 20000)
    printed 20000
}

@test "files of odd names are made, listed and removed" {
    works -- bash -ec 'mkdir d; cd d; for n in "a b" $'\''n\nl'\'' "ü" "*" "-r" $'\''\xff'\''; do : >"./$n"; done; ls -A | wc -l; rm -- ./*; ls -A'
}

@test "the command may be a path with spaces, a relative path, a script of the pen" {
    printf '#!/bin/sh\necho "ran $1"\n' >'my tool'
    chmod +x 'my tool'
    works -- './my tool' x
    printed "ran x"
    works -- "$PEN/my tool" y
    printed "ran y"
    mkdir sub
    cd sub
    works -- '../my tool' z
    printed "ran z"
}
