#!/usr/bin/env bats
# The command line: help, completion, man pages, wrong usage, records of a run.
# shellcheck disable=SC2154 # bats sets stderr
load lib

# A home and a project of the test's own, with nothing of the caller's configuration. Not in /tmp or
# /var/tmp: a run has its own.
setup() {
    HOME=$(mktemp -d "$(getent passwd "$EUID" | cut -d: -f6)/wattle-cli-XXXXXX")
    export HOME
    unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
    mkdir -p "$HOME/project"
    cd "$HOME/project" || return
}

teardown() {
    rm -rf "$HOME"
}

# One line for everything below the home: names, kinds, sizes, times of change.
snapshot() {
    find "$HOME" -printf '%p %y %s %C@\n' | sort
}

commands=("run" "policy show" "policy explain" "policy check" "doctor" "completion" "version" "help")

# The long options in the help of a command, one a line.
options_of() {
    "$WATTLE" help $1 | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -e '--[a-z-]+' | sort
}

@test "every command has help, by both ways to ask for it" {
    local command
    for command in "${commands[@]}"; do
        run -0 "$WATTLE" help $command
        [[ ${lines[0]} == "usage: wattle $command"* ]]
        [[ $output == *--help* ]]
        [[ $("$WATTLE" $command --help) == "$output" ]]
        [[ $("$WATTLE" $command -h) == "$output" ]]
    done
    run -0 "$WATTLE" --help
    for command in "${commands[@]}"; do
        [[ $output == *"  $command "* ]]
    done
    run -0 "$WATTLE" policy --help
    [[ $output == *"policy explain"* ]]
}

