# What the tests of wattle-host and `wattle mcp` share, beside lib.bash: a file begins with `load lib` and
# `load lib_host`.
# shellcheck shell=bash

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

# case_of FILE CASE: a function of FILE.py, in a process of its own.
case_of() {
    WATTLE=$WATTLE /usr/bin/python3 -B "$BATS_TEST_DIRNAME/$1.py" "$2"
}
