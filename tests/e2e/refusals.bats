#!/usr/bin/env bats
# Bad input: the object is named, the reason, and what to do; exit 125; nothing changed on disk and
# nothing was run.

load lib

setup() {
    make_world
    echo keep >file
    mkdir -p "$HOME/.ssh" "$HOME/.aws"
    echo key >"$HOME/.ssh/id_rsa"
    BEFORE=$(snapshot "$HOME")
}

# refuses WORDS OPTION... : each of the comma-separated words is said. "nohint": the sentence itself
# says what is wanted.
refuses() {
    local words=$1 word
    shift
    run --separate-stderr "$WATTLE" run "$@"
    check_refusal "$words" "$*"
}

check_refusal() {
    [[ $status == 125 ]] || fail "not refused: $2"
    [[ $stderr == 'wattle: '* ]] || fail "no message: $2"
    local IFS=, word
    for word in $1; do
        [[ $word == nohint || $stderr == *"$word"* ]] || fail "the message does not name '$word': $2"
    done
    [[ $stderr == *'wattle: hint: '* || $1 == *nohint* ]] || fail "no hint what to do: $2"
    [[ $output == "" ]] || fail "something on stdout: $2"
    same "$(snapshot "$HOME")" "$BEFORE" "the disk after: $2"
}

R=(-- touch ran)

@test "pens that are no folder, or not there" {
    refuses "'$PEN/none'" --pen "$PEN/none" "${R[@]}"
    refuses "'$PEN/file',folder" --pen "$PEN/file" "${R[@]}"
    refuses "--pen,nohint" --pen '' "${R[@]}"
    refuses "'/dev/null'" --pen /dev/null "${R[@]}"
}

@test "pens that are too broad, or hold what no job may have" {
    local pen
    refuses "'/'" --pen / "${R[@]}"
    for pen in "$HOME" /etc /usr /var /tmp /home /proc /dev "$HOME/.ssh" "$HOME/.aws"; do
        [[ -d $pen ]] || continue
        refuses "'$pen'" --pen "$pen" "${R[@]}"
    done
    mkdir -p "$HOME/.config/wattle" "$HOME/.local/state/wattle/x"
    BEFORE=$(snapshot "$HOME")
    for pen in "$HOME/.config" "$HOME/.config/wattle" "$HOME/.local" "$HOME/.local/state/wattle/x"; do
        refuses "'$pen'" --pen "$pen" "${R[@]}"
    done
}

@test "a pen nobody may enter" {
    only_user
    mkdir closed
    chmod 0 closed
    BEFORE=$(snapshot "$HOME" 2>/dev/null) || true
    run --separate-stderr "$WATTLE" run --pen "$PEN/closed" "${R[@]}"
    ended 125
    said closed
}

@test "options: unknown, misspelt, doubled, without value, contradicting" {
    refuses "--pne,--pen" --pne x "${R[@]}"
    refuses "--keep-env,-e" --keep-env "${R[@]}"
    refuses "--pen,nohint" --pen
    refuses "--pen,twice,nohint" --pen . --pen . "${R[@]}"
    refuses "--tty,--no-tty,nohint" -t -T "${R[@]}"
    refuses "no command"
    refuses "--mechanism,nativ,native" --mechanism nativ "${R[@]}"
    refuses "--caches" --caches mine "${R[@]}"
    refuses "--ti" --ti 5 "${R[@]}"
}

@test "with --json an error is one JSON object" {
    run --separate-stderr "$WATTLE" run --json "${R[@]}"
    ended 125
    same "$(json '(v["error"]["id"], "--status-fd" in v["error"]["hint"])' <<<"$stderr")" "('cli.option', True)" "the error"
    same "$(snapshot "$HOME")" "$BEFORE" "the disk"
}

@test "network is not built yet, and says so" {
    refuses "--net,not built" --net open "${R[@]}"
    refuses "--net,not built" --net hosts "${R[@]}"
    refuses "--allow,not built" --allow example.com "${R[@]}"
    run "$WATTLE" run --pen "$PEN" --net none -- true
    ended 0
}

@test "bounds that are no bounds" {
    local bad
    for bad in --pids=0 --pids=x --timeout=5y --timeout=-1 --tmp-size=1.5M --memory=1Q --open-files=0 --file-size=99999999999999G \
        --kill-after=soon; do
        refuses "${bad%%=*},${bad#*=},nohint" "$bad" "${R[@]}"
    done
}

@test "variables that are none, and ones that would inject code" {
    refuses "'9X'" -e 9X=1 "${R[@]}"
    refuses "'A-B'" -e A-B=1 "${R[@]}"
    refuses "variable" -e =x "${R[@]}"
}

