#!/usr/bin/env bats
# What the host lets run, and what of it: settings, commands, races. The cases are in
# admit_cases.py and hold_cases.py.

load lib
load lib_host

@test "numbers and times of the host are settings of the owner's" {
    case_of admit_cases limits_are_the_owners
}

@test "an idle turn ends, and the next command begins another, unless the owner ended it" {
    case_of admit_cases idle_turns_end
}

@test "the host reads its settings when it starts, and refuses those that make no sense" {
    case_of admit_cases limits_are_read_at_the_start
}

@test "commands are found in the folders that the owner stored, and nobody else's" {
    case_of admit_cases folders_of_the_owners
}

@test "a pen of grants is a word or an option" {
    case_of admit_cases pens_as_an_option
}

@test "a grant of what jobs could change is of its bytes, and a changed file says so" {
    case_of admit_cases contents_are_granted
}

@test "a script of the pen runs from a copy that nobody changes" {
    case_of admit_cases copies_are_what_runs
}

@test "interpreters of scripts count, through chains, and those that are not to be read are not" {
    case_of admit_cases interpreters_count
}

@test "what jobs of another pen can change is copied too" {
    case_of admit_cases other_pens_can_write_too
}

@test "copies are bounded, and none is left" {
    case_of admit_cases copies_are_bounded
}

@test "a file swapped between the second look and the mount does not run" {
    case_of admit_cases swapped_before_the_mount
}

@test "a file written all the time runs as reviewed, or not" {
    case_of admit_cases changed_in_a_loop
}

@test "a folder swapped in at the pen's path is never the pen" {
    case_of admit_cases the_pen_swapped_in_a_loop
}

@test "what a job runs is not moved, replaced or removed by other jobs" {
    case_of hold_cases what_runs_stays
}

@test "what a job runs is not moved by a run whose pen is around it, and the reason is told" {
    case_of hold_cases what_runs_stays_for_runs_around
}

@test "what a killed job ran is held no longer" {
    case_of hold_cases what_runs_stays_after_a_kill
}

@test "a file moved, replaced or removed all the time runs as reviewed, or not" {
    case_of hold_cases moved_in_a_loop
}

@test "symlinks by which a command or its interpreter is found stay as they were" {
    case_of hold_cases symlinks_stay
}

@test "a symlink that is turned all the time leads to what was reviewed, or to nothing" {
    case_of hold_cases turned_in_a_loop
}

@test "a way to an interpreter that goes into a folder and back is refused" {
    case_of hold_cases symlinks_that_turn_back
}

@test "a name that another folder has as well runs what was reviewed, or nothing" {
    case_of admit_cases names_on_the_path
}

@test "symlinks, '..' and absolute folders lead out of no pen" {
    case_of admit_cases ways_out_of_the_pen
}

@test "of a command that a job would not see one thing is told" {
    case_of admit_cases what_a_job_does_not_see_is_not_told
}

@test "a path that is no pen is told nothing of, and not looked at" {
    need_tools strace
    case_of admit_cases paths_that_are_no_pens
}

@test "what a model's own host starts decides nothing, and may look" {
    case_of admit_cases kin_of_a_model_decides_nothing
}

@test "wattle mcp says when who started it is not confined" {
    need_tools setpriv
    case_of admit_cases an_unconfined_parent_is_named
}
