#!/usr/bin/env bats
# wattle-host: its start and end, its doors, the owner's verbs. The cases are in mcp_cases.py and host_records.py.

load lib

setup() {
    make_world
    need_tools python3
    [[ -x /usr/bin/python3 ]] || cannot "no /usr/bin/python3"
}

teardown() {
    "$WATTLE" host stop || true
    stop_outside
    rm -rf -- "$WORLD"
}

case_of() {
    WATTLE=$WATTLE /usr/bin/python3 -B "$BATS_TEST_DIRNAME/mcp_cases.py" "$1"
}

record_of() {
    WATTLE=$WATTLE /usr/bin/python3 -B "$BATS_TEST_DIRNAME/host_records.py" "$1"
}

@test "a record tells what a job made, changed and was refused, and under which policy" {
    record_of what_a_job_made
}

@test "runs of one policy have one digest" {
    record_of what_is_the_same_policy
}

@test "a record is bounded, whatever its job does" {
    record_of records_are_bounded
}

@test "the latest hundred records of a pen are kept, and what runs" {
    record_of a_hundred_are_kept
}

@test "what the host decides is in the log" {
    record_of what_is_done_is_in_the_log
}

@test "runs are taken into the log, those before the host's start too" {
    record_of runs_are_in_the_log
}

@test "what is no line of a run is counted and set aside" {
    record_of what_is_no_line_of_a_run
}

@test "a killed host loses no line of a run, and has none twice" {
    record_of a_killed_host_loses_no_line
}

@test "kill -9 of the host or of a client leaves no process and no record that runs" {
    case_of killed_at_any_time
}

@test "host, server and client are killed at random moments: no process for 2 s, the store is whole" {
    record_of killed_at_random
}

@test "the doctor reads the whole store, which no start does" {
    record_of the_doctor_reads_the_store
}

@test "empty folders of runs are removed when the host starts" {
    record_of what_was_put_aside_is_removed
}

@test "twenty clients at once start one host" {
    case_of twenty_at_once
}

@test "garbage, half a message, 64 MiB, silence and deafness of a client harm nobody else" {
    case_of bad_clients
}

@test "the model's door has no method of the owner's, and neither door is there inside" {
    case_of the_models_door
}

@test "files beside a pen are the owner's to open and close" {
    case_of files_beside_the_pen
}

@test "a host is started by who needs it, and ended" {
    case_of idle_hosts_can_be_ended
}
