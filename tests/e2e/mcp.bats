#!/usr/bin/env bats
# wattle mcp, as an agent's host talks to it. The cases are in mcp_cases.py (the protocol),
# mcp_runs.py (what may run) and mcp_ends.py (ends and output).

load lib
load lib_host

@test "five revisions of the protocol, of both eras, are spoken" {
    case_of mcp_cases both_eras
}

@test "what is no message is answered as the protocol says, and the conversation goes on" {
    case_of mcp_cases wrong_messages
}

@test "arguments that are not those of the tools are refused in words" {
    case_of mcp_cases wrong_arguments
}

@test "why a command failed is told a model without options and rules" {
    rm -rf -- "$WORLD"
    make_world_at_home # /var/tmp is the run's own
    case_of mcp_runs why_it_failed
}

@test "six programs of the system run without asking, and none that only has their name" {
    case_of mcp_runs six_without_asking
}

@test "any other program waits for the owner, runs when allowed, and not after" {
    case_of mcp_runs others_ask
}

@test "a grant is of one file, not of a name" {
    case_of mcp_runs a_grant_is_of_one_file
}

@test "a program that changed while the owner was asked does not run" {
    case_of mcp_runs changed_while_asked
}

@test "arguments arrive byte for byte; NUL is refused" {
    case_of mcp_runs arguments_are_literal
}

@test "a command starts in the pen or below it, and nowhere else" {
    case_of mcp_runs folders_to_start_in
}

@test "a folder that is no pen is not looked at, and does not become one" {
    case_of mcp_runs unknown_pens
}

@test "a pen that is another folder than it was runs nothing" {
    case_of mcp_runs another_folder_in_its_place
}

@test "a deadline ends a command" {
    case_of mcp_ends deadlines
}

@test "a command in the background can be looked at and stopped, by its own turn" {
    case_of mcp_ends status_and_stop
}

@test "a cancelled call ends its command, also one that waits for the owner" {
    case_of mcp_ends cancelled_calls
}

@test "the end of the input ends the turn and every process of it" {
    case_of mcp_ends the_end_of_a_turn
}

@test "a pen that is removed or gets another folder ends its turns for good" {
    case_of mcp_ends pens_end_turns
}

@test "the owner ends a turn" {
    case_of mcp_ends the_owner_ends_it
}

@test "what the owner ends while no host runs is over for the model all the same" {
    case_of mcp_ends ended_while_the_host_was_away
}

@test "a turn that was ended is over by the next host too, told or not" {
    case_of mcp_ends ended_and_not_told
}

@test "a fifth command of a turn is refused with the ids of the four" {
    case_of mcp_ends a_fifth_job
}

@test "any bytes of output become valid text of at most 32 KiB, and drive no terminal" {
    case_of mcp_ends any_bytes_of_output
}

@test "logs -f follows a command to its end" {
    case_of mcp_ends followed_output
}

@test "a client that asks for signs of life gets them" {
    case_of mcp_cases signs_of_life
}

@test "signs of life come only where they were asked for, and increase" {
    case_of mcp_cases no_signs_unasked
}

@test "a gigabyte of output in one line" {
    case_of mcp_ends a_gigabyte_of_output
}

@test "garbage, half a line, and 64 MiB without an end from one client" {
    case_of mcp_cases bad_lines
}

# ---- real clients ----------------------------------------------------------------------------

# WATTLE_CLIENTS: where the packages of tests/clients were installed (.ci/run does).
client() {
    [[ -n ${WATTLE_CLIENTS:-} ]] || cannot "WATTLE_CLIENTS names no folder with the clients"
    need_tools node
    "$WATTLE" pens add
    "$WATTLE" grants add . sleep
    timeout 60 env WATTLE="$WATTLE" WATTLE_CLIENTS="$WATTLE_CLIENTS" \
        node "$BATS_TEST_DIRNAME/../clients/talk.mjs" "$1"
    until_true nothing_runs
    same "$("$WATTLE" jobs list | grep -c stopped)" 3 "jobs that were stopped"
}

nothing_runs() {
    [[ -z $("$WATTLE" jobs list --state running) ]]
}

@test "a client of the first kind (sdk 1.32.2) talks with it" {
    client v1
}

@test "a client of the second kind (client 2.4.0) talks with it" {
    client v2
}

@test "the same client, when it may choose the era" {
    client v2-auto
}

@test "what goes over the wire is as the published schemas say" {
    [[ -d ${WATTLE_MCP_SCHEMAS:-} ]] || skip "WATTLE_MCP_SCHEMAS names no folder of schemas"
    need /usr/bin/python3 -c 'import jsonschema'
    case_of mcp_cases as_the_schemas_say
}
