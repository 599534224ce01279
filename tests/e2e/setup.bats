#!/usr/bin/env bats
# wattle setup: the entry for wattle in the settings of other programs. Those files are the owner's:
# what is in them stays, and what cannot be kept is not written.

load lib

CLIENTS=(claude codex vscode opencode gemini)

setup() {
    make_world
    need_tools /usr/bin/python3
    for name in CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME; do unset "$name"; done
    declare -gA FILES=(
        [claude]=.claude.json [codex]=.codex/config.toml [vscode]=.config/Code/User/mcp.json
        [opencode]=.config/opencode/opencode.json [gemini]=.gemini/settings.json)
    declare -gA GROUPS_=(
        [claude]=mcpServers [codex]=mcp_servers [vscode]=servers [opencode]=mcp [gemini]=mcpServers)
    declare -gA PROJECTS=(
        [claude]=.mcp.json [codex]=.codex/config.toml [vscode]=.vscode/mcp.json [opencode]=opencode.json
        [gemini]=.gemini/settings.json)
}

teardown() {
    "$WATTLE" host stop || true
    rm -rf -- "$WORLD"
}

# setup_ CLIENT [OPTION...]: $status, $output, $stderr; nobody is at a terminal.
setup_() {
    run --separate-stderr "$WATTLE" setup "$@" </dev/null
}

# words CLIENT FILE: program and arguments as the client would read them, one a line; Codex's by
# the reader of TOML that it is made for.
words() {
    /usr/bin/python3 - "$1" "${GROUPS_[$1]}" "$2" <<'PYTHON'
import json, sys
client, group, path = sys.argv[1:]
if client == "codex":
    try:
        import tomllib
    except ModuleNotFoundError:
        import tomli as tomllib
    entry = tomllib.load(open(path, "rb"))[group]["wattle"]
else:
    entry = json.load(open(path))[group]["wattle"]
command = entry["command"]
print("\n".join(command if isinstance(command, list) else [command, *entry["args"]]))
PYTHON
}

# A file with entries of others, as each client has it.
others() {
    case $1 in
    codex) printf 'model = "o1"\nnumber = 0.1\n\n[mcp_servers.other]\ncommand = "x" # mine\n' ;;
    *) printf '{\n    "z": 0.1,\n    "%s": {\n        "other": {"command": "x"}\n    },\n    "a": [1, 2.50, 1e3, "\\u00e4"]\n}\n' "${GROUPS_[$1]}" ;;
    esac
}

# The same values in the same order, but for ours.
same_but_ours() {
    /usr/bin/python3 - "$1" "$2" "${GROUPS_[$3]}" <<'PYTHON'
import json, sys
before, after = (json.load(open(path), object_pairs_hook=list) for path in sys.argv[1:3])
def without(pairs):
    return [(key, [e for e in value if e[0] != "wattle"] if key == sys.argv[3] else value) for key, value in pairs]
assert without(before) == without(after), (before, after)
PYTHON
}

with_toml() {
    [[ $1 != codex ]] || /usr/bin/python3 -c 'import tomllib' 2>/dev/null || /usr/bin/python3 -c 'import tomli' 2>/dev/null
}

@test "without --write the entry is printed, and nothing is made or changed" {
    local client before
    for client in "${CLIENTS[@]}"; do
        before=$(snapshot "$HOME")
        setup_ "$client" --pen "$PEN" --chat talk
        ended 0
        said "$PEN"
        said "${FILES[$client]}"
        said talk
        setup_ "$client" --dry-run
        ended 0
        setup_ "$client" --remove
        ended 0
        setup_ "$client" --write --dry-run
        ended 0
        same "$(snapshot "$HOME")" "$before" "the home after $client"
    done
}

@test "a file that is missing is made, for the owner alone, and the client would start wattle mcp" {
    local client file
    mkdir "$PEN/a b \"c"
    for client in "${CLIENTS[@]}"; do
        file=$HOME/${FILES[$client]}
        setup_ "$client" --write --pen "a b \"c" --chat one
        ended 0
        same "$(stat -c %a "$file")" 600
        with_toml "$client" || continue
        words "$client" "$file" >words
        same "$(tail -n +2 words)" "$(printf '%s\n' mcp --pen "$PEN/a b \"c" --chat one)" "$client"
        same "$(stat -Lc %i "$(head -n1 words)")" "$(stat -Lc %i "$WATTLE")" "the program"
    done
}

# WATTLE_CLIENTS: where the packages of tests/clients were installed (.ci/run does).
@test "a real client that has the entry which was written runs a command in the pen" {
    local client file kind entry
    [[ -n ${WATTLE_CLIENTS:-} ]] || cannot "WATTLE_CLIENTS names no folder with the clients"
    need_tools node
    for client in "${CLIENTS[@]}"; do
        file=$HOME/${FILES[$client]}
        setup_ "$client" --write --pen "$PEN" --chat "$client"
        ended 0
        with_toml "$client" || continue
        mapfile -t entry < <(words "$client" "$file")
        for kind in v1 v2 v2-auto; do
            # Control: the folder is no pen yet, and the same client gets no command of it to run.
            [[ $client != claude || $kind != v1 ]] || {
                run ! node "$BATS_TEST_DIRNAME/../clients/entry.mjs" "$kind" "${entry[@]}"
                said awaiting_approval
                "$WATTLE" pens add "$PEN"
            }
            (cd "$OUT" && timeout 60 node "$BATS_TEST_DIRNAME/../clients/entry.mjs" "$kind" "${entry[@]}") >ran
            holds ran "$PEN"
        done
    done
    "$WATTLE" chats list >chats
    grep -q claude chats
    grep -q gemini chats
}