@test "rules for what is not there, or for what no rule may open" {
    refuses "'$HOME/none'" --ro "$HOME/none" "${R[@]}"
    refuses "'$HOME/none'" --rw "$HOME/none" "${R[@]}"
    refuses "'/'" --ro / "${R[@]}"
    refuses "'/'" --rw / "${R[@]}"
    refuses "'$HOME/.ssh/none'" --ro "$HOME/.ssh/none" "${R[@]}"
    ln -s nowhere dangling
    BEFORE=$(snapshot "$HOME")
    refuses "dangling" --ro "$PEN/dangling" "${R[@]}"
}

@test "sockets that are not there, or are none" {
    refuses "'$PEN/none'" --unix "$PEN/none" "${R[@]}"
    refuses "file" --unix "$PEN/file" "${R[@]}"
}

@test "start folders outside the pen" {
    refuses "'$OUT'" --pen "$PEN" -C "$OUT" "${R[@]}"
    refuses "none" --pen "$PEN" -C none "${R[@]}"
    refuses "file" --pen "$PEN" -C file "${R[@]}"
}

@test "a status descriptor that is not open, or is one of the job's" {
    refuses "--status-fd,77,nohint" --status-fd 77 "${R[@]}"
    refuses "--status-fd" --status-fd 1 "${R[@]}"
    run --separate-stderr bash -c '"$1" run --pen "$2" --status-fd 8 -- touch ran 8<"$2/file"' caller "$WATTLE" "$PEN"
    check_refusal "--status-fd,writing,nohint" "a descriptor for reading"
}

@test "a terminal that is not there" {
    run --separate-stderr "$WATTLE" run --pen "$PEN" -t -- touch ran </dev/null
    check_refusal "terminal" "-t without a terminal"
}

@test "commands that are not there or cannot be run: 127 and 126, and nothing changed" {
    run -127 --separate-stderr "$WATTLE" run --pen "$PEN" -- nosuchcommand
    said "'nosuchcommand'"
    same "$(snapshot "$HOME")" "$BEFORE" "the disk"
    run --separate-stderr "$WATTLE" run --pen "$PEN" -- "$PEN/file"
    ended 126
    said "file"
    same "$(snapshot "$HOME")" "$BEFORE" "the disk"
    run -127 --separate-stderr "$WATTLE" run --pen "$PEN" -- ''
    same "$(snapshot "$HOME")" "$BEFORE" "the disk"
}

# config TEXT WORDS: with this in config.json every run is refused.
config() {
    mkdir -p "$HOME/.config/wattle"
    printf '%s' "$1" >"$HOME/.config/wattle/config.json"
    BEFORE=$(snapshot "$HOME")
    refuses "config.json,$2" --pen "$PEN" "${R[@]}"
    run "$WATTLE" policy check
    ended 1
}

@test "a configuration that is not understood is refused, never half read" {
    config '{' nohint
    config '{"wattle": {}} x' nohint
    config '' nohint
    config '[]' nohint
    config '{"filesystem": {"allowWrite": ["~/x"], "allowWrite": []}}' allowWrite,nohint
    config '{"filesistem": {}}' filesistem,filesystem,nohint
    config '{"filesystem": {"allowwrite": ["~/x"]}}' allowwrite,allowWrite,nohint
    config '{"wattle": {"requre": []}}' requre,require,nohint
    config '{"wattle": {"require": ["landlok"]}}' landlok,landlock
    config '{"filesystem": {"allowWrite": "~/x"}}' allowWrite,nohint
    config '{"filesystem": {"allowWrite": [7]}}' allowWrite,nohint
    config '{"filesystem": {"allowWrite": ["x/y"]}}' x/y
    config '{"filesystem": {"allowWrite": ["/a/../b"]}}' /a/../b
    config '{"filesystem": {"allowWrite": ["/a//b"]}}' /a//b
    config '{"filesystem": {"allowWrite": ["~bob/x"]}}' '~bob/x'
    config '{"filesystem": {"allowWrite": ["$HOME/x"]}}' '$HOME/x'
    config "$(printf '{"filesystem": {"allowWrite": ["~/\xff"]}}')" nohint
    config "$(printf '%*s' 200000 '' | tr ' ' '[')" nohint
}

@test "a configuration that lies where a repository could put it, or is not the caller's alone" {
    mkdir -p conf/wattle
    echo '{}' >conf/wattle/config.json
    BEFORE=$(snapshot "$HOME")
    XDG_CONFIG_HOME=$PEN/conf refuses "$PEN/conf" --pen "$PEN" "${R[@]}"
    XDG_STATE_HOME=$PEN/state refuses "$PEN/state" --pen "$PEN" "${R[@]}"
    XDG_CACHE_HOME=$PEN refuses "$PEN" --pen "$PEN" "${R[@]}"
    HOME=$PEN run --separate-stderr "$WATTLE" run --pen "$PEN" "${R[@]}"
    ended 125
    XDG_CONFIG_HOME=conf refuses "XDG_CONFIG_HOME,'conf'" --pen "$PEN" "${R[@]}"
    mkdir -p "$HOME/.config/wattle"
    echo '{}' >"$HOME/.config/wattle/config.json"
    chmod 666 "$HOME/.config/wattle/config.json"
    BEFORE=$(snapshot "$HOME")
    refuses "config.json" --pen "$PEN" "${R[@]}"
    chmod 644 "$HOME/.config/wattle/config.json"
    chmod 777 "$HOME/.config/wattle"
    BEFORE=$(snapshot "$HOME")
    refuses "$HOME/.config/wattle" --pen "$PEN" "${R[@]}"
}