@test "the version is printed" {
    run -0 "$WATTLE" --version
    [[ $output =~ ^wattle\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    [[ $("$WATTLE" version) == "$output" ]]
}

@test "every option is in the man page, and no other" {
    [[ -n ${WATTLE_MAN:-} && -e ${WATTLE_MAN:-}/wattle-run.1 ]] || skip "man pages are not built"
    local page
    for page in run doctor; do
        # scdoc writes an option as \fB--pen\fR at the begin of a line or after a short one
        diff <(options_of "$page") \
            <(grep -oE '^(\\fB-[a-zA-Z]\\fR, )?\\fB--[a-z-]+\\fR' "$WATTLE_MAN/wattle-$page.1" |
                grep -oE -e '--[a-z-]+' | sort -u)
    done
    diff <(for c in "policy show" "policy explain" "policy check"; do options_of "$c"; done | sort -u) \
        <(grep -oE '^(\\fB-[a-zA-Z]\\fR, )?\\fB--[a-z-]+\\fR' "$WATTLE_MAN/wattle-policy.1" |
            grep -oE -e '--[a-z-]+' | sort -u)
}

@test "man pages have the sections people look for" {
    [[ -n ${WATTLE_MAN:-} && -e ${WATTLE_MAN:-}/wattle-run.1 ]] || skip "man pages are not built"
    local page section
    for page in wattle.1 wattle-run.1 wattle-policy.1 wattle-doctor.1; do
        for section in "EXIT STATUS" FILES ENVIRONMENT "SEE ALSO"; do
            grep -q "^.SH $section" "$WATTLE_MAN/$page"
        done
        ! grep -q '^@' "$WATTLE_MAN/$page"
    done
}

@test "man pages keep the lines of their examples, and wattle(1) names every command" {
    [[ -n ${WATTLE_MAN:-} && -e ${WATTLE_MAN:-}/wattle-run.1 ]] || skip "man pages are not built"
    local page command
    for page in "$WATTLE_MAN"/wattle*.[15]; do
        # outside of .nf lines are filled: a command after another one stands in its line
        awk '/^\.nf/ { kept = 1 } /^\.fi/ { kept = 0 }
            /^\$ / { if (before && !kept) exit 1; before = 1; next } { before = 0 }' "$page" ||
            fail "two commands in one line: $page"
    done
    for command in $("$WATTLE" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort -u); do
        grep -q "wattle $command" "$WATTLE_MAN/wattle.1" || fail "wattle(1) has no '$command'"
    done
}

@test "the completion for bash parses" {
    "$WATTLE" completion bash >c
    bash -n c
}

@test "the completion for zsh parses" {
    need command -v zsh
    "$WATTLE" completion zsh >c
    zsh -n c
}

@test "the completion for fish parses" {
    need command -v fish
    "$WATTLE" completion fish >c
    fish -n c
}

# complete WORD...: what bash would offer for the last word.
complete_words() (
    complete() { :; }
    eval "$("$WATTLE" completion bash)"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _wattle
    printf '%s\n' "${COMPREPLY[@]}" | sort
)

@test "bash completes commands, verbs, options, their values and file names" {
    [[ $(complete_words wattle r) == run ]]
    [[ $(complete_words wattle policy e) == explain ]]
    diff <(complete_words wattle run --) <(options_of run)
    diff <(complete_words wattle policy check --) <(options_of "policy check")
    [[ $(complete_words wattle run --net h) == hosts ]]
    [[ $(complete_words wattle run --net = h) == hosts ]]
    [[ $(complete_words wattle run -q --caches j) == job ]]
    [[ $(complete_words wattle completion z) == zsh ]]
    mkdir folder
    touch file
    [[ $(complete_words wattle run --pen f) == folder ]]
    [[ $(complete_words wattle run -C f) == folder ]]
    [[ $(complete_words wattle run --ro f) == $'file\nfolder' ]]
    [[ $(complete_words wattle run --ro = f) == $'file\nfolder' ]]
    [[ $(complete_words wattle policy check f) == $'file\nfolder' ]]
    [[ $(complete_words wattle run --pen folder mkdi) == *mkdir* ]]
    [[ $(complete_words wattle run -- mkdi) == *mkdir* ]]
    [[ $(complete_words wattle run cat f) == $'file\nfolder' ]]
}

# Exit status, a part of the message, arguments.
bad_usage() {
    cat <<'TABLE'
2|usage: wattle COMMAND|
2|unknown command 'rnu'; did you mean 'run'?|rnu
2|unknown command '--runn'|--runn
2|'policy' needs one word more|policy
2|unknown command 'policy shwo'; did you mean 'policy show'?|policy shwo
2|unknown option '--jsn'; did you mean '--json'?|policy show --jsn
2|unknown option '--wite'; did you mean '--write'?|policy explain --wite x
2|'policy explain' wants a path|policy explain
2|'completion' wants one word, the shell|completion
2|no completion for the shell 'zs'; did you mean 'zsh'?|completion zs
2|'version' takes no arguments, not 'x'|version x
2|'doctor' takes no arguments, not 'x'|doctor x
2|unknown command 'frobnicate'|help frobnicate
2|'help' knows no 'x' of 'run'|help run x
2|'help' knows no 'x' of 'policy show'|help policy show x
2|unknown command '-v'; options follow the command, as in 'wattle run -v'|-v run
125|no command to run|run
125|no command to run|run --
125|unknown option '--timout'; did you mean '--timeout'?|run --timout 5 true
125|unknown option '--timeou'; did you mean '--timeout'?|run --timeou=5 true
125|unknown option '-Z'|run -Z true
125|there is no '--keep-env', on purpose|run --keep-env true
125|'--pen' needs a value: DIR|run --pen
125|'--pen' is given twice|run --pen . --pen . true
125|'--quiet' takes no value|run --quiet=1 true
125|'--net' knows no 'host'; did you mean 'hosts'?|run --net host true
125|'--net hosts' is not built yet|run --net hosts true
125|'--net open' is not built yet|run --net=open true
125|'--allow' is not built yet|run --allow example.org true
125|'--timeout' wants a time such as 90s|run --timeout never true
125|'--memory' wants a size such as 512M|run --memory lots true
125|'--pids' wants a whole number above 0, not '0'|run --pids 0 true
125|'--mechanism' knows no 'nativ'; did you mean 'native'?|run --mechanism nativ true
125|'--caches' knows no 'pens'; did you mean 'pen'?|run --caches pens true
125|'--tty' and '--no-tty' exclude each other|run -t -T true
125|'--quiet' and '--verbose' exclude each other|run -qv true
125|'--json' goes with '--dry-run' only|run --json true
125|'--status-fd' cannot be 1|run --status-fd 1 true
125|'--status-fd' 77 is not open|run --status-fd 77 true
TABLE
}

@test "wrong usage names the object and the remedy, and changes nothing on disk" {
    local status_wanted message arguments before
    before=$(snapshot)
    while IFS='|' read -r status_wanted message arguments; do
        echo "wattle $arguments"
        run -"$status_wanted" "$WATTLE" $arguments
        # What comes after ";" stands in the hint.
        [[ $output == *"${message%%;*}"* ]]
        [[ $message != *";"* || $output == *"hint: ${message#*; }"* ]]
    done < <(bad_usage)
    [[ $(snapshot) == "$before" ]]
}

@test "wrong usage is said on stderr only" {
    [[ -z $("$WATTLE" run --timout 5 true 2>/dev/null || true) ]]
    [[ -z $("$WATTLE" 2>/dev/null || true) ]]
}

@test "with --json an error is one JSON object on stderr" {
    run -2 --separate-stderr "$WATTLE" policy show --jsn --json
    [[ -z $output ]]
    python3 - "$stderr" <<'PYTHON'
import json, sys
error = json.loads(sys.argv[1])["error"]
assert error["id"] == "cli.option", error
assert "--jsn" in error["what"] and "--json" in error["hint"], error
PYTHON
}

@test "names in messages cannot drive the terminal" {
    run -125 "$WATTLE" run --net $'\e]0;x\a\u202e' true
    [[ $output != *$'\e'* && $output != *$'\a'* && $output != *$'\u202e'* ]]
    [[ $output == *'\x1b'* ]]
}

@test "what follows the command belongs to it" {
    need "$WATTLE" run -- true
    run -0 "$WATTLE" run -- echo --help --pen -q
    [[ $output == "--help --pen -q" ]]
    run -0 "$WATTLE" run sh -c 'echo "$@"' sh --help
    [[ $output == "--help" ]]
}

@test "a missing command ends with 127, one that cannot be executed with 126" {
    need "$WATTLE" run -- true
    run -127 "$WATTLE" run -- wattle-no-such-command
    [[ $output == *wattle-no-such-command* ]]
    echo data >data
    run -126 "$WATTLE" run -- ./data
    [[ $output == *data* ]]
}

@test "--status-fd tells the command's status from wattle's own" {
    need "$WATTLE" run -- true
    run -125 "$WATTLE" run --status-fd 3 -- sh -c 'exit 125' 3>own
    run -127 "$WATTLE" run --status-fd 3 -- wattle-no-such-command 3>refused
    python3 - <<'PYTHON'
import json
start, end = [json.loads(line) for line in open("own")]
assert (start["event"], end["event"]) == ("start", "exit")
assert start["run"] == end["run"] and start["mechanism"] == "native" and start["pid"] > 1
assert end["exited"] == end["code"] == 125 and end["signal"] is None and "error" not in end
[end] = [json.loads(line) for line in open("refused")]
assert end["event"] == "exit" and end["code"] == 127 and "exited" not in end
assert end["error"]["id"] and "wattle-no-such-command" in end["error"]["what"]
PYTHON
}

@test "--status-fd names the signal that ended the command" {
    need "$WATTLE" run -- true
    run -137 "$WATTLE" run --status-fd 3 -- sh -c 'kill -9 $$' 3>killed
    python3 - <<'PYTHON'
import json
end = json.loads(open("killed").readlines()[-1])
assert end["signal"] == 9 and end["exited"] is None and end["code"] == 137, end
PYTHON
}

@test "a status reader that went away is no reason to fail" {
    need "$WATTLE" run -- true
    run -0 bash -c 'exec 3> >(exec true); wait $!; "$0" run --status-fd 3 -- echo finished' "$WATTLE"
    [[ $output == finished ]]
}

@test "each run leaves one line for its start and one for its end in the spool" {
    need "$WATTLE" run -- true
    rm -rf "$HOME/.local" "$HOME/.cache"
    run -3 "$WATTLE" run -- sh -c 'exit 3' $'odd \xff name'
    python3 - <<'PYTHON'
import json, os, stat
folder = os.path.expanduser("~/.local/state/wattle/spool")
path = folder + "/run.jsonl"
assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
start, end = [json.loads(line) for line in open(path)]
assert start["v"] == end["v"] == 1 and start["run"] == end["run"]
assert start["command"] == ["sh", "-c", "exit 3", "odd \ufffd name"] and start["argc"] == 4
assert start["pen"] == start["cwd"] == os.path.realpath(".")
assert end["exited"] == 3 and end["wall_ms"] >= 0
PYTHON
}

@test "a spool that cannot be written stops no run" {
    need "$WATTLE" run -- true
    rm -rf "$HOME/.local/state/wattle/spool"
    ln -s /nowhere "$HOME/.local/state/wattle/spool"
    run -0 "$WATTLE" run -- echo finished
    [[ $output == finished ]]
    run -0 "$WATTLE" run -v -- echo finished
    [[ $output == *"no record of this run"*spool* ]]
}

@test "--dry-run and policy show print the same policy, and leave nothing behind" {
    need "$WATTLE" run -- true
    local before
    rm -rf "$HOME/.local" "$HOME/.cache"
    before=$(snapshot)
    run -0 "$WATTLE" run --dry-run --ro /opt -- ls
    [[ $output == *"$PWD"* ]]
    [[ $("$WATTLE" policy show --ro /opt -- ls) == "$output" ]]
    [[ $(snapshot) == "$before" ]]
    run -0 "$WATTLE" run --dry-run --json -- ls
    python3 - "$output" <<'PYTHON'
import json, sys
policy = json.loads(sys.argv[1])
assert policy["schema"] == "wattle.policy" and policy["v"] == 1
assert policy["fence"]["mechanism"] == "native", policy["fence"]
PYTHON
}

@test "--dry-run names the folders of a run, and where the pen's cache is on disk" {
    need "$WATTLE" run -- true
    run -0 "$WATTLE" run -- bash -c 'echo kept >/wattle/cache/kept'
    run -0 "$WATTLE" run --dry-run --json -- ls
    python3 - "$output" <<'PYTHON'
import glob, json, os, sys
policy = json.loads(sys.argv[1])
places = {place["path"]: place for place in policy["places"]}
home = os.environ["HOME"]
assert places["/wattle/home"]["kind"] == "tmpfs" and places["/wattle/home"]["bytes"] == 256 << 20
assert places["/wattle/tmp"]["source"] == home + "/.cache/wattle/scratch/run-*"
[cache] = glob.glob(places["/wattle/cache"]["source"])
assert cache.startswith(home + "/.local/state/wattle/caches/"), cache
assert os.path.exists(cache + "/kept")
PYTHON
    run -0 "$WATTLE" run --dry-run --caches job -- ls
    [[ $output == *"/wattle/cache "*"gone with the run"*"/.cache/wattle/scratch/run-*-cache"* ]]
    [[ $output != *"if it is there"* ]]
}

@test "of the environment wattle makes itself every value is shown" {
    run -0 env -i HOME="$HOME" PATH="$PATH" "$WATTLE" policy show
    [[ $output == *UV_LINK_MODE=copy* && $output != *"value not shown"* ]]
    run -0 env -i HOME="$HOME" PATH="$PATH" "$WATTLE" policy show -e TOKEN=s3cret
    [[ $output == *"TOKEN (value not shown)"* && $output != *s3cret* ]]
}

@test "a deadline is told in seconds, and with its option only when that set it" {
    need "$WATTLE" run -- true
    run -124 "$WATTLE" run --timeout 1 -- sleep 30
    [[ $output == *"ended: its time of 1 s was over (--timeout)"* ]]
    mkdir -p "$HOME/.config/wattle"
    echo '{"wattle": {"timeout": "1s"}}' >"$HOME/.config/wattle/config.json"
    run -124 "$WATTLE" run -- sleep 30
    [[ $output == *"ended: its time of 1 s was over"* && $output != *--timeout* ]]
}

@test "the example of a policy file can be used as it stands" {
    need "$WATTLE" run -- true
    mkdir -p "$HOME/.config/wattle" "$HOME/reference" "$HOME/project/secrets"
    sed -n '/^```$/,/^```$/{/^```$/!p}' "$BATS_TEST_DIRNAME/../../docs/man/wattle-policy.5.scd" \
        >"$HOME/.config/wattle/config.json"
    [[ -s $HOME/.config/wattle/config.json ]]
    run -0 "$WATTLE" policy check
    "$WATTLE" doctor --json | grep -q '"landlock_abi": *0' && cannot "no Landlock"
    run -0 "$WATTLE" run -- true
}

@test "policy explain says whether a path is open, and why" {
    need "$WATTLE" run -- true
    mkdir -p "$HOME/notes" "$HOME/.ssh"
    touch "$HOME/notes/a"
    ln -s "$HOME/notes" link
    run -0 "$WATTLE" policy explain . /usr/bin/env
    [[ ${lines[0]} == "write "*"$PWD"* ]]
    [[ ${lines[1]} == "read "*/usr/bin/env* ]]
    run -1 "$WATTLE" policy explain --write /usr/bin/env
    run -1 "$WATTLE" policy explain "$HOME/notes/a"
    run -1 "$WATTLE" policy explain link/a
    run -0 "$WATTLE" policy explain --ro "$HOME/notes" link/a
    run -1 "$WATTLE" policy explain --ro "$HOME/notes" --write link/a
    run -1 "$WATTLE" policy explain . "$HOME/.ssh/id"
    run -1 "$WATTLE" policy explain --json "$HOME/.ssh/id"
    python3 - "$output" <<'PYTHON'
import json, sys
answer = json.loads(sys.argv[1])
assert answer["verdict"] == "hidden" and answer["why"], answer
PYTHON
}

@test "policy check reads the owner's files and those named" {
    run -0 "$WATTLE" policy check
    [[ -e /etc/wattle/config.json || $output == "nothing to check: "*"$HOME/.config/wattle"* ]]
    mkdir -p "$HOME/.config/wattle"
    echo '{"filesystem": {"allowRead": ["~/reference"]}}' >"$HOME/.config/wattle/config.json"
    run -0 "$WATTLE" policy check
    [[ $output == *"ok $HOME/.config/wattle/config.json"* ]]
    echo '{"filesystem": {"allowRaed": []}}' >bad.json
    run -1 "$WATTLE" policy check "$PWD/bad.json"
    [[ $output == *allowRaed*allowRead* ]]
    echo '{"filesystem": {},}' >comma.json
    run -1 "$WATTLE" policy check "$PWD/comma.json"
    [[ $output == *"hint: JSON has no comments and no trailing commas"* ]]
    run -1 "$WATTLE" policy check missing.json
    [[ $output == *missing.json* ]]
    run -1 "$WATTLE" policy check --json "$PWD/bad.json"
    python3 - "$output" <<'PYTHON'
import json, sys
answer = json.loads(sys.argv[1])
assert answer["ok"] is False and answer["error"]["id"].startswith("settings."), answer
PYTHON
}

@test "hints after a failure name a way out, and -q turns them off" {
    need "$WATTLE" run -- true
    mkdir "$HOME/notes"
    run -1 "$WATTLE" run -- cat "$HOME/notes/a"
    [[ $output == *"wattle: blocked:"*"--ro ~/notes"* ]]
    run -1 "$WATTLE" run -q -- cat "$HOME/notes/a"
    [[ $output != *wattle:* ]]
}

@test "policy check refuses a file that others may write, as a run does" {
    mkdir -p "$HOME/.config/wattle"
    echo '{}' >"$HOME/.config/wattle/config.json"
    chmod 600 "$HOME/.config/wattle/config.json"
    run -0 "$WATTLE" policy check
    chmod 666 "$HOME/.config/wattle/config.json"
    run -1 "$WATTLE" policy check
    [[ $output == *"can be changed by other users"* && $output == *"chmod go-w"* ]]
    run -125 "$WATTLE" run -- true
    [[ $output == *"can be changed by other users"* ]]
}

# Below DESTDIR only.
@test "make install puts the built files where make uninstall finds them, and builds nothing" {
    local build=${WATTLE%/src/cli/wattle} top=$BATS_TEST_DIRNAME/../.. before
    need_tools make meson ninja
    [[ -w $build/meson-logs ]] || cannot "the build folder is somebody else's"
    before=$(stat -c %y "$WATTLE" "$build/build.ninja")
    run -0 make -s -C "$top" install BUILD="$build" PREFIX=/usr/local \
        DESTDIR="$(realpath --relative-to="$top" .)/root"
    [[ -x root/usr/local/bin/wattle && -e root/usr/local/share/wattle/policy.schema.json ]]
    [[ $(stat -c %y "$WATTLE" "$build/build.ninja") == "$before" ]] # neither built nor configured
    echo mine | tee root/usr/local/bin/other root/usr/local/share/wattle/mine >/dev/null
    run -0 make -s -C "$top" uninstall BUILD="$build" PREFIX=/usr DESTDIR="$PWD/root"
    [[ $output == "nothing of wattle is installed below $PWD/root/usr" ]]
    run -0 make -s -C "$top" uninstall BUILD="$build" PREFIX=/usr/local DESTDIR="$PWD/root"
    [[ $output == *"removed $PWD/root/usr/local/bin/wattle"* ]]
    [[ $(cd root && find . -type f | sort) == $'./usr/local/bin/other\n./usr/local/share/wattle/mine' ]]
}