@test "what others wrote stays, in its order; the mode stays; a second time there is nothing to do" {
    local client file
    for client in "${CLIENTS[@]}"; do
        file=$HOME/${FILES[$client]}
        mkdir -p "${file%/*}"
        others "$client" >"$file"
        cp "$file" before
        chmod 640 "$file"
        setup_ "$client" --write
        ended 0
        same "$(stat -c %a "$file")" 640
        if [[ $client == codex ]]; then
            same "$(head -c "$(stat -c %s before)" "$file")" "$(cat before)"
        else
            same_but_ours before "$file" "$client"
            grep -q '^    "z": 0.1,$' "$file" || fail "indent or numbers changed: $(cat "$file")"
        fi
        cp "$file" after
        setup_ "$client" --write --json
        ended 0
        same "$(json 'v["action"], v["written"]' <<<"$output")" "('nothing', False)"
        cmp "$file" after
        # Another pen takes the old entry's place.
        setup_ "$client" --write --pen "$PEN" --json
        same "$(json 'v["action"], v["written"]' <<<"$output")" "('replace', True)"
        same "$(grep -c wattle "$file")" "$(grep -c wattle after)" "lines of ours"
        grep -qF "$PEN" "$file"
        # And it goes alone.
        setup_ "$client" --remove --write
        ended 0
        if [[ $client == codex ]]; then cmp "$file" before; else same_but_ours before "$file" "$client"; fi
        grep -q wattle "$file" && fail "it is still there: $(cat "$file")"
        setup_ "$client" --remove --write --json
        same "$(json 'v["action"]' <<<"$output")" nothing
    done
}

@test "what the owner added to wattle's entry stays when it is replaced" {
    setup_ claude --write
    /usr/bin/python3 -c 'import json; p = "'"$HOME"'/.claude.json"; v = json.load(open(p)); v["mcpServers"]["wattle"]["timeout"] = 9; json.dump(v, open(p, "w"))'
    setup_ claude --write --pen "$PEN"
    ended 0
    same "$(json 'v["mcpServers"]["wattle"]["timeout"]' <<<"$(tr -d '\n' <"$HOME/.claude.json")")" 9
}

@test "an entry of that name that is not wattle's is neither replaced nor removed" {
    local client file
    for client in "${CLIENTS[@]}"; do
        file=$HOME/${FILES[$client]}
        mkdir -p "${file%/*}"
        case $client in
        codex) printf '[mcp_servers."wattle"]\ncommand = "other"\n' >"$file" ;;
        *) printf '{"%s": {"wattle": {"command": "other", "args": ["mcp"]}}}' "${GROUPS_[$client]}" >"$file" ;;
        esac
        cp "$file" before
        setup_ "$client" --write
        ended 1
        said "wattle"
        cmp "$file" before
        setup_ "$client" --remove --write
        cmp "$file" before
    done
}

@test "a file that is broken, has comments, or is of another form is left alone, and the entry printed" {
    local client file broken
    for client in claude vscode opencode gemini; do
        file=$HOME/${FILES[$client]}
        mkdir -p "${file%/*}"
        for broken in '{"a": 1' '// mine
{}' '{"a": 1, "a": 2}' '[]' '{} x' "{\"${GROUPS_[$client]}\": []}" $'{"a": "\xff"}' '{"a": 123456789012345678901234567890}'; do
            printf '%s' "$broken" >"$file"
            setup_ "$client" --write
            ended 1
            [[ $output == *'"wattle": {'* ]] || fail "the entry to paste is not printed"
            said "$file"
            holds "$file" "$broken"
            setup_ "$client" --remove --write
            ended 1
            holds "$file" "$broken"
        done
    done
}

@test "Codex's file: a clash, an open text, an end of ours that is missing refuse" {
    local file=$HOME/.codex/config.toml broken
    mkdir "${file%/*}"
    for broken in 'mcp_servers = {}' 'mcp_servers.a.command = "x"' '[mcp_servers]' '[ mcp_servers . wattle ]' \
        'a = """' "a = '''" $'a = "\x01"' $'a = "\xff"' '# >>> wattle setup: wattle rewrites what stands between these lines' \
        '# <<< wattle setup'; do
        printf '%s\n' "$broken" >"$file"
        setup_ codex --write
        ended 1
        [[ $output == *'[mcp_servers.wattle]'* ]] || fail "the entry to paste is not printed"
        holds "$file" "$broken"
    done
    printf '# mcp_servers.wattle\na = 1' >"$file" # a comment is none, and the last line need not end
    setup_ codex --write
    ended 0
    [[ $(<"$file") == $'# mcp_servers.wattle\na = 1\n#'* ]] || fail "$(cat "$file")"
}