@test "a policy file given by -p: not there, in the pen, or not understood" {
    refuses "none.json" -p "$OUT/none.json" --pen "$PEN" "${R[@]}"
    echo '{"filesystem": {"allowWrite": ["~/outside"]}}' >"$PEN/p.json"
    cp p.json "$HOME/p.json"
    cp p.json "$OUT/p.json"
    BEFORE=$(snapshot "$HOME")
    refuses "p.json,lies in the pen" -p "$PEN/p.json" --pen "$PEN" "${R[@]}"
    refuses "p.json,lies in the pen" -p "$OUT/../work/pen/p.json" --pen "$PEN" "${R[@]}"
    refuses "'$OUT/p.json',next one" -p "$OUT/p.json" --pen "$PEN" "${R[@]}"
    run "$WATTLE" run --pen "$PEN" -p ../../p.json -- touch "$OUT/made"
    ended 0
    present "$OUT/made"
}

@test "symlinks that a job or a repository could change choose nothing" {
    ln -s "$OUT" gitlink
    ln -s real .vscode
    mkdir real
    BEFORE=$(snapshot "$HOME")
    local flag
    for flag in --ro --rw --deny; do
        refuses "$flag,'$PEN/gitlink','$OUT'" "$flag" gitlink "${R[@]}"
        refuses "$flag,'$PEN/.vscode','$PEN/real'" "$flag" .vscode "${R[@]}"
    done
    refuses "-C,'$PEN/gitlink','$OUT'" --ro "$OUT" -C gitlink "${R[@]}"
    run "$WATTLE" run -C .vscode -- true
    ended 0
}

@test "the folders of all sockets are not opened" {
    local path
    for path in /run /var/run /run/user "/run/user/$EUID"; do
        [[ -d $path ]] || continue
        refuses "'$(realpath "$path")',--unix" --ro "$path" "${R[@]}"
        refuses "'$(realpath "$path")',--unix" --rw "$path" "${R[@]}"
    done
}

@test "a configuration whose symlink a job could replace" {
    mkdir -p "$HOME/dotfiles/wattle" "$HOME/.config"
    ln -s ../dotfiles/wattle "$HOME/.config/wattle"
    BEFORE=$(snapshot "$HOME")
    refuses "'$HOME/.config/wattle',open less" --rw "$HOME/.config" "${R[@]}"
    XDG_CONFIG_HOME=$HOME/.cfg2 refuses "'$HOME/.config/wattle',open less" --rw "$HOME/.config" "${R[@]}"
    run "$WATTLE" run --ro "$HOME/.config" -- true
    ended 0
}

@test "a configuration below a folder that a group may write" {
    only_root # may give folders away
    mkdir -p "$HOME/.config/wattle"
    chown 0:54321 "$HOME/.config"
    chmod 775 "$HOME/.config"
    BEFORE=$(snapshot "$HOME")
    refuses "'$HOME/.config',chmod" --pen "$PEN" "${R[@]}"
    chmod 755 "$HOME/.config"
    chown 54321 "$HOME/.config"
    BEFORE=$(snapshot "$HOME")
    refuses "'$HOME/.config',54321" --pen "$PEN" "${R[@]}"
}

@test "files of a repository are never read as policy" {
    mkdir -p .wattle wattle .claude .config/wattle
    echo '{"filesystem": {"allowWrite": ["~/outside"]}}' | tee .wattle.json wattle.json .wattle/config.json .claude/settings.json \
        .config/wattle/config.json >/dev/null
    run "$WATTLE" run -- bash -c 'echo PWNED >"$1/canary"' job "$OUT"
    holds "$OUT/canary" clean
}

@test "messages are inert whatever names they carry" {
    run "$WATTLE" run --pen "$(printf '%s/a\033[2Jb\nc' "$PEN")" -- true
    ended 125
    [[ $output != *$'\033'* ]] || fail "a control character in a message"
}

@test "a state folder that cannot be written: refused, and named" {
    only_user
    mkdir -p "$HOME/.local"
    chmod 555 "$HOME/.local"
    run --separate-stderr "$WATTLE" run --pen "$PEN" "${R[@]}"
    chmod 755 "$HOME/.local"
    ended 125
    said "$HOME/.local"
    absent ran
}
