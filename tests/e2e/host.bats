#!/usr/bin/env bats
# wattle-host: its start and end, its doors, the owner's verbs. The cases are in host_cases.py and host_records.py.

load lib
load lib_host

@test "a record tells what a job made, changed and was refused, and under which policy" {
    case_of host_records what_a_job_made
}

@test "runs of one policy have one digest" {
    case_of host_records what_is_the_same_policy
}

@test "why the owner's rules fail is the owner's to know, and that they do a model's" {
    case_of host_records why_is_the_owners_to_know
}

@test "a record is bounded, whatever its job does" {
    case_of host_records records_are_bounded
}

@test "an end that the store cannot take is told all the same, and written when it can" {
    case_of host_records an_end_waits_for_the_store
}

@test "a turn that the store could not take begins with the next call" {
    case_of host_records a_turn_that_could_not_begin
}

@test "the latest hundred records of a pen are kept, and what runs" {
    case_of host_records a_hundred_are_kept
}

@test "what the host decides is in the log" {
    case_of host_records what_is_done_is_in_the_log
}

@test "runs are taken into the log, those before the host's start too" {
    case_of host_records runs_are_in_the_log
}

@test "what is no line of a run is counted and set aside" {
    case_of host_records what_is_no_line_of_a_run
}

@test "a killed host loses no line of a run, and has none twice" {
    case_of host_records a_killed_host_loses_no_line
}

@test "one store has one host, also of another runtime folder" {
    case_of host_cases one_store_one_host
}

@test "kill -9 of the host or of a client leaves no process and no record that runs" {
    case_of host_cases killed_at_any_time
}

@test "host, server and client are killed at random moments: no process for 2 s, the store is whole" {
    case_of host_records killed_at_random
}

@test "the doctor reads the whole store, which no start does" {
    case_of host_records the_doctor_reads_the_store
}

@test "empty folders of runs are removed when the host starts" {
    case_of host_records what_was_put_aside_is_removed
}

@test "twenty clients at once start one host" {
    case_of host_cases twenty_at_once
}

@test "garbage, half a message, 64 MiB, silence and deafness of a client harm nobody else" {
    case_of host_cases bad_clients
}

@test "the model's door has no method of the owner's, and neither door is there inside" {
    case_of host_cases the_models_door
}

@test "files beside a pen are the owner's to open and close" {
    case_of host_cases files_beside_the_pen
}

@test "what no run would get is no file beside a pen, and the owner is told at once" {
    case_of host_cases files_that_no_run_would_get
}

@test "what the owner opened beside the pen leads nowhere else by a symlink that another pen's job planted" {
    case_of host_cases files_beside_the_pen_that_moved
}

@test "a host is started by who needs it, and ended" {
    case_of host_cases idle_hosts_can_be_ended
}