@test "a folder that cannot be written, another's file and hard links refuse, and leave nothing behind" {
    mkdir "$HOME/.gemini"
    echo '{}' >"$HOME/.gemini/settings.json"
    if [[ $EUID == 0 ]]; then
        chown 65534 "$HOME/.gemini/settings.json"
    else
        chmod 500 "$HOME/.gemini"
    fi
    setup_ gemini --write
    ended 1
    said settings.json
    holds "$HOME/.gemini/settings.json" '{}'
    chmod 700 "$HOME/.gemini"
    same "$(ls -A "$HOME/.gemini")" settings.json
    echo '{}' >"$HOME/.claude.json"
    ln "$HOME/.claude.json" "$OUT/other"
    setup_ claude --write
    ended 1
    said 'hard link'
    holds "$OUT/other" '{}'
}

@test "a symlink of the owner's is followed, and said; one in a project is not" {
    mkdir "$HOME/dotfiles"
    echo '{}' >"$HOME/dotfiles/claude"
    ln -s dotfiles/claude "$HOME/.claude.json"
    setup_ claude --write
    ended 0
    said "is a symlink: the file is '$HOME/dotfiles/claude'"
    [[ -L $HOME/.claude.json ]] || fail "the symlink is gone"
    grep -q wattle "$HOME/dotfiles/claude"
    local client
    for client in claude vscode opencode; do
        rm -rf .mcp.json .vscode opencode.json
        mkdir -p .vscode
        echo '{}' >"$OUT/target"
        ln -s "$OUT/target" "${PROJECTS[$client]}"
        setup_ "$client" --project --write
        ended 1
        holds "$OUT/target" '{}'
    done
    rm -rf .vscode
    ln -s "$OUT" .vscode
    setup_ vscode --project --write
    ended 1
    absent "$OUT/mcp.json"
}

@test "a project's file lies in the project, names no path of this machine's, and is guarded there" {
    local client
    for client in "${CLIENTS[@]}"; do
        setup_ "$client" --project --write
        ended 0
        said "lies in the project"
        present "${PROJECTS[$client]}"
        absent "$HOME/${FILES[$client]}"
        grep -qF "$WATTLE" "${PROJECTS[$client]}" && fail "$(cat "${PROJECTS[$client]}")"
        [[ $client == opencode ]] && continue
        cp "${PROJECTS[$client]}" before
        inside -- sh -c "echo >>'${PROJECTS[$client]}'"
        failed_inside
        cmp before "${PROJECTS[$client]}"
    done
}

@test "the variables by which a client's file moves are followed; a relative one is refused" {
    mkdir "$HOME/c"
    CODEX_HOME=$HOME/c CLAUDE_CONFIG_DIR=$HOME/c setup_ codex --write
    ended 0
    present "$HOME/c/config.toml"
    CLAUDE_CONFIG_DIR=$HOME/c setup_ claude --write
    present "$HOME/c/.claude.json"
    CLAUDE_CONFIG_DIR=c setup_ claude --write
    ended 1
    said CLAUDE_CONFIG_DIR
    # Which of two names: the one that is there.
    mkdir -p "$HOME/.config/opencode"
    echo '{}' >"$HOME/.config/opencode/opencode.jsonc"
    setup_ opencode --write
    grep -q wattle "$HOME/.config/opencode/opencode.jsonc"
    absent "$HOME/.config/opencode/opencode.json"
    # opencode 2 keeps its servers one level deeper.
    echo '{"mcp": {"servers": {}}}' >"$HOME/.config/opencode/opencode.jsonc"
    setup_ opencode --write
    same "$(tr -d '\n' <"$HOME/.config/opencode/opencode.jsonc" | json 'list(v["mcp"]), list(v["mcp"]["servers"])')" "(['servers'], ['wattle'])"
}

@test "texts that a client would read otherwise are refused" {
    mkdir 'a$HOME' 'a{env:X}'
    local client
    for client in claude vscode gemini; do
        setup_ "$client" --pen 'a$HOME'
        ended 1
    done
    setup_ codex --pen 'a$HOME'
    ended 0
    setup_ opencode --pen 'a{env:X}'
    ended 1
    setup_ claude --pen $'\xff'
    ended 1
    setup_ claude extra
    ended 2
    setup_ nobody
    ended 2
}

@test "at a terminal the owner is asked: no and nothing leave the file as it is" {
    local answer
    for answer in 'n' '' 'maybe'; do
        run ptydrive.py 'expect=[y/N]' "send=$answer\n" wait -- "$WATTLE" setup claude --write
        said 'exit: 1'
        absent "$HOME/.claude.json"
    done
    run ptydrive.py 'expect=[y/N]' 'send=y\n' wait -- "$WATTLE" setup claude --write
    said 'exit: 0'
    present "$HOME/.claude.json"
}
