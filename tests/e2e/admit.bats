#!/usr/bin/env bats
# What the host lets run, and what of it: settings, commands, races. The cases are in
# admit_cases.py.

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
    WATTLE=$WATTLE /usr/bin/python3 -B "$BATS_TEST_DIRNAME/admit_cases.py" "$1"
}

@test "numbers and times of the host are settings of the owner's" {
    case_of limits_are_the_owners
}

@test "the host reads its settings when it starts, and refuses those that make no sense" {
    case_of limits_are_read_at_the_start
}

@test "commands are found in the folders that the owner stored, and nobody else's" {
    case_of folders_of_the_owners
}

@test "a pen of grants is a word or an option" {
    case_of pens_as_an_option
}
