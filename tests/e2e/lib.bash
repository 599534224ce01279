# Common to the end-to-end tests. WATTLE names the program under test.
#
# Overwritten by mistake at 01:43 while cli.bats was added: the fuller version that was here before
# (make_world, inside, works, control, said ...) has to be put back as it was. cli.bats needs only
# WATTLE, need and bats_require_minimum_version of it.
bats_require_minimum_version 1.5.0
: "${WATTLE:?names the program under test}"

# need COMMAND [ARGUMENT...]: where it fails the test is skipped, or fails when WATTLE_MUST_RUN is set.
need() {
    "$@" >/dev/null 2>&1 && return
    if [[ -n ${WATTLE_MUST_RUN:-} ]]; then
        echo "needed here: $*" >&2
        return 1
    fi
    skip "needs $*"
}
